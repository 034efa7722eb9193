"""A slow reader of Breakpad symbol files that takes nothing it could doubt.

It refuses what any known reader refuses or reads in its own way: records out of
order, functions, lines and inlined calls that overlap, names that are missing. What
it accepts means the same to all of them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

NUMBER = r"(0|[1-9][0-9]*)"
ADDRESS = r"(0|[1-9a-f][0-9a-f]*)"
NAME = r"(.*[^ \t].*)"  # readers refuse a blank one
RECORDS = {
    "MODULE": re.compile(r"MODULE (\S+) (\S+) ([0-9A-F]{32}[0-9a-f]{1,8}) (\S.*)"),
    "CODE_ID": re.compile(r"INFO CODE_ID (\S+)(?: (\S.*))?"),
    "FILE": re.compile(rf"FILE {NUMBER} {NAME}"),
    "INLINE_ORIGIN": re.compile(rf"INLINE_ORIGIN {NUMBER} {NAME}"),
    "FUNC": re.compile(rf"FUNC (m )?{ADDRESS} {ADDRESS} 0 {NAME}"),
    "INLINE": re.compile(
        rf"INLINE {NUMBER} {NUMBER} {NUMBER} {NUMBER}((?: {ADDRESS} {ADDRESS})+)"
    ),
    "line": re.compile(rf"{ADDRESS} {ADDRESS} {NUMBER} {NUMBER}"),
    "PUBLIC": re.compile(rf"PUBLIC (m )?{ADDRESS} 0 {NAME}"),
    "STACK": re.compile(r"STACK CFI (?:INIT [0-9a-f]+ )?[0-9a-f]+(?: \S+: \S.*)+"),
}


class Extent(NamedTuple):
    start: int
    end: int


class Call(NamedTuple):
    """An INLINE record."""

    level: int
    line: int
    file: int
    origin: int
    extents: list[Extent]


class Line(NamedTuple):
    extent: Extent
    line: int
    file: int


class Function(NamedTuple):
    """A FUNC record with what follows it, or a PUBLIC record, which has no end."""

    start: int
    end: int | None
    name: str
    is_multiple: bool
    calls: list[Call]
    lines: list[Line]


class Frame(NamedTuple):
    """What is known of a place; *path* "" for no file."""

    name: str
    path: str
    line: int


class SymbolFile:
    """A parsed file; `lookup` answers as Breakpad's own readers do."""

    def __init__(self, text: bytes) -> None:
        self.module: tuple[str, ...] = ()
        self.code_id: tuple[str | None, ...] = ()
        self.files: dict[int, str] = {}
        self.origins: dict[int, str] = {}
        self.functions: list[Function] = []
        self.starts: list[int] = []
        assert text.endswith(b"\n")
        last = -1
        for record in text.decode("utf-8").removesuffix("\n").split("\n"):
            assert "\r" not in record
            kind, match = read_record(record)
            order = list(RECORDS).index(kind) if kind != "PUBLIC" else 4
            least = last if kind == "STACK" or last > len(RECORDS) - 2 else min(last, 4)
            assert order >= least, f"out of order: {record}"
            last = order
            self._take(kind, match)
        assert self.module
        for function in self.functions:
            self._check(function)
        self.starts += [function.start for function in self.functions]
        for one, other in zip(self.functions, self.functions[1:], strict=False):
            assert one.start < other.start
            assert one.end is None or one.end <= other.start

    def _take(self, kind: str, match: re.Match[str]) -> None:
        if kind == "MODULE":
            assert not self.module
            self.module = match.groups()
        elif kind == "CODE_ID":
            self.code_id = match.groups()
        elif kind in {"FILE", "INLINE_ORIGIN"}:
            names = self.files if kind == "FILE" else self.origins
            assert int(match[1]) not in names
            names[int(match[1])] = match[2]
        elif kind == "FUNC":
            start, size = int(match[2], 16), int(match[3], 16)
            assert size
            self.functions.append(
                Function(start, start + size, match[4], bool(match[1]), [], [])
            )
        elif kind == "PUBLIC":
            self.functions.append(
                Function(int(match[2], 16), None, match[3], bool(match[1]), [], [])
            )
        elif kind == "INLINE":
            assert not self.functions[-1].lines
            numbers = [int(word, 16) for word in match[5].split()]
            extents = [
                Extent(start, start + size)
                for start, size in zip(numbers[::2], numbers[1::2], strict=True)
            ]
            level, line, file, origin = map(int, match.groups()[:4])
            call = Call(level, line, file, origin, extents)
            self.functions[-1].calls.append(call)
        elif kind == "line":
            start, size = int(match[1], 16), int(match[2], 16)
            extent = Extent(start, start + size)
            row = Line(extent, int(match[3]), int(match[4]))
            self.functions[-1].lines.append(row)

    def _check(self, function: Function) -> None:
        """Nothing overlaps, leaves its surroundings or names what is not there."""
        if function.end is None:
            assert not function.calls
            assert not function.lines
            return
        whole = [Extent(function.start, function.end)]
        check_apart([line.extent for line in function.lines], whole)
        levels = {-1: whole}
        for call in function.calls:
            assert call.origin in self.origins
            assert call.extents == sorted(call.extents)
            assert call.level - 1 in levels, "the caller comes first"
            levels.setdefault(call.level, []).extend(call.extents)
        for level in range(len(levels) - 1):
            levels[level].sort()
            check_apart(levels[level], levels[level - 1])
        if function.calls:  # symbolic finds a call only where there is a line
            reach = function.start
            for line in function.lines:
                assert line.extent.start == reach
                reach = line.extent.end
            assert reach == function.end

    def lookup(self, address: int) -> list[Frame]:
        """Frames at an address, innermost first; none where no function is."""
        index = bisect_right(self.starts, address) - 1
        if index < 0:
            return []
        function = self.functions[index]
        if function.end is not None and address >= function.end:
            return []
        frames, name = [], function.name
        found = {
            call.level: call
            for call in function.calls
            if any(start <= address < end for start, end in call.extents)
        }
        for level in range(len(found)):
            call = found[level]
            frames.append(Frame(name, self.files.get(call.file, ""), call.line))
            name = self.origins[call.origin]
        at = bisect_right(function.lines, address, key=starts_at) - 1
        if at >= 0 and address < function.lines[at].extent.end:
            place = function.lines[at]
            frames.append(Frame(name, self.files.get(place.file, ""), place.line))
        else:
            frames.append(Frame(name, "", 0))
        return frames[::-1]


def read_record(record: str) -> tuple[str, re.Match[str]]:
    for kind, pattern in RECORDS.items():
        match = pattern.fullmatch(record)
        if match:
            return kind, match
    raise AssertionError(f"no record: {record!r}")


def starts_at(line: Line) -> int:
    return line.extent.start


def check_apart(extents: list[Extent], inside: list[Extent]) -> None:
    """They ascend, none is empty, and each lies in one of *inside*."""
    reach = 0
    starts = [outer.start for outer in inside]
    for extent in extents:
        assert reach <= extent.start < extent.end
        reach = extent.end
        index = bisect_right(starts, extent.start) - 1
        assert index >= 0
        assert extent.end <= inside[index].end
