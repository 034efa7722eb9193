"""An open GSYM image with its caches: all that a call on a reader needs.

A reader passes a `MappedImage` to each call, which keeps the bytes mapped until that
call has ended, even if the reader is closed meanwhile. The caches contain decoded parts
of answers and are cleared when full; they are plain dictionaries, so threads share them
without a lock and at worst decode twice.
"""

from __future__ import annotations

from _struct import Struct  # `struct` adds a module to import

from gsym.cache import BoundedCache
from gsym.engine.native import bytes_of, check, ffi, lib, new_error, new_object, to_str
from gsym.model import UINT64_MAX, Frame, FunctionRange, Lookup, join_path

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Mapping
    from mmap import mmap
    from typing import Any

    from typing_extensions import Buffer

    CData = Any  # a cffi object

# The engine's records, in the machine's byte order.
_ANSWER = Struct("=3Q24x")
_FRAME = Struct("=2Q3I4x")
# found, entry, frame_count and regex_count; name, offset, file and line of the first
# frame, which follows the answer
_ANSWER_WITH_FRAME = Struct("=24x4I8x2Q2I8x")
_STRP = Struct("=Q")
_FUNCTION_RANGE = Struct("=3Q")

_MAX_CACHED = 1 << 16  # entries of one cache
_FEW_STRINGS = 64  # of some eight lookups
_FRAMES_AT_FIRST = 64
_PATTERNS_AT_FIRST = 16

_lookup = lib.gsym_image_lookup
_new = tuple.__new__  # a named tuple without the handling of its arguments


class Strings(BoundedCache[int, str]):
    """Decoded strings by their offset in the string table.

    Their number distinguishes single lookups from many at no cost for a lookup, so
    reading ahead is enabled here.
    """

    __slots__ = ("_image", "by_pages")

    def __init__(self, image: CData, by_pages: mmap | None) -> None:
        super().__init__(_MAX_CACHED)
        self._image = image
        self.by_pages = by_pages

    def read_ahead(self) -> None:
        """Let the system read ahead in the file."""
        mapped, self.by_pages = self.by_pages, None
        if mapped is not None:
            from mmap import MADV_NORMAL

            mapped.madvise(MADV_NORMAL)

    def __missing__(self, strp: int) -> str:
        if len(self) >= _FEW_STRINGS:  # others may add some meanwhile
            self.read_ahead()
        size = ffi.new("size_t *")
        raw = lib.gsym_image_string(self._image, strp, size)
        return self.keep(strp, to_str(ffi.buffer(raw, size[0])[:]))


class Files(BoundedCache[int, tuple[str, str]]):
    """Directory and base name by file index; both empty for no file."""

    __slots__ = ("_image", "_strings")

    def __init__(self, image: CData, strings: Strings) -> None:
        super().__init__(_MAX_CACHED)
        self._image = image
        self._strings = strings

    def __missing__(self, index: int) -> tuple[str, str]:
        entry = ffi.new("uint64_t[2]")
        found = ("", "")
        # Index 0 means "no file", whatever its entry in the table is.
        if index and not lib.gsym_image_file(
            self._image, index, entry, entry + 1, new_error()
        ):
            found = (self._strings[entry[0]], self._strings[entry[1]])
        return self.keep(index, found)


class Paths(dict[int, str]):
    """Joined paths by file index, for as long as many rows become text."""

    __slots__ = ("_files",)

    def __init__(self, files: Mapping[int, tuple[str, str]]) -> None:
        self._files = files

    def __missing__(self, index: int) -> str:
        path = self[index] = join_path(*self._files[index])
        return path


class _Scratch:
    """Memory in which the engine writes one answer; used by one call at a time."""

    def __init__(self, frame_capacity: int, pattern_capacity: int) -> None:
        patterns_at = _ANSWER.size + frame_capacity * _FRAME.size
        block = ffi.new("char[]", patterns_at + pattern_capacity * _STRP.size)
        self.view = ffi.buffer(block)  # keeps the block
        self.answer = ffi.cast("gsym_answer *", block)
        self.patterns = ffi.cast("uint64_t *", block + patterns_at)
        frames = ffi.cast("gsym_frame *", block + _ANSWER.size)
        self.room = ffi.new(
            "gsym_lookup_room *",
            [frames, frame_capacity, self.patterns, pattern_capacity],
        )
        self.error: CData = new_error()
        self.frame_capacity = frame_capacity
        self.pattern_capacity = pattern_capacity

    def grown(self, frame_count: int, pattern_count: int) -> _Scratch:
        """A larger one."""
        return _Scratch(
            max(frame_count, self.frame_capacity),
            max(pattern_count, self.pattern_capacity),
        )


class _Release:
    """Closes an image; keeps the bytes below it until then."""

    __slots__ = ("_data",)

    def __init__(self, data: memoryview) -> None:
        self._data = data

    # Bound as a default: when the interpreter exits, the module may be cleared before
    # the last image is freed.
    def __call__(self, image: CData, close: Any = lib.gsym_image_close) -> None:
        close(image)


class MappedImage:
    """The engine's handle on the bytes of a file, and decoded text.

    The bytes are a GSYM file, or a binary with one.
    """

    def __init__(
        self,
        data: Buffer,
        path: str | None,
        index_limit: int | None = None,
        by_pages: mmap | None = None,
    ) -> None:
        if by_pages is not None:
            from mmap import MADV_RANDOM

            by_pages.madvise(MADV_RANDOM)
        view = memoryview(data)
        self.data: memoryview[int] = view
        life = lib.gsym_image_open, _Release(view)
        self.image: CData = new_object(
            "image", *life, bytes_of(view), view.nbytes, path=path
        )
        if index_limit is not None:
            from gsym.arguments import integer_of

            limit = integer_of("index_limit", index_limit, 0, UINT64_MAX)
            lib.gsym_image_limit_indexes(self.image, limit)
        self.header: CData = ffi.new("gsym_header *")
        lib.gsym_image_header(self.image, self.header)
        self.path: str | None = path
        self.file: mmap | None = None  # the mapping of a file that the bytes are, if so
        self.strings: Strings = Strings(self.image, by_pages)
        self.files: Files = Files(self.image, self.strings)
        self._functions: BoundedCache[int, FunctionRange] = BoundedCache(_MAX_CACHED)
        self._scratches: list[_Scratch] = []

    def look_up(self, address: int, child: int = 0) -> Lookup | None:
        """The answer for the function at *address* or the *child*-th merged into it."""
        try:
            scratch = self._scratches.pop()
        except IndexError:
            scratch = _Scratch(_FRAMES_AT_FIRST, _PATTERNS_AT_FIRST)
        error = scratch.error
        try:
            failed = _lookup(
                self.image, address, child, 0, scratch.room, scratch.answer, error
            )
        except OverflowError:  # it has more than 64 bits, or a sign
            self._scratches.append(scratch)
            return None
        except TypeError:
            raise TypeError(f"address: expected an integer, not {address!r}") from None
        if failed:
            check(error.status, error, self.path)
        view = scratch.view
        # fmt: off
        (found, entry, count, patterns, name, offset, file, line,
        ) = _ANSWER_WITH_FRAME.unpack_from(view)
        # fmt: on
        if not found:
            self._scratches.append(scratch)
            return None
        if count > scratch.frame_capacity or patterns > scratch.pattern_capacity:
            self._scratches.append(scratch.grown(count, patterns))
            return self.look_up(address, child)
        strings = self.strings
        directory, filename = self.files[file]
        frame = (strings[name], directory, filename, line, offset, count > 1)
        frames: tuple[Frame, ...] = (_new(Frame, frame),)
        if count > 1:
            frames += self._outer_frames(scratch, count)
        number = entry + (child << 32) if child else entry
        try:
            function = self._functions[number]
        except KeyError:
            start, size, name = _ANSWER.unpack_from(view)
            function = _new(FunctionRange, (strings[name], start, size))
            self._functions.keep(number, function)
        regexes: tuple[str, ...] = ()
        if patterns:
            regexes = tuple([strings[strp] for strp in scratch.patterns[0:patterns]])
        self._scratches.append(scratch)
        return _new(Lookup, (address, function, frames, regexes, ()))

    def merged_count(self, address: int) -> int:
        """Number of functions merged into the one at *address*."""
        return int(self._answer(address).merged_count)

    def entry_at(self, address: int) -> int | None:
        """Index in the address table of the function at *address*; None for none."""
        try:
            answer = self._answer(address)
        except OverflowError:  # it has more than 64 bits, or a sign
            return None
        except TypeError:
            raise TypeError(f"address: expected an integer, not {address!r}") from None
        return int(answer.entry) if answer.found else None

    def _answer(self, address: int) -> CData:
        answer, error = ffi.new("gsym_answer *"), new_error()
        status = _lookup(self.image, address, 0, 0, ffi.NULL, answer, error)
        check(status, error, self.path)
        return answer

    def _outer_frames(self, scratch: _Scratch, count: int) -> tuple[Frame, ...]:
        strings, files, frames = self.strings, self.files, []
        end = _ANSWER.size + count * _FRAME.size
        for name, offset, file, line, inlined in _FRAME.iter_unpack(
            scratch.view[_ANSWER_WITH_FRAME.size : end]
        ):
            directory, filename = files[file]
            frame = (strings[name], directory, filename, line, offset, inlined > 0)
            frames.append(_new(Frame, frame))
        return tuple(frames)

    def all_functions(self) -> memoryview:
        """Start, size and name of all functions, merged ones too, side by side.

        They are 64-bit integers; a name is its offset in the string table.
        """
        capacity = max(self.header.num_addresses, 1)
        ranges, count = self._ranges(lib.gsym_image_all_functions, capacity)
        return memoryview(ffi.buffer(ranges)).cast("Q")[: count * 3]

    def function_ranges(self, index: int) -> list[FunctionRange]:
        """The function of entry *index* and those merged into it."""
        ranges, count = self._ranges(lib.gsym_image_functions, 1, index)
        raw = ffi.buffer(ranges, count * _FUNCTION_RANGE.size)
        return [
            FunctionRange(self.strings[name], start, size)
            for start, size, name in _FUNCTION_RANGE.iter_unpack(raw)
        ]

    def _ranges(
        self, engine: CData, capacity: int, *arguments: int
    ) -> tuple[CData, int]:
        """Functions that *engine* returns into room for *capacity*; their number."""
        count, error = ffi.new("size_t *"), new_error()
        while True:
            ranges = ffi.new("gsym_function_range[]", capacity)
            status = engine(self.image, *arguments, ranges, capacity, count, error)
            check(status, error, self.path)
            if count[0] <= capacity:
                return ranges, count[0]
            capacity = count[0]
