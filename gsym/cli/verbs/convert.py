"""`gsym convert`: debug information of binaries, or GSYM files -> GSYM files."""

from __future__ import annotations

import os
import sys
import time

from gsym.cli.grammar import UsageError, Values, usage_errors
from gsym.cli.options import (
    QUIET,
    STRICT,
    OutputCommand,
    convert_keywords,
    convert_options,
    search_options,
)
from gsym.cli.program import EXIT_FAILED, EXIT_INCOMPLETE
from gsym.cli.terminal import describe, print_lines, progress_for, tell, warn
from gsym.conversion import many, report_text as conversion_report
from gsym.conversion.input_file import InputFile, open_input
from gsym.conversion.job import convert_file, member_outputs, slice_outputs
from gsym.conversion.options import DECLARED, complete_options
from gsym.errors import EmptyError, GsymError
from gsym.lazy import tempfile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import ParamSpec

    from gsym.containers.archive import Members
    from gsym.conversion.report import ConversionReport

    P = ParamSpec("P")
    Progress = Callable[[int, int], None]
    Step = Callable[[InputFile, str | None, str | None, str], ConversionReport]

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

_DIFFERS = "the output is not what the input says"
# Those that this verb declares itself, or puts elsewhere in its help.
_OWN = {"arch", "member", "if_changed", "verbose"}
_KEYWORDS = tuple(
    name for name, each in DECLARED.items() if each.option and name not in _OWN
)


@OutputCommand(
    "gsym convert",
    (
        """\
INPUT...  binary with debug information, archive of such, dSYM bundle, PDB, Breakpad or
  GSYM file; a folder, for all programs, libraries and symbol files below it; @FILE for
  the inputs that FILE names, quoted as in a shell
-o, --output OUT  file to write, - for standard output (default: INPUT.gsym)
--output-dir DIR  folder for the outputs, each named as its input with .gsym; files of a
  folder keep their places below it
--arch NAME...  convert only this slice of a fat file; by default all are converted,
  several to OUT.NAME each
--member NAME...  convert this object file of an archive, or those that match a pattern
  such as '*.o'; several are written to a file each, named as they are""",
        convert_options("if_changed"),
        """\
--allow-empty  pass over inputs that contain no function instead of failing for them
--depfile FILE  write a make rule with all inputs""",
        convert_options(*_KEYWORDS),
        STRICT,
        QUIET,
        convert_options("verbose"),
        """\
--json-summary FILE  write the report as JSON
--verify  check each output against its input afterwards""",
    ),
)
def convert_all(values: Values) -> int:
    """Convert each input; the exit code is 1 if one failed, 3 as `--strict` says."""
    # Refuse options that exclude each other
    for option in _UNVERIFIABLE:
        if values.flag("--verify") and values.texts(option):
            raise UsageError(f"option '--verify' excludes '{option}'")
    for option in ("--data-symbols", "--embedded-sources"):
        if values.flag(option) and values.texts("--segment-size"):
            raise UsageError(f"option '{option}' excludes '--segment-size'")
    sources, targets = _sources_and_targets(values)
    read = [*sources, *values.texts("--call-sites-yaml")[-1:]]
    outputs = [] if values.texts("--segment-size") else [*targets]
    outputs += values.texts("--depfile")[-1:] + values.texts("--json-summary")[-1:]
    _spare_inputs(outputs, read)
    if values.texts("--output-dir"):
        many.make_folders(targets)
    options = complete_options(
        convert_keywords(values, *_KEYWORDS, "if_changed", "verbose")
    )

    def convert_one(
        number: int, threads: int | None, progress: Progress | None
    ) -> list[many.Conversion]:
        def step(
            source: InputFile, member: str | None, arch: str | None, target: str
        ) -> ConversionReport:
            wanted = options._replace(threads=threads, member=member, arch=arch)
            return convert_file(source, target, wanted, progress)

        return [*_convert(sources[number], targets[number], values, read, step)]

    label = sources[0] if len(sources) == 1 else f"{len(sources)} files"
    outcomes = _Outcomes(values)
    with progress_for(label, quiet=values.flag("--quiet")) as progress:

        def take(conversions: list[many.Conversion]) -> None:
            progress.clear()
            outcomes.take(conversions)

        # One bad input does not stop the others, nor what is written of them all.
        many.run_side_by_side(
            sources,
            convert_one,
            take,
            threads=options.threads,
            progress=progress.callback,
        )
    return outcomes.finish(len(sources))


class _Outcomes:
    """The outcomes of the inputs, as they are reported."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._started = time.perf_counter()
        self._reports: list[ConversionReport] = []
        self._failures: list[conversion_report.Failure] = []
        self._empty: list[conversion_report.Failure] = []

    def take(self, conversions: list[many.Conversion]) -> None:
        """Report the outcomes of an input, and verify its outputs if that is wanted."""
        members: dict[str, Members] = {}
        skips = self._values.flag("--allow-empty")
        for path, _, report, error in conversions:
            problem = None
            if report is not None:
                self._reports.append(report)
                _tell(report, self._values)
                if self._values.flag("--verify"):
                    problem = _try(_verify, report, self._values, members)
            elif isinstance(error, EmptyError) and skips:
                self._empty.append(conversion_report.Failure(path, error.reason))
                warn(f"{error}: passed over", "gsym convert")
            elif error is not None:
                problem = _tell_error(error)
            if problem is not None:
                self._failures.append(conversion_report.Failure(path, problem))

    def finish(self, count: int) -> int:
        """Write what is written of all *count* inputs; returns the exit code."""
        values, reports, failures = self._values, self._reports, self._failures
        depfile, summary = values.text("--depfile"), values.text("--json-summary")
        problems = []
        # Of outputs that were not written, that of before has more inputs.
        if depfile is not None and reports and not failures:
            problems.append(_try(conversion_report.write_depfile, depfile, reports))
        if summary is not None:
            listed = (reports, failures, self._empty)
            problems.append(_try(conversion_report.write_json, summary, *listed))
        if count > 1 and not values.flag("--quiet"):
            seconds = time.perf_counter() - self._started
            print(conversion_report.total_line(reports, failures, self._empty, seconds))
        if failures or any(each is not None for each in problems):
            return EXIT_FAILED
        is_complete = all(map(conversion_report.is_complete, reports))
        return EXIT_INCOMPLETE if values.flag("--strict") and not is_complete else 0


def _convert(
    path: str, target: str, values: Values, read: list[str], step: Step
) -> Iterator[many.Conversion]:
    """The reports and errors of all members and slices of an input.

    *target* is its output, or what the names of its outputs begin with. *step* converts
    a member and slice of an opened input to an output.
    """

    def failed(error: Exception, output: str) -> many.Conversion:
        return many.Conversion(path, output, None, many.without_frames(error))

    try:
        source = open_input(path)
        if not values.texts("--segment-size"):
            _spare_inputs([target], [source.path])
        members = member_outputs(source, target, values.texts("--member"))
    except many.FAILURES as error:
        yield failed(error, target)
        return
    for member, output in members:
        try:
            slices = slice_outputs(source, output, values.texts("--arch"), member)
        except many.FAILURES as error:
            yield failed(error, output)
            continue
        for architecture, place in slices:
            try:
                if place != target and not values.texts("--segment-size"):
                    _spare_inputs([place], [source.path, *read])
                report = step(source, member, architecture, place)
                yield many.Conversion(path, place, report, None)
            except many.FAILURES as error:  # noqa: PERF203 - the others are still converted
                if len(slices) > 1 and isinstance(error, GsymError):
                    error.reason = f"for {architecture}: {error.reason}"
                yield failed(error, place)


def _try(
    step: Callable[P, object], *arguments: P.args, **named: P.kwargs
) -> str | None:
    """Run *step*; its error, which is printed, is returned, or None.

    A step that returns False has printed what it found.
    """
    try:
        return _DIFFERS if step(*arguments, **named) is False else None
    except (GsymError, OSError, MemoryError) as error:
        return _tell_error(error)


def _tell_error(error: Exception) -> str:
    """Print an error, and return what it says."""
    if isinstance(error, BrokenPipeError):
        raise error
    reason = describe(error)
    tell(f"gsym: error: {reason}")
    return reason


def _spare_inputs(outputs: list[str], sources: list[str]) -> None:
    """Refuse to write over an input."""
    replaced = many.first_replaced(outputs, sources)
    if replaced is not None:
        raise GsymError("the output would replace an input", path=replaced)


def _sources_and_targets(values: Values) -> tuple[list[str], list[str]]:
    """Each input, and its output."""
    given = [*_listed(values.operands("INPUT"))]
    output, folder = values.text("--output"), values.text("--output-dir")
    if output is not None:
        if folder is not None:
            raise UsageError("option '--output' excludes '--output-dir'")
        if len(given) > 1:
            raise UsageError("option '--output' takes one INPUT; use '--output-dir'")
        if many.is_folder(given[0]):
            raise UsageError(f"{given[0]!r} is a folder; use '--output-dir'")
        return given, [output]
    with usage_errors():
        return many.inputs_and_outputs(given, folder)


def _listed(operands: list[str]) -> Iterator[str]:
    """The operands, with each @FILE replaced by the words of FILE."""
    for operand in operands:
        if not operand.startswith("@") or os.path.lexists(operand):
            yield operand
            continue
        import shlex

        path = operand[1:]
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                yield from shlex.split(file.read(), comments=True)
        except ValueError as error:
            raise GsymError(f"no list of inputs: {error}", path=path) from None


def _tell(report: ConversionReport, values: Values) -> None:
    if values.flag("--quiet"):
        print_lines(conversion_report.loss_lines(report), sys.stderr)
        return
    print_lines(conversion_report.summary_lines(report))
    if values.flag("--verbose"):
        print_lines(conversion_report.placement_lines(report))
    print_lines(conversion_report.warning_lines(report), sys.stderr)


def _verify(
    report: ConversionReport, values: Values, members: dict[str, Members]
) -> bool:
    """Whether the output says what the input says; what it does not is printed.

    *members* keeps those of archives, by path.
    """
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
        if report.input not in members:
            members[report.input] = open_input(report.input).members
        extracted.write(members[report.input].open(report.member))
        extracted.flush()
        copy = extracted.name
        return verify(output, copy, path_map=rules, search=search, quiet=quiet)
