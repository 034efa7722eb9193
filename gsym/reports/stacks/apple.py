"""Apple crash reports and samples, as text and as .ips JSON."""

from __future__ import annotations

from gsym.memory.stack_parts import NO_MODULE, StackFrame, module_of_uuid
from gsym.model import UINT64_MAX
from gsym.patterns import regex
from gsym.reports.stacks.documents import as_list, as_object
from gsym.reports.stacks.line_forms import (
    HEX,
    FrameForm,
    HeadingForm,
    ImageForm,
    ReportForms,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from gsym.memory.stack_parts import StackBuilder

# `0x100000000 - 0x10000ffff +org.demo.Example (1.0 - 1) <UUID> /Applications/Example`
_RANGE = rf"^[ \t]*\*?0x(?P<start>{HEX})[ \t]+-[ \t]+(?:0x(?P<last>{HEX})|\?\?\?)[ \t]+"
_UUID = r"<(?P<uuid>[0-9a-fA-F-]{32,36})>"
_IMAGE = regex(rf"{_RANGE}.*{_UUID}[ \t]*(?P<module>\S(?:.*\S)?)\s*$")
_IMAGE_NAME = regex(rf"{_RANGE}\+?(?P<module>\S+)(?!\S).*{_UUID}\s*$")
_IMAGE_PATH = regex(rf"{_RANGE}\+?(?P<module>\S(?:.*\S)?)\s*$")
# `3   My App    0x0000000100001234 0x100000000 + 4660`, also `main + 25 (main.c:12)`
_FRAME = regex(
    r"^[ \t]*(?P<number>\d{1,6})[ \t]+(?=\S).{1,200}?[ \t]+"
    rf"(?P<shown>0x(?P<address>{HEX})[ \t]+(?P<symbol>\S.*?) \+ "
    r"(?P<plus>\d+)\b(?:.*\S)?)\s*$"
)
_LOADED = regex(
    r"^[ \t]*\d{1,6}[ \t]+(?P<module>(?!\?\?\?)\S.{0,200}?)[ \t]+"
    rf"0x{HEX}[ \t]+0x(?P<start>{HEX}) \+ \d+\s*$"
)
_EXCEPTION = regex(rf"(?<=[( ])(?P<shown>0x(?P<address>{HEX}))(?=[ )])")
_EXCEPTION_LINE = regex(rf"^\((?:0x{HEX}\s*)+\)\s*$")
# sample: `    + 2593 ???  (in app)  load address 0x100000000 + 0x3f59  [0x100003f59]`;
# spindump: `  1001  ??? (app + 16217) [0x100003f59]`
_SAMPLE = regex(
    r"^[ +!:|*]*\d+ +(?P<shown>(?P<symbol>\S.*?)(?<! ) +\((?:in )?"
    r"(?P<module>[^()]+?)(?: \+ \d+)?\).{0,100}?"
    rf"\[0x(?P<address>{HEX})\])"
)

FORMS = ReportForms(
    frames=(
        FrameForm("Apple crash report", "0x", _FRAME, has_heading=True),
        FrameForm(
            "Apple crash report",
            "(0x",
            _EXCEPTION,
            returns="all",
            repeats=True,
            whole=_EXCEPTION_LINE,
        ),
        FrameForm("Apple sample", " [0x", _SAMPLE, returns="none"),
    ),
    images=(
        ImageForm("0x", _IMAGE),
        ImageForm("0x", _IMAGE_NAME),
        ImageForm("0x", _IMAGE_PATH),
        ImageForm("0x", _LOADED, has_frame=True),
    ),
    headings=(
        HeadingForm(
            "Thread ",
            regex(
                r"^(?P<name>Thread \d+(?::: .{0,200}?| name:.{0,200}?)?)"
                r"(?P<crashed> Crashed)?(?::{1,2}(?: .*)?)?\s*$"
            ),
        ),
        HeadingForm("Backtrace:", regex(r"^(?P<name>Last Exception Backtrace):")),
        HeadingForm("Exception Type: ", regex(r"^Exception Type:\s+(?P<reason>.*)")),
    ),
)

_HEADINGS = (
    ("procName", "Process"),
    ("procPath", "Path"),
    ("captureTime", "Date/Time"),
    ("modelCode", "Hardware"),
)
_REGISTER_NAMES = {"fp": "x29", "lr": "x30"}


def is_ips_report(report: Any) -> bool:
    """Whether decoded JSON is an .ips report."""
    return (
        isinstance(report, dict)
        and isinstance(report.get("usedImages"), list)
        and isinstance(report.get("threads"), list)
    )


def add_ips_report(report: Mapping[str, Any], stack: StackBuilder) -> None:
    """Parse a decoded .ips report."""
    modules = [_image_number(image, stack) for image in report["usedImages"]]
    for key, heading in _HEADINGS:
        if isinstance(report.get(key), str):
            stack.add_text(f"{heading}: {report[key]}\n")
    exception = as_object(report.get("exception"))
    kinds = [exception.get("type"), exception.get("signal"), exception.get("subtype")]
    words = [each for each in kinds if isinstance(each, str)]
    if words:
        stack.reason = " ".join(words)
        stack.add_text(f"Exception: {stack.reason}\n")
    last = report.get("lastExceptionBacktrace")
    if isinstance(last, list):
        stack.begin("Last Exception Backtrace")
        stack.add_text("\nLast Exception Backtrace:\n")
        _add_frames(last, modules, stack, first_is_return=True)
    for number, thread in enumerate(report["threads"]):
        _add_thread(number, as_object(thread), modules, stack)


def _add_thread(
    number: int, thread: Mapping[str, Any], modules: list[int], stack: StackBuilder
) -> None:
    heading = f"\nThread {number}"
    if thread.get("triggered") is True:
        heading += " Crashed"
    names = [thread.get(key) for key in ("name", "queue")]
    known = [name for name in names if isinstance(name, str)]
    stack.begin(heading.strip(), thread.get("triggered") is True)
    if thread.get("triggered") is True:
        state = as_object(thread.get("threadState"))
        stack.add_registers(_registers(state), "")
    stack.add_text(f"{heading}:{'  ' + ', '.join(known) if known else ''}\n")
    _add_frames(as_list(thread.get("frames")), modules, stack, first_is_return=False)


def _registers(state: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """The registers of a thread, by the names that those of dumps have."""
    several = {f"x{at}": each for at, each in enumerate(as_list(state.get("x")))}
    for key, each in (several | dict(state)).items():
        value = as_object(each).get("value")
        if type(value) is int and 0 <= value <= UINT64_MAX:
            yield _REGISTER_NAMES.get(key, key), value


def _add_frames(
    frames: list[Any],
    modules: list[int],
    stack: StackBuilder,
    *,
    first_is_return: bool,
) -> None:
    for at, each in enumerate(frames):
        frame = as_object(each)
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
    parts = as_object(image)
    names = [parts.get("name"), parts.get("path")]
    name = next((each for each in names if isinstance(each, str)), "")
    uuid = parts.get("uuid")
    if not name:
        return NO_MODULE
    return stack.number(module_of_uuid(name, uuid if isinstance(uuid, str) else ""))
