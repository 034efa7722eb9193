#!/usr/bin/env bash
# Each call of an Erlang function runs code that the JIT calls by another name than the function.
#
# Guess: the runtime's record of a function in its jitdump and perf-PID.map, `w:fib/1`, starts
#   where calls of it arrive; `w:fib/1-CodeInfoPrologue` before it is data and never runs.
# Seen: calls arrive in the last 8 bytes of that prologue, in a jump that is there for
#   breakpoints: profiles have samples in `lists:map_1/2-CodeInfoPrologue`. Who sums up by
#   function, or counts calls at the first address of one, misses these.
# Versions: Erlang 25.2.3 (Debian 12, erlang-base), x86-64; capstone 5.0.6 (PyPI).
# Source: seen.
set -euo pipefail

[ "$(uname -m)" = x86_64 ] || { echo "not available: x86-64"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq -o APT::Sandbox::User=root erlang-base=1:25.2.3+dfsg-1+deb12u4 2>/dev/null \
  || { echo "not available: erlang-base=1:25.2.3+dfsg-1+deb12u4"; exit 77; }
dpkg-deb -x erlang-base_*.deb debian
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check capstone==5.0.6

cat > w.erl <<'E'
-module(w).
-export([main/0, fib/1]).
fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).
main() -> fib(20), io:format("~s~n", [os:getpid()]), halt().
E
export ROOTDIR=$folder/debian/usr/lib/erlang EMU=beam PROGNAME=erl
BINDIR=$(echo "$ROOTDIR"/erts-*/bin)
export BINDIR
"$BINDIR/erlexec" -boot start_clean -noshell -eval 'compile:file("w.erl"), halt().'
process=$("$BINDIR/erlexec" -boot start_clean +JPperf true -noshell -s w main)

cat > read.py <<'P'
import os
import struct
import sys
import capstone

path = f"/tmp/jit-{sys.argv[1]}.dump"
data = open(path, "rb").read()
for each in (path, path.replace("jit-", "perf-").replace(".dump", ".map")):
    os.remove(each)
place, functions = 40, []
while place + 16 <= len(data):
    kind, size, _ = struct.unpack_from("<IIQ", data, place)
    if kind == 0:  # JIT_CODE_LOAD
        start, length = struct.unpack_from("<QQ", data, place + 32)
        name, _, _ = data[place + 56 :][:200].partition(b"\0")
        code = data[place + size - length : place + size]
        functions.append((start, length, name.decode("latin1"), code))
    place += size
(fib,) = (each for each in functions if each[2] == "w:fib/1")
decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
for instruction in decoder.disasm(fib[3], fib[0]):
    if instruction.mnemonic == "call" and instruction.op_str.startswith("0x"):
        target = int(instruction.op_str, 16)
        for start, length, name, _ in functions:
            if start <= target < start + length and name.startswith("w:"):
                print(f"w:fib/1 calls {name}, {fib[0] - target} bytes before w:fib/1")
P
seen=$(venv/bin/python read.py "$process")
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
w:fib/1 calls w:fib/1-CodeInfoPrologue, 8 bytes before w:fib/1
w:fib/1 calls w:fib/1-CodeInfoPrologue, 8 bytes before w:fib/1
EXPECTED
