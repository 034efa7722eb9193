"""Call frame information (`.eh_frame`) in memory: from a frame to that of its caller.

Where functions keep no frame pointer, as in most system libraries, debuggers and
exceptions find the caller by it. `.eh_frame_hdr`, which is loaded, is its index.
"""

from __future__ import annotations

from struct import Struct, error as StructError  # noqa: N812 - an exception

from gsym.model import UINT64_MAX
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.memory.images import Memory
    from gsym.memory.walking import Machine

    Rules = dict[int, tuple[str, int | bytes]]


class Step(NamedTuple):
    """The registers in the caller of a function, by their numbers in DWARF.

    Attributes:
        pc: Where the function returns to; 0 if it has no caller.
        values: Registers that are known.
        is_signal: Whether a signal interrupted the caller, so that *pc* is exact.
    """

    pc: int
    values: dict[int, int]
    is_signal: bool


class _Damaged(Exception):  # noqa: N818 - never leaves this module
    pass


HEADER_MAGIC = b"\x01\x1b\x03\x3b"  # version and encodings that all linkers write
_HEADER = Struct("<4si I")
_ENTRY = Struct("<ii")
_LENGTH = Struct("<II")
_MOST_ENTRIES = 1 << 26
# Limit: Entry of `.eh_frame` of a process or core
_MOST_SIZE = 1 << 17
# Limit: States that an entry of `.eh_frame` remembers
_MOST_DEPTH = 32
_PC_RELATIVE, _OMITTED, _INDIRECT = 0x10, 0xFF, 0x80
_FIXED = {
    0x00: Struct("<Q"),
    0x02: Struct("<H"),
    0x03: Struct("<I"),
    0x04: Struct("<Q"),
    0x0A: Struct("<h"),
    0x0B: Struct("<i"),
    0x0C: Struct("<q"),
}
_ADDRESS_32 = Struct("<I")


class _Bytes:
    """Reads an entry from its start on."""

    def __init__(self, data: bytes, address: int, word: int) -> None:
        self.data = data
        self.address = address
        self.word = word
        self.at = 0

    def byte(self) -> int:
        self.at += 1
        if self.at > len(self.data):
            raise _Damaged
        return self.data[self.at - 1]

    def leb(self, *, signed: bool = False) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:  # noqa: PLR2004 - the last one
                break
        return value - (1 << shift) if signed and byte & 0x40 else value

    def take(self, size: int) -> bytes:
        start, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise _Damaged
        return self.data[start : self.at]

    def fixed(self, form: Struct) -> int:
        return int(form.unpack(self.take(form.size))[0])

    def pointer(self, encoding: int) -> int:
        """A pointer; those that are relative to something else than here are damage."""
        place = self.address + self.at
        kind = encoding & 0x0F
        if kind in {1, 9}:
            value = self.leb(signed=kind == 9)  # noqa: PLR2004 - DW_EH_PE_sleb128
        elif kind in _FIXED:
            is_short = not kind and self.word == _ADDRESS_32.size
            value = self.fixed(_ADDRESS_32 if is_short else _FIXED[kind])
        else:
            raise _Damaged
        application = encoding & 0x70
        if application not in {0, _PC_RELATIVE} or encoding & _INDIRECT:
            raise _Damaged
        return (value + (place if application else 0)) & UINT64_MAX


class _Common(NamedTuple):
    """A CIE."""

    code_unit: int
    data_unit: int
    return_register: int
    encoding: int
    has_augmentation: bool
    is_signal: bool
    instructions: bytes


def is_signal_frame(header: int, pc: int, memory: Memory, word: int) -> bool:
    """Whether a signal handler returns to *pc*, by the letter S of its augmentation.

    Args:
        header: Address of `.eh_frame_hdr` of the module.
        pc: Where the handler returns to.
        memory: The memory of the process, or of its file.
        word: Bytes of an address.
    """
    try:
        entry = _find(header, pc, memory)
        if entry is None:
            return False
        found = _Function.read(entry, memory, word)
    except (_Damaged, StructError):
        return False
    return found.common.is_signal and found.has(pc)


def step(
    header: int, pc: int, values: dict[int, int], memory: Memory, machine: Machine
) -> Step | None:
    """The registers in the caller of the function at *pc*; None if unknown.

    Args:
        header: Address of `.eh_frame_hdr` of the module.
        pc: An address in the function: of a return address, the one before it.
        values: The registers in the function, by their numbers in DWARF.
        memory: The memory of the process.
        machine: What it ran on.
    """
    try:
        entry = _find(header, pc, memory)
        return None if entry is None else _step(entry, pc, values, memory, machine)
    except (_Damaged, StructError, KeyError, OverflowError):
        return None


def _find(header: int, pc: int, memory: Memory) -> int | None:
    """The address of the FDE whose function may have *pc*."""
    magic, _, count = _HEADER.unpack(memory(header, _HEADER.size))
    if magic != HEADER_MAGIC or not 0 < count < _MOST_ENTRIES:
        return None
    table = header + _HEADER.size
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        start, _ = _ENTRY.unpack(memory(table + middle * _ENTRY.size, _ENTRY.size))
        if header + start <= pc:
            low = middle + 1
        else:
            high = middle
    if not low:
        return None
    _, place = _ENTRY.unpack(memory(table + (low - 1) * _ENTRY.size, _ENTRY.size))
    return int(header + place)


def _read_entry(address: int, memory: Memory, word: int) -> tuple[_Bytes, int]:
    """The bytes of a CIE or FDE after its second field, and that field."""
    length, second = _LENGTH.unpack(memory(address, _LENGTH.size))
    if not 4 <= length <= _MOST_SIZE:  # noqa: PLR2004 - of the second field
        raise _Damaged
    start = address + _LENGTH.size
    return _Bytes(memory(start, length - 4), start, word), second


def _read_common(address: int, memory: Memory, word: int) -> _Common:
    data, zero = _read_entry(address, memory, word)
    version = data.byte()
    if zero or version not in {1, 3}:
        raise _Damaged
    end = data.data.find(b"\0", data.at)
    augmentation = data.take(end - data.at) if end >= 0 else b"?"
    data.byte()
    code_unit, data_unit = data.leb(), data.leb(signed=True)
    register = data.byte() if version == 1 else data.leb()
    encoding, is_signal = 0, False
    if augmentation.startswith(b"z"):
        size = data.leb()
        rest = data.at + size
        for each in augmentation[1:]:
            if each == ord("R"):
                encoding = data.byte()
            elif each == ord("P"):
                data.pointer(data.byte() & ~(_INDIRECT | 0x70))
            elif each == ord("L"):
                data.byte()
            is_signal = is_signal or each == ord("S")
        data.at = rest
    elif augmentation:
        raise _Damaged
    return _Common(
        *(code_unit, data_unit, register, encoding),
        augmentation.startswith(b"z"),
        is_signal,
        data.take(len(data.data) - data.at),
    )


class _Function(NamedTuple):
    """An FDE."""

    common: _Common
    start: int
    size: int
    data: _Bytes  # the rest

    @classmethod
    def read(cls, entry: int, memory: Memory, word: int) -> _Function:
        data, back = _read_entry(entry, memory, word)
        common = _read_common(entry + 4 - back, memory, word)
        start = data.pointer(common.encoding)
        return cls(common, start, data.pointer(common.encoding & 0x0F), data)

    def has(self, pc: int) -> bool:
        return self.start <= pc < self.start + self.size


def _step(
    entry: int, pc: int, values: dict[int, int], memory: Memory, machine: Machine
) -> Step | None:
    word = machine.word
    function = _Function.read(entry, memory, word)
    if not function.has(pc):
        return None
    common, start, _, data = function
    if common.has_augmentation:
        data.take(data.leb())
    table = _Table(common)
    table.run(_Bytes(common.instructions, 0, word), start, pc)
    table.begin()
    table.run(_Bytes(data.data[data.at :], 0, word), start, pc)
    return _apply(table, common, values, memory, machine)


def _apply(
    table: _Table,
    common: _Common,
    values: dict[int, int],
    memory: Memory,
    machine: Machine,
) -> Step:
    word = machine.word

    def load(address: int) -> int:
        held = memory(address & UINT64_MAX, word)
        if len(held) < word:
            raise _Damaged
        return int.from_bytes(held, "little")

    if isinstance(table.frame, bytes):
        frame = _evaluate(table.frame, values, load, word)
    else:
        register, offset = table.frame
        frame = (values[register] + offset) & UINT64_MAX
    found = {**values, machine.stack: frame}
    for register, (kind, operand) in table.rules.items():
        if kind == "undefined":
            found.pop(register, None)
        elif kind == "offset" and isinstance(operand, int):
            found[register] = load(frame + operand)
        elif kind == "value" and isinstance(operand, int):
            found[register] = (frame + operand) & UINT64_MAX
        elif kind == "register" and isinstance(operand, int):
            found[register] = values[operand]
        elif isinstance(operand, bytes):
            value = _evaluate(operand, values, load, word, [frame])
            found[register] = load(value) if kind == "expression" else value
    pc = found.pop(common.return_register, 0)
    return Step(pc, found, common.is_signal)


class _Table:
    """The rules at an address, while instructions are run."""

    def __init__(self, common: _Common) -> None:
        self._common = common
        self.frame: tuple[int, int] | bytes = (-1, 0)
        self.rules: Rules = {}
        self._initial: Rules = {}
        self._kept: list[tuple[tuple[int, int] | bytes, Rules]] = []

    def begin(self) -> None:
        """Keep the rules of the CIE, which instructions may restore."""
        self._initial = dict(self.rules)

    def run(self, data: _Bytes, location: int, pc: int) -> None:
        """Run the instructions up to those for *pc*."""
        while data.at < len(data.data):
            code = data.byte()
            low = code & 0x3F
            by = self._advance(code, low, data)
            if by is not None:
                location += by * self._common.code_unit
                if location > pc:
                    return
            elif code >= 0xC0:  # noqa: PLR2004 - DW_CFA_restore
                self._restore(low)
            elif code >= 0x80:  # noqa: PLR2004 - DW_CFA_offset
                self.rules[low] = "offset", data.leb() * self._common.data_unit
            else:
                self._run(low, data)

    @staticmethod
    def _advance(code: int, low: int, data: _Bytes) -> int | None:
        if code & 0xC0 == 0x40:  # noqa: PLR2004 - DW_CFA_advance_loc
            return low
        size = {2: 1, 3: 2, 4: 4}.get(code)
        return None if size is None else int.from_bytes(data.take(size), "little")

    def _restore(self, register: int) -> None:
        if register in self._initial:
            self.rules[register] = self._initial[register]
        else:
            self.rules.pop(register, None)

    def _run(self, code: int, data: _Bytes) -> None:
        if code in _OF_FRAME:
            self._set_frame(code, data)
        elif code == 0x0A:  # noqa: PLR2004 - DW_CFA_remember_state
            if len(self._kept) >= _MOST_DEPTH:
                raise _Damaged
            self._kept.append((self.frame, dict(self.rules)))
        elif code == 0x0B:  # noqa: PLR2004 - DW_CFA_restore_state
            if not self._kept:
                raise _Damaged
            self.frame, self.rules = self._kept.pop()
        elif code == 0x2E:  # noqa: PLR2004 - DW_CFA_GNU_args_size
            data.leb()
        elif code in _OF_REGISTER:
            self._set_register(code, data)
        elif code not in _WITHOUT_EFFECT:
            raise _Damaged

    def _set_register(self, code: int, data: _Bytes) -> None:
        register = data.leb()
        kind, form = _OF_REGISTER[code]
        if kind == "same":
            self.rules.pop(register, None)
        elif kind == "restore":
            self._restore(register)
        elif form == "block":
            self.rules[register] = kind, data.take(data.leb())
        elif form == "factored":
            number = data.leb(signed=code in _SIGNED)
            self.rules[register] = kind, number * self._common.data_unit
        else:
            self.rules[register] = kind, data.leb() if form else 0

    def _set_frame(self, code: int, data: _Bytes) -> None:
        if code == 0x0F:  # noqa: PLR2004 - DW_CFA_def_cfa_expression
            self.frame = data.take(data.leb())
            return
        register, offset = (-1, 0) if isinstance(self.frame, bytes) else self.frame
        if code in {0x0C, 0x0D, 0x12}:
            register = data.leb()
        if code in {0x0C, 0x0E}:
            offset = data.leb()
        elif code in {0x12, 0x13}:
            offset = data.leb(signed=True) * self._common.data_unit
        self.frame = register, offset


_OF_FRAME = frozenset({0x0C, 0x0D, 0x0E, 0x0F, 0x12, 0x13})  # DW_CFA_def_cfa*
_WITHOUT_EFFECT = frozenset({0x00, 0x2D})  # nop; the signing of return addresses
_SIGNED = frozenset({0x11, 0x15})
_OF_REGISTER = {
    0x05: ("offset", "factored"),
    0x06: ("restore", ""),
    0x07: ("undefined", ""),
    0x08: ("same", ""),
    0x09: ("register", "number"),
    0x10: ("expression", "block"),
    0x11: ("offset", "factored"),
    0x14: ("value", "factored"),
    0x15: ("value", "factored"),
    0x16: ("value of expression", "block"),
}


def _evaluate(
    expression: bytes,
    values: dict[int, int],
    load: Callable[[int], int],
    word: int,
    stack: list[int] | None = None,
) -> int:
    """The value of an expression of the few operations that compilers write here."""
    stack = [] if stack is None else stack
    data = _Bytes(expression, 0, word)
    while data.at < len(data.data):
        code = data.byte()
        if 0x70 <= code <= 0x8F:  # noqa: PLR2004 - DW_OP_breg0 to 31
            stack.append(values[code - 0x70] + data.leb(signed=True))
        elif 0x30 <= code <= 0x4F:  # noqa: PLR2004 - DW_OP_lit0 to 31
            stack.append(code - 0x30)
        elif code in {0x08, 0x09}:  # DW_OP_const1u, const1s
            stack.append(data.fixed(Struct("<B" if code == 0x08 else "<b")))  # noqa: PLR2004
        elif code == 0x23 and stack:  # noqa: PLR2004 - DW_OP_plus_uconst
            stack.append(stack.pop() + data.leb())
        elif code == 0x06 and stack:  # noqa: PLR2004 - DW_OP_deref
            stack.append(load(stack.pop()))
        elif code in _BINARY and len(stack) > 1:
            right = stack.pop()
            stack.append(_BINARY[code](stack.pop(), right))
        else:
            raise _Damaged
    if not stack:
        raise _Damaged
    return stack[-1] & UINT64_MAX


_BINARY: dict[int, Callable[[int, int], int]] = {
    0x1A: lambda left, right: left & right,
    0x1C: lambda left, right: left - right,
    0x22: lambda left, right: left + right,
    0x24: lambda left, right: left << (right & 63),
    0x2A: lambda left, right: int(left >= right),
}
