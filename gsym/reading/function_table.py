"""All functions of a file as columns, and search by a part of a name.

Takes 24 bytes of memory for each function, and 24 more for the search by name.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import islice

from gsym.engine.demangling import demangle
from gsym.engine.native import ffi, lib, to_str
from gsym.lazy import re, regex

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.reading.reader import Reader

    CData = Any  # a cffi object

_COLUMNS = 3  # start, size, name
_BLOCK = 1 << 20  # bytes of names that are searched before other threads may run
_FIRST_ROOM = 256  # bytes in which the start of a string is searched
# Limit: Names that a search for functions demangles
_MOST_TRIED = 50_000
_NUL = regex(b"\0")
_LEAST_WORD = 2
_INDEX_BITS = 32
# Parts of C++ names that are abbreviated in mangled names.
_ABBREVIATED = frozenset(
    {"std", "string", "allocator", "basic_string", "operator", "const", "unsigned"}
    | {"int", "char", "long", "void", "bool", "anonymous", "namespace"}
)


class FunctionTable:
    """The functions of an open file, in the order of their addresses."""

    def __init__(self, reader: Reader) -> None:
        mapped = reader.mapped
        mapped.strings.read_ahead()
        self._image = mapped.image
        self._strings_size = int(mapped.header.strtab_size)
        cells = mapped.all_functions()
        # link-time addresses
        self.starts: array[int] = array("Q", cells[::_COLUMNS].tolist())
        # in bytes; 0 for a symbol without a size
        self.sizes: array[int] = array("Q", cells[1::_COLUMNS].tolist())
        self._names = array("Q", cells[2::_COLUMNS].tolist())
        self._by_name: array[int] | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def name(self, index: int) -> str:
        """The demangled name of function *index*."""
        return demangle(self._linker_name(index))

    def search(self, text: str, limit: int) -> list[int]:
        """Functions with *text* in their names, ignoring case.

        Returns:
            Their indexes, unsorted; empty for a text without a word of two letters that
                distinguishes names.
        """
        wanted = text.strip().lower()
        words = [
            word for word in re.findall(r"\w+", wanted) if word not in _ABBREVIATED
        ]
        longest = max(words, key=len, default="")
        if len(longest) < _LEAST_WORD or limit < 1:
            return []
        found = []
        for index in islice(self._candidates(longest), _MOST_TRIED):
            name = self._linker_name(index)
            if wanted in name.lower() or wanted in demangle(name).lower():
                found.append(index)
                if len(found) == limit:
                    break
        return found

    def _linker_name(self, index: int) -> str:
        size = ffi.new("size_t *")
        raw = lib.gsym_image_string(self._image, self._names[index], size)
        return to_str(ffi.buffer(raw, size[0])[:])

    def _candidates(self, word: str) -> Iterator[int]:
        """Functions with *word* in their linkage names.

        The complete string table is searched. A name may be the end of another string.
        """
        if self._by_name is None:
            numbered = sorted(
                name << _INDEX_BITS | index
                for index, name in enumerate(self._names)
                if name >> _INDEX_BITS == 0
            )
            self._by_name = array("Q", numbered)
        by_name = self._by_name
        for start, end in self._strings_with(word):
            at = bisect_left(by_name, start << _INDEX_BITS)
            while at < len(by_name) and by_name[at] >> _INDEX_BITS <= end:
                yield by_name[at] & ((1 << _INDEX_BITS) - 1)
                at += 1

    def _strings_with(self, word: str) -> Iterator[tuple[int, int]]:
        """Ranges of offsets in which a name with *word* begins."""
        size = self._strings_size
        # The empty string is the first one.
        first = lib.gsym_image_string(self._image, 0, ffi.new("size_t *"))
        strings = ffi.buffer(first, size)
        pattern = re.compile(re.escape(word.encode()), re.IGNORECASE)
        block = at = 0
        while block < size:
            end = min(block + _BLOCK + len(word) - 1, size)
            found = pattern.search(strings, max(at, block), end)
            if found is None:
                block += _BLOCK
                continue
            start = _string_start(strings, found.start())
            end_found = _NUL.search(strings, found.end())
            at = end_found.end() if end_found else size
            # Of several matches in one string the last one allows the most names.
            last = max(each.start() for each in pattern.finditer(strings, start, at))
            yield start, last


def _string_start(strings: CData, at: int) -> int:
    room: int = _FIRST_ROOM
    while True:
        lowest = max(0, at - room)
        before: int = strings[lowest:at].rfind(b"\0")
        if before >= 0 or not lowest:
            return lowest + before + 1
        room *= 4
