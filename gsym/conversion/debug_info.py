"""Search for the debug information of a binary: in itself, or in files beside it."""

from __future__ import annotations

from gsym.engine.native import lib
from gsym.errors import UnsupportedError
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.containers.object_file import ObjectFile
    from gsym.containers.pdb_file import PdbFile
    from gsym.conversion.companions.macho import DebugMap
    from gsym.conversion.options import ConvertOptions


class DebugInfo(NamedTuple):
    """The files that a conversion reads for a binary."""

    dwarf: ObjectFile  # the file with its DWARF; the binary itself if no file has any
    supplementary: ObjectFile | None  # the supplementary file of *dwarf*
    symbols: tuple[ObjectFile, ...]  # the files whose symbol tables are read
    companions: tuple[str, ...]  # paths of the files other than the binary
    notes: tuple[str, ...]  # messages about companion files that were not found
    # the object files that contain the DWARF instead of *dwarf*
    debug_map: DebugMap | None = None
    missing: str = ""  # why no file has debug information; else ""
    # the file with the debug information of a Windows image without DWARF
    pdb: PdbFile | None = None
    # of *symbols*, the file within the binary
    mini_debug_info: ObjectFile | None = None
    # the file whose stubs are read instead of the binary's
    stubs: ObjectFile | None = None


_SUPPLEMENTARY_LINKS = (b".gnu_debugaltlink", b".debug_sup")


def find_debug_info(binary: ObjectFile, options: ConvertOptions) -> DebugInfo:
    """Find the files to read for *binary*, which may have DWARF itself.

    Split units are found later, by the attributes of their skeleton units.

    Raises:
        UnsupportedError: It contains split units only, or the package for web servers
            is not installed.
    """
    if binary.is_macho and not binary.has_dwarf:
        from gsym.conversion.companions.macho import find_macho_debug_info

        return find_macho_debug_info(binary, options)
    dwarf, supplementary, pdb = binary, None, None
    missing = ""
    notes = []
    if not binary.has_dwarf:
        dwarf, pdb, missing = _find_companion(binary, options)
    elif unread := binary.unread_debug_info:
        notes.append(f"only DWARF is read: there is {unread} as well")
    if any(map(dwarf.has_section, _SUPPLEMENTARY_LINKS)):
        from gsym.conversion.companions.elf import find_supplementary

        supplementary, note = find_supplementary(dwarf, options)
        notes.append(note)
    symbols, mini_debug_info, note = _find_symbols(binary, dwarf)
    notes.append(note)
    found = (dwarf, supplementary, pdb)
    return DebugInfo(
        dwarf,
        supplementary,
        symbols,
        tuple(file.path for file in found if file not in (None, binary)),
        tuple(filter(None, notes)),
        missing=missing,
        pdb=pdb,
        mini_debug_info=mini_debug_info,
    )


def debug_file_paths(binary: ObjectFile, directories: Sequence[str]) -> Iterator[str]:
    """The paths at which a conversion looks for debug files of a stripped binary."""
    if binary.is_macho:
        from gsym.conversion.companions.macho import bundle_paths

        yield from bundle_paths(binary.path, directories)
        return
    from gsym.conversion.companions.elf import debug_paths
    from gsym.conversion.companions.search import CompanionSearch

    for paths, _ in debug_paths(CompanionSearch(binary), directories):
        yield from paths
    if binary.pdb_path:
        from gsym.conversion.companions.pdb import pdb_paths, pdb_store_paths

        yield from pdb_paths(binary, directories)
        yield from pdb_store_paths(binary, directories)


def _find_companion(
    binary: ObjectFile, options: ConvertOptions
) -> tuple[ObjectFile, PdbFile | None, str]:
    """The debug file of *binary* or its PDB; if neither is found, why."""
    if binary.debug_section_size(lib.GSYM_DEBUG_INFO, split=True):
        reason = "split units only, a .dwo or .dwp file: convert the binary they are of"
        raise UnsupportedError(reason, path=binary.path)
    from gsym.conversion.companions.elf import debug_files
    from gsym.conversion.companions.search import CompanionSearch

    search = CompanionSearch(binary)
    for candidate in debug_files(search, options):
        return candidate, None, ""
    if binary.pdb_path:
        from gsym.conversion.companions.pdb import find_pdb

        pdb = find_pdb(search, options)
        if pdb is not None:
            return binary, pdb, ""
    note = "neither a build id nor .gnu_debuglink names a file that has it"
    if search.tried:
        note = search.describe()
    unread = binary.unread_debug_info
    other = f" but {unread}, which is not read" if unread else ""
    return binary, None, search.note(f"no debug information{other}: {note}")


def _find_symbols(
    binary: ObjectFile, dwarf: ObjectFile
) -> tuple[tuple[ObjectFile, ...], ObjectFile | None, str]:
    """The longer symbol table of both; without one, the MiniDebugInfo of the binary."""
    size = binary.symbol_table_size
    if dwarf is not binary and dwarf.symbol_table_size > size:
        return (dwarf,), None, ""
    if size or not binary.has_section(b".gnu_debugdata"):
        return (binary,), None, ""
    from gsym.conversion.companions.elf import open_mini_debug_info

    packed, note = open_mini_debug_info(binary)
    return (binary,) if packed is None else (binary, packed), packed, note
