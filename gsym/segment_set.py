"""The segments of one GSYM file, opened as one.

Each segment is mapped when the first address falls into it; which one that is, its
name tells: `OUTPUT-0x401000` answers from 0x401000 on to where the next one starts.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from errno import ENOENT
from itertools import accumulate

from gsym._native import check, ffi, lib, new_error
from gsym.arguments import paths_of
from gsym.batch import look_up_batch
from gsym.errors import ClosedError, FormatError, UuidMismatchError
from gsym.frames import Frames, address_column
from gsym.reader import Reader
from gsym.reader import open as open_reader

__all__ = ["SegmentSetReader", "find_segments", "open_segments"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Any, TypeVar

    from typing_extensions import Buffer, Self

    from gsym.mapped_image import MappedImage
    from gsym.model import FunctionInfo, FunctionRange, Header, Lookup

    CData = Any  # a cffi object
    Entry = TypeVar("Entry")

_MARK = "-0x"  # between the name of the whole and the start address


def open_segments(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    uuid: bytes | str | None = None,
) -> SegmentSetReader:
    """Open all segments of a file that was written in segments.

    Args:
        paths: The path that the whole would have, so that its segments are
            `PATH-0x...`; or the paths of the segments, in any order.
        uuid: The identifier that the segments must have; by default any, but all
            the same.

    Returns:
        A reader, which closes at the end of a `with` block.

    Raises:
        FileNotFoundError: There is no segment.
        FormatError: A segment that was opened is no GSYM file.
        OSError: A segment cannot be opened or mapped.
        UuidMismatchError: A segment belongs to another binary.
        ValueError: A path does not end in a start address, or two in the same.
    """
    if isinstance(paths, (str, os.PathLike)):
        whole = os.fspath(paths)
        found = find_segments(whole)
        if not found:
            raise FileNotFoundError(ENOENT, "There is no segment of this name", whole)
        return SegmentSetReader(found, uuid=uuid)
    return SegmentSetReader([*paths_of("paths", paths)], uuid=uuid)


def find_segments(whole: str) -> list[str]:
    """Paths of the segments of a file that would have the path *whole*."""
    directory, name = os.path.split(whole)
    opening = name + _MARK
    try:
        names = os.listdir(directory or ".")
    except OSError:
        return []
    return [
        os.path.join(directory, found)
        for found in names
        if found.startswith(opening) and _hexadecimal(found[len(opening) :]) is not None
    ]


def _start(path: str) -> int | None:
    """The address that a path ends in, or None."""
    _, mark, digits = path.rpartition(_MARK)
    return _hexadecimal(digits) if mark else None


def _hexadecimal(digits: str) -> int | None:
    if not digits.isalnum():  # int() takes signs and underscores as well
        return None
    try:
        return int(digits, 16)
    except ValueError:
        return None


class SegmentSetReader:
    """Segments with the interface of a `Reader`. Safe to use from many threads.

    Args:
        paths: The segments, in any order.
        uuid: The identifier that they must have.

    Raises:
        FormatError: The first segment is no GSYM file, or its name does not fit it.
        OSError: It cannot be opened or mapped.
        UuidMismatchError: It belongs to another binary.
        ValueError: A path does not end in a start address, or two in the same.
    """

    def __init__(self, paths: list[str], *, uuid: bytes | str | None = None) -> None:
        placed = sorted((_checked_start(path), path) for path in paths)
        if not placed:
            raise ValueError("no segments")
        self._starts = [start for start, _ in placed]
        self._paths = tuple(path for _, path in placed)
        for at, start in enumerate(self._starts[1:]):
            if start == self._starts[at]:
                raise ValueError(
                    f"{self._paths[at]} and {self._paths[at + 1]} start together"
                )
        self._readers: list[Reader | None] | None = [None] * len(placed)
        first = open_reader(self._paths[0], uuid)
        self._header = first.header
        self._take(0, first)

    def __repr__(self) -> str:
        state = "" if self._readers is not None else ": closed"
        return f"<gsym.SegmentSetReader of {len(self._paths)} segments{state}>"

    def __enter__(self) -> Self:
        self._open_readers()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return sum(map(len, self._all()))

    @property
    def path(self) -> str:
        """Path of the first segment."""
        return self._paths[0]

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of all segments, in the order of their addresses."""
        return self._paths

    @property
    def header(self) -> Header:
        """Of the first segment; UUID and base address are those of all."""
        return self._header

    @property
    def uuid(self) -> bytes:
        """Identifier of the binary that the segments were made from, b"" for none."""
        return self._header.uuid

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return sum(reader.size for reader in self._all())

    def close(self) -> None:
        """Let go of the files. Calls that are under way in other threads end well."""
        readers, self._readers = self._readers, None
        for reader in readers or ():
            if reader is not None:
                reader.close()

    def lookup(self, address: int, merged: bool = False) -> Lookup | None:
        """What is at *address*, as `Reader.lookup` says.

        Raises:
            ClosedError: The reader was closed.
            FormatError: The segment or its record is damaged.
            OSError: The segment cannot be opened or mapped.
            TypeError: The address is not an integer.
            UuidMismatchError: The segment belongs to another binary than the first.
        """
        try:
            at = bisect_right(self._starts, address) - 1
        except TypeError:  # the reader raises a better one
            at = 0
        return self._reader(max(at, 0)).lookup(address, merged)

    def lookup_many(
        self, addresses: Iterable[int] | Buffer, *, threads: int = 1
    ) -> Frames:
        """What is at each of many addresses, as `Reader.lookup_many` says.

        Functions, names and files of the answer count on from segment to segment.

        Raises:
            ClosedError: The reader was closed.
            FormatError: A segment is damaged.
            OSError: A segment cannot be opened or mapped.
            TypeError: The addresses are not integers.
            UuidMismatchError: A segment belongs to another binary than the first.
            ValueError: *threads* is no positive number.
        """
        readers = self._all()
        images = [reader._open_image() for reader in readers]  # noqa: SLF001 - a neighbour
        handles = ffi.new("gsym_image *[]", [mapped.image for mapped in images])
        starts = ffi.new("uint64_t[]", self._starts)

        def look_up(asked: CData, count: int, batch: CData, error: CData) -> int:
            return int(
                lib.gsym_segments_lookup_many(
                    *(handles, starts, len(images), asked, count, batch, error)
                )
            )

        column, left_out = address_column(addresses)
        answers = look_up_batch(look_up, column, threads, self.path)
        tables = _Joined(images, [r.header for r in readers])
        return Frames(tables, answers, left_out)

    def find(self, name: str) -> tuple[FunctionRange, ...]:
        """All functions that are called *name*, in the order of their addresses.

        The first call reads the names of all functions of all segments.

        Raises:
            ClosedError: The reader was closed.
            FormatError: A segment is damaged.
            OSError: A segment cannot be opened or mapped.
            UuidMismatchError: A segment belongs to another binary than the first.
        """
        return tuple(found for reader in self._all() for found in reader.find(name))

    def function(self, index: int) -> FunctionInfo:
        """All that the segments say of the function with this index among all.

        Raises:
            ClosedError: The reader was closed.
            FormatError: A segment is damaged.
            IndexError: There is no such function.
            OSError: A segment cannot be opened or mapped.
            UuidMismatchError: A segment belongs to another binary than the first.
        """
        left = index
        for reader in self._all():
            if 0 <= left < len(reader):
                return reader.function(left)
            left -= len(reader)
        raise IndexError(f"{index} is not an index below {len(self)}")

    def functions(self) -> Iterator[FunctionInfo]:
        """All functions in the order of their addresses, decoded when asked for.

        Raises:
            ClosedError: The reader was closed.
            FormatError: A segment is damaged.
            OSError: A segment cannot be opened or mapped.
            UuidMismatchError: A segment belongs to another binary than the first.
        """
        for at in range(len(self._starts)):
            yield from self._reader(at).functions()

    def _open_readers(self) -> list[Reader | None]:
        if self._readers is None:
            raise ClosedError("the reader is closed", path=self.path)
        return self._readers

    def _all(self) -> list[Reader]:
        return [self._reader(at) for at in range(len(self._starts))]

    def _reader(self, at: int) -> Reader:
        reader = self._open_readers()[at]
        if reader is None:
            reader = self._take(at, open_reader(self._paths[at]))
        return reader

    def _take(self, at: int, reader: Reader) -> Reader:
        """Check that a segment fits the others, and keep it."""
        path, header = self._paths[at], reader.header
        if header.uuid != self._header.uuid:
            raise UuidMismatchError(
                f"the UUID is {header.uuid.hex() or 'missing'}, that of the segment "
                f"{self.path} is {self._header.uuid.hex() or 'missing'}",
                path=path,
            )
        if header.base_address != self._header.base_address:
            raise FormatError(
                f"the base address is {header.base_address:#x}, that of the segment "
                f"{self.path} is {self._header.base_address:#x}",
                path=path,
            )
        first, last = _first_and_last_start(reader)
        if first != self._starts[at]:
            raise FormatError(
                "the first function does not start where the name of the segment says",
                path=path,
            )
        if at + 1 < len(self._starts) and last >= self._starts[at + 1]:
            raise FormatError(
                f"reaches into {self._paths[at + 1]}, a segment of another conversion",
                path=path,
            )
        self._open_readers()[at] = reader
        return reader


def _first_and_last_start(reader: Reader) -> tuple[int, int]:
    """Start addresses of the first and the last function, -1 where there is none."""
    if not len(reader):
        return -1, -1
    image = reader._open_image().image  # noqa: SLF001 - a neighbour
    starts, offset, error = ffi.new("uint64_t[2]"), ffi.new("uint64_t *"), new_error()
    for at, index in enumerate((0, len(reader) - 1)):
        status = lib.gsym_image_entry(image, index, starts + at, offset, error)
        check(status, error, reader.path)
    return starts[0], starts[1]


def _checked_start(path: str) -> int:
    start = _start(path)
    if start is None:
        raise ValueError(f"{path}: a segment's name ends in its start, as in -0x401000")
    return start


class _Joined:
    """Strings and files of all segments by the numbers that the engine gives them."""

    def __init__(self, images: list[MappedImage], headers: list[Header]) -> None:
        self.strings = _Table(
            [mapped.strings for mapped in images],
            [header.strtab_size for header in headers],
        )
        self.files = _Table(
            [mapped.files for mapped in images],
            [header.num_files for header in headers],
        )


class _Table(dict[int, "Entry"]):
    """Tables one behind the other."""

    def __init__(self, tables: Sequence[Mapping[int, Entry]], sizes: list[int]) -> None:
        self._tables = tables
        self._bases = [0, *accumulate(sizes[:-1])]

    def __missing__(self, number: int) -> Entry:
        at = bisect_right(self._bases, number) - 1
        return self._tables[at][number - self._bases[at]]
