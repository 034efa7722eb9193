"""The layout of a store: names and ids -> paths relative to its folder.

    gsym-store.json                         marks a folder as a store
    .entries/09/DEBUGID.RANDOM/             a module: `module.gsym`, `module.json`, ...
    .debug-id/09/05AE...  -> its folder     the link that publishes it
    .further/09/05AE...-HASH  -> in .further-entries/09/, for modules that share a debug
                                            id, or whose age is not known
    NAME/DEBUGID/NAME.gsym                  as in Breakpad's stores; NAME.sym
    .build-id/80/ae05....gsym               as in GDB's tree; .debug
    80ae05.../gsym                          as in debuginfod's cache; debuginfo
    .code-id/NAME/CODEID                    code ids of Windows
    .code-id/.go-GOID/id                    Go build ids
    .locks/ .tmp/                           locks; unfinished files
    .evicted/DEBUGID.RANDOM/                removed modules that processes have open
    .served                                 the times in which a server ran

The links after these are aliases, which point through the link that publishes the
module. No name can escape from the store: `/` is written as `%2F`.

The *slot* of a module is what the link that publishes it is called, without the slash:
its debug id, of a further one with a hash of its ids. Only one process at a time
changes the slots of a debug id. Versions that know one module for each debug id pass
over further ones.
"""

from __future__ import annotations

import os
from itertools import product

from gsym.errors import FormatError, GsymError, UnsupportedError
from gsym.lazy import hashlib, json
from gsym.modules.key import (
    GUID_DIGITS,
    ModuleKey,
    build_id_digits,
    build_id_path,
    code_id_of,
    compare,
    is_hex,
    is_windows,
    read_debug_id,
    read_go_id,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gsym.store.entries import Entry


MARKER = "gsym-store.json"
ENTRIES = ".entries"
PUBLISHED = ".debug-id"
FURTHER = ".further"
LINK_ROOTS = PUBLISHED, FURTHER
FURTHER_ENTRIES = ".further-entries"
ENTRY_ROOTS = ENTRIES, FURTHER_ENTRIES
BUILD_IDS = ".build-id"
CODE_IDS = ".code-id"
LOCKS = ".locks"
TEMPORARY = ".tmp"
EVICTED = ".evicted"
SERVED = ".served"

COPIED = "not a link: the store was copied with its links followed"
REMEDY = "'gsym store verify --repair' restores them"
COPIED_REMEDY = f"{COPIED}; {REMEDY}"

GSYM_FILE = "module.gsym"
SIDECAR = "module.json"
# Files that modules were made from, by kind.
ORIGINAL_FILES = {
    "sym": "module.sym",
    "debuginfo": "module.debuginfo",
    "executable": "module.executable",
    "ranges": "module.ranges.zst",
}

_MAX_NAME = 255  # bytes of a file name in common file systems
_MAX_SUFFIX = len(".gsym")
_ESCAPED = frozenset("%/\\\x7f") | {chr(code) for code in range(32)}
_SLOT_MARK = "-"
_HASH_SIZE = 8
_PDB = ".pdb"


def normal_debug_id(debug_id: str) -> str:
    """A debug id in the store's format: upper case, without dashes.

    32 digits, of a module whose age is not known, stay without one.

    Raises:
        ValueError: It is invalid, or its GUID is zero.
    """
    found = read_debug_id(debug_id).upper()
    if not found[:GUID_DIGITS].strip("0"):
        raise ValueError("a debug id of zeros does not identify a module")
    return found[:GUID_DIGITS] if len(debug_id) == GUID_DIGITS else found


def name_problem(name: str, spare: int = 0) -> str:
    """Reason why a module cannot be called *name*; "" if it can.

    *spare* bytes have to be left for what is added to it.
    """
    if "/" in name or "\0" in name or name in {".", ".."}:
        return "it is not a file name"
    try:
        size = len(os.fsencode(name))
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    if size > (most := _MAX_NAME - spare):
        return f"it has {size} bytes, more than {most}"
    return ""


def checked_identity(identity: ModuleKey) -> ModuleKey:
    """*identity* with ids in the store's format.

    A build id that does not match the debug id is dropped: it belongs to another
    module, which would no longer be found by it.

    Raises:
        ValueError: The debug id is missing, or a name or id is invalid.
    """
    for name in (identity.debug_file, identity.code_file):
        if problem := name_problem(name):
            raise ValueError(f"invalid module name '{name[:80]}': {problem}")
    if identity.code_id and not is_hex(identity.code_id):
        raise ValueError(f"invalid code id '{identity.code_id[:80]}'")
    if identity.code_hash and not is_hex(identity.code_hash):
        raise ValueError(f"invalid hash of code '{identity.code_hash[:80]}'")
    if len(identity.go_id) > _MAX_NAME:
        raise ValueError(f"invalid Go build id '{identity.go_id[:80]}...'")
    debug_id = normal_debug_id(identity.debug_id)
    ids = ModuleKey(os=identity.os, debug_id=debug_id)
    image = ModuleKey(os=identity.os, code_id=identity.code_id)
    code_id = "" if compare(ids, image).is_refused else identity.code_id.upper()
    return identity._replace(debug_id=debug_id, code_id=code_id, path="")


def escape_name(name: str) -> str:
    """*name* as a file name in the store, which no other name has.

    Characters with a meaning to file systems are escaped, and the first character of
    names that the store uses itself.
    """
    escaped = "".join(_escape(each) if each in _ESCAPED else each for each in name)
    if escaped.startswith(".") or escaped == MARKER:
        return _escape(escaped[0]) + escaped[1:]
    return escaped


def further_slot(identity: ModuleKey) -> str:
    """The slot of a module that shares its debug id with another one.

    It is the same for each module with these ids, which are checked.
    """
    ids = identity.debug_id, identity.code_id, identity.go_id, identity.code_hash
    text = "\0".join(ids).encode("utf-8", "surrogatepass")
    found = hashlib.blake2b(text, digest_size=_HASH_SIZE).hexdigest().upper()
    return f"{identity.debug_id}{_SLOT_MARK}{found}"


def debug_id_of_slot(slot: str) -> str:
    """The debug id of the module in a slot."""
    return slot.partition(_SLOT_MARK)[0]


def link_of_slot(slot: str) -> str:
    """The link that publishes a module; the debug id in *slot* is normal."""
    return f"{LINK_ROOTS[_SLOT_MARK in slot]}/{slot[:2]}/{slot[2:]}"


def is_copy(store: str, slot: str) -> bool:
    """Whether a module is where the link that publishes it should be.

    Tools that follow links when they copy a store make such modules.
    """
    path = os.path.join(store, link_of_slot(slot))
    return os.path.isdir(path) and not os.path.islink(path)


def shelf_of_slot(slot: str) -> str:
    """The folder that contains the folders of a module, which begin with its slot."""
    return f"{ENTRY_ROOTS[_SLOT_MARK in slot]}/{slot[:2]}"


def slot_of_folder(folder: str) -> str:
    """The slot of the module in a folder."""
    return os.path.basename(folder).partition(".")[0]


def shelves_in(store: str) -> Iterator[str]:
    """The paths of the shelves of all modules in a store."""
    for root in ENTRY_ROOTS:
        folder = os.path.join(store, root)
        yield from (os.path.join(folder, name) for name in names_in(folder))


def slots_in(store: str) -> Iterator[str]:
    """The slots of all modules in a store, in order."""
    roots = [os.path.join(store, root) for root in LINK_ROOTS]
    for shelf in sorted({shelf for root in roots for shelf in names_in(root)}):
        yield from sorted(
            shelf + rest
            for root in roots
            for rest in names_in(os.path.join(root, shelf))
        )


def slots_of(store: str, debug_id: str) -> list[str]:
    """Slots of the modules that may have a debug id, the first one before further ones.

    Args:
        store: Path of the store.
        debug_id: Normal. One without an age may be of modules with any, and a module
            without an age may have any debug id of its GUID.
    """
    shelf, rest = debug_id[:2], debug_id[2:GUID_DIGITS]
    is_whole = len(debug_id) > GUID_DIGITS
    first = [debug_id] if is_whole else _slots_on(store, PUBLISHED, shelf, rest)
    further = _slots_on(store, FURTHER, shelf, rest)
    fitting = {debug_id, debug_id[:GUID_DIGITS]}
    return first + [
        slot for slot in further if not is_whole or debug_id_of_slot(slot) in fitting
    ]


def _slots_on(store: str, root: str, shelf: str, start: str) -> list[str]:
    """The slots on a shelf of links whose names begin with *start*."""
    names = names_in(os.path.join(store, root, shelf))
    return [shelf + name for name in names if name.startswith(start)]


def links_of_build_id(build_id: str, suffix: str) -> tuple[str, str]:
    """Aliases by build id: as in GDB's tree, and in debuginfod's cache."""
    gdb = "debug" if suffix == "debuginfo" else suffix
    return (f"{build_id_path(build_id)}.{gdb}", f"{build_id}/{suffix}")


def link_of_go_id(go_id: str) -> str:
    """The alias of a module by its Go build id."""
    return f"{CODE_IDS}/.go-{escape_name(go_id)}/id"


def link_of_code_id(code_file: str, code_id: str) -> str:
    """The alias of a Windows module by code id; its name is case-insensitive."""
    return f"{CODE_IDS}/{escape_name(code_file.lower())}/{code_id.upper()}"


def breakpad_path(identity: ModuleKey, suffix: str) -> str:
    """The path in Breakpad's stores: NAME/DEBUGID/NAME.suffix."""
    name = escape_name(identity.debug_file or identity.debug_id)
    stem = name[: -len(_PDB)] if name.lower().endswith(_PDB) else name
    return f"{name}/{identity.debug_id}/{stem}.{suffix}"


def names_in(folder: str) -> list[str]:
    """The sorted names in a folder; none if it does not exist."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def lock_name(key: ModuleKey) -> str:
    """The name of the lock of a module, by its debug id or else code id."""
    words = (
        ("debug", key.debug_id.upper())
        if key.debug_id
        else ("code", key.code_id.upper(), key.code_file.lower())
    )
    return hashlib.sha256(
        "\0".join(words).encode("utf-8", "surrogatepass")
    ).hexdigest()[:32]


def files_of(entry: Entry) -> set[str]:
    """The names of the files of a module."""
    return {GSYM_FILE, *(ORIGINAL_FILES[kind] for kind in entry.originals)}


def size_of(entry: Entry) -> int:
    """The bytes of the files of a module, as they are now."""
    return sum(os.path.getsize(f"{entry.folder}/{each}") for each in files_of(entry))


def aliases_of(entry: Entry, key: ModuleKey | None = None) -> dict[str, str]:
    """Aliases of the files of a module: path -> file."""
    identity, uuid = entry.identity, entry.uuid
    names = {identity.debug_file, key.debug_file if key else ""}
    found: dict[str, str] = {}
    if len(identity.debug_id) > GUID_DIGITS:
        for name in sorted(names):
            has_sym = "sym" in entry.originals
            found |= _breakpad_aliases(name, identity.debug_id, has_sym)
    if is_windows(identity.os):
        files = {identity.code_file, key.code_file if key else ""}
        for code_file, code_id in product(sorted(files), entry.all_code_ids):
            link = link_of_code_id(code_file, code_id)
            is_name = not any(map(name_problem, (code_file, link.split("/")[1])))
            known = code_id_of(identity._replace(code_id=code_id))
            if code_file and is_name and known:
                found[link] = GSYM_FILE
        return found
    if go_id := read_go_id(identity.go_id):
        found[link_of_go_id(go_id)] = GSYM_FILE
    build_ids = {build_id_digits(each) for each in (identity.code_id, uuid.hex())}
    for build_id in build_ids - {""}:
        found |= dict.fromkeys(links_of_build_id(build_id, "gsym"), GSYM_FILE)
        if "debuginfo" in entry.originals:
            links = links_of_build_id(build_id, "debuginfo")
            found |= dict.fromkeys(links, ORIGINAL_FILES["debuginfo"])
    return found


def _breakpad_aliases(name: str, debug_id: str, has_sym: bool) -> dict[str, str]:
    escaped = escape_name(name)
    size = len(os.fsencode(escaped)) + _MAX_SUFFIX if not name_problem(name) else 0
    if not escaped or not 0 < size <= _MAX_NAME:
        return {}  # found by its id only
    stems = {escaped}
    if escaped.lower().endswith(_PDB):
        # Some tools replace the suffix only if it is in lower case.
        stems = {escaped[: -len(_PDB)]} | (stems if escaped[-4:] != _PDB else set())
    kinds = {"gsym": GSYM_FILE} | ({"sym": ORIGINAL_FILES["sym"]} if has_sym else {})
    return {
        f"{escaped}/{debug_id}/{stem}.{suffix}": file
        for stem in sorted(stems)
        for suffix, file in kinds.items()
    }


def _escape(letter: str) -> str:
    return f"%{ord(letter):02X}"


def default_store(environment: Mapping[str, str] = os.environ) -> str:
    """The folder of GSYM_STORE, else one in the user's data folder."""
    if path := environment.get("GSYM_STORE"):
        return path
    home = environment.get("HOME") or os.path.expanduser("~")
    data = environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return os.path.join(data, "gsym", "store")


_LAYOUT = 1
_MAX_MARKER = 4096
_OF_FILE_SYSTEM = "lost+found"  # in the root of a disk


def is_store(path: str) -> bool:
    """Whether the folder *path* is a store.

    Raises:
        UnsupportedError: It has another layout, of a newer version.
    """
    marker = os.path.join(path, MARKER)
    try:
        with open(marker, "rb", buffering=0) as file:
            text = file.read(_MAX_MARKER)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        layout = json.loads(text).get("layout")
    except (ValueError, AttributeError, RecursionError):
        raise FormatError("invalid marker of a store", path=marker) from None
    if layout != _LAYOUT:
        reason = f"store layout {layout!r} is not supported (expected {_LAYOUT})"
        raise UnsupportedError(reason, path=marker)
    return True


def check_place(path: str) -> None:
    """Check that a folder is a store, or can become one.

    Raises:
        GsymError: It contains other files, or a store of another layout.
    """
    names = os.listdir(path) if os.path.lexists(path) else []
    others = any(name[:1] != "." and name != _OF_FILE_SYSTEM for name in names)
    if others and not is_store(path):
        raise GsymError("the folder is not empty and not a store", path=path)


def make_store(path: str) -> None:
    """Create a store; other processes may do so at the same time.

    Raises:
        GsymError: The folder contains other files.
    """
    from gsym.writing.atomic_file import AtomicFile

    os.makedirs(path, exist_ok=True)
    check_place(path)
    if is_store(path):  # created meanwhile
        return
    with AtomicFile(os.path.join(path, MARKER)) as file:
        file.write(b'{"layout": %d}\n' % _LAYOUT)
