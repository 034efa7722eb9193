"""`gsymutil --convert`: a conversion with the report of llvm-gsymutil."""

from __future__ import annotations

import errno
import os
import sys

from gsym.cli.dropins.streams import Failure, say, say_line
from gsym.cli.program import EXIT_FAILED
from gsym.cli.terminal import one_line
from gsym.errors import FormatError, GsymError, UnsupportedError
from gsym.lazy import json
from gsym.writing.atomic_file import is_same_file

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.cli.dropins.gsymutil_options import Options
    from gsym.conversion.report import ConversionReport

# Warnings with another text in LLVM, including its spelling.
_LLVM_CATEGORY = {
    "Address range starts outside executable sections": (
        "Address range starts outside executable section"
    ),
    "Invalid file index in DW_AT_call_file": (
        "Inlined function die has invlaid file index in DW_AT_call_file"
    ),
}
_COMPANIONS = ("--callsites-yaml-file", "--symtab-file", "--stubs-file")
_HEADER_SIZE = 4096  # bytes in which a Breakpad file has its MODULE record


def convert(options: Options) -> int:
    """Convert, report on standard output and return the exit code."""
    if options.inputs:
        say("error: no input files can be specified when using the --convert option.\n")
        return EXIT_FAILED
    source = options.required("--convert")
    output = options.text("--out-file") or f"{source}.gsym"
    summary = options.text("--json-summary-file")
    inputs = [*filter(None, map(options.text, ("--convert", *_COMPANIONS)))]
    for path in filter(None, (output, summary)):
        if any(is_same_file(path, each) for each in inputs):
            raise Failure(f"{path}: the output would replace the input")
    is_breakpad = _is_breakpad(options)
    say_line(f"Input file: {source}")
    sys.stdout.buffer.flush()
    counts: dict[str, int] = {}
    slices = _module(options, output) if is_breakpad else _slices(options, output)
    for architecture, path in slices:
        say_line(f"Output file ({architecture}): {path}")
        report = _convert(options, architecture, path, is_breakpad=is_breakpad)
        lines = _breakpad_lines if is_breakpad else _symbol_lines
        say("".join(_report_lines(report, lines(report, options))))
        if options.flag("--verify"):
            _verify(report)
        for text, count in _counts(report):
            counts[text] = counts.get(text, 0) + count
    counts = {text: counts[text] for text in sorted(counts) if counts[text]}
    say("".join(f"{text} occurred {n} time(s)\n" for text, n in counts.items()))
    return _write_summary(summary, counts) if summary else 0


def _is_breakpad(options: Options) -> bool:
    from gsym.containers.recognition import recognise_file

    path = options.required("--convert")
    try:
        is_breakpad = recognise_file(path) == "breakpad"
    except OSError as error:
        if options.flag("-breakpad"):
            raise Failure(f"{path}: {error.strerror}") from error
        is_breakpad = False  # a bundle, or an error that is reported below
    if options.flag("-breakpad") and not is_breakpad:
        raise Failure(f"{path}: The file was not recognized as a Breakpad symbol file")
    if options.flag("-dwarf") and is_breakpad:
        raise Failure(f"{path}: The file was not recognized as a valid object file")
    return is_breakpad


def _module(options: Options, output: str) -> list[tuple[str, str]]:
    """(architecture, output) of a Breakpad symbol file."""
    from gsym.conversion.inputs.breakpad import read_module, triple_architecture

    with open(options.required("--convert"), "rb") as file:
        module = read_module(file.read(_HEADER_SIZE).splitlines())
    return [(triple_architecture(module) or "unknown", output)]


def _slices(options: Options, output: str) -> list[tuple[str, str]]:
    """(architecture, output) of each slice of the input; a thin file has one."""
    from gsym.containers.fat import list_slices, matching_slices
    from gsym.containers.mapped_file import map_file
    from gsym.conversion.companions.macho import bundle_member

    path = options.required("--convert")
    try:
        member = bundle_member(path)
        slices = list_slices(map_file(member), member)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
    except FormatError as error:
        reason = "The file was not recognized as a valid object file"
        if os.path.isdir(path):
            reason = os.strerror(errno.EISDIR)
        raise Failure(f"{path}: {reason}") from error
    except GsymError as error:
        raise Failure(f"{path}: {error.reason}") from error
    if slices[0].offset:  # else it is not fat, and LLVM ignores --arch
        try:
            slices = matching_slices(slices, options.texts("--arch"), path)
        except GsymError as error:
            raise Failure(f"{path}: no matching architectures found") from error
    if len(slices) == 1:
        return [(slices[0].architecture, output)]
    return [(each.architecture, f"{output}.{each.architecture}") for each in slices]


def _convert(
    options: Options, architecture: str, output: str, *, is_breakpad: bool
) -> ConversionReport:
    import gsym.conversion.job

    yaml, symbols, stubs = (options.text(each) or None for each in _COMPANIONS)
    try:
        return gsym.conversion.job.convert(
            options.required("--convert"),
            output,
            arch=None if is_breakpad else architecture,
            threads=options.threads or None,
            output_version=options.output_version,
            merged_functions=options.flag("--merged-functions"),
            call_sites=options.flag("--dwarf-callsites"),
            call_sites_yaml=yaml,
            segment_size=options.segment_size or None,
            index=False,
            identity=False,
            force=True,
            symbol_table=symbols,
            symbol_stubs=stubs,
            verbose=options.flag("--verbose") and not options.flag("--quiet"),
            pclntab="never",
            image_code=False,
        )
    except (GsymError, OSError) as error:
        reason = error.reason if isinstance(error, GsymError) else error.strerror
        if isinstance(error, FormatError) and error.path == yaml:
            reason = f"Error parsing YAML file: {error.path}: {reason}"
        path = error.path if isinstance(error, GsymError) else error.filename
        if path is not None and path in {symbols, stubs}:
            raise Failure(f"{path}: {reason}") from error
        if is_breakpad:
            raise Failure(f"Breakpad conversion failed: {reason}") from error
        # LLVM prints a prefix that ends in a colon, and another colon after it.
        raise Failure(f"DWARF conversion failed: : {reason}") from error


def _report_lines(report: ConversionReport, steps: Iterator[str]) -> Iterator[str]:
    """Lines on the input, in the order of LLVM; *steps* are those of its kind."""
    yield f"{next(steps)}\n"
    if report.functions_merged:
        yield (
            f"Have {report.functions_merged} merged functions as children of other "
            "functions\n"
        )
    for step in steps:
        yield f"{one_line(step, sys.stdout)}\n"
    for warning in report.details:
        yield (
            f"warning: {_LLVM_CATEGORY.get(warning.category, warning.category)}: "
            f"{warning.value:#x} at offset {warning.offset:#010x}\n"
        )
    yield (
        f"Pruned {report.functions_pruned} functions, ended with {report.functions} "
        "total\n"
    )


def _breakpad_lines(report: ConversionReport, _: Options) -> Iterator[str]:
    yield f"Loaded {report.functions_debug_info} functions from FUNC records."
    yield f"Loaded {report.functions_symbol_table} functions from PUBLIC records."


def _symbol_lines(report: ConversionReport, options: Options) -> Iterator[str]:
    yield f"Loaded {report.functions_debug_info} functions from DWARF."
    _, symbols, stubs = map(options.text, _COMPANIONS)
    if stubs:
        yield f"Using symbol stubs file: {stubs}"
    if symbols:
        yield f"Using symbol table file: {symbols}"
    for source, count in ({"symbol table": 0} | report.symbol_sources).items():
        name = "symbol stubs" if source == "stubs" else source
        yield f"Loaded {count} functions from {name}."
    if stubs and "stubs" not in report.symbol_sources:
        yield "warning: the symbol stubs file is not a mach-o file"
    reason = _unread_mini_debug_info(report)
    if reason and not options.flag("--quiet"):
        yield f"warning: unable to read the .gnu_debugdata section: {reason}"


def _unread_mini_debug_info(report: ConversionReport) -> str:
    """Reason why `.gnu_debugdata` was not read; else ""."""
    from gsym.conversion.companions.elf import MINI_DEBUG_INFO_UNUSED

    for note in report.notes:
        if note.startswith(MINI_DEBUG_INFO_UNUSED):
            return note[len(MINI_DEBUG_INFO_UNUSED) :]
    return ""


def _verify(report: ConversionReport) -> None:
    """Print errors in the outputs, which do not change the exit code, as in LLVM."""
    from gsym.verification.check import check_structure, compare

    for path in report.outputs:
        say_line(f'Verifying GSYM file "{path}":')
        for finding in check_structure(path):
            say_line(f"error: offset {finding.offset:#x}: {finding.reason}")
    if len(report.outputs) > 1:
        return  # a segment contains only part of the binary
    try:
        compared = compare(report.outputs[0], report.input, like_llvm=True)
    except UnsupportedError as error:
        say_line(f"warning: {report.input}: {error.reason}")
        return
    for difference in compared.differences:
        say_line(
            f"error: {difference.address:#018x}: {difference.subject}: "
            f"{difference.binary} in the binary, {difference.gsym} in the file"
        )


def _counts(report: ConversionReport) -> Iterator[tuple[str, int]]:
    """Number of warnings of each kind, under LLVM's names."""
    for text, count in report.warnings.items():
        yield _LLVM_CATEGORY.get(text, text), count
    duplicates = "Duplicate address ranges with different debug info."
    yield duplicates, report.duplicates_different
    yield "Overlapping function ranges", report.overlapping
    unread = bool(_unread_mini_debug_info(report))
    yield "Failed to load the .gnu_debugdata section", int(unread)


def _write_summary(path: str, counts: dict[str, int]) -> int:
    categories = {text: {"count": count} for text, count in counts.items()}
    summary = {"error-categories": categories, "error-count": sum(counts.values())}
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(summary, file, separators=(",", ":"))
    except OSError as error:
        say(
            f"error opening aggregate error json file '{path}' for writing: "
            f"{error.strerror}\n"
        )
        return EXIT_FAILED
    return 0
