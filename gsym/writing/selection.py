"""Parts of a GSYM file: all its functions, those that a selection keeps, segments.

A segment is a GSYM file with a run of the functions, its own strings and files, and the
UUID and base address of the complete file. It is named after its first function:
`OUTPUT-0x401000`. Sections of unknown types are in the first one. If the complete file
has an index, each segment has its own.
"""

from __future__ import annotations

from gsym.arguments import patterns_of, ranges_of, shown
from gsym.containers.recognition import HEAD_SIZE, check_read, recognise
from gsym.engine.mapped_image import MappedImage
from gsym.engine.native import check, ffi, lib, new_error
from gsym.errors import FormatError
from gsym.lazy import re
from gsym.model import UINT64_MAX
from gsym.writing.atomic_file import AtomicFile
from gsym.writing.creator_handle import finish_creator, iter_finished, new_creator

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable
    from re import Pattern
    from typing import Any

    from typing_extensions import Buffer

    CData = Any  # a cffi object, or a function of the engine
    from typing import Any


class ImageSource:
    """The engine's view of a file, and calls that copy from it."""

    def __init__(self, data: Buffer, path: str | None = None) -> None:
        try:
            self._mapped = MappedImage(data, path)
        except FormatError:
            check_read(recognise(bytes(memoryview(data)[:HEAD_SIZE])), path)
            raise
        self.header: CData = self._mapped.header  # a `gsym_header`
        start = self.header.file_offset + self.header.uuid_offset
        uuid_end = start + self.header.uuid_size
        # identifier of the binary that the file was made from, b"" for none
        self.uuid: bytes = bytes(memoryview(data)[start:uuid_end])

    def copy(self, function: CData, creator: CData, *arguments: CData) -> None:
        """Call *function*, which copies from this file to *creator*."""
        error = new_error()
        status = function(creator, self._mapped.image, *arguments, error)
        check(status, error, self._mapped.path)

    def creator(self, *, index: bool = True) -> CData:
        """A creator of a file like this one, with its UUID, still without functions.

        It keeps all functions that it is given, in their order. If this file has an
        index, that of the new one is made anew, unless *index* is false.
        """
        header = self.header
        creator = new_creator(
            version=header.version,
            big_endian=bool(header.big_endian),
            base_address=header.base_address,
            keep_all=True,
            has_index=index and header.index_size != 0,
        )
        error = new_error()
        status = lib.gsym_creator_set_uuid(creator, self.uuid, len(self.uuid), error)
        check(status, error, self._mapped.path)
        return creator

    def start(self, index: int) -> int:
        """Start address of entry *index* of the address table."""
        address, offset = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        image, error = self._mapped.image, new_error()
        check(lib.gsym_image_entry(image, index, address, offset, error), error)
        return int(address[0])

    def names(self) -> dict[int, str]:
        """The names of all functions, merged ones too, by their string offsets."""
        strings = self._mapped.strings
        return {strp: strings[strp] for strp in {*self._mapped.all_functions()[2::3]}}


class Selection:
    """Patterns of names and ranges of addresses; true where there are any.

    Args:
        keep: Regular expressions; a function stays whose name one of them is found
            in. None: all names.
        drop: Regular expressions; a function goes whose name one of them is found
            in, also if it matches *keep*.
        address_ranges: (start, end) pairs; a function stays that answers for an
            address start <= address < end of one of them. None: all addresses.

    Raises:
        TypeError: A single string was given where several are expected.
        ValueError: A pattern is not a regular expression, or a range is empty or ends
            after the last address.
    """

    __slots__ = ("_drop", "_keep", "_ranges")

    def __init__(
        self,
        keep: Iterable[str | Pattern[str]] = (),
        drop: Iterable[str | Pattern[str]] = (),
        address_ranges: Iterable[tuple[int, int]] = (),
    ) -> None:
        self._keep = _compiled("keep_functions", keep)
        self._drop = _compiled("drop_functions", drop)
        self._ranges = ranges_of("address_ranges", address_ranges, UINT64_MAX)

    def __bool__(self) -> bool:
        return bool(self._keep or self._drop or self._ranges)

    def _wants(self, name: str) -> bool:
        is_kept = not self._keep or any(kept.search(name) for kept in self._keep)
        return is_kept and not any(dropped.search(name) for dropped in self._drop)

    def describe(self, names: dict[int, str]) -> tuple[CData, list[CData]]:
        """The engine's view for a file with these *names*, and what it points at."""
        wanted = sorted(at for at, name in names.items() if self._wants(name))
        strps = ffi.new("uint64_t[]", wanted)
        ranges = ffi.new("gsym_range[]", self._ranges)
        selection = ffi.new("gsym_selection *")
        selection.by_name = bool(self._keep or self._drop)
        selection.names, selection.name_count = strps, len(strps)
        selection.by_address = bool(self._ranges)
        selection.ranges, selection.range_count = ranges, len(ranges)
        return selection, [strps, ranges]


def select_functions(whole: Buffer, selection: Selection) -> CData:
    """A creator of a file like *whole* that holds the selected functions alone.

    Where a function that others are merged into goes, the first of these that stays
    takes its place. A function without a size answers for no address that a dropped
    one answered for. If *whole* has an index, so has the new file.
    """
    source = ImageSource(whole)
    described, _alive = selection.describe(source.names())
    creator = source.creator()
    source.copy(lib.gsym_creator_add_entries, creator, described)
    source.copy(lib.gsym_creator_add_sections, creator)
    return creator


def _compiled(name: str, patterns: Iterable[str | Pattern[str]]) -> list[Pattern[str]]:
    compiled = []
    for pattern in patterns_of(name, patterns):
        try:
            compiled.append(re.compile(pattern))
        except re.error as error:  # noqa: PERF203 - it names the pattern
            reason = f"expected a regular expression, not {shown(pattern)}: {error}"
            raise ValueError(f"{name}: {reason}") from None
    return compiled


def write_segments(
    whole: bytes | memoryview, output: str, size: int, *, keep_same: bool = False
) -> tuple[tuple[str, ...], bool]:
    """Write the segments of a GSYM file.

    A segment holds *size* bytes before no further function is added.

    Returns:
        Their paths, in order, and whether any was written.

    Raises:
        LimitError: No function fits into *size* bytes.
    """
    source = ImageSource(whole)
    paths, is_written = [], False
    first, end = 0, ffi.new("uint32_t *")
    while first < source.header.num_addresses:
        creator = source.creator()
        source.copy(lib.gsym_creator_add_segment, creator, first, size, end)
        if first == 0:
            source.copy(lib.gsym_creator_add_sections, creator)
        path = f"{output}-{source.start(first):#x}"
        with AtomicFile(path, keep_same=keep_same, sync_folder=False) as file:
            finish_creator(creator)
            for chunk in iter_finished(creator):
                file.write(chunk)
        is_written |= file.is_written
        paths.append(path)
        first = end[0]
    return tuple(paths), is_written
