#!/usr/bin/env bash
# One more label in a section shifts all lines that yasm writes for it.
#
# Guess: the rows of a line table begin where the section does; a label is a name.
# Seen: the line program starts at one of the labels of the section, here the second of
#   three, and goes on by the right distances. All rows are too high by the offset of that
#   label, and the last ones lie behind the section; DW_AT_low_pc and DW_AT_high_pc are
#   right. So readers give an instruction the line of one before it, and none to the
#   first ones. Without that label, and in nasm from the same source, the lines are right.
# Versions: yasm 1.3.0, nasm 2.16.01, llvm-dwarfdump 22.1.8, binutils 2.40 (Debian 12).
# Source: seen.
set -euo pipefail

for tool in yasm nasm llvm-dwarfdump-22 addr2line; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > three.asm <<'ASSEMBLY'
section .text
twice:
  lea rax, [rdi+rdi]
.done:
  ret
other:
  mov rdi, 3
  ret
ASSEMBLY
sed 's/^\.done:/; no label/' three.asm > two.asm
for name in three two; do yasm -g dwarf2 -f elf64 $name.asm -o yasm-$name.o; done
nasm -g -F dwarf -f elf64 three.asm -o nasm-three.o
for name in yasm-three yasm-two nasm-three; do
  rows=$(llvm-dwarfdump-22 --debug-line $name.o |
    sed -nE 's/^0x0*([0-9a-f]+) +([0-9]+).*/\2@\1/p')
  echo "$name: line@address" $rows
  echo "$name: address 5 is of line" "$(addr2line -j .text -e $name.o 5 | sed 's/.*://')"
done | tee seen
diff - seen <<'EXPECTED'
yasm-three: line@address 3@4 5@8 7@9 8@10 8@11
yasm-three: address 5 is of line 3
yasm-two: line@address 3@0 5@4 7@5 8@c 8@d
yasm-two: address 5 is of line 7
nasm-three: line@address 3@0 5@4 7@5 8@a 8@b
nasm-three: address 5 is of line 7
EXPECTED
