"""The forms of a filtered log; the first of them is text."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from gsym.markup.answers import Answer
    from gsym.markup.elements import Element
    from gsym.markup.parser import Fault, Token

MAX_HELD = 1 << 16  # bytes that wait to be written


class Output:
    """The log as text; subclasses have the other forms.

    It gets the parts of the log in order, and keeps them until somebody takes them, or
    writes them before they become large.

    Args:
        write: Writes all that it gets before it returns; None: all is kept.

    Attributes:
        form: Also that of the engine, which answers runs of lines: "text", "json" or
            "html".
        quoted: Makes a text fit for the form; None: it is.
        counts_lines: Whether `begin_line` is called.
    """

    form = "text"
    quoted: Callable[[bytes], bytes] | None = None
    counts_lines = False

    def __init__(self, write: Callable[[Buffer], object] | None = None) -> None:
        self._write = write
        self._parts: list[bytes] = []
        self._held = 0  # bytes of these

    def run(self, text: Buffer) -> None:
        """Lines as the engine has answered them; they are gone when this returns."""
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
        """The parts that follow are of a line of the log.

        Args:
            number: From 1.
            line: All of it; of an element that goes over several lines, these.
            process: The key of its process; None: there is none.
        """

    def text(self, text: bytes) -> None:
        """Text of the log, or lines on its modules."""
        self.put(text)

    def element(
        self, _token: Token, _element: Element, shown: bytes, _answer: Answer | None
    ) -> None:
        """An element: as written in the log, its record, the text in its place."""
        self.put(shown)

    def context(self, token: Token, element: Element) -> None:
        """A contextual element that was taken in; its line on the module is text."""

    def malformed(self, token: Token, fault: Fault) -> None:
        """An element that says nothing, and why; its text comes as well, or not."""

    def put(self, text: bytes) -> None:
        """Keep a part of what comes out."""
        self._parts.append(text)
        self._held += len(text)
        if self._held >= MAX_HELD and self._write is not None:
            self._write(self.take())

    def take(self) -> bytes:
        """All that is kept."""
        text = b"".join(self._parts)
        self._parts.clear()
        self._held = 0
        return text
