"""A reader of lidia files of its own, with the lookup of Pyroscope's."""

from __future__ import annotations

from bisect import bisect_right
from struct import iter_unpack, unpack_from
from typing import NamedTuple

from gsym.symbfile.format import LineTableRow, Range


class Table(NamedTuple):
    """A table by its header."""

    width: int
    rows: int
    data: bytes


def crc32c(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


class Lidia:
    """All ranges of a file, whose checksums are checked.

    Attributes:
        ranges: In the order of the file.
    """

    def __init__(self, file: bytes) -> None:
        assert file[:8] == b".dia\1\0\0\0"
        addresses = _table(file, 0x08, 1)
        ranges = _table(file, 0x28, 8)
        size, place, crc = unpack_from("<2QI", file, 0x48)
        self._texts = file[place : place + size]
        assert crc == crc32c(self._texts)
        rows = _table(file, 0x60, 2)
        assert place == 0x80 + len(addresses.data) + len(ranges.data)
        assert len(file) == place + size + len(rows.data)
        assert addresses.rows == ranges.rows
        assert (addresses.width, ranges.width) <= (8, 8)
        self._starts = _numbers(addresses)
        numbers, lines = _numbers(ranges), _numbers(rows)
        self.ranges = [
            self._range(start, numbers[8 * index : 8 * index + 8], lines)
            for index, start in enumerate(self._starts)
        ]

    def _range(self, start: int, fields: list[int], lines: list[int]) -> Range:
        length, depth, func, file, first, count, call_file, call_line = fields
        mine = lines[2 * first : 2 * (first + count)]
        assert len(mine) == 2 * count
        return Range(
            start,
            length,
            self._text(func),
            self._text(file) or None,
            self._text(call_file) or None,
            call_line,
            depth,
            tuple(map(LineTableRow, mine[::2], mine[1::2])),
        )

    def _text(self, place: int) -> str:
        (size,) = unpack_from("<I", self._texts, place)
        assert place + 4 + size <= len(self._texts)
        return self._texts[place + 4 : place + 4 + size].decode()

    def look_up(self, address: int) -> list[tuple[str, str]]:
        """Functions and their files, as `Table.Lookup` of Pyroscope has them."""
        found = []
        index = bisect_right(self._starts, address) - 1
        while index >= 0:
            each = self.ranges[index]
            if each.elf_va <= address < each.elf_va + each.length:
                found.append((each.func, each.file or ""))
            if not each.depth:
                break
            index -= 1
        return found


def _table(file: bytes, header: int, columns: int) -> Table:
    width, count, place, crc = unpack_from("<3QI", file, header)
    data = file[place : place + width * count * columns]
    assert len(data) == width * count * columns
    assert crc == crc32c(data)
    return Table(width, count, data)


def _numbers(table: Table) -> list[int]:
    code = {2: "H", 4: "I", 8: "Q"}[table.width]
    return [number for (number,) in iter_unpack(f"<{code}", table.data)]
