"""The default folder of a store, and the marker of a folder that is one."""

from __future__ import annotations

import os

from gsym.errors import FormatError, GsymError, UnsupportedError
from gsym.store.layout import MARKER, TEMPORARY
from gsym.store.locking import owned_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def default_store(environment: Mapping[str, str] = os.environ) -> str:
    """The folder that GSYM_STORE names, else one with the data of the user.

    Args:
        environment: GSYM_STORE, XDG_DATA_HOME, HOME.
    """
    if path := environment.get("GSYM_STORE"):
        return path
    home = environment.get("HOME") or os.path.expanduser("~")
    data = environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(data, "gsym", "store")


_LAYOUT = 1
_LARGEST_MARKER = 4096


def is_store(path: str) -> bool:
    """Whether the folder *path* is a store.

    Raises:
        FormatError: What it says of itself is damaged.
        OSError: It cannot be read.
        UnsupportedError: It is laid out in another way: a newer version made it.
    """
    marker = os.path.join(path, MARKER)
    try:
        with open(marker, "rb", buffering=0) as file:
            text = file.read(_LARGEST_MARKER)
    except (FileNotFoundError, NotADirectoryError):
        return False
    import json

    try:
        layout = json.loads(text).get("layout")
    except (ValueError, AttributeError, RecursionError):
        raise FormatError("this does not tell of a store", path=marker) from None
    if layout != _LAYOUT:
        reason = f"a store of layout {layout!r}; known is {_LAYOUT}"
        raise UnsupportedError(reason, path=marker)
    return True


def make_store(path: str) -> None:
    """Make the folder *path* a store, whoever else does so at the same time.

    Raises:
        GsymError: It is full of other things.
        OSError: It cannot be written to.
    """
    from gsym.writing.atomic_file import AtomicFile, sync

    os.makedirs(path, exist_ok=True)
    if any(not name.startswith(".") for name in os.listdir(path)):
        if is_store(path):  # made meanwhile
            return
        raise GsymError("a folder with files, and no store", path=path)
    # Not beside it: there, nobody would remove what a killed process leaves.
    with owned_folder(os.path.join(path, TEMPORARY) + os.sep) as folder:
        new = os.path.join(folder, MARKER)
        with AtomicFile(new) as file:
            file.write(b'{"layout": %d}\n' % _LAYOUT)
        os.replace(new, os.path.join(path, MARKER))
    sync(path)
