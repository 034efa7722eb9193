"""Layouts of stores, of other tools and our own: relative paths of a module's files.

A layout only lists paths to try and opens nothing, so it applies to folders, servers
and buckets. Names are untrusted: a name that is not a plain file name has no path.
"""

from __future__ import annotations

from contextlib import suppress

from gsym.conversion.companions.symstore import symstore_paths
from gsym.model import valid_text
from gsym.modules.key import (
    GUID_DIGITS,
    ModuleKey,
    build_id_digits,
    build_id_path,
    code_id_of,
    debug_ids_of_build_id,
    is_absent,
    print_guid,
)
from gsym.records import NamedTuple
from gsym.store.layout import GSYM_FILE, link_of_slot, name_problem, normal_debug_id

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Layout(NamedTuple):
    """The layout of a store."""

    name: str  # its name in reports
    needs: str  # the required fields of a key, for people
    # returns the paths of a module, relative to the store and with slashes, the best
    # one first; none if the key lacks required fields. `ANY` in a path is a wildcard,
    # for sources that can list files
    paths: Callable[[ModuleKey], Iterable[str]]
    # likewise the paths of files with its code, then of those that have its call frame
    # information
    binaries: Callable[[ModuleKey], Iterable[str]] = lambda _key: ()
    # likewise that of the source file that it has under a path
    sources: Callable[[ModuleKey, str], Iterable[str]] = lambda _key, _path: ()


ANY = "\0"  # not valid in a name

_MAX_ID = 127  # characters
_SUFFIX_BYTES = 8  # reserved for suffixes that layouts append to a name
_STAMP_DIGITS = 8  # time stamp in a PE file's code id, before the image size
_MAX_PE_DIGITS = 16
_CUT_DIGITS = 40  # of a build id that may be the beginning of a longer one
_MIN_BUILD_ID_DIGITS = 4  # one byte for the folder, one for the file
_UUID_PARTS = (4, 8, 12, 16, 20)


def is_plain_name(name: str) -> bool:
    """Whether *name* is a valid file name without folders."""
    if "\\" in name or valid_text(name) != name:
        return False
    return bool(name) and not name_problem(name, spare=_SUFFIX_BYTES)


def _is_id(text: str) -> bool:
    return text.isascii() and text.isalnum() and len(text) <= _MAX_ID


# ---- Breakpad: NAME/ID/NAME.sym


def _breakpad(key: ModuleKey, suffixes: tuple[str, ...] = (".sym",)) -> Iterator[str]:
    yield from _named_twice(key.debug_file, _debug_ids(key), ".pdb", suffixes)
    yield from _named_twice(key.code_file, _code_ids(key), ".dll", suffixes)


def _named_twice(
    name: str, ids: Iterable[str], dropped: str, suffixes: tuple[str, ...]
) -> Iterator[str]:
    """NAME/ID/NAME+suffix; the suffix *dropped* is removed from the second name.

    Some tools remove it only if it is in lower case.
    """
    if not is_plain_name(name):
        return
    stems = [name]
    if name.lower().endswith(dropped):
        stems.insert(0, name[: -len(dropped)])
        if name.endswith(dropped):
            stems.pop()
    for identifier in ids:
        for stem in stems:
            for suffix in suffixes:
                yield f"{name}/{identifier}/{stem}{suffix}"


def _debug_ids(key: ModuleKey) -> list[str]:
    """The debug id with its age in lower case, then in upper case, if it differs."""
    if not _is_id(key.debug_id) or is_absent(key.debug_id[:GUID_DIGITS]):
        return []
    guid, age = key.debug_id[:GUID_DIGITS].upper(), key.debug_id[GUID_DIGITS:]
    return list(dict.fromkeys((guid + age.lower(), guid + age.upper())))


def _code_ids(key: ModuleKey) -> list[str]:
    """The code id as in stores, with the image size of a PE file in lower case."""
    code_id = code_id_of(key)
    if not _is_id(code_id):
        return []
    if len(code_id) > _MAX_PE_DIGITS:
        return [code_id]
    stamp, size = code_id[:_STAMP_DIGITS], code_id[_STAMP_DIGITS:]
    return list(dict.fromkeys((stamp + size.lower(), code_id)))


# ---- by build id


def _build_ids(key: ModuleKey) -> list[str]:
    """Build ids in lower case; with `ANY` at the end if only the start is known.

    A debug id contains the first 16 bytes, in an order that depends on the byte order
    of the binary.
    """
    code_id = code_id_of(key).lower()
    if code_id:
        is_usable = _is_id(code_id) and len(code_id) >= _MIN_BUILD_ID_DIGITS
        return [code_id] if is_usable else []
    guid = _guid(key)
    if guid is None:
        return []
    swapped = print_guid(guid, is_little=True).lower()
    return [swapped + ANY, guid.hex() + ANY]


def _guid(key: ModuleKey) -> bytes | None:
    """The GUID of a debug id with age 0, as of ELF and Mach-O files."""
    guid, age = key.debug_id[:GUID_DIGITS], key.debug_id[GUID_DIGITS:]
    # fromhex() skips white space.
    if not _is_id(guid) or len(guid) < GUID_DIGITS or age.strip("0"):
        return None
    if is_absent(guid):
        return None
    try:
        return bytes.fromhex(guid)
    except ValueError:
        return None


def _build_id_tree(key: ModuleKey) -> Iterator[str]:
    build_ids = _build_ids(key)
    # perf and BPF keep 20 bytes of longer ones.
    longer = [each + ANY for each in build_ids if len(each) == _CUT_DIGITS]
    for build_id in [*build_ids, *longer]:
        path = build_id_path(build_id)
        for stem in (path, path.removeprefix(".build-id/")):
            for suffix in (".gsym", ".debug", ""):
                yield stem + suffix
        if ANY not in build_id:
            yield f"{build_id}.gsym"


def _by_build_id(key: ModuleKey, root: str, kinds: Iterable[str]) -> Iterator[str]:
    for build_id in _build_ids(key):
        for kind in kinds:
            yield f"{root}{build_id}/{kind}"


def _source_by_build_id(key: ModuleKey, path: str) -> Iterator[str]:
    if path.startswith("/"):
        for build_id in _build_ids(key):
            if ANY not in build_id:
                yield f"buildid/{build_id}/source{path}"


def _gsym_server(key: ModuleKey) -> Iterator[str]:
    yield from _breakpad(key, (".gsym", ".sym"))
    if key.code_id:
        yield from _by_build_id(key, "buildid/", ("gsym",))


def _unified(key: ModuleKey, kinds: Iterable[str]) -> Iterator[str]:
    ids = [each for each in _build_ids(key) if len(each) > _MAX_PE_DIGITS]
    if (guid := _guid(key)) is not None:
        ids.append(guid.hex())  # a Mach-O file's UUID
    # Of a PE file; of others it is not a path.
    ids += [each.lower() for each in _debug_ids(key)[:1] if len(each) > GUID_DIGITS]
    for each in ids:
        for kind in kinds:
            yield f"{each[:2]}/{each[2:]}/{kind}"


def _lldb(key: ModuleKey) -> Iterator[str]:
    guid = _guid(key)
    if guid is not None:
        digits = guid.hex().upper()
        parts = [digits[end - 4 : end] for end in _UUID_PARTS]
        yield "/".join((*parts, digits[_UUID_PARTS[-1] :]))


# ---- stores of this package


def store_debug_ids(key: ModuleKey) -> Iterable[str]:
    """Debug ids under which a store may have published a module."""
    if key.debug_id:
        with suppress(ValueError):  # no module has it
            return (normal_debug_id(key.debug_id),)
    elif build_id := build_id_digits(key.code_id):
        return dict.fromkeys(debug_ids_of_build_id(build_id))
    return ()


# ---- Microsoft's tools: NAME/KEY/NAME


def _in_symstore(key: ModuleKey, is_wanted: Callable[[str], bool]) -> Iterator[str]:
    for name, identifier in _symstore_names(key):
        if is_wanted(name):
            # The other files have no name of three letters after a dot.
            is_windows = "-" not in identifier
            yield from symstore_paths(name, [identifier], may_be_compressed=is_windows)


def _symstore_names(key: ModuleKey) -> Iterator[tuple[str, str]]:
    if is_plain_name(key.debug_file) and key.debug_file.lower().endswith(".pdb"):
        for identifier in _debug_ids(key):
            yield key.debug_file, identifier
    name = key.code_file or key.debug_file
    has_name = is_plain_name(name)
    for build_id in _build_ids(key):
        if ANY not in build_id:
            yield "_.debug", f"elf-buildid-sym-{build_id}"
            if has_name:
                yield name, f"elf-buildid-{build_id}"
    if (guid := _guid(key)) is not None:
        yield "_.dwarf", f"mach-uuid-sym-{guid.hex()}"
        if has_name:
            yield name, f"mach-uuid-{guid.hex()}"
    if has_name and len(key.code_id) <= _MAX_PE_DIGITS:
        for identifier in _code_ids(key):
            yield name, identifier


def _binary_in_symstore(key: ModuleKey) -> Iterator[str]:
    return _in_symstore(
        key, lambda name: not (name.startswith("_.") or name.lower().endswith(".pdb"))
    )


def _binary_of_server(key: ModuleKey) -> Iterator[str]:
    yield from _by_build_id(key, "buildid/", _BINARY_KINDS)
    yield from _binary_in_symstore(key)


_NAMES = "a file name and its id"
_BUILD_ID = "a build id"
_KINDS = ("debuginfo", "executable")
_BINARY_KINDS = ("executable", "debuginfo")

BREAKPAD = Layout("breakpad", _NAMES, _breakpad, _breakpad)
BREAKPAD_TREE = Layout(
    "breakpad", _NAMES, lambda key: _breakpad(key, (".gsym", ".sym", ".sym.gz"))
)
GSYM = Layout(
    "gsym",
    f"{_NAMES}, or {_BUILD_ID}",
    _gsym_server,
    _binary_of_server,
    _source_by_build_id,
)
BUILD_ID = Layout("build-id", _BUILD_ID, _build_id_tree)
DEBUGINFOD = Layout(
    "debuginfod",
    _BUILD_ID,
    lambda key: _by_build_id(key, "buildid/", _KINDS),
    lambda key: _by_build_id(key, "buildid/", _BINARY_KINDS),
    _source_by_build_id,
)
DEBUGINFOD_CACHE = Layout(
    "debuginfod cache", _BUILD_ID, lambda key: _by_build_id(key, "", ("gsym", *_KINDS))
)
LLDB = Layout("lldb", "a UUID", _lldb)
STORE = Layout(
    "gsym store",
    f"a debug id or {_BUILD_ID}",
    lambda key: (f"{link_of_slot(each)}/{GSYM_FILE}" for each in store_debug_ids(key)),
)
SYMSTORE = Layout(
    "symstore",
    f"{_NAMES}, or {_BUILD_ID}",
    lambda key: dict.fromkeys(_in_symstore(key, lambda _name: True)),
    _binary_in_symstore,
)
UNIFIED = Layout(
    "unified",
    f"a debug id or {_BUILD_ID}",
    lambda key: _unified(key, ("debuginfo", "breakpad", "executable")),
    lambda key: _unified(key, (*_BINARY_KINDS, "breakpad")),
)
