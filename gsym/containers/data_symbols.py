"""Symbols of an ELF file by address, including data, as in llvm-symbolizer.

Of several symbols at one address the largest is used; a symbol without a size extends
to the next one.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import pairwise
from struct import Struct

from gsym.engine.native import to_str
from gsym.model import UINT64_END
from gsym.ranges import AddressRanges
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gsym.containers.object_file import ObjectFile


class DataSymbol(NamedTuple):
    """A symbol; *file* is the source file of a local symbol, "" if not known."""

    name: str
    start: int
    size: int
    file: str


_TABLES = ((b".symtab", b".strtab"), (b".dynsym", b".dynstr"))
_WANTED_KINDS = frozenset({0, 1, 2, 10})  # NOTYPE, OBJECT, FUNC, GNU_IFUNC
VARIABLES = frozenset({1})
_FILE = 4
_LOCAL = 0
_NO_SECTION = {0, 0xFFF1, 0xFFF2}  # undefined, absolute, common
_MAPPING = (b"$a", b"$d", b"$t", b"$x")  # of ARM, AArch64 and RISC-V
_NO_FILE = b""


class DataSymbols:
    """Finds symbols of *binary* by address; empty for what is not an ELF file.

    Args:
        binary: The file.
        kinds: Types of symbols; by default all except sections, files and thread-local
            ones.
    """

    def __init__(
        self, binary: ObjectFile, kinds: frozenset[int] = _WANTED_KINDS
    ) -> None:
        found: dict[int, tuple[int, int, bytes]] = {}
        self._names = b""
        for table, names in _TABLES if binary.is_elf else ():
            entries, strings = binary.section(table), binary.section(names)
            if entries is None or strings is None:
                continue
            self._names = bytes(strings)
            for start, size, name, file in _read(binary, entries, self._names, kinds):
                if start not in found or found[start][0] <= size:
                    found[start] = size, name, file
            if len(entries):
                break
        self._found = found
        self._ranges: AddressRanges[int] | None = None  # of starts

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[DataSymbol]:
        return map(self._symbol, sorted(self._found))

    def find(self, address: int) -> DataSymbol | None:
        """The symbol at *address*, or None."""
        if self._ranges is None:
            self._ranges = AddressRanges(
                (start, min(start + (self._found[start][0] or end), end), start)
                for start, end in pairwise([*sorted(self._found), UINT64_END])
            )
        start = self._ranges.find(address)
        return None if start is None else self._symbol(start)

    def _symbol(self, start: int) -> DataSymbol:
        size, name, file = self._found[start]
        return DataSymbol(to_str(_raw(self._names, name)), start, size, to_str(file))


class SymbolNames:
    """Finds symbols of an ELF file by name, all of one address, and labels."""

    def __init__(self, binary: ObjectFile) -> None:
        self._tables: list[tuple[bytes, Callable[[], dict[int, tuple[int, int]]]]] = []
        for table, names in _TABLES if binary.is_elf else ():
            entries, strings = binary.section(table), binary.section(names)
            if entries is not None and strings is not None:
                texts = bytes(strings)
                places = cache(partial(_places, binary, entries, texts))
                self._tables.append((texts, places))

    def find(self, name: bytes) -> Iterator[tuple[int, int]]:
        """Start and size of the symbols of a name, with the default version or none."""
        for texts, places in self._tables:
            for text in (name + b"\0", name + b"@@"):
                at = texts.find(text)
                while at >= 0:
                    if at in places():
                        yield places()[at]
                    at = texts.find(text, at + 1)


def _places(
    binary: ObjectFile, entries: memoryview, names: bytes
) -> dict[int, tuple[int, int]]:
    """Start and size of the symbols by the offsets of their names."""
    found = _read(binary, entries, names, _WANTED_KINDS)
    return {name: (start, size) for start, size, name, _ in found}


def _read(
    binary: ObjectFile, entries: memoryview, names: bytes, kinds: frozenset[int]
) -> Iterator[tuple[int, int, int, bytes]]:
    """Start, size, offset of the name, and file of each symbol of these types."""
    file = _NO_FILE
    for name, info, section, start, size in _entries(binary, entries):
        if info & 15 == _FILE:
            file = _raw(names, name)
            continue
        is_wanted = section not in _NO_SECTION and info & 15 in kinds
        if is_wanted and names[name : name + 2] not in _MAPPING:
            moved = (start + binary.bias) % UINT64_END
            yield moved, size, name, file if info >> 4 == _LOCAL else _NO_FILE


def _raw(names: bytes, name: int) -> bytes:
    end = names.find(b"\0", name)
    return names[name : end if end >= 0 else len(names)]


_INSTRUCTION_SETS = {b"$t": True, b"$a": False}


def is_thumb_at(binary: ObjectFile, address: int) -> bool:
    """Whether the code at an address of a 32-bit ARM file is Thumb's.

    The symbols `$t` and `$a` of an ELF file decide; without them Thumb is assumed, as
    almost all code is.
    """
    entries, names = binary.section(b".symtab"), binary.section(b".strtab")
    if not binary.is_elf or entries is None or names is None:
        return True
    nearest, is_thumb = -1, True
    for name, _, _, value, _ in _entries(binary, entries):
        if nearest < value <= address:
            text = bytes(names[name : name + 3])
            if text[:2] in _INSTRUCTION_SETS and text[2:] in {b"\0", b"."}:
                nearest, is_thumb = value, _INSTRUCTION_SETS[text[:2]]
    return is_thumb


def _entries(binary: ObjectFile, entries: memoryview) -> Iterator[tuple[int, ...]]:
    """Offset of the name, info, section, value and size of each symbol in a table."""
    order = ">" if binary.big_endian else "<"
    entry = Struct(order + ("IBxHQQ" if binary.is_64 else "IIIBxH"))
    fields = entry.iter_unpack(entries[: len(entries) // entry.size * entry.size])
    if binary.is_64:
        return fields
    return ((name, info, at, value, size) for name, value, size, info, at in fields)
