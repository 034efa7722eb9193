"""The user's cache of GSYM files that were converted from binaries.

It has two levels, in a folder for each version of this package:

    stamps/DEVICE-INODE-SIZE-MTIME-CTIME-ARCHITECTURE-MARK    a symbolic link to
    id/BU/ILDID/ARCHITECTURE-SIZE-MARK-HASH.gsym              a conversion
    contents/ARCHITECTURE-SIZE-MARK-HASH.gsym                 one of a file without id

Other links have a text instead: the hash of the code of a binary, or the stamp of the
`BINARY.gsym` that is known to be of the binary.

MARK stands for the debug files that the conversion reads and its options, HASH for all
bytes of the binary. The time of change in a stamp is none that users can set, so a
binary that was rewritten in place, or replaced by one of the same size and time, has
another stamp. Contents are read if the stamp is new and there is a conversion that they
may have, or when there is a new one.
"""

from __future__ import annotations

import os
import time
from _thread import get_ident

from gsym.cache import cache_root, remove_oldest, stamps_below, symbol_cache

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from hashlib import blake2b

    from gsym.store.collection import Collection

MAX_CACHE_SIZE = 4 << 30  # bytes
_SUFFIX = ".gsym"
_INCOMPLETE = ".incomplete" + _SUFFIX
_STAMPS = "stamps"
_MOST_LINKS = 1 << 16
_UP = os.path.join("..", "")
_HASH_SIZE = 16
_SECOND = 10**9
# Nanoseconds: more than the precision of times of change, where these have fractions of
# a second, and where not.
_TICK, _COARSE_TICK = 10**7, 2 * _SECOND


class Stamp:
    """A file as it was, by which is remembered what its contents told.

    *status* is that before the contents were read.
    """

    def __init__(self, path: str, status: os.stat_result, root: str | None) -> None:
        from gsym import __version__

        self.path = path
        self.folder: str = os.path.join(root or cache_root(), __version__)
        self._fields = _fields(status)
        self.name: str = "-".join(f"{each:x}" for each in self._fields)

    def read(self, what: str) -> str:
        """Text that `write` kept as *what*; "" for none."""
        try:
            return os.readlink(self._link(what))
        except OSError:
            return ""

    def write(self, what: str, text: str) -> None:
        """Remember a text for the file, unless it was changed or may be just now."""
        if not self.is_current():
            return
        link = self._link(what)
        temporary = f"{link}.{os.getpid()}-{get_ident()}"
        try:
            os.makedirs(os.path.dirname(link), mode=0o700, exist_ok=True)
            os.symlink(text, temporary)
            os.replace(temporary, link)
        except OSError:
            pass  # a cache that is read-only; others write it meanwhile

    def settle(self) -> None:
        """Wait until any later change of the file gives it another time.

        That is a few milliseconds, for a file that has just been written.
        """
        left = _TICK - self._age()
        if 0 < left <= _TICK:
            time.sleep(left / _SECOND)

    def is_current(self) -> bool:
        """Whether the file is the same, and its contents are what was read."""
        is_coarse = self._fields[-1] % _SECOND == 0
        least = _COARSE_TICK if is_coarse else _TICK
        return self._age() >= least and self.is_same()

    def once(self, what: str, make: Callable[[], str]) -> str:
        """A text that is made of the contents of the file once."""
        known = self.read(what)
        if not known:
            self.settle()
            known = make()
            self.write(what, known)
        return known

    def _age(self) -> int:
        return time.time_ns() - self._fields[-1]

    def is_same(self) -> bool:
        """Whether the file is what it was."""
        try:
            return _fields(os.stat(self.path)) == self._fields
        except OSError:
            return False

    def _link(self, what: str) -> str:
        return os.path.join(self.folder, _STAMPS, f"{self.name}-{what}")


def _fields(status: os.stat_result) -> tuple[int, ...]:
    size, changed = status.st_size, status.st_ctime_ns
    return status.st_dev, status.st_ino, size, status.st_mtime_ns, changed


class CachePlace:
    """The place in the cache of the conversion of a file, or of a slice of it.

    *read_too* are paths of other files that the conversion reads if they are there.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - all that a conversion depends on
        self,
        stamp: Stamp,
        data: memoryview,
        uuid: bytes,
        architecture: str,
        read_too: Iterable[str],
        options: tuple[object, ...],
    ) -> None:
        self.stamp: Stamp = stamp
        self._data = data
        self._read_too = tuple(read_too)
        self._options = options
        self._mark = self._make_mark()
        self._what = f"{architecture}-{self._mark}"
        digits = uuid.hex()
        self.folder: str = os.path.join(stamp.folder, "contents")
        if uuid:
            id_folder = os.path.join(stamp.folder, "id")
            self.folder = os.path.join(id_folder, digits[:2], digits[2:] or "-")
        self._prefix = f"{architecture}-{len(data):x}-{self._mark}-"
        self._path = ""

    @property
    def path(self) -> str:
        """The path of the conversion, for which all of the file is read."""
        if not self._path:
            from gsym.containers.mapped_file import blocks

            self.stamp.settle()
            digest = _new_digest()
            for block in blocks(self._data):
                digest.update(block)
            name = self._prefix + digest.hexdigest() + _SUFFIX
            self._path = os.path.join(self.folder, name)
        return self._path

    def linked(self) -> str:
        """The path that is remembered for the file; "" for none."""
        target = self.stamp.read(self._what)
        return target and os.path.join(self.stamp.folder, target.removeprefix(_UP))

    def candidate(self) -> str:
        """`path` if there may be a file already; else ""."""
        may_be = (
            name.startswith(self._prefix) and not name.endswith(_INCOMPLETE)
            for name in _names(self.folder)
        )
        return self.path if any(may_be) else ""

    def remember(self) -> None:
        """Find `path` by the stamp of the file from now on."""
        target = os.path.relpath(self.path, self.stamp.folder)
        self.stamp.write(self._what, _UP + target)

    def keep(self, made: str, *, is_complete: bool) -> str:
        """Move a new conversion to its place; the path that it then has.

        One that cannot be found again, and is removed with the least recently used, is
        of a file that was changed meanwhile, or not complete.
        """
        is_kept = is_complete and self.stamp.is_current()
        is_kept = is_kept and self._make_mark() == self._mark
        path = self.path if is_kept else self.path.removesuffix(_SUFFIX) + _INCOMPLETE
        os.replace(made, path)
        if is_kept:
            self.remember()
        return path

    def _make_mark(self) -> str:
        digest = _new_digest()
        text = repr((tuple(_stamps(self._read_too)), self._options))
        digest.update(text.encode("utf-8", "surrogateescape"))
        return digest.hexdigest()


def _new_digest() -> blake2b:
    """An empty hash, by which contents are told apart."""
    try:
        from _blake2 import blake2b  # the import of hashlib takes as long as a lookup
    except ImportError:
        from hashlib import blake2b
    return blake2b(digest_size=_HASH_SIZE)


def _stamps(paths: Iterable[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Path and stamp of the files that are there."""
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            continue
        yield path, _fields(status)


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

    Links to files that are gone are removed as well, and do not count.
    """
    from gsym.store.collection import Collection

    root = cache_root() if root is None else root
    files = *stamps_below(root, _SUFFIX), *stamps_below(symbol_cache(root))
    before, size, removed = remove_oldest(files, max_size, kept)
    _remove_links(root, _MOST_LINKS if max_size else 0)
    return Collection(before, size, removed)


def _remove_links(root: str, most: int) -> None:
    """Remove links to what is gone, and of the others all but the newest."""
    found = []
    folders = (os.path.join(root, each, _STAMPS) for each in _names(root))
    for link in (os.path.join(each, name) for each in folders for name in _names(each)):
        try:
            text = os.readlink(link)
            changed = os.lstat(link).st_mtime_ns
        except OSError:
            continue  # another process removed it
        target = os.path.join(os.path.dirname(link), text)
        is_broken = text.startswith(_UP) and not os.path.exists(target)
        found.append((0 if is_broken else changed, link, is_broken))
    found.sort()
    for at, (_, link, is_broken) in enumerate(found, most - len(found)):
        if is_broken or at < 0:
            try:  # noqa: SIM105 - as in `Stamp.write`
                os.unlink(link)
            except OSError:
                pass  # as above


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
