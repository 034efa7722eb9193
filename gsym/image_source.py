"""A GSYM file in memory that other GSYM files are made from.

No function passes through Python on its way from one file to the other.
"""

from __future__ import annotations

from struct import Struct

from gsym._native import check, ffi, lib, new_error

__all__ = ["ImageSource"]

TYPE_CHECKING = False
if TYPE_CHECKING:
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
