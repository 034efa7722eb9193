"""The results of looking up the addresses of a log."""

from __future__ import annotations

from gsym.markup.parser import Backtrace, Data, Element, Pc
from gsym.model import DAMAGED, UINT64_MAX
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.markup.address_space import AddressSpace, Segment
    from gsym.markup.hexdict import Value
    from gsym.markup.settings import Style
    from gsym.markup.symbols import Location, ModuleSymbols, Symbols


class Answer(NamedTuple):
    """An element and the result of its lookup."""

    element: Element  # the element
    # the address in memory that was looked up: one less than a return address
    looked_up: int = 0
    segment: Segment | None = None  # the segment that contains that address, or None
    linked: int = 0  # its link-time address
    # the symbols of the module; None without a segment
    symbols: ModuleSymbols | None = None
    frames: tuple[Location, ...] = ()  # the frames there, innermost first
    # for data: the name of the variable, and the offset in it
    variable: tuple[bytes, int] | None = None
    values: tuple[Value, ...] = ()  # the values of a dictionary that are addresses

    @property
    def is_known(self) -> bool:
        """Whether there is a symbol at the address."""
        return bool(self.frames) or self.variable is not None

    @property
    def reason(self) -> str:
        """Reason why there is no symbol."""
        if self.symbols is None:
            return "not in any module of the log"
        if isinstance(self.element, Data):
            return self.symbols.reason or self.symbols.no_variable
        is_damaged = self.symbols.damage_at(self.linked)
        return self.symbols.reason or (DAMAGED if is_damaged else NO_SYMBOL)


NO_SYMBOL = "no symbol at this address"


def answer_address(
    element: Backtrace | Pc | Data,
    space: AddressSpace,
    symbols: Symbols,
    style: Style,
    *,
    are_exact: bool,
) -> Answer:
    """Look up the address of an element: the byte before it if calls return there.

    Addresses without a kind are so by the rules of the style, unless the report says
    that they *are_exact*.
    """
    address = looked_up(element, style, are_exact=are_exact)
    weighs = style.weighs_evidence and address != element.address
    if weighs and not isinstance(element, Data) and not element.kind:
        segment = space.find(address)
        if segment is None:  # no call returns to the begin of a segment
            is_exact = space.find(element.address) is not None
        else:
            code = symbols.of(segment.module).code
            is_exact = not code.may_return(segment.linked(address) + 1)
        if is_exact:
            address = element.address
    return answer_at(element, address, space, symbols)


def answer_at(
    element: Backtrace | Pc | Data, address: int, space: AddressSpace, symbols: Symbols
) -> Answer:
    """Look up *address*, which is the exact one of an element."""
    segment = space.find(address)
    if segment is None:
        return Answer(element, address)
    linked = segment.linked(address)
    found = symbols.of(segment.module)
    if isinstance(element, Data):
        variable = found.variable(linked)
        return Answer(element, address, segment, linked, found, variable=variable)
    return Answer(element, address, segment, linked, found, found.frames(linked))


def looked_up(element: Backtrace | Pc | Data, style: Style, *, are_exact: bool) -> int:
    """The address to look up if no code is at hand: 1 less than a return address."""
    is_return = False
    if not isinstance(element, Data):
        plain_is_return = style.adjusts_plain_pc or isinstance(element, Backtrace)
        if are_exact and style.weighs_evidence:
            plain_is_return = False
        is_return = element.kind == "ra" or (not element.kind and plain_is_return)
    return (element.address - is_return) & UINT64_MAX
