"""Lookups in a process, from C and from Python, beside those of other libraries.

    python -m benchmarks.in_process CORPUS [--input NAME]... [--write]

benchmarks/engine_lookups.c calls libgsym, symbolic, LLVM's GsymReader and readers of
DWARF from C. From Python gsym and symbolic return objects, timed by pytest-benchmark
(test_in_process.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import symbolic

import gsym
from benchmarks.c_programs import compile_program
from benchmarks.charts import bars
from benchmarks.compiled_peers import (
    GIMLI,
    GSYM_READER,
    LIBBACKTRACE,
    LIBDW,
    gsym_reader,
    in_process_gimli,
    in_process_libbacktrace,
    libdw_reader,
)
from benchmarks.markdown import table
from benchmarks.prepared import COUNT, SAMPLE, Prepared, prepare
from benchmarks.report import (
    LLVM_GSYMUTIL,
    ROOT,
    argument_parser,
    made_by,
    output_of,
    write_region,
)

if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping

INPUTS = ("libc.plain", "vmlinux", "libjvm.plain", "ceph-osd.plain")
ROUNDS = 5
ENGINE_COUNT = 100_000
DWARF_COUNT = 100  # a lookup by libdw takes milliseconds
ENGINE_HEAD = (
    *("input", "gsym", "with text", "symbolic", "ratio", GSYM_READER, "ratio"),
    *("open gsym", "open symbolic", f"open {GSYM_READER}"),
)
PYTHON_HEAD = (
    *("input", "lookup", "symbolic", "ratio"),
    *("random", "2 threads", "ascending", "2 threads"),
)
TOUCH_HEAD = (
    *("input", "drawn by", "gsym", "without index", "symbolic", "ratio"),
    *("again gsym", "without index", "symbolic", "ratio"),
    *("lookup_many", "without index", "again", "without index"),
)
DWARF_HEAD = ("input", "library", "open", "first", "ratio", "again", "ratio")
INDEX_HEAD = ("input", "bytes of index", "of the file")
SAMPLES = ("bytes", "functions")
ENGINE_LEGEND = """\
From C, nanoseconds of processor time per lookup by libgsym, medians of {rounds} rounds:
{count} random addresses, uniformly distributed over the bytes of functions, with warm
caches. `with text` reads names and paths to their ends, as the others do, which are
divided by it. LLVM's GsymReader reads the same file. `open` is in microseconds."""
DWARF_LEGEND = """\
From C, microseconds: to open a file, then for one of {count} of these addresses, the
first time and again. libdw, libbacktrace and gimli read the DWARF of the binary; what
they have decoded stays in memory."""
TOUCH_LEGEND = """\
From C, nanoseconds for one of {sample} addresses: the first time after `open`, one
by one with the text of names and paths, and again; then all in one call, first and
again. Each byte of functions is equally likely, or each function. Files
without an index (`--no-index`, or written by LLVM) get it in memory."""
INDEX_LEGEND = "Size of the index."
PYTHON_LEGEND = """\
From Python: microseconds for one `Reader.lookup` and one `SymCache.lookup`, which
return objects; then millions of addresses per second of `lookup_many`, with a
million random addresses per call, including inlined frames, with one and two
threads."""


class Engine(NamedTuple):
    """Figures of engine_lookups.c, in nanoseconds.

    *samples* are, for each of SAMPLES, the first touch and the next one, then both of
    all addresses in one call.
    """

    warm: float
    text: float
    open: float
    frames: float
    samples: tuple[tuple[float, ...], ...]


class Figures(NamedTuple):
    """What the tables show of an input by the engine.

    *size* and *index_size* are of the file. *llvm* is None where it cannot be built.
    """

    ours: Engine
    unindexed: Engine
    size: int
    index_size: int
    symbolic: Engine
    llvm: Engine | None


def build(folder: Path) -> Path:
    """Compile engine_lookups.c with libgsym; libbacktrace needs it at address 0."""
    library = folder / "libgsym"
    command = ("make", "-s", "-C", ROOT / "libgsym", f"BUILD={library}", "CFLAGS=-O2")
    subprocess.run(command, check=True)
    options = (
        *("-no-pie", f"-I{library / 'include'}", library / "lib/libgsym.a"),
        *("-pthread", "-ldl"),
    )
    return compile_program("engine_lookups", folder, *options)


def measure_engine(
    program: Path, reader_of_llvm: Path | None, prepared: Prepared
) -> Figures:
    """Our figures and those of the peers."""

    def run(kind: str, file: Path, base: int, *library: Path) -> Engine:
        asked = prepared.addresses("random", base)[:ENGINE_COUNT]
        inputs = [_write(prepared.folder / "asked", asked)]
        for name in SAMPLES:
            part = prepared.addresses(name, base)
            inputs.append(_write(prepared.folder / f"asked {name}", part))
        done = subprocess.run(
            [program, kind, file, str(ROUNDS), *library, *inputs],
            capture_output=True,
            text=True,
            check=True,
        )
        (warm, text, opening, frames), *samples = (
            tuple(map(float, line.split())) for line in done.stdout.splitlines()
        )
        return Engine(warm, text, opening, frames, tuple(samples))

    ours = run("gsym", prepared.gsym, 0)
    unindexed = run("gsym", prepared.unindexed, 0)
    if unindexed.frames != ours.frames:
        raise ValueError(f"{prepared.name}: an index changes the answers")
    library = Path(symbolic.__file__).with_name("_lowlevel__lib.so")
    theirs = run("symbolic", prepared.symcache, prepared.load_address, library)
    llvm = None
    if reader_of_llvm is not None:
        llvm = run("reader", prepared.gsym, 0, reader_of_llvm)
    with gsym.open(prepared.gsym) as reader:
        sizes = reader.size, reader.stored_index_size
    return Figures(ours, unindexed, *sizes, theirs, llvm)


def measure_dwarf(
    program: Path, readers: Mapping[str, Path | None], prepared: Prepared
) -> dict[str, tuple[float, ...]]:
    """Microseconds to open, for a lookup, and again: of libgsym and of *readers*."""
    few = prepared.addresses(SAMPLES[0], 0)[:DWARF_COUNT]
    asked = _write(prepared.folder / "few", few)
    subjects = {"libgsym": ["gsym", str(prepared.gsym), str(ROUNDS)]}
    for name, path in readers.items():
        if path is not None:
            subjects[name] = ["reader", str(prepared.binary), "1", str(path)]
    times = {}
    for name, words in subjects.items():
        text = output_of(str(program), *words, str(asked), str(asked))
        warm, sample = (list(map(float, line.split())) for line in text.splitlines())
        times[name] = tuple(each / 1000 for each in (warm[2], *sample[:2]))
    return times


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
    cells = [f"{value:.0f}" for value in (ours.warm, ours.text, peer.text)]
    cells.append(f"**{peer.text / ours.text:.1f}x**")
    if llvm is None:
        cells += ["-", "-"]
    else:
        cells += [f"{llvm.text:.0f}", f"**{llvm.text / ours.text:.1f}x**"]
    cells += [f"{each.open / 1000:.0f}" if each else "-" for each in (ours, peer, llvm)]
    return [name, *cells]


def touch_rows(name: str, figures: Figures) -> list[list[str]]:
    """The lines of an input in the table of first and further lookups."""
    rows = []
    engines = figures.ours, figures.unindexed, figures.symbolic
    for at, drawn in enumerate(SAMPLES):
        ours, unindexed, peer = (each.samples[at] for each in engines)
        cells = [name, drawn]
        for touch in (0, 1):
            pair = ours[touch], unindexed[touch], peer[touch]
            cells += [f"{each:.0f}" for each in pair]
            cells.append(f"**{peer[touch] / ours[touch]:.1f}x**")
        for touch in (2, 3):
            cells += [f"{each[touch]:.0f}" for each in (ours, unindexed)]
        rows.append(cells)
    return rows


def dwarf_rows(name: str, times: Mapping[str, tuple[float, ...]]) -> list[list[str]]:
    """The lines of an input in the table of readers of DWARF."""
    _, first, again = times["libgsym"]
    return [
        [
            *(name, library, f"{each[0]:.0f}", f"{each[1]:.2f}"),
            *(f"**{each[1] / first:.0f}x**", f"{each[2]:.2f}"),
            f"**{each[2] / again:.0f}x**",
        ]
        for library, each in times.items()
    ]


def index_row(name: str, figures: Figures) -> list[str]:
    """One line of the table of indexes."""
    share = 100 * figures.index_size / figures.size
    return [name, str(figures.index_size), f"{share:.1f} %"]


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


def _llvm_bars(figures: list[Figures]) -> dict[str, list[float]]:
    """Those of the chart, if all inputs have them."""
    found = [each.llvm.text / 1e3 for each in figures if each.llvm]
    return {f"{GSYM_READER}, C": found} if len(found) == len(figures) else {}


def main() -> None:
    """Measure, print, and with --write keep the tables and the chart."""
    arguments = argument_parser(__doc__).parse_args()
    names = arguments.input or INPUTS
    engines, dwarf = {}, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "inputs"
        folder.mkdir()
        program = build(Path(temporary))
        reader_of_llvm = gsym_reader(Path(temporary))
        readers = {
            LIBDW: libdw_reader(Path(temporary)),
            LIBBACKTRACE: in_process_libbacktrace(Path(temporary)),
            GIMLI: in_process_gimli(Path(temporary)),
        }
        for name in names:
            prepared = prepare(arguments.corpus / "big" / name, folder / name)
            engines[name] = measure_engine(program, reader_of_llvm, prepared)
            dwarf += dwarf_rows(name, measure_dwarf(program, readers, prepared))
            print(" | ".join(engine_row(name, engines[name])), file=sys.stderr)
        seconds = measure_python(folder)
    legend = ENGINE_LEGEND.format(rounds=ROUNDS, count=ENGINE_COUNT)
    touches = [row for name in names for row in touch_rows(name, engines[name])]
    parts = [
        made_by("python -m benchmarks.in_process CORPUS", [LLVM_GSYMUTIL, "symbolic"]),
        legend,
        table(ENGINE_HEAD, [engine_row(name, engines[name]) for name in names]),
        DWARF_LEGEND.format(count=DWARF_COUNT),
        table(DWARF_HEAD, dwarf),
        TOUCH_LEGEND.format(sample=SAMPLE),
        table(TOUCH_HEAD, touches),
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
                **_llvm_bars(list(engines.values())),
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
