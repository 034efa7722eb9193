"""Which module lies at an address of a process."""

from __future__ import annotations

from bisect import bisect_right

from gsym.records import NamedTuple

__all__ = ["LoadedImages"]


class Placement(NamedTuple):
    """Where a part of a module lies.

    Attributes:
        start: First address in the process.
        end: Behind the last one.
        module: Its number.
        address: What *start* is in the module.
    """

    start: int
    end: int
    module: int
    address: int


class LoadedImages:
    """Placements that do not overlap."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._placements: list[Placement] = []

    def add(self, start: int, end: int, module: int, address: int = 0) -> None:
        """Note a placement; an empty one, or one over another, is left out.

        Args:
            start: First address in the process.
            end: Behind the last one.
            module: Its number.
            address: What *start* is in the module.
        """
        at = bisect_right(self._starts, start)
        is_free = at == 0 or self._placements[at - 1].end <= start
        if at < len(self._placements):
            is_free = is_free and end <= self._placements[at].start
        if start < end and is_free:
            self._starts.insert(at, start)
            self._placements.insert(at, Placement(start, end, module, address))

    def find(self, address: int) -> tuple[int, int] | None:
        """The number of the module at an address, and the address in it."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._placements[at].end:
            return None
        placement = self._placements[at]
        return placement.module, address - placement.start + placement.address

    def clear(self) -> None:
        """Forget all of them."""
        self._starts.clear()
        self._placements.clear()
