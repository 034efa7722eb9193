"""Tiny ELF files: sections, segments, notes, symbols, compression.

    Elf(sections=(Section(".text", kind=NOBITS, flags=CODE, address=0x1000, size=16),))

Everything a reader may meet can be asked for: 32 and 64 bits, both byte orders,
section counts and indexes that do not fit their fields.
"""

from __future__ import annotations

import sys
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tests.inputs.encoding import ByteOrder, Encoding, cstring

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGBITS, SYMTAB, STRTAB, NOTE, NOBITS, DYNSYM, SYMTAB_SHNDX = 1, 2, 3, 7, 8, 11, 18
RELA, REL = 4, 9
WRITE, ALLOC, EXECUTE, COMPRESSED = 0x1, 0x2, 0x4, 0x800
CODE = ALLOC | EXECUTE
NOTYPE, OBJECT, FUNC, SECTION, FILE, IFUNC = 0, 1, 2, 3, 4, 10
LOCAL, GLOBAL, WEAK = 0, 1, 2
UNDEFINED, ABSOLUTE, COMMON, XINDEX = 0, 0xFFF1, 0xFFF2, 0xFFFF
RELOCATABLE, EXECUTABLE, SHARED = 1, 2, 3
LOAD, DYNAMIC, PT_NOTE = 1, 2, 4
X86_64, I386, AARCH64, ARM, PPC, PPC64, S390 = 62, 3, 183, 40, 20, 21, 22
SH, ALPHA, PARISC, IA_64, AVR, M32R = 42, 36902, 15, 50, 83, 88
HC08, STM8 = 71, 186
OPENRISC, ARC_COMPACT, ARC_COMPACT2, XTENSA = 92, 93, 195, 94
MSP430, MICROBLAZE = 105, 189
CUDA, AMDGPU, CSKY, NIOS2, VE = 190, 224, 252, 113, 251
DSPIC30F = 118
SPARC, M68K, MIPS, SPARCV9, HEXAGON, RISCV, BPF, LOONGARCH = (
    2,
    4,
    8,
    43,
    164,
    243,
    247,
    258,
)

Compression = Literal["zlib", "zstd", "gnu"]
_MACHINES = {
    (64, "little"): X86_64,
    (32, "little"): I386,
    (64, "big"): PPC64,
    (32, "big"): PPC,
}


@dataclass(frozen=True)
class Section:
    """*size* stands for the contents of a NOBITS section."""

    name: str
    data: bytes = b""
    kind: int = PROGBITS
    flags: int = 0
    address: int = 0
    size: int = 0
    link: int = 0
    info: int = 0
    entry_size: int = 0
    alignment: int = 1
    compression: Compression | None = None


@dataclass(frozen=True)
class Segment:
    address: int
    size: int = 0x1000
    kind: int = LOAD
    offset: int = 0
    flags: int = 5


@dataclass(frozen=True)
class Symbol:
    """*section* is a name, or a reserved index such as ABSOLUTE."""

    name: str
    value: int
    size: int = 0
    kind: int = FUNC
    binding: int = GLOBAL
    section: str | int = ".text"


@dataclass(frozen=True)
class Relocation:
    """*symbol* is the name of a symbol of the file, or a number."""

    offset: int
    kind: int
    symbol: str | int = 0
    addend: int = 0


def code_section(
    address: int = 0x1000, size: int = 0x1000, name: str = ".text"
) -> Section:
    return Section(name, kind=NOBITS, flags=CODE, address=address, size=size)


def note(name: bytes, kind: int, descriptor: bytes, byteorder: ByteOrder) -> bytes:
    """An ELF note, name and descriptor padded to 4 bytes."""
    encoding = Encoding(byteorder)
    head = b"".join(encoding.uint(n, 4) for n in (len(name), len(descriptor), kind))
    return (
        head + name + bytes(-len(name) % 4) + descriptor + bytes(-len(descriptor) % 4)
    )


@dataclass(frozen=True)
class Elf:
    """A file; `build_id`, `symbols` and `dynamic_symbols` become sections.

    Each of *relocations* is a section for the one it names; *explicit_addends* makes it
    of the kind that holds addends, else they have to stand in place.
    *extended* stores the section count, the index of the section names and the
    symbols' section indexes where a file with very many sections has them.
    """

    sections: Sequence[Section] = ()
    segments: Sequence[Segment] = ()
    symbols: Sequence[Symbol] = ()
    dynamic_symbols: Sequence[Symbol] = ()
    relocations: Sequence[tuple[str, Sequence[Relocation]]] = ()
    explicit_addends: bool = True
    build_id: bytes | None = None
    bits: int = 64
    byteorder: ByteOrder = "little"
    machine: int | None = None
    type: int = EXECUTABLE
    entry: int = 0
    extended: bool = False

    def to_bytes(self) -> bytes:
        return _Writer(self).encode()


class _Writer:
    def __init__(self, elf: Elf) -> None:
        self.elf = elf
        self.wide = elf.bits == 64
        self.encoding = Encoding(elf.byteorder, elf.bits // 8)
        self.uint, self.word = self.encoding.uint, self.encoding.address
        self.sections = [Section("", kind=0), *elf.sections]
        if elf.build_id is not None:
            data = note(b"GNU\0", 3, elf.build_id, elf.byteorder)
            name = ".note.gnu.build-id"
            self.sections.append(Section(name, data, NOTE, ALLOC, alignment=4))
        self._add_symbols(".symtab", ".strtab", SYMTAB, elf.symbols)
        self._add_symbols(".dynsym", ".dynstr", DYNSYM, elf.dynamic_symbols)
        for target, relocations in elf.relocations:
            self._add_relocations(target, relocations)

    def _add_symbols(
        self, name: str, strings_name: str, kind: int, symbols: Sequence[Symbol]
    ) -> None:
        if not symbols:
            return
        names = [section.name for section in self.sections]
        strings = b"\0"
        table = bytes(24 if self.wide else 16)
        indexes = bytes(4)
        for symbol in symbols:
            place = symbol.section
            index = names.index(place) if isinstance(place, str) else place
            is_extended = self.elf.extended and isinstance(place, str)
            indexes += self.uint(index if is_extended else 0, 4)
            stored = XINDEX if is_extended else index
            table += self._encode_symbol(symbol, len(strings), stored)
            strings += cstring(symbol.name)
        at = len(self.sections)
        entry_size = 24 if self.wide else 16
        self.sections += [
            Section(name, table, kind, 0, 0, 0, at + 1, 1, entry_size, 8),
            Section(strings_name, strings, STRTAB),
        ]
        if self.elf.extended:
            extra = Section(f"{name}_shndx", indexes, SYMTAB_SHNDX, link=at)
            self.sections.append(replace(extra, entry_size=4, alignment=4))

    def _encode_symbol(self, symbol: Symbol, name: int, section: int) -> bytes:
        info = bytes([symbol.binding << 4 | symbol.kind, 0])
        place = self.uint(section, 2)
        value, size = self.word(symbol.value), self.word(symbol.size)
        if self.wide:
            return self.uint(name, 4) + info + place + value + size
        return self.uint(name, 4) + value + size + info + place

    def _add_relocations(self, target: str, relocations: Sequence[Relocation]) -> None:
        names = [section.name for section in self.sections]
        explicit = self.elf.explicit_addends
        section = Section(
            (".rela" if explicit else ".rel") + target,
            b"".join(map(self._encode_relocation, relocations)),
            RELA if explicit else REL,
            link=names.index(".symtab") if ".symtab" in names else 0,
            info=names.index(target),
            entry_size=(8 if self.wide else 4) * (3 if explicit else 2),
        )
        self.sections.append(section)

    def _encode_relocation(self, relocation: Relocation) -> bytes:
        symbol, kind = relocation.symbol, relocation.kind
        if isinstance(symbol, str):
            symbol = 1 + [each.name for each in self.elf.symbols].index(symbol)
        if not self.wide:
            info = self.word(symbol << 8 | kind)
        elif self.elf.machine == MIPS:
            # r_sym, then r_ssym, r_type3, r_type2 and r_type of a byte each.
            info = self.uint(symbol, 4) + kind.to_bytes(4, "big")
        else:
            info = self.word(symbol << 32 | kind)
        addend = self.word(relocation.addend) if self.elf.explicit_addends else b""
        return self.word(relocation.offset) + info + addend

    def _compress(self, section: Section) -> Section:
        how, data = section.compression, section.data
        if how is None:
            return section
        if how == "gnu":
            packed = b"ZLIB" + len(data).to_bytes(8, "big") + zlib.compress(data)
            return replace(section, name=".z" + section.name[1:], data=packed)
        kind = self.uint(1 if how == "zlib" else 2, 4) + (
            bytes(4) if self.wide else b""
        )
        header = kind + self.word(len(data)) + self.word(section.alignment)
        packed = zlib.compress(data) if how == "zlib" else zstd.compress(data)
        return replace(section, data=header + packed, flags=section.flags | COMPRESSED)

    def encode(self) -> bytes:
        sections = [self._compress(section) for section in self.sections]
        names = b""
        name_offsets = []
        for section in (*sections, Section(".shstrtab")):
            name_offsets.append(len(names))
            names += cstring(section.name)
        sections.append(Section(".shstrtab", names, STRTAB))
        header_size, entry_size = (64, 56) if self.wide else (52, 32)
        body = bytearray(header_size + entry_size * len(self.elf.segments))
        offsets = []
        for section in sections:
            body += bytes(-len(body) % max(1, section.alignment))
            offsets.append(len(body))
            body += section.data
        body += bytes(-len(body) % 8)
        head = self._encode_header(header_size, len(body), len(sections))
        head += b"".join(map(self._encode_segment, self.elf.segments))
        body[: len(head)] = head
        if self.elf.extended:
            count = len(sections)
            sections[0] = replace(sections[0], size=count, link=count - 1)
        for section, name, offset in zip(sections, name_offsets, offsets, strict=True):
            body += self._encode_section(section, name, offset)
        return bytes(body)

    def _encode_header(self, size: int, table: int, count: int) -> bytes:
        elf, uint = self.elf, self.uint
        ident = b"\x7fELF" + bytes([elf.bits // 32, 1 + (elf.byteorder == "big"), 1])
        machine = elf.machine or _MACHINES[elf.bits, elf.byteorder]
        segment_size, section_size = (56, 64) if self.wide else (32, 40)
        out = ident.ljust(16, b"\0") + uint(elf.type, 2) + uint(machine, 2) + uint(1, 4)
        out += (
            self.word(elf.entry)
            + self.word(size if elf.segments else 0)
            + self.word(table)
        )
        out += uint(0, 4) + uint(size, 2) + uint(segment_size, 2)
        out += uint(len(elf.segments), 2) + uint(section_size, 2)
        if elf.extended:
            return out + uint(0, 2) + uint(XINDEX, 2)
        return out + uint(count, 2) + uint(count - 1, 2)

    def _encode_segment(self, segment: Segment) -> bytes:
        kind, flags = self.uint(segment.kind, 4), self.uint(segment.flags, 4)
        place = self.word(segment.offset) + self.word(segment.address) * 2
        sizes = self.word(segment.size) * 2
        alignment = self.word(0x1000)
        if self.wide:
            return kind + flags + place + sizes + alignment
        return kind + place + sizes + flags + alignment

    def _encode_section(self, section: Section, name: int, offset: int) -> bytes:
        uint, word = self.uint, self.word
        size = section.size or len(section.data)
        out = uint(name, 4) + uint(section.kind, 4) + word(section.flags)
        out += word(section.address) + word(offset if section.kind else 0) + word(size)
        out += uint(section.link, 4) + uint(section.info, 4)
        return out + word(section.alignment) + word(section.entry_size)


def elf_of(
    dwarf: dict[str, bytes],
    *text: Section,
    compression: Compression | None = None,
    symbols: Sequence[Symbol] = (),
    bits: int = 64,
    byteorder: ByteOrder = "little",
) -> bytes:
    """An executable of these debug sections, its code at 0x1000 unless *text* says."""
    debug = [
        Section(name, data, compression=compression) for name, data in dwarf.items()
    ]
    return Elf(
        [*(text or (code_section(),)), *debug],
        symbols=symbols,
        bits=bits,
        byteorder=byteorder,
    ).to_bytes()


def with_phantom_bytes(
    dwarf: dict[str, bytes], byte: bytes = b"\0", flags: int = 0, bits: int = 64
) -> bytes:
    """An executable of Microchip's compiler: *byte* follows each one of DWARF."""
    image = bytearray(
        Elf(
            [
                code_section(),
                *(
                    Section(name, b"".join(bytes([each]) + byte for each in content))
                    for name, content in dwarf.items()
                ),
            ],
            machine=DSPIC30F,
            bits=bits,
        ).to_bytes()
    )
    at = 36 if bits == 32 else 48
    image[at : at + 4] = flags.to_bytes(4, "little")
    return bytes(image)
