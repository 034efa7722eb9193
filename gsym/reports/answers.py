"""The answers to the frames of a report, as columns.

A report of hundreds of thousands of frames is printed from these. A `ReportFrame` is
made when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, repeat
from operator import add, sub

from gsym.model import Frame
from gsym.reports.report import CallLines, ReportFrame

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gsym.reading.reader import Reader
    from gsym.reports.judgement import Frames
    from gsym.reports.report import Shown

    Span = tuple[int, int]
    """The first of some rows, and the row after the last."""

_MOST_CALLS = 200  # inlined calls of one frame, the innermost
_new = tuple.__new__


class Answers(Sequence[ReportFrame]):
    """The answers to the frames of a report.

    Attributes:
        frames: The frames.
        spans: For each the rows of its calls, innermost first; None without calls.
        offsets: As of `ReportFrame`.
        reasons: By index, where something else is to be said than what is in doubt.
        folded: By index, as of `ReportFrame`.
        rows: The calls: the fields of `Frame`, each as a column.
    """

    def __init__(self, frames: Frames) -> None:
        self.frames = frames
        self.spans: list[Span | None] = [None] * len(frames.kinds)
        self.offsets: list[int] = [0] * len(frames.kinds)
        self.reasons: dict[int, str] = {}
        self.folded: dict[int, str] = {}
        self.rows: list[list[Any]] = [[] for _ in Frame._fields]
        self._made: dict[object, ReportFrame] = {}  # frames that are equal share one

    def __len__(self) -> int:
        return len(self.spans)

    def __getitem__(self, at: Any) -> Any:
        frames, span = self.frames, self.spans[at]
        number, text, address = frames.kinds[at], frames.texts[at], frames.addresses[at]
        kind, is_return = frames.known[number], frames.returns[at] and span is not None
        reason, folded = self.reasons.get(at, kind.doubt), self.folded.get(at, "")
        key = number, text, address, span, is_return, reason, folded
        made = self._made.get(key)
        if made is None:
            calls = () if span is None else self.calls(span)
            offset = None if span is None else self.offsets[at]
            place = text, kind.module, address, kind.symbol, calls, offset
            made = ReportFrame(*place, reason, is_return, kind.trust, (), folded)
            self._made[key] = made
        return made

    def calls(self, span: Span) -> tuple[Frame, ...]:
        """The calls in some rows."""
        rows = zip(*(each[slice(*span)] for each in self.rows), strict=True)
        return tuple([_new(Frame, row) for row in rows])

    def replace(self, at: int, calls: Iterable[Frame]) -> None:
        """Let a frame have other calls."""
        first = len(self.rows[0])
        for column, fields in zip(self.rows, zip(*calls, strict=True), strict=True):
            column.extend(fields)
        self.spans[at] = first, len(self.rows[0])

    def unsure(self) -> Iterator[ReportFrame]:
        """See `Report.unsure_frames`."""
        unsure = {*self.reasons, *self.folded}
        unsure.update(at for at, span in enumerate(self.spans) if span is None)
        doubts = {at for at, kind in enumerate(self.frames.known) if kind.doubt}
        if doubts:
            kinds = enumerate(self.frames.kinds)
            unsure.update(at for at, kind in kinds if kind in doubts)
        return map(self.__getitem__, sorted(unsure))

    def function(self, at: int) -> str:
        """The name of the function of a frame; "" without calls."""
        span = self.spans[at]
        return "" if span is None else self.rows[0][span[1] - 1]

    def look_up(
        self, reader: Reader, asked: Sequence[int], *, by: bool
    ) -> tuple[dict[int, tuple[Span, int]], Iterable[int]]:
        """Find the calls at addresses.

        Args:
            reader: The file.
            asked: The addresses, each once.
            by: Bytes from there to the address where the instruction ends.

        Returns:
            By address the rows and how many characters these have; where the functions
            start.
        """
        found = reader.lookup_many(asked, misses=False)
        if (damage := found.damage) is not None:
            raise damage
        names = [*map(found.tables.strings.__getitem__, found.name)]
        files = [*map(found.tables.files.__getitem__, found.path)]
        paths = [each[0] for each in files], [each[1] for each in files]
        offsets, inlined = found.offset.tolist(), found.inlined.tolist()
        shown = [each + 1 for each in offsets] if by else offsets
        lines = found.line.tolist()
        columns: Sequence[list[Any]] = names, *paths, lines, shown, inlined
        first = len(self.rows[0])
        for column, fields in zip(self.rows, columns, strict=True):
            column.extend(fields)
        sizes = map(len, names)
        for each in paths:
            sizes = map(add, sizes, map(len, each))
        # The last row of an address is that of the function itself.
        ends = [at for at, each in enumerate(inlined, 1) if not each]
        begins = [0, *ends][: len(ends)]
        numbers, until = found.address_index.tolist(), [0, *accumulate(sizes)]
        answered = [asked[numbers[begin]] for begin in begins]
        found_spans = [*zip(begins, ends, strict=True)]
        spans = [(first + begin, first + end) for begin, end in found_spans]
        if max(map(sub, ends, begins), default=0) > _MOST_CALLS:
            spans = [*map(self._shortened, spans)]
        characters = [until[end] - until[begin] for begin, end in found_spans]
        starts = {
            address - offsets[end - 1]
            for address, end in zip(answered, ends, strict=True)
        }
        rows = zip(spans, characters, strict=True)
        return dict(zip(answered, rows, strict=True)), starts

    def _shortened(self, span: Span) -> Span:
        """A span, of new rows if it has many: with the first of them and the last."""
        begin, end = span
        if end - begin - 1 <= _MOST_CALLS:
            return span
        for column in self.rows:
            column += [*column[begin : begin + _MOST_CALLS], column[end - 1]]
        last = len(self.rows[0])
        return last - _MOST_CALLS - 1, last

    def originals(self) -> Iterator[str]:
        """Texts and frames in order, as they were in the report."""
        frames = self.frames
        pairs = zip(frames.befores, frames.texts, strict=True)
        return chain(chain.from_iterable(pairs), (frames.rest,))

    def shown(self, modules: Sequence[str]) -> Iterator[Shown]:
        """The answer that is shown for each text and frame.

        Args:
            modules: The names of the modules.
        """
        pairs = zip(repeat(None), self._shown(modules), strict=False)
        return chain(chain.from_iterable(pairs), (None,))

    def _shown(self, modules: Sequence[str]) -> Iterator[Shown]:
        frames, lines = self.frames, CallLines().rows(*self.rows)
        places = [modules[each.module] if modules else "" for each in frames.known]
        doubts = [" [ambiguous]" if each.doubt else "" for each in frames.known]
        columns = zip(frames.kinds, self.spans, self.offsets, strict=True)
        others = {*self.reasons, *self.folded}
        for at, (kind, span, offset) in enumerate(columns):
            if span is None:
                yield None
                continue
            begin, end = span
            other, doubt = "", doubts[kind]
            if at in others:
                other = f"; {self.folded[at]}" if self.folded.get(at) else ""
                doubt = " [ambiguous]" if at in self.reasons else doubt
            last = f"{lines[end - 1]} ({places[kind]}+{offset:#x}{other}){doubt}"
            yield last if end - begin == 1 else ((*lines[begin : end - 1], last), ())


class ThreadFrames(Sequence[ReportFrame]):
    """The frames of a thread, made when they are asked for.

    Attributes:
        answers: Those of all threads.
    """

    def __init__(self, answers: Answers, places: Sequence[int]) -> None:
        self.answers = answers
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, at: Any) -> Any:
        return self.answers[self._places[at]]
