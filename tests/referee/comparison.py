"""Differences between a GSYM file and what its binary says."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from functools import cached_property
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING

from gsym.model import UINT64_END, FunctionInfo, InlineInfo, Range
from gsym.modules.key import PART, SAME, ModuleKey, compare
from gsym.ranges import merged
from gsym.reading.function_table import FunctionTable
from gsym.verification.comparison import (
    NOTHING,
    Difference,
    calls_differ,
    calls_in,
    function_differences,
    lines_differ,
    range_text,
    without_call_sites,
)
from tests.referee.ranges import gaps
from tests.referee.reference import Reference, rows_within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.reading.reader import Reader
    from tests.referee.file import Symbol

_ALIGNMENT = 16  # of functions
_UNDECODABLE = "not in any unit that can be decoded"
_UNNAMED = "neither the debug information nor a symbol names it"


class _Functions:
    """The functions of a file by address; without a size one extends to the next."""

    def __init__(self, reader: Reader) -> None:
        self._table = FunctionTable(reader)
        self.starts = self._table.starts

    def end(self, start: int, size: int) -> int:
        """End of a function for a lookup."""
        if size:
            return start + size
        following = bisect_right(self.starts, start)
        return self.starts[following] if following < len(self.starts) else UINT64_END

    def ranges(self) -> Iterator[Range]:
        """Ranges of all functions."""
        for start, size in zip(self.starts, self._table.sizes, strict=True):
            yield Range(start, self.end(start, size))

    def describe(self, address: int) -> str:
        """The function that a lookup of *address* finds."""
        index = bisect_right(self.starts, address) - 1
        if index < 0:
            return NOTHING
        start = self.starts[index]
        if address >= self.end(start, self._table.sizes[index]):
            return NOTHING
        return f"{self._table.name(index)} + {address - start}"


class Comparer:
    """Compares one GSYM file with what its binary says."""

    def __init__(self, reference: Reference) -> None:
        self._reference = reference
        self.functions: int = 0  # functions compared so far
        self.symbols: int = 0  # functions of the file that are only in the symbol table
        self.undecided: int = (
            0  # functions with other records in units outside the sample
        )
        # ranges with rows of line tables where the file has no function
        self.rows_alone: int = 0
        # the number of functions that were not compared, by reason
        self.uncompared: Counter[str] = Counter(reference.uncompared)
        self._around: list[FunctionInfo] = []  # that cover the current address

    def differences(self, reader: Reader) -> Iterator[Difference]:
        """All differences; headers first, then in order of address.

        Of another build only the headers are compared.
        """
        reference = self._reference
        functions = _Functions(reader)
        yield from self._compare_headers(reader, functions)
        if reference.fit.is_refused:
            return
        expected, nameless = dict(reference.functions), dict(reference.nameless)
        for info in reader.functions():
            key = (info.start, info.start + info.size)
            candidates = expected.pop(key, nameless.pop(key, None))
            symbols = reference.symbols.get(info.start, [])
            outer = self._outer(info)
            if key in reference.excused:
                self.uncompared[reference.excused[key]] += 1
            elif candidates is not None:
                self.functions += 1
                yield from self._compare(info, candidates, symbols)
            elif outer is not None:
                names = self._names(info, symbols)
                yield from function_differences(info, _rest(outer, info), names)
            elif not reference.is_sample:
                end = functions.end(info.start, info.size)
                yield from self._explain(info, end, symbols)
        for (start, end), candidates in sorted(expected.items()):
            expected_text = f"{candidates[0].name} {range_text(start, end)}"
            yield Difference(start, "function", expected_text, NOTHING)
        self.uncompared.update({_UNNAMED: len(nameless)} if nameless else {})
        if not reference.is_sample:
            yield from self._find_missing(functions)

    def _compare_headers(
        self, reader: Reader, functions: _Functions
    ) -> Iterator[Difference]:
        build_id, uuid = self._reference.build_id, reader.header.uuid
        said, own = (ModuleKey(code_id=x.hex(), os="Linux") for x in (uuid, build_id))
        if build_id and compare(own, said).outcome not in {SAME, PART}:
            yield Difference(0, "UUID", build_id.hex(), uuid.hex() or NOTHING)
        elif self._reference.fit.is_refused:
            other = f"another build ({self._reference.fit.reason})"
            yield Difference(0, "module", "one build", other)
        base, actual = self._reference.base_address, reader.header.base_address
        # Code may lie below the first segment; offsets from the base are not negative.
        base = None if base is None else min([base, *functions.starts[:1]])
        if base is not None and base != actual:
            yield Difference(base, "base address", f"{base:#x}", f"{actual:#x}")

    # One function.

    def _names(self, info: FunctionInfo, symbols: list[Symbol]) -> set[str]:
        """Names of symbols that may have the range of a function."""
        sizes = {info.size, 0}
        has_sizes = self._reference.has_sizes
        return {
            each.name
            for each in symbols
            if each.name and (each.size in sizes or not has_sizes)
        }

    def _outer(self, info: FunctionInfo) -> FunctionInfo | None:
        """The outer function if *info* is the rest of it after a nested one."""
        end = info.start + info.size
        self._around = [f for f in self._around if f.start + f.size > info.start]
        for outer in reversed(self._around):
            is_inside = outer.start < info.start and end <= outer.start + outer.size
            if is_inside and outer.name == info.name:
                return outer
        self._around.append(info)
        return None

    def _compare(
        self, info: FunctionInfo, candidates: list[FunctionInfo], symbols: list[Symbol]
    ) -> Iterator[Difference]:
        if info.merged:
            yield from _compare_merged(info, candidates)
            return
        names = self._names(info, symbols)
        found = list(function_differences(info, candidates[0], names))
        is_shared = self._reference.is_shared((info.start, info.start + info.size))
        if found and is_shared:
            self.undecided += 1
        else:
            yield from found

    def _explain(
        self, info: FunctionInfo, end: int, symbols: list[Symbol]
    ) -> Iterator[Difference]:
        """A function that is not in the DWARF is a symbol, with rows of its own."""
        start = info.start
        # Without DWARF, a size that the decoder works out for a symbol counts, too.
        names = [s.name for s in symbols if s.size in {info.size, 0}]
        rows, has_rows = self._reference.rows(start, end)
        found = info.line_table or ()
        is_symbol = bool(names) and found in {(), rows} and info.inline is None
        if (
            self._reference.unread
            and not is_symbol
            and (found or info.name not in names)
        ):
            self.uncompared[_UNDECODABLE] += 1
            return
        self.symbols += 1
        target = info.name.removesuffix("@plt")
        if target != info.name and self._reference.is_stub(start, target):
            return
        if info.name not in names:
            expected = f"{names[-1]} (symbol)" if names else self._describe(start)
            subject = "name" if names else "function"
            text = f"{info.name} {range_text(start, end)}"
            yield Difference(start, subject, expected, text)
            return
        yield from self._compare_extent(info, end, symbols)
        if found != rows and (found or has_rows):
            yield lines_differ(rows, found)
        if info.inline is not None:
            yield calls_differ(start, [], calls_in(info.inline))

    def _describe(self, address: int) -> str:
        """The function that the binary has at an address."""
        spans, ends = self._spans
        index = bisect_right(spans, (address, UINT64_END))
        while index and ends[index - 1] > address:
            index -= 1
            start, end, name = spans[index]
            if address < end:
                return f"{name} {range_text(start, end)}"
        return NOTHING

    @cached_property
    def _spans(self) -> tuple[list[tuple[int, int, str]], list[int]]:
        """Functions and symbols by start, and the last end of all up to each."""
        spans = [
            (symbol.address, symbol.address + symbol.size, f"{symbol.name} (symbol)")
            for symbols in self._reference.symbols.values()
            for symbol in symbols
            if symbol.is_function or symbol.is_label
        ]
        spans += [
            (*key, candidates[0].name)
            for key, candidates in self._reference.functions.items()
        ]
        spans.sort(key=itemgetter(0))  # of one start, functions are last
        return spans, [*accumulate((end for _, end, _ in spans), max)]

    def _compare_extent(
        self, info: FunctionInfo, end: int, symbols: list[Symbol]
    ) -> Iterator[Difference]:
        """A symbol is defined in relation to a section (ELF gABI, "Symbol Table").

        So one without a size says nothing of the code of others.
        """
        own = [each for each in symbols if each.name == info.name]
        has_size = info.size and any(each.size == info.size for each in own)
        if has_size or not self._reference.bounds_symbols:
            return
        limit = max(symbol.limit for symbol in own)
        beyond = Range(limit, end)
        text_ranges = self._reference.text_ranges
        if limit < end and next(gaps(beyond, text_ranges), None) != beyond:
            expected, found = (range_text(info.start, e) for e in (limit, end))
            yield Difference(
                info.start,
                "function",
                f"{info.name} {expected}, up to the end of its section",
                f"{info.name} {found}",
            )

    def _find_missing(self, functions: _Functions) -> Iterator[Difference]:
        """Each symbol of a function must start one, or be inside of one.

        That must be one of the debug information where the symbol table says the size:
        others know less of its code. Rows that are in none are counted: nothing may
        name them.
        """
        reference = self._reference
        starts = set(functions.starts)
        covered = described = merged(functions.ranges())
        if not reference.unread and not reference.uncompared:
            keys = (*reference.functions, *reference.nameless)
            described = merged(Range(*key) for key in keys if key[0] in starts)
        for address, symbols in sorted(reference.symbols.items()):
            for symbol in symbols if address not in starts else ():
                if not symbol.is_function and not symbol.is_label:
                    continue
                size = symbol.size if reference.has_sizes else 0
                span = Range(address, address + max(size, 1))
                if any(gaps(span, described if size else covered)):
                    found = functions.describe(address)
                    yield Difference(address, "symbol", symbol.name, found)
        self.rows_alone = sum(
            list(gaps(span, covered)) == [span] and not _is_padding(span)
            for span in self._reference.ranges_of_rows()
        )


def _is_padding(span: Range) -> bool:
    """Whether it may be what aligns the next function."""
    return span.end % _ALIGNMENT == 0 and span.end - span.start < _ALIGNMENT


def _compare_merged(
    info: FunctionInfo, candidates: list[FunctionInfo]
) -> Iterator[Difference]:
    """All records of one range must be in the file, in any order."""
    expected = {without_call_sites(each) for each in candidates}
    found = {without_call_sites(each) for each in (info, *info.merged)}
    for missing in sorted(expected - found):
        yield Difference(info.start, "function", f"{missing[0]} (merged)", NOTHING)
    for extra in sorted(found - expected):
        yield Difference(info.start, "function", NOTHING, f"{extra[0]} (merged)")


def _rest(outer: FunctionInfo, info: FunctionInfo) -> FunctionInfo:
    """The part of *outer* at the addresses of *info*."""
    start, end = info.start, info.start + info.size
    return info._replace(
        line_table=tuple(rows_within(outer.line_table or (), start, end)) or None,
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
