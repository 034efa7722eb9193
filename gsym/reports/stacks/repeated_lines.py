"""Candidates for frames in lines that repeat, of which only the numbers differ.

Stacks have many such lines. What one of them may mean is found once; of the others only
the numbers are read.
"""

from __future__ import annotations

from itertools import chain, combinations, pairwise, repeat
from operator import add, eq, itemgetter

from gsym.memory.stack_parts import LinePattern, Reading
from gsym.patterns import regex
from gsym.records import NamedTuple
from gsym.reports.stacks.evidence import (
    SAYS_NOTHING,
    Line,
    candidates,
    may_be_start,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from gsym.memory.regions import Region
    from gsym.memory.stack_parts import StackFrame
    from gsym.reports.stacks.evidence import Candidate, Surroundings
    from gsym.reports.stacks.placed_images import PlacedImages
    from gsym.reports.stacks.shapes import Shape
    from gsym.reports.stacks.tokens import Tokens

    Facts = Iterable[object]
    """What is known of each of some lines."""
    _Part = tuple[int, int, tuple[Reading, ...]]

_MOST_KEPT = 3 << 21  # bytes
_KEY_SIZE = 1_024  # bytes that the facts of a line take beside its text
_MEANING_SIZE = 2_048  # bytes that a meaning takes
_IN_PAGE = 4095
_DIGIT = regex(r"\d")


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
        are_of_named: Whether there are some, and nothing but these decides.
        says_nothing: Whether the lines have no frame.
        has_words: Whether other texts than names of modules tell of the frames, too.
    """

    def __init__(self, first: Line) -> None:
        self.says_nothing: bool = SAYS_NOTHING.search(first.text) is not None
        self._places: list[tuple[slice, int]] = []  # and the base of its digits
        self._sums: list[tuple[int, ...]] = []  # as in `_Value.at`
        names: list[tuple[int, int]] = []
        ids: list[slice] = []
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
            ids.append(slice(start + part.id_at[0], start + part.id_at[1]))
        spans = sorted({(each.start, each.stop) for each, _ in self._places})
        ends = [0, *(end for _, end in spans)]
        begins = [*(begin for begin, _ in spans), len(first.text)]
        self._radixes = [radix for _, radix in self._places]
        digits = [place for place, _ in self._places]
        # Then names, and what is between numbers; of several places, the texts are a
        # tuple.
        words = [*(slice(*each) for each in names), *ids]
        self._words = len(digits) + len(words)
        places = [*digits, *words, *map(slice, ends, begins)]
        self._take: Callable[[str], tuple[str, ...]] = itemgetter(slice(0, 0), *places)
        self._is_grouped = any(set("`$") & set(first.text[each]) for each in digits)
        self.are_apart: bool = all(
            end <= begin or stop <= start
            for begin, stop in names
            for start, end in spans
        ) and all(one[1] <= other[0] for one, other in pairwise(spans))
        self.has_words: bool = False
        used = [part for _, part in first.parts if part.numbers or part.offsets]
        sure = (any(each.is_sure for each in part.mentions) for part in used)
        self.has_sure: bool = all(sure)
        is_only = self.has_sure and self.are_apart and not self.says_nothing
        self.are_of_named: bool = bool(used) and is_only
        self._names_module = any(part.mentions for part in used)
        self._has_range = any(part.has_range for _, part in first.parts)

    def _add(self, at: int, start: int, end: int, radix: int) -> int:
        self._places.append((slice(at + start, at + end), radix))
        return len(self._places) - 1

    def read(self, texts: Sequence[str]) -> tuple[list[Sequence[int]], list[Facts]]:
        """The numbers of lines as columns; what is equal in them, and texts."""
        count = len(self._radixes)
        _, *columns = zip(*map(self._take, texts), strict=True)
        digits: Sequence[Sequence[str]] = columns[:count]
        if self._is_grouped:
            digits = [
                [each.replace("`", "").removeprefix("$") for each in column]
                for column in digits
            ]
        values: list[Sequence[int]] = [
            [int(each, radix) for each in column]
            for column, radix in zip(digits, self._radixes, strict=True)
        ]
        same = [
            () if len({*row}) == count else tuple(map(row.index, row))
            for row in zip(*values, strict=True)
        ]
        if not same:
            same = [()] * len(texts)
        last = None if self.has_words else self._words
        return values, [same, *columns[count:last]]

    def are_in(self, names: Iterable[str], text: str) -> bool:
        """Whether a name of a line has one of its numbers."""
        digits = [text[each] for each, _ in self._places]
        return any(each in name for name in names for each in digits)

    def placing(
        self,
        count: int,
        values: Sequence[Sequence[int]],
        is_known: Callable[[int], bool],
    ) -> Collection[int]:
        """Indexes of lines that may say where a module starts that is not known.

        Args:
            count: How many lines there are.
            values: The columns of their numbers.
            is_known: Whether a module is known to start at an address.
        """
        if self._has_range or not self._names_module:
            return range(count if self._has_range else 0)
        several = [*values]
        for one, other in combinations(values, 2):
            pairs = zip(one, other, strict=True)
            several.append([abs(first - second) for first, second in pairs])
        starts = {each for own in several for each in own if not each & _IN_PAGE}
        new = {each for each in starts if may_be_start(each) and not is_known(each)}
        if not new:
            return ()
        return {at for own in several for at, each in enumerate(own) if each in new}

    def place(
        self, values: list[Sequence[int]], images: PlacedImages
    ) -> Iterator[Facts]:
        """Append the places of numbers in modules to these; what else is known of them.

        Args:
            values: The columns of the numbers of lines.
            images: Where modules are.
        """
        for several in self._sums:
            last = column = values[several[-1]]
            first = values[several[0]]
            if len(several) > 1:
                column = [*map(add, first, last)]
            regions, places = images.places_of(column)
            values.append(places)
            yield [not each & _IN_PAGE and may_be_start(each) for each in first]
            yield regions
            yield map(eq, places, last)

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


class Meaning(NamedTuple):
    """The frames that may be in lines of one shape.

    Attributes:
        found: Start, end and readings of all that may be frames.
        pattern: Those that do not overlap.
    """

    found: Sequence[_Part]
    pattern: LinePattern


class _Kept(dict[object, "Meaning | None"]):
    """Values that are kept, and forgotten when they have many bytes."""

    _size = 0

    def keep(self, key: object, value: Meaning | None, size: int) -> None:
        """Keep a value that has so many bytes with its key."""
        self._size += size
        if self._size > _MOST_KEPT:
            self.clear()
            self._size = size
        self[key] = value


class RepeatedLines:
    """Finds candidates in lines, once for all that only differ in their numbers.

    Args:
        around: Facts from the rest of the report.
        images: Its modules.
    """

    def __init__(self, around: Surroundings, images: PlacedImages) -> None:
        self._around, self._images = around, images
        self._known: _Kept = _Kept()
        self._distinct: _Kept = _Kept()

    def meaning(
        self, text: str, shape: Shape, usual: Callable[[], Iterable[int]]
    ) -> tuple[Meaning | None, Sequence[int]]:
        """The meaning of a line, if it may have frames, and its numbers.

        Args:
            text: Its text.
            shape: Its shape.
            usual: Returns the modules that the lines around it name.
        """
        first = shape.first
        numbers = first.numbers
        if numbers is None:
            numbers = first.numbers = Numbers(first)
        values, facts = numbers.read((text,))
        if numbers.placing(1, values, self._images.is_known):
            self._images.add(Line(text, first))
        near = () if numbers.has_sure or numbers.says_nothing else tuple(usual())
        ((found, own),) = self._meanings((text,), shape, near, values, facts)
        return found, own

    def meanings(
        self, texts: Sequence[str], shape: Shape
    ) -> Iterator[tuple[Meaning | None, Sequence[int]] | None]:
        """The values of `meaning` for lines of a shape that `is_alike`.

        None: the line may say where a module is.
        """
        numbers = shape.first.numbers
        if numbers is None:
            return
        values, facts = numbers.read(texts)
        placing = numbers.placing(len(texts), values, self._images.is_known)
        found = self._meanings(texts, shape, (), values, facts)
        for at, each in enumerate(found):
            yield None if at in placing else each

    def _meanings(
        self,
        texts: Sequence[str],
        shape: Shape,
        near: Sequence[int],
        values: list[Sequence[int]],
        facts: list[Facts],
    ) -> Iterator[tuple[Meaning | None, Sequence[int]]]:
        around, first, numbers = self._around, shape.first, shape.first.numbers
        count = len(values)
        if numbers is None or numbers.says_nothing:
            yield from zip(repeat(None), texts, strict=False)
            return
        has_words = numbers.has_words
        columns = [*map(list, chain(facts, numbers.place(values, self._images)))]
        rows = zip(*values, strict=True) if values else repeat(())
        like = first, near, len(around.loaded.regions)
        # Few of the facts differ in lines that follow one another.
        varying = [own for own in columns if len(own) > 1 and len({*own}) > 1]
        kinds = zip(*varying, strict=True) if varying else repeat(())
        of_kind: dict[object, Meaning | None] = {}
        lines = zip(texts, rows, kinds, strict=False)
        for at, (text, own, kind) in enumerate(lines):
            if kind in of_kind:
                yield of_kind[kind], own
                continue
            place = like, tuple([each[at] for each in columns])
            if place in self._known:
                of_kind[kind] = self._known[place]
                yield of_kind[kind], own
                continue
            line = Line(text, first)
            if not numbers.are_apart:
                found = candidates(line.parts, around, near)
                yield self._meaning(shape, found, len(own)), own
                continue
            marked = around._replace(region=numbers.region(around))
            found = candidates(numbers.marked(line), marked, near)
            known = self._meaning(shape, found, len(own))
            several = () if known is None else (each[2] for each in known.found)
            frames = [each.frame for each in chain.from_iterable(several)]
            # All else that differs in lines of a shape has digits.
            if any(each.ordinal >= 0 or _DIGIT.search(each.symbol) for each in frames):
                numbers.has_words = True
            if not (
                has_words != numbers.has_words
                or any(each.ordinal in own[:count] for each in frames)
                or numbers.are_in((each.symbol for each in frames), text)
            ):
                self._known.keep(place, known, _KEY_SIZE + len(text))
                of_kind[kind] = known
            yield known, own

    def _meaning(
        self, shape: Shape, several: Iterable[Candidate], width: int
    ) -> Meaning | None:
        """The meaning of lines of a shape, by their candidates and how many numbers."""
        form, is_return = shape.first.form
        found: list[_Part] = []
        spans: list[tuple[int, int]] = []
        readings: list[tuple[Reading, ...]] = []
        for start, end, frame in several:
            of_caller = is_return or frame.ordinal > 0
            own = frame._replace(
                is_return=of_caller, may_be_exact=True, may_return=True, others=()
            )
            found.append((start, end, tuple(map(_reading, (own, *frame.others)))))
            span = shape.span(start, end)
            if not spans or span[0] >= spans[-1][1]:
                spans.append(span)
                readings.append(found[-1][2])
        if not found:
            return None
        # Lines that have other words may mean the same.
        key = form, width, *spans, *found
        if key not in self._distinct:
            meaning = Meaning(found, LinePattern(form, spans, readings))
            size = _MEANING_SIZE + len(shape.first.text)
            self._distinct.keep(key, meaning, size)
        return self._distinct[key]


def _reading(frame: StackFrame) -> Reading:
    """A frame of a line, without the numbers that have places."""
    address, plus = _place(frame.address), _place(frame.plus)
    if address >= 0:
        frame = frame._replace(address=0, plus=frame.plus if plus < 0 else 0)
    elif plus >= 0:
        frame = frame._replace(plus=0)
    return Reading(frame, address, plus)


def _place(value: int | None) -> int:
    return value.at[0] if isinstance(value, _Value) else -1
