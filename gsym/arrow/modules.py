"""The modules of a store, a folder or a server, for workers in many processes."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock
from functools import partial

from gsym.arguments import integer_of, path_of
from gsym.cache import BoundedCache
from gsym.containers.recognition import recognise_file
from gsym.errors import AmbiguousModuleError, GsymError, NotFoundError
from gsym.modules.key import ModuleKey, key_of_build_id, keys_of_text
from gsym.modules.open_module import OpenModule
from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.sizes import read_size
from gsym.store.directory import Store
from gsym.store.layout import default_store
from gsym.store.loose_files import LooseFiles
from gsym.store.modules import Attempt, Entry, Resolution, resolved
from gsym.store.sources.settings import SourceOpener

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from gsym.store.sources.source import Source

_MISSING = ("null", "raise")
_MOST_KEYS = 1 << 16
_MOST_SHARED = 8
_MOST_SHOWN = 80  # characters of an id
_BY_NAME = "it was found by its name alone"
_MOST_LOOSE_FILES = 1_000_000
_RENEW_SECONDS = 10.0
_MOST_RENEWING = 0.01  # of the time


class Modules:
    """Modules by build id, debug id, code id or name. Safe for threads; picklable.

    A copy in another process opens its own files. Open files count with their whole
    size, the least recently used is closed first, and one may always be open.

    Args:
        source: A store, a folder with GSYM files or debug files of any names, or the
            URL of a server or bucket, whose modules are kept in the user's store.
        max_open: Maximum number of open files.
        memory: Maximum total size of open files: bytes, or text like `"512MB"`.
        missing: "null": addresses of a module that is not found have no answer;
            "raise": it is an error.

    Raises:
        ValueError: An argument is invalid.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Store,
        max_open: int = 256,
        memory: int | str = "512MB",
        missing: str = "null",
    ) -> None:
        if missing not in _MISSING:
            raise ValueError(f"missing: expected null or raise, not {missing!r}")
        max_open = integer_of("max_open", max_open, 1)
        path = source.path if isinstance(source, Store) else source
        name = path_of("source", path, ", a URL or a gsym.Store")
        is_url = "://" in name or name.startswith(("debuginfod", "srv*"))
        if not is_url:
            name = os.path.abspath(name)
            if not os.path.isdir(name):
                raise ValueError(f"source: expected a folder or a URL, not {name!r}")
        self._arguments = (name, max_open, _bytes_of(memory), missing)
        self._opened: _OpenModules | None = None
        self._unsure: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The source; of the settings in a URL, which may be secret, a digest."""
        from hashlib import sha256

        source = str(self._arguments[0])
        place, _, settings = source.partition("?")
        if "://" not in source or not settings:
            return source
        return f"{place}?{sha256(settings.encode()).hexdigest()}"

    @property
    def missing(self) -> str:
        """The treatment of addresses of modules that are not found."""
        return self._arguments[3]

    def __reduce__(self) -> tuple[Any, ...]:
        return Modules, self._arguments

    def __repr__(self) -> str:
        return "gsym.arrow.Modules({!r}, {}, {}, {!r})".format(*self._arguments)

    def find(self, module: bytes | str) -> OpenModule:
        """A module; without a reader if it is not found.

        Args:
            module: A build id as bytes; or as text a build id, a debug id, NAME/CODEID
                or a name.

        Raises:
            NotFoundError: It is not found, and *missing* is "raise".
        """
        opened = self._opened
        if opened is None or opened.process != os.getpid():
            opened = self._opened = _opened(self._arguments[:3])
        found = opened.find(module)
        if found.reader is None and self.missing == "raise":
            raise NotFoundError(f"module {_shown(module)}: {found.reason}")
        if found.unsure and len(self._unsure) < _MOST_KEYS:
            self._unsure[_shown(module)] = found.unsure
        return found

    @property
    def unsure(self) -> dict[str, str]:
        """Modules that were found but may be another build, and why."""
        return dict(self._unsure)


def _shown(module: bytes | str) -> str:
    return (module.hex() if isinstance(module, bytes) else module)[:_MOST_SHOWN]


def _bytes_of(memory: int | str) -> int:
    if isinstance(memory, int):
        return memory
    try:
        return read_size(memory.strip())
    except ValueError as error:
        raise ValueError(f"memory: {error}") from None


class _OpenModules:
    """The files that a process has open."""

    def __init__(self, source: str, max_open: int, memory: int) -> None:
        self.process = os.getpid()
        self._place = _Place(source)
        self._symbolizer = Symbolizer(
            self._place.resolver(), most_open=max_open, most_mapped=memory
        )
        self._keys: BoundedCache[bytes | str, list[ModuleKey]] = BoundedCache(
            _MOST_KEYS
        )

    def find(self, module: bytes | str) -> OpenModule:
        keys = self._keys.get(module)
        if keys is None:
            keys = self._keys.keep(module, _keys_of(module))
        found = OpenModule(None, None)
        for key in keys:
            found = self._symbolizer.open(key)
            if found.reader is not None:
                return found
        return found if keys else self._find_by_name(str(module))

    def _find_by_name(self, name: str) -> OpenModule:
        """The module of a name, which may be another one later."""
        key = self._place.key(name)
        if key is None:
            return OpenModule(None, None)
        found = self._symbolizer.open(key)
        return OpenModule(
            found.entry,
            found.reader,
            found.attempts,
            is_cached=found.is_cached,
            unsure=_BY_NAME if found.reader is not None else "",
        )


def _keys_of(module: bytes | str) -> list[ModuleKey]:
    return (
        [key_of_build_id(module)] if isinstance(module, bytes) else keys_of_text(module)
    )


# A worker that gets its work in pieces gets the modules with each, and opens them once.
_shared: BoundedCache[tuple[Any, ...], _OpenModules] = BoundedCache(_MOST_SHARED)
_sharing = allocate_lock()


def _opened(arguments: tuple[Any, ...]) -> _OpenModules:
    key = (os.getpid(), *arguments)
    found = _shared.get(key)
    if found is None:
        made = _OpenModules(*arguments)
        with _sharing:
            found = _shared.get(key) or _shared.keep(key, made)
    return found


class _Place:
    """A store, a folder or a server: what finds its modules, and ids by names."""

    def __init__(self, source: str) -> None:
        self._loose: LooseFiles | None = None
        self._store = Store(source if os.path.isdir(source) else default_store())
        self._sources: list[Source] = []
        if not os.path.isdir(source) or not self._store.exists():
            self._store = Store(default_store())
            scan = partial(LooseFiles, max_files=_MOST_LOOSE_FILES)
            self._sources = [*SourceOpener().open(source, scan)]
            last = self._sources[-1]
            self._loose = last if isinstance(last, LooseFiles) else None
        self._known: dict[str, ModuleKey] = {}
        self._next = 0.0

    def resolver(self) -> Any:
        """The resolver that finds a module by its key."""
        if not self._sources:
            return self._store
        resolver = Resolver(self._store, self._sources)
        return resolver if self._loose is None else _Folder(self._loose, resolver)

    def key(self, name: str) -> ModuleKey | None:
        """The key of the module called *name*, of several the one added last."""
        now = time.monotonic()
        known = self._known  # another thread may renew it
        if name not in known and now >= self._next:
            known = self._known = self._read()
            took = time.monotonic() - now
            self._next = now + max(_RENEW_SECONDS, took / _MOST_RENEWING)
        return known.get(name)

    def _read(self) -> dict[str, ModuleKey]:
        entries: Any = self._store.entries(damaged=lambda _: None)
        if self._loose is not None:
            entries = self._loose.entries()
        known: dict[str, ModuleKey] = {}
        for entry in sorted(entries, key=lambda each: each.added):
            key = entry.identity
            known |= dict.fromkeys({key.debug_file, key.code_file}, key)
        known.pop("", None)
        return known


class _Folder:
    """Opens the GSYM files of a folder where they are; others are converted."""

    def __init__(self, files: LooseFiles, others: Any) -> None:
        self._files = files
        self._others = others
        self.store = None

    def resolve(self, key: ModuleKey) -> Resolution:
        try:
            files = self._files.fitting(key)
            own = [each for each in files if recognise_file(each.path) == "gsym"]
        except (GsymError, OSError) as error:
            is_several = isinstance(error, AmbiguousModuleError)
            outcome = "refused" if is_several else "failed"
            return Resolution(None, (Attempt("folder", outcome, str(error)),))
        if own:
            return resolved(key, Entry(own[0].path, own[0].module), is_cached=True)
        resolution: Resolution = self._others.resolve(key)
        return resolution
