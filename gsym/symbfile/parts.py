"""Write symbfiles, or the parts of one, to files."""

from __future__ import annotations

import os

from gsym.symbfile.format import Encoder, is_symbfile
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self


def finished_blocks(encoder: Encoder) -> Iterator[tuple[bytes, bool]]:
    """Finished blocks of bytes, and whether a part ends after each."""
    while True:
        block, ends_part = encoder.take()
        if not block and not ends_part:
            return
        yield block, ends_part


class PartFiles:
    """The output files of an encoder, each published when it is complete.

    With *is_split* each part adds its number to the target. Further parts of an earlier
    output are removed at the end.
    """

    def __init__(self, target: str, *, is_split: bool) -> None:
        self.paths: list[str] = []  # the complete files
        self.removed: list[str] = []  # removed parts of an earlier output
        self.size: int = 0  # total bytes written
        self._target = target
        self._is_split = is_split
        self._file: AtomicFile | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        if self._file is not None:
            self._file.__exit__(kind, *raised)
        elif kind is None and self._is_split:
            self.removed = remove_parts(self._target, len(self.paths))

    def take(self, encoder: Encoder) -> None:
        """Write the finished bytes of an encoder."""
        for block, ends_part in finished_blocks(encoder):
            if self._file is None:
                self._file = AtomicFile(self._path()).__enter__()
            self._file.write(block)
            self.size += len(block)
            if ends_part:
                whole, self._file = self._file, None
                whole.__exit__(None, None, None)
                self.paths.append(self._path())

    def _path(self) -> str:
        number = len(self.paths)
        return _part_path(self._target, number) if self._is_split else self._target


def remove_parts(target: str, first: int) -> list[str]:
    """Remove the parts of *target* from number *first* on; returns their paths.

    Only consecutive numbers are removed, and only regular files that begin as a
    symbfile. The last one is removed first, so that an interruption leaves no gap.
    """
    stale: list[str] = []
    while True:
        path = _part_path(target, first + len(stale))
        is_file = os.path.isfile(path) and not os.path.islink(path)
        if not is_file or not is_symbfile(path):
            break
        stale.append(path)
    for path in reversed(stale):
        os.unlink(path)
    return stale


def is_part_of(path: str, target: str) -> bool:
    """Whether *path* has the name of a part of *target*."""
    part, whole = os.path.realpath(path), os.path.realpath(target)
    number = part.removeprefix(f"{whole}-")
    return number != part and number.isascii() and number.isdigit()


def _part_path(target: str, number: int) -> str:
    return f"{target}-{number}"
