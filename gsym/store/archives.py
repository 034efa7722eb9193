"""Reads archives and compressed files that contain modules."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager
from io import BufferedReader
from itertools import chain
from struct import Struct

from gsym.containers.cabinet import inflated_name
from gsym.containers.inflation import PieceStream, believable_size, limited
from gsym.containers.package_formats import cpio_files, data_of_deb, seek_data_of_rpm
from gsym.containers.recognition import (
    COMPRESSED,
    PACKAGES,
    inflater_of,
    recognise,
    recognise_file,
)
from gsym.errors import FormatError, LimitError
from gsym.model import base_name
from gsym.records import NamedTuple
from gsym.store.layout import name_problem

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from typing import IO, Any
    from zipfile import ZipFile, ZipInfo

# Limit: Decompressed data of a `.deb`, an RPM package or an archive
MOST_INFLATED = 32 << 30
_PIECE = 1 << 20
_COMPRESSIONS = (".gz", ".zst", ".xz", ".bz2", ".lz4")
_DEBUG_SUFFIXES = (".dbg", ".debug")


def bare_name(path: str) -> str:
    """The name of the module whose debug information is in the file *path*.

    Suffixes of the file format are removed: `libxul.so.dbg.gz` becomes `libxul.so`,
    and `xul.pd_` becomes `xul.pdb`.
    """
    name = inflated_name(os.path.basename(path.rstrip(os.sep)))
    for suffixes in (_COMPRESSIONS, _DEBUG_SUFFIXES):
        stem, suffix = os.path.splitext(name)
        if stem and suffix.lower() in suffixes:
            name = stem
    return name


def inflate_file(path: str, folder: str, most: int = MOST_INFLATED) -> str:
    """The path of a file, inflated into *folder* if it is compressed.

    Args:
        path: A file of any kind.
        folder: Where the inflated file is written.
        most: Its maximum size in bytes; an implausible compression ratio is refused
            earlier.

    Raises:
        LimitError: It is too large.
    """
    kind = "" if os.path.isdir(path) else recognise_file(path)
    if kind not in COMPRESSED:
        return path
    from gsym.containers.compression import INFLATERS

    output = os.path.join(folder, "inflated")
    os.mkdir(output)
    name = os.path.basename(path)
    inflated = inflated_name(name)
    target = os.path.join(
        output, os.path.splitext(name)[0] if inflated == name else inflated
    )
    most = believable_size(os.path.getsize(path), most)
    with open(path, "rb", buffering=0) as source:
        try:
            write_limited(INFLATERS[kind](pieces_of(source)), target, most, path)
        except ValueError as error:
            reason = f"compressed data is damaged: {error}"
            raise FormatError(reason, path=path) from None
    return target


def pieces_of(file: IO[bytes]) -> Generator[bytes]:
    """The rest of an open file, in pieces."""
    while piece := file.read(_PIECE):
        yield piece


def write_limited(pieces: Iterable[bytes], target: str, most: int, path: str) -> int:
    """Write *pieces* to a new file, which is absent after an error; return its size.

    Raises:
        LimitError: The file would be larger.
    """
    size = 0
    with open(target, "xb", buffering=0) as file:
        try:
            for piece in limited(pieces, most, _too_large(most, path)):
                size += len(piece)
                left = memoryview(piece)
                while left:
                    left = left[file.write(left) :]
        except BaseException:
            os.unlink(target)
            raise
    return size


def _too_large(most: int, path: str) -> LimitError:
    return LimitError(f"inflates to more than {most} bytes", path=path)


class ArchiveLimits(NamedTuple):
    """Limits of an archive."""

    # Limit: Members of a package or an archive
    members: int = 1_000_000  # number of files
    inflated: int = MOST_INFLATED  # total bytes of the files
    depth: int = 3  # levels of nested archives


_HEADER_SIZE = 512
_BLOCK = 1 << 15  # of a tar archive, of which `tarfile` copies the rest for each header
_TAR_MAGIC_AT = 257
_TAR_MAGIC = b"ustar"
# Limit: Header of a member of a tar archive, with long names and extended attributes
_MAX_TAR_HEADER = 16 << 20
_ZIP_MAGIC, _ZIP_END_MAGIC = b"PK\x03\x04", b"PK\x05\x06"
_ZIP_HEADER = Struct("<4s22xHH")  # magic; sizes of the name and of extra fields
_ZIP_END = Struct("<4s8xI4x")  # magic; bytes of the directory
_ZIP64_END_MAGIC, _ZIP64_LOCATOR_MAGIC = b"PK\x06\x06", b"PK\x06\x07"
_ZIP64_END = Struct("<4s36xQ8x4s16x")  # magic, bytes of the directory; the locator
_ZIP_END_SEARCHED = (1 << 16) + _ZIP_END.size + _ZIP64_END.size
_LARGEST_ENTRY = 46 + 1024  # bytes of a directory entry: header, name, extra fields


class ArchivedFile(NamedTuple):
    """A file in an archive."""

    name: str  # path in the archive
    size: int  # its size in bytes, as declared by the archive
    label: str  # the archive and its name, for errors
    most: int  # bytes that it may have
    pieces: Generator[bytes]  # its contents, which are read once

    def extract(self, folder: str, magic: bytes = b"", inflated: int = 0) -> str:
        """Write it to a new file in *folder*, under its own name; return its path.

        Args:
            folder: Where it is written.
            magic: What it has to start with; else it is not written, and the path
                is "". Its name is not used then.
            inflated: If it is a compressed file, it is inflated to this size or less;
                0: it is not inflated.

        Raises:
            FormatError: It is damaged, or its compression is not supported.
            LimitError: It is larger than declared or plausible, or than *inflated*.
        """
        name = base_name(self.name)
        if not name or magic or name_problem(name):
            name = "member"
        target = os.path.join(folder, name)
        return target if self.write(target, magic, inflated) else ""

    def write(self, target: str, magic: bytes = b"", inflated: int = 0) -> bool:
        """Write it to a new file; whether it starts with *magic*. As `extract`."""
        most = self.most
        with _archive_errors(self.label), closing(self.pieces) as given:
            pieces: Iterator[bytes] = given
            first = next(pieces, b"")
            inflate = inflater_of(first[:_HEADER_SIZE])
            if inflated and inflate is not None:
                pieces = inflate(chain((first,), pieces))
                first, most = next(pieces, b""), believable_size(self.size, inflated)
            if not first.startswith(magic):
                return False
            size = write_limited(chain((first,), pieces), target, most, self.label)
            if size < self.size and not inflated:
                os.unlink(target)
                raise ValueError("a member is shorter than declared")
        return True


def is_archive_file(path: str) -> bool:
    """Whether a file is an archive or a package of any kind, by its content."""
    with open(path, "rb", buffering=0) as file:
        head = file.read(_HEADER_SIZE)
        kind = recognise(head)
        if kind in PACKAGES:
            return True
        file.seek(0)
        try:
            start = next(_contents(file, os.fstat(file.fileno()).st_size), b"")
        except ValueError:
            return False
    return kind == "zip archive" or start[_TAR_MAGIC_AT:].startswith(_TAR_MAGIC)


def members(path: str, limits: ArchiveLimits) -> Iterator[ArchivedFile]:
    """The regular files in an archive or a package, in order.

    Each is to be extracted before the next one.

    Raises:
        LimitError: It exceeds *limits*.
    """
    kind = recognise_file(path)
    if kind == "RPM package":
        found = _rpm_members(path)
    elif kind == "zip archive":
        found = _zip_members(path, limits.members)
    else:
        found = _tar_members(path, is_package=kind in PACKAGES)
    size = 0
    with _archive_errors(path):
        for count, member in enumerate(found, 1):
            size += member.size
            if count > limits.members:
                reason = f"contains more than {limits.members} files"
                raise LimitError(reason, path=path)
            if size > limits.inflated:
                reason = f"its files have more than {limits.inflated} bytes"
                raise LimitError(reason, path=path)
            yield member


def _zip_members(path: str, most: int) -> Iterator[ArchivedFile]:
    from stat import S_IFMT, S_ISREG
    from zipfile import ZipFile

    _check_zip_directory(path, most)
    with ZipFile(path) as archive:
        infos = archive.infolist()
        _check_zip_overlaps(infos, path)
        for info in infos:
            mode = info.external_attr >> 16  # Unix mode, 0 if made on another system
            if info.filename.endswith("/") or (S_IFMT(mode) and not S_ISREG(mode)):
                continue
            pieces = _pieces_in_zip(archive, info)
            packed, size = info.compress_size, info.file_size
            yield _archived(path, info.filename, size, packed, pieces)


def _archived(
    archive: str, name: str, size: int, packed: int, pieces: Generator[bytes]
) -> ArchivedFile:
    """A file that is in *packed* bytes of an archive, or fewer.

    Holes and zeros take almost no space.
    """
    most = believable_size(packed, size)
    return ArchivedFile(name, size, f"{archive}: {name}", most, pieces)


def _pieces_in_zip(archive: ZipFile, info: ZipInfo) -> Generator[bytes]:
    from zipfile import ZIP_DEFLATED, ZIP_STORED

    # The library inflates all that it reads of other kinds, to any size.
    if info.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
        raise NotImplementedError("a member is not compressed with deflate")
    with archive.open(info) as file:
        yield from pieces_of(file)


def _check_zip_directory(path: str, most: int) -> None:
    """Refuse a directory of surely more than *most* members before it is parsed."""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - _ZIP_END_SEARCHED))
        tail = file.read()
    at = tail.rfind(_ZIP_END_MAGIC, 0, len(tail) - _ZIP_END.size + 4)
    if at < 0:
        return  # no directory, as the library says
    _, size = _ZIP_END.unpack_from(tail, at)
    before = tail[max(0, at - _ZIP64_END.size) : at].rjust(_ZIP64_END.size, b"\0")
    magic, large_size, locator = _ZIP64_END.unpack(before)
    if locator == _ZIP64_LOCATOR_MAGIC:
        size = large_size
        if magic != _ZIP64_END_MAGIC:
            raise ValueError("its directory has no end")
    if size > most * _LARGEST_ENTRY:
        raise LimitError(f"contains more than {most} files", path=path)


def _check_zip_overlaps(infos: Iterable[ZipInfo], path: str) -> None:
    """Refuse members that overlap, as in archives that inflate to huge sizes."""
    end = 0
    with open(path, "rb") as file:
        for info in sorted(infos, key=lambda each: each.header_offset):
            file.seek(info.header_offset)
            header = file.read(_ZIP_HEADER.size).ljust(_ZIP_HEADER.size, b"\0")
            magic, name_size, extra_size = _ZIP_HEADER.unpack(header)
            if magic != _ZIP_MAGIC:
                raise ValueError("a member has no header")
            if info.header_offset < end:
                raise ValueError("members overlap")
            end = info.header_offset + _ZIP_HEADER.size
            end += name_size + extra_size + info.compress_size


def _tar_members(path: str, *, is_package: bool) -> Iterator[ArchivedFile]:
    import tarfile

    size = packed = os.path.getsize(path)
    with open(path, "rb", buffering=0) as file:
        if is_package:
            _, start, size, _ = data_of_deb(path)
            file.seek(start)
        stream = _HeaderStream(_contents(file, size))
        with tarfile.open(fileobj=stream, mode="r|", bufsize=_BLOCK) as opened:
            archive: Any = opened
            for info in archive:
                stream.budget = info.size + _MAX_TAR_HEADER
                if info.isreg():
                    pieces = pieces_of(archive.extractfile(info))
                    yield _archived(path, info.name, info.size, packed, pieces)
                archive.members.clear()  # tarfile would keep all of them


def _rpm_members(path: str) -> Iterator[ArchivedFile]:
    packed = os.path.getsize(path)
    with open(path, "rb", buffering=0) as file:
        seek_data_of_rpm(file)
        stream = _HeaderStream(_contents(file, packed))
        for name, size, pieces in cpio_files(stream.read):
            stream.budget = size + _MAX_TAR_HEADER
            yield _archived(path, name, size, packed, pieces)


class _HeaderStream(BufferedReader):
    """An archive that limits headers, which are read into memory."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__(PieceStream(pieces), _PIECE)
        self.budget = _MAX_TAR_HEADER

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.budget -= len(data)
        if self.budget < 0:
            raise ValueError(f"a header of more than {_MAX_TAR_HEADER} bytes")
        return data


def _contents(file: IO[bytes], size: int) -> Iterator[bytes]:
    """The next *size* bytes of a file, inflated if they are compressed.

    What lies between the files that are wanted is inflated as well, so that the limit
    is on all of it.
    """
    start = file.tell()
    inflate = inflater_of(file.read(min(size, _HEADER_SIZE)))
    file.seek(start)
    pieces = _first_bytes(pieces_of(file), size)
    if inflate is None:
        return pieces
    most = believable_size(size, MOST_INFLATED)
    return limited(inflate(pieces), most, _too_large(most, file.name))


def _first_bytes(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    for piece in pieces:
        yield piece[:size]
        size -= len(piece)
        if size <= 0:
            return


@contextmanager
def _archive_errors(path: str) -> Iterator[None]:
    """Convert errors of the archive libraries to `FormatError` with the path."""
    import zlib
    from tarfile import TarError
    from zipfile import BadZipFile

    try:
        yield
    except (BadZipFile, TarError, zlib.error, EOFError, ValueError) as error:
        raise FormatError(f"archive is damaged: {error}", path=path) from None
    except (NotImplementedError, RuntimeError) as error:
        raise FormatError(f"cannot be unpacked: {error}", path=path) from None
