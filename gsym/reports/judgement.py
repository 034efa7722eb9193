"""The choice among the readings of a line, by the modules that are at hand.

A reading is right where its module has a function at the address, where the function is
that which the line names, and where other readings of the line say the same. Lines that
only differ in their numbers are judged once for all of which the modules say the same.
"""

from __future__ import annotations

from array import array
from collections import Counter
from itertools import combinations
from operator import eq

from gsym.memory.stack_parts import (
    NO_MODULE,
    StackFrame,
    numbered,
    ordered,
    taken,
)
from gsym.records import NamedTuple
from gsym.reports.link_addresses import (
    AFTER,
    CALL,
    CODE,
    FUNCTION,
    NO_LINK,
    links_of,
)
from gsym.reports.stacks.evidence import NO_NUMBERS

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gsym.memory.stack_parts import (
        AlikeLines,
        FrameLines,
        LinePattern,
        Reading,
        StackHeading,
    )
    from gsym.reports.link_addresses import LinkAddresses
    from gsym.reports.report_work import ModuleOfReport

_NAMES_IT, _NAMES_OTHER = 4, -6
_IS_EXPLICIT, _AGREES, _IS_CALL = 2, 3, 1
# Scores by place, by what the reading itself counts; none without a function.
_OF_PLACE = {
    score: {
        place: score + bool(place & CALL) * _IS_CALL
        for place in range(2 * (FUNCTION | AFTER | CODE | CALL))
        if place & (FUNCTION | AFTER)
    }
    for score in (0, _IS_EXPLICIT, _NAMES_IT, _IS_EXPLICIT + _NAMES_IT)
}
_NEAR = 1  # bytes between an address and the one that a tool has adjusted


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
        is_near = -_NEAR <= self.address - other.address <= _NEAR
        return is_near and self.build == other.build


class _Column(NamedTuple):
    """Answers of a module to a reading in all lines of a pattern.

    Attributes:
        frame: Index of the frame.
        place: The reading; its address and score are those of a line.
        links: The link-time addresses.
        places: As of `Frames`.
        scores: For each line the score, or None where the module has no function.
    """

    frame: int
    place: _Place
    links: array[int]
    places: array[int]
    scores: Sequence[int | None]


class _Right(NamedTuple):
    """A part of some lines that is a frame, its reading, what the module says of it."""

    start: int
    end: int
    reading: Reading
    column: _Column | None = None


class Frames:
    """The frames of a report as columns.

    Attributes:
        lines: The lines of the report.
        numbers: Indexes of the lines that they are in.
        kinds: Indexes into *known* and *spans*.
        addresses: In bytes.
        links: The link-time addresses, by the modules at hand, or `NO_LINK`.
        places: As of `LinkAddresses.places`; 0 where it is not asked.
        stacks: Indexes of their stacks.
        descending: Stacks whose outermost frame comes first.
        returns: As `StackFrame.is_return`, when it is judged.
        known: All else that is known of frames.
        spans: Where each is in its line.
    """

    def __init__(self, lines: FrameLines) -> None:
        self.lines = lines
        self.numbers: array[int] = array("I")
        self.kinds: array[int] = array("I")
        self.addresses: array[int] = array("Q")
        self.links: array[int] = array("Q")
        self.places: array[int] = array("B")
        self.stacks: array[int] = array("I")
        self.descending: set[int] = set()
        self.returns: array[int] = array("B")
        self.known: list[StackFrame] = []
        self.spans: list[tuple[int, int]] = []

    def text(self, index: int) -> str:
        """The part of the report that is a frame."""
        start, end = self.spans[self.kinds[index]]
        return self.lines.texts[self.numbers[index]][start:end]

    def at(self, index: int) -> StackFrame:
        """A frame."""
        return self.known[self.kinds[index]]._replace(
            text=self.text(index),
            address=self.addresses[index],
            is_return=bool(self.returns[index]),
            heading=self.lines.headings[self.numbers[index]],
            stack=self.stacks[index],
        )

    def texts(self) -> Iterator[tuple[str, str]]:
        """The text before each frame, since the one before it, and its own.

        The last text is that after all frames.
        """
        lines, spans = self.lines, self.spans
        texts, befores, last, end, text = lines.texts, lines.befores, -1, 0, ""
        for number, kind in zip(self.numbers, self.kinds, strict=True):
            start, stop = spans[kind]
            if number == last:
                before = text[end:start]
            else:
                before = befores[number]
                if number != last + 1:
                    before = lines.between(last + 1, number)
                rest, text = text[end:], texts[number]
                before = f"{rest}{before}{text[:start]}"
            yield before, text[start:stop]
            last, end = number, stop
        yield text[end:] + lines.between(last + 1, len(texts)), ""

    def parts(self) -> Iterator[str | tuple[int, int]]:
        """Texts, and places of frames as index of the stack and of the frame."""
        left = Counter(self.stacks)
        sizes, texts = {**left}, self.texts()
        for stack, (before, _) in zip(self.stacks, texts, strict=False):
            if before:
                yield before
            left[stack] -= 1
            is_last = stack in self.descending
            yield stack, left[stack] if is_last else sizes[stack] - 1 - left[stack]
        if rest := next(texts)[0]:
            yield rest

    def settle(self, headings: Sequence[StackHeading]) -> list[StackHeading]:
        """Order the frames by their lines; find their stacks, by the headings."""
        order = ordered(self.numbers)
        for name in ("numbers", "kinds", "addresses", "links", "places"):
            setattr(self, name, taken(getattr(self, name), order))
        firsts, heading_of = self.lines.firsts(), self.lines.headings
        each_line = [*dict.fromkeys(self.numbers)]
        ordinals = [*map(firsts.__getitem__, each_line)]
        numbers = map(heading_of.__getitem__, each_line)
        stacks, headings_of_stacks = numbered(ordinals, numbers, headings)
        stack_of = dict(zip(each_line, stacks, strict=True))
        self.stacks = array("I", map(stack_of.__getitem__, self.numbers))
        last = dict(zip(stacks, ordinals, strict=True))
        first = dict(zip(reversed(stacks), reversed(ordinals), strict=True))
        self.descending = {each for each in last if 0 <= last[each] < first[each]}
        return headings_of_stacks


class Judge:
    """Chooses among the readings of frames.

    What no reading of a line explains is text.

    Args:
        modules: The modules of the report, opened.
        lines: The lines of the report.

    Attributes:
        frames: The frames, of one pattern of lines after the other.
    """

    def __init__(self, modules: Sequence[ModuleOfReport], lines: FrameLines) -> None:
        self._modules = modules
        self.frames: Frames = Frames(lines)

    def add(self, alike: AlikeLines) -> None:
        """Choose what the frames of lines that are alike are."""
        pattern, count = alike.pattern, len(alike.numbers)
        if pattern.is_certain:
            ((start, end),), ((reading,),) = pattern.spans, pattern.readings
            self._add(alike, _Right(start, end, reading))
            return
        several: set[int] = set()
        columns = [*self._columns(alike, several)]
        if several:
            for at in several:
                self.add(alike.only([at]))
            if rest := [at for at in range(count) if at not in several]:
                self.add(alike.only(rest))
            return
        groups = [*_groups(alike, columns)]
        chosen = [[*_chosen(alike, columns, each[-1])] for each in groups]
        if count > 1 and any(
            each.reading.frame.doubt for own in chosen for each in own
        ):
            groups = [[at] for at in range(count)]  # they name other places
            chosen = [[*_chosen(alike, columns, at)] for at in range(count)]
        for asked, rights in zip(groups, chosen, strict=True):
            for each in rights:
                self._add(alike, each, asked if len(asked) < count else None)

    def _add(
        self, alike: AlikeLines, right: _Right, asked: Sequence[int] | None = None
    ) -> None:
        """Add a frame of lines; *asked*: of which."""
        chosen = alike if asked is None else alike.only(asked)
        frames, reading = self.frames, right.reading
        if right.column is None:
            links, places = self._asked(reading, chosen)
        else:
            links, places = right.column.links, right.column.places
            if asked is not None:
                rows = array("I", asked)
                links, places = taken(links, rows), taken(places, rows)
        frames.numbers.extend(chosen.numbers)
        frames.kinds.extend(self._kinds(right, chosen))
        frames.addresses.extend(chosen.addresses(reading))
        frames.links.extend(links)
        frames.places.extend(places)

    def _kinds(self, right: _Right, alike: AlikeLines) -> array[int]:
        """The kind of the frame that a reading is in each line."""
        frames, first = self.frames, len(self.frames.known)
        known, kinds = alike.kinds(right.reading)
        frames.known += known
        frames.spans += [(right.start, right.end)] * len(known)
        return array("I", [each + first for each in kinds])

    def _columns(self, alike: AlikeLines, several: set[int]) -> Iterator[_Column]:
        """The answers of modules; *several*: lines with a name of several functions."""
        for number, readings in enumerate(alike.pattern.readings):
            for at, reading in enumerate(readings):
                frame, module = reading.frame, self._module_of(reading)
                if module is None or module.places is None or module.reader is None:
                    continue
                name, places = module.named.name, module.places
                place = _Place(at, name, module.reader.uuid or name, 0, 0)
                links = _links(reading, alike, places, several)
                found = places.places(links)
                scores = _scores(alike, reading, links, found, places)
                if frame.base != "symbol" or len(alike.numbers) > 1:
                    yield _Column(number, place, links, found, scores)
                    continue
                for nth, score in enumerate(scores):  # a function of the name for each
                    row = slice(nth, nth + 1)
                    yield _Column(number, place, links[row], found[row], [score])

    def _module_of(self, reading: Reading) -> ModuleOfReport | None:
        number = reading.frame.module
        return None if number == NO_MODULE else self._modules[number]

    def _asked(
        self, reading: Reading, alike: AlikeLines
    ) -> tuple[array[int], array[int]]:
        """The link-time addresses of lines; their places, or 0 where none is asked."""
        frame, module = reading.frame, self._module_of(reading)
        nothing = array("B", bytes(len(alike.numbers)))
        if module is None or module.places is None:
            return array("Q", [NO_LINK]) * len(nothing), nothing
        links = _addresses(reading, alike, module.places)
        is_unclear = frame.may_be_exact or frame.may_return
        return links, module.places.places(links) if is_unclear else nothing


def _groups(alike: AlikeLines, columns: Sequence[_Column]) -> Iterable[Sequence[int]]:
    """Lines of which the modules say the same, which are the same."""
    count = len(alike.numbers)
    all_facts = map(list, _facts(alike, columns)) if count > 1 else ()
    facts = [each for each in all_facts if len({*each}) > 1]
    if not facts:
        return [range(count)]
    groups: dict[object, list[int]] = {}
    for at, fact in enumerate(zip(*facts, strict=True)):
        groups.setdefault(fact, []).append(at)
    return groups.values()


def _facts(alike: AlikeLines, columns: Sequence[_Column]) -> Iterator[Iterable[object]]:
    """Facts that decide, each as a column with a value for each line."""
    for each in columns:
        yield each.scores
    for one, other in combinations(columns, 2):
        if one.place.build == other.place.build and one.links != other.links:
            yield [
                -_NEAR <= first - second <= _NEAR and max(first, second) < NO_LINK
                for first, second in zip(one.links, other.links, strict=True)
            ]
    for (before, *_), (after, *_) in combinations(alike.pattern.readings, 2):
        if before.frame.module == after.frame.module:
            yield map(eq, alike.addresses(before), alike.addresses(after))


def _links(
    reading: Reading, alike: AlikeLines, places: LinkAddresses, several: set[int]
) -> array[int]:
    """The link-time address of a reading in each line, or all of a name in the only."""
    if reading.frame.base != "symbol":
        return _addresses(reading, alike, places)
    found = [*map(places.named_addresses, alike.frames(reading))]
    if len(found) > 1:
        several.update(at for at, each in enumerate(found) if len(each) > 1)
        return links_of(each[0] if each else None for each in found)
    return links_of(found[0])


def _addresses(
    reading: Reading, alike: AlikeLines, places: LinkAddresses
) -> array[int]:
    """The link-time address of a reading, for each line."""
    if not reading.differs or reading.frame.base == "image":
        return places.addresses_of(reading.frame, alike.addresses(reading))
    return links_of(map(places.address, alike.frames(reading)))


def _scores(
    alike: AlikeLines,
    reading: Reading,
    links: array[int],
    found: array[int],
    places: LinkAddresses,
) -> list[int | None]:
    """The scores of readings; None for those without a function."""
    frame = reading.frame
    is_named = frame.base == "symbol"
    score = (not frame.is_guess) * _IS_EXPLICIT + is_named * _NAMES_IT
    scores = [*map(_OF_PLACE[score].get, found)]
    kinds, numbers = alike.kinds(reading)
    of_name = {None: 0, True: _NAMES_IT, False: _NAMES_OTHER}
    of_start = {True: _NAMES_IT, False: _NAMES_OTHER}
    is_judged = not is_named if frame.symbol else frame.plus is not None
    rows = enumerate(zip(links, numbers, scores, strict=True))
    for at, (link, number, known) in rows if is_judged else ():
        symbol, plus = kinds[number][5:7]
        if known is not None and symbol and not is_named:
            scores[at] = known + of_name[places.is_in(symbol, link)]
        elif known is not None and not symbol and plus is not None:
            scores[at] = known + of_start[places.starts_function(link - plus)]
    return scores


def _chosen(
    alike: AlikeLines, columns: Sequence[_Column], line: int
) -> Iterator[_Right]:
    """The right readings of the frames of a line, by the places of all."""
    pattern, number = alike.pattern, alike.numbers[line]
    text, values = alike.report.texts[number], alike.report.values_of(number)
    places: list[list[_Place]] = [[] for _ in pattern.spans]
    of_reading: dict[tuple[int, int], _Column] = {}
    for each in columns:
        address, score = each.links[line], each.scores[line]
        of_reading[each.frame, each.place.at] = each
        if score is not None:
            place = each.place._replace(address=address, score=score)
            places[each.frame].append(place)
    frames = pattern.frames(text, values)
    chosen = [_best(at, places) for at in range(len(frames))]
    is_list = _is_list(text, pattern, frames)
    is_known = not is_list and any(best is not None for best, _ in chosen)
    kept = [
        None if best is None and (is_known or frame.is_guess) else frame
        for frame, (best, _) in zip(frames, chosen, strict=True)
    ]
    if not is_list:
        _merge(kept, [best for best, _ in chosen])
    for number, (left, (best, rival)) in enumerate(zip(kept, chosen, strict=True)):
        if left is None:
            continue
        readings, at = pattern.readings[number], 0 if best is None else best.at
        first = readings[0].frame
        other = rival
        if best is not None and readings[at].frame.base == "symbol":
            other = rival or _contradiction(best, places)
        made = readings[at].frame._replace(
            is_return=first.is_return,
            may_be_exact=first.may_be_exact,
            may_return=first.may_return,
            others=(),
            is_counter=left.is_counter,
            doubt="" if other is None else other.doubt,
            ordinal=first.ordinal,
        )
        reading = readings[at]._replace(frame=made)
        # The functions of a name have several columns.
        column = None if made.base == "symbol" else of_reading.get((number, at))
        yield _Right(*pattern.spans[number], reading, column)


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


def _contradiction(best: _Place, places: Sequence[Sequence[_Place]]) -> _Place | None:
    """The place that a line gives a function by an address, if it is another one."""
    alike = [each for row in places for each in row if each.build == best.build]
    others = [each for each in alike if not best.is_as(each)]
    is_confirmed = any(each.score < _NAMES_IT and best.is_as(each) for each in alike)
    return next((each for each in others if each.score < 0 and not is_confirmed), None)


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
