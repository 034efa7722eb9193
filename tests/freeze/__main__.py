"""Record what every command prints and writes, and compare it with an earlier record.

    python -m tests.freeze record RECORD [--files FOLDER]... [--instructions]
    python -m tests.freeze compare RECORD [--files FOLDER]... [--instructions]

A record is a folder of transcripts. Each entry has a command, its standard output and
standard error, its exit status, and size and SHA-256 of each file that it wrote. The
commands of made.txt run on files that are made here, byte for byte the same on every
machine; those of by_kind.txt run on each file of the folders given. `--instructions`
adds the instructions that the engine takes for fixed work (needs valgrind). `compare`
prints the differences as a unified diff; the exit status is 1 if there are any.

The record of the files made here is in tests/golden/transcripts, which test_freeze.py
compares. To accept a change of the output:

    python -m tests.freeze record tests/golden/transcripts
"""

from __future__ import annotations

import argparse
import difflib
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.freeze.transcripts import about, made

if TYPE_CHECKING:
    from collections.abc import Iterator

INSTRUCTIONS = "instructions.json"


def transcripts(folders: list[Path]) -> Iterator[tuple[str, str]]:
    """(name, text) of each transcript: those of made files, those of *folders*."""
    yield from made()
    for folder in folders:
        root = folder.resolve()
        for path in sorted(each for each in root.rglob("*") if each.is_file()):
            if text := about(path):
                yield str(path.relative_to(root.parent)).replace("/", "-"), text


def instructions() -> str:
    """What `tests.instruction_counts` measures, of the engine at hand."""
    from tests.instruction_counts import measure  # noqa: PLC0415 - needs valgrind

    with tempfile.TemporaryDirectory() as folder:
        return json.dumps(measure(Path(folder)), indent=1)


def difference(name: str, old: str, new: str) -> str:
    """What changed in a part of a record; "" if nothing did."""
    if name == INSTRUCTIONS and old:
        from tests.instruction_counts import slower  # noqa: PLC0415 - as above

        return "".join(f"{each}\n" for each in slower(json.loads(old), json.loads(new)))
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    return "".join(difflib.unified_diff(before, after, name, name, n=4))


def compare(record: Path, found: dict[str, str]) -> str:
    """What changed since a record was made; "" if nothing did."""
    old = {each.name: each.read_text(encoding="utf-8") for each in record.iterdir()}
    # Instructions are compared on request only.
    names = sorted(old.keys() - {INSTRUCTIONS} | found.keys())
    return "".join(
        difference(name, old.get(name, ""), found.get(name, "")) for name in names
    )


def main() -> int:
    """Record or compare; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("record", type=Path)
    parser.add_argument("--files", type=Path, action="append", default=[])
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    found = dict(transcripts(options.files))
    if options.instructions:
        found[INSTRUCTIONS] = instructions()
    if options.action == "compare":
        changed = compare(options.record, found)
        sys.stdout.write(changed)
        return int(bool(changed))
    shutil.rmtree(options.record, ignore_errors=True)
    options.record.mkdir(parents=True)
    for name, text in found.items():
        (options.record / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
