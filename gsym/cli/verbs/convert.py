"""`gsym convert`: debug information of binaries, or GSYM files -> GSYM files."""

from __future__ import annotations

import os
import sys

from gsym.cli.grammar import Operand, Option, UsageError
from gsym.cli.options import (
    QUIET,
    STRICT,
    OutputCommand,
    convert_keywords,
    convert_options,
    output_option,
    search_options,
)
from gsym.cli.program import EXIT_FAILED, EXIT_INCOMPLETE
from gsym.cli.terminal import describe, printable, progress_for
from gsym.containers.archive import open_member
from gsym.containers.mapped_file import map_file
from gsym.conversion import report_text as conversion_report
from gsym.conversion.input_file import open_input
from gsym.conversion.job import convert_file, member_outputs, slice_outputs
from gsym.conversion.many import (
    FAILURES,
    first_replaced,
    output_paths,
    run_side_by_side,
    sync_folders,
    without_frames,
)
from gsym.conversion.options import DECLARED, complete_options
from gsym.errors import GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import ParamSpec, TypeAlias

    from gsym.cli.grammar import Values
    from gsym.conversion.input_file import InputFile
    from gsym.conversion.report import ConversionReport

    P = ParamSpec("P")
    Outcome: TypeAlias = "ConversionReport | Exception"
    Progress = Callable[[int, int], None]
    Step = Callable[[InputFile, str | None, str | None, str], Outcome]

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


@OutputCommand(
    "gsym convert",
    (
        Operand(
            "INPUT",
            "binary with debug information, archive of such, dSYM bundle, PDB, "
            "Breakpad or GSYM file",
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
            "convert only this slice of a fat file; by default all are converted, "
            "several to OUT.NAME each",
            metavar="NAME",
            repeatable=True,
        ),
        Option(
            "--member",
            "convert this object file of an archive, or those that match a pattern "
            "such as '*.o'; several are written to a file each, named as they are",
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
def convert_all(values: Values) -> int:
    """Convert each input; the exit code is 1 if one failed, 3 as `--strict` says."""
    for option in _UNVERIFIABLE:
        if values.flag("--verify") and values.texts(option):
            raise UsageError(f"option '--verify' excludes '{option}'")
    _check_data_symbols(values)
    sources = values.operands("INPUT")
    targets = _targets(values, sources)
    read = [*sources, *values.texts("--call-sites-yaml")[-1:]]
    outputs = [] if values.texts("--segment-size") else [*targets]
    outputs += values.texts("--depfile")[-1:] + values.texts("--json-summary")[-1:]
    _spare_inputs(outputs, read)
    folder = values.text("--output-dir")
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
    options = complete_options(
        convert_keywords(values, *_KEYWORDS, "if_changed", "verbose")
    )
    reports: list[ConversionReport] = []
    done: list[bool] = []

    def convert_one(
        number: int, threads: int | None, progress: Progress | None
    ) -> list[Outcome]:
        def step(
            source: InputFile, member: str | None, arch: str | None, target: str
        ) -> Outcome:
            wanted = options._replace(threads=threads, member=member, arch=arch)
            return convert_file(source, target, wanted, progress, sync_folder=False)

        return [*_convert(sources[number], targets[number], values, read, step)]

    label = sources[0] if len(sources) == 1 else f"{len(sources)} files"
    with progress_for(label, quiet=values.flag("--quiet")) as progress:

        def take(outcomes: list[Outcome]) -> None:
            progress.clear()
            done.extend(_try(_finish, each, values, reports) for each in outcomes)

        # One bad input does not stop the others, nor what is written of them all.
        run_side_by_side(
            sources,
            convert_one,
            take,
            threads=options.threads,
            progress=progress.callback,
        )
    done.append(_try(sync_folders, reports))
    depfile, summary = values.text("--depfile"), values.text("--json-summary")
    if depfile is not None and all(done):  # else that of before has more inputs
        done.append(_try(conversion_report.write_depfile, depfile, reports))
    if summary is not None:
        done.append(_try(conversion_report.write_json, summary, reports))
    return _exit_code(reports, all(done), strict=values.flag("--strict"))


def _convert(
    path: str,
    target: str,
    values: Values,
    read: list[str],
    step: Step,
) -> Iterator[Outcome]:
    """The reports and errors of all members and slices of an input.

    Args:
        path: The input.
        target: Its output, or what the names of its outputs begin with.
        values: The command line.
        read: Files that must not be written over.
        step: Converts a member and slice of an opened input to an output.
    """
    try:
        source = open_input(path)
        if not values.texts("--segment-size"):
            _spare_inputs([target], [source.path])
        members = member_outputs(source, target, values.texts("--member"))
    except FAILURES as error:
        yield without_frames(error)
        return
    for member, output in members:
        try:
            slices = slice_outputs(source, output, values.texts("--arch"), member)
        except FAILURES as error:
            yield without_frames(error)
            continue
        for architecture, place in slices:
            try:
                if place != target and not values.texts("--segment-size"):
                    _spare_inputs([place], [source.path, *read])
                yield step(source, member, architecture, place)
            except FAILURES as error:  # noqa: PERF203 - the others are still converted
                if len(slices) > 1 and isinstance(error, GsymError):
                    error.reason = f"for {architecture}: {error.reason}"
                yield without_frames(error)


def _finish(outcome: Outcome, values: Values, reports: list[ConversionReport]) -> bool:
    """Report a conversion, and verify its output if that is wanted."""
    if isinstance(outcome, Exception):
        raise outcome
    reports.append(outcome)
    _tell(outcome, values)
    return not values.flag("--verify") or _verify(outcome, values)


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


def _try(step: Callable[P, bool | None], *arguments: P.args, **named: P.kwargs) -> bool:
    """Whether *step* went well; it prints what it finds, an error is printed here."""
    try:
        return step(*arguments, **named) is not False
    except BrokenPipeError:
        raise
    except (GsymError, OSError, MemoryError) as error:
        print(f"gsym: error: {describe(error)}", file=sys.stderr)
        return False


def _spare_inputs(outputs: list[str], sources: list[str]) -> None:
    """Refuse to write over an input.

    Raises:
        GsymError: One of the outputs is an input.
    """
    replaced = first_replaced(outputs, sources)
    if replaced is not None:
        raise GsymError("the output would replace an input", path=replaced)


def _targets(values: Values, sources: list[str]) -> list[str]:
    """The output of each input."""
    output, folder = values.text("--output"), values.text("--output-dir")
    if output is None:
        try:
            return output_paths(sources, folder)
        except ValueError as error:
            raise UsageError(str(error)) from None
    if folder is not None:
        raise UsageError("option '--output' excludes '--output-dir'")
    if len(sources) > 1:
        raise UsageError("option '--output' takes one INPUT; use '--output-dir'")
    return [output]


def _tell(report: ConversionReport, values: Values) -> None:
    if values.flag("--quiet"):
        for line in conversion_report.loss_lines(report):
            print(printable(line), file=sys.stderr)
        return
    for line in conversion_report.summary_lines(report):
        print(printable(line))
    if values.flag("--verbose"):
        for line in conversion_report.placement_lines(report):
            print(printable(line))
    for line in conversion_report.warning_lines(report):
        print(printable(line), file=sys.stderr)


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
