"""What has the modules that a server answers for, by its settings."""

from __future__ import annotations

import os

from gsym.errors import GsymError
from gsym.store.directory import Store
from gsym.store.resolver import Resolver
from gsym.store.source_settings import SourceOpener
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
    opener = SourceOpener()
    try:
        sources = [each for text in settings.sources for each in opener.open(text)]
    except ValueError as error:
        raise GsymError(str(error)) from None
    return Symbolizer(
        Resolver(Store(store_path(settings)), sources),
        most_open=settings.max_open,
        most_mapped=settings.max_mapped,
        index_limit=settings.index_memory,
    )
