"""Tiny PDB files.

    Pdb([Module([Function("f", 0, 16, lines=[(0, 1)])])]).to_bytes()

Symbols, types and lines are as the documentation of LLVM and Microsoft's cvinfo.h
describe them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import pack
from typing import TYPE_CHECKING

from tests.inputs.encoding import cstring

if TYPE_CHECKING:
    from collections.abc import Sequence

S_END, S_INLINESITE, S_INLINESITE_END = 0x0006, 0x114D, 0x114E
S_THUNK32, S_SEPCODE, S_COMPILE3 = 0x1102, 0x1132, 0x113C
S_TRAMPOLINE = 0x112C
S_PUB32, S_LPROC32, S_GPROC32 = 0x110E, 0x110F, 0x1110
S_PROC_ID_END, S_GPROC32_ID = 0x114F, 0x1147
S_GMANPROC, S_LMANPROC = 0x112A, 0x112B
# Names of these begin with their size.
S_THUNK32_ST, S_BLOCK32_ST = 0x0206, 0x0207
S_PUB32_ST, S_LPROC32_ST, S_GPROC32_ST = 0x1009, 0x100A, 0x100B
LF_MODIFIER, LF_POINTER, LF_PROCEDURE, LF_MFUNCTION = 0x1001, 0x1002, 0x1008, 0x1009
LF_ARGLIST, LF_STRUCTURE, LF_FUNC_ID, LF_MFUNC_ID = 0x1201, 0x1505, 0x1601, 0x1602
LF_STRING_ID = 0x1605
LF_ARRAY, LF_UNION, LF_ENUM, LF_ALIAS = 0x1503, 0x1506, 0x1507, 0x150A
LINES, CHECKSUMS, INLINEE_LINES, IMPORTS, EXPORTS = 0xF2, 0xF4, 0xF6, 0xF7, 0xF8
INT, CHAR, VOID = 0x74, 0x70, 0x03
C, CXX = 0, 1
X86_64, I386, ARM64 = 0x8664, 0x14C, 0xAA64
FIRST_TYPE = 0x1000
FASTLINK = 0x494E494D
HAS_IDS = 20140508  # the feature of Visual Studio 2015 and later
GUID = bytes(range(16))
CODE = 0x60000020
TEXT = 0x1000  # address of the first section

_MAGIC = b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0"
_NO_STREAM = 0xFFFF
_TYPES_VERSION, _PDB_VERSION = 20040203, 20000404


def record(kind: int, content: bytes) -> bytes:
    """A symbol or type, filled up to a multiple of four bytes."""
    content += bytes(-(len(content) + 4) % 4)
    return pack("<HH", len(content) + 2, kind) + content


def sized(kind: int, content: bytes, name: str) -> bytes:
    """A symbol whose name begins with its size; what follows is no part of it."""
    text = name.encode()
    return record(kind, content + bytes([len(text)]) + text + b"xyz")


def subsection(kind: int, content: bytes) -> bytes:
    """A part of C13."""
    return pack("<II", kind, len(content)) + content + bytes(-len(content) % 4)


def procedure_type(arguments: int, returned: int = VOID) -> bytes:
    """LF_PROCEDURE with the type of its list of arguments."""
    return record(LF_PROCEDURE, pack("<IBBHI", returned, 0, 0, 0, arguments))


def argument_list(*types: int) -> bytes:
    """LF_ARGLIST."""
    return record(LF_ARGLIST, pack(f"<I{len(types)}I", len(types), *types))


def function_id(name: str, scope: int = 0, type_: int = 0) -> bytes:
    """LF_FUNC_ID."""
    return record(LF_FUNC_ID, pack("<II", scope, type_) + cstring(name))


@dataclass(frozen=True)
class Inline:
    """S_INLINESITE."""

    inlinee: int
    annotations: bytes
    children: Sequence[Inline] = ()

    def to_bytes(self) -> bytes:
        """The symbol, those inside, and the end."""
        content = pack("<III", 0, 0, self.inlinee) + self.annotations
        inside = b"".join(each.to_bytes() for each in self.children)
        return record(S_INLINESITE, content) + inside + record(S_INLINESITE_END, b"")


@dataclass(frozen=True)
class Function:
    """A procedure; *lines* are (offset in the function, line)."""

    name: str
    offset: int
    size: int
    lines: Sequence[tuple[int, int]] = ()
    inlines: Sequence[Inline] = ()
    type: int = 0
    kind: int = S_GPROC32
    segment: int = 1
    file: str = r"C:\src\a.cpp"

    def to_bytes(self) -> bytes:
        """The symbol, those inside, and the end."""
        fields = (0, 0, 0, self.size, 0, 0, self.type, self.offset, self.segment, 0)
        content = pack("<8IHB", *fields) + cstring(self.name)
        inside = b"".join(each.to_bytes() for each in self.inlines)
        return record(self.kind, content) + inside + record(S_END, b"")


@dataclass(frozen=True)
class Module:
    """A compiled unit; *inlinees* are (id, file, line)."""

    functions: Sequence[Function] = ()
    name: str = "a.obj"
    inlinees: Sequence[tuple[int, str, int]] = ()
    language: int = CXX
    symbols: bytes = b""  # after the functions
    subsections: bytes = b""
    is_old: bool = False  # the lines of functions are in the C11 part


@dataclass(frozen=True)
class Pdb:
    """*sections* are (address, size, flags); *publics* are (name, segment, offset)."""

    modules: Sequence[Module] = ()
    publics: Sequence[tuple[str, int, int]] = ()
    public_flags: int = 2  # a function
    symbol_records: bytes = b""  # after the publics
    types: Sequence[bytes] = ()
    ids: Sequence[bytes] = ()
    sections: Sequence[tuple[int, int, int]] = ((TEXT, 0x1000, CODE),)
    original_sections: Sequence[tuple[int, int, int]] = ()
    omap: Sequence[tuple[int, int]] = ()  # (in the source, in the image)
    omap_to_source: Sequence[tuple[int, int]] = ()
    guid: bytes = GUID
    age: int = 1
    machine: int = X86_64
    features: Sequence[int] = (HAS_IDS,)
    dbi_version: int = 19990903
    next_name: int = 0
    page_size: int = 512
    scattered: bool = False  # pages of streams in descending order
    _names: dict[str, int] = field(default_factory=dict, init=False)

    def to_bytes(self) -> bytes:
        """The file."""
        return msf(self.streams(), self.page_size, scattered=self.scattered)

    def streams(self) -> list[bytes]:
        """The streams: those of fixed number, names, sections, symbols, modules."""
        symbols = b"".join(
            record(
                S_PUB32,
                pack("<IIH", self.public_flags, offset, segment) + cstring(name),
            )
            for name, segment, offset in self.publics
        )
        symbols += self.symbol_records
        built = [self._module(each) for each in self.modules]
        tables = [
            self._sections(self.sections),
            symbols,
            b"".join(pack("<II", *each) for each in self.omap),
            self._sections(self.original_sections),
        ]
        dbi = self._dbi([(len(a), len(b), len(c)) for a, b, c in built])
        names = self._names_stream()
        fixed = [b"", self._info(), _types(self.types), dbi, _types(self.ids), names]
        to_source = b"".join(pack("<II", *each) for each in self.omap_to_source)
        return [*fixed, *tables, *map(b"".join, built), to_source]

    def _name(self, name: str) -> int:
        if name not in self._names:
            self._names[name] = 1 + sum(len(each) + 1 for each in self._names)
        return self._names[name]

    def _names_stream(self) -> bytes:
        text = b"\0" + b"".join(map(cstring, self._names))
        return pack("<III", 0xEFFEEFFE, 1, len(text)) + text

    def _info(self) -> bytes:
        names = b"/names\0"
        table = pack("<IIIII", 1, 1, 1, 1, 0) + pack("<II", 0, 5)
        head = pack("<III", _PDB_VERSION, 0, self.age) + self.guid
        features = b"".join(pack("<I", each) for each in self.features)
        end = pack("<I", self.next_name) + features
        return head + pack("<I", len(names)) + names + table + end

    def _sections(self, sections: Sequence[tuple[int, int, int]]) -> bytes:
        return b"".join(
            pack("<8sIIII12xI", b".text", size, address, size, 0, flags)
            for address, size, flags in sections
        )

    def _module(self, module: Module) -> tuple[bytes, bytes, bytes]:
        """Symbols, C11 and C13."""
        files: dict[str, int] = {}
        for each in module.functions:
            files.setdefault(each.file, 8 * len(files))
        for _, file, _ in module.inlinees:
            files.setdefault(file, 8 * len(files))
        checksums = b"".join(pack("<IBBxx", self._name(each), 0, 0) for each in files)
        c13 = subsection(CHECKSUMS, checksums)
        for each in module.functions:
            if each.lines and not module.is_old:
                c13 += subsection(LINES, _lines(each, files[each.file]))
        if module.inlinees:
            content = pack("<I", 0) + b"".join(
                pack("<III", id_, files[file], line)
                for id_, file, line in module.inlinees
            )
            c13 += subsection(INLINEE_LINES, content)
        compiler = record(S_COMPILE3, pack("<I18x", module.language) + b"\0")
        symbols = b"".join(each.to_bytes() for each in module.functions)
        return (
            pack("<I", 4) + compiler + symbols + module.symbols,
            old_lines(module.functions) if module.is_old else b"",
            c13 + module.subsections,
        )

    def _dbi(self, sizes: Sequence[tuple[int, int, int]]) -> bytes:
        modules = b""
        for number, each in enumerate(self.modules):
            head = pack("<34xHIII16x", 10 + number, *sizes[number])
            names = cstring(each.name) * 2
            modules += head + names + bytes(-len(names) % 4)
        streams = [_NO_STREAM] * 11
        streams[5] = 6
        streams[3] = 10 + len(self.modules) if self.omap_to_source else _NO_STREAM
        streams[4] = 8 if self.omap else _NO_STREAM
        streams[10] = 9 if self.original_sections else _NO_STREAM
        optional = pack("<11H", *streams)
        head = pack("<iII", -1, self.dbi_version, self.age)
        head += pack("<6H", _NO_STREAM, 0, _NO_STREAM, 0, 7, 0)
        head += pack("<8I", len(modules), 0, 0, 0, 0, 0, len(optional), 0)
        return head + pack("<HHI", 0, self.machine, 0) + modules + optional


def _lines(function: Function, checksum: int) -> bytes:
    rows = b"".join(
        pack("<II", offset, line | 0x80000000) for offset, line in function.lines
    )
    head = pack("<IHHI", function.offset, function.segment, 0, function.size)
    return head + pack("<III", checksum, len(function.lines), 12 + len(rows)) + rows


def old_lines(functions: Sequence[Function]) -> bytes:
    """The C11 part: files, each with the lines of its functions."""
    files: dict[str, list[Function]] = {}
    for each in functions:
        files.setdefault(each.file, []).append(each)
    at = 4 + 4 * len(files)
    starts, content = b"", b""
    for file, inside in files.items():
        starts += pack("<I", at)
        name = cstring(file)
        name += bytes(-len(name) % 4)
        tables = [
            pack("<HH", each.segment, len(each.lines))
            + b"".join(pack("<I", each.offset + offset) for offset, _ in each.lines)
            + b"".join(pack("<H", line) for _, line in each.lines)
            + bytes(-2 * len(each.lines) % 4)
            for each in inside
        ]
        place = at + 4 + 12 * len(inside) + len(name)
        head = pack("<HH", len(inside), 0)
        for table in tables:
            head += pack("<I", place)
            place += len(table)
        for each in inside:
            head += pack("<II", each.offset, each.offset + each.size - 1)
        content += head + name + b"".join(tables)
        at = place
    return pack("<HH", len(files), 0) + starts + content


def _types(records: Sequence[bytes]) -> bytes:
    content = b"".join(records)
    end = FIRST_TYPE + len(records)
    return (
        pack("<IIIII36x", _TYPES_VERSION, 56, FIRST_TYPE, end, len(content)) + content
    )


def msf(
    streams: Sequence[bytes], page_size: int = 512, *, scattered: bool = False
) -> bytes:
    """The file that holds *streams*."""
    pages: list[bytes] = [b"", bytes(page_size), bytes(page_size)]  # two maps

    def put(content: bytes) -> list[int]:
        parts = [
            content[at : at + page_size].ljust(page_size, b"\0")
            for at in range(0, len(content), page_size)
        ]
        first = len(pages)
        pages.extend(reversed(parts) if scattered else parts)
        numbers = list(range(first, len(pages)))
        return numbers[::-1] if scattered else numbers

    lists = [put(each) for each in streams]
    directory = pack("<I", len(streams))
    directory += b"".join(pack("<I", len(each)) for each in streams)
    directory += b"".join(pack(f"<{len(each)}I", *each) for each in lists)
    numbers = put(directory)
    (place,) = put(pack(f"<{len(numbers)}I", *numbers))
    pages[0] = _MAGIC + pack(
        *("<IIIIII", page_size, 1, len(pages), len(directory), 0, place)
    )
    pages[0] = pages[0].ljust(page_size, b"\0")
    return b"".join(pages)
