"""What is loaded where, as the contextual elements of a log say."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from gsym._native import to_bytes

__all__ = ["AddressSpace", "ContextError", "LoadedModule", "Room", "Segment"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    from gsym.formats.markup_elements import Mmap, Module

    class LoadedModule(NamedTuple):
        """A module by its number; *name* as it stands in the log."""

        id: int
        name: bytes
        build_id: bytes

    class Segment(NamedTuple):
        """A part of a module in memory.

        Attributes:
            start: Address of its first byte in memory.
            size: In bytes.
            module: What it is a part of.
            mode: One or more of r, w and x.
            address: Link-time address of its first byte.
        """

        start: int
        size: int
        module: LoadedModule
        mode: bytes
        address: int

        @property
        def last(self) -> int:
            """Address of its last byte, modulo 2^64."""

        def covers(self, address: int) -> bool:
            """Whether an address in memory is in it."""

        def linked(self, address: int) -> int:
            """The link-time address of an address in memory."""

else:
    from gsym.records import record_type

    LoadedModule = record_type("LoadedModule", "id name build_id")
    LoadedModule.__doc__ = "A module by its number; *name* as it stands in the log."

    class Segment(record_type("Segment", "start size module mode address")):
        """A part of a module in memory."""

        __slots__ = ()

        @property
        def last(self) -> int:
            """Address of its last byte, modulo 2^64."""
            return (self.start + self.size - 1) & _MASK

        def covers(self, address: int) -> bool:
            """Whether an address in memory is in it."""
            return self.start <= address < (self.start + self.size) & _MASK

        def linked(self, address: int) -> int:
            """The link-time address of an address in memory."""
            return (address - self.start + self.address) & _MASK


_MASK = (1 << 64) - 1


class ContextError(Exception):
    """A contextual element does not fit what came before; the text says why."""


class Room:
    """How much more a log may have known at a time.

    The processes of a log share it, so that they cannot fill the memory together.

    Args:
        most: Modules, and as many segments.
        most_bytes: Of names and build ids.
    """

    def __init__(self, most: int = 1 << 16, most_bytes: int = 1 << 26) -> None:
        self.modules = most
        self.segments = most
        self.bytes = most_bytes


class AddressSpace:
    """The modules and segments of one process.

    Args:
        room: What it may take.

    Attributes:
        modules: By their numbers.
        version: Another one after each change.
    """

    def __init__(self, room: Room | None = None) -> None:
        self.modules: dict[int, LoadedModule] = {}
        self.version = 0
        self._room = room or Room()
        self._starts: list[int] = []
        self._segments: list[Segment] = []

    def __bool__(self) -> bool:
        return bool(self.modules or self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def clear(self) -> None:
        """Forget all."""
        self.version += 1
        self._room.modules += len(self.modules)
        self._room.bytes += sum(map(_size, self.modules.values()))
        self._room.segments += len(self._segments)
        self.modules.clear()
        self._starts.clear()
        self._segments.clear()

    def add_module(self, module: Module) -> LoadedModule:
        """Take a module in.

        Raises:
            ContextError: There is one of its number already, or there are too many.
        """
        if module.id in self.modules:
            raise ContextError("duplicate module ID")
        loaded = LoadedModule(module.id, to_bytes(module.name), module.build_id)
        if not self._room.modules or self._room.bytes < _size(loaded):
            raise ContextError("too many modules")
        self._room.modules -= 1
        self._room.bytes -= _size(loaded)
        self.modules[module.id] = loaded
        return loaded

    def add_segment(self, mmap: Mmap) -> Segment:
        """Take a segment of a module in that is known.

        Returns:
            The segment; where an empty one begins at the same address, that one.

        Raises:
            ContextError: It overlaps with another one, or there are too many.
        """
        module = self.modules[mmap.module]
        mode = mmap.mode.encode("ascii")
        added = Segment(mmap.start, mmap.size, module, mode, mmap.address)
        at = bisect_right(self._starts, added.start)
        for near in (
            *self._segments[at : at + 1],
            *self._segments[max(at - 1, 0) : at],
        ):
            if near.covers(added.start) or (
                near.start > added.start and added.covers(near.start)
            ):
                span = f"[{near.start:#x}-{near.last:#x}]"
                raise ContextError(f"overlapping mmap: #{near.module.id:#x} {span}")
        if at and self._starts[at - 1] == added.start:
            return self._segments[at - 1]
        if not self._room.segments:
            raise ContextError("too many mmaps")
        self._room.segments -= 1
        self.version += 1
        self._starts.insert(at, added.start)
        self._segments.insert(at, added)
        return added

    def find(self, address: int) -> Segment | None:
        """The segment that an address in memory is in."""
        at = bisect_left(self._starts, address)
        for near in (
            *self._segments[at : at + 1],
            *self._segments[max(at - 1, 0) : at],
        ):
            if near.covers(address):
                return near
        return None


def _size(module: LoadedModule) -> int:
    return len(module.name) + len(module.build_id)
