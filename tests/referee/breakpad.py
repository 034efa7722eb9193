"""Records of a Breakpad symbol file, decoded once more.

Plain on purpose, and independent of the engine: what contradicts itself is not mended,
but its function is left out with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from gsym.errors import FormatError
from gsym.model import (
    UINT64_END,
    FunctionInfo,
    InlineInfo,
    LineEntry,
    Range,
    rewritten,
)
from tests.referee.file import Symbol
from tests.referee.ranges import extend
from tests.referee.reference import Reference

_APPLE = {b"mac", b"macos", b"ios", b"tvos", b"watchos", b"visionos"}
# Thumb, microMIPS and MIPS16 code is at odd addresses in the file.
_HAS_ISA_BIT = re.compile(rb"arm(?!64)|mips")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UNKNOWN, _OMITTED = "<unknown>", "<name omitted>"
_OTHERS = {b"FILE", b"INLINE_ORIGIN", b"MODULE", b"INFO", b"STACK"}
_UNREADABLE = "a record cannot be read"
_CONTRADICTORY = "its records contradict each other"
_TOO_DEEP = "its calls nest too deeply"


class _Row(NamedTuple):
    start: int
    end: int
    line: int
    file: int


class _Piece(NamedTuple):
    """A range of an INLINE record; *record* tells it from others of its function."""

    level: int
    start: int
    end: int
    record: int
    name: int
    file: int | None
    line: int


_Part = TypeVar("_Part", _Row, _Piece)


class _Function:
    """A FUNC record with what belongs to it."""

    def __init__(self, address: int, size: int, name: str) -> None:
        self.address = address
        self.size = size
        self.name = name
        self.rows: list[_Row] = []
        self.levels: dict[int, list[_Piece]] = {}
        self.records = 0

    def clear_isa_bit(self) -> None:
        """Clear the bit of all addresses that says which instruction set is used."""
        self.address &= ~1
        self.rows = [_even(row) for row in self.rows]
        for level, pieces in self.levels.items():
            self.levels[level] = [_even(piece) for piece in pieces]


def _even(part: _Part) -> _Part:
    bit = part.start & 1
    return part._replace(start=part.start - bit, end=part.end - bit)


class _Node:
    """An inlined call, or the function with its outermost calls."""

    def __init__(self, piece: _Piece | None, caller: _Node | None) -> None:
        self.piece = piece
        self.caller = caller
        self.ranges: list[Range] = []
        self.calls: list[_Node] = []


_NOWHERE = (UINT64_END, UINT64_END, _Node(None, None))


class BreakpadReference(Reference):
    """FUNC and PUBLIC records."""

    source = "the FUNC records"

    def __init__(self, path: str, path_map: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._path_map = path_map
        # Operating system, architecture and debug id.
        self._module: tuple[bytes, ...] = (b"", b"", b"")
        self._code_id = b""
        # Those with several meanings have none.
        self._files: dict[int, str | None] = {}
        self._origins: dict[int, str | None] = {}
        functions: list[_Function] = []
        publics: dict[int, str] = {}
        with Path(path).open("rb") as lines:
            self._read(lines, functions, publics)
        if _HAS_ISA_BIT.match(self._module[1]):
            publics = {address & ~1: publics[address] for address in sorted(publics)}
            for function in functions:
                function.clear_isa_bit()
        self.build_id: bytes = self._build_id()
        for function in functions:
            self._add(function)
        self.add_symbols(_sized(publics, functions))
        if not functions and not publics:
            raise FormatError("it has no FUNC or PUBLIC record", path=path)

    def _build_id(self) -> bytes:
        """The identifier in the binary, of which a debug id has the first bytes."""
        system, _, digits = self._module
        guid = _hexadecimal(digits.replace(b"-", b"")[:32])
        if len(guid) != 16 or not any(guid):
            return b""
        if system.lower() not in _APPLE:
            guid = guid[3::-1] + guid[5:3:-1] + guid[7:5:-1] + guid[8:]
        code = _hexadecimal(self._code_id)
        return code if code and code[:16].ljust(16, b"\0") == guid else guid

    # Records.

    def _read(
        self,
        lines: Iterable[bytes],
        functions: list[_Function],
        publics: dict[int, str],
    ) -> None:
        function: _Function | None = None
        for number, raw in enumerate(lines):
            line = raw if number else raw.removeprefix(_BYTE_ORDER_MARK)
            kind, *words = line.rstrip(b"\r\n").split(None, 1) or [b"STACK"]
            rest = words[0] if words else b""
            if kind in {b"FUNC", b"PUBLIC"}:
                function = None
                rest = rest.removeprefix(b"m ")
            try:
                if kind == b"FUNC":
                    (address, size, _), name = _numbers(rest, 3)
                    _check(0 < size < 1 << 32)
                    function = _Function(address, size, name)
                    functions.append(function)
                elif kind == b"PUBLIC":
                    (address, _), name = _numbers(rest, 2)
                    publics.setdefault(address, name)
                elif kind in _OTHERS:
                    self._read_other(kind, rest)
                else:
                    _read_part(function, kind, rest)
            except (ValueError, IndexError):
                self.uncompared[_UNREADABLE] += 1

    def _read_other(self, kind: bytes, rest: bytes) -> None:
        if kind == b"FILE":
            number, *name = rest.split(None, 1)
            _define(self._files, number, rewritten(_name(name, ""), self._path_map))
        elif kind == b"INLINE_ORIGIN":
            number, *name = rest.split(None, 1)
            words = name[0].split(None, 1) if name else []
            if len(words) > 1 and words[0].removeprefix(b"-").isdigit():
                name = words[1:]
            _define(self._origins, number, _name(name, _OMITTED))
        elif kind == b"MODULE" and not any(self._module):
            words = rest.split()
            self._module = words[0], words[1], words[2]
        elif kind == b"INFO" and rest.startswith(b"CODE_ID ") and not self._code_id:
            self._code_id = rest.split()[1]

    # Functions.

    def _add(self, function: _Function) -> None:
        start, end = function.address, function.address + function.size
        try:
            rows = tuple(self._rows(function))
            calls = tuple(map(self._inline, self._calls(function)))
        except (ValueError, RecursionError) as error:
            is_deep = isinstance(error, RecursionError)
            self.excused[start, end] = _TOO_DEEP if is_deep else _CONTRADICTORY
            return
        whole = (Range(start, end),)
        inline = InlineInfo(function.name, "", 0, whole, calls) if calls else None
        self.add(FunctionInfo(start, end - start, function.name, rows or None, inline))

    def _file(self, number: int) -> str:
        return _meaning(self._files, number)

    def _rows(self, function: _Function) -> Iterator[LineEntry]:
        """Rows where records begin, and with line 0 where none is."""
        found: list[LineEntry] = []
        covered, path = function.address, None
        for row in sorted(function.rows, key=lambda each: each.start):
            _check(covered <= row.start and row.end <= function.address + function.size)
            before = path
            path = self._file(row.file)
            if row.start > covered:
                found.append(LineEntry(covered, path if before is None else before, 0))
            found.append(LineEntry(row.start, path, row.line))
            covered = row.end
        if path is not None and covered < function.address + function.size:
            found.append(LineEntry(covered, path, 0))
        for index, entry in enumerate(found):
            if index == 0 or entry[1:] != found[index - 1][1:]:
                yield entry

    def _calls(self, function: _Function) -> list[_Node]:
        """The outermost inlined calls, with the others in them.

        A record tells the level of its call; the call of the level above that has the
        same addresses is its caller. A record may have several callers.
        """
        root = _Node(None, None)
        callers = [(function.address, function.address + function.size, root)]
        for level in range(len(function.levels)):
            spans: list[tuple[int, int, _Node]] = []
            newest: dict[int, _Node] = {}
            pieces = sorted(function.levels.get(level, ()), key=lambda each: each.start)
            above = iter(callers)
            start, end, caller = next(above)
            last = 0
            for piece in pieces:
                _check(last <= piece.start)
                last = piece.start
                while last < piece.end:
                    while end <= last:
                        start, end, caller = next(above, _NOWHERE)
                    _check(start <= last)
                    node = newest.get(piece.record)
                    if node is None or node.caller is not caller:
                        node = newest[piece.record] = _Node(piece, caller)
                        caller.calls.append(node)
                    stop = min(end, piece.end)
                    extend(node.ranges, last, stop)
                    spans.append((last, stop, node))
                    last = stop
            _check(bool(spans))
            callers = spans
        return root.calls

    def _inline(self, node: _Node) -> InlineInfo:
        piece = node.piece
        assert piece is not None
        path = "" if piece.file is None else self._file(piece.file)
        calls = tuple(map(self._inline, node.calls))
        name = _meaning(self._origins, piece.name)
        return InlineInfo(name, path, piece.line, tuple(node.ranges), calls)


def _check(is_sound: bool) -> None:  # noqa: FBT001 - a condition
    if not is_sound:
        raise ValueError


def _numbers(rest: bytes, count: int) -> tuple[list[int], str]:
    """The hexadecimal numbers that a record begins with, and the name after them."""
    words = rest.split(None, count)
    _check(len(words) >= count)
    return [int(word, 16) for word in words[:count]], _name(words[count:], _UNKNOWN)


def _read_part(function: _Function | None, kind: bytes, rest: bytes) -> None:
    """An INLINE or a line record, which belong to a FUNC."""
    if function is None:
        raise ValueError(kind)
    if kind == b"INLINE":
        _add_inline(function, rest)
    else:
        size, line, file = rest.split()[:3]
        start = int(kind, 16)
        end = start + int(size, 16)
        if start < end:
            function.rows.append(_Row(start, end, max(int(line), 0), int(file)))


def _add_inline(function: _Function, rest: bytes) -> None:
    words = rest.split()
    level, line, *others = words
    file = int(others.pop(0)) if len(words) % 2 == 0 else None
    name = int(others.pop(0))
    ranges = [int(word, 16) for word in others]
    pieces = [
        _Piece(
            *(int(level), start, start + size, function.records),
            *(name, file, max(int(line), 0)),
        )
        for start, size in zip(ranges[::2], ranges[1::2], strict=True)
    ]
    for piece in pieces:
        if piece.start < piece.end:
            function.levels.setdefault(piece.level, []).append(piece)
    function.records += 1


def _define(numbers: dict[int, str | None], number: bytes, text: str) -> None:
    known = numbers.setdefault(int(number), text)
    if known != text:
        numbers[int(number)] = None


def _meaning(numbers: dict[int, str | None], number: int) -> str:
    text = numbers.get(number)
    if text is None:
        raise ValueError(number)
    return text


def _sized(publics: dict[int, str], functions: list[_Function]) -> Iterator[Symbol]:
    """PUBLIC records, which reach up to the next one or the next FUNC."""
    starts = sorted({*publics, *(function.address for function in functions)})
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        if start in publics:
            yield Symbol(start, 0 if end is None else end - start, publics[start])


def _name(words: list[bytes], otherwise: str) -> str:
    text = words[0].partition(b"\0")[0] if words else b""
    return text.decode("utf-8", "surrogateescape") or otherwise


def _hexadecimal(digits: bytes) -> bytes:
    try:
        return bytes.fromhex(digits.decode("ascii"))
    except ValueError:
        return b""
