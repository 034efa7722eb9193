#!/usr/bin/env bash
# `perf record -z` writes no build ids, and perf takes functions from a newer program instead.
#
# Guess: -z compresses the records and changes nothing else: as without it, the header has the build
#   ids of all programs and libraries with samples, by which perf finds the file that ran.
# Seen: the header has the same files, all without ids. After the program is built again,
#   `perf report` names the samples by the new program: all of the time is that of `second`, which
#   has not run. Without -z, and with -z --buildid-mmap, it is that of `first`, as perf keeps a
#   copy of the program by its id.
# Versions: perf 6.1 (Debian 12).
# Source: seen.
set -euo pipefail

for tool in gcc perf; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
perf() { command perf --buildid-dir "$folder/cache" "$@"; }

build() {  # functions of one size, in the order of the arguments; main calls `first`
  {
    echo 'volatile long sum;'
    for name in "$@"; do
      echo "__attribute__((noinline, noclone)) void $name(long n) { while (n--) sum += n; }"
    done
    echo 'int main(int argc, char **argv) { (argc > 1 ? second : first)(200000000); return 0; }'
  } > a.c
  gcc -O1 -fno-toplevel-reorder a.c -o a
}
build first second
for options in "" "-z" "-z --buildid-mmap"; do
  # shellcheck disable=SC2086 # several options
  perf record -q -e cpu-clock:u $options -o "recording$options" ./a 2>/dev/null \
    || { echo "not available: perf record $options"; exit 77; }
done
build second first

for options in "" "-z" "-z --buildid-mmap"; do
  echo "perf record $options:"
  perf buildid-list -i "recording$options" | grep '/a$' | tee "ids$options"
  perf report -i "recording$options" --stdio -F overhead,sym --dso a 2>/dev/null \
    | grep '%' | head -3 | tee "report$options"
done

[[ $(cat ids) =~ ^[0-9a-f]{40}\  && $(cat "ids-z --buildid-mmap") =~ ^[0-9a-f]{40}\  ]]
[[ $(cat ids-z) =~ ^\ +/ ]]
grep -q "first" report && grep -q "first" "report-z --buildid-mmap"
grep -q "second" report-z && ! grep -q "first" report-z
