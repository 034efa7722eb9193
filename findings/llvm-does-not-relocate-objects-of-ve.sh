#!/usr/bin/env bash
# LLVM's readers find no lines in an object file of VE that clang has made.
#
# Guess: clang --target=ve -g -c writes relocations of types 1 and 2 (R_VE_REFLONG,
#   R_VE_REFQUAD) in its debug sections, so llvm-symbolizer of the same release applies them.
# Seen: llvm-dwarfdump says "failed to compute relocation: R_VE_REFLONG"; llvm-symbolizer
#   has the function and no line. The same source for x86-64 has its line.
# Versions: clang and llvm 19.1.7 (Debian 12).
# Source: seen.
set -euo pipefail

for tool in clang-19 llvm-symbolizer-19 llvm-dwarfdump-19; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

echo 'int work(int x) { return x / 3; }' > program.c
clang-19 --target=ve -g -O1 -ffreestanding -c program.c
clang-19 --target=x86_64-linux-gnu -g -O1 -ffreestanding -c program.c -o other.o
seen=$(
  llvm-dwarfdump-19 program.o 2>&1 >/dev/null \
    | grep -o 'failed to compute relocation: R_VE_REFLONG' | sort -u
  for object in program.o other.o; do
    llvm-symbolizer-19 --obj=$object 0 2>/dev/null | sed -E 's#.*/##; s/(:[0-9]+):[0-9]+/\1/' \
      | grep . | paste -sd' '
  done
)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
failed to compute relocation: R_VE_REFLONG
work ??:0
work program.c:1
EXPECTED
