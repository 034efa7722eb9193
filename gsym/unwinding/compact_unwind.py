"""Frames of Apple's systems by `__unwind_info`: from a frame to its caller.

It has an encoding for each function, which holds at calls. Functions for which none is
possible have an entry of `__eh_frame` instead.

Source: LLVM, compact_unwind_encoding.h.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from itertools import pairwise
from struct import Struct, error as StructError  # noqa: N812 - an exception

from gsym.containers.headers import Segment
from gsym.records import NamedTuple
from gsym.unwinding.expressions import unless_damaged
from gsym.unwinding.frame_info import FrameSection, KeptRows, make_row
from gsym.unwinding.images import Image
from gsym.unwinding.machines import AARCH64, X86_64, Machine

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.unwinding.frame_info import Row, Rules
    from gsym.unwinding.images import Memory

_MAGIC = b"\xcf\xfa\xed\xfe"  # 64 bits, little endian
_COMMANDS = Struct("<16xI12x")  # their number
_COMMAND = Struct("<II")  # kind, size
_LC_SEGMENT_64 = 0x19
_SEGMENT = Struct("<8x16sQQQQ4xII4x")
_SECTION = Struct("<16s16xQQI28x")  # name, address, size, offset
_EXECUTABLE = 4
# Common encodings; the index: places and numbers of entries.
_HEADER = Struct("<III8xII")
_INDEX = Struct("<III")  # first function, its page, data for exceptions
_PAGE = Struct("<IHHHH")  # kind; places and numbers of entries and encodings
_REGULAR, _COMPRESSED = 2, 3
_ENTRY, _WORD = Struct("<II"), Struct("<I")
_OFFSET = (1 << 24) - 1
# Kinds of encodings
_X86_FRAME, _X86_CONSTANT, _X86_VARIABLE = 1, 2, 3
_ARM_FRAMELESS, _ARM_FRAME = 2, 4
# By their numbers in encodings, the numbers of DWARF.
_X86_REGISTERS = (-1, 3, 12, 13, 14, 15, 6)
_RBP, _RSP, _RIP = 6, 7, 16
_FP, _LR, _SP = 29, 30, 31
_ARM_PAIRS = 5  # from X19 and X20 on


class MachoParts(NamedTuple):
    """The parts of a Mach-O file that are needed to walk stacks."""

    image: Image = Image()
    unwind: bytes | memoryview = b""
    frames: FrameSection | None = None


def macho_parts(data: memoryview) -> MachoParts:
    """The parts of a Mach-O file of 64 bits; without segments if it is another one."""
    if data[:4] != _MAGIC:
        return MachoParts()
    segments: list[Segment] = []
    unwind, frames = memoryview(b""), None
    try:
        (count,) = _COMMANDS.unpack_from(data, 0)
        at = _COMMANDS.size
        for _ in range(min(count, len(data) // _COMMAND.size)):
            kind, size = _COMMAND.unpack_from(data, at)
            if kind == _LC_SEGMENT_64:
                name, start, _, offset, held, access, sections = _SEGMENT.unpack_from(
                    data, at
                )
                is_code = bool(access & _EXECUTABLE)
                if name.rstrip(b"\0") != b"__PAGEZERO":
                    segments.append(Segment(offset, held, start, is_code))
                for number in range(min(sections, size // _SECTION.size)):
                    place = at + _SEGMENT.size + number * _SECTION.size
                    name, address, length, offset = _SECTION.unpack_from(data, place)
                    contents = data[offset : offset + length] if held else data[:0]
                    if name.startswith(b"__unwind_info"):
                        unwind = contents
                    elif name.startswith(b"__eh_frame"):
                        frames = FrameSection(contents, address)
            at += max(size, _COMMAND.size)
    except StructError:
        return MachoParts()
    return MachoParts(Image(tuple(segments)), unwind, frames)


class CompactUnwind(KeptRows):
    """The encodings of a file, by link-time addresses.

    Args:
        machine: What they are for.
        data: The contents of `__unwind_info`.
        base: The link-time address of the start of the image.
        read: Reads what is loaded.
    """

    def __init__(
        self, machine: Machine, data: bytes | memoryview, base: int, read: Memory
    ) -> None:
        super().__init__(machine)
        self._data = data
        self._base = base
        self._read = read

    @unless_damaged
    def _find_row(self, pc: int) -> Row | None:
        start, encoding = self._encoding(pc - self._base)
        return self._decoded(start + self._base, encoding)

    def functions(self) -> Iterator[tuple[int, int, Row | None]]:
        """Start, end and rules of each entry; no rules where `__eh_frame` has them.

        One without an encoding has those of a function without anything on the stack.
        """
        for start, end in pairwise(self._starts()):
            if start >= end:
                continue
            with suppress(StructError, IndexError, ZeroDivisionError):
                _, encoding = self._encoding(start)
                row = self._decoded(start + self._base, encoding)
                if not encoding and self._machine == X86_64:
                    row = _x86_row((_RSP, 8), [], 0, {})
                elif not encoding and self._machine == AARCH64:
                    row = make_row((_SP, 0), {}, _LR)
                yield start + self._base, end + self._base, row

    def _starts(self) -> Iterator[int]:
        """The starts of all entries in the image, then the end of the last one."""
        data = self._data
        left = len(data) // _WORD.size  # entries, if pages share none
        with suppress(StructError):
            *_, index, pages = _HEADER.unpack_from(data, 0)
            for number in range(pages):
                first, page, _ = _INDEX.unpack_from(data, index + number * _INDEX.size)
                if not page:
                    yield first
                    continue
                kind, entries, count, *_ = _PAGE.unpack_from(data, page)
                count = min(count, left)
                left -= count
                for at in range(count):
                    place = page + entries
                    if kind == _REGULAR:
                        yield _ENTRY.unpack_from(data, place + at * _ENTRY.size)[0]
                    else:
                        (entry,) = _WORD.unpack_from(data, place + at * _WORD.size)
                        yield first + (entry & _OFFSET)

    def _encoding(self, place: int) -> tuple[int, int]:
        """The start and the encoding of the function at a place in the image.

        Raises:
            IndexError: None has it.
            StructError: The section is cut.
        """
        data = self._data
        version, common, count, index, pages = _HEADER.unpack_from(data, 0)
        number = self._last(index, pages - 1, _INDEX, place)
        first, page, _ = _INDEX.unpack_from(data, index + number * _INDEX.size)
        end, *_ = _INDEX.unpack_from(data, index + (number + 1) * _INDEX.size)
        if version != 1 or not page or place >= end:
            raise IndexError
        kind, entries, of_page, encodings, limit = _PAGE.unpack_from(data, page)
        entries += page
        if kind == _REGULAR:
            at = self._last(entries, of_page, _ENTRY, place)
            return _ENTRY.unpack_from(data, entries + at * _ENTRY.size)
        if kind != _COMPRESSED:
            raise IndexError
        at = self._last(entries, of_page, _WORD, place - first, _OFFSET)
        (entry,) = _WORD.unpack_from(data, entries + at * _WORD.size)
        chosen = entry >> 24
        table = common if chosen < count else page + encodings
        chosen -= 0 if chosen < count else count
        if table != common and chosen >= limit:
            raise IndexError
        (encoding,) = _WORD.unpack_from(data, table + chosen * _WORD.size)
        return first + (entry & _OFFSET), encoding

    def _last(
        self, table: int, count: int, entry: Struct, place: int, mask: int = -1
    ) -> int:
        """The last entry of a table whose function does not start after a place."""

        def start(number: int) -> int:
            found = entry.unpack_from(self._data, table + number * entry.size)
            return int(found[0]) & mask

        after = bisect_right(range(count), place, key=start)
        if not after:
            raise IndexError
        return after - 1

    def _decoded(self, start: int, encoding: int) -> Row | None:
        """The rules of an encoding; None if it has none."""
        if self._machine == AARCH64:
            return _arm_row(encoding)
        if self._machine != X86_64:
            return None
        kind, size = encoding >> 24 & 0xF, encoding >> 16 & 0xFF
        if kind == _X86_FRAME:
            registers = [encoding >> 3 * each & 7 for each in range(5)]
            return _x86_row((_RBP, 16), registers, -16 - 8 * size, {_RBP: -16})
        if kind == _X86_CONSTANT:
            size *= 8
        elif kind == _X86_VARIABLE:  # the size is an operand of the function's code
            (operand,) = _WORD.unpack(self._read(start + size, _WORD.size))
            size = operand + 8 * (encoding >> 13 & 7)
        else:
            return None
        count = encoding >> 10 & 7
        registers = _permuted(encoding & 0x3FF, count)
        return _x86_row((_RSP, size), registers, -8 - 8 * count, {})


def _x86_row(
    frame: tuple[int, int], registers: list[int], lowest: int, others: dict[int, int]
) -> Row:
    """The rules of a function that saved registers from an offset on."""
    places = {_RIP: -8} | others
    for number, each in enumerate(registers):
        if each:
            places[_X86_REGISTERS[each]] = lowest + 8 * number
    rules: Rules = {register: ("offset", at) for register, at in places.items()}
    return make_row(frame, rules, _RIP)


def _arm_row(encoding: int) -> Row | None:
    rules: Rules = {}
    kind, frame = encoding >> 24 & 0xF, (_FP, 16)
    if kind == _ARM_FRAME:
        rules = {_LR: ("offset", -8), _FP: ("offset", -16)}
    elif kind == _ARM_FRAMELESS:
        frame = _SP, (encoding >> 12 & 0xFFF) * 16
    else:
        return None
    for pair in range(_ARM_PAIRS):
        if encoding >> pair & 1:
            for register in (19 + 2 * pair, 20 + 2 * pair):
                rules[register] = "offset", -8 * (len(rules) + 1)
    return make_row(frame, rules, _LR)


def _permuted(number: int, count: int) -> list[int]:
    """Registers of a permutation, lowest on the stack first.

    Each digit of *number* counts the registers before the next one that are not taken
    yet; its base is how many are left.
    """
    left = [*range(1, len(_X86_REGISTERS))]
    digits: list[int] = []
    for base in range(len(left) - count + 1, len(left) + 1):
        number, digit = divmod(number, base)
        digits.append(digit)
    return [left.pop(each) for each in reversed(digits)]
