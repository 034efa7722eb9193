"""Names, files and functions of open modules as responses print them, cached.

The caches have a budget of memory. If they exceed it, least recently used ones are
dropped, and filled again on demand. Those of closed modules are freed with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from threading import Lock
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakSet

import msgspec

from gsym.engine.demangling import demangle_bytes
from gsym.engine.native import ffi, lib, new_error, to_bytes, to_str
from gsym.model import join_path, valid_text
from gsym.modules.open_module import OpenModule
from gsym.reading.function_table import FunctionTable

CData = Any  # a cffi object
PathMap = Callable[[str], str]
_MEMORY = 256 << 20  # bytes
_ENTRY_SIZE = 112  # bytes of overhead of a text
_FUNCTION_SIZE = 48  # bytes of memory, including the index of names


class Kept(Protocol):
    """A cache of a module."""

    kept_size: int  # bytes of memory that it takes; changed by the budget
    last_used: int  # the order of use; changed by the budget

    def drop(self) -> None:
        """Empty the cache."""


class CacheBudget:
    """A budget; thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._clock = count()
        self._kept: WeakSet[Kept] = WeakSet()
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes in use."""
        with self._lock:
            return sum(each.kept_size for each in self._kept)

    def use(self, kept: Kept) -> None:
        """Mark a cache as used now."""
        kept.last_used = next(self._clock)

    def take(self, kept: Kept, size: int) -> None:
        """Add *size* bytes to a cache; caches may be dropped for that."""
        with self._lock:
            self._kept.add(kept)
            kept.kept_size += size
            self._size += size
            if self._size > self._most:
                self._evict()

    def _evict(self) -> None:
        kept = sorted(self._kept, key=lambda each: each.last_used)
        self._size = sum(each.kept_size for each in kept)
        for each in kept:
            if self._size <= self._most:
                break
            each.drop()
            self._size -= each.kept_size
            each.kept_size = 0


class AnswerTexts:
    """The texts of all open modules."""

    def __init__(
        self, path_map: PathMap | None = None, memory: CacheBudget | None = None
    ) -> None:
        self._path_map = path_map
        self._memory = CacheBudget(_MEMORY) if memory is None else memory
        self._kept: WeakKeyDictionary[OpenModule, ModuleTexts] = WeakKeyDictionary()

    def of(self, module: OpenModule) -> ModuleTexts:
        """The texts of a module."""
        texts = self._kept.get(module)
        if texts is None:
            texts = ModuleTexts(module, self._path_map, self._memory)
            self._kept[module] = texts
        self._memory.use(texts)
        return texts


class ModuleTexts:
    """The texts of one module."""

    def __init__(
        self, module: OpenModule, path_map: PathMap | None, memory: CacheBudget
    ) -> None:
        self.kept_size = self.last_used = 0
        self._image: CData = module.image
        self._reader = module.reader
        self._path_map = path_map
        self._memory = memory
        self._names: dict[int, bytes] = {}
        self._files: dict[int, bytes] = {}
        self._functions: FunctionTable | None = None

    @property
    def functions(self) -> FunctionTable:
        """The functions by name; the module has a reader."""
        found = self._functions
        if found is None:
            assert self._reader is not None  # noqa: S101 - the caller has checked it
            found = self._functions = FunctionTable(self._reader)
            self._memory.take(self, len(self._reader) * _FUNCTION_SIZE)
        return found

    def names(self, numbers: list[int]) -> list[bytes]:
        """`"NAME"` for each offset of a name."""
        return self._texts(self._names, self._make_names, numbers)

    def files(self, numbers: list[int]) -> list[bytes]:
        """`,"file":"PATH"` for each index of a file; b"" without a file."""
        return self._texts(self._files, self._make_files, numbers)

    def drop(self) -> None:
        """Empty the cache."""
        self._names.clear()
        self._files.clear()
        self._functions = None

    def _texts(
        self,
        kept: dict[int, bytes],
        make: Callable[[list[int]], Iterable[bytes]],
        numbers: list[int],
    ) -> list[bytes]:
        try:
            return [kept[number] for number in numbers]
        except KeyError:  # the first time, or after `drop`
            found = [kept.get(number) for number in numbers]
        missing = [
            number for number, text in zip(numbers, found, strict=True) if text is None
        ]
        fresh = dict(zip(missing, make(missing), strict=True))
        kept.update(fresh)
        size = sum(map(len, fresh.values())) + len(fresh) * _ENTRY_SIZE
        self._memory.take(self, size)
        return [
            fresh[number] if text is None else text
            for number, text in zip(numbers, found, strict=True)
        ]

    def _make_names(self, numbers: list[int]) -> Iterator[bytes]:
        return map(msgspec.json.encode, names_of(self._image, numbers))

    def _make_files(self, numbers: list[int]) -> Iterator[bytes]:
        for path in _paths_of(self._image, numbers):
            mapped = self._path_map(path) if path and self._path_map else path
            yield b',"file":%b' % quoted(mapped) if mapped else b""


def names_of(image: CData, numbers: Iterable[int]) -> Iterator[str]:
    """The demangled names at offsets of the string table, as valid text."""
    string_of = _string_reader(image)
    for number in numbers:
        yield demangle_bytes(string_of(number)).decode("utf-8", "replace")


def _paths_of(image: CData, numbers: Iterable[int]) -> Iterator[str]:
    entry, error = ffi.new("uint64_t[2]"), new_error()
    string_of = _string_reader(image)
    for number in numbers:
        # Index 0 means "no file", whatever the entry is.
        if not number or lib.gsym_image_file(image, number, entry, entry + 1, error):
            yield ""
        else:
            yield join_path(*[to_str(string_of(each)) for each in entry])


def _string_reader(image: CData) -> Callable[[int], bytes]:
    """A function that reads strings of an image, for one thread."""
    size = ffi.new("size_t *")
    find, unpack = lib.gsym_image_string, ffi.unpack

    def string_of(offset: int) -> bytes:
        start = find(image, offset, size)
        return unpack(start, size[0])  # type: ignore[no-any-return]

    return string_of


def quoted(text: str) -> bytes:
    """*text* as JSON, between quotes."""
    return msgspec.json.encode(clean_text(text))


def clean_text(text: str) -> str:
    """*text* with bytes that are not UTF-8 replaced: names are any bytes."""
    if text.isascii():
        return text
    try:
        return to_bytes(text).decode("utf-8", "replace")
    except UnicodeEncodeError:  # an unpaired surrogate
        return valid_text(text)
