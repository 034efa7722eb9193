"""Object files as inputs of a conversion: describe, inflate, relocate.

The engine reads the containers (ELF, Mach-O, PE); here sections are inflated and
copied for relocation, since the engine does neither.
"""

from __future__ import annotations

from gsym.containers import architectures
from gsym.engine.native import bytes_of, check, ffi, lib, new_error, new_object, to_str
from gsym.errors import FormatError, LimitError
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal

    from typing_extensions import Self


class Section(NamedTuple):
    """A section of DWARF."""

    data: memoryview  # its bytes, inflated, and relocated if the file is relocatable
    is_mapping: bool  # whether they are unchanged in a file that is mapped
    # start and end of where relocations could not be applied
    distrusted: tuple[int, int] = (0, 0)


class LoadedSection(NamedTuple):
    """The header of a section of an ELF file that is loaded into memory.

    *access* has the flags `SHF_WRITE`, `SHF_ALLOC` and `SHF_EXECINSTR`.
    """

    name: str
    address: int
    size: int
    access: int
    type: int


# Of programs with code for devices; those of PE files have names of 8 bytes.
BUNDLE_SECTIONS = (
    *(b".nv_fatbin", b"__nv_relfatbin", b".hip_fatbin"),
    *(b".nv_fatb", b".hip_fat"),
)
_ACCESS, _SHF_ALLOC, _SHF_COMPRESSED = 7, 2, 0x800
_STORED = lib.GSYM_COMPRESSION_NONE, lib.GSYM_COMPRESSION_PHANTOM_BYTES
# Bytes before compressed contents: Elf32_Chdr, Elf64_Chdr; "ZLIB" and a size
_HEADERS, _OLD_HEADER = (12, 24), 12
# Limit: Decompressed sections of a file
_MAX_INFLATED = 16 << 30
_UNREAD = {
    lib.GSYM_UNREAD_STABS: "stabs (.stab)",
    lib.GSYM_UNREAD_CODEVIEW: "CodeView (.debug$S)",
    lib.GSYM_UNREAD_ECOFF: "ECOFF symbols (.mdebug)",
    lib.GSYM_UNREAD_DWARF_1: "DWARF 1 (.debug)",
    lib.GSYM_UNREAD_COMPRESSED_SYMBOLS: "a compressed symbol table",
}
_UNIT_SECTIONS = (lib.GSYM_DEBUG_INFO, lib.GSYM_DEBUG_TYPES)


class ObjectFile:
    """A binary or object file in memory."""

    def __init__(self, data: memoryview, path: str) -> None:
        self.path = path
        self._unapplied: list[dict[int | None, int]] = []  # appended to by threads
        self._inflated: dict[int, int] = {}  # sections: index -> size
        self._debug: dict[tuple[int, bool], list[Any]] = {}  # sections that were found
        self.data = data
        # the engine's `gsym_object *`
        self.handle: Any = new_object(
            *("object", lib.gsym_object_open, lib.gsym_object_close),
            *(bytes_of(data), len(data)),
            path=path,
        )
        self._header: Any = ffi.new("gsym_object_header *")
        lib.gsym_object_header_get(self.handle, self._header)
        container = self._header.format
        self.is_elf: bool = container == lib.GSYM_OBJECT_ELF
        self.is_macho: bool = container == lib.GSYM_OBJECT_MACHO
        self.is_wasm: bool = container == lib.GSYM_OBJECT_WASM
        # whether addresses have 64 bits
        self.is_64: bool = bool(self._header.is_64)
        # the byte order of the target, also used for the output
        self.big_endian: bool = bool(self._header.big_endian)
        self.byteorder: Literal["little", "big"]
        self.byteorder = "big" if self.big_endian else "little"
        # whether its sections were given addresses here, one after the other
        self.is_relocatable: bool = bool(self._header.is_relocatable)
        # the number of the machine that it is for: e_machine, cputype, Machine
        self.machine: int = self._header.machine

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # The map is closed with its last view, which a failed job may still have.
        ffi.release(self.handle)
        del self.data

    def align(self, binary: ObjectFile) -> None:
        """Give this file the addresses of *binary*, which it has information of.

        Either may have been moved since, as prelinking and rebasing do. Its DWARF
        keeps its addresses, from which `bias` leads to those of *binary*.
        """
        self._call(lib.gsym_object_align, self.handle, binary.handle)
        lib.gsym_object_header_get(self.handle, self._header)

    @property
    def bias(self) -> int:
        """Number that `align` added to the addresses in the file, modulo 2^64."""
        return int(self._header.bias)

    @property
    def unapplied_relocations(self) -> dict[int | None, int]:
        """Number of relocations not applied so far, by type; None: further types."""
        counts: dict[int | None, int] = {}
        for each in list(self._unapplied):
            for kind, count in each.items():
                counts[kind] = counts.get(kind, 0) + count
        return counts

    @property
    def base_address(self) -> int | None:
        """The address of the image at link time; 0 in a relocatable file."""
        return self._header.base_address if self._header.has_base_address else None

    @property
    def symbol_table_size(self) -> int:
        """The size of its symbols in bytes; 0 if it is stripped.

        Those for the loader, `.dynsym` and exports, do not count.
        """
        return int(self._header.symbol_table_size)

    @property
    def has_dwarf(self) -> bool:
        """Whether it has DWARF, besides that of split units."""
        return self.debug_section_size(lib.GSYM_DEBUG_INFO) > 0

    @property
    def unread_debug_info(self) -> str:
        """Kind of debug information it has that is not read; "" for none."""
        kinds = self._header.unread_debug_info
        return ", ".join(text for kind, text in _UNREAD.items() if kinds & kind)

    @property
    def architecture(self) -> str:
        """The architecture as LLVM's target triples name it."""
        machine = self.machine
        if self.is_macho:
            kind = self._header.machine_kind
            return architectures.macho_architecture(machine, kind)
        if self.is_wasm:
            return "wasm32"
        if not self.is_elf:
            return architectures.pe_architecture(machine)
        if machine in architectures.GPUS and self.is_64:
            return architectures.gpu_architecture(machine, bytes(self.data[:64]))
        return architectures.elf_architecture(machine, self.is_64, self.big_endian)

    @property
    def uuid(self) -> bytes:
        """GNU build id, LC_UUID or CodeView GUID; empty if the file has none.

        One of zeros is none: a linker that was to write it later did not.
        """
        data, size = ffi.new("uint8_t **"), ffi.new("size_t *")
        self._call(lib.gsym_object_identifier, self.handle, data, size)
        found = bytes(ffi.buffer(data[0], size[0])) if size[0] else b""
        return found if any(found) else b""

    @property
    def pdb_path(self) -> bytes:
        """The PDB that a PE file names as its debug information; b"" for none."""
        if self._header.format != lib.GSYM_OBJECT_PE or self.is_relocatable:
            return b""
        from gsym.containers.headers import read_codeview

        try:
            record = read_codeview(self.data, self.path)
        except FormatError:
            record = None
        return b"" if record is None else record.pdb

    @property
    def placements(self) -> tuple[tuple[str, int, int], ...]:
        """Name, start and end of the code sections of a relocatable file."""
        return tuple(self.code_sections()) if self.is_relocatable else ()

    @property
    def code_extent(self) -> tuple[int, int] | None:
        """Start of the first section with code, end of the last one; None for none."""
        ranges = [(start, end) for _, start, end in self.code_sections()]
        return (min(ranges)[0], max(end for _, end in ranges)) if ranges else None

    def function_starts(self) -> list[int]:
        """Link-time addresses where functions start by its unwind tables, ascending."""
        count = lib.gsym_object_function_starts(self.handle, ffi.NULL, 0)
        starts = ffi.new("uint64_t[]", count)
        lib.gsym_object_function_starts(self.handle, starts, count)
        return sorted(set(starts))

    def code_sections(self) -> Iterator[tuple[str, int, int]]:
        """Name, start and end of each."""
        for name, section in self._sections():
            if section.holds_code:
                yield name, section.address, section.address + section.memory_size

    def loaded_sections(self) -> Iterator[LoadedSection]:
        """The sections of an ELF file that are loaded."""
        for name, section in self._sections() if self.is_elf else ():
            if section.flags & _SHF_ALLOC:
                place = section.address, section.memory_size
                yield LoadedSection(name, *place, section.flags & _ACCESS, section.type)

    def code(self) -> Iterator[memoryview]:
        """The contents of each section with code; of a debug file there are none."""
        return (contents for _, contents in self.placed_code())

    def placed_code(self) -> Iterator[tuple[int, memoryview]]:
        """Code as of `code`, with the link-time addresses."""
        for _, section in self._sections():
            if section.holds_code and section.size:
                size = min(section.size, section.memory_size)
                contents = self.data[section.offset : section.offset + size]
                yield section.address, contents

    def compressed_sections(self) -> Iterator[str]:
        """Names of the sections that are stored compressed."""
        for name, section in self._sections():
            if section.compression not in _STORED:
                yield name

    def _sections(self) -> Iterator[tuple[str, Any]]:
        """Each section with its name; the next one takes its place."""
        section: Any = ffi.new("gsym_object_section *")
        ignored = new_error()
        for index in range(self._header.section_count):
            # Whether the file has its bytes does not matter here.
            lib.gsym_object_section_at(self.handle, index, section, ignored)
            if section.present:
                yield to_str(ffi.buffer(section.name, section.name_size)[:]), section

    def section(self, name: bytes) -> memoryview | None:
        """The first section of a name, inflated; None if there is none."""
        section = self._find(name)
        return self._payload(section).data if section.present else None

    def stored_section(self, name: bytes) -> memoryview | None:
        """The first section of a name as stored in the file; None if there is none."""
        found = self.stored_range(name)
        return None if found is None else self.data[slice(*found)]

    def stored_range(self, name: bytes) -> tuple[int, int] | None:
        """Start and end of a section in the file, as stored; None if it is absent.

        One that is compressed begins with the header that says so.
        """
        section = self._find(name)
        if not section.present:
            return None
        head = 0
        if section.compression not in _STORED:
            is_elf_form = section.flags & _SHF_COMPRESSED
            head = _HEADERS[self.is_64] if is_elf_form else _OLD_HEADER
        end: int = min(len(self.data), section.offset + section.size)
        return min(section.offset - head, end), end

    def has_section(self, name: bytes) -> bool:
        """Whether there is a section of this name, even a damaged one."""
        try:
            return bool(self._find(name).present)
        except FormatError:
            return True

    @property
    def bundle_section(self) -> str:
        """The name of a section with code for devices; "" if there is none."""
        names = BUNDLE_SECTIONS[:3] if self.is_elf else BUNDLE_SECTIONS[3:]
        return next(filter(self.has_section, names), b"").decode()

    def code_range(self, name: bytes) -> tuple[int, int] | None:
        """Start and end of a section in memory; both 0 if it has no code.

        None if there is no section of the name.
        """
        section = self._find(name)
        if not section.present:
            return None
        if not section.holds_code:
            return 0, 0
        return section.address, section.address + section.memory_size

    def code_at(self, address: int, size: int) -> memoryview:
        """The bytes loaded at a link-time *address*, at most *size*.

        They end with the section, and are empty if there is no section with code, or
        its bytes are not in the file, as in files with debug information only.
        """
        for start, contents in self.placed_code():
            if start <= address < start + len(contents):
                return contents[address - start :][:size]
        return memoryview(b"")

    def section_size(self, name: bytes) -> int:
        """The size of `section`; 0 if there is none."""
        return int(self._find(name).uncompressed_size)

    def debug_section(self, which: int, *, split: bool = False) -> Section | None:
        """A section of DWARF; None if there is none.

        Several of one name, as for type units in separate groups, are joined.

        Args:
            which: A `gsym_debug_section`.
            split: The one of split units (`.debug_info.dwo`).
        """
        sections = self._find_debug(which, split=split)
        parts = [self._payload(section) for section in sections]
        return _joined(parts) if len(parts) > 1 else parts[0] if parts else None

    def debug_section_size(self, which: int, *, split: bool = False) -> int:
        """The size of `debug_section`; 0 if there is none."""
        sections = self._find_debug(which, split=split)
        return sum(section.uncompressed_size for section in sections)

    def _find(self, name: bytes, first: int = 0) -> Any:
        section = ffi.new("gsym_object_section *")
        self._call(
            lib.gsym_object_find_section, self.handle, first, name, len(name), section
        )
        return section

    def _find_debug(self, which: int, *, split: bool) -> list[Any]:
        """The section; several where a linker would join them."""
        found = self._debug.get((which, split))
        if found is None:
            found = self._debug[which, split] = self._search_debug(which, split=split)
        return found

    def _search_debug(self, which: int, *, split: bool) -> list[Any]:
        section = ffi.new("gsym_object_section *")
        self._call(lib.gsym_object_debug_section, self.handle, which, split, section)
        joins = which in _UNIT_SECTIONS if split else self.is_relocatable
        sections, size = [], 0
        while section.present:
            sections.append(section)
            size += section.size
            if not joins:
                break
            if size > len(self.data):  # or a small file could ask for any memory
                raise FormatError(
                    "sections of one name share their bytes",
                    path=self.path,
                    offset=section.offset,
                )
            name = ffi.buffer(section.name, section.name_size)[:]
            section = self._find(name, section.index + 1)
        return sections

    def _payload(self, section: Any) -> Section:
        from gsym.containers.mapped_file import copy_of, give_back, is_mapped

        start, end = section.offset, section.offset + section.size
        payload = self.data[start:end] if section.size else memoryview(b"")
        is_copied = section.compression != lib.GSYM_COMPRESSION_NONE
        is_mapping = is_mapped(self.data)
        if is_copied:
            from gsym.containers.inflation import inflate

            self._count_inflated(section)
            payload, is_mapping = inflate(
                payload,
                section.uncompressed_size,
                section.compression,
                path=self.path,
                offset=section.offset,
            )
        if not section.has_relocations:
            return Section(payload, is_mapping)
        if is_mapped(self.data):
            lib.gsym_object_mark_mapped(self.handle)
        if is_mapping or not is_copied:
            payload = copy_of(payload)
        distrusted = self._relocate(payload, section.index)
        # Relocations may take more pages than all that is read later.
        give_back(self.data, 0, len(self.data))
        return Section(payload, is_mapping=False, distrusted=distrusted)

    def _count_inflated(self, section: Any) -> None:
        """Refuse a section with which the inflated sections exceed the limit.

        They count together, as sections of zeros shrink to almost nothing.
        """
        from gsym.containers.inflation import believable_size

        self._inflated[section.index] = int(section.uncompressed_size)
        most = believable_size(len(self.data), _MAX_INFLATED)
        if sum(list(self._inflated.values())) > most:  # others may be counted meanwhile
            reason = f"its compressed sections declare more than {most} bytes"
            raise LimitError(reason, path=self.path)

    def _relocate(self, payload: memoryview, index: int) -> tuple[int, int]:
        unapplied: Any = ffi.new("gsym_unapplied *")
        self._call(
            lib.gsym_object_relocate,
            self.handle,
            index,
            bytes_of(payload),
            len(payload),
            unapplied,
        )
        if not unapplied.count:
            return 0, 0
        pairs = zip(unapplied.types, unapplied.counts, strict=True)
        kinds: dict[int | None, int] = {kind: count for kind, count in pairs if count}
        others = unapplied.count - sum(kinds.values())
        self._unapplied.append(kinds | ({None: others} if others else {}))
        return int(unapplied.start), int(unapplied.end)

    def _call(self, function: Any, *arguments: Any) -> None:
        error: Any = new_error()  # not shared: sections are read by several threads
        check(function(*arguments, error), error, self.path)


def _joined(parts: list[Section]) -> Section:
    start = end = size = 0
    for part in parts:
        low, high = part.distrusted
        if high:
            start, end = start if end else size + low, size + high
        size += len(part.data)
    data = memoryview(b"".join(part.data for part in parts))
    return Section(data, is_mapping=False, distrusted=(start, end))
