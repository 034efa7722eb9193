"""Finds the modules in a file with debug information."""

from __future__ import annotations

import gsym.reading.reader
from gsym.containers.fat import list_slices
from gsym.containers.object_file import ObjectFile
from gsym.containers.pdb_file import PdbFile
from gsym.containers.recognition import refuse
from gsym.conversion.identity import key_of_binary, pdb_identity
from gsym.conversion.input_file import open_input
from gsym.conversion.inputs.breakpad import breakpad_identity, read_module
from gsym.errors import FormatError, UnsupportedError
from gsym.records import NamedTuple
from gsym.store.archives import bare_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.modules.key import ModuleKey


class ModuleFile(NamedTuple):
    """A module in a file.

    Attributes:
        path: The file to convert.
        kind: "object", "pdb", "breakpad" or "gsym".
        identity: What the file says, but for the hash of its code.
        uuid: The complete build id, LC_UUID or GUID; b"" for none.
        architecture: The slice of a fat file; else None.
    """

    path: str
    kind: str
    identity: ModuleKey
    uuid: bytes
    architecture: str | None = None


_WORDS = 2  # the name of an operating system and that of an architecture
_HEADER_SIZE = 64 << 10  # where MODULE and INFO records are expected


def modules_in(path: str, wanted: ModuleKey) -> tuple[ModuleFile, ...]:
    """The modules in the file *path*.

    Args:
        path: A binary, a dSYM bundle, a PDB, a Breakpad file or a GSYM file.
        wanted: The module that it may be, which tells of what system the UUID of a GSYM
            file is that says no more.

    Returns:
        One for each slice of a fat file, else one.

    Raises:
        FormatError: The file is damaged.
        UnsupportedError: It is not a module, or of an unsupported kind.
    """
    _, file, data, kind = open_input(path)
    if kind == "breakpad":
        return (_of_breakpad(file),)
    if kind == "gsym":
        return (_of_gsym(file, wanted),)
    if kind == "pdb":
        pdb = PdbFile(data, file)
        return (ModuleFile(file, "pdb", pdb_identity(pdb), pdb.guid),)
    if kind == "archive":
        reason = "a static archive, whose object files are not modules"
        raise UnsupportedError(reason, path=path)
    if kind not in {"object", "fat"}:
        refuse(kind, file)
    slices = list_slices(data, file)
    return tuple(
        _of_object(
            file,
            data[each.offset :][: each.size],
            each.architecture if kind == "fat" else None,
        )
        for each in slices
    )


def _of_object(path: str, data: memoryview, architecture: str | None) -> ModuleFile:
    with ObjectFile(data, path) as binary:
        uuid = binary.uuid
        if binary.is_relocatable and not uuid:
            reason = "an object file without a build id, which is not a module yet"
            raise UnsupportedError(reason, path=path)
        identity = key_of_binary(binary)
    return ModuleFile(path, "object", identity, uuid, architecture)


def _of_breakpad(path: str) -> ModuleFile:
    with open(path, "rb", buffering=0) as file:
        lines = file.read(_HEADER_SIZE).splitlines()
    try:
        identity = breakpad_identity(lines)
    except ValueError as error:
        raise FormatError(str(error), path=path) from None
    return ModuleFile(path, "breakpad", identity, read_module(lines).build_id)


def _of_gsym(path: str, wanted: ModuleKey) -> ModuleFile:
    with gsym.reading.reader.open(path) as reader:
        uuid, identity = reader.uuid, reader.module_like(wanted)
    if len(f"{identity.os} {identity.architecture}".split()) > _WORDS:
        raise FormatError("invalid operating system or architecture", path=path)
    named = identity._replace(
        debug_file=bare_name(identity.debug_file),
        code_file=bare_name(identity.code_file),
    )
    return ModuleFile(path, "gsym", named, uuid)
