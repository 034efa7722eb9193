"""Logs with symbolizer markup: as much of it as a page shows.

`{{{module:..}}}` and `{{{mmap:..}}}` say what is loaded where, `{{{reset}}}` forgets
it, `{{{bt:..}}}` and `{{{pc:..}}}` are addresses. All other elements stay text.
"""

from __future__ import annotations

import re

from gsym.api.stack_forms.loaded_images import LoadedImages
from gsym.api.stack_forms.module_naming import module_of_build_id
from gsym.api.stack_parts import NO_MODULE, StackFrame

__all__ = ["add_markup_log", "is_markup_log"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.api.stack_parts import StackBuilder

_KNOWN = re.compile(r"\{\{\{(?:bt|pc|mmap|module):")
_BUILD_ID = re.compile(r"[0-9a-fA-F]{1,256}$")
_MOST_DIGITS = 20  # of a number of 64 bits


def is_markup_log(text: str) -> bool:
    """Whether there is an element that leads to frames."""
    return _KNOWN.search(text) is not None


def add_markup_log(lines: Iterable[str], stack: StackBuilder) -> None:
    """Take a whole log in."""
    log = _Log(stack)
    for line in lines:
        if len(line) > stack.limits.line:
            stack.add_text(line)
        else:
            log.add(line)


class _Log:
    def __init__(self, stack: StackBuilder) -> None:
        self._stack = stack
        self._images = LoadedImages()
        self._modules: dict[int, int] = {}

    def add(self, line: str) -> None:
        at = 0
        while (start := line.find("{{{", at)) >= 0:
            end = line.find("}}}", start)
            if end < 0:
                break
            self._stack.add_text(line[at:start])
            tag, *fields = line[start + 3 : end].split(":")
            at = end + 3
            self._add_element(line[start:at], tag, fields)
        self._stack.add_text(line[at:])

    def _add_element(self, text: str, tag: str, fields: list[str]) -> None:
        if tag in {"bt", "pc"}:
            self._add_address(text, fields[1:] if tag == "bt" else fields, tag)
            return
        if tag == "reset":
            self._modules.clear()
            self._images.clear()
        elif tag == "module":
            self._add_module(fields)
        elif tag == "mmap":
            self._add_mapping(fields)
        self._stack.add_text(text)

    def _add_address(self, text: str, fields: list[str], tag: str) -> None:
        address = _number(fields[0]) if fields else None
        if address is None:
            self._stack.add_text(text)
            return
        kind = fields[1] if len(fields) > 1 else ""
        is_return = kind == "ra" or (tag == "bt" and kind != "pc")
        found = self._images.find(address - is_return)
        if found is None:
            self._stack.add_frame(StackFrame(text, NO_MODULE, address))
            return
        module, linked = found
        frame = StackFrame(text, module, linked + is_return, "link", is_return)
        self._stack.add_frame(frame)

    def _add_module(self, fields: list[str]) -> None:
        """`module:ID:NAME:elf:BUILDID`; the name may hold colons."""
        number = _number(fields[0]) if fields else None
        if "elf" not in fields[2:] or number is None or number in self._modules:
            return
        at = len(fields) - 1 - fields[::-1].index("elf")
        build_id = fields[at + 1] if at + 1 < len(fields) else ""
        if _BUILD_ID.match(build_id):
            module = module_of_build_id(":".join(fields[1:at]), build_id)
            self._modules[number] = self._stack.number(module)

    def _add_mapping(self, fields: list[str]) -> None:
        """`mmap:START:SIZE:load:ID:MODE:ADDRESS`."""
        try:
            start, size, load, number, _mode, address = fields
        except ValueError:
            return
        numbers = [_number(each) for each in (start, size, number, address)]
        if load != "load" or None in numbers or numbers[2] not in self._modules:
            return
        begin, length, identifier, linked = (each or 0 for each in numbers)
        self._images.add(begin, begin + length, self._modules[identifier], linked)


def _number(text: str) -> int | None:
    """A number, decimal or with a prefix; None where it is none."""
    digits = text.strip()
    if not digits.isalnum() or len(digits) > _MOST_DIGITS:
        return None
    try:
        return int(digits, 0) if digits.strip("0") else 0
    except ValueError:
        return None
