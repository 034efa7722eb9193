#!/usr/bin/env bash
# The address of a patchable function of GCC has the line of the function before.
#
# Guess: a function begins in DWARF where its symbol is, also with -fpatchable-function-entry
#   (the kernel of Linux for arm64 is built so); its address has the line of its head.
# Seen: on AArch64, RISC-V, s390x and SPARC its DIE and its first row begin behind the NOPs at
#   its address, to which the last row of the function before runs on. llvm-symbolizer and
#   addr2line answer `patched` with a line of `before`: at the address that calls, pointers
#   and probes have. On x86-64 the DIE begins at the symbol. gdb's `break *patched` is at the
#   DIE, 8 bytes behind the address of the symbol.
# Versions: gcc 12.2.0, binutils 2.40, LLVM 22.1.8 (Debian 12).
# Source: seen.
set -euo pipefail

targets=(x86_64 aarch64 riscv64 s390x sparc64)
for tool in llvm-symbolizer-22 llvm-dwarfdump-22 "${targets[@]/%/-linux-gnu-gcc-12}"; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > two.c <<'C'
int g;
int before(int x) {
  return x * g;
}
int patched(int x) {
  return x + g;
}
C
for target in "${targets[@]}"; do
  tools=$target-linux-gnu
  $tools-gcc-12 -g -O2 -fpatchable-function-entry=4,2 -c two.c -o two.o
  $tools-ld -e 0 two.o -o two
  symbol=$($tools-nm two | awk '$3 == "patched" { print $1 }')
  die=$(llvm-dwarfdump-22 --name=patched two 2>/dev/null |
    sed -nE 's/.*DW_AT_low_pc.*0x([0-9a-f]+).*/\1/p')
  echo "$target: DIE $((16#$die - 16#$symbol)) behind the symbol, which is" \
    $(llvm-symbolizer-22 --no-inlines -s -e two "0x$symbol" 2>/dev/null) "for LLVM," \
    $($tools-addr2line -sfe two "$symbol") "for binutils"
done | tee seen
diff - seen <<'EXPECTED'
x86_64: DIE 0 behind the symbol, which is patched two.c:5:20 for LLVM, patched two.c:5 for binutils
aarch64: DIE 8 behind the symbol, which is patched two.c:4:1 for LLVM, patched two.c:4 for binutils
riscv64: DIE 4 behind the symbol, which is patched two.c:4:1 for LLVM, patched two.c:4 for binutils
s390x: DIE 4 behind the symbol, which is patched two.c:4:1 for LLVM, patched two.c:4 for binutils
sparc64: DIE 8 behind the symbol, which is patched two.c:4:1 for LLVM, patched two.c:4 for binutils
EXPECTED
