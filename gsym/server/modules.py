"""What has the modules that a server answers for, by its settings."""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack
from functools import partial

from gsym.net.limits import TransferLimits
from gsym.server.confined_modules import ConfinedAdder
from gsym.server.confinement import ChildLimits
from gsym.server.settings import SettingsError
from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.layout import default_store
from gsym.store.loose_files import LooseFiles
from gsym.store.resolver import Resolver, negative_cache_of
from gsym.store.sources.negative_cache import MissLifetimes
from gsym.store.sources.settings import SourceOpener
from gsym.store.symbolizer import Symbolizer

_LOG = logging.getLogger("gsym.server")
_LONGEST_WAIT = 2.0  # seconds for a source; a client waits for the answer
_INFLATED_TIMES = 2  # so much larger a file may be than it is sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.server.settings import Settings
    from gsym.store.publication import Publication
    from gsym.store.resolver import Adder
    from gsym.store.sources.source import Source


def store_path(settings: Settings) -> str:
    """The folder of the store: the one that is set, or that of `gsym store`."""
    return settings.store or default_store()


def source_names(symbolizer: Symbolizer) -> list[str]:
    """The sources of a server, as a person named them."""
    sources = getattr(symbolizer.resolver, "sources", ())
    return [each.name for each in sources if not isinstance(each, LooseFiles)]


def _adder(settings: Settings) -> Adder:
    """What puts fetched files into the store."""
    most = _INFLATED_TIMES * settings.limits.max_fetch
    if not settings.confine_fetched:
        return partial(_add, partial(add_file, most_inflated=most))
    limits = ChildLimits(
        memory=settings.limits.child_memory,
        seconds=settings.limits.child_seconds,
        output=most,
    )
    return partial(_add, ConfinedAdder(limits, most))


def _add(add: Adder, store: Store, path: str, **known: Any) -> Publication:
    """Put a file into the store, and log what was missing of it."""
    publication = add(store, path, **known)
    entry = publication.entry
    if entry.missing and publication.outcome != "kept":
        _LOG.warning("%s is incomplete: %s", known["source"], "; ".join(entry.missing))
    return publication


def make_symbolizer(settings: Settings) -> Symbolizer:
    """Opens modules of the store, and of the sources behind it.

    Where no source is named, the current folder is the source. Closed, it closes the
    connections of the sources.

    Raises:
        SettingsError: A source is of no known kind.
        UnsupportedError: It needs a package that is not installed.
    """
    named = settings.sources or [os.curdir]
    opener = SourceOpener(
        limits=TransferLimits(
            total_seconds=settings.limits.fetch_timeout,
            most_bytes=settings.limits.max_fetch,
            most_inflated=_INFLATED_TIMES * settings.limits.max_fetch,
            wait_seconds=_LONGEST_WAIT,
        ),
        allow_private=settings.allow_private,
    )
    sources: list[Source] = []
    for text in named:
        try:
            sources += opener.open(text)
        except ValueError as error:
            raise SettingsError(str(error)) from None
        if os.path.isdir(text):
            sources.append(LooseFiles(text))
    store = Store(store_path(settings))
    lifetimes = MissLifetimes(missing=settings.limits.missing_time)
    misses = negative_cache_of(store, lifetimes)
    closing = ExitStack()
    closing.callback(opener.close)
    closing.callback(misses.close)
    resolver = Resolver(
        store,
        sources,
        misses=misses,
        add=_adder(settings),
    )
    return Symbolizer(
        resolver,
        most_open=settings.limits.max_open,
        on_close=closing.close,
    )
