"""Archives and compressed files that modules arrive in."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial

from gsym.containers.inflation import (
    believable_size,
    inflate_bzip2,
    inflate_gzip,
    inflate_xz,
    inflate_zstd,
)
from gsym.containers.recognition import recognise, recognise_file
from gsym.errors import FormatError, LimitError
from gsym.records import NamedTuple
from gsym.store.layout import name_fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from tarfile import TarFile, TarInfo
    from typing import IO, Any


MOST_INFLATED = 32 << 30  # bytes of one file
_PIECE = 1 << 20
# By the names that `recognise` gives to them.
INFLATERS = {
    "gzip file": inflate_gzip,
    "zstd file": inflate_zstd,
    "xz file": inflate_xz,
    "bzip2 file": inflate_bzip2,
}
_COMPRESSIONS = (".gz", ".zst", ".xz", ".bz2")
_DEBUG_SUFFIXES = (".dbg", ".debug")


def bare_name(path: str) -> str:
    """What a module is called whose debug information is in the file *path*.

    Suffixes that tell of the file are left out: `libxul.so.dbg.gz` is of `libxul.so`.
    """
    name = os.path.basename(path.rstrip(os.sep))
    for suffixes in (_COMPRESSIONS, _DEBUG_SUFFIXES):
        stem, suffix = os.path.splitext(name)
        if stem and suffix.lower() in suffixes:
            name = stem
    return name


def inflate_file(path: str, folder: str, most: int = MOST_INFLATED) -> str:
    """The path of a file, inflated into *folder* if it is compressed.

    Args:
        path: A file of any kind.
        folder: Where the inflated one goes.
        most: How many bytes it may have; one that grows beyond reason is refused
            before.

    Raises:
        FormatError: What is compressed is damaged.
        LimitError: It is too large.
        OSError: It cannot be read, or not be written.
    """
    kind = "" if os.path.isdir(path) else recognise_file(path)
    inflate = INFLATERS.get(kind)
    if inflate is None:
        return path
    place = os.path.join(folder, "inflated")
    os.mkdir(place)
    target = os.path.join(place, os.path.splitext(os.path.basename(path))[0])
    most = believable_size(os.path.getsize(path), most)
    with open(path, "rb", buffering=0) as source:
        try:
            write_limited(inflate(pieces_of(source)), target, most, path)
        except ValueError as error:
            reason = f"what is compressed is damaged: {error}"
            raise FormatError(reason, path=path) from None
    return target


def pieces_of(file: IO[bytes]) -> Iterator[bytes]:
    """What is left of an open file, in pieces."""
    while piece := file.read(_PIECE):
        yield piece


def write_limited(pieces: Iterable[bytes], target: str, most: int, path: str) -> int:
    """Write *pieces* to a new file; its size.

    Args:
        pieces: Its bytes.
        target: Path of the file.
        most: How many bytes it may have.
        path: What errors call the source.

    Raises:
        LimitError: There are more.
        OSError: The file cannot be written.
    """
    size = 0
    with open(target, "xb", buffering=0) as file:
        for piece in pieces:
            size += len(piece)
            if size > most:
                reason = f"it holds more than the {most} bytes that are allowed"
                raise LimitError(reason, path=path)
            left = memoryview(piece)
            while left:
                left = left[file.write(left) :]
    return size


class ArchiveLimits(NamedTuple):
    """What an archive may hold.

    Attributes:
        members: How many files.
        inflated: Bytes of all of them.
        depth: How many archives within each other.
    """

    members: int = 1_000_000
    inflated: int = MOST_INFLATED
    depth: int = 3


_HEAD_SIZE = 512
_BLOCK = 1 << 20
_TAR_MAGIC_AT = 257
_TAR_MAGIC = b"ustar"
_LARGEST_TAR_HEADER = (
    16 << 20
)  # bytes, with the long names and attributes that stand before


class Member:
    """A file in an archive.

    Attributes:
        name: Path in the archive.
        size: Bytes that it holds, as the archive has it.
    """

    def __init__(
        self,
        archive: str,
        name: str,
        size: int,
        most: int,
        open_member: Callable[[], IO[bytes]],
    ) -> None:
        self.name = name
        self.size = size
        self._label = f"{archive}: {name}"
        self._most = most
        self._open = open_member

    def extract(self, folder: str) -> str:
        """Write it to a new file in *folder*; the path of that.

        Raises:
            FormatError: It is damaged, or packed in an unknown way.
            LimitError: It is larger than the archive says or than is believable.
            OSError: The file cannot be written.
        """
        name = self.name.replace("\\", "/").rpartition("/")[2]
        if not name or name_fault(name):
            name = "member"
        target = os.path.join(folder, name)
        with _damage_told(self._label), self._open() as source:
            write_limited(pieces_of(source), target, self._most, self._label)
        return target


def is_archive_file(path: str) -> bool:
    """Whether a file is an archive of any kind, told by its content.

    Raises:
        OSError: It cannot be read.
    """
    with open(path, "rb", buffering=0) as file:
        kind = recognise(file.read(_HEAD_SIZE))
        file.seek(0)
        try:
            head = next(_contents(file, kind), b"")
        except ValueError:
            return False
    return kind == "zip archive" or head[_TAR_MAGIC_AT:].startswith(_TAR_MAGIC)


def members(path: str, limits: ArchiveLimits) -> Iterator[Member]:
    """The regular files in an archive, each to be extracted before the next one.

    Raises:
        FormatError: It is damaged.
        LimitError: It holds more than *limits*.
        OSError: It cannot be read.
    """
    with open(path, "rb", buffering=0) as file:
        kind = recognise(file.read(_HEAD_SIZE))
    found = _zip_members(path) if kind == "zip archive" else _tar_members(path, kind)
    size = 0
    with _damage_told(path):
        for count, member in enumerate(found, 1):
            size += member.size
            if count > limits.members:
                reason = f"it holds more than {limits.members} files"
                raise LimitError(reason, path=path)
            if size > limits.inflated:
                reason = f"its files hold more than {limits.inflated} bytes"
                raise LimitError(reason, path=path)
            yield member


def _zip_members(path: str) -> Iterator[Member]:
    from stat import S_IFMT, S_ISREG
    from zipfile import ZipFile

    with ZipFile(path) as archive:
        for info in archive.infolist():
            mode = info.external_attr >> 16  # of Unix, 0 where it was made elsewhere
            if info.is_dir() or (S_IFMT(mode) and not S_ISREG(mode)):
                continue
            most = believable_size(info.compress_size, info.file_size)
            yield Member(
                path, info.filename, info.file_size, most, partial(archive.open, info)
            )


def _tar_members(path: str, kind: str) -> Iterator[Member]:
    import tarfile

    packed = os.path.getsize(path)
    with open(path, "rb", buffering=0) as file:
        stream: Any = _TarStream(_contents(file, kind))
        with tarfile.open(fileobj=stream, mode="r|", bufsize=_BLOCK) as archive:
            for info in archive:
                stream.budget = info.size + _LARGEST_TAR_HEADER
                if info.isreg():
                    open_member = partial(_open_in_tar, archive, info)
                    # Holes take no room in an archive, and zeros next to none.
                    most = believable_size(packed, info.size)
                    yield Member(path, info.name, info.size, most, open_member)
                vars(archive)["members"].clear()  # it would keep all of them


def _open_in_tar(archive: TarFile, info: TarInfo) -> IO[bytes]:
    file = archive.extractfile(info)
    if file is None:
        raise ValueError("it holds no bytes")
    return file


class _TarStream:
    """What `tarfile` reads from, which takes headers of any size into memory."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = b""
        self.budget = _LARGEST_TAR_HEADER

    def read(self, size: int) -> bytes:
        while len(self._left) < size:
            piece = next(self._pieces, b"")
            if not piece:
                break
            self._left += piece
        data, self._left = self._left[:size], self._left[size:]
        self.budget -= len(data)
        if self.budget < 0:
            raise ValueError(f"a header of more than {_LARGEST_TAR_HEADER} bytes")
        return data


def _contents(file: IO[bytes], kind: str) -> Iterator[bytes]:
    inflate = INFLATERS.get(kind)
    pieces = pieces_of(file)
    return pieces if inflate is None else inflate(pieces)


@contextmanager
def _damage_told(path: str) -> Iterator[None]:
    """Let whatever the libraries say of a damaged archive name it."""
    import zlib
    from tarfile import TarError
    from zipfile import BadZipFile

    try:
        yield
    except (BadZipFile, TarError, zlib.error, EOFError, ValueError) as error:
        raise FormatError(f"a damaged archive: {error}", path=path) from None
    except (NotImplementedError, RuntimeError) as error:
        raise FormatError(f"cannot be unpacked: {error}", path=path) from None
