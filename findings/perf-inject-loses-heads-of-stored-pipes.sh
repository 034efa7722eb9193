#!/usr/bin/env bash
# perf inject writes what no perf reads if a recording for pipes is given as a file.
#
# Guess: `perf inject -i FILE` and `perf inject < FILE` do the same, as with perf report and perf
#   script, which read a recording that was made with `-o -` either way.
# Seen: with -i the exit status is 0, and nothing is said. To standard output perf writes the records
#   without the 16 bytes that begin a recording ("incompatible file format"); to a file it writes
#   the head of a seekable recording and offsets that do not fit ("failed to process type").
#   Through standard input the same recording comes out well.
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
samples() { perf script -i "$1" -F ip,sym 2>&1 | grep -c work || true; }

cat > a.c <<'C'
__attribute__((noinline)) void work(long n) { volatile long s = 0; while (n--) s += n; }
int main(void) { work(200000000); return 0; }
C
gcc -O1 a.c -o a
perf record -q -e cpu-clock:u -o - ./a > recording 2>/dev/null \
  || { echo "not available: perf record"; exit 77; }

perf inject -b -o through < recording
perf inject -b -i recording -o - > from_file
perf inject -b -i recording -o to_file
for each in recording through from_file to_file; do
  echo "$each: $(samples "$each") samples, begins with $(head -c 8 "$each" | od -An -tx1)"
done
perf script -i from_file 2>&1 | head -1 || true
perf script -i to_file 2>&1 | head -1 || true
all=$(samples recording)
[ "$all" -gt 20 ] && [ "$(samples through)" -eq "$all" ]
[ "$(samples from_file)" -eq 0 ] && [ "$(samples to_file)" -eq 0 ]
[ "$(head -c 8 recording)" = PERFILE2 ] && [ "$(head -c 8 from_file | tr -d '\0')" != PERFILE2 ]
[ "$(tail -c +17 recording | head -c 64 | md5sum)" = "$(head -c 64 from_file | md5sum)" ]
