#!/usr/bin/env bash
# Stacks of scalene go down to the program's function, and begin again with the interpreter.
#
# Guess: `combined_stacks` ("stitched" of Python and native frames) of a program in Python are
#   main, `_PyEval_EvalFrameDefault` or the function in its place, and what the function calls.
# Seen: the stack of Python from the root to `leaf` comes first, and behind it the native stack from
#   the root: Py_RunMain, PyEval_EvalCode, _PyEval_EvalFrameDefault of the same calls. Read as one
#   stack, `leaf` calls Py_RunMain, which runs the program a second time, and no function of Python
#   has any time of its own. `stacks`, beside it, has the functions of Python alone.
# Versions: scalene 2.4.0 (PyPI), Python 3.11.
# Source: seen; add_combined_stack of scalene/scalene_utility.py appends the native segment.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check scalene==2.4.0

cat > app.py <<'PYTHON'
def leaf(n):
    s = 0
    for i in range(n):
        s += i * i % 7
    return s
def middle(n):
    return leaf(n) + leaf(n // 2)
for _ in range(1500):
    middle(10000)
PYTHON
venv/bin/scalene run --cpu-only app.py >/dev/null 2>&1

cat > read.py <<'PYTHON'
import json

with open("scalene-profile.json", encoding="utf-8") as file:
    profile = json.load(file)
all_hits = again = own = 0
for frames, hits in profile["combined_stacks"]:
    names = [frame["display_name"] for frame in frames]
    all_hits += hits
    own += hits * (frames[-1]["kind"] == "py")
    if "leaf" in names:
        again += hits * ("PyEval_EvalCode" in names[names.index("leaf") :])
print("samples:", all_hits)
print("in PyEval_EvalCode called by leaf:", again)
print("with a function of Python innermost:", own)
raise SystemExit(not again > 0.8 * all_hits > 0 or own > 0.1 * all_hits)
PYTHON
venv/bin/python read.py
