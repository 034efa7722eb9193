"""Tells when folders may have a better file of a stored module than it was made from.

A poor module, without inlined calls or with companion files missing, is compared with
what the folders have now. Each state of the folders is tried once.
"""

from __future__ import annotations

from gsym.cache import BoundedCache, FileStamp, stamp_at
from gsym.model import BEST_LEVEL

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gsym.modules.key import ModuleKey
    from gsym.store.modules import Entry

_News = frozenset[tuple[str, FileStamp]]
_MAX_KNOWN = 16384


class Improvement:
    """Files that may improve modules; safe for threads."""

    def __init__(self, best_files: Callable[[ModuleKey], Iterable[str]]) -> None:
        self._best_files = best_files
        # By the path of the module's file, which is another after each replacement.
        self._tried: BoundedCache[str, _News] = BoundedCache(_MAX_KNOWN)

    def news_of(self, entry: Entry) -> _News:
        """Files that have appeared or changed since a module was made, if not tried."""
        if entry.quality.level >= BEST_LEVEL and not entry.missing:
            return frozenset()
        found = frozenset(self._stamps(entry))
        return frozenset() if found == self._tried.get(entry.path) else found

    def tried(self, entry: Entry, news: _News) -> None:
        """Do not try these files again for a module."""
        self._tried.keep(entry.path, news)

    def _stamps(self, entry: Entry) -> Iterator[tuple[str, FileStamp]]:
        for path in self._best_files(entry.identity):
            stamp = stamp_at(path)
            # The source of a file in a package begins with that package.
            is_source = entry.source.startswith(path)
            if stamp and (not is_source or stamp.modified > entry.added * 1e9):
                yield path, stamp
        for path in entry.wanted:
            if stamp := stamp_at(path):
                yield path, stamp
