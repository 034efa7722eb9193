#!/usr/bin/env bash
# clang's .debug_aranges lack functions in several sections, and llvm-symbolizer their lines.
#
# Guess: -gdwarf-aranges, which eu-addr2line needs, adds a table of the ranges of each unit
#   and takes nothing away; it has the ranges that the unit itself lists in DW_AT_ranges.
# Seen: with -fbasic-block-sections=all (or -fsplit-machine-functions) each part of a
#   function has a section of its own, and the table has no entry for a section with one
#   label: the parts, and here all of `count`. DW_AT_ranges of the unit are complete.
#   llvm-symbolizer believes the table where a unit has one: `??:0:0` in `count`, which
#   has its line without the option. addr2line and gdb find it both times.
# Versions: clang and llvm-symbolizer 19.1.7 (clang 14.0.6 and 22.1.8 the same), lld 19,
#   binutils 2.40, gdb 13.1.
# Source: seen.
set -euo pipefail

for tool in clang-19 ld.lld-19 llvm-symbolizer-19 addr2line nm; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > split.c <<'C'
volatile int sink;
__attribute__((noinline)) int count(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    if (i % 3) sum += i;
    else sink = i;
  }
  return sum;
}
int start(int n) { return count(n); }
C

compile() { # with the options given
  clang-19 -g -O1 -nostdlib -fuse-ld=lld -Wl,-e,start "$@" split.c -o program
}
answers() { # the line of each function by two readers
  local name address
  for name in count start; do
    address=0x$(nm program | awk -v name="$name" '$3 == name { print $1 }')
    echo "$name: $(llvm-symbolizer-19 --basenames -e program "$address" | sed -n 2p)" \
      "$(addr2line -s -e program "$address")"
  done
}
for options in -fbasic-block-sections=all "-fbasic-block-sections=all -gdwarf-aranges"; do
  # shellcheck disable=SC2086 - several options
  compile $options
  echo "$options"
  answers
done | tee seen
diff - seen <<'EXPECTED'
-fbasic-block-sections=all
count: split.c:4:21 split.c:4
start: split.c:10:27 split.c:10
-fbasic-block-sections=all -gdwarf-aranges
count: ??:0:0 split.c:4
start: split.c:10:27 split.c:10
EXPECTED
