"""The layout of a store: names and ids -> paths relative to its folder.

    gsym-store.json                         marks a folder as a store
    .entries/09/DEBUGID.RANDOM/             a module: `module.gsym`, `module.json`, ...
    .debug-id/09/05AE...  -> its folder     the link that publishes it
    NAME/DEBUGID/NAME.gsym                  as in Breakpad's stores; NAME.sym
    .build-id/80/ae05....gsym               as in GDB's tree; .debug
    80ae05.../gsym                          as in debuginfod's cache; debuginfo
    .code-id/NAME/CODEID                    code ids of Windows
    .locks/ .tmp/                           locks; unfinished files

The links after the first three lines are aliases, which point through the link that
publishes the module. No name can escape from the store: `/` is written as `%2F`.
"""

from __future__ import annotations

import os

from gsym.errors import FormatError, GsymError, UnsupportedError
from gsym.modules.key import (
    build_id_digits,
    debug_ids_of_build_id,
    is_hex,
    read_debug_id,
)
from gsym.store.locking import owned_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gsym.modules.key import ModuleKey
    from gsym.store.modules import Entry


MARKER = "gsym-store.json"
ENTRIES = ".entries"
PUBLISHED = ".debug-id"
BUILD_IDS = ".build-id"
CODE_IDS = ".code-id"
LOCKS = ".locks"
TEMPORARY = ".tmp"

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
_MAX_ID_DIGITS = 128
_ESCAPED = frozenset("%/\\\x7f") | {chr(code) for code in range(32)}
_GUID_DIGITS = 32
_GUID_SIZE = 16
_PDB = ".pdb"


def normal_debug_id(debug_id: str) -> str:
    """A debug id in the store's format: upper case, without dashes, with its age.

    Raises:
        ValueError: It is invalid, or its GUID is zero.
    """
    found = read_debug_id(debug_id).upper()
    if not found[:_GUID_DIGITS].strip("0"):
        raise ValueError("a debug id of zeros does not identify a module")
    return found


def name_problem(name: str) -> str:
    """Why *name* is not a valid name of a module, which is a file name; else ""."""
    if "/" in name or "\0" in name or name in {".", ".."}:
        return "it is not a file name"
    try:
        size = len(os.fsencode(name))
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    if size > _MAX_NAME:
        return f"it has {size} bytes, more than {_MAX_NAME}"
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
    debug_id = normal_debug_id(identity.debug_id)
    code_id = identity.code_id.upper()
    build_id = "" if identity.os.lower() == "windows" else build_id_digits(code_id)
    if build_id and debug_id not in debug_ids_of_build_id(build_id):
        code_id = ""
    return identity._replace(debug_id=debug_id, code_id=code_id)


def escape_name(name: str) -> str:
    """*name* as a file name in the store, which no other name has.

    Characters with a meaning to file systems are escaped, and the first character of
    names that the store uses itself.
    """
    escaped = "".join(_escape(each) if each in _ESCAPED else each for each in name)
    if escaped.startswith(".") or escaped == MARKER:
        return _escape(escaped[0]) + escaped[1:]
    return escaped


def link_of_debug_id(debug_id: str) -> str:
    """The link that publishes a module; *debug_id* is normal."""
    return f"{PUBLISHED}/{debug_id[:2]}/{debug_id[2:]}"


def links_of_build_id(build_id: str, suffix: str) -> tuple[str, str]:
    """Aliases by build id: as in GDB's tree, and in debuginfod's cache.

    Args:
        build_id: Lower-case hexadecimal digits.
        suffix: "gsym" or "debuginfo".
    """
    gdb = "debug" if suffix == "debuginfo" else suffix
    return (
        f"{BUILD_IDS}/{build_id[:2]}/{build_id[2:]}.{gdb}",
        f"{build_id}/{suffix}",
    )


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
    from hashlib import sha256

    words = (
        ("debug", key.debug_id.upper())
        if key.debug_id
        else ("code", key.code_id.upper(), key.code_file.lower())
    )
    return sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def files_of(entry: Entry) -> set[str]:
    """The names of the files of a module."""
    return {GSYM_FILE, *(ORIGINAL_FILES[kind] for kind in entry.originals)}


def aliases_of(entry: Entry, key: ModuleKey | None = None) -> dict[str, str]:
    """Aliases of the files of a module: path -> file.

    Args:
        entry: The module, with a checked identity.
        key: Further names of it.
    """
    identity, uuid = entry.identity, entry.uuid
    names = {identity.debug_file, key.debug_file if key else ""}
    found: dict[str, str] = {}
    for name in sorted(names):
        found |= _breakpad_aliases(name, identity.debug_id, "sym" in entry.originals)
    if identity.os.lower() == "windows":
        codes = {(identity.code_file, identity.code_id)}
        if key and key.code_id.upper() in {identity.code_id, ""}:
            codes.add((key.code_file, identity.code_id))
        for code in codes:
            link = link_of_code_id(*code)
            is_name = not name_problem(code[0]) and not name_problem(link.split("/")[1])
            if all(code) and is_name:
                found[link] = GSYM_FILE
        return found
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
    """The folder of GSYM_STORE, else one in the user's data folder.

    Args:
        environment: GSYM_STORE, XDG_DATA_HOME, HOME.
    """
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
        FormatError: Its marker file is damaged.
        UnsupportedError: It has another layout, of a newer version.
    """
    marker = os.path.join(path, MARKER)
    try:
        with open(marker, "rb", buffering=0) as file:
            text = file.read(_MAX_MARKER)
    except (FileNotFoundError, NotADirectoryError):
        return False
    import json

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
        OSError: It cannot be read.
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
    from gsym.writing.atomic_file import AtomicFile, sync

    os.makedirs(path, exist_ok=True)
    check_place(path)
    if is_store(path):  # created meanwhile
        return
    # In its temporary folder, where files left by a killed process are removed.
    with owned_folder(os.path.join(path, TEMPORARY) + os.sep) as folder:
        new = os.path.join(folder, MARKER)
        with AtomicFile(new) as file:
            file.write(b'{"layout": %d}\n' % _LAYOUT)
        os.replace(new, os.path.join(path, MARKER))
    sync(path)
