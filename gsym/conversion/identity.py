"""What crash reporters and symbol servers call a module.

A GSYM file contains only the build id. Breakpad's files and symbol stores identify a
module by these names and ids, which come from its binary.
"""

from __future__ import annotations

from gsym.conversion.inputs.breakpad import is_apple, read_module_words
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from gsym.containers.pdb_file import PdbFile


class ModuleIdentity(NamedTuple):
    """How a module is known; "" where that is not known.

    Attributes:
        os: As Breakpad writes it: "Linux", "mac", "windows".
        architecture: As Breakpad writes it: "x86_64", "arm64".
        debug_id: 32 hexadecimal digits of a GUID and those of the age.
        code_id: Build id, LC_UUID, or time stamp and image size of a PE file.
        debug_file: Name of the file with debug information, without folder.
        code_file: Name of the binary where it is another one, as for PE.
    """

    os: str = ""
    architecture: str = ""
    debug_id: str = ""
    code_id: str = ""
    debug_file: str = ""
    code_file: str = ""


_GUID_SIZE = 16
_GUID_DIGITS = 2 * _GUID_SIZE
_MAX_AGE_DIGITS = 8
_NO_AGE = "0"  # of files that have none: ELF and Mach-O
_TEXT_HASHED = 4096  # bytes of .text hashed if there is no build id
_ELF = b"\x7fELF"

# From the names of LLVM's target triples; what is missing has the same name.
_ARCHITECTURES = {
    "i386": "x86",
    "aarch64": "arm64",
    "aarch64_be": "arm64",
    "armeb": "arm",
    "mipsel": "mips",
    "mips64el": "mips64",
    "powerpc": "ppc",
    "powerpcle": "ppc",
    "powerpc64": "ppc64",
    "powerpc64le": "ppc64",
    "s390x": "s390",
    "riscv32": "riscv",
    "riscv64": "riscv",
}

_PE_MACHINES = {
    0x14C: "x86",
    0x1C4: "arm",
    0x8664: "x86_64",
    0xAA64: "arm64",
    0xA641: "arm64",  # ARM64EC
}


def elf_debug_id(build_id: bytes, byteorder: str) -> str:
    """Debug id of an ELF file: a GUID made of the first 16 bytes of its build id.

    Args:
        build_id: Shorter ones are filled up with zeros.
        byteorder: "little" or "big", of the file. The fields of a GUID are numbers,
            so that those of a little-endian file are printed the other way round.
    """
    guid = build_id[:_GUID_SIZE].ljust(_GUID_SIZE, b"\0")
    return _print_guid(guid, is_little=byteorder == "little") + _NO_AGE


def elf_text_identifier(text: bytes | bytearray | memoryview) -> bytes:
    """The replacement for a missing build id.

    Args:
        text: Contents of .text; its first page counts.
    """
    identifier = 0
    for at in range(0, min(len(text), _TEXT_HASHED), _GUID_SIZE):
        chunk = bytes(text[at : min(at + _GUID_SIZE, _TEXT_HASHED)])
        identifier ^= int.from_bytes(chunk.ljust(_GUID_SIZE, b"\0"), "big")
    return identifier.to_bytes(_GUID_SIZE, "big")


def macho_debug_id(uuid: bytes) -> str:
    """Debug id of a Mach-O file: its LC_UUID unchanged."""
    return uuid.hex().upper() + _NO_AGE


def codeview_debug_id(guid: bytes, age: int) -> str:
    """Debug id of a PE file and its PDB.

    Args:
        guid: The 16 bytes in the CodeView record.
        age: From the same record.
    """
    return _print_guid(guid, is_little=True) + f"{age:x}"


def pe_code_id(time_stamp: int, size_of_image: int) -> str:
    """Code id of a PE file, from its COFF and its optional header."""
    return f"{time_stamp:08X}{size_of_image:x}"


def uuid_debug_id(uuid: bytes, os: str, byteorder: str) -> str:
    """Debug id of a module from the UUID of its GSYM file.

    Args:
        uuid: Build id, LC_UUID or GUID, as a conversion writes it.
        os: As Breakpad writes it; it decides which of these it is.
        byteorder: "little" or "big", of the GSYM file, which is the binary's.

    Returns:
        "" where there is no UUID, and for Windows, where the age is missing.
    """
    if not uuid or os.lower() == "windows":
        return ""
    if is_apple(os):
        return macho_debug_id(uuid)
    return elf_debug_id(uuid, byteorder)


def uuid_code_id(uuid: bytes, os: str) -> str:
    """Code id of a module from the UUID of its GSYM file, "" where that is none.

    The code id of a PE file is another thing, and 16 bytes may be a part of a build
    id: all that a debug id has of it.
    """
    if is_apple(os) or (os.lower() != "windows" and len(uuid) != _GUID_SIZE):
        return uuid.hex().upper()
    return ""


def read_debug_id(text: str) -> str:
    """A debug id in Breakpad's form, from that or the form with dashes.

    Without an age it is 0. An age is a number: zeros before it are left out.

    Raises:
        ValueError: *text* is not a debug id.
    """
    digits = text.replace("-", "")
    guid, age = digits[:_GUID_DIGITS], digits[_GUID_DIGITS:] or _NO_AGE
    try:
        is_sound = len(bytes.fromhex(guid)) == _GUID_SIZE and int(age, 16) >= 0
    except ValueError:
        is_sound = False
    is_plain = digits.isascii() and digits.isalnum()
    if not is_sound or not is_plain or len(age) > _MAX_AGE_DIGITS:
        raise ValueError(f"'{text}' is not a debug id")
    return guid.upper() + (age.lower().lstrip("0") or _NO_AGE)


def breakpad_identity(records: Iterable[bytes]) -> ModuleIdentity:
    """The identity of the module that a Breakpad file describes.

    Args:
        records: Its lines, or as many as hold its MODULE and INFO records.

    Raises:
        ValueError: Its debug id is none.
    """
    os, architecture, debug_id, code_id, name, binary = read_module_words(records)
    return ModuleIdentity(
        os=os,
        architecture=architecture,
        debug_id=read_debug_id(debug_id) if debug_id else "",
        code_id=code_id.upper(),
        debug_file=name.replace("\\", "/").rpartition("/")[2],
        code_file=binary.replace("\\", "/").rpartition("/")[2],
    )


def pdb_identity(pdb: PdbFile) -> ModuleIdentity:
    """The identity of the module that a PDB belongs to; its image has the code id."""
    from os.path import basename

    return ModuleIdentity(
        os="windows",
        architecture=_PE_MACHINES.get(pdb.machine, ""),
        debug_id=codeview_debug_id(pdb.guid, pdb.age),
        debug_file=basename(pdb.path),
    )


def identify(path: str | PathLike[str], *, uuid: bytes | None = None) -> ModuleIdentity:
    """The identity of the module that a binary is.

    Args:
        path: An ELF, Mach-O or PE file, a PDB, or a dSYM bundle.
        uuid: That of a GSYM file which the binary has to fit. Of a fat file, it
            chooses the slice.

    Raises:
        ArchitectureError: It is a fat file, and *uuid* selects no slice.
        FormatError: The file is not an ELF, Mach-O or PE file or a PDB, or its headers
            are damaged.
        UnsupportedError: It is of a kind that is not read.
        UuidMismatchError: It is another binary.
        OSError: It cannot be opened or mapped.
    """
    from os import fspath
    from os.path import basename

    from gsym.containers.recognition import recognise_file
    from gsym.conversion.companions.macho import (
        bundle_member,
        check_uuid,
        read_fitting,
    )

    if recognise_file(bundle_member(fspath(path))) == "pdb":
        return _identify_pdb(fspath(path), uuid)
    data, file = read_fitting(fspath(path), uuid)
    is_pe = bytes(data[:2]) == b"MZ"
    own, found = (_identify_pe if is_pe else _identify_object)(data, file)
    check_uuid(own, uuid, file)
    name = basename(file)
    return found._replace(
        debug_file=found.debug_file or name,
        code_file=name if found.os == "windows" else "",
    )


def _identify_pdb(path: str, uuid: bytes | None) -> ModuleIdentity:
    from gsym.containers.mapped_file import map_file
    from gsym.containers.pdb_file import PdbFile
    from gsym.conversion.companions.macho import check_uuid

    pdb = PdbFile(map_file(path), path)
    check_uuid(pdb.guid, uuid, path)
    return pdb_identity(pdb)


def _identify_object(data: memoryview, path: str) -> tuple[bytes, ModuleIdentity]:
    from gsym.containers.object_file import ObjectFile

    with ObjectFile(data, path) as binary:
        own = binary.uuid
        architecture = _ARCHITECTURES.get(binary.architecture, binary.architecture)
        found = ModuleIdentity("", architecture, "", own.hex().upper())
        if bytes(data[:4]) != _ELF:
            debug_id = macho_debug_id(own) if own else ""
            return own, found._replace(os="mac", debug_id=debug_id)
        identifier = own
        if not own:
            text = binary.stored_section(b".text")
            identifier = b"" if text is None else elf_text_identifier(text)
        byteorder = "big" if binary.big_endian else "little"
        debug_id = elf_debug_id(identifier, byteorder) if identifier else ""
        return own, found._replace(os="Linux", debug_id=debug_id)


def _identify_pe(data: memoryview, path: str) -> tuple[bytes, ModuleIdentity]:
    from gsym.containers.headers import read_pe_headers
    from gsym.engine.native import to_str

    headers = read_pe_headers(data, path)
    architecture = _PE_MACHINES.get(headers.machine, "")
    code_id = pe_code_id(headers.time_stamp, headers.size_of_image)
    found = ModuleIdentity("windows", architecture, "", code_id)
    if headers.codeview is None:
        return b"", found
    guid, age, pdb = headers.codeview
    name = to_str(pdb.replace(b"\\", b"/").rpartition(b"/")[2])
    debug_id = codeview_debug_id(guid, age)
    return guid, found._replace(debug_id=debug_id, debug_file=name)


def _print_guid(guid: bytes, *, is_little: bool) -> str:
    """The fields of a GUID as numbers: 4, 2 and 2 bytes, then single ones."""
    fields = [guid[:4], guid[4:6], guid[6:8]]
    if is_little:
        fields = [field[::-1] for field in fields]
    return (b"".join(fields) + guid[8:]).hex().upper()
