#!/usr/bin/env bash
# With lineNumbers, @datadog/pprof gives a function without a name another name in each line.
#
# Guess: `lineNumbers: true` adds the line of each frame to a profile and leaves its functions as
#   they are: `(anonymous:L#5:C#31)`, after the place where the function begins.
# Seen: the place in the name becomes that of the call or the sample as well. One anonymous function
#   that calls `work` in three lines is three functions with names of their own, each with a part
#   of the time. Names of other functions stay.
# Versions: @datadog/pprof 5.20.0 (npm), node 20.20.2.
# Source: seen.
set -euo pipefail

for tool in node npm; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts @datadog/pprof@5.20.0 \
  || { echo "not available: @datadog/pprof 5.20.0"; exit 77; }

cat > run.js <<'JAVASCRIPT'
const pprof = require("@datadog/pprof");
function work() {
  for (const end = Date.now() + 200; Date.now() < end;);
}
const run = () => [0].forEach(() => {
  work();
  work();
  work();
});
const lineNumbers = process.argv[2] === "lines";
pprof.time.start({ durationMillis: 10000, intervalMicros: 2000, lineNumbers });
run();
const profile = pprof.time.stop();
const text = (index) => profile.stringTable.strings[index];
const functions = new Map(profile.function.map((each) => [each.id, each]));
const callers = new Map();
for (const sample of profile.sample) {
  const frames = sample.locationId.map((id) => {
    const line = profile.location.find((each) => each.id === id).line[0];
    return [text(functions.get(line.functionId).name), Number(line.line)];
  });
  const at = frames.findIndex(([name]) => name === "work");
  if (at >= 0) callers.set(frames[at + 1].join(" at line "), Number(sample.value[0]));
}
console.log(`lineNumbers: ${lineNumbers}`, callers);
const lines = [...callers.keys()].map((each) => /^\(anonymous:L#(\d+):C#\d+\) /.exec(each)[1]);
if (lines.sort().join() !== (lineNumbers ? "6,7,8" : "5")) process.exit(1);
JAVASCRIPT
node run.js
node run.js lines
