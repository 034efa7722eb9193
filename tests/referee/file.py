"""Parts of a file that the second decoder needs, whatever its container is."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, Literal, NamedTuple

from gsym.containers.inflation import believable_size, import_zstd
from gsym.errors import FormatError, LimitError, UnsupportedError
from gsym.model import UINT64_END, Range
from gsym.ranges import range_at
from gsym.verification.decoder.file import DWARF_SECTIONS, DebugSections, DwarfFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.referee.live_code import LiveCode

ZLIB = 1
ZSTD = 2
_ZDEBUG_HEADER_SIZE = 12  # "ZLIB", then the inflated size, big-endian
# Limit: Decompressed sections of a file
_MAX_INFLATED = 16 << 30

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
        names = {name: name + suffix for name in DWARF_SECTIONS}
        names.update(zip(indexes, indexes, strict=True))
        found = {name: self.debug_section(names[name]) for name in names}
        return DebugSections(
            {name: data for name, data in found.items() if data is not None},
            self.byteorder,
            self.address_size,
        )

    def dwarf(self) -> DwarfFile:
        """What the decoder of DWARF needs."""
        other = self.supplementary
        return DwarfFile(
            self.dwarf_sections(),
            self.text_ranges,
            self.isa_bit,
            None if other is None else other.dwarf_sections(),
            self.bias,
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
