"""Range lists: .debug_ranges of DWARF 2-4 and .debug_rnglists of DWARF 5."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from tests.inputs.encoding import uleb

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.inputs.encoding import Encoding


class Entry(NamedTuple):
    """One entry; *kind* is a `RangeEntry`."""

    kind: int
    operands: tuple[int, ...]


class RangeEntry(IntEnum):
    """DW_RLE. The `x` kinds take addresses here; they are indexed when written."""

    end_of_list = 0
    base_addressx = 1
    startx_endx = 2
    startx_length = 3
    offset_pair = 4
    base_address = 5
    start_end = 6
    start_length = 7

    def __call__(self, *operands: int) -> Entry:
        return Entry(self, operands)


# How the operands of each kind are stored: x = address index, a = address, u = ULEB.
_OPERANDS: dict[int, str] = {
    RangeEntry.end_of_list: "",
    RangeEntry.base_addressx: "x",
    RangeEntry.startx_endx: "xx",
    RangeEntry.startx_length: "xu",
    RangeEntry.offset_pair: "uu",
    RangeEntry.base_address: "a",
    RangeEntry.start_end: "aa",
    RangeEntry.start_length: "au",
}


class RangeList(NamedTuple):
    """Entries of a list, bytes standing for themselves.

    The end marker is added unless *terminated* is False.
    """

    entries: tuple[Entry | bytes, ...]
    terminated: bool = True

    def addresses(self) -> list[int]:
        """Addresses that the list names by index."""
        return [
            operand
            for entry in self.entries
            if isinstance(entry, Entry)
            for how, operand in zip(_OPERANDS[entry.kind], entry.operands, strict=True)
            if how == "x"
        ]

    def encode_ranges(self, encoding: Encoding) -> bytes:
        """As .debug_ranges: pairs of addresses, all ones selecting a base."""
        out = b""
        for entry in self.entries:
            if isinstance(entry, bytes):
                out += entry
                continue
            is_base = entry.kind == RangeEntry.base_address
            for operand in (-1, *entry.operands) if is_base else entry.operands:
                out += encoding.address(operand)
        return out + (bytes(2 * encoding.address_size) if self.terminated else b"")

    def encode_rnglist(
        self, encoding: Encoding, address_index: Callable[[int], int]
    ) -> bytes:
        """As .debug_rnglists: a kind byte and its operands."""
        store = {
            "x": lambda address: uleb(address_index(address)),
            "a": encoding.address,
            "u": uleb,
        }
        out = b""
        for entry in self.entries:
            if isinstance(entry, bytes):
                out += entry
                continue
            out += bytes([entry.kind])
            for how, operand in zip(_OPERANDS[entry.kind], entry.operands, strict=True):
                out += store[how](operand)
        return out + (b"\0" if self.terminated else b"")


def ranges(
    *entries: Entry | tuple[int, int] | bytes, terminated: bool = True
) -> RangeList:
    """A list; a plain pair is an offset pair (of addresses, where no base is set)."""
    return RangeList(
        tuple(
            entry
            if isinstance(entry, (Entry, bytes))
            else RangeEntry.offset_pair(*entry)
            for entry in entries
        ),
        terminated,
    )
