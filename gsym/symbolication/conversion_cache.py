"""The user's cache of GSYM files that were converted from binaries."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.store.collection import Collection

MAX_CACHE_SIZE = 4 << 30  # bytes


def cache_root() -> str:
    """The folder of the cache, with a subfolder for each version of gsym."""
    folder = os.environ.get("GSYM_CACHE_DIR")
    if folder:
        return folder
    home = os.path.expanduser("~")
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return os.path.join(caches, "gsym")


def collect_cache(
    max_size: int = MAX_CACHE_SIZE, *, root: str | None = None, kept: str = ""
) -> Collection:
    """Evict least recently used files until the cache fits.

    Args:
        max_size: Bytes of all files.
        root: Its folder; None: the user's cache.
        kept: Path of a file to keep.
    """
    from gsym.store.collection import Collection

    files = sorted(_files(cache_root() if root is None else root))
    before = size = sum(each for _, each, _ in files)
    removed = 0
    for _, each, path in files:
        if size <= max_size:
            break
        if path == kept:
            continue
        try:
            os.unlink(path)
        except OSError:
            continue  # another process removed it, or it is not permitted
        size -= each
        removed += 1
    return Collection(before, size, removed)


def _files(root: str) -> Iterator[tuple[int, int, str]]:
    """Time of the last use, size and path of each file."""
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".gsym"):
                try:
                    status = os.stat(path)
                except OSError:
                    continue
                yield status.st_mtime_ns, status.st_size, path
