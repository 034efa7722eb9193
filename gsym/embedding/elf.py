"""A section `.gsym` in an ELF file.

What is loaded stays where it is. After it follow the section, the symbol table with
its strings, the section names and the section table. All but the first are moved there,
and what stood at the end of the file before is cut off: so embedding again gives the
same file, and objcopy, which keeps this order, leaves the distance of the strings as it
is. No section changes its index.
"""

from __future__ import annotations

from struct import error as StructError  # noqa: N812 - an exception, named as one

from gsym.embedding.binary import Binary, Payload, SharedTable, align
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

_SECTION = b".gsym"
_NULL, _PROGBITS, _SYMTAB, _STRTAB, _NOBITS = 0, 1, 2, 3, 8
_ALLOC = 2
# Greater counts and indexes of sections are in section 0, those of segments likewise.
_GREATEST_INDEX = 0xFEFF
_EXTENDED = 0xFFFF
_ALIGNMENT = 8

_IDENT_SIZE = 16
# type machine version entry phoff shoff flags ehsize phentsize phnum shentsize shnum
# shstrndx
_HEADERS = {1: "HHIIIIIHHHHHH", 2: "HHIQQQIHHHHHH"}
_SHOFF, _SHENTSIZE, _SHNUM, _SHSTRNDX = 5, 10, 11, 12
_SEGMENTS = {1: "4xI8xI12x", 2: "8xQ16xQ16x"}  # p_offset, p_filesz
_SECTIONS = {1: "IIIIIIIIII", 2: "IIQQQQIIQQ"}


class _Section(NamedTuple):
    """One entry of the section table."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int

    @property
    def extent(self) -> tuple[int, int]:
        """Start and end of its bytes in the file."""
        size = 0 if self.type in {_NULL, _NOBITS} else self.size
        return (self.offset, self.offset + size) if size else (0, 0)


class ElfBinary:
    """An ELF file that a GSYM file can go into."""

    section = ".gsym"
    signature = ""

    def __init__(self, binary: Binary, kind: int) -> None:
        """*kind* is EI_CLASS: 1 for 32 bits, 2 for 64."""
        self._binary = binary
        self._header_format = binary.struct(_HEADERS[kind])
        self._section_format = binary.struct(_SECTIONS[kind])
        self._segment_format = binary.struct(_SEGMENTS[kind])
        self._header = list(
            binary.unpack(self._header_format, _IDENT_SIZE, "the ELF header")
        )
        # As it will be; a file may have very many sections.
        self._table = self._read_table()
        self._table_size = len(self._table)
        self._segments = self._read_segments()
        index = self._header[_SHSTRNDX]
        if index == _EXTENDED:
            index = self._section(0).link
        if not 0 < index < self._count:
            raise self._binary.unsupported("the sections have no names")
        self._names_index = index
        self._names = self._part(self._section(self._names_index))
        self._index = self._find(_SECTION)
        self._symbols_index: int | None
        self._strings_index: int | None
        self._symbols_index, self._strings_index = self._find_symbols()
        names = self._names if self._names.endswith(b"\0") else self._names + b"\0"
        if _SECTION + b"\0" not in names:
            names += _SECTION + b"\0"
        self._names = names
        self._name = names.index(_SECTION + b"\0")

    def shared_table(self) -> SharedTable:
        """The string table of the symbols, where it will be after the new section."""
        index = self._strings_index
        strings = b"" if index is None else self._bytes_of(index)
        if self._symbols_index is None or not strings:
            raise self._binary.unsupported(
                "no symbol table (.symtab) to share strings with"
            )
        distance = self._section(self._symbols_index).size
        return SharedTable(strings, distance)

    def with_section(self, payload: Payload) -> Iterator[Buffer]:
        """The bytes of the binary with *payload* in it."""
        end = self._end_of_rest()
        start = align(end, _ALIGNMENT)
        tail = self._place(payload.size, start)
        size = _IDENT_SIZE + self._header_format.size
        data = self._binary.data
        try:
            header = self._header_format.pack(*self._header)
        except StructError:
            raise self._binary.too_large() from None
        yield data[:_IDENT_SIZE]
        yield header
        yield data[size:end]
        yield bytes(start - end)
        yield from payload.chunks
        yield from tail
        yield self._table

    # ---- the section table

    @property
    def _count(self) -> int:
        return len(self._table) // self._section_format.size

    def _sections(self) -> Iterator[_Section]:
        return map(_Section._make, self._section_format.iter_unpack(self._table))

    def _section(self, index: int) -> _Section:
        at = index * self._section_format.size
        return _Section(*self._section_format.unpack_from(self._table, at))

    def _put(self, index: int, section: _Section) -> None:
        """Change a section, or add one after the last."""
        try:
            entry = self._section_format.pack(*section)
        except StructError:
            raise self._binary.too_large() from None
        at = index * len(entry)
        self._table[at : at + len(entry)] = entry

    # ---- reading

    def _read_table(self) -> bytearray:
        offset, entry_size = self._header[_SHOFF], self._header[_SHENTSIZE]
        count = self._header[_SHNUM]
        if offset == 0:
            raise self._binary.unsupported(
                "there are no section headers: with one for .gsym alone, strip and "
                "objcopy would take all the rest for nothing and drop it"
            )
        if entry_size != self._section_format.size:
            raise self._binary.damaged(offset, f"section headers of {entry_size} bytes")
        what = "the section table"
        first = _Section(*self._binary.unpack(self._section_format, offset, what))
        if first.type != _NULL:
            raise self._binary.damaged(offset, "section 0 is not of type SHT_NULL")
        size = (count or max(first.size, 1)) * entry_size
        return bytearray(self._binary.part(offset, size, what))

    def _read_segments(self) -> list[tuple[int, int]]:
        """Start and end of each in the file, and of the headers."""
        header = 0, _IDENT_SIZE + self._header_format.size
        offset, entry_size, count = self._header[4], *self._header[8:10]
        if count == _EXTENDED:
            count = self._section(0).info
        if count == 0:
            return [header]
        if entry_size != self._segment_format.size:
            raise self._binary.damaged(offset, f"program headers of {entry_size} bytes")
        table = self._binary.part(offset, count * entry_size, "the program headers")
        segments = [
            (start, start + size)
            for start, size in self._segment_format.iter_unpack(table)
            if size
        ]
        end = max((end for _, end in segments), default=0)
        if end > len(self._binary.data):
            raise self._binary.damaged(
                end,
                "a segment reaches past the end of the file: the file is cut off, or "
                "eu-strip made it, whose debug files say of all segments where they "
                "are in the binary",
            )
        return [header, (offset, offset + len(table)), *segments]

    def _part(self, section: _Section) -> bytes:
        start, end = section.extent
        return bytes(self._binary.part(start, end - start, "a section"))

    def _bytes_of(self, index: int) -> bytes:
        """The bytes of a section as it will be."""
        if index == self._names_index:
            return self._names
        return self._part(self._section(index))

    def _find(self, name: bytes) -> int | None:
        for index, section in enumerate(self._sections()):
            found = self._names[section.name : section.name + len(name) + 1]
            if section.type != _NULL and found == name + b"\0":
                if self._is_loaded(section):
                    reason = f"the section {name.decode()} is loaded into memory"
                    raise self._binary.unsupported(reason)
                return index
        return None

    def _find_symbols(self) -> tuple[int, int] | tuple[None, None]:
        """The symbol table and its strings; None where they have to stay."""
        tables = (i for i, s in enumerate(self._sections()) if s.type == _SYMTAB)
        index = next(tables, None)  # there is one at most
        if index is None:
            return None, None
        section = self._section(index)
        strings = self._section(section.link if section.link < self._count else 0)
        is_loaded = self._is_loaded(section) or self._is_loaded(strings)
        if strings.type != _STRTAB or is_loaded:
            return None, None
        return index, section.link

    @property
    def _tail(self) -> list[int]:
        """The sections after the new one."""
        tail = [self._symbols_index, self._strings_index, self._names_index]
        # One string table may serve as both.
        return [index for index in dict.fromkeys(tail) if index is not None]

    def _is_loaded(self, section: _Section) -> bool:
        start, end = section.extent
        return bool(section.flags & _ALLOC) or any(
            start < segment_end and segment_start < end
            for segment_start, segment_end in self._segments
        )

    def _end_of_rest(self) -> int:
        """The end of all that stays in its place; nothing else may stand after it."""
        size = len(self._binary.data)
        end = max(end for _, end in self._segments)
        table = self._header[_SHOFF]
        goes = [(table, table + self._table_size)]
        moved = {self._index, *self._tail}
        for index, section in enumerate(self._sections()):
            if index in moved:
                goes.append(section.extent)
            else:
                end = max(end, section.extent[1])
        if end > size:
            raise self._binary.damaged(
                end, "a section reaches past the end of the file"
            )
        covered = end
        for start, stop in [*sorted(goes), (size, size)]:
            if not self._binary.is_zero(covered, start):
                raise self._binary.unsupported(
                    f"{start - covered} bytes at offset {covered:#x} are in no section "
                    "or segment: whoever looks for them after the binary would not "
                    "find them any more"
                )
            covered = max(covered, stop)
        return end

    # ---- placing

    def _place(self, size: int, start: int) -> list[bytes]:
        """Update the headers, and return the bytes after the payload."""
        fields = self._name, _PROGBITS, 0, 0, start, size, 0, 0, _ALIGNMENT, 0
        index = self._count if self._index is None else self._index
        self._put(index, _Section(*fields))
        end = start + size
        pieces = []
        for index in self._tail:
            section, data = self._section(index), self._bytes_of(index)
            offset = align(end, _ALIGNMENT if section.type == _SYMTAB else 1)
            self._put(index, section._replace(offset=offset, size=len(data)))
            pieces += [bytes(offset - end), data]
            end = offset + len(data)
        table = align(end, _ALIGNMENT)
        pieces.append(bytes(table - end))
        self._count_sections(table)
        return pieces

    def _count_sections(self, table: int) -> None:
        header, count, names_index = self._header, self._count, self._names_index
        size = count if count > _GREATEST_INDEX else 0
        link = names_index if names_index > _GREATEST_INDEX else 0
        self._put(0, self._section(0)._replace(size=size, link=link))
        header[_SHOFF], header[_SHENTSIZE] = table, self._section_format.size
        header[_SHNUM] = 0 if size else count
        header[_SHSTRNDX] = _EXTENDED if link else names_index
