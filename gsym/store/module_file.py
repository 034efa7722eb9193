"""Which module, or modules, a file is the debug information of."""

from __future__ import annotations

import gsym.reading.reader
from gsym.containers.fat import list_slices
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.containers.recognition import recognise_file, refuse
from gsym.conversion.companions.macho import bundle_member
from gsym.conversion.identity import (
    ModuleIdentity,
    breakpad_identity,
    codeview_debug_id,
    identify,
    uuid_debug_id,
)
from gsym.errors import FormatError, UnsupportedError, UuidMismatchError
from gsym.records import NamedTuple


class ModuleFile(NamedTuple):
    """A module, and the file that is to be converted.

    Attributes:
        path: The file.
        kind: "object", "breakpad" or "gsym".
        identity: As far as the file tells.
        uuid: What tells the module's GSYM file from others: build id, LC_UUID or
            GUID, whole; b"" for none.
        architecture: Of a fat file, the slice; else None.
    """

    path: str
    kind: str
    identity: ModuleIdentity
    uuid: bytes
    architecture: str | None = None


_HEAD_SIZE = 64 << 10  # where MODULE and INFO records are expected


def modules_in(path: str, wanted: ModuleIdentity) -> tuple[ModuleFile, ...]:
    """The modules of which the file *path* has debug information.

    Args:
        path: A binary, a dSYM bundle, a Breakpad file or a GSYM file.
        wanted: OS and debug id that the module shall have, as far as they are known:
            a GSYM file tells only its UUID.

    Returns:
        One for each slice of a fat file, else one.

    Raises:
        FormatError: It is no such file, or damaged.
        UnsupportedError: It is of a kind that is not read, or of no module.
        UuidMismatchError: It is a GSYM file whose UUID does not fit *wanted*.
        OSError: It cannot be read.
    """
    file = bundle_member(path)
    kind = recognise_file(file)
    if kind == "breakpad":
        return (_of_breakpad(file),)
    if kind == "gsym":
        return (_of_gsym(file, wanted),)
    if kind == "archive":
        reason = "a static archive: its object files are no modules"
        raise UnsupportedError(reason, path=path)
    if kind not in {"object", "fat"}:
        refuse(kind, file)
    data = map_file(file)
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
            reason = "an object file without a build id, which is no module yet"
            raise UnsupportedError(reason, path=path)
    identity = identify(path, uuid=uuid or None)
    return ModuleFile(path, "object", identity, uuid, architecture)


def _of_breakpad(path: str) -> ModuleFile:
    from gsym.conversion.inputs.breakpad import read_module

    with open(path, "rb", buffering=0) as file:
        lines = file.read(_HEAD_SIZE).splitlines()
    try:
        identity = breakpad_identity(lines)
    except ValueError as error:
        raise FormatError(str(error), path=path) from None
    return ModuleFile(path, "breakpad", identity, read_module(lines).build_id)


def _of_gsym(path: str, wanted: ModuleIdentity) -> ModuleFile:
    with gsym.reading.reader.open(path) as reader:
        uuid, byteorder = reader.uuid, reader.header.byteorder
    systems = [wanted.os] if wanted.os else ["Linux", "mac", "windows"]
    for os in systems:
        debug_id = _fitting_debug_id(uuid, os, byteorder, wanted.debug_id)
        if debug_id:
            identity = ModuleIdentity(os=os, debug_id=debug_id)
            return ModuleFile(path, "gsym", identity, uuid)
    if not wanted.debug_id:
        return ModuleFile(path, "gsym", ModuleIdentity(os=wanted.os), uuid)
    raise UuidMismatchError(
        f"its UUID is {uuid.hex() or 'missing'}, which makes no debug id "
        f"{wanted.debug_id}",
        path=path,
    )


def _fitting_debug_id(uuid: bytes, os: str, byteorder: str, wanted: str) -> str:
    """The debug id that *uuid* makes by the rule of a system, or is a part of."""
    if not uuid:
        return wanted  # there is nothing to compare it with
    if os.lower() == "windows":
        guid = codeview_debug_id(uuid, 0)[:-1]
        return wanted if wanted.upper().startswith(guid) else ""
    debug_id = uuid_debug_id(uuid, os, byteorder)
    return debug_id if wanted.upper() in {"", debug_id} else ""
