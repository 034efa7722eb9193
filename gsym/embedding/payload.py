"""A GSYM file as it goes into a binary and as it comes out of it.

A file that is to share strings is laid out anew: its own strings come last, so that
those of the binary can follow. How many they are must be known before the first
function is encoded, hence two creators.
"""

from __future__ import annotations

from gsym.embedding.binary import Payload
from gsym.engine.native import check, ffi, lib, new_error
from gsym.writing.creator import finish_creator, iter_finished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.embedding.binary import SharedTable
    from gsym.writing.selection import ImageSource

    CData = Any  # a cffi object


def stand_alone_payload(source: ImageSource, data: memoryview) -> Payload:
    """The file as one that needs no binary.

    Args:
        source: The file, open on *data*.
        data: A GSYM file or a binary that holds one.

    Raises:
        FormatError: It shares strings with the binary, and a record is damaged.
    """
    header = source.header
    if not header.shared_size:
        start, end = header.file_offset, header.file_offset + header.file_size
        return Payload(header.file_size, [data[start:end]])
    return _finished(_filled(source, source.creator()))


def shared_payload(source: ImageSource, shared: SharedTable, path: str) -> Payload:
    """The file without the strings that *shared* has; errors carry *path*.

    Of version 1 it has no index: what comes last in it are its strings.

    Raises:
        FormatError: A record is damaged.
        LimitError: The table is too far away for version 1.
    """
    index = source.header.version != lib.GSYM_VERSION_1
    creator, error = source.creator(index=index), new_error()
    table = ffi.from_buffer("uint8_t[]", shared.table)
    everything = _filled(source, source.creator(index=False))
    status = lib.gsym_creator_share_strings(
        creator, everything, table, len(table), shared.distance, error
    )
    check(status, error, path)
    ffi.release(everything)
    return _finished(_filled(source, creator), table)


def _filled(source: ImageSource, creator: CData) -> CData:
    source.copy(lib.gsym_creator_add_entries, creator, ffi.NULL)
    source.copy(lib.gsym_creator_add_sections, creator)
    return creator


def _finished(creator: CData, table: CData = None) -> Payload:
    """What *creator* makes, with the strings of *table* if it shares them."""
    return Payload(finish_creator(creator).file_size, _chunks(creator, table))


def _chunks(creator: CData, _table: CData) -> Iterator[memoryview]:
    """Keeps the table until all is read."""
    yield from iter_finished(creator)
