"""Files that belong to an ELF file: debug files, supplementary files, MiniDebugInfo.

A debug file is found by build id or by `.gnu_debuglink`. What dwz moved out of several
DWARF files is in a supplementary file: `.gnu_debugaltlink` names it with its build id,
`.debug_sup` (DWARF 5, 7.3.6) with a checksum that the supplementary file repeats. In
the same way `.debug_dwp` (DWARF 6) names the package with the split units.
`.gnu_debugdata` is an ELF file compressed with xz: the symbols of a stripped binary
that its .dynsym does not have.
"""

from __future__ import annotations

import os
from functools import partial

from gsym.containers.inflation import believable_size, inflate_xz, limited
from gsym.containers.mapped_file import blocks
from gsym.containers.object_file import ObjectFile
from gsym.conversion.companions.search import (
    CompanionSearch,
    fault_of,
    other_build,
    other_sections,
)
from gsym.engine.native import zero_ended
from gsym.errors import FormatError, GsymError
from gsym.modules.key import ModuleKey, build_id_path, compare
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gsym.conversion.options import ConvertOptions


def installed_paths(build_id: bytes, directories: Sequence[str]) -> Iterator[str]:
    """Paths of the debug file of a build in each of *directories*."""
    if len(build_id) > 1:
        for directory in directories:
            yield f"{os.path.join(directory, build_id_path(build_id.hex()))}.debug"


class DebugLink(NamedTuple):
    """The contents of .gnu_debuglink: a file name without folder, and a checksum."""

    name: str
    crc: int


_CRC_SIZE = 4


def read_debug_link(binary: ObjectFile) -> DebugLink | None:
    """The debug link of *binary*; None where it has none, or one that names no file."""
    section = binary.section(b".gnu_debuglink")
    if section is None:
        return None
    name = zero_ended(section)
    crc_offset = (len(name) + _CRC_SIZE) & -_CRC_SIZE  # after the NUL, aligned
    crc = bytes(section[crc_offset : crc_offset + _CRC_SIZE])
    if len(crc) < _CRC_SIZE or name in {b"", b".", b".."} or b"/" in name:
        return None
    number = int.from_bytes(crc, binary.byteorder)
    return DebugLink(os.fsdecode(name), number)


def debug_link_paths(
    name: str, binary: str, directories: Sequence[str]
) -> Iterator[str]:
    """Paths of the debug file *name*: beside the binary, then in *directories*.

    Where the path of the binary is a link, its target counts as well.
    """
    paths = (binary, os.path.realpath(binary))
    folders = dict.fromkeys(map(os.path.dirname, paths))
    for folder in folders:
        yield os.path.join(folder, name)
        yield os.path.join(folder, ".debug", name)
    for folder in dict.fromkeys(map(os.path.abspath, folders)):
        for directory in directories:
            yield os.path.join(directory, folder.lstrip(os.sep), name)


def debug_files(
    search: CompanionSearch, options: ConvertOptions
) -> Iterator[ObjectFile]:
    """The files with the debug information of an ELF or PE file, the best one first."""
    binary = search.binary
    for paths, mismatch in debug_paths(search, options.debug_file_directories):
        yield from search.open_all(paths, mismatch)
    if options.debuginfod and binary.is_elf:
        if not binary.uuid:
            search.refuse("debuginfod", "the binary has no build id to ask for")
            return
        from gsym.conversion.companions.debuginfod import find_by_debuginfod

        mismatch = partial(_of_other_build, binary)
        yield from find_by_debuginfod(search, binary.uuid, mismatch)
    elif binary.is_elf and os.environ.get("DEBUGINFOD_URLS"):
        search.refuse("debuginfod", "not asked, for that is an option")


def debug_paths(
    search: CompanionSearch, directories: Sequence[str]
) -> Iterator[tuple[Iterator[str], Callable[[ObjectFile], str]]]:
    """Paths of debug files on this machine, each list with its check.

    The check returns the reason for which a file does not fit, or "".
    """
    binary = search.binary
    if binary.is_elf:
        installed = installed_paths(binary.uuid, directories)
        yield installed, partial(_of_other_build, binary)
    try:
        link = read_debug_link(binary)
    except GsymError as error:
        search.refuse(".gnu_debuglink", error.reason)
    else:
        if link is not None:
            paths = debug_link_paths(link.name, binary.path, directories)
            yield paths, partial(_of_other_link, binary, link.crc)
    if binary.is_wasm:
        # Without a build id the path alone says that it is of this module.
        mismatch = partial(_of_other_build, binary) if binary.uuid else _no_dwarf
        yield _external_paths(binary, directories), mismatch


def _external_paths(binary: ObjectFile, directories: Sequence[str]) -> Iterator[str]:
    """Paths of the module whose URL a WebAssembly module gives as its debug file."""
    from gsym.leb128 import read_leb

    section = bytes(binary.stored_section(b"external_debug_info") or b"")
    _, size = read_leb(section, 0)
    url = os.fsdecode(section[size:])  # behind its length, a ULEB128
    name = url.partition("?")[0].rpartition("/")[2]
    if name not in {"", ".", ".."} and "\0" not in name:
        yield from debug_link_paths(name, binary.path, directories)


def _of_other_build(binary: ObjectFile, candidate: ObjectFile) -> str:
    return (
        other_build(candidate, ModuleKey(code_id=binary.uuid.hex()))
        or other_sections(candidate, binary)
        or _no_dwarf(candidate)
    )


def _of_other_link(binary: ObjectFile, crc: int, candidate: ObjectFile) -> str:
    import zlib

    found = 0
    for block in blocks(candidate.data):
        found = zlib.crc32(block, found)
    if found != crc:
        return "CRC differs"
    wanted = ModuleKey(code_id=binary.uuid.hex())
    fit = compare(wanted, ModuleKey(code_id=candidate.uuid.hex()))
    return (fault_of(fit) if fit.is_refused else "") or _no_dwarf(candidate)


def _no_dwarf(candidate: ObjectFile) -> str:
    if candidate.has_dwarf:
        return ""
    unread = candidate.unread_debug_info
    return f"has {unread}, which is not read" if unread else "has no .debug_info"


_ALTLINK = ".gnu_debugaltlink"
_SUP = ".debug_sup"
DWP = ".debug_dwp"  # of DWARF 6
_LINK_VERSIONS = {_SUP: 5, DWP: 6}
# Packages install what they share below this part of a path.
_SHARED = f"{os.sep}.dwz{os.sep}"


def find_supplementary(
    dwarf: ObjectFile, options: ConvertOptions
) -> tuple[ObjectFile | None, str]:
    """The supplementary file of *dwarf*.

    Returns:
        The file or None, and where one is named and not found a sentence on what was
        tried.
    """
    search = CompanionSearch(dwarf, aligns=False)
    for section in (_ALTLINK, _SUP):
        try:
            is_sup = section == _SUP
            link = read_link(dwarf, section) if is_sup else read_altlink(dwarf)
        except GsymError as error:
            search.refuse(section, error.reason)
            continue
        if link is not None:
            for found in _supplementary_files(search, section, *link, options):
                return found, ""
    if not search.tried:
        return None, ""
    return None, search.note(f"no supplementary file: {search.describe()}")


def _supplementary_files(
    search: CompanionSearch,
    section: str,
    name: str,
    wanted: bytes,
    options: ConvertOptions,
) -> Iterator[ObjectFile]:
    """The files of this name that have the *wanted* checksum or build id."""
    build_id = b"" if section == _SUP else wanted

    def mismatch(candidate: ObjectFile) -> str:
        if build_id:
            return other_build(candidate, ModuleKey(code_id=build_id.hex()))
        is_other = own_checksum(candidate, _SUP) != wanted
        return "has another checksum" if is_other else ""

    directories = options.debug_file_directories
    yield from search.open_all(
        _supplementary_paths(search.binary.path, name, directories), mismatch
    )
    yield from search.open_all(installed_paths(build_id, directories), mismatch)
    if options.debuginfod and build_id:
        from gsym.conversion.companions.debuginfod import find_by_debuginfod

        yield from find_by_debuginfod(search, build_id, mismatch)


def _supplementary_paths(
    path: str, name: str, directories: Sequence[str]
) -> Iterator[str]:
    """Paths of a file of this name that the one at *path* refers to.

    Files that were copied into one folder lie beside it, whatever the path in the name.
    """
    folders = [os.path.dirname(each) for each in (path, os.path.realpath(path))]
    names = name, os.path.basename(name)
    yield from dict.fromkeys(
        os.path.join(folder, each) for each in names for folder in folders
    )
    _, _, shared = name.rpartition(_SHARED)
    for directory in directories if shared and _SHARED in name else ():
        yield os.path.join(directory, ".dwz", shared)


def read_altlink(dwarf: ObjectFile) -> tuple[str, bytes] | None:
    """Name and build id in .gnu_debugaltlink; None without it."""
    section = dwarf.section(_ALTLINK.encode())
    if section is None:
        return None
    name, _, build_id = bytes(section).partition(b"\0")
    if not name or not build_id:
        raise FormatError("names no file")
    return os.fsdecode(name), build_id


def read_link(dwarf: ObjectFile, section: str) -> tuple[str, bytes] | None:
    """Name and checksum in .debug_sup, or in `DWP` those of the package of split units.

    None without the section, and if the file is the one that others name.
    """
    is_named_file, name, checksum = _decode_link(dwarf, section) or (True, b"", b"")
    if is_named_file:
        return None
    if not name or not checksum:
        raise FormatError("names no file")
    return os.fsdecode(name), checksum


def own_checksum(candidate: ObjectFile, section: str) -> bytes:
    """The checksum of a file that others name; b"" for none."""
    is_named_file, _, checksum = _decode_link(candidate, section) or (False, b"", b"")
    return checksum if is_named_file else b""


def _decode_link(file: ObjectFile, name: str) -> tuple[bool, bytes, bytes] | None:
    """Whether the file is the one that is named, its name and its checksum.

    None without the section. Both sections have the layout of DWARF 5, 7.3.6.
    """
    section = file.section(name.encode())
    if section is None:
        return None
    data = bytes(section)
    version = int.from_bytes(data[:2], file.byteorder)
    file_name, _, rest = data[3:].partition(b"\0")
    size = rest[0] if rest else 0x80
    checksum = rest[1 : 1 + size]
    is_known = version == _LINK_VERSIONS[name]
    if not is_known or size >= 0x80 or len(checksum) < size:  # noqa: PLR2004
        raise FormatError("is damaged, or of an unknown version")
    return data[2] != 0, file_name, checksum


_MINI_DEBUG_INFO = b".gnu_debugdata"
# Limit: MiniDebugInfo (`.gnu_debugdata`)
_MAX_MINI_SIZE = 512 << 20
MINI_DEBUG_INFO_UNUSED = ".gnu_debugdata cannot be used: "  # begins a note


def open_mini_debug_info(binary: ObjectFile) -> tuple[ObjectFile | None, str]:
    """The file within *binary*.

    Returns:
        The file or None, and where one cannot be used a sentence that says why.
    """
    name = _MINI_DEBUG_INFO.decode()
    try:
        section = binary.section(_MINI_DEBUG_INFO)
        if section is None:
            return None, ""
        limit = believable_size(len(section), _MAX_MINI_SIZE)
        refused = FormatError(f"inflates to more than {limit} bytes")
        data = b"".join(limited(inflate_xz((section,)), limit, refused))
        within = ObjectFile(memoryview(data), f"{binary.path}({name})")
        if within.section_size(_MINI_DEBUG_INFO):
            raise FormatError("it contains another one")
        within.align(binary)
    except GsymError as error:
        return None, f"{MINI_DEBUG_INFO_UNUSED}{error.reason}"
    except ValueError as error:
        return None, f"{MINI_DEBUG_INFO_UNUSED}it is damaged: {error}"
    return within, ""
