"""The modules and segments that the contextual elements of a log declare."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from gsym.engine.native import to_bytes
from gsym.model import UINT64_MAX
from gsym.ranges import range_at
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.markup.parser import Mmap, Module

_PAGE, _LARGEST_PAGE = 1 << 12, 1 << 16
_MAX_NAMED = 4  # replaced mmaps in a warning


class LoadedModule(NamedTuple):
    """A module; *name* as in the log."""

    id: int
    name: bytes
    build_id: bytes


class Segment(NamedTuple):
    """A part of a module in memory."""

    start: int  # address of its first byte in memory
    size: int  # in bytes
    module: LoadedModule  # the module that contains it
    mode: bytes  # one or more of r, w and x
    address: int  # link-time address of its first byte

    @property
    def last(self) -> int:
        """Address of its last byte, modulo 2^64."""
        return (self.start + self.size - 1) & UINT64_MAX

    @property
    def end(self) -> int:
        """The address after its last byte, modulo 2^64."""
        return (self.start + self.size) & UINT64_MAX

    def covers(self, address: int) -> bool:
        """Whether it contains an address in memory."""
        return self.start <= address < self.end

    def linked(self, address: int) -> int:
        """The link-time address of an address in memory."""
        return (address - self.start + self.address) & UINT64_MAX

    def agrees_with(self, other: Segment) -> bool:
        """Whether both give the same link-time address wherever they overlap."""
        is_same = self.module is other.module
        return is_same and self.linked(other.start) == other.address & UINT64_MAX


class ContextError(Exception):
    """A contextual element conflicts with earlier ones; the text is the reason."""


class SpaceBudget:
    """The memory that modules and segments of a log may still take.

    All processes of a log share one budget. That is a number of modules, and of
    segments, and the size of all names and build ids.
    """

    def __init__(self, most: int = 1 << 16, most_bytes: int = 1 << 26) -> None:
        self.modules = most
        self.segments = most
        self.bytes = most_bytes


class AddressSpace:
    """The modules and segments of one process.

    Args:
        budget: The memory budget.
        keeps_mmaps: Use an mmap unchanged, and refuse one that overlaps an earlier one.
            Otherwise it replaces the earlier one, and its module-relative address is
            rounded down like its start.
    """

    def __init__(
        self, budget: SpaceBudget | None = None, *, keeps_mmaps: bool = True
    ) -> None:
        self.modules: dict[int, LoadedModule] = {}  # by their numbers
        self.version: int = 0  # incremented by each change
        self.remarks: list[str] = []  # warnings about the last mmap, which was accepted
        self._keeps_mmaps = keeps_mmaps
        self._bases: dict[int, int] = {}  # of modules: start minus link-time address
        self._budget = budget or SpaceBudget()
        self._starts: list[int] = []
        self._segments: list[Segment] = []

    def __bool__(self) -> bool:
        return bool(self.modules or self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def clear(self) -> None:
        """Remove all modules and segments."""
        self.version += 1
        self._budget.modules += len(self.modules)
        self._budget.bytes += sum(map(_size, self.modules.values()))
        self._budget.segments += len(self._segments)
        self.modules.clear()
        self._bases.clear()
        self._starts.clear()
        self._segments.clear()

    def add_module(self, module: Module) -> LoadedModule:
        """Add a module."""
        if module.id in self.modules:
            raise ContextError("duplicate module ID")
        loaded = LoadedModule(module.id, to_bytes(module.name), module.build_id)
        if not self._budget.modules or self._budget.bytes < _size(loaded):
            raise ContextError("too many modules")
        self._budget.modules -= 1
        self._budget.bytes -= _size(loaded)
        self.modules[module.id] = loaded
        return loaded

    def add_segment(self, mmap: Mmap) -> Segment:
        """Add a segment of a known module.

        Returns:
            The segment; with *keeps_mmaps*, an empty earlier one that begins at the
            same address.

        Raises:
            ContextError: It overlaps an earlier one, or there are too many.
        """
        module = self.modules[mmap.module]
        mode = mmap.mode.encode("ascii")
        added = Segment(mmap.start, mmap.size, module, mode, mmap.address)
        self.remarks = []
        if not self._keeps_mmaps:
            return self._replace(added._replace(address=self._rounded(added)))
        at = bisect_right(self._starts, added.start)
        for near in reversed(self._segments[max(at - 1, 0) : at + 1]):
            if near.covers(added.start) or (
                near.start > added.start and added.covers(near.start)
            ):
                raise ContextError(f"overlapping mmap: {_span(near)}")
        if at and self._starts[at - 1] == added.start:
            return self._segments[at - 1]
        self._put(at, at, [added])
        return added

    def _rounded(self, added: Segment) -> int:
        """The link-time address of the first byte of a segment.

        The specification defines it as the p_vaddr of a program header, with the start
        rounded down to a page and the size rounded up: then p_vaddr must be rounded,
        too. The page size follows from another segment: all have the same load bias.
        """
        module, address = added.module.id, added.address
        rest = address % _PAGE
        if rest and added.start % _PAGE == 0:
            expected = (added.start - self._bases.get(module, 0)) & UINT64_MAX
            is_near = (address - expected) & UINT64_MAX < _LARGEST_PAGE
            if module in self._bases and is_near:
                address = expected
            elif added.size % _PAGE == 0:
                address -= rest
            else:
                remark = f"start is page-aligned, but address is not: off by {rest:#x}?"
                self.remarks.append(remark)
        if address != added.address:
            remark = f"start is page-aligned, but address is not: using {address:#x}"
            self.remarks.append(remark)
        self._bases.setdefault(module, (added.start - address) & UINT64_MAX)
        return address

    def _replace(self, added: Segment) -> Segment:
        """Insert a segment and replace everything that it overlaps."""
        if not added.covers(added.start):
            return added  # it is empty, or ends after the last address
        end = added.start + added.size
        begin = bisect_left(self._starts, added.start)
        after = bisect_left(self._starts, end)
        if begin and self._segments[begin - 1].covers(added.start):
            begin -= 1
        old = self._segments[begin:after]
        if old == [added]:
            return old[0]
        new = [added]
        if old and old[0].start < added.start:
            new.insert(0, old[0]._replace(size=added.start - old[0].start))
        if old and (left := old[-1].start + old[-1].size - end) > 0:
            address = old[-1].linked(end)
            new.append(old[-1]._replace(start=end, size=left, address=address))
        self._put(begin, after, new)
        spans = [_span(each) for each in old if not each.agrees_with(added)]
        if spans:
            self.remarks.append(f"mmap replaces {', '.join(spans[:_MAX_NAMED])}")
        return added

    def _put(self, begin: int, end: int, segments: list[Segment]) -> None:
        """Replace the segments from index *begin* to *end*."""
        more = len(segments) - (end - begin)
        if more > self._budget.segments:
            raise ContextError("too many mmaps")
        self._budget.segments -= more
        self.version += 1
        self._starts[begin:end] = [each.start for each in segments]
        self._segments[begin:end] = segments

    def find(self, address: int) -> Segment | None:
        """The segment that contains an address in memory."""
        return range_at(self._segments, address, self._starts)


def _size(module: LoadedModule) -> int:
    return len(module.name) + len(module.build_id)


def _span(segment: Segment) -> str:
    return f"#{segment.module.id:#x} [{segment.start:#x}-{segment.last:#x}]"
