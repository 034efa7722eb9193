"""Look up addresses in DWARF with pyelftools, as its users do.

    python -m benchmarks.pyelftools_process BINARY < ADDRESSES

Prints function and line as `addr2line -f` does; without inlined calls.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, BinaryIO

from elftools.dwarf.descriptions import describe_form_class
from elftools.elf.elffile import ELFFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FILES_FROM_0 = 5  # version of line programs


def function_at(unit: Any, address: int) -> str:
    """The name of the function around an address; "??" where there is none."""
    for die in unit.iter_DIEs():
        if die.tag != "DW_TAG_subprogram" or "DW_AT_low_pc" not in die.attributes:
            continue
        start, end = (die.attributes[f"DW_AT_{name}_pc"] for name in ("low", "high"))
        is_size = describe_form_class(end.form) == "constant"
        last = end.value + start.value if is_size else end.value
        if start.value <= address < last:
            name = die.attributes.get("DW_AT_name")
            return name.value.decode() if name else "??"
    return "??"


def line_at(program: Any, address: int) -> str:
    """File and line at an address; "??:0" where there is none."""
    last = None
    for entry in program.get_entries():
        row = entry.state
        if row is None:
            continue
        if last is not None and last.address <= address < row.address:
            file = program["file_entry"][
                last.file - (program["version"] < _FILES_FROM_0)
            ]
            return f"{file.name.decode()}:{last.line}"
        last = None if row.end_sequence else row
    return "??:0"


def answers(binary: BinaryIO, addresses: Iterable[int]) -> Iterator[tuple[str, str]]:
    """Function and line at each address."""
    dwarf = ELFFile(binary).get_dwarf_info()
    aranges = dwarf.get_aranges()
    if aranges is None:
        raise LookupError("no .debug_aranges")
    for address in addresses:
        offset = aranges.cu_offset_at_addr(address)
        if offset is None:
            yield "??", "??:0"
            continue
        unit = dwarf.get_CU_at(offset)
        program = dwarf.line_program_for_CU(unit)
        yield function_at(unit, address), line_at(program, address)


def main() -> None:
    """Answer all lines of standard input."""
    with open(sys.argv[1], "rb") as stream:  # noqa: PTH123 - pathlib takes its time
        for answer in answers(stream, (int(line, 16) for line in sys.stdin)):
            print(*answer)


if __name__ == "__main__":
    main()
