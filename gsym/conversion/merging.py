"""Several GSYM files of one binary -> one file.

No function passes through Python on its way.
"""

from __future__ import annotations

import time

from gsym.arguments import path_of, paths_of
from gsym.containers.mapped_file import map_file
from gsym.conversion.input_file import InputFile
from gsym.conversion.options import complete_options
from gsym.conversion.output import ConversionOutput, ConversionRequest
from gsym.engine.native import ffi, lib
from gsym.errors import FormatError, UuidMismatchError
from gsym.modules.key import ModuleKey, compare, completed
from gsym.modules.part import read_module_part
from gsym.records import NamedTuple
from gsym.writing.atomic_file import is_same_file
from gsym.writing.data_part import data_part_of, merge_data_parts
from gsym.writing.selection import ImageSource
from gsym.writing.source_part import merged_sources, sources_of

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import os
    from collections.abc import Sequence


class MergeReport(NamedTuple):
    """The result of a merge.

    Attributes:
        inputs: Paths that were merged.
        outputs: Paths that were written: one, or one per segment.
        uuid: Identifier in the output.
        functions_read: Functions in the inputs.
        functions_pruned: Of these, omitted because another is more complete.
        duplicates_different: Pairs of equal ranges with different contents.
        overlapping: Functions that overlap the one before them.
        functions: Functions in the output.
        functions_with_lines: Of these, functions with a line table.
        functions_with_inlines: Of these, functions with inlined calls.
        strings: Strings in the output.
        files: Source files in the output.
        file_size: Size of the output in bytes.
        warnings: Parts of the inputs that the output lacks -> number.
        seconds: Wall time.
        is_written: Whether an output was written: with *if_changed*, all may be
            unchanged.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    uuid: bytes
    functions_read: int
    functions_pruned: int
    duplicates_different: int
    overlapping: int
    functions: int
    functions_with_lines: int
    functions_with_inlines: int
    strings: int
    files: int
    file_size: int
    warnings: dict[str, int]
    seconds: float
    is_written: bool


_WAY_OUT = "--force, or force=True, merges them anyway"


def merge_files(  # noqa: PLR0913 - independent keywords
    inputs: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    force: bool = False,
    output_version: int | None = None,
    byteorder: str | None = None,
    segment_size: int | None = None,
    index: bool = True,
    if_changed: bool = False,
) -> MergeReport:
    """Write one GSYM file with the functions of several, such as all segments of one.

    Of functions with the same range the most complete is kept. Sections of unknown
    types are taken from the first input with the type. The output has the variables of
    all inputs, with which version 1 has no index.

    Args:
        inputs: GSYM files of one binary.
        output: File to write, complete or absent.
        force: Also merge files of different builds, and those with different base
            addresses; the output has the first UUID and the lowest base address.
        output_version: Version of the format; by default the highest one of the inputs.
        byteorder: "little" or "big"; by default that of the first input.
        segment_size: Split into files of about this many bytes.
        index: Add an index of large functions.
        if_changed: Do not rewrite an output that would not change.

    Raises:
        EmptyError: No input has a function.
        FormatError: An input is damaged, or the base addresses differ.
        LimitError: The output does not fit in version 1.
        OSError: A file cannot be read or written.
        UuidMismatchError: The inputs belong to different binaries.
        ValueError: There is no input, or *output* is one.
    """
    started = time.perf_counter()
    paths, target = paths_of("inputs", inputs), path_of("output", output)
    options = complete_options(
        {
            "output_version": output_version,
            "byteorder": byteorder,
            "segment_size": segment_size,
            "index": index,
            "if_changed": if_changed,
        }
    )
    if not paths:
        raise ValueError("inputs: expected at least one path, not ()")
    if segment_size is None and any(is_same_file(target, path) for path in paths):
        raise ValueError(f"{target}: the output would replace an input")
    files = [map_file(path) for path in paths]
    sources = [ImageSource(*each) for each in zip(files, paths, strict=True)]
    parts = []  # the bytes of each file, which may be in a binary
    for source, data in zip(sources, files, strict=True):
        start = source.header.file_offset
        parts.append(data[start : start + source.header.file_size])
    modules = [read_module_part(part) or ModuleKey() for part in parts]
    if not force:
        _check_alike(sources, modules, paths)
    request = ConversionRequest(
        started=started,
        source=InputFile(target, target, memoryview(b""), "gsym"),
        output=target,
        options=options,
    )
    uuid = next((source.uuid for source in sources if source.uuid), b"")
    data_part = merge_data_parts(map(data_part_of, parts), uuid)
    result = ConversionOutput(
        request,
        version=max(source.header.version for source in sources),
        big_endian=bool(sources[0].header.big_endian),
        base_address=min(source.header.base_address for source in sources),
        has_variables=bool(data_part),
    )
    result.set_uuid(uuid)
    for source in sources:
        source.copy(lib.gsym_creator_add_entries, result.creator, ffi.NULL)
        source.copy(lib.gsym_creator_add_sections, result.creator)
    # Module that the files agree on. The hash of its code is kept only where it is that
    # of all of them.
    found = ModuleKey()
    for module in modules:
        found = completed(found, module)
    if len({module.code_hash for module in modules}) > 1:
        found = found._replace(code_hash="")
    report = result.write(
        architecture="",
        build_id=uuid,
        module=found,
        warnings={},
        details=(),
        data_part=data_part,
        sources=merged_sources(map(sources_of, parts, paths)),
    )
    shared = {*MergeReport._fields} & {*report._fields}
    return MergeReport(
        inputs=paths,
        functions_read=report.functions_debug_info,
        **{name: getattr(report, name) for name in shared},
    )


def _check_alike(
    sources: list[ImageSource], modules: list[ModuleKey], paths: tuple[str, ...]
) -> None:
    """Whether all files are of the binary that the first one is of."""
    first, module = sources[0], modules[0]
    for source, other, path in zip(sources, modules, paths, strict=True):
        if source.uuid != first.uuid:
            raise UuidMismatchError(
                f"the UUID is {source.uuid.hex() or 'missing'}, that of {paths[0]} is "
                f"{first.uuid.hex() or 'missing'} ({_WAY_OUT})",
                path=path,
            )
        fit = compare(module, other)
        if fit.is_refused:
            raise UuidMismatchError(
                f"it is of another build than {paths[0]}: {fit.reason} ({_WAY_OUT})",
                path=path,
            )
        if source.header.base_address != first.header.base_address:
            raise FormatError(
                f"the base address is {source.header.base_address:#x}, that of "
                f"{paths[0]} is {first.header.base_address:#x} ({_WAY_OUT})",
                path=path,
            )
