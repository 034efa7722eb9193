"""What a store has of an executable that is known by its FileID alone.

Ranges make a module, which has the FileID as its identifier: it is found by that as by
a build id, and as the debug id of age 0. Return pads lie beside the modules, for they
tell of single addresses and come before the ranges as well as after them.

    .return-pads/c3/4f3585...zst    of the executable c34f3585...
"""

from __future__ import annotations

import os

from gsym.conversion.identity import ModuleIdentity, macho_debug_id
from gsym.store.layout import names_in
from gsym.store.modules import ModuleKey
from gsym.writing.atomic_file import sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.symbfile.file_id import FileId

_RETURN_PADS = ".return-pads"


def file_id_identity(file_id: FileId) -> ModuleIdentity:
    """The module that an executable is; nothing else is known of it."""
    return ModuleIdentity(
        debug_id=macho_debug_id(file_id),
        code_id=file_id.hex().upper(),
        debug_file=file_id.base64,
    )


def key_of_file_id(file_id: FileId) -> ModuleKey:
    """What the module is asked for by."""
    return ModuleKey(debug_id=macho_debug_id(file_id))


def return_pads_path(store: str, file_id: FileId) -> str:
    """Where the return pads of an executable are, as a symbfile in a zstd stream.

    Args:
        store: Path of the store.
        file_id: Of the executable.
    """
    digits = file_id.hex()
    return os.path.join(store, _RETURN_PADS, digits[:2], f"{digits[2:]}.zst")


def iter_return_pads(store: str) -> Iterator[str]:
    """The paths of all return pads in a store."""
    root = os.path.join(store, _RETURN_PADS)
    for shelf in names_in(root):
        for name in names_in(os.path.join(root, shelf)):
            yield os.path.join(root, shelf, name)


def publish_return_pads(store: str, file_id: FileId, path: str) -> None:
    """Move return pads into a store, in the place of those before.

    Args:
        store: Path of the store.
        file_id: Of the executable.
        path: The file, on the same file system.

    Raises:
        OSError: The store cannot be written to. All is as before then.
    """
    target = return_pads_path(store, file_id)
    shelf = os.path.dirname(target)
    os.makedirs(shelf, exist_ok=True)
    sync(path)
    os.rename(path, target)
    for folder in (shelf, os.path.dirname(shelf), store):
        sync(folder)
