"""The records of a symbfile: what is at the addresses of an executable.

Fields are those of the schema. Addresses are link-time virtual addresses (ELF VA) in
bytes; lines count from 1, 0 is one that is not known.
"""

from __future__ import annotations

from gsym.records import NamedTuple

__all__ = ["LineTableRow", "Range", "Record", "ReturnPad", "ReturnPadEntry"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias


class LineTableRow(NamedTuple):
    """From *offset* on, in bytes from the start of its range, code is of *line*."""

    offset: int
    line: int


class Range(NamedTuple):
    """A function, or a call inlined into one, at a run of addresses.

    Attributes:
        elf_va: First address.
        length: Bytes covered.
        func: Name of the function.
        file: Source file of the code that is in no inlined call of this range; None
            where it is not known. The rows speak of it.
        call_file: File of the call, for an inlined one; None where it is not known.
        call_line: Line of the call.
        depth: 0 for the function itself, else how deep it is inlined. A range of
            depth 0 is followed by the calls inlined into it, each in front of those
            inlined into that.
        line_table: Ascending; bytes in front of the first row are of no line.
    """

    elf_va: int
    length: int
    func: str
    file: str | None = None
    call_file: str | None = None
    call_line: int = 0
    depth: int = 0
    line_table: tuple[LineTableRow, ...] = ()


class ReturnPadEntry(NamedTuple):
    """A function of the chain at a return address, where it was; "" for no file."""

    func: str
    file: str
    line: int


class ReturnPad(NamedTuple):
    """The chain of functions at an address that a call returns to.

    Attributes:
        elf_va: The return address minus 1, as profilers look frames up.
        entries: Outermost function first, each with the line of its call, the last
            with that of the call instruction.
    """

    elf_va: int
    entries: tuple[ReturnPadEntry, ...]


Record: TypeAlias = Range | ReturnPad
