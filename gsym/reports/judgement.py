"""The choice among the readings of a line, by the modules that are at hand.

A reading is right where its module has a function at the address, where the function is
that which the line names, and where other readings of the line say the same.
"""

from __future__ import annotations

from itertools import groupby

from gsym.memory.stack_parts import NO_MODULE, StackFrame
from gsym.records import NamedTuple
from gsym.reports.stacks.evidence import NO_NUMBERS

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gsym.reports.report_work import ModuleOfReport

_NAMES_IT, _NAMES_OTHER = 4, -6
_IS_EXPLICIT, _AGREES, _IS_CALL = 2, 3, 1
_PLACE = StackFrame._fields.index("ordinal")  # it and the fields after it
_ALONE = 2  # parts of a line with one frame: it, and the text after it
_NEAR = 1  # bytes between an address and the one that a tool has adjusted


class _Reading(NamedTuple):
    frame: StackFrame
    module: str
    build: bytes | str  # the id of its file, or its name
    address: int  # link-time
    score: int

    @property
    def doubt(self) -> str:
        """Sentence about the frame that it may be, too."""
        return f"ambiguous: it may also be {self.module} at {self.address:#x}"

    def is_as(self, other: _Reading) -> bool:
        """Whether both are the same place."""
        is_near = -_NEAR <= self[3] - other[3] <= _NEAR
        return is_near and self[2] == other[2]


def _ranks(at: int, readings: Sequence[Sequence[_Reading]]) -> list[int]:
    """Scores of the readings of a frame, with those of others that agree."""
    others = [each for number, each in enumerate(readings) if number != at]
    return [
        each.score + _AGREES * sum(any(map(each.is_as, other)) for other in others)
        for each in readings[at]
    ]


class Judge:
    """Chooses among the readings of frames."""

    def __init__(self, modules: Sequence[ModuleOfReport]) -> None:
        self._modules = modules

    def settle(self, parts: Iterable[str | StackFrame]) -> Iterator[str | StackFrame]:
        """The parts of a report, each frame with the reading that is right.

        What no reading of a line explains is text.
        """
        pending: list[str | StackFrame] = []
        line = -1
        for part in parts:
            of_line = line if isinstance(part, str) else part.line
            if of_line != line or of_line < 0:
                yield from self._settle_line(pending)
                pending, line = [], of_line
            pending.append(part)
        yield from self._settle_line(pending)

    def _settle_line(self, parts: list[str | StackFrame]) -> Iterator[str | StackFrame]:
        """The parts of a line, and of the text after it."""
        if 0 < len(parts) <= _ALONE and self._is_clear(parts[0]):
            yield from parts
            return
        frames = [part for part in parts if isinstance(part, StackFrame)]
        if not frames or frames[0].line < 0:
            yield from parts
            return
        readings = [self._readings(each) for each in frames]
        if len(frames) == 1 and len(readings[0]) == 1 and readings[0][0].score >= 0:
            (found,) = readings[0]
            for part in parts:
                yield part if isinstance(part, str) else _settled(part, found)
            return
        several = [_best(at, readings) for at in range(len(frames))]
        chosen = [best for best, _ in several]
        is_list = _is_list(parts, frames)
        is_known = any(chosen) and not is_list
        kept: list[StackFrame | None] = []
        for frame, (best, rival) in zip(frames, several, strict=True):
            if best is not None:
                kept.append(_settled(frame, best, rival))
            else:
                is_text = is_known or frame.is_guess
                kept.append(None if is_text else frame._replace(others=()))
        if not is_list:
            self._merge(kept, chosen)
        yield from _joined(parts, kept)

    def _is_clear(self, frame: str | StackFrame) -> bool:
        """Whether a frame that is alone in its line can only be what it seems to be."""
        if isinstance(frame, str) or frame.others or frame.symbol:
            return False
        if frame.line < 0:
            return True
        if frame.module == NO_MODULE or frame.base == "symbol":
            return False
        places = self._modules[frame.module].places
        if places is None:
            return False
        address = places.address(frame)
        return address is not None and places.has_function(address)

    def _readings(self, frame: StackFrame) -> list[_Reading]:
        found: list[_Reading] = []
        for each in (frame, *frame.others):
            if each.module == NO_MODULE:
                continue
            module = self._modules[each.module]
            places, name = module.places, module.named.name
            if places is None or module.reader is None:
                continue
            build = module.reader.uuid or name
            for address in places.addresses(each):
                if not places.has_function(address):
                    continue
                score = 0 if each.is_guess else _IS_EXPLICIT
                if each.symbol and each.base != "symbol":
                    named = places.is_in(each.symbol, address)
                    score += {None: 0, True: _NAMES_IT, False: _NAMES_OTHER}[named]
                elif each.base == "symbol":
                    score += _NAMES_IT
                score += _IS_CALL * (places.is_after_call(address) or False)
                fields = each, name, build, address, score
                found.append(tuple.__new__(_Reading, fields))
        return found

    def _merge(
        self, kept: list[StackFrame | None], chosen: Sequence[_Reading | None]
    ) -> None:
        """Leave one frame of those of a line that are one place."""
        for at, frame in enumerate(kept):
            if frame is None:
                continue
            for other in range(at + 1, len(kept)):
                following = kept[other]
                if following is None:
                    continue
                first, second = chosen[at], chosen[other]
                if first is None or second is None:
                    same = first is second and _is_same(frame, following)
                else:
                    same = first.is_as(second)
                if not same:
                    continue
                # What names the place is replaced; its address stays.
                if "+" in following.text and "+" not in frame.text:
                    kept[at] = None
                    is_counter = frame.is_counter or following.is_counter
                    kept[other] = following._replace(is_counter=is_counter)
                    break
                kept[other] = None


def _best(
    at: int, readings: Sequence[Sequence[_Reading]]
) -> tuple[_Reading | None, _Reading | None]:
    """The best reading of a frame, and another place that is as good."""
    ranks = _ranks(at, readings)
    rank = max(ranks, default=-1)
    if rank < 0:
        return None, None
    best, *others = (
        each for each, own in zip(readings[at], ranks, strict=True) if own == rank
    )
    return best, next((each for each in others if not best.is_as(each)), None)


def _settled(
    frame: StackFrame, best: _Reading, rival: _Reading | None = None
) -> StackFrame:
    """The frame that a frame is by the best of its readings."""
    if best.frame is frame and rival is None and not frame.others:
        return frame
    own = best.frame
    # fmt: off
    return tuple.__new__(StackFrame, (  # there are many, so in the order of the fields
        frame.text, own.module, own.address, own.base, frame.is_return, own.symbol,
        own.plus, own.trust, frame.may_be_exact, frame.may_return, own.function_size,
        (), own.is_guess, frame.is_counter, frame.line,
        "" if rival is None else rival.doubt, *frame[_PLACE:],
    ))
    # fmt: on


def _is_list(parts: Sequence[str | StackFrame], frames: Sequence[StackFrame]) -> bool:
    """Whether a line only has addresses: each is a frame, none explains another."""
    if len(frames) == 1 or any(each.is_guess for each in frames):
        return False
    ends = next(at for at in range(len(parts), 0, -1) if parts[at - 1] is frames[-1])
    texts = (each if isinstance(each, str) else each.text for each in parts[:ends])
    return not NO_NUMBERS.search(" ".join(texts))


def _is_same(one: StackFrame, other: StackFrame) -> bool:
    return one.module == other.module and (
        one.address == other.address or one.base != other.base
    )


def _joined(
    parts: Sequence[str | StackFrame], kept: Sequence[StackFrame | None]
) -> Iterator[str | StackFrame]:
    """Parts with their frames, or with the texts of those that are none."""
    several = iter(kept)
    replaced: list[str | StackFrame] = []
    for part in parts:
        if isinstance(part, str):
            replaced.append(part)
        else:
            frame = next(several)
            replaced.append(part.text if frame is None else frame)
    for is_text, run in groupby(replaced, lambda each: isinstance(each, str)):
        if is_text:
            yield "".join(map(str, run))
        else:
            yield from run
