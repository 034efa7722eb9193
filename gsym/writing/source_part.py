"""Source files of a module, appended to its GSYM file.

Debug information may have the texts of source files, or say where on servers they are:
*links*, the streams `sourcelink` and `srcsrv` of PDB files. The part with both stands
before the one that names the module:

    texts    one after another, each compressed by zlib if that makes it smaller
    index    JSON, compressed by zlib: {"files": {PATH: [start, packed size, size]},
             "links": [[NAME of the stream, start, packed size, size]]}; starts count
             from the start of the part
    zeros    so that the file has a multiple of 512 bytes
    u64      start of the index, little-endian, as the numbers below
    u64      its packed size
    8 bytes  "GSYMSRCS"
    u64      bytes before these 16

A text whose packed size is its size is not compressed. Equal texts are stored once;
other texts share no bytes, so that all of them are no larger than zlib makes the part.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from struct import Struct

from gsym.errors import FormatError
from gsym.lazy import collections, json
from gsym.modules.part import (
    FILE_MULTIPLE,
    FOOTER_SIZE,
    SOURCES_MAGIC,
    module_part_start,
    source_part_start,
)
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Buffer

    from gsym.reading.reader import Reader

MAX_SOURCE = 8 << 20  # bytes of a source file of which lines are shown
# Limit: Embedded source file, and all texts that say where files are
MAX_TEXT = 64 << 20
_FOOTER = Struct("<QQ8sQ")
# What JSON of another shape raises.
_OTHER_JSON = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
# Limit: Index of embedded source files
_INDEX_FLOOR, _INDEX_FACTOR = 1 << 20, 32
# Limit: All embedded source files, equal ones of several paths as often
_ALL_FLOOR, _ALL_FACTOR = 1 << 30, 1100


class SourceFiles(NamedTuple):
    """Source files that debug information has, and where it says that others are."""

    # contents of files, by their paths in the debug information
    texts: Mapping[str, bytes | memoryview] = {}
    # name and contents of each stream that says where files are
    links: tuple[tuple[str, bytes], ...] = ()
    too_large: int = 0  # number of others, which a part cannot have

    def __bool__(self) -> bool:
        return bool(self.texts or self.links)

    def text(self, path: str) -> bytes | None:
        """The contents of a file; None if it is not there or too large."""
        text = self.texts.get(path)
        return None if text is None or len(text) > MAX_SOURCE else bytes(text)


NO_SOURCES = SourceFiles()


def make_source_part(files: SourceFiles, used: Collection[str], start: int) -> bytes:
    """The part with what *files* has; b"" if that is nothing.

    Args:
        files: The source files.
        used: The paths of those that are kept.
        start: The offset of the part in its file.
    """
    packed, places = bytearray(), dict[tuple[bytes, int], int]()

    def place_of(text: bytes) -> tuple[int, int, int]:
        smaller = min(text, zlib.compress(text), key=len)
        start = places.setdefault((smaller, len(text)), len(packed))
        if start == len(packed):
            packed.extend(smaller)
        return start, len(smaller), len(text)

    # One text after the other: those of a file are unpacked when they are asked for.
    kept = {
        path: place_of(bytes(files.texts[path]))
        for path in sorted(files.texts)
        if path in used
    }
    links = [[name, *place_of(text)] for name, text in files.links]
    if not kept and not links:
        return b""
    index = zlib.compress(json.dumps({"files": kept, "links": links}).encode())
    index_start = len(packed)
    packed += index
    packed += bytes(-(start + len(packed) + _FOOTER.size) % FILE_MULTIPLE)
    before = len(packed) + _FOOTER.size - FOOTER_SIZE
    return bytes(packed) + _FOOTER.pack(index_start, len(index), SOURCES_MAGIC, before)


def fitting_sources(
    texts: dict[str, bytes | memoryview], links: Iterable[tuple[str, bytes]]
) -> SourceFiles:
    """Texts and links that a part can have."""
    kept = {path: text for path, text in texts.items() if len(text) <= MAX_TEXT}
    too_large, left, kept_links = len(texts) - len(kept), MAX_TEXT, []
    for link in links:
        if len(link[1]) <= left:
            left -= len(link[1])
            kept_links.append(link)
        else:
            too_large += 1
    return SourceFiles(kept, tuple(kept_links), too_large)


def merged_sources(parts: Iterable[SourceFiles]) -> SourceFiles:
    """The source files of all; of one path those of the first that has it."""
    texts: list[Any] = []
    links: dict[tuple[str, bytes], None] = {}
    for each in parts:
        texts.append(each.texts)
        links |= dict.fromkeys(each.links)
    fitting = fitting_sources({}, links)
    return fitting._replace(texts=collections.ChainMap(*texts))


def sources_of(data: memoryview, path: str | None = None) -> SourceFiles:
    """The source files in a GSYM file with these bytes.

    Raises:
        FormatError: The part is damaged.
    """
    return _read(lambda size: data[-size:], len(data), path)


def sources_of_reader(reader: Reader) -> SourceFiles:
    """The source files in an open GSYM file.

    Raises:
        FormatError: The part is damaged.
    """
    return _read(reader.tail, reader.size, reader.path)


def _read(tail: Callable[[int], Buffer], size: int, path: str | None) -> SourceFiles:
    end = module_part_start(tail(FOOTER_SIZE), size)
    start = source_part_start(tail, size)
    if end - start < _FOOTER.size:
        return NO_SOURCES
    part = memoryview(tail(size - start))[: end - start]
    try:
        return _Part(part, start, path).files()
    except _OTHER_JSON as error:
        reason = f"damaged index of source files: {error}"
        raise FormatError(reason, path=path, offset=start) from None


class _Part(Mapping[str, bytes]):
    """The texts of a part, unpacked when they are asked for."""

    def __init__(self, part: memoryview, start: int, path: str | None) -> None:
        self._part, self._start, self._path = part, start, path
        index_start, index_size, _, _ = _FOOTER.unpack(part[-_FOOTER.size :])
        most = _INDEX_FLOOR + _INDEX_FACTOR * len(part)
        self._end = index_start  # of the texts
        packed = self._slice(index_start, index_size, len(part) - _FOOTER.size)
        index = json.loads(_unpacked(packed, most))
        self._places: dict[str, tuple[int, int, int]] = {
            path: _place(place) for path, place in index["files"].items()
        }
        self._links = [(str(name), _place(place)) for name, *place in index["links"]]
        places = {*self._places.values(), *(place for _, place in self._links)}
        for (at, size, _), (following, _, _) in pairwise(sorted(places)):
            if at + size > following:
                raise ValueError(f"two texts at {following:#x}")
        if sum(size for _, (_, _, size) in self._links) > MAX_TEXT:
            raise ValueError(f"links of more than {MAX_TEXT} bytes")
        most = _ALL_FLOOR + _ALL_FACTOR * len(part)
        if sum(size for _, _, size in self._places.values()) > most:
            raise ValueError(f"texts of more than {most} bytes")

    def files(self) -> SourceFiles:
        """The texts and the links."""
        links = tuple((name, self._text(*place)) for name, place in self._links)
        return SourceFiles(self, links)

    def __getitem__(self, path: str) -> bytes:
        return self._text(*self._places[path])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def _text(self, start: int, packed_size: int, size: int) -> bytes:
        try:
            packed = self._slice(start, packed_size, self._end)
            text = packed if packed_size == size else _unpacked(packed, size)
        except ValueError as error:
            reason = str(error)
        else:
            if len(text) == size:
                return text
            reason = f"it has {len(text)} bytes in the place of {size}"
        reason = f"damaged source file: {reason}"
        raise FormatError(reason, path=self._path, offset=self._start + start)

    def _slice(self, start: int, size: int, end: int) -> bytes:
        if start > end or size > end - start:
            raise ValueError(f"{size} bytes at {start:#x} are not there")
        return bytes(self._part[start : start + size])


def _place(numbers: list[int]) -> tuple[int, int, int]:
    start, packed_size, size = numbers
    if not all(isinstance(each, int) and each >= 0 for each in numbers):
        raise ValueError("a place that is no number")
    if size > MAX_TEXT:
        raise ValueError(f"a text of more than {MAX_TEXT} bytes")
    return start, packed_size, size


def _unpacked(packed: bytes, most: int) -> bytes:
    try:
        text = zlib.decompressobj().decompress(packed, most + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(text) > most:
        raise ValueError(f"it has more than {most} bytes")
    return text
