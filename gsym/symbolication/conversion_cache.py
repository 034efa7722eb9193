"""The user's cache of GSYM files that were converted from binaries."""

from __future__ import annotations

import os

from gsym.conversion.companions import cache_root, symbol_cache
from gsym.errors import GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.containers.object_file import ObjectFile
    from gsym.store.collection import Collection
    from gsym.symbolication.binary_lookup import BinarySearch

MAX_CACHE_SIZE = 4 << 30  # bytes


def cache_path(binary: ObjectFile, search: BinarySearch) -> str:
    """The path in the cache for *binary* and the files that its conversion reads."""
    from zlib import crc32

    from gsym import __version__

    status = os.stat(binary.path)
    read_too = (*_stamps(binary, search), search.debuginfod, search.dwp)
    mark = crc32(repr(read_too).encode("utf-8", "surrogateescape"))
    name = f"{status.st_size:x}-{binary.architecture}-{mark:08x}.gsym"
    if binary.uuid:
        folder = os.path.join(search.cache or cache_root(), __version__)
        digits = binary.uuid.hex()
        return os.path.join(folder, "id", digits[:2], digits[2:] or "-", name)
    return path_in_cache(binary.path, search, name)


def path_in_cache(path: str, search: BinarySearch, name: str = "") -> str:
    """The path in the cache for a file as it is now, which has no other identity."""
    from gsym import __version__

    folder = os.path.join(search.cache or cache_root(), __version__, "path")
    status, place = os.stat(path), os.path.realpath(path).lstrip(os.sep)
    name = name or f"{status.st_size:x}.gsym"
    return os.path.join(folder, place, f"{status.st_mtime_ns:x}-{name}")


def _stamps(binary: ObjectFile, search: BinarySearch) -> list[tuple[str, int, int]]:
    """Path, time and size of the available debug files of a stripped binary."""
    if binary.has_section(b".debug_info"):
        return []
    from gsym.conversion.companions.elf import (
        build_id_paths,
        debug_link_paths,
        read_debug_link,
    )

    directories = search.debug_file_directories
    paths = list(build_id_paths(binary.uuid, directories))
    try:
        link = read_debug_link(binary)
    except GsymError:
        link = None
    if link is not None:
        paths += debug_link_paths(link.name, binary.path, directories)
    if binary.pdb_path:
        from gsym.conversion.companions.pdb import pdb_paths, pdb_store_paths

        paths += pdb_paths(binary, directories)
        paths += pdb_store_paths(binary, directories)
    stamps = []
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            continue
        stamps.append((path, status.st_mtime_ns, status.st_size))
    return stamps


def is_writable(folder: str) -> bool:
    """Whether *folder*, which is created, is writable."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


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

    root = cache_root() if root is None else root
    files = sorted((*_files(root, ".gsym"), *_files(symbol_cache(root))))
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


def _files(root: str, suffix: str = "") -> Iterator[tuple[int, int, str]]:
    """Time of the last use, size and path of each file with a suffix."""
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(suffix):
                try:
                    status = os.stat(path)
                except OSError:
                    continue
                yield status.st_mtime_ns, status.st_size, path
