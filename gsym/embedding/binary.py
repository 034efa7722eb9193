"""Parts that containers share: bounds-checked headers, payload, string table.

Offsets count from the start of the binary, and errors name them. A file that is to
share strings is laid out anew: its own strings come last, so that those of the binary
can follow. Their number must be known before the first function is encoded, hence two
creators.
"""

from __future__ import annotations

from itertools import chain
from struct import Struct

from gsym.engine.native import check, ffi, lib, new_error
from gsym.errors import FormatError, LimitError, UnsupportedError
from gsym.modules.part import module_part
from gsym.records import NamedTuple
from gsym.writing.creator_handle import finish_creator, iter_finished

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from typing_extensions import Buffer

    from gsym.modules.key import ModuleKey
    from gsym.writing.selection import ImageSource

    CData = Any  # a cffi object

_BLOCK_SIZE = 1 << 20
_SHARING_MULTIPLE = 8  # bytes of a file that shares strings


class Payload(NamedTuple):
    """A GSYM file on its way into a binary."""

    size: int  # in bytes
    chunks: Iterable[Buffer]  # its bytes, each valid until the next is asked for


class SharedTable(NamedTuple):
    """A string table of a binary, as it will follow a GSYM file."""

    table: bytes | memoryview  # its bytes
    distance: int  # bytes from the end of the GSYM file to the table


class Binary(NamedTuple):
    """The bytes of a binary, in its byte order."""

    data: memoryview
    path: str
    order: str

    def struct(self, fields: str) -> Struct:
        """*fields* in the byte order of the binary, without padding."""
        return Struct(self.order + fields)

    def unpack(self, fields: Struct, offset: int, what: str) -> tuple[int, ...]:
        """The integers at *offset*."""
        return fields.unpack(self.part(offset, fields.size, what))

    def part(self, offset: int, size: int, what: str) -> memoryview:
        """The *size* bytes at *offset*."""
        if offset + size > len(self.data):
            raise self.damaged(offset, f"{what} reaches past the end of the file")
        return self.data[offset : offset + size]

    def is_zero(self, start: int, end: int) -> bool:
        """Whether all bytes from *start* to *end* are zero; there may be fewer."""
        end = min(end, len(self.data))
        return not any(
            bytes(self.data[at : min(at + _BLOCK_SIZE, end)]).strip(b"\0")
            for at in range(start, end, _BLOCK_SIZE)
        )

    def damaged(self, offset: int, reason: str) -> FormatError:
        """The error for headers that contradict each other or the file."""
        return FormatError(reason, path=self.path, offset=offset)

    def unsupported(self, reason: str) -> UnsupportedError:
        """The error for a sound binary that has no place for a GSYM file."""
        return UnsupportedError(reason, path=self.path)

    def too_large(self) -> LimitError:
        """The error for offsets that do not fit the headers."""
        return LimitError(
            "the binary would be too large for its 32-bit offsets", path=self.path
        )


def align(offset: int, alignment: int) -> int:
    """The next multiple of *alignment*."""
    return -(-offset // alignment) * alignment


def stand_alone_payload(
    source: ImageSource, data: memoryview, module: ModuleKey | None
) -> Payload:
    """The file as one that needs no binary."""
    header = source.header
    if not header.shared_size:
        start, end = header.file_offset, header.file_offset + header.file_size
        return Payload(header.file_size, [data[start:end]])
    made = _finished(_filled(source, source.creator()))
    return _with_part(made, module_part(module, made.size))


def shared_payload(
    source: ImageSource, shared: SharedTable, module: ModuleKey | None, path: str
) -> Payload:
    """The file without the strings that *shared* has; errors carry *path*.

    Of version 1 it has no index: what comes last in it are its strings, and what it
    says of its module.
    """
    part = module_part(module, 0, multiple=_SHARING_MULTIPLE)
    creator, error = source.creator(), new_error()
    table = ffi.from_buffer("uint8_t[]", shared.table)
    everything = _filled(source, source.creator(index=False))
    status = lib.gsym_creator_share_strings(
        *(creator, everything, table, len(table)), *(shared.distance + len(part), error)
    )
    check(status, error, path)
    ffi.release(everything)
    return _with_part(_finished(_filled(source, creator), table), part)


def _with_part(payload: Payload, part: bytes) -> Payload:
    return Payload(payload.size + len(part), chain(payload.chunks, (part,)))


def _filled(source: ImageSource, creator: CData) -> CData:
    source.copy(lib.gsym_creator_add_entries, creator, ffi.NULL)
    source.copy(lib.gsym_creator_add_sections, creator)
    return creator


def _finished(creator: CData, table: CData = None) -> Payload:
    """The file of *creator*, with the strings of *table* if it shares them."""
    return Payload(finish_creator(creator).file_size, _chunks(creator, table))


def _chunks(creator: CData, _table: CData) -> Iterator[memoryview]:
    """Keeps the table until all is read."""
    yield from iter_finished(creator)
