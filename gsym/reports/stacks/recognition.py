"""Parse a report into modules, addresses, and the text around them.

The format is recognized by content. Nothing is refused: an unknown format is text.
"""

from __future__ import annotations

from gsym.lazy import regex
from gsym.memory.stack_parts import (
    NO_LIMITS,
    PROFILE,
    ReportLimits,
    StackBuilder,
    module_of_path,
)
from gsym.reports.stacks.documents import decode_document
from gsym.reports.stacks.line_reader import LineReader

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gsym.memory.loaded import Loaded
    from gsym.memory.stack_parts import (
        ParsedReport,
        StackModule,
    )
    from gsym.reports.stacks.shapes import Shapes

# Elements with addresses, or that addresses depend on.
_MARKUP = regex(r"\{\{\{(?:bt|pc|mmap|module):")
# What is recognized and not looked up, and the tool that reads it.
_BY_PDB = " with portable PDB files"
_UNSUPPORTED = (
    (
        r"\((?:SourceFile|Unknown Source|PG|r8-map-id-\w+):\d+\)",
        *("Names that R8 or ProGuard has changed", "retrace mapping.txt REPORT", ""),
    ),
    (
        r" \[0x[0-9a-f]{5}\] in <[0-9a-f]{32}",
        *("IL offsets of Mono", "mono-symbolicate DIRECTORY REPORT", _BY_PDB),
    ),
    (
        r"\"MESSAGE\"\s*:\s*\[\s*\d+,",
        *("Messages that are lists of bytes", "journalctl --output=cat", " as text"),
    ),
    (
        r":token 0x[0-9a-f]{1,8}\+0x[0-9a-f]{1,8}",
        *("IL offsets of .NET", "dotnet-stack symbolicate REPORT", _BY_PDB),
    ),
)


def parse_report(  # noqa: PLR0913 - independent keywords
    text: str,
    chosen: StackModule | None = None,
    limits: ReportLimits = ReportLimits(),  # noqa: B008 - a record is immutable
    *,
    maps: str | Loaded = "",
    load_addresses: Mapping[str, int] = {},
    document: Any = None,
    shapes: Shapes | None = None,
) -> ParsedReport:
    """Parse a report.

    Args:
        text: The report; the caller limits its size.
        chosen: The module of addresses without one. None: they are text.
        limits: The limits.
        maps: What is loaded where: lines of any known form, or a process.
        load_addresses: Where modules start, by name or path.
        document: The result of `decode_document`, if the caller has it.
        shapes: Those that `mapped_ranges` found, if no module is chosen.
    """
    report = decode_document(text) if document is None else document
    stack = StackBuilder(limits)
    if report is not None:
        from gsym.reports.stacks import browser_profile

        if browser_profile.is_browser_profile(report):
            browser_profile.add_browser_profile(report, text, stack)
            return stack.finish(PROFILE)
    mapped = maps.splitlines() if isinstance(maps, str) else ()
    reader = _reader(stack, chosen, maps, load_addresses, shapes)
    if report is not None:
        from gsym.reports.stacks import json_frames

        reader.read((), [*mapped, *json_frames.mapped_lines(report)])
        json_frames.add_json_report(report, stack, reader.images.find)
        form = json_frames.form_of(report)
        if stack.has_frames or form != json_frames.FORM:
            return stack.finish(form, is_verbatim=False)
    for pattern, what, command, how in _UNSUPPORTED:
        if regex(pattern).search(text):
            stack.add_note(f"{what} are not looked up: '{command}' reads them{how}.")
    lines, rest = _lines(text, limits.lines)
    if _MARKUP.search(text):
        from gsym.reports.stacks.markup_log import add_markup_log

        add_markup_log(lines, stack)
    else:
        reader.read(lines, mapped)
    if rest:
        stack.add_text(rest)
        stack.add_note(f"Only the first {limits.lines} lines are read.")
    return stack.finish()


def mapped_ranges(
    text: str,
    maps: str | Loaded,
    load_addresses: Mapping[str, int],
) -> tuple[list[tuple[int, int]], Shapes]:
    """Ranges of addresses where something is loaded, by a text and what else is known.

    See `parse_report`. The shapes of lines are for it.
    """
    reader = _reader(StackBuilder(NO_LIMITS), None, maps, load_addresses, None)
    mapped = maps.splitlines() if isinstance(maps, str) else ()
    reader.place_images(_lines(text, NO_LIMITS.lines)[0], mapped)
    # In a log, a word beside a number may be anything: its region has no known end.
    ranges = [
        (each.start, each.end)
        for each in reader.images.loaded.regions
        if not (each.is_open and reader.is_word(each.module))
    ]
    return ranges, reader.shapes


def _reader(
    stack: StackBuilder,
    chosen: StackModule | None,
    maps: str | Loaded,
    load_addresses: Mapping[str, int],
    shapes: Shapes | None,
) -> LineReader:
    process = None if isinstance(maps, str) else maps
    reader = LineReader(stack, chosen, process, shapes=shapes)
    for path, start in load_addresses.items():
        reader.images.place(module_of_path(path), start)
    return reader


def _lines(text: str, limit: int) -> tuple[list[str], str]:
    """The lines with their ends, and the text after the last line that is read.

    `str.splitlines` would split at more than newlines.
    """
    *lines, last = text.split("\n", limit)
    whole = [line + "\n" for line in lines]
    return (whole, last) if len(whole) == limit else ([*whole, last], "")
