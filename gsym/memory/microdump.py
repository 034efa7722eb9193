"""Microdumps, which Breakpad writes to the log of Android.

Each line has the text of the log, `google-breakpad`, a colon and a letter: O for the
system, C for the registers, S for the stack, M for a module, R for the signal.
"""

from __future__ import annotations

import re

from gsym.containers.recognition import MICRODUMP
from gsym.errors import FormatError
from gsym.memory.stack_parts import StackModule, file_name, module_of_debug_id
from gsym.model import UINT64_MAX

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing_extensions import Buffer

_END = b"-----END BREAKPAD MICRODUMP-----"
_LINE = re.compile(rb"google-breakpad[^:\n]*: ([OSCMR]) ([^\r\n]*)")
# A text may name the first line alone.
_START = re.compile(
    re.escape(MICRODUMP) + rb"(?s:.){0,4096}?google-breakpad[^:\n]*: O "
)
_AROUND = "the text around it was not read"
_PROCESSORS = {b"x86": 0, b"arm": 5, b"x86_64": 9, b"arm64": 0x8003}
_SYSTEMS = (b"L", b"A")  # Linux, Android


def has_microdump(text: Buffer) -> bool:
    """Whether a text has the first lines of a microdump."""
    return _START.search(text) is not None


class Microdump:
    """The first microdump in a text.

    Attributes:
        processor: By the numbers of minidumps.
        context: Registers, as in a minidump.
        first, stack: The first address of the stack, and its bytes.
        modules: Start, size and module of each.
        cause: The signal and the address that it is about; None if unknown.
        note: Sentence about what of the text was not read.

    Raises:
        FormatError: A line is damaged or missing, or of a system that is not known.
    """

    def __init__(self, data: bytes, path: str) -> None:
        self.processor: int = 0
        self.context: bytes = b""
        self.first: int = 0
        self.stack: bytearray = bytearray()
        self.modules: list[tuple[int, int, StackModule]] = []
        self.cause: tuple[int, int] | None = None
        found = _START.search(data)
        at = start = found.start() if found else 0
        end = data.find(_END, start)
        try:
            for line in _LINE.finditer(data, start, end if end >= 0 else len(data)):
                at = line.start()
                self._add(line[1], line[2])
        except KeyError as unknown:
            reason = f"a microdump of an unknown system or processor: {unknown}"
            raise FormatError(reason, path=path, offset=at) from None
        except (ValueError, IndexError):
            reason = "a line of the microdump is damaged"
            raise FormatError(reason, path=path, offset=at) from None
        if not self.context:
            raise FormatError("a microdump without registers", path=path, offset=start)
        count = sum(1 for _ in _START.finditer(data))
        first = f"the first of {count} microdumps" if count > 1 else "a microdump"
        self.note: str = f"This is {first} in a text; {_AROUND}."

    def _add(self, kind: bytes, rest: bytes) -> None:
        words = rest.split()
        if kind == b"O":
            self.processor = _PROCESSORS[words[1]]
            if words[0] not in _SYSTEMS:
                raise KeyError(words[0])
        elif kind == b"C":
            self.context = bytes.fromhex(words[0].decode())
        elif kind == b"R":
            self.cause = _number(words[0]), _number(words[-1])
        elif kind == b"M":
            base, _, size = map(_number, words[:3])
            path = rest.split(None, 4)[4].strip().decode("utf-8", "replace")
            module = module_of_debug_id(file_name(path), words[3].decode())
            if module.problem:
                raise ValueError(module.problem)
            key = module.key._replace(code_file=module.name)
            self.modules.append((base, size, module._replace(key=key, path=path)))
        elif words[0] != b"0":  # that is a summary
            address = _number(words[0])
            self.first = self.first or address
            if address == self.first + len(self.stack):  # no line before it was lost
                self.stack += bytes.fromhex(words[1].decode())


def _number(digits: bytes) -> int:
    value = int(digits, 16)
    if not 0 <= value <= UINT64_MAX:
        raise ValueError(value)
    return value
