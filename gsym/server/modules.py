"""The store and the sources of a server's modules, made from its settings."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from gsym.confined.binaries import ConfinedBinaries
from gsym.confined.confinement import ChildLimits
from gsym.confined.symbolizer import INFLATED_TIMES, open_symbolizer
from gsym.errors import FormatError
from gsym.modules.symbolizer import Symbolizer
from gsym.net.limits import TransferLimits
from gsym.server.mapped_files import bus_errors
from gsym.server.settings import Settings, SettingsError
from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.layout import default_store
from gsym.store.packages import companion_options
from gsym.store.publication import Publication


def store_path(settings: Settings) -> str:
    """The folder of the store, by default that of `gsym store`."""
    return settings.store or default_store()


def source_names(symbolizer: Symbolizer) -> list[str]:
    """The names of the sources of a server."""
    loose = getattr(symbolizer.resolver, "loose_folders", ())
    sources = getattr(symbolizer.resolver, "sources", ())
    return [each.name for each in sources if each not in loose]


def is_uploaded(symbolizer: Symbolizer, source: str) -> bool:
    """Whether no source of a server has a module again that came from *source*."""
    for each in getattr(symbolizer.resolver, "sources", ()):
        place = each.name if each.name[:1] == "/" else each.name.rpartition(" ")[2]
        place = place.rstrip("/*")
        if source.startswith((f"{place}/", f"{place}:")):
            # Of a package, the place in it follows.
            path = source.partition(": ")[0]
            return path[:1] == "/" and not os.path.exists(path)
    return True


def child_limits(settings: Settings, output: int) -> ChildLimits:
    """Limits of confined processes that write files of up to *output* bytes."""
    limits = settings.limits
    return ChildLimits(limits.child_memory, limits.child_seconds, output=output)


def add_unconfined(store: Store, path: str, **known: Any) -> Publication:
    """Add a file without a confined process."""
    before = bus_errors()
    published = add_file(store, path, **known, **companion_options(path))
    if bus_errors() != before:
        if published.outcome != "kept":
            store.remove(published.entry)
        raise FormatError("the file was truncated or cannot be read", path=path)
    return published


def confined_binaries(settings: Settings) -> ConfinedBinaries:
    """The reader of binaries of strangers, and of packages."""
    most = INFLATED_TIMES * settings.limits.max_fetch
    store = Store(store_path(settings))
    return ConfinedBinaries(store, child_limits(settings, most), most)


def make_symbolizer(settings: Settings, patience: float | None = 5.0) -> Symbolizer:
    """Opens modules from the store, and from the sources if the store lacks them.

    Args:
        settings: Names the store and the sources, and has the limits.
        patience: Seconds to wait for the first scan of a folder; None: no limit.

    Raises:
        SettingsError: A source is invalid.
        UnsupportedError: A source needs a package that is not installed.
    """
    limits = settings.limits
    most = INFLATED_TIMES * limits.max_fetch
    try:
        return open_symbolizer(
            store_path(settings),
            settings.sources,
            transfers=TransferLimits(
                total_seconds=limits.fetch_timeout, most_bytes=limits.max_fetch
            ),
            processes=child_limits(settings, most),
            allow_private=settings.allow_private,
            missing_seconds=limits.missing_time,
            most_open=limits.max_open,
            patience=patience,
            add=None
            if settings.confine_fetched
            else partial(add_unconfined, most_inflated=most),
        )
    except ValueError as error:
        raise SettingsError(str(error)) from None
