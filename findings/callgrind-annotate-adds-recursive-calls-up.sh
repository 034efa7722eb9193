#!/usr/bin/env bash
# callgrind_annotate --inclusive=yes gives a recursive function more than the whole program.
#
# Guess: no function has more than 100 %: a call within a call of the same function counts once.
# Seen: `fib'2` has several times the PROGRAM TOTALS. callgrind splits a recursive function by
#   default in the first call, `fib`, and all deeper ones, `fib'2`; the cost of each call of fib'2 by
#   itself is added to it, once for each level of the recursion. The row `fib` is right.
# Versions: valgrind 3.19.0 of Debian 12.
# Source: seen. `fib` and `fib'2` are two functions by the default --separate-recs=2.
set -euo pipefail

command -v gcc >/dev/null || { echo "not available: gcc"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq -o APT::Sandbox::User=root valgrind=1:3.19.0-1 2>/dev/null \
  || { echo "not available: valgrind 3.19.0-1"; exit 77; }
dpkg-deb -x valgrind_*.deb debian
export VALGRIND_LIB=$folder/debian/usr/libexec/valgrind

cat > program.c <<'C'
__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { return fib(20) & 1; }
C
gcc -O1 -g -fno-optimize-sibling-calls -o program program.c
debian/usr/bin/valgrind -q --tool=callgrind --callgrind-out-file=out ./program || true
debian/usr/bin/callgrind_annotate --inclusive=yes --threshold=100 out > rows
total=$(sed -n 's/^ *\([0-9,]*\).*PROGRAM TOTALS$/\1/p' rows | tr -d ,)
row() { grep -F ":$1 [" rows | sed 's/^ *\([0-9,]*\).*/\1/' | tr -d ,; }
first=$(row fib) deeper=$(row "fib'2")
echo "program: $total, fib: $first, fib'2: $deeper"
[[ $first -lt $total && $deeper -gt $((3 * total)) ]]
