"""Conversion of Breakpad symbol files: gsym compared with symbolic's SymCache.

    python -m benchmarks.breakpad CORPUS [--rounds N] [--input NAME]... [--write]
    python -m benchmarks.breakpad --symbols FILE.sym...

The symbol files are exported from the binaries in CORPUS/big, with all lines and
inlined calls; --symbols selects others. The programs run alternately, A B A B,
including start-up; both output files have lines and inlined calls.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import gsym
from benchmarks.markdown import table
from benchmarks.process import (
    Field,
    Measurement,
    column,
    measure,
    measure_pairs,
    median_ratio,
)
from benchmarks.report import digest, made_by, write_region

INPUTS = ("vmlinux", "libjvm.plain", "ceph-osd.plain")
GSYM = Path(sys.executable).with_name("gsym")
SYMBOLIC = """
import sys
from symbolic.debuginfo import Archive
archive = Archive.open(sys.argv[1])
(binary,) = archive.iter_objects()
with open(sys.argv[2], "wb") as output:
    binary.make_symcache().dump_into(output)
"""
MEGABYTE = 1_000_000
SPEEDS: tuple[Field, ...] = ("wall", "cpu")
HEAD = (
    *("input", ".sym", "wall gsym", "wall symbolic", "ratio"),
    *("cpu gsym", "cpu symbolic", "ratio", "MB/s"),
    *("peak gsym", "peak symbolic", "part", "file gsym", "file symbolic"),
)
LEGEND = """\
Seconds, MiB of peak resident memory and MB of the files, medians of {rounds} pairs
of runs. `ratio` is the median of peer / gsym over the pairs, `part` the median of
gsym / peer; MB/s is the input size divided by the processor time of the process. The
peer is symbolic {version}."""


def export(binary: Path, folder: Path) -> Path:
    """The symbol file of a binary."""
    image, symbols = folder / "binary.gsym", folder / f"{binary.name}.sym"
    gsym.convert(binary, image)
    gsym.export_breakpad(image, symbols, identity=gsym.identify(binary))
    return symbols


def measure_input(
    symbols: Path, rounds: int, folder: Path
) -> tuple[list[Measurement], list[Measurement]]:
    """Convert *symbols* with both, in turn, into *folder*."""
    ours, peer = folder / "ours.gsym", folder / "peer.symcache"

    def convert_ours() -> Measurement:
        ours.unlink(missing_ok=True)
        command = [str(GSYM), "convert", "--quiet", str(symbols), "-o", str(ours)]
        return measure(command)

    def convert_peer() -> Measurement:
        peer.unlink(missing_ok=True)
        return measure([sys.executable, "-c", SYMBOLIC, str(symbols), str(peer)])

    convert_ours()  # brings the input into the page cache
    return measure_pairs(convert_ours, convert_peer, rounds)


def row(
    symbols: Path, folder: Path, ours: list[Measurement], peer: list[Measurement]
) -> list[str]:
    """One line of the table."""
    size = symbols.stat().st_size / MEGABYTE
    cells = [symbols.stem, f"{size:.1f}"]
    for field in SPEEDS:
        cells += [
            f"{statistics.median(column(runs, field)):.3f}" for runs in (ours, peer)
        ]
        cells.append(f"**{median_ratio(peer, ours, field):.1f}x**")
    cells.append(f"{size / statistics.median(column(ours, 'cpu')):.0f}")
    cells += [f"{statistics.median(column(runs, 'peak')):.0f}" for runs in (ours, peer)]
    cells.append(f"{1 / median_ratio(peer, ours, 'peak'):.2f}")
    for name in ("ours.gsym", "peer.symcache"):
        cells.append(f"{(folder / name).stat().st_size / MEGABYTE:.1f}")
    return cells


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path, nargs="?", help="folder that holds big/")
    parser.add_argument("--rounds", type=int, default=5, help="pairs per line")
    parser.add_argument("--input", action="append", help="a name below CORPUS/big")
    parser.add_argument("--symbols", type=Path, nargs="+", help="symbol files to take")
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    return parser.parse_args()


def main() -> None:
    """Measure, print, and with --write keep the table."""
    arguments = parse_arguments()
    names = arguments.input or INPUTS
    sources = arguments.symbols or [arguments.corpus / "big" / name for name in names]
    rows, inputs = [], []
    for source in sources:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            symbols = source if arguments.symbols else export(source, folder)
            runs = measure_input(symbols, arguments.rounds, folder)
            rows.append(row(symbols, folder, *runs))
            print(" | ".join(rows[-1]), file=sys.stderr)
            size = symbols.stat().st_size
            inputs.append([symbols.name, str(size), digest(symbols)])
    command = f"python -m benchmarks.breakpad CORPUS --rounds {arguments.rounds}"
    legend = LEGEND.format(rounds=arguments.rounds, version=version("symbolic"))
    parts = [
        made_by(command, ["symbolic"]),
        legend,
        table(HEAD, rows),
        table(("input", "bytes", "SHA-256"), inputs),
    ]
    text = "\n\n".join(parts)
    print(text)
    if arguments.write:
        write_region("breakpad", text)


if __name__ == "__main__":
    main()
