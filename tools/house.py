"""Print the size of the project: lines, files, tests, folders, words of the map.

    python tools/house.py [--items | --check]

`--items` collects the tests as well, which takes half a minute. `--check` compares the
lines of each folder with its budget in tools/qa/lines.tsv, and fails if one has more.
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
BUDGETS = ROOT / "tools/qa/lines.tsv"
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


def folders() -> dict[str, int]:
    """Lines of each folder of the package and of the engine."""
    found: dict[str, int] = {}
    for path in [*sources("csrc", ".c", ".h"), *sources("gsym", ".py")]:
        top, *below, _ = path.relative_to(ROOT).parts
        folder = "/".join((top, *below[:1]))
        found[folder] = found.get(folder, 0) + lines([path])
    return found


def read_budgets(text: str) -> dict[str, int]:
    """The most lines of each folder, from a table with a line of headings."""
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return {folder: int(most) for folder, most, _reason in rows}


def overruns(found: dict[str, int], budgets: dict[str, int]) -> list[str]:
    """A line for each folder with more lines than its budget, or without one."""
    complaints = []
    for folder, count in sorted(found.items()):
        if folder not in budgets:
            complaints.append(f"{folder}: no budget in tools/qa/lines.tsv")
        elif count > budgets[folder]:
            more = count - budgets[folder]
            complaints.append(f"{folder}: {count} lines, {more} more than its budget")
    gone = sorted(budgets.keys() - found.keys())
    return complaints + [f"{folder}: a budget, but no such folder" for folder in gone]


def items() -> int:
    """Tests that pytest collects."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", ""]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.count("::")


def main() -> int:
    """Print the table, or what is over its budget; return the exit code."""
    if "--check" in sys.argv[1:]:
        complaints = overruns(folders(), read_budgets(BUDGETS.read_text("utf-8")))
        for complaint in complaints:
            print(complaint)
        return 1 if complaints else 0
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
