"""`gsymutil --convert`: a conversion that reports as llvm-gsymutil does."""

from __future__ import annotations

import sys

from gsym.atomic_file import is_same_file
from gsym.cli.gsymutil_streams import EXIT_FAILED, Failure, say
from gsym.errors import FormatError, GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.cli.gsymutil_options import Options
    from gsym.conversion_report import ConversionReport

# Where the same warning has another text in LLVM (its spelling included).
_LLVM_CATEGORY = {
    "Address range starts outside executable sections": (
        "Address range starts outside executable section"
    ),
    "Invalid file index in DW_AT_call_file": (
        "Inlined function die has invlaid file index in DW_AT_call_file"
    ),
}


def convert(options: Options) -> int:
    """Convert, report on standard output and return the exit code."""
    if options.inputs:
        say("error: no input files can be specified when using the --convert option.\n")
        return EXIT_FAILED
    for name, given in (
        ("--symtab-file", options.symtab_file),
        ("--callsites-yaml-file", options.call_sites_yaml),
    ):
        if given:
            raise Failure(f"{name} is not supported yet")
    output = options.output or options.convert + ".gsym"
    for path in (output, options.json_summary_file):
        if path and is_same_file(path, options.convert):
            raise Failure(f"{path}: the output would replace the input")
    say(f"Input file: {options.convert}\n")
    sys.stdout.buffer.flush()
    say(f"Output file ({_architecture(options.convert)}): {output}\n")
    report = _convert(options, output)
    counts = _counts(report)
    say("".join(_report_lines(report)))
    if options.verify:
        _verify(options.convert, report.outputs)
    say("".join(f"{text} occurred {n} time(s)\n" for text, n in counts.items()))
    return _write_summary(options.json_summary_file, counts)


def _architecture(path: str) -> str:
    from gsym.sources.dsym import bundle_member
    from gsym.sources.mapped_file import map_file
    from gsym.sources.object_file import ObjectFile

    try:
        member = bundle_member(path)
        with ObjectFile(map_file(member), member) as source:
            return source.architecture
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from error
    except FormatError as error:
        reason = "The file was not recognized as a valid object file"
        raise Failure(f"{path}: {reason}") from error
    except GsymError as error:
        raise Failure(f"{path}: {error.reason}") from error


def _convert(options: Options, output: str) -> ConversionReport:
    import gsym.conversion

    try:
        return gsym.conversion.convert(
            options.convert,
            output,
            threads=options.threads or None,
            version=options.output_version,
            merged_functions=options.merged_functions,
            call_sites=options.dwarf_call_sites,
            segment_size=options.segment_size or None,
            keep_warnings=options.verbose and not options.quiet,
        )
    except (GsymError, OSError) as error:
        reason = error.reason if isinstance(error, GsymError) else error.strerror
        # LLVM prints a prefix that ends in a colon, and a colon behind it.
        raise Failure(f"DWARF conversion failed: : {reason}") from error


def _report_lines(report: ConversionReport) -> Iterator[str]:
    yield f"Loaded {report.functions_debug_info} functions from DWARF.\n"
    if report.functions_merged:
        yield (
            f"Have {report.functions_merged} merged functions as children of other "
            "functions\n"
        )
    yield f"Loaded {report.functions_symbol_table} functions from symbol table.\n"
    for warning in report.details:
        yield (
            f"warning: {_LLVM_CATEGORY.get(warning.category, warning.category)}: "
            f"{warning.value:#x} at offset {warning.offset:#010x}\n"
        )
    yield (
        f"Pruned {report.functions_pruned} functions, ended with {report.functions} "
        "total\n"
    )


def _verify(binary: str, outputs: tuple[str, ...]) -> None:
    """Print what is wrong with the outputs, which fails nothing, as in LLVM."""
    from gsym.verification import check_structure, compare

    for path in outputs:
        say(f'Verifying GSYM file "{path}":\n')
        for finding in check_structure(path):
            say(f"error: offset {finding.offset:#x}: {finding.reason}\n")
    if len(outputs) == 1:  # a segment cannot say all that its binary says
        for difference in compare(outputs[0], binary).differences:
            say(
                f"error: {difference.address:#018x}: {difference.subject}: "
                f"{difference.binary} in the binary, {difference.gsym} in the file\n"
            )


def _counts(report: ConversionReport) -> dict[str, int]:
    """How often each warning occurred, under LLVM's names and in its order."""
    counts = {
        _LLVM_CATEGORY.get(text, text): count for text, count in report.warnings.items()
    }
    counts["Duplicate address ranges with different debug info."] = (
        report.duplicates_different
    )
    counts["Overlapping function ranges"] = report.overlapping
    return {text: counts[text] for text in sorted(counts) if counts[text]}


def _write_summary(path: str, counts: dict[str, int]) -> int:
    if not path:
        return 0
    import json

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
