"""Candidates for frames in lines that repeat, of which only the numbers differ.

Stacks have many such lines. What one of them may mean is found once; of the others only
the numbers are read.
"""

from __future__ import annotations

from itertools import chain, pairwise

from gsym.memory.stack_parts import NO_MODULE, StackFrame
from gsym.records import NamedTuple
from gsym.reports.stacks.evidence import (
    SAYS_NOTHING,
    Candidate,
    candidates,
    may_be_start,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gsym.memory.regions import Region
    from gsym.reports.stacks.evidence import Line, Surroundings
    from gsym.reports.stacks.placed_images import PlacedImages
    from gsym.reports.stacks.tokens import Tokens

_MOST_KNOWN = 4_096  # lines
_PAGE_MASK = 4095
_new = tuple.__new__


class _Value(int):
    """A number, or the sum of two, and their places among the numbers of a line."""

    at: tuple[int, ...]

    @classmethod
    def of(cls, value: int, *at: int) -> _Value:
        """The number with its places."""
        made = cls(value)
        made.at = at
        return made

    def __add__(self, other: int) -> _Value:
        at = other.at if isinstance(other, _Value) else ()
        return _Value.of(int(self) + int(other), *self.at, *at)


class Numbers:
    """The numbers in lines of one shape.

    Args:
        first: One of the lines.

    Attributes:
        are_apart: Whether all else in the lines is known without them.
        has_sure: Whether each part of a line surely names a module.
        says_nothing: Whether the lines have no frame.
    """

    def __init__(self, first: Line) -> None:
        self.says_nothing: bool = SAYS_NOTHING.search(first.text) is not None
        self._places: list[tuple[slice, int]] = []  # and the base of its digits
        self._sums: list[tuple[int, ...]] = []  # as in `_Value.at`
        names: list[tuple[int, int]] = []
        for start, part in first.parts:
            for number in part.numbers:
                self._sums.append((self._add(start, number.start, number.end, 16),))
            for offset in part.offsets:
                base = -1
                if offset.base is not None:
                    base = self._add(start, offset.base.start, offset.base.end, 16)
                for radix in (10, 16)[-len(offset.values) :]:
                    at = self._add(start, *offset.digits(part.text), radix)
                    if base >= 0:
                        self._sums.append((base, at))
                begin = start + offset.start
                names += [(begin, begin + len(offset.name))] if offset.name else []
            names += ((start + each.start, start + each.end) for each in part.mentions)
        spans = sorted({(each.start, each.stop) for each, _ in self._places})
        ends = [0, *(end for _, end in spans)]
        begins = [*(begin for begin, _ in spans), len(first.text)]
        self._between = [*map(slice, ends, begins)]
        self.are_apart: bool = all(
            end <= begin or stop <= start
            for begin, stop in names
            for start, end in spans
        ) and all(one[1] <= other[0] for one, other in pairwise(spans))
        used = [part for _, part in first.parts if part.numbers or part.offsets]
        sure = (any(each.is_sure for each in part.mentions) for part in used)
        self.has_sure: bool = all(sure)
        self._names_module = any(part.mentions for part in used)
        self._has_range = any(part.has_range for _, part in first.parts)

    def _add(self, at: int, start: int, end: int, radix: int) -> int:
        self._places.append((slice(at + start, at + end), radix))
        return len(self._places) - 1

    def read(self, text: str) -> tuple[list[int], list[object]]:
        """The numbers of a line; which are equal, and all else in it."""
        values = []
        for place, radix in self._places:
            digits = text[place]
            if "`" in digits or "$" in digits:
                digits = digits.replace("`", "").removeprefix("$")
            values.append(int(digits, radix))
        same = [*map(values.index, values)] if len(values) > 1 else ()
        return values, [*same, *(text[each] for each in self._between)]

    def are_in(self, names: Iterable[str], text: str) -> bool:
        """Whether a name of a line has one of its numbers."""
        digits = [text[each] for each, _ in self._places]
        return any(each in name for name in names for each in digits)

    def may_place(self, values: list[int], is_known: Callable[[int], bool]) -> bool:
        """Whether a line may say where a module starts that is not known.

        Args:
            values: Its numbers.
            is_known: Whether a module is known to start at an address.
        """
        if self._has_range or not self._names_module:
            return self._has_range
        distinct = set(values)
        if len({0, *(each & _PAGE_MASK for each in distinct)}) > len(distinct):
            return False
        distances = [one - other for one in distinct for other in distinct]
        starts = [each for each in (*distinct, *distances) if not each & _PAGE_MASK]
        return any(may_be_start(each) and not is_known(each) for each in starts)

    def place(
        self, values: list[int], region: Callable[[int], Region | None]
    ) -> Iterator[object]:
        """Append the places of numbers in modules to these; what else is known of them.

        Args:
            values: The numbers of a line.
            region: The region of an address.
        """
        for several in self._sums:
            first, last = values[several[0]], values[several[-1]]
            found = region(first if len(several) == 1 else first + last)
            placed = None if found is None or found.module == NO_MODULE else found
            values.append(0 if placed is None else placed.address)
            yield placed and (placed[2], *placed[5:], placed.address == last)
            yield may_be_start(first)

    def marked(self, line: Line) -> Iterator[tuple[int, Tokens]]:
        """The parts of a line, the numbers with their places."""
        at = 0

        def mark(value: int) -> _Value:
            nonlocal at
            at += 1
            return _Value.of(value, at - 1)

        for start, part in line.parts:
            numbers = [each._replace(value=mark(each.value)) for each in part.numbers]
            offsets = []
            for each in part.offsets:
                base = each.base and each.base._replace(value=mark(each.base.value))
                values = tuple(map(mark, each.values))
                offsets.append(each._replace(base=base, values=values))
            marked = part._replace(numbers=tuple(numbers), offsets=tuple(offsets))
            yield start, marked

    def region(self, around: Surroundings) -> Callable[[int], Region | None]:
        """Finds regions of marked numbers, with the places of the addresses in them."""

        def region(value: int) -> Region | None:
            found = around.region(int(value))
            if found is None or not isinstance(value, _Value):
                return found
            at = len(self._places) + self._sums.index(value.at)
            return found._replace(address=_Value.of(found.address, at))

        return region


class RepeatedLines:
    """Finds candidates in lines, once for all that only differ in their numbers.

    Args:
        around: Facts from the rest of the report.
        images: Its modules.
    """

    def __init__(self, around: Surroundings, images: PlacedImages) -> None:
        self._around, self._images = around, images
        # Places and frames of candidates
        self._known: dict[object, list[tuple[int, int, list[_Like]]]] = {}

    def candidates(
        self, line: Line, usual: Callable[[], Iterable[int]]
    ) -> Sequence[Candidate]:
        """The candidates for frames in a line, in order.

        Args:
            line: The line.
            usual: Returns the modules that the lines around it name.
        """
        around, shape = self._around, line.like
        numbers = shape.numbers
        if numbers is None:
            numbers = shape.numbers = Numbers(shape)
        values, facts = numbers.read(line.text)
        if numbers.may_place(values, self._images.is_known):
            self._images.add(line)
        if numbers.says_nothing:
            return []
        near = () if numbers.has_sure else tuple(usual())
        if not numbers.are_apart:
            return [*candidates(line.parts, around, near)]
        read = values[:]
        facts += numbers.place(values, around.region)
        key = shape, near, len(around.loaded.regions), *facts
        known = self._known.get(key)
        if known is None:
            marked = around._replace(region=numbers.region(around))
            found = [*candidates(numbers.marked(line), marked, near)]
            several = [[each.frame, *each.frame.others] for each in found]
            known = [
                (each.start, each.end, [*map(_like, frames)])
                for each, frames in zip(found, several, strict=True)
            ]
            frames = [*chain.from_iterable(several)]
            if not (
                any(each.ordinal in read for each in frames)
                or numbers.are_in((each.symbol for each in frames), line.text)
            ):
                if len(self._known) > _MOST_KNOWN:
                    self._known.clear()
                self._known[key] = known
        return [_made(*each, values) for each in known]


class _Like(NamedTuple):
    """A frame in lines that are alike, and the places of its numbers, or -1."""

    frame: StackFrame
    address: int
    plus: int

    def of(self, values: Sequence[int]) -> StackFrame:
        """The frame of a line that has other numbers."""
        frame, address, plus = self
        # In the order of the fields, since there are many frames.
        fields = [*frame]
        if address >= 0:
            fields[2] = values[address]
        if plus >= 0:
            fields[6] = values[plus]
        return _new(StackFrame, fields)


def _like(frame: StackFrame) -> _Like:
    return _Like(frame, _place(frame.address), _place(frame.plus))


def _place(value: int | None) -> int:
    return value.at[0] if isinstance(value, _Value) else -1


def _made(
    start: int, end: int, frames: Sequence[_Like], values: Sequence[int]
) -> Candidate:
    first = frames[0].of(values)
    if len(frames) > 1:
        others = tuple([each.of(values) for each in frames[1:]])
        first = _new(StackFrame, (*first[:11], others, *first[12:]))
    return _new(Candidate, (start, end, first))
