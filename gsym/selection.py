"""Which functions of a finished file go on into the output.

The patterns see each name once; the functions themselves are picked by the engine.
"""

from __future__ import annotations

from gsym._native import ffi, lib, to_str
from gsym.arguments import items_of, strings_of
from gsym.image_source import ImageSource

__all__ = ["Selection", "select_functions"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from re import Pattern
    from typing import Any

    from typing_extensions import Buffer

    CData = Any  # a cffi object

_ADDRESS_END = 1 << 64


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
        ValueError: A pattern is no regular expression, or a range is empty or ends
            behind the last address.
    """

    __slots__ = ("_drop", "_keep", "_ranges")

    def __init__(
        self,
        keep: Iterable[str] = (),
        drop: Iterable[str] = (),
        address_ranges: Iterable[tuple[int, int]] = (),
    ) -> None:
        self._keep = [_compiled(each) for each in strings_of("keep_functions", keep)]
        self._drop = [_compiled(each) for each in strings_of("drop_functions", drop)]
        ranges = items_of("address_ranges", address_ranges, "(start, end) pairs")
        self._ranges = [_checked(start, end) for start, end in ranges]

    def __bool__(self) -> bool:
        return bool(self._keep or self._drop or self._ranges)

    def _wants(self, name: str) -> bool:
        is_kept = not self._keep or any(kept.search(name) for kept in self._keep)
        return is_kept and not any(dropped.search(name) for dropped in self._drop)

    def describe(self, names: dict[int, bytes]) -> tuple[CData, list[CData]]:
        """The engine's view for a file with these *names*, and what it points at."""
        wanted = sorted(at for at, raw in names.items() if self._wants(to_str(raw)))
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

    Raises:
        FormatError: *whole* is damaged.
    """
    source = ImageSource(whole)
    described, _alive = selection.describe(source.names())
    creator = source.creator()
    source.copy(lib.gsym_creator_add_entries, creator, described)
    source.copy(lib.gsym_creator_add_sections, creator)
    return creator


def _compiled(pattern: str) -> Pattern[str]:
    import re

    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"'{pattern}' is no regular expression: {error}") from None


def _checked(start: int, end: int) -> tuple[int, int]:
    if not 0 <= start < end < _ADDRESS_END:
        raise ValueError(f"{start:#x}-{end:#x} is no range of addresses")
    return start, end
