"""Regions of the memory of a process, or of a report, and the modules in them."""

from __future__ import annotations

from bisect import bisect_right

from gsym.model import UINT64_MAX
from gsym.ranges import range_at
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.memory.stack_parts import Base


class Region(NamedTuple):
    """A range of addresses that is mapped from a module."""

    start: int  # first address
    end: int  # the address after the last; 0 if unknown
    module: int  # index of the module
    offset: int = 0  # in the file, of what is at *start*
    address: int = 0  # of what is at *start*, in the module; *base* defines its origin
    base: Base = "link"  # see `Base`
    is_executable: bool = True  # whether it has code
    is_open: bool = False  # whether *end* is only where the next one starts

    def at(self, address: int) -> Region:
        """The part that starts at an address in it."""
        start, end, module, offset, link_address = self[:5]
        by = address - start
        # In the order of the fields, since there are many.
        place = end, module, offset + by, (link_address + by) & UINT64_MAX
        return tuple.__new__(Region, (address, *place, *self[5:]))


_UNKNOWN_SIZE = 1 << 32  # at most, of a region whose end is not known


class Regions:
    """Regions that do not overlap."""

    def __init__(self) -> None:
        self.regions: list[Region] = []
        self._starts: list[int] = []
        self._open: list[Region] = []

    def add(self, region: Region) -> None:
        """Add a region, unless it is empty or overlaps another.

        One without an end is added by `close`.
        """
        start, end = region.start, region.end
        if not end:
            self._open.append(region)
            return
        at = bisect_right(self._starts, start)
        is_free = at == 0 or self.regions[at - 1].end <= start
        if at < len(self.regions):
            is_free = is_free and end <= self.regions[at].start
        if start < end and is_free:
            self._starts.insert(at, start)
            self.regions.insert(at, region)

    def close(self) -> None:
        """Let regions without an end reach up to the next one known so far."""
        self.regions = [each for each in self.regions if not each.is_open]
        self._starts = [each.start for each in self.regions]
        starts = sorted({*self._starts, *(each.start for each in self._open)})
        for each in self._open:
            following = bisect_right(starts, each.start)
            end = each.start + _UNKNOWN_SIZE
            if following < len(starts):
                end = min(end, starts[following])
            self.add(each._replace(end=end, is_open=True))

    def add_open(self, region: Region) -> None:
        """Add a region without an end at once, where no other is."""
        self._open.append(region)
        end = region.start + _UNKNOWN_SIZE
        at = bisect_right(self._starts, region.start)
        if at < len(self._starts):
            end = min(end, self._starts[at])
        self.add(region._replace(end=end, is_open=True))

    def clear(self) -> None:
        """Remove all regions."""
        self._starts.clear()
        self.regions.clear()
        self._open.clear()

    def covering(self, address: int) -> Region | None:
        """The region that covers an address."""
        return range_at(self.regions, address, self._starts)

    def is_code(self, address: int) -> bool:
        """Whether an address is in a region with code."""
        found = self.covering(address)
        return found is not None and found.is_executable

    def region(self, address: int) -> Region | None:
        """The part of a region from an address on; None if nothing is there."""
        found = self.covering(address)
        return None if found is None else found.at(address)
