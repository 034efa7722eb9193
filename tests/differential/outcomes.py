"""What becomes of real files when they are converted."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import gsym

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDERS = ("symbolic", "pyelftools")
TABLE = Path(__file__).parent / "fixture_outcomes.tsv"


class Outcome(NamedTuple):
    """Functions and functions with lines; or the class of an error and its text."""

    what: str
    detail: str


def files(fixtures: Path) -> Iterator[str]:
    """Each file of the folders."""
    for folder in FOLDERS:
        for path in sorted((fixtures / folder).rglob("*")):
            if path.is_file():
                yield path.relative_to(fixtures).as_posix()


def outcome(path: Path) -> Outcome:
    """What becomes of a file, of all its slices together."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            reports = gsym.convert_slices(path, Path(folder) / "out.gsym")
        except gsym.GsymError as error:
            # What was tried depends on the machine.
            return Outcome(type(error).__name__, error.reason.partition(": tried ")[0])
    functions = sum(report.functions for report in reports)
    with_lines = sum(report.functions_with_lines for report in reports)
    return Outcome(str(functions), str(with_lines))


def table() -> dict[str, Outcome]:
    """What is known of each file."""
    rows = (line.split("\t") for line in TABLE.read_text("utf-8").splitlines())
    return {path: Outcome(what, detail) for path, what, detail in rows}
