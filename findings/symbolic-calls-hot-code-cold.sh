#!/usr/bin/env bash
# symbolic gives the hot part of a function the name of its cold part.
#
# Guess: a function that GCC splits in two (`work` and `work.cold`, one DIE with DW_AT_ranges) is
#   called `work` in both parts, or `work` in the hot and `work.cold` in the cold one.
# Seen: both parts are called `work.cold`. symbolic takes the name from the symbol at the lowest
#   address of the DIE's ranges, and GNU ld puts .text.unlikely, the cold parts, first. What is
#   grouped by function name, such as a crash in Sentry, has the crashes of hot code as cold.
# Versions: symbolic 13.9.0 (PyPI); GCC 12.2.0 and GNU ld 2.40, others that split work alike.
# Source: seen. llvm-symbolizer 22.1.8, eu-addr2line 0.188 and addr2line 2.40 say `work` there.
set -euo pipefail

command -v gcc >/dev/null || { echo "not available: gcc"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check symbolic==13.9.0

cat > program.c <<'C'
void report(int) __attribute__((cold));
int check(int x);
int work(int x) {
  int y = check(x);
  if (y < 0) {
    report(y);
    report(x);
    y = check(-y);
  }
  return check(y + 1) * 2;
}
C
gcc -g -O2 -fPIC -shared -nostdlib -o program.so program.c
address() { nm program.so | awk -v name="$1" '$3 == name { print "0x" $1 }'; }
hot=$(address work)
cold=$(address work.cold)
if [ -z "$cold" ] || ((hot < cold)); then
  echo "not available: a GCC and a linker that put a cold part before the hot one"
  exit 77
fi

seen=$(venv/bin/python - "$hot" "$cold" <<'PYTHON'
import sys
from symbolic.debuginfo import Archive

(binary,) = Archive.open("program.so").iter_objects()
cache = binary.make_symcache()
for part, address in zip(("hot", "cold"), sys.argv[1:]):
    (frame,) = cache.lookup(int(address, 16))
    print(f"{part}: {frame.symbol}")
PYTHON
)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
hot: work.cold
cold: work.cold
EXPECTED
