"""Tiny PE images and COFF object files.

    Pe([Section(".text", bytes(16), 0x1000)], [Symbol("f", 0)]).to_bytes()

An image without *image_base* is an object file, as a compiler writes it; *is_big* makes
it one of those that may have more than 65,279 sections.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from struct import pack
from typing import TYPE_CHECKING

from tests.inputs.encoding import cstring

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

I386, ARM, X86_64, ARM64 = 0x14C, 0x1C4, 0x8664, 0xAA64
CODE, DATA, DISCARDABLE = 0x60000020, 0x40000040, 0x42000040
UNINITIALIZED = 0xC0000080
FUNCTION = 0x20
EXTERNAL, STATIC, LABEL, WEAK = 2, 3, 6, 105
UNDEFINED, ABSOLUTE, DEBUG = 0, -1, -2
CODEVIEW, REPRO = 2, 16  # kinds of entries of the debug directory

_EXPORT, _IMPORT, _EXCEPTION, _DEBUG, _DELAY_IMPORT = 0, 1, 3, 6, 13
_BIG_CLASS = bytes.fromhex("c7a1bad1eebaa94baf20faf66aa4dcb8")
_MORE_RELOCATIONS = 0x01000000
_NEW_HEADER = 0x80
_FILE_ALIGNMENT = 0x200


@dataclass(frozen=True)
class Relocation:
    """*symbol* is an index into the table of symbols, auxiliary entries included."""

    offset: int
    kind: int
    symbol: int


@dataclass(frozen=True)
class Section:
    """*address* counts from the image base; *size* is that in memory.

    *alignment* is meant for object files, *name_form* for names of more than 8
    characters.
    """

    name: str
    data: bytes = b""
    address: int = 0
    flags: int = DISCARDABLE
    size: int | None = None
    relocations: Sequence[Relocation] = ()
    alignment: int = 1
    name_form: str = "decimal"


@dataclass(frozen=True)
class Symbol:
    """*section* is a name, or a number such as UNDEFINED."""

    name: str
    value: int
    section: str | int = ".text"
    kind: int = FUNCTION
    storage: int = EXTERNAL
    auxiliary: int = 0


@dataclass(frozen=True)
class Export:
    """*forward* names a function of another image instead of an address."""

    name: str
    address: int = 0
    forward: str = ""


@dataclass(frozen=True)
class Imports:
    """What an image takes from one library; a number stands for itself.

    The slots are at *slots*; *is_delayed* if they are filled when they are used.
    """

    names: Sequence[str | int]
    slots: int
    is_delayed: bool = False
    flags: int = 1


def code_section(address: int = 0x1000, size: int = 0x1000) -> Section:
    return Section(".text", b"", address, CODE, size)


def codeview(
    guid: bytes, age: int = 1, path: str = "", magic: bytes = b"RSDS"
) -> bytes:
    """The record by which an image and its PDB know each other."""
    return magic + guid + pack("<I", age) + cstring(path)


@dataclass(frozen=True)
class Pe:
    sections: Sequence[Section] = ()
    symbols: Sequence[Symbol] = ()
    machine: int = X86_64
    image_base: int | None = 0x140000000
    is_big: bool = False
    exports: Sequence[Export] = ()
    imports: Sequence[Imports] = ()
    unwind: Sequence[tuple[int, int]] = ()
    debug: Sequence[tuple[int, bytes]] = ()

    @property
    def is_64(self) -> bool:
        return self.machine in {X86_64, ARM64}

    def to_bytes(self) -> bytes:
        return _Writer(self).encode()


class _Writer:
    def __init__(self, pe: Pe) -> None:
        self.pe = pe
        self.strings = b""
        self.directories: dict[int, tuple[int, int]] = {}
        self.sections = list(pe.sections)
        if pe.exports:
            self._add(_EXPORT, ".edata", self._encode_exports)
        if pe.imports:
            self._add_imports()
        if pe.unwind:
            self._add(_EXCEPTION, ".pdata", self._encode_unwind)
        if pe.debug:
            self._add(_DEBUG, ".rdata", self._encode_debug_entries)
            address, _ = self.directories[_DEBUG]
            self.directories[_DEBUG] = (address, 28 * len(pe.debug))

        # The first section of a name is meant, as in a list.
        numbered = reversed([*enumerate(self.sections, 1)])
        self.numbers = {section.name: number for number, section in numbered}

    def _add(self, directory: int, name: str, encode: Callable[[int], bytes]) -> None:
        address = 0x10000 * (1 + len(self.sections))
        data = encode(address)
        self.directories[directory] = (address, len(data))
        self.sections.append(Section(name, data, address, DATA))

    def _add_imports(self) -> None:
        plain = [each for each in self.pe.imports if not each.is_delayed]
        delayed = [each for each in self.pe.imports if each.is_delayed]
        self._add_import_table(_IMPORT, ".idata", plain, 20)
        if delayed:
            self._add_import_table(_DELAY_IMPORT, ".didat", delayed, 32)

    def _add_import_table(
        self, directory: int, name: str, imports: Sequence[Imports], entry_size: int
    ) -> None:
        address = 0x10000 * (1 + len(self.sections))
        size = 8 if self.pe.is_64 else 4
        first = at = address + entry_size * (len(imports) + 1)
        tables, entries = b"", b""
        for each in imports:
            table, texts = at, at + size * (len(each.names) + 1)
            names, strings = b"", b""
            for imported in each.names:
                place = texts + len(strings)
                if isinstance(imported, int):
                    place = imported | 1 << (8 * size - 1)
                else:
                    strings += b"\0\0" + cstring(imported)
                names += place.to_bytes(size, "little")
            tables += names + bytes(size) + strings
            at = first + len(tables)
            if each.is_delayed:
                entries += pack("<I8x2I12x", each.flags, each.slots, table)
            else:
                entries += pack("<I12xI", table, each.slots)
        entries += bytes(entry_size)
        self.directories[directory] = (address, len(entries))
        self.sections.append(Section(name, entries + tables, address, DATA))

    def _encode_exports(self, address: int) -> bytes:
        exports = self.pe.exports
        count = len(exports)
        tables = address + 40
        texts = tables + 10 * count
        functions, names, strings = b"", b"", b""
        for export in exports:
            names += pack("<I", texts + len(strings))
            strings += cstring(export.name)
            place = texts + len(strings) if export.forward else export.address
            functions += pack("<I", place)
            strings += cstring(export.forward) if export.forward else b""
        ordinals = b"".join(pack("<H", at) for at in range(count))
        head = pack(
            "<20x5I", count, count, tables, tables + 4 * count, tables + 8 * count
        )
        return head + functions + names + ordinals + strings

    def _encode_unwind(self, _: int) -> bytes:
        if self.pe.machine == ARM64:
            return b"".join(pack("<II", start, 0) for start, _ in self.pe.unwind)
        return b"".join(pack("<III", start, end, 0) for start, end in self.pe.unwind)

    def _encode_debug_entries(self, _: int) -> bytes:
        # The offsets of the records are filled in when the file is laid out.
        entries = b"".join(
            pack("<12xIIII", kind, len(data), 0, 0) for kind, data in self.pe.debug
        )
        return entries + b"".join(data for _, data in self.pe.debug)

    def _encode_debug_offsets(self, data: bytes, offset: int) -> bytes:
        out = bytearray(data)
        at = 28 * len(self.pe.debug)
        for index, (_, record) in enumerate(self.pe.debug):
            out[28 * index + 24 : 28 * index + 28] = pack("<I", offset + at)
            at += len(record)
        return bytes(out)

    def _add_string(self, text: str) -> int:
        offset = 4 + len(self.strings)
        self.strings += cstring(text)
        return offset

    def _encode_name(self, section: Section) -> bytes:
        name = section.name.encode()
        if len(name) <= 8:
            return name.ljust(8, b"\0")
        offset = self._add_string(section.name)
        if section.name_form == "base64":
            digits = base64.b64encode(offset.to_bytes(6, "big"))[2:].decode()
            return f"//{digits}".encode()
        return f"/{offset}".encode().ljust(8, b"\0")

    def _encode_symbol(self, symbol: Symbol) -> bytes:
        name = symbol.name.encode("utf-8", "surrogateescape")
        if len(name) > 8:
            name = pack("<II", 0, self._add_string(symbol.name))
        number = symbol.section
        if isinstance(number, str):
            number = self.numbers[number]
        form = "<8sIiHBB" if self.pe.is_big else "<8sIhHBB"
        fields = (name, symbol.value, number, symbol.kind, symbol.storage)
        size = 20 if self.pe.is_big else 18
        return pack(form, *fields, symbol.auxiliary) + b"\xee" * size * symbol.auxiliary

    def _encode_relocations(self, section: Section) -> bytes:
        entries = b"".join(
            pack("<IIH", each.offset, each.symbol, each.kind)
            for each in section.relocations
        )
        if len(section.relocations) >= 0xFFFF:
            entries = pack("<IIH", len(section.relocations) + 1, 0, 0) + entries
        return entries

    def encode(self) -> bytes:
        pe = self.pe
        head_size = self._head_size()
        table = head_size + 40 * len(self.sections)
        body = bytearray(table)
        headers = b"".join([self._place(section, body) for section in self.sections])
        symbols = b"".join(map(self._encode_symbol, pe.symbols))
        size = 20 if pe.is_big else 18
        place = len(body)
        body += symbols + pack("<I", 4 + len(self.strings)) + self.strings
        head = self._encode_head(place, len(symbols) // size)
        body[:table] = head + headers
        return bytes(body)

    def _place(self, section: Section, body: bytearray) -> bytes:
        is_image = self.pe.image_base is not None
        body += bytes(-len(body) % (_FILE_ALIGNMENT if is_image else 4))
        offset, data = len(body), section.data
        if section.name == ".rdata" and self.pe.debug:
            data = self._encode_debug_offsets(data, offset)
        raw_size = len(data)
        if is_image:
            raw_size += -raw_size % _FILE_ALIGNMENT
        body += data.ljust(raw_size, b"\0")
        relocations = len(body)
        body += self._encode_relocations(section)
        count = len(section.relocations)
        flags = section.flags
        if not is_image:
            flags |= section.alignment.bit_length() << 20
            if section.size is not None:
                raw_size = section.size
        if count >= 0xFFFF:
            flags |= _MORE_RELOCATIONS
        memory_size = len(data) if section.size is None else section.size
        return self._encode_name(section) + pack(
            "<IIIIIIHHI",
            memory_size if is_image else 0,
            section.address,
            raw_size,
            offset if data else 0,
            relocations if count else 0,
            0,
            min(count, 0xFFFF),
            0,
            flags,
        )

    def _head_size(self) -> int:
        if self.pe.is_big:
            return 56
        if self.pe.image_base is None:
            return 20
        return _NEW_HEADER + 24 + self._optional_size()

    def _optional_size(self) -> int:
        return (112 if self.pe.is_64 else 96) + 16 * 8

    def _encode_head(self, symbols: int, count: int) -> bytes:
        pe, sections = self.pe, len(self.sections)
        if pe.is_big:
            big = pack("<HHHHI16s", 0, 0xFFFF, 2, pe.machine, 0, _BIG_CLASS)
            return big + bytes(16) + pack("<III", sections, symbols, count)
        is_image = pe.image_base is not None
        optional_size = self._optional_size() if is_image else 0
        stamp, characteristics = 0x5F3759DF, 0x22 if is_image else 0
        fields = (pe.machine, sections, stamp, symbols, count, optional_size)
        coff = pack("<HHIIIHH", *fields, characteristics)
        if not is_image:
            return coff
        dos = b"MZ".ljust(0x3C, b"\0") + pack("<I", _NEW_HEADER)
        return (
            dos.ljust(_NEW_HEADER, b"\0") + b"PE\0\0" + coff + self._encode_optional()
        )

    def _encode_optional(self) -> bytes:
        pe = self.pe
        head = pack("<H22x", 0x20B if pe.is_64 else 0x10B)
        base = pe.image_base or 0
        head += pack("<Q", base) if pe.is_64 else pack("<4xI", base)
        alignment = pack("<II16xI", 0x1000, _FILE_ALIGNMENT, 0x100000)
        head += alignment.ljust(76 if pe.is_64 else 60, b"\0") + pack("<I", 16)
        for which in range(16):
            head += pack("<II", *self.directories.get(which, (0, 0)))
        return head
