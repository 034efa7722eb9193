"""The record of the long comparisons with peers, and its summary in the manual."""

from __future__ import annotations

import re
from collections import Counter

from benchmarks.markdown import region_in, tables_in, with_region
from benchmarks.report import ROOT
from tests.differential import verdicts

DOCUMENT = ROOT / "tests" / "differential" / "RESULTS.md"
# Regions: every byte of small programs, sums of profiles, code of devices, dumps of
# programs of ours and crashes of packaged ones.
SWEEP, PROFILES, DEVICES, DEATHS, CRASHES = REGIONS = (
    "sweep",
    "profiles",
    "devices",
    "deaths",
    "crashes",
)


def read() -> str:
    """The record, as the last runs of both comparisons left it."""
    return DOCUMENT.read_text(encoding="utf-8")


def summary(page: str) -> str:
    """The lines of the manual, by the tables of the record."""
    (asked,) = (row for row in tables_in(page)[0] if row[0] == "all")
    (swept,) = (row for row in tables_in(region_in(page, SWEEP))[0] if row[0] == "all")
    binaries, addresses, symbolizer, addr2line, gsymutil = asked[1:6]
    of_class, unexplained, _, _, lost = asked[6:]
    programs, _, every, agree, differs, known, others = swept[3:]
    rights = Counter(each.right for each in verdicts.kept())
    (summed,) = tables_in(region_in(page, PROFILES))
    sums = [re.findall(r"(\d+) of (\d+)", " ".join(row[3:])) for row in summed[1:]]
    equal, compared = (sum(int(n[at]) for row in sums for n in row) for at in (0, 1))
    recordings = sum(int(row[2]) for row in summed[1:])
    (targets,) = tables_in(region_in(page, DEVICES))
    asked_there, different = (sum(int(row[at]) for row in targets[1:]) for at in (2, 3))
    dumps = re.findall(r"\d+", region_in(page, DEATHS).partition("Of ")[2])
    frames, crashed, answered = re.findall(
        r"\d+", region_in(page, CRASHES).partition("\nOf ")[2]
    )[:3]
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
  {rights["both"]}, llvm-symbolizer alone at {rights["llvm-symbolizer"]}.
- {recordings} profiles of {len(sums)} formats (`tests.differential.profile_sums`):
  {equal} of {compared} sums of functions, threads and processes are those of the
  format's own tool.
- {asked_there:,} addresses in code of GPUs, BPF, WebAssembly and other processors
  (`tools.devices`): {different} answers differ from the tool of the target.
- {dumps[0]} dumps of programs that die at the end of a known chain of calls
  (`tests.differential.deaths`): the chain is whole in {dumps[1]} for gsym, in
  {dumps[2]} for gdb, in {dumps[3]} for eu-stack.
- {frames} frames of crashes of {crashed} packaged programs, from what they print or
  from their cores (`tests.differential.crashes`): {answered} are answered as by gdb or
  eu-addr2line."""


def keep_region(name: str, text: str) -> None:
    """Write a region of the record."""
    keep(with_region(read(), name, text))


def keep(page: str) -> None:
    """Write the record with its summary, which the manual shows."""
    DOCUMENT.write_text(with_region(page, "summary", summary(page)), encoding="utf-8")
