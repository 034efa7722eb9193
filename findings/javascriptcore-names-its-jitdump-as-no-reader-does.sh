#!/usr/bin/env bash
# The jitdump of JavaScriptCore has a name by which perf does not take it for one.
#
# Guess: `bun` with useJITDump, of which perf records that it maps the dump, has the names of
#   its JavaScript after `perf inject --jit`, as node --perf-prof has.
# Seen: the file is jit-TID-PID.dump, with the thread that began it in front. perf takes only
#   jit-PID.dump of the same process for a jitdump: it writes no jitted-*.so and says nothing,
#   and all JavaScript is addresses. The contents are as the specification asks. Without
#   jitDumpDirectory the name has random letters as well.
# Versions: bun 1.4.5 (npm, @oven/bun-linux-x64-baseline); perf 6.1 (Debian 12).
# Source: WebKit, Source/JavaScriptCore/assembler/PerfLog.cpp; linux, tools/perf/util/jitdump.c
#   (jit_detect); and seen.
set -euo pipefail

for tool in npm perf; do
  command -v "$tool" >/dev/null || { echo "not available: $tool"; exit 77; }
done
[ "$(uname -m)" = x86_64 ] || { echo "not available: x86-64"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts @oven/bun-linux-x64-baseline@1.4.5

cat > work.js <<'J'
function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
let sum = 0;
for (let i = 0; i < 1500; i++) sum += fibonacci(22) % 7;
console.log(sum);
J
bun=node_modules/@oven/bun-linux-x64-baseline/bin/bun
export BUN_JSC_useJITDump=1 BUN_JSC_jitDumpDirectory=$folder
perf record -q -k mono -e cpu-clock -F 500 -o perf.data "$bun" work.js > /dev/null 2>&1 \
  || { echo "not available: the right to record"; exit 77; }
perf inject --jit -i perf.data -o injected.data
perf report -i injected.data --stdio -s sym 2>/dev/null > report

cat > read.py <<'P'
import glob
import re
import struct

(path,) = glob.glob("jit-*.dump")
data = open(path, "rb").read()
process = struct.unpack_from("<I", data, 20)[0]
print("magic of a jitdump:", data[:4] == b"DTiJ")
print("has fibonacci:", b": fibonacci#" in data)
name = re.fullmatch(r"jit-(\d+)-(\d+)\.dump", path)
print("its name ends with the process:", bool(name) and int(name[2]) == process)
print("its name begins with the process:", bool(name) and int(name[1]) == process)
print("files that perf inject made of it:", len(glob.glob("jitted-*")))
print("perf report has fibonacci:", "fibonacci" in open("report").read())
P
seen=$(python3 read.py)
echo "$seen"
diff - <(echo "$seen") <<'EXPECTED'
magic of a jitdump: True
has fibonacci: True
its name ends with the process: True
its name begins with the process: False
files that perf inject made of it: 0
perf report has fibonacci: False
EXPECTED
