#!/usr/bin/env bash
# clang -ftime-trace writes sums of durations as if they were threads that ran.
#
# Guess: each `tid` of the trace is a thread of the compiler, which has one; the durations
#   of that thread nest, and together they last as long as the compilation.
# Seen: beside the thread there are dozens of others, numbered on from it, with one duration
#   each, named "Total ..." and begun at 0: the sum of all durations of one name, in any
#   thread, with callees in callers. What adds up threads, as viewers of profiles do, has
#   several times the time of the compilation, all of it at its begin. Nothing but the
#   name and the arguments "count" and "avg ms" tells these from threads.
# Versions: clang 19.1.7 (Debian 12); clang 22.1.8 does the same.
# Source: seen; "Emit totals by section name as additional 'thread' events" is a comment in
#   llvm/lib/Support/TimeProfiler.cpp.
set -euo pipefail

command -v clang++-19 >/dev/null || { echo "not available: clang++-19"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

printf '#include <map>\n#include <string>\nstd::map<std::string, int> names;\n' > a.cc
clang++-19 -O1 -c a.cc -ftime-trace -ftime-trace-granularity=100 \
  || { echo "not available: headers of C++"; exit 77; }

python3 - <<'PYTHON'
import json
from collections import defaultdict

threads = defaultdict(list)
for event in json.load(open("a.json"))["traceEvents"]:
    if event["ph"] == "X":
        threads[event["tid"]].append(event)
busy = {tid: max(e["dur"] for e in events) for tid, events in threads.items()}
(run,) = (e["dur"] for e in threads[min(threads)] if e["name"] == "ExecuteCompiler")
sums = [events for tid, events in threads.items() if tid != min(threads)]
print(len(threads), "threads; time of all of them:", round(sum(busy.values()) / run, 1))
assert len(sums) > 10 and sum(busy.values()) > 3 * run
for (event,) in sums:
    assert event["ts"] == 0 and event["name"].startswith("Total "), event
    assert set(event["args"]) == {"count", "avg ms"}, event
PYTHON
