"""Conversion of a binary for lookups: of all of it, or of units that are asked for."""

from __future__ import annotations

import os
from _thread import get_ident

from gsym.conversion.debug_info import DebugInfo, find_debug_info
from gsym.conversion.job import convert_file
from gsym.conversion.options import ConvertOptions
from gsym.errors import EmptyError, GsymError
from gsym.lazy import tempfile
from gsym.modules.binary_lookup import BinarySearch, FoundGsym
from gsym.modules.binary_reader import open_binary
from gsym.modules.conversion_cache import CachePlace, collect_cache, is_writable
from gsym.writing.atomic_file import FULL_DISK

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.input_file import InputFile
    from gsym.conversion.report import ConversionReport
    from gsym.reading.reader import Reader

_SUFFIX = ".gsym"


def convert_binary(
    file: InputFile,
    search: BinarySearch,
    place: CachePlace | None,
    units: ObjectFile | None = None,
    *,
    is_debug: bool = False,
) -> FoundGsym:
    """The GSYM file of an input.

    Args:
        file: The input.
        search: The way to make it.
        place: Its place in the cache; None: it is not kept.
        units: The binary, if few addresses may be asked for.
        is_debug: Whether it has debug information itself.
    """
    debug_info = None
    if units is not None and place is not None:
        reader, debug_info = _by_units(file, units, search, place)
        if reader is not None:
            return FoundGsym(reader, origin=f"{file.path}, by units")
    return _convert(file, search, place, debug_info, is_debug=is_debug)


def _by_units(
    file: InputFile, binary: ObjectFile, search: BinarySearch, place: CachePlace
) -> tuple[Reader | None, DebugInfo | None]:
    """A reader that converts what is asked for, and the files that a conversion reads.

    The reader is None if all units have to be converted at once. The files are None if
    they cannot be read, which the conversion reports.
    """
    stamp, what, spent = place.stamp, f"{search.architecture}-spent", 0

    def convert() -> Reader | None:
        if not stamp.is_same():
            raise GsymError(
                "the file was replaced after it was opened", path=binary.path
            )
        return _convert(file, search, place, debug_info, is_debug=True).reader

    def spend(size: int) -> int:
        nonlocal spent
        spent = size + max(spent, int(stamp.read(what) or "0", 16))
        stamp.write(what, f"{spent:x}")
        return spent

    debug_info = None
    try:
        debug_info = find_debug_info(binary, _options(search))
        reader = open_binary(binary, debug_info, convert, spend, search.index_limit)
    except GsymError:
        return None, None
    return reader, debug_info


def _convert(
    file: InputFile,
    search: BinarySearch,
    place: CachePlace | None,
    debug_info: DebugInfo | None,
    *,
    is_debug: bool,
) -> FoundGsym:
    """A conversion of all, into the cache if it is writable and has space."""
    path, full = file.path, tuple[str, ...]()
    if place is not None and is_writable(place.folder):
        try:
            return _convert_into(place, file, search, debug_info, is_debug=is_debug)
        except OSError as error:
            if error.errno not in FULL_DISK:
                raise
            reason = f"the conversion of {path} is not kept"
            full = (f"{place.folder}: {error.strerror}, so {reason}",)
    with tempfile.TemporaryDirectory(prefix="gsym-") as temporary:
        output = os.path.join(temporary, "out" + _SUFFIX)
        report = _make(file, output, search, debug_info)
        if report is None:
            return FoundGsym(None, full)
        notes, unsure = _notes_of(path, report)
        notes = (*full, *notes) if is_debug else full
        reader = search.open_gsym(output)
        return FoundGsym(reader, notes, f"{path}, converted", unsure)


def _convert_into(
    place: CachePlace,
    file: InputFile,
    search: BinarySearch,
    debug_info: DebugInfo | None,
    *,
    is_debug: bool,
) -> FoundGsym:
    writer = f"{os.getpid()}-{get_ident()}"  # others may convert it meanwhile
    path, made = file.path, f"{place.path}.{writer}{_SUFFIX}"
    report = _make(file, made, search, debug_info)
    if report is None:
        return FoundGsym(None)
    notes, unsure = _notes_of(path, report)
    # What belongs to its debug information and is missing may come soon.
    is_partial = is_debug and bool(report.notes)
    kept = place.keep(made, is_complete=not is_partial and not unsure)
    reader = search.open_gsym(kept)
    collect_cache(root=search.cache, kept=kept)
    origin = f"{kept}, converted from {path}"
    return FoundGsym(reader, notes if is_partial else (), origin, unsure)


def _notes_of(path: str, report: ConversionReport) -> tuple[tuple[str, ...], str]:
    """Sentences on files that were not found, and on one that may be of another build.

    The second is "" if all files are of this build.
    """
    notes, unsure = list[str](), ""
    for note in report.notes:
        if not getattr(note, "is_unsure", False):
            notes.append(f"{path}: {note}")
        elif not unsure:
            unsure = f"{path}: {note}"
    return tuple(notes), unsure


def _make(
    file: InputFile, output: str, search: BinarySearch, debug_info: DebugInfo | None
) -> ConversionReport | None:
    """The report of a conversion; None if the input has no functions."""
    try:
        return convert_file(file, output, _options(search), debug_info=debug_info)
    except EmptyError:
        return None


def _options(search: BinarySearch) -> ConvertOptions:
    return ConvertOptions(
        arch=search.architecture,
        debug_file_directories=search.debug_file_directories,
        debuginfod=search.debuginfod,
        dwp=search.dwp,
    )
