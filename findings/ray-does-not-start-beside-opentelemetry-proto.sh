#!/usr/bin/env bash
# Ray does not start where opentelemetry-proto is installed.
#
# Guess: opentelemetry-proto, which holds the messages of OTLP and nothing else, changes nothing
#   for other packages.
# Seen: ray.init() ends after half a minute with "The current node timed out during startup". Ray's
#   modules of telemetry are optional: those that lack opentelemetry-api are left out. But
#   opentelemetry-proto makes `opentelemetry` a package without `metrics`, and the import fails in
#   a way that Ray does not expect (ImportError, not ModuleNotFoundError), so its agents end.
# Versions: ray 2.60.0, opentelemetry-proto 1.45.2 (PyPI).
# Source: seen, the last in dashboard.log of Ray.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check 'ray[data]==2.60.0'

cat > start.py <<'PYTHON'
import os
import sys

import ray

try:
    ray.init(num_cpus=1, logging_level="critical", log_to_driver=False, _temp_dir=sys.argv[1])
except Exception as error:
    print("fails:", str(error).split(". ")[0])
else:
    print("starts")
    ray.shutdown()
os._exit(0)
PYTHON
start() { RAY_USAGE_STATS_ENABLED=0 venv/bin/python start.py "$folder/$1" 2>/dev/null; }

alone=$(start a)
venv/bin/pip install -q --disable-pip-version-check opentelemetry-proto==1.45.2
beside=$(start b)
reason=$(grep -hom1 "cannot import name 'metrics' from 'opentelemetry'" \
  b/session_*/logs/dashboard*.log | sort -u)
echo "alone: $alone"
echo "beside opentelemetry-proto: $beside"
echo "dashboard.log: $reason"
[ "$alone" = starts ] && [ -n "$reason" ] && [[ "$beside" == "fails: The current node timed out during startup"* ]]
