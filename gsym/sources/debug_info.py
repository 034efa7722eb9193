"""Where the debug information of a binary is: in itself, or in a file beside it."""

from __future__ import annotations

from gsym._native import lib
from gsym.errors import FormatError, GsymError
from gsym.sources.debug_directories import DEBUG_DIRECTORIES

__all__ = ["DebugInfo", "SearchOptions", "find_debug_info"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple

    from gsym.sources.companion_search import CompanionSearch
    from gsym.sources.object_file import ObjectFile

    class SearchOptions(NamedTuple):
        """Where to look for files that belong to a binary.

        *debug_directories* are folders of installed debug files.
        """

        debug_directories: tuple[str, ...] = DEBUG_DIRECTORIES

    class DebugInfo(NamedTuple):
        """What a conversion reads of a binary.

        Attributes:
            dwarf: The file with its DWARF; the binary itself where none has any.
            symbols: The files whose symbol tables name its functions.
            companions: Paths of the files besides the binary.
            notes: Sentences on what was looked for and not found.
        """

        dwarf: ObjectFile
        symbols: tuple[ObjectFile, ...]
        companions: tuple[str, ...]
        notes: tuple[str, ...]

else:
    from collections import namedtuple

    SearchOptions = namedtuple(
        "SearchOptions", "debug_directories", defaults=(DEBUG_DIRECTORIES,)
    )
    SearchOptions.__doc__ = "Where to look for files that belong to a binary."
    DebugInfo = namedtuple("DebugInfo", "dwarf symbols companions notes")
    DebugInfo.__doc__ = "What a conversion reads of a binary."


def find_debug_info(binary: ObjectFile, options: SearchOptions) -> DebugInfo:
    """The files to read for *binary*; itself where it has DWARF of its own.

    Raises:
        FormatError: The .debug_info of *binary* reaches past the file.
    """
    if _has_dwarf(binary):
        return DebugInfo(binary, (binary,), (), ())
    from gsym.sources.companion_search import CompanionSearch, describe_candidates

    search = CompanionSearch(binary)
    for candidate in _candidates(search, options):
        return DebugInfo(
            candidate, (_richer(binary, candidate),), (candidate.path,), ()
        )
    if search.tried:
        note = f"tried {describe_candidates(search.tried)}"
    else:
        note = "neither a build id nor .gnu_debuglink names a file that has it"
    return DebugInfo(binary, (binary,), (), (f"no debug information: {note}",))


def _candidates(
    search: CompanionSearch, options: SearchOptions
) -> Iterator[ObjectFile]:
    """The files that hold the debug information of the binary, the best one first."""
    if search.binary.is_elf:
        yield from _installed(search, options)
    yield from _linked(search, options)


def _installed(search: CompanionSearch, options: SearchOptions) -> Iterator[ObjectFile]:
    from gsym.sources.debug_directories import build_id_paths

    build_id = search.binary.uuid

    def fault(candidate: ObjectFile, _: memoryview) -> str:
        return _fault(candidate, build_id)

    for path in build_id_paths(build_id, options.debug_directories):
        yield from search.open(path, fault)


def _linked(search: CompanionSearch, options: SearchOptions) -> Iterator[ObjectFile]:
    from gsym.sources.debug_link import crc32, debug_link_paths, read_debug_link

    try:
        link = read_debug_link(search.binary)
    except GsymError as error:
        search.refuse(".gnu_debuglink", error.reason)
        return
    if link is None:
        return
    build_id = search.binary.uuid

    def fault(candidate: ObjectFile, data: memoryview) -> str:
        if crc32(data) != link.crc:
            return "CRC differs"
        return _fault(candidate, build_id if candidate.uuid else b"")

    places = debug_link_paths(link.name, search.binary.path, options.debug_directories)
    for path in places:
        yield from search.open(path, fault)


def _fault(candidate: ObjectFile, build_id: bytes) -> str:
    """Why *candidate* is no debug file of this build; b"" stands for any."""
    if build_id and candidate.uuid != build_id:
        return f"has build id {candidate.uuid.hex() or 'none'}"
    return "" if _has_dwarf(candidate) else "has no .debug_info"


def _has_dwarf(candidate: ObjectFile) -> bool:
    return candidate.debug_section_size(lib.GSYM_DEBUG_INFO) > 0


def _richer(binary: ObjectFile, candidate: ObjectFile) -> ObjectFile:
    """Which of both has the longer symbol table."""
    own, other = map(_symbol_table_size, (binary, candidate))
    return candidate if other > own else binary


def _symbol_table_size(file: ObjectFile) -> int:
    try:
        return file.section_size(b".symtab")
    except FormatError:
        return 0
