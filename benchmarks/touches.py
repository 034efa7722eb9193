"""Instructions of a lookup: the first one at an address, the second, later ones.

    python -m benchmarks.touches CORPUS [--input NAME]... [--write]

callgrind counts those of the engine. Files without an index get that of a function at
its first lookup.
"""

from __future__ import annotations

import sys
import tempfile
from array import array
from pathlib import Path

import gsym
from benchmarks.markdown import table
from benchmarks.prepared import SAMPLE, SEED
from benchmarks.report import argument_parser, made_by, write_region
from tests.callgrind import count_instructions
from tests.differential.sampling import (
    addresses_by_function,
    functions,
    random_addresses,
)

INPUTS = ("vmlinux", "libjvm.plain", "ceph-osd.plain", "libc.plain")
# Each part begins with the header of the file, which a reader asks for, too.
SCRIPT = """
import sys
from array import array
from pathlib import Path
from gsym.engine.native import ffi, lib, new_error
from gsym.reading.reader import Reader
data = Path(sys.argv[1]).read_bytes()
asked = array("Q", Path(sys.argv[2]).read_bytes())
frames, header = ffi.new("gsym_frame[]", 256), ffi.new("gsym_header *")
room = ffi.new("gsym_lookup_room *", [frames, 256, ffi.NULL, 0])
answer, error = ffi.new("gsym_answer *"), new_error()
reader = Reader(data)
image = reader.mapped.image
for _ in range(3):
    lib.gsym_image_header(image, header)
    for address in asked:
        lib.gsym_image_lookup(image, address, 0, 0, room, answer, error)
reader = Reader(data)
for _ in range(2):
    lib.gsym_image_header(reader.mapped.image, header)
    reader.lookup_many(asked)
"""
PARTS = (1, 2, 3, 5, 6)  # of the script, by column
HEAD = (
    *("input", "drawn by", "index", "first", "second", "later"),
    *("lookup_many", "again"),
)
LEGEND = """\
Instructions of the engine for one of {sample} addresses, one by one three times, then
in two calls of `lookup_many` of a fresh reader. Each byte of functions is equally
likely, or each function. A file without an index, or with one."""


def count(image: Path, asked: list[int], folder: Path) -> list[str]:
    """Instructions for one address, by column."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        query = Path(temporary) / "asked"
        query.write_bytes(array("Q", asked).tobytes())
        counts = count_instructions(
            *(SCRIPT, str(image), str(query)),
            folder=Path(temporary),
            starts=["gsym_image_header"],
        )
    return [str(counts[part].engine // len(asked)) for part in PARTS]


def rows_of(binary: Path, folder: Path) -> list[list[str]]:
    """The lines of an input."""
    images = {"-": folder / "unindexed.gsym", "stored": folder / "input.gsym"}
    gsym.convert(binary, images["stored"])
    gsym.convert(images["stored"], images["-"], index=False)
    ranges = functions(images["stored"])
    samples = {
        "bytes": random_addresses(ranges, SAMPLE, SEED + 1),
        "functions": addresses_by_function(ranges, SAMPLE, SEED),
    }
    return [
        [binary.name, drawn, index, *count(image, asked, folder)]
        for drawn, asked in samples.items()
        for index, image in images.items()
    ]


def main() -> None:
    """Count, print, and with --write keep the table."""
    arguments = argument_parser(__doc__).parse_args()
    rows = []
    for name in arguments.input or INPUTS:
        with tempfile.TemporaryDirectory() as temporary:
            rows += rows_of(arguments.corpus / "big" / name, Path(temporary))
        print(*rows[-4:], sep="\n", file=sys.stderr)
    parts = [
        made_by("python -m benchmarks.touches CORPUS", ["valgrind"]),
        LEGEND.format(sample=SAMPLE),
        table(HEAD, rows),
    ]
    if arguments.write:
        write_region("touches", "\n\n".join(parts))
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
