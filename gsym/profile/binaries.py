"""Finds the binary that a mapping is of, for what only it knows: its segments.

Profilers tell at which offset of its file a part of a module was mapped. The offset
alone does not give the link-time address: lld leaves a page between two segments in
memory and none in the file, so that an address is some pages above its offset.
"""

from __future__ import annotations

import os

from gsym.arguments import paths_of
from gsym.errors import GsymError
from gsym.sources.debug_directories import DEBUG_DIRECTORIES
from gsym.sources.mapped_file import map_file
from gsym.sources.object_file import ObjectFile
from gsym.sources.program_headers import load_segments

__all__ = ["Binaries", "build_id_of", "file_address"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.profile.model import Mapping
    from gsym.sources.program_headers import Segment

_NONE: tuple[Segment, ...] = ()


class Binaries:
    """The binaries of this machine, and those in folders.

    A file counts only with the build id of the mapping, whatever its name is.

    Args:
        folders: Where binaries or their debug files stand under their own names, or
            below `.build-id`.
        debug_folders: Where installed debug files are, below `.build-id`.
    """

    def __init__(
        self,
        folders: Sequence[str] = (),
        debug_folders: Sequence[str] = DEBUG_DIRECTORIES,
    ) -> None:
        self._folders = paths_of("folders", folders)
        self._trees = (*self._folders, *paths_of("debug_folders", debug_folders))
        self._known: dict[tuple[str, str], tuple[Segment, ...]] = {}

    def segments(self, mapping: Mapping) -> tuple[Segment, ...]:
        """The loaded parts of the module of a mapping; none where it is not found."""
        key = mapping.build_id, mapping.path
        if key not in self._known:
            wanted = mapping.build_id
            found = (_segments(path, wanted) for path in self._candidates(mapping))
            self._known[key] = next(filter(None, found), _NONE) if wanted else _NONE
        return self._known[key]

    def _candidates(self, mapping: Mapping) -> Iterator[str]:
        name = os.path.basename(mapping.path)
        if os.path.isabs(mapping.path):
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
    """The build id of a binary, as hexadecimal digits; "" where there is none."""
    try:
        with ObjectFile(map_file(path), path) as binary:
            return binary.uuid.hex()
    except (GsymError, OSError, ValueError):
        return ""


def file_address(offset: int, segments: Sequence[Segment]) -> int | None:
    """The link-time address of a byte of a file; None where it is not loaded.

    Args:
        offset: In the file. Two segments may be in one page of it, but no byte is in
            both; where headers say otherwise, code is meant.
        segments: Of the file.
    """
    covering = [
        segment
        for segment in segments
        if segment.offset <= offset < segment.offset + segment.size
    ]
    for segment in sorted(covering, key=lambda each: not each.is_executable):
        return segment.address + offset - segment.offset
    return None


def _segments(path: str, build_id: str) -> tuple[Segment, ...]:
    try:
        with ObjectFile(map_file(path), path) as binary:
            if binary.uuid.hex() == build_id:
                return load_segments(binary.data, path)
    except (GsymError, OSError, ValueError):
        # It is no binary, or not to be had: there may be another one.
        pass
    return _NONE
