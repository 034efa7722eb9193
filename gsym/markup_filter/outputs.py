"""What becomes of a filtered log: text."""

from __future__ import annotations

__all__ = ["TextOutput"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from gsym.formats.markup import Fault, Token
    from gsym.formats.markup_elements import Element
    from gsym.markup_filter.answers import Answer

    class Output(Protocol):
        """Takes what comes out of a filter, in order.

        Attributes:
            takes_runs: Whether many lines may come as text, with what stands in place
                of their elements.
        """

        takes_runs: bool

        def begin_line(self, number: int, line: bytes) -> None:
            """What comes is of a line of the log; told where runs are not taken.

            Args:
                number: From 1.
                line: All of it; of an element that goes over several lines, these.
            """

        def text(self, text: bytes) -> None:
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


class TextOutput:
    """The log as text."""

    takes_runs = True

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.text = self._parts.append

    def begin_line(self, _number: int, _line: bytes) -> None:
        """Lines need no numbers."""

    def element(
        self, _token: Token, _element: Element, shown: bytes, _answer: Answer | None
    ) -> None:
        """Text in place of an element."""
        self._parts.append(shown)

    def context(self, _token: Token, _element: Element) -> None:
        """The line on the module says all."""

    def malformed(self, _token: Token, _fault: Fault) -> None:
        """It is told elsewhere."""

    def take(self) -> bytes:
        """What has come since the last time."""
        text = b"".join(self._parts)
        self._parts.clear()
        return text
