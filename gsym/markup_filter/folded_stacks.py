"""Stacks between `reset:begin` and `reset:end`, folded as Fuchsia's symbolizer does.

Its frames are known to be one stack only at its end: they are held back until then, and
all that stands behind them with them.
"""

from __future__ import annotations

from gsym.formats.markup_elements import Backtrace, Reset
from gsym.markup_filter.outputs import TextOutput
from gsym.markup_filter.short_names import scoped_name
from gsym.markup_filter.stack_folds import fold_frames
from gsym.markup_filter.symbols import Location

__all__ = ["FoldedStacks"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.formats.markup import Token
    from gsym.formats.markup_elements import Element
    from gsym.markup_filter.answers import Answer

_MOST_HELD = 1 << 20  # bytes of text, with an allowance for each piece
_PIECE_COST = 256
_NOWHERE = Location()
_EARLY = (
    b"warning: a stack is mixed with other elements; it is shown as far as it came\n"
)


class _HeldFrame:
    """A frame that is held back, and the lines that will stand in its place."""

    def __init__(self, answer: Answer, before: bytes, behind: bytes) -> None:
        self.answer = answer
        self._before = before
        self._behind = behind
        self.lines: list[bytes] = []

    def say(self, text: bytes) -> None:
        self.lines.append(self._before + text + self._behind)


class FoldedStacks(TextOutput):
    """The log as text, with folded stacks.

    Args:
        tell: Takes a message on a stack that is cut short.

    Attributes:
        is_batch: Whether frames are of a stack that will be at its end.
    """

    def __init__(self, tell: Callable[[bytes], object]) -> None:
        super().__init__()
        self._tell = tell
        self.is_batch = False
        self._put = self._parts.append
        self.text = self._text
        self.run = None
        self._held: list[bytes | _HeldFrame] = []
        self._frames: list[_HeldFrame] = []
        self._size = 0

    def context(self, _token: Token, element: Element) -> None:
        """A batch begins or ends; nothing else should come within a stack."""
        is_begin = isinstance(element, Reset) and element.batch == "begin"
        is_end = isinstance(element, Reset) and not is_begin
        if (is_begin and self.is_batch) or (self._frames and not is_end):
            self._tell(_EARLY)
        self.flush()
        if isinstance(element, Reset):
            self.is_batch = is_begin

    def element(
        self, _token: Token, _element: Element, shown: bytes, _answer: Answer | None
    ) -> None:
        """Text in place of an element."""
        self._text(shown)

    def frame(self, answer: Answer, before: bytes, behind: bytes) -> None:
        """A frame of the batch.

        Args:
            answer: What is there.
            before: What stands in front of it on its line.
            behind: What stands behind it, with the end of the line.
        """
        element = answer.element
        if isinstance(element, Backtrace) and element.frame < len(self._frames):
            self.flush()  # another stack
        held = _HeldFrame(answer, before, behind)
        self._frames.append(held)
        self._hold(held, len(before) + len(behind))

    def flush(self) -> None:
        """Print what is held back."""
        _fold(self._frames)
        for each in self._held:
            if isinstance(each, bytes):
                self._put(each)
            else:
                self._put(b"".join(each.lines))
        self._held.clear()
        self._frames.clear()
        self._size = 0

    def _text(self, text: bytes) -> None:
        if self._frames:
            self._hold(text, len(text))
        else:
            self._put(text)

    def _hold(self, piece: bytes | _HeldFrame, size: int) -> None:
        self._held.append(piece)
        self._size += size + _PIECE_COST
        if self._size > _MOST_HELD:
            self.flush()


def _fold(held: list[_HeldFrame]) -> None:
    """Let each frame say its lines; of those that are folded the first one does."""
    places: list[tuple[_HeldFrame, Location, bool]] = []
    for each in held:
        *inlined, outermost = each.answer.frames or (_NOWHERE,)
        places += ((each, frame, False) for frame in inlined)
        places.append((each, outermost, True))
    front = 0  # of those that are not inlined, the first one that has said nothing
    for run in fold_frames([frame for _, frame, _ in places]):
        each, frame, _ = places[run.start]
        text = b"  #%d" % run.start
        if run.description:
            end = run.start + run.length
            text += f"…{end} «{run.description}»".encode()
        else:
            text += _place(each.answer, frame)
        held[front].say(text)
        covered = places[run.start : run.start + run.length]
        front += sum(is_outermost for _, _, is_outermost in covered)


def _place(answer: Answer, frame: Location) -> bytes:
    """What stands behind the number of a frame."""
    text = b""
    if frame.function:
        name, parameters = scoped_name(frame.function)
        brackets = "(…)".encode() if parameters[2:] else parameters
        text += b" " + name + brackets
    if frame.file:
        text += " • ".encode() + b"%s:%d" % (frame.file, frame.line)
    if text:
        return text
    element, segment = answer.element, answer.segment
    address = element.address if isinstance(element, Backtrace) else answer.looked_up
    if segment is None:
        return b" 0x%012x is not covered by any module" % address
    build_id = segment.module.build_id.hex().encode("ascii")
    linked = segment.linked(address)
    return b" 0x%012x %s(%s)+0x%x" % (address, segment.module.name, build_id, linked)
