#!/usr/bin/env bash
# With clang's -gmodules a program on Linux leaves its types in a cache, as a split unit.
#
# Guess: without -gsplit-dwarf all debug information is in the program; DW_AT_dwo_name names the
#   file of a split unit, which describes code of the program.
# Seen: for each module there is a unit without code, whose DW_AT_dwo_name is the .pcm file in
#   clang's cache of modules, which clang itself prunes. gdb looks there for nothing: a variable
#   of such a type has the length 0. llvm-gsymutil warns that it cannot find the split unit, also
#   while the file is there.
# Versions: clang and llvm 22.1.8, gdb 13.1 (Debian 12).
# Source: seen.
set -euo pipefail

for tool in clang-22 gdb llvm-dwarfdump-22 llvm-gsymutil-22; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > module.modulemap <<'MAP'
module Shapes { header "shapes.h" export * }
MAP
cat > shapes.h <<'C'
struct shape { int width, height; };
C
cat > a.c <<'C'
#include "shapes.h"
int work(int x) {
  struct shape box = {x, x + 1};
  return box.width * box.height;
}
int main(void) { return work(3); }
C
modules=(-fmodules "-fmodules-cache-path=$folder/cache")
clang-22 -g -O0 "${modules[@]}" a.c -o plain
clang-22 -g -O0 "${modules[@]}" -gmodules a.c -o modules
seen=$(
  for program in plain modules; do
    units=$(llvm-dwarfdump-22 $program | grep -c 'DW_AT_dwo_name.*Shapes.*[.]pcm' || true)
    length=$(gdb -nx -q -batch -ex 'info scope work' $program 2>/dev/null |
      sed -n 's/.* box .*\(length [0-9]*\).*/\1/p')
    llvm-gsymutil-22 --convert $program -o converted >messages 2>&1
    warned=$(grep -q 'Unable to retrieve DWO' messages && echo warned || echo silent)
    echo "$program: $units unit of a module; box has $length; llvm-gsymutil $warned"
  done
)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
plain: 0 unit of a module; box has length 8; llvm-gsymutil silent
modules: 1 unit of a module; box has length 0; llvm-gsymutil warned
EXPECTED
