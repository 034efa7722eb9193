"""The symbols of the modules of a log: build id and address -> frames, variables."""

from __future__ import annotations

from contextlib import suppress

from gsym.cache import BoundedCache
from gsym.engine.demangling import demangle_bytes
from gsym.engine.native import to_bytes, to_str
from gsym.errors import GsymError
from gsym.markup.failures import doubt
from gsym.markup.short_names import short_name
from gsym.model import DAMAGED, Lookup, join_path
from gsym.modules.key import ModuleKey, key_of_build_id
from gsym.records import NamedTuple
from gsym.writing.data_part import open_data_part

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from gsym.containers.data_symbols import DataSymbols
    from gsym.containers.machine_code import MachineCode
    from gsym.markup.address_space import LoadedModule
    from gsym.modules.open_module import OpenModule
    from gsym.reading.reader import Reader

    class Opening(Protocol):
        """Opens modules, as a `Symbolizer` does."""

        def open(self, key: ModuleKey) -> OpenModule:
            """The module, or the reason why it is unavailable."""


class Location(NamedTuple):
    """A source location; b"" and 0 for unknown values."""

    function: bytes = b""
    file: bytes = b""
    line: int = 0


def call_fields(function: str, file: str, line: int) -> dict[str, Any]:
    """A call as an object of JSON; null for an unknown file or line."""
    return {"function": function, "file": file or None, "line": line or None}


class SymbolOptions(NamedTuple):
    """Form in which symbols are shown."""

    functions: str = "linkage"  # the names of functions: one of `FUNCTION_NAMES`
    inlines: bool = True  # whether inlined calls are separate frames
    demangle: bool = True  # whether names are demangled
    basenames: bool = False  # whether paths are shown without folders
    # makes names and paths printable; None: no change
    escape: Callable[[bytes], bytes] | None = None


# Linkage names; without scope and parameters; none.
FUNCTION_NAMES = ("linkage", "short", "none")
_MAX_ANSWERS = 1 << 14  # of a module, in memory
_MOST_OPEN = 256  # modules
_MOST_DOUBTS = 4_096  # sentences about modules


class ModuleSymbols:
    """The symbols of one module."""

    is_local = True  # whether its reader has all symbols of its code

    def __init__(self, module: OpenModule, options: SymbolOptions) -> None:
        self.module = module  # the result of opening it
        self._options = options
        self._frames: BoundedCache[int, tuple[Location, ...]] = BoundedCache(
            _MAX_ANSWERS
        )
        self._damaged: BoundedCache[int, bool] = BoundedCache(_MAX_ANSWERS)
        self._damage = ""  # the first that was met

    @property
    def is_available(self) -> bool:
        """Whether there are any symbols."""
        module = self.module
        is_found = module.reader is not None or module.find_files is not None
        return is_found or bool(module.binaries())

    @property
    def is_old_miss(self) -> bool:
        """Whether nothing was found a while ago: it may be there by now."""
        return self.is_local and self.module.is_old_miss

    @property
    def reason(self) -> str:
        """Reason why there are no symbols; "" if there are."""
        return self.module.reason

    def frames(self, address: int) -> tuple[Location, ...]:
        """The frames at a link-time address, innermost first; empty if unknown."""
        frames = self._frames.get(address)
        if frames is None:
            frames = self._frames.keep(address, self._locations(self._find(address)))
        return frames

    def damage_at(self, address: int) -> str:
        """Damage of the file if an address is at a damaged record, else ""."""
        is_damaged = not self.frames(address) and self._damaged.get(address)
        return self._damage if is_damaged else ""

    def variable(self, address: int) -> tuple[bytes, int] | None:
        """The variable or function at a link-time address, and the offset in it."""
        variables = self._kept_variables()
        if variables is not None:
            with suppress(GsymError):
                found = self._named(variables.lookup(address))
                if found is not None:
                    return found
        symbols = self._data_symbols()
        symbol = None if symbols is None else symbols.find(address)
        if symbol is not None:
            return self._shown(to_bytes(symbol.name)), address - symbol.start
        return self._named(self._find(address))

    @property
    def code(self) -> MachineCode:
        """The machine code, if a file with it is at hand."""
        from gsym.containers.machine_code import MachineCode
        from gsym.conversion.identity import read_first

        module = self.module
        if module.code is None:
            found = read_first(module.binaries(), module.saying, MachineCode)
            module.code = found or MachineCode()
        return module.code

    @property
    def no_variable(self) -> str:
        """Reason why an address has no variable, if there is a file for the module."""
        if self._kept_variables() is not None or self._data_symbols() is not None:
            return "no symbol at this address"
        return (
            "no file with variables found (binary, debug file, or GSYM file made with "
            "--data-symbols)"
        )

    def _find(self, address: int) -> Lookup | None:
        reader = self.module.reader
        try:
            return None if reader is None else reader.lookup(address)
        except GsymError as error:  # damage affects its own addresses only
            self._damage = self._damage or f"{DAMAGED}: {error}"
            self._damaged.keep(address, True)  # noqa: FBT003
            return None

    def _locations(self, lookup: Lookup | None) -> tuple[Location, ...]:
        options = self._options
        frames = []
        for frame in () if lookup is None else lookup.frames:
            name = function_name(to_bytes(frame.name), options)
            path = frame.filename
            if not options.basenames:
                path = join_path(frame.directory, path)
            file = _escaped(to_bytes(path), options)
            frames.append(Location(name, file, frame.line))
        if frames and not options.inlines:
            frames = [frames[0]._replace(function=frames[-1].function)]
        return tuple(frames)

    def _shown(self, name: bytes) -> bytes:
        shown = demangle_bytes(name) if self._options.demangle else name
        return _escaped(shown, self._options)

    def _named(self, lookup: Lookup | None) -> tuple[bytes, int] | None:
        """The symbol of an answer, and the offset from its start."""
        if lookup is None:
            return None
        frame = lookup.frames[-1]
        return self._shown(to_bytes(frame.name)), frame.offset

    def _data_symbols(self) -> DataSymbols | None:
        module = self.module
        if module.data_symbols is None:
            from gsym.containers.data_symbols import DataSymbols
            from gsym.conversion.identity import read_first

            paths = module.binaries()
            tables = (read_first([path], module.saying, DataSymbols) for path in paths)
            # A stripped binary has fewer symbols than its debug file.
            best = max(filter(None, tables), key=len, default=None)
            module.data_symbols = () if best is None else (best,)
        return next(iter(module.data_symbols), None)

    def _kept_variables(self) -> Reader | None:
        """The variables that are appended to the GSYM file of the module."""
        module = self.module
        if module.variables is None:
            module.variables, reader = (), module.reader
            with suppress(OSError):
                if reader is not None and reader.path:
                    found = open_data_part(reader.path, reader.offset, reader.size)
                    module.variables = () if found is None else (found,)
        return next(iter(module.variables), None)


def function_name(name: bytes, options: SymbolOptions) -> bytes:
    """The name of a function as *options* show it."""
    if options.functions == "none":
        return b""
    if options.functions == "short":
        name = short_name(demangle_bytes(name))
    elif options.demangle:
        name = demangle_bytes(name)
    return _escaped(name, options)


def _escaped(text: bytes, options: SymbolOptions) -> bytes:
    return text if options.escape is None else options.escape(text)


class Symbols:
    """The symbols of all modules of a log."""

    def __init__(self, source: Opening, options: SymbolOptions) -> None:
        self._source = source
        self.options = options
        self._modules: dict[tuple[bytes, bytes], ModuleSymbols] = {}
        self._doubts: dict[str, None] = {}

    def of(self, module: LoadedModule) -> ModuleSymbols:
        """The symbols of a module; an unavailable one has none."""
        key = module.build_id, module.name
        symbols = self._modules.get(key)
        if symbols is None or symbols.is_old_miss:
            if len(self._modules) >= _MOST_OPEN:
                del self._modules[next(iter(self._modules))]
            symbols = self._modules[key] = self._open(module)
        return symbols

    def doubts(self) -> list[str]:
        """A sentence about each module whose symbols may be of another build."""
        return list(self._doubts)

    def _open(self, module: LoadedModule) -> ModuleSymbols:
        key = key_of_build_id(module.build_id, to_str(module.name))
        opened = self._source.open(key)
        self._note_doubt(to_str(module.name), opened)
        return ModuleSymbols(opened, self.options)

    def _note_doubt(self, name: str, module: OpenModule) -> None:
        if module.unsure and len(self._doubts) < _MOST_DOUBTS:
            found = [each for each in module.attempts if each.outcome == "found"]
            path = module.path or (found[-1].detail if found else "")
            self._doubts[doubt(name, module.unsure, path)] = None
