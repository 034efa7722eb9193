"""symbfiles written field by field, sound or not."""

from __future__ import annotations

from tests.inputs.encoding import uleb

VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32 = range(6)
HEADER, RANGE, RETURN_PAD, STRING_TABLE = range(1, 5)
MAGIC = b"symbfile"
HEAD = MAGIC + b"\x00\x01"


def message(kind: int, body: bytes = b"") -> bytes:
    return uleb(len(body)) + uleb(kind) + body


def number(field: int, value: int) -> bytes:
    return uleb(field << 3 | VARINT) + uleb(value)


def data(field: int, value: bytes) -> bytes:
    return uleb(field << 3 | BYTES) + uleb(len(value)) + value


def packed(field: int, *values: int) -> bytes:
    return data(field, b"".join(map(uleb, values)))


def zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1


def strings(*texts: str) -> bytes:
    """A string table."""
    return message(STRING_TABLE, b"".join(data(1, text.encode()) for text in texts))


def line_table(offsets: tuple[int, ...], lines: tuple[int, ...]) -> bytes:
    return data(8, packed(1, *offsets) + packed(2, *lines))


def range_at(elf_va: int, *fields: bytes) -> bytes:
    """A range of a function `f` at an address, with more fields."""
    return message(RANGE, number(12, elf_va) + data(3, b"f") + b"".join(fields))
