"""A GSYM file once more: in another version or byte order, in segments, or in part.

What is not asked for stays as it is: answers, merged functions, call sites, InfoTypes
without a meaning here, the order of strings and files, variables, and from version 2 to
version 2 also sections without a meaning; an index is made anew. So a file that went to
the other version and back is the same again.
"""

from __future__ import annotations

from gsym.conversion.output import ConversionOutput, ConversionRequest
from gsym.engine.native import ffi, lib
from gsym.errors import UnsupportedError
from gsym.modules.key import ModuleKey
from gsym.modules.part import read_module_part
from gsym.writing.data_part import data_part_of
from gsym.writing.selection import ImageSource
from gsym.writing.source_part import sources_of

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.conversion.report import ConversionReport


def convert(request: ConversionRequest) -> ConversionReport:
    """Carry *request* out on a GSYM file.

    Raises:
        FormatError: The file is damaged; the text names the function, the offset
            counts from the start of the file.
        UnsupportedError: The request is for something that only a source of debug
            information has.
    """
    if request.options.path_map:
        raise UnsupportedError(
            "paths of a GSYM file cannot be mapped, those of its source can",
            path=request.input,
        )
    if request.options.arch is not None:
        raise UnsupportedError(
            "a GSYM file does not contain its architecture", path=request.input
        )
    data = request.source.data
    source, data_part = ImageSource(data, request.input), data_part_of(data)
    header = source.header
    if request.options.data_symbols and not data_part:
        reason = "it has no symbols of variables, its binary has"
        raise UnsupportedError(reason, path=request.input)
    output = ConversionOutput(
        request,
        version=header.version,
        big_endian=bool(header.big_endian),
        base_address=header.base_address,
        keep_all=True,
        has_variables=bool(data_part),
    )
    output.set_uuid(source.uuid)
    source.copy(lib.gsym_creator_add_tables, output.creator)
    source.copy(lib.gsym_creator_add_entries, output.creator, ffi.NULL)
    source.copy(lib.gsym_creator_add_sections, output.creator)
    if request.options.merged_functions:
        output.merge_functions()
    return output.write(
        architecture="",
        build_id=source.uuid,
        module=read_module_part(data) or ModuleKey(),
        warnings={},
        details=(),
        data_part=data_part,
        sources=sources_of(data, request.input),
    )
