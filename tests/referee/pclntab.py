"""The second opinion on a Go binary: its pclntab -> FunctionInfo.

Plain on purpose, and independent of the engine. The layouts are those of Go's
runtime/symtab.go.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import product
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gsym.model import FunctionInfo, InlineInfo, LineEntry, Range, rewritten
from tests.referee.elf import ReferenceElf
from tests.referee.ranges import extend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Literal

    from tests.referee.reference import Reference

_SHF_EXECINSTR = 0x4
_GO_SECTIONS = (".gopclntab", ".data.rel.ro.gopclntab")
_BUILD_INFO = b"\xff Go buildinf:"
_GO_1_16, _GO_1_18, _GO_1_20 = 0xFFFF_FFFA, 0xFFFF_FFF0, 0xFFFF_FFF1
_NONE = 0xFFFF_FFFF
# Words of the module data.
_TEXT, _GOFUNC_1_18, _GOFUNC_1_20, _WORDS = 22, 38, 40, 48
# Among the tables of a function.
_PCDATA_CALLS, _FUNCDATA_TREE = 2, 3


class GoFile(Protocol):
    """A file that may have Go's function table."""

    @property
    def byteorder(self) -> Literal["little", "big"]:
        """The words of `sys.byteorder`."""

    address_size: int

    def is_text(self, address: int) -> bool:
        """Whether *address* lies in an executable section, if there are any."""

    def loaded_sections(self) -> Iterator[tuple[int, bytes]]:
        """Address and bytes of what is loaded and no code."""

    def pclntab_sections(self) -> Iterator[tuple[int, bytes]]:
        """The sections whose names say that they have the table."""


class GoElf(ReferenceElf):
    """An ELF file that may have it."""

    def loaded_sections(self) -> Iterator[tuple[int, bytes]]:
        """Address and bytes of what is loaded and no code."""
        for section in self._sections:
            is_loaded = section["sh_addr"] and section["sh_type"] != "SHT_NOBITS"
            if is_loaded and not section["sh_flags"] & _SHF_EXECINSTR:
                yield section["sh_addr"], section.data()

    def pclntab_sections(self) -> Iterator[tuple[int, bytes]]:
        """The sections whose names say that they have the table."""
        for section in map(self._elf.get_section_by_name, _GO_SECTIONS):
            if section is not None and section["sh_type"] != "SHT_NOBITS":
                yield section["sh_addr"], section.data()


class _Step(NamedTuple):
    """A value of a pc-value table; *start* and *end* count from the function."""

    start: int
    end: int
    value: int


class _Call(NamedTuple):
    """An inlined call; *parent* is the number of its caller, -1 the function."""

    name: str
    parent: int
    path: str
    line: int


class ReferencePclntab:
    """The pclntab of a binary."""

    def __init__(self, file: GoFile, path_map: Sequence[tuple[str, str]]) -> None:
        self._order = file.byteorder
        self._pointer = file.address_size
        self._path_map = path_map
        self._sections = list(file.loaded_sections())
        self._address, self._data = _find_table(file)
        self._magic = self._u32(0)
        self._quantum = self._data[6]
        fields = [self._uint(8 + i * self._pointer, self._pointer) for i in range(8)]
        if self._magic == _GO_1_16:
            fields.insert(2, 0)
        self._count, _, text = fields[:3]
        self._names, self._units, self._paths, self._values, self._functions = fields[
            3:8
        ]
        self._entry = self._pointer if self._magic == _GO_1_16 else 4
        words = self._module_data()
        self._text = words[_TEXT] if words and self._magic != _GO_1_16 else text
        self._trees = self._find_trees(words)

    def __iter__(self) -> Iterator[FunctionInfo]:
        """All functions that code is of, in order of their addresses."""
        if self._functions + 2 * self._count * self._entry > len(self._data):
            raise ValueError("the table of functions is cut off")
        for index in range(self._count):
            at = self._functions + 2 * index * self._entry
            start, record, end = (
                self._uint(at + i * self._entry, self._entry) for i in range(3)
            )
            if record != (1 << 8 * self._entry) - 1:
                yield self._function(
                    self._text + start, end - start, self._functions + record
                )

    # Access to the file.

    def _uint(self, at: int, size: int) -> int:
        return int.from_bytes(self._data[at : at + size], self._order)

    def _u32(self, at: int) -> int:
        return self._uint(at, 4)

    def _string(self, at: int) -> str:
        end = self._data.index(b"\0", at)
        return self._data[at:end].decode("utf-8", "surrogateescape")

    def _module_data(self) -> list[int]:
        """The first words of the module data, which start with known addresses."""
        wanted = [self._address, self._address + self._names]
        key = b"".join(each.to_bytes(self._pointer, self._order) for each in wanted)
        for _, data in self._sections:
            at = data.find(key)
            if at >= 0:
                words = data[at : at + _WORDS * self._pointer]
                return [
                    int.from_bytes(words[i : i + self._pointer], self._order)
                    for i in range(0, len(words), self._pointer)
                ]
        return []

    def _find_trees(self, words: list[int]) -> int:
        """The base of the offsets of inlined calls."""
        if self._magic == _GO_1_16 or not words:
            return 0
        if self._magic == _GO_1_18:
            return words[_GOFUNC_1_18]
        end = self._address + len(self._data)
        if end in words[_GOFUNC_1_20:]:  # since Go 1.26 they are in the table
            return words[words.index(end, _GOFUNC_1_20) - 1]
        return words[_GOFUNC_1_20]

    def _loaded(self, address: int) -> bytes:
        """The bytes at *address*, to the end of the section."""
        for start, data in self._sections:
            if start <= address < start + len(data):
                return data[address - start :]
        return b""

    # One function.

    def _function(self, address: int, size: int, record: int) -> FunctionInfo:
        fields = record + self._entry
        name = self._string(self._names + self._u32(fields))
        tables = [self._u32(fields + 4 * i) for i in range(8)]
        files, lines = (self._steps(tables[i]) for i in (4, 5))
        table_count, unit = tables[6:8]
        at = fields + 32 + (4 if self._magic == _GO_1_20 else 0)
        data_count = self._data[at + 3]
        at += 4
        calls: list[_Step] = []
        if table_count > _PCDATA_CALLS:
            calls = self._steps(self._u32(at + 4 * _PCDATA_CALLS))
        at += 4 * table_count
        if self._magic == _GO_1_16:
            at += -(at - self._functions) % self._pointer
        tree = no_tree = 0 if self._magic == _GO_1_16 else _NONE
        if data_count > _FUNCDATA_TREE:
            tree = self._uint(at + _FUNCDATA_TREE * self._entry, self._entry)
        size = min(size, max(_end(files), _end(lines)) or size)
        rows: list[LineEntry] = []
        for start in sorted({step.start for step in files + lines}):
            path = self._path(unit, _value_at(files, start))
            line = max(_value_at(lines, start), 0)
            if start < size and (not rows or rows[-1][1:] != (path, line)):
                rows.append(LineEntry(address + start, path, line))
        inline = None
        if calls and tree != no_tree:
            loaded = self._loaded(self._trees + tree)
            inline = self._inline(
                (address, size, name), calls, self._calls(loaded, unit, calls, rows)
            )
        return FunctionInfo(address, size, name, tuple(rows) or None, inline)

    def _steps(self, place: int) -> list[_Step]:
        steps: list[_Step] = []
        at, value, start = self._values + place, -1, 0
        while place:
            difference, at = self._uleb(at)
            if difference == 0 and start:
                break
            count, at = self._uleb(at)
            value += difference >> 1 ^ -(difference & 1)
            steps.append(_Step(start, start + count * self._quantum, value))
            start = steps[-1].end
        return steps

    def _uleb(self, at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            byte = self._data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value, at

    def _path(self, unit: int, number: int) -> str:
        if unit == _NONE or number < 0:
            return ""
        place = self._u32(self._units + 4 * (unit + number))
        if place == _NONE:
            return ""
        return rewritten(self._string(self._paths + place), self._path_map)

    # Inlined calls.

    def _calls(
        self, data: bytes, unit: int, steps: list[_Step], rows: list[LineEntry]
    ) -> list[_Call]:
        size = 16 if self._magic == _GO_1_20 else 20
        calls: list[_Call] = []
        count = 1 + max(step.value for step in steps)
        if size * count > len(data):
            return calls
        for at in range(0, size * count, size):
            words = [
                int.from_bytes(data[at + i : at + i + 4], self._order, signed=True)
                for i in range(0, size, 4)
            ]
            if self._magic == _GO_1_20:
                _, name, caller, _ = words
                index = bisect_right(rows, rows[0].address + caller, key=_address)
                row = rows[index - 1]
                parent = _value_at(steps, caller)
                calls.append(
                    _Call(self._string(self._names + name), parent, row.path, row.line)
                )
            else:
                parent = int.from_bytes(data[at : at + 2], self._order, signed=True)
                _, file, line, name, _ = words
                calls.append(
                    _Call(
                        self._string(self._names + name),
                        parent,
                        self._path(unit, file),
                        line,
                    )
                )
        return calls

    def _inline(
        self, function: tuple[int, int, str], steps: list[_Step], calls: list[_Call]
    ) -> InlineInfo | None:
        address, size, name = function
        # A caller is numbered before those that it calls.
        if any(call.parent >= number for number, call in enumerate(calls)):
            return None
        ranges: dict[int, list[Range]] = {}
        for step in steps:
            number = step.value
            end = min(step.end, size)
            while 0 <= number < len(calls) and step.start < end:
                found = ranges.setdefault(number, [])
                extend(found, address + step.start, address + end)
                number = calls[number].parent
        if not ranges:
            return None
        children: dict[int, list[int]] = {}
        for number in sorted(ranges, key=lambda each: ranges[each][0]):
            children.setdefault(calls[number].parent, []).append(number)

        def node(number: int) -> InlineInfo:
            call = calls[number]
            inner = tuple(map(node, children.get(number, ())))
            return InlineInfo(
                call.name, call.path, call.line, tuple(ranges[number]), inner
            )

        whole = (Range(address, address + size),)
        return InlineInfo(name, "", 0, whole, tuple(map(node, children[-1])))


def add_pclntab(
    reference: Reference, file: GoFile, path_map: Sequence[tuple[str, str]]
) -> None:
    """Add the functions of a Go binary, unless the DWARF describes them."""
    if not _find_table(file)[1]:
        return
    functions = [
        info for info in ReferencePclntab(file, path_map) if file.is_text(info.start)
    ]
    starts = {start for start, _ in reference.functions}
    if not starts & {each.start for each in functions}:
        reference.source = "the pclntab"
        for info in functions:
            reference.functions[info.start, info.start + info.size] = [info]


def _find_table(file: GoFile) -> tuple[int, bytes]:
    """Address and bytes of the table; 0 and no byte without one.

    Names of sections do not count: some tools that strip Go binaries spoil them.
    """
    sections = list(file.loaded_sections())
    if not any(data.startswith(_BUILD_INFO) for _, data in sections):
        sections = list(file.pclntab_sections())
    order = file.byteorder
    for address, data in sections:
        for magic, quantum in product((_GO_1_16, _GO_1_18, _GO_1_20), (1, 2, 4)):
            head = bytes([0, 0, quantum, file.address_size])
            at = data.find(magic.to_bytes(4, order) + head)
            if at >= 0:
                return address + at, data[at:]
    return 0, b""


def _address(row: LineEntry) -> int:
    return row.address


def _end(steps: list[_Step]) -> int:
    return steps[-1].end if steps else 0


def _value_at(steps: list[_Step], offset: int) -> int:
    for step in steps:
        if step.start <= offset < step.end:
            return step.value
    return -1
