"""Logs with symbolizer markup, as far as the page shows it.

`{{{module:..}}}` and `{{{mmap:..}}}` describe the address space, `{{{reset}}}` clears
it, `{{{bt:..}}}` and `{{{pc:..}}}` are addresses. All other elements are text.
"""

from __future__ import annotations

from gsym.markup import parser
from gsym.markup.headings import Headings
from gsym.memory.regions import Region, Regions
from gsym.memory.stack_parts import (
    NO_MODULE,
    StackFrame,
    module_of_build_id,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.memory.stack_parts import StackBuilder

FORM = "symbolizer markup"

_LONGEST_ID = 128  # bytes
_ODD = "surrogatepass"


def add_markup_log(lines: Iterable[str], stack: StackBuilder) -> None:
    """Parse a log."""
    log, headings = _Log(stack), Headings()
    for line in lines:
        if len(line) > stack.limits.line:
            stack.add_text(line)
            continue
        # JSON may contain unpaired surrogates, which are not valid UTF-8.
        raw = line.encode("utf-8", _ODD)
        for start, end in headings.parts(raw, 0, len(raw)):
            log.add(raw[start:end], are_exact=headings.are_exact)


class _Log:
    def __init__(self, stack: StackBuilder) -> None:
        self._stack = stack
        self._images = Regions()
        self._modules: dict[int, int] = {}

    def add(self, raw: bytes, *, are_exact: bool) -> None:
        """Parse a line; *are_exact* as in `Headings`."""
        at = 0
        for token in parser.find_elements(raw, parser.FUCHSIA_DIALECT):
            self._stack.add_text(raw[at : token.start].decode("utf-8", _ODD))
            element = parser.decode(token, parser.FUCHSIA_DIALECT, [], self._modules)
            text = token.text.decode("utf-8", _ODD)
            if isinstance(element, (parser.Backtrace, parser.Pc)):
                self._add_address(text, element, are_exact=are_exact)
            else:
                self._add_element(text, element)
            at = token.end
        self._stack.add_text(raw[at:].decode("utf-8", _ODD))

    def _add_element(self, text: str, element: parser.Element | None) -> None:
        if isinstance(element, parser.Reset):
            self._modules.clear()
            self._images.clear()
        elif isinstance(element, parser.Module):
            if element.id not in self._modules and len(element.build_id) <= _LONGEST_ID:
                named = module_of_build_id(element.name, element.build_id.hex())
                self._modules[element.id] = self._stack.number(named)
        elif isinstance(element, parser.Mmap):
            module, end = self._modules[element.module], element.start + element.size
            self._images.add(Region(element.start, end, module, 0, element.address))
        self._stack.add_text(text)

    def _add_address(
        self, text: str, element: parser.Backtrace | parser.Pc, *, are_exact: bool
    ) -> None:
        is_plain = isinstance(element, parser.Backtrace) and not element.kind
        is_return = element.kind == "ra" or (is_plain and not are_exact)
        found = self._images.region(element.address - is_return)
        if found is None and is_plain:  # no call returns to the begin of a segment
            found = self._images.region(element.address)
            is_return = is_return and found is None
        number = element.frame if isinstance(element, parser.Backtrace) else -1
        frame = StackFrame(text, NO_MODULE, element.address, "link", is_return)
        frame = frame._replace(may_be_exact=is_plain and is_return)
        if found is not None:
            linked = found.address + is_return
            frame = frame._replace(module=found.module, address=linked)
        self._stack.add_frame(frame, FORM, number)
