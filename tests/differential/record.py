"""The record of the long comparisons with peers, and what docs/quality.md has of it."""

from __future__ import annotations

from collections import Counter

from benchmarks.markdown import region_in, tables_in, with_region
from benchmarks.report import QUALITY, ROOT
from tests.differential import verdicts

DOCUMENT = ROOT / "tests" / "differential" / "RESULTS.md"
SWEEP = "sweep"  # the region of every byte of small programs


def read() -> str:
    """The record, as the last runs of both comparisons left it."""
    return DOCUMENT.read_text(encoding="utf-8")


def summary(page: str) -> str:
    """The lines of docs/quality.md, by the tables of the record."""
    (asked,) = (row for row in tables_in(page)[0] if row[0] == "all")
    (swept,) = (row for row in tables_in(region_in(page, SWEEP))[0] if row[0] == "all")
    binaries, addresses, symbolizer, addr2line, gsymutil = asked[1:6]
    of_class, unexplained, _, _, lost = asked[6:]
    programs, _, every, agree, differs, known, others = swept[3:]
    rights = Counter(each.right for each in verdicts.kept())
    return f"""\
- {addresses} random addresses of {binaries} binaries (`tests.differential.accept`):
  equal to llvm-symbolizer at {symbolizer}, to addr2line at {addr2line}, to
  llvm-gsymutil at {gsymutil}; {of_class} differences of a class, {unexplained}
  unexplained, {lost} lines lost.
- {every} addresses, every byte of {programs} small programs for all processors
  (`tests.differential.sweep`): all readers agree at {agree}, one differs from the
  others at {differs}; {known} of a class, {others} unexplained.
- {len(verdicts.kept())} random differences looked at by hand
  (`tests.differential.verdicts`): gsym right at {rights["gsym"]}, both at
  {rights["both"]}, llvm-symbolizer alone at {rights["llvm-symbolizer"]}."""


def keep(page: str) -> None:
    """Write the record, and its summary into docs/quality.md."""
    DOCUMENT.write_text(page, encoding="utf-8")
    manual = QUALITY.read_text(encoding="utf-8")
    QUALITY.write_text(with_region(manual, "agreement", summary(page)), "utf-8")
