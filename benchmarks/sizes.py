"""Sizes of GSYM files, of the DWARF they were converted from, and of other formats.

    python -m benchmarks.sizes CORPUS [--input NAME]... [--write]

The Breakpad file is written by `gsym export`, with functions, lines and inlined calls
but without STACK records. The SymCache is written by symbolic.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import INPUTS
from benchmarks.markdown import table
from benchmarks.prepared import symcache
from benchmarks.report import LLVM_GSYMUTIL, argument_parser, made_by, write_region
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.engine.native import lib

MEGABYTE = 1_000_000
GSYM = Path(sys.executable).with_name("gsym")
FORMATS = ("DWARF", "`.sym`", "SymCache")
HEAD = (
    *("input", *FORMATS, "llvm-gsymutil", "gsym", "without index"),
    *(f"{each} / gsym" for each in FORMATS),
)
LEGEND = """\
Sizes in MB, and as multiples of the size of the GSYM file. DWARF: the sections that
a conversion needs, uncompressed. `.sym`: the Breakpad file written by `gsym export`,
without STACK records. SymCache: symbolic's format."""


def dwarf_size(binary: Path) -> int:
    """Bytes of the sections that are needed, uncompressed."""
    with ObjectFile(map_file(str(binary)), str(binary)) as source:
        sections = range(lib.GSYM_DEBUG_SECTION_COUNT)
        return sum(source.debug_section_size(which, split=False) for which in sections)


def measure_input(binary: Path, folder: Path) -> list[str]:
    """One line of the table."""
    ours, plain, sym = (folder / name for name in ("a.gsym", "b.gsym", "a.sym"))
    llvm, cache = folder / "llvm.gsym", folder / "a.symcache"
    commands: tuple[list[str | Path], ...] = (
        [GSYM, "convert", "-q", binary, "-o", ours],
        [GSYM, "convert", "-q", "--no-index", ours, "-o", plain],
        [GSYM, "export", "--to=breakpad", ours, "--binary", binary, "-o", sym],
        [LLVM_GSYMUTIL, "--quiet", f"--convert={binary}", f"--out-file={llvm}"],
    )
    for command in commands:
        subprocess.run(command, check=True, stdout=sys.stderr)
    symcache(binary, cache)
    with sym.open("rb") as lines:
        breakpad = sum(len(each) for each in lines if not each.startswith(b"STACK "))
    others = [dwarf_size(binary), breakpad, cache.stat().st_size]
    size = ours.stat().st_size
    sizes = [*others, llvm.stat().st_size, size, plain.stat().st_size]
    megabytes = [f"{each / MEGABYTE:.2f}" for each in sizes]
    return [binary.name, *megabytes, *(f"**{each / size:.1f}x**" for each in others)]


def main() -> None:
    """Measure, print, and with --write keep the table."""
    arguments = argument_parser(__doc__).parse_args()
    rows = []
    for name in arguments.input or INPUTS:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure_input(arguments.corpus / "big" / name, Path(folder)))
    peers = [LLVM_GSYMUTIL, "symbolic"]
    head = made_by("python -m benchmarks.sizes CORPUS", peers)
    text = "\n\n".join((head, LEGEND, table(HEAD, rows)))
    print(text)
    if arguments.write:
        write_region("sizes", text)


if __name__ == "__main__":
    main()
