"""The figures of README.md and the manual, taken from benchmarks/RESULTS.md."""

from __future__ import annotations

import re
from typing import NamedTuple

from benchmarks.markdown import region_in, table, tables_in

INPUTS = ("vmlinux", "libjvm.plain", "ceph-osd.plain", "libc.plain")
MISSING = "-"


class Figure(NamedTuple):
    """A line of figures: the first column *title* from the column *start* on.

    It is taken from the table of *region* that has a column *start*, and of the rows
    of an input from the one for so many *threads*, if any are named.
    """

    label: str
    region: str
    start: str
    title: str
    threads: str = ""
    in_readme: bool = False


_LLVM = "vs llvm-gsymutil 22"
_CONVERT = f"`gsym convert --no-index`, {{}} {_LLVM}"
_PEAK = "its peak memory, as a part of llvm-gsymutil's"
_MANY = "`lookup_many`, millions of random addresses per second"
_SIZE = "size of {}, as a multiple of the GSYM file"
_PAYS = "addresses from which a conversion pays, vs {}"
_LINES = "addresses of a file, `{}` vs {}"
FIGURES = (
    Figure(
        *(_CONVERT.format("1 thread,"), "conversion", "wall gsym", "ratio", "1"),
        in_readme=True,
    ),
    Figure(_CONVERT.format("2 threads,"), "conversion", "wall gsym", "ratio", "2"),
    Figure(_PEAK, "conversion", "peak gsym", "part", "1", in_readme=True),
    Figure(
        *("lookup from C, vs LLVM's reader", "in process", "GsymReader", "ratio"),
        in_readme=True,
    ),
    Figure("lookup from C, vs symbolic", "in process", "with text", "ratio"),
    Figure(
        *("lookup from Python, vs symbolic", "in process", "lookup", "ratio"),
        in_readme=True,
    ),
    Figure(_MANY, "in process", "random", "random", in_readme=True),
    Figure(_LINES.format("gsymutil", "llvm's"), "lookup", "llvm-gsymutil", "ratio"),
    Figure(
        *(_LINES.format("gsym-symbolizer", "llvm's"), "lookup"),
        *("llvm-symbolizer", "ratio"),
    ),
    Figure(
        "ms for one `gsym lookup` of a file, from start to end",
        "start",
        *("gsym lookup",) * 2,
    ),
    Figure(
        "ms for one llvm-symbolizer, from the DWARF", "start", *("llvm-symbolizer",) * 2
    ),
    Figure(
        "1,000 addresses without a GSYM file, vs the fastest peer",
        *("without file", "1000", "1000"),
    ),
    Figure(_PAYS.format("addr2line"), "break even", *("addr2line",) * 2),
    Figure(_PAYS.format("llvm-symbolizer"), "break even", *("llvm-symbolizer",) * 2),
    Figure("KB until the first answer from a bucket", "remote", "first", "KB"),
    Figure(_SIZE.format("the DWARF"), "sizes", "DWARF", "DWARF / gsym", in_readme=True),
    Figure(_SIZE.format("a Breakpad file"), "sizes", "DWARF", "`.sym` / gsym"),
    Figure(_SIZE.format("a SymCache"), "sizes", "DWARF", "SymCache / gsym"),
)


class Single(NamedTuple):
    """A figure of one row: the first column *title* from the column *start* on.

    *row* is the first cell of it; empty for the first row of the table.
    """

    label: str
    region: str
    row: str
    start: str
    title: str


_SERVED = "`gsym serve`, 2 workers and 16 clients on 2 cores: requests of 10 frames/s"
_FAULTS = "a minute with faults: wrong answers of {}"
SINGLES = (
    Single(
        "343 small files in one process, vs llvm-gsymutil",
        "many-files",
        "wall",
        *("ratio",) * 2,
    ),
    Single("a PDB of 109 MB, vs symbolic", "pdb", "", "wall gsym", "ratio"),
    Single(
        "a Breakpad file, vs symbolic",
        "breakpad",
        "ceph-osd.plain",
        "wall gsym",
        "ratio",
    ),
    Single(
        "logs of stacks, `gsym filter` vs llvm-symbolizer",
        "markup",
        "libjvm.plain, stacks",
        *("ratio",) * 2,
    ),
    Single(
        "Fuchsia traces as columns, vs the package `fxt`",
        "traces",
        "gsym: columns",
        *("ratio",) * 2,
    ),
    Single(_SERVED, "server", "ceph-osd.plain", *("requests/s",) * 2),
    Single(
        _FAULTS.format("stored modules"),
        "soak with faults",
        "in the store",
        *("wrong",) * 2,
    ),
    Single(
        _FAULTS.format("damaged modules"),
        "soak with faults",
        "in a file that is damaged",
        *("wrong",) * 2,
    ),
    Single(
        "s until a paste of 1.1 MB is on the page",
        "page",
        "a paste",
        "painted",
        "painted",
    ),
)


def cell(results: str, figure: Figure, name: str) -> str:
    """The figure of the input *name*, or a dash where no table has it."""
    return found(results, figure, name, figure.threads)


def found(results: str, figure: Figure | Single, name: str, threads: str = "") -> str:
    """What stands in the row *name*, or the first one, under the title of *figure*."""
    for head, *rows in tables_in(region_in(results, figure.region)):
        if figure.start not in head:
            continue
        column = head.index(figure.title, head.index(figure.start))
        for row in rows:
            if name in {"", row[0]} and threads in {"", row[1]}:
                return row[column].strip("*")
    return MISSING


def module_of(results: str, region: str) -> str:
    """The benchmark that makes a region."""
    command = re.search(r"python -m (benchmarks\.\w+)", region_in(results, region))
    return f"`{command[1]}`" if command else MISSING


def figures(results: str) -> str:
    """The table of README.md, by the text of benchmarks/RESULTS.md."""
    chosen = [each for each in FIGURES if each.in_readme]
    rows = ([each.label, *_cells(results, each)] for each in chosen)
    return table(["", *_names()], rows)


def quality_figures(results: str) -> str:
    """The tables of docs/quality.md, and what they were measured with."""
    rows = [
        [each.label, *_cells(results, each), module_of(results, each.region)]
        for each in FIGURES
    ]
    single = [
        [each.label, found(results, each, each.row), module_of(results, each.region)]
        for each in SINGLES
    ]
    return "\n\n".join(
        [
            region_in(results, "context"),
            table(["", *_names(), "by"], rows),
            table(["", "figure", "by"], single),
        ]
    )


def _names() -> list[str]:
    return [name.partition(".")[0] for name in INPUTS]


def _cells(results: str, figure: Figure) -> list[str]:
    return [cell(results, figure, name) for name in INPUTS]
