"""Functions of another GSYM file: all of them, or those that a selection keeps."""

from __future__ import annotations

from struct import Struct

from gsym.arguments import items_of, strings_of
from gsym.engine.native import check, ffi, lib, new_error, to_str

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from re import Pattern
    from typing import Any

    from typing_extensions import Buffer

    CData = Any  # a cffi object, or a function of the engine


_FUNCTION_RANGE = Struct("=3Q")  # the engine's record, in the machine's byte order


class ImageSource:
    """The engine's view of a file, and calls that copy from it.

    Args:
        data: The bytes of the file, which must not change, or of a binary that holds
            it.
        path: The name that errors carry.

    Attributes:
        header: A `gsym_header`.
        uuid: Identifier of the binary that the file was made from, b"" for none.

    Raises:
        FormatError: This is no GSYM file, or its tables are damaged.
        UnsupportedError: The version or an encoding is not known.
    """

    def __init__(self, data: Buffer, path: str | None = None) -> None:
        self._path = path
        self._error: CData = new_error()
        self._bytes = ffi.from_buffer("uint8_t[]", data)
        made = ffi.new("gsym_image **")
        size = len(self._bytes)
        self._check(lib.gsym_image_open(self._bytes, size, made, self._error))
        self._image: CData = ffi.gc(made[0], lib.gsym_image_close)
        self.header: CData = ffi.new("gsym_header *")
        lib.gsym_image_header(self._image, self.header)
        start = self.header.file_offset + self.header.uuid_offset
        uuid_end = start + self.header.uuid_size
        self.uuid: bytes = ffi.buffer(self._bytes)[start:uuid_end]

    def copy(self, function: CData, creator: CData, *arguments: CData) -> None:
        """Call *function*, which copies from this file to *creator*.

        Raises:
            FormatError: What it copies is damaged.
            LimitError: It does not fit the creator's version.
        """
        self._check(function(creator, self._image, *arguments, self._error))

    def creator(self, *, index: bool = True) -> CData:
        """A creator of a file like this one, with its UUID, still without functions.

        It keeps all functions that it is given, in their order. If this file has an
        index, that of the new one is made anew, unless *index* is false.
        """
        header = self.header
        options = ffi.new("gsym_creator_options *")
        options.version = header.version
        options.big_endian = header.big_endian
        options.keep_all = 1
        options.has_base_address = 1
        options.base_address = header.base_address
        options.has_index = index and header.index_size != 0
        made = ffi.new("gsym_creator **")
        self._check(lib.gsym_creator_create(options, made, self._error))
        creator = ffi.gc(made[0], lib.gsym_creator_destroy)
        uuid = self.uuid, len(self.uuid)
        self._check(lib.gsym_creator_set_uuid(creator, *uuid, self._error))
        return creator

    def start(self, index: int) -> int:
        """Start address of entry *index* of the address table."""
        address, offset = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        self._check(
            lib.gsym_image_entry(self._image, index, address, offset, self._error)
        )
        return int(address[0])

    def names(self) -> dict[int, bytes]:
        """The names of all functions, merged ones too, by their string offsets.

        Raises:
            FormatError: A record is damaged.
        """
        capacity, count = self.header.num_addresses, ffi.new("size_t *")
        while True:
            ranges = ffi.new("gsym_function_range[]", capacity)
            status = lib.gsym_image_all_functions(
                self._image, ranges, capacity, count, self._error
            )
            self._check(status)
            if count[0] <= capacity:
                break
            capacity = count[0]
        packed = ffi.buffer(ranges)[: count[0] * _FUNCTION_RANGE.size]
        size = ffi.new("size_t *")
        names = {}
        for strp in {strp for _, _, strp in _FUNCTION_RANGE.iter_unpack(packed)}:
            text = lib.gsym_image_string(self._image, strp, size)
            names[strp] = ffi.buffer(text, size[0])[:]
        return names

    def _check(self, status: int) -> None:
        check(status, self._error, self._path)


_ADDRESS_END = 1 << 64


class Selection:
    """Patterns of names and ranges of addresses; true where there are any.

    Args:
        keep: Regular expressions; a function stays whose name one of them is found
            in. None: all names.
        drop: Regular expressions; a function goes whose name one of them is found
            in, also if it matches *keep*.
        address_ranges: (start, end) pairs; a function stays that answers for an
            address start <= address < end of one of them. None: all addresses.

    Raises:
        TypeError: A single string was given where several are expected.
        ValueError: A pattern is no regular expression, or a range is empty or ends
            behind the last address.
    """

    __slots__ = ("_drop", "_keep", "_ranges")

    def __init__(
        self,
        keep: Iterable[str] = (),
        drop: Iterable[str] = (),
        address_ranges: Iterable[tuple[int, int]] = (),
    ) -> None:
        self._keep = [_compiled(each) for each in strings_of("keep_functions", keep)]
        self._drop = [_compiled(each) for each in strings_of("drop_functions", drop)]
        ranges = items_of("address_ranges", address_ranges, "(start, end) pairs")
        self._ranges = [_checked(start, end) for start, end in ranges]

    def __bool__(self) -> bool:
        return bool(self._keep or self._drop or self._ranges)

    def _wants(self, name: str) -> bool:
        is_kept = not self._keep or any(kept.search(name) for kept in self._keep)
        return is_kept and not any(dropped.search(name) for dropped in self._drop)

    def describe(self, names: dict[int, bytes]) -> tuple[CData, list[CData]]:
        """The engine's view for a file with these *names*, and what it points at."""
        wanted = sorted(at for at, raw in names.items() if self._wants(to_str(raw)))
        strps = ffi.new("uint64_t[]", wanted)
        ranges = ffi.new("gsym_range[]", self._ranges)
        selection = ffi.new("gsym_selection *")
        selection.by_name = bool(self._keep or self._drop)
        selection.names, selection.name_count = strps, len(strps)
        selection.by_address = bool(self._ranges)
        selection.ranges, selection.range_count = ranges, len(ranges)
        return selection, [strps, ranges]


def select_functions(whole: Buffer, selection: Selection) -> CData:
    """A creator of a file like *whole* that holds the selected functions alone.

    Where a function that others are merged into goes, the first of these that stays
    takes its place. A function without a size answers for no address that a dropped
    one answered for. If *whole* has an index, so has the new file.

    Raises:
        FormatError: *whole* is damaged.
    """
    source = ImageSource(whole)
    described, _alive = selection.describe(source.names())
    creator = source.creator()
    source.copy(lib.gsym_creator_add_entries, creator, described)
    source.copy(lib.gsym_creator_add_sections, creator)
    return creator


def _compiled(pattern: str) -> Pattern[str]:
    import re

    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"'{pattern}' is no regular expression: {error}") from None


def _checked(start: int, end: int) -> tuple[int, int]:
    if not 0 <= start < end < _ADDRESS_END:
        raise ValueError(f"{start:#x}-{end:#x} is no range of addresses")
    return start, end
