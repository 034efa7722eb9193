#!/usr/bin/env bash
# llvm-dwarfutil gives units of GCC range lists whose addresses nobody can find.
#
# Guess: the debug information that llvm-dwarfutil writes finds the lines of a program as
#   before.
# Seen: of DWARF 5 of GCC it makes the range list of each unit begin with an index in
#   .debug_addr (DW_RLE_base_addressx), and writes a table of addresses for each unit, but no
#   DW_AT_addr_base, which says where the table of the unit is (DWARF 5, sections 2.17.3 and
#   3.1.1): GCC needed none. Its own llvm-dwarfdump then takes the offsets for addresses, and
#   addr2line of binutils, which goes by the ranges of units, finds no line of any function.
#   Both linkers do so.
# Versions: llvm-dwarfutil 22.1.8, GCC 12.2.0, binutils 2.40 of Debian.
# Source: seen.
set -euo pipefail

for tool in gcc llvm-dwarfutil-22 llvm-dwarfdump-22 addr2line nm; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > one.c <<'C'
int other(int x);
int work(int x) {
  return other(x) * 3;
}
int main(int count, char **words) {
  return work(count) + (words != 0);
}
C
cat > other.c <<'C'
int other(int x) {
  return x + 7;
}
C
gcc -gdwarf-5 -O1 -ffunction-sections -o app one.c other.c
for linker in classic parallel; do
  llvm-dwarfutil-22 --linker=$linker app $linker
done
address=$(nm app | sed -n 's/ T other$//p')

for file in app classic parallel; do
  echo "$file: $(addr2line -e $file "$address" | sed 's!.*/!!')"
  llvm-dwarfdump-22 --debug-info $file >$file.txt
  echo "  DW_AT_addr_base: $(grep -c DW_AT_addr_base $file.txt)"
  echo "  ranges from 0: $(grep -A 1 DW_AT_ranges $file.txt | grep -c '\[0x0000000000000000')"
done >seen
cat seen
diff - seen <<'EXPECTED'
app: other.c:2
  DW_AT_addr_base: 0
  ranges from 0: 0
classic: ??:?
  DW_AT_addr_base: 0
  ranges from 0: 2
parallel: ??:?
  DW_AT_addr_base: 0
  ranges from 0: 2
EXPECTED
