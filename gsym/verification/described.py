"""Functions that the DWARF of a binary describes, decoded once more."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from gsym.errors import GsymError
from gsym.model import FunctionInfo, InlineInfo, LineEntry, Range
from gsym.verification.decoder.functions import UnitFunctions
from gsym.verification.decoder.split import SplitUnits
from gsym.verification.decoder.units import DECODING_ERRORS, Unit, Units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gsym.verification.decoder.file import DwarfFile

    Key = tuple[int, int]  # start and end of a function


class Place(NamedTuple):
    """A unit: the path of its file, "" for the binary or its debug file, and where."""

    path: str
    offset: int


class Described:
    """The functions of the units of a binary, by their start and end."""

    def __init__(
        self, file: DwarfFile, path_map: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.functions: dict[Key, list[FunctionInfo]] = {}
        self.units: int = 0  # number of units that were examined
        self.all_units: int = 0  # number of units
        self.unread: dict[Place, str] = {}  # why units cannot be decoded
        # number of functions that were not decoded, by reason
        self.uncompared: Counter[str] = Counter()
        self._file = file
        self._units = Units(file, path_map)
        self.splits: SplitUnits = SplitUnits(self._units)

    def decode(
        self, sample: int | None, progress: Callable[[int, int], None] | None
    ) -> None:
        """Decode the units, or *sample* of them, spread over those with code."""
        units = self._units
        offsets = units.offsets
        self.all_units = len(offsets)
        if units.damage is not None:
            self.unread[Place("", units.end)] = units.damage
        if sample is not None:
            with_code = [each for each in offsets if self._has_code(each)]
            count = min(sample, len(with_code))
            offsets = [with_code[i * len(with_code) // count] for i in range(count)]
        self.units = len(offsets)
        done, total = 0, sum(map(units.size, offsets))
        for offset in offsets:
            if self.splits.is_missing(offset):
                self.unread[Place("", offset)] = "its split unit was not found"
            try:
                self._add(self.splits.open(offset))
            except DECODING_ERRORS as error:
                self.unread[Place("", offset)] = reason_of(error)
            done += units.size(offset)
            if progress is not None:
                progress(done, total)
        self.uncompared.update(units.uncompared)

    def _has_code(self, offset: int) -> bool:
        try:
            return bool(self.splits.open(offset).code_ranges())
        except DECODING_ERRORS as error:
            self.unread[Place("", offset)] = reason_of(error)
            return False

    def _add(self, unit: Unit) -> None:
        for _, info in UnitFunctions(unit, call_sites=True):
            if info.name:
                moved = move_function(info, self._file.bias)
                key = moved.start, moved.start + moved.size
                self.functions.setdefault(key, []).append(moved)
        if unit.units is not self._units:
            self.uncompared.update(unit.units.uncompared)


def reason_of(error: Exception) -> str:
    """Reason why something cannot be decoded."""
    if isinstance(error, GsymError):
        return error.reason
    return f"{type(error).__name__}: {error}"


def move_function(info: FunctionInfo, distance: int) -> FunctionInfo:
    """The function at other addresses."""
    if not distance:
        return info
    return info._replace(
        start=info.start + distance,
        line_table=info.line_table and move_rows(info.line_table, distance),
        inline=info.inline and _move_calls(info.inline, distance),
    )


def move_rows(rows: tuple[LineEntry, ...], distance: int) -> tuple[LineEntry, ...]:
    """The rows at other addresses."""
    return tuple(row._replace(address=row.address + distance) for row in rows)


def _move_calls(node: InlineInfo, distance: int) -> InlineInfo:
    return node._replace(
        ranges=tuple(Range(a + distance, b + distance) for a, b in node.ranges),
        children=tuple(_move_calls(child, distance) for child in node.children),
    )
