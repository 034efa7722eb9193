#!/usr/bin/env bash
# Hermes profiles the running function at its first line, wherever it runs.
#
# Guess: a sample's innermost frame has the line that ran, as those of its callers have the lines
#   of their calls; a function that spends all of its time in a loop has it at the loop.
# Seen: each sample of the running function is at the line and column where the function starts
#   (`work(work.js:2:1)`), and none in its loop: the position of a frame is what the interpreter
#   saves before a call. Callers have the right lines. Each position is also a name of its own,
#   so that a viewer without a parser for names shows a recursive function several times.
# Versions: Hermes 0.12.0 (npm, hermes-engine-cli).
# Source: seen.
set -euo pipefail

command -v npm >/dev/null || { echo "not available: npm"; exit 77; }
[ "$(uname -sm)" = "Linux x86_64" ] || { echo "not available: Linux on x86-64"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts hermes-engine-cli@0.12.0

cat > work.js <<'J'
function start() { return work(60000000); }
function work(count) {
  var sum = 0;
  for (var i = 0; i < count; i++) {
    sum = (sum * 3 + i) % 1013;
    sum = sum ^ (i & 7);
  }
  return sum;
}
print(start());
J
chmod +x node_modules/hermes-engine-cli/linux64-bin/hermes
node_modules/hermes-engine-cli/linux64-bin/hermes -O0 -sample-profiling work.js > out 2>&1

cat > read.py <<'P'
import json

text = open("out", errors="replace").read()
profile, _ = json.JSONDecoder().raw_decode(text, text.index('{"traceEvents"'))
frames = profile["stackFrames"]
inner, outer = set(), set()
for sample in profile["samples"]:
    frame = frames[str(sample["sf"])]
    if frame["name"].startswith("work("):
        inner.add(frame["name"])
        outer.add(frames[str(frame["parent"])]["line"])
print("many samples:", len(profile["samples"]) > 20)
print("running:", *sorted(inner))
print("called from line:", *sorted(outer))
P
seen=$(python3 read.py)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
many samples: True
running: work(work.js:2:1)
called from line: 1
EXPECTED
