"""`gsym convert`: debug information of binaries, or GSYM files -> GSYM files."""

from __future__ import annotations

import os
import sys

from gsym.cli import conversion as conversion_report
from gsym.cli.conversion import convert_keywords, convert_options, search_options
from gsym.cli.grammar import Command, Operand, Option, UsageError
from gsym.cli.options import QUIET, STRICT, output_option, writes_file
from gsym.cli.program import EXIT_FAILED, EXIT_INCOMPLETE
from gsym.cli.terminal import describe, progress_for
from gsym.containers.archive import open_member
from gsym.containers.mapped_file import map_file
from gsym.conversion.companions.macho import bundle_member
from gsym.conversion.job import convert, member_outputs, slice_outputs
from gsym.conversion.options import DECLARED
from gsym.errors import GsymError
from gsym.writing.atomic_file import is_same_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec

    from gsym.cli.grammar import Values
    from gsym.conversion.report import ConversionReport

    Converter = Callable[[str, str, str | None, str | None], ConversionReport]
    P = ParamSpec("P")
    SliceStep = Callable[[str, str | None, str | None, str], bool]

# With these the output does not say what its input says.
_UNVERIFIABLE = (
    "--segment-size",
    "--uuid",
    "--keep-functions",
    "--drop-functions",
    "--address-range",
    "--no-symbols",
    "--pclntab",
)


# Those that this verb declares itself, or puts elsewhere in its help.
_OWN = {"arch", "member", "if_changed", "verbose"}
_KEYWORDS = tuple(
    name for name, each in DECLARED.items() if each.option and name not in _OWN
)


@Command(
    "gsym convert",
    (
        Operand(
            "INPUT",
            "binary with debug information, archive of such, dSYM bundle, Breakpad or "
            "GSYM file",
            many=True,
        ),
    ),
    (
        output_option("file to write, - for standard output (default: INPUT.gsym)"),
        Option(
            "--output-dir",
            "folder for the outputs, each named as its input with .gsym",
            metavar="DIR",
        ),
        Option(
            "--arch",
            "of a fat file convert only this slice; without it all, "
            "each to OUT.NAME if there are several",
            metavar="NAME",
            repeatable=True,
        ),
        Option(
            "--member",
            "of an archive convert this object file, or those that a pattern such "
            "as '*.o' fits, each to a file of its name if there are several",
            metavar="NAME",
            repeatable=True,
        ),
        *convert_options("if_changed"),
        Option("--depfile", "write a make rule with all inputs", metavar="FILE"),
        *convert_options(*_KEYWORDS),
        STRICT,
        QUIET,
        *convert_options("verbose"),
        Option("--json-summary", "write the report as JSON", metavar="FILE"),
        Option("--verify", "check each output against its input afterwards"),
    ),
)
@writes_file
def convert_all(values: Values) -> int:
    """Convert each input; the exit code is 1 if one failed, 3 as `--strict` says."""
    for option in _UNVERIFIABLE:
        if values.flag("--verify") and values.texts(option):
            raise UsageError(f"option '--verify' excludes '{option}'")
    _check_data_symbols(values)
    jobs = _jobs(values)
    converter = _converter(values)
    sources = [source for source, _ in jobs] + values.texts("--call-sites-yaml")[-1:]
    outputs = [target for _, target in jobs if not values.texts("--segment-size")]
    outputs += values.texts("--depfile")[-1:] + values.texts("--json-summary")[-1:]
    _spare_inputs(outputs, sources)
    folder = values.text("--output-dir")
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
    reports: list[ConversionReport] = []

    def convert_one(source: str, target: str) -> bool:
        members = member_outputs(source, target, values.texts("--member"))
        done = [_try(convert_member, source, *each) for each in members]
        return all(done)

    def convert_member(source: str, member: str | None, target: str) -> bool:
        slices = slice_outputs(source, target, values.texts("--arch"), member)
        step = convert_slice if len(slices) == 1 else _naming_slice(convert_slice)
        done = [_try(step, source, member, *each) for each in slices]
        return all(done)

    def convert_slice(
        source: str, member: str | None, architecture: str | None, target: str
    ) -> bool:
        if not values.texts("--segment-size"):
            _spare_inputs([target], [*sources, bundle_member(source)])
        report = converter(source, target, member, architecture)
        reports.append(report)
        _tell(report, values)
        return not values.flag("--verify") or _verify(report, values)

    # One bad input does not stop the others, nor what is written of them all.
    done = [_try(convert_one, source, target) for source, target in jobs]
    depfile, summary = values.text("--depfile"), values.text("--json-summary")
    if depfile is not None:
        done.append(_try(conversion_report.write_depfile, depfile, reports))
    if summary is not None:
        done.append(_try(conversion_report.write_json, summary, reports))
    return _exit_code(reports, all(done), strict=values.flag("--strict"))


def _exit_code(reports: list[ConversionReport], is_done: bool, *, strict: bool) -> int:
    if not is_done:
        return EXIT_FAILED
    is_complete = all(map(conversion_report.is_complete, reports))
    return EXIT_INCOMPLETE if strict and not is_complete else 0


def _check_data_symbols(values: Values) -> None:
    """Refuse options with which the symbols of variables cannot be stored."""
    if not values.flag("--data-symbols"):
        return
    if values.texts("--segment-size"):
        raise UsageError("option '--data-symbols' excludes '--segment-size'")
    if values.flag("--index") and values.texts("--output-version")[-1:] != ["2"]:
        raise UsageError(
            "options '--data-symbols' and '--index' together need '--output-version 2'"
        )


def _try(step: Callable[P, bool | None], *arguments: P.args, **named: P.kwargs) -> bool:
    """Whether *step* went well; it prints what it finds, an error is printed here."""
    try:
        return step(*arguments, **named) is not False
    except BrokenPipeError:
        raise
    except (GsymError, OSError, MemoryError) as error:
        print(f"gsym: error: {describe(error)}", file=sys.stderr)
        return False


def _naming_slice(step: SliceStep) -> SliceStep:
    """*step* for one of several slices: its errors say which."""

    def run_step(
        source: str, member: str | None, architecture: str | None, target: str
    ) -> bool:
        try:
            return step(source, member, architecture, target)
        except GsymError as error:
            error.reason = f"for {architecture}: {error.reason}"
            raise

    return run_step


def _spare_inputs(outputs: list[str], sources: list[str]) -> None:
    """Refuse to write over an input.

    Raises:
        GsymError: One of the outputs is an input.
    """
    for output in outputs:
        if any(is_same_file(output, source) for source in sources):
            raise GsymError("the output would replace an input", path=output)


def _jobs(values: Values) -> list[tuple[str, str]]:
    """(input, output) of each conversion."""
    sources = values.operands("INPUT")
    output, folder = values.text("--output"), values.text("--output-dir")
    if output is not None:
        if folder is not None:
            raise UsageError("option '--output' excludes '--output-dir'")
        if len(sources) > 1:
            raise UsageError("option '--output' takes one INPUT; use '--output-dir'")
        return [(sources[0], output)]
    jobs: list[tuple[str, str]] = []
    taken: dict[str, str] = {}
    for source in sources:
        name = source if folder is None else os.path.basename(source)
        target = os.path.join(folder or "", name + ".gsym")
        if target in taken:
            raise UsageError(f"'{taken[target]}' and '{source}' have the same output")
        taken[target] = source
        jobs.append((source, target))
    return jobs


def _converter(values: Values) -> Converter:
    """`gsym.convert` with all options but the paths, which are checked here."""
    keywords = convert_keywords(values, *_KEYWORDS, "if_changed", "verbose")

    def run_conversion(
        source: str, target: str, member: str | None, architecture: str | None
    ) -> ConversionReport:
        with progress_for(source, quiet=values.flag("--quiet")) as progress:
            return convert(
                source,
                target,
                member=member,
                arch=architecture,
                progress=progress.callback,
                **keywords,
            )

    return run_conversion


def _tell(report: ConversionReport, values: Values) -> None:
    if values.flag("--quiet"):
        for line in conversion_report.loss_lines(report):
            print(line, file=sys.stderr)
        return
    for line in conversion_report.summary_lines(report):
        print(line)
    if values.flag("--verbose"):
        for line in conversion_report.placement_lines(report):
            print(line)
    for line in conversion_report.warning_lines(report):
        print(line, file=sys.stderr)


def _verify(report: ConversionReport, values: Values) -> bool:
    """Whether the output says what the input says; what it does not is printed."""
    import tempfile

    from gsym.cli.verbs.verify import verify

    (output,) = report.outputs
    rules = convert_keywords(values, "path_map").get("path_map", ())
    quiet = values.flag("--quiet")
    # A GSYM file names no architecture, and is nothing to compare DWARF with.
    binary = report.input if report.architecture else None
    search = search_options(values)
    if not report.member:
        return verify(output, binary, path_map=rules, search=search, quiet=quiet)
    with tempfile.NamedTemporaryFile() as extracted:
        archive = map_file(report.input)
        extracted.write(open_member(archive, report.input, report.member))
        extracted.flush()
        copy = extracted.name
        return verify(output, copy, path_map=rules, search=search, quiet=quiet)
