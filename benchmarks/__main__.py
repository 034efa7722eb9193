"""Run all benchmarks, one after another.

    python -m benchmarks CORPUS [--write]

CORPUS is the folder made by `benchmarks.corpus`. The inputs of the set `containers` are
not in packages; the set is measured if the folder has all of them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import conversion

ROUNDS = "--rounds=3"
PARTS = (
    ("conversion", "--set=plain", ROUNDS),
    ("conversion", "--set=containers", ROUNDS),
    ("many_files", ROUNDS),
    ("sizes",),
    ("breakpad", ROUNDS),
    ("symbfile", ROUNDS),
    ("break_even",),
    ("without_file",),
    ("start", "--rounds=9"),
    ("lookup", ROUNDS),
    ("markup", ROUNDS),
    ("growth",),
    ("in_process",),
    ("touches",),
    ("server", ROUNDS),
    ("symbfile_push",),
    ("soak", "--minutes=1"),
    ("soak", "--minutes=1", "--faults"),
)
WITHOUT_CORPUS = ("growth", "symbfile_push")


def main() -> None:
    """Run each part in a process of its own; the first failure ends it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder that holds big/")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    arguments = parser.parse_args()
    for module, *options in PARTS:
        if "--set=containers" in options:
            wanted = conversion.INPUTS["containers"]
            missing = [
                name
                for name in wanted
                if not (arguments.corpus / "big" / name).exists()
            ]
            if missing:
                print(f"containers are left out, without {missing}", file=sys.stderr)
                continue
        command = [sys.executable, "-m", f"benchmarks.{module}", *options]
        if module not in WITHOUT_CORPUS:
            command.append(str(arguments.corpus))
        command += ["--write"] if arguments.write else []
        start = time.monotonic()
        subprocess.run(command, check=True)
        seconds = time.monotonic() - start
        print(f"{module} {' '.join(options)}: {seconds:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
