"""Microdumps, which Breakpad writes to the log of Android: as minidumps.

Each line has the text of the log, `google-breakpad`, a colon and a letter: O for the
system, C for the registers, S for the stack, M for a module, R for the signal.
"""

from __future__ import annotations

import re
from struct import Struct, error as StructError  # noqa: N812 - an exception

from gsym.containers.recognition import MICRODUMP
from gsym.errors import FormatError
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence

_END = b"-----END BREAKPAD MICRODUMP-----"
_LINE = re.compile(rb"google-breakpad[^:\n]*: ([OSCMR]) ([^\r\n]*)")
_PROCESSORS = {b"x86": 0, b"arm": 5, b"x86_64": 9, b"arm64": 0x8003}
_PLATFORMS = {b"L": 0x8201, b"A": 0x8203}
_GUID_DIGITS = 32

_HEADER = Struct("<4s2I2I12x")
_DIRECTORY = Struct("<III")
_SYSTEM = Struct("<H18xI32x")
_THREAD = Struct("<II16xQIIII")
_MODULE = Struct("<QI8xI52xII24x")
_CODEVIEW = Struct("<4sIHH8sI")
_EXCEPTION = Struct("<II2IQQ8x120xII")
_COUNT = Struct("<I")


class _Contents(NamedTuple):
    """The parts of a microdump."""

    processor: int
    platform: int
    context: bytes
    start: int
    stack: bytes
    modules: Sequence[tuple[int, int, bytes, bytes]]
    cause: tuple[int, int] | None


def minidump_of(data: bytes, path: str) -> bytes:
    """A minidump with the contents of the first microdump in a text.

    Raises:
        FormatError: A line is damaged, or of a system that is not known.
    """
    start = data.find(MICRODUMP)
    end = data.find(_END, start)
    try:
        contents = _read(data[start : end if end >= 0 else len(data)])
        return _written(contents)
    except (ValueError, IndexError, KeyError, StructError) as error:
        reason = f"a line of the microdump is damaged: {error}"
        raise FormatError(reason, path=path, offset=max(start, 0)) from None


def _read(text: bytes) -> _Contents:
    processor = platform = first = 0
    context, stack = b"", bytearray()
    modules: list[tuple[int, int, bytes, bytes]] = []
    cause: tuple[int, int] | None = None
    for kind, rest in _LINE.findall(text):
        words = rest.split()
        if kind == b"O":
            platform, processor = _PLATFORMS[words[0]], _PROCESSORS[words[1]]
        elif kind == b"C":
            context = bytes.fromhex(words[0].decode())
        elif kind == b"R":
            cause = int(words[0], 16), int(words[-1], 16)
        elif kind == b"M":
            base, _, size = (int(each, 16) for each in words[:3])
            modules.append((base, size, words[3], rest.split(None, 4)[4].strip()))
        elif words[0] != b"0":  # that is a summary
            address = int(words[0], 16)
            first = first or address
            if address == first + len(stack):  # no line before it was lost
                stack += bytes.fromhex(words[1].decode())
    return _Contents(
        *(processor, platform, context, first, bytes(stack), modules, cause)
    )


def _written(contents: _Contents) -> bytes:
    streams = 3 + (contents.cause is not None)
    data = bytearray(_HEADER.size + streams * _DIRECTORY.size)
    directory: list[tuple[int, int, int]] = []

    def put(part: bytes) -> tuple[int, int]:
        data.extend(part)
        return len(part), len(data) - len(part)

    directory.append((7, *put(_SYSTEM.pack(contents.processor, contents.platform))))
    registers, stack = put(contents.context), put(contents.stack)
    thread = _THREAD.pack(1, 0, contents.start, *stack, *registers)
    directory.append((3, *put(_COUNT.pack(1) + thread)))
    modules = [_COUNT.pack(len(contents.modules))]
    for base, size, identifier, name in contents.modules:
        known = identifier.decode()
        if len(known) < _GUID_DIGITS:
            raise ValueError(f"{known!r} is no id of a module")
        guid = bytes.fromhex(known[:_GUID_DIGITS])
        fields = (int.from_bytes(guid[at:end]) for at, end in ((0, 4), (4, 6), (6, 8)))
        age = int(known[_GUID_DIGITS:] or "0", 16)
        record = put(_CODEVIEW.pack(b"RSDS", *fields, guid[8:], age) + name + b"\0")
        text = name.decode("utf-8", "replace").encode("utf-16-le")
        _, place = put(_COUNT.pack(len(text)) + text)
        modules.append(_MODULE.pack(base, size & 0xFFFFFFFF, place, *record))
    directory.append((4, *put(b"".join(modules))))
    if contents.cause is not None:
        signal, address = contents.cause
        exception = _EXCEPTION.pack(1, 0, signal, 0, 0, address, *registers)
        directory.append((6, *put(exception)))
    head = _HEADER.pack(b"MDMP", 0xA793, len(directory), _HEADER.size, 0)
    table = b"".join(_DIRECTORY.pack(*each) for each in directory)
    data[: len(head) + len(table)] = head + table
    return bytes(data)
