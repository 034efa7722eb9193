"""Source files that a module has with it: in its GSYM file, or in a binary."""

from __future__ import annotations

import time
from contextlib import suppress

from gsym.containers.fat import choose_slice
from gsym.containers.object_file import ObjectFile
from gsym.containers.pdb_file import PdbFile
from gsym.conversion.debug_info import find_debug_info
from gsym.conversion.embedded_sources import sources_of_pdb
from gsym.conversion.input_file import open_input
from gsym.conversion.inputs.dwarf import DwarfJob
from gsym.conversion.output import ConversionOutput, ConversionRequest
from gsym.errors import GsymError
from gsym.writing.source_part import NO_SOURCES, SourceFiles, sources_of_reader

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.reading.reader import Reader


def sources_of_module(
    reader: Reader | None, binaries: Iterable[str] = ()
) -> SourceFiles:
    """The source files of a module, of the first file that has some.

    Damaged ones are ignored.

    Args:
        reader: Its GSYM file, if it has one.
        binaries: Paths of its binary and debug files, where they may be read.
    """
    with suppress(GsymError):
        found = NO_SOURCES if reader is None else sources_of_reader(reader)
        if found:
            return found
    for path in dict.fromkeys(binaries):
        with suppress(GsymError, OSError):
            found = sources_of_binary(path)
            if found:
                return found
    return NO_SOURCES


def sources_of_binary(path: str) -> SourceFiles:
    """The source files in the debug information of a binary, or in a PDB.

    Raises:
        GsymError: The file is damaged or of another kind.
        OSError: It cannot be read.
    """
    file = open_input(path)
    if file.kind == "pdb":
        return sources_of_pdb(PdbFile(file.data, path))
    if file.kind not in {"object", "fat"}:
        return NO_SOURCES
    request = ConversionRequest(time.perf_counter(), file, "")
    binary = ObjectFile(choose_slice(file.data, path, None), path)
    found = find_debug_info(binary, request.options)
    if found.pdb is not None:
        return sources_of_pdb(found.pdb)
    output = ConversionOutput(
        request, big_endian=binary.big_endian, base_address=binary.base_address
    )
    job = DwarfJob(binary, found, output, request)
    job.scan()
    return job.read_sources()
