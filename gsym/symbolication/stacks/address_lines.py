"""Lines with an address and its module.

As printed by sanitizers, JVMs, glibc, Android, and tools of Mozilla and Breakpad, and
as typed: `libfoo.so+0x1234`, `0x1234 libfoo.so`. Each line is complete.
"""

from __future__ import annotations

import re
from itertools import islice

from gsym.symbolication.stacks.parts import (
    StackFrame,
    module_of_build_id,
    module_of_path,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.symbolication.stacks.parts import StackBuilder, StackModule

_HEX = r"[0-9a-fA-F]{1,16}(?![0-9a-zA-Z_])"
_ANDROID = re.compile(rf"#\d{{1,6}} +pc +(?:0x)?({_HEX})[ \t]+(\S+)")
_BUILD_ID = re.compile(r"\(BuildId: ([0-9a-fA-F]{2,128})\)")
_PLUS_OFFSET = re.compile(rf"(?<=[^\s+]) ?\+ ?0x({_HEX})(?!/)")
_ADDRESS_FIRST = re.compile(
    rf"[ \t]*(?:#?\d{{1,6}}[:.]?[ \t]+)?(0x{_HEX})[ \t]+(?:in[ \t]+)?(\S+)[ \t]*$"
)
_ADDRESS = re.compile(rf"\b0x({_HEX})")
_BARE_ADDRESSES = re.compile(rf"[ \t,]*(?:{_HEX}[ \t,]*)+$")
_BARE_ADDRESS = re.compile(rf"({_HEX})")
_FUNCTION_LINE = re.compile(r":\d{1,9}$")
_MAX_OFFSETS = 8  # candidates in a line; the first one after a file name is used
_LONGEST_PATH = 1024
_DELIMITERS = " \t()[]<>\"'"


def add_android_line(line: str, stack: StackBuilder) -> bool:
    """A frame of a tombstone: `#00 pc 0000000000012345  /lib/libfoo.so (foo+1)`.

    The unwinder has already adjusted return addresses. They are link-time addresses.
    """
    found = _ANDROID.search(line)
    if not found:
        return False
    build_id = _BUILD_ID.search(line, found.end())
    module = module_of_build_id(found[2], build_id[1] if build_id else "")
    body = line.rstrip("\r\n")
    stack.add_text(line[: found.start(1)])
    number, address = stack.number(module), int(found[1], 16)
    stack.add_frame(StackFrame(body[found.start(1) :], number, address, "link"))
    stack.add_text(line[len(body) :])
    return True


def add_address_line(
    line: str, stack: StackBuilder, chosen: StackModule | None
) -> bool:
    """A line with an address; without a module in the line it is in *chosen*."""
    return (
        _add_plus_offset(line, stack)
        or _add_address_first(line, stack)
        or (chosen is not None and _add_bare_addresses(line, stack, chosen))
    )


def _add_plus_offset(line: str, stack: StackBuilder) -> bool:
    for found in islice(_PLUS_OFFSET.finditer(line), _MAX_OFFSETS):
        start, end = _token_start(line, found.start()), found.end()
        path = line[start : found.start()]
        is_return = path.endswith("(")  # `prog(+0x12) [0x7f...]`, from glibc
        if is_return:
            end += line[end : end + 1] == ")"
        path = path.rstrip("(")
        is_alone = line.strip() == line[start:end]
        if not _names_module(path, is_alone=is_alone):
            continue
        build_id = _BUILD_ID.search(line, end)
        module = (
            module_of_build_id(path, build_id[1]) if build_id else module_of_path(path)
        )
        number, address = stack.number(module), int(found[1], 16)
        text = line[start:end]
        stack.add_text(line[:start])
        stack.add_frame(StackFrame(text, number, address, "either", is_return))
        stack.add_text(line[end:])
        return True
    return False


def _token_start(line: str, end: int) -> int:
    """The start of the path that ends at *end*."""
    if line[end - 1] == "(":
        end -= 1
    least = max(0, end - _LONGEST_PATH)
    while end > least and line[end - 1] not in _DELIMITERS:
        end -= 1
    return end


def _names_module(path: str, *, is_alone: bool) -> bool:
    """Whether it is a file name; it may be a function: `main+0x12`."""
    if not path or _FUNCTION_LINE.search(path):
        return False
    last = path.replace("\\", "/").rpartition("!")[2]
    is_function = last != path.replace("\\", "/")
    return (is_alone and not is_function) or "/" in last or "." in last.strip(".")


def _add_address_first(line: str, stack: StackBuilder) -> bool:
    found = _ADDRESS_FIRST.match(line.rstrip("\r\n"))
    if not found or not _names_module(found[2].strip("()[]"), is_alone=False):
        return False
    module = module_of_path(found[2].strip("()[]"))
    stack.add_text(line[: found.start(1)])
    number, address = stack.number(module), int(found[1], 16)
    text = line[found.start(1) : found.end(2)]
    stack.add_frame(StackFrame(text, number, address, "either"))
    stack.add_text(line[found.end(2) :])
    return True


def _add_bare_addresses(line: str, stack: StackBuilder, chosen: StackModule) -> bool:
    form = _BARE_ADDRESS if _BARE_ADDRESSES.match(line.rstrip("\r\n")) else _ADDRESS
    if not form.search(line):
        return False
    at = 0
    for found in form.finditer(line):
        stack.add_text(line[at : found.start()])
        number, address = stack.number(chosen), int(found[1], 16)
        stack.add_frame(StackFrame(found[0], number, address, "either"))
        at = found.end()
    stack.add_text(line[at:])
    return True
