"""Functions and lines of the PDB of a Windows program, decoded once more."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter
from struct import iter_unpack, unpack_from
from typing import NamedTuple

from gsym.errors import FormatError
from gsym.model import FunctionInfo, InlineInfo, LineEntry, Range, rewritten
from gsym.verification.reference import Place
from tests.referee.file import Symbol, text_of
from tests.referee.msf import (
    DBI,
    DECODING_ERRORS,
    IPI,
    NO_STREAM,
    PDB,
    TPI,
    Names,
    Streams,
    Types,
    read_info,
    records,
)
from tests.referee.omap import Omap, end_of
from tests.referee.ranges import extend
from tests.referee.reference import Reference

Row = tuple[int, int, int]  # address, checksum of a file or NO_FILE, line

_CODE = 0x20000020
_CXX = 1
NO_FILE = -1
_LINES, _CHECKSUMS, _INLINEES = 0xF2, 0xF4, 0xF6
_NEVER_STEP = {0xFEEFEE, 0xF00F00}
_PROCEDURES = {0x110F, 0x1110, 0x1146, 0x1147, 0x1155, 0x1156, 0x100A, 0x100B}
_SEPARATED, _TRAMPOLINE = 0x1132, 0x112C
_THUNKS, _PUBLICS = {0x1102, 0x0206}, {0x110E, 0x1009}
_MANAGED = {0x112A, 0x112B, 0x101A, 0x101B}
_SIZED_NAMES = 0x1100  # names of kinds below begin with their size
_MSIL = 8  # flag of a public symbol of .NET code
_ARM = 0x1C4  # IMAGE_FILE_MACHINE_ARMNT: all code is Thumb
_LINKER = b"* Linker *"
_SCOPES = {0x1103, 0x1104, 0x0207, 0x0208}
_ENDS = {0x0006, 0x114E, 0x114F}
_COMPILERS = {0x0001: 1, 0x1013: 0, 0x1116: 0, 0x113C: 0}  # where the language is
_FUNCTIONS = {*_PROCEDURES, *_THUNKS, _SEPARATED, *_MANAGED}
_SITE2 = 0x115D
_SITES = {0x114D, _SITE2}
_NO_SITE = -1
# Operations of annotations: an end, offsets, lengths, a file, lines.
_END, _OFFSET, _CHANGE_BASE, _CHANGE_OFFSET, _LENGTH = range(5)
_CHANGE_FILE, _CHANGE_LINE = 5, 6
_BOTH, _LENGTH_AND_OFFSET = 0x0B, 0x0C
_STARTS = {_CHANGE_OFFSET, _BOTH, _LENGTH_AND_OFFSET}
_LINE_CODES = {_CHANGE_LINE, _BOTH}
_IMPORT = 1 << 31
_CONTRADICTORY = "its inlined calls contradict each other"
_IMPORTED = "it has inlined calls of another module"
_RECORDS_SEARCHED = 16


class _Listed(NamedTuple):
    """A module in DBI: its stream, and sizes of the parts of that."""

    name: bytes
    stream: int
    symbols: int
    old_lines: int
    lines: int


class _Section(NamedTuple):
    size: int
    address: int
    flags: int


class _Span(NamedTuple):
    """Bytes of a function of which a site, or the function (0), has a row."""

    level: int
    start: int
    site: int
    end: int
    line: int
    file: int


class _Placed(NamedTuple):
    span: _Span
    node: _Node


class _Site(NamedTuple):
    parent: int
    level: int
    inlinee: int
    calls: list[tuple[int, int, list[_Node]]]  # file and line of the call, its nodes


class _Node:
    """An inlined call, or the function."""

    def __init__(self, caller: _Node | None, site: int, file: int, line: int) -> None:
        self.caller = caller
        self.site = site
        self.file = file
        self.line = line
        self.ranges: list[Range] = []
        self.calls: list[_Node] = []


class _Function(NamedTuple):
    start: int  # relative to the image
    size: int
    name: str
    sites: list[_Site]
    spans: list[_Span]


class PdbReference(Reference):
    """Modules and public symbols of a PDB."""

    source = "the modules of the PDB"

    def __init__(
        self,
        data: memoryview,
        path: str,
        base_address: int,
        path_map: Sequence[tuple[str, str]],
    ) -> None:
        super().__init__()
        self.base_address: int | None = base_address
        self._path_map = path_map
        try:
            self._streams = Streams(data, path)
            info = read_info(self._streams.read(PDB), path)
            self.build_id: bytes = info.guid
            ids = self._streams.read(IPI) if info.has_ids else b""
            texts = self._streams.read(info.names)
            self._texts = (
                texts[12 : 12 + unpack_from("<8xI", texts)[0]] if texts else b""
            )
            self.names: Names = Names(Types(self._streams.read(TPI)), Types(ids))
            self._read(self._streams.read(DBI))
        except DECODING_ERRORS as error:
            reason = f"the second decoder cannot read it: {error}"
            raise FormatError(reason, path=path) from None

    def _read(self, dbi: bytes) -> None:
        (symbols,) = unpack_from("<20xH", dbi)
        (machine,) = unpack_from("<H", dbi, 58)
        self._isa_bit = int(machine == _ARM)
        modules, *parts = unpack_from("<5I", dbi, 24)
        size, more = unpack_from("<II", dbi, 48)
        at = 64 + modules + sum(parts) + more
        streams = [*unpack_from(f"<{size // 2}H", dbi, at)] + [NO_STREAM] * 11
        self._omap = Omap(*(self._streams.read(each) for each in streams[3:5]))
        original = self._streams.read(streams[10]) if self._omap.exists else b""
        headers = original or self._streams.read(streams[5])
        self._sections = [
            _Section(*unpack_from("<8xII20xI", headers, each))
            for each in range(0, len(headers) - 39, 40)
        ]
        self._starts: set[int] = set()  # of functions
        trampolines: dict[int, list[int]] = {}
        for number, module in enumerate(_modules(dbi[64 : 64 + modules])):
            data = self._streams.read(module.stream)
            self._read_module(number, data, module)
            if module.name == _LINKER:
                self._read_trampolines(data[4 : module.symbols], trampolines)
        self._read_publics(self._streams.read(symbols), trampolines)

    def address(self, segment: int, offset: int) -> int | None:
        """Address of segment:offset in the source; None where it has no code."""
        if not 0 < segment <= len(self._sections):
            return None
        section = self._sections[segment - 1]
        if not section.flags & _CODE or offset >= section.size:
            return None
        return section.address + (offset & ~self._isa_bit)

    def _read_trampolines(self, symbols: bytes, found: dict[int, list[int]]) -> None:
        for kind, data in records(symbols, 0, len(symbols)):
            if kind == _TRAMPOLINE:
                offset, to, segment, to_segment = unpack_from("<4xIIHH", data)
                address = self.address(segment, offset)
                target = self.address(to_segment, to)
                if address is not None and target is not None:
                    found.setdefault(target, []).append(address)

    def _read_publics(self, symbols: bytes, trampolines: dict[int, list[int]]) -> None:
        found: list[tuple[int, str]] = []
        for kind, data in records(symbols, 0, len(symbols)):
            if kind in _PUBLICS:
                flags, offset, segment = unpack_from("<IIH", data)
                address = self.address(segment, offset)
                name = text_of(_name(kind, data, 10))
                if address is not None and name and not flags & _MSIL:
                    found.append((address, name))
                    found += [(at, name) for at in trampolines.get(address, [])[-1:]]
        self.add_symbols(self._symbols(found))

    def _symbols(self, found: Sequence[tuple[int, str]]) -> Iterator[Symbol]:
        """Symbols, each up to the next start; a function has a name of its own."""
        base = self.base_address or 0
        ends = {each.address + each.size for each in self._sections}
        starts = sorted({at for at, _ in found} | self._starts | ends)
        for at, name in found:
            if not self._omap.exists:
                yield Symbol(base + at, 0, name)
            elif at not in self._starts:
                end = starts[bisect_right(starts, at)]
                for part in self._omap.parts(at, end):
                    yield Symbol(base + part[0].to, 0, name)

    # Modules.

    def _read_module(self, number: int, data: bytes, listed: _Listed) -> None:
        start = listed.symbols + listed.old_lines
        old = data[listed.symbols : start]
        try:
            module = _Module(self, old, data[start : start + listed.lines])
            for function in module.functions(data[4 : listed.symbols]):
                self._add(module, function)
        except DECODING_ERRORS as error:
            self.unread[Place("", number)] = f"module {number}: {error!r}"

    def _add(self, module: _Module, function: _Function) -> None:
        base = self.base_address or 0
        start, end = base + function.start, base + function.start + function.size
        if not function.name:
            return
        rows = module.rows_of(function)
        inline = None
        if function.spans:
            if any(each.inlinee >= _IMPORT for each in function.sites):
                self._excuse(function, _IMPORTED)
                return
            joined = _join(function, rows)
            if joined is None:
                self._excuse(function, _CONTRADICTORY)
                return
            rows, root = joined
            whole = (Range(start, end),)
            calls = tuple(module.inline(each, function) for each in root.calls)
            inline = InlineInfo(function.name, "", 0, whole, calls) if calls else None
        table = tuple(self._entries(module, function, rows)) or None
        info = FunctionInfo(start, end - start, function.name, table, inline)
        for each in self._omap.move(info, base) if self._omap.exists else (info,):
            self._keep(each)

    def _excuse(self, function: _Function, reason: str) -> None:
        base = self.base_address or 0
        for part in self._omap.parts(function.start, function.start + function.size):
            self.excused[base + part[0].to, base + end_of(part)] = reason

    def _keep(self, info: FunctionInfo) -> None:
        start, end = info.start, info.start + info.size
        # Of functions that the linker folded, the first that has lines is kept.
        kept = self.functions.setdefault((start, end), [])
        if info not in kept:
            is_best = kept and not kept[0].line_table and not kept[0].inline
            is_better = bool(info.line_table or info.inline)
            kept.insert(0 if is_best and is_better else len(kept), info)

    def _entries(
        self, module: _Module, function: _Function, rows: list[Row]
    ) -> Iterator[LineEntry]:
        before = None
        for address, file, line in rows:
            entry = (module.path(file), line)
            if entry != before and address < function.start + function.size:
                at = max(address, function.start) + (self.base_address or 0)
                yield LineEntry(at, *entry)
                before = entry

    # What modules ask.

    def start(self, segment: int, offset: int) -> int | None:
        """Start of a function, as `address`."""
        address = self.address(segment, offset)
        if address is not None:
            self._starts.add(address)
        return address

    def path(self, offset: int) -> str:
        """The path at an offset of /names, rewritten."""
        return self.rewritten(self._texts[offset:])

    def rewritten(self, text: bytes) -> str:
        """The path that a text begins with, rewritten."""
        return rewritten(text_of(text), self._path_map)


class _Module:
    """Lines and files of a module, and what its symbols say with them."""

    def __init__(self, pdb: PdbReference, c11: bytes, c13: bytes) -> None:
        self._pdb = pdb
        self._checksums = b""
        self._rows: list[tuple[int, bool, int, int]] = []
        self._inlinees: dict[int, tuple[int, int]] = {}
        self._is_cxx = False
        self._procedures: dict[int, str] = {}
        self._read: set[tuple[int, int]] = set()
        self._old_files: dict[int, str] = {}
        if c11:
            self._add_old_lines(c11)
        for kind, data in _subsections(c13):
            if kind == _CHECKSUMS:
                self._checksums = data
            elif kind == _LINES:
                self._add_lines(data)
            elif kind == _INLINEES:
                self._add_inlinees(data)
        self._rows.sort(key=itemgetter(0, 1))

    def path(self, checksum: int) -> str:
        """The path of a file."""
        if checksum == NO_FILE:
            return ""
        if checksum in self._old_files:
            return self._old_files[checksum]
        return self._pdb.path(unpack_from("<I", self._checksums, checksum)[0])

    def _add_lines(self, data: bytes) -> None:
        offset, segment, flags, size = unpack_from("<IHHI", data)
        start = self._pdb.address(segment, offset)
        if start is None or (start, size) in self._read:
            return
        self._read.add((start, size))
        at, count_before = 12, len(self._rows)
        while at < len(data):
            file, count = unpack_from("<II", data, at)
            at += 12
            for each in range(count):
                place, line = unpack_from("<II", data, at + 8 * each)
                line &= 0xFFFFFF
                if place < size and line not in _NEVER_STEP:
                    self._rows.append((start + place, True, file, line))
            at += count * (12 if flags & 1 else 8)
        if len(self._rows) > count_before:
            self._rows.append((start + size, False, NO_FILE, 0))

    def _add_old_lines(self, data: bytes) -> None:
        """The C11 part: files, each with tables of its lines."""
        left = len(data)
        for at in unpack_from(f"<{unpack_from('<H', data)[0]}I", data, 4):
            (count,) = unpack_from("<H", data, at)
            tables = unpack_from(f"<{count}I", data, at + 4)
            ends = iter_unpack("<II", data[at + 4 + 4 * count : at + 4 + 12 * count])
            file = at << 32
            self._old_files[file] = self._pdb.rewritten(data[at + 4 + 12 * count :])
            for table, (first, last) in zip(tables, ends, strict=True):
                segment, lines = unpack_from("<HH", data, table)
                left -= 4 + 6 * lines
                if left < 0:
                    raise FormatError("line tables share their bytes")
                start = self._pdb.address(segment, first)
                places = unpack_from(f"<{lines}I", data, table + 4)
                numbers = unpack_from(f"<{lines}H", data, table + 4 + 4 * lines)
                if start is None:
                    continue
                self._rows += [
                    (start + place - first, True, file, line)
                    for place, line in zip(places, numbers, strict=True)
                    if first <= place <= last
                ]
                if lines:
                    self._rows.append((start + last - first + 1, False, NO_FILE, 0))

    def _add_inlinees(self, data: bytes) -> None:
        at = 4
        has_files = unpack_from("<I", data)[0] == 1
        while at < len(data):
            inlinee, file, line = unpack_from("<3I", data, at)
            at += 12
            if has_files:
                at += 4 + 4 * unpack_from("<I", data, at)[0]
            self._inlinees.setdefault(inlinee, (file, line))

    def rows_of(self, function: _Function) -> list[Row]:
        """The rows of its addresses, with one before that covers its start."""
        first = bisect_left(self._rows, function.start, key=itemgetter(0))
        end = function.start + function.size
        last = bisect_left(self._rows, end, key=itemgetter(0))
        starts = first < len(self._rows) and self._rows[first][0] == function.start
        if first > 0 and self._rows[first - 1][1] and not starts:
            first -= 1
        rows = [(at, file, line) for at, _, file, line in self._rows[first:last]]
        while rows and rows[0][1] == NO_FILE:
            del rows[0]
        return rows

    def inline(self, node: _Node, function: _Function) -> InlineInfo:
        """An inlined call with those in it."""
        start = (self._pdb.base_address or 0) + function.start
        return InlineInfo(
            self._pdb.names.function_id(
                function.sites[node.site - 1].inlinee, parameters=self._is_cxx
            ),
            self.path(node.file),
            node.line,
            tuple(Range(start + first, start + end) for first, end in node.ranges),
            tuple(self.inline(each, function) for each in node.calls),
        )

    # Symbols.

    def functions(self, symbols: bytes) -> Iterator[_Function]:
        """The functions, with their inline sites."""
        scopes: list[int] = []  # the site of each, _NO_SITE of a function
        current: _Function | None = None
        for kind, data in records(symbols, 0, len(symbols)):
            if kind in _COMPILERS:
                self._is_cxx = data[_COMPILERS[kind]] == _CXX
            is_end = kind in _ENDS and scopes and scopes.pop() == _NO_SITE
            if (is_end or kind in _FUNCTIONS) and current is not None:
                yield current
            if is_end:
                current = None
            elif kind in _FUNCTIONS:
                current = self._function(kind, data)
                scopes.append(_NO_SITE)
            elif kind in {*_SITES, *_SCOPES}:
                site = max(scopes[-1], 0) if scopes else 0
                if current is not None and kind in _SITES:
                    self._add_site(current, site, kind, data)
                    site = len(current.sites)
                scopes.append(site)
        if current is not None:
            yield current

    def _function(self, kind: int, data: bytes) -> _Function | None:
        name, of = b"", 0
        if kind in _MANAGED:
            return None
        if kind in _THUNKS:
            offset, segment, size = unpack_from("<12xIHH", data)
            name = _name(kind, data, 21)
        elif kind == _SEPARATED:
            size, offset, parent, segment, around = unpack_from("<8xI4xIIHH", data)
        else:
            size, of, offset, segment = unpack_from("<12xI8xIIH", data)
            name = _name(kind, data, 35)
        start = self._pdb.start(segment, offset)
        if start is None or size == 0:
            return None
        if kind == _SEPARATED:
            text = self._procedures.get(self._pdb.address(around, parent) or 0, "")
            return _Function(start, size, text, [], [])
        has_parameters = self._is_cxx and kind not in _THUNKS
        text = self._pdb.names.function(name, of, parameters=has_parameters)
        if kind not in _THUNKS:
            self._procedures[start] = text
        return _Function(start, size, text, [], [])

    def _add_site(
        self, function: _Function, parent: int, kind: int, data: bytes
    ) -> None:
        (inlinee,) = unpack_from("<8xI", data)
        level = function.sites[parent - 1].level + 1 if parent else 1
        function.sites.append(_Site(parent, level, inlinee, []))
        number = len(function.sites)
        file, line = self._inlinees.get(inlinee, (NO_FILE, 0))
        for start, end, *row in _annotated(
            data[16 if kind == _SITE2 else 12 :], file, line
        ):
            stop = min(end, function.size)
            if start < stop:
                span = _Span(level, start, number, stop, row[1], row[0])
                function.spans.append(span)


def _name(kind: int, data: bytes, at: int) -> bytes:
    """The name at the end of a symbol."""
    return data[at + 1 : at + 1 + data[at]] if kind < _SIZED_NAMES else data[at:]


def _modules(listed: bytes) -> Iterator[_Listed]:
    at = 0
    while at + 64 <= len(listed):
        numbers = unpack_from("<HIII", listed, at + 34)
        name, library, _ = listed[at + 64 :].split(b"\0", 2)
        yield _Listed(name, *numbers)
        at += 64 + len(name) + len(library) + 2
        at += -at % 4


def _subsections(c13: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 8 <= len(c13):
        kind, size = unpack_from("<II", c13, at)
        yield kind, c13[at + 8 : at + 8 + size]
        at += 8 + size + -size % 4


# ---- inlined calls ---------------------------------------------------------------


# By the least byte that is not their first: size, and the bits of the value.
_NUMBER_SIZES = {0x80: (1, 0x7F), 0xC0: (2, 0x3FFF), 0x100: (4, 0x1FFFFFFF)}


def _numbers(data: bytes) -> Iterator[int]:
    """Numbers of 1, 2 or 4 bytes."""
    at = 0
    while at < len(data):
        size, mask = next(_NUMBER_SIZES[top] for top in _NUMBER_SIZES if data[at] < top)
        yield int.from_bytes(data[at : at + size], "big") & mask
        at += size


def _signed(value: int) -> int:
    return -(value >> 1) if value & 1 else value >> 1


def _annotated(
    data: bytes, file: int, line: int
) -> Iterator[tuple[int, int, int, int]]:
    """Start, end, file and line of the ranges that annotations describe."""
    numbers = _numbers(data)
    offset = 0
    opened: tuple[int, int, int] | None = None
    for code in numbers:
        if code == _END:
            break
        value = next(numbers, 0)
        if code == _CHANGE_BASE:
            raise ValueError("code of a function in several parts")
        offset = value if code == _OFFSET else offset + _advance(code, value, numbers)
        line += _signed(value >> 4 if code == _BOTH else value) * (code in _LINE_CODES)
        file = value if code == _CHANGE_FILE else file
        if code in {*_STARTS, _LENGTH} and opened is not None:
            yield opened[0], offset, *opened[1:]
        if code in {*_STARTS, _LENGTH}:
            opened = (offset, file, line) if code in _STARTS else None
        if code == _LENGTH_AND_OFFSET:
            yield offset, offset + value, file, line
            opened = None


def _advance(code: int, value: int, numbers: Iterator[int]) -> int:
    """Number of bytes that an operation advances."""
    if code == _LENGTH_AND_OFFSET:
        return next(numbers, 0)
    if code == _BOTH:
        return value & 0xF
    return value if code in {_CHANGE_OFFSET, _LENGTH} else 0


def _join(function: _Function, rows: list[Row]) -> tuple[list[Row], _Node] | None:
    """The rows with those of inlined calls, and the calls; None: they contradict."""
    root = _Node(None, 0, NO_FILE, 0)
    above = _own(function, rows, root)
    placed = [*above]
    last = max(each.level for each in function.spans)
    for level in range(1, last + 1):
        here: list[_Placed] = []
        covered = 0
        for span in sorted(each for each in function.spans if each.level == level):
            if span.start < covered:
                return None
            covered = span.end
            for piece, caller in _pieces(span, above):
                if caller.span.site != function.sites[span.site - 1].parent:
                    return None
                node = _called(function.sites[span.site - 1], span.site, caller)
                extend(node.ranges, piece.start, piece.end)
                here.append(_Placed(piece, node))
        placed += here
        above = here
    return _deepest(function, [each.span for each in placed]), root


def _own(function: _Function, rows: list[Row], root: _Node) -> list[_Placed]:
    """The rows of the function, which cover all of it."""
    found: dict[int, tuple[int, int]] = {0: (NO_FILE, 0)}
    for address, file, line in rows:
        found[max(address - function.start, 0)] = (file, line)
    starts = [*found, function.size]
    return [
        _Placed(_Span(0, start, 0, end, line, file), root)
        for (start, (file, line)), end in zip(found.items(), starts[1:], strict=True)
    ]


def _pieces(span: _Span, above: list[_Placed]) -> Iterator[tuple[_Span, _Placed]]:
    """A span cut where the line of its call changes.

    What is not in a caller is left out.
    """
    first = bisect_right(above, span.start, key=lambda each: each.span.end)
    for caller in above[first:]:
        if caller.span.start >= span.end:
            break
        start = max(span.start, caller.span.start)
        end = min(span.end, caller.span.end)
        yield span._replace(start=start, end=end), caller


def _called(site: _Site, number: int, caller: _Placed) -> _Node:
    """The call of a site from a line, of those made last."""
    file, line = caller.span.file, caller.span.line
    for known_file, known_line, nodes in site.calls[: -_RECORDS_SEARCHED - 1 : -1]:
        if (known_file, known_line) == (file, line):
            if nodes[-1].caller is not caller.node:
                nodes.append(_Node(caller.node, number, file, line))
                caller.node.calls.append(nodes[-1])
            return nodes[-1]
    node = _Node(caller.node, number, file, line)
    caller.node.calls.append(node)
    site.calls.append((file, line, [node]))
    return node


def _deepest(function: _Function, spans: list[_Span]) -> list[Row]:
    """At each address the row of the deepest level."""
    edges = sorted({each.start for each in spans} | {each.end for each in spans})
    rows = []
    open_spans: list[_Span] = []
    waiting = sorted(spans, key=lambda each: (each.start, each.level), reverse=True)
    for at in edges[:-1]:
        while open_spans and open_spans[-1].end <= at:
            open_spans.pop()
        while waiting and waiting[-1].start == at:
            open_spans.append(waiting.pop())
        top = open_spans[-1]
        rows.append((function.start + at, top.file, top.line))
    return rows
