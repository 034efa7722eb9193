"""A stack as a person has it -> modules and addresses, and the text round them.

The form is recognised by content. Nothing is refused: what is of no known form is text.
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
from gsym.symbolication.stacks.parts import PasteLimits, StackBuilder
from gsym.symbolication.stacks.requests import (
    add_symbolication_request,
    is_symbolication_request,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gsym.symbolication.stacks.parts import PastedStack, StackModule


def parse_pasted_stack(
    text: str,
    chosen: StackModule | None = None,
    limits: PasteLimits = PasteLimits(),  # noqa: B008 - a record is immutable
) -> PastedStack:
    """Modules, frames and text of a paste.

    Args:
        text: What was pasted; how long it may be is the caller's matter.
        chosen: The module of addresses that stand alone. Without it they are text.
        limits: How much of it is read.
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
    """The lines with their ends, and what is behind the last one that is read.

    `str.splitlines` would split at more than newlines.
    """
    *lines, last = text.split("\n", limit)
    whole = [line + "\n" for line in lines]
    return (whole, last) if len(whole) == limit else ([*whole, last], "")


def _decoded(text: str) -> Any:
    """JSON, or the second of two JSON texts, of which the first is one line."""
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
    """Take lines in that tell all of their frames; which form they are of."""
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
