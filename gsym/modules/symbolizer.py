"""Looks up addresses in modules; used by the server, the API and commands.

Readers stay open until they are the least recently used. A reader that is still in use
is closed after its last use.

Offsets are relative to the base of a module, where its image is loaded: the address in
its GSYM file is `header.base_address` plus the offset.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock  # a start cannot wait for all of `threading`
from collections import OrderedDict
from contextlib import suppress

from gsym.arguments import instance_of, integer_of, path_of
from gsym.errors import (
    AmbiguousModuleError,
    ClosedError,
    FormatError,
    GsymError,
    UuidMismatchError,
)
from gsym.model import NO_FUNCTION, UINT64_END, Lookup
from gsym.modules.key import Attempt, ModuleKey, fits_uuid, has_id
from gsym.modules.open_module import OpenModule
from gsym.reading.named_address import check_text
from gsym.records import NamedTuple
from gsym.remote import REMOTE
from gsym.store.entries import Entry, Resolution, resolved

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Protocol

    from typing_extensions import Self

    from gsym.reading.reader import Reader
    from gsym.store.bucket import BucketStore
    from gsym.store.directory import Store
    from gsym.store.sources.source import FoundFile

    class Resolving(Protocol):
        """Finds modules, such as a `Resolver`."""

        def resolve(self, key: ModuleKey) -> Resolution:
            """The module, or why it was not found."""


class Symbolization(NamedTuple):
    """The answer for one address."""

    lookup: Lookup | None  # the answer; None if there is none
    reason: str  # why there is no answer; else ""
    module: OpenModule  # the module


_OPEN_TRIES = 10
_CacheKey = tuple[str, ...]
_PATH = ModuleKey._fields.index("path")


class Symbolizer:
    """Looks up addresses in the modules of a store. Safe for concurrent threads.

    Args:
        source: A `Resolver`, a `Finder`, a `Store`, a `BucketStore`, or the path of a
            store.
        most_open: Maximum number of open modules.
        most_mapped: Maximum total bytes of their files; one always stays open.
        index_limit: Bytes of memory for indexes of each open file, as for `Reader`.
        recheck: Seconds after which the store is checked for a newer file of an open
            module.
        on_close: Called by `close`, to close resources of *source*.
    """

    def __init__(  # noqa: PLR0913 - independent keywords
        self,
        source: Resolving | Store | BucketStore | str | os.PathLike[str],
        *,
        most_open: int = 256,
        most_mapped: int = 64 << 30,
        index_limit: int = 16 << 20,
        recheck: float = 1.0,
        on_close: Callable[[], object] | None = None,
    ) -> None:
        self.resolver: Any = _resolving(source)
        self.store: Any | None = getattr(self.resolver, "store", None)
        self._may_improve = getattr(self.resolver, "may_improve", lambda _: False)
        self._most_open = most_open
        self._most_mapped = most_mapped
        self._index_limit = index_limit
        self._recheck = recheck
        self._on_close = on_close
        self._is_closed = False
        self._lock = allocate_lock()
        self._open: OrderedDict[_CacheKey, OpenModule] = OrderedDict()
        self._mapped = 0
        self.closed: int = 0  # number of modules that were closed to open others

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def mapped(self) -> int:
        """Total bytes of the files of all open modules."""
        return self._mapped

    def is_open(self, key: ModuleKey) -> bool:
        """Whether the module is open by this key.

        Raises:
            TypeError: *key* is not a `ModuleKey`.
        """
        instance_of("key", key, ModuleKey)
        with self._lock:
            return _cache_key(key) in self._open

    def find(self, key: ModuleKey) -> OpenModule | None:
        """The module if it is open or in the store, without asking a source.

        Returns:
            None if a source may have it, or a better one.

        Raises:
            ClosedError: This was closed.
            TypeError: *key* is not a `ModuleKey`.
        """
        self._check_open()
        instance_of("key", key, ModuleKey)
        name = _cache_key(key)
        with self._lock:
            module = self._open.get(name)
            if module is not None:
                self._open.move_to_end(name)
        age = 0.0 if module is None else time.monotonic() - module.checked
        is_fresh = module is not None and age < self._recheck
        if is_fresh or self.store is None:
            # Of a name there may be another file by now.
            return module if is_fresh or has_id(key) else None
        try:
            entry = self.store.get(key)
            if entry is not None and self._may_improve(entry):
                return None
            found = None
            if entry is not None and not (module and _is_of(module, entry)):
                found = self._load(resolved(key, entry, is_cached=True))
        except AmbiguousModuleError:
            return None
        except (GsymError, OSError):
            return module
        if module is not None:
            # A module that was removed from the store meanwhile remains usable.
            module.checked = time.monotonic()
        if found is None or found.reader is None:
            return module
        return self._keep(name, found)

    def open(self, key: ModuleKey) -> OpenModule:
        """The module, fetched and converted if necessary, which may take long.

        If it is not found, the result has no reader and the reasons in `attempts`.

        Raises:
            ClosedError: This was closed.
            TypeError: *key* is not a `ModuleKey`.
        """
        module = self.find(key)
        if module is not None:
            return module
        if not hasattr(self.resolver, "resolve"):
            found = self.resolver.open(key)
            return found if found.reader is None else self._keep(_cache_key(key), found)
        asked = key._replace(path="")  # sources do not look there
        for _ in range(_OPEN_TRIES):
            resolution = self.resolver.resolve(asked)
            try:
                found = self._load(resolution)
            except FileNotFoundError:
                continue  # replaced or removed meanwhile
            return found if found.reader is None else self._keep(_cache_key(key), found)
        return self._unusable(resolution, "its file was removed")

    def binaries(self, key: ModuleKey, *, fetches: bool = True) -> Iterator[FoundFile]:
        """The files of a module that may have its code, as of `Resolver.binaries`."""
        instance_of("key", key, ModuleKey)
        if hasattr(self.resolver, "binaries"):
            with suppress(AmbiguousModuleError):
                yield from self.resolver.binaries(key, fetches=fetches)
        elif hasattr(self.resolver, "resolve"):
            from gsym.store.sources.source import stored_binaries

            yield from stored_binaries(self.resolver.resolve(key).entry)

    def source_file(self, key: ModuleKey, path: str) -> bytes | None:
        """A source file of a module, as a server has it; None if there is none."""
        instance_of("key", key, ModuleKey)
        find = getattr(self.resolver, "source_file", None)
        found: bytes | None = None if find is None else find(key, path)
        return found

    def symbolize(
        self, key: ModuleKey, *, offset: int | None = None, va: int | str | None = None
    ) -> Symbolization:
        """Look up an address of a module.

        Args:
            key: The module.
            offset: The address, in bytes from the base of the module; or
            va: the link-time address, as in the symbol table of the binary, or a text
                such as `kernel+0x40`, see `Reader.lookup`.

        Raises:
            ClosedError: This was closed.
            FormatError: The record of the function is damaged.
            GsymError: No function, or several, have the name and the offset.
            TypeError: *key* is not a `ModuleKey`, or the address not an integer.
            ValueError: Both or neither of *offset* and *va* were given, or *va* is
                another text.
        """
        instance_of("key", key, ModuleKey)
        if (offset is None) == (va is None):
            given = "neither" if va is None else "both"
            raise ValueError(f"offset, va: expected one of them, not {given}")
        if va is None:
            offset = integer_of("offset", offset)  # type: ignore[arg-type]
        elif isinstance(va, str):
            check_text("va", va)
        else:
            va = integer_of("va", va)
        module = self.open(key)
        if module.reader is None:
            return Symbolization(None, module.reason, module)
        address = module.address_of(offset) if va is None else va  # type: ignore[arg-type]
        if not isinstance(address, str) and not 0 <= address < UINT64_END:
            return Symbolization(None, f"{address:#x} is not an address", module)
        lookup = module.reader.lookup(address)
        if lookup is None:
            reason = f"{NO_FUNCTION} in {module.reader.path}"
            return Symbolization(None, reason, module)
        return Symbolization(lookup, "", module)

    def forget(self) -> None:
        """Release all readers, which are opened again for the next calls."""
        with self._lock:
            self._open.clear()
            self._mapped = 0

    def forget_removed(self) -> None:
        """Release the readers of files that were removed, to free their space."""
        with self._lock:
            paths = {
                name: module.entry.path
                for name, module in self._open.items()
                if module.entry is not None and not module.entry.path.startswith(REMOTE)
            }
        gone = {name: path for name, path in paths.items() if not os.path.exists(path)}
        with self._lock:
            for name, path in gone.items():
                module = self._open.get(name)
                if module and module.entry and module.entry.path == path:
                    self._drop(name)

    def close(self) -> None:
        """Release all readers; calls in progress finish normally."""
        self._is_closed = True
        self.forget()
        if self._on_close is not None:
            self._on_close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedError("the symbolizer is closed")

    def _load(self, resolution: Resolution) -> OpenModule:
        """Open the file of a resolution.

        Raises:
            FileNotFoundError: It was removed.
        """
        entry, attempts = resolution.entry, resolution.attempts
        if entry is None:
            return OpenModule(None, None, attempts, is_cached=resolution.is_cached)
        with self._lock:
            for each in self._open.values():  # perhaps by another name
                if _is_of(each, entry) and each.unsure == resolution.unsure:
                    return each
        try:
            reader = _open(entry, self._index_limit)
        except FileNotFoundError:
            raise
        except (GsymError, OSError) as error:
            return self._unusable(resolution, str(error))
        is_cached, unsure = resolution.is_cached, resolution.unsure
        return OpenModule(entry, reader, attempts, is_cached=is_cached, unsure=unsure)

    def _unusable(self, resolution: Resolution, reason: str) -> OpenModule:
        attempts = (*resolution.attempts, Attempt("store", "refused", reason))
        return OpenModule(
            resolution.entry, None, attempts, is_cached=resolution.is_cached
        )

    def _keep(self, name: _CacheKey, module: OpenModule) -> OpenModule:
        with self._lock:
            there = self._open.get(name)
            if there is not None:
                self._drop(name)
                if module.entry and _is_of(there, module.entry):  # opened concurrently
                    module = there
            if not self._has(module):
                self._mapped += _size(module)
            self._open[name] = module
            while len(self._open) > 1 and (
                len(self._open) > self._most_open or self._mapped > self._most_mapped
            ):
                self._drop(next(iter(self._open)))
                self.closed += 1
        return module

    def _drop(self, name: _CacheKey) -> None:
        module = self._open.pop(name)
        if not self._has(module):
            self._mapped -= _size(module)

    def _has(self, module: OpenModule) -> bool:
        """Whether a module is open, by any of its names."""
        return any(each is module for each in self._open.values())


def _cache_key(key: ModuleKey) -> _CacheKey:
    """All that decides which module it is: also names, which choose among several.

    A module that was opened by a part of these may be another one.
    """
    return key[:_PATH] + key[_PATH + 1 :]


def _size(module: OpenModule) -> int:
    return module.reader.size if module.reader is not None else 0


def _is_of(module: OpenModule, entry: Entry) -> bool:
    return module.entry is not None and module.entry.path == entry.path


def _open(entry: Entry, index_limit: int) -> Reader:
    """The file of a module of a store, which is checked."""
    if entry.path.startswith(REMOTE):
        from gsym.remote.reader import open_remote

        reader = open_remote(entry.path, index_limit=index_limit)
    else:
        from gsym.reading.reader import open as open_reader

        reader = open_reader(entry.path, index_limit=index_limit, read_ahead=False)
    if entry.gsym_size and reader.size != entry.gsym_size:
        reason = f"the file has {reader.size} bytes, not {entry.gsym_size}"
        raise FormatError(reason, path=entry.path)
    if not fits_uuid(entry.identity, reader.uuid):
        raise UuidMismatchError("UUID is not that of the module", path=entry.path)
    return reader


class _StoreOnly:
    """Finds modules in a store only."""

    def __init__(self, store: Any) -> None:
        self.store = store

    def resolve(self, key: ModuleKey) -> Resolution:
        """The module, if the store has it."""
        try:
            entry = self.store.get(key)
        except (GsymError, OSError) as error:
            is_several = isinstance(error, AmbiguousModuleError)
            outcome = "refused" if is_several else "failed"
            return Resolution(None, (Attempt("store", outcome, str(error)),))
        if entry is not None:
            return resolved(key, entry, is_cached=True)
        return Resolution(None, (Attempt("store", "missing"),), is_cached=True)


def _resolving(source: Any) -> Any:
    if not hasattr(source, "__fspath__"):  # a path has a method `resolve`, too
        if hasattr(source, "resolve") or hasattr(source, "files"):
            return source
        if hasattr(source, "get") and hasattr(source, "open"):
            return _StoreOnly(source)
    from gsym.store.directory import Store

    others = ", a gsym.Store, a gsym.BucketStore or a gsym.Resolver"
    return _StoreOnly(Store(path_of("source", source, others)))
