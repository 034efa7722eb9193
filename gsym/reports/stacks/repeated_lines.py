"""Candidates for frames in lines that repeat, of which only the numbers differ.

Stacks have many such lines. The engine reads their numbers as columns and tells which
lines are of one kind; what these mean is found once.
"""

from __future__ import annotations

from array import array
from itertools import accumulate, pairwise

from gsym.engine.native import check, ffi, lib, new_error, new_object
from gsym.lazy import regex
from gsym.memory.stack_parts import LinePattern, Reading
from gsym.records import NamedTuple
from gsym.reports.stacks.evidence import SAYS_NOTHING, candidates
from gsym.reports.stacks.tokens import encoded

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from gsym.memory.stack_parts import StackFrame
    from gsym.reports.stacks.evidence import Surroundings
    from gsym.reports.stacks.placed_images import PlacedImages
    from gsym.reports.stacks.shapes import Shape
    from gsym.reports.stacks.tokens import Offset

    _Part = tuple[int, int, tuple[Reading, ...]]

_MOST_KEPT = 3 << 22  # bytes
_KIND_SIZE = 1_024  # bytes that a kind takes beside the text of its line
_MEANING_SIZE = 2_048  # bytes that a meaning takes
_DIGIT = regex(r"\d")
_ANY_NAME = "f"  # in the place of that of each line

NO_SHAPE = (1 << 32) - 1
"""The number of the shape of a line that is too long."""


class Columns(NamedTuple):
    """Numbers of some lines, and which lines mean the same.

    Attributes:
        numbers: Columns of numbers, and of the places of sums in their modules.
        kinds: Numbers that are equal for lines which mean the same.
        placing: Which may say where a module is that is not known: 1, or 0.
    """

    numbers: Sequence[Sequence[int]]
    kinds: Sequence[int]
    placing: bytearray

    def firsts(self) -> Iterator[tuple[int, int]]:
        """The first line of each kind, and the kind."""
        last = len(self.kinds) - 1
        found = dict(zip(reversed(self.kinds), range(last, -1, -1), strict=True))
        return iter(sorted((at, kind) for kind, at in found.items()))

    def rows(self) -> Sequence[Sequence[int]]:
        """The numbers of each line."""
        rows = [*zip(*self.numbers, strict=True)]
        return rows or [()] * len(self.kinds)


class Spans(NamedTuple):
    """Places in each of some lines that only differ in their numbers, in bytes.

    Attributes:
        digits: Start and end of each number, and its base.
        words: Start and end of each text that tells what they mean.
        sums: Indexes of two numbers whose sum is an address, or twice that of one, and
            how many bytes before it are in the same region.
    """

    digits: Sequence[tuple[int, int, int]]
    words: Sequence[tuple[int, int]]
    sums: Sequence[tuple[int, int, int]] = ()


class LineKeys:
    """Numbers the shapes of lines, or their kinds, in the order of their occurrence."""

    def __init__(self) -> None:
        create, destroy = lib.gsym_line_keys_create, lib.gsym_line_keys_destroy
        self._keys = new_object("line_keys", create, destroy)

    def shapes(self, lines: Sequence[str], longest: int) -> Sequence[int]:
        """Numbers that are equal for lines of one shape.

        `NO_SHAPE` for those of more than *longest* bytes.
        """
        text, begins = _joined(lines)
        found, error = array("I", bytes(4 * len(lines))), new_error()
        status = lib.gsym_line_shapes(
            *(self._keys, text, len(text), ffi.from_buffer("uint64_t[]", begins) + 1),
            *(len(lines), longest, ffi.from_buffer("uint32_t[]", found), error),
        )
        check(status, error)
        return found

    def columns(
        self,
        lines: Sequence[str],
        spans: Spans,
        context: int,
        place: Callable[[Any], None] | None = None,
    ) -> Columns:
        """The numbers of lines, and their kinds.

        Args:
            lines: The lines, without colours.
            spans: What is read.
            context: Lines of different contexts are of different kinds.
            place: Lets the engine know where modules are.
        """
        text, begins = _joined(lines)
        count, width = len(lines), len(spans.digits) + len(spans.sums)
        values = array("Q", bytes(8 * count * width))
        kinds, placing = array("I", bytes(4 * count)), bytearray(count)
        job, error = ffi.new("gsym_alike_lines *"), new_error()
        source = ffi.from_buffer("char[]", text)
        job.text, job.size, job.count, job.context = source, len(text), count, context
        kept = [  # as long as the job
            ffi.new("gsym_line_digits[]", spans.digits),
            ffi.new("gsym_range[]", spans.words),
            ffi.new("gsym_line_sum[]", spans.sums),
            ffi.from_buffer("uint64_t[]", begins),
            ffi.from_buffer("uint64_t[]", values),
            ffi.from_buffer("uint32_t[]", kinds),
            ffi.from_buffer("uint8_t[]", placing),
        ]
        job.digits, job.words, job.sums, job.begins = kept[:4]
        job.values, job.kinds, job.placing = kept[4:]
        job.digit_count, job.word_count, job.sum_count = map(len, spans)
        if place is not None:
            place(job)
        check(lib.gsym_line_kinds(self._keys, job, error), error)
        numbers = [values[at : at + count] for at in range(0, len(values), count or 1)]
        return Columns(numbers, kinds, placing)


def _joined(lines: Sequence[str]) -> tuple[bytes, array[int]]:
    """The bytes of lines; where each begins, and the last one ends."""
    text = "".join(lines)
    joined = encoded(text)
    sizes = lines if len(text) == len(joined) else map(encoded, lines)
    return joined, array("Q", accumulate(map(len, sizes), initial=0))


class Numbers:
    """The numbers in lines of one shape.

    Args:
        shape: The shape.

    Attributes:
        names: Where names of functions are that are read of each line.
        are_apart: Whether all else in the lines is known without them.
        has_sure: Whether each part of a line surely names a module.
        are_alone: Whether there are some, and no other digits decide.
        says_nothing: Whether the lines have no frame.
        has_words: Whether other texts than names of modules tell of the frames, too.
    """

    def __init__(self, shape: Shape) -> None:
        first = shape.first
        self.says_nothing: bool = SAYS_NOTHING.search(first.text) is not None
        self._digits: list[tuple[int, int, int]] = []  # start, end and base
        self.names: list[tuple[int, int]] = []
        self._sums: list[tuple[int, int, int]] = []
        names: list[tuple[int, int]] = []
        others: list[tuple[int, int]] = []
        for start, part in first.parts:
            for number in part.numbers:
                at = self._add(start, number.start, number.end, 16)
                self._sums.append((at, at, 0))
            for offset in part.offsets:
                begin, end = start + offset.start, start + offset.end
                others.append((self._add_offset(start, part.text, offset), end))
                name = begin, begin + len(offset.name)
                is_read = offset.name and not (offset.is_word or shape.has_colours)
                (self.names if is_read else names).append(name)
            names += ((start + each.start, start + each.end) for each in part.mentions)
            others.append((start + part.id_at[0], start + part.id_at[1]))
        places = sorted({each[:2] for each in self._digits})
        self.are_apart: bool = all(
            end <= begin or stop <= start
            for begin, stop in names
            for start, end in places
        ) and all(one[1] <= other[0] for one, other in pairwise(places))
        digits = [(*shape.bytes_of(*each[:2]), each[2]) for each in self._digits]
        words = [shape.bytes_of(*each) for each in (*names, *others)]
        # What is between numbers matters where other words than names do.
        ends = [0, *(end for _, end in places)]
        begins = [*(begin for begin, _ in places), len(first.text)]
        between = [shape.bytes_of(*each) for each in zip(ends, begins, strict=True)]
        several = words, words + between
        self._spans = [Spans(digits, each, self._sums) for each in several]
        self.has_words: bool = False
        used = [part for _, part in first.parts if part.numbers or part.offsets]
        sure = (any(each.is_sure for each in part.mentions) for part in used)
        self.has_sure: bool = all(sure)
        is_only = self.are_apart and not self.says_nothing
        self.are_alone: bool = bool(used) and is_only
        self._names_module = any(part.mentions for part in used)
        self._has_range = any(part.has_range for _, part in first.parts)

    def _add_offset(self, at: int, text: str, offset: Offset) -> int:
        """Add the numbers of an offset; return where they end."""
        base = -1
        if offset.base is not None:
            base = self._add(at, offset.base.start, offset.base.end, 16)
        place, size = offset.digits(text)
        for radix in (10, 16)[-len(offset.values) :]:
            number = self._add(at, *place, radix)
            if base >= 0:
                self._sums.append((base, number, 0))
        if offset.size is not None:
            self._add(at, *size, 16)
        return at + max(place[1], size[1])

    def _add(self, at: int, start: int, end: int, radix: int) -> int:
        self._digits.append((at + start, at + end, radix))
        return len(self._digits) - 1

    @property
    def spans(self) -> Spans:
        """Places that the engine reads in each line."""
        return self._spans[self.has_words]

    def placing(self, columns: Columns) -> Sequence[int]:
        """For each line whether it may say where a module is that is not known."""
        if self._has_range or not self._names_module:
            return [self._has_range] * len(columns.kinds)
        return columns.placing

    def tell(self, found: Iterable[Reading], row: Sequence[int], text: str) -> bool:
        """Whether a name or an ordinal of a line may be of one of its numbers."""
        digits = [text[start:end] for start, end, _ in self._digits]
        numbers = row[: len(digits)]
        return any(
            each.frame.ordinal in numbers
            or (each.name is None and any(one in each.frame.symbol for one in digits))
            for each in found
        )


class Meaning(NamedTuple):
    """The frames that may be in lines of one kind.

    Attributes:
        found: Start, end and readings of all that may be frames.
        pattern: Those that do not overlap.
        is_alone: Whether other lines of the kind may have others.
    """

    found: Sequence[_Part]
    pattern: LinePattern
    is_alone: bool


class RepeatedLines:
    """Finds candidates in lines, once for all that only differ in their numbers.

    Args:
        around: Facts from the rest of the report.
        images: Its modules.
    """

    def __init__(self, around: Surroundings, images: PlacedImages) -> None:
        self._around, self._images = around, images
        self.forget()

    def forget(self) -> None:
        """Forget all that was found."""
        self._keys = LineKeys()
        self._contexts: dict[object, int] = {}
        self._known: dict[int, Meaning | None] = {}  # by kind
        self._distinct: dict[object, Meaning] = {}
        self._size = 0  # bytes of those

    def columns(
        self, lines: Sequence[str], shape: Shape, spans: Spans, near: Sequence[int] = ()
    ) -> Columns:
        """The columns of lines of a shape; *near* is as of `evidence.candidates`."""
        if self._size > _MOST_KEPT:
            self.forget()
        key = shape.first, len(spans.words), near, len(self._around.loaded.regions)
        context = self._contexts.setdefault(key, len(self._contexts))
        if shape.has_colours:
            lines = [*map(shape.plain, lines)]
        return self._keys.columns(lines, spans, context, self._images.set_places)

    def meaning(
        self, line: str, shape: Shape, usual: Callable[[], Iterable[int]]
    ) -> tuple[Meaning | None, Sequence[int]]:
        """The meaning of a line, if it may have frames, and its numbers.

        Args:
            line: The line.
            shape: Its shape.
            usual: Returns the modules that the lines around it name.
        """
        self._size += len(line)
        numbers = shape.numbers
        columns = self.columns([line], shape, numbers.spans)
        is_placing = any(numbers.placing(columns)) and self._images.may_add(shape)
        if is_placing:
            self._images.add(shape.line(line))
        near = () if numbers.has_sure or numbers.says_nothing else tuple(usual())
        if is_placing or near:
            columns = self.columns([line], shape, numbers.spans, near)
        (found,), columns = self._meanings([line], shape, columns, near)
        return found, columns.rows()[0]

    def meanings(
        self, lines: Sequence[str], shape: Shape
    ) -> tuple[Sequence[Meaning | tuple[()] | None], Sequence[Sequence[int]]]:
        """The meanings of lines of a shape that `is_alike`, and their numbers.

        () for a line without frames, None for one that may say where a module is.
        """
        columns = self.columns(lines, shape, shape.numbers.spans)
        found, columns = self._meanings(lines, shape, columns)
        pairs = zip(found, shape.numbers.placing(columns), strict=True)
        may_add = self._images.may_add
        known = [
            None if is_placing and may_add(shape) else each or ()
            for each, is_placing in pairs
        ]
        return known, columns.rows()

    def _meanings(
        self,
        lines: Sequence[str],
        shape: Shape,
        columns: Columns,
        near: Sequence[int] = (),
    ) -> tuple[Sequence[Meaning | None], Columns]:
        numbers = shape.numbers
        if numbers.says_nothing:
            return [None] * len(lines), columns

        def meaning(at: int) -> Meaning | None:
            row = [each[at] for each in columns.numbers]
            return self._meaning(lines[at], row, shape, near)

        if not numbers.are_apart:
            return [*map(meaning, range(len(lines)))], columns
        known, has_words = self._known, numbers.has_words
        for at, kind in columns.firsts():
            if kind not in known:
                known[kind] = meaning(at)
                self._size += _KIND_SIZE + len(lines[at])
                if numbers.has_words != has_words:
                    columns = self.columns(lines, shape, numbers.spans, near)
                    return self._meanings(lines, shape, columns, near)
        found = [known[kind] for kind in columns.kinds]
        for at, each in enumerate(found):
            if each is not None and each.is_alone:
                found[at] = meaning(at)
        return found, columns

    def _meaning(
        self, line: str, row: Sequence[int], shape: Shape, near: Sequence[int]
    ) -> Meaning | None:
        """The meaning of a line with these numbers."""
        first, text, numbers = shape.first, shape.text(line), shape.numbers
        form, is_return = first.form
        places = {text[slice(*each)]: shape.span(*each) for each in numbers.names}
        found: list[_Part] = []
        spans: list[tuple[int, int]] = []
        readings: list[tuple[Reading, ...]] = []
        every: list[Reading] = []
        parts = shape.line(line).parts
        for start, end, frame in candidates(parts, self._around, near):
            of_caller = is_return or frame.is_return or frame.ordinal > 0
            main = frame._replace(
                is_return=of_caller, may_be_exact=True, may_return=True, others=()
            )
            options = tuple(
                reading(each, row, places.get(each.symbol))
                for each in (main, *frame.others)
            )
            every += options
            found.append((start, end, options))
            span = shape.span(start, end)
            if not spans or span[0] >= spans[-1][1]:
                spans.append(span)
                readings.append(found[-1][2])
        # All else that differs in lines of a shape has digits.
        numbers.has_words |= any(
            each.frame.ordinal >= 0
            or (
                each.name is None
                and each.frame.symbol
                and (shape.has_names or _DIGIT.search(each.frame.symbol))
            )
            for each in every
        )
        if not found:
            return None
        is_alone = numbers.tell(every, row, text)
        # Lines that have other words may mean the same.
        key = is_alone, form, len(row), *spans, *found
        if key not in self._distinct:
            self._size += _MEANING_SIZE + len(text)
            pattern = LinePattern(form, spans, readings)
            self._distinct[key] = Meaning(found, pattern, is_alone)
        return self._distinct[key]


def reading(
    frame: StackFrame, row: Sequence[int], name: tuple[int, int] | None = None
) -> Reading:
    """A frame of a line, without the numbers that are among those of the line.

    Lines of a kind have the same numbers that are equal or 0. *name* is where the
    function is, if that differs.
    """
    numbers = frame.address, frame.plus, frame.function_size
    address, plus, size = (_place(each, row) for each in numbers)
    if address >= 0:
        frame = frame._replace(address=0)
    if plus >= 0:
        frame = frame._replace(plus=0)
    if size >= 0:
        frame = frame._replace(function_size=None)
    if name is not None:
        frame = frame._replace(symbol=_ANY_NAME)
    return Reading(frame, address, plus, size, name)


def _place(value: int | None, row: Sequence[int]) -> int:
    return row.index(value) if value and value in row else -1
