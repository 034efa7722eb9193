"""PDB files decoded once more: streams, types and the names made of them.

Plain on purpose, and independent of the engine: streams are copied, records are read
again for each name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from struct import Struct, error as StructError, unpack_from  # noqa: N812 - one
from typing import NamedTuple

from gsym.errors import FormatError, UnsupportedError
from tests.referee.file import text_of

DECODING_ERRORS = (
    *(StructError, IndexError, ValueError, KeyError, RecursionError),
    *(ZeroDivisionError, OverflowError),
)

PDB, TPI, DBI, IPI = 1, 2, 3, 4
NO_STREAM = 0xFFFF
_MAGIC = b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0"
_NIL = 0xFFFFFFFF
_FASTLINK = 0x494E494D
_HAS_IDS = {20091201, 20140508}  # features: stream 4 has ids
_RECORD = Struct("<HH")


class Streams:
    """The streams of a file, as bytes."""

    def __init__(self, data: memoryview, path: str) -> None:
        if bytes(data[: len(_MAGIC)]) != _MAGIC:
            raise FormatError("not a PDB file", path=path, offset=0)
        self._data = data
        self._page: int
        self._page, _, _, size, _ = unpack_from("<5I", data, len(_MAGIC))
        listed = self._pages_of(size) * 4
        numbers = unpack_from(f"<{self._pages_of(listed)}I", data, 52)
        pages = unpack_from(f"<{listed // 4}I", self._join(numbers, listed))
        directory = self._join(pages, size)
        (count,) = unpack_from("<I", directory)
        sizes = unpack_from(f"<{count}I", directory, 4)
        at = 4 + 4 * count
        self._streams = []
        for each in sizes:
            length = 0 if each == _NIL else each
            used = self._pages_of(length)
            numbers = unpack_from(f"<{used}I", directory, at)
            self._streams.append((length, numbers))
            at += 4 * used

    def read(self, number: int) -> bytes:
        """The bytes of a stream; b"" for one that does not exist."""
        if number >= len(self._streams) or number == NO_STREAM:
            return b""
        size, pages = self._streams[number]
        return self._join(pages, size)

    def _pages_of(self, size: int) -> int:
        return -(-size // self._page)

    def _join(self, pages: tuple[int, ...], size: int) -> bytes:
        page = self._page
        if size > len(self._data):
            raise ValueError("a stream is larger than the file")
        return b"".join(self._data[at * page : (at + 1) * page] for at in pages)[:size]


class Info(NamedTuple):
    """Fields of the PDB stream; *names* is the number of the stream /names."""

    guid: bytes
    names: int
    has_ids: bool


def read_info(info: bytes, path: str) -> Info:
    """Read the PDB stream."""
    (size,) = unpack_from("<I", info, 28)
    strings = info[32 : 32 + size]
    at = 32 + size
    (count,) = unpack_from("<I", info, at)
    at += 8
    for _ in range(2):  # sets of bits
        (words,) = unpack_from("<I", info, at)
        at += 4 + 4 * words
    names = NO_STREAM
    for index in range(count):
        offset, stream = unpack_from("<II", info, at + 8 * index)
        if strings[offset:].startswith(b"/names\0"):
            names = stream
    at += 8 * count + 4
    features = unpack_from(f"<{(len(info) - at) // 4}I", info, at)
    if _FASTLINK in features:
        raise UnsupportedError("made with /DEBUG:FASTLINK", path=path)
    return Info(info[12:28], names, not _HAS_IDS.isdisjoint(features))


def records(data: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Kind and contents of the records from *start* on."""
    while start + _RECORD.size <= end:
        size, kind = _RECORD.unpack_from(data, start)
        if size < 2:
            raise ValueError("a record without a kind")
        yield kind, data[start + 4 : start + 2 + size]
        start += 2 + size


# ---- types -----------------------------------------------------------------------

_MODIFIER, _POINTER, _PROCEDURE, _MFUNCTION = 0x1001, 0x1002, 0x1008, 0x1009
_ARGLIST, _ARRAY, _ENUM, _UNION, _ALIAS = 0x1201, 0x1503, 0x1507, 0x1506, 0x150A
_CLASSES = {0x1504, 0x1505, 0x1519}
_FUNC_ID, _MFUNC_ID, _STRING_ID = 0x1601, 0x1602, 0x1605
_SPREAD = {_PROCEDURE, _MFUNCTION, _ARRAY}
_FIRST = 0x1000
# Limit: Types read for one name of a PDB: types in a type
_MOST_NESTED = 32
_NULLPTR = 0x103
_SIMPLE_TEXT = """
03 void,08 HRESULT,10 signed char,20 unsigned char,70 char,71 wchar_t,7a char16_t
7b char32_t,7c char8_t,68 __int8,69 unsigned __int8,11 short,72 short
21 unsigned short,73 unsigned short,12 long,22 unsigned long,74 int,75 unsigned int
13 __int64,76 __int64,23 unsigned __int64,77 unsigned __int64,14 __int128,78 __int128
24 unsigned __int128,79 unsigned __int128,46 _Float16,40 float,41 double,42 double
43 __float128,30 bool
"""
_SIMPLE = {
    int(each[:2], 16): each[3:] for each in re.split("[,\n]", _SIMPLE_TEXT.strip())
}
_SIGNS = ("*", "&", "*", "*", "&&", "*", "*", "*")
_NUMBER_SIZES = (1, 2, 2, 4, 4, 4, 8, 10, 16, 8, 8)
_LEAF = 0x8000
_ANONYMOUS = re.compile(r"\?A0x[0-9a-f]*")


class Types:
    """Records of types, by index."""

    def __init__(self, stream: bytes) -> None:
        self._records: list[tuple[int, bytes]] = []
        if stream:
            size, self._first = unpack_from("<4xII", stream)
            self._records.extend(records(stream, size, len(stream)))

    def record(self, index: int) -> tuple[int, bytes]:
        """Kind and contents; (0, b"") for an index that is none."""
        known = bool(self._records) and index >= self._first
        at = index - self._first if known else len(self._records)
        return self._records[at] if at < len(self._records) else (0, b"")


class Names:
    """Names of functions, with their parameters."""

    def __init__(self, types: Types, ids: Types) -> None:
        self._types = types
        self._ids = ids

    def function(self, name: bytes, kind: int, *, parameters: bool) -> str:
        """The name of a symbol with a type."""
        text = _readable(name)
        return text + self._parameters(kind, 0) if text and parameters else text

    def function_id(self, index: int, *, parameters: bool) -> str:
        """The name of a function id, with its scope."""
        kind, data = self._ids.record(index)
        if kind not in {_FUNC_ID, _MFUNC_ID}:
            return ""
        scope, of = unpack_from("<II", data)
        before = ""
        if scope and kind == _MFUNC_ID:
            before = f"{self._before(scope, 0)}::"
        elif scope:
            string, contents = self._ids.record(scope)
            before = f"{_readable(contents[4:])}::" if string == _STRING_ID else ""
        rest = self._parameters(of, 0) if parameters else ""
        return before + _readable(data[8:]) + rest

    def _before(self, index: int, depth: int) -> str:
        """The text before the name that a type declares."""
        if index < _FIRST:
            if index == _NULLPTR:
                return "std::nullptr_t"
            return _SIMPLE.get(index & 0xFF, "?") + (" *" if index >> 8 & 0xF else "")
        kind, data = self._types.record(index)
        depth += 1
        if kind == _POINTER and depth <= _MOST_NESTED:
            text = self._pointer(data, depth)
        elif kind in {*_SPREAD, _MODIFIER} and depth <= _MOST_NESTED:
            text = self._before(unpack_from("<I", data)[0], depth)
            flags = unpack_from("<4xH", data)[0] if kind == _MODIFIER else 0
            text += (" const" if flags & 1 else "") + (" volatile" if flags & 2 else "")
        else:
            text = _user_type(kind, data) if depth <= _MOST_NESTED else "?"
        return text

    def _pointer(self, data: bytes, depth: int) -> str:
        to, attributes = unpack_from("<II", data)
        mode, flags = attributes >> 5 & 7, attributes >> 9 & 3
        text = self._before(to, depth)
        text += "" if text[-1:] in {"*", "&", "("} else " "
        text += "(" if self._types.record(to)[0] in _SPREAD else ""
        if mode in {2, 3} and (owner := unpack_from("<8xI", data)[0]):
            text += f"{self._before(owner, depth)}::"
        signs = ["const"] * (flags >> 1) + ["volatile"] * (flags & 1)
        return text + _SIGNS[mode] + " ".join(signs)

    def _after(self, index: int, depth: int) -> str:
        """The text after the name that a type declares."""
        kind, data = self._types.record(index) if index >= _FIRST else (0, b"")
        if kind not in {*_SPREAD, _POINTER, _MODIFIER} or depth >= _MOST_NESTED:
            return ""
        (inner,) = unpack_from("<I", data)
        text = ""
        if kind == _POINTER and self._types.record(inner)[0] in _SPREAD:
            text = ")"
        elif kind == _ARRAY:
            text = "[]"
        elif kind in {_PROCEDURE, _MFUNCTION}:
            text = self._parameters(index, depth + 1)
        return text + self._after(inner, depth + 1)

    def _parameters(self, index: int, depth: int) -> str:
        kind, data = self._types.record(index)
        if kind == _PROCEDURE:
            return self._arguments(unpack_from("<8xI", data)[0], depth)
        if kind != _MFUNCTION:
            return ""
        this, arguments = unpack_from("<8xI4xI", data)
        text = self._arguments(arguments, depth)
        return text + (" const" if self._is_const(this) else "")

    def _arguments(self, index: int, depth: int) -> str:
        kind, data = self._types.record(index)
        if kind != _ARGLIST:
            return ""
        (count,) = unpack_from("<I", data)
        texts = []
        for each in unpack_from(f"<{count}I", data, 4):
            inner, contents = self._types.record(each)
            kept = unpack_from("<I", contents)[0] if inner == _MODIFIER else each
            if kept == 0:
                texts.append("...")
                break
            texts.append(self._before(kept, depth) + self._after(kept, depth))
        return f"({', '.join(texts)})"

    def _is_const(self, this: int) -> bool:
        kind, data = self._types.record(this)
        if kind != _POINTER:
            return False
        kind, data = self._types.record(unpack_from("<I", data)[0])
        return kind == _MODIFIER and bool(unpack_from("<4xH", data)[0] & 1)


def _user_type(kind: int, data: bytes) -> str:
    if kind in {_ENUM, _ALIAS}:
        return _readable(data[12 if kind == _ENUM else 4 :])
    if kind not in {*_CLASSES, _UNION}:
        return "?"
    at = 8 if kind == _UNION else 16
    (number,) = unpack_from("<H", data, at)
    at += 2 + (_NUMBER_SIZES[number - _LEAF] if number >= _LEAF else 0)
    return _readable(data[at:])


def _readable(name: bytes) -> str:
    return _ANONYMOUS.sub("`anonymous namespace'", text_of(name))
