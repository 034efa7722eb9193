"""The choice among the readings of a line, by the modules that are at hand.

A reading is right where its module has a function at the address, where the function is
that which the line names, and where other readings of the line say the same. Lines that
only differ in their numbers are judged once for all of which the modules say the same.
"""

from __future__ import annotations

from itertools import combinations, compress
from operator import add, eq

from gsym.memory.stack_parts import NO_MODULE, StackFrame, numbered
from gsym.records import NamedTuple
from gsym.reports.link_addresses import AFTER, CALL, CODE, FUNCTION
from gsym.reports.stacks.evidence import NO_NUMBERS

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

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
_PLACES = 2 * (FUNCTION | AFTER | CODE | CALL)  # more than there are
_NEAR = 1  # bytes between an address and the one that a tool has adjusted
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
    links: Sequence[int | None]
    places: Sequence[int]
    scores: Sequence[int | None]


class _Right(NamedTuple):
    """A part of some lines that is a frame, and its reading.

    Attributes:
        start: The first character in the line.
        end: The character after the last one.
        reading: What it means.
        column: What the module says of the reading, if it was asked.
    """

    start: int
    end: int
    reading: Reading
    column: _Column | None = None


class Frames:
    """The frames of a report as columns, and the texts around them.

    Attributes:
        befores: The text before each, since the one before it.
        texts: As of `StackFrame`, like the columns that follow.
        addresses: In bytes.
        headings: Index of the last heading.
        stacks: Index of the stack.
        kinds: Indexes into *known*.
        links: The link-time addresses, by the modules at hand; None if unknown.
        places: As of `LinkAddresses.places`; 0 where it is not asked.
        returns: As `StackFrame.is_return`, when it is judged.
        known: All else that is known of frames.
        rest: The text after the last frame.
    """

    def __init__(self) -> None:
        self.befores: list[str] = []
        self.texts: list[str] = []
        self.addresses: list[int] = []
        self.headings: list[int] = []
        self.stacks: list[int] = []
        self.kinds: list[int] = []
        self.links: list[int | None] = []
        self.places: list[int] = []
        self.returns: list[bool] = []
        self.known: list[StackFrame] = []
        self.rest: str = ""

    def at(self, index: int) -> StackFrame:
        """A frame."""
        return self.known[self.kinds[index]]._replace(
            text=self.texts[index],
            address=self.addresses[index],
            is_return=self.returns[index],
            heading=self.headings[index],
            stack=self.stacks[index],
        )

    def parts(self) -> Iterator[str | tuple[int, int]]:
        """Texts, and places of frames as index of the stack and of the frame."""
        seen: dict[int, int] = {}
        for before, stack in zip(self.befores, self.stacks, strict=True):
            if before:
                yield before
            seen[stack] = seen.get(stack, -1) + 1
            yield stack, seen[stack]
        if self.rest:
            yield self.rest


class _Rows(NamedTuple):
    """Frames, and lines without one, as columns.

    Attributes:
        lines: Indexes of their lines.
        befores: The text before each, since the one before it in the line.
        texts: As of `Frames`.
        afters: The rest of the line after the last one in it; "" for others.
        kinds: As of `Frames`, like the columns that follow; `_TEXT` without a frame.
        addresses: In bytes.
        links: The link-time addresses.
        places: What is there.
    """

    lines: list[int]
    befores: list[str]
    texts: list[str]
    afters: list[str]
    kinds: list[int]
    addresses: list[int]
    links: list[int | None]
    places: list[int]

    def add(self, **columns: Sequence[Any]) -> None:
        """Add rows, given as all of the columns."""
        for name in self._fields:
            getattr(self, name).extend(columns[name])

    def in_order(self) -> _Rows:
        """The rows in the order of their lines."""
        order = sorted(range(len(self.lines)), key=self.lines.__getitem__)
        several: Iterable[list[Any]] = self
        return _Rows(*[[*map(each.__getitem__, order)] for each in several])


def settled(
    lines: FrameLines, headings: Sequence[StackHeading], judge: Judge
) -> tuple[Frames, list[StackHeading]]:
    """The frames of a report, each with the reading that is right; its stacks.

    What no reading of a line explains is text.

    Args:
        lines: The lines of the report.
        headings: Its headings.
        judge: Has chosen for all of the lines.
    """
    frames, rows = Frames(), judge.rows.in_order()
    afters = ["", *rows.afters]
    frames.known, frames.rest = judge.known, afters.pop() + lines.rest
    frames.befores = [*map(add, afters, rows.befores)]
    if _TEXT in rows.kinds:
        pending, befores = "", list[str]()
        for before, kind in zip(frames.befores, rows.kinds, strict=True):
            pending += before
            if kind != _TEXT:
                befores.append(pending)
                pending = ""
        frames.befores, frames.rest = befores, pending + frames.rest
        are_frames = [each != _TEXT for each in rows.kinds]
        several: Iterable[list[Any]] = rows
        rows = _Rows(*[[*compress(each, are_frames)] for each in several])
    frames.texts, frames.kinds = rows.texts, rows.kinds
    frames.addresses = rows.addresses
    frames.links, frames.places = rows.links, rows.places
    firsts, heading_of = lines.firsts(), lines.headings
    each_line = [*dict.fromkeys(rows.lines)]
    ordinals = map(firsts.__getitem__, each_line)
    numbers = map(heading_of.__getitem__, each_line)
    stacks, headings_of_stacks = numbered(ordinals, numbers, headings)
    stack_of = dict(zip(each_line, stacks, strict=True))
    frames.stacks = [*map(stack_of.__getitem__, rows.lines)]
    frames.headings = [*map(heading_of.__getitem__, rows.lines)]
    return frames, headings_of_stacks


class Judge:
    """Chooses among the readings of frames.

    Args:
        modules: The modules of the report, opened.
        befores: The text before each of its lines.

    Attributes:
        known: The kinds of frames that are chosen.
        rows: The frames.
    """

    def __init__(
        self, modules: Sequence[ModuleOfReport], befores: Sequence[str]
    ) -> None:
        self._modules, self._befores = modules, befores
        self.known: list[StackFrame] = []
        self.rows: _Rows = _Rows(*([] for _ in _Rows._fields))

    def add(self, alike: AlikeLines) -> None:
        """Choose what the frames of lines that are alike are."""
        pattern, count = alike.pattern, len(alike.texts)
        if pattern.is_certain:
            ((start, end),), ((reading,),) = pattern.spans, pattern.readings
            self._add(alike, [_Right(start, end, reading)])
            return
        readings = [each for several in pattern.readings for each in several]
        if count > 1 and any(each.frame.base == "symbol" for each in readings):
            # The functions of this name differ. One line at a time: there are many.
            for at in range(count):
                self.add(alike.only([at]))
            return
        columns = [*self._columns(alike)]
        groups = [*_groups(alike, columns)]
        chosen = [[*_chosen(alike, columns, each[-1])] for each in groups]
        if count > 1 and any(
            each.reading.frame.doubt for own in chosen for each in own
        ):
            groups = [[at] for at in range(count)]  # they name other places
            chosen = [[*_chosen(alike, columns, at)] for at in range(count)]
        for asked, rights in zip(groups, chosen, strict=True):
            self._add(alike, rights, asked if len(asked) < count else None)

    def _add(
        self,
        alike: AlikeLines,
        rights: Sequence[_Right],
        asked: Sequence[int] | None = None,
    ) -> None:
        """Add the frames of lines, or the lines if they have none; *asked*: which."""
        own = alike if asked is None else alike.only(asked)
        texts, count, end = own.texts, len(own.texts), 0
        befores = [self._befores[at] for at in own.lines]
        if not rights:
            self.rows.add(
                lines=own.lines,
                befores=[*map(add, befores, texts)],
                texts=[""] * count,
                afters=[""] * count,
                kinds=[_TEXT] * count,
                addresses=[0] * count,
                links=[None] * count,
                places=bytes(count),
            )
        for number, (start, stop, reading, column) in enumerate(rights):
            if start > end or number:
                between = [each[end:start] for each in texts]
                befores = between if number else [*map(add, befores, between)]
            end, is_last = stop, number == len(rights) - 1
            if column is None:
                links, places = self._asked(reading, own)
            else:
                links, places = column.links, column.places
                if asked is not None:
                    links = [links[at] for at in asked]
                    places = [places[at] for at in asked]
            self.rows.add(
                lines=own.lines,
                befores=befores,
                texts=[each[start:stop] for each in texts],
                afters=[each[stop:] for each in texts] if is_last else [""] * count,
                kinds=self._kinds(reading, own),
                addresses=own.addresses(reading),
                links=links,
                places=places,
            )

    def _kinds(self, reading: Reading, alike: AlikeLines) -> list[int]:
        """The kind of the frame that a reading is in each line."""
        first, frame = len(self.known), reading.frame
        if reading.plus < 0:
            self.known.append(frame)
            return [first] * len(alike.texts)
        pluses = alike.column(reading.plus)
        kinds = {plus: at for at, plus in enumerate(dict.fromkeys(pluses), first)}
        self.known += (frame._replace(plus=plus) for plus in kinds)
        return [*map(kinds.__getitem__, pluses)]

    def _columns(self, alike: AlikeLines) -> Iterator[_Column]:
        for number, readings in enumerate(alike.pattern.readings):
            for at, reading in enumerate(readings):
                frame, module = reading.frame, self._module_of(reading)
                if module is None or module.places is None or module.reader is None:
                    continue
                name, places = module.named.name, module.places
                place = _Place(at, name, module.reader.uuid or name, 0, 0)
                for links in _links(reading, alike, places):
                    found = places.places(links)
                    scores = _scores(frame, links, found, places)
                    yield _Column(number, place, links, found, scores)

    def _module_of(self, reading: Reading) -> ModuleOfReport | None:
        number = reading.frame.module
        return None if number == NO_MODULE else self._modules[number]

    def _asked(
        self, reading: Reading, alike: AlikeLines
    ) -> tuple[Sequence[int | None], Sequence[int]]:
        """The link-time addresses of lines; their places, or 0 where none is asked."""
        frame, module = reading.frame, self._module_of(reading)
        nothing = bytes(len(alike.texts))
        if module is None or module.places is None:
            return [None] * len(nothing), nothing
        links = _addresses(reading, alike, module.places)
        is_unclear = frame.may_be_exact or frame.may_return
        return links, module.places.places(links) if is_unclear else nothing


def _groups(alike: AlikeLines, columns: Sequence[_Column]) -> Iterable[Sequence[int]]:
    """Lines of which the modules say the same, which are the same."""
    count = len(alike.texts)
    several = map(list, _facts(alike, columns)) if count > 1 else ()
    facts = [each for each in several if len({*each}) > 1]
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
                first is not None
                and second is not None
                and -_NEAR <= first - second <= _NEAR
                for first, second in zip(one.links, other.links, strict=True)
            ]
    for (before, *_), (after, *_) in combinations(alike.pattern.readings, 2):
        if before.frame.module == after.frame.module:
            yield map(eq, alike.addresses(before), alike.addresses(after))


def _links(
    reading: Reading, alike: AlikeLines, places: LinkAddresses
) -> Iterator[Sequence[int | None]]:
    """The link-time addresses that a reading may have, for each line."""
    if reading.frame.base != "symbol":
        yield _addresses(reading, alike, places)
        return
    (frame,) = alike.frames(reading)
    for address in places.named_addresses(frame):
        yield [address]


def _addresses(
    reading: Reading, alike: AlikeLines, places: LinkAddresses
) -> Sequence[int | None]:
    """The link-time address of a reading, for each line."""
    if reading.plus < 0 or reading.frame.base == "image":
        return places.addresses_of(reading.frame, alike.addresses(reading))
    return [*map(places.address, alike.frames(reading))]


def _scores(
    frame: StackFrame,
    links: Sequence[int | None],
    found: Sequence[int],
    places: LinkAddresses,
) -> list[int | None]:
    """The scores of readings; None for those without a function."""
    is_named = frame.base == "symbol"
    score = (not frame.is_guess) * _IS_EXPLICIT + is_named * _NAMES_IT
    of_place = {
        place: score + bool(place & CALL) * _IS_CALL
        for place in range(_PLACES)
        if place & (FUNCTION | AFTER)
    }
    scores = [*map(of_place.get, found)]
    if frame.symbol and not is_named:
        of_name = {None: 0, True: _NAMES_IT, False: _NAMES_OTHER}
        for at, (link, own) in enumerate(zip(links, scores, strict=True)):
            if link is not None and own is not None:
                scores[at] = own + of_name[places.is_in(frame.symbol, link)]
    return scores


def _chosen(
    alike: AlikeLines, columns: Sequence[_Column], line: int
) -> Iterator[_Right]:
    """The right readings of the frames of a line, by the places of all."""
    pattern, text = alike.pattern, alike.texts[line]
    places: list[list[_Place]] = [[] for _ in pattern.spans]
    of_reading: dict[tuple[int, int], _Column] = {}
    for each in columns:
        address, score = each.links[line], each.scores[line]
        of_reading[each.frame, each.place.at] = each
        if address is not None and score is not None:
            place = each.place._replace(address=address, score=score)
            places[each.frame].append(place)
    frames = pattern.frames(text, alike.values[line])
    several = [_best(at, places) for at in range(len(frames))]
    is_list = _is_list(text, pattern, frames)
    is_known = not is_list and any(best is not None for best, _ in several)
    kept = [
        None if best is None and (is_known or frame.is_guess) else frame
        for frame, (best, _) in zip(frames, several, strict=True)
    ]
    if not is_list:
        _merge(kept, [best for best, _ in several])
    for number, (left, (best, rival)) in enumerate(zip(kept, several, strict=True)):
        if left is None:
            continue
        readings, at = pattern.readings[number], 0 if best is None else best.at
        first = readings[0].frame
        made = readings[at].frame._replace(
            is_return=first.is_return,
            may_be_exact=first.may_be_exact,
            may_return=first.may_return,
            others=(),
            is_counter=left.is_counter,
            doubt="" if rival is None else rival.doubt,
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
