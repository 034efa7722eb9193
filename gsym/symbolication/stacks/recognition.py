"""Parse a pasted stack into modules, addresses, and the text around them.

The format is recognized by content. Nothing is refused: an unknown format is text.
"""

from __future__ import annotations

import json

from gsym.symbolication.stacks.address_lines import add_address_line, add_android_line
from gsym.symbolication.stacks.apple import (
    HEADING,
    add_crash_report,
    add_ips_report,
    is_ips_report,
)
from gsym.symbolication.stacks.markup_log import add_markup_log, is_markup_log
from gsym.symbolication.stacks.parts import (
    NO_MODULE,
    PasteLimits,
    StackBuilder,
    StackFrame,
    module_of_debug_id,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from gsym.symbolication.stacks.parts import PastedStack, StackModule


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
    modules = [_module_number(entry, stack) for entry in job["memoryMap"]]
    for number, frames in enumerate(job["stacks"]):
        stack.add_text(f"{prefix} {number}:\n")
        for at, frame in enumerate(frames if isinstance(frames, list) else ()):
            if not _is_pair(frame, int):
                stack.add_note("Frames that are not pairs of numbers are left out.")
                continue
            index, offset = frame
            module = modules[index] if 0 <= index < len(modules) else NO_MODULE
            stack.add_text(f"{at:<4}")
            stack.add_frame(StackFrame(f"{offset:#x}", module, offset))
            stack.add_text("\n")


def _module_number(entry: Any, stack: StackBuilder) -> int:
    if not _is_pair(entry, str) or not entry[0]:
        return NO_MODULE
    return stack.number(module_of_debug_id(entry[0], entry[1]))


def _is_pair(value: Any, kind: type) -> bool:
    return (
        isinstance(value, list)
        and len(value) == _PAIR
        and all(type(each) is kind for each in value)
    )


def parse_pasted_stack(
    text: str,
    chosen: StackModule | None = None,
    limits: PasteLimits = PasteLimits(),  # noqa: B008 - a record is immutable
) -> PastedStack:
    """Parse a paste.

    Args:
        text: The paste; the caller limits its size.
        chosen: The module of addresses without one. None: they are text.
        limits: The limits.
    """
    report = _decoded(text)
    stack = StackBuilder(limits)
    if is_symbolication_request(report):
        add_symbolication_request(report, stack)
        return stack.finish("symbolication request", is_verbatim=False)
    if is_ips_report(report):
        add_ips_report(report, stack)
        return stack.finish("Apple crash report (.ips)", is_verbatim=False)
    lines, rest = _lines(text, limits.lines)
    if is_markup_log(text):
        add_markup_log(lines, stack)
        form = "symbolizer markup"
    elif any(line.startswith(HEADING) for line in lines):
        add_crash_report(lines, stack)
        form = "Apple crash report"
    else:
        form = _add_lines(lines, stack, chosen)
    if rest:
        stack.add_text(rest)
        stack.add_note(f"Only the first {limits.lines} lines are read.")
    return stack.finish(form)


def _lines(text: str, limit: int) -> tuple[list[str], str]:
    """The lines with their ends, and the text after the last line that is read.

    `str.splitlines` would split at more than newlines.
    """
    *lines, last = text.split("\n", limit)
    whole = [line + "\n" for line in lines]
    return (whole, last) if len(whole) == limit else ([*whole, last], "")


def _decoded(text: str) -> Any:
    """The JSON value; of two JSON texts (.ips) the second, if the first is one line."""
    if not text.lstrip().startswith("{"):
        return None
    first, _, rest = text.lstrip().partition("\n")
    whole = _json(text)
    return _json(rest) if whole is None and first.rstrip().endswith("}") else whole


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _add_lines(
    lines: Iterable[str], stack: StackBuilder, chosen: StackModule | None
) -> str:
    """Parse lines that are complete by themselves; returns their format."""
    is_android = False
    for line in lines:
        if stack.is_over:
            stack.add_text(line)
        elif len(line) > stack.limits.line:
            stack.add_text(line)
            stack.add_note(
                f"Lines of more than {stack.limits.line} characters are not read."
            )
        elif add_android_line(line, stack):
            is_android = True
        elif not add_address_line(line, stack, chosen):
            stack.add_text(line)
    if not stack.has_frames():
        return "text without frames"
    return "Android backtrace" if is_android else "addresses"
