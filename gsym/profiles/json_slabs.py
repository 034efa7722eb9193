"""JSON with typed arrays beside it (JSLB), as the Firefox Profiler reads and writes it.

After a head with a magic number and a table come the slabs: JSON texts and arrays of
numbers, little-endian. In JSON, `{"$s": 3}` stands for the slab of that index.

Source: github.com/mstange/json-slabs, FORMAT.md.
"""

from __future__ import annotations

import json
import struct
from decimal import Decimal

from gsym.errors import FormatError, UnsupportedError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

_HEAD, _ENTRY = struct.Struct("<8x3I"), struct.Struct("<3I")
_VERSION = 1
_CODES = "bBhHiIfdqQ"  # of the arrays, by the type of a slab
_FRACTIONS = "fd"
_JSON = len(_CODES)
_PLACEHOLDER = "$s"


def root_text(data: bytes, size: int) -> str:
    """The first characters of the JSON that contains the rest, from *size* bytes.

    Returns:
        "" if the head of the file is damaged, or too few of its bytes are given.
    """
    try:
        _, count, root = _HEAD.unpack_from(data)
        kind, start, length = _ENTRY.unpack_from(data, _HEAD.size + root * _ENTRY.size)
    except struct.error:
        return ""
    is_text = root < count and kind == _JSON
    text = data[start : start + min(length, size)] if is_text else b""
    return text.decode("utf-8", "replace")


def read_slabs(data: bytes, path: str) -> Any:
    """The value of a whole file, in which arrays are lists.

    Raises:
        UnsupportedError: It has another version.
    """
    return _Slabs(data, path).value()


class _Slabs:
    """The slabs of a file, each made when it is asked for."""

    def __init__(self, data: bytes, path: str) -> None:
        self._data = data
        self._path = path
        self._made: dict[int, Any] = {}
        self._open: set[int] = set()  # JSON that is being decoded
        self._decoder = json.JSONDecoder(object_hook=self._object, parse_float=Decimal)

    def value(self) -> Any:
        """The value of the root."""
        try:
            version, self._count, root = _HEAD.unpack_from(self._data)
        except struct.error:
            raise self._error("it is truncated", 0) from None
        if version != _VERSION:
            reason = f"version {version} of JSLB is not supported"
            raise UnsupportedError(reason, path=self._path)
        try:
            return self._slab(root)
        except RecursionError:
            raise self._error("nested too deep", 0) from None

    def _object(self, value: dict[str, Any]) -> Any:
        """An object of JSON, or the slab that it stands for."""
        if len(value) != 1 or type(value.get(_PLACEHOLDER)) is not int:
            return value
        return self._slab(value[_PLACEHOLDER])

    def _slab(self, index: int) -> Any:
        if index not in self._made:
            self._made[index] = self._read(index)
        return self._made[index]

    def _read(self, index: int) -> Any:
        place = _HEAD.size + index * _ENTRY.size
        if not 0 <= index < self._count or place + _ENTRY.size > len(self._data):
            raise self._error(f"no slab has the index {index}", _HEAD.size)
        kind, start, size = _ENTRY.unpack_from(self._data, place)
        if start + size > len(self._data):
            reason = f"a slab of {size} bytes at {start} ends after the file"
            raise self._error(reason, place)
        if kind == _JSON:
            return self._json(index, self._data[start : start + size], start)
        if kind > _JSON:
            raise self._error(f"a slab of unknown type {kind}", place)
        code = _CODES[kind]
        count = size // struct.calcsize(f"<{code}")
        numbers = struct.unpack_from(f"<{count}{code}", self._data, start)
        if code in _FRACTIONS:
            return [Decimal(repr(number)) for number in numbers]
        return list(numbers)

    def _json(self, index: int, data: bytes, start: int) -> Any:
        if index in self._open:
            raise self._error("a slab contains itself", start)
        self._open.add(index)
        try:
            return self._decoder.decode(data.decode("utf-8", "replace"))
        except (ValueError, ArithmeticError) as error:
            reason = getattr(error, "msg", "invalid number")
            at = start + int(getattr(error, "pos", 0))
            raise self._error(f"not JSON: {reason}", at) from None
        finally:
            self._open.discard(index)

    def _error(self, reason: str, offset: int) -> FormatError:
        return FormatError(reason, path=self._path, offset=offset)
