"""The reader of lines: what each one is, and its frames."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, islice

from gsym.lazy import regex
from gsym.memory.stack_parts import NO_MODULE, StackFrame
from gsym.reports.stacks import evidence
from gsym.reports.stacks.placed_images import PlacedImages, hex_number
from gsym.reports.stacks.prefixes import text_of
from gsym.reports.stacks.repeated_lines import RepeatedLines, reading
from gsym.reports.stacks.shapes import Shapes
from gsym.reports.stacks.tokens import BREAKS, pieces

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gsym.memory.loaded import Loaded
    from gsym.memory.stack_parts import (
        Base,
        LinePattern,
        Reading,
        StackBuilder,
        StackModule,
    )
    from gsym.reports.stacks.line_forms import FrameForm
    from gsym.reports.stacks.repeated_lines import Meaning, Spans
    from gsym.reports.stacks.shapes import Cut, Shape

_BLOCK = 16_384  # lines whose shapes are found at once
_BLOCK_SIZE = 1 << 20  # characters of them, unless one line has more
_FEW_FRAMES = 2  # of a stack
_MOST_AFTER = 2  # lines after another that may name its module
_MOST_TURNS = 8  # in which lines of a block are read that are alike

# A start of a module ends so; a range has two of them.
_MAY_PLACE = regex(r"000(?![0-9a-zA-Z])(?<=[0-9a-fA-F]{6})")
_ID = regex(r"0*[0-9a-fA-F]{1,3}")  # in a list: of a process
_NAME_IS = regex(r" name:\s*")
_MOST_NAMED = 64  # modules that lines of one shape name
_new = tuple.__new__


class LineReader:
    """Reads the lines of a report.

    Args:
        stack: Where the parts go.
        chosen: The module of addresses without one; None: such lines are text.
        process: What is loaded in the process of the report, beside its own images.
        is_log: Whether the text is a log, and not a report.
        shapes: Of lines that another reader has read.

    Attributes:
        images: What is loaded where.
        shapes: Those of its lines.
    """

    def __init__(
        self,
        stack: StackBuilder,
        chosen: StackModule | None = None,
        process: Loaded | None = None,
        *,
        is_log: bool = False,
        shapes: Shapes | None = None,
    ) -> None:
        takes_bare = chosen is not None or process is not None
        self.shapes: Shapes = shapes or Shapes(stack.limits.line, takes_bare=takes_bare)
        self._stack = stack
        self._chosen, self._process = chosen, process
        self.images: PlacedImages = PlacedImages(stack, process)
        self._position = 0  # frames since the last line without one
        self._around = evidence.Surroundings(
            stack, self.images.loaded, self.images.find, chosen, is_log, {}
        )
        self._repeated = RepeatedLines(self._around, self.images)
        self._before: tuple[tuple[str, Shape], ...] = ()  # lines, the last one first
        self._block: Sequence[Shape] = ()  # of lines up to
        self._block_end = 0
        self._block_names: bool | None = None  # whether a line of it may name a module
        self._known: list[Any] = []  # pattern, numbers and ordinal of lines, or None
        self._texts: set[int] = set()  # those without a frame
        self._has_stack = False  # that a form describes

    def place_images(self, lines: Sequence[str], maps: Sequence[str]) -> Sequence[str]:
        """Place all modules of a report.

        Args:
            lines: Its lines.
            maps: Others that only say what is loaded.

        Returns:
            The lines, cut where a program wrote several as one.
        """
        for _, block, shapes in self._blocks(maps):
            for line, shape in zip(block, shapes, strict=True):
                if not self.images.add_described(line, shape):
                    self.images.add(evidence.Line(line))
        cut = pieces(lines)
        self._read_images(cut)
        return cut

    def read(self, lines: Sequence[str], maps: Sequence[str] = ()) -> None:
        """Read all lines of a report, and of others that only say what is loaded."""
        cut = self.place_images(lines, maps)
        for block in self._blocks(cut):
            self._read_block(cut, *block)

    def _read_block(
        self,
        lines: Sequence[str],
        start: int,
        block: Sequence[str],
        shapes: Sequence[Shape],
    ) -> None:
        """Read a block of lines, those that are alike together."""
        images, stack = self._only_images, self._stack
        places: dict[Shape, list[int]] = {each: [] for each in shapes}
        for at, shape in enumerate(shapes, start):
            if at not in images:
                places[shape].append(at - start)
        left: set[Shape] = set()  # whose lines can be read together
        placed, turns, at = -1, _MOST_TURNS + 1, 0
        while at < len(block):
            line, shape = block[at], shapes[at]
            if placed != self.images.count and turns > 0:
                placed, turns = self.images.count, turns - 1
                self._known, self._texts = [None] * (len(block) + 1), set()
                left = {*places} if turns > 0 else set()
            if shape.is_alike and shape in left and start + at not in images:
                left.remove(shape)
                indexes = places[shape]
                self._find(block, shape, indexes[bisect_left(indexes, at) :])
            end = self._known.index(None, at)
            is_numbered = end > at and self._known[at][2] >= 0
            is_first = not (self._position or is_numbered) and shape.is_by_position
            if end > at and not (is_first or stack.is_over):
                run = slice(at, end)
                columns = zip(*self._known[run], strict=True)
                self._add_alike(block[run], shapes[run], *columns)
                at = end
                continue
            if at in self._texts and not stack.is_over:
                self._before = ((line, shape), *self._before[:3])
                self._add_text(line, shape)
            else:
                self._add_other(line, shape, lines, start + at)
            at += 1

    def _alone(
        self, block: Sequence[str], shape: Shape, asked: Sequence[int]
    ) -> Sequence[int]:
        """Lines of a block that may have frames; none if others may name a module."""
        if shape.numbers.has_sure:
            return asked
        if self._block_names is None:
            kinds = {*self._block, *(each for _, each in self._before)}
            self._block_names = any(
                each.first.says_module or each.first.only_module for each in kinds
            )
        if self._block_names:
            return ()
        pairs = ((at, shape.line(block[at])) for at in asked)
        last = len(block) - _MOST_AFTER
        return [
            at for at, line in pairs if at < last and not line.is_plain(self._around)
        ]

    def _add_text(self, line: str, shape: Shape) -> None:
        """Add a line without frames, which ends a stack unless it is of one."""
        self._stack.add_text(line)
        if self._position and not shape.is_between:
            self._position = 0

    def _add_other(
        self, line: str, shape: Shape, lines: Sequence[str], at: int
    ) -> None:
        """Add a line that may be anything."""
        stack = self._stack
        if at in self._only_images or not (
            shape.is_interesting
            or (shape.has_bare and not shape.line(line).is_plain(self._around))
        ):
            self._position = 0
            stack.add_text(line)
        elif line in BREAKS or stack.is_over or evidence.IS_INLINED.search(line):
            stack.add_text(line)
        elif len(line) > stack.limits.line:
            stack.add_text(line)
            limit = stack.limits.line
            stack.add_note(f"Lines of more than {limit} characters are not read.")
        else:
            self._add_line(line, shape, lines, at)

    def _blocks(
        self, lines: Sequence[str]
    ) -> Iterator[tuple[int, Sequence[str], Sequence[Shape]]]:
        """Index of the first line of each block, its lines and their shapes."""
        at = 0
        while at < len(lines):
            block = lines[at : at + _BLOCK]
            while len(block) > 1 and sum(map(len, block)) > _BLOCK_SIZE:
                block = block[: len(block) // 2]
            self._block = self.shapes.of(block)
            self._block_end, self._block_names = at + len(block), None
            yield at, block, self._block
            at += len(block)

    def _read_images(self, lines: Sequence[str]) -> None:
        """Place all modules; remember the lines that do nothing else."""
        found = self._only_images = set[int]()
        described = 0
        others: list[tuple[int, evidence.Line]] = []
        for start, block, shapes in self._blocks(lines):
            kinds = {*shapes}
            if described < _FEW_FRAMES:
                frames = {each for each in kinds if each.frames and each.is_interesting}
                described += sum(each in frames for each in shapes)
            asked = _may_place(block)
            if any(each.images for each in kinds):
                asked.update(at for at, each in enumerate(shapes) if each.images)
            for at in sorted(asked):
                line, shape = block[at], shapes[at]
                if len(line) > self._stack.limits.line:
                    continue
                if shape.images and self.images.add_described(shape.text(line), shape):
                    found.add(start + at)
                elif _MAY_PLACE.search(line) and self.images.may_add(shape):
                    others.append((start + at, shape.line(line)))
        self._has_stack = described >= _FEW_FRAMES
        self.images.loaded.close()
        # What a form describes comes first, then lines of nothing else: they have ids.
        images = [pair for pair in others if pair[1].is_image and any(pair[1].images())]
        found.update(at for at, _ in images)
        for _, placing in (*images, *others):
            self.images.add(placing)

    def _add_line(self, line: str, shape: Shape, lines: Sequence[str], at: int) -> None:
        if self._add_frames(line, shape, lines, at):
            return
        text = shape.text(line)
        is_between = self._position and shape.is_between
        is_heading = not is_between and self._add_heading(text, shape)
        if not is_heading:
            found, values = self._meaning(shape, lines, at)
            if found is not None and not self._is_elsewhere(found, values, text):
                columns = [line], [found.pattern], [values], [self._position]
                self._stack.add_lines(*columns)
                self._position += 1
                return
        self._add_text(line, shape)

    def _find(self, block: Sequence[str], shape: Shape, asked: Sequence[int]) -> None:
        """Find what lines of a shape are that `is_alike`, unless others decide."""
        if not shape.frames:
            for at, found, row in self._meanings(block, shape, asked):
                if found and not self._is_elsewhere(found, row, shape.text(block[at])):
                    self._known[at] = found.pattern, row, -1
                else:
                    self._texts.add(at)
        else:
            for (_, cuts), spans in zip(shape.frames, shape.spans, strict=False):
                if asked:
                    asked = self._find_formed(block, shape, asked, spans, cuts[0])

    def _find_formed(
        self,
        block: Sequence[str],
        shape: Shape,
        asked: Sequence[int],
        spans: Spans,
        cut: Cut,
    ) -> Sequence[int]:
        """Find what lines are that a form describes; return those of later forms."""
        lines = [block[at] for at in asked]
        columns = self._repeated.columns(lines, shape, spans)
        rows, column = columns.rows(), cut.ordinal_column
        patterns: dict[int, LinePattern] = {}
        weak: dict[int, tuple[Cut, Reading]] = {}  # what may be of another tool
        later: set[int] = set()
        for first, kind in columns.firsts():
            for frame, found in self._formed(lines[first], shape, 1):
                bare = frame._replace(text="", ordinal=-1)
                name = None if shape.has_colours else cut.name
                sure = reading(bare, rows[first], name)
                if found is not cut:
                    later.add(kind)
                elif sure.frame.address or sure.frame.plus or sure.frame.function_size:
                    continue
                elif self._is_weak(frame, cut.form):
                    weak[kind] = cut, sure
                else:
                    patterns[kind] = self._pattern(cut, sure)
        others: dict[int, tuple[Cut, Reading, Sequence[int]]] = {}
        for at, kind, row in zip(asked, columns.kinds, rows, strict=True):
            if kind in patterns:
                ordinal = row[column] if column >= 0 else -1
                self._known[at] = patterns[kind], row, ordinal
            elif kind in weak:
                others[at] = *weak[kind], row
        if others and shape.may_have_others(self._chosen is not None):
            self._find_others(block, shape, others)
        of_kinds = zip(asked, columns.kinds, strict=True)
        return [at for at, kind in of_kinds if kind in later]

    def _find_others(
        self,
        block: Sequence[str],
        shape: Shape,
        others: Mapping[int, tuple[Cut, Reading, Sequence[int]]],
    ) -> None:
        """Find what lines of a form may mean otherwise."""
        patterns: dict[object, LinePattern] = {}
        for at, other, more in self._meanings(block, shape, [*others]):
            cut, sure, row = others[at]
            key = id(sure), id(other)
            if key not in patterns:
                patterns[key] = self._pattern(cut, sure, other, len(row))
            ordinal = row[cut.ordinal_column] if cut.ordinal_column >= 0 else -1
            self._known[at] = patterns[key], (*row, *more), ordinal

    def _pattern(
        self, cut: Cut, sure: Reading, other: Meaning | tuple[()] = (), before: int = 0
    ) -> LinePattern:
        """The pattern of lines with a frame of a form, and what else they may mean.

        The numbers of that are after others.
        """
        options: list[Reading] = []
        if other:
            frame = sure.frame._replace(may_return=True, may_be_exact=True)
            sure = sure._replace(frame=frame)
            found = (each for _, _, readings in other.found for each in readings)
            options = [each.as_other(before) for each in found]
        span = cut.start, cut.end
        return self._stack.pattern(cut.form.form, span, (sure, *options))

    def _meanings(
        self, block: Sequence[str], shape: Shape, asked: Sequence[int]
    ) -> list[tuple[int, Meaning | tuple[()], Sequence[int]]]:
        """Meanings of lines by evidence, with their indexes and their numbers."""
        asked = self._alone(block, shape, asked)
        found, rows = self._repeated.meanings([block[at] for at in asked], shape)
        columns = zip(asked, found, rows, strict=True)
        return [(at, each, row) for at, each, row in columns if each is not None]

    def _add_alike(
        self,
        block: Sequence[str],
        shapes: Sequence[Shape],
        patterns: Sequence[LinePattern],
        rows: Sequence[Sequence[int]],
        ordinals: Sequence[int],
    ) -> None:
        """Add lines that follow one another, and of which all is known."""
        if min(ordinals) < 0:
            numbered = enumerate(ordinals, self._position)
            ordinals = [at if each < 0 else each for at, each in numbered]
        self._stack.add_lines(block, patterns, rows, ordinals)
        self._position += len(block)
        pairs = zip(reversed(block), reversed(shapes), strict=True)
        certain = (each.is_certain for each in reversed(patterns))
        before = (each for each, sure in zip(pairs, certain, strict=True) if not sure)
        self._before = (*islice(before, 4), *self._before)[:4]

    def _is_elsewhere(self, found: Meaning, values: Sequence[int], text: str) -> bool:
        """Whether a line is not in a stack that a tool has written.

        Its addresses are of registers and memory.
        """
        if not self._has_stack or self._process or self._is_in_stack(found, text):
            return False
        frames = (readings[0].of(values) for _, _, readings in found.found)
        counters = (each for each in frames if each.is_counter)
        self._stack.counters.update((each.module, each.address) for each in counters)
        return True

    def _is_in_stack(self, found: Meaning, text: str) -> bool:
        """Whether a line has a frame's number, or begins with the address of one."""
        start, end, readings = found.found[0]
        number = readings[0].frame.module
        is_first = number != NO_MODULE and not text[:start].strip()
        is_first = is_first and not _ID.fullmatch(text, start, end)
        frames = [options[0].frame for _, _, options in found.found]
        # What registers and memory point to has its address and its module beside it.
        are_named = (each.base == "symbol" and not each.is_guess for each in frames)
        is_known = any(each.ordinal >= 0 for each in frames) or all(are_named)
        return is_known or (is_first and self._stack.module(number).name in text[end:])

    def _add_frames(
        self, line: str, shape: Shape, lines: Sequence[str], at: int
    ) -> bool:
        """Whether the line has frames of a form."""
        found = self._formed(line, shape, self._position)
        if not found:
            return False
        form = found[0][1].form
        if len(found) == 1 and self._is_weak(found[0][0], form):
            ((frame, cut),) = found
            found = [(self._with_others(frame, shape, lines, at), cut)]
        shape.is_alike = bool(shape.spans)
        end = 0
        if form.whole:
            self._position = 0
        for frame, cut in found:
            number = frame.ordinal if "number" in cut.places else self._position
            self._stack.add_text(line[end : cut.start])
            self._stack.add_frame(frame, form.form, number)
            self._position += 1
            end = cut.end
        self._stack.add_text(line[end:])
        return True

    def _formed(
        self, line: str, shape: Shape, position: int
    ) -> list[tuple[StackFrame, Cut]]:
        """The frames of a line, of the first form that it has."""
        plain = shape.plain(line)
        for _, cuts in shape.frames:
            frames = ((self._frame(line, plain, cut, position), cut) for cut in cuts)
            if found := [(frame, cut) for frame, cut in frames if frame is not None]:
                return found
        return []

    def _is_weak(self, frame: StackFrame, form: FrameForm) -> bool:
        """Whether the line may be of another tool, with the same shape."""
        number = frame.module
        if number == NO_MODULE:
            return True
        if frame.base == "offset":
            return False
        if form.module and self._stack.module(number).path == form.module:
            return True
        return self.is_word(number) and frame.base != "link"

    def is_word(self, number: int) -> bool:
        """Whether a module is only known by a word, which may be anything."""
        module = self._stack.module(number)
        return not module.has_id and evidence.OF_PATHS.isdisjoint(module.path)

    def _with_others(
        self, frame: StackFrame, shape: Shape, lines: Sequence[str], at: int
    ) -> StackFrame:
        """A frame with what its line may mean otherwise."""
        found, values = self._meaning(shape, lines, at)
        options = [
            each.as_other().of(values, shape.plain(lines[at]))
            for _, _, readings in (() if found is None else found.found)
            for each in readings
        ]
        if not options:
            return frame
        return frame._replace(others=tuple(options), may_return=True, may_be_exact=True)

    def _meaning(
        self, shape: Shape, lines: Sequence[str], at: int
    ) -> tuple[Meaning | None, Sequence[int]]:
        """The meaning of a line, if it may have frames, and its numbers."""
        line, before = shape.line(lines[at]), self._before
        self._before = ((lines[at], shape), *before[:3])

        def usual() -> Iterator[int]:
            near = [its_shape.line(it) for it, its_shape in before]
            return evidence.modules_nearby(self._stack, near, self._after(lines, at))

        is_placed = self.images.loaded.regions or self._process or self._chosen
        if line.is_numbers and not is_placed:
            after = self._after(lines, at)
            is_near = after is None or after.is_numbers
            if is_near and all(its_shape.first.is_numbers for _, its_shape in before):
                return None, ()
        if line.is_plain(self._around) or not shape.has_numbers:
            return None, ()
        found = self._repeated.meaning(lines[at], shape, usual)
        shape.is_alike = shape.may_be_alike()
        return found

    def _after(self, lines: Sequence[str], at: int) -> evidence.Line | None:
        """The line after another."""
        for number in range(at + 1, min(at + 1 + _MOST_AFTER, len(lines))):
            if lines[number] not in BREAKS:
                if number < self._block_end:
                    shape = self._block[number - self._block_end]
                    return shape.line(lines[number])
                return evidence.Line(text_of(lines[number]))
        return None

    def _frame(
        self, line: str, plain: str, cut: Cut, position: int
    ) -> StackFrame | None:
        """The frame that a line has; None if its module cannot be told."""
        form, places = cut.form, cut.places
        self._add_reason(cut.text("reason", plain))
        number = cut.text("number", plain)
        ordinal = int(number, form.radix) if number else position
        is_return = cut.is_return
        if is_return is None:
            is_return = ordinal > 0
        symbol = cut.text("symbol", plain)
        digits = cut.text("plus", plain) or ("0" if "plus" in places else "")
        plus = int(digits, 16 if digits[1:2] in {"x", "X"} else 10) if digits else None
        named = self._named(plain, cut)
        place: tuple[int, int, Base] | None = None
        if "offset" in places and named is not None:
            place = named, int(plain[places["offset"]], 16), form.base
        elif "address" in places and "offset" not in places:
            address = hex_number(plain[places["address"]])
            place = self._placed(address, is_return, form.base, named)
            if place is None and symbol:  # without a name either, it may be any number
                place = NO_MODULE, address, form.base
        elif named is not None and symbol and plus is not None:
            place = named, 0, "symbol"
        elif symbol:
            place = NO_MODULE, 0, form.base
        if place is None:
            return None
        module, address, base = place
        size = hex_number(cut.text("function_size", plain)) or None
        stack = self._stack
        may_return = form.returns == "none" or (
            form.has_heading and not stack.has_heading
        )
        # fmt: off
        return _new(StackFrame, (  # there are many, so in the order of the fields
            line[cut.start : cut.end], module, address, base, is_return, symbol, plus,
            "", is_return, may_return, size, (), False, False, "", -1, ordinal, -1, 0,
        ))
        # fmt: on

    def _named(self, plain: str, cut: Cut) -> int | None:
        """The number of the module that a line names, or that was chosen for it."""
        key = cut.module_of(plain)
        if key in cut.modules:
            return cut.modules[key]
        groups = {name: plain[place] for name, place in cut.named.items()}
        module = self.images.module_of(groups, cut.form.module)
        if "address" not in cut.places or "offset" in cut.places:
            module = module or self._chosen
        if len(cut.modules) >= _MOST_NAMED:
            cut.modules.clear()
        found = None if module is None else self._stack.number(module)
        cut.modules[key] = found
        return found

    def _placed(
        self, address: int, is_return: bool, form_base: Base, named: int | None
    ) -> tuple[int, int, Base] | None:
        """The module, the address in it and its base for an address of the process."""
        module = self._stack.module(named) if named is not None and named >= 0 else None
        placed = self.images.find_for(address - is_return, module)
        if placed is not None:
            return placed.module, placed.address + is_return, placed.base
        if named is not None:
            # It is a link-time address unless the module was moved.
            base: Base = "file" if form_base == "file" else "link"
            return named, address, base
        if self._chosen is not None:
            return self._stack.number(self._chosen), address, "either"
        return None

    def _add_heading(self, line: str, shape: Shape) -> bool:
        """Whether the line is a heading."""
        for form in shape.headings:
            if found := form.pattern.search(line):
                groups = found.groupdict()
                if groups.get("name") is not None:
                    name = _NAME_IS.sub(": ", groups["name"].strip(" \t\r\n:"))
                    self._stack.begin(name, bool(groups.get("crashed")))
                self._add_reason(groups.get("reason"))
                return True
        return False

    def _add_reason(self, reason: str | None) -> None:
        if reason and not self._stack.reason:
            self._stack.reason = reason.strip()


def _may_place(lines: Sequence[str]) -> set[int]:
    """Indexes of lines that may have the start of a module."""
    found = [each.start() for each in _MAY_PLACE.finditer("".join(lines))]
    if not found:
        return set()
    ends = [*accumulate(map(len, lines))]
    return {bisect_right(ends, at) for at in found}
