"""Presentation elements and dumps: what stands in their place."""

from __future__ import annotations

from gsym.engine.demangling import demangle_bytes, demangle_type
from gsym.engine.native import to_bytes
from gsym.markup.answers import Answer, answer_address
from gsym.markup.elements import Backtrace, Data, DumpFile, HexDict, Pc, Symbol
from gsym.markup.parser import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.markup.address_space import AddressSpace
    from gsym.markup.element_text import ElementText
    from gsym.markup.elements import Element
    from gsym.markup.failures import Failures
    from gsym.markup.parser import Token
    from gsym.markup.settings import FilterSettings
    from gsym.markup.symbols import Symbols


class PresentationElements:
    """Looks up what elements of one process stand for.

    Args:
        settings: How the log is filtered.
        symbols: Those of the modules.
        failures: Is told what cannot be resolved.
        space: What is loaded where.
        text: Words it.
    """

    def __init__(
        self,
        settings: FilterSettings,
        symbols: Symbols,
        failures: Failures,
        space: AddressSpace,
        text: ElementText,
    ) -> None:
        self._settings = settings
        self._style = settings.style
        self._symbols = symbols
        self._failures = failures
        self._space = space
        self._text = text

    def present(
        self,
        element: Element,
        token: Token,
        line: bytes,
        between: bytes,
        notes: list[bytes],
    ) -> tuple[bytes, Answer | None]:
        """What stands in place of an element, and what it is made of.

        Args:
            element: It.
            token: As it stands in the log.
            line: That it is on, for messages.
            between: Stands between the frames of inlined calls.
            notes: Gets what goes behind the line.
        """
        if isinstance(element, Symbol):
            demangled = demangle_type if self._style.has_types else demangle_bytes
            return self._text.plain(demangled(to_bytes(element.name))), None
        if isinstance(element, HexDict):
            from gsym.markup.hexdict import annotate

            text, added, values = annotate(
                to_bytes(element.text),
                self._look_up_value,
                self._text.place,
                self._settings.hexdict,
            )
            notes += added
            return text, Answer(element, values=values)
        if isinstance(element, DumpFile):
            shown = self._settings.on_dump(element, self._space, self._symbols)
            return (self._text.raw(token) if shown is None else shown), None
        if isinstance(element, (Backtrace, Pc, Data)):
            return self._present_address(element, token, line, between)
        return token.text, None

    def answer(self, element: Backtrace | Pc | Data) -> Answer:
        """What is at the address of an element; it is counted where that is nothing."""
        is_return = self._style.adjusts_plain_pc
        answer = answer_address(
            element, self._space, self._symbols, adjusts_plain_pc=is_return
        )
        if not answer.frames and answer.variable is None:
            self._failures.count(answer)
        return answer

    def _present_address(
        self, element: Backtrace | Pc | Data, token: Token, line: bytes, between: bytes
    ) -> tuple[bytes, Answer]:
        style, answer = self._style, self.answer(element)
        if not answer.frames and answer.variable is None:
            if style.tells_each_failure and answer.segment is None:
                place = token.start + len(token.tag) + 4
                self._failures.add(Fault(b"no mmap covers address", place), line)
            elif style.tells_each_failure and not _is_there(answer):
                self._failures.add_missing_module()
                return self._text.raw(token), answer
        return self._text.answer(answer, token, between), answer

    def _look_up_value(self, address: int) -> Answer:
        """What is at an address that may be of code or of data."""
        segment = self._space.find(address)
        kinds = Pc(address, "pc"), Data(address)
        is_code = segment is not None and b"x" in segment.mode
        answers = (
            answer_address(each, self._space, self._symbols, adjusts_plain_pc=False)
            for each in (kinds if is_code else kinds[::-1])
        )
        first = next(answers)
        if segment is None or first.frames or first.variable:
            return first
        second = next(answers)
        return second if second.frames or second.variable else first


def _is_there(answer: Answer) -> bool:
    return answer.symbols is None or answer.symbols.is_there
