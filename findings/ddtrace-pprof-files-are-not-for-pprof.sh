#!/usr/bin/env bash
# ddtrace writes files of pprof that pprof does not open: they are compressed with zstd.
#
# Guess: DD_PROFILING_OUTPUT_PPROF names files for `go tool pprof` and all else that reads pprof:
#   the message of profile.proto, in gzip ("the wire format is a gzip-compressed protobuf").
# Seen: the message is there, in zstd. pprof knows gzip alone ("unrecognized profile format").
#   Unpacked, it is read, and its first page is empty: the file names no default value, so pprof
#   shows the last of 19, samples of GPUs, which are all 0.
# Versions: ddtrace 4.16.0, zstandard 0.25.0 (PyPI), pprof of Go 1.19.8 (Debian 12, golang-1.19-go).
# Source: seen; ParseData of github.com/google/pprof/profile looks for the two bytes of gzip.
set -euo pipefail

command -v go >/dev/null || { echo "not available: go"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check ddtrace==4.16.0 zstandard==0.25.0

cat > app.py <<'PYTHON'
import time
def work():
    return sum(i * i % 7 for i in range(10000))
end = time.time() + 3
while time.time() < end:
    work()
PYTHON
DD_PROFILING_ENABLED=1 DD_TRACE_ENABLED=0 DD_PROFILING_OUTPUT_PPROF="$folder/app" \
  venv/bin/ddtrace-run venv/bin/python app.py 2>/dev/null
read -r file _ < <(echo app.*.pprof)
venv/bin/python - "$file" <<'PYTHON'
import sys
import zstandard
with open(sys.argv[1], "rb") as file, open("unpacked.pprof", "wb") as out:
    zstandard.ZstdDecompressor().copy_stream(file, out)
PYTHON

pprof() { HOME=$folder go tool pprof -top "$@" 2>&1 || true; }
written=$(pprof "$file")
first=$(pprof unpacked.pprof)
cpu=$(pprof -sample_index=cpu-time unpacked.pprof)
for each in "$written" "$first" "$cpu"; do
  head -5 <<<"$each"
  echo
done
grep -q "unrecognized profile format" <<<"$written"
grep -q "Type: gpu-flops-samples" <<<"$first"
! grep -q work <<<"$first"
grep -q work <<<"$cpu"
