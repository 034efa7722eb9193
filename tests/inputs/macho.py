"""Tiny Mach-O files: segments, sections, symbols, LC_UUID, fat files of them.

    Macho((code(0x1000, 0x100), *debug_sections({".debug_info": b"..."})))

Everything a reader may meet can be asked for: 32 and 64 bits, both byte orders,
any CPU, files with and without addresses of their own.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.inputs.encoding import ByteOrder, Encoding, cstring, uleb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OBJECT, EXECUTE, DYLIB, DSYM = 1, 2, 6, 10
I386, X86_64, ARM, ARM64, ARM64_32, PPC, PPC64 = (
    *(7, 7 | 1 << 24, 12, 12 | 1 << 24, 12 | 1 << 25),
    *(18, 18 | 1 << 24),
)
REGULAR, ZEROFILL, SYMBOL_STUBS = 0, 1, 8
PURE, SOME, DEBUG = 0x80000000, 0x400, 0x02000000
CODE = PURE | SOME
UNDEFINED, ABSOLUTE, IN_SECTION, EXTERNAL = 0x0, 0x2, 0xE, 0x1
N_GSYM, N_FUN, N_STSYM, N_BNSYM, N_ENSYM = 0x20, 0x24, 0x26, 0x2E, 0x4E
N_SO, N_OSO = 0x64, 0x66
THUMB = 0x8
SEGMENT, SYMTAB, DYSYMTAB, SEGMENT_64, UUID, FUNCTION_STARTS = (
    *(0x1, 0x2, 0xB, 0x19, 0x1B, 0x26),
)
_CPUS = {
    (64, "little"): (ARM64, 0),
    (32, "little"): (ARM, 9),
    (64, "big"): (PPC64, 0),
    (32, "big"): (PPC, 0),
}


@dataclass(frozen=True)
class Relocation:
    """*symbol* is its index, or that of a section where *names_symbol* is False."""

    place: int
    symbol: int
    type: int = 0
    size: int = 8
    names_symbol: bool = True
    relative: bool = False

    def encode(self, encoding: Encoding) -> bytes:
        size = self.size.bit_length() - 1
        if encoding.byteorder == "little":
            word = self.symbol | self.relative << 24 | size << 25
            word |= self.names_symbol << 27 | self.type << 28
        else:
            word = self.symbol << 8 | self.relative << 7 | size << 5
            word |= self.names_symbol << 4 | self.type
        return encoding.uint(self.place, 4) + encoding.uint(word, 4)


@dataclass(frozen=True)
class Section:
    """*size* stands for contents of zeros, which a dSYM has no bytes for."""

    name: str
    data: bytes = b""
    segment: str = "__TEXT"
    address: int = 0
    size: int = 0
    flags: int = REGULAR
    indirect_first: int = 0
    stub_size: int = 0
    relocations: Sequence[Relocation] = ()


@dataclass(frozen=True)
class Symbol:
    """*section* is a name, or a number that names none."""

    name: str
    value: int
    section: str | int = "__text"
    type: int = IN_SECTION | EXTERNAL
    description: int = 0


def code(address: int = 0x1000, size: int = 0x1000, name: str = "__text") -> Section:
    return Section(name, address=address, size=size, flags=CODE)


def debug_name(name: str, prefix: str = "__") -> str:
    """What Mach-O calls an ELF section such as .debug_str_offsets."""
    return (prefix + name.removeprefix("."))[:16]


def debug_sections(
    dwarf: Mapping[str, bytes], *, packed: bool = False
) -> list[Section]:
    """Sections of the segment __DWARF; *packed*: as __zdebug sections."""
    if not packed:
        return [
            Section(debug_name(name), data, "__DWARF", flags=DEBUG)
            for name, data in dwarf.items()
        ]
    return [
        Section(
            debug_name(name, "__z"),
            b"ZLIB" + len(data).to_bytes(8, "big") + zlib.compress(data),
            "__DWARF",
            flags=DEBUG,
        )
        for name, data in dwarf.items()
    ]


@dataclass(frozen=True)
class Macho:
    """A file. *base* is the address of __TEXT, None: there is no such segment.

    *function_starts* are addresses; *indirect* are indexes of symbols.
    """

    sections: Sequence[Section] = ()
    symbols: Sequence[Symbol] = ()
    uuid: bytes | None = None
    base: int | None = 0
    function_starts: Sequence[int] = ()
    indirect: Sequence[int] = ()
    bits: int = 64
    byteorder: ByteOrder = "little"
    cpu: tuple[int, int] | None = None
    type: int = EXECUTE

    def to_bytes(self) -> bytes:
        return _Writer(self).encode()


class _Writer:
    def __init__(self, macho: Macho) -> None:
        self.macho = macho
        self.wide = macho.bits == 64
        self.encoding = Encoding(macho.byteorder, macho.bits // 8)
        self.uint, self.word = self.encoding.uint, self.encoding.address
        self.segments: dict[str, list[Section]] = {}
        if macho.base is not None:
            self.segments["__TEXT"] = []
        for section in macho.sections:
            name = "" if macho.type == OBJECT else section.segment
            self.segments.setdefault(name, []).append(section)

    def _order(self) -> list[Section]:
        return [section for group in self.segments.values() for section in group]

    def _symbols(self) -> tuple[bytes, bytes]:
        numbers: dict[str, int] = {}
        for number, section in enumerate(self._order(), 1):
            numbers.setdefault(section.name, number)
        table, strings = bytearray(), bytearray(b"\0")
        for symbol in self.macho.symbols:
            place = symbol.section
            index = numbers[place] if isinstance(place, str) else place
            table += self.uint(len(strings) if symbol.name else 0, 4)
            table += bytes([symbol.type, index]) + self.uint(symbol.description, 2)
            table += self.word(symbol.value)
            strings += cstring(symbol.name) if symbol.name else b""
        return bytes(table), bytes(strings)

    def _starts(self) -> bytes:
        out, before = b"", self.macho.base or 0
        for start in self.macho.function_starts:
            out += uleb(start - before)
            before = start
        return out + b"\0" if out else b""

    def _commands(self, place: int) -> tuple[bytes, bytes]:
        """Load commands and, from offset *place* on, what they name."""
        body = bytearray()
        commands = []
        for name, sections in self.segments.items():
            headers, start = bytearray(), len(body)
            for section in sections:
                data = self._contents(section)
                offset = place + len(body) if data else 0
                body += data + bytes(-len(data) % 8)
                headers += self._section(section, offset, place + len(body))
                for relocation in section.relocations:
                    body += relocation.encode(self.encoding)
            extent = (place + start, len(body) - start)
            commands.append(self._segment(name, sections, extent) + bytes(headers))
        table, strings = self._symbols()
        if self.macho.symbols:
            head = self._pair(place + len(body), len(self.macho.symbols))
            body += table
            commands.append(
                self.uint(SYMTAB, 4)
                + head
                + self._pair(place + len(body), len(strings))
            )
            body += strings + bytes(-len(strings) % 8)
        if self.macho.indirect:
            head = self._pair(place + len(body), len(self.macho.indirect))
            commands.append(self.uint(DYSYMTAB, 4) + bytes(48) + head + bytes(16))
            body += b"".join(self.uint(index, 4) for index in self.macho.indirect)
        starts = self._starts()
        if starts:
            head = self._pair(place + len(body), len(starts))
            commands.append(self.uint(FUNCTION_STARTS, 4) + head)
            body += starts
        if self.macho.uuid is not None:
            commands.append(self.uint(UUID, 4) + self.macho.uuid)
        self.count = len(commands)
        whole = (
            command[:4] + self.uint(len(command) + 4, 4) + command[4:]
            for command in commands
        )
        return b"".join(whole), bytes(body)

    def _pair(self, offset: int, count: int) -> bytes:
        return self.uint(offset, 4) + self.uint(count, 4)

    def _name(self, name: str) -> bytes:
        return name.encode().ljust(16, b"\0")

    def _contents(self, section: Section) -> bytes:
        has_none = section.flags & 0xFF == ZEROFILL or self.macho.type == DSYM
        return section.data or bytes(0 if has_none else section.size)

    def _segment(
        self, name: str, sections: Sequence[Section], extent: tuple[int, int]
    ) -> bytes:
        offset, size = extent
        kind = self.uint(SEGMENT_64 if self.wide else SEGMENT, 4)
        address = self.macho.base or 0 if name == "__TEXT" else 0
        ends = (each.address + (each.size or len(each.data)) for each in sections)
        memory = max(max(ends, default=address) - address, size)
        out = kind + self._name(name) + self.word(address) + self.word(memory)
        out += self.word(offset if size else 0) + self.word(size)
        return out + bytes(8) + self.uint(len(sections), 4) + bytes(4)

    def _section(self, section: Section, offset: int, relocations: int) -> bytes:
        out = self._name(section.name) + self._name(section.segment)
        out += self.word(section.address) + self.word(section.size or len(section.data))
        out += self.uint(offset, 4) + bytes(4)
        out += self._pair(relocations, len(section.relocations))
        out += self.uint(section.flags, 4)
        out += self._pair(section.indirect_first, section.stub_size)
        return out + bytes(4 if self.wide else 0)

    def encode(self) -> bytes:
        macho = self.macho
        cpu, subtype = macho.cpu or _CPUS[macho.bits, macho.byteorder]
        header_size = 32 if self.wide else 28
        commands, _ = self._commands(0)
        commands, body = self._commands(header_size + len(commands))
        magic = 0xFEEDFACF if self.wide else 0xFEEDFACE
        fields = (magic, cpu, subtype, macho.type, self.count, len(commands), 0)
        head = b"".join(self.uint(field, 4) for field in fields)
        return head.ljust(header_size, b"\0") + commands + body


def macho_of(
    dwarf: Mapping[str, bytes],
    *text: Section,
    symbols: Sequence[Symbol] = (),
    packed: bool = False,
    bits: int = 64,
    byteorder: ByteOrder = "little",
) -> bytes:
    """An executable of these ELF-named debug sections, its code at 0x1000."""
    return Macho(
        [*(text or (code(),)), *debug_sections(dwarf, packed=packed)],
        symbols,
        bits=bits,
        byteorder=byteorder,
    ).to_bytes()


def fat(*slices: tuple[tuple[int, int], bytes], wide: bool = False) -> bytes:
    """A fat file of (cputype and cpusubtype, bytes) of each slice."""
    size = 8 if wide else 4
    entry_size = 32 if wide else 20
    head = (0xCAFEBABF if wide else 0xCAFEBABE).to_bytes(4, "big")
    head += len(slices).to_bytes(4, "big")
    place = len(head) + entry_size * len(slices)
    body = b""
    for cpu, data in slices:
        padding = bytes(-(place + len(body)) % 16)
        body += padding
        fields = [*((number, 4) for number in cpu)]
        fields += [(place + len(body), size), (len(data), size), (4, 4)]
        entry = b"".join(value.to_bytes(width, "big") for value, width in fields)
        head += entry.ljust(entry_size, b"\0")
        body += data
    return head + body
