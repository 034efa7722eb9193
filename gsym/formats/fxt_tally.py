"""How many events of each provider, category, name and kind a trace has.

The engine counts columns, some hundred megabytes a second.
"""

from __future__ import annotations

from gsym._native import check, ffi, lib, new_error
from gsym.formats.fxt_records import EVENT_KINDS
from gsym.records import NamedTuple

__all__ = ["MOST_GROUPS", "OTHERS", "EventKey", "EventSums", "Tally"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gsym.formats.fxt_columns import Columns

    CData = Any  # a cffi object


class EventKey(NamedTuple):
    """What events have in common: *provider* is an id, or None, *kind* a word."""

    provider: int | None
    category: str
    name: str
    kind: str


# A trace may give each event a name of its own; what is new behind so many groups is
# counted as others, for each provider and kind.
MOST_GROUPS = 1 << 16
OTHERS = "(others)"


class EventSums:
    """How many events have what in common, and how many bytes they take.

    Attributes:
        sums: Both by what they have in common.
    """

    def __init__(self) -> None:
        self.sums: dict[EventKey, tuple[int, int]] = {}

    def add(self, key: EventKey, events: int, size: int) -> None:
        """Count events that have this in common."""
        if key not in self.sums and len(self.sums) >= MOST_GROUPS:
            key = EventKey(key.provider, OTHERS, OTHERS, key.kind)
        known = self.sums.get(key, (0, 0))
        self.sums[key] = (known[0] + events, known[1] + size)


class Tally:
    """Counts the events of one trace, in the order of its columns.

    Raises:
        MemoryError: There is not enough memory.
    """

    def __init__(self) -> None:
        error: CData = new_error()
        place = ffi.new("gsym_fxt_tally **")
        check(lib.gsym_fxt_tally_create(place, error), error)
        self._tally = ffi.gc(place[0], lib.gsym_fxt_tally_destroy)
        self._texts: list[str] = []
        self._providers: Sequence[int | None] = ()
        self._sums = EventSums()

    def add(self, columns: Columns) -> None:
        """Take the events of columns in."""
        if columns.first_new_string == 1:
            self._name_groups()
            self._texts.clear()
        self._texts += columns.strings[len(self._texts) :]
        self._providers = columns.providers
        columns.count_into(self._tally)

    def sums(self) -> dict[EventKey, tuple[int, int]]:
        """How many events have what in common, and how many bytes they take."""
        self._name_groups()
        return dict(self._sums.sums)

    def _name_groups(self) -> None:
        """Give what was counted by number its names; numbers may mean others soon."""
        place, count = ffi.new("const gsym_fxt_group **"), ffi.new("size_t *")
        lib.gsym_fxt_tally_view(self._tally, place, count)
        for group in ffi.unpack(place[0], count[0]) if count[0] else ():
            key = EventKey(
                self._providers[group.provider],
                self._texts[group.category],
                self._texts[group.name],
                EVENT_KINDS[group.kind],
            )
            self._sums.add(key, group.events, group.bytes)
        lib.gsym_fxt_tally_clear(self._tally)
