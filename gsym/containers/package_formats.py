"""Debian and RPM packages: where the archive with their files is, and cpio archives.

A Debian package, deb(5), is an ar archive with data.tar in it; an RPM package has a
lead, two headers and a cpio archive (LSB 5.0, 22; cpio(5), "New ASCII Format"). Both
archives are compressed. The functions raise ValueError for what is damaged.
"""

from __future__ import annotations

import os
import stat
import struct

from gsym.engine.native import zero_ended
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

    from typing_extensions import Self

_AR = b"!<arch>\n"
_AR_HEADER = struct.Struct("16s32x10s2s")  # name, size, mark
_AR_MARK = b"`\n"
_MAX_AR_MEMBERS = 100  # usually three
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


def seek_data_of_deb(file: IO[bytes]) -> int:
    """Go to the start of data.tar in a Debian package; return its size."""
    file.seek(len(_AR))
    for _ in range(_MAX_AR_MEMBERS):
        header = file.read(_AR_HEADER.size)
        if len(header) < _AR_HEADER.size:
            break
        name, digits, mark = _AR_HEADER.unpack(header)
        if mark != _AR_MARK or not digits.strip().isdigit():
            raise ValueError("a member of the package has no valid header")
        size = int(digits)
        if name.startswith(b"data.tar"):
            return size
        file.seek(size + size % 2, os.SEEK_CUR)
    raise ValueError("the package has no data.tar")


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


class CpioFile(NamedTuple):
    """A file in a cpio archive: its path, its size, and what reads it."""

    name: str
    size: int
    reader: CpioReader


class CpioReader:
    """Reads a file in a cpio archive, from a stream of the archive."""

    def __init__(self, read: Callable[[int], bytes], size: int) -> None:
        self._read = read
        self._left = size

    def read(self, size: int = _PIECE) -> bytes:
        """The next bytes; b"" at the end."""
        wanted = min(size, self._left)
        data = self._read(wanted)
        if len(data) < wanted:
            raise ValueError("a file of the package is truncated")
        self._left -= wanted
        return data

    def close(self) -> None:
        """Skip the rest."""
        while self.read():
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def cpio_files(read: Callable[[int], bytes]) -> Iterator[CpioFile]:
    """The regular files in a cpio archive, in order."""
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
        reader = CpioReader(read, size)
        if stat.S_ISREG(fields[_MODE]):
            yield CpioFile(name, size, reader)
        reader.close()
        _exactly(read, -size % _CPIO_ALIGNMENT)


def _exactly(read: Callable[[int], bytes], size: int) -> bytes:
    data = read(size)
    if len(data) < size:
        raise ValueError("the archive in the package is truncated")
    return data
