"""Where the debug information of a Mach-O file is: a dSYM bundle, or object files."""

from __future__ import annotations

from gsym.conversion.companions.debug_map import DebugMap
from gsym.conversion.companions.dsym import bundles_beside
from gsym.conversion.companions.search import CompanionSearch, describe_candidates
from gsym.conversion.debug_info import DebugInfo
from gsym.engine.native import lib
from gsym.errors import MissingDebugInfoError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.debug_info import SearchOptions


def find_macho_debug_info(binary: ObjectFile, options: SearchOptions) -> DebugInfo:
    """The files to read for *binary*, which has no DWARF of its own.

    Raises:
        MissingDebugInfoError: It names object files, and none of them is there, and
            no bundle is.
    """
    search = CompanionSearch(binary)

    def fault(candidate: ObjectFile, _: memoryview) -> str:
        if candidate.uuid != binary.uuid:
            return f"has UUID {candidate.uuid.hex() or 'none'}"
        has_dwarf = candidate.debug_section_size(lib.GSYM_DEBUG_INFO)
        return "" if has_dwarf else "has no debug information"

    for path in bundles_beside(binary.path):
        for bundle in search.open(path, fault):
            return DebugInfo(bundle, None, (binary, bundle), (bundle.path,), ())
    tried = f"tried {describe_candidates(search.tried)}"
    try:
        debug_map = DebugMap(binary, options.object_map)
    except MissingDebugInfoError as error:
        reason = f"{error.reason}; no dSYM bundle: {tried}"
        raise MissingDebugInfoError(reason, path=error.path) from None
    if debug_map.objects:
        return DebugInfo(
            *(binary, None, (binary,), tuple(debug_map.paths)),
            *(debug_map.notes, debug_map),
        )
    missing = f"no debug information: {tried}"
    return DebugInfo(binary, None, (binary,), (), (), missing=missing)
