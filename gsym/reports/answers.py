"""The answers to the frames of a report, as columns.

A report of hundreds of thousands of frames is printed from these. A `ReportFrame` is
made when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from gsym.model import Frame
from gsym.reports.report import (
    CallLines,
    ReportFrame,
    answer_text,
    indented,
    line_after,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.reading.reader import Reader
    from gsym.reports.judgement import Frames

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
    """

    def __init__(self, frames: Frames) -> None:
        self.frames = frames
        self.spans: list[Span | None] = [None] * len(frames.kinds)
        self.offsets: list[int] = [0] * len(frames.kinds)
        self.reasons: dict[int, str] = {}
        self._changed: dict[int, ReportFrame] = {}
        self._made: dict[object, ReportFrame] = {}  # frames that are equal share one
        # the fields of `Frame`, each as a column
        self._rows: list[list[Any]] = [[] for _ in Frame._fields]

    def __len__(self) -> int:
        return len(self.spans)

    def __setitem__(self, at: int, frame: ReportFrame) -> None:
        self._changed[at] = frame

    def __getitem__(self, at: Any) -> Any:
        if at in self._changed:
            return self._changed[at]
        frames, span = self.frames, self.spans[at]
        number, text, own = frames.kinds[at], frames.texts[at], frames.addresses[at]
        kind, is_return = frames.known[number], frames.returns[at] and span is not None
        reason = self.reasons.get(at, kind.doubt)
        key = number, text, own, span, is_return, reason
        made = self._made.get(key)
        if made is None:
            calls = () if span is None else self._calls(span)
            offset = None if span is None else self.offsets[at]
            place = text, kind.module, own, kind.symbol, calls, offset
            # There are many, so in the order of the fields.
            made = _new(ReportFrame, (*place, reason, is_return, kind.trust, (), ""))
            self._made[key] = made
        return made

    def _calls(self, span: Span) -> tuple[Frame, ...]:
        """The calls in some rows."""
        rows = zip(*(each[slice(*span)] for each in self._rows), strict=True)
        return tuple([_new(Frame, row) for row in rows])

    def unsure(self) -> Iterator[ReportFrame]:
        """See `Report.unsure_frames`."""
        doubts = [each.doubt for each in self.frames.known]
        for at, (span, kind) in enumerate(
            zip(self.spans, self.frames.kinds, strict=True)
        ):
            if (
                span is None
                or doubts[kind]
                or at in self.reasons
                or at in self._changed
            ):
                yield self[at]

    def function(self, at: int) -> str:
        """The name of the function of a frame; "" without calls."""
        span = self.spans[at]
        return "" if span is None else self._rows[0][span[1] - 1]

    def look_up(
        self, reader: Reader, asked: Sequence[int], *, by: bool
    ) -> tuple[list[Span | None], list[int], set[int]]:
        """Find the calls at addresses.

        Args:
            reader: The file.
            asked: The addresses, each once.
            by: Bytes from there to the address where the instruction ends.

        Returns:
            The rows of each address, the characters in these, the starts of functions.
        """
        frames = reader.lookup_many(asked, misses=False)
        if (damage := frames.damage) is not None:
            raise damage
        offsets, inlined = frames.offset.tolist(), frames.inlined.tolist()
        names = [*map(frames.tables.strings.__getitem__, frames.name)]
        paths = [*map(frames.tables.files.__getitem__, frames.path)]
        folders, files = [each[0] for each in paths], [each[1] for each in paths]
        shown = [each + 1 for each in offsets] if by else offsets
        first, rows = len(self._rows[0]), self._rows
        lines = frames.line.tolist()
        own: Sequence[list[Any]] = names, folders, files, lines, shown, inlined
        for column, several in zip(rows, own, strict=True):
            column.extend(several)
        texts = zip(names, folders, files, strict=True)
        sizes = [0, *accumulate([sum(map(len, each)) for each in texts])]
        spans: list[Span | None] = [None] * len(asked)
        sizes_of, starts, begin = [0] * len(asked), set[int](), 0
        numbers = frames.address_index.tolist()
        for end in [at for at, each in enumerate(inlined, 1) if not each]:
            number = numbers[begin]
            starts.add(asked[number] - offsets[end - 1])
            sizes_of[number] = sizes[end] - sizes[begin]
            spans[number] = first + begin, first + end
            if end - begin - 1 > _MOST_CALLS:
                spans[number] = self._shortened(first + begin, first + end)
            begin = end
        return spans, sizes_of, starts

    def _shortened(self, begin: int, end: int) -> Span:
        """New rows with the first of some others, and the last one."""
        for column in self._rows:
            column += [*column[begin : begin + _MOST_CALLS], column[end - 1]]
        last = len(self._rows[0])
        return last - _MOST_CALLS - 1, last

    def texts(self, modules: Sequence[str]) -> Iterator[str]:
        """The text of each part of the report, as `Report.answers` has it.

        Args:
            modules: The names of its modules.
        """
        frames, lines = self.frames, CallLines()
        shown = lines.rows(*self._rows)
        places = [modules[each.module] if modules else "" for each in frames.known]
        doubts = [" [ambiguous]" if each.doubt else "" for each in frames.known]
        others = {*self.reasons, *self._changed}
        known = 0, ""  # a frame, and the start of its line
        columns = frames.befores, frames.texts, frames.kinds, self.spans, self.offsets
        for at, (before, text, kind, span, offset) in enumerate(
            zip(*columns, strict=True)
        ):
            if before:
                yield before
            if span is None:
                yield text
                continue
            begin, end = span
            answer, between = shown[begin], ""
            if end - begin > 1:
                known = at, frames.line_before(at, known)
                between = f"\n{indented(line_after(known[1], before))}"
                answer = between.join(shown[begin:end])
            if at in others:
                yield answer_text(self[at], places[kind], between, lines)
            else:
                yield f"{answer} ({places[kind]}+{offset:#x}){doubts[kind]}"
        if frames.rest:
            yield frames.rest


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
