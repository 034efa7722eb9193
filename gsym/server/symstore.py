"""Serves files under the paths of Microsoft's symbol stores, by SSQP's conventions.

/app.pdb/GUIDAGE/app.pdb     /app.exe/STAMPSIZE/app.exe
/NAME/elf-buildid-ID/NAME    /_.debug/elf-buildid-sym-ID/_.debug
/NAME/mach-uuid-ID/NAME      /_.dwarf/mach-uuid-sym-ID/_.dwarf
/ap/app.pdb/GUIDAGE/app.pdb, likewise all others: stores with an index of two levels

Source: https://github.com/dotnet/symstore/blob/main/docs/specs/SSQP_Key_Conventions.md
"""

from __future__ import annotations

from gsym.modules.key import ModuleKey, key_of_build_id, key_of_debug_id, macho_debug_id
from gsym.records import NamedTuple

_INDEX_LETTERS = 2
_ELF, _MACHO = "elf-buildid-", "mach-uuid-"
_DEBUG_FILE = "sym-"
_PDB = b"Microsoft C/C++ MSF 7.00\r\n"
_PE = b"MZ"
_MACHO_MAGICS = (
    *(b"\xfe\xed\xfa\xce", b"\xce\xfa\xed\xfe", b"\xfe\xed\xfa\xcf"),
    *(b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf"),
)
_UUID_SIZE = 16
_MAX_ID = 64


class SymstoreFile(NamedTuple):
    """A file that was asked for."""

    key: ModuleKey  # its module
    kind: str  # as of debuginfod; "" for any
    # how it may start; anyhow if it is an ELF file, which has a build id to check
    magics: tuple[bytes, ...] = (b"",)


def symstore_file(name: str, identifier: str, file: str) -> SymstoreFile | None:
    """The file at a path; None if that is not one of such a store."""
    if name.lower() != file.lower():
        return None
    try:
        return _file(name, identifier)
    except ValueError:
        return None


def is_in_index(folder: str, name: str) -> bool:
    """Whether a folder of the first level is the one for *name*."""
    return folder.lower() == name[:_INDEX_LETTERS].lower()


def _file(name: str, identifier: str) -> SymstoreFile | None:
    text = identifier.lower()
    for prefix in (_ELF, _MACHO):
        if text.startswith(prefix):
            digits = text.removeprefix(prefix)
            kind = "debuginfo" if digits.startswith(_DEBUG_FILE) else "executable"
            found = bytes.fromhex(digits.removeprefix(_DEBUG_FILE))
            if prefix == _ELF:
                return SymstoreFile(key_of_build_id(found), kind)
            if len(found) != _UUID_SIZE:
                return None
            key = ModuleKey(debug_id=macho_debug_id(found))
            return SymstoreFile(key, "", _MACHO_MAGICS)
    if name.lower().endswith(".pdb"):
        return SymstoreFile(key_of_debug_id(name, identifier), "", (_PDB,))
    if len(identifier) > _MAX_ID or not identifier.isalnum():
        return None
    key = ModuleKey(code_file=name, code_id=identifier.upper())
    return SymstoreFile(key, "", (_PE,))
