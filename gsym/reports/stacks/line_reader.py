"""The reader of lines: what each one is, and its frames."""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice

from gsym.memory.stack_parts import NO_MODULE, StackFrame
from gsym.patterns import regex
from gsym.reports.stacks import evidence
from gsym.reports.stacks.placed_images import PlacedImages, hex_number
from gsym.reports.stacks.prefixes import text_of
from gsym.reports.stacks.repeated_lines import RepeatedLines
from gsym.reports.stacks.shapes import Shapes
from gsym.reports.stacks.tokens import BREAKS, pieces

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gsym.memory.loaded import Loaded
    from gsym.memory.stack_parts import Base, LinePattern, StackBuilder, StackModule
    from gsym.reports.stacks.line_forms import FrameForm
    from gsym.reports.stacks.repeated_lines import Meaning
    from gsym.reports.stacks.shapes import Cut, Shape

    _Known = tuple[LinePattern, Sequence[int], int]
    """What a line is: its frames, its numbers, and the number of its frame."""

_BLOCK = 4_096  # lines whose shapes are found at once
_BLOCK_SIZE = 1 << 20  # characters of them, unless one line has more
_FEW_FRAMES = 2  # of a stack
_MOST_TURNS = 8  # in which lines of a block are read that are alike

# A start of a module ends so; a range has two of them.
_MAY_PLACE = regex(r"000(?![0-9a-zA-Z])(?<=[0-9a-fA-F]{6})")
_ID = regex(r"0*[0-9a-fA-F]{1,3}")  # in a list: of a process
_NAME_IS = regex(r" name:\s*")
_MOST_NAMED = 64  # modules that lines of one shape name
_OF_PATHS = frozenset("/\\.")
_new = tuple.__new__


class LineReader:
    """Reads the lines of a report.

    Args:
        stack: Where the parts go.
        chosen: The module of addresses without one; None: such lines are text.
        process: What is loaded in the process of the report, beside its own images.
        is_log: Whether the text is a log, and not a report.

    Attributes:
        images: What is loaded where.
    """

    def __init__(
        self,
        stack: StackBuilder,
        chosen: StackModule | None = None,
        process: Loaded | None = None,
        *,
        is_log: bool = False,
    ) -> None:
        takes_bare = chosen is not None or process is not None
        self._shapes = Shapes(stack.limits.line, takes_bare=takes_bare)
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
        self._has_stack = False  # that a form describes
        self._are_words: dict[int, bool] = {}  # by module

    def place_images(self, lines: Sequence[str], maps: Sequence[str]) -> Sequence[str]:
        """Place all modules of a report.

        Args:
            lines: Its lines.
            maps: Others that only say what is loaded.

        Returns:
            The lines, cut where a program wrote several as one.
        """
        for _, block in self._blocks(maps):
            for line, shape in block:
                if not self.images.add_described(line, shape):
                    self.images.add(evidence.Line(line))
        several = pieces(lines)
        self._read_images(several)
        return several

    def read(self, lines: Sequence[str], maps: Sequence[str] = ()) -> None:
        """Read all lines of a report, and of others that only say what is loaded."""
        several = self.place_images(lines, maps)
        for start, block in self._blocks(several):
            self._read_block(several, start, block)

    def _read_block(
        self, lines: Sequence[str], start: int, block: Sequence[tuple[str, Shape]]
    ) -> None:
        """Read a block of lines, those that are alike together."""
        images, stack = self._only_images, self._stack
        places: dict[Shape, list[int]] = {}
        for at, (_, shape) in enumerate(block):
            if start + at not in images:
                places.setdefault(shape, []).append(at)
        left = {*places}  # shapes whose lines can be read together
        known: list[_Known | None] = [None] * (len(block) + 1)
        texts: set[int] = set()  # lines that are known to have no frame
        placed, turns, at = self.images.count, _MOST_TURNS, 0
        while at < len(block):
            line, shape = block[at]
            if placed != self.images.count and turns > 0:
                placed, turns = self.images.count, turns - 1
                known, texts = [None] * len(known), set()
                left = {*places} if turns > 0 else set()
            if shape.is_alike and shape in left and start + at not in images:
                left.remove(shape)
                asked = places[shape][bisect_left(places[shape], at) :]
                found = self._meanings([block[each][0] for each in asked], shape)
                several = [*zip(asked, found, strict=False)]
                for each, meaning in several:
                    known[each] = meaning or None
                texts.update(each for each, meaning in several if meaning == ())
            end = known.index(None, at)
            is_first = shape.is_by_position and not self._position
            if end > at and not (is_first or stack.is_over):
                self._add_alike(block[at:end], [*filter(None, known[at:end])])
                at = end
                continue
            if at in texts and not stack.is_over:
                self._before = ((line, shape), *self._before[:3])
                self._add_text(line, shape)
            else:
                self._add_other(line, shape, lines, start + at)
            at += 1

    def _add_text(self, line: str, shape: Shape) -> None:
        """Add a line without frames, which ends a stack unless it is of one."""
        self._stack.add_text(line)
        if not shape.is_between:
            self._position = 0

    def _add_other(
        self, line: str, shape: Shape, lines: Sequence[str], at: int
    ) -> None:
        """Add a line that may be anything."""
        stack = self._stack
        region = self._around.region if self.images.loaded.regions else None
        if at in self._only_images or not (
            shape.is_interesting
            or (
                region
                and shape.has_bare
                and any(map(region, evidence.bare_numbers(line)))
            )
        ):
            self._position = 0
            stack.add_text(line)
        elif line in BREAKS or stack.is_over or shape.is_answered:
            stack.add_text(line)
        elif len(line) > stack.limits.line:
            stack.add_text(line)
            limit = stack.limits.line
            stack.add_note(f"Lines of more than {limit} characters are not read.")
        else:
            self._add_line(line, shape, lines, at)

    def _blocks(
        self, lines: Sequence[str]
    ) -> Iterator[tuple[int, Sequence[tuple[str, Shape]]]]:
        """Lines with their shapes, and the index of the first of each block."""
        at = 0
        while at < len(lines):
            block = lines[at : at + _BLOCK]
            while len(block) > 1 and sum(map(len, block)) > _BLOCK_SIZE:
                block = block[: len(block) // 2]
            self._block = self._shapes.of(block)
            self._block_end = at + len(block)
            yield at, [*zip(block, self._block, strict=True)]
            at += len(block)

    def _read_images(self, lines: Sequence[str]) -> None:
        """Place all modules; remember the lines that do nothing else."""
        most = self._stack.limits.line
        found = self._only_images = set[int]()
        described = 0
        others: list[tuple[int, evidence.Line]] = []
        for start, block in self._blocks(lines):
            for at, (line, shape) in enumerate(block, start):
                described += bool(shape.frames and shape.is_interesting)
                if len(line) > most:
                    continue
                if shape.images and self.images.add_described(shape.text(line), shape):
                    found.add(at)
                elif "000" in line and _MAY_PLACE.search(line):
                    others.append((at, evidence.Line(shape.text(line), shape.first)))
        self._has_stack = described >= _FEW_FRAMES
        self.images.loaded.close()
        # What a form describes comes first, then lines of nothing else: they have ids.
        images = [(at, each) for at, each in others if each.is_image]
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
            found, values = self._meaning(text, shape, lines, at)
            if found is not None and not self._is_elsewhere(found, values, text):
                own = [line], [found.pattern], [values], [self._position]
                self._stack.add_lines(*own)
                self._position += 1
                return
        self._add_text(line, shape)

    def _meanings(
        self, lines: Sequence[str], shape: Shape
    ) -> Iterator[_Known | tuple[()] | None]:
        """The meanings of lines of a shape that `is_alike`.

        () for text, None for a line that may be more.
        """
        if shape.usual is not None:
            yield from self._usual_meanings(lines, *shape.usual)
            return
        texts = [*map(shape.text, lines)]
        several = self._repeated.meanings(texts, shape)
        for text, meaning in zip(texts, several, strict=False):
            if meaning is None:
                yield None
                continue
            found, values = meaning
            is_text = found is None or self._is_elsewhere(found, values, text)
            yield () if found is None or is_text else (found.pattern, values, -1)

    def _usual_meanings(
        self, lines: Sequence[str], cut: Cut, offset: slice
    ) -> Iterable[_Known | None]:
        """The meanings of lines of a usual form; None where no module is known."""
        ordinals, symbols = [-1] * len(lines), [""] * len(lines)
        if cut.number is not None:
            ordinals = [int(each[cut.number]) for each in lines]
        if cut.symbol is not None:
            symbols = [each[cut.symbol] for each in lines]
        returns = [bool(each) for each in ordinals]
        if cut.is_return is not None:
            returns = [cut.is_return] * len(lines)
        values = [(int(each[offset], 16),) for each in lines]
        kinds = [*zip(map(cut.module_of, lines), symbols, returns, strict=True)]
        patterns = {kind: self._usual_pattern(cut, *kind) for kind in {*kinds}}
        several = zip(map(patterns.__getitem__, kinds), values, ordinals, strict=True)
        return [
            None if pattern is None else (pattern, own, ordinal)
            for pattern, own, ordinal in several
        ]

    def _usual_pattern(
        self, cut: Cut, named: object, symbol: str, is_return: bool
    ) -> LinePattern | None:
        """The frame of a line of a usual form; None if the module is not known."""
        number, form = cut.modules.get(named), cut.form
        if number is None:
            return None
        base = form.base
        frame = StackFrame(
            "", number, 0, base, is_return, symbol, may_be_exact=is_return
        )
        if self._is_weak(frame, form):
            return None
        return self._stack.pattern(frame, form.form, (cut.start, cut.end))

    def _add_alike(
        self, block: Sequence[tuple[str, Shape]], known: Sequence[_Known]
    ) -> None:
        """Add lines that follow one another, and of which all is known."""
        patterns, values, ordinals = zip(*known, strict=True)
        own = range(self._position, self._position + len(known))
        places = [
            at if each < 0 else each for at, each in zip(own, ordinals, strict=True)
        ]
        texts = [line for line, _ in block]
        self._stack.add_lines(texts, patterns, values, places)
        self._position += len(known)
        before = (each for each in reversed(block) if each[1].usual is None)
        self._before = (*islice(before, 4), *self._before)[:4]

    def _is_elsewhere(self, found: Meaning, values: Sequence[int], text: str) -> bool:
        """Whether a line is not in a stack that a tool has written.

        Its addresses are of registers and memory.
        """
        if not self._has_stack or self._process or self._is_in_stack(found, text):
            return False
        frames = (readings[0].of(values) for _, _, readings in found.found)
        several = (each for each in frames if each.is_counter)
        self._stack.counters.update((each.module, each.address) for each in several)
        return True

    def _is_in_stack(self, found: Meaning, text: str) -> bool:
        """Whether a line has a frame's number, or begins with the address of one."""
        start, end, readings = found.found[0]
        number = readings[0].frame.module
        is_first = number != NO_MODULE and not text[:start].strip()
        is_first = is_first and not _ID.fullmatch(text, start, end)
        return any(several[0].frame.ordinal >= 0 for _, _, several in found.found) or (
            is_first and self._stack.module(number).name in text[end:]
        )

    def _add_frames(
        self, line: str, shape: Shape, lines: Sequence[str], at: int
    ) -> bool:
        """Whether the line has frames of a form."""
        plain = shape.plain(line)
        for form, cuts in shape.frames:
            found: list[tuple[StackFrame, Cut]] = []
            for cut in cuts:
                frame = self._frame(line, plain, cut)
                if frame is not None:
                    found.append((frame, cut))
            if not found:
                continue
            if len(found) == 1 and self._is_weak(found[0][0], form):
                ((frame, cut),) = found
                found = [(self._with_others(frame, line, shape, lines, at), cut)]
            else:
                shape.is_alike = shape.usual is not None
            end = 0
            if form.whole:
                self._position = 0
            for frame, cut in found:
                number = self._position if cut.number is None else frame.ordinal
                self._stack.add_text(line[end : cut.start])
                self._stack.add_frame(frame, form.form, number)
                self._position += 1
                end = cut.end
            self._stack.add_text(line[end:])
            return True
        return False

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
        is_word = self._are_words.get(number)
        if is_word is None:
            module = self._stack.module(number)
            is_word = not (module.has_id or set(module.path) & _OF_PATHS)
            self._are_words[number] = is_word
        return is_word

    def _with_others(
        self,
        frame: StackFrame,
        line: str,
        shape: Shape,
        lines: Sequence[str],
        at: int,
    ) -> StackFrame:
        """A frame with what its line may mean otherwise."""
        found, values = self._meaning(shape.text(line), shape, lines, at)
        options = [
            each.of(values)._replace(
                is_guess=True, is_return=False, may_be_exact=False, may_return=False
            )
            for _, _, readings in (() if found is None else found.found)
            for each in readings
        ]
        if not options:
            return frame
        return frame._replace(others=tuple(options), may_return=True, may_be_exact=True)

    @property
    def _is_placed(self) -> bool:
        """Whether a number may be an address without a module beside it."""
        return bool(self.images.loaded.regions or self._process or self._chosen)

    def _meaning(
        self, text: str, shape: Shape, lines: Sequence[str], at: int
    ) -> tuple[Meaning | None, Sequence[int]]:
        """The meaning of a line, if it may have frames, and its numbers."""
        line, before = evidence.Line(text, shape.first), self._before
        self._before = ((lines[at], shape), *before[:3])

        def usual() -> Iterator[int]:
            several = [evidence.Line(own.text(it), own.first) for it, own in before]
            return evidence.modules_nearby(self._stack, several, self._after(lines, at))

        if not self._is_placed and line.is_numbers:
            after = self._after(lines, at)
            is_near = after is None or after.is_numbers
            if is_near and all(own.first.is_numbers for _, own in before):
                return None, ()
        if line.is_plain(self._around) or not shape.first.parts:
            return None, ()
        found = self._repeated.meaning(text, shape, usual)
        shape.is_alike = shape.may_be_alike()
        return found

    def _after(self, lines: Sequence[str], at: int) -> evidence.Line | None:
        """The line after another."""
        for number in range(at + 1, min(at + 3, len(lines))):
            if lines[number] not in BREAKS:
                if number < self._block_end:
                    shape = self._block[number - self._block_end]
                    return evidence.Line(shape.text(lines[number]), shape.first)
                return evidence.Line(text_of(lines[number]))
        return None

    def _frame(self, line: str, plain: str, cut: Cut) -> StackFrame | None:
        """The frame that a line has; None if its module cannot be told."""
        form = cut.form
        if cut.reason is not None:
            self._add_reason(plain[cut.reason])
        ordinal = self._position if cut.number is None else int(plain[cut.number])
        is_return = cut.is_return
        if is_return is None:
            is_return = ordinal > 0
        symbol = "" if cut.symbol is None else plain[cut.symbol]
        plus = None if cut.plus is None else _plus(plain[cut.plus])
        named = self._named(plain, cut)
        place: tuple[int, int, Base] | None = None
        if cut.offset is not None and named is not None:
            place = named, int(plain[cut.offset], 16), form.base
        elif cut.address is not None and cut.offset is None:
            address = hex_number(plain[cut.address])
            place = self._placed(address, is_return, form.base, named)
            if place is None and symbol:  # without a name either, it may be any number
                place = NO_MODULE, address, form.base
        elif named is not None and symbol and plus is not None:
            place = named, 0, "symbol"
        elif symbol:
            place = NO_MODULE, 0, form.base
        if place is None:
            return None
        number, address, base = place
        size = None if cut.size is None else hex_number(plain[cut.size]) or None
        stack = self._stack
        may_return = form.returns == "none" or (
            form.has_heading and not stack.has_heading
        )
        # fmt: off
        return _new(StackFrame, (  # there are many, so in the order of the fields
            line[cut.start : cut.end], number, address, base, is_return, symbol, plus,
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
        if cut.address is None or cut.offset is not None:
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


def _plus(digits: str) -> int:
    return int(digits, 16) if digits.startswith(("0x", "0X")) else int(digits)
