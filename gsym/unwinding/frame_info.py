"""Call frame information (`.eh_frame`, `.debug_frame`): from a frame to its caller.

Where functions keep no frame pointer, as in most system libraries, debuggers and
exceptions find the caller by it. `.eh_frame_hdr`, which is loaded, is an index of
`.eh_frame`; without it, the entries of a section are read one after the other.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress

from gsym.cache import BoundedCache
from gsym.model import UINT64_MAX
from gsym.ranges import AddressRanges
from gsym.records import NamedTuple
from gsym.unwinding.expressions import (
    ByteReader,
    DamagedError,
    Operands,
    evaluate,
    unless_damaged,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gsym.unwinding.images import Memory
    from gsym.unwinding.machines import Machine

    Rules = dict[int, tuple[str, int | bytes]]


class Step(NamedTuple):
    """The registers in the caller of a function, by their numbers in DWARF."""

    # where the function returns to; 0 if it has no caller, None if unknown
    pc: int | None
    values: dict[int, int]  # registers that are known
    is_signal: bool  # whether a signal interrupted the caller, so that *pc* is exact
    trust: str = "call frame info"  # how it was found; see `ReportFrame.trust`
    row: Row | None = None  # the rules that it was made by, if it is by such


HEADER_MAGIC = b"\x01\x1b\x03\x3b"  # version and encodings that all linkers write
_HEADER_SIZE, _ENTRY_SIZE = 12, 8
_MAX_ENTRIES = 1 << 26
# Limit: Entry of `.eh_frame` of a process or core
_MAX_SIZE = 1 << 20
# Limit: Call frame information of a module that is run
_MAX_RUN = 16 << 20
_MAX_COMMON = 4096  # bytes of a CIE in a section
# Limit: States that an entry of `.eh_frame` remembers
_MAX_DEPTH = 256
_MAX_ROWS = 1 << 14  # kept
_MAX_SPAN = 4096  # bytes of saved registers that are read at once
# Limit: Rules in all rows of a function that is exported
_MAX_RULES = 1 << 18
_PC_RELATIVE, _OMITTED, _INDIRECT = 0x10, 0xFF, 0x80
_FIXED = {0x02: 2, 0x03: 4, 0x04: 8, 0x0A: 2, 0x0B: 4, 0x0C: 8}
_SIGNED_FORMS = 0x08
_LONG = 0xFFFFFFFF  # a length of 64 bits follows


class FrameSection(NamedTuple):
    """A section with call frame information."""

    data: bytes | memoryview
    address: int
    is_debug: bool = False


class Row(NamedTuple):
    """The rules at an address."""

    frame: tuple[int, int] | bytes  # a register and an offset from it, or an expression
    rules: Rules  # the rules of registers, by their numbers in DWARF
    return_register: int  # the number of the return address
    is_signal: bool  # whether a signal interrupted the caller
    size: int  # bytes of all expressions
    # registers and their offsets from the canonical frame address, if all rules are
    # such
    saved: tuple[tuple[int, int], ...]
    lowest: int  # the lowest of these offsets
    span: int  # bytes from there to the highest


def make_row(
    frame: tuple[int, int] | bytes,
    rules: Rules,
    return_register: int,
    *,
    is_signal: bool = False,
) -> Row:
    """The rules at an address; see `Row`."""
    operands = frame, *(operand for _, operand in rules.values())
    size = sum(len(each) for each in operands if isinstance(each, bytes))
    offsets = {
        register: operand
        for register, (kind, operand) in rules.items()
        if kind == "offset" and isinstance(operand, int)
    }
    lowest, highest = min(offsets.values(), default=0), max(offsets.values(), default=0)
    are_all = len(offsets) == len(rules) and not size
    is_plain = are_all and highest - lowest <= _MAX_SPAN
    saved = tuple(offsets.items()) if is_plain else ()
    span = highest - lowest
    return Row(frame, rules, return_register, is_signal, size, saved, lowest, span)


class _Common(NamedTuple):
    """A CIE."""

    code_unit: int
    data_unit: int
    return_register: int
    encoding: int
    has_augmentation: bool
    is_signal: bool
    instructions: bytes


class _Function(NamedTuple):
    """An FDE; *data* is the rest of it."""

    common: _Common
    start: int
    size: int
    data: ByteReader


class KeptRows:
    """Rules for the frames of an image, by link-time addresses, which are kept."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._rows: BoundedCache[int, Row | None] = BoundedCache(_MAX_ROWS)
        self._left = _MAX_RUN

    def row(self, pc: int) -> Row | None:
        """The rules at an address; None if there are none."""
        if pc not in self._rows:
            self._rows.keep(pc, self._find_row(pc))
        return self._rows[pc]

    @unless_damaged
    def step(self, pc: int, values: dict[int, int], memory: Memory) -> Step | None:
        """The registers in the caller of the function at *pc*; None if unknown."""
        row = self.row(pc)
        if row is None or self._left <= 0:
            return None
        self._left -= row.size
        return apply_row(row, values, memory, self._machine)

    def _find_row(self, pc: int) -> Row | None:
        raise NotImplementedError


class CallFrames(KeptRows):
    """The call frame information of an image, by link-time addresses.

    Args:
        machine: What it is for.
        read: Reads what is loaded.
        header: Address of `.eh_frame_hdr`; 0 if there is none.
        sections: Sections in which to search what the header does not have.
    """

    def __init__(
        self,
        machine: Machine,
        read: Memory,
        header: int = 0,
        sections: Iterable[FrameSection] = (),
    ) -> None:
        super().__init__(machine)
        self._read = read
        self._header = header
        self._sections = tuple(sections)
        self._indexes: dict[int, AddressRanges[int]] = {}

    @unless_damaged
    def _find_row(self, pc: int) -> Row | None:
        function = self._function(pc)
        if function is None or self._left <= 0:
            return None
        self._left -= len(function.data.data) + len(function.common.instructions)
        table = _Table(function.common)
        for end in table.run_function(function):
            if end > pc:
                break
        return table.row()

    def is_signal_frame(self, pc: int) -> bool:
        """Whether a handler returns to *pc*, by the letter S of its augmentation."""
        function = self._function(pc)
        return function is not None and function.common.is_signal

    def _function(self, pc: int) -> _Function | None:
        if self._header:
            entry = self._search(pc)
            found = None if entry is None else self._function_in(None, entry, {})
            if found is not None and 0 <= pc - found.start < found.size:
                return found
        for number, section in enumerate(self._sections):
            if number not in self._indexes:
                self._indexes[number] = AddressRanges(
                    sorted(
                        (each.start, each.start + each.size, place)
                        for place, each in self._functions(section)
                    )
                )
            place = self._indexes[number].find(pc)
            found = None if place is None else self._function_in(section, place, {})
            if found is not None:
                return found
        return None

    @unless_damaged
    def _search(self, pc: int) -> int | None:
        """The address of the FDE whose function may have *pc*, by the header."""
        head = self._reader(self._header, _HEADER_SIZE)
        if head.take(4) != HEADER_MAGIC:
            return None
        head.take(4)
        count = head.fixed(4)
        if not 0 < count < _MAX_ENTRIES:
            return None
        table = self._header + _HEADER_SIZE

        def field(at: int) -> int:
            return self._header + self._reader(table + at, 4).fixed(4, signed=True)

        starts = range(0, count * _ENTRY_SIZE, _ENTRY_SIZE)
        after = bisect_right(starts, pc, key=field)
        return field(starts[after - 1] + 4) if after else None

    def _reader(self, address: int, size: int) -> ByteReader:
        read = self._read(address & UINT64_MAX, size)
        return ByteReader(read, self._machine.word, self._machine.order)

    def functions(self) -> Iterator[tuple[int, list[tuple[int, Row]]]]:
        """The end of each function in the sections, and its rows with their starts.

        A function with damaged rules has no rows.
        """
        for section in self._sections:
            for _, function in self._functions(section):
                rows: list[tuple[int, Row]] = []
                with suppress(DamagedError, OverflowError):
                    rows = _rows(function)
                yield function.start + function.size, rows

    def _functions(self, section: FrameSection) -> Iterator[tuple[int, _Function]]:
        """The functions of a section, and the places of their FDEs there."""
        known: dict[int, _Common | None] = {}
        at = 0
        while (sized := self._sized(section, at)) is not None:
            place, at = at, sized.end
            found = self._function_in(section, place, known)
            if found is not None and found.size:
                yield place, found

    @unless_damaged
    def _function_in(
        self, section: FrameSection | None, at: int, known: dict[int, _Common | None]
    ) -> _Function | None:
        """The FDE at a place in a section, or at an address; None for any other entry.

        Those are CIEs, and what is damaged.
        """
        sized = self._sized(section, at)
        if sized is None:
            return None
        data = sized.data
        is_debug, base = (False, 0) if section is None else (section[2], section[1])
        second = data.fixed(sized.id_size)
        if second == (((1 << 8 * sized.id_size) - 1) if is_debug else 0):
            return None
        back = second if is_debug else sized.start - second
        if back not in known:
            known[back] = None
            head = self._sized(section, back)
            if head is not None and head.end - head.start <= _MAX_COMMON:
                head.data.fixed(head.id_size)
                known[back] = _read_common(head.data, base + head.start)
        common = known[back]
        if common is None:
            return None
        start = _pointer(data, common.encoding, base + sized.start)
        size = _pointer(data, common.encoding & 0x0F, base + sized.start)
        return _Function(common, start, size, data)

    def _sized(self, section: FrameSection | None, at: int) -> _Sized | None:
        """The entry at a place, or address, after its length; None at the end."""

        def reader(start: int, size: int) -> ByteReader:
            if section is None:
                return self._reader(start, size)
            held = bytes(section.data[start : start + size])
            return ByteReader(held, self._machine.word, self._machine.order)

        head = reader(max(at, 0), 12)
        if at < 0 or len(head.data) < 4:  # noqa: PLR2004 - of the length
            return None
        length, id_size = head.fixed(4), 4
        if length == _LONG and len(head.data) > 4:  # noqa: PLR2004
            length = int.from_bytes(head.data[4:], self._machine.order)
            id_size = 8 if section is not None and section.is_debug else 4
            head.at = len(head.data)
        start = at + head.at
        data = reader(start, min(length, _MAX_SIZE))
        if length > len(data.data):
            return None
        return _Sized(data, start, start + length, id_size)


class _Sized(NamedTuple):
    """An entry of a section from *start* to *end*, without its length."""

    data: ByteReader
    start: int
    end: int
    id_size: int


def _pointer(data: ByteReader, encoding: int, start: int) -> int:
    """A pointer; those that are relative to something else than here are damage."""
    place = start + data.at
    kind = encoding & 0x0F
    if kind in {1, 9}:
        value = data.leb(signed=kind == 9)  # noqa: PLR2004 - DW_EH_PE_sleb128
    elif kind in {0, _SIGNED_FORMS}:
        value = data.fixed(data.word, signed=bool(kind))
    elif kind in _FIXED:
        value = data.fixed(_FIXED[kind], signed=bool(kind & _SIGNED_FORMS))
    else:
        raise DamagedError
    application = encoding & 0x70
    if application not in {0, _PC_RELATIVE} or encoding & _INDIRECT:
        raise DamagedError
    mask = (1 << 8 * data.word) - 1
    return (value + (place if application else 0)) & mask


def _read_common(data: ByteReader, start: int) -> _Common:
    """A CIE after its second field; *start* is the address of the first byte."""
    version = data.byte()
    if version not in {1, 3, 4}:
        raise DamagedError
    end = data.data.find(b"\0", data.at)
    augmentation = data.take(end - data.at) if end >= 0 else b"?"
    data.byte()
    if version == 4:  # noqa: PLR2004 - sizes of addresses and segment selectors
        data.word = data.byte() or data.word
        if data.byte():
            raise DamagedError
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
                _pointer(data, data.byte() & ~(_INDIRECT | 0x70), start)
            elif each == ord("L"):
                data.byte()
            is_signal = is_signal or each == ord("S")
        data.at = rest
    elif augmentation:
        raise DamagedError
    return _Common(
        *(code_unit, data_unit, register, encoding),
        augmentation.startswith(b"z"),
        is_signal,
        data.take(len(data.data) - data.at),
    )


def _rows(function: _Function) -> list[tuple[int, Row]]:
    """All rules of a function, each with the address from which on they hold."""
    table, rows, at, count = _Table(function.common), [], function.start, 0
    for end in table.run_function(function):
        if end > at:
            rows.append((at, table.row()))
            at, count = end, count + len(table.rules) + 1
            if count > _MAX_RULES:
                raise DamagedError
    return [*rows, (at, table.row())]


def apply_row(
    row: Row, values: dict[int, int], memory: Memory, machine: Machine
) -> Step:
    """The registers in the caller, by the rules of a function.

    Raises:
        DamagedError: A rule reads what is not in memory, or makes no sense.
        KeyError: A register is not known.
    """
    plain = _by_saved(row, values, memory, machine) if row.saved else None
    if plain is not None:
        return plain
    word, order = machine.word, machine.order
    mask = (1 << 8 * word) - 1

    def load(address: int, size: int = word) -> int:
        """A number in memory."""
        held = memory(address & mask, size)
        if len(held) < size:
            raise DamagedError
        return int.from_bytes(held, order)

    operands = Operands(values, load, word, order)
    if isinstance(row.frame, bytes):
        frame = evaluate(row.frame, operands)
    else:
        register, offset = row.frame
        frame = (values[register] + offset) & mask
    if row.size:  # of expressions
        operands = operands._replace(frame=frame)
    found = {**values, machine.stack: (frame - machine.frame_bias) & mask}
    for register, (kind, operand) in row.rules.items():
        if kind == "undefined":
            found.pop(register, None)
        elif isinstance(operand, bytes):
            value = evaluate(operand, operands, frame)
            found[register] = load(value) if kind == "expression" else value
        elif kind == "register":
            found[register] = values[operand]
        else:
            value = (frame + operand) & mask
            found[register] = load(value) if kind == "offset" else value
    return _stepped(row, found, machine)


def _by_saved(
    row: Row, values: dict[int, int], memory: Memory, machine: Machine
) -> Step | None:
    """The caller of `apply_row`, with one read; None where not all is there."""
    if isinstance(row.frame, bytes):
        return None
    register, offset = row.frame
    word, order, lowest = machine.word, machine.order, row.lowest
    mask = (1 << 8 * word) - 1
    frame = (values[register] + offset) & mask
    size = row.span + word
    held = memory((frame + lowest) & mask, size)
    if len(held) < size:
        return None
    found = {**values, machine.stack: (frame - machine.frame_bias) & mask}
    for number, place in row.saved:
        at = place - lowest
        found[number] = int.from_bytes(held[at : at + word], order)
    return _stepped(row, found, machine)


def _stepped(row: Row, found: dict[int, int], machine: Machine) -> Step:
    """The caller, whose registers are those that were found."""
    back = row.return_register
    pc = found.get(back)
    if back not in row.rules and back == machine.pc:
        pc = None  # it is never that of the caller
    elif row.rules.get(back) == ("undefined", 0):
        pc = 0
    if not row.is_signal:
        found.pop(back, None)
    found.pop(machine.pc, None)
    return Step(pc, found, row.is_signal, "call frame info", row)


class _Table:
    """The rules at an address, while instructions are run."""

    def __init__(self, common: _Common) -> None:
        self._common = common
        self.frame: tuple[int, int] | bytes = (-1, 0)
        self.rules: Rules = {}
        self._initial: Rules = {}
        self._kept: list[tuple[tuple[int, int] | bytes, Rules]] = []

    def row(self) -> Row:
        """The rules where the instructions are."""
        back, is_signal = self._common.return_register, self._common.is_signal
        return make_row(self.frame, dict(self.rules), back, is_signal=is_signal)

    def run_function(self, function: _Function) -> Iterator[int]:
        """Run all instructions; yield where the rules end that hold at that time."""
        common, start, _, data = function
        rest = ByteReader(data.data, data.word, data.order)
        rest.at = data.at
        if common.has_augmentation:
            rest.take(rest.leb())
        of_all = ByteReader(common.instructions, data.word, data.order)
        yield from self._run_all(of_all, start)
        self._initial = dict(self.rules)
        yield from self._run_all(rest, start)

    def _run_all(self, data: ByteReader, location: int) -> Iterator[int]:
        while data.at < len(data.data):
            code = data.byte()
            kind, low = code & 0xC0, code & 0x3F
            if code == 0x01:
                location = _pointer(data, self._common.encoding & 0x0F, 0)
                yield location
            elif kind == _ADVANCE or code in _ADVANCES:
                by = low if kind else data.fixed(_ADVANCES[code])
                location += by * self._common.code_unit
                yield location
            elif kind:  # DW_CFA_offset, DW_CFA_restore
                self._set_register(kind, low, data)
            else:
                self._run(code, data)

    def _run(self, code: int, data: ByteReader) -> None:
        if code in _OF_FRAME:
            self._set_frame(code, data)
        elif code == 0x0A:  # noqa: PLR2004 - DW_CFA_remember_state
            if len(self._kept) >= _MAX_DEPTH:
                raise DamagedError
            self._kept.append((self.frame, dict(self.rules)))
        elif code == 0x0B:  # noqa: PLR2004 - DW_CFA_restore_state
            if not self._kept:
                raise DamagedError
            self.frame, self.rules = self._kept.pop()
        elif code == 0x2E:  # noqa: PLR2004 - DW_CFA_GNU_args_size
            data.leb()
        elif code in _OF_REGISTER:
            self._set_register(code, data.leb(), data)
        elif code not in _WITHOUT_EFFECT:
            raise DamagedError

    def _set_register(self, code: int, register: int, data: ByteReader) -> None:
        kind, form = _OF_REGISTER[code]
        if kind == "restore" and register in self._initial:
            self.rules[register] = self._initial[register]
        elif kind in {"same", "restore"}:
            self.rules.pop(register, None)
        elif form == "block":
            self.rules[register] = kind, data.take(data.leb())
        elif form == "factored":
            number = data.leb(signed=code in _SIGNED)
            if code == 0x2F:  # noqa: PLR2004 - DW_CFA_GNU_negative_offset_extended
                number = -number
            self.rules[register] = kind, number * self._common.data_unit
        else:
            self.rules[register] = kind, data.leb() if form else 0

    def _set_frame(self, code: int, data: ByteReader) -> None:
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
_WITHOUT_EFFECT = frozenset({0x00, 0x2C, 0x2D})  # nop; the signing of return addresses
_SIGNED = frozenset({0x11, 0x15})
_ADVANCE, _ADVANCES = 0x40, {0x02: 1, 0x03: 2, 0x04: 4, 0x1D: 8}
_OF_REGISTER = {
    0x80: ("offset", "factored"),
    0xC0: ("restore", ""),
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
    0x2F: ("offset", "factored"),
}
