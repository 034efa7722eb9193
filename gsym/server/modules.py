"""What has the modules that a server answers for, by its settings."""

from __future__ import annotations

import os

from gsym.module_identity import ModuleIdentity, uuid_debug_id
from gsym.reader import open as open_reader
from gsym.store.entry import Entry
from gsym.store.resolution import Resolution
from gsym.symbolizer import Symbolizer

__all__ = ["make_symbolizer", "store_path"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.server.settings import Settings
    from gsym.store.module_key import ModuleKey


def store_path(settings: Settings) -> str:
    """The folder of the store: the one that is set, or one in the user's cache."""
    if settings.store:
        return settings.store
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "gsym", "store")


class FolderModules:
    """The GSYM files of a folder, by debug id and build id."""

    def __init__(self, folder: str) -> None:
        self._entries: dict[str, Entry] = {}
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if name.endswith(".gsym"):
                self._add(os.path.join(folder, name))

    def _add(self, path: str) -> None:
        with open_reader(path) as reader:
            uuid, byteorder = reader.uuid, reader.header.byteorder
        debug_id = uuid_debug_id(uuid, "Linux", byteorder)
        name = os.path.basename(path).removesuffix(".gsym")
        identity = ModuleIdentity(debug_id=debug_id, debug_file=name)
        entry = Entry(path, identity, uuid)
        self._entries[debug_id] = self._entries[uuid.hex().upper()] = entry

    def resolve(self, key: ModuleKey) -> Resolution:
        """The module, or that it is not there."""
        entry = self._entries.get(key.debug_id or key.code_id)
        return Resolution(entry, (), is_cached=True)


def make_symbolizer(settings: Settings) -> Symbolizer:
    """Opens modules of the store, and of the sources behind it.

    Raises:
        GsymError: A source is of no known kind.
        OSError: The store cannot be read.
    """
    return Symbolizer(
        FolderModules(store_path(settings)),
        most_open=settings.max_open,
        most_mapped=settings.max_mapped,
        index_limit=settings.index_memory,
    )
