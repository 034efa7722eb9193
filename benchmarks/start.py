"""Start-up: processes that look up one address, and opening a file of 1 GB.

    python -m benchmarks.start CORPUS [--input NAME]... [--rounds N] [--write]

The commands run as installed: from a wheel installed by a current pip into a clean
virtual environment. All run alternately in every round, with files cached in memory.
The pages that a lookup reads are counted with a file that is not cached.
"""

from __future__ import annotations

import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gsym
from benchmarks.charts import bars
from benchmarks.compiled_peers import dwarf_programs, versions
from benchmarks.markdown import table
from benchmarks.process import Measurement, column, measure
from benchmarks.report import (
    LLVM_GSYMUTIL,
    ROOT,
    argument_parser,
    made_by,
    write_region,
)
from tests.differential.sampling import addresses_by_function, functions
from tests.page_cache import forget, pages_in_memory

INPUTS = ("libc.plain", "vmlinux", "libjvm.plain", "ceph-osd.plain")
LLVM_SYMBOLIZER = "llvm-symbolizer-22"
PAGE_SAMPLES = 1000
GIGABYTE = 1 << 30
LEGEND = """\
Milliseconds for one lookup including start-up, medians of {rounds} rounds. The commands
from llvm-symbolizer on read the DWARF of the binary, the others its GSYM file."""
PAGES_LEGEND = """\
Pages of 4 KiB that opening and one lookup, with its names, read from a file that is
not cached in memory, for each of {count} addresses, each function equally likely; and
the frames of the answer that needs most."""
OPEN_LEGEND = """\
`gsym.open` of a file of 1 GB (sparse, nearly all of it strings), `read_ahead=False`:
{first:.0f} us if the file is not cached in memory, then {median:.0f} us (median of
{rounds})."""


def install(folder: Path) -> Path:
    """A clean virtual environment with the package; its folder of programs."""
    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "-w", str(wheels)]
    subprocess.run([*pip, *build, str(ROOT)], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    programs = folder / "venv" / "bin"
    clean = [str(programs / "python"), *pip[1:]]
    subprocess.run([*clean, "install", "--upgrade", "pip"], check=True)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run([*clean, "install", str(wheel)], check=True)
    return programs


def commands(
    programs: Path, binary: Path, image: Path, asked: str
) -> dict[str, list[str]]:
    """What is run, by the title of its column."""
    ours, theirs = str(image), str(binary)
    return {
        "python -c pass": [str(programs / "python"), "-c", "pass"],
        "gsym lookup": [str(programs / "gsym"), "lookup", ours, asked],
        "gsymutil": [str(programs / "gsymutil"), f"--address={asked}", ours],
        "gsym-addr2line": [str(programs / "gsym-addr2line"), "-fie", ours, asked],
        "gsym-symbolizer": [str(programs / "gsym-symbolizer"), "-e", ours, asked],
        "llvm-gsymutil": [LLVM_GSYMUTIL, f"--address={asked}", ours],
        "llvm-symbolizer, GSYM": [
            *(LLVM_SYMBOLIZER, "-e", theirs),
            *(f"--gsym-file-directory={image.parent}", asked),
        ],
        "llvm-symbolizer": [LLVM_SYMBOLIZER, "--disable-gsym", "-e", theirs, asked],
        "addr2line": ["addr2line", "-fie", theirs, asked],
        "eu-addr2line": ["eu-addr2line", "-fi", "-e", theirs, asked],
    }


def measure_starts(
    runs: dict[str, list[str]], query: Path, rounds: int
) -> dict[str, float]:
    """Median seconds of each command; some read the address of *query*."""
    found: dict[str, list[Measurement]] = {title: [] for title in runs}
    for _ in range(rounds):
        for title, command in runs.items():
            found[title].append(measure(command, str(query)))
    return {
        title: statistics.median(column(each, "wall")) for title, each in found.items()
    }


def count_pages(image: Path, addresses: list[int]) -> list[str]:
    """One line of the table of pages."""
    counts = []
    for address in addresses:
        forget(image)
        with gsym.open(image, read_ahead=False) as reader:
            found = reader.lookup(address)
            str(found)
            frames = len(found.frames) if found is not None else 0
            counts.append((pages_in_memory(image), frames))
    counts.sort()
    pages, _ = zip(*counts, strict=True)
    mean = f"{statistics.mean(pages):.1f}"
    middle, high = pages[len(pages) // 2], pages[len(pages) * 9 // 10]
    return [mean, *map(str, (middle, high, *counts[-1]))]


def measure_open(folder: Path, rounds: int) -> str:
    """What the page says of opening a file of 1 GB."""
    path = folder / "sparse.gsym"
    with gsym.Creator() as creator:
        creator.add(gsym.FunctionInfo(0x1000, 16, "main"))
        image = bytearray(creator.to_bytes())
    (strtab_offset,) = struct.unpack_from("<I", image, 20)
    struct.pack_into("<I", image, 24, GIGABYTE - strtab_offset)
    with path.open("wb") as stream:
        stream.write(image)
        stream.truncate(GIGABYTE)
    forget(path)
    seconds = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        reader = gsym.open(path, read_ahead=False)
        seconds.append(time.perf_counter() - start)
        reader.close()
    first, *rest = (1e6 * each for each in seconds)
    return OPEN_LEGEND.format(
        first=first, median=statistics.median(rest), rounds=rounds
    )


def main() -> None:
    """Measure, print, and with --write keep the tables and the chart."""
    os.environ.pop("PYTHONPATH", None)  # what is measured is the wheel
    parser = argument_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    names = arguments.input or INPUTS
    starts: dict[str, dict[str, float]] = {}
    pages = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        programs, compiled = install(folder), dwarf_programs(folder)
        for name in names:
            binary = arguments.corpus / "big" / name
            image = folder / f"{name}.gsym"
            gsym.convert(binary, image)
            addresses = addresses_by_function(functions(image), PAGE_SAMPLES, seed=1)
            runs = commands(programs, binary, image, hex(addresses[0]))
            runs |= {each: [str(compiled[each]), str(binary)] for each in compiled}
            query = folder / "query"
            query.write_text(f"{addresses[0]:#x}\n", encoding="utf-8")
            starts[name] = measure_starts(runs, query, arguments.rounds)
            pages.append([name, *count_pages(image, addresses)])
            print(starts[name], pages[-1], file=sys.stderr)
        opening = measure_open(folder, arguments.rounds)
    titles = list(starts[names[0]])
    rows = [
        [name, *(f"{1000 * starts[name][title]:.1f}" for title in titles)]
        for name in names
    ]
    peers = [LLVM_GSYMUTIL, LLVM_SYMBOLIZER, "addr2line", "eu-addr2line", *versions()]
    parts = [
        made_by(
            f"python -m benchmarks.start CORPUS --rounds {arguments.rounds}", peers
        ),
        LEGEND.format(rounds=arguments.rounds),
        table(("input", *titles), rows),
        PAGES_LEGEND.format(count=PAGE_SAMPLES),
        table(("input", "mean", "median", "p90", "max", "frames"), pages),
        opening,
    ]
    if arguments.write:
        series = {
            title: [1000 * starts[name][title] for name in names] for title in titles
        }
        parts.append(bars("start", "milliseconds", names, series))
        write_region("start", "\n\n".join(parts))
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
