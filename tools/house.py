"""Print the size of the project: lines, files, tests, folders, words of the map.

    python tools/house.py [--items]

`--items` collects the tests as well, which takes half a minute.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^#include "(?:\w+/)*(\w+)[.]h"', re.MULTILINE)


def lines(paths: Iterable[Path]) -> int:
    """Lines of files."""
    return sum(path.read_bytes().count(b"\n") for path in paths)


def sources(folder: str, *endings: str) -> list[Path]:
    """The files of a folder that have one of some endings."""
    found = (path for path in (ROOT / folder).rglob("*") if path.suffix in endings)
    return sorted(path for path in found if "build" not in path.parts)


def knots(folder: Path) -> list[list[str]]:
    """Groups of C folders that include each other in a circle."""
    files = {path.stem: path for path in folder.rglob("*.[ch]")}
    includes: dict[str, set[str]] = {}
    for path in folder.rglob("*.[ch]"):
        here = str(path.parent.relative_to(folder))
        for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            if name in files:
                there = str(files[name].parent.relative_to(folder))
                includes.setdefault(here, set()).add(there)
    reached = {here: _reach(here, includes) for here in includes}
    groups = {
        tuple(sorted(other for other in found if here in reached.get(other, set())))
        for here, found in reached.items()
        if here in found
    }
    return [list(group) for group in sorted(groups) if len(group) > 1]


def _reach(start: str, includes: dict[str, set[str]]) -> set[str]:
    """All folders that one leads to."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for other in includes.get(waiting.pop(), set()) - found:
            found.add(other)
            waiting.append(other)
    return found


def items() -> int:
    """Tests that pytest collects."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", ""]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.count("::")


def main() -> int:
    """Print the table; return the exit code."""
    c_files, python = sources("csrc", ".c", ".h"), sources("gsym", ".py")
    tests = sources("tests", ".py")
    layers = (ROOT / "tests/project/test_layers.py").read_text(encoding="utf-8")
    table = layers.partition("FOLDERS = (")[2].partition("\n)\n")[0]
    map_words = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split()
    rows = {
        "lines of C and Python": lines([*c_files, *python]),
        "files of C": len(c_files),
        "files of Python": len(python),
        "lines of tests": lines(tests),
        "folders of the package": table.count('\n    "'),
        "words of ARCHITECTURE.md": len(map_words),
        "circles of folders in csrc": len(knots(ROOT / "csrc")),
    }
    if "--items" in sys.argv[1:]:
        rows["collected tests"] = items()
    for name, count in rows.items():
        print(f"{name:30} {count:7}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
