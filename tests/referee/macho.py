"""Mach-O files for the second decoder: sections, symbols, the debug map."""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from gsym.errors import FormatError
from gsym.model import UINT64_END, Range
from gsym.ranges import merged, range_at
from tests.referee.file import ReferenceFile, Symbol, text_of

_MAGIC_64 = 0xFEEDFACF
_LITTLE_ENDIAN = {0xCE, 0xCF}  # the first byte
_CPU_ARM = 12
_SUBTRACTORS = {0x01000007: 5, 0x0100000C: 1, 0x0200000C: 1}  # x86-64, arm64, arm64_32
_SCATTERED = 0x80000000
_SEGMENT, _SYMTAB, _DYSYMTAB, _SEGMENT_64, _UUID = 0x1, 0x2, 0xB, 0x19, 0x1B
_FUNCTION_STARTS = 0x26
_OBJECT = 1  # type of a file
_CODE = 0x80000400  # flags of a section
_TYPE, _ZEROFILL, _STUBS = 0xFF, {1, 12, 18}, 8
_NAME_SIZE = 16
_STAB, _KIND, _IN_SECTION = 0xE0, 0x0E, 0x0E  # bits of a symbol's type
_N_FUN, _N_SO, _N_OSO = 0x24, 0x64, 0x66
_NO_TARGET = 0xC0000000  # an indirect symbol that is local or absolute
_TEMPORARY = re.compile(r"ltmp[0-9]")  # labels of assemblers
_STUB_NAME = "symbol stub for: "
_GO_TABLE = "__gopclntab"


class _Section(NamedTuple):
    """A section header."""

    name: str
    address: int
    size: int
    offset: int
    relocations: int  # where they are in the file
    relocation_count: int
    flags: int
    first_stub: int  # its number among the indirect symbols
    stub_size: int

    @property
    def is_stored(self) -> bool:
        """Whether the file has its bytes; a dSYM bundle has headers of others."""
        return self.offset != 0 and self.flags & _TYPE not in _ZEROFILL


class _Entry(NamedTuple):
    """A symbol as it stands in the table."""

    name: str
    type: int
    section: int
    value: int


class MapEntry(NamedTuple):
    """An object file of a debug map, and where its functions were linked to."""

    path: str
    functions: list[tuple[str, int]]


class ReferenceMacho(ReferenceFile):
    """A Mach-O file."""

    def __init__(self, path: str, data: memoryview) -> None:
        super().__init__(path)
        self._data = data
        self.little_endian: bool = self._data[0] in _LITTLE_ENDIAN
        self._order = "<" if self.little_endian else ">"
        self._sections: list[_Section] = []
        self._commands: dict[int, bytes] = {}
        self._base: int | None = None
        try:
            self._read_commands()
            self._entries = list(self._read_symbols())
            self._starts = sorted(self._function_starts())
        except (struct.error, IndexError) as error:
            reason = f"the Mach-O file is cut off: {error}"
            raise FormatError(reason, path=path) from error
        self.text_ranges: list[Range] = merged(
            Range(each.address, each.address + each.size)
            for each in self._sections
            if each.flags & _CODE and each.size
        )

    def _close(self) -> None:
        pass

    def _unpack(
        self, layout: str, data: bytes | memoryview, at: int = 0
    ) -> tuple[Any, ...]:
        return struct.unpack_from(self._order + layout, data, at)

    # Load commands.

    def _read_commands(self) -> None:
        magic, self._cpu, _, self._type, count = self._unpack("5I", self._data)
        self.isa_bit: int = int(self._cpu == _CPU_ARM)  # Thumb
        self._word = "Q" if magic == _MAGIC_64 else "I"
        self.address_size: int = struct.calcsize(self._word)
        at = 32 if magic == _MAGIC_64 else 28
        for _ in range(count):
            command, size = self._unpack("2I", self._data, at)
            body = bytes(self._data[at : at + max(size, 8)])
            if command in {_SEGMENT, _SEGMENT_64}:
                self._read_segment(body)
            else:
                self._commands.setdefault(command, body)
            at += len(body)

    def _read_segment(self, body: bytes) -> None:
        head, section = f"8x16s4{self._word}4I", f"16s16x2{self._word}7I"
        name, address, _, _, _, _, _, count, _ = self._unpack(head, body)
        if text_of(name) == "__TEXT" and self._base is None:
            self._base = address
        at = struct.calcsize("<" + head)
        for _ in range(count):
            own, start, size, offset, _, *others = self._unpack(section, body, at)
            self._sections.append(_Section(text_of(own), start, size, offset, *others))
            at += 68 if self._word == "I" else 80

    def _table(self, command: int, at: int, entry_size: int) -> bytes:
        """The bytes of a table whose offset and count stand in a load command."""
        if command not in self._commands:
            return b""
        offset, count = self._unpack("2I", self._commands[command], at)
        return bytes(self._data[offset : offset + count * entry_size])

    def base_address(self) -> int | None:
        """The address of the segment __TEXT."""
        return None if self._type == _OBJECT else self._base

    def build_id(self) -> bytes:
        """LC_UUID."""
        return self._commands.get(_UUID, b"")[8:24]

    # Symbols.

    def _read_symbols(self) -> Iterator[_Entry]:
        layout = f"I2BH{self._word}"
        size = struct.calcsize("<" + layout)
        names = self._table(_SYMTAB, 16, 1)
        table = self._table(_SYMTAB, 8, size)
        for at in range(0, len(table) - size + 1, size):
            name, kind, section, _, value = self._unpack(layout, table, at)
            value &= ~self.isa_bit
            text = text_of(names[name : names.find(b"\0", name)]) if name else ""
            yield _Entry(text, kind, section, value)

    def _function_starts(self) -> Iterator[int]:
        """The starts of functions, of symbols of code and LC_FUNCTION_STARTS."""
        for entry, _ in self._functions():
            yield entry.value
        address, delta, shift = self._base or 0, 0, 0
        for byte in self._table(_FUNCTION_STARTS, 8, 1):
            delta |= (byte & 0x7F) << shift
            shift += 7
            if byte & 0x80:
                continue
            if not delta:
                return
            address += delta
            yield address & ~self.isa_bit
            delta = shift = 0

    def _functions(self) -> Iterator[tuple[_Entry, int]]:
        """Symbols in sections of code, and where the section of each ends."""
        for entry in self._entries:
            if entry.type & (_STAB | _KIND) != _IN_SECTION or not entry.name:
                continue
            if 0 < entry.section <= len(self._sections):
                section = self._sections[entry.section - 1]
                end = section.address + section.size
                if section.flags & _CODE and section.address <= entry.value < end:
                    yield entry, end

    def sized_functions(self) -> Iterator[tuple[str, Range]]:
        """Name and range of each function: a range ends where the next one starts."""
        for entry, end in self._functions():
            after = bisect_right(self._starts, entry.value)
            starts = self._starts[after : after + 1]
            yield entry.name, Range(entry.value, min([end, *starts]))

    def own_symbols(self) -> Iterator[Symbol]:
        """Functions and stubs, without the underscore that C adds to a name."""
        for name, (start, end) in self.sized_functions():
            if not _TEMPORARY.match(name):
                yield Symbol(start, end - start, name.removeprefix("_"))
        targets = self._table(_DYSYMTAB, 56, 4)
        for section in self._sections:
            if section.flags & _TYPE == _STUBS and section.stub_size:
                yield from self._stubs(section, targets[4 * section.first_stub :])

    def _stubs(self, section: _Section, targets: bytes) -> Iterator[Symbol]:
        count = min(section.size // section.stub_size, len(targets) // 4)
        for number, target in enumerate(self._unpack(f"{count}I", targets)):
            if not target & _NO_TARGET and target < len(self._entries):
                name = self._entries[target].name.removeprefix("_")
                start = section.address + number * section.stub_size
                yield Symbol(start, section.stub_size, _STUB_NAME + name)

    def debug_map(self) -> list[MapEntry]:
        """The object files that it was linked from, in the order of the symbols."""
        entries: list[MapEntry] = []
        is_inside = False
        for entry in self._entries:
            if entry.type == _N_OSO:
                is_inside = bool(entry.name)
                entries += [MapEntry(entry.name, [])] * is_inside
            elif entry.type == _N_SO and not entry.name:
                is_inside = False
            elif entry.type == _N_FUN and entry.name and is_inside:
                entries[-1].functions.append((entry.name, self._place(entry)))
        return entries

    def _place(self, stab: _Entry) -> int:
        """Place of a function: zig's linker notes the stub of one that is called."""
        if range_at(self._stub_ranges, stab.value) is None:
            return stab.value
        return self._function_at.get(stab.name, stab.value)

    @cached_property
    def _stub_ranges(self) -> list[Range]:
        return merged(
            Range(each.address, each.address + each.size)
            for each in self._sections
            if each.flags & _TYPE == _STUBS
        )

    @cached_property
    def _function_at(self) -> dict[str, int]:
        """Start of the first function of each name."""
        found: dict[str, int] = {}
        for name, extent in self.sized_functions():
            found.setdefault(name, extent.start)
        return found

    # Sections.

    def loaded_sections(self) -> Iterator[tuple[int, bytes]]:
        """Address and bytes of what is loaded and no code."""
        for section in self._sections:
            if section.address and section.is_stored and not section.flags & _CODE:
                yield section.address, self._stored(section)

    def pclntab_sections(self) -> Iterator[tuple[int, bytes]]:
        """The section __gopclntab."""
        for section in self._sections:
            if section.name == _GO_TABLE and section.is_stored:
                yield section.address, self._stored(section)

    def debug_section(self, name: str) -> bytes | None:
        """A section of DWARF; its name is cut at 16 bytes."""
        spellings = {f"__{name}"[:_NAME_SIZE], f"__z{name}"[:_NAME_SIZE]}
        for section in self._sections:
            if section.name in spellings and section.size and section.is_stored:
                stored = self._stored(section)
                if section.name.startswith("__z"):
                    return self._inflate_old(section.name, stored, len(self._data))
                try:
                    return self._relocated(section, stored)
                except (struct.error, IndexError) as error:
                    reason = f"damaged relocations of section {section.name}"
                    raise FormatError(reason, path=self.path) from error
        return None

    def _stored(self, section: _Section) -> bytes:
        end = section.offset + section.size
        if end > len(self._data):
            reason = f"section {section.name} runs past the end of the file"
            raise FormatError(reason, path=self.path, offset=section.offset)
        return bytes(self._data[section.offset : end])

    def _relocated(self, section: _Section, stored: bytes) -> bytes:
        """The bytes of a section of an object file.

        What counts from a section has its value already; a symbol is to be added.
        """
        if self._type != _OBJECT:
            return stored
        data = bytearray(stored)
        byteorder = self.byteorder
        for number in range(section.relocation_count):
            place, word = self._unpack(
                "2I", self._data, section.relocations + 8 * number
            )
            if self.little_endian:
                symbol, is_symbol = word & 0xFFFFFF, word >> 27 & 1
                size, kind = 1 << (word >> 25 & 3), word >> 28
            else:
                symbol, is_symbol = word >> 8, word >> 4 & 1
                size, kind = 1 << (word >> 5 & 3), word & 0xF
            if place & _SCATTERED or not is_symbol:
                continue
            value = int.from_bytes(data[place : place + size], byteorder)
            subtracts = kind == _SUBTRACTORS.get(self._cpu)
            value += self._entries[symbol].value * (-1 if subtracts else 1)
            value %= 1 << 8 * size
            data[place : place + size] = value.to_bytes(size, byteorder)
        return bytes(data)


class LinkedObject(ReferenceMacho):
    """An object file of a debug map: its functions lie elsewhere in what was linked."""

    def __init__(
        self, path: str, data: memoryview, functions: list[tuple[str, int]]
    ) -> None:
        super().__init__(path, data)
        linked: dict[str, list[int]] = {}
        for name, address in sorted(functions, reverse=True):
            linked.setdefault(name, []).append(address)
        # Several functions of one name keep their order; one has several names.
        own = sorted(self.sized_functions(), key=lambda each: each[1])
        moves = {
            span: linked[name].pop() - span.start
            for name, span in own
            if linked.get(name)
        }
        self._spans, self._distances = list(moves), list(moves.values())

    def moved(self, start: int, end: int) -> Iterator[tuple[Range, int]]:
        """The linked parts of a range, and how far each was moved."""
        first = max(bisect_right(self._spans, (start, UINT64_END)) - 1, 0)
        for span, distance in zip(
            self._spans[first:], self._distances[first:], strict=True
        ):
            if span.start >= end:
                return
            part = Range(max(start, span.start), min(end, span.end))
            if part.start < part.end:
                yield part, distance
