"""The bytes of a symbfile, or of several that are its parts, into files."""

from __future__ import annotations

import os

from gsym.symbfile.format import MAGIC
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from typing_extensions import Self

    from gsym.symbfile.format import Encoder


def finished_blocks(encoder: Encoder) -> Iterator[tuple[bytes, bool]]:
    """Blocks of bytes that are finished, and whether a part ends after each."""
    while True:
        block, ends_part = encoder.take()
        if not block and not ends_part:
            return
        yield block, ends_part


class PartFiles:
    """The files that an encoder's bytes go to, each published when it is whole.

    Args:
        target: Path of the file; with *is_split* each part adds its number. What is
            left of an earlier output of more parts is removed in the end: together with
            these, they could not be used.
        is_split: Whether there may be several parts.

    Attributes:
        paths: Those that are whole.
        removed: Parts of an earlier output, which are gone.
        size: Bytes of all that was written.
    """

    def __init__(self, target: str, *, is_split: bool) -> None:
        self.paths: list[str] = []
        self.removed: list[str] = []
        self.size = 0
        self._target = target
        self._is_split = is_split
        self._file: AtomicFile | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.__exit__(kind, error, traceback)
        elif kind is None and self._is_split:
            self.removed = remove_parts(self._target, len(self.paths))

    def take(self, encoder: Encoder) -> None:
        """Write what an encoder has finished."""
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
