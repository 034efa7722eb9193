"""Tells when folders may have a better file of a stored module than it was made from.

A poor module, without inlined calls or with companion files missing, is compared with
what the folders have now. Each state of the folders is tried once.
"""

from __future__ import annotations

import os

from gsym.cache import BoundedCache
from gsym.model import BEST_LEVEL

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gsym.modules.key import ModuleKey
    from gsym.store.modules import Entry

_Stamp = tuple[str, int, int]
_MAX_KNOWN = 16384


class Improvement:
    """Files that may improve modules; safe for threads.

    Args:
        best_files: Returns the best file of a module in each folder.
    """

    def __init__(self, best_files: Callable[[ModuleKey], Iterable[str]]) -> None:
        self._best_files = best_files
        # By the path of the module's file, which is another after each replacement.
        self._tried: BoundedCache[str, frozenset[_Stamp]] = BoundedCache(_MAX_KNOWN)

    def news_of(self, entry: Entry) -> frozenset[_Stamp]:
        """Files that have appeared or changed since a module was made, if not tried."""
        if entry.quality.level >= BEST_LEVEL and not entry.missing:
            return frozenset()
        found = frozenset(self._stamps(entry))
        return frozenset() if found == self._tried.get(entry.path) else found

    def tried(self, entry: Entry, news: frozenset[_Stamp]) -> None:
        """Do not try these files again for a module."""
        self._tried.keep(entry.path, news)

    def _stamps(self, entry: Entry) -> Iterator[_Stamp]:
        for path in self._best_files(entry.identity):
            for stamp in _stamps_of(path):
                # The source of a file in a package begins with that package.
                if not entry.source.startswith(path) or stamp[1] > entry.added * 1e9:
                    yield stamp
        for path in entry.wanted:
            yield from _stamps_of(path)


def _stamps_of(path: str) -> Iterator[_Stamp]:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return
    yield path, status.st_mtime_ns, status.st_size
