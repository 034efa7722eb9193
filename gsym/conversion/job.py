"""Convert debug information, or another GSYM file, to a GSYM file.

Python opens, maps, starts threads and writes; everything in between is the
engine's. No symbol, string, row or function passes through Python on its way.
"""

from __future__ import annotations

import os
import time

from gsym.arguments import path_of, strings_of
from gsym.containers import DEBUG_DIRECTORIES
from gsym.containers.fat import list_slices, matching_slices
from gsym.containers.mapped_file import map_file
from gsym.containers.recognition import refuse
from gsym.conversion.input_file import InputFile, member_label, open_input
from gsym.conversion.inputs import INPUTS
from gsym.conversion.options import ConvertOptions, read_options
from gsym.conversion.output import ConversionRequest
from gsym.errors import LimitError, MemberError, UnsupportedError
from gsym.lazy import tempfile
from gsym.writing.atomic_file import is_same_file

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from re import Pattern
    from typing import Any

    from gsym.conversion.debug_info import DebugInfo
    from gsym.conversion.input_file import Input
    from gsym.conversion.report import ConversionReport
    from gsym.reading.reader import Reader

_WITH_MEMBERS = frozenset({"archive", "object"})  # a program may have bundles
_SUFFIX = ".gsym"
_NO_PATH = str.maketrans({"/": "%2F", "\0": "%00", "%": "%25"})


def convert(  # noqa: PLR0913 - keywords, each a choice of its own
    input: Input,  # noqa: A002 - what it is
    output: str | os.PathLike[str] | None = None,
    *,
    name: str | os.PathLike[str] | None = None,
    arch: str | None = None,
    member: str | None = None,
    threads: int | None = None,
    output_version: int | None = None,
    byteorder: str | None = None,
    uuid: bytes | str | None = None,
    merged_functions: bool = False,
    call_sites: bool = False,
    call_sites_yaml: str | os.PathLike[str] | None = None,
    keep_functions: Iterable[str | Pattern[str]] = (),
    drop_functions: Iterable[str | Pattern[str]] = (),
    address_ranges: Iterable[tuple[int, int]] = (),
    segment_size: int | None = None,
    index: bool = True,
    identity: bool = True,
    data_symbols: bool = False,
    embedded_sources: bool = False,
    no_symbols: bool = False,
    path_map: Sequence[tuple[str, str]] | Mapping[str, str] = (),
    verbose: bool = False,
    if_changed: bool = False,
    force: bool = False,
    image_code: bool = True,
    full_walk: bool = False,
    pclntab: str = "auto",
    debug_file_directories: Sequence[str | os.PathLike[str]] = DEBUG_DIRECTORIES,
    debuginfod: bool = False,
    symbol_servers: Sequence[str] = (),
    dwp: str | os.PathLike[str] | None = None,
    symbol_table: str | os.PathLike[str] | None = None,
    symbol_stubs: str | os.PathLike[str] | None = None,
    object_prefix_map: Sequence[tuple[str, str]] | Mapping[str, str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> ConversionReport:
    """Convert debug information to GSYM: of a binary, a Breakpad or a GSYM file.

    The output is complete or absent, and its bytes do not depend on *threads*.

    Args:
        input: ELF, Mach-O, PE, Breakpad or GSYM file, a static archive, or a dSYM
            bundle; recognized by its content. A path, which is mapped; or its bytes, or
            a binary file object, which is read to its end.
        output: File to write; by default the input's path with `.gsym` added, before
            that the name of a *member* of a program. Bytes and file objects need one.
        name: Path of bytes or of a file object, for messages and the report; files that
            belong to the input are searched for beside it. By default the file object's
            own name.
        arch: The slice of a fat file to convert, by name (`arm64`) or by
            machine number; another file must be for it.
        member: The object file in an archive to convert; `NAME#2` is the second one of
            a name.
        threads: Worker threads, 256 at most; by default one per core, fewer for
            small inputs.
        output_version: Version of the format, 1 or 2; by default 1, or that of a GSYM
            file, or 2 where 1 has a limit that the output exceeds.
        byteorder: "little" or "big"; by default that of the input.
        uuid: Identifier to write instead of the binary's build id, as bytes or as
            hexadecimal text.
        merged_functions: Keep functions of equal range as children of the first.
        call_sites: Keep the call sites in the DWARF.
        call_sites_yaml: File with call sites to add, as for llvm-gsymutil; needs the
            extra `yaml`.
        keep_functions: Regular expressions of the module `re`, as text or compiled.
            Keep only functions whose linkage name contains a match of one of them.
        drop_functions: Regular expressions for functions to omit.
        address_ranges: (start, end) pairs. Keep only functions that overlap one of
            them.
        segment_size: Split into files of about this many bytes.
        index: Add an index of large functions, with which lookups read little of them;
            other readers ignore it. Without large functions the file has none.
        identity: Add a part with the names and ids of the module (`Reader.module`), by
            which a store, a cache and `gsym lookup` know it; other readers ignore it.
        data_symbols: Also keep the symbols of variables of an ELF file, for logs with
            markup; other readers ignore them. With them version 1 has no index.
            Variables of an input GSYM file are always kept.
        embedded_sources: Also keep source files that the debug information has
            (`clang -gembed-source`, files in a PDB), and where it says that others are
            (Source Link, srcsrv), for `context` of `symbolicate`; other readers ignore
            them. Those of an input GSYM file are always kept.
        no_symbols: Omit functions that only a symbol table contains.
        path_map: (old, new) prefixes of source paths, or a dict of them; the first
            match is used.
        verbose: Report each warning, not only counts.
        if_changed: Do not rewrite an output that would not change. `OUTPUT.gsym-key`
            records sizes and times of all files, the options and the version of gsym;
            if one of them differs, the input is converted and the bytes are compared.
        force: Replace an output of the same build that has lines where the new file has
            none, or inlined calls where it has none. By default such a file is kept,
            and the report has a note.
        image_code: Name the stubs by which an ELF image calls others, and let symbols
            without a size end with their section and where the next function starts
            that can be unwound.
        full_walk: Visit every DIE, also those that cannot contain code. The result is
            the same; this checks that.
        pclntab: When to read the function table of a Go binary: "auto" if no debug
            information describes its functions, "only" instead of all debug
            information, or "never".
        debug_file_directories: Folders of installed debug files, dSYM bundles or PDBs,
            for a binary without debug information.
        debuginfod: Also search the cache of debuginfod's clients, and the servers in
            DEBUGINFOD_URLS; this needs the extra `net`.
        symbol_servers: URLs of servers with Microsoft's layout, which are asked for the
            PDB of a Windows program; this needs the extra `net`.
        dwp: The package with the split units of *input*; by default the input's path,
            or that of its debug file, with `.dwp` added.
        symbol_table: File whose symbol table is read instead of that of *input*; it
            must have the same architecture, or a slice for it.
        symbol_stubs: Likewise, a Mach-O file whose stubs are read instead of those of
            *input*; a dSYM bundle does not say what its stubs call.
        object_prefix_map: Likewise, prefixes of the object files in the debug map of a
            Mach-O file.
        progress: Called regularly from this thread with (bytes done, total bytes) of
            .debug_info.

    Raises:
        FormatError: The input is not recognized or is damaged; for a GSYM file the text
            names the function.
        UnsupportedError: Its kind is not supported.
        ArchitectureError: It is not for *arch*, or it contains code for several
            and none is selected.
        MemberError: It is an archive with several object files and none is selected, or
            has no *member*.
        EmptyError: It contains no function, none is selected, or *pclntab* is "only"
            and it has no pclntab.
        GsymError: A function in *call_sites_yaml* does not exist.
        LimitError: The output does not fit in the version that was asked for: in
            version 1 because of its size or of an identifier of more than 20 bytes.
        OSError: A file cannot be read or written.
        TypeError: A single string was given instead of several, or a file object is not
            binary.
        ValueError: An argument is out of range or not a regular expression, or *output*
            is an input or missing.
    """
    options = read_options(locals())  # first: other names are not options
    return convert_file(open_input(input, name), output, options, progress)


def convert_file(
    source: InputFile,
    output: str | os.PathLike[str] | None,
    options: ConvertOptions,
    progress: Callable[[int, int], None] | None = None,
    *,
    debug_info: DebugInfo | None = None,
) -> ConversionReport:
    """Convert an opened input; `convert` lists what it raises."""
    started, selection = time.perf_counter(), None
    chosen = options.keep_functions, options.drop_functions, options.address_ranges
    if any(chosen):
        from gsym.writing.selection import Selection  # which few conversions need

        selection = Selection(*chosen)
    request = ConversionRequest(
        started=started,
        source=source,
        output=_output_path(source, output, options.member),
        options=options,
        selection=selection,
        progress=progress,
        debug_info=debug_info,
    )
    _check(request)
    if options.if_changed:
        from gsym.conversion.output_key import unchanged_report, write_key

        kept = unchanged_report(request)
        if kept is not None:
            return kept
        report = _convert(request)
        write_key(request, report)
        return report
    return _convert(request)


def open_converted(source: Input, options: ConvertOptions) -> Reader:
    """The conversion of an input, which may be bytes, in no file that stays."""
    from gsym.reading.reader import Reader

    with tempfile.TemporaryDirectory(prefix="gsym-") as folder:
        if not isinstance(source, InputFile):  # nothing is beside it
            source = open_input(source, os.path.join(folder, "in"))
        path = os.path.join(folder, "out" + _SUFFIX)
        convert_file(source, path, options)
        return Reader(map_file(path))  # the map outlives the file


def _convert(request: ConversionRequest) -> ConversionReport:
    options, source_path, kind = request.options, request.input, request.source.kind
    if options.member is not None and kind not in _WITH_MEMBERS:
        raise MemberError("not an archive: it has no members", path=source_path)
    found = INPUTS.get(kind)
    if found is None:
        refuse(kind, source_path)
    if options.data_symbols and not found.has_data_symbols:
        reason = "it has no symbols of variables, its binary has"
        raise UnsupportedError(reason, path=source_path)
    if options.no_symbols and not found.is_binary:
        reason = "it has no symbol table to leave out, its binary has"
        raise UnsupportedError(reason, path=source_path)
    if options.pclntab == "only" and not found.is_binary:
        raise UnsupportedError("it has no pclntab, its binary has", path=source_path)
    if kind == "archive" and options.member is None:
        names = _member_names(request.source, ())
        request = request.with_options(member=names[0])
    try:
        return found.convert(request)
    except LimitError as error:
        is_of_version_1 = "--output-version 2" in error.reason  # as it advises then
        if options.output_version is not None or not is_of_version_1:
            raise
        try:
            return found.convert(request.with_options(output_version=2))
        except LimitError:
            raise error from None


def convert_slices(
    input: Input,  # noqa: A002 - what it is
    output: str | os.PathLike[str] | None = None,
    *,
    name: str | os.PathLike[str] | None = None,
    arch: Sequence[str] = (),
    **options: Any,
) -> tuple[ConversionReport, ...]:
    """Convert each slice of a fat file; a file that is not fat is one slice.

    Args:
        input: As for `convert`.
        output: As for `convert`; of several slices each adds `.ARCHITECTURE`.
        name: As for `convert`.
        arch: The slices to convert, by name or by machine number; none:
            all of them.
        options: Other keywords of `convert`.

    Raises:
        ArchitectureError: The input is for none of *arch*.
        GsymError: As for `convert`; slices before stay converted.
        OSError: A file cannot be read or written.
    """
    architectures = strings_of("arch", arch)  # before anything is opened
    source = open_input(input, name)
    return tuple(
        convert(source, path, arch=each, **options)
        for each, path in slice_outputs(source, output, architectures)
    )


def convert_members(
    input: Input,  # noqa: A002 - what it is
    output: str | os.PathLike[str] | None = None,
    *,
    name: str | os.PathLike[str] | None = None,
    members: Sequence[str] = ("*",),
    **options: Any,
) -> tuple[ConversionReport, ...]:
    """Convert object files of a static archive, each to a file of its own.

    Args:
        input: The archive, of GNU or BSD tools; a thin one has its files beside it.
        output: As for `convert`; of several members each adds its name.
        name: As for `convert`.
        members: The object files to convert: names, or patterns such as `lib*.o`.
        options: Other keywords of `convert`.

    Raises:
        MemberError: There is no archive, or none of *members* in it.
        GsymError: As for `convert`; members before stay converted.
        OSError: A file cannot be read or written.
    """
    patterns = strings_of("members", members)  # before anything is opened
    source = open_input(input, name)
    return tuple(
        convert(source, path, member=member, **options)
        for member, path in member_outputs(source, output, patterns)
    )


def slice_outputs(
    source: InputFile,
    output: str | os.PathLike[str] | None,
    arch: Sequence[str],
    member: str | None = None,
) -> tuple[tuple[str | None, str], ...]:
    """(architecture, output) of each slice that `convert_slices` converts."""
    target, kind = _output_path(source, output), source.kind
    if not arch and member is None and kind != "fat":
        return ((None, target),)
    data, label = source.data, source.path
    if member is None and kind in INPUTS and not INPUTS[kind].is_binary:
        # The one of *wanted* that a file of records is for; the first if it is for
        # none. `convert` compares it again with the complete file.
        from gsym.conversion.inputs.breakpad import read_head, triple_architecture

        found = triple_architecture(read_head(data))
        return (((found if found in arch else arch[0]), target),)
    if member is not None:
        data, label = source.members.open(member), member_label(label, member)
    slices = matching_slices(list_slices(data, label), arch, label)
    if len(slices) == 1:
        return ((slices[0].architecture, target),)
    return tuple(
        (each.architecture, f"{target}.{each.architecture}") for each in slices
    )


def member_outputs(
    source: InputFile, output: str | os.PathLike[str] | None, members: Sequence[str]
) -> tuple[tuple[str | None, str], ...]:
    """(member, output) of each object file that `convert_members` converts.

    For a file that is not an archive, if no members are wanted, it is (None, output).
    """
    target = _output_path(source, output)
    if not members and source.kind != "archive":
        return ((None, target),)
    names = _member_names(source, members)
    # Beside a program, that of its only member has another name than its own.
    if len(names) == 1 and (
        source.kind == "archive" or target != source.given + _SUFFIX
    ):
        return ((names[0], target),)
    return tuple((name, _member_path(target, name)) for name in names)


def _member_path(target: str, name: str) -> str:
    stem = target.removesuffix(_SUFFIX)
    # A name may be a path, which is not valid in an output name.
    return f"{stem}.{name.translate(_NO_PATH)}{target[len(stem) :]}"


def _member_names(source: InputFile, wanted: Sequence[str]) -> tuple[str, ...]:
    if source.kind not in _WITH_MEMBERS:
        raise MemberError("not an archive: it has no members", path=source.path)
    from gsym.containers.archive import matching_members  # few inputs are archives

    return matching_members(source.members.names(), wanted, source.path)


def _output_path(
    source: InputFile, output: str | os.PathLike[str] | None, member: str | None = None
) -> str:
    if output is not None:
        return path_of("output", output)
    if not source.given:
        raise ValueError("output: an input that is not a path needs one")
    # The path of a bundle may end in a slash.
    target = source.given.rstrip(os.sep) + _SUFFIX
    if member is None or source.kind == "archive":
        return target
    return _member_path(target, member)


def _check(request: ConversionRequest) -> None:
    options = request.options
    if options.segment_size is not None:
        if options.data_symbols:
            raise ValueError("data_symbols: segments cannot have them")
        if options.embedded_sources:
            raise ValueError("embedded_sources: segments cannot have them")
        return
    for path in (request.input, options.call_sites_yaml):
        if path is not None and is_same_file(request.output, path):
            raise ValueError(f"{request.output}: the output would replace the input")
