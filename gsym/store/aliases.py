"""Links by which modules are found under other names and ids.

They lead to files behind the link that publishes a module, so that they stay right when
the module is replaced. The folder of a module lists its aliases, for who removes it;
that list and the links are changed by the holder of the lock of the debug id only.
"""

from __future__ import annotations

import os
from contextlib import suppress

from gsym.store.layout import link_of_debug_id
from gsym.writing.atomic_file import sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_LIST = "aliases"
_NEW_LIST = "aliases.new"  # until it takes its place
_NEW_LINK = "link"  # in the folder of the module, until it takes its place
_TRIES = 100
_PARTS = 2  # of a line: path and file


def alias_target(alias: str, debug_id: str, file: str) -> str:
    """What the link *alias* holds that leads to *file* of a module."""
    return "../" * alias.count("/") + f"{link_of_debug_id(debug_id)}/{file}"


def read_aliases(folder: str) -> dict[str, str]:
    """The aliases of the module in *folder*: path below the store -> file.

    Of a list that is damaged, what can be read.
    """
    try:
        with open(os.path.join(folder, _LIST), "rb") as list_file:
            lines = os.fsdecode(list_file.read()).split("\n")
    except OSError:
        return {}
    pairs = [line.split("\t") for line in lines]
    return {
        pair[0]: pair[1]
        for pair in pairs
        if len(pair) == _PARTS and ".." not in pair[0].split("/")
    }


def write_aliases(folder: str, aliases: Mapping[str, str]) -> None:
    """List *aliases* in the folder of their module.

    Raises:
        OSError: The list cannot be written.
    """
    lines = (f"{alias}\t{file}\n" for alias, file in sorted(aliases.items()))
    # What a killed process leaves of it is written over by the next one.
    new = os.path.join(folder, _NEW_LIST)
    with open(new, "wb") as list_file:
        list_file.write(os.fsencode("".join(lines)))
    sync(new)
    os.replace(new, os.path.join(folder, _LIST))
    sync(folder)


def add_aliases(
    store: str, folder: str, debug_id: str, wanted: Mapping[str, str]
) -> None:
    """Make the links that are missing, once they are listed.

    Args:
        store: Path of the store.
        folder: That of the module.
        debug_id: Its id.
        wanted: Path below the store -> file of the module.

    Raises:
        OSError: A link cannot be made.
    """
    listed = read_aliases(folder)
    if not wanted.items() <= listed.items():
        write_aliases(folder, {**listed, **wanted})
    for alias, file in wanted.items():
        target = alias_target(alias, debug_id, file)
        make_link(os.path.join(store, alias), target, folder)


def make_link(path: str, target: str, folder: str) -> None:
    """Let *path* be a link that holds *target*, whatever link it was before.

    Args:
        path: Where; its folders are made.
        target: What it holds.
        folder: Of the same file system, the caller's own; the link is made there.

    Raises:
        OSError: It cannot be made: *path* is a folder, or the device is full.
    """
    try:
        if os.readlink(path) == target:
            return
    except OSError:
        pass  # missing, or no link
    new = os.path.join(folder, _NEW_LINK)
    with suppress(FileNotFoundError):
        os.unlink(new)
    os.symlink(target, new)
    # Whoever removes a link removes its folders as well, if they are empty.
    for _ in range(_TRIES):
        with suppress(FileNotFoundError, FileExistsError):
            _move_into_folder(new, path)
            return
    _move_into_folder(new, path)


def _move_into_folder(path: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.replace(path, target)


def remove_aliases(store: str, debug_id: str, aliases: Mapping[str, str]) -> None:
    """Remove those of *aliases* that lead to the module *debug_id* still."""
    for alias, file in aliases.items():
        path = os.path.join(store, alias)
        with suppress(OSError):
            if os.readlink(path) == alias_target(alias, debug_id, file):
                os.unlink(path)
                _remove_empty_folders(store, alias)


def _remove_empty_folders(store: str, alias: str) -> None:
    folder = os.path.dirname(alias)
    while folder:
        os.rmdir(os.path.join(store, folder))
        folder = os.path.dirname(folder)
