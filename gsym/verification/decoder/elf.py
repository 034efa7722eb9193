"""ELF files for the second decoder: sections, relocations, placement."""

from __future__ import annotations

import struct
import zlib
from io import SEEK_END, BytesIO
from itertools import chain
from mmap import ACCESS_READ, mmap
from sys import version_info
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from elftools.common.exceptions import ELFError
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationHandler, RelocationSection
from elftools.elf.sections import (
    NoteSection,
    SymbolTableIndexSection,
    SymbolTableSection,
)

from gsym.containers.inflation import believable_size
from gsym.errors import FormatError, LimitError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elftools.elf.sections import Section


_SHF_ALLOC = 0x2
_SHF_EXECINSTR = 0x4


def placements(elf: ELFFile) -> dict[int, int]:
    """Address of each loaded section of a relocatable file, by its number."""
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
    addresses, end = _place_from(0, sections)
    if taken and end > min(taken)[0]:
        addresses, _ = _place_from(max(end for _, end in taken), sections)
    return addresses


def place(data: bytes) -> ELFFile:
    """A copy of a relocatable file, its sections and symbols at their addresses."""
    copy = bytearray(data)
    elf = ELFFile(BytesIO(data))
    word = struct.Struct(
        ("<" if elf.little_endian else ">") + ("Q" if elf.elfclass == 64 else "I")  # noqa: PLR2004
    )
    addresses = placements(elf)
    for index, address in addresses.items():
        header = elf["e_shoff"] + index * elf["e_shentsize"]
        word.pack_into(copy, header + 8 + word.size, address)
    for table in elf.iter_sections("SHT_SYMTAB"):
        if isinstance(table, SymbolTableSection):
            for number, index, value in _symbols(elf, table):
                entry = table["sh_offset"] + number * table["sh_entsize"]
                moved = (value + addresses.get(index, 0)) % (1 << 8 * word.size)
                word.pack_into(copy, entry + word.size, moved)
    return ELFFile(cast("BinaryIO", BytesIO(copy)))


def _place_from(
    start: int, sections: list[tuple[int, Section]]
) -> tuple[dict[int, int], int]:
    """The addresses, and the end of the sections that had none before.

    Code comes first, and each section after the one before it.
    """
    addresses, end = {}, start
    for is_code in (True, False):
        for index, section in sections:
            if bool(section["sh_flags"] & _SHF_EXECINSTR) != is_code:
                continue
            addresses[index] = section["sh_addr"]
            if not section["sh_addr"]:
                alignment = max(1, section["sh_addralign"])
                addresses[index] = -(-end // alignment) * alignment
                end = addresses[index] + section["sh_size"]
    return addresses, end


def _symbols(elf: ELFFile, table: SymbolTableSection) -> Iterator[tuple[int, int, int]]:
    """Number, section and value of each symbol that a section defines."""
    extended = next(elf.iter_sections("SHT_SYMTAB_SHNDX"), None)
    for number, symbol in enumerate(table.iter_symbols()):
        index = symbol["st_shndx"]
        if index == "SHN_XINDEX" and isinstance(extended, SymbolTableIndexSection):
            index = extended.get_section_index(number)
        if isinstance(index, int):
            yield number, index, symbol["st_value"]


_SHF_COMPRESSED = 0x800
_COMPRESSION_ZLIB = 1
_COMPRESSION_ZSTD = 2
_ZDEBUG_HEADER_SIZE = 12  # "ZLIB", then the inflated size, big-endian
_MAX_INFLATED = 16 << 30  # bytes of all sections of a file

# DWARFInfo's arguments for the sections that describe functions, without dots.
_DWARF_SECTIONS = (
    "debug_info",
    "debug_abbrev",
    "debug_str",
    "debug_line",
    "debug_line_str",
    "debug_ranges",
    "debug_rnglists",
    "debug_addr",
    "debug_str_offsets",
    "debug_types",
    "debug_loclists",  # pyelftools looks into it as soon as a DIE refers to it
)
_DWARF_SECTIONS_UNUSED = (
    "debug_aranges",
    "debug_frame",
    "eh_frame",
    "debug_loc",
    "debug_pubtypes",
    "debug_pubnames",
    "debug_sup",
    "gnu_debugaltlink",
)


class Symbol(NamedTuple):
    """A symbol in an executable section; *kind* as ELF names it, e.g. STT_FUNC."""

    address: int
    size: int
    name: str
    kind: str


class ReferenceElf:
    """An ELF file, open until `close`.

    Args:
        path: Of the file.
        data: Its bytes, if it is not to be opened.

    Attributes:
        path: As given.
        debug: The file that its DWARF is taken from; None: itself.
        supplementary: The file that the DWARF refers to.
        symbol_files: The files whose symbols are its own; none: itself.

    Raises:
        FormatError: It is none, or pyelftools cannot make sense of it.
    """

    def __init__(self, path: str, data: memoryview | None = None) -> None:
        self.path = path
        self.debug: ReferenceElf | None = None
        self.supplementary: ReferenceElf | None = None
        self.symbol_files: tuple[ReferenceElf, ...] = ()
        self._claimed = 0  # bytes of all sections inflated
        self._data = _map_file(path) if data is None else _copy(data)
        try:
            # A mapping can be read like a file, which is enough for pyelftools.
            self.elf = ELFFile(cast("BinaryIO", self._data))
            if self._is_relocatable:
                self.elf = place(self._data[:])
            # (start, end) of the sections with code, sorted.
            self.text_ranges = sorted(self._text_ranges())
        except Exception as error:
            self._data.close()
            # pyelftools raises many kinds of exceptions on damaged input.
            raise FormatError(f"pyelftools: {error!r}", path=path) from error

    def close(self) -> None:
        """Close the file and those that belong to it."""
        self._data.close()
        for other in (self.debug, self.supplementary, *self.symbol_files):
            if other is not None:
                other.close()

    @property
    def byteorder(self) -> str:
        """The words of `sys.byteorder`."""
        return "little" if self.elf.little_endian else "big"

    @property
    def _is_relocatable(self) -> bool:
        return bool(self.elf["e_type"] == "ET_REL")

    @property
    def _address_flags(self) -> int:
        """Bits of a symbol's value that are not part of the address: Thumb on ARM."""
        return int(self.elf["e_machine"] == "EM_ARM")

    def is_text(self, address: int) -> bool:
        """Whether *address* lies in an executable section."""
        return any(start <= address < end for start, end in self.text_ranges)

    def base_address(self) -> int | None:
        """Virtual address of the first PT_LOAD segment, if there is one.

        A relocatable file counts from 0.
        """
        if self._is_relocatable:
            return 0
        segment = next(self.elf.iter_segments("PT_LOAD"), None)
        return None if segment is None else int(segment["p_vaddr"])

    def build_id(self) -> bytes:
        """Descriptor of the GNU build-id note, empty if there is none."""
        found = b""
        for section in self.elf.iter_sections("SHT_NOTE"):
            if section.name == ".note.gnu.build-id":
                found = _build_id_note(section) or found
        return found

    def symbols(self) -> Iterator[Symbol]:
        """Symbols in executable sections, from .symtab or else .dynsym."""
        if self.symbol_files:
            return chain.from_iterable(file.symbols() for file in self.symbol_files)
        for kind in ("SHT_SYMTAB", "SHT_DYNSYM"):
            table = next(self.elf.iter_sections(kind), None)
            if isinstance(table, SymbolTableSection):
                return self._code_symbols(table)
        return iter(())

    def _code_symbols(self, table: SymbolTableSection) -> Iterator[Symbol]:
        is_code = [
            bool(section["sh_flags"] & _SHF_EXECINSTR)
            for section in self.elf.iter_sections()
        ]
        # pyelftools replaces what is not UTF-8 in a name, so names are read here.
        names = self._bytes(self.elf.get_section(table["sh_link"]))
        for symbol in table.iter_symbols():
            index = symbol["st_shndx"]
            if isinstance(index, int) and index < len(is_code) and is_code[index]:
                start = symbol["st_name"]
                name = names[start : names.find(b"\0", start)]
                yield Symbol(
                    symbol["st_value"] & ~self._address_flags,
                    symbol["st_size"],
                    name.decode("utf-8", "surrogateescape"),
                    str(symbol["st_info"]["type"]),
                )

    def _text_ranges(self) -> Iterator[tuple[int, int]]:
        for section in self.elf.iter_sections():
            if section["sh_flags"] & _SHF_EXECINSTR and section["sh_size"]:
                start = section["sh_addr"]
                yield start, start + section["sh_size"]

    def dwarf_sections(self) -> dict[str, Any]:
        """The DWARF sections, inflated and relocated, as arguments of `DWARFInfo`."""
        if self.debug is not None:
            return self.debug.dwarf_sections()
        arguments: dict[str, Any] = dict.fromkeys(
            f"{name}_sec" for name in _DWARF_SECTIONS + _DWARF_SECTIONS_UNUSED
        )
        for name in _DWARF_SECTIONS:
            for spelling in (f".{name}", f".z{name}"):
                section = self.elf.get_section_by_name(spelling)
                if section is not None and section["sh_type"] != "SHT_NOBITS":
                    arguments[f"{name}_sec"] = self._descriptor(section)
        arguments["config"] = DwarfConfig(
            little_endian=self.elf.little_endian,
            machine_arch=self.elf.get_machine_arch(),
            default_address_size=self.elf.elfclass // 8,
        )
        return arguments

    def _descriptor(self, section: Section) -> DebugSectionDescriptor:
        stream = BytesIO(self._inflated(section))
        if self._is_relocatable:
            handler = RelocationHandler(self.elf)
            try:
                for relocations in self._relocations(section):
                    handler.apply_section_relocations(stream, relocations)
            except ELFError as error:
                raise UnsupportedError(str(error), path=self.path) from error
        size = stream.seek(0, 2)
        return DebugSectionDescriptor(
            stream=stream,
            name=section.name,
            global_offset=section["sh_offset"],
            size=size,
            address=section["sh_addr"],
        )

    def _relocations(self, section: Section) -> Iterator[RelocationSection]:
        index = self.elf.get_section_index(section.name)
        for each in self.elf.iter_sections():
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
        if section["sh_flags"] & _SHF_COMPRESSED:
            header = section.structs.Elf_Chdr.parse(raw)
            kind = section.structs.Elf_word("").parse(raw)
            size = int(header["ch_size"])
            data = raw[section.structs.Elf_Chdr.sizeof() :]
        elif section.name.startswith(".zdebug"):
            kind = _COMPRESSION_ZLIB
            size = int.from_bytes(raw[4:_ZDEBUG_HEADER_SIZE], "big")
            data = raw[_ZDEBUG_HEADER_SIZE:]
        else:
            return raw
        self._claimed += size
        if self._claimed > believable_size(len(self._data), _MAX_INFLATED):
            reason = "its compressed sections declare an implausible size"
            raise LimitError(reason, path=self.path)
        try:
            inflated = _inflate(kind, data, size)
        except Exception as error:
            raise FormatError(
                f"section {section.name}: {error}",
                path=self.path,
                offset=section["sh_offset"],
            ) from error
        if inflated is None:
            reason = f"section {section.name} has the unknown compression type {kind}"
            raise UnsupportedError(reason, path=self.path)
        return inflated


def _map_file(path: str) -> mmap:
    with open(path, "rb") as file:
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


def _inflate(kind: int, data: bytes, size: int) -> bytes | None:
    """Inflate *data* to *size* bytes; None where *kind* is unknown."""
    if kind == _COMPRESSION_ZLIB:
        return zlib.decompressobj().decompress(data, size)
    if kind == _COMPRESSION_ZSTD:
        if version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        return bytes(zstd.ZstdDecompressor().decompress(data, size))
    return None


def open_dwarf(sections: dict[str, Any]) -> DWARFInfo:
    """A fresh pyelftools context on *sections*; it caches every DIE it has seen."""
    return DWARFInfo(**sections)
