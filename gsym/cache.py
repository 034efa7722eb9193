"""Caches of bounded size, in memory and on disk; where files are kept; their stamps."""

from __future__ import annotations

import os
from stat import S_ISREG

from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    Key = TypeVar("Key")
    Value = TypeVar("Value")


class BoundedCache(dict["Key", "Value"]):
    """A dict that `keep` empties before it gets more than *most* entries.

    That costs nothing on a hit, unlike knowing which entry was used least recently.
    """

    __slots__ = ("_most",)

    def __init__(self, most: int) -> None:
        self._most = most

    def keep(self, key: Key, value: Value) -> Value:
        """Add an entry; returns *value*."""
        if len(self) >= self._most:
            self.clear()
        self[key] = value
        return value


def cache_root() -> str:
    """The user's cache: files that were fetched, and conversions for each version."""
    folder = os.environ.get("GSYM_CACHE_DIR")
    if folder:
        return folder
    home = os.path.expanduser("~")
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return os.path.join(caches, "gsym")


def symbol_cache(root: str = "") -> str:
    """The folder in a cache for files of symbol servers, laid out as these are."""
    return os.path.join(root or cache_root(), "symbols")


class FileStamp(NamedTuple):
    """Time of modification in nanoseconds, size in bytes, and inode of a regular file.

    Builds that are reproducible may differ in nothing but the inode. The time of change
    is left out, since a further link to a file sets it.
    """

    modified: int
    size: int
    inode: int = 0


def stamp_of(status: os.stat_result) -> FileStamp | None:
    """The stamp of a file; None if it is not a regular one."""
    if not S_ISREG(status.st_mode):
        return None
    return FileStamp(status.st_mtime_ns, status.st_size, status.st_ino)


def stamp_at(path: str) -> FileStamp | None:
    """The stamp of the file at a path; None if no regular file is there."""
    try:
        return stamp_of(os.stat(path))
    except (OSError, ValueError):
        return None


def stamps_below(
    folder: str, suffix: str = "", unread: Callable[[OSError], object] | None = None
) -> Iterator[tuple[str, FileStamp]]:
    """Path and stamp of each file below a folder; *unread* gets errors of folders."""
    for place, folders, names in os.walk(folder, onerror=unread):  # follows no links
        folders.sort()
        for name in sorted(names):
            path = os.path.join(place, name)
            if name.endswith(suffix) and (stamp := stamp_at(path)):
                yield path, stamp


def remove_oldest(
    files: Iterable[tuple[str, FileStamp]], most: int, kept: str = ""
) -> tuple[int, int, int]:
    """Remove the least recently used files until the others have a size of *most*.

    *files* are path and stamp of each; *kept* is not removed.

    Returns:
        The total size before and after, and the number of removed files.
    """
    ordered = sorted((stamp.modified, stamp.size, path) for path, stamp in files)
    before = size = sum(each for _, each, _ in ordered)
    removed = 0
    for _, each, path in ordered:
        if size <= most:
            break
        if path == kept:
            continue
        try:
            os.unlink(path)
        except OSError:
            continue  # another process removed it, or it is not permitted
        size -= each
        removed += 1
    return before, size, removed
