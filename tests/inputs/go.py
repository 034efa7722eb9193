"""Tiny Go binaries: a pclntab, inlined calls and module data, of each layout.

    go_elf((GoFunction("main.main", 0, 0x20, rows=((0, "/m.go", 3),)),)).to_bytes()

A pclntab has the names of functions, their files and lines, and pc-value tables that
say where they hold. The layouts are told by the first Go that had them: 16 to 27.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.inputs import macho, pe
from tests.inputs.elf import ALLOC, WRITE, Elf, Section, Symbol, code_section
from tests.inputs.encoding import ByteOrder, Encoding, cstring, uleb

if TYPE_CHECKING:
    from collections.abc import Sequence

GO_VERSIONS = (16, 18, 20, 26, 27)
TEXT, RODATA, TABLE, DATA = 0x1000, 0x3000, 0x5000, 0x9000
NONE = 0xFFFFFFFF
BUILD_INFO = b"\xff Go buildinf:\x08\2"
_MAGIC = {16: 0xFFFFFFFA, 18: 0xFFFFFFF0, 20: 0xFFFFFFF1}
_GOFUNC_WORD = {18: 38, 20: 40, 26: 40, 27: 43}
_BEFORE_TREES = 24  # bytes of something else


@dataclass(frozen=True)
class GoCall:
    """An inlined call. *caller* is a place of which the rows say *path* and *line*, and
    the spans *parent*: the number of another call, or -1.
    """

    name: str
    caller: int
    path: str
    line: int
    parent: int = -1


@dataclass(frozen=True)
class GoFunction:
    """Places count from *start*, which counts from the start of the code.

    *rows* are (place, path, line); *spans* are (place, number of a call or -1);
    *stack* are (place, bytes on the stack). They hold up to the next one, the last up
    to *size*.
    """

    name: str
    start: int
    size: int
    rows: Sequence[tuple[int, str, int]] = ()
    calls: Sequence[GoCall] = ()
    spans: Sequence[tuple[int, int]] = ()
    stack: Sequence[tuple[int, int]] = ()
    flags: int = 0


@dataclass(frozen=True)
class Pclntab:
    """The parts that a binary has of it; *end* is where the last function ends."""

    functions: Sequence[GoFunction]
    version: int = 20
    bits: int = 64
    byteorder: ByteOrder = "little"
    quantum: int = 1
    text: int = TEXT
    address: int = TABLE
    trees: int = RODATA  # address of the inlined calls
    has_text_start: bool = False
    end: int | None = None

    def encode(self) -> tuple[bytes, bytes, bytes]:
        """The table, the data with the inlined calls, the module data."""
        return _Writer(self).encode()


class _Writer:
    def __init__(self, table: Pclntab) -> None:
        self.table = table
        self.is_absolute = table.version < 18
        self.is_new = table.version >= 20
        self.encoding = Encoding(table.byteorder, table.bits // 8)
        self.uint, self.word = self.encoding.uint, self.encoding.address
        self.names: dict[str, int] = {}
        self.paths: dict[str, int] = {}
        self.name_bytes, self.path_bytes = (
            bytearray(b"first\0"),
            bytearray(b"none.go\0"),
        )
        self.units = bytearray(self.uint(NONE, 4))  # file 0 of each unit is not known
        self.values, self.trees = bytearray(b"\0"), bytearray(_BEFORE_TREES)
        self.places: dict[bytes, int] = {}

    def entry(self, value: int) -> bytes:
        return self.word(value) if self.is_absolute else self.uint(value, 4)

    def address(self, start: int) -> bytes:
        return self.entry(self.table.text + start if self.is_absolute else start)

    def name(self, text: str) -> int:
        if text not in self.names:
            self.names[text] = len(self.name_bytes)
            self.name_bytes += cstring(text)
        return self.names[text]

    def path(self, text: str) -> int:
        """The number of the file in the one unit that there is."""
        if not text:
            return 0
        if text not in self.paths:
            self.paths[text] = len(self.units) // 4
            self.units += self.uint(len(self.path_bytes), 4)
            self.path_bytes += cstring(text)
        return self.paths[text]

    def value_table(self, steps: Sequence[tuple[int, int]], size: int) -> int:
        """Place of a table of (place, value) that ends at *size*; 0 without a step."""
        if not steps:
            return 0
        value, quantum, out = -1, self.table.quantum, bytearray()
        ends = [start for start, _ in steps[1:]] + [size]
        for (start, each), end in zip(steps, ends, strict=True):
            difference = each - value
            if difference == 0 and start:
                continue  # cannot be said, and the step before is longer instead
            out += uleb((difference << 1) ^ (difference >> 31))
            out += uleb((end - start) // quantum)
            value = each
        return self.place_of(bytes(out) + b"\0")

    def place_of(self, values: bytes) -> int:
        """Tables that are equal are one."""
        if values not in self.places:
            self.places[values] = len(self.values)
            self.values += values
        return self.places[values]

    def tree(self, function: GoFunction) -> int | None:
        if not function.calls:
            return None
        place = len(self.trees)
        for call in function.calls:
            name = self.uint(self.name(call.name), 4)
            caller = self.uint(call.caller, 4)
            if self.is_new:
                self.trees += bytes(4) + name + caller + self.uint(1, 4)
            else:
                self.trees += self.uint(call.parent, 2) + bytes(2)
                self.trees += self.uint(self.path(call.path), 4)
                self.trees += self.uint(call.line, 4) + name + caller
        return place

    def record(self, function: GoFunction, place: int) -> bytes:
        """The record of a function that stands at *place* among the functions."""
        size, rows = function.size, function.rows
        files = _changes([(at, self.path(path)) for at, path, _ in rows])
        lines = _changes([(at, line) for at, _, line in rows])
        tree = self.tree(function)
        several = _changes(function.stack), files, lines
        tables = [self.value_table(each, size) for each in several]
        calls = self.value_table(_changes(function.spans), size)
        count = 3 if function.calls else 0
        fields = [self.name(function.name), 0, 0, *tables, count, 0]
        fields += [1] if self.is_new else []
        out = self.address(function.start)
        out += b"".join(self.uint(field, 4) for field in fields)
        out += bytes([0, function.flags, 0, 4 if function.calls else 0])
        if function.calls:
            out += bytes(8) + self.uint(calls, 4)
            if self.is_absolute:
                out += bytes(-(place + len(out)) % self.encoding.address_size)
            none, start = (0, self.table.trees) if self.is_absolute else (NONE, 0)
            out += 3 * self.entry(none) + self.entry(start + (tree or 0))
        return out + bytes(-len(out) % 8)

    def function_part(self) -> bytes:
        table = self.table
        count = len(table.functions)
        entry_size = len(self.entry(0))
        place = (2 * count + 1) * entry_size
        place += -place % 8
        entries, records = b"", b""
        for function in table.functions:
            entries += self.address(function.start)
            entries += self.entry(place + len(records))
            records += self.record(function, place + len(records))
        last = table.functions[-1] if count else GoFunction("", 0, 0)
        end = last.start + last.size if table.end is None else table.end
        return (entries + self.address(end)).ljust(place, b"\0") + records

    def encode(self) -> tuple[bytes, bytes, bytes]:
        table = self.table
        functions = self.function_part()
        parts = [
            bytes(part) + bytes(-len(part) % 8)
            for part in (self.name_bytes, self.units, self.path_bytes, self.values)
        ]
        head = [len(table.functions), len(self.paths)]
        if not self.is_absolute:
            head.append(table.text if table.has_text_start else 0)
        place = 8 + (len(head) + 5) * self.encoding.address_size
        places = [place]
        for part in parts:
            places.append(places[-1] + len(part))
        out = self.uint(_MAGIC[min(table.version, 20)], 4)
        out += bytes([0, 0, table.quantum, self.encoding.address_size])
        out += b"".join(map(self.word, (*head, *places)))
        out += b"".join(parts) + functions
        gofunc = table.trees
        trees = bytes(self.trees)
        if table.version >= 26:  # the calls are in the table
            out += bytes(-len(out) % 8)
            gofunc = table.address + len(out)
            out, trees = out + trees, bytes(8)
        return out, trees, self.module_data(places[0], gofunc, len(out))

    def module_data(self, names: int, gofunc: int, size: int) -> bytes:
        table = self.table
        words = [0] * 56
        words[0], words[1] = table.address, table.address + names
        first = table.functions[0].start if table.functions else 0
        words[20], words[22] = table.text + first, table.text
        if table.version in _GOFUNC_WORD:
            words[_GOFUNC_WORD[table.version]] = gofunc
            if table.version >= 26:
                words[_GOFUNC_WORD[table.version] + 1] = table.address + size
        return b"".join(map(self.word, words))


def _changes(steps: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """*steps* without those that say what the one before says."""
    kept: list[tuple[int, int]] = []
    for place, value in steps:
        if not kept or kept[-1][1] != value:
            kept.append((place, value))
    return kept


def go_elf(  # noqa: PLR0913 - keywords, each a choice of its own
    functions: Sequence[GoFunction],
    *,
    version: int = 20,
    bits: int = 64,
    byteorder: ByteOrder = "little",
    quantum: int = 1,
    section: str = ".gopclntab",
    more: Sequence[Section] = (),
    symbols: Sequence[Symbol] = (),
    has_text_start: bool = False,
    has_module: bool = True,
    end: int | None = None,
) -> Elf:
    """An executable whose code is at TEXT, 0x1000 bytes of it."""
    table, trees, module = Pclntab(
        functions,
        *(version, bits, byteorder, quantum),
        has_text_start=has_text_start,
        end=end,
    ).encode()
    return Elf(
        [
            code_section(TEXT),
            Section(".rodata", trees, flags=ALLOC, address=RODATA, alignment=8),
            Section(section, table, flags=ALLOC, address=TABLE, alignment=8),
            Section(
                ".noptrdata",
                bytes(16) + (module if has_module else b""),
                flags=ALLOC | WRITE,
                address=DATA,
                alignment=8,
            ),
            *more,
        ],
        symbols=symbols,
        bits=bits,
        byteorder=byteorder,
    )


def go_pe(
    functions: Sequence[GoFunction], base: int = 0x140000000, filling: int = 0
) -> pe.Pe:
    """The same as a PE image: the table stands behind the calls, without a name."""
    plain = Pclntab(functions, text=base + TEXT, trees=base + RODATA)
    _, trees, _ = plain.encode()
    trees += bytes(-len(trees) % 32)
    table, _, module = Pclntab(
        functions,
        text=base + TEXT,
        address=base + RODATA + len(trees),
        trees=base + RODATA,
    ).encode()
    return pe.Pe(
        [
            pe.code_section(TEXT),
            pe.Section(".rdata", trees + table, RODATA),
            pe.Section(".data", bytes(filling) + BUILD_INFO + module, DATA),
        ],
        image_base=base,
    )


def go_macho(
    functions: Sequence[GoFunction], *, base: int = 0x100000000, chained: bool = False
) -> macho.Macho:
    """The same as a Mach-O file; *chained*: pointers as chained fixups have them."""
    table, trees, module = Pclntab(
        functions,
        text=base + TEXT,
        address=base + TABLE,
        trees=base + RODATA,
    ).encode()
    if chained:
        words = [
            int.from_bytes(module[at : at + 8], "little")
            for at in range(0, len(module), 8)
        ]
        module = b"".join(
            (word and (word - base) | 2 << 51).to_bytes(8, "little") for word in words
        )
    return macho.Macho(
        [
            macho.code(base + TEXT),
            macho.Section("__rodata", trees, address=base + RODATA),
            macho.Section("__gopclntab", table, address=base + TABLE),
            macho.Section("__noptrdata", module, "__DATA", base + DATA),
        ],
        base=base,
    )


MAIN = GoFunction(
    "main.main",
    0x40,
    0x60,
    rows=(
        (0, "/go/main.go", 10),
        (8, "/go/deep.go", 5),
        (16, "/go/main.go", 11),
        (24, "/go/lib.go", 30),
        (40, "/go/main.go", 12),
        (48, "", 0),
    ),
    calls=(
        GoCall("lib.Outer", 16, "/go/main.go", 11),
        GoCall("lib.Inner", 8, "/go/deep.go", 5, parent=0),
        GoCall("main.other", 40, "/go/main.go", 12),
    ),
    spans=((0, -1), (8, 0), (16, -1), (24, 1), (32, 0), (36, 2), (40, -1)),
)
EXIT = GoFunction("runtime.goexit", 0x20, 0x10, rows=((0, "/go/asm.s", 1700),))
BARE = GoFunction("go:textfipsstart", 0xA0, 0x20)
PROGRAM = (EXIT, MAIN, BARE)
