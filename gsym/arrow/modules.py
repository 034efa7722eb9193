"""The modules of a store, a folder or a server, for workers in many processes."""

from __future__ import annotations

import os
from _thread import allocate_lock
from collections.abc import Iterable
from functools import partial
from typing import Any

from gsym.arguments import choice_of, integer_of, path_of
from gsym.cache import BoundedCache
from gsym.errors import FormatError, NotFoundError
from gsym.lazy import hashlib, regex
from gsym.modules.finder import SEARCH, Finder
from gsym.modules.key import NAME_ALONE, ModuleKey, key_of_build_id, keys_of_text
from gsym.modules.open_module import OpenModule
from gsym.modules.places import Folder
from gsym.modules.resolver import Resolver, SingleFlight
from gsym.modules.symbolizer import Symbolizer
from gsym.reading.reader import Reader
from gsym.sizes import read_size
from gsym.store.directory import Store
from gsym.store.layout import default_store
from gsym.store.listing import StoreListing
from gsym.store.sources.settings import SourceOpener

_NO_FOLDER = regex(r".*://|debuginfod(?:$|:)|(?i:(?:sym)?srv\*)")
_Numbered = tuple[int, bytes | str | None]
_MOST_KEYS = 1 << 16
_MOST_SHARED = 8
_MOST_SHOWN = 80  # characters of an id
_RECHECK_SECONDS = 10.0


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
        choice_of("missing", missing, ("null", "raise"))
        max_open = integer_of("max_open", max_open, 1)
        path = source.path if isinstance(source, Store) else source
        name = path_of("source", path, ", a URL or a gsym.Store")
        if not _NO_FOLDER.match(name):
            name = os.path.abspath(name)
            if not os.path.isdir(name):
                raise ValueError(f"source: expected a folder or a URL, not {name!r}")
        self._arguments = (name, max_open, _bytes_of(memory), missing)
        self._opened: _OpenModules | None = None
        self._unsure: dict[str, str] = {}
        self._damaged: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The source; of the settings in a URL, which may be secret, a digest."""
        source = str(self._arguments[0])
        place, _, settings = source.partition("?")
        if "://" not in source or not settings:
            return source
        return f"{place}?{hashlib.sha256(settings.encode()).hexdigest()}"

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
        found = self._of_process().find(module)
        if found.reader is None and self.missing == "raise":
            raise NotFoundError(f"module {_shown(module)}: {found.reason}")
        if found.unsure and len(self._unsure) < _MOST_KEYS:
            self._unsure[_shown(module)] = found.unsure
        return found

    def note_damage(self, module: bytes | str, reader: Reader, address: int) -> None:
        """Keep the damage at an address of a module, for `damaged`."""
        if len(self._damaged) < _MOST_KEYS:
            try:
                reader.lookup(address)
            except FormatError as error:
                self._damaged.setdefault(_shown(module), str(error))

    def do_not_fit(self, count: int) -> bool:
        """Whether so many modules cannot be open, or some had to be closed."""
        return count > self._arguments[1] or self._of_process().closed > 0

    def open_first(self, modules: Iterable[_Numbered]) -> list[_Numbered]:
        """Numbered modules, first those that are open and may be closed for others.

        As long as no module had to be closed, the order stays as it is.
        """
        opened = self._of_process()
        return sorted(modules, key=lambda each: not opened.is_kept(each[1]))

    def _of_process(self) -> _OpenModules:
        opened = self._opened
        if opened is None or opened.process != os.getpid():
            opened = self._opened = _opened(self._arguments[:3])
        return opened

    @property
    def damaged(self) -> dict[str, str]:
        """Modules with damaged records in their GSYM files, and the first place."""
        return dict(self._damaged)

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
        is_folder = os.path.isdir(source)
        store = Store(source if is_folder else default_store())
        found: Any = store
        if not is_folder:
            found = Resolver(store, list(SourceOpener().open(source)))
        elif not store.exists():
            found = Finder([Folder(source)], search=SEARCH)
        self._listing = None if isinstance(found, Finder) else StoreListing(store)
        self._symbolizer = Symbolizer(
            found,
            most_open=max_open,
            most_mapped=memory,
            recheck=_RECHECK_SECONDS,
        )
        self._flights = SingleFlight()  # a conversion takes long
        self._keys: BoundedCache[bytes | str, list[ModuleKey]] = BoundedCache(
            _MOST_KEYS
        )

    def find(self, module: bytes | str) -> OpenModule:
        keys = self._keys.get(module)
        if keys is None:
            keys = self._keys.keep(module, keys_of(module))
        found = OpenModule(None, None)
        for key in keys or self._named(str(module)):
            found = self._flights.run(key, partial(self._symbolizer.open, key))
            if found.reader is not None:
                break
        if keys or self._listing is None or found.reader is None:
            return found
        return found.copied(found.path, NAME_ALONE)

    @property
    def closed(self) -> int:
        """The number of modules that were closed to open others."""
        return self._symbolizer.closed

    def is_kept(self, module: bytes | str | None) -> bool:
        """Whether a module is open, and others were closed."""
        keys = self._keys.get(module) if module else None
        if keys is None or not self.closed:
            return False  # it was never found, or all fit
        return any(map(self._symbolizer.is_open, keys or self._named(str(module))))

    def _named(self, name: str) -> list[ModuleKey]:
        """The module of a name, in a store that added last, which may change."""
        if self._listing is None:
            return [ModuleKey(name)]
        return [each.identity for each in self._listing.named(name)[:1]]


def keys_of(module: bytes | str) -> list[ModuleKey]:
    """The keys of a module that is named by a build id, or an id as text."""
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
