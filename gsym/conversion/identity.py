"""Names and ids of modules, as crash reporters and symbol servers know them.

A GSYM file contains only the build id. Breakpad's files and symbol stores identify a
module by these names and ids, which come from its binary.
"""

from __future__ import annotations

import os
from os.path import basename

from gsym.arguments import path_of
from gsym.containers.recognition import refuse
from gsym.engine.native import to_str, uuid_bytes
from gsym.errors import FormatError, GsymError, UuidMismatchError
from gsym.model import base_name
from gsym.modules.key import (
    NO_KEY,
    SAME,
    UNKNOWN,
    Comparison,
    ModuleKey,
    codeview_debug_id,
    compare,
    elf_debug_id,
    has_id,
    hash_of_code,
    is_absent,
    key_of_uuid,
    macho_debug_id,
    pe_code_id,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike
    from typing import Literal, TypeAlias, TypeVar

    from gsym.containers.object_file import ObjectFile
    from gsym.containers.pdb_file import PdbFile
    from gsym.conversion.input_file import Input

    ByteOrder: TypeAlias = Literal["big", "little"]
    # What a GSYM file says of its module, given that of a binary: `module_like` of its
    # reader.
    Saying: TypeAlias = Callable[[ModuleKey], ModuleKey]
    T = TypeVar("T")

_GUID_SIZE = 16
_TEXT_HASHED = 4096  # bytes of .text hashed if there is no build id
_GO_NOTE = b".note.go.buildid"
_NOTE_HEADER_SIZE = 12  # size of the name, size of the contents, type

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


def elf_text_identifier(text: bytes | bytearray | memoryview) -> bytes:
    """The replacement for a missing build id.

    It is made of the first page of .text.
    """
    identifier = 0
    for at in range(0, min(len(text), _TEXT_HASHED), _GUID_SIZE):
        chunk = bytes(text[at : min(at + _GUID_SIZE, _TEXT_HASHED)])
        identifier ^= int.from_bytes(chunk.ljust(_GUID_SIZE, b"\0"), "big")
    return identifier.to_bytes(_GUID_SIZE, "big")


def pdb_identity(pdb: PdbFile) -> ModuleKey:
    """The identity of the module that a PDB belongs to; its image has the code id."""
    return ModuleKey(
        os="windows",
        architecture=_PE_MACHINES.get(pdb.machine, ""),
        debug_id=codeview_debug_id(pdb.guid, pdb.age),
        debug_file=basename(pdb.path),
    )


def identify(
    path: str | PathLike[str], *, uuid: bytes | str | None = None
) -> ModuleKey:
    """The identity of the module that a binary is.

    Args:
        path: An ELF, Mach-O or PE file, a PDB, or a dSYM bundle.
        uuid: That of a GSYM file which the binary has to fit. Of a fat file, it
            chooses the slice.

    Raises:
        ArchitectureError: It is a fat file, and *uuid* selects no slice.
        FormatError: The file is not an ELF, Mach-O, PE or WebAssembly file or a PDB, or
            its headers are damaged.
        UnsupportedError: It is of a kind that is not read.
        UuidMismatchError: It is another binary.
        OSError: It cannot be opened or mapped.
    """
    wanted = b""
    if uuid is not None:
        wanted = uuid_bytes(uuid)
    said = (lambda key: key_of_uuid(wanted, "little", key)) if wanted else None
    return identify_fitting(path_of("path", path), said)


def identify_fitting(path: str, said: Saying | None) -> ModuleKey:
    """The identity of the module that a GSYM file was made from, see `identify`."""
    from gsym.conversion.input_file import open_input

    file = open_input(path)
    if file.kind == "pdb":
        from gsym.containers.pdb_file import PdbFile

        key = pdb_identity(PdbFile(file.data, path))
        if said is not None and (fit := compare(key, said(key))).is_refused:
            raise UuidMismatchError(fit.reason, path=path)
        return key
    binary, fit = open_fitting(file, said)
    with binary:
        if fit.outcome == UNKNOWN and said is not None and has_id(said(NO_KEY)):
            raise UuidMismatchError("its UUID is missing", path=binary.path)
        code_hash = "" if said is None else said(NO_KEY).code_hash
        return key_of_binary(binary)._replace(code_hash=code_hash)


def open_fitting(path: Input, said: Saying | None) -> tuple[ObjectFile, Comparison]:
    """The binary at *path* that a GSYM file was made from, see `find_fitting`.

    Raises:
        UuidMismatchError: It is another binary.
    """
    binary, fit = find_fitting(path, said)
    if fit.is_refused:
        reason = f"the GSYM file is of another build: {fit.reason}"
        raise UuidMismatchError(reason, path=binary.path)
    return binary, fit


def find_fitting(given: Input, said: Saying | None) -> tuple[ObjectFile, Comparison]:
    """The binary in an input, of a fat file the slice that fits a GSYM file.

    Where the GSYM file has *said* nothing, any binary will do.

    Returns:
        The binary, and whether the file was made from it.

    Raises:
        ArchitectureError: It is a fat file, and no slice fits.
    """
    from gsym.containers.fat import choose_slice, list_slices
    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.input_file import open_input

    file = open_input(given)
    data, path = file.data, file.path
    if file.kind not in {"object", "fat"}:
        refuse(file.kind, path, "not a binary")
    if file.kind == "fat":
        for each in list_slices(data, path):
            if said is None:
                break
            binary = ObjectFile(data[each.offset :][: each.size], path)
            fit = compare_binary(binary, said)
            if not fit.is_refused and fit.outcome != UNKNOWN:
                return binary, fit
        data = choose_slice(data, path, None)
    binary = ObjectFile(data, path)
    fit = Comparison(SAME) if said is None else compare_binary(binary, said)
    return binary, fit


def read_first(
    paths: Iterable[str], said: Saying | None, read: Callable[[ObjectFile], T]
) -> T | None:
    """The first result of *read* that is not empty; None if all are.

    Binaries that cannot be read or do not fit what a GSYM file has *said* are skipped.
    """
    for path in paths:
        try:
            binary, fit = find_fitting(path, said)
            with binary:
                result = None if fit.is_refused else read(binary)
        except (GsymError, OSError, ValueError):
            continue
        if result:
            return result
    return None


def compare_binary(
    binary: ObjectFile, said: Saying, hash_code: Callable[[], str] | None = None
) -> Comparison:
    """Whether a GSYM file was made from an open binary.

    The code is read only where the file has a hash of it and it can change the result.
    """
    key = key_of_binary(binary)
    module = said(key)
    best = compare(key._replace(code_hash=module.code_hash), module)
    if best.is_refused or not module.code_hash:
        return best
    code_hash = hash_of_code(binary.code()) if hash_code is None else hash_code()
    if code_hash == module.code_hash:
        return best
    return compare(key._replace(code_hash=code_hash), module)


def key_of_binary(binary: ObjectFile) -> ModuleKey:
    """The names and ids of an open binary; `hash_of_code` is not among them."""
    name, architecture = basename(binary.path), binary.architecture
    if not (binary.is_elf or binary.is_macho or binary.is_wasm):
        found = _key_of_pe(binary)
        return found._replace(debug_file=found.debug_file or name, code_file=name)
    uuid = binary.uuid
    found = ModuleKey(
        debug_file=name,
        code_id=uuid.hex().upper(),
        architecture=_ARCHITECTURES.get(architecture, architecture),
    )
    if binary.is_macho:
        debug_id = macho_debug_id(uuid) if uuid else ""
        return found._replace(os="mac", debug_id=debug_id)
    if binary.is_wasm:
        debug_id = elf_debug_id(uuid, "big") if uuid else ""
        return found._replace(debug_id=debug_id)
    identifier = uuid
    if not uuid:
        text = _section(binary, b".text")
        identifier = b"" if text is None else elf_text_identifier(text)
    byteorder = binary.byteorder
    return found._replace(
        os="Linux",
        debug_id=elf_debug_id(identifier, byteorder) if identifier.strip(b"\0") else "",
        go_id=_go_id(_section(binary, _GO_NOTE), byteorder),
    )


def module_of(binary: ObjectFile) -> ModuleKey:
    """All that an open binary says of its module, with the hash of its code."""
    if binary.is_elf and binary.uuid and not binary.has_section(_GO_NOTE):
        try:
            return _elf_module_of(binary)
        except FormatError:
            pass  # a section exceeds the file
    return key_of_binary(binary)._replace(code_hash=hash_of_code(binary.code()))


def _elf_module_of(binary: ObjectFile) -> ModuleKey:
    """Module of an ELF file with a build id that is not of Go, by the engine."""
    from gsym.engine.text_buffer import text_by  # not to compare files
    from gsym.modules.part import read_key

    name, architecture = os.fsencode(basename(binary.path)), binary.architecture
    spelled = os.fsencode(_ARCHITECTURES.get(architecture, architecture))
    given = binary.handle, name, len(name), spelled
    return read_key(text_by("elf_module", *given))


def _section(binary: ObjectFile, name: bytes) -> memoryview | None:
    """A section as stored; None if there is none, or its header is damaged."""
    try:
        return binary.stored_section(name)
    except FormatError:
        return None


def _go_id(note: memoryview | None, byteorder: ByteOrder) -> str:
    """The build id in a note of Go's linker."""
    if note is None or len(note) < _NOTE_HEADER_SIZE:
        return ""
    name_size, size = (int.from_bytes(note[at : at + 4], byteorder) for at in (0, 4))
    start = _NOTE_HEADER_SIZE + -(-name_size // 4) * 4
    return bytes(note[start : start + size]).decode("ascii", "replace").rstrip("\0")


def _key_of_pe(binary: ObjectFile) -> ModuleKey:
    from gsym.containers.headers import read_codeview, read_pe_headers

    found = ModuleKey(os="windows", architecture=_PE_MACHINES.get(binary.machine, ""))
    if binary.is_relocatable:  # COFF, which has no headers of an image
        return found
    try:
        headers = read_pe_headers(binary.data, binary.path)
        codeview = read_codeview(binary.data, binary.path, headers)
    except FormatError:
        return found  # they are damaged behind what a conversion reads
    code_id = pe_code_id(headers.time_stamp, headers.size_of_image)
    found = found._replace(code_id=code_id)
    if codeview is None:
        return found
    guid, age, pdb = codeview
    name = base_name(to_str(pdb))
    debug_id = "" if is_absent(guid.hex()) else codeview_debug_id(guid, age)
    return found._replace(debug_id=debug_id, debug_file=name)
