"""How many instructions the engine takes for fixed work, by compiler.

    python -m tests.instruction_counts

writes those of the engine at hand to instruction_counts.tsv, beside those of other
compilers. The work is the same on every machine: its inputs are written byte for byte
by `tests.inputs`.
"""

from __future__ import annotations

import csv
import platform
import re
import tempfile
from pathlib import Path
from typing import NamedTuple

from elftools.elf.elffile import ELFFile

from gsym import _core
from tests.callgrind import count_instructions
from tests.inputs.scaled import abbreviations, one_giant_unit, rows_of_a_function, units

COUNTS = Path(__file__).with_suffix(".tsv")
FUNCTIONS = 500

_VERSION = re.compile(r"(\d+)[.]\d+[.]\d+")
_MAJOR = r"\1"

CONVERT = "import gsym, sys\nfor path in sys.argv[1:]: gsym.convert(path, threads=1)"
# Addresses in no order, as a linear congruential generator gives them.
_ADDRESSES = """
import array, gsym, sys
def addresses(count, start, size):
    state, found = 1, array.array("Q")
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        found.append(start + (state >> 8) % size)
    return found
"""
BATCH = f"""{_ADDRESSES}
with gsym.open(sys.argv[1]) as reader:
    reader.lookup_many(addresses(50_000, 0x1000, {FUNCTIONS} * 0x40))
"""
LOOKUPS = f"""{_ADDRESSES}
with gsym.open(sys.argv[1]) as reader:
    for address in addresses(2_000, 0x1000, 300_000): reader.lookup(address)
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
        "units": units(200),
        "giant": one_giant_unit(FUNCTIONS),
        "rows": rows_of_a_function(20_000),
        "abbreviations": abbreviations(500),
    }
    paths = {name: folder / name for name in inputs}
    for name, data in inputs.items():
        paths[name].write_bytes(data)
    converted = _measure(CONVERT, folder, "creator_create", *map(str, paths.values()))
    batch = _measure(BATCH, folder, "image_open", f"{paths['giant']}.gsym")
    lookups = _measure(LOOKUPS, folder, "image_open", f"{paths['rows']}.gsym")
    return {
        **{
            f"convert {name}": each
            for name, each in zip(inputs, converted, strict=True)
        },
        "batch": sum(batch),
        "lookups": sum(lookups),
    }


def _measure(script: str, folder: Path, start: str, *arguments: str) -> list[int]:
    with tempfile.TemporaryDirectory(dir=folder) as profiles:
        counts = count_instructions(
            script, *arguments, folder=Path(profiles), start=f"gsym_{start}"
        )
    return [count.engine for count in counts]


def recorded() -> list[Recorded]:
    """The table."""
    with COUNTS.open(encoding="utf-8", newline="") as stream:
        rows = csv.reader(stream, "excel-tab")
        return [Recorded(compiler, work, int(count)) for compiler, work, count in rows]


def main() -> None:
    """Rewrite the lines of this compiler."""
    name = compiler()
    rows = (
        [row for row in recorded() if row.compiler != name] if COUNTS.exists() else []
    )
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder))
    rows += [Recorded(name, work, count) for work, count in found.items()]
    with COUNTS.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, "excel-tab", lineterminator="\n").writerows(sorted(rows))


if __name__ == "__main__":
    main()
