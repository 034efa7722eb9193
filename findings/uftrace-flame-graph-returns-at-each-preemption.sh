#!/usr/bin/env bash
# In flame graphs of uftrace each preemption ends a function that has not returned.
#
# Guess: `uftrace dump --flame-graph` has the stacks and times of `uftrace report` of one
#   recording: here a single stack, main;outer;inner;leaf, with nearly all of the time.
# Seen: `leaf` has next to nothing, and most of the time is missing. By default uftrace also
#   records when a thread is pre-empted and when it goes on. The latter takes the innermost
#   function off the stack of the graph: the time up to the next preemption is its caller's,
#   then that of the caller's caller. After as many preemptions as there are frames, which takes
#   milliseconds on a busy machine, it is nowhere, and later calls have no callers. With
#   --no-sched the same recording has all of the time in `leaf`.
# Versions: uftrace 0.13 (Debian 12).
# Source: seen.
set -euo pipefail

for tool in gcc uftrace taskset; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap '[ -z "${other:-}" ] || kill "$other" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"

cat > a.c <<'C'
volatile long sum;
__attribute__((noinline)) void leaf(long n) { while (n--) sum += n; }
__attribute__((noinline)) void inner(void) { leaf(1000000000); sum++; }
__attribute__((noinline)) void outer(void) { inner(); sum++; }
int main(void) { outer(); return 0; }
C
gcc -O1 -pg a.c -o a
# Another program on the same processor, so that this one is pre-empted.
processor=$(taskset -pc $$ | sed 's/.*[ ,-]//')
timeout 60 taskset -c "$processor" bash -c 'while :; do :; done' &
other=$!
taskset -c "$processor" uftrace record -d recording ./a
kill "$other"
uftrace report -d recording
uftrace report -d recording | grep -q "pre-empted" \
  || { echo "not available: events of scheduling"; exit 77; }

for option in --sched --no-sched; do
  options=(-d recording --flame-graph --sample-time 10us)
  [ "$option" = --sched ] || options+=("$option")
  uftrace dump "${options[@]}" > "stacks$option"
  echo "$option:"
  cat "stacks$option"
done
python3 - <<'PYTHON'
def times(option):  # of `leaf` alone, and of all functions, in units of 10 us
    lines = [line.rsplit(" ", 1) for line in open("stacks" + option)]
    values = {stack: int(value) for stack, value in lines}
    return values.get("main;outer;inner;leaf", 0), sum(values.values())

leaf, everything = times("--no-sched")
assert leaf > 5_000 and leaf > 0.9 * everything, (leaf, everything)
lost_leaf, rest = times("--sched")
print(f"leaf: {lost_leaf} instead of {leaf}")
assert lost_leaf < leaf / 2 and rest < 0.75 * everything, (lost_leaf, rest)
PYTHON
