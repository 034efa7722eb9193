"""Parts of a file that the second decoder needs, whatever its container is."""

from __future__ import annotations

import re
import zlib
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE, AttributeValue
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

from gsym.containers.inflation import believable_size, import_zstd
from gsym.errors import FormatError, LimitError, UnsupportedError
from gsym.model import UINT64_END, Range
from gsym.verification.decoder.ranges import range_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gsym.verification.decoder.live_code import LiveCode

ZLIB = 1
ZSTD = 2
_ZDEBUG_HEADER_SIZE = 12  # "ZLIB", then the inflated size, big-endian
# Limit: Decompressed sections of a file
_MAX_INFLATED = 16 << 30

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


# The last two are one: GNU's indirect functions.
FUNCTION_TYPES = {"STT_FUNC", "STT_GNU_IFUNC", "STT_LOOS"}
# What marks code and data for ARM, AArch64 and RISC-V.
MAPPING_SYMBOL = re.compile(r"\$(?:[adt](?:\.|$)|x)")
# Tools of ARM before its EABI had more, with the type of functions.
OLD_ARM_MARK = re.compile(r"\$(?:[abdfmpt](?:\.|$)|x)")
_LOCAL_LABEL = re.compile(r"\.L|$")  # of assemblers


class Symbol(NamedTuple):
    """A symbol in an executable section; *kind* as ELF names it, e.g. STT_FUNC.

    The *size* is 0 where the file does not say it; no symbol extends beyond the
    *limit*, the end of its section.
    """

    address: int
    size: int
    name: str
    kind: str = "STT_FUNC"
    limit: int = UINT64_END

    @property
    def is_function(self) -> bool:
        """Whether its type is that of functions."""
        return self.kind in FUNCTION_TYPES and bool(self.name)

    @property
    def is_label(self) -> bool:
        """Whether it has no type, and a name as functions have in assembly."""
        return self.kind == "STT_NOTYPE" and not (
            MAPPING_SYMBOL.match(self.name) or _LOCAL_LABEL.match(self.name)
        )


class _RootDIE(DIE):
    """The first DIE of a unit."""

    def add_bases(self, bases: Mapping[str, int]) -> None:
        """Add the bases that it leaves out; pyelftools needs them for an index."""
        for name, start in bases.items():
            value = AttributeValue(name, "DW_FORM_sec_offset", start, start, 0, 0)
            self.attributes.setdefault(name, value)
        self._translate_indirect_attributes()


class _Unit(CompileUnit):
    """A unit whose root may leave out the bases of its indexes."""

    def add_root(self, stream: Any, bases: Mapping[str, int]) -> None:
        """Decode the root DIE, and add the bases that it leaves out."""
        root = _RootDIE(self, stream, self.cu_die_offset)
        self._dielist.insert(0, root)
        self._diemap.insert(0, self.cu_die_offset)
        root.add_bases(bases)


class _Context(DWARFInfo):
    """Reads version 6 as well, whose units and line tables have the headers of 5."""

    def _parse_CU_at_offset(self, offset: int) -> _Unit:  # noqa: N802 - inherited
        cu = super()._parse_CU_at_offset(offset)
        return _Unit(cu.header, self, cu.structs, cu.cu_offset, cu.cu_die_offset)

    def _is_supported_version(self, version: int) -> bool:
        return 2 <= version <= 6  # noqa: PLR2004


class DebugSections(NamedTuple):
    """Sections of DWARF, inflated and relocated, by their names without dots."""

    contents: dict[str, bytes]
    byteorder: Literal["little", "big"]
    address_size: int

    def replace(self, **contents: bytes) -> DebugSections:
        """Copy this with other contents of some sections."""
        return self._replace(contents={**self.contents, **contents})

    def part(self, name: str, start: int, size: int) -> bytes:
        """Bytes of a section; what is beyond its end is missing."""
        return self.contents.get(name, b"")[start : start + size]

    def word(self, name: str, at: int, size: int) -> int:
        """A number in a section; 0 beyond its end."""
        return int.from_bytes(self.part(name, at, size), self.byteorder)

    def open(self) -> DWARFInfo:
        """A fresh pyelftools context; it caches every DIE it has seen."""
        sections: dict[str, Any] = dict.fromkeys(
            f"{name}_sec" for name in _DWARF_SECTIONS + _DWARF_SECTIONS_UNUSED
        )
        for name in _DWARF_SECTIONS:
            data = self.contents.get(name)
            if data is not None:
                sections[f"{name}_sec"] = DebugSectionDescriptor(
                    stream=BytesIO(data),
                    name=name,
                    global_offset=0,
                    size=len(data),
                    address=0,
                )
        config = DwarfConfig(self.byteorder == "little", "", self.address_size)
        return _Context(config=config, **sections)


class ReferenceFile:
    """A binary, open until `close`; classes for containers fill in the rest."""

    little_endian: bool  # the order of the bytes in its words
    address_size: int  # in bytes
    text_ranges: Sequence[Range]  # those of the sections with code, merged
    # the bit of an address of code that is no part of the address but says which
    # instruction set the code is of; 0 where there is none
    isa_bit = 0
    has_sizes = False  # whether its symbol table has the sizes of symbols

    def __init__(self, path: str) -> None:
        self.path = path  # as given
        # the file that its DWARF is taken from; None: itself
        self.debug: ReferenceFile | None = None
        # the file that the DWARF refers to
        self.supplementary: ReferenceFile | None = None
        # how far its binary is from the addresses in it, if it is a debug file
        self.bias = 0
        # the files whose symbols are its own; none: itself
        self.symbol_files: tuple[ReferenceFile, ...] = ()
        self._claimed = 0  # bytes of all sections inflated

    @property
    def byteorder(self) -> Literal["little", "big"]:
        """The words of `sys.byteorder`."""
        return "little" if self.little_endian else "big"

    def close(self) -> None:
        """Close the file and those that belong to it."""
        self._close()
        for other in (self.debug, self.supplementary, *self.symbol_files):
            if other is not None and other is not self:
                other.close()

    def is_text(self, address: int) -> bool:
        """Whether *address* lies in an executable section, if there are any."""
        if not self.text_ranges:
            return True
        return range_at(self.text_ranges, address) is not None

    def code_range(self, start: int, end: int) -> Range:
        """A range of code without the bit for the instruction set.

        The end has it if it is computed from a start with it. A label at the end has
        not, and data in code may end at any byte.
        """
        return Range(start & ~self.isa_bit, end - (start & end & self.isa_bit))

    def moved(self, start: int, end: int) -> Iterator[tuple[Range, int]]:
        """The linked parts of a range, and how far each was moved."""
        yield Range(start, end), self.bias

    def symbols(self) -> Iterator[Symbol]:
        """Symbols in executable sections."""
        for file in self.symbol_files or (self,):
            for symbol in file.own_symbols():
                yield symbol._replace(address=symbol.address + file.bias)

    def dwarf_sections(self, suffix: str = "") -> DebugSections:
        """The DWARF sections; with *suffix* ".dwo" those of split units."""
        if self.debug is not None and not suffix:
            return self.debug.dwarf_sections()
        indexes = ("debug_cu_index", "debug_tu_index") if suffix else ()
        names = {name: name + suffix for name in _DWARF_SECTIONS}
        names.update(zip(indexes, indexes, strict=True))
        found = {name: self.debug_section(names[name]) for name in names}
        return DebugSections(
            {name: data for name, data in found.items() if data is not None},
            self.byteorder,
            self.address_size,
        )

    def base_address(self) -> int | None:
        """The address of the image at link time, if the file has one."""
        raise NotImplementedError

    def build_id(self) -> bytes:
        """The id of the build; b"" for none."""
        raise NotImplementedError

    def own_symbols(self) -> Iterator[Symbol]:
        """Symbols in the executable sections of this very file."""
        raise NotImplementedError

    @property
    def live_code(self) -> LiveCode | None:
        """Evidence of live code, as against dropped code at address 0, or None."""
        return None

    def stub_ranges(self) -> Iterator[Range]:
        """The sections of stubs that have no symbols."""
        return iter(())

    def called_names(self) -> frozenset[str]:
        """The functions of other files that such a stub may call."""
        return frozenset()

    def debug_section(self, name: str) -> bytes | None:
        """A section of DWARF by its name without a dot, inflated and relocated."""
        raise NotImplementedError

    def _close(self) -> None:
        raise NotImplementedError

    def _inflate_old(self, name: str, raw: bytes, most: int) -> bytes:
        """The contents of a section `.zdebug_*`."""
        size = int.from_bytes(raw[4:_ZDEBUG_HEADER_SIZE], "big")
        return self._inflate(name, ZLIB, raw[_ZDEBUG_HEADER_SIZE:], size, most)

    def _inflate(
        self, name: str, kind: int, data: bytes, size: int, most: int
    ) -> bytes:
        """Inflate a section to *size* bytes, in a file of *most* bytes."""
        self._claimed += size
        if self._claimed > believable_size(most, _MAX_INFLATED):
            reason = "its compressed sections declare an implausible size"
            raise LimitError(reason, path=self.path)
        try:
            inflated = _inflate(kind, data, size)
        except Exception as error:
            raise FormatError(f"section {name}: {error}", path=self.path) from error
        if inflated is None:
            reason = f"section {name} has the unknown compression type {kind}"
            raise UnsupportedError(reason, path=self.path)
        return inflated


def _inflate(kind: int, data: bytes, size: int) -> bytes | None:
    """Inflate *data* to *size* bytes; None where *kind* is unknown."""
    if kind == ZLIB:
        return zlib.decompressobj().decompress(data, size)
    if kind == ZSTD:
        return bytes(import_zstd().ZstdDecompressor().decompress(data, size))
    return None


def text_of(data: bytes) -> str:
    """The text up to a NUL."""
    return data.partition(b"\0")[0].decode("utf-8", "surrogateescape")
