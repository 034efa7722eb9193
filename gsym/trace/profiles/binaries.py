"""The binaries that addresses of a profile lie in."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right

from gsym.arguments import paths_of
from gsym.containers.headers import load_segments
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.conversion.companions import DEBUG_DIRECTORIES
from gsym.errors import GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gsym.containers.headers import Segment
    from gsym.trace.profiles.model import Mapping


class AddressRanges:
    """Finds the range of an address.

    Args:
        ranges: As for `add`, numbered from 0.
    """

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        # Each address belongs to the last start at or below it.
        self._starts: list[int] = []
        self._owners: list[int | None] = []
        for number, (start, end) in enumerate(ranges):
            self.add(start, end, number)

    def add(self, start: int, end: int, number: int) -> None:
        """Add a range: its first address, and the one after its last."""
        if start >= end:
            return
        rest = self.find(end)
        first, last = bisect_left(self._starts, start), bisect_right(self._starts, end)
        self._starts[first:last] = [start, end]
        self._owners[first:last] = [number, rest]

    def find(self, address: int) -> int | None:
        """The number of the last range that covers an address; None without any."""
        place = bisect_right(self._starts, address) - 1
        return self._owners[place] if place >= 0 else None


_NONE: tuple[Segment, ...] = ()


class Binaries:
    """The binaries of this machine, and those in folders.

    A file is used only if it has the build id of the mapping.

    Args:
        folders: Of binaries or debug files, by name or below `.build-id`.
        debug_folders: Of installed debug files, below `.build-id`.
        is_local: Whether the paths of mappings are tried, too, as those of a profile of
            this machine.
    """

    def __init__(
        self,
        folders: Sequence[str] = (),
        debug_folders: Sequence[str] = DEBUG_DIRECTORIES,
        *,
        is_local: bool = True,
    ) -> None:
        self._is_local = is_local
        self._folders = paths_of("folders", folders)
        self._trees = (*self._folders, *paths_of("debug_folders", debug_folders))
        self._known: dict[tuple[str, str], tuple[Segment, ...]] = {}

    def segments(self, mapping: Mapping) -> tuple[Segment, ...]:
        """The segments of the module of a mapping; empty if it is not found."""
        key = mapping.build_id, mapping.path
        if key not in self._known:
            wanted = mapping.build_id
            found = (_segments(path, wanted) for path in self._candidates(mapping))
            self._known[key] = next(filter(None, found), _NONE) if wanted else _NONE
        return self._known[key]

    def _candidates(self, mapping: Mapping) -> Iterator[str]:
        name = os.path.basename(mapping.path)
        if self._is_local and os.path.isabs(mapping.path):
            yield mapping.path
        for folder in self._folders if name else ():
            yield os.path.join(folder, name)
            yield os.path.join(folder, f"{name}.debug")
        digits = mapping.build_id
        for folder in self._trees:
            place = os.path.join(folder, ".build-id", digits[:2], digits[2:])
            yield place
            yield f"{place}.debug"


def build_id_of(path: str) -> str:
    """The build id of a binary, as hexadecimal digits, or ""."""
    try:
        with ObjectFile(map_file(path), path) as binary:
            return binary.uuid.hex()
    except (GsymError, OSError, ValueError):
        return ""


def _segments(path: str, build_id: str) -> tuple[Segment, ...]:
    try:
        with ObjectFile(map_file(path), path) as binary:
            if binary.uuid.hex() == build_id:
                return load_segments(binary.data, path)
    except (GsymError, OSError, ValueError):
        # Not a binary, or not readable: there may be another one.
        pass
    return _NONE
