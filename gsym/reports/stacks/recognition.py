"""Parse a report into modules, addresses, and the text around them.

The format is recognized by content. Nothing is refused: an unknown format is text.
"""

from __future__ import annotations

from gsym.memory.stack_parts import (
    NO_LIMITS,
    NO_MODULE,
    ReportLimits,
    StackBuilder,
    StackFrame,
    module_of_debug_id,
    module_of_path,
)
from gsym.modules.key import is_hex
from gsym.modules.maps import MAPPING
from gsym.patterns import regex
from gsym.reports.stacks import (
    apple,
    debuggers,
    languages,
    linux,
    profilers,
    sanitizers,
)
from gsym.reports.stacks.apple import add_ips_report, is_ips_report
from gsym.reports.stacks.documents import as_list, decode_document
from gsym.reports.stacks.line_forms import ImageForm, ReportForms
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

_OF_PROGRAMS = (
    languages.FORMS,
    sanitizers.FORMS,
    linux.FORMS,
    debuggers.FORMS,
    apple.FORMS,
    profilers.FORMS,
)
PROGRAMS = (*_OF_PROGRAMS, ReportForms(images=(ImageForm("-", MAPPING),)))
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
        r":token 0x[0-9a-f]{1,8}\+0x[0-9a-f]{1,8}",
        *("IL offsets of .NET", "dotnet-stack symbolicate REPORT", _BY_PDB),
    ),
)
_PAIR = 2


def is_symbolication_request(request: Any) -> bool:
    """Whether decoded JSON is a symbolication request."""
    return isinstance(request, dict) and (
        isinstance(request.get("jobs"), list) or _is_job(request)
    )


def add_symbolication_request(request: Mapping[str, Any], stack: StackBuilder) -> None:
    """Parse a decoded request."""
    jobs = request.get("jobs")
    several = jobs if isinstance(jobs, list) else [request]
    for number, job in enumerate(several):
        if not _is_job(job):
            stack.add_note(f"Job {number} has no memoryMap and stacks.")
            continue
        prefix = f"Job {number}, stack" if len(several) > 1 else "Stack"
        _add_job(job, prefix, stack)


def _is_job(job: Any) -> bool:
    return isinstance(job, dict) and all(
        isinstance(job.get(key), list) for key in ("memoryMap", "stacks")
    )


def _add_job(job: Mapping[str, Any], prefix: str, stack: StackBuilder) -> None:
    entries, code_ids = job["memoryMap"], as_list(job.get("codeIds"))
    if len(code_ids) != len(entries):
        code_ids = [""] * len(entries)
    modules = [
        _module_number(*each, stack) for each in zip(entries, code_ids, strict=True)
    ]
    for number, frames in enumerate(job["stacks"]):
        stack.begin(f"{prefix} {number}")
        stack.add_text(f"{prefix} {number}:\n")
        for at, frame in enumerate(as_list(frames)):
            if not _is_pair(frame, int):
                stack.add_note("Frames that are not pairs of numbers are left out.")
                continue
            index, offset = frame
            module = modules[index] if 0 <= index < len(modules) else NO_MODULE
            stack.add_text(f"{at:<4}")
            stack.add_frame(StackFrame(f"{offset:#x}", module, offset))
            stack.add_text("\n")


def _module_number(entry: Any, code_id: Any, stack: StackBuilder) -> int:
    if not _is_pair(entry, str) or not entry[0]:
        return NO_MODULE
    module = module_of_debug_id(entry[0], entry[1])
    if isinstance(code_id, str) and is_hex(code_id):
        module = module._replace(key=module.key._replace(code_id=code_id.upper()))
    return stack.number(module)


def _is_pair(value: Any, kind: type) -> bool:
    return (
        isinstance(value, list)
        and len(value) == _PAIR
        and all(type(each) is kind for each in value)
    )


def parse_report(  # noqa: PLR0913 - independent keywords
    text: str,
    chosen: StackModule | None = None,
    limits: ReportLimits = ReportLimits(),  # noqa: B008 - a record is immutable
    *,
    maps: str | Loaded = "",
    load_addresses: Mapping[str, int] = {},
    document: Any = None,
) -> ParsedReport:
    """Parse a report.

    Args:
        text: The report; the caller limits its size.
        chosen: The module of addresses without one. None: they are text.
        limits: The limits.
        maps: What is loaded where: lines of any known form, or a process.
        load_addresses: Where modules start, by name or path.
        document: The result of `decode_document`, if the caller has it.
    """
    report = decode_document(text) if document is None else document
    stack = StackBuilder(limits)
    if report is not None:
        parsed = _parse_document(report, text, stack)
        if parsed is not None:
            return parsed
    mapped = maps.splitlines() if isinstance(maps, str) else ()
    reader = _reader(stack, chosen, maps, load_addresses)
    if report is not None:
        from gsym.reports.stacks import json_frames

        reader.read((), mapped)
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
) -> list[tuple[int, int]]:
    """Ranges of addresses where something is loaded, by a text and what else is known.

    See `parse_report`.
    """
    reader = _reader(StackBuilder(NO_LIMITS), None, maps, load_addresses)
    mapped = maps.splitlines() if isinstance(maps, str) else ()
    reader.place_images(_lines(text, NO_LIMITS.lines)[0], mapped)
    return [(each.start, each.end) for each in reader.images.loaded.regions]


def _reader(
    stack: StackBuilder,
    chosen: StackModule | None,
    maps: str | Loaded,
    load_addresses: Mapping[str, int],
) -> LineReader:
    process = None if isinstance(maps, str) else maps
    reader = LineReader(PROGRAMS, stack, chosen, process)
    for path, start in load_addresses.items():
        reader.images.place(module_of_path(path), start)
    return reader


def _parse_document(report: Any, text: str, stack: StackBuilder) -> ParsedReport | None:
    """Parse decoded JSON; None if it is not of a known form."""
    from gsym.reports.stacks import browser_profile

    if is_symbolication_request(report):
        add_symbolication_request(report, stack)
        return stack.finish("symbolication request", is_verbatim=False)
    if is_ips_report(report):
        add_ips_report(report, stack)
        return stack.finish("Apple crash report (.ips)", is_verbatim=False)
    if browser_profile.is_browser_profile(report):
        browser_profile.add_browser_profile(report, text, stack)
        return stack.finish(browser_profile.FORM)
    return None


def _lines(text: str, limit: int) -> tuple[list[str], str]:
    """The lines with their ends, and the text after the last line that is read.

    `str.splitlines` would split at more than newlines.
    """
    *lines, last = text.split("\n", limit)
    whole = [line + "\n" for line in lines]
    return (whole, last) if len(whole) == limit else ([*whole, last], "")
