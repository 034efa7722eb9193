"""`gsym verify`: is a GSYM file sound, and does it say what its binary says?"""

from __future__ import annotations

import sys
from itertools import islice

from gsym.cli.options import Command, Operand, Option, UsageError, path_rule
from gsym.cli.search_options import SEARCH_OPTIONS, search_options
from gsym.cli.terminal import printable, progress_for
from gsym.verification.check import check_answers, check_structure, compare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.conversion.debug_info import SearchOptions
    from gsym.verification.check import Comparison

COMMAND = Command(
    "gsym verify",
    "Check a GSYM file, by itself or against its binary",
    (Operand("FILE", "GSYM file"),),
    (
        Option(
            "--against",
            "compare functions, rows and inlined calls with the DWARF and the symbols "
            "of the ELF file BINARY, as pyelftools decodes them",
            metavar="BINARY",
        ),
        Option(
            "--sample",
            "compare only N compilation units, spread over BINARY",
            metavar="N",
        ),
        Option(
            "--path-map",
            "FILE was converted with this option",
            metavar="OLD=NEW",
            repeatable=True,
        ),
        *SEARCH_OPTIONS,
    ),
    """\
The exit code is 1 if anything is wrong, including a nested function that hides the rest
of the outer one from lookups, as in files of other writers. pyelftools takes about two
seconds for a megabyte of .debug_info: use --sample for large files. Units that it
cannot decode, such as split ones, are reported; the run fails if no function can be
compared.""",
)

EXIT_WRONG = 1
_SHOWN = 50


def run(arguments: list[str]) -> int:
    """Print what is wrong with the file; the exit code is 1 if anything is."""
    values = COMMAND.parse(arguments)
    path, binary = values.operand("FILE"), values.text("--against")
    sample = values.number("--sample", minimum=1)
    if sample is not None and binary is None:
        raise UsageError("option '--sample' needs '--against'")
    rules = values.texts("--path-map")
    if rules and binary is None:
        raise UsageError("option '--path-map' needs '--against'")
    path_map = [path_rule("--path-map", rule) for rule in rules]
    search = search_options(values)
    is_right = verify(path, binary, sample=sample, path_map=path_map, search=search)
    return 0 if is_right else EXIT_WRONG


def verify(  # noqa: PLR0913 - keywords, each a choice of its own
    path: str,
    binary: str | None,
    *,
    sample: int | None = None,
    path_map: Sequence[tuple[str, str]] = (),
    search: SearchOptions | None = None,
    quiet: bool = False,
) -> bool:
    """Check a file and print what is wrong with it, and unless *quiet* what is right.

    Args:
        path: GSYM file.
        binary: ELF file to compare it with, if any.
        sample: Compare only that many units.
        path_map: The rules that the file was converted with.
        search: Where to look for files that belong to *binary*.
        quiet: Print findings only.

    Returns:
        Whether nothing is wrong.

    Raises:
        GsymError: *binary* cannot be read.
        OSError: A file cannot be opened.
    """
    findings = check_structure(path)
    _print_all(f"{path}: offset {offset:#x}: {reason}" for offset, reason in findings)
    if findings:
        return False
    if not quiet:
        print(f"{printable(path)}: the structure is sound")
    unanswered = check_answers(path)
    _print_all(
        f"{path}: {start:#x}-{end:#x}: no answer: other functions start inside {name} "
        "('gsym convert' adds the missing entry)"
        for start, end, name in unanswered
    )
    if binary is None:
        return not unanswered
    progress = progress_for(binary)
    try:
        comparison = compare(
            path,
            binary,
            sample=sample,
            path_map=path_map,
            search=search,
            progress=progress,
        )
    finally:
        if progress is not None:
            progress.clear()
    _print_all(
        f"{path}: {address:#x}: {subject}: {said} in the binary, {found} in the file"
        for address, subject, said, found in comparison.differences
    )
    _warn(comparison)
    if not quiet:
        _report(comparison)
    has_compared = not comparison.unread or comparison.functions > 0
    if not has_compared:
        print(f"{printable(path)}: none of its functions could be compared")
    return has_compared and not unanswered and not comparison.differences


def _warn(comparison: Comparison) -> None:
    unread = comparison.unread
    for offset, reason in islice(unread.items(), _SHOWN):
        remark = f"pyelftools cannot decode the unit at {offset:#x}: {reason}"
        print(f"gsym verify: warning: {printable(remark)}", file=sys.stderr)
    if unread:
        units = f"{len(unread)} unit{'s' if len(unread) != 1 else ''}"
        print(f"gsym verify: warning: {units} not compared", file=sys.stderr)


def _report(comparison: Comparison) -> None:
    sources = []
    if comparison.units_in_all or not comparison.pclntab_functions:
        compared = max(comparison.units - len(comparison.unread), 0)
        sources.append(f"{compared} of {comparison.units_in_all} units")
    if comparison.pclntab_functions:
        sources.append("the pclntab")
    print(
        f"{comparison.functions} functions of {' and '.join(sources)} compared, "
        f"{comparison.symbols} symbols"
    )
    for reason, count in comparison.uncompared.items():
        functions = "function" if count == 1 else "functions"
        print(f"{count} {functions} not compared: {reason}")
    if comparison.undecided:
        print(
            f"{comparison.undecided} functions left open: units outside of the sample "
            "describe them as well"
        )


def _print_all(lines: Iterator[str]) -> None:
    """The first lines, and how many more there are."""
    more = 0
    for number, line in enumerate(lines):
        if number < _SHOWN:
            print(printable(line))
        else:
            more += 1
    if more:
        print(f"... and {more} more")
