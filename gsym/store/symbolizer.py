"""A module and an address -> frames: what all front doors ask.

Readers of modules that were asked for stay open, the ones used least recently are let
go. A reader that calls still use closes when the last of them has ended.

Offsets count from the base of a module, where its image was loaded: the address in its
GSYM file is `header.base_address` plus the offset.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock  # a start cannot wait for all of `threading`
from array import array
from collections import OrderedDict

from gsym.errors import GsymError, UuidMismatchError
from gsym.model import UINT64_END, UINT64_MAX
from gsym.reading.reader import open as open_reader
from gsym.records import NamedTuple
from gsym.store.modules import Attempt, Resolution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    from gsym.model import Lookup
    from gsym.reading.frames import Frames
    from gsym.reading.reader import Reader
    from gsym.store.directory import Store
    from gsym.store.modules import Entry, ModuleKey

    class Resolving(Protocol):
        """What finds modules, such as a `Resolver`."""

        def resolve(self, key: ModuleKey) -> Resolution:
            """The module, or why it is not to be had."""


class Symbolization(NamedTuple):
    """The answer to one address.

    Attributes:
        lookup: What is there; None where nothing is known.
        reason: Why nothing is known; "" with an answer.
        module: The module that was asked.
    """

    lookup: Lookup | None
    reason: str
    module: OpenModule


_OPEN_TRIES = 10
# The name is part of an id only where the id is that of a PE file.
_CacheKey = tuple[str, str, str]


class OpenModule:
    """A module that is there, or what became of the search for it.

    Attributes:
        entry: What the store knows of it; None for a miss.
        reader: Its GSYM file; None for a miss, and for a file that cannot be used.
        attempts: Which sources were asked, and what each said.
        is_cached: Whether nothing had to be fetched or converted for this answer.
        texts: What front doors keep about the module while it is open, each by a name
            of its own.
    """

    __slots__ = ("attempts", "checked", "entry", "is_cached", "reader", "texts")

    def __init__(
        self,
        entry: Entry | None,
        reader: Reader | None,
        attempts: tuple[Attempt, ...] = (),
        *,
        is_cached: bool = False,
    ) -> None:
        self.entry = entry
        self.reader = reader
        self.attempts = attempts
        self.is_cached = is_cached
        self.texts: dict[str, Any] = {}
        self.checked = time.monotonic()  # when the store was asked for a newer one

    @property
    def reason(self) -> str:
        """Why there is no reader; "" where there is one."""
        if self.reader is not None:
            return ""
        said = [
            f"{attempt.source}: {attempt.detail or attempt.outcome}"
            for attempt in self.attempts
        ]
        return "; ".join(said) or "no symbols for this module"

    def open_reader(self) -> Reader:
        """The reader.

        Raises:
            GsymError: There is none; the text says why.
        """
        if self.reader is None:
            raise GsymError(self.reason)
        return self.reader

    @property
    def image(self) -> Any:
        """The engine's handle of the file.

        Raises:
            GsymError: There is no reader.
        """
        return self.open_reader().mapped.image

    def address_of(self, offset: int) -> int:
        """The link-time address of an offset from the base of the module.

        Raises:
            GsymError: There is no reader.
        """
        return self.open_reader().header.base_address + offset

    def lookup_many(self, offsets: Sequence[int]) -> Frames:
        """The frames at each of many offsets; one without an answer has no row.

        Args:
            offsets: From the base of the module, in bytes. One beyond the address space
                has no answer.

        Raises:
            GsymError: There is no reader.
        """
        reader = self.open_reader()
        base = reader.header.base_address
        if not base:
            return reader.lookup_many(offsets, misses=False)
        last = UINT64_MAX
        if max(offsets, default=0) <= last - base and min(offsets, default=0) >= 0:
            addresses = array("Q", [base + each for each in offsets])
            return reader.lookup_many(addresses, misses=False)
        # An offset beyond the address space must not become an address.
        return reader.lookup_many(
            [base + offset if offset >= 0 else offset for offset in offsets],
            misses=False,
        )


class Symbolizer:
    """Looks addresses up in the modules of a store. Safe to use from many threads.

    Args:
        source: A `Resolver`, a `Store`, or the path of a store.
        most_open: How many modules stay open.
        most_mapped: How many bytes their files may have together; one stays open in
            any case.
        index_limit: Bytes of memory for indexes of each open file, as `Reader` has it.
        recheck: Seconds after which the store is asked whether it has a newer file for
            an open module.
        on_close: Called by `close`; closes what *source* stands on.
    """

    def __init__(  # noqa: PLR0913 - keywords, each a choice of its own
        self,
        source: Resolving | Store | str | os.PathLike[str],
        *,
        most_open: int = 256,
        most_mapped: int = 64 << 30,
        index_limit: int = 16 << 20,
        recheck: float = 1.0,
        on_close: Callable[[], object] | None = None,
    ) -> None:
        self.resolver = _resolving(source)
        self.store = getattr(self.resolver, "store", None)
        self._most_open = most_open
        self._most_mapped = most_mapped
        self._index_limit = index_limit
        self._recheck = recheck
        self._on_close = on_close
        self._lock = allocate_lock()
        self._open: OrderedDict[_CacheKey, OpenModule] = OrderedDict()
        self._mapped = 0

    def __len__(self) -> int:
        return len(self._open)

    @property
    def mapped(self) -> int:
        """Bytes of the files of all open modules."""
        return self._mapped

    def find(self, key: ModuleKey) -> OpenModule | None:
        """The module if it is open or in the store; no source is asked.

        Returns:
            None where a source may have it.
        """
        name = _cache_key(key)
        with self._lock:
            module = self._open.get(name)
            if module is not None:
                self._open.move_to_end(name)
        if module is not None and time.monotonic() - module.checked < self._recheck:
            return module
        if self.store is None:
            return module
        try:
            entry = self.store.get(key)
            is_new = entry is not None and (module is None or not _is_of(module, entry))
            found = self._load(Resolution(entry, is_cached=True)) if is_new else None
        except (GsymError, OSError):
            return module
        if module is not None:
            # One that the store has let go of meanwhile answers as well as before.
            module.checked = time.monotonic()
        if found is None or found.reader is None:
            return module
        return self._keep(name, found)

    def open(self, key: ModuleKey) -> OpenModule:
        """The module, fetched and converted if need be; this may take long.

        It never fails: a module that is not to be had has no reader, and `attempts`
        say why.
        """
        module = self.find(key)
        if module is not None:
            return module
        for _ in range(_OPEN_TRIES):
            resolution = self.resolver.resolve(key)
            try:
                found = self._load(resolution)
            except FileNotFoundError:
                continue  # replaced or removed since
            return found if found.reader is None else self._keep(_cache_key(key), found)
        return self._unusable(resolution, "its file is gone")

    def symbolize(
        self, key: ModuleKey, *, offset: int | None = None, va: int | None = None
    ) -> Symbolization:
        """What is at an address of a module.

        Args:
            key: What is known of the module.
            offset: Of the address, in bytes from the base of the module; or
            va: the link-time address itself, as in the symbol table of the binary.

        Raises:
            FormatError: The record of the function is damaged.
            ValueError: Not exactly one of *offset* and *va* was given.
        """
        if (offset is None) == (va is None):
            raise ValueError("give either offset or va")
        module = self.open(key)
        if module.reader is None:
            return Symbolization(None, module.reason, module)
        address = module.address_of(offset) if va is None else va  # type: ignore[arg-type]
        if not 0 <= address < UINT64_END:
            return Symbolization(None, f"{address:#x} is no address", module)
        lookup = module.reader.lookup(address)
        reason = "" if lookup else f"no function of {module.reader.path} is there"
        return Symbolization(lookup, reason, module)

    def close(self) -> None:
        """Let go of all readers; calls that are under way end well."""
        with self._lock:
            self._open.clear()
            self._mapped = 0
        if self._on_close is not None:
            self._on_close()

    def _load(self, resolution: Resolution) -> OpenModule:
        """The module of a resolution with its file opened.

        Raises:
            FileNotFoundError: The file is gone.
        """
        entry, attempts = resolution.entry, resolution.attempts
        if entry is None:
            return OpenModule(None, None, attempts, is_cached=resolution.is_cached)
        try:
            reader = open_reader(
                entry.path, index_limit=self._index_limit, read_ahead=False
            )
            _check_uuid(reader, entry)
        except FileNotFoundError:
            raise
        except (GsymError, OSError) as error:
            return self._unusable(resolution, str(error))
        return OpenModule(entry, reader, attempts, is_cached=resolution.is_cached)

    def _unusable(self, resolution: Resolution, reason: str) -> OpenModule:
        attempts = (*resolution.attempts, Attempt("store", "refused", reason))
        return OpenModule(
            resolution.entry, None, attempts, is_cached=resolution.is_cached
        )

    def _keep(self, name: _CacheKey, module: OpenModule) -> OpenModule:
        with self._lock:
            there = self._open.pop(name, None)
            if there is not None:
                self._mapped -= _size(there)
                if module.entry and _is_of(there, module.entry):  # somebody was faster
                    module = there
            self._open[name] = module
            self._mapped += _size(module)
            while len(self._open) > 1 and (
                len(self._open) > self._most_open or self._mapped > self._most_mapped
            ):
                _, oldest = self._open.popitem(last=False)
                self._mapped -= _size(oldest)
        return module


def _cache_key(key: ModuleKey) -> _CacheKey:
    """What tells modules apart: with a debug id, no name does.

    A code id does all the same, for it may find what a wrong debug id does not.
    """
    return key.debug_id, key.code_id, "" if key.debug_id else key.code_file


def _size(module: OpenModule) -> int:
    return module.reader.size if module.reader is not None else 0


def _is_of(module: OpenModule, entry: Entry) -> bool:
    return module.entry is not None and module.entry.path == entry.path


def _check_uuid(reader: Reader, entry: Entry) -> None:
    """A file holds the first bytes of an identifier that is too long for it."""
    if reader.uuid and entry.uuid and not entry.uuid.startswith(reader.uuid):
        raise UuidMismatchError("its UUID is not that of the module", path=entry.path)


class _StoreOnly:
    """Finds what is in a store, and no more."""

    def __init__(self, store: Any) -> None:
        self.store = store

    def resolve(self, key: ModuleKey) -> Resolution:
        """The module, or that it is not there."""
        try:
            entry = self.store.get(key)
        except (GsymError, OSError) as error:
            return Resolution(None, (Attempt("store", "failed", str(error)),))
        if entry is not None:
            return Resolution(entry, is_cached=True)
        return Resolution(None, (Attempt("store", "missing"),), is_cached=True)


def _resolving(source: Any) -> Any:
    if isinstance(source, (str, os.PathLike)):
        from gsym.store.directory import Store

        return _StoreOnly(Store(source))
    return source if hasattr(source, "resolve") else _StoreOnly(source)
