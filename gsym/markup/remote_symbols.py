"""Symbols from a symbolication server.

Many addresses are requested at a time, before the lines that need them are filtered.
"""

from __future__ import annotations

from contextlib import suppress

from gsym.cache import BoundedCache
from gsym.engine.native import to_bytes, to_str
from gsym.errors import ServerError
from gsym.markup import parser
from gsym.markup.address_space import (
    AddressSpace,
    ContextError,
    LoadedModule,
    Segment,
    SpaceBudget,
)
from gsym.markup.answers import looked_up
from gsym.markup.headings import Headings
from gsym.markup.hexdict import addresses_in
from gsym.markup.log_stream import OpenDictionary
from gsym.markup.symbols import Location, ModuleSymbols, SymbolOptions, Symbols
from gsym.modules.key import ModuleKey, key_of_build_id
from gsym.modules.open_module import OpenModule
from gsym.net.circuit_breaker import CircuitBreaker

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol

    from gsym.markup.settings import FilterSettings
    from gsym.model import Lookup
    from gsym.modules.symbolizer import Symbolization

    class Asking(Protocol):
        """Looks addresses up elsewhere, as a `RemoteSymbolizer` does."""

        def symbolize_many(
            self, asked: Sequence[tuple[ModuleKey, int]]
        ) -> list[Symbolization]:
            """The symbols at offsets from the bases of modules."""


_MAX_ANSWERS = 1 << 16  # in memory
_MAX_BASES = 1 << 16
_MAX_NAME = 255  # of a file
_RETRY_AFTER = 30.0  # seconds, after a server failed
_SERVER = "server"


class RemoteSymbols(Symbols):
    """The symbols of all modules of a log, from a server.

    After a failure the server is not asked for a while, and addresses stay unresolved.
    """

    def __init__(self, source: Asking, options: SymbolOptions) -> None:
        super().__init__(source, options)  # type: ignore[arg-type]
        self._asking = source
        # Base and name of modules.
        self._places: BoundedCache[bytes, tuple[int, str]] = BoundedCache(_MAX_BASES)
        self._answers: dict[tuple[bytes, int], Symbolization] = {}
        self._failure = ""
        self._breaker = CircuitBreaker()

    def _open(self, module: LoadedModule) -> ModuleSymbols:
        return _RemoteModule(self, module.build_id)

    def place(self, segment: Segment) -> None:
        """Note a segment: offsets count from the lowest address of its module.

        This is the link-time address, which does not depend on where it is loaded.
        """
        module = segment.module
        base, name = self._places.get(module.build_id, (segment.address, ""))
        if not name:
            name = to_str(module.name).rpartition("/")[2][:_MAX_NAME]
            self._places.keep(module.build_id, (base, name))
        self._places[module.build_id] = min(base, segment.address), name

    def ask(self, wanted: Iterable[tuple[bytes, int]]) -> None:
        """Request all unknown addresses, each given as build id and address."""
        if self._breaker.seconds_left(_SERVER) > 0:
            return
        missing = [each for each in dict.fromkeys(wanted) if each not in self._answers]
        if not missing:
            return
        asked = []
        for build_id, address in missing:
            base, name = self._places.get(build_id, (0, ""))
            key = key_of_build_id(build_id)._replace(debug_file=name)
            asked.append((key, address - base))
        try:
            found = self._asking.symbolize_many(asked)
        except ServerError as error:
            self._failure = str(error)
            self._breaker.back_off(_SERVER, _RETRY_AFTER)
            return
        self._failure = ""
        if len(self._answers) + len(missing) > _MAX_ANSWERS:
            self._answers.clear()
        self._answers.update(zip(missing, found, strict=True))

    def answer(self, build_id: bytes, address: int) -> Symbolization | str:
        """The symbols at an address, or the reason why they are unknown."""
        if (build_id, address) not in self._answers:
            self.ask([(build_id, address)])
        found = self._answers.get((build_id, address), self._failure)
        if not isinstance(found, str):
            name = self._places.get(build_id, (0, ""))[1]
            self._note_doubt(name or build_id.hex(), found.module)
        return found


class _RemoteModule(ModuleSymbols):
    """The symbols of one module, from a server."""

    is_local = False

    def __init__(self, symbols: RemoteSymbols, build_id: bytes) -> None:
        super().__init__(OpenModule(None, None), symbols.options)
        self._symbols = symbols
        self._build_id = build_id
        self._reason = ""

    @property
    def is_available(self) -> bool:
        """Whether the server has found symbols so far."""
        attempts = self.module.attempts
        return any(attempt.outcome == "found" for attempt in attempts)

    @property
    def reason(self) -> str:
        """Reason why the last address has no symbol."""
        return self._reason

    @property
    def no_variable(self) -> str:
        """Reason why an address has no variable."""
        return "servers do not return variables"

    def frames(self, address: int) -> tuple[Location, ...]:
        """The frames at a link-time address, innermost first; empty if unknown."""
        return self._locations(self._find(address))

    def variable(self, address: int) -> tuple[bytes, int] | None:
        """The function at a link-time address; servers do not return variables."""
        return self._named(self._find(address))

    def _find(self, address: int) -> Lookup | None:
        answer = self._symbols.answer(self._build_id, address)
        if isinstance(answer, str):
            self._reason = answer
            return None
        self.module, self._reason = answer.module, answer.reason
        return answer.lookup


class AddressCollector:
    """Requests the addresses of one process before its lines are filtered."""

    def __init__(
        self, settings: FilterSettings, symbols: RemoteSymbols, budget: SpaceBudget
    ) -> None:
        self._style = settings.style
        self._symbols = symbols
        self._headings = Headings()
        self._space = AddressSpace(budget, keeps_mmaps=settings.style.keeps_mmaps)
        self._dictionary = OpenDictionary(settings)

    def collect(self, lines: bytes) -> None:
        """Request all addresses in *lines*, which are complete."""
        wanted = []
        for at, end in self._headings.parts(lines, 0, len(lines)):
            for line in lines[at:end].removesuffix(b"\n").split(b"\n"):
                if self._dictionary or parser.BEGIN in line:
                    for _, whole in self._dictionary.take(0, line + b"\n"):
                        for token in parser.find_elements(whole, self._style.dialect):
                            wanted += self._take(token)
        self._symbols.ask(wanted)

    def finish(self) -> None:
        """End the log."""
        self._space.clear()

    def _take(self, token: parser.Token) -> list[tuple[bytes, int]]:
        """Build id and link-time address of each address in an element."""
        element = parser.decode(token, self._style.dialect, [], self._space.modules)
        if isinstance(element, parser.HexDict):
            return self._resolved(addresses_in(to_bytes(element.text)))
        if isinstance(element, (parser.Backtrace, parser.Pc, parser.Data)):
            exact = self._headings.are_exact
            address = looked_up(element, self._style, are_exact=exact)
            return self._resolved([address])
        self._follow(element)
        return []

    def _follow(self, element: parser.Element | None) -> None:
        with suppress(ContextError):
            if isinstance(element, parser.Reset):
                self._space.clear()
            elif isinstance(element, parser.Module):
                self._space.add_module(element)
            elif isinstance(element, parser.Mmap):
                self._symbols.place(self._space.add_segment(element))

    def _resolved(self, addresses: list[int]) -> list[tuple[bytes, int]]:
        found = ((self._space.find(address), address) for address in addresses)
        return [
            (segment.module.build_id, segment.linked(address))
            for segment, address in found
            if segment is not None
        ]
