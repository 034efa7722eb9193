"""Publishes modules in a store, and removes them.

The files are moved to a new folder and synced, and aliases are created. Then one link
is atomically replaced, which publishes the module. A process killed before that leaves
a folder without a link; one killed after it leaves the folder of the replaced module.
The next process that publishes on the same shelf of the store removes both.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress

import gsym.reading.reader
from gsym.errors import EmptyError, FormatError, GsymError
from gsym.modules.key import ModuleKey
from gsym.records import NamedTuple
from gsym.store.aliases import (
    add_aliases,
    make_link,
    read_aliases,
    remove_aliases,
)
from gsym.store.layout import (
    ENTRIES,
    GSYM_FILE,
    LOCKS,
    ORIGINAL_FILES,
    SIDECAR,
    aliases_of,
    files_of,
    link_of_debug_id,
    names_in,
)
from gsym.store.locking import OwnedFolder, held, remove_abandoned, remove_tree
from gsym.store.sidecar import read_entry, write_sidecar
from gsym.writing.atomic_file import sync
from gsym.writing.data_part import open_data_part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from gsym.store.modules import Entry


_EXECUTABLE = "executable"


class Publication(NamedTuple):
    """The result of publishing a module.

    Attributes:
        entry: The module in the store.
        outcome: "added"; "replaced": it replaced a less complete one; "kept": the
            stored module is at least as complete and was kept.
    """

    entry: Entry
    outcome: str


def publish_module(
    store: str,
    entry: Entry,
    originals: Mapping[str, str],
    key: ModuleKey | None,
    *,
    may_replace: bool,
) -> Publication:
    """Move the files of a module into a store, unless its module is as complete.

    Args:
        store: Path of the store, which exists.
        entry: The module, with a checked identity. Its path is that of the GSYM file to
            move, "" for an executable without functions, which only joins a module of
            the store; its size and its originals are ignored.
        originals: Files to move with it, by kind.
        key: Further names of the module.
        may_replace: Whether to replace a module.

    Raises:
        EmptyError: There is no GSYM file, and no such module.
        OSError: The store cannot be written. It is unchanged.
    """
    debug_id = entry.identity.debug_id
    shelf = shelf_of(store, debug_id)
    remove_leftovers(store, shelf)
    folder = OwnedFolder(os.path.join(shelf, debug_id + "."))
    try:
        made = _fill(folder.path, entry, originals)
        with swap_lock(store, debug_id):
            current = _current(store, debug_id)
            if current is None and not entry.path:
                reason = "no functions, and the store has no debug file of the module"
                raise EmptyError(reason)
            if current is not None and not (may_replace and _is_better(made, current)):
                _add_names(store, current, made.identity.debug_file, key)
                if _EXECUTABLE not in made.originals.keys() - current.originals.keys():
                    return Publication(current, "kept")
                made = _combined(folder.path, current, made)
                _swap(store, folder.path, made, aliases_of(made, key))
                return Publication(made, "kept")
            if current is not None and _EXECUTABLE in current.originals:
                made = _combined(folder.path, made, current)
            is_replaced = _swap(store, folder.path, made, aliases_of(made, key))
        return Publication(made, "replaced" if is_replaced else "added")
    finally:
        if published_folder(store, debug_id) == os.path.normpath(folder.path):
            folder.release()
        else:
            folder.remove()


def remove_module(store: str, debug_id: str) -> None:
    """Remove a module; the caller holds its `swap_lock`."""
    link = os.path.join(store, link_of_debug_id(debug_id))
    folder = published_folder(store, debug_id)
    # Read first: without its link, other processes may remove the folder.
    aliases = {} if folder is None else read_aliases(folder)
    with suppress(FileNotFoundError):
        os.unlink(link)
    if folder is not None:
        remove_aliases(store, debug_id, aliases)
        remove_tree(folder)


def published_folder(store: str, debug_id: str) -> str | None:
    """The target of the link of a debug id; None without a link."""
    link = os.path.join(store, link_of_debug_id(debug_id))
    try:
        return os.path.normpath(os.path.join(link, os.pardir, os.readlink(link)))
    except OSError:
        return None


def shelf_of(store: str, debug_id: str) -> str:
    """The folder that contains the folder of a module."""
    return os.path.join(store, ENTRIES, debug_id[:2])


def remove_leftovers(store: str, shelf: str) -> list[str]:
    """Remove abandoned folders of a shelf without a link; return their paths."""
    return [
        os.path.join(shelf, name)
        for name in names_in(shelf)
        if _remove_if_left(store, shelf, name)
    ]


def swap_lock_path(store: str, debug_id: str) -> str:
    """Path of the lock that is held to change the links of a module."""
    return os.path.join(store, LOCKS, f"swap.{debug_id}")


def swap_lock(store: str, debug_id: str) -> AbstractContextManager[None]:
    """Hold the lock to change the links of a module, until the end of the block."""
    return held(swap_lock_path(store, debug_id))


def _remove_if_left(store: str, shelf: str, name: str) -> bool:
    debug_id = name.partition(".")[0]
    path = os.path.join(shelf, name)

    def is_published() -> bool:
        return published_folder(store, debug_id) == os.path.normpath(path)

    if is_published():
        return False
    aliases = read_aliases(path)
    # Checked again when it is locked, as only its owner can publish it.
    if not remove_abandoned(path, unless=is_published):
        return False
    with swap_lock(store, debug_id):
        current = published_folder(store, debug_id)
        needed = {} if current is None else read_aliases(current)
        left = {alias: file for alias, file in aliases.items() if alias not in needed}
        remove_aliases(store, debug_id, left)
    return True


def _fill(folder: str, entry: Entry, originals: Mapping[str, str]) -> Entry:
    """Move and sync the files; return the entry as it will be read later."""
    moves = {GSYM_FILE: entry.path} if entry.path else {}
    moves |= {ORIGINAL_FILES[kind]: path for kind, path in originals.items()}
    sizes = {}
    for name, path in moves.items():
        target = os.path.join(folder, name)
        _move(path, target)
        sizes[name] = os.path.getsize(target)
    made = entry._replace(
        path=os.path.join(folder, GSYM_FILE),
        size=sum(sizes.values()),
        added=time.time(),
        originals={
            kind: os.path.join(folder, ORIGINAL_FILES[kind]) for kind in originals
        },
        gsym_size=sizes.get(GSYM_FILE, 0),  # 0 of an executable alone
    )
    write_sidecar(folder, made, sizes)
    return made


def _combined(folder: str, best: Entry, other: Entry) -> Entry:
    """The module *best* in *folder*, with what it lacks of an executable in *other*."""
    originals = {_EXECUTABLE: other.originals[_EXECUTABLE], **best.originals}
    paths = {GSYM_FILE: best.path}
    paths |= {ORIGINAL_FILES[kind]: path for kind, path in originals.items()}
    sizes = {}
    for name, path in paths.items():
        target = os.path.join(folder, name)
        if path != target:
            _link(path, target)
        sizes[name] = os.path.getsize(target)
    known, more = best.identity, other.identity
    identity = known._replace(
        code_file=known.code_file or more.code_file,
        code_id=known.code_id or more.code_id,
    )
    made = best._replace(
        path=os.path.join(folder, GSYM_FILE),
        identity=identity,
        size=sum(sizes.values()),
        originals={
            kind: os.path.join(folder, ORIGINAL_FILES[kind]) for kind in originals
        },
        gsym_size=sizes[GSYM_FILE],
    )
    os.unlink(os.path.join(folder, SIDECAR))
    write_sidecar(folder, made, sizes)
    return made


def _link(source: str, target: str) -> None:
    """Give a file of the store, which never changes, a second name."""
    with suppress(FileNotFoundError):
        os.unlink(target)
    try:
        os.link(source, target)
    except OSError:
        from shutil import copyfile

        copyfile(source, target)
        sync(target)


def _move(source: str, target: str) -> None:
    """Move and sync a file."""
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        from shutil import copyfile

        copyfile(source, target)
        os.unlink(source)
    sync(target)


def _swap(store: str, folder: str, made: Entry, aliases: dict[str, str]) -> bool:
    """Point the links to *folder*; return whether it replaced another folder."""
    debug_id = made.identity.debug_id
    before = published_folder(store, debug_id)
    old = {} if before is None else read_aliases(before)
    files = files_of(made)
    wanted = {alias: file for alias, file in old.items() if file in files} | aliases
    link = os.path.join(store, link_of_debug_id(debug_id))
    shelf, name = os.path.split(folder)
    target = f"../../{ENTRIES}/{os.path.basename(shelf)}/{name}"
    try:
        add_aliases(store, folder, debug_id, wanted)
        sync(folder)
        make_link(link, target, folder)
    except BaseException:
        new = {alias: file for alias, file in wanted.items() if alias not in old}
        remove_aliases(store, debug_id, new)
        raise
    sync(os.path.dirname(link))
    if before is None:
        return False
    gone = {alias: file for alias, file in old.items() if alias not in wanted}
    remove_aliases(store, debug_id, gone)
    remove_tree(before)
    return True


def _add_names(store: str, entry: Entry, name: str, key: ModuleKey | None) -> None:
    """Add the name of a refused file of a module to its aliases."""
    folder = os.path.dirname(entry.path)
    names = ModuleKey(debug_file=name)
    aliases = aliases_of(entry, key) | aliases_of(entry, names)
    add_aliases(store, folder, entry.identity.debug_id, aliases)


def _current(store: str, debug_id: str) -> Entry | None:
    """The published module; None if there is none or it is damaged."""
    folder = published_folder(store, debug_id)
    if folder is None:
        return None
    try:
        entry = read_entry(folder)
    except (FormatError, FileNotFoundError):
        return None
    try:
        with gsym.reading.reader.open(entry.path) as reader:
            is_complete = len(reader) == entry.quality.functions
    except (FormatError, FileNotFoundError):
        return None
    except GsymError:
        return entry  # of a newer version
    return entry if is_complete else None


def _is_better(new: Entry, old: Entry) -> bool:
    if new.quality.level != old.quality.level:
        return new.quality.level > old.quality.level
    if bool(new.missing) != bool(old.missing):
        return not new.missing
    if new.quality != old.quality:
        return new.quality > old.quality
    # Of the files that the old one lacks, some have appeared.
    if new.wanted != old.wanted and any(map(os.path.exists, old.wanted)):
        return True
    new_files, old_files = set(new.originals), set(old.originals)
    if not new_files >= old_files:
        return False
    return new_files != old_files or _has_variables(new) > _has_variables(old)


def _has_variables(entry: Entry) -> bool:
    """Whether a module has symbols of variables."""
    try:
        return open_data_part(entry.path) is not None
    except OSError:
        return False
