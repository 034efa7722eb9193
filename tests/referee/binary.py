"""Debug information and symbols of a binary, decoded once more."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from gsym.model import FunctionInfo, LineEntry, Range
from gsym.ranges import merged, range_at
from gsym.verification.decoder.functions import UnitFunctions
from gsym.verification.decoder.lines import own_sequence
from gsym.verification.decoder.split import SplitUnits
from gsym.verification.decoder.units import DECODING_ERRORS, Unit, Units
from gsym.verification.reference import Place, move_function, move_rows, reason_of
from tests.referee.ranges import gaps
from tests.referee.reference import Reference, rows_within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gsym.verification.decoder.lines import LineTable
    from tests.referee.file import ReferenceFile
    from tests.referee.live_code import LiveCode
    from tests.referee.reference import Key

    Progress = Callable[[int, int], None]
    _Source = tuple["Part", int]  # where a unit is


class Bare(NamedTuple):
    """Rows of a line table that no function has.

    Those that do not *start* here go on from a function, over padding.
    """

    span: Range
    rows: tuple[LineEntry, ...]
    starts: list[int]


class Part:
    """The units of one file, and the split units that they are skeletons of.

    The path is "" for the binary.
    """

    def __init__(
        self, file: ReferenceFile, path_map: Sequence[tuple[str, str]], path: str = ""
    ) -> None:
        self.file = file
        self.path = path
        self.units: Units = Units(file.dwarf(), path_map)
        self.splits: SplitUnits = SplitUnits(self.units)


class BinaryReference(Reference):
    """DWARF and symbols of a binary.

    Args:
        parts: The units: those of the binary, or of its object files.
        sample: The number of units to decode; None: all.
        progress: Called with the bytes of .debug_info done and their total.
        like_llvm: Symbols without a size have no end.
    """

    def __init__(
        self,
        file: ReferenceFile,
        parts: Sequence[Part],
        sample: int | None,
        progress: Progress | None,
        *,
        like_llvm: bool = False,
    ) -> None:
        super().__init__()
        self.build_id: bytes = file.build_id()
        self.base_address: int | None = file.base_address()
        self.is_sample: bool = sample is not None
        self._others: list[list[Range]] = []  # ranges of units outside the sample
        self._bare: list[Bare] = []
        chosen = [(part, offset) for part in parts for offset in part.units.offsets]
        self.all_units: int = len(chosen)
        if sample is not None:
            chosen = self._choose(chosen, sample)
        self.units: int = len(chosen)
        for part in parts:
            if part.units.damage is not None:
                self.unread[Place(part.path, part.units.end)] = part.units.damage
        self._decode(chosen, progress)
        for part in parts:
            self.uncompared.update(part.units.uncompared)
        self.add_symbols(file.symbols())
        self.has_sizes: bool = file.has_sizes
        self.text_ranges: list[Range] = list(file.text_ranges)
        self._stubs = merged(file.stub_ranges())
        self._called = file.called_names() if self._stubs else frozenset()
        self.bounds_symbols: bool = not like_llvm
        # Functions that are also in units outside the sample
        keys = sorted(self.functions)
        shared: set[Key] = set()
        for ranges in self._others:
            for start, end in ranges:
                first, last = bisect_left(keys, (start, 0)), bisect_left(keys, (end, 0))
                shared.update(keys[first:last])
        self._shared = shared

    def is_shared(self, key: Key) -> bool:
        """Whether units outside the sample also describe a function."""
        return key in self._shared

    def is_stub(self, address: int, name: str) -> bool:
        """Whether code at *address* may do no more than call a function *name*."""
        is_called = name in self._called
        return is_called and range_at(self._stubs, address) is not None

    def rows(self, start: int, end: int) -> tuple[tuple[LineEntry, ...], bool]:
        """Rows of line tables where no function is described, in a range.

        The last row of a sequence ends with it (DWARF 5, 6.2.5.3, end_sequence).
        """
        found: list[LineEntry] = []
        last = bisect_left(self._bare, end, key=_start)
        bare = self._bare[self._first_reaching(start) : last]
        reach = end
        for span, rows, _ in bare:
            if found and span.start > reach:
                found.append(LineEntry(reach, "", 0))  # no row is for what follows
            reach = min(span.end, end)
            for row in rows_within(rows, max(span.start, start), reach):
                if not found or found[-1][1:] != row[1:]:
                    found.append(row)
        if found and reach < end:
            found.append(LineEntry(reach, "", 0))
        starts = (each for part in bare for each in part.starts)
        return tuple(found), any(start <= each < end for each in starts)

    def ranges_of_rows(self) -> Iterator[Range]:
        """The addresses at which such rows start."""
        return (bare.span for bare in self._bare if bare.starts)

    def _first_reaching(self, address: int) -> int:
        """The first of the bare rows that end behind *address*; they do not overlap."""
        index = bisect_left(self._bare, address, key=_start)
        return index - (index > 0 and self._bare[index - 1].span.end > address)

    def _choose(self, chosen: list[_Source], count: int) -> list[_Source]:
        """Units spread over those with code; the ranges of the others are recorded."""
        with_code: dict[_Source, list[Range]] = {}
        for part, offset in chosen:
            try:
                unit = part.splits.open(offset)
                ranges = [
                    Range(span.start + distance, span.end + distance)
                    for each in unit.code_ranges()
                    for span, distance in part.file.moved(*each)
                ]
            except DECODING_ERRORS as error:
                self.unread[Place(part.path, offset)] = reason_of(error)
                continue
            if ranges:
                with_code[part, offset] = ranges
        sources = list(with_code)
        count = min(count, len(sources))
        taken = [sources[i * len(sources) // count] for i in range(count)]
        for source in taken:
            del with_code[source]
        self._others = list(with_code.values())
        return taken

    def _decode(self, chosen: list[_Source], progress: Progress | None) -> None:
        done, total = 0, sum(part.units.size(offset) for part, offset in chosen)
        for part, offset in chosen:
            place = Place(part.path, offset)
            if part.splits.is_missing(offset):
                self.unread[place] = "its split unit was not found"
            try:
                self._decode_unit(part, part.splits.open(offset))
            except DECODING_ERRORS as error:
                self.unread[place] = reason_of(error)
            done += part.units.size(offset)
            if progress is not None:
                progress(done, total)
        self._bare = list(self._without_functions())

    def _without_functions(self) -> Iterator[Bare]:
        """The bare rows that no other unit has in a function, each address once.

        Those of a function without a name may be what a symbol has.
        """
        taken = merged(Range(*key) for key in self.functions)
        reach = 0
        for bare in sorted(self._bare, key=_start):
            for start, end in gaps(bare.span, taken):
                if end > reach:
                    left = Range(max(start, reach), end)
                    rows = tuple(rows_within(bare.rows, *left))
                    starts = [each for each in bare.starts if left.start <= each < end]
                    yield Bare(left, rows, starts)
            reach = max(reach, bare.span.end)

    def _decode_unit(self, part: Part, unit: Unit) -> None:
        covered: list[Range] = []
        functions = UnitFunctions(unit)
        dropped: set[int] = set()  # offsets of sequences
        for offset, info in functions:
            span = Range(info.start, info.start + info.size)
            if self._is_dropped(part, functions, unit, offset, info, dropped):
                continue
            if info.name:
                covered.append(span)
            for own, distance in part.file.moved(*span):
                if own.start == span.start:
                    self.add(move_function(info, distance))
        if unit.units is not part.units:
            self.uncompared.update(unit.units.uncompared)
        if unit.lines is None:
            return
        for bare in beside(unit.lines, part.file.live_code, dropped, covered):
            for span, distance in part.file.moved(*bare):
                rows = unit.lines.entries(*span)
                moved = Range(span.start + distance, span.end + distance)
                starts = [each + distance for each in row_starts(unit.lines, *span)]
                self._bare.append(Bare(moved, move_rows(rows, distance), starts))

    def _is_dropped(  # noqa: PLR0913, PLR0917 - what is known of a function
        self,
        part: Part,
        functions: UnitFunctions,
        unit: Unit,
        offset: int,
        info: FunctionInfo,
        dropped: set[int],
    ) -> bool:
        """Whether the linker dropped the function; its sequence is recorded then."""
        code, lines = part.file.live_code, unit.lines
        if code is None:
            return False
        span = Range(info.start, info.start + info.size)
        holding = [] if lines is None else lines.holding(span.start)
        sequence = None
        if holding:
            die = unit.cu.get_DIE_from_refaddr(offset)
            sequence = own_sequence(holding, span, *functions.sequence(die))
        if span.start > 0 and (sequence is None or sequence.low > 0):
            return False
        if code.holds(span, info.name, is_qualified=functions.has_scopes):
            return False
        if sequence is not None:
            dropped.add(sequence.offset)
        return True


def beside(
    lines: LineTable, code: LiveCode | None, dropped: set[int], covered: list[Range]
) -> Iterator[Range]:
    """The parts of the sequences of live code that lie outside of *covered*."""
    around = merged(covered)
    for sequence in lines.sequences:
        is_live = code is None or code.holds_rows(sequence.low, sequence.high)
        if is_live and sequence.offset not in dropped:
            yield from gaps(Range(sequence.low, sequence.high), around)


def row_starts(lines: LineTable, start: int, end: int) -> list[int]:
    """The addresses in a range at which rows with a line start."""
    found = []
    for sequence in lines.sequences:
        if sequence.low >= end or sequence.high <= start:
            continue
        first, last = (bisect_left(sequence.addresses, at) for at in (start, end))
        found += [
            sequence.addresses[index]
            for index in range(first, last)
            if sequence.lines[index]
        ]
    return found


def _start(bare: Bare) -> int:
    return bare.span.start
