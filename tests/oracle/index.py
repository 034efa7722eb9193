"""The index of a file -> its numbers; laid out like docs/format.md."""

from __future__ import annotations

from typing import NamedTuple

from tests.oracle.decode import Cursor

_TRAILER = 32
_SPACING = 64
_ENTRY = 4


class Checkpoint(NamedTuple):
    """A row of the line table, and where the opcode after it is."""

    offset: int
    location: int
    file: int
    line: int


class CallCheckpoint(NamedTuple):
    """Where the calls of an address begin, up to the next call checkpoint."""

    offset: int
    node: int
    location: int


class Node(NamedTuple):
    """A call around those of a call checkpoint."""

    node: int
    offset: int
    location: int


class FunctionIndex(NamedTuple):
    """The index of one function."""

    line_table_size: int
    inline_info_size: int
    checkpoints: list[Checkpoint]
    call_checkpoints: list[CallCheckpoint]
    nodes: list[Node]


def decode_index(part: bytes, byteorder: str) -> dict[int, FunctionIndex]:
    """The indexes of functions, by their entry in the address table."""
    trailer = Cursor(part[-_TRAILER:], byteorder, 4)
    size, _checksum, entries = (trailer.unsigned(width) for width in (8, 8, 4))
    assert size == len(part)
    count, version, magic = (trailer.unsigned(4) for _ in range(3))
    assert version in (2, 3)
    assert magic == 0x47494458
    table = Cursor(part, byteorder, 4)
    places = [table.unsigned(_ENTRY) for _ in range(entries)]
    found = {
        entry: _function(Cursor(part[place:], byteorder, 4))
        for entry, place in enumerate(places)
        if place
    }
    assert len(found) == count
    return found


def _function(cursor: Cursor) -> FunctionIndex:
    widths = cursor.unsigned(1)
    offset, line, node, location = (1 << (widths >> 2 * at & 3) for at in range(4))
    line_table_size, inline_info_size = cursor.uleb(), cursor.uleb()
    calls_count, node_count = cursor.uleb(), cursor.uleb()

    def row(*sizes: int) -> list[int]:
        return [cursor.unsigned(size) for size in sizes]

    checkpoints = []
    for multiple in range(_SPACING, line_table_size, _SPACING):
        at, rest, *state = row(offset, 1, line, line)
        checkpoints.append(Checkpoint(at, multiple + rest, *state))
    return FunctionIndex(
        line_table_size,
        inline_info_size,
        checkpoints,
        [CallCheckpoint(*row(offset, node, location)) for _ in range(calls_count)],
        [Node(*row(node, offset, location)) for _ in range(node_count)],
    )
