#!/usr/bin/env bash
# Where clang merges functions that differ in constants, the DIE of a function describes
# code that all of them run, and the function itself has none.
#
# Guess: the DIE `blue` describes the code at the symbol `blue`, as with folding of equal
#   functions, where one DIE is at the code and each name leads to it.
# Seen: with -enable-global-merge-func the body moves to `blue.Tgm`, which takes the constants
#   as parameters, and the DIE moves with it, without a linkage name. `blue` is left as
#   two instructions without DIE and line: load the constant, jump. The linker folds the bodies
#   to one, so that a stack has `red` (DWARF) or `white.Tgm` (llvm-symbolizer, by the last
#   symbol) for a call of any of the four, and no frame of the one that was called.
# Versions: clang and LLVM 22.1.8, lld 19.1.7 (Debian 12).
# Source: seen; GlobalMergeFunctions.cpp in llvm/lib/CodeGen.
set -euo pipefail

for tool in clang-22 ld.lld-19 llvm-nm-22 llvm-symbolizer-22 llvm-dwarfdump-22; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > a.c <<'C'
int g(int);
void stop(void);
#define F(name, k) __attribute__((noinline)) int name(int x) { int s = 0; \
  for (int i = 0; i < x; i++) { s += g(i * 3) ^ 7; s -= g(s) + 11; if (s > 9999) stop(); \
    s ^= g(s + i); s *= g(s - i) + 3; if (s < -5) s += g(7); } return s + g(k); }
F(red, 1) F(blue, 2) F(green, 3) F(white, 4)
C
cat > main.c <<'C'
void stop(void) { for (;;); }
int g(int x) { return x; }
int red(int), blue(int), green(int), white(int);
void _start(void) { red(1); blue(2); green(3); white(4); }
C
options="--target=aarch64-linux-gnu -Os -g -ffunction-sections -ffreestanding"
clang-22 $options -mllvm -enable-global-merge-func -c a.c
clang-22 $options -c main.c
ld.lld-19 --icf=all a.o main.o -o program
address() { llvm-nm-22 program | awk -v name="$1" '$3 == name { print "0x" $1 }'; }
{
  for name in red blue; do
    echo "DIE of $name: $(llvm-dwarfdump-22 --name=$name program |
      awk -v body="$(address $name.Tgm)" -v own="$(address $name)" '/low_pc/ {
        gsub(/.*\(|\)/, ""); print $0 == body ? "body" : $0 == own ? "function" : $0 }')"
  done
  for name in blue blue.Tgm; do
    echo "$name:" $(llvm-symbolizer-22 -s -e program "$(address $name)")
  done
} | tee seen
diff - seen <<'EXPECTED'
DIE of red: body
DIE of blue: 0x0000000000000000
blue: blue ??:0:0
blue.Tgm: white.Tgm a.c:6:0
EXPECTED
