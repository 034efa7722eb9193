"""A line put together: text of the log, and what stands in place of elements."""

from __future__ import annotations

__all__ = ["LineParts"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.formats.markup import Token
    from gsym.formats.markup_elements import Element
    from gsym.markup_filter.answers import Answer
    from gsym.markup_filter.outputs import Output

    Part = bytes | tuple[Token, Element, bytes, Answer | None]


class LineParts:
    """The parts of one line, from left to right.

    Args:
        line: As it came.
        ending: Ends lines that are made of it.
        splits_frames: Whether a frame ends a line where another element follows.

    Attributes:
        notes: Lines that go behind it.
        has_context: Whether an element was taken out of it.
        has_other: Whether there is any other element.
    """

    def __init__(self, line: bytes, ending: bytes, *, splits_frames: bool) -> None:
        self.notes: list[bytes] = []
        self.has_context = False
        self.has_other = False
        self._line = line
        self._blanks = len(line) - len(line.lstrip(b" \t"))
        self._ending = ending
        self._splits_frames = splits_frames
        self._at = 0
        self._follows_frame = False
        self._parts: list[Part] = []

    def indent(self, token: Token) -> bytes:
        """The blanks in front of an element; b"" where there is anything else."""
        blanks = self._blanks
        return self._line[: token.start] if token.start <= blanks else b""

    def remove(self, token: Token) -> None:
        """Take an element out."""
        self.has_context = True
        self._add_text(token, ends_frame=True)

    def replace(
        self, token: Token, element: Element, shown: bytes, answer: Answer | None
    ) -> None:
        """Put text in place of an element."""
        self.has_other = True
        is_frame = token.tag == b"bt"
        self._add_text(token, ends_frame=is_frame)
        self._parts.append((token, element, shown, answer))
        self._follows_frame = is_frame

    def is_blank(self) -> bool:
        """Whether nothing can be seen of it."""
        texts = (part for part in self._parts if isinstance(part, bytes))
        return not (self.has_other or (b"".join(texts) + self._rest).strip())

    def put(self, output: Output) -> None:
        """Print it."""
        for part in self._parts:
            if isinstance(part, bytes):
                output.text(part)
            else:
                output.element(*part)
        output.text(self._rest)
        if self.notes:
            needs_ending = not self._rest.endswith(b"\n")
            lines = [note + self._ending for note in self.notes]
            output.text(self._ending * needs_ending + b"".join(lines))

    @property
    def _rest(self) -> bytes:
        return self._line[self._at :]

    def _add_text(self, token: Token, *, ends_frame: bool) -> None:
        if self._splits_frames and self._follows_frame and ends_frame:
            self._parts.append(self._ending)
            self._follows_frame = False
        if text := self._line[self._at : token.start]:
            self._parts.append(text)
        self._at = token.end
