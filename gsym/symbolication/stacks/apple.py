"""Apple crash reports, as text and as .ips JSON."""

from __future__ import annotations

import re

from gsym.symbolication.stacks.parts import (
    NO_MODULE,
    LoadedImages,
    StackFrame,
    module_of_uuid,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from gsym.symbolication.stacks.parts import StackBuilder


HEADING = "Binary Images:"

_IMAGE = re.compile(
    r"[ \t]*0x([0-9a-fA-F]{1,16})[ \t]+-[ \t]+(?:0x([0-9a-fA-F]{1,16})|\?\?\?)"
    r"[ \t]+(.*)"
)
_UUID = re.compile(r"<([0-9a-fA-F-]{32,36})>[ \t]*(.*)")
# `3   MyApp    0x0000000100001234 0x100000000 + 4660`; names may contain spaces.
_FRAME = re.compile(
    r"[ \t]*(\d{1,6})[ \t]+(?=\S)(.{1,200}?)[ \t]+(0x[0-9a-fA-F]{1,16})\b"
)
_EXCEPTION_ADDRESSES = re.compile(r"\((?:0x[0-9a-fA-F]{1,16}[ \t]*)+\)\s*$")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{1,16}")
_UNKNOWN_SIZE = 1 << 32  # of an image whose end is `???`


def add_crash_report(lines: Iterable[str], stack: StackBuilder) -> None:
    """Parse a report."""
    lines = list(lines)
    images = LoadedImages()
    heading = next(
        (at for at, line in enumerate(lines) if line.startswith(HEADING)), len(lines)
    )
    for line in lines[heading + 1 :]:
        if len(line) <= stack.limits.line:
            _place_image(line, images, stack)
    for line in lines[:heading]:
        if len(line) > stack.limits.line or not _add_frame_line(line, images, stack):
            stack.add_text(line)
    for line in lines[heading:]:
        stack.add_text(line)


def _place_image(line: str, images: LoadedImages, stack: StackBuilder) -> None:
    found = _IMAGE.match(line.rstrip("\r\n"))
    if not found:
        return
    start = int(found[1], 16)
    end = int(found[2], 16) + 1 if found[2] else start + _UNKNOWN_SIZE
    described = _UUID.search(found[3])
    if described:
        before = found[3][: described.start()].split()
        name = described[2] or (before[0].lstrip("+") if before else "")
        module = module_of_uuid(name, described[1])
    else:
        # Without LC_UUID: name, version, path.
        module = module_of_uuid(found[3].strip(), "")
    images.add(start, end, stack.number(module))


def _add_frame_line(line: str, images: LoadedImages, stack: StackBuilder) -> bool:
    found = _FRAME.match(line)
    if found:
        body = line.rstrip("\r\n")
        stack.add_text(line[: found.start(3)])
        text = body[found.start(3) :]
        is_return = int(found[1]) > 0
        stack.add_frame(_frame(text, int(found[3], 16), images, is_return=is_return))
        stack.add_text(line[len(body) :])
        return True
    if not _EXCEPTION_ADDRESSES.match(line):
        return False
    at = 0
    for each in _ADDRESS.finditer(line):
        stack.add_text(line[at : each.start()])
        stack.add_frame(_frame(each[0], int(each[0], 16), images, is_return=True))
        at = each.end()
    stack.add_text(line[at:])
    return True


def _frame(
    text: str, address: int, images: LoadedImages, *, is_return: bool
) -> StackFrame:
    module, offset = images.find(address - is_return) or (NO_MODULE, 0)
    if module == NO_MODULE:
        return StackFrame(text, module, address)
    return StackFrame(text, module, offset + is_return, "image", is_return)


_HEADINGS = (
    ("procName", "Process"),
    ("procPath", "Path"),
    ("captureTime", "Date/Time"),
    ("modelCode", "Hardware"),
)


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
