"""The results of looking up the addresses of a log."""

from __future__ import annotations

from gsym.markup.elements import Backtrace, Data, Pc
from gsym.model import UINT64_MAX
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.markup.address_space import AddressSpace, Segment
    from gsym.markup.elements import Element
    from gsym.markup.hexdict import Value
    from gsym.markup.symbols import Location, ModuleSymbols, Symbols


class Answer(NamedTuple):
    """An element and the result of its lookup.

    Attributes:
        element: The element.
        looked_up: The address in memory that was looked up: one less than a return
            address.
        segment: The segment that contains that address, or None.
        linked: Its link-time address.
        symbols: The symbols of the module; None without a segment.
        frames: The frames there, innermost first.
        variable: For data: the name of the variable, and the offset in it.
        values: The values of a dictionary that are addresses.
    """

    element: Element
    looked_up: int = 0
    segment: Segment | None = None
    linked: int = 0
    symbols: ModuleSymbols | None = None
    frames: tuple[Location, ...] = ()
    variable: tuple[bytes, int] | None = None
    values: tuple[Value, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether there is a symbol at the address."""
        return bool(self.frames) or self.variable is not None

    @property
    def reason(self) -> str:
        """Why there is no symbol."""
        if self.symbols is None:
            return "not in any module of the log"
        if isinstance(self.element, Data):
            return self.symbols.reason or self.symbols.no_variable
        return self.symbols.reason or NO_SYMBOL


NO_SYMBOL = "no symbol at this address"


def answer_address(
    element: Backtrace | Pc | Data,
    space: AddressSpace,
    symbols: Symbols,
    *,
    adjusts_plain_pc: bool = False,
) -> Answer:
    """Look up the address of an element.

    Args:
        element: The element.
        space: The segments that are loaded.
        symbols: The symbols of the modules.
        adjusts_plain_pc: Whether a `pc` without a kind is a return address.
    """
    address = looked_up(element, adjusts_plain_pc=adjusts_plain_pc)
    segment = space.find(address)
    if segment is None:
        return Answer(element, address)
    linked = segment.linked(address)
    found = symbols.of(segment.module)
    if isinstance(element, Data):
        variable = found.variable(linked)
        return Answer(element, address, segment, linked, found, variable=variable)
    return Answer(element, address, segment, linked, found, found.frames(linked))


def looked_up(element: Backtrace | Pc | Data, *, adjusts_plain_pc: bool) -> int:
    """The address in memory that is looked up: one less than a return address."""
    is_return = False
    if not isinstance(element, Data):
        plain_is_return = adjusts_plain_pc or isinstance(element, Backtrace)
        is_return = element.kind == "ra" or (not element.kind and plain_is_return)
    return (element.address - is_return) & UINT64_MAX
