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

A text whose packed size is its size is not compressed. Equal texts are stored once.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from struct import Struct

from gsym.errors import FormatError
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
    from collections.abc import Callable, Collection, Iterable, Iterator

    from typing_extensions import Buffer

    from gsym.reading.reader import Reader

MAX_SOURCE = 8 << 20  # bytes of a source file of which lines are shown
# Limit: Embedded source file, and text that says where files are
MAX_TEXT = 64 << 20
_FOOTER = Struct("<QQ8sQ")
# What JSON of another shape raises.
_OTHER_JSON = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
# Limit: Index of embedded source files
_INDEX_FLOOR, _INDEX_FACTOR = 1 << 20, 32


class SourceFiles(NamedTuple):
    """Source files that debug information has, and where it says that others are.

    Attributes:
        texts: Contents of files, by their paths in the debug information.
        links: Name and contents of each stream that says where files are.
    """

    texts: Mapping[str, bytes | memoryview] = {}
    links: tuple[tuple[str, bytes], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.texts or self.links)

    @property
    def too_large(self) -> int:
        """Number of texts that a part cannot have."""
        sizes = [*map(len, self.texts.values()), *(len(text) for _, text in self.links)]
        return sum(size > MAX_TEXT for size in sizes)

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
    packed, places = bytearray(), dict[bytes, list[int]]()

    def place_of(text: bytes) -> list[int]:
        if text not in places:
            smaller = min(text, zlib.compress(text), key=len)
            places[text] = [len(packed), len(smaller), len(text)]
            packed.extend(smaller)
        return places[text]

    kept = {
        path: place_of(bytes(text))
        for path, text in sorted(files.texts.items())
        if path in used and len(text) <= MAX_TEXT
    }
    links = [
        [name, *place_of(text)] for name, text in files.links if len(text) <= MAX_TEXT
    ]
    if not kept and not links:
        return b""
    index = zlib.compress(json.dumps({"files": kept, "links": links}).encode())
    index_start = len(packed)
    packed += index
    packed += bytes(-(start + len(packed) + _FOOTER.size) % FILE_MULTIPLE)
    before = len(packed) + _FOOTER.size - FOOTER_SIZE
    return bytes(packed) + _FOOTER.pack(index_start, len(index), SOURCES_MAGIC, before)


def merged_sources(several: Iterable[SourceFiles]) -> SourceFiles:
    """The source files of all; of one path those of the first that has it."""
    texts: dict[str, bytes | memoryview] = {}
    links: dict[tuple[str, bytes], None] = {}
    for each in several:
        texts = {**each.texts, **texts}
        links |= dict.fromkeys(each.links)
    return SourceFiles(texts, tuple(links))


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
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(packed, most)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not reader.eof and reader.unconsumed_tail:
        raise ValueError(f"it has more than {most} bytes")
    return text
