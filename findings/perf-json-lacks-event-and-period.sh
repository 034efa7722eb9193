#!/usr/bin/env bash
# perf's JSON does not say of which event a sample is, nor for how many events it stands.
#
# Guess: `perf data convert --to-json` has of each sample what `perf script` prints by default:
#   thread, time, event, period and stack.
# Seen: a sample has timestamp, pid, tid, comm and callchain (cpu, if it was recorded). Samples of a
#   clock and of page faults lie in one list, and nothing tells them apart. Here one sample stands
#   for nearly all page faults, which `perf report` says; in the JSON it is one of two hundred,
#   most of them of the clock. "headers" has the command line, but neither events nor periods.
# Versions: perf 6.1 (Debian 12).
# Source: seen; process_sample_event in tools/perf/util/data-convert-json.c of Linux.
set -euo pipefail

for tool in gcc perf; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
perf() { command perf --buildid-dir "$folder/cache" "$@"; }

cat > a.c <<'C'
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void touch(char *p, long n) { memset(p, 1, n); }
__attribute__((noinline)) long work(long n) { volatile long s = 0; while (n--) s += n; return s; }
int main(void) { touch(malloc(64 << 20), 64 << 20); return work(400000000) == 1; }
C
gcc -O1 a.c -o a
perf record -q -e cpu-clock:u,page-faults:u -F 999 -o recording ./a 2>/dev/null \
  || { echo "not available: perf record"; exit 77; }
perf script -i recording -F event,period 2>/dev/null | sed '/^$/d; s/://g' | sort | uniq -c \
  | tee periods.txt
perf data convert -i recording --to-json out.json 2>/dev/null \
  || { echo "not available: JSON of perf"; exit 77; }

python3 - <<'PYTHON'
import json

rows = [line.split() for line in open("periods.txt")]  # count, period, event
faults = [int(period) for _, period, event in rows if event.startswith("page-faults")]
assert max(faults) > 100 * min(faults), faults
samples = json.load(open("out.json"))["samples"]
assert len(samples) == sum(int(count) for count, _, _ in rows)
members = {name for sample in samples for name in sample}
frames = {name for sample in samples for each in sample["callchain"] for name in each}
print(len(samples), "samples have", *sorted(members), "and frames", *sorted(frames))
assert members <= {"timestamp", "pid", "tid", "cpu", "comm", "callchain"}, members
assert frames <= {"ip", "symbol", "dso"}, frames
PYTHON
