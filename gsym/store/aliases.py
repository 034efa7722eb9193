"""Links by which modules are found under other names and ids.

They point through the link that publishes a module, so they stay valid when the module
is replaced. The folder of a module lists its aliases, for its removal; only the holder
of the lock of the debug id changes that list and the links. Of several modules with one
name and id, the link is to the first; by code id, others have one with their slot.
"""

from __future__ import annotations

import os
from contextlib import suppress

from gsym.store.layout import CODE_IDS, link_of_slot
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Mapping

_LIST = "aliases"
_NEW_LINK = "link"  # in the folder of the module, until it is renamed
_TRIES = 100
_FIELDS = 2  # of a line: path and file


def alias_target(alias: str, slot: str, file: str) -> str:
    """The target of the link *alias* to *file* of a module."""
    return "../" * alias.count("/") + f"{link_of_slot(slot)}/{file}"


def parse_target(target: str) -> tuple[str, str]:
    """The slot and the file in the target of an alias."""
    shelf, rest, file = ("", "", *target.split("/"))[-3:]
    return shelf + rest, file


def read_aliases(folder: str) -> dict[str, str]:
    """The aliases of the module in *folder*: path below the store -> file.

    Damaged lines are skipped.
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
        if len(pair) == _FIELDS and ".." not in pair[0].split("/")
    }


def write_aliases(folder: str, aliases: Mapping[str, str]) -> None:
    """List *aliases* in the folder of their module."""
    lines = (f"{alias}\t{file}\n" for alias, file in sorted(aliases.items()))
    with AtomicFile(os.path.join(folder, _LIST)) as list_file:
        list_file.write(os.fsencode("".join(lines)))


def add_aliases(
    store: str,
    folder: str,
    slot: str,
    wanted: Mapping[str, str],
    *,
    is_published: bool = True,
) -> dict[str, str]:
    """List aliases and create the missing links; return those of the module.

    A killed process leaves no published module without a link that it lists, and no
    link to an unpublished one that is not listed.
    """
    listed = read_aliases(folder)
    # Aliases that no other module has, or replacements for them.
    free: dict[str, str] = {}
    for alias, file in wanted.items():
        if owner_of(store, alias) in {slot, ""}:
            free[alias] = file
        elif alias.startswith(f"{CODE_IDS}/"):
            free[replacement(alias, slot)] = file
    is_listed = free.items() <= listed.items()
    if not (is_listed or is_published):
        write_aliases(folder, {**listed, **free})
    for alias, file in free.items():
        target = alias_target(alias, slot, file)
        make_link(os.path.join(store, alias), target, folder)
    if is_published and not is_listed:
        write_aliases(folder, {**listed, **free})
    return free


def replacement(alias: str, slot: str) -> str:
    """The alias by code id of a module where another one has *alias*."""
    return f"{alias}-{slot}"


def owner_of(store: str, alias: str) -> str:
    """The slot of the module that an alias points to; "" if there is none."""
    path = os.path.join(store, alias)
    try:
        target = os.readlink(path)
    except (OSError, ValueError):
        return ""
    return parse_target(target)[0] if os.path.exists(path) else ""


def make_link(path: str, target: str, folder: str, mark: str = "") -> None:
    """Create or replace the link *path*.

    Args:
        path: Path of the link; its folders are created.
        target: Target of the link.
        folder: The caller's folder on the same file system, where the new link is made.
        mark: Path of a link in the folder that becomes *path*.
    """
    try:
        if os.readlink(path) == target:
            return
    except OSError:
        pass  # missing, or not a link
    new = os.path.join(folder, _NEW_LINK)
    with suppress(FileNotFoundError):
        os.unlink(new)
    os.symlink(target, new)
    if mark:
        os.replace(new, mark)
        new = mark
    # Another process that removes a link also removes its empty folders.
    for _ in range(_TRIES):
        with suppress(FileNotFoundError, FileExistsError):
            _move_into_folder(new, path)
            return
    _move_into_folder(new, path)


def _move_into_folder(path: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.replace(path, target)


def remove_aliases(store: str, slot: str, aliases: Mapping[str, str]) -> None:
    """Remove those of *aliases* that still point to the module in *slot*."""
    for alias, file in aliases.items():
        path = os.path.join(store, alias)
        with suppress(OSError):
            if os.readlink(path) == alias_target(alias, slot, file):
                os.unlink(path)
                folder = os.path.dirname(alias)
                while folder:  # until one is not empty
                    os.rmdir(os.path.join(store, folder))
                    folder = os.path.dirname(folder)
