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

    from typing_extensions import Buffer

_END = b"-----END BREAKPAD MICRODUMP-----"
_LINE = re.compile(rb"google-breakpad[^:\n]*: ([OSCMR]) ([^\r\n]*)")
# A text may name the first line alone.
_START = re.compile(
    re.escape(MICRODUMP) + rb"(?s:.){0,4096}?google-breakpad[^:\n]*: O "
)
_AROUND = "the text around it was not read"
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


def has_microdump(text: Buffer) -> bool:
    """Whether a text has the first lines of a microdump."""
    return _START.search(text) is not None


def minidump_of(data: bytes, path: str) -> tuple[bytes, str]:
    """A minidump with the contents of the first microdump in a text.

    Returns:
        The minidump, and a sentence about what of the text was not read.

    Raises:
        FormatError: A line is damaged or missing, or of a system that is not known.
    """
    found = _START.search(data)
    start = found.start() if found else 0
    end = data.find(_END, start)
    end = end if end >= 0 else len(data)
    contents = _read(data, start, end, path)
    if not contents.context:
        raise FormatError("a microdump without registers", path=path, offset=start)
    count = sum(1 for _ in _START.finditer(data))
    first = f"the first of {count} microdumps" if count > 1 else "a microdump"
    try:
        return _written(contents), f"This is {first} in a text; {_AROUND}."
    except (ValueError, IndexError, StructError) as error:
        reason = f"a module of the microdump is damaged: {error}"
        raise FormatError(reason, path=path, offset=start) from None


def _read(data: bytes, start: int, end: int, path: str) -> _Contents:
    """The lines in a range of a text."""
    contents = _Lines()
    at = start
    try:
        for line in _LINE.finditer(data, start, end):
            at = line.start()
            contents.add(line[1], line[2])
    except KeyError as unknown:
        reason = f"a microdump of an unknown system or processor: {unknown}"
        raise FormatError(reason, path=path, offset=at) from None
    except (ValueError, IndexError):
        reason = "a line of the microdump is damaged"
        raise FormatError(reason, path=path, offset=at) from None
    return contents.read()


class _Lines:
    """Contents of a microdump, line by line."""

    def __init__(self) -> None:
        self._system = 0, 0
        self._context = b""
        self._first, self._stack = 0, bytearray()
        self._modules: list[tuple[int, int, bytes, bytes]] = []
        self._cause: tuple[int, int] | None = None

    def add(self, kind: bytes, rest: bytes) -> None:
        """Read a line.

        Raises:
            KeyError: It names a system or a processor that is not known.
            ValueError, IndexError: It is damaged.
        """
        words = rest.split()
        if kind == b"O":
            self._system = _PROCESSORS[words[1]], _PLATFORMS[words[0]]
        elif kind == b"C":
            self._context = bytes.fromhex(words[0].decode())
        elif kind == b"R":
            self._cause = int(words[0], 16), int(words[-1], 16)
        elif kind == b"M":
            base, _, size = (int(each, 16) for each in words[:3])
            name = rest.split(None, 4)[4].strip()
            self._modules.append((base, size, words[3], name))
        elif words[0] != b"0":  # that is a summary
            address = int(words[0], 16)
            self._first = self._first or address
            if address == self._first + len(self._stack):  # no line before it was lost
                self._stack += bytes.fromhex(words[1].decode())

    def read(self) -> _Contents:
        """All that was read."""
        stack = self._first, bytes(self._stack)
        parts = *self._system, self._context, *stack, self._modules, self._cause
        return _Contents(*parts)


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
