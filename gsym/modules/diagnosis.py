"""Diagnosis of a binary: its sources of lines and names, and those it lacks.

Nothing here searches: the binary is converted, and the report says what was used and
where the rest was looked for.
"""

from __future__ import annotations

import os

from gsym.containers.object_file import ObjectFile
from gsym.conversion.debug_info import DebugInfo, find_debug_info
from gsym.conversion.input_file import InputFile, open_input
from gsym.conversion.inputs import INPUTS
from gsym.conversion.job import convert_file
from gsym.engine.native import lib
from gsym.errors import EmptyError, GsymError
from gsym.lazy import tempfile
from gsym.modules.binary_lookup import (
    EMBEDDED_SECTIONS,
    BinarySearch,
    find_gsym,
    ready_gsym,
)
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.conversion.options import ConvertOptions

ELF, MACHO, PE, WASM = "ELF", "Mach-O", "PE", "WebAssembly"

_LENGTH_64 = 0xFFFFFFFF
_LEAST = 7  # bytes of a unit after its length
_ADVICE = {
    "built": "compile with -g, or keep the file from before 'strip'",
    "installed": "install the debug symbols (packages NAME-dbgsym, NAME-debuginfo), or "
    "name their folder: --debug-file-directory DIR",
    "asked": "ask debuginfod servers: DEBUGINFOD_URLS=URL gsym doctor --debuginfod "
    "BINARY",
    "id": "link with -Wl,--build-id, so that its debug file can be found",
    "split": "pack the .dwo files where they were built, 'dwp -e BINARY', and name the "
    "package: --dwp FILE",
    "bundle": "make a dSYM bundle where it was linked: 'dsymutil BINARY'",
    "converted": "its GSYM file has lines: 'gsym lookup BINARY ADDRESS'",
    "use": "it has lines: 'gsym lookup BINARY ADDRESS', or 'gsym convert BINARY'",
}


class Diagnosis(NamedTuple):
    """The facts of a binary, or of another input of a conversion."""

    path: str  # as given
    # what its content is: "ELF", "Mach-O", "PE"; of others as `recognise` names it
    kind: str
    architecture: str = ""  # as in LLVM's target triples
    build_id: str = ""  # in hexadecimal
    dwarf_file: str = ""  # the file with its DWARF; "" for none
    # version -> number of units in that file
    dwarf_versions: dict[int, int] = {}  # noqa: RUF012 - a default of a NamedTuple
    supplementary: str = ""  # the file with what dwz moved out of several; "" for none
    companions: tuple[str, ...] = ()  # all files that were read besides the binary
    # sections with symbols -> their size in bytes
    symbol_tables: dict[str, int] = {}  # noqa: RUF012 - likewise
    # names of sections that are stored compressed
    compressed_sections: tuple[str, ...] = ()
    is_embedded: bool = False  # whether it has a section with a GSYM file
    # where the GSYM file is that answers, if it is not made of these
    gsym_file: str = ""
    functions: int = 0  # in a conversion
    functions_with_lines: int = 0  # of these
    has_lines: bool = False  # whether lookups answer with lines
    missing: tuple[str, ...] = ()  # what was not found or not used, where, and why
    advice: tuple[str, ...] = ()  # what to do next


def diagnose(path: str, search: ConvertOptions) -> Diagnosis:
    """Find out what lookups in the file at *path* can answer."""
    source = open_input(path)
    found, debug_info = Diagnosis(path, source.kind), None
    refused: tuple[str, ...] = ()
    if source.kind == "object":
        binary = ObjectFile(source.data, source.path)
        debug_info = find_debug_info(binary, search)
        found = _described(found, binary, debug_info)
        try:
            ready = ready_gsym(binary, _lookup_search(search))
        except GsymError as error:
            refused = (error.reason,)
        else:
            if ready.reader is not None:
                ready.reader.close()
            # GSYM files that are, or may be, of another build
            refused = tuple(filter(None, (*ready.notes, ready.unsure)))
    found = _converted(found, source, search, debug_info)
    found = found._replace(missing=(*found.missing, *refused))
    if not found.has_lines and INPUTS[source.kind].is_binary:
        found = _looked_up(found, search)
    return found._replace(advice=_advice(found, search))


def _described(
    found: Diagnosis, binary: ObjectFile, debug_info: DebugInfo
) -> Diagnosis:
    """Add what the headers of *binary* and its debug information say."""
    dwarf, supplementary = debug_info.dwarf, debug_info.supplementary
    tables = {
        name: size
        for name in (".symtab", ".dynsym", ".gnu_debugdata")
        if (size := binary.section_size(name.encode()))
    }
    versions = _dwarf_versions(dwarf)
    kinds = {ELF: binary.is_elf, MACHO: binary.is_macho, WASM: binary.is_wasm}
    kind = next((name for name, is_one in kinds.items() if is_one), PE)
    return found._replace(
        kind=kind,
        architecture=binary.architecture,
        build_id=binary.uuid.hex(),
        dwarf_file=dwarf.path if versions else "",
        dwarf_versions=versions,
        supplementary=supplementary.path if supplementary else "",
        symbol_tables=tables,
        compressed_sections=tuple(binary.compressed_sections()),
        is_embedded=any(map(binary.has_section, EMBEDDED_SECTIONS)),
    )


def _dwarf_versions(dwarf: ObjectFile) -> dict[int, int]:
    """Version -> number of units, up to the first that is damaged."""
    found = dwarf.debug_section(lib.GSYM_DEBUG_INFO)
    data = memoryview(b"") if found is None else found[0]

    def number(offset: int, size: int) -> int:
        return int.from_bytes(data[offset : offset + size], dwarf.byteorder)

    versions: dict[int, int] = {}
    offset = 0
    while offset < len(data):
        length, start = number(offset, 4), offset + 4
        if length == _LENGTH_64:
            length, start = number(start, 8), start + 8
        if not _LEAST <= length <= len(data) - start:
            break
        version = number(start, 2)
        versions[version] = versions.get(version, 0) + 1
        offset = start + length
    return versions


def _converted(
    found: Diagnosis,
    source: InputFile,
    search: ConvertOptions,
    debug_info: DebugInfo | None,
) -> Diagnosis:
    """Add what the report of a conversion says."""
    options = search._replace(index=False)
    with tempfile.TemporaryDirectory(prefix="gsym-") as folder:
        output = os.path.join(folder, "out.gsym")
        try:
            report = convert_file(source, output, options, debug_info=debug_info)
        except EmptyError as error:
            return found._replace(missing=(error.reason,))
    return found._replace(
        architecture=report.architecture or found.architecture,
        build_id=report.build_id.hex() or found.build_id,
        companions=report.companions,
        functions=report.functions,
        functions_with_lines=report.functions_with_lines,
        has_lines=report.functions_with_lines > 0,
        missing=report.notes,
    )


def _lookup_search(search: ConvertOptions) -> BinarySearch:
    return BinarySearch(
        debug_file_directories=search.debug_file_directories, store=True
    )


def _looked_up(found: Diagnosis, search: ConvertOptions) -> Diagnosis:
    """Add what a GSYM file in the binary, beside it or in the store has."""
    with tempfile.TemporaryDirectory(prefix="gsym-") as folder:
        chosen = _lookup_search(search)._replace(cache=folder)
        try:
            gsym = find_gsym(found.path, chosen)
        except GsymError as error:
            return found._replace(missing=(*found.missing, error.reason))
        notes = filter(None, (*gsym.notes, gsym.unsure))
        missing = tuple(dict.fromkeys((*found.missing, *notes)))
        if gsym.reader is None:
            return found._replace(missing=missing)
        with gsym.reader as reader:
            has_lines = any(function.line_table for function in reader)
    origin = gsym.origin if has_lines else ""
    return found._replace(has_lines=has_lines, gsym_file=origin, missing=missing)


def _advice(found: Diagnosis, search: ConvertOptions) -> tuple[str, ...]:
    """The commands to type next, the most useful first."""
    keys = []
    if found.has_lines:
        keys.append("use" if found.functions_with_lines else "converted")
    elif found.kind == ELF and not found.dwarf_file:
        asked = [] if search.debuginfod else ["asked"]
        keys += ["installed", *asked, "built"] if found.build_id else ["built", "id"]
    elif found.kind == MACHO:
        keys.append("bundle")
    elif not found.missing:
        keys.append("built")
    if any("split unit" in text for text in found.missing):
        keys.append("split")
    return tuple(_ADVICE[key].replace("BINARY", found.path) for key in keys)
