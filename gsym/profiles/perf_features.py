"""Features of perf.data: programs of BPF, and what Android's simpleperf alone writes.

perf stores each BPF program that the kernel compiled during the recording:
`bpf_prog_info`, followed by its arrays, and the BTF that has its names and files. The
lines are those of machine code, at its addresses. simpleperf writes symbols and
settings.

Source: linux, include/uapi/linux/bpf.h, tools/perf/util/header.c and bpf-event.c,
Documentation/bpf/btf.rst; platform/system/extras, simpleperf/record_file_format.h,
record_file.proto and dso.cpp.
"""

from __future__ import annotations

import struct
from bisect import bisect_right

from gsym.engine.native import zero_ended
from gsym.errors import FormatError
from gsym.profiles.model import Frame, frame_at
from gsym.profiles.protobuf import LENGTH_DELIMITED, each_field, varint
from gsym.ranges import AddressRanges
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


BPF_PROGRAMS, BPF_TYPES = 25, 26
"""The numbers of the features of perf."""

_INFO_SIZE = 192
_TAG_SIZE = 8
_LINE_SIZE, _ADDRESS_SIZE = 16, 8
# Bits of the arrays that there are.
_STARTS, _SIZES, _FUNCTIONS, _LINES, _ADDRESSES, _TAGS = 3, 4, 5, 6, 7, 8
# Limit: Name and path in a program of BPF
_MAX_STRING = 4 << 10
_LINE_SHIFT = 10  # of the line, above the column
_BTF_MAGIC = 0xEB9F
_FUNCTION = 12  # kind of a type
# Bytes of a type after its first three words, by kind: fixed, and for each member.
_TYPE_SIZES = {
    **dict.fromkeys((1, 14, 17), (4, 0)),
    3: (12, 0),
    **dict.fromkeys((4, 5, 15, 19), (0, 12)),
    **dict.fromkeys((6, 13), (0, 8)),
}


class BpfFunction(NamedTuple):
    """A function in the machine code of a program."""

    start: int
    end: int
    name: str  # as perf prints it: `bpf_prog_TAG_name`
    lines: tuple[tuple[int, str, int], ...] = ()  # address, path and line; ascending

    def frame(self, address: int) -> Frame:
        """The function and line at an address in it."""
        return frame_at(self.name, self.lines, address)


class BpfPrograms:
    """The functions of all programs, by address."""

    def __init__(self, programs: bytes, types: bytes, order: str) -> None:
        self.damaged: int = 0  # the number of programs that could not be read
        self._order = order
        names = dict(self._types(types))
        functions: list[BpfFunction] = []
        for each in self._infos(programs):
            try:
                functions += list(self._functions(each, names))
            except (struct.error, OverflowError, UnicodeDecodeError):  # noqa: PERF203 - the other programs are read
                self.damaged += 1
        functions.sort()
        self._all = AddressRanges((each.start, each.end, each) for each in functions)

    def find(self, address: int) -> BpfFunction | None:
        """The function at an address."""
        return self._all.find(address)

    def _unpack(self, codes: str, data: bytes, at: int = 0) -> tuple[int, ...]:
        return struct.unpack_from(self._order + codes, data, at)

    def _infos(self, data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
        """The arrays there are of each program, its information and its arrays."""
        at = 4
        while at + 16 <= len(data):
            size, rest, arrays = self._unpack("IIQ", data, at)
            at += 16
            if size + rest > len(data) - at:
                self.damaged += 1
                return
            info = data[at : at + size].ljust(_INFO_SIZE, b"\0")
            yield arrays, info, data[at + size : at + size + rest]
            at += size + rest

    def _types(self, data: bytes) -> Iterator[tuple[int, _Types]]:
        at = 4
        while at + 8 <= len(data):
            number, size = self._unpack("II", data, at)
            at += 8
            try:
                yield number, _Types(data[at : at + size], self._order)
            except struct.error:
                self.damaged += 1
            at += size

    def _functions(
        self, program: tuple[int, bytes, bytes], names: dict[int, _Types]
    ) -> Iterator[BpfFunction]:
        has, info, data = program
        count, sizes, starts_at, sizes_at = self._unpack("IIQQ", info, 104)
        number, function_size, functions_at = self._unpack("IIQ", info, 128)
        tags_at, *_ = self._unpack("Q", info, 184)
        if not has >> _STARTS & has >> _SIZES & has >> _TAGS & 1 or sizes != count:
            return
        types = names.get(number)
        lines = sorted(self._lines(has, info, data, types)) if types else []
        addresses = [line[0] for line in lines]
        starts = self._unpack(f"{count}Q", data, starts_at)
        left = len(lines)  # functions share none
        for index, size in enumerate(self._unpack(f"{count}I", data, sizes_at)):
            tag = data[tags_at + index * _TAG_SIZE : tags_at + (index + 1) * _TAG_SIZE]
            if len(tag) < _TAG_SIZE:
                raise struct.error
            name = ""
            if types and has >> _FUNCTIONS & 1:
                at = functions_at + index * function_size + 4
                name = types.name(*self._unpack("I", data, at))
            elif count == 1:
                name = zero_ended(info[64:80]).decode()
            start, end = starts[index], starts[index] + size
            first, last = (bisect_right(addresses, at - 1) for at in (start, end))
            left -= last - first
            if left < 0:
                raise struct.error
            whole = "_".join(filter(None, ("bpf_prog", tag.hex(), name)))
            yield BpfFunction(start, end, whole, tuple(lines[first:last]))

    def _lines(
        self, has: int, info: bytes, data: bytes, types: _Types
    ) -> Iterator[tuple[int, str, int]]:
        count, at, addresses_at, jited = self._unpack("IQQI", info, 148)
        size, address_size = self._unpack("II", info, 172)
        if not has >> _LINES & has >> _ADDRESSES & 1 or count != jited:
            return
        if size < _LINE_SIZE or address_size < _ADDRESS_SIZE:
            raise struct.error
        for index in range(count):
            _, path, _, position = self._unpack("IIII", data, at + index * size)
            address, *_ = self._unpack("Q", data, addresses_at + index * address_size)
            yield address, types.string(path), position >> _LINE_SHIFT


class _Types:
    """The names of functions, and the strings, of BTF."""

    def __init__(self, data: bytes, order: str) -> None:
        header = struct.unpack_from(f"{order}HBBIIIII", data)
        magic, _, _, size, types_at, types_size, strings_at, strings_size = header
        if magic != _BTF_MAGIC:
            raise struct.error
        self._strings = data[size + strings_at :][:strings_size]
        self._names = [0]
        types, at = data[size + types_at :][:types_size], 0
        while at + 12 <= len(types):
            name, kind = struct.unpack_from(f"{order}II", types, at)
            members, kind = kind & 0xFFFF, kind >> 24 & 0x1F
            fixed, each = _TYPE_SIZES.get(kind, (0, 0))
            self._names.append(name if kind == _FUNCTION else 0)
            at += 12 + fixed + each * members

    def name(self, number: int) -> str:
        """The name of a function by the number of its type; "" if it is none."""
        return self.string(self._names[number]) if number < len(self._names) else ""

    def string(self, at: int) -> str:
        cut = self._strings[at : at + _MAX_STRING]
        return zero_ended(cut).decode("utf-8", "replace")


FILE, META_INFO, FILE2, INIT_MAP = 128, 129, 132, 134
"""The numbers of the features of simpleperf."""
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
        fields, names = _fields(symbol)
        start, name = fields.get(1, 0), names.get(3, (b"",))[-1]
        end = start + fields.get(2, 0)
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
