"""Lookups in a process, from C and from Python, compared with symbolic.

    python -m benchmarks.in_process CORPUS [--input NAME]... [--write]

benchmarks/engine_lookups.c calls the two engines alternately from C. From Python both
return objects, timed by pytest-benchmark (test_in_process.py).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import symbolic

import gsym
from benchmarks.c_programs import compile_program
from benchmarks.charts import bars
from benchmarks.markdown import table
from benchmarks.prepared import COUNT, FUNCTIONS, Prepared, prepare
from benchmarks.process import column, measure
from benchmarks.report import (
    LLVM_GSYMUTIL,
    ROOT,
    argument_parser,
    environment,
    write_region,
)

if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping

INPUTS = ("libc.plain", "vmlinux", "libjvm.plain", "ceph-osd.plain")
ROUNDS = 5
ENGINE_COUNT = 100_000
STREAM_COUNT = 20_000
ENGINE_HEAD = (
    *("input", "gsym", "with text", "symbolic", "ratio", "llvm-gsymutil", "ratio"),
    *("first gsym", "first symbolic", "ratio", "open gsym", "open symbolic"),
)
PYTHON_HEAD = (
    *("input", "lookup", "symbolic", "ratio"),
    *("random", "2 threads", "ascending", "2 threads"),
)
INDEX_HEAD = (
    *("input", "bytes of index", "of the file"),
    *("first", "without index", "ratio", "warm", "without index", "ratio"),
)
ENGINE_LEGEND = """\
From C, nanoseconds of processor time per lookup, medians of {rounds} rounds: {count}
random addresses, uniformly distributed over the bytes of functions, with warm
caches. `with text` includes names and paths, as symbolic does. llvm-gsymutil is
measured by its text stream without start-up, its only interface. `first` is the
first lookup in each of {functions} random functions after `open`; `open` is in
microseconds."""
INDEX_LEGEND = """\
The same for files written by `gsym convert --index`: size of the index, first lookup
in a function, and lookups with warm caches, where files without an index have one in
memory."""
PYTHON_LEGEND = """\
From Python: microseconds for one `Reader.lookup` and one `SymCache.lookup`, which
return objects; then millions of addresses per second of `lookup_many`, with a
million random addresses per call, including inlined frames, with one and two
threads."""


class Engine(NamedTuple):
    """Figures of engine_lookups.c, in nanoseconds."""

    warm: float
    text: float
    first: float
    open: float
    frames: float


class Figures(NamedTuple):
    """What the tables show of an input by the engine.

    *indexed* and *index_size* are of the file with an index, *size* of the other one;
    *llvm* is in nanoseconds for one lookup.
    """

    ours: Engine
    indexed: Engine
    size: int
    index_size: int
    symbolic: Engine
    llvm: float


def build(folder: Path) -> Path:
    """Compile engine_lookups.c with the engine's sources."""
    sources = sorted(ROOT.glob("csrc/*/*.c"))
    options = (
        f"-iquote{ROOT / 'csrc'}",
        f"-I{ROOT / 'csrc/include'}",
        "-fvisibility=hidden",
        "-ldl",
    )
    return compile_program("engine_lookups", folder, *sources, *options)


def measure_engine(program: Path, prepared: Prepared) -> Figures:
    """Our figures and those of the peers."""
    library = Path(symbolic.__file__).with_name("_lowlevel__lib.so")

    def run(kind: str, file: Path, base: int) -> Engine:
        asked = prepared.addresses("random", base)[:ENGINE_COUNT]
        samples = [
            _write(prepared.folder / "asked", asked),
            _write(prepared.folder / "first", prepared.addresses("functions", base)),
        ]
        done = subprocess.run(
            [program, kind, file, *samples, str(ROUNDS), library],
            capture_output=True,
            text=True,
            check=True,
        )
        return Engine(*map(float, done.stdout.split()))

    ours = run("gsym", prepared.gsym, 0)
    indexed = run("gsym", prepared.indexed, 0)
    if indexed.frames != ours.frames:
        raise ValueError(f"{prepared.name}: an index changes the answers")
    theirs = run("symbolic", prepared.symcache, prepared.load_address)
    with gsym.open(prepared.gsym) as plain, gsym.open(prepared.indexed) as reader:
        sizes = plain.size, reader.stored_index_size
    return Figures(ours, indexed, *sizes, theirs, measure_llvm(prepared))


def measure_llvm(prepared: Prepared) -> float:
    """Nanoseconds of llvm-gsymutil for one address of a stream, without its start."""
    query = prepared.folder / "query"
    times = []
    for count in (1, STREAM_COUNT):
        asked = prepared.addresses("random")[:count]
        query.write_text("".join(f"0x{each:x} {prepared.gsym}\n" for each in asked))
        command = [LLVM_GSYMUTIL, "--addresses-from-stdin"]
        runs = [measure(command, str(query)) for _ in range(ROUNDS)]
        times.append(statistics.median(column(runs, "cpu")))
    return (times[1] - times[0]) / (STREAM_COUNT - 1) * 1e9


def _write(path: Path, addresses: array[int]) -> Path:
    path.write_bytes(addresses.tobytes())
    return path


def measure_python(folder: Path) -> dict[tuple[str, str], float]:
    """Seconds for one address, by input and by test."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("-p", "no:xdist", "--override-ini=addopts=", "--benchmark-only"),
            *(f"--benchmark-json={report.name}", "--benchmark-columns=median"),
            "benchmarks/test_in_process.py",
            # break_even.py has the tables of lookups in DWARF.
            *("-k", "not test_a_few"),
        ]
        environ = {**os.environ, "GSYM_BENCH_INPUTS": str(folder)}
        subprocess.run(command, cwd=ROOT, env=environ, stdout=sys.stderr, check=True)
        found = json.loads(Path(report.name).read_text(encoding="utf-8"))
    return {
        (each["extra_info"]["input"], _title(each)): each["stats"]["median"]
        / each["extra_info"]["count"]
        for each in found["benchmarks"]
    }


def _title(each: dict[str, str]) -> str:
    """The name of a test and its parameters without the input: `test_lookup_many-1`."""
    name, _, parameters = each["name"].rstrip("]").partition("[")
    chosen = [word for word in parameters.split("-") if word in _CHOICES]
    return "-".join([name, *sorted(chosen)])


_CHOICES = {"1", "2", "random", "ascending"}


def engine_row(name: str, figures: Figures) -> list[str]:
    """One line of the first table."""
    ours, peer, llvm = figures.ours, figures.symbolic, figures.llvm
    cells = [f"{value:.0f}" for value in (ours.warm, ours.text, peer.warm)]
    cells.append(f"**{peer.warm / ours.text:.1f}x**")
    cells += [f"{llvm:.0f}", f"**{llvm / ours.text:.1f}x**"]
    cells += [f"{ours.first:.0f}", f"{peer.first:.0f}"]
    cells.append(f"**{peer.first / ours.first:.1f}x**")
    cells += [f"{ours.open / 1000:.0f}", f"{peer.open / 1000:.0f}"]
    return [name, *cells]


def index_row(name: str, figures: Figures) -> list[str]:
    """One line of the table of indexes."""
    cells = [name, str(figures.index_size)]
    cells.append(f"{100 * figures.index_size / figures.size:.1f} %")
    pairs = (
        (figures.indexed.first, figures.ours.first),
        (figures.indexed.warm, figures.ours.warm),
    )
    for with_index, without in pairs:
        cells += [f"{with_index:.0f}", f"{without:.0f}"]
        cells.append(f"**{without / with_index:.1f}x**")
    return cells


def python_row(name: str, seconds: Mapping[tuple[str, str], float]) -> list[str]:
    """One line of the second table."""
    ours, peer = seconds[name, "test_lookup"], seconds[name, "test_symbolic"]
    cells = [f"{ours * 1e6:.2f}", f"{peer * 1e6:.1f}", f"**{peer / ours:.1f}x**"]
    for order in ("random", "ascending"):
        one, two = (
            1 / seconds[name, f"test_lookup_many-{threads}-{order}"] / 1e6
            for threads in (1, 2)
        )
        cells += [f"{one:.1f}", f"{two:.1f} ({100 * (two / one - 1):+.0f} %)"]
    return [name, *cells]


def main() -> None:
    """Measure, print, and with --write keep the tables and the chart."""
    arguments = argument_parser(__doc__).parse_args()
    names = arguments.input or INPUTS
    engines = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "inputs"
        folder.mkdir()
        program = build(Path(temporary))
        for name in names:
            prepared = prepare(arguments.corpus / "big" / name, folder / name)
            engines[name] = measure_engine(program, prepared)
            print(" | ".join(engine_row(name, engines[name])), file=sys.stderr)
        seconds = measure_python(folder)
    legend = ENGINE_LEGEND.format(
        rounds=ROUNDS, count=ENGINE_COUNT, functions=FUNCTIONS
    )
    parts = [
        environment(
            "python -m benchmarks.in_process CORPUS", ["symbolic", LLVM_GSYMUTIL]
        ),
        legend,
        table(ENGINE_HEAD, [engine_row(name, engines[name]) for name in names]),
        INDEX_LEGEND,
        table(INDEX_HEAD, [index_row(name, engines[name]) for name in names]),
        PYTHON_LEGEND.format(count=COUNT),
        table(PYTHON_HEAD, [python_row(name, seconds) for name in names]),
    ]
    if arguments.write:
        chart = bars(
            "lookups",
            "microseconds for one lookup",
            names,
            {
                "gsym, C": [engines[name].ours.text / 1e3 for name in names],
                "symbolic, C": [engines[name].symbolic.text / 1e3 for name in names],
                "llvm-gsymutil": [engines[name].llvm / 1e3 for name in names],
                "gsym, Python": [seconds[name, "test_lookup"] * 1e6 for name in names],
                "symbolic, Python": [
                    seconds[name, "test_symbolic"] * 1e6 for name in names
                ],
            },
        )
        parts.append(chart)
        write_region("in process", "\n\n".join(parts))
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
