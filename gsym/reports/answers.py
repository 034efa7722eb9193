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
from gsym.model import UINT64_MAX, Frame
from gsym.reports.report import MOST_INDENT, CallLines, ReportFrame

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Any

    from gsym.reading.reader import Reader
    from gsym.reports.judgement import Frames

_MOST_CALLS = 200  # inlined calls of one frame, the innermost


class Answers(Sequence[ReportFrame]):
    """The answers to the frames of a report.

    Attributes:
        frames: The frames.
        numbers: For each its answer; 0 without calls.
        begins: For each answer the first row of its calls, innermost first.
        ends: The row after the last one.
        offsets: As of `ReportFrame`.
        sizes: How many characters the names and paths of its calls have.
        reasons: By index, where something else is to be said than what is in doubt.
        folded: By index, as of `ReportFrame`.
        rows: The calls as columns: names, directories and names of files, and the
            other fields of `Frame`.
    """

    def __init__(self, frames: Frames) -> None:
        self.frames = frames
        self.numbers: array[int] = array("I", bytes(4 * len(frames.kinds)))
        self.begins: array[int] = array("I", [0])
        self.ends: array[int] = array("I", [0])
        self.offsets: array[int] = array("Q", [0])
        self.sizes: array[int] = array("Q", [0])
        self.reasons: dict[int, str] = {}
        self.folded: dict[int, str] = {}
        self.rows: tuple[Any, ...] = [], [], array("I"), array("Q"), array("B")
        self._made: dict[object, ReportFrame] = {}  # frames that are equal share one

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, at: Any) -> Any:
        frames, number = self.frames, self.numbers[at]
        kind, text, address = frames.kinds[at], frames.text(at), frames.addresses[at]
        known, is_return = frames.known[kind], bool(frames.returns[at] and number)
        reason, folded = self.reasons.get(at, known.doubt), self.folded.get(at, "")
        key = kind, text, address, number, is_return, reason, folded
        made = self._made.get(key)
        if made is None:
            offset = self.offsets[number] if number else None
            calls = self.calls(self.begins[number], self.ends[number])
            place = text, known.module, address, known.symbol, calls, offset
            made = ReportFrame(*place, reason, is_return, known.trust, (), folded)
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
        before = self.numbers[at]
        self.numbers[at] = len(self.ends)
        self.offsets.append(self.offsets[before])
        self.sizes.append(self.sizes[before])
        self.begins.append(len(self.rows[0]))
        for name, directory, filename, *others in calls:
            row = name, (directory, filename), *others
            for column, each in zip(self.rows, row, strict=True):
                column.append(each)
        self.ends.append(len(self.rows[0]))

    def unsure(self) -> Iterator[ReportFrame]:
        """See `Report.unsure_frames`."""
        unsure = {*self.reasons, *self.folded, *self.missing()}
        doubts = {at for at, kind in enumerate(self.frames.known) if kind.doubt}
        if doubts:
            kinds = enumerate(self.frames.kinds)
            unsure.update(at for at, kind in kinds if kind in doubts)
        return map(self.__getitem__, sorted(unsure))

    def function(self, at: int) -> str:
        """The name of the function of a frame; "" without calls."""
        number = self.numbers[at]
        return self.rows[0][self.ends[number] - 1] if number else ""

    def of_functions(self, names: Collection[str]) -> Iterable[int]:
        """The frames with an answer whose functions have one of some names."""
        ends = enumerate(self.ends)
        answers = {at for at, end in ends if end and self.rows[0][end - 1] in names}
        numbers = enumerate(self.numbers if answers else ())
        return [at for at, number in numbers if number in answers]

    def missing(self) -> Iterable[int]:
        """The frames without calls."""
        numbers = enumerate(self.numbers if 0 in self.numbers else ())
        return [at for at, number in numbers if not number]

    def look_up(
        self, reader: Reader, links: Collection[int], base: int, *, by: int
    ) -> tuple[Sequence[int], Iterable[int]]:
        """Find the calls at addresses.

        Args:
            reader: The file.
            links: The link-time addresses, each once.
            base: What offsets count from.
            by: 1 for return addresses: the calls are those one byte before.

        Returns:
            For each address the number of its answer, or 0; where functions start.
        """
        asked = array("Q", [max(each - by, 0) for each in links])
        found = reader.lookup_many(asked, misses=False)
        if (damage := found.damage) is not None:
            raise damage
        first = len(self.rows[0])
        names = [*map(found.tables.strings.__getitem__, found.name)]
        files = [*map(found.tables.files.__getitem__, found.path)]
        offsets = array("Q", found.offset.tobytes())
        shown = [each + 1 for each in offsets] if by else offsets
        columns = names, files, found.line, shown, found.inlined
        for column, values in zip(self.rows, columns, strict=True):
            column.extend(values)
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
        self.sizes.extend(characters)
        answers = array("I", bytes(4 * len(asked)))
        spans = zip(numbers, begins, ends, strict=True)
        for answer, (number, begin, end) in enumerate(spans, len(self.ends)):
            span = first + begin, first + end
            if end - begin > _MOST_CALLS + 1:
                span = self._shortened(*span)
            self.begins.append(span[0])
            self.ends.append(span[1])
            self.offsets.append(asked[number] + by - base & UINT64_MAX)
            answers[number] = answer
        return answers, starts

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
        ends = [")" + " [ambiguous]" * bool(each.doubt) for each in frames.known]
        lines = CallLines().rows(*self.rows)
        shown: dict[int, list[str]] = {}  # by answer
        columns = frames.kinds, self.numbers, texts
        others = {*self.reasons, *self.folded}
        start = last = ""  # of the current line: its begin, and the frame before
        for at, (kind, number, (before, text)) in enumerate(
            zip(*columns, strict=False)
        ):
            if "\n" in before:
                start = before
            else:
                start = _begin_of_line(f"{start}{last}{before}")
            last = text
            if not number:
                yield before + text
                continue
            answer, end = shown.get(number), ends[kind]
            if answer is None:
                begin, stop = self.begins[number], self.ends[number]
                answer = shown[number] = lines[begin:stop]
                answer[-1] += f" ({places[kind]}+{self.offsets[number]:#x}"
            if at in others:
                other = f"; {self.folded[at]}" if self.folded.get(at) else ""
                doubt = " [ambiguous]" * (at in self.reasons)
                end = f"{other}){doubt}" if doubt else f"{other}{end}"
            if len(answer) > 1:
                between = f"\n{indent(_begin_of_line(start))}"
                yield f"{before}{between.join(answer)}{end}"
            else:
                yield f"{before}{answer[0]}{end}"
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
