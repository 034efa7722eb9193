"""The figures in README.md, taken from the tables of docs/benchmarks.md."""

from __future__ import annotations

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


_LLVM = "vs llvm-gsymutil 22"
_CONVERT = "`gsym convert --no-index`, {} " + _LLVM
_PEAK = "`gsym convert --no-index`, peak memory as a fraction of llvm-gsymutil's"
_MANY = "`lookup_many`, millions of random addresses per second"
_SIZE = "size of {}, as a multiple of the GSYM file"
FIGURES = (
    Figure(_CONVERT.format("1 thread,"), "conversion", "wall gsym", "ratio", "1"),
    Figure(_CONVERT.format("2 threads,"), "conversion", "wall gsym", "ratio", "2"),
    Figure(_PEAK, "conversion", "peak gsym", "part", "1"),
    Figure("lookup from C, vs LLVM's reader", "in process", "GsymReader", "ratio"),
    Figure("lookup from C, vs symbolic", "in process", "with text", "ratio"),
    Figure("lookup from Python, vs symbolic", "in process", "lookup", "ratio"),
    Figure(_MANY, "in process", "random", "random"),
    Figure(_SIZE.format("the DWARF"), "sizes", "DWARF", "DWARF / gsym"),
    Figure(_SIZE.format("a Breakpad file"), "sizes", "DWARF", "`.sym` / gsym"),
    Figure(_SIZE.format("a SymCache"), "sizes", "DWARF", "SymCache / gsym"),
)


def cell(benchmarks: str, figure: Figure, name: str) -> str:
    """The figure of the input *name*, or a dash where no table has it."""
    for head, *rows in tables_in(region_in(benchmarks, figure.region)):
        if figure.start not in head:
            continue
        column = head.index(figure.title, head.index(figure.start))
        for row in rows:
            if row[0] == name and figure.threads in {"", row[1]}:
                return row[column].strip("*")
    return MISSING


def figures(benchmarks: str) -> str:
    """The table of README.md, by the text of docs/benchmarks.md."""
    head = ["", *(name.partition(".")[0] for name in INPUTS)]
    rows = (
        [figure.label, *(cell(benchmarks, figure, name) for name in INPUTS)]
        for figure in FIGURES
    )
    return table(head, rows)
