"""Modules in a file of a folder of debug files."""

from __future__ import annotations

import os

from gsym.containers.recognition import HEAD_SIZE, PACKAGES, recognise
from gsym.errors import GsymError
from gsym.modules.key import ModuleKey, key_of_uuid
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.cache import FileStamp

_MODULE = b"MODULE "
_DWARF = (b".debug_info", b".zdebug_info", b"__debug_info")
_KINDS = frozenset({"breakpad", "gsym", "object", "fat", "pdb"})
_WITH_CODE = frozenset({"object", "fat"})
_SYSTEMS = ("Linux", "mac", "windows")
WITH_DWARF = 2  # rank


class IndexedFile(NamedTuple):
    """A file."""

    stamp: FileStamp
    modules: Sequence[ModuleKey] = ()  # what is in it
    # what it may be found as: these; of a GSYM file that has only a UUID, what that
    # says on each system
    keys: Sequence[ModuleKey] = ()
    kind: str = ""  # as of `recognise`
    is_debug_file: bool = True  # whether it may be one
    # of an object file, `WITH_DWARF`, 1 with a symbol table, 0 if stripped
    rank: int = 1
    is_package: bool = False  # whether it is a Debian or RPM package


def read_file(path: str, stamp: FileStamp) -> IndexedFile:
    """The contents of the file *path*; nothing if it is damaged."""
    try:
        with open(path, "rb", buffering=0) as file:
            head = file.read(HEAD_SIZE)
        kind = recognise(head)
        if kind in PACKAGES:
            return IndexedFile(stamp, is_debug_file=False, is_package=True)
        if kind == "gsym":
            return _read_gsym(path, stamp)
        # Another text may have a line of a Breakpad file.
        is_sym_file = path.endswith(".sym") or head.startswith(_MODULE)
        if kind not in _KINDS or (kind == "breakpad" and not is_sym_file):
            return IndexedFile(stamp, is_debug_file=False)
        from gsym.containers.fat import open_slice
        from gsym.store.binary_facts import storable_modules

        modules = [each.identity for each in storable_modules(path, ModuleKey())]
        rank = 1
        if kind == "object":
            with open_slice(path) as binary:
                rank = int(binary.has_section(b".symtab") or not binary.is_elf)
                rank = WITH_DWARF if any(map(binary.has_section, _DWARF)) else rank
    except (GsymError, OSError, ValueError):
        return IndexedFile(stamp, is_debug_file=False)
    from gsym.store.archives import bare_name

    # With the names that they would get in a store.
    named = [
        each._replace(debug_file=bare_name(path))
        if each.debug_file in {"", os.path.basename(path)}
        else each
        for each in modules
    ]
    return IndexedFile(stamp, named, named, kind, rank=rank)


def with_code(path: str, kind: str, module: ModuleKey) -> ModuleKey:
    """A module in a file of a kind, with the hash of its code, which is read.

    It is unchanged if the file has no code, or cannot be read.
    """
    if module.code_hash or kind not in _WITH_CODE:
        return module
    from gsym.conversion.module_file import modules_in

    try:
        for key in (each.identity for each in modules_in(path, with_code=True)):
            if (key.debug_id, key.code_id) == (module.debug_id, module.code_id):
                return module._replace(code_hash=key.code_hash)
    except (GsymError, OSError):
        pass  # changed meanwhile
    return module


def _read_gsym(path: str, stamp: FileStamp) -> IndexedFile:
    from gsym.reading.reader import open as open_reader
    from gsym.store.archives import bare_name

    with open_reader(path) as reader:
        uuid, byteorder, module = reader.uuid, reader.header.byteorder, reader.module
    name = bare_name(path).removesuffix(".gsym")
    if module is not None:
        modules = [module._replace(debug_file=module.debug_file or name)]
        return IndexedFile(stamp, modules, modules, "gsym")
    keys = [
        key_of_uuid(uuid, byteorder, ModuleKey(os=each))._replace(debug_file=name)
        for each in _SYSTEMS
    ]
    return IndexedFile(stamp, keys[:1], keys, "gsym") if uuid else IndexedFile(stamp)
