"""Output formats of a filtered log: the base class writes text."""

from __future__ import annotations

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from gsym.markup.answers import Answer
    from gsym.markup.parser import Element, Fault, Token
    from gsym.markup.stack_lines import AnsweredStack

MAX_HELD = 1 << 16  # bytes that are not written yet


class Output:
    """The log as text; subclasses write other formats.

    It receives the parts of the log in order, and holds them until they are taken, or
    writes them when there are many.

    Args:
        write: Writes all of its argument before it returns; None: hold everything.
    """

    # the format, also for runs of lines that the engine formats: "text", "json" or
    # "html"
    form = "text"
    # escapes a text; None: no escapes are needed
    quoted: Callable[[bytes], bytes] | None = None
    counts_lines = False  # whether `begin_line` is called

    def __init__(self, write: Callable[[Buffer], object] | None = None) -> None:
        self._write = write
        self._parts: list[bytes] = []
        self._held = 0  # bytes of these

    def run(self, text: Buffer) -> None:
        """Lines as the engine formatted them; valid only during this call."""
        size = memoryview(text).nbytes
        if self._write is None or size < MAX_HELD:
            self.put(bytes(text))
        else:
            self._write(self.take())
            self._write(text)

    def process_text(self, _process: bytes | None) -> bytes:
        """The part of an element's text that names its process."""
        return b""

    def begin_line(self, number: int, line: bytes, process: bytes | None) -> None:
        """Begin the parts of a line of the log."""

    def text(self, text: bytes) -> None:
        """Text of the log, or lines about modules."""
        self.put(text)

    def element(
        self, _token: Token, _element: Element, shown: bytes, _answer: Answer | None
    ) -> None:
        """An element: its token and record, the text that replaces it, its lookup."""
        self.put(shown)

    def context(self, token: Token, element: Element) -> None:
        """A contextual element that was applied; the line about the module is text."""

    def malformed(self, token: Token, fault: Fault) -> None:
        """A malformed element and its error; its text may follow."""

    def stack(self, found: AnsweredStack, _number: int, _process: bytes | None) -> None:
        """A stack that is not markup, the number of its first line, the process."""
        self.text(found.text)

    def put(self, text: bytes) -> None:
        """Add output."""
        self._parts.append(text)
        self._held += len(text)
        if self._held >= MAX_HELD and self._write is not None:
            self._write(self.take())

    def take(self) -> bytes:
        """The output so far."""
        text = b"".join(self._parts)
        self._parts.clear()
        self._held = 0
        return text
