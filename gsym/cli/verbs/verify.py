"""`gsym verify`: the structure of a GSYM file, and its answers against its binary."""

from __future__ import annotations

import os
from itertools import islice

from gsym.cli import options
from gsym.cli.grammar import Command, UsageError, Values
from gsym.cli.gsym_input import open_gsym
from gsym.cli.program import EXIT_FAILED
from gsym.cli.terminal import print_json, printable, progress_for, warn
from gsym.containers.object_file import ObjectFile
from gsym.conversion.input_file import open_input
from gsym.errors import GsymError
from gsym.modules.binary_lookup import EMBEDDED_SECTIONS
from gsym.verification.check import (
    Comparison,
    Unanswered,
    check_answers,
    check_structure,
    compare,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.conversion.options import ConvertOptions
    from gsym.verification.structure import Finding

_SHOWN = 50


@Command(
    "gsym verify",
    (
        options.GSYM_FILE,
        """\
--against BINARY  compare functions, rows and inlined calls with the DWARF of BINARY, as
  a second decoder reads it, and all else with a new conversion: of an ELF, Mach-O or PE
  file, a PDB or a Breakpad .sym file
--sample N  compare only N compilation units, spread over BINARY""",
        options.ARCH,
        options.convert_options("path_map"),
        options.convert_options(*options.SEARCH),
        options.JSON,
        options.QUIET,
        options.VERBOSE,
    ),
    """\
The exit code is 1 if there is an error, including a nested function that hides the rest
of the outer one from lookups, as in files of other writers. The second decoder takes
about two seconds per megabyte of .debug_info: use --sample for large files. Units and
functions that it cannot compare are counted with the reason; the run fails if nothing
could be compared.""",
)
def check(values: Values) -> int:
    """Print the errors in the file; the exit code is 1 if there are any."""
    path, binary = values.operand("FILE"), values.text("--against")
    sample = values.number("--sample", minimum=1)
    if sample is not None and binary is None:
        raise UsageError("option '--sample' needs '--against'")
    path_map = options.convert_keywords(values, "path_map").get("path_map", ())
    if path_map and binary is None:
        raise UsageError("option '--path-map' needs '--against'")
    if not _holds_gsym(path):
        with open_gsym(path, values, values.text("--arch")) as reader:
            path = reader.path or path
        if not os.path.exists(path):
            reason = "it cannot be cached: set GSYM_CACHE_DIR to a writable folder"
            raise GsymError(reason, path=path)
    is_valid = verify(
        path,
        binary,
        sample=sample,
        path_map=path_map,
        search=options.search_options(values),
        quiet=values.flag("--quiet"),
        is_json=values.flag("--json"),
    )
    return 0 if is_valid else EXIT_FAILED


def _holds_gsym(path: str) -> bool:
    """Whether a file is a GSYM file or has an embedded one, which may be damaged."""
    if not (os.path.isfile(path) or os.path.isdir(path)):
        return True  # a pipe cannot be read twice
    try:
        file = open_input(path)
        if file.kind == "gsym":
            return True
        with ObjectFile(file.data, path) as binary:
            return any(map(binary.has_section, EMBEDDED_SECTIONS))
    except GsymError:
        return False


def verify(  # noqa: PLR0913 - independent keywords
    path: str,
    binary: str | None,
    *,
    path_map: Sequence[tuple[str, str]],
    search: ConvertOptions,
    quiet: bool,
    sample: int | None = None,
    is_json: bool = False,
) -> bool:
    """Check a file and print its errors and, unless *quiet*, what was checked.

    Return whether there are no errors. *sample* is the number of units to compare,
    *quiet* prints findings only, and *is_json* all as one object of JSON instead.
    """
    findings = check_structure(path)
    unanswered = [] if findings else check_answers(path)
    if not is_json:
        _print_structure(path, findings, unanswered, quiet=quiet)
    comparison = None
    if binary is not None and not findings:
        with progress_for(binary, quiet=quiet) as progress:
            comparison = compare(
                path,
                binary,
                sample=sample,
                path_map=path_map,
                search=search,
                progress=progress.callback,
            )
    is_valid = not findings and not unanswered
    if comparison is not None:
        is_valid &= not comparison.is_empty and not comparison.differences
    if is_json:
        print_json(
            {
                "path": path,
                "valid": is_valid,
                "errors": [finding._asdict() for finding in findings],
                "unanswered": [each._asdict() for each in unanswered],
                "comparison": comparison and {"binary": binary, **_record(comparison)},
            }
        )
    elif comparison is not None:
        _print_comparison(path, comparison, quiet=quiet)
    return is_valid


def _record(comparison: Comparison) -> dict[str, object]:
    """The fields of JSON for a comparison."""
    return {
        **comparison._asdict(),
        "differences": [each._asdict() for each in comparison.differences],
        "unread": [
            {**place._asdict(), "reason": reason}
            for place, reason in comparison.unread.items()
        ],
    }


def _print_structure(
    path: str, findings: list[Finding], unanswered: list[Unanswered], *, quiet: bool
) -> None:
    _print_all(f"{path}: offset {offset:#x}: {reason}" for offset, reason in findings)
    if not findings and not quiet:
        print(f"{printable(path)}: the structure is valid")
    _print_all(
        f"{path}: {start:#x}-{end:#x}: no answer: other functions start inside {name} "
        "('gsym convert' adds the missing entry)"
        for start, end, name in unanswered
    )


def _print_comparison(path: str, comparison: Comparison, *, quiet: bool) -> None:
    _print_all(
        f"{path}: {address:#x}: {subject}: {said} in the binary, {found} in the file"
        for address, subject, said, found in comparison.differences
    )
    _warn(comparison)
    if not quiet:
        _report(comparison)
    if comparison.is_empty:
        print(f"{printable(path)}: none of its functions could be compared")


def _warn(comparison: Comparison) -> None:
    for note in comparison.notes:
        warn(note, "gsym verify")
    unread = comparison.unread
    for (path, offset), reason in islice(unread.items(), _SHOWN):
        where = f"{offset:#x} of {path}" if path else f"{offset:#x}"
        warn(f"the unit at {where} is not compared: {reason}", "gsym verify")
    if unread:
        units = f"{len(unread)} unit{'s' if len(unread) != 1 else ''}"
        warn(f"{units} not compared", "gsym verify")


def _report(comparison: Comparison) -> None:
    text = f"{comparison.others} functions compared with a new conversion"
    if comparison.units_in_all:
        compared = max(comparison.units - len(comparison.unread), 0)
        units = f"{compared} of {comparison.units_in_all} units"
        others = f", {comparison.others} others with a new conversion"
        text = f"{comparison.functions} functions of {units} compared"
        text += others if comparison.others else ""
    print(text)
    for reason, count in comparison.uncompared.items():
        functions = "function" if count == 1 else "functions"
        print(f"{count} {functions} not compared: {reason}")
    if comparison.undecided:
        print(
            f"{comparison.undecided} functions undecided: units outside the sample "
            "may describe them so"
        )


def _print_all(lines: Iterator[str]) -> None:
    """Print the first lines, and the number of the others."""
    more = 0
    for number, line in enumerate(lines):
        if number < _SHOWN:
            print(printable(line))
        else:
            more += 1
    if more:
        print(f"... and {more} more")
