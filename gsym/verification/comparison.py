"""Differences between a GSYM file and the DWARF and symbols of its binary."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gsym.model import UINT64_END
from gsym.verification.decoder.functions import UnitFunctions, is_poorer
from gsym.verification.decoder.pclntab import ReferencePclntab, has_pclntab
from gsym.verification.decoder.units import DECODING_ERRORS, Units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gsym.model import FunctionInfo, InlineInfo, LineEntry, Range
    from gsym.reading.reader import Reader
    from gsym.verification.decoder.elf import ReferenceElf, Symbol

    Progress = Callable[[int, int], None]
    Key = tuple[int, int]  # start and end of a function

_T = TypeVar("_T")

NOTHING = "(nothing)"
_FUNCTION_SYMBOLS = {"STT_FUNC", "STT_GNU_IFUNC", "STT_LOOS"}  # the last two are one
_MANGLED = ("_Z", "$s", "$S")


class Difference(NamedTuple):
    """A difference between binary and GSYM file.

    *address* is a link-time virtual address; *subject* is "function", "name",
    "lines", "inlined calls", "call sites", "symbol", "UUID" or "base address".
    """

    address: int
    subject: str
    binary: str
    gsym: str


class _Call(NamedTuple):
    """A node of an inline tree in pre-order."""

    depth: int
    name: str
    path: str
    line: int
    ranges: tuple[Range, ...]


class Comparer:
    """Compares one GSYM file with one binary.

    Attributes:
        functions: Functions compared so far.
        pclntab_functions: Those that are only in the pclntab of the binary.
        symbols: Symbols of the binary that were searched in the file.
        units: Offsets of the units to compare.
        unread: Why pyelftools cannot decode a unit, by its offset.
        undecided: Functions with other records in units outside the sample.
        uncompared: The number of functions that were not compared, by reason.
    """

    def __init__(
        self,
        elf: ReferenceElf,
        sample: int | None,
        path_map: Sequence[tuple[str, str]],
        progress: Progress | None,
        *,
        pclntab: bool = True,
    ) -> None:
        self._elf = elf
        self._progress = progress
        self._units = Units(elf, path_map)
        self._path_map = path_map
        self._has_pclntab = pclntab and has_pclntab(elf)
        self._is_sample = sample is not None
        self.uncompared = self._units.uncompared
        # Ranges of units outside the sample.
        self._others: list[list[Range]] = []
        self.functions = 0
        self.pclntab_functions = 0
        self.symbols = 0
        self.undecided = 0
        self._around: list[FunctionInfo] = []  # that cover the current address
        self.unread: dict[int, str] = {}
        self.all_units = len(self._units.offsets)
        self.units = self._units.offsets if sample is None else self._choose(sample)
        if self._units.damage is not None:
            self.unread[self._units.end] = self._units.damage

    def differences(self, reader: Reader) -> Iterator[Difference]:
        """All differences; headers first, then in order of address."""
        yield from self._compare_headers(reader)
        expected = self._decode()
        if self._has_pclntab:
            self._add_pclntab(expected)
        shared = self._shared(expected)
        symbols: dict[int, list[Symbol]] = {}
        for symbol in self._elf.symbols():
            symbols.setdefault(symbol.address, []).append(symbol)
        present: list[Key] = []
        for info in reader.functions():
            key = (info.address, info.address + info.size)
            present.append(key)
            candidates = expected.pop(key, None)
            own_symbols = symbols.get(info.address, [])
            outer = self._outer(info)
            if candidates is not None:
                self.functions += 1
                yield from self._compare(info, candidates, own_symbols, key in shared)
            elif outer is not None:
                yield from _compare_functions(info, _rest(outer, info), own_symbols)
            elif not self._is_sample:
                yield from self._explain(info, own_symbols)
        for (start, end), candidates in sorted(expected.items()):
            expected_text = f"{candidates[0].name} {_range_text(start, end)}"
            yield Difference(start, "function", expected_text, NOTHING)
        if not self._is_sample:
            yield from self._missing_symbols(symbols, present)

    def _compare_headers(self, reader: Reader) -> Iterator[Difference]:
        build_id, uuid = self._elf.build_id(), reader.header.uuid
        if build_id and build_id != uuid:
            yield Difference(0, "UUID", build_id.hex(), uuid.hex() or NOTHING)
        base, actual = self._elf.base_address(), reader.header.base_address
        if base is not None and base != actual:
            yield Difference(base, "base address", f"{base:#x}", f"{actual:#x}")

    # Functions of the binary.

    def _choose(self, count: int) -> list[int]:
        """Units spread over those with code; the ranges of the others are recorded."""
        with_code: dict[int, list[Range]] = {}
        for offset in self._units.offsets:
            try:
                unit = self._units.open(offset)
                ranges = unit.live_ranges(unit.root)
            except DECODING_ERRORS as error:
                self.unread[offset] = _reason(error)
                continue
            if ranges:
                with_code[offset] = ranges
        offsets = list(with_code)
        count = min(count, len(offsets))
        chosen = [offsets[i * len(offsets) // count] for i in range(count)]
        for offset in chosen:
            del with_code[offset]
        self._others = list(with_code.values())
        return chosen

    def _decode(self) -> dict[Key, list[FunctionInfo]]:
        """Functions by range; the first of several is the best one."""
        expected: dict[Key, list[FunctionInfo]] = {}
        done, total = 0, sum(map(self._units.size, self.units))
        for offset in self.units:
            try:
                unit = self._units.open(offset)
                for _, info in UnitFunctions(unit, call_sites=True):
                    key = (info.address, info.address + info.size)
                    _add_candidate(expected.setdefault(key, []), info)
            except DECODING_ERRORS as error:
                self.unread[offset] = _reason(error)
            done += self._units.size(offset)
            if self._progress is not None:
                self._progress(done, total)
        return expected

    def _add_pclntab(self, expected: dict[Key, list[FunctionInfo]]) -> None:
        """The functions of a Go binary, unless the DWARF describes them."""
        if self._units.offsets and self._is_sample:
            return
        functions = [
            info
            for info in ReferencePclntab(self._elf, self._path_map)
            if self._elf.is_text(info.address)
        ]
        if not {start for start, _ in expected} & {each.address for each in functions}:
            self.pclntab_functions = len(functions)
            for info in functions:
                expected[info.address, info.address + info.size] = [info]

    def _shared(self, expected: dict[Key, list[FunctionInfo]]) -> set[Key]:
        """Functions that are also in units outside the sample."""
        keys = sorted(expected)
        shared: set[Key] = set()
        for ranges in self._others:
            for start, end in ranges:
                first, last = bisect_left(keys, (start, 0)), bisect_left(keys, (end, 0))
                shared.update(keys[first:last])
        return shared

    # One function.

    def _outer(self, info: FunctionInfo) -> FunctionInfo | None:
        """The outer function if *info* is the rest of it after a nested one."""
        end = info.address + info.size
        self._around = [f for f in self._around if f.address + f.size > info.address]
        for outer in reversed(self._around):
            is_inside = (
                outer.address < info.address and end <= outer.address + outer.size
            )
            if is_inside and outer.name == info.name:
                return outer
        self._around.append(info)
        return None

    def _compare(
        self,
        info: FunctionInfo,
        candidates: list[FunctionInfo],
        symbols: list[Symbol],
        is_shared: bool,
    ) -> Iterator[Difference]:
        if info.merged:
            yield from _compare_merged(info, candidates)
            return
        found = list(_compare_functions(info, candidates[0], symbols))
        if found and is_shared:
            self.undecided += 1
        else:
            yield from found

    def _explain(
        self, info: FunctionInfo, symbols: list[Symbol]
    ) -> Iterator[Difference]:
        """A function that is not in the DWARF must be a symbol."""
        names = [s.name for s in symbols if s.size in {info.size, 0}]
        is_symbol = bool(names) and info.line_table is None and info.inline is None
        if self.unread and not is_symbol and info.name not in names:
            self.uncompared["not in any unit that can be decoded"] += 1
            return
        self.symbols += 1
        if info.name in names:
            return
        expected = f"{names[-1]} (symbol)" if names else NOTHING
        found = f"{info.name} {_range_text(info.address, info.address + info.size)}"
        subject = "name" if names else "function"
        yield Difference(info.address, subject, expected, found)

    def _missing_symbols(
        self, symbols: dict[int, list[Symbol]], present: list[Key]
    ) -> Iterator[Difference]:
        """Each function symbol must be inside a function of the file."""
        present.sort()
        reach = 0
        ends = []  # highest end of the functions up to each
        for start, end in present:
            reach = max(reach, end, start + 1)
            ends.append(reach)
        for address in sorted(symbols):
            index = bisect_right(present, (address, UINT64_END)) - 1
            if index >= 0 and address < ends[index]:
                continue
            for symbol in symbols[address]:
                if symbol.kind in _FUNCTION_SYMBOLS and symbol.name:
                    yield Difference(address, "symbol", symbol.name, NOTHING)


def _add_candidate(candidates: list[FunctionInfo], info: FunctionInfo) -> None:
    """Add a function of the same range, unless it is present; the best comes first."""
    if candidates and info == candidates[0]:
        return
    if info in candidates:
        candidates.remove(info)
    if candidates and is_poorer(info, candidates[0]):
        candidates.append(info)
    else:
        candidates.insert(0, info)


def _compare_merged(
    info: FunctionInfo, candidates: list[FunctionInfo]
) -> Iterator[Difference]:
    """All records of one range must be in the file, in any order."""
    expected = {_without_call_sites(each) for each in candidates}
    found = {_without_call_sites(each) for each in (info, *info.merged)}
    for missing in sorted(expected - found):
        yield Difference(info.address, "function", f"{missing[0]} (merged)", NOTHING)
    for extra in sorted(found - expected):
        yield Difference(info.address, "function", NOTHING, f"{extra[0]} (merged)")


def _without_call_sites(
    info: FunctionInfo,
) -> tuple[str, tuple[object, ...], tuple[_Call, ...]]:
    return info.name, info.line_table or (), tuple(_calls(info.inline))


def _rest(outer: FunctionInfo, info: FunctionInfo) -> FunctionInfo:
    """The part of *outer* at the addresses of *info*."""
    start, end = info.address, info.address + info.size
    rows = outer.line_table or ()
    before = [row for row in rows if row.address < start][-1:]
    inside = [row for row in rows if start <= row.address < end]
    if before and (not inside or inside[0].address != start):
        inside.insert(0, before[0]._replace(address=start))
    return info._replace(
        line_table=tuple(inside) or None,
        inline=outer.inline and _rest_of_calls(outer.inline, start, end),
    )


def _rest_of_calls(node: InlineInfo, start: int, end: int) -> InlineInfo:
    ranges = tuple(
        each._replace(start=max(each.start, start), end=min(each.end, end))
        for each in node.ranges
    )
    children = (_rest_of_calls(child, start, end) for child in node.children)
    return node._replace(
        ranges=tuple(each for each in ranges if each.start < each.end),
        children=tuple(child for child in children if child.ranges),
    )


def _compare_functions(
    info: FunctionInfo, expected: FunctionInfo, symbols: list[Symbol]
) -> Iterator[Difference]:
    start = info.address
    if not _is_name(info, expected, symbols):
        yield Difference(start, "name", expected.name, info.name)
    rows, rows_found = expected.line_table or (), info.line_table or ()
    if rows != rows_found:
        row, found = _first_difference(rows, rows_found)
        address = min(each.address for each in (row, found) if each is not None)
        yield Difference(address, "lines", _row_text(row), _row_text(found))
    calls, calls_found = _calls(expected.inline), _calls(info.inline)
    if calls != calls_found:
        call, call_found = _first_difference(calls, calls_found)
        ranges = [
            each.ranges[0].start for each in (call, call_found) if each is not None
        ]
        yield Difference(
            min(ranges, default=start),
            "inlined calls",
            _call_text(call),
            _call_text(call_found),
        )
    # Without the option for it a file has no call sites.
    if info.call_sites and info.call_sites != expected.call_sites:
        site, site_found = _first_difference(expected.call_sites, info.call_sites)
        yield Difference(start, "call sites", str(site), str(site_found))


def _is_name(info: FunctionInfo, expected: FunctionInfo, symbols: list[Symbol]) -> bool:
    """Whether the function may have this name.

    That is the name in the DWARF, or a symbol of the same range if it is the mangled
    name or the DWARF has only the name.
    """
    if info.name == expected.name:
        return True
    if not any(s.name == info.name and s.size in {info.size, 0} for s in symbols):
        return False
    is_bare = not expected.line_table and expected.inline is None
    spelled = f"{len(expected.name.encode(errors='surrogateescape'))}{expected.name}"
    return is_bare or (info.name.startswith(_MANGLED) and spelled in info.name)


def _calls(root: InlineInfo | None) -> list[_Call]:
    """The nodes below the root, in pre-order."""
    calls: list[_Call] = []
    work = [(child, 1) for child in reversed(root.children)] if root else []
    while work:
        node, depth = work.pop()
        calls.append(
            _Call(depth, node.name, node.call_path, node.call_line, node.ranges)
        )
        work += [(child, depth + 1) for child in reversed(node.children)]
    return calls


def _row_text(row: LineEntry | None) -> str:
    return NOTHING if row is None else f"{row.address:#x} {row.path}:{row.line}"


def _call_text(call: _Call | None) -> str:
    if call is None:
        return NOTHING
    ranges = " ".join(_range_text(start, end) for start, end in call.ranges)
    caller = f"called from {call.path}:{call.line}"
    return f"{call.name or '(no name)'} {ranges} {caller} at depth {call.depth}"


def _first_difference(
    left: Sequence[_T], right: Sequence[_T]
) -> tuple[_T | None, _T | None]:
    return next((a, b) for a, b in zip_longest(left, right) if a != b)


def _range_text(start: int, end: int) -> str:
    return f"[{start:#x}, {end:#x})"


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
