"""What becomes of a filtered log: text."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from typing_extensions import Buffer

    from gsym.markup.answers import Answer
    from gsym.markup.element_runs import ElementRun
    from gsym.markup.elements import Element
    from gsym.markup.parser import Fault, Token

    class Output(Protocol):
        """Takes what comes out of a filter, in order."""

        @property
        def run(self) -> Callable[[Buffer], object] | None:
            """Takes lines with what stands in place of their elements, many at once.

            They are gone when it returns. None: each element has to come by itself.
            """

        @property
        def element_run(self) -> Callable[[ElementRun], object] | None:
            """Takes lines with answers to their elements, many at once.

            None: it takes them as text, or each by itself.
            """

        def begin_line(self, number: int, line: bytes, process: bytes | None) -> None:
            """What comes is of a line of the log; told where runs are not taken.

            Args:
                number: From 1.
                line: All of it; of an element that goes over several lines, these;
                    b"" where several may come at once.
                process: What tells the process that it is of; None: nothing does.
            """

        def text(self, text: bytes, /) -> object:
            """Text of the log, or lines on its modules."""

        def element(
            self, token: Token, element: Element, shown: bytes, answer: Answer | None
        ) -> None:
            """An element: as it stands in the log, what it says, what is shown."""

        def context(self, token: Token, element: Element) -> None:
            """A contextual element that was taken in."""

        def malformed(self, token: Token, fault: Fault) -> None:
            """An element that says nothing, and why; its text comes as well, or not."""

        def take(self) -> bytes:
            """What has come since the last time."""


MOST_HELD = 1 << 16  # bytes of what is to be written


class TextOutput:
    """The log as text."""

    element_run = None

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.text: Callable[[bytes], object] = self._parts.append
        self.run: Callable[[Buffer], object] | None = self._add_copy

    def begin_line(self, _number: int, _line: bytes, _process: bytes | None) -> None:
        """Lines need no numbers."""

    def element(
        self, _token: Token, _element: Element, shown: bytes, _answer: Answer | None
    ) -> None:
        """Text in place of an element."""
        self.text(shown)

    def context(self, _token: Token, _element: Element) -> None:
        """The line on the module says all."""

    def malformed(self, _token: Token, _fault: Fault) -> None:
        """It is told elsewhere."""

    def take(self) -> bytes:
        """What has come since the last time."""
        text = b"".join(self._parts)
        self._parts.clear()
        return text

    def _add_copy(self, text: Buffer) -> None:
        self._parts.append(bytes(text))


class WrittenOutput(TextOutput):
    """The log as text, which goes out before it becomes large.

    Args:
        write: Writes all that it gets before it returns.
    """

    def __init__(self, write: Callable[[Buffer], object]) -> None:
        super().__init__()
        self._write = write
        self._held = 0  # bytes of runs and elements
        self.run = self._take_run

    def element(
        self, _token: Token, _element: Element, shown: bytes, _answer: Answer | None
    ) -> None:
        """Text in place of an element."""
        self.text(shown)
        self._held += len(shown)
        if self._held >= MOST_HELD:
            self._write(self.take())

    def take(self) -> bytes:
        """What has come since the last time and is not written."""
        self._held = 0
        return super().take()

    def _take_run(self, text: Buffer) -> None:
        self._held += memoryview(text).nbytes
        if self._held < MOST_HELD:
            self._add_copy(text)
            return
        if self._parts:
            self._write(self.take())
        self._held = 0
        self._write(text)
