"""The answers to the frames of a report, as columns.

A report of hundreds of thousands of frames is printed from these. A `ReportFrame` is
made when somebody asks for it.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate, compress
from operator import add, not_, sub

from gsym.memory.stack_parts import taken
from gsym.model import Frame
from gsym.reports.report import MOST_INDENT, CallLines, ReportFrame

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from gsym.reading.reader import Reader
    from gsym.reports.judgement import Frames

_MOST_CALLS = 200  # inlined calls of one frame, the innermost


class Answers(Sequence[ReportFrame]):
    """The answers to the frames of a report.

    Attributes:
        frames: The frames.
        begins: For each the first row of its calls, innermost first.
        ends: The row after the last one; 0 without calls.
        offsets: As of `ReportFrame`.
        reasons: By index, where something else is to be said than what is in doubt.
        folded: By index, as of `ReportFrame`.
        rows: The calls as columns: names, directories and names of files, and the
            other fields of `Frame`.
    """

    def __init__(self, frames: Frames) -> None:
        self.frames = frames
        count = len(frames.kinds)
        self.begins: array[int] = array("I", bytes(4 * count))
        self.ends: array[int] = array("I", bytes(4 * count))
        self.offsets: array[int] = array("Q", bytes(8 * count))
        self.reasons: dict[int, str] = {}
        self.folded: dict[int, str] = {}
        self.rows: tuple[Any, ...] = [], [], array("I"), array("Q"), array("B")
        self._made: dict[object, ReportFrame] = {}  # frames that are equal share one

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, at: Any) -> Any:
        frames, span = self.frames, (self.begins[at], self.ends[at])
        number, text, address = frames.kinds[at], frames.text(at), frames.addresses[at]
        kind, is_answered = frames.known[number], span[1] > 0
        is_return = bool(frames.returns[at]) and is_answered
        reason, folded = self.reasons.get(at, kind.doubt), self.folded.get(at, "")
        key = number, text, address, span, is_return, reason, folded
        made = self._made.get(key)
        if made is None:
            offset = self.offsets[at] if is_answered else None
            place = text, kind.module, address, kind.symbol, self.calls(*span), offset
            made = ReportFrame(*place, reason, is_return, kind.trust, (), folded)
            self._made[key] = made
        return made

    def calls(self, begin: int, end: int) -> tuple[Frame, ...]:
        """The calls in some rows."""
        rows = zip(*(each[begin:end] for each in self.rows), strict=True)
        return tuple(
            [
                Frame._make((name, *file, *numbers, bool(is_inlined)))
                for name, file, *numbers, is_inlined in rows
            ]
        )

    def replace(self, at: int, calls: Iterable[Frame]) -> None:
        """Let a frame have other calls."""
        self.begins[at] = len(self.rows[0])
        for name, directory, filename, *others in calls:
            row = name, (directory, filename), *others
            for column, each in zip(self.rows, row, strict=True):
                column.append(each)
        self.ends[at] = len(self.rows[0])

    def unsure(self) -> Iterator[ReportFrame]:
        """See `Report.unsure_frames`."""
        unsure = {*self.reasons, *self.folded}
        if 0 in self.ends:
            unsure.update(at for at, end in enumerate(self.ends) if not end)
        doubts = {at for at, kind in enumerate(self.frames.known) if kind.doubt}
        if doubts:
            kinds = enumerate(self.frames.kinds)
            unsure.update(at for at, kind in kinds if kind in doubts)
        return map(self.__getitem__, sorted(unsure))

    def function(self, at: int) -> str:
        """The name of the function of a frame; "" without calls."""
        end = self.ends[at]
        return self.rows[0][end - 1] if end else ""

    def look_up(
        self, reader: Reader, asked: array[int], *, by: bool
    ) -> tuple[Sequence[array[int]], set[int]]:
        """Find the calls at addresses.

        Args:
            reader: The file.
            asked: The addresses, each once.
            by: Bytes from there to the address where the instruction ends.

        Returns:
            For each address its rows, as of `begins` and `ends`, and how many
            characters these have; where the functions start.
        """
        found = reader.lookup_many(asked, misses=False)
        if (damage := found.damage) is not None:
            raise damage
        first = len(self.rows[0])
        names = [*map(found.tables.strings.__getitem__, found.name)]
        files = [*map(found.tables.files.__getitem__, found.path)]
        offsets = array("Q", found.offset.tobytes())
        shown = [each + 1 for each in offsets] if by else offsets
        columns = names, files, found.line, shown, found.inlined
        for column, own in zip(self.rows, columns, strict=True):
            column.extend(own)
        # The last row of an address is that of the function itself.
        are_last = map(not_, found.inlined)
        ends = array("I", compress(range(1, len(names) + 1), are_last))
        begins = array("I", [0, *ends[:-1]])[: len(ends)]
        sizes = map(add, map(len, names), map(len, map("".join, files)))
        until = array("Q", accumulate(sizes, initial=0))
        characters = map(sub, taken(until, ends), taken(until, begins))
        numbers = taken(array("I", found.address_index.tobytes()), begins)
        before = taken(offsets, array("I", [each - 1 for each in ends]))
        starts = {*map(sub, map(asked.__getitem__, numbers), before)}
        rows = [array("Q", bytes(8 * len(asked))) for _ in range(3)]
        all_begins, all_ends, all_sizes = rows
        several = zip(numbers, begins, ends, characters, strict=True)
        for number, begin, end, size in several:
            span = first + begin, first + end
            if end - begin > _MOST_CALLS + 1:
                span = self._shortened(*span)
            all_begins[number], all_ends[number] = span
            all_sizes[number] = size
        return rows, starts

    def _shortened(self, begin: int, end: int) -> tuple[int, int]:
        """New rows of a span that has many: the first of them and the last."""
        for column in self.rows:
            column.extend([*column[begin : begin + _MOST_CALLS], column[end - 1]])
        last = len(self.rows[0])
        return last - _MOST_CALLS - 1, last

    def texts(
        self, modules: Sequence[str], indent: Callable[[str], str]
    ) -> Iterator[str]:
        """The text before each frame with its answer, then the rest of the report.

        Args:
            modules: The names of the modules.
            indent: As of `Report.texts`.
        """
        frames, texts = self.frames, self.frames.texts()
        places = [modules[each.module] if modules else "" for each in frames.known]
        doubts = [" [ambiguous]" if each.doubt else "" for each in frames.known]
        lines = CallLines().rows(*self.rows)
        columns = frames.kinds, self.begins, self.ends, self.offsets, texts
        others = {*self.reasons, *self.folded}
        start = last = ""  # of the current line: its begin, and the frame before
        for at, (kind, begin, end, offset, (before, text)) in enumerate(
            zip(*columns, strict=False)
        ):
            if "\n" in before:
                start = before
            else:
                start = _begin_of_line(f"{start}{last}{before}")
            last = text
            if not end:
                yield before + text
                continue
            other, doubt = "", doubts[kind]
            if at in others:
                other = f"; {self.folded[at]}" if self.folded.get(at) else ""
                doubt = " [ambiguous]" if at in self.reasons else doubt
            if end - begin > 1:
                between = f"\n{indent(_begin_of_line(start))}"
                before += between.join((*lines[begin : end - 1], ""))  # noqa: PLW2901
            place = f"{places[kind]}+{offset:#x}{other}"
            yield f"{before}{lines[end - 1]} ({place}){doubt}"
        yield next(texts)[0]


def _begin_of_line(text: str) -> str:
    return text.rpartition("\n")[2][:MOST_INDENT]


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
