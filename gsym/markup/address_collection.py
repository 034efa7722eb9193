"""All addresses of a piece of log, before it is filtered.

Who has to ask a server for symbols asks once for many lines that way. What is loaded is
followed as the filter does it; faults are for the filter to tell.
"""

from __future__ import annotations

from gsym.engine.native import to_bytes
from gsym.markup.address_space import AddressSpace, ContextError
from gsym.markup.answers import looked_up
from gsym.markup.elements import (
    Backtrace,
    Data,
    HexDict,
    Mmap,
    Module,
    Pc,
    Reset,
)
from gsym.markup.hexdict import addresses_in
from gsym.markup.open_dictionary import OpenDictionary
from gsym.markup.parser import decode, find_elements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.markup.address_space import Room
    from gsym.markup.elements import Element
    from gsym.markup.parser import Token
    from gsym.markup.remote_symbols import RemoteSymbols
    from gsym.markup.settings import FilterSettings

_BEGIN = b"{{{"


class AddressCollector:
    """Has the symbols of one process looked up ahead.

    Args:
        settings: How the log is filtered.
        symbols: Are told what to ask for.
        room: For what is loaded.
    """

    def __init__(
        self, settings: FilterSettings, symbols: RemoteSymbols, room: Room
    ) -> None:
        self._style = settings.style
        self._symbols = symbols
        self._space = AddressSpace(room, keeps_mmaps=settings.style.keeps_mmaps)
        most = settings.hexdict_limit, settings.hexdict_lines
        self._dictionary = OpenDictionary(*most)

    def collect(self, lines: bytes) -> None:
        """Ask for the symbols of all addresses in *lines*, which are whole."""
        wanted = []
        for line in lines.removesuffix(b"\n").split(b"\n"):
            if self._dictionary or _BEGIN in line:
                for _, whole in self._dictionary.take(0, line + b"\n"):
                    for token in find_elements(whole, self._style.dialect):
                        wanted += self._take(token)
        self._symbols.ask(wanted)

    def finish(self) -> None:
        """The log is at its end."""
        self._space.clear()

    def _take(self, token: Token) -> list[tuple[bytes, int]]:
        """Build id and link-time address of what an element asks for."""
        element = decode(token, self._style.dialect, [], self._space.modules)
        if isinstance(element, HexDict):
            return self._resolved(addresses_in(to_bytes(element.text)))
        if isinstance(element, (Backtrace, Pc, Data)):
            is_return = self._style.adjusts_plain_pc
            return self._resolved([looked_up(element, adjusts_plain_pc=is_return)])
        self._follow(element)
        return []

    def _follow(self, element: Element | None) -> None:
        try:
            if isinstance(element, Reset):
                self._space.clear()
            elif isinstance(element, Module):
                self._space.add_module(element)
            elif isinstance(element, Mmap):
                self._symbols.place(self._space.add_segment(element))
        except ContextError:
            pass

    def _resolved(self, addresses: list[int]) -> list[tuple[bytes, int]]:
        found = ((self._space.find(address), address) for address in addresses)
        return [
            (segment.module.build_id, segment.linked(address))
            for segment, address in found
            if segment is not None
        ]
