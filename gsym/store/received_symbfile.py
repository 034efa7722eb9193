"""Symbfiles in a store, of executables identified by a FileID only.

Ranges become a module with the FileID as its identifier, found by it like by a build
id, and as a debug id with age 0. Return pads are stored separately, as they may arrive
before or after the ranges:

    .return-pads/c3/4f3585...zst    of the executable c34f3585...
"""

from __future__ import annotations

import os

from gsym.modules.key import ModuleKey, macho_debug_id
from gsym.store.layout import names_in
from gsym.writing.atomic_file import sync

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.symbfile.file_id import FileId

_RETURN_PADS = ".return-pads"


def file_id_identity(file_id: FileId) -> ModuleKey:
    """The identity of an executable of which only the FileID is known."""
    return ModuleKey(
        debug_id=macho_debug_id(file_id),
        code_id=file_id.hex().upper(),
        debug_file=file_id.base64,
    )


def key_of_file_id(file_id: FileId) -> ModuleKey:
    """The key of the module of a FileID."""
    return ModuleKey(debug_id=macho_debug_id(file_id))


def return_pads_path(store: str, file_id: FileId) -> str:
    """The path of the return pads of an executable, a symbfile in a zstd stream."""
    digits = file_id.hex()
    return os.path.join(store, _RETURN_PADS, digits[:2], f"{digits[2:]}.zst")


def iter_return_pads(store: str) -> Iterator[str]:
    """The paths of all return pads in a store."""
    root = os.path.join(store, _RETURN_PADS)
    for shelf in names_in(root):
        for name in names_in(os.path.join(root, shelf)):
            yield os.path.join(root, shelf, name)


def publish_return_pads(store: str, file_id: FileId, path: str) -> None:
    """Move return pads into a store, replacing previous ones.

    Raises:
        OSError: The store cannot be written. It is unchanged.
    """
    target = return_pads_path(store, file_id)
    shelf = os.path.dirname(target)
    os.makedirs(shelf, exist_ok=True)
    sync(path)
    os.rename(path, target)
    for folder in (shelf, os.path.dirname(shelf), store):
        sync(folder)
