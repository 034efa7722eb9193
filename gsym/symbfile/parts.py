"""The bytes of a symbfile, or of several that are its parts, into files."""

from __future__ import annotations

import os

from gsym.atomic_file import AtomicFile
from gsym.formats.symbfile import MAGIC

__all__ = ["finished_blocks", "is_part_of", "remove_parts", "write_parts"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    from gsym.formats.symbfile import Encoder

    class WrittenFiles(NamedTuple):
        """The files that something became.

        Attributes:
            paths: Of the file, or of each part.
            removed: Of parts of an earlier, longer output, which are gone.
            size: Of all that was written, in bytes.
        """

        paths: tuple[str, ...]
        removed: tuple[str, ...]
        size: int

else:
    from gsym.records import record_type

    WrittenFiles = record_type("WrittenFiles", "paths removed size")
    WrittenFiles.__doc__ = "The files that something became."


def finished_blocks(encoder: Encoder) -> Iterator[tuple[bytes, bool]]:
    """Blocks of bytes that are finished, and whether a part ends behind each."""
    while True:
        block, ends_part = encoder.take()
        if not block and not ends_part:
            return
        yield block, ends_part


def write_parts(
    blocks: Iterator[tuple[bytes, bool]], target: str, *, is_split: bool
) -> WrittenFiles:
    """Write blocks to a file, or to one for each part.

    Args:
        blocks: Each with whether a part ends behind it.
        target: Path of the file; with *is_split* each part adds its number. What is
            left of an earlier output of more parts is removed: together with these,
            they would be of no use.
        is_split: Whether there may be several parts.
    """
    paths: list[str] = []
    size = 0
    found = next(blocks, None)
    while found is not None:
        path = _part_path(target, len(paths)) if is_split else target
        ends_part = False
        with AtomicFile(path) as file:
            while found is not None and not ends_part:
                block, ends_part = found
                file.write(block)
                size += len(block)
                found = next(blocks, None)
        paths.append(path)
    removed = remove_parts(target, len(paths)) if is_split else []
    return WrittenFiles(tuple(paths), tuple(removed), size)


def remove_parts(target: str, first: int) -> list[str]:
    """Remove the parts of *target* from number *first* on; returns their paths.

    Nothing else is touched: numbers go on without a gap, and only a regular file that
    begins as a symbfile is a part. The last one goes first, so that no gap is left
    where this is stopped.
    """
    stale: list[str] = []
    while _is_symbfile(path := _part_path(target, first + len(stale))):
        stale.append(path)
    for path in reversed(stale):
        os.unlink(path)
    return stale


def is_part_of(path: str, target: str) -> bool:
    """Whether *path* has the name of a part of *target*, be it there or not."""
    own, whole = os.path.realpath(path), os.path.realpath(target)
    number = own.removeprefix(f"{whole}-")
    return number != own and number.isascii() and number.isdigit()


def _part_path(target: str, number: int) -> str:
    return f"{target}-{number}"


def _is_symbfile(path: str) -> bool:
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC
