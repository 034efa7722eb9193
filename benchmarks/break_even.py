"""The number of addresses from which converting beats lookups in the DWARF.

    python -m benchmarks.break_even CORPUS [--input NAME]... [--write]

Processes look up 1, 10, 100 ... random addresses with functions, lines and inlined
calls, in the DWARF or in a converted file, including the time of the conversion. A
series ends with the first run that takes longer than 2 s, or fails; why is said.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.charts import Panel, curves
from benchmarks.compiled_peers import dwarf_programs, versions
from benchmarks.crossing import crossing
from benchmarks.markdown import table
from benchmarks.prepared import load_address
from benchmarks.report import LLVM_GSYMUTIL, argument_parser, made_by, write_region
from benchmarks.series import NUMBERS, PATIENCE, Tool, series_of
from tests.differential.sampling import functions, random_addresses

if TYPE_CHECKING:
    from collections.abc import Mapping

INPUTS = ("libc.plain", "vmlinux", "libjvm.plain", "ceph-osd.plain")
LLVM_SYMBOLIZER = "llvm-symbolizer-22"
# pyelftools reads the address table of a large binary for minutes.
PYELFTOOLS_LIMIT = 20 << 20
OURS = "gsym"
INSTALLED = ("addr2line", "eu-addr2line", "pyelftools")
LEGEND = """\
Seconds of processor time for this number of random addresses. gsym, llvm-gsymutil,
llvm-symbolizer with the file that gsym makes, and symbolic include the conversion, on
one thread. `-`: not run, because a tenth of the addresses took over {patience:.0f} s
or failed.
pyelftools reports no inlined calls, and runs on small files only."""
BREAK_EVEN_LEGEND = """\
The number of addresses from which `gsym convert` plus lookups in its file take less
time than lookups in the DWARF, interpolated between measured numbers."""


def tools(binary: Path, folder: Path, compiled: Mapping[str, Path]) -> dict[str, Tool]:
    """All ways, by name; ours first."""
    gsym = Path(sys.executable).with_name("gsym")
    utility = gsym.with_name("gsymutil")
    ours, llvm, cache = (folder / name for name in ("a.gsym", "b.gsym", "c.symcache"))
    beside = folder / f"{binary.name}.gsym"  # where llvm-symbolizer looks
    our_convert = (gsym, "convert", "-q", "--threads=1", binary, "-o")
    script = [sys.executable, "-m"]
    symbolic = [*script, "benchmarks.symbolic_process"]
    llvm_convert = ["--num-threads=1", f"--convert={binary}", f"--out-file={llvm}"]
    found = {
        OURS: Tool(
            [*map(str, (*our_convert, ours))],
            [str(utility), "--addresses-from-stdin"],
            f"0x{{:x}} {ours}\n",
        ),
        "llvm-gsymutil": Tool(
            [LLVM_GSYMUTIL, "--quiet", *llvm_convert],
            [LLVM_GSYMUTIL, "--addresses-from-stdin"],
            f"0x{{:x}} {llvm}\n",
        ),
        "llvm-symbolizer, GSYM": Tool(
            [*map(str, (*our_convert, beside))],
            [LLVM_SYMBOLIZER, "-e", str(binary), f"--gsym-file-directory={folder}"],
        ),
        "symbolic": Tool(
            [*symbolic, "convert", str(binary), str(cache)],
            [*symbolic, "lookup", str(cache), str(load_address(binary))],
        ),
        "llvm-symbolizer": Tool(
            None, [LLVM_SYMBOLIZER, "--disable-gsym", "-e", str(binary)]
        ),
        "addr2line": Tool(None, ["addr2line", "-fie", str(binary)]),
        "eu-addr2line": Tool(None, ["eu-addr2line", "-fi", "-e", str(binary)]),
    }
    for name, program in compiled.items():
        found[name] = Tool(None, [str(program), str(binary)])
    if binary.stat().st_size < PYELFTOOLS_LIMIT:
        command = [*script, "benchmarks.pyelftools_process", str(binary)]
        found["pyelftools"] = Tool(None, command)
    return found


def measure_input(binary: Path, compiled: Mapping[str, Path]) -> dict[str, list[float]]:
    """The series of each tool."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        every = tools(binary, folder, compiled)
        ours = every[OURS]
        if ours.convert is not None:
            subprocess.run(ours.convert, check=True)
        addresses = random_addresses(functions(folder / "a.gsym"), NUMBERS[-1], seed=1)
        return {
            name: series_of(tool, addresses, folder / "query")
            for name, tool in every.items()
        }


def rows_of(name: str, found: dict[str, list[float]]) -> list[list[str]]:
    """The lines of an input in the table of seconds."""
    rows = []
    for tool, series in found.items():
        cells = [f"{each:.3g}" for each in series]
        cells += ["-"] * (len(NUMBERS) - len(cells))
        rows.append([f"{name}, {tool}", *cells])
    return rows


def main() -> None:
    """Measure, print, and with --write keep the tables and the chart."""
    arguments = argument_parser(__doc__).parse_args()
    measured = {}
    with tempfile.TemporaryDirectory() as temporary:
        compiled = dwarf_programs(Path(temporary))
        for name in arguments.input or INPUTS:
            measured[name] = measure_input(arguments.corpus / "big" / name, compiled)
            print(name, measured[name], file=sys.stderr)
    in_dwarf = ("llvm-symbolizer", *INSTALLED, *compiled)
    peers = [LLVM_GSYMUTIL, "symbolic", LLVM_SYMBOLIZER, *INSTALLED, *versions()]
    parts = [
        made_by("python -m benchmarks.break_even CORPUS", peers),
        BREAK_EVEN_LEGEND,
        table(
            ("input", *in_dwarf),
            [
                [
                    name,
                    *(
                        crossing(NUMBERS, found[OURS], found[tool])
                        if found.get(tool)
                        else "-"
                        for tool in in_dwarf
                    ),
                ]
                for name, found in measured.items()
            ],
        ),
        LEGEND.format(patience=PATIENCE),
        table(
            ("input and tool", *(f"{number}" for number in NUMBERS)),
            [row for name, found in measured.items() for row in rows_of(name, found)],
        ),
    ]
    if arguments.write:
        panels = [
            Panel(
                name,
                {
                    tool: list(zip(NUMBERS, series, strict=False))
                    for tool, series in found.items()
                    if series
                },
            )
            for name, found in measured.items()
        ]
        parts.append(
            curves("break-even", "addresses", "seconds of processor time", panels)
        )
        write_region("break even", "\n\n".join(parts))
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
