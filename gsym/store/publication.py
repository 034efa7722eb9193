"""Publishes modules in a store, and removes them.

The files are moved to a new folder and synced, and aliases are created. Then one link
is atomically replaced, which publishes the module. A process killed before that leaves
a folder without a link; one killed after it leaves the folder of the replaced module.
The next process that publishes on the same shelf of the store removes both. A new
folder has the mark `unpublished`; a copy without its link has neither of them.

A file joins the module of its debug id that is the same build, as far as their ids
tell; if there is none, it is published beside the others.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import AbstractContextManager, suppress
from functools import partial

import gsym.reading.reader
from gsym.containers.mapped_file import map_file
from gsym.errors import AmbiguousModuleError, EmptyError, FormatError, GsymError
from gsym.lazy import shutil
from gsym.modules.key import (
    GUID_DIGITS,
    SAME,
    ModuleKey,
    build_id_digits,
    code_id_of,
    completed,
    is_windows,
)
from gsym.modules.part import module_part_start
from gsym.records import NamedTuple
from gsym.store import layout, locking
from gsym.store.aliases import (
    add_aliases,
    make_link,
    owner_of,
    read_aliases,
    remove_aliases,
)
from gsym.store.choosing import chosen
from gsym.store.sidecar import read_entry, write_sidecar
from gsym.writing.atomic_file import sync
from gsym.writing.data_part import open_data_part

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gsym.store.entries import Entry


_EXECUTABLE = "executable"
_UNPUBLISHED = "unpublished"  # the mark of a module without a link: not yet, or no more
_OUTCOMES = "added", "replaced"


class Publication(NamedTuple):
    """The result of publishing a module.

    Attributes:
        entry: The module in the store.
        outcome: "added"; "replaced": it replaced a less complete one; "kept": the
            stored module is at least as complete and was kept.
        note: What else there is to say, such as that another module has its debug id;
            "" for nothing.
    """

    entry: Entry
    outcome: str
    note: str = ""


def publish_module(
    store: str,
    entry: Entry,
    originals: Mapping[str, str],
    key: ModuleKey | None,
    *,
    may_replace: bool,
) -> Publication:
    """Move the files of a module into a store that exists, as `Store.publish` does.

    The identity of *entry* is checked. Its path is that of the GSYM file to move, ""
    for an executable without functions, which only joins a module of the store; its
    size and its originals are ignored.
    """
    debug_id = entry.identity.debug_id
    links = (f"{store}/{layout.link_of_slot(slot)}" for slot in layout.slots_in(store))
    if not any(map(os.path.islink, links)):  # most stores have some
        restore_lost(store)
    for root in layout.ENTRY_ROOTS:
        for path in leftovers(store, os.path.join(store, root, debug_id[:2])):
            remove_left(store, path)
    folder = locking.OwnedFolder(_new_folder(store, debug_id))
    try:
        _mark(folder.path)
        made = entry._replace(originals=dict(originals), added=time.time())
        made = _recorded(folder.path, made, _paths(entry.path, originals), _move)
        with swap_lock(store, debug_id):
            return _publish(store, folder, made, key, may_replace=may_replace)
    finally:
        if _is_published(store, folder.path):
            folder.release()
        else:
            folder.remove()


def _publish(
    store: str,
    folder: locking.OwnedFolder,
    made: Entry,
    key: ModuleKey | None,
    *,
    may_replace: bool,
) -> Publication:
    """Publish the module in a folder; the caller holds its `swap_lock`."""
    debug_id = made.identity.debug_id
    others = list(_modules(store, debug_id))
    current = chosen(
        made.identity, [each for each in others if not _difference(made, key, each)]
    )
    if not made.gsym_size and current is None:
        reason = "no functions, and the store has no debug file of the module"
        raise EmptyError(reason)
    if current is None:
        is_free = len(debug_id) > GUID_DIGITS and _current(store, debug_id) is None
        slot = debug_id if is_free else layout.further_slot(made.identity)
        made = _moved(store, folder, made, slot)
        if not may_replace:
            _check_ids(store, made, key)
        is_replaced = _swap(store, made, layout.aliases_of(made, key))
        note = "; ".join(
            f"{each.identity.debug_file or 'a module'} of {each.source or each.path} "
            f"has the same debug id, but {_difference(made, key, each)}"
            for each in others
        )
        return Publication(made, _OUTCOMES[is_replaced], note)
    made = _moved(store, folder, made, current.slot)
    fit = current.compare(made.identity)
    is_same, note = fit.outcome == SAME, ""
    is_better = may_replace and made.gsym_size > 0 and _is_better(made, current)
    if made.identity.code_hash and _is_of_earlier_version(current):
        is_equal = _have_equal_contents(made, current)
        is_better |= may_replace and made.quality >= current.quality and not is_equal
        is_same = is_better or is_equal
    if fit.is_by_code and not is_better and made.quality == current.quality:
        is_equal = _have_equal_contents(made, current)
        note = (
            "" if is_equal else "only its code is equal: remove it to have other lines"
        )
    best, other = (made, current) if is_better else (current, made)
    joined = _joined(best, other, is_same=is_same)
    if joined == current:
        add_aliases(store, current.folder, current.slot, _names(current, other, key))
        return Publication(current, "kept", note)
    if not may_replace:
        _check_ids(store, joined, key)
    paths = _paths(joined.path, joined.originals)
    for name in set(layout.names_in(folder.path)) - {*paths, _UNPUBLISHED}:
        os.unlink(os.path.join(folder.path, name))
    joined = _recorded(folder.path, joined, paths, _link)
    _swap(store, joined, _names(joined, other, key))
    return Publication(joined, _OUTCOMES[True] if is_better else "kept", note)


class IdTakenError(GsymError):
    """A module would get in the way of another one, which may not be replaced."""


def _check_ids(store: str, made: Entry, key: ModuleKey | None) -> None:
    """Check that other modules are found for certain once *made* is in the store."""
    slots = {owner_of(store, alias) for alias in layout.aliases_of(made, key)}
    slots |= set(layout.slots_of(store, made.identity.debug_id))
    for slot in sorted(slots - {made.slot, ""}):
        other = _current(store, slot)
        if other is None:
            continue
        for lookup in _lookups(other.identity):
            try:
                is_found = chosen(lookup, [other, made]) is other
            except AmbiguousModuleError:
                is_found = False
            if not is_found:
                known = other.identity
                raise IdTakenError(
                    f"{known.debug_file or known.code_file} ({known.debug_id}) of the "
                    "store has an id of it; to add it needs the right to replace"
                )


def _lookups(identity: ModuleKey) -> Iterator[ModuleKey]:
    """The keys by which clients ask for a module."""
    if identity.debug_file:
        yield ModuleKey(identity.debug_file, identity.debug_id)
    if identity.go_id:
        yield ModuleKey(go_id=identity.go_id)
    if build_id_digits(identity.code_id) and not is_windows(identity.os):
        yield ModuleKey(code_id=identity.code_id)
    elif identity.code_id:
        yield ModuleKey(code_id=identity.code_id, code_file=identity.code_file)


def remove_module(store: str, slot: str) -> None:
    """Remove a module; the caller holds its `swap_lock`."""
    link = os.path.join(store, layout.link_of_slot(slot))
    folder = published_folder(store, slot)
    # Read first: without its link, other processes may remove the folder.
    aliases = {} if folder is None else read_aliases(folder)
    shelf = os.path.join(store, layout.shelf_of_slot(slot))
    for name in layout.names_in(shelf):  # also what was replaced, and is left
        if layout.slot_of_folder(name) == slot:
            with suppress(OSError):  # a full disk, or removed
                _mark(os.path.join(shelf, name))
    with suppress(FileNotFoundError):
        os.unlink(link)
    if folder is not None:
        remove_aliases(store, slot, aliases)
        _bury(store, folder)
    # Links that it had alone, of several modules with its names, lead to another one.
    for other in _modules(store, layout.debug_id_of_slot(slot)):
        add_aliases(store, other.folder, other.slot, layout.aliases_of(other))


def _bury(store: str, folder: str) -> None:
    """Remove the folder of a module, or move it to where `remove_evicted` finds it."""
    grave = os.path.join(store, layout.EVICTED)
    try:
        os.makedirs(grave, exist_ok=True)
        os.rename(folder, os.path.join(grave, os.path.basename(folder)))
    except OSError:  # a full disk, or removed by another process
        locking.remove_tree(folder)
    remove_evicted(store)


def remove_evicted(store: str) -> int:
    """Remove the files of removed modules that no process has open.

    While a process has a file open, removing it frees nothing; and it could not be seen
    any more how much will be freed. Removals that were killed have left files, too.

    Returns:
        Total bytes of those that are left.
    """
    grave = os.path.join(store, layout.EVICTED)
    pending = 0
    for module in layout.names_in(grave):
        folder = os.path.join(grave, module)
        names = set(layout.names_in(folder)) - {_UNPUBLISHED}
        paths = [os.path.join(folder, name) for name in names]
        if not any(map(locking.is_open, paths)):
            locking.remove_tree(folder)
            continue
        for path in paths:
            with suppress(FileNotFoundError):
                pending += os.stat(path).st_size
    with suppress(OSError):
        os.rmdir(grave)
    return pending


def published_folder(store: str, slot: str) -> str | None:
    """The target of the link of a slot; None without a link.

    Raises:
        FormatError: A copy of the module is in the place of the link.
    """
    link = os.path.join(store, layout.link_of_slot(slot))
    try:
        return os.path.normpath(os.path.join(link, os.pardir, os.readlink(link)))
    except OSError:
        if layout.is_copy(store, slot):
            raise FormatError(layout.COPIED_REMEDY, path=link) from None
        return None


def leftovers(store: str, shelf: str) -> Iterator[str]:
    """The paths of abandoned folders of a shelf whose modules were not published."""
    for name in layout.names_in(shelf):
        path = os.path.join(shelf, name)
        # In this order: a process publishes a folder, then releases it.
        if (
            not _is_published(store, path)
            and locking.is_abandoned(path)
            and not _is_published(store, path)
            and _lost_module(store, path) is None
        ):
            yield path


def lost_modules(store: str) -> list[Entry]:
    """The modules whose links were followed or left out by a copy, the newest last."""
    found = [
        module
        for shelf in layout.shelves_in(store)
        for name in layout.names_in(shelf)
        if (module := _lost_module(store, os.path.join(shelf, name)))
    ]
    # A newer module of a slot has replaced the others.
    found.sort(key=lambda each: each.added)
    return list({each.slot: each for each in found}.values())


def _lost_module(store: str, folder: str) -> Entry | None:
    """The module in a folder that was published and has no link; None of others."""
    mark = os.path.join(folder, _UNPUBLISHED)
    link = os.path.join(store, layout.link_of_slot(layout.slot_of_folder(folder)))
    # The mark becomes the link, or is made before the link is removed.
    has_link = os.path.lexists(mark) or os.path.islink(link) or os.path.lexists(mark)
    if not has_link and locking.is_abandoned(folder):
        with suppress(FormatError, FileNotFoundError):
            entry = read_entry(folder)
            if layout.size_of(entry) == entry.size:
                return entry
    return None


def restore_lost(store: str) -> list[Entry]:
    """Publish what `lost_modules` returns, unless another process has; return it."""
    lost = lost_modules(store)
    for entry in lost:
        with swap_lock(store, entry.slot):
            # Another process may have published it, or removed it.
            if _lost_module(store, entry.folder) is not None:
                if layout.is_copy(store, entry.slot):
                    _bury(store, os.path.join(store, layout.link_of_slot(entry.slot)))
                _swap(store, entry, read_aliases(entry.folder))
    return lost


def _mark(folder: str) -> None:
    """Mark a module as one that no link is to lead to, or none yet."""
    with suppress(FileExistsError):
        os.symlink(layout.SIDECAR, os.path.join(folder, _UNPUBLISHED))


def swap_lock_path(store: str, slot: str) -> str:
    """Path of the lock that is held to change the links of a debug id's modules."""
    return os.path.join(store, layout.LOCKS, f"swap.{layout.debug_id_of_slot(slot)}")


def swap_lock(store: str, slot: str) -> AbstractContextManager[None]:
    """Hold the lock of `swap_lock_path`, until the end of the block."""
    return locking.held(swap_lock_path(store, slot))


def _new_folder(store: str, slot: str) -> str:
    """The path of a folder for a module, without its random suffix."""
    return os.path.join(store, layout.shelf_of_slot(slot), slot + ".")


def _modules(store: str, debug_id: str) -> Iterator[Entry]:
    """The modules of a debug id that are not damaged."""
    for slot in layout.slots_of(store, debug_id):
        if layout.debug_id_of_slot(slot) == debug_id:
            current = _current(store, slot)
            if current is not None:
                yield current


def _difference(made: Entry, key: ModuleKey | None, other: Entry) -> str:
    """Reason why a file is not of a module of the store, if one is known; else ""."""
    result = other.compare(made.identity)
    if result.is_refused and made.compare(other.identity).is_refused:
        return result.reason
    if key is not None and other.compare(key).is_refused:
        return "it is not the one that was asked for"
    return "its functions have other names" if _has_other_names(made, other) else ""


def _has_other_names(made: Entry, other: Entry) -> bool:
    """Whether complete binaries of one id have functions of other names.

    Builds that a fixed build id makes equal may have equal code, too. The code of a
    file that an earlier version made is not known.
    """
    one, two = made.identity, other.identity
    is_equal = one.code_hash == two.code_hash and one.debug_file != two.debug_file
    if not one.code_hash or not (is_equal or _is_of_earlier_version(other)):
        return False
    if made.quality != other.quality:
        return False  # names of other kinds of symbols may be spelled otherwise
    if _have_equal_contents(made, other):
        return False
    opened = gsym.reading.reader.open
    with opened(made.path) as first, opened(other.path) as second:
        pairs = zip(first, second, strict=False)
        return any(each.name != theirs.name for each, theirs in pairs)


def _have_equal_contents(one: Entry, other: Entry) -> bool:
    return _without_module(one.path) == _without_module(other.path)


def _is_of_earlier_version(entry: Entry) -> bool:
    """Whether the GSYM file of a module does not say what it was made from."""
    data = map_file(entry.path)
    return not entry.identity.code_hash and _without_module(entry.path) == data


def _without_module(path: str) -> memoryview:
    """The bytes of a GSYM file, without those that name its module."""
    data = map_file(path)
    return data[: module_part_start(data, len(data))]


def _names(entry: Entry, other: Entry, key: ModuleKey | None) -> dict[str, str]:
    """Aliases of a module, also by the names of another file of it."""
    return layout.aliases_of(entry, key) | layout.aliases_of(entry, other.identity)


def _moved(store: str, folder: locking.OwnedFolder, made: Entry, slot: str) -> Entry:
    """The module in *folder*, which becomes one for a slot."""
    if slot == layout.slot_of_folder(folder.path):
        return made
    folder.move(_new_folder(store, slot))
    return _placed(made, folder.path)


def _placed(entry: Entry, folder: str) -> Entry:
    """*entry* with the paths of its files in *folder*."""
    originals = {
        kind: os.path.join(folder, layout.ORIGINAL_FILES[kind])
        for kind in entry.originals
    }
    return entry._replace(
        path=os.path.join(folder, layout.GSYM_FILE), originals=originals
    )


def _joined(best: Entry, other: Entry, *, is_same: bool) -> Entry:
    """The module *best* with what only another file of it knows.

    Unless both are of one build, ids count only that a tool may change in an image.
    """
    known, more = best.identity, other.identity
    is_pe = is_windows(known.os)
    if not is_same:
        code_id = more.code_id if is_pe else ""
        more = more._replace(code_id=code_id, code_hash="", go_id="")
    identity = completed(known, more)
    code_ids = best.code_ids
    if is_pe:
        ids = dict.fromkeys((*best.code_ids, *other.all_code_ids))
        code_ids = tuple(
            each
            for each in ids
            if code_id_of(known._replace(code_id=each)) and each != identity.code_id
        )
    originals = best.originals
    if _EXECUTABLE in other.originals:
        originals = {_EXECUTABLE: other.originals[_EXECUTABLE], **originals}
    return best._replace(identity=identity, code_ids=code_ids, originals=originals)


def _is_published(store: str, folder: str) -> bool:
    """Whether a link leads to a folder, or a copy of a module is in its place."""
    slot, path = layout.slot_of_folder(folder), os.path.normpath(folder)
    return layout.is_copy(store, slot) or published_folder(store, slot) == path


def remove_left(store: str, path: str) -> bool:
    """Remove a folder of `leftovers` with its aliases, unless it is published now."""
    slot, aliases = layout.slot_of_folder(path), read_aliases(path)
    # Checked again when it is locked, as only its owner can publish it.
    if not locking.remove_abandoned(path, unless=partial(_is_published, store, path)):
        return False
    with swap_lock(store, slot):
        current = published_folder(store, slot)
        needed = {} if current is None else read_aliases(current)
        left = {alias: file for alias, file in aliases.items() if alias not in needed}
        remove_aliases(store, slot, left)
    return True


def _paths(gsym_path: str, originals: Mapping[str, str]) -> dict[str, str]:
    """The files of a module by their names in a store."""
    # An executable may be alone.
    paths = {layout.GSYM_FILE: gsym_path} if gsym_path else {}
    return paths | {
        layout.ORIGINAL_FILES[kind]: path for kind, path in originals.items()
    }


def _recorded(
    folder: str,
    entry: Entry,
    paths: Mapping[str, str],
    bring: Callable[[str, str], None],
) -> Entry:
    """The entry with its files, brought into *folder*, and their record."""
    sizes = {}
    for name, path in paths.items():
        target = os.path.join(folder, name)
        if path != target:
            bring(path, target)
        sizes[name] = os.path.getsize(target)
    made = _placed(entry, folder)._replace(
        size=sum(sizes.values()), gsym_size=sizes.get(layout.GSYM_FILE, 0)
    )
    write_sidecar(folder, made, sizes)
    return made


def _link(source: str, target: str) -> None:
    """Give a file of the store, which never changes, a second name."""
    with suppress(FileNotFoundError):
        os.unlink(target)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
        sync(target)


def _move(source: str, target: str) -> None:
    """Move and sync a file."""
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copyfile(source, target)
        os.unlink(source)
    sync(target)


def _swap(store: str, made: Entry, aliases: dict[str, str]) -> bool:
    """Point the links to a module; return whether it replaced another folder."""
    folder, slot = made.folder, made.slot
    before = published_folder(store, slot)
    old = {} if before is None else read_aliases(before)
    files = layout.files_of(made)
    wanted = {alias: file for alias, file in old.items() if file in files} | aliases
    link = os.path.join(store, layout.link_of_slot(slot))
    target = os.path.relpath(folder, os.path.dirname(link))
    try:
        wanted = add_aliases(store, folder, slot, wanted, is_published=False)
        sync(folder)
        mark = os.path.join(folder, _UNPUBLISHED)  # none in one that lost its link
        make_link(link, target, folder, mark if os.path.lexists(mark) else "")
    except BaseException:
        listed = read_aliases(folder)
        new = {alias: file for alias, file in listed.items() if alias not in old}
        remove_aliases(store, slot, new)
        raise
    sync(os.path.dirname(link))
    if before is None:
        return False
    gone = {alias: file for alias, file in old.items() if alias not in wanted}
    remove_aliases(store, slot, gone)
    locking.remove_tree(before)
    return True


def _current(store: str, slot: str) -> Entry | None:
    """The published module; None if there is none or it is damaged."""
    folder = published_folder(store, slot)
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
