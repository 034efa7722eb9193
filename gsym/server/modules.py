"""What has the modules that a server answers for, by its settings."""

from __future__ import annotations

import os

from gsym.symbolizer import Symbolizer

__all__ = ["make_symbolizer", "store_path"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.server.settings import Settings


def store_path(settings: Settings) -> str:
    """The folder of the store: the one that is set, or one in the user's cache."""
    if settings.store:
        return settings.store
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "gsym", "store")


def make_symbolizer(settings: Settings) -> Symbolizer:
    """Opens modules of the store, and of the sources behind it.

    Raises:
        GsymError: A source is of no known kind.
        OSError: The store cannot be read.
    """
    return Symbolizer(
        store_path(settings),
        most_open=settings.max_open,
        most_mapped=settings.max_mapped,
        index_limit=settings.index_memory,
    )
