"""How many instructions the engine takes for fixed work, by compiler.

    python -m tests.instruction_counts

takes the counts of the engine at hand anew, prints what has changed, and writes them to
instruction_counts.tsv, beside those of other compilers. The work is the same on every
machine: its inputs are written byte for byte by `tests.inputs`.
"""

from __future__ import annotations

import csv
import platform
import re
import tempfile
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from elftools.elf.elffile import ELFFile

from gsym.engine import _core
from tests.callgrind import count_instructions
from tests.inputs.fxt import events_of_a_trace
from tests.inputs.scaled import (
    FUNCTION_SIZE,
    TEXT,
    abbreviations,
    one_giant_unit,
    rows_of_a_function,
    units,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COUNTS = Path(__file__).with_suffix(".tsv")
FUNCTIONS = 500
ADDRESSES = 50_000
EVENTS = 20_000

MARGIN = 0.05
"""Part of its instructions by which a piece of work may grow."""

AGAIN = "take the counts anew with .venv/bin/python -m tests.instruction_counts"

_VERSION = re.compile(r"(\d+)[.]\d+[.]\d+")
_MAJOR = r"\1"

# Converts the inputs, asks the files of two of them for the same addresses, and reads a
# trace.
WORK = """
import array, gsym, sys
from gsym.fxt.decoder import Decoder
trace, asked, giant, rows, *others = sys.argv[1:]
for path in giant, rows, *others:
    gsym.convert(path, threads=1)
addresses = array.array("Q")
with open(asked, "rb") as file:
    addresses.frombytes(file.read())
with gsym.open(f"{giant}.gsym") as reader:
    reader.lookup_many(addresses)
with gsym.open(f"{rows}.gsym") as reader:
    for address in addresses[:1000]:
        reader.lookup(address)
with open(trace, "rb") as file:
    for columns in Decoder(strict=True).columns([file.read()]):
        pass
"""


class Recorded(NamedTuple):
    """One line of the table."""

    compiler: str
    work: str
    instructions: int


def compiler() -> str:
    """What built the engine: machine, compiler, its major version, options.

    "" where the engine does not say.
    """
    with Path(_core.__file__).open("rb") as stream:
        file = ELFFile(stream)
        if not file.has_dwarf_info():
            return ""
        root = next(file.get_dwarf_info().iter_CUs()).get_top_DIE()
        producer = root.attributes["DW_AT_producer"].value.decode()
    return f"{platform.machine()} {_VERSION.sub(_MAJOR, producer)}"


def measure(folder: Path) -> dict[str, int]:
    """Instructions of the engine, by the name of the work."""
    inputs = {
        "giant": one_giant_unit(FUNCTIONS),
        "rows": rows_of_a_function(20_000),
        "units": units(200),
        "abbreviations": abbreviations(500),
    }
    asked = folder / "asked"
    asked.write_bytes(array("Q", addresses()).tobytes())
    trace = folder / "trace"
    trace.write_bytes(events_of_a_trace(EVENTS))
    for name, data in inputs.items():
        (folder / name).write_bytes(data)
    counts = count_instructions(
        WORK,
        *map(str, (trace, asked, *(folder / name for name in inputs))),
        folder=folder,
        starts=["gsym_creator_create", "gsym_image_open", "gsym_fxt_reader_create"],
    )
    work = [*(f"convert {name}" for name in inputs), "batch", "lookups", "trace"]
    return {name: each.engine for name, each in zip(work, counts, strict=True)}


def slower(expected: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    """What takes more than it did, beyond the margin."""
    return [
        f"{work}: {found[work]} instructions, not {count}"
        for work, count in expected.items()
        if found[work] > count * (1 + MARGIN)
    ]


def addresses() -> Iterator[int]:
    """Addresses in no order, as a linear congruential generator gives them."""
    state = 1
    for _ in range(ADDRESSES):
        state = (state * 1103515245 + 12345) % (1 << 31)
        yield TEXT + (state >> 8) % (FUNCTIONS * FUNCTION_SIZE)


def recorded() -> list[Recorded]:
    """The table."""
    with COUNTS.open(encoding="utf-8", newline="") as stream:
        rows = csv.reader(stream, "excel-tab")
        return [Recorded(compiler, work, int(count)) for compiler, work, count in rows]


def counts_of(name: str) -> dict[str, int]:
    """What the table has for a compiler, by the name of the work."""
    return {row.work: row.instructions for row in recorded() if row.compiler == name}


def main() -> None:
    """Rewrite the lines of this compiler."""
    name = compiler()
    before = counts_of(name)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder))
    for work, count in found.items():
        print(f"{work}: {before.get(work, 'none')} -> {count}")  # noqa: T201 - a command
    rows = [row for row in recorded() if row.compiler != name]
    rows += [Recorded(name, work, count) for work, count in found.items()]
    with COUNTS.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, "excel-tab", lineterminator="\n").writerows(sorted(rows))


if __name__ == "__main__":
    main()
