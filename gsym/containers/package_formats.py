"""Debian and RPM packages: where the archive with their files is, and cpio archives.

A Debian package, deb(5), is an ar archive with data.tar in it; an RPM package has a
lead, two headers and a cpio archive (LSB 5.0, 22; cpio(5), "New ASCII Format"). Both
archives are compressed. The functions raise ValueError for a damaged RPM package.
"""

from __future__ import annotations

import os
import stat
import struct

from gsym.containers.archive import Member, list_members
from gsym.containers.mapped_file import map_file
from gsym.engine.native import zero_ended
from gsym.errors import FormatError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from typing import IO

_RPM_LEAD = 96
_RPM_HEADER = struct.Struct(">4s4xII")  # magic, number of entries, bytes of values
_RPM_MAGIC = b"\x8e\xad\xe8\x01"
_RPM_ENTRY = 16
_CPIO_MAGICS = {b"070701", b"070702"}
_CPIO_HEADER = 110
_CPIO_FIELDS = struct.Struct(">13I")
_CPIO_ALIGNMENT = 4
_CPIO_END = "TRAILER!!!"
_MODE, _SIZE, _NAME_SIZE = 1, 6, 11  # fields of a header
_MAX_NAME = 1 << 16
_PIECE = 1 << 20


def data_of_deb(path: str) -> Member:
    """The place of data.tar in a Debian package, whose end may be missing."""
    for member in list_members(map_file(path), path, may_be_cut=True):
        if member.name.startswith("data.tar"):
            return member
    raise FormatError("the package has no data.tar", path=path)


def seek_data_of_rpm(file: IO[bytes]) -> None:
    """Go to the start of the archive in an RPM package."""
    at = _RPM_LEAD
    for alignment in (8, 1):  # of the signature, of the header
        file.seek(at)
        header = file.read(_RPM_HEADER.size)
        if len(header) < _RPM_HEADER.size or not header.startswith(_RPM_MAGIC):
            raise ValueError("the package has no valid header")
        _, count, size = _RPM_HEADER.unpack(header)
        at += _RPM_HEADER.size + _RPM_ENTRY * count + size
        at += -at % alignment
    file.seek(at)


def cpio_files(
    read: Callable[[int], bytes],
) -> Iterator[tuple[str, int, Generator[bytes]]]:
    """Name, size and contents of each regular file in a cpio archive, in order.

    *read* is that of a stream of the archive. Of contents, what is not read is skipped.
    """
    while True:
        header = _exactly(read, _CPIO_HEADER)
        if header[:6] not in _CPIO_MAGICS:
            raise ValueError("the package has no cpio archive of the usual kind")
        digits = bytes.fromhex(header[6:].decode("ascii", "replace"))
        if len(digits) != _CPIO_FIELDS.size:
            raise ValueError("a header in the package has other fields")
        fields = _CPIO_FIELDS.unpack(digits)
        if not 0 < fields[_NAME_SIZE] <= _MAX_NAME:
            raise ValueError("a name in the package is too long")
        padding = -(_CPIO_HEADER + fields[_NAME_SIZE]) % _CPIO_ALIGNMENT
        text = _exactly(read, fields[_NAME_SIZE] + padding)
        name = os.fsdecode(zero_ended(text))
        if name == _CPIO_END:
            return
        size = fields[_SIZE]
        pieces = _pieces(read, size)
        if stat.S_ISREG(fields[_MODE]):
            yield name, size, pieces
        for _ in pieces:
            pass
        _exactly(read, -size % _CPIO_ALIGNMENT)


def _pieces(read: Callable[[int], bytes], size: int) -> Generator[bytes]:
    """The next bytes of an archive, in pieces; once begun, it reads all of them."""
    try:
        while size:
            piece = _exactly(read, min(size, _PIECE))
            size -= len(piece)
            yield piece
    finally:
        while size:
            size -= len(_exactly(read, min(size, _PIECE)))


def _exactly(read: Callable[[int], bytes], size: int) -> bytes:
    data = read(size)
    if len(data) < size:
        raise ValueError("the archive in the package is truncated")
    return data
