"""The supplementary file of a DWARF file: what dwz took out of several of them.

`.gnu_debugaltlink` names it with its build id, `.debug_sup` (DWARF 5, 7.3.6) with a
checksum that the supplementary file repeats.
"""

from __future__ import annotations

import os

from gsym.conversion.companions.debug_link import build_id_paths
from gsym.conversion.companions.search import CompanionSearch, describe_candidates
from gsym.errors import FormatError, GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.debug_info import SearchOptions

_ALTLINK = ".gnu_debugaltlink"
_SUP = ".debug_sup"

_SUP_VERSION = 5
# Packages install what they share below this part of a path.
_SHARED = f"{os.sep}.dwz{os.sep}"


def find_supplementary(
    dwarf: ObjectFile, options: SearchOptions
) -> tuple[ObjectFile | None, str]:
    """The supplementary file of *dwarf*.

    Returns:
        The file or None, and where one is named and not found a sentence on what was
        tried.
    """
    search = CompanionSearch(dwarf)
    for section, read in ((_ALTLINK, _read_altlink), (_SUP, _read_sup)):
        try:
            link = read(dwarf)
        except GsymError as error:
            search.refuse(section, error.reason)
            continue
        if link is not None:
            for found in _candidates(search, *link, options):
                return found, ""
    if not search.tried:
        return None, ""
    tried = describe_candidates(search.tried)
    return None, f"no supplementary file: tried {tried}"


def _candidates(
    search: CompanionSearch,
    name: str,
    build_id: bytes,
    checksum: bytes,
    options: SearchOptions,
) -> Iterator[ObjectFile]:
    """The files of this name that have this build id, or else this checksum."""

    def fault(candidate: ObjectFile, _: memoryview) -> str:
        if build_id and candidate.uuid != build_id:
            return f"has build id {candidate.uuid.hex() or 'none'}"
        if checksum and _own_checksum(candidate) != checksum:
            return "has another checksum"
        return ""

    directories = options.debug_directories
    for path in _places(search.binary.path, name, directories):
        yield from search.open(path, fault)
    for path in build_id_paths(build_id, directories):
        yield from search.open(path, fault)
    if options.debuginfod and build_id:
        from gsym.conversion.companions.debuginfod import find_by_debuginfod

        yield from find_by_debuginfod(search, build_id, fault)


def _places(path: str, name: str, directories: Sequence[str]) -> Iterator[str]:
    """Where a file of this name may stand that the one at *path* refers to."""
    folders = map(os.path.dirname, (path, os.path.realpath(path)))
    yield from dict.fromkeys(os.path.join(folder, name) for folder in folders)
    _, _, shared = name.rpartition(_SHARED)
    for directory in directories if shared and _SHARED in name else ():
        yield os.path.join(directory, ".dwz", shared)


def _read_altlink(dwarf: ObjectFile) -> tuple[str, bytes, bytes] | None:
    """Name and build id."""
    section = dwarf.section(_ALTLINK.encode())
    if section is None:
        return None
    name, _, build_id = bytes(section).partition(b"\0")
    if not name or not build_id:
        raise FormatError("names no file")
    return os.fsdecode(name), build_id, b""


def _read_sup(dwarf: ObjectFile) -> tuple[str, bytes, bytes] | None:
    """Name and checksum; None also for a file that is a supplementary one itself."""
    section = dwarf.section(_SUP.encode())
    if section is None:
        return None
    is_supplementary, name, checksum = _decode_sup(bytes(section), dwarf.big_endian)
    if is_supplementary:
        return None
    if not name or not checksum:
        raise FormatError("names no file")
    return os.fsdecode(name), b"", checksum


def _own_checksum(candidate: ObjectFile) -> bytes:
    section = candidate.section(_SUP.encode())
    if section is None:
        return b""
    is_own, _, checksum = _decode_sup(bytes(section), candidate.big_endian)
    return checksum if is_own else b""


def _decode_sup(data: bytes, big_endian: bool) -> tuple[bool, bytes, bytes]:
    """is_supplementary, sup_filename and sup_checksum."""
    version = int.from_bytes(data[:2], "big" if big_endian else "little")
    name, _, rest = data[3:].partition(b"\0")
    size = rest[0] if rest else 0x80
    checksum = rest[1 : 1 + size]
    if version != _SUP_VERSION or size >= 0x80 or len(checksum) < size:  # noqa: PLR2004
        raise FormatError("is damaged, or of an unknown version")
    return data[2] != 0, name, checksum
