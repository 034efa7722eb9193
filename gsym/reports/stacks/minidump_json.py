"""Reports of minidump-stackwalk as JSON, also within crash reports of Socorro."""

from __future__ import annotations

from gsym.memory.stack_parts import (
    NO_MODULE,
    StackFrame,
    module_of_ids,
)
from gsym.reports.stacks.documents import as_list, as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gsym.memory.stack_parts import StackBuilder

FORM = "minidump-stackwalk JSON"


def find_minidump_report(report: Any) -> Mapping[str, Any] | None:
    """The report in decoded JSON; None if there is none."""
    for each in (report, as_object(report).get("json_dump")):
        if all(
            isinstance(as_object(each).get(key), list) for key in ("modules", "threads")
        ):
            return as_object(each)
    return None


def add_minidump_report(report: Mapping[str, Any], stack: StackBuilder) -> None:
    """Parse a decoded report. Its return addresses are adjusted."""
    modules = {
        name: _module_number(as_object(each), stack)
        for each in report["modules"]
        if isinstance(name := as_object(each).get("filename"), str)
    }
    crash = as_object(report.get("crash_info"))
    if isinstance(crash.get("type"), str):
        stack.reason = crash["type"]
        stack.add_text(f"Crash reason: {stack.reason}\n")
    for number, each in enumerate(report["threads"]):
        thread = as_object(each)
        is_crashed = number == crash.get("crashing_thread")
        name = thread.get("thread_name")
        stack.begin(f"Thread {number}", is_crashed)
        stack.add_text(
            f"\nThread {number}{' crashed' * is_crashed}:"
            f"{f'  {name}' if isinstance(name, str) else ''}\n"
        )
        for at, frame in enumerate(as_list(thread.get("frames"))):
            _add_frame(at, as_object(frame), modules, stack)


def _add_frame(
    at: int, frame: Mapping[str, Any], modules: dict[str, int], stack: StackBuilder
) -> None:
    name, offset = frame.get("module"), _number(frame.get("module_offset"))
    if not isinstance(name, str) or offset is None:
        name, offset = "", _number(frame.get("offset"))
    if offset is None:
        return
    symbol = frame.get("function")
    symbol = symbol if isinstance(symbol, str) else ""
    stack.add_text(f"{at:<4}")
    stack.add_frame(
        StackFrame(
            symbol or f"{name}+{offset:#x}".lstrip("+"),
            modules.get(name, NO_MODULE),
            offset,
            symbol=symbol,
        )
    )
    stack.add_text("\n")


def _module_number(module: Mapping[str, Any], stack: StackBuilder) -> int:
    named = [module.get(key) for key in ("debug_file", "debug_id", "code_id")]
    ids = [each if isinstance(each, str) else "" for each in named]
    return stack.number(module_of_ids(module["filename"], *ids))


def _number(text: Any) -> int | None:
    """A number that is given as hexadecimal digits with 0x."""
    try:
        return int(text, 16) if isinstance(text, str) else None
    except ValueError:
        return None
