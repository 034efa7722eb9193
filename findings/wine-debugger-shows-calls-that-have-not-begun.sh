#!/usr/bin/env bash
# Wine's debugger shows a function in a stack that the caller has not called yet.
#
# Guess: the frame of a caller has the function, the line and the inlined calls of the call
#   that is running, for which debuggers look up the byte before the return address.
# Seen: winedbg looks up the return address itself. What stands there is what comes after
#   the call: `after`, inlined on the next line, is a frame between `crash` and `outer`.
# Versions: Wine 8.0 (Debian 12), x86_64-w64-mingw32-gcc 12 with -gdwarf-4.
# Source: seen.
set -euo pipefail

PATH=$PATH:/usr/lib/wine
for tool in wine64 wineserver64 x86_64-w64-mingw32-gcc; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
export WINEPREFIX=$folder/prefix WINEDEBUG=-all DISPLAY=
trap 'wineserver64 -k || true; rm -rf "$folder"' EXIT
cd "$folder"
wine64 wineboot -i >/dev/null 2>&1

cat > program.c <<'C'
static volatile int seen;
__attribute__((noinline)) void crash(int *p) {
  *p = 1;
}
static inline __attribute__((always_inline)) void after(void) {
  seen = 5;
}
__attribute__((noinline)) int outer(int *p) {
  crash(p);
  after();
  return 1;
}
int mainCRTStartup(void) { return outer((int *)16) + 1; }
C
x86_64-w64-mingw32-gcc -O1 -gdwarf-4 -nostdlib program.c -o program.exe
(wine64 program.exe 2>&1 || true) | tr -d '\r' | grep -E '^(=>|  )[0-9] .* in program' \
  | sed -E 's/^..([0-9]) \S+ ([A-Za-z_]+).*/\1 \2/' | tee seen.txt
diff - seen.txt <<'EXPECTED'
0 crash
1 after
2 outer
3 mainCRTStartup
EXPECTED
