"""The store and the sources of a server's modules, made from its settings."""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack
from functools import partial
from hashlib import sha256

from gsym.errors import FormatError
from gsym.net.limits import TransferLimits
from gsym.server.confined_binaries import ConfinedBinaries
from gsym.server.confined_modules import ConfinedAdder
from gsym.server.confinement import ChildLimits
from gsym.server.mapped_files import bus_errors
from gsym.server.settings import SettingsError
from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.layout import default_store
from gsym.store.loose_files import LooseFiles
from gsym.store.packages import Packages, companion_options
from gsym.store.resolver import Resolver, negative_cache_of
from gsym.store.sources.negative_cache import MissLifetimes
from gsym.store.sources.settings import SourceOpener
from gsym.store.symbolizer import Symbolizer

_LOG = logging.getLogger("gsym.server")
_LONGEST_WAIT = 2.0  # seconds to wait for a busy source, as a client waits too
_PACKAGES = ".packages"
_FOLDER_DIGITS = 32
_INFLATED_TIMES = 2  # maximum ratio of inflated to transferred size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.server.settings import Settings
    from gsym.store.publication import Publication
    from gsym.store.resolver import Adder
    from gsym.store.sources.source import Source


def store_path(settings: Settings) -> str:
    """The folder of the store, by default that of `gsym store`."""
    return settings.store or default_store()


def source_names(symbolizer: Symbolizer) -> list[str]:
    """The names of the sources of a server."""
    sources = getattr(symbolizer.resolver, "sources", ())
    return [each.name for each in sources if not isinstance(each, LooseFiles)]


def read_folders(symbolizer: Symbolizer) -> None:
    """Start to read the folders among the sources, before the first request."""
    for source in getattr(symbolizer.resolver, "sources", ()):
        if isinstance(source, LooseFiles):
            source.start()


def child_limits(settings: Settings, output: int) -> ChildLimits:
    """Limits of confined processes that write files of up to *output* bytes."""
    limits = settings.limits
    return ChildLimits(limits.child_memory, limits.child_seconds, output=output)


def _adder(settings: Settings) -> Adder:
    """The function that adds fetched files to the store."""
    most = _INFLATED_TIMES * settings.limits.max_fetch
    if not settings.confine_fetched:
        return partial(_add, partial(_add_here, most_inflated=most))
    return partial(_add, ConfinedAdder(child_limits(settings, most), most))


def _add_here(store: Store, path: str, **known: Any) -> Publication:
    """Add a file without a confined process.

    Raises:
        FormatError: It was truncated meanwhile, so that parts of it were read as zeros.
    """
    before = bus_errors()
    published = add_file(store, path, **known, **companion_options(path))
    if bus_errors() != before:
        if published.outcome != "kept":
            store.remove(published.entry)
        raise FormatError("the file was truncated or cannot be read", path=path)
    return published


def _add(add: Adder, store: Store, path: str, **known: Any) -> Publication:
    """Add a file to the store, and log missing debug information."""
    publication = add(store, path, **known)
    entry = publication.entry
    if entry.missing and publication.outcome != "kept":
        _LOG.warning("%s is incomplete: %s", known["source"], "; ".join(entry.missing))
    return publication


def confined_binaries(settings: Settings) -> ConfinedBinaries:
    """The reader of binaries of strangers, and of packages."""
    most = _INFLATED_TIMES * settings.limits.max_fetch
    store = Store(store_path(settings))
    return ConfinedBinaries(store, child_limits(settings, most), most)


def _loose_files(folder: str, settings: Settings, patience: float | None) -> LooseFiles:
    place = sha256(os.path.abspath(folder).encode()).hexdigest()[:_FOLDER_DIGITS]
    records = os.path.join(store_path(settings), _PACKAGES, place)
    return LooseFiles(
        folder,
        max_depth=32,
        max_files=200_000,
        patience=patience,
        packages=Packages(confined_binaries(settings), records),
    )


def make_symbolizer(settings: Settings, patience: float | None = 5.0) -> Symbolizer:
    """Opens modules from the store, and from the sources if the store lacks them.

    Without configured sources, the current folder is the source. Closing the symbolizer
    closes the connections of the sources.

    Args:
        settings: Names the store and the sources, and has the limits.
        patience: Seconds to wait for the first scan of a folder; None: no limit.

    Raises:
        SettingsError: A source is invalid.
        UnsupportedError: A source needs a package that is not installed.
    """
    limits = settings.limits
    opener = SourceOpener(
        limits=TransferLimits(
            total_seconds=limits.fetch_timeout,
            most_bytes=limits.max_fetch,
            most_inflated=_INFLATED_TIMES * limits.max_fetch,
            wait_seconds=_LONGEST_WAIT,
        ),
        allow_private=settings.allow_private,
    )
    sources: list[Source] = []
    for text in settings.sources or [os.curdir]:
        try:
            sources += opener.open(text)
        except ValueError as error:
            raise SettingsError(str(error)) from None
        if os.path.isdir(text):
            sources.append(_loose_files(text, settings, patience))
    store = Store(store_path(settings))
    misses = negative_cache_of(store, MissLifetimes(missing=limits.missing_time))
    closing = ExitStack()
    closing.callback(opener.close)
    closing.callback(misses.close)
    resolver = Resolver(store, sources, misses=misses, add=_adder(settings))
    return Symbolizer(resolver, most_open=limits.max_open, on_close=closing.close)
