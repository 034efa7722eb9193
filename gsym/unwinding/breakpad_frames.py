"""Frames by the STACK records of Breakpad files: from a frame to its caller.

`STACK CFI` records have rules for registers; `STACK WIN` records, of x86, a program or
the sizes of what a function has on the stack. All become expressions of DWARF.
"""

from __future__ import annotations

import re

from gsym.cache import BoundedCache
from gsym.ranges import AddressRanges
from gsym.records import NamedTuple
from gsym.unwinding.expressions import DamagedError, unless_damaged
from gsym.unwinding.frame_info import apply_row, make_row

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gsym.unwinding.frame_info import Row, Rules, Step
    from gsym.unwinding.images import Memory
    from gsym.unwinding.machines import Machine

_RECORD = re.compile(
    rb"\nSTACK (CFI INIT|WIN [04]) ([0-9a-fA-F]{1,16}) ([0-9a-fA-F]{1,16}) "
)
# In the order in which they are asked: programs, sizes, rules.
_KINDS = (b"WIN 4", b"WIN 0", b"CFI INIT")
# Limit: Call frame information of a module that is run
_MAX_READ = 16 << 20  # bytes
_MAX_LINE = 1 << 14  # bytes
_MAX_CODE = 4096  # bytes of an expression
_MAX_ROWS = 1 << 14  # kept
_OPERATIONS = {
    "+": b"\x22",
    "-": b"\x1c",
    "*": b"\x1e",
    "/": b"\x1b",
    "%": b"\x1d",
    "^": b"\x06",
    "@": b"\x1f\x1a",  # a @ b is a & -b
}
_CONSTANT, _REGISTER, _CANONICAL = b"\x11", b"\x92", b"\x9c"
_FRAME, _RETURN, _UNDEFINED = ".cfa", ".ra", ".undef"
# dbghelp numbers registers of x86.
_ALIASES = {"$20": "ebx", "$21": "esp", "$22": "ebp", "$23": "esi", "$24": "edi"}
# Operands of programs, by numbers that no register has.
_SEARCH, _CALLEE, _AFTER = range(1 << 10, (1 << 10) + 3)
_WITH_FRAME = (
    "$ebp $esp .cbCalleeParams + .cbSavedRegs + 8 - ^ = "
    "$eip .raSearch ^ = $esp .raSearch 4 + ="
)
_WITHOUT_FRAME = "$eip .raSearch ^ = $esp .raSearch 4 + ="
_PADDINGS = (0, 4, 8, 12)  # bytes below a return address where the stack is aligned
_MAX_PARAMETERS = 1 << 16  # bytes


class _Record(NamedTuple):
    """The rules by which the caller of a function is found."""

    row: Row  # the rules
    # bytes from the stack pointer to the return address, as a program may ask; -1 if
    # the rules are no program
    size: int = -1
    parameters: int = 0  # bytes of the parameters, which the function removes


class BreakpadFrames:
    """The STACK records of a file, by offsets in the module.

    Args:
        machine: What they are for.
        data: The file.
        is_code: Whether an address of the process is one of code.
    """

    def __init__(
        self, machine: Machine, data: memoryview, is_code: Callable[[int], bool]
    ) -> None:
        self._machine = machine
        self._data = data
        self._is_code = is_code
        self._records: BoundedCache[int, _Record | None] = BoundedCache(_MAX_ROWS)
        self._left = _MAX_READ
        self._registers = {
            name: _register(number) for number, name in enumerate(machine.names)
        }
        found: dict[bytes, list[tuple[int, int, int]]] = {each: [] for each in _KINDS}
        for each in _RECORD.finditer(data):
            start = int(each[2], 16)
            found[each[1]].append((start, start + int(each[3], 16), each.start() + 1))
        # The places of the records of each kind.
        self._places = [AddressRanges(sorted(each)) for each in found.values()]

    @unless_damaged
    def step(self, pc: int, values: dict[int, int], memory: Memory) -> Step | None:
        """The registers in the caller of the function at *pc*; None if unknown."""
        if pc not in self._records:
            self._records.keep(pc, None)
            self._records[pc] = self._read(pc)
        record = self._records[pc]
        if record is None or self._left <= 0:
            return None
        self._left -= record.row.size
        if record.size < 0:
            values = {key: each for key, each in values.items() if key != _AFTER}
            return apply_row(record.row, values, memory, self._machine)
        return self._run(record, values, memory)

    def _run(
        self, record: _Record, values: dict[int, int], memory: Memory
    ) -> Step | None:
        """The registers by a program, which may search for the return address."""
        stack = values[self._machine.stack]
        callee = values.get(_AFTER, 0) - stack
        callee = callee if 0 < callee <= _MAX_PARAMETERS else 0
        first: Step | None = None
        for padding in _PADDINGS:
            place = stack + callee + record.size + padding
            known = {**values, _SEARCH: place, _CALLEE: callee}
            found = apply_row(record.row, known, memory, self._machine)
            del found.values[_SEARCH], found.values[_CALLEE]
            outer = found.values[self._machine.stack]
            found.values[_AFTER] = outer + record.parameters
            if self._is_code((found.pc or 0) - 1):
                return found
            first = first or found
        return first

    def _read(self, pc: int) -> _Record | None:
        """The record of an address."""
        for each in self._places:
            place = each.find(pc)
            if place is not None:
                lines = self._lines(place)
                words = next(lines, [])
                return self._by_rules(words, lines, pc) or self._by_program(words)
        return None

    def _lines(self, at: int) -> Iterator[list[str]]:
        """The words of each line from a place on, while lines may still be read."""
        while self._left > 0 and at < len(self._data):
            line = bytes(self._data[at : at + _MAX_LINE]).partition(b"\n")[0]
            at += len(line) + 1
            self._left -= len(line)
            yield line.decode("ascii", "replace").split()

    def _by_rules(
        self, words: list[str], lines: Iterator[list[str]], pc: int
    ) -> _Record | None:
        """The record of rules that *words* begins; None if it is another one."""
        if words[1] != "CFI":
            return None
        rules: dict[str, list[str]] = {}
        _add_rules(rules, words[5:])
        for each in lines:
            if (
                each[:2] != ["STACK", "CFI"]
                or each[2] == "INIT"
                or int(each[2], 16) > pc
            ):
                break
            _add_rules(rules, each[3:])
        known = {**self._registers, _FRAME: _CANONICAL}
        frame = _calculate(rules.pop(_FRAME), self._registers)
        machine = self._machine
        back = machine.pc if machine.link is None else machine.link
        found: Rules = {}
        for number, name in enumerate(machine.names):
            if name in rules:
                found[number] = _rule(rules[name], known)
        if _RETURN in rules:
            found[back] = _rule(rules[_RETURN], known)
        return _Record(make_row(frame, found, back))

    def _by_program(self, words: list[str]) -> _Record:
        """The record of a program, or of sizes, which are as good as one."""
        parameters, saved, local = (int(each, 16) for each in words[7:10])
        known = {
            **self._registers,
            **dict.fromkeys((".raSearch", ".raSearchStart"), _register(_SEARCH)),
            ".cbCalleeParams": _register(_CALLEE),
            ".cbParams": _CONSTANT + _leb(parameters),
            ".cbSavedRegs": _CONSTANT + _leb(saved),
            ".cbLocals": _CONSTANT + _leb(local),
        }
        program = " ".join(words[12:])
        if words[11] != "1":
            program = _WITH_FRAME if program == "1" else _WITHOUT_FRAME
        _calculate(program.replace("=", " = ").split(), known)  # some write "=$eip"
        machine = self._machine
        found: Rules = {
            number: ("value of expression", known[name])
            for number, name in enumerate(machine.names)
            if known[name] is not self._registers[name]
        }
        _, frame = found.pop(machine.stack)
        if machine.pc not in found or not isinstance(frame, bytes):
            raise DamagedError
        return _Record(make_row(frame, found, machine.pc), saved + local, parameters)


def _add_rules(rules: dict[str, list[str]], words: Sequence[str]) -> None:
    """Add rules to those before them: a name with a colon, then its expression."""
    expression: list[str] = []
    for word in words:
        if word.endswith(":"):
            expression = rules[_plain(word[:-1])] = []
        else:
            expression.append(word)


def _plain(name: str) -> str:
    """A name as the machine has it, or that of a variable."""
    return _ALIASES.get(name, name.removeprefix("$"))


def _rule(words: list[str], known: dict[str, bytes]) -> tuple[str, int | bytes]:
    if words == [_UNDEFINED]:
        return "undefined", 0
    return "value of expression", _calculate(words, known)


def _calculate(words: Sequence[str], known: dict[str, bytes]) -> bytes:
    """The expression that words in postfix order make.

    Assignments change what is *known*: the expressions of registers and variables.
    """
    stack: list[str | bytes] = []

    def pop() -> bytes:
        last = stack.pop()
        if isinstance(last, str):
            found = known.get(last)
            last = _CONSTANT + _leb(int(last)) if found is None else found
        return last

    for word in words:
        if word == "=":
            value, name = pop(), stack.pop()
            if not isinstance(name, str):
                raise DamagedError
            known[name] = value
        elif word in _OPERATIONS:
            code = pop() + _OPERATIONS[word]
            if word != "^":
                code = pop() + code
            if len(code) > _MAX_CODE:
                raise DamagedError
            stack.append(code)
        else:
            stack.append(_plain(word))
    return pop() if stack else b""


def _register(number: int) -> bytes:
    """The expression of the value of a register."""
    return _REGISTER + _leb(number) + b"\0"


def _leb(value: int) -> bytes:
    """A signed number in LEB128; without a sign, one below 64 is the same."""
    found = bytearray()
    while not -64 <= value < 64:  # noqa: PLR2004
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value & 0x7F)
    return bytes(found)
