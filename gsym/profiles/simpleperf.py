"""Features of perf.data that Android's simpleperf alone writes: symbols and settings.

Source: platform/system/extras, simpleperf/record_file_format.h, record_file.proto and
dso.cpp.
"""

from __future__ import annotations

import struct

from gsym.errors import FormatError
from gsym.profiles.protobuf import LENGTH_DELIMITED, each_field, varint
from gsym.ranges import AddressRanges
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Mapping

FILE, META_INFO, FILE2, INIT_MAP = 128, 129, 132, 134
"""Numbers of features."""
VERSION = "simpleperf_version"
"""The setting that all its files have."""
_KERNEL, _KERNEL_MODULE, _ELF, _DEX, _SYMBOL_MAP = range(5)  # types of files
_PATH, _TYPE, _LEAST_ADDRESS, _SYMBOL = 1, 2, 3, 4  # fields of FileFeature
_PLACES = frozenset({6, 7})  # where the least address is: in the file, or in memory


class FileSymbols(NamedTuple):
    """The symbols of a file, by their addresses."""

    is_absolute: bool  # whether these are addresses in memory, else in the file
    shift: int  # what is added to an offset in the file for its address
    symbols: AddressRanges[str]  # their names

    def find(self, address: int, start: int, file_offset: int) -> str:
        """The symbol at an address of a mapping that begins at *start*, or ""."""
        if not self.is_absolute:
            address += file_offset - start + self.shift
        return self.symbols.find(address) or ""


def read_settings(data: bytes) -> dict[str, str]:
    """The settings in `META_INFO`: names and values, each ended by a zero byte."""
    texts = data.decode("utf-8", "replace").split("\0")
    return dict(zip(texts[::2], texts[1::2], strict=False))


def event_names(settings: Mapping[str, str]) -> dict[tuple[int, int], str]:
    """The names of events by their type and number (`name,type,number` in a line)."""
    found = {}
    for line in settings.get("event_type_info", "").splitlines():
        name, kind, number, *_ = [*line.rsplit(",", 2), "", ""]
        if kind.isdecimal() and number.isdecimal():
            found[int(kind[:20]), int(number[:20])] = name
    return found


def read_symbols(data: bytes, feature: int, order: str) -> dict[str, FileSymbols]:
    """The symbols of files by path, of `FILE` or `FILE2`.

    Raises:
        FormatError: They are damaged.
    """
    number = struct.Struct(f"{order}I")
    read = _read_message if feature == FILE2 else _read_struct
    found, at = {}, 0
    try:
        while at < len(data):
            (size,) = number.unpack_from(data, at)
            at += number.size
            if size > len(data) - at:
                raise FormatError("symbols of a file are truncated")
            path, kind, shift, symbols = read(data[at : at + size], order)
            at += size
            is_absolute = kind in {_KERNEL, _SYMBOL_MAP}
            ranges = AddressRanges(sorted(symbols))
            found[path] = FileSymbols(is_absolute, shift, ranges)
    except (struct.error, ValueError) as error:
        raise FormatError("symbols of a file are damaged") from error
    return found


_Read = tuple[str, int, int, list[tuple[int, int, str]]]


def _read_message(data: bytes, _order: str) -> _Read:
    """The path, type, shift and symbols of a file, as a message of protobuf."""
    numbers, texts = _fields(data)
    symbols = []
    for symbol in texts.get(_SYMBOL, ()):
        own, names = _fields(symbol)
        start, name = own.get(1, 0), names.get(3, (b"",))[-1]
        end = start + own.get(2, 0)
        symbols.append((start, end, name.decode("utf-8", "replace")))
    path = texts.get(_PATH, (b"",))[-1].decode("utf-8", "replace")
    kind, place = numbers.get(_TYPE, 0), 0
    for number in _PLACES & texts.keys():
        place = _fields(texts[number][-1])[0].get(1, 0)
    shift = _shift(kind, numbers.get(_LEAST_ADDRESS, 0), place)
    return path, kind, shift, symbols


def _fields(data: bytes) -> tuple[dict[int, int], dict[int, list[bytes]]]:
    """The numbers in a message, and the texts and messages."""
    numbers: dict[int, int] = {}
    texts: dict[int, list[bytes]] = {}
    for field in each_field(data):
        if field.wire_type == LENGTH_DELIMITED:
            content = data[field.content : field.end]
            texts.setdefault(field.number, []).append(content)
        else:
            numbers[field.number], _ = varint(data, field.content, field.start)
    return numbers, texts


def _read_struct(data: bytes, order: str) -> _Read:
    """The path, type, shift and symbols as older versions write them."""
    text, _, rest = data.partition(b"\0")
    kind, least, count = struct.unpack_from(f"{order}IQI", rest)
    at, symbols = 16, []
    for _ in range(count):
        start, size = struct.unpack_from(f"{order}QI", rest, at)
        end = rest.index(b"\0", at + 12)
        symbols.append(
            (start, start + size, rest[at + 12 : end].decode("utf-8", "replace"))
        )
        at = end + 1
    has_place = kind in {_ELF, _KERNEL_MODULE} and len(rest) >= at + 8
    place = struct.unpack_from(f"{order}Q", rest, at)[0] if has_place else 0
    return text.decode("utf-8", "replace"), kind, _shift(kind, least, place), symbols


def _shift(kind: int, least: int, place: int) -> int:
    return least - place if kind in {_ELF, _KERNEL_MODULE} else 0
