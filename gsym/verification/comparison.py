"""Differences of a GSYM file from its binary.

Each function is compared with its DWARF, as the second decoder reads it, or where no
DWARF describes it with a new conversion.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gsym.model import UINT64_END, FunctionInfo, InlineInfo, LineEntry, Range
from gsym.modules.key import PART, SAME, ModuleKey, compare
from gsym.reading.function_table import FunctionTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.reading.reader import Reader
    from gsym.verification.reference import Key, Reference

_T = TypeVar("_T")

NOTHING = "(nothing)"
_MANGLED = ("_Z", "_R", "$s", "$S")
_UNDECODABLE = "not in any unit that can be decoded"
_LEFT_OUT = "described by the DWARF, and left out by a new conversion as well"


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
    """Compares one GSYM file with its binary."""

    def __init__(self, reference: Reference) -> None:
        self._reference = reference
        self._described = dict(reference.described.functions)
        converted = reference.converted
        self._functions = iter(()) if converted is None else converted.functions()
        self._next = next(self._functions, None)  # of a new conversion
        self._has_converted = self._next is not None
        # Functions of a new conversion up to the start of the current one.
        self._converted: dict[Key, FunctionInfo] = {}
        # number of functions that were compared with their DWARF
        self.functions: int = 0
        # number of functions that were compared with a new conversion only
        self.others: int = 0
        # number of functions that units outside the sample may describe, as the file
        # has them
        self.undecided: int = 0
        # number of functions that were not compared, by reason
        self.uncompared: Counter[str] = Counter(reference.described.uncompared)

    def differences(self, reader: Reader) -> Iterator[Difference]:
        """All differences; headers first, then in order of address.

        Of another build only the headers are compared.
        """
        yield from self._compare_headers(reader)
        if self._reference.fit.is_refused:
            return
        starts = FunctionTable(reader).starts
        for info in reader.functions():
            yield from self._advance(info.start)
            key = info.start, info.start + info.size
            described = self._described.pop(key, [])
            converted = self._converted.pop(key, None)
            if described:
                self.functions += 1
                yield from self._compare(info, described, converted)
            elif converted is not None:
                self.others += 1
                yield from _least(info, [converted, *converted.merged], set())
                if info.merged:
                    yield from _compare_merged(info, converted)
            else:
                following = bisect_right(starts, info.start)
                end = starts[following] if following < len(starts) else UINT64_END
                yield from self._explain(info, end)
        yield from self._advance(UINT64_END)
        left_out = len(self._described)
        self.uncompared.update({_LEFT_OUT: left_out} if left_out else {})

    def _advance(self, start: int) -> Iterator[Difference]:
        """Functions before *start* that the file lacks; those at it are next."""
        while self._next is not None and self._next.start <= start:
            key = self._next.start, self._next.start + self._next.size
            self._converted[key] = self._next
            self._next = next(self._functions, None)
        for key in [each for each in self._converted if each[0] < start]:
            missing = self._converted.pop(key)
            self._described.pop(key, None)
            yield Difference(key[0], "function", _function_text(missing), NOTHING)

    def _compare_headers(self, reader: Reader) -> Iterator[Difference]:
        fit, header = self._reference.fit, reader.header
        converted = self._reference.converted
        known = header if converted is None else converted.header
        said, expected = (
            ModuleKey(code_id=each.hex(), os="Linux")
            for each in (header.uuid, known.uuid)
        )
        if expected.code_id and compare(expected, said).outcome not in {SAME, PART}:
            yield Difference(0, "UUID", expected.code_id, said.code_id or NOTHING)
        elif fit.is_refused:
            other = f"another build ({fit.reason})"
            yield Difference(0, "module", "one build", other)
        base, actual = known.base_address, header.base_address
        if base != actual:
            yield Difference(base, "base address", f"{base:#x}", f"{actual:#x}")

    def _compare(
        self,
        info: FunctionInfo,
        described: list[FunctionInfo],
        converted: FunctionInfo | None,
    ) -> Iterator[Difference]:
        """A function may be as any of the units has it that describe it."""
        known = [] if converted is None else [converted, *converted.merged]
        found = _least(info, described, {each.name for each in known})
        if found and self._reference.is_sample and not _least(info, known, set()):
            self.undecided += 1
            return
        yield from found
        if info.merged and converted is not None:
            yield from _compare_merged(info, converted)

    def _explain(self, info: FunctionInfo, end: int) -> Iterator[Difference]:
        """A function that the binary does not have in this range.

        One of both may not say the size of a symbol, which in the file then extends to
        the *end*, where the next one starts.
        """
        key = next(iter(self._converted), (0, 0))  # at the same start
        other = self._converted.pop(key, None)
        is_within = other is not None and not info.size and end <= key[1]
        is_empty = not self._has_converted and self._reference.described.unread
        self.others += not is_empty
        if other is not None and (is_within or not other.size):
            self._described.pop(key, None)
            yield from _least(info, [other, *other.merged], set())
        elif is_empty:
            self.uncompared[_UNDECODABLE] += 1
        else:
            expected = NOTHING if other is None else _function_text(other)
            yield Difference(info.start, "function", expected, _function_text(info))


def _least(
    info: FunctionInfo, candidates: Sequence[FunctionInfo], names: set[str]
) -> list[Difference]:
    """The differences from that of some functions which is most alike."""
    found = [list(function_differences(info, each, names)) for each in candidates]
    return min(found, key=len)


def _compare_merged(
    info: FunctionInfo, converted: FunctionInfo
) -> Iterator[Difference]:
    """All functions of one range must be in the file, in any order."""
    expected, found = (
        {without_call_sites(each) for each in (first, *first.merged)}
        for first in (converted, info)
    )
    for missing in sorted(expected - found):
        yield Difference(info.start, "function", f"{missing[0]} (merged)", NOTHING)
    for extra in sorted(found - expected):
        yield Difference(info.start, "function", NOTHING, f"{extra[0]} (merged)")


def without_call_sites(
    info: FunctionInfo,
) -> tuple[str, tuple[object, ...], tuple[_Call, ...]]:
    """Name, rows and inlined calls of a function."""
    return info.name, info.line_table or (), tuple(calls_in(info.inline))


def function_differences(
    info: FunctionInfo, expected: FunctionInfo, names: set[str]
) -> Iterator[Difference]:
    """Differences of a function from the expected one, which may have other *names*."""
    start = info.start
    if not _is_name(info, expected, names):
        yield Difference(start, "name", expected.name or NOTHING, info.name)
    rows, rows_found = expected.line_table or (), info.line_table or ()
    if rows != rows_found:
        yield lines_differ(rows, rows_found)
    calls, calls_found = calls_in(expected.inline), calls_in(info.inline)
    if calls != calls_found:
        yield calls_differ(start, calls, calls_found)
    # Without the option for it a file has no call sites.
    if info.call_sites and info.call_sites != expected.call_sites:
        site, site_found = _first_difference(expected.call_sites, info.call_sites)
        yield Difference(start, "call sites", str(site), str(site_found))


def _is_name(info: FunctionInfo, expected: FunctionInfo, names: set[str]) -> bool:
    """Whether the function may have this name.

    That is the name in the DWARF, or a symbol of the same range: one that starts with
    the name in the DWARF, or any where that name is no linkage name, or is all that the
    DWARF says.
    """
    if info.name == expected.name:
        return True
    if info.name not in names:
        return False
    is_bare = not expected.line_table and expected.inline is None
    is_linkage = expected.name in names or expected.name.startswith(_MANGLED)
    return is_bare or not is_linkage or info.name.startswith(f"{expected.name}.")


def lines_differ(rows: Sequence[LineEntry], found: Sequence[LineEntry]) -> Difference:
    """The first difference of rows that are not the same."""
    row, row_found = _first_difference(rows, found)
    address = min(each.address for each in (row, row_found) if each is not None)
    return Difference(address, "lines", _row_text(row), _row_text(row_found))


def calls_differ(
    start: int, calls: Sequence[_Call], found: Sequence[_Call]
) -> Difference:
    """The first difference of inlined calls that are not the same."""
    call, call_found = _first_difference(calls, found)
    ranges = [each.ranges[0].start for each in (call, call_found) if each is not None]
    return Difference(
        min(ranges, default=start),
        "inlined calls",
        _call_text(call),
        _call_text(call_found),
    )


def calls_in(root: InlineInfo | None) -> list[_Call]:
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
    ranges = " ".join(range_text(start, end) for start, end in call.ranges)
    caller = f"called from {call.path}:{call.line}"
    return f"{call.name or '(no name)'} {ranges} {caller} at depth {call.depth}"


def _first_difference(
    left: Sequence[_T], right: Sequence[_T]
) -> tuple[_T | None, _T | None]:
    return next((a, b) for a, b in zip_longest(left, right) if a != b)


def range_text(start: int, end: int) -> str:
    """A half-open range."""
    return f"[{start:#x}, {end:#x})"


def _function_text(info: FunctionInfo) -> str:
    return f"{info.name} {range_text(info.start, info.start + info.size)}"
