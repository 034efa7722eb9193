"""Crash reports of Apple's systems as text, with their list of binary images.

Frames have addresses of the process; the list at the end says which image is where. All
frames but the first of a thread hold return addresses.
"""

from __future__ import annotations

import re

from gsym.api.stack_forms.loaded_images import LoadedImages
from gsym.api.stack_forms.module_naming import module_of_uuid
from gsym.api.stack_parts import NO_MODULE, StackFrame

__all__ = ["HEADING", "add_crash_report"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.api.stack_parts import StackBuilder

HEADING = "Binary Images:"

_IMAGE = re.compile(
    r"[ \t]*0x([0-9a-fA-F]{1,16})[ \t]+-[ \t]+(?:0x([0-9a-fA-F]{1,16})|\?\?\?)"
    r"[ \t]+(.*)"
)
_UUID = re.compile(r"<([0-9a-fA-F-]{32,36})>[ \t]*(.*)")
# `3   MyApp    0x0000000100001234 0x100000000 + 4660`; names may hold spaces.
_FRAME = re.compile(
    r"[ \t]*(\d{1,6})[ \t]+(?=\S)(.{1,200}?)[ \t]+(0x[0-9a-fA-F]{1,16})\b"
)
_EXCEPTION_ADDRESSES = re.compile(r"\((?:0x[0-9a-fA-F]{1,16}[ \t]*)+\)\s*$")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{1,16}")
_UNKNOWN_SIZE = 1 << 32  # of an image whose end is `???`


def add_crash_report(lines: Iterable[str], stack: StackBuilder) -> None:
    """Take a whole report in."""
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
