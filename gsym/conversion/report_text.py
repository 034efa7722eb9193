"""The report of a conversion as text: for people, for make, for programs.

Paths and names are unchanged; to print a line on a terminal, escape it.
"""

from __future__ import annotations

from gsym.conversion.input_file import member_label
from gsym.engine.native import ffi, lib
from gsym.errors import listed
from gsym.lazy import json, re
from gsym.records import NamedTuple
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.conversion.report import ConversionReport

_SHOWN = 3  # companions


def summary_lines(report: ConversionReport) -> Iterator[str]:
    """The lines of a report: input and output, contents, and their sources."""
    uuid = f"build id {report.uuid.hex()}" if report.uuid else "no build id"
    of = f"{report.architecture}, " if report.architecture else ""
    same = "" if report.is_written else " (unchanged)"
    yield f"{_label(report)} -> {', '.join(report.outputs)}{same}"
    numbers = ffi.new("gsym_conversion_numbers *")
    numbers.centiseconds = round(report.seconds * 100)
    for name, _ in ffi.typeof("gsym_conversion_numbers").fields[:-1]:
        setattr(numbers, name, getattr(report, name))
    lines = ffi.new("char[]", lib.GSYM_NUMBERS_MAX_SIZE)
    size = lib.gsym_numbers_text(numbers, lines)
    yield from bytes(ffi.buffer(lines, size)).decode().splitlines()
    yield f"  {of}{uuid}"
    if report.companions:
        yield f"  with {listed(report.companions, _SHOWN)}"


def placement_lines(report: ConversionReport) -> Iterator[str]:
    """A note on the addresses of the code sections of a relocatable file."""
    for name, start, end in report.placements:
        yield f"  {name} at {start:#x}-{end:#x}"


def warning_lines(report: ConversionReport) -> Iterator[str]:
    """Warnings about the input, and about the identifier of the output."""
    yield from input_warning_lines(report)
    head = _warning_head(report)
    if not report.uuid:
        yield f"{head}no build id: a stale file cannot be detected (see --uuid)"
    if report.build_id not in {b"", report.uuid}:
        yield f"{head}the binary's own build id is {report.build_id.hex()}"


def input_warning_lines(report: ConversionReport) -> Iterator[str]:
    """Each kept warning with its place, then the count of each category."""
    head = _warning_head(report)
    for warning in report.details:
        place = f"line {warning.line}, " if warning.line else ""
        yield (
            f"{head}{warning.category}: {warning.value:#x} at {place}offset "
            f"{warning.offset:#x}"
        )
    yield from loss_lines(report)
    if not report.functions_debug_info and not report.notes:
        what = "names and lines of symbols" if report.functions_with_lines else "names"
        yield f"{head}no function in the debug information: {what} only"


def _warning_head(report: ConversionReport) -> str:
    return f"{_label(report)}: warning: "


def is_complete(report: ConversionReport) -> bool:
    """Whether the input and the files that belong to it were converted completely."""
    return not report.warnings and not report.notes


def loss_lines(report: ConversionReport) -> Iterator[str]:
    """The losses: the count of each category, and the files not found."""
    head = _warning_head(report)
    for category, count in report.warnings.items():
        yield f"{head}{category} ({count} time{'s' if count != 1 else ''})"
    for note in report.notes:
        yield f"{head}{note}"


def _label(report: ConversionReport) -> str:
    return member_label(report.input, report.member or None)


def write_depfile(path: str, reports: list[ConversionReport]) -> None:
    """A make rule for each output: it is out of date when a file it is of changes.

    Each of these files has a rule without a recipe, so that make goes on when it is
    removed.
    """
    rules = [
        f"{_escape_target(output)}: "
        f"{' '.join(map(_escape, (report.input, *report.companions)))}\n"
        for report in reports
        for output in report.outputs
    ]
    sources = {
        path: None for report in reports for path in (report.input, *report.companions)
    }
    rules += [f"\n{_escape_target(source)}:\n" for source in sources]
    with AtomicFile(path) as file:
        file.write("".join(rules).encode("utf-8", "surrogateescape"))


def _escape(path: str) -> str:
    """*path* as make and ninja read it in a depfile."""
    # A backslash counts as one, unless it stands before what has to be escaped.
    return re.sub(r"(\\*)([ \t#:])", r"\1\1\\\2", path).replace("$", "$$")


def _escape_target(path: str) -> str:
    """*path* before the colon, where `%` would make a pattern of the rule."""
    stripped = path.rstrip("\\")
    return _escape(stripped).replace("%", "\\%") + 2 * path[len(stripped) :]


class Failure(NamedTuple):
    """An input that was not converted, or not as it should be, and why."""

    input: str
    reason: str


def total_line(
    reports: list[ConversionReport],
    failures: list[Failure],
    empty: list[Failure],
    seconds: float,
) -> str:
    """The line below the reports of several inputs."""
    functions = sum(report.functions for report in reports)
    size = sum(report.file_size for report in reports)
    more = f", {len(failures)} failed" if failures else ""
    more += f", {len(empty)} without functions" if empty else ""
    return (
        f"{len(reports)} converted{more}: {functions} functions, {size} bytes in "
        f"{seconds:.2f} s"
    )


def write_json(
    path: str,
    reports: list[ConversionReport],
    failures: list[Failure],
    empty: list[Failure],
) -> None:
    """Write all reports, and what failed or was passed over, as one JSON object."""
    summary = {
        "conversions": [each.to_dict() for each in reports],
        "failures": [each._asdict() for each in failures],
        "empty": [each._asdict() for each in empty],
    }
    with AtomicFile(path) as file:
        file.write(json.dumps(summary, indent=2).encode() + b"\n")
