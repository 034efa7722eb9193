"""ELF files for the second decoder: sections, relocations, placement."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from functools import cached_property
from io import SEEK_END, BytesIO
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO, cast

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationHandler, RelocationSection
from elftools.elf.sections import (
    NoteSection,
    Section,
    Symbol as ElfSymbol,
    SymbolTableIndexSection,
    SymbolTableSection,
)

from gsym.errors import FormatError, UnsupportedError
from gsym.model import Range
from gsym.ranges import merged, range_at
from tests.referee.file import (
    FUNCTION_TYPES,
    MAPPING_SYMBOL,
    OLD_ARM_MARK,
    ReferenceFile,
    Symbol,
)
from tests.referee.live_code import LiveCode

_SHF_ALLOC = 0x2
_SHF_EXECINSTR = 0x4
_OF_MACHINE = "STT_LOPROC"  # a function of ARM and PA-RISC, a register of SPARC
_HAVE_FUNCTIONS = frozenset({"EM_ARM", "EM_PARISC"})
_PF_X = 0x1
_SHN_XINDEX = 0xFFFF
# After a name, as GNU ld writes it into .symtab. Some languages have an @ in names.
_VERSION = re.compile(rb"(?<=[^.@])@@?(?!plt$)[A-Za-z0-9_.]+$")
_OF_SDCC = frozenset({"EM_STM8", "EM_68HC08"})
_DESCRIPTORS = ".opd"
_EF_PPC64_ABI = 3
_R_PPC64_ADDR64 = 38
_STUBS = {".plt", ".plt.sec", ".plt.got", ".plt.bnd"}


def placements(elf: ELFFile) -> dict[int, int]:
    """Address of each loaded section of a relocatable file, by its number.

    Code comes first, and what has an address already keeps it.
    """
    sections = [
        (index, section)
        for index, section in enumerate(elf.iter_sections())
        if section["sh_flags"] & _SHF_ALLOC
    ]
    taken = [
        (section["sh_addr"], section["sh_addr"] + section["sh_size"])
        for _, section in sections
        if section["sh_addr"]
    ]
    used = Range(min(taken)[0], max(end for _, end in taken)) if taken else Range(0, 0)
    addresses: dict[int, int] = {}
    end = 0
    for is_code in (True, False):
        kind = [
            (index, section)
            for index, section in sections
            if bool(section["sh_flags"] & _SHF_EXECINSTR) == is_code
        ]
        placed, reached = _place_from(end, kind)
        if end < used.end and reached > used.start:
            placed, reached = _place_from(used.end, kind)
        addresses.update(placed)
        end = reached
    return addresses


def place(data: bytes) -> ELFFile:
    """A copy of a relocatable file, its sections and symbols at their addresses."""
    copy = bytearray(data)
    elf = ELFFile(BytesIO(data))
    word = struct.Struct(
        ("<" if elf.little_endian else ">") + ("Q" if elf.elfclass == 64 else "I")
    )
    addresses = placements(elf)
    for index, address in addresses.items():
        header = elf["e_shoff"] + index * elf["e_shentsize"]
        word.pack_into(copy, header + 8 + word.size, address)
    for table in elf.iter_sections("SHT_SYMTAB"):
        if isinstance(table, SymbolTableSection):
            for number, index, symbol in _symbols(elf, table):
                entry = table["sh_offset"] + number * table["sh_entsize"]
                moved = symbol["st_value"] + addresses.get(index, 0)
                word.pack_into(copy, entry + word.size, moved % (1 << 8 * word.size))
    return ELFFile(cast("BinaryIO", BytesIO(copy)))


def _place_from(
    start: int, sections: list[tuple[int, Section]]
) -> tuple[dict[int, int], int]:
    """The addresses, and the end of the sections that had none before.

    Each comes after the one before it.
    """
    addresses, end = {}, start
    for index, section in sections:
        addresses[index] = section["sh_addr"]
        if not section["sh_addr"]:
            alignment = max(1, section["sh_addralign"])
            addresses[index] = -(-end // alignment) * alignment
            end = addresses[index] + section["sh_size"]
    return addresses, end


def _unversioned(name: bytes) -> bytes:
    """A name without its version, as of `open@@V1`; NASM has labels `..@1.name`."""
    bare = _VERSION.sub(b"", name)
    is_name = not name.startswith(b".") and not set(b"@(/") & set(bare)
    return bare if is_name else name


def _is_mark(symbol: ElfSymbol, name: str, machine: str) -> bool:
    """Whether a symbol names no function, though it may have the type of one.

    mold types marks of its thunks as functions, SDCC labels of lines and scopes, clang
    the first byte of the jumps for functions of one type.
    """
    marks = OLD_ARM_MARK if machine == "EM_ARM" else MAPPING_SYMBOL
    is_local = symbol["st_info"]["bind"] == "STB_LOCAL"
    if is_local and not symbol["st_size"] and marks.match(name):
        return True
    if symbol["st_size"] == 1 and name.startswith("__typeid_"):
        return True
    return machine in _OF_SDCC and "$" in name


def _symbols(
    elf: ELFFile, table: SymbolTableSection
) -> Iterator[tuple[int, int, ElfSymbol]]:
    """Number, section and entry of each symbol that a section defines."""
    extended = next(elf.iter_sections("SHT_SYMTAB_SHNDX"), None)
    for number, symbol in enumerate(table.iter_symbols()):
        index = symbol["st_shndx"]
        is_extended = index in {"SHN_XINDEX", _SHN_XINDEX}  # by version of pyelftools
        if is_extended and isinstance(extended, SymbolTableIndexSection):
            index = extended.get_section_index(number)
        if isinstance(index, int):
            yield number, index, symbol


_SHF_COMPRESSED = 0x800
_SHT_CREL = 0x40000014


class ReferenceElf(ReferenceFile):
    """An ELF file, open until `close`."""

    has_sizes = True

    def __init__(self, path: str, data: memoryview | None = None) -> None:
        super().__init__(path)
        self._data = _map_file(path) if data is None else _copy(data)
        self._descriptors = b""
        try:
            # A mapping can be read like a file, which is enough for pyelftools.
            self._elf = ELFFile(cast("BinaryIO", self._data))
            if self._is_relocatable:
                self._elf = place(self._data[:])
            self.little_endian: bool = self._elf.little_endian
            self.address_size: int = self._elf.elfclass // 8
            self.text_ranges: list[Range] = merged(self._text_ranges())
            # Code of A32 and MIPS is even; odd addresses are of Thumb (AAELF32, "Symbol
            # Values"), microMIPS and MIPS16.
            self.isa_bit: int = int(self._elf["e_machine"] in {"EM_ARM", "EM_MIPS"})
        except Exception as error:
            self._data.close()
            # pyelftools raises many kinds of exceptions on damaged input.
            raise FormatError(f"pyelftools: {error!r}", path=path) from error

    def _close(self) -> None:
        self._data.close()

    @cached_property
    def _sections(self) -> list[Section]:
        return list(self._elf.iter_sections())

    def _sections_of(self, kind: str) -> Iterator[Section]:
        return (each for each in self._sections if each["sh_type"] == kind)

    @property
    def has_symtab(self) -> bool:
        """Whether it lists all symbols, not only those for other files."""
        return next(self._sections_of("SHT_SYMTAB"), None) is not None

    @property
    def _is_relocatable(self) -> bool:
        return bool(self._elf["e_type"] == "ET_REL")

    def base_address(self) -> int | None:
        """Virtual address of the first PT_LOAD segment, if there is one.

        A relocatable file counts from 0.
        """
        if self._is_relocatable:
            return 0
        segment = next(self._elf.iter_segments("PT_LOAD"), None)
        return None if segment is None else int(segment["p_vaddr"])

    def build_id(self) -> bytes:
        """Descriptor of the first GNU build-id note; empty for none, or for zeros."""
        notes = map(_build_id_note, self._sections_of("SHT_NOTE"))
        found = next(filter(None, notes), b"")
        return found if any(found) else b""

    def own_symbols(self) -> Iterator[Symbol]:
        """Symbols in executable sections, from .symtab or else .dynsym."""
        for kind in ("SHT_SYMTAB", "SHT_DYNSYM"):
            table = next(self._sections_of(kind), None)
            if isinstance(table, SymbolTableSection):
                return self._code_symbols(table)
        return self._loaded_symbols() if not self._sections else iter(())

    def _code_symbols(self, table: SymbolTableSection) -> Iterator[Symbol]:
        sections = self._sections
        # pyelftools replaces what is not UTF-8 in a name, so names are read here.
        names = self._bytes(self._elf.get_section(table["sh_link"]))
        machine = self._elf["e_machine"]
        for _, index, symbol in _symbols(self._elf, table):
            kind = str(symbol["st_info"]["type"])
            if kind == _OF_MACHINE and machine in _HAVE_FUNCTIONS:
                kind = "STT_FUNC"
            if index >= len(sections):
                continue
            address = symbol["st_value"] & ~self.isa_bit
            section = self._section_of(index, address)
            limit = section["sh_addr"] + section["sh_size"]
            if section.name == _DESCRIPTORS and kind in FUNCTION_TYPES:
                described = self._described(section, address)
                if described is None:
                    continue
                code = range_at(self.text_ranges, described)
                if code is None:
                    continue
                address = described
                limit = code.end
            elif not section["sh_flags"] & _SHF_EXECINSTR:
                continue
            if address < limit and self.is_text(address):
                start = symbol["st_name"]
                name = names[start : names.find(b"\0", start)]
                text = _unversioned(name).decode("utf-8", "surrogateescape")
                if not _is_mark(symbol, text, machine):
                    size = min(symbol["st_size"], limit - address)
                    yield Symbol(address, size, text, kind, limit)

    def _section_of(self, index: int, address: int) -> Section:
        """The section of a symbol; SDCC has the index of the one before."""
        if self._elf["e_machine"] in _OF_SDCC:
            for each in self._sections:
                is_code = each["sh_flags"] & _SHF_EXECINSTR
                if is_code and 0 <= address - each["sh_addr"] < each["sh_size"]:
                    return each
        return self._sections[index]

    def _described(self, section: Section, address: int) -> int | None:
        """The code of a function of 64-bit PowerPC (ELFv1), by its descriptor.

        That of an object file is 0: a relocation has it.
        """
        if self._is_relocatable:
            return self._relocated_words.get(address)
        at = address - section["sh_addr"]
        self._descriptors = self._descriptors or self._bytes(section)
        return int.from_bytes(self._descriptors[at : at + 8], self.byteorder) or None

    @cached_property
    def _relocated_words(self) -> dict[int, int]:
        """Words that relocations put into descriptors of an object file, by address."""
        words = {}
        for section in self._sections:
            if section.name != _DESCRIPTORS:
                continue
            for relocations in self._relocations(section):
                table = self._elf.get_section(relocations["sh_link"])
                for each in relocations.iter_relocations():
                    if not isinstance(table, SymbolTableSection):
                        break
                    if each["r_info_type"] == _R_PPC64_ADDR64:
                        symbol = table.get_symbol(each["r_info_sym"])
                        value = symbol["st_value"] + each["r_addend"]
                        words[section["sh_addr"] + each["r_offset"]] = value
        return words

    def _loaded_symbols(self) -> Iterator[Symbol]:
        """The dynamic symbols of a file without section headers."""
        segment = next(self._elf.iter_segments("PT_DYNAMIC"), None)
        if not isinstance(segment, DynamicSegment):
            return
        abi = self._elf["e_flags"] & _EF_PPC64_ABI or int(not self.little_endian)
        for symbol in segment.iter_symbols():
            address = symbol["st_value"] & ~self.isa_bit
            kind = str(symbol["st_info"]["type"])
            if self._elf["e_machine"] == "EM_PPC64" and abi == 1:
                place = next(self._elf.address_offsets(address, 8), len(self._data))
                word = self._data[place : place + 8]
                address = int.from_bytes(word, self.byteorder)
            if symbol["st_shndx"] != "SHN_UNDEF" and self.is_text(address):
                yield Symbol(address, symbol["st_size"], symbol.name, kind)

    @cached_property
    def live_code(self) -> LiveCode | None:
        """Evidence of live code, as against dropped code that .dynsym does not list."""
        files = self.symbol_files or (self,)
        has_symbols = any(
            isinstance(each, ReferenceElf) and each.has_symtab for each in files
        )
        if not has_symbols or not self.text_ranges or self.text_ranges[0].start:
            return None
        symbols = (each for each in self.symbols() if each.is_function or each.is_label)
        entry = self._elf["e_entry"] & ~self.isa_bit
        return LiveCode(symbols, entry, self.text_ranges[0].end)

    def stub_ranges(self) -> Iterator[Range]:
        """Procedure linkage tables; all code of PowerPC, where it has stubs."""
        if self._is_relocatable:
            return
        if self._elf["e_machine"] in {"EM_PPC", "EM_PPC64"}:
            yield from self._text_ranges()
            return
        for section in self._sections:
            if section.name in _STUBS:
                start = section["sh_addr"]
                yield Range(start, start + section["sh_size"])

    def called_names(self) -> frozenset[str]:
        """The dynamic symbols that relocations name."""
        found: set[str] = set()
        for section in self._sections:
            if not isinstance(section, RelocationSection):
                continue
            table = self._elf.get_section(section["sh_link"])
            if not isinstance(table, SymbolTableSection):
                continue
            if table["sh_type"] != "SHT_DYNSYM":
                continue
            names = self._bytes(self._elf.get_section(table["sh_link"]))
            for index in {each["r_info_sym"] for each in section.iter_relocations()}:
                start = table.get_symbol(index)["st_name"]
                name = names[start : names.find(b"\0", start)]
                found.add(name.decode("utf-8", "surrogateescape"))
        return frozenset(found)

    def _text_ranges(self) -> Iterator[Range]:
        for segment in self._elf.iter_segments("PT_LOAD"):
            if segment["p_flags"] & _PF_X and not self._sections:
                start = segment["p_vaddr"]
                yield Range(start, start + segment["p_memsz"])
        for section in self._sections:
            if section["sh_flags"] & _SHF_EXECINSTR and section["sh_size"]:
                start = section["sh_addr"]
                yield Range(start, start + section["sh_size"])

    def debug_section(self, name: str) -> bytes | None:
        """A section of DWARF, inflated and relocated.

        Type units may stand in sections of their own, of one name, which are joined.
        """
        found = [
            section
            for section in self._sections
            if section.name in {f".{name}", f".z{name}"}
            and section["sh_type"] != "SHT_NOBITS"
        ]
        if not found:
            return None
        joins = name.startswith(("debug_info", "debug_types"))
        parts = found if joins else found[-1:]
        if sum(section["sh_size"] for section in parts) > len(self._data):
            raise FormatError("sections of one name share their bytes", path=self.path)
        return b"".join(map(self._contents, parts))

    def _contents(self, section: Section) -> bytes:
        inflated = self._inflated(section)
        if not self._is_relocatable:
            return inflated
        stream = BytesIO(inflated)
        handler = RelocationHandler(self._elf)
        try:
            for relocations in self._relocations(section):
                handler.apply_section_relocations(stream, relocations)
        except ELFError as error:
            reason = f"relocations of section {section.name}: {error}"
            raise UnsupportedError(reason, path=self.path) from error
        return stream.getvalue()

    def _relocations(self, section: Section) -> Iterator[RelocationSection]:
        index = next(
            number
            for number, each in enumerate(self._sections)
            if each.header == section.header
        )
        for each in self._sections:
            kind: object = each["sh_type"]
            if kind == _SHT_CREL and each["sh_info"] == index:
                reason = f"section {each.name} has the relocations in CREL"
                raise UnsupportedError(reason, path=self.path)
            if isinstance(each, RelocationSection) and each["sh_info"] == index:
                yield each

    def _bytes(self, section: Section) -> bytes:
        """The section as stored in the file."""
        offset, size = section["sh_offset"], section["sh_size"]
        if offset + size > len(self._data):
            reason = f"section {section.name} runs past the end of the file"
            raise FormatError(reason, path=self.path, offset=offset)
        return self._data[offset : offset + size]

    def _inflated(self, section: Section) -> bytes:
        raw = self._bytes(section)
        name, most = section.name, len(self._data)
        if section["sh_flags"] & _SHF_COMPRESSED:
            header = section.structs.Elf_Chdr.parse(raw)
            kind = section.structs.Elf_word("").parse(raw)
            data = raw[section.structs.Elf_Chdr.sizeof() :]
            return self._inflate(name, kind, data, int(header["ch_size"]), most)
        if name.startswith(".zdebug"):
            return self._inflate_old(name, raw, most)
        return raw[::2] if self._elf.has_phantom_bytes() else raw


def _map_file(path: str) -> mmap:
    with Path(path).open("rb") as file:
        if file.seek(0, SEEK_END) == 0:
            raise FormatError("the file is empty", path=path)
        return mmap(file.fileno(), 0, access=ACCESS_READ)


def _copy(data: memoryview) -> mmap:
    copy = mmap(-1, len(data))
    copy[:] = data
    return copy


def _build_id_note(section: Section) -> bytes:
    if isinstance(section, NoteSection):
        for note in section.iter_notes():
            if (note["n_name"], note["n_type"]) == ("GNU", "NT_GNU_BUILD_ID"):
                return bytes(note["n_descdata"])
    return b""
