"""Extracts untrusted ZIP archives, within limits."""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from itertools import pairwise

from gsym.containers.inflation import believable_size
from gsym.errors import FormatError, LimitError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.store.archives import ArchiveLimits


_SIGNATURE = b"PK\x03\x04"
_EMPTY = b"PK\x05\x06"
_END = struct.Struct("<4s4xHHII")  # signature, entries on disk, in all; size, offset
_END_SEARCHED = (1 << 16) + 22
_LARGEST_ENTRY = 46 + 1024  # bytes of a directory entry: header, name, extra fields
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_COMPRESSIONS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_ENCRYPTED = 1
_BLOCK = 1 << 20
_MANY = 0xFFFF


def is_archive(path: str) -> bool:
    """Whether a file starts with a ZIP signature."""
    with open(path, "rb") as file:
        return file.read(4) in {_SIGNATURE, _EMPTY}


def unpack(path: str, folder: str, limits: ArchiveLimits) -> Iterator[tuple[str, str]]:
    """Extract the files of an archive.

    They are named by number and not by the archive.

    Yields:
        Name in the archive, with slashes, and path of each file.

    Raises:
        LimitError: It exceeds the limits.
    """
    _check_directory(path, limits.members)
    try:
        with zipfile.ZipFile(path) as archive:
            members = _checked(archive, limits)
            _check_overlaps(archive, path)
            for number, member in enumerate(members):
                target = os.path.join(folder, str(number))
                _write(archive, member, target)
                yield member.filename, target
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error) as error:
        raise FormatError(f"the archive is damaged: {error}") from None
    except (NotImplementedError, RuntimeError) as error:
        raise FormatError(f"the archive cannot be read: {error}") from None


def _check_directory(path: str, most: int) -> None:
    """Refuse a central directory with too many members before it is parsed."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _END_SEARCHED))
        tail = file.read()
    at = tail.rfind(_EMPTY)
    if at < 0 or len(tail) - at < _END.size:
        raise FormatError("the archive is damaged: no central directory")
    _, _, count, directory, _ = _END.unpack_from(tail, at)
    is_large = count == _MANY or directory > most * _LARGEST_ENTRY
    if count > most or is_large:
        raise LimitError(f"the archive has more than {most} members")


def _checked(archive: zipfile.ZipFile, limits: ArchiveLimits) -> list[zipfile.ZipInfo]:
    """The files of an archive, after checking all members."""
    infos = archive.infolist()
    if len(infos) > limits.members:
        raise LimitError(f"the archive has more than {limits.members} members")
    if sum(info.file_size for info in infos) > limits.inflated:
        raise LimitError(f"the archive holds more than {limits.inflated} bytes")
    names = set()
    for info in infos:
        problem = _problem(info)
        if problem:
            raise FormatError(f"'{info.filename[:200]}' in the archive {problem}")
        if info.filename in names:
            raise FormatError(f"'{info.filename[:200]}' is in the archive twice")
        names.add(info.filename)
        if info.file_size > believable_size(info.compress_size, limits.inflated):
            raise LimitError(
                f"'{info.filename[:200]}' has an implausible compression ratio"
            )
    return [info for info in infos if not info.is_dir()]


def _problem(info: zipfile.ZipInfo) -> str:
    """Reason why a member is refused; "" if it is accepted."""
    name = info.orig_filename
    parts = name.split("/")
    if name.startswith("/") or ".." in parts or "." in parts or "" in parts[:-1]:
        return "is a path outside of it"
    if set(name) & {"\\", ":", "\0"} or not name:
        return "has an invalid name"
    mode = info.external_attr >> 16
    if mode and stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR}:
        return "is not a regular file"
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if info.compress_type not in _COMPRESSIONS:
        return "is not compressed with deflate"
    return ""


def _check_overlaps(archive: zipfile.ZipFile, path: str) -> None:
    """Refuse members that overlap, as in archives that inflate to huge sizes."""
    spans = []
    with open(path, "rb") as file:
        for info in archive.infolist():
            file.seek(info.header_offset)
            header = file.read(_LOCAL_HEADER.size)
            signature, name_size, extra_size = _LOCAL_HEADER.unpack(header)
            if signature != _SIGNATURE:
                raise FormatError("the archive is damaged: a member has no header")
            start = info.header_offset
            size = _LOCAL_HEADER.size + name_size + extra_size + info.compress_size
            spans.append((start, start + size))
    spans.sort()
    if any(first[1] > second[0] for first, second in pairwise(spans)):
        raise FormatError("members of the archive overlap")


def _write(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: str) -> None:
    """Write a member to a new file; no more than its declared size is read."""
    with archive.open(member) as source, open(target, "xb") as file:
        while piece := source.read(_BLOCK):
            file.write(piece)
        if file.tell() != member.file_size:
            raise FormatError(f"'{member.filename[:200]}' is shorter than declared")
