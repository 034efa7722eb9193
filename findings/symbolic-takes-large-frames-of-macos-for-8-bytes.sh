#!/usr/bin/env bash
# symbolic gives functions of macOS with a large stack a frame of 8 bytes.
#
# Guess: of a function whose stack does not fit in its compact unwind encoding, the STACK CFI that
#   symbolic makes for minidump processors has the size that its code subtracts (UNWIND_X86_64_MODE_
#   STACK_IND), as it has that of other functions; or the function has no record.
# Seen: the record is there and says `.cfa: $rsp 8 +`, as of a function that has nothing on the
#   stack. A processor takes some local variable for the return address, marked as found by call
#   frame information. Functions with up to 2,040 bytes on the stack have the right size.
# Versions: symbolic 13.9.0, ziglang 0.17.1 (PyPI).
# Source: seen; LLVM's compact_unwind_encoding.h has where the size is.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check symbolic==13.9.0 ziglang==0.17.1

cat > program.c <<'C'
void fill(char *);
__attribute__((noinline)) void small(void) { char some[1000]; fill(some); fill(some); }
__attribute__((noinline)) void large(void) { char some[9000]; fill(some); fill(some); }
__attribute__((noinline)) void fill(char *some) { *(volatile char *)some = 1; }
int main(void) { small(); large(); return 0; }
C
venv/bin/python -m ziglang cc -target x86_64-macos -O1 -fomit-frame-pointer \
    -fno-stack-protector -fno-sanitize=all -o program program.c

seen=$(venv/bin/python - <<'PYTHON'
from symbolic.cfi import CfiCache
from symbolic.debuginfo import Archive

(binary,) = Archive.open("program").iter_objects()
records = {}
for line in CfiCache.from_object(binary).open_stream().read().decode().splitlines():
    words = line.split()
    if words[:3] == ["STACK", "CFI", "INIT"]:
        records[int(words[3], 16)] = " ".join(words[5:8])
# The linker keeps the order of the source.
for name, address in zip(("small", "large", "fill", "main"), sorted(records)):
    print(name, records[address])
PYTHON
)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
small .cfa: $rsp 1024
large .cfa: $rsp 8
fill .cfa: $rsp 8
main .cfa: $rsp 16
EXPECTED
