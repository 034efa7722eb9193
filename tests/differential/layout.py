"""What the comparison wants to know of a binary itself: its code and its symbols."""

from __future__ import annotations

import bisect
import re
import struct
from typing import TYPE_CHECKING, NamedTuple

from tests.differential.peers import run
from tests.differential.sampling import Function, union

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# A symbol further away than this is not looked at.
_REACH = 1 << 16
_MOST_PADDING = 64
_RELOCATABLE = 1  # e_type
_ARM = 40  # e_machine
_INTEL = (3, 62)
_UNKNOWN = (94, 244, 251)  # Xtensa, Lanai, VE
# Where Arm code, Thumb code and data start, not what they are called.
_MAPPING = re.compile(r"\$[adtx](\.|$)")
_CONTROL = re.compile(r"\^([@-_])")


class Symbol(NamedTuple):
    """An entry of the symbol table; *kind* is FUNC, NOTYPE, IFUNC, ..."""

    start: int
    size: int
    kind: str
    name: str


class Gap(NamedTuple):
    """Bytes of code that nothing covers; they end with the section at the latest."""

    start: int
    end: int

    @property
    def is_padding(self) -> bool:
        """Whether it only aligns what follows."""
        size = self.end - self.start
        return size < min(_MOST_PADDING, self.end & -self.end)


class SymbolTable(NamedTuple):
    """The defined symbols that may name code, by address.

    *files* are the names of files in it, *data* those of variables and constants.
    """

    symbols: list[Symbol]
    files: frozenset[str] = frozenset()
    data: frozenset[str] = frozenset()


class Kind(NamedTuple):
    """What the header of an ELF file says of it."""

    is_relocatable: bool = False
    machine: int = 0

    @property
    def is_foreign_object(self) -> bool:
        """Whether it has relocations of a machine that few tools know."""
        return self.is_relocatable and self.machine not in _INTEL

    @property
    def is_unknown_object(self) -> bool:
        """The same of a machine whose relocations gsym does not know."""
        return self.is_relocatable and self.machine in _UNKNOWN


def rows_have_isa_bits(binary: Path) -> bool:
    """Whether linkers leave the bit that chooses Thumb code or microMIPS in rows."""
    with binary.open("rb") as file:
        head = file.read(1024)
    if head[:4] == b"\x7fELF":
        return head[18:20] in {bytes([8, 0]), bytes([0, 8])}
    start = int.from_bytes(head[60:64], "little")
    return head[:2] == b"MZ" and head[start : start + 6] == b"PE\0\0\xc4\x01"


def kind_of(binary: Path) -> Kind | None:
    """That of an ELF file; None for another container."""
    with binary.open("rb") as file:
        head = file.read(20)
    if head[:4] != b"\x7fELF":
        return None
    order = "<" if head[5] == 1 else ">"
    kind, machine = struct.unpack_from(f"{order}HH", head, 16)
    return Kind(kind == _RELOCATABLE, machine)


def symbol_table(binary: Path) -> SymbolTable:
    """The symbols of a file of any container; few of one that is not ELF have sizes."""
    elf = kind_of(binary)
    if elf is None:
        return SymbolTable(_named_symbols(binary))
    starts = _section_starts(binary) if elf.is_relocatable else {}
    printed = run("readelf", "--syms", "--wide", str(binary))
    found, files, data = set(), set(), set()
    for line in printed.splitlines():
        fields = line.split(maxsplit=7)
        if len(fields) != 8:
            continue
        _, value, size, kind, _, _, section, name = fields
        if kind == "FILE":
            files.add(name)
        elif kind == "OBJECT":
            data.add(name)
        elif (
            kind in {"FUNC", "NOTYPE", "IFUNC"}
            and section.isdigit()
            and not _MAPPING.match(name)
        ):
            extent = int(size, 16 if size.startswith("0x") else 10)
            start = int(value, 16) + starts.get(section, 0)
            if kind == "FUNC" and elf.machine == _ARM:
                start &= ~1  # which says that it is Thumb code
            found.add(Symbol(start, extent, kind, _CONTROL.sub(_unescaped, name)))
    return SymbolTable(sorted(found), frozenset(files), frozenset(data))


def _unescaped(match: re.Match[str]) -> str:
    return chr(ord(match[1]) - ord("@"))


def _section_starts(binary: Path) -> dict[str, int]:
    """What the addresses of symbols count from, in a relocatable file."""
    return {number: int(start, 16) for number, start, _, _ in _sections(binary)}


def _named_symbols(binary: Path) -> list[Symbol]:
    printed = run("llvm-nm-22", "--defined-only", "--format=posix", str(binary))
    has_underscores = _names_have_underscores(binary)
    found = []
    for line in printed.splitlines():
        name, kind, value, size = line.rsplit(" ", 3)
        if kind in "tTwW":
            text = name.removeprefix("_") if has_underscores else name
            found.append(Symbol(int(value, 16), int(size or "0", 16), "FUNC", text))
    return sorted(found)


def _names_have_underscores(binary: Path) -> bool:
    """Whether the linker put one in front of each name: Mach-O, and PE for i386."""
    with binary.open("rb") as file:
        head = file.read(4096)
    if head[:4] in {b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe"}:
        return True
    return head[:2] == b"MZ" and b"PE\0\0\x4c\x01" in head


def symbols_near(by_address: list[Symbol], address: int) -> tuple[Symbol, ...]:
    """Those symbols that start at or less than 64 KiB before *address*."""
    first = bisect.bisect_left(by_address, (address - _REACH,))
    last = bisect.bisect_left(by_address, (address + 1,))
    return tuple(by_address[first:last])


def symbols_over(by_address: list[Symbol], address: int) -> tuple[Symbol, ...]:
    """Those that cover *address*; without a size that is up to the next start."""
    near = symbols_near(by_address, address)
    after = bisect.bisect_left(by_address, (address + 1,))
    last_start = by_address[after - 1].start if after else 0
    first = bisect.bisect_left(by_address, (last_start,))
    return (
        *(each for each in near if address < each.start + each.size),
        *(each for each in by_address[first:after] if each.size == 0),
    )


_SECTION = re.compile(
    r"^ *\[ *(\d+)\] \S+ +(?:PROGBITS|NOBITS) +(\w+) \w+ (\w+) \w\w +(\w*) ",
    re.MULTILINE,
)


def _sections(binary: Path) -> list[tuple[str, ...]]:
    """The sections with contents of an ELF file: number, address, size, flags."""
    return _SECTION.findall(run("readelf", "--section-headers", "--wide", str(binary)))


_TEXT = re.compile(r"^ *\d+ \S+ +([0-9a-f]+) ([0-9a-f]+) TEXT", re.MULTILINE)


def code(binary: Path) -> list[tuple[int, int]]:
    """The sections that hold code, as ranges of addresses."""
    if kind_of(binary) is None:
        printed = run("llvm-objdump-22", "--section-headers", str(binary))
        found = [(start, size) for size, start in _TEXT.findall(printed)]
    else:
        found = [
            (start, size)
            for _, start, size, flags in _sections(binary)
            if {"A", "X"} <= set(flags)
        ]
    ranges = [(int(start, 16), int(start, 16) + int(size, 16)) for start, size in found]
    return sorted(each for each in ranges if each[0] < each[1])


def has_section(binary: Path, *names: str) -> bool:
    """Whether a file has a section of one of these names, or of a longer one."""
    if kind_of(binary) is None:
        return False
    printed = run("readelf", "--section-headers", "--wide", str(binary))
    return any(name in printed for name in names)


class Cover:
    """Which addresses symbols and functions cover."""

    def __init__(
        self,
        sections: list[tuple[int, int]],
        symbols: Iterable[Symbol],
        functions: Iterable[Function],
    ) -> None:
        sized = [
            Function(each.start, each.start + each.size, is_bare=True)
            for each in symbols
            if each.size
        ]
        self._sections = sections
        self._covered = union([*sized, *functions])

    def gap(self, address: int) -> Gap | None:
        """The bytes around *address* that nothing covers, if it is one of them."""
        at = bisect.bisect_right(self._covered, (address, 1 << 64))
        if at and address < self._covered[at - 1][1]:
            return None
        start = self._covered[at - 1][1] if at else 0
        end = self._covered[at][0] if at < len(self._covered) else 1 << 64
        for low, high in self._sections:
            if low <= address < high:
                return Gap(max(start, low), min(end, high))
        return Gap(start, end)
