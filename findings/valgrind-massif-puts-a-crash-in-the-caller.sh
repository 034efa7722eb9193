#!/usr/bin/env bash
# massif and cachegrind of valgrind name the caller as the function that crashed, on its first line.
#
# Guess: the stack of "Process terminating with default action of signal 11" is the same in all
#   tools of valgrind, and its first address is that of the instruction that crashed.
# Seen: memcheck, helgrind, dhat and none print `crash (program.c:5)`, with the right address.
#   massif and cachegrind print the address at which `run` begins: the function that crashed is not
#   in the stack. callgrind prints `crash`, but the first address of its block.
# Versions: valgrind 3.19.0 of Debian 12.
# Source: seen. These tools let the instruction pointer be written to memory at the ends of blocks
#   only, which may go on into a callee; with --px-file-backed=unwindregs-at-mem-access they are right.
set -euo pipefail

command -v gcc >/dev/null || { echo "not available: gcc"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq -o APT::Sandbox::User=root valgrind=1:3.19.0-1 2>/dev/null \
  || { echo "not available: valgrind 3.19.0-1"; exit 77; }
dpkg-deb -x valgrind_*.deb debian
export VALGRIND_LIB=$folder/debian/usr/libexec/valgrind
ulimit -c 0

cat > program.c <<'C'
volatile int sink;
int *volatile nowhere;
static __attribute__((noinline)) int crash(int n) {
  sink += n;
  *nowhere = n;
  return sink;
}
static __attribute__((noinline)) int run(int n) { return crash(n) + sink; }
int (*volatile pointer)(int) = run;
int main(int argc, char **argv) { return pointer(argc) + sink; }
C
gcc -O2 -g -o program program.c
first() {
  debian/usr/bin/valgrind "$@" ./program 2>&1 | sed -n 's/^==[0-9]*==    at 0x[0-9A-F]*: //p' | head -1
}
for tool in memcheck none helgrind dhat massif cachegrind callgrind; do
  echo "$tool: $(first --tool=$tool)"
done > seen
sed 's/^/with other registers, /' <<< "massif: $(first --tool=massif --px-file-backed=unwindregs-at-mem-access)" >> seen
cat seen
for tool in memcheck none helgrind dhat "with other registers, massif"; do
  grep -qxF "$tool: crash (program.c:5)" seen
done
for tool in massif cachegrind; do
  grep -q "^$tool: run (program.c:8)" seen
done
