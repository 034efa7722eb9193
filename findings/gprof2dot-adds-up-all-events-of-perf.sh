#!/usr/bin/env bash
# gprof2dot counts the samples of all events of perf as if they were one.
#
# Guess: of a recording with two events, as `perf record -e cpu-clock,page-faults` makes, gprof2dot
#   shows the first, or each for itself, as `perf report` and stackcollapse-perf.pl do; and a
#   sample counts as many events as its period says.
# Seen: it passes over the line that has both, and counts stacks. `work`, with nearly all of the
#   time, has one percent of this graph, and `touch`, with next to none, has the rest, since each
#   page fault is as much as a millisecond. Nothing is said, and the result is in percent.
# Versions: gprof2dot 2025.4.14 (PyPI), perf 6.1 (Debian 12).
# Source: seen; PerfParser.parse_event.
set -euo pipefail

for tool in gcc perf; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check gprof2dot==2025.4.14 \
  || { echo "not available: gprof2dot 2025.4.14"; exit 77; }
perf() { command perf --buildid-dir "$folder/cache" "$@"; }

cat > a.c <<'C'
#include <stdlib.h>
volatile long sum;
__attribute__((noinline)) void touch(char *p, long n) { while (n) p[n -= 4096] = 1; }
__attribute__((noinline)) void work(long n) { while (n--) sum += n; }
int main(void) { touch(malloc(64 << 20), 64 << 20); work(400000000); return sum == 1; }
C
gcc -O1 -fno-omit-frame-pointer a.c -o a
perf record -q -g -e cpu-clock/period=1000000/u,page-faults/period=1/u -o recording ./a \
  2>/dev/null || { echo "not available: perf record"; exit 77; }

perf report -i recording --stdio --no-children -g none -F overhead,sym 2>/dev/null \
  | grep -E "of event|work|touch" | tee report.txt
perf script -i recording 2>/dev/null | venv/bin/gprof2dot -f perf > graph.dot
grep -E 'label="a.n(work|touch).n' graph.dot | grep -v -e "->" | sed 's/.*label="/gprof2dot: /; s/".*//'

python3 - <<'PYTHON'
import re

clock, faults = open("report.txt").read().split("page-faults")
def percent(text, pattern):
    found = re.search(pattern, text)
    return float(found[1]) if found else 0.0

of_time = percent(clock, r"([\d.]+)% .* work")
of_faults = percent(faults, r"([\d.]+)% .* touch")
in_graph = percent(open("graph.dot").read(), r'label="a\\nwork\\n([\d.]+)%')
assert of_time > 80 and of_faults > 80, (of_time, of_faults)
assert in_graph < 10, in_graph
PYTHON
