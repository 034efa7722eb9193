#!/usr/bin/env bash
# With clang's -fsanitize=cfi the symbol of a function is a jump to it, and too long.
#
# Guess: the symbol `beta` is the code that DWARF describes as `beta`, has its size, and all
#   calls of `beta` arrive there.
# Seen: the symbol is a jump in a table, and the code is `beta.cfi`. Direct calls do not pass the
#   symbol, so a probe or breakpoint there sees calls by pointer only. clang 19 gives each jump
#   the size of the whole table: the last one lies over what follows, here the .plt, and
#   llvm-symbolizer calls the stubs of other libraries' functions `beta`. clang 22 writes the
#   size of one jump. A symbol of 1 byte, __typeid__ZTSFiiE_global_addr, is at the first jump.
# Versions: clang and lld 19.1.7, LLVM 22.1.8 (Debian 12).
# Source: seen.
set -euo pipefail

for tool in clang-19 ld.lld-19 llvm-nm-19 llvm-symbolizer-22 llvm-dwarfdump-22 objdump; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > a.c <<'C'
int elsewhere(int x);
#define F(name, k) int name(int x) { return elsewhere(x) * k; }
F(zero, 3) F(one, 5) F(two, 7) F(three, 9) F(beta, 11)
int (*const table[])(int) = {zero, one, two, three, beta};
int through(int k, int x) { return table[k](x); }
int direct(int x) { return beta(x) + 1; }
C
clang-19 --target=x86_64-linux-gnu -fuse-ld=lld-19 -g -O1 -fno-inline -flto -fPIC \
  -fsanitize=cfi-icall -fvisibility=hidden -shared -nostdlib a.c \
  -Wl,--unresolved-symbols=ignore-all -Wl,-u,direct -Wl,-u,through -o a.so
address() { llvm-nm-19 a.so | awk -v name="$1" '$3 == name { print "0x" $1 }'; }
size() { llvm-nm-19 -S a.so | awk -v name="$1" '$4 == name { print "0x" $2 }'; }
described=$(llvm-dwarfdump-22 --name=beta a.so | sed -n 's/.*DW_AT_low_pc.*(\(0x.*\))/\1/p')
seen=$(
  echo "beta is described at beta.cfi: $((described == $(address beta.cfi)))"
  echo "from three to beta: $(($(address beta) - $(address three))) bytes"
  echo "size of the symbol beta: $(($(size beta)))"
  objdump -d --no-show-raw-insn a.so | awk '/^[0-9a-f]+ </ { at = $2 }
    at ~ /<direct>/ && $2 == "call" { print "direct calls", $4 }
    at ~ /<beta>/ && $2 == "jmp" { print "beta jumps to", $4 }'
  stub=$(objdump -d -j .plt a.so | awk '/<elsewhere@plt>:/ { print "0x" $1 }')
  echo "the stub elsewhere@plt is $(llvm-symbolizer-22 -e a.so "$stub" | head -1)"
)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
beta is described at beta.cfi: 1
from three to beta: 8 bytes
size of the symbol beta: 40
direct calls <beta.cfi>
beta jumps to <beta.cfi>
the stub elsewhere@plt is beta
EXPECTED
