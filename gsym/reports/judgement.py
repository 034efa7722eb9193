"""The choice among the readings of a line, by the modules that are at hand.

A reading is right where its module has a function at the address, where the function is
that which the line names, and where other readings of the line say the same. Lines that
only differ in their numbers are judged once for all of which the modules say the same.
"""

from __future__ import annotations

from itertools import chain, combinations
from operator import add, eq

from gsym.memory.stack_parts import AlikeLines, StackFrame, StackNumbers
from gsym.records import NamedTuple
from gsym.reports.link_addresses import AFTER, CALL, CODE, FUNCTION
from gsym.reports.report import line_after
from gsym.reports.stacks.evidence import NO_NUMBERS

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gsym.memory.stack_parts import FrameLines, LinePattern, Reading, StackHeading
    from gsym.reports.link_addresses import LinkAddresses
    from gsym.reports.report_work import ModuleOfReport

    _Chosen = Sequence[tuple[int, int, StackFrame, int, int]]
    _Row = tuple[str, str, str, int, int]
    """A frame: the text before it, its text, the text after it, kind and address."""
    _Kind = tuple[slice, slice, slice, int, int, int]
    """A kind of frames: places of these texts, the kind, places of its numbers."""

_NAMES_IT, _NAMES_OTHER = 4, -6
_IS_EXPLICIT, _AGREES, _IS_CALL = 2, 3, 1
_PLACES = 2 * (FUNCTION | AFTER | CODE | CALL)  # more than there are
_NEAR = 1  # bytes between an address and the one that a tool has adjusted
_new = tuple.__new__
_TEXT = -1  # the kind of what is no frame


class _Place(NamedTuple):
    """The place of a reading, by a module at hand."""

    at: int  # index of the reading among those of its frame
    module: str
    build: bytes | str  # the id of its file, or its name
    address: int  # link-time
    score: int

    @property
    def doubt(self) -> str:
        """Sentence about the frame that it may be, too."""
        return f"ambiguous: it may also be {self.module} at {self.address:#x}"

    def is_as(self, other: _Place) -> bool:
        """Whether both are the same place."""
        is_near = -_NEAR <= self[3] - other[3] <= _NEAR
        return is_near and self[2] == other[2]


class _Column(NamedTuple):
    """Answers of a module to a reading in all lines of a pattern.

    Attributes:
        frame: Index of the frame.
        place: The reading; its address and score are those of a line.
        addresses: The link-time addresses.
        scores: For each line the score, or None where the module has no function.
    """

    frame: int
    place: _Place
    addresses: Sequence[int | None]
    scores: Sequence[int | None]


class Frames:
    """The frames of a report as columns, and the texts around them.

    Attributes:
        befores: The text before each, since the one before it.
        texts: As of `StackFrame`, like the other columns.
        addresses: Likewise.
        headings: Likewise.
        stacks: Likewise.
        returns: As `StackFrame.is_return`, when it is judged.
        kinds: Indexes into *known*.
        known: All else that is known of frames.
        rest: The text after the last frame.
    """

    def __init__(self) -> None:
        self.befores: list[str] = []
        self.texts: list[str] = []
        self.addresses: list[int] = []
        self.headings: list[int] = []
        self.stacks: list[int] = []
        self.returns: list[bool] = []
        self.kinds: list[int] = []
        self.known: list[StackFrame] = []
        self.rest: str = ""
        self._texts: list[str] = []  # since the last frame

    def _taken(self) -> str:
        text = "".join(self._texts)
        self._texts.clear()
        return text

    def at(self, index: int) -> StackFrame:
        """A frame."""
        frame = self.known[self.kinds[index]]
        place = frame[1], self.addresses[index], frame[3], self.returns[index]
        stack = self.headings[index], self.stacks[index]
        return _new(StackFrame, (self.texts[index], *place, *frame[5:-2], *stack))

    def columns(self, asked: Iterable[int]) -> tuple[list[StackFrame], list[int]]:
        """The known facts of some frames, and their addresses."""
        known, kinds, addresses = self.known, self.kinds, self.addresses
        return [known[kinds[at]] for at in asked], [addresses[at] for at in asked]

    def line_before(self, at: int, known: tuple[int, str]) -> str:
        """The start of the line of a frame, given one before it and that of it."""
        begin = at
        while begin > known[0] and "\n" not in self.befores[begin]:
            begin -= 1
        line = known[1]
        for each in range(begin, at):
            line = line_after(line, self.befores[each] + self.texts[each])
        return line

    def kind(self, frame: StackFrame) -> int:
        """A new kind: that of a frame."""
        self.known.append(frame)
        return len(self.known) - 1

    def add_run(
        self,
        rows: Sequence[Sequence[_Row]],
        ordinals: Sequence[int],
        heading: int,
        numbers: StackNumbers,
    ) -> None:
        """Append the frames of lines that follow one another, and have one heading.

        Args:
            rows: The frames of each line, each with the texts around it.
            ordinals: The number of each line in the stack, each greater than the last.
            heading: That of all.
            numbers: Numbers the stacks.
        """
        every = [*chain.from_iterable(rows)]
        own = [each for each in every if each[3] != _TEXT]
        if not own:
            self._texts += chain.from_iterable(each[:2] for each in every)
            return
        befores, texts, afters, kinds, addresses = zip(*own, strict=True)
        if len(own) == len(every):
            self.befores += map(add, (self._taken(), *afters), befores)
            self._texts.append(afters[-1])
        else:
            for before, text, after, kind, _ in every:
                self._texts.append(before)
                if kind != _TEXT:
                    self.befores.append(self._taken())
                self._texts.append(text if kind == _TEXT else after)
            several = zip(rows, ordinals, strict=True)
            ordinals = [each for row, each in several if row[0][3] != _TEXT]
        stack = numbers.of(ordinals[0], heading)
        numbers.go_to(ordinals[-1])
        self.texts += texts
        self.addresses += addresses
        self.headings += [heading] * len(own)
        self.stacks += [stack] * len(own)
        self.kinds += kinds

    def end(self, text: str) -> None:
        """Take all texts that are left as the rest, and this one."""
        self.rest = self._taken() + text


def settled(
    lines: FrameLines,
    headings: Sequence[StackHeading],
    modules: Sequence[ModuleOfReport],
    alike: Mapping[LinePattern, AlikeLines],
) -> tuple[Frames, list[StackHeading]]:
    """The frames of a report, each with the reading that is right; its stacks.

    What no reading of a line explains is text.

    Args:
        lines: The lines of the report.
        headings: Its headings.
        modules: Its modules, opened.
        alike: The lines by their patterns.
    """
    frames, numbers = Frames(), StackNumbers(headings)
    judge = _Judge(modules, frames)
    rows = {pattern: judge.rows(each) for pattern, each in alike.items()}
    firsts, own, begin = lines.firsts(), lines.headings, 0
    ends = (
        at
        for at in range(1, len(firsts))
        if firsts[at] <= firsts[at - 1] or own[at] != own[at - 1]
    )
    for end in (*ends, len(firsts)):
        run = [next(rows[pattern]) for pattern in lines.patterns[begin:end]]
        if run:
            frames.add_run(run, firsts[begin:end], own[begin], numbers)
        begin = end
    frames.end(lines.rest)
    return frames, numbers.stacks


class _Judge:
    """Chooses among the readings of frames."""

    def __init__(self, modules: Sequence[ModuleOfReport], frames: Frames) -> None:
        self._modules, self._frames = modules, frames

    def rows(self, alike: AlikeLines) -> Iterator[Sequence[_Row]]:
        """For each line its frames, each with the texts around it."""
        kinds: dict[int, Sequence[_Kind]] = {}  # by the id of what is chosen
        chosen = [*self._chosen(alike)]
        for each in chosen:
            if id(each) not in kinds:
                kinds[id(each)] = [self._kind(*own) for own in each]
        alone = {  # as in most lines: one frame, with an address and no other number
            at: own[0] if len(own) == 1 and own[0][4] >= 0 > own[0][5] else None
            for at, own in kinds.items()
        }
        columns = alike.befores, alike.texts, alike.values, map(id, chosen)
        for before, text, own, at in zip(*columns, strict=True):
            kind = alone[at]
            if kind is None:
                yield [*self._row(before, text, own, kinds[at])]
                continue
            start, middle, stop, number, address, _ = kind
            place = number, own[address]
            yield [(before + text[start], text[middle], text[stop], *place)]

    def _kind(
        self, start: int, stop: int, frame: StackFrame, address: int, plus: int
    ) -> _Kind:
        around = slice(start), slice(start, stop), slice(stop, None)
        return *around, self._frames.kind(frame), address, plus

    def _row(
        self, before: str, text: str, values: Sequence[int], kinds: Sequence[_Kind]
    ) -> Iterator[_Row]:
        """The frames of a line; the text itself if it has none."""
        frames, end = self._frames, 0
        for at, (_, middle, last, kind, address, plus) in enumerate(kinds):
            frame = frames.known[kind]
            if plus >= 0:
                kind = frames.kind(frame._replace(plus=values[plus]))  # noqa: PLW2901
            own = values[address] if address >= 0 else frame.address
            after = text[last] if at == len(kinds) - 1 else ""
            yield before + text[end : middle.start], text[middle], after, kind, own
            before, end = "", middle.stop
        if not kinds:
            yield before, text, "", _TEXT, 0

    def _chosen(self, alike: AlikeLines) -> Iterable[_Chosen]:
        """For each line what its frames are; the rest is text."""
        pattern, count = alike.pattern, len(alike.texts)
        if pattern.is_certain:
            ((start, stop),), ((reading,),) = pattern.spans, pattern.readings
            return [[(start, stop, *reading)]] * count
        several = [each for own in pattern.readings for each in own]
        if any(each.frame.base == "symbol" for each in several) and count > 1:
            # The functions of this name differ. One line at a time: there are many.
            lines = zip(alike.texts, alike.values, strict=True)
            return (self._chosen_alone(pattern, *line) for line in lines)
        columns = [*self._columns(alike)]

        def chosen_at(at: int) -> _Chosen:
            places: list[list[_Place]] = [[] for _ in pattern.spans]
            for frame, place, addresses, scores in columns:
                address, score = addresses[at], scores[at]
                if address is not None and score is not None:
                    places[frame].append(place._replace(address=address, score=score))
            return [*_chosen(alike.texts[at], pattern, alike.values[at], places)]

        if count == 1:
            return [chosen_at(0)]
        # Those of which the same is known are the same.
        facts = [
            own for own in map(list, self._facts(alike, columns)) if len({*own}) > 1
        ]
        rows = [*zip(*facts, strict=True)] if facts else [()] * count
        first = {fact: at for at, fact in enumerate(rows)}
        known = {fact: chosen_at(at) for fact, at in first.items()}
        if any(each[2].doubt for several in known.values() for each in several):
            return [*map(chosen_at, range(count))]  # they name other places
        return [*map(known.__getitem__, rows)]

    def _chosen_alone(
        self, pattern: LinePattern, text: str, values: Sequence[int]
    ) -> _Chosen:
        alike = AlikeLines(pattern)
        alike.texts.append(text)
        alike.values.append(values)
        (chosen,) = self._chosen(alike)
        return chosen

    def _columns(self, alike: AlikeLines) -> Iterator[_Column]:
        for number, readings in enumerate(alike.pattern.readings):
            for at, reading in enumerate(readings):
                frame = reading.frame
                module = None if frame.module < 0 else self._modules[frame.module]
                if module is None or module.places is None or module.reader is None:
                    continue
                name, places = module.named.name, module.places
                place = _Place(at, name, module.reader.uuid or name, 0, 0)
                for addresses in _addresses(reading, alike, places):
                    scores = _scores(frame, addresses, places)
                    yield _Column(number, place, addresses, scores)

    @staticmethod
    def _facts(
        alike: AlikeLines, columns: Sequence[_Column]
    ) -> Iterator[Iterable[object]]:
        """Facts that decide, each as a column with a value for each line."""
        for each in columns:
            yield each.scores
        for one, other in combinations(columns, 2):
            if one.place.build == other.place.build:
                yield [
                    first is not None
                    and second is not None
                    and -_NEAR <= first - second <= _NEAR
                    for first, second in zip(
                        one.addresses, other.addresses, strict=True
                    )
                ]
        for (own, *_), (other_own, *_) in combinations(alike.pattern.readings, 2):
            if own.frame.module == other_own.frame.module:
                yield map(eq, alike.addresses(own), alike.addresses(other_own))


def _addresses(
    reading: Reading, alike: AlikeLines, places: LinkAddresses
) -> Iterator[Sequence[int | None]]:
    """The link-time addresses that a reading may have, for each line."""
    if reading.frame.base == "symbol":
        (frame,) = alike.frames(reading)
        for address in places.named_addresses(frame):
            yield [address]
    else:
        own = [reading.frame] * len(alike.values)
        frames = own if reading.plus < 0 else [*alike.frames(reading)]
        yield places.addresses_in(frames, alike.addresses(reading))


def _scores(
    frame: StackFrame, addresses: Sequence[int | None], places: LinkAddresses
) -> list[int | None]:
    """The scores of readings; None for those without a function."""
    is_named = frame.base == "symbol"
    score = (not frame.is_guess) * _IS_EXPLICIT + is_named * _NAMES_IT
    of_place = [
        score + bool(place & CALL) * _IS_CALL if place & (FUNCTION | AFTER) else None
        for place in range(_PLACES)
    ]
    found = places.places([each or 0 for each in addresses])
    scores = [of_place[place] for place in found]
    if None in addresses or (frame.symbol and not is_named):
        of_name = {None: 0, True: _NAMES_IT, False: _NAMES_OTHER}
        for at, (address, own) in enumerate(zip(addresses, scores, strict=True)):
            if address is None:
                scores[at] = None
            elif frame.symbol and not is_named and own is not None:
                scores[at] = own + of_name[places.is_in(frame.symbol, address)]
    return scores


def _chosen(
    text: str,
    pattern: LinePattern,
    values: Sequence[int],
    places: Sequence[Sequence[_Place]],
) -> Iterator[tuple[int, int, StackFrame, int, int]]:
    """The right readings of the frames of a line, by the places of all.

    Returns:
        Start and end of each in the line, and its reading.
    """
    frames = pattern.frames(text, values)
    several = [_best(at, places) for at in range(len(frames))]
    is_list = _is_list(text, pattern, frames)
    is_known = not is_list and any(best is not None for best, _ in several)
    kept = [
        None if best is None and (is_known or frame.is_guess) else frame
        for frame, (best, _) in zip(frames, several, strict=True)
    ]
    if not is_list:
        _merge(kept, [best for best, _ in several])
    for left, (best, rival), span, readings in zip(
        kept, several, pattern.spans, pattern.readings, strict=True
    ):
        if left is None:
            continue
        first, own = readings[0].frame, readings[0 if best is None else best.at]
        made = own.frame._replace(
            is_return=first.is_return,
            may_be_exact=first.may_be_exact,
            may_return=first.may_return,
            others=(),
            is_counter=left.is_counter,
            doubt="" if rival is None else rival.doubt,
            ordinal=first.ordinal,
        )
        yield *span, made, own.address, own.plus


def _best(
    at: int, places: Sequence[Sequence[_Place]]
) -> tuple[_Place | None, _Place | None]:
    """The best reading of a frame, and another place that is as good."""
    others = [each for number, each in enumerate(places) if number != at]
    ranks = [
        each.score + _AGREES * sum(any(map(each.is_as, other)) for other in others)
        for each in places[at]
    ]
    rank = max(ranks, default=-1)
    if rank < 0:
        return None, None
    best, *rivals = (
        each for each, own in zip(places[at], ranks, strict=True) if own == rank
    )
    return best, next((each for each in rivals if not best.is_as(each)), None)


def _merge(kept: list[StackFrame | None], chosen: Sequence[_Place | None]) -> None:
    """Leave one frame of those of a line that are one place."""
    for at, other in combinations(range(len(kept)), 2):
        frame, following = kept[at], kept[other]
        if frame is None or following is None:
            continue
        first, second = chosen[at], chosen[other]
        if first is None or second is None:
            is_near = frame.address == following.address or frame.base != following.base
            same = first is second and frame.module == following.module and is_near
        else:
            same = first.is_as(second)
        if not same:
            continue
        # What names the place is replaced; its address stays.
        if "+" in following.text and "+" not in frame.text:
            kept[at] = None
            is_counter = frame.is_counter or following.is_counter
            kept[other] = following._replace(is_counter=is_counter)
        else:
            kept[other] = None


def _is_list(text: str, pattern: LinePattern, frames: Sequence[StackFrame]) -> bool:
    """Whether a line only has addresses: each is a frame, none explains another."""
    if len(frames) == 1 or any(each.is_guess for each in frames):
        return False
    spans = pattern.spans
    return not NO_NUMBERS.search(text, spans[0][0], spans[-1][1])
