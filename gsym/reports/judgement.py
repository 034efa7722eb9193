"""The choice among the readings of a line, by the modules that are at hand.

A reading is right where its module has a function at the address, where the function is
that which the line names, and where other readings of the line say the same. Lines that
only differ in their numbers are judged once for all of which the modules say the same.
"""

from __future__ import annotations

from itertools import chain, combinations
from operator import eq

from gsym.memory.stack_parts import AlikeLines, ReadLine, StackFrame, StackNumbers
from gsym.records import NamedTuple
from gsym.reports.link_addresses import AFTER, CALL, CODE, FUNCTION
from gsym.reports.stacks.evidence import NO_NUMBERS

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gsym.memory.stack_parts import Reading, StackHeading
    from gsym.reports.link_addresses import LinkAddresses
    from gsym.reports.report_work import ModuleOfReport

    _Chosen = Sequence[tuple[int, int, StackFrame, int, int]]

_NAMES_IT, _NAMES_OTHER = 4, -6
_IS_EXPLICIT, _AGREES, _IS_CALL = 2, 3, 1
_PLACES = 2 * (FUNCTION | AFTER | CODE | CALL)  # more than there are
_NEAR = 1  # bytes between an address and the one that a tool has adjusted
_new = tuple.__new__


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


def settled(
    contents: Sequence[str | StackFrame | ReadLine],
    headings: Sequence[StackHeading],
    modules: Sequence[ModuleOfReport],
) -> tuple[list[str | StackFrame], list[StackHeading]]:
    """The parts of a report, each frame with the reading that is right; its stacks.

    What no reading of a line explains is text.
    """
    lines: dict[AlikeLines, list[ReadLine]] = {}
    for line in contents:
        if isinstance(line, ReadLine):
            lines.setdefault(line.alike, []).append(line)
    judge = _Judge(modules)
    chosen = {alike: iter(judge.chosen(alike, own)) for alike, own in lines.items()}
    numbers = StackNumbers(headings)
    parts: list[str | StackFrame] = []
    for line in contents:
        if isinstance(line, str):
            parts.append(line)
        elif isinstance(line, StackFrame):
            stack = numbers.of(line.ordinal, line.heading, line.line)
            is_other = line.stack != stack
            place = line.ordinal, line.heading, stack
            parts.append(line.numbered(*place) if is_other else line)
        else:
            _add_line(parts, line, next(chosen[line.alike]), numbers)
    return parts, numbers.stacks


def _add_line(
    parts: list[str | StackFrame],
    line: ReadLine,
    chosen: _Chosen,
    numbers: StackNumbers,
) -> None:
    """Append the frames of a line, and the texts around them."""
    text, alike, at, number, position, heading, _ = line
    end = 0
    for start, stop, frame, address, plus in chosen:
        if start > end:
            parts.append(text[end:start])
        end = stop
        ordinal = position if frame.ordinal < 0 else frame.ordinal
        own = alike.numbers[at + address] if address >= 0 else frame.address
        stack = numbers.of(ordinal, heading, number)
        # There are many, so in the order of the fields.
        place = number, frame.doubt, ordinal, heading, stack
        fields = text[start:stop], frame[1], own, *frame[3:14], *place
        made: StackFrame = _new(StackFrame, fields)
        parts.append(made if plus < 0 else made._replace(plus=alike.numbers[at + plus]))
    if end < len(text):
        parts.append(text[end:])


class _Judge:
    """Chooses among the readings of frames."""

    def __init__(self, modules: Sequence[ModuleOfReport]) -> None:
        self._modules = modules

    def chosen(self, alike: AlikeLines, lines: Sequence[ReadLine]) -> Iterable[_Chosen]:
        """For each line what its frames are; the rest is text."""
        several = [each for own in alike.pattern.readings for each in own]
        if any(each.frame.base == "symbol" for each in several) and len(lines) > 1:
            # The functions of this name differ. One line at a time: there are many.
            return chain.from_iterable(map(self._chosen_alone, lines))
        columns = [*self._columns(alike)]

        def chosen_at(at: int) -> _Chosen:
            places: list[list[_Place]] = [[] for _ in alike.pattern.spans]
            for frame, place, addresses, scores in columns:
                address, score = addresses[at], scores[at]
                if address is not None and score is not None:
                    places[frame].append(place._replace(address=address, score=score))
            return [*_chosen(lines[at], places)]

        if len(lines) == 1:
            return [chosen_at(0)]
        # Those of which the same is known are the same.
        facts = [*self._facts(alike, columns)]
        rows = [*zip(*facts, strict=True)] if facts else [()] * len(lines)
        first = {fact: at for at, fact in enumerate(rows)}
        known = {fact: chosen_at(at) for fact, at in first.items()}
        if any(each[2].doubt for several in known.values() for each in several):
            return [*map(chosen_at, range(len(rows)))]  # they name other places
        return [*map(known.__getitem__, rows)]

    def _chosen_alone(self, line: ReadLine) -> Iterable[_Chosen]:
        alike = AlikeLines(line.alike.pattern)
        alike.add(line.values)
        return self.chosen(alike, [line])

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
    elif reading.plus >= 0:
        yield [*map(places.address, alike.frames(reading))]
    else:
        yield places.addresses_of(reading.frame, alike.addresses(reading))


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
    line: ReadLine, places: Sequence[Sequence[_Place]]
) -> Iterator[tuple[int, int, StackFrame, int, int]]:
    """The right readings of the frames of a line, by the places of all.

    Returns:
        Start and end of each in the line, and its reading.
    """
    frames, pattern = line.frames(), line.alike.pattern
    several = [_best(at, places) for at in range(len(frames))]
    is_list = _is_list(line, frames)
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


def _is_list(line: ReadLine, frames: Sequence[StackFrame]) -> bool:
    """Whether a line only has addresses: each is a frame, none explains another."""
    if len(frames) == 1 or any(each.is_guess for each in frames):
        return False
    spans = line.alike.pattern.spans
    return not NO_NUMBERS.search(line.text, spans[0][0], spans[-1][1])
