"""Crash reports of Apple's systems as JSON, in files named `.ips`.

The first line is an object that describes the file, all the rest the report. Frames
have offsets into their images; all but the first of a thread are return addresses.
"""

from __future__ import annotations

from gsym.api.stack_forms.module_naming import module_of_uuid
from gsym.api.stack_parts import NO_MODULE, StackFrame

__all__ = ["add_ips_report", "is_ips_report"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gsym.api.stack_parts import StackBuilder

_HEADINGS = (
    ("procName", "Process"),
    ("procPath", "Path"),
    ("captureTime", "Date/Time"),
    ("modelCode", "Hardware"),
)


def is_ips_report(report: Any) -> bool:
    """Whether decoded JSON is such a report."""
    return (
        isinstance(report, dict)
        and isinstance(report.get("usedImages"), list)
        and isinstance(report.get("threads"), list)
    )


def add_ips_report(report: Mapping[str, Any], stack: StackBuilder) -> None:
    """Take a decoded report in."""
    modules = [_image_number(image, stack) for image in report["usedImages"]]
    for key, heading in _HEADINGS:
        if isinstance(report.get(key), str):
            stack.add_text(f"{heading}: {report[key]}\n")
    exception = _object(report.get("exception"))
    kinds = [exception.get("type"), exception.get("signal"), exception.get("subtype")]
    words = [each for each in kinds if isinstance(each, str)]
    if words:
        stack.add_text(f"Exception: {' '.join(words)}\n")
    last = report.get("lastExceptionBacktrace")
    if isinstance(last, list):
        stack.add_text("\nLast Exception Backtrace:\n")
        _add_frames(last, modules, stack, first_is_return=True)
    for number, thread in enumerate(report["threads"]):
        _add_thread(number, _object(thread), modules, stack)


def _add_thread(
    number: int, thread: Mapping[str, Any], modules: list[int], stack: StackBuilder
) -> None:
    heading = f"\nThread {number}"
    if thread.get("triggered") is True:
        heading += " Crashed"
    names = [thread.get(key) for key in ("name", "queue")]
    known = [name for name in names if isinstance(name, str)]
    stack.add_text(f"{heading}:{'  ' + ', '.join(known) if known else ''}\n")
    frames = thread.get("frames")
    if isinstance(frames, list):
        _add_frames(frames, modules, stack, first_is_return=False)


def _add_frames(
    frames: list[Any],
    modules: list[int],
    stack: StackBuilder,
    *,
    first_is_return: bool,
) -> None:
    for at, each in enumerate(frames):
        frame = _object(each)
        offset, index = frame.get("imageOffset"), frame.get("imageIndex")
        if type(offset) is not int:
            continue
        if type(index) is int and 0 <= index < len(modules):
            module = modules[index]
        else:
            module = NO_MODULE
        symbol = frame.get("symbol")
        text = symbol if isinstance(symbol, str) else f"{offset:#x}"
        is_return = first_is_return or at > 0
        stack.add_text(f"{at:<4}")
        stack.add_frame(StackFrame(text, module, offset, "image", is_return))
        stack.add_text("\n")


def _image_number(image: Any, stack: StackBuilder) -> int:
    parts = _object(image)
    names = [parts.get("name"), parts.get("path")]
    name = next((each for each in names if isinstance(each, str)), "")
    uuid = parts.get("uuid")
    if not name:
        return NO_MODULE
    return stack.number(module_of_uuid(name, uuid if isinstance(uuid, str) else ""))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
