"""The elements of a line: read, with what is wrong with them told, and taken in."""

from __future__ import annotations

from gsym.engine.native import to_bytes
from gsym.markup.address_space import ContextError
from gsym.markup.parser import Fault, Mmap, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from gsym.markup.address_space import AddressSpace
    from gsym.markup.answers import Answer
    from gsym.markup.contextual_elements import ContextualElements
    from gsym.markup.elements import Element
    from gsym.markup.failures import Failures
    from gsym.markup.outputs import Output
    from gsym.markup.parser import Token
    from gsym.markup.presentation_elements import PresentationElements
    from gsym.markup.styles import Style

_CONTEXTUAL = frozenset({b"mmap", b"reset", b"module"})


class LineElements:
    """Reads the elements of the lines of one process.

    Args:
        style: The rules.
        space: What is loaded where.
        context: Takes contextual elements in.
        presentation: Looks the others up.
        failures: Is told what is wrong.
        output: Hears of contextual and malformed elements.

    Attributes:
        line: The one that elements are of, with its end.
        prefix: Its beginning that names the process; b"" without one.
    """

    def __init__(  # noqa: PLR0913 - who has a part in it
        self,
        style: Style,
        *,
        space: AddressSpace,
        context: ContextualElements,
        presentation: PresentationElements,
        failures: Failures,
        output: Output,
    ) -> None:
        self.line = self.prefix = b""
        self._style = style
        self._space = space
        self._context = context
        self._failures = failures
        self._output = output
        self._presentation = presentation
        self.answer = presentation.answer

    @property
    def ending(self) -> bytes:
        """How lines end that are made of it."""
        return b"\r\n" if self.line.endswith(b"\r\n") else b"\n"

    def close_module_line(self) -> None:
        """End the line on a module that waits for more of its segments."""
        self._context.close_line(self.ending)

    def decode(self, token: Token) -> Element | None:
        """What an element says; None: it is none, or malformed."""
        if token.tag not in self._style.elements:
            return None
        return self._decode(token, None)

    def present(
        self, element: Element, token: Token, between: bytes, notes: list[bytes]
    ) -> tuple[bytes, Answer | None]:
        """What stands in place of an element, as `PresentationElements` has it."""
        return self._presentation.present(element, token, self.line, between, notes)

    def take(
        self, token: Token, put_before: Callable[[], object] = lambda: None
    ) -> bytes | None:
        """Take a contextual element in.

        Args:
            token: The element.
            put_before: Prints what is in front of it, before what it prints; by default
                that comes with its line.

        Returns:
            What takes its place; None: it is malformed, or does not fit what came
            before.
        """
        # Without a list of segments, an unknown module is told in the log.
        known = self._space.modules if self._style.lists_segments else None
        element = self._decode(token, known)
        if element is None:
            return None
        place = token.start + len(token.tag) + 4
        try:
            said = self._context.take(
                element, token, self.ending, self.prefix, put_before
            )
        except ContextError as error:
            fault = Fault(to_bytes(str(error)), place)
            self._failures.add(fault, self.line)
            self._output.malformed(token, fault)
            return None
        for remark in self._space.remarks if isinstance(element, Mmap) else ():
            warning = Fault(to_bytes(remark), place, is_warning=True)
            self._failures.add(warning, self.line)
        self._output.context(token, element)
        return said

    def _decode(self, token: Token, modules: Container[int] | None) -> Element | None:
        faults: list[Fault] = []
        element = decode(token, self._style.dialect, faults, modules)
        for fault in faults:
            self._failures.add(fault, self.line)
        if element is None and faults:
            self._output.malformed(token, faults[-1])
        return element


def is_contextual(token: Token) -> bool:
    """Whether an element says what is loaded."""
    return token.tag in _CONTEXTUAL
