"""Run all benchmarks, one after another.

    python -m benchmarks CORPUS [--write]

CORPUS is the folder made by `benchmarks.corpus`. With --write, benchmarks/RESULTS.md
has the figures of this run only: its regions are emptied first, and the exit status is
1 if one of them is empty at the end.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.report import begin, empty_regions

ROUNDS = "--rounds=3"
PARTS = (
    ("conversion", "--set=plain", ROUNDS),
    ("conversion", "--set=compressed", ROUNDS),
    ("many_files", ROUNDS),
    ("sizes",),
    ("breakpad", ROUNDS),
    ("pdb", ROUNDS),
    ("symbfile", ROUNDS),
    ("break_even",),
    ("without_file",),
    ("start", "--rounds=9"),
    ("lookup", "--rounds=1"),
    ("markup", "--rounds=1"),
    ("traces", ROUNDS),
    ("growth",),
    ("in_process",),
    ("touches",),
    ("remote",),
    ("server", ROUNDS),
    ("page",),
    ("symbfile_push",),
    ("soak", "--minutes=1"),
    ("soak", "--minutes=1", "--faults", "--load=0.3"),
)
WITHOUT_CORPUS = ("traces", "symbfile_push")


def main() -> None:
    """Run each part in a process of its own; one that fails stops no other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder that holds big/")
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    arguments = parser.parse_args()
    if arguments.write:
        begin()
    failed = []
    for module, *options in PARTS:
        command = [sys.executable, "-m", f"benchmarks.{module}", *options]
        if module not in WITHOUT_CORPUS:
            command.append(str(arguments.corpus))
        command += ["--write"] if arguments.write else []
        start = time.monotonic()
        if subprocess.run(command, check=False).returncode:
            failed.append(module)
        seconds = time.monotonic() - start
        print(f"{module} {' '.join(options)}: {seconds:.0f} s", file=sys.stderr)
    if arguments.write:
        failed += empty_regions()
    if failed:
        sys.exit(f"failed, or not measured: {', '.join(failed)}")


if __name__ == "__main__":
    main()
