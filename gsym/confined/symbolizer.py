"""A symbolizer that fetches modules, and converts them in confined processes."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from hashlib import sha256
from threading import Thread
from typing import Any

from gsym.confined.adding import ConfinedAdder
from gsym.confined.binaries import ConfinedBinaries
from gsym.confined.confinement import ChildLimits
from gsym.modules.resolver import Resolver, negative_cache_of
from gsym.modules.symbolizer import Symbolizer
from gsym.net.limits import TransferLimits
from gsym.store.directory import Store
from gsym.store.loose_files import LooseFiles
from gsym.store.packages import Packages
from gsym.store.publication import Publication
from gsym.store.sources.negative_cache import MissLifetimes
from gsym.store.sources.settings import SourceOpener

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.modules.resolver import Adder


_LOG = logging.getLogger("gsym.server")
_LONGEST_WAIT = 2.0  # seconds to wait for a busy source, as a client waits too
_LAST_RETRY = 3.0  # seconds after which a source is not asked again for a request
_PACKAGES = ".packages"
_FOLDER_DIGITS = 32
_TRANSFERS, _PROCESSES = TransferLimits(), ChildLimits()
INFLATED_TIMES = 2  # maximum ratio of inflated to transferred size


def open_symbolizer(  # noqa: PLR0913 - independent keywords
    store: str,
    sources: Sequence[str] = (),
    *,
    transfers: TransferLimits = _TRANSFERS,
    processes: ChildLimits = _PROCESSES,
    allow_private: bool = False,
    missing_seconds: float = 3600.0,
    most_open: int = 256,
    patience: float | None = None,
    add: Adder | None = None,
) -> Symbolizer:
    """Open modules from a store, and from sources if the store lacks them.

    Closing the symbolizer closes the connections of the sources. Without any sources,
    the current folder is one. A file from a source may have twice its limit of
    *transfers* when it is inflated. *patience* are the seconds to wait for the first
    scan of a folder.

    Raises:
        UnsupportedError: A source needs a package that is not installed.
        ValueError: A source is invalid.
    """
    most = INFLATED_TIMES * transfers.most_bytes
    processes = processes._replace(output=most)
    place = Store(store)

    def scan(folder: str) -> LooseFiles:
        digits = sha256(os.path.abspath(folder).encode()).hexdigest()[:_FOLDER_DIGITS]
        packages = Packages(
            ConfinedBinaries(place, processes, most),
            os.path.join(store, _PACKAGES, digits),
        )
        return LooseFiles(folder, patience=patience, packages=packages)

    opener = SourceOpener(
        limits=transfers._replace(
            most_inflated=most, wait_seconds=_LONGEST_WAIT, retry_seconds=_LAST_RETRY
        ),
        allow_private=allow_private,
    )
    names = sources or [os.curdir]
    opened = [each for text in names for each in opener.open(text, scan)]
    misses = negative_cache_of(place, MissLifetimes(missing=missing_seconds))
    closing = ExitStack()
    closing.callback(opener.close)
    closing.callback(misses.close)
    adder = partial(_add, add or ConfinedAdder(processes, most))
    resolver = Resolver(place, opened, misses=misses, add=adder, probe=_in_background)
    return Symbolizer(resolver, most_open=most_open, on_close=closing.close)


def _in_background(work: Callable[[], object]) -> None:
    Thread(target=work, name="gsym-probe", daemon=True).start()


def _add(add: Adder, store: Store, path: str, **known: Any) -> Publication:
    """Add a file to the store, and log missing debug information."""
    publication = add(store, path, **known)
    entry = publication.entry
    if entry.missing and publication.outcome != "kept":
        _LOG.warning("%s is incomplete: %s", known["source"], "; ".join(entry.missing))
    return publication
