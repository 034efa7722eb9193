"""The modules in a file, with their names and ids."""

from __future__ import annotations

from gsym.containers.recognition import refuse
from gsym.conversion.identity import key_of_binary, module_of, pdb_identity
from gsym.errors import FormatError, UnsupportedError
from gsym.modules.key import NO_KEY, ModuleKey
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from gsym.conversion.input_file import InputFile


class ModuleFile(NamedTuple):
    """A module in a file."""

    path: str  # the file; of a dSYM bundle, that in it
    kind: str  # "object", "pdb", "breakpad" or "gsym"
    identity: ModuleKey  # what the file says
    uuid: bytes  # the complete build id, LC_UUID or GUID; b"" for none
    architecture: str | None = None  # the slice of a fat file; else None
    is_relocatable: bool = False  # whether it is an object file that is not linked


def modules_in(
    path: str | PathLike[str], wanted: ModuleKey = NO_KEY, *, with_code: bool = False
) -> Iterator[ModuleFile]:
    """The modules in the file *path*: one for each slice of a fat file, else one.

    The *wanted* module tells of what system the UUID of a GSYM file is that says no
    more. The code of a binary is read *with_code* only, for its hash.
    """
    # What searches for files finds none in most runs.
    from gsym.containers.fat import list_slices
    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.input_file import open_input

    file = open_input(path)
    if file.kind == "archive":
        reason = "a static archive, whose object files are not modules"
        raise UnsupportedError(reason, path=file.given)
    if file.kind in _MODULE_OF:
        yield _MODULE_OF[file.kind](file, wanted)
        return
    if file.kind not in {"object", "fat"}:
        refuse(file.kind, file.path)
    for each in list_slices(file.data, file.path):
        architecture = each.architecture if file.kind == "fat" else None
        data = file.data[each.offset :][: each.size]
        with ObjectFile(data, file.path) as binary:
            key = module_of(binary) if with_code else key_of_binary(binary)
            unlinked = binary.is_relocatable
            found = file.path, "object", key, binary.uuid, architecture, unlinked
        yield ModuleFile(*found)


def _of_breakpad(file: InputFile, _wanted: ModuleKey) -> ModuleFile:
    from gsym.conversion.inputs import breakpad

    module = breakpad.read_head(file.data)
    try:
        identity = breakpad.breakpad_identity(module)
    except ValueError as error:
        raise FormatError(str(error), path=file.path) from None
    build_id = breakpad.own_build_id(module)
    return ModuleFile(file.path, "breakpad", identity, build_id)


def _of_gsym(file: InputFile, wanted: ModuleKey) -> ModuleFile:
    from gsym.reading.reader import Reader

    with Reader(file.data, path=file.path) as reader:
        return ModuleFile(file.path, "gsym", reader.module_like(wanted), reader.uuid)


def _of_pdb(file: InputFile, _wanted: ModuleKey) -> ModuleFile:
    from gsym.containers.pdb_file import PdbFile

    pdb = PdbFile(file.data, file.path)
    return ModuleFile(file.path, "pdb", pdb_identity(pdb), pdb.guid)


_MODULE_OF = {"breakpad": _of_breakpad, "gsym": _of_gsym, "pdb": _of_pdb}
