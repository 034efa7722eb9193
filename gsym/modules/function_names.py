"""Functions by the names that reports have of them."""

from __future__ import annotations

from gsym.model import FunctionRange

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gsym.reading.reader import Reader

_MOST_SEARCHES = 256  # in symbol tables, which are read from one end to the other
_UNKNOWN_SIZE = 1 << 16
_NOT_LINKED = frozenset(" (<:")


class FunctionNames:
    """Functions of a module by name: as linked, of its symbol table, or demangled.

    A GSYM file has one of several names at an address, and no labels within functions.
    """

    def __init__(self, reader: Reader, binary: str) -> None:
        self._reader = reader
        self._binary = binary
        self._find: Callable[[bytes], Iterable[tuple[int, int]]] | None = None
        self._of_table: dict[str, Sequence[FunctionRange]] = {}
        self._demangled: dict[str, list[FunctionRange]] | None = None

    def find(self, name: str) -> Sequence[FunctionRange]:
        """The functions of a name, or of their section, `.text.kernel`."""
        from gsym.reading.named_address import without_section

        for each in filter(None, (name, without_section(name))):
            found = self._reader.find(each, exact=True) or self.in_table(each)
            if found or (found := self._as_demangled(each)):
                return found
        return ()

    def in_table(self, name: str) -> Sequence[FunctionRange]:
        """The functions of a linkage name in the symbol table of the binary."""
        if name in self._of_table:
            return self._of_table[name]
        is_linked = _NOT_LINKED.isdisjoint(name)
        if not is_linked or len(self._of_table) >= _MOST_SEARCHES or not self._binary:
            return ()
        if self._find is None:
            from gsym.containers.data_symbols import SymbolNames
            from gsym.conversion.identity import read_first

            read, said = (lambda file: SymbolNames(file).find), self._reader.module_like
            self._find = read_first([self._binary], said, read) or (lambda _name: ())
        found = [
            FunctionRange(name, start, size or _UNKNOWN_SIZE)
            for start, size in self._find(name.encode("utf-8", "replace"))
        ]
        self._of_table[name] = found
        return found

    def _as_demangled(self, name: str) -> Sequence[FunctionRange]:
        """The functions of a demangled name, with parameters or without."""
        from gsym.engine.demangling import demangle
        from gsym.reading.decoded_functions import function_ranges
        from gsym.reading.named_address import is_part, spelling

        if self._demangled is None:
            self._demangled = {}
            for function in function_ranges(self._reader):
                shown = demangle(function.name)
                names = {shown, without_parameters(shown)}
                if is_part(function.name):
                    names.add(spelling(function.name))
                for each in names:
                    self._demangled.setdefault(each, []).append(function)
        found = self._demangled.get(name, ())
        if found or "(" not in name:
            return found
        wanted = spelling(name)
        overloads = self._demangled.get(without_parameters(name), ())
        return [
            each for each in overloads if spelling(demangle(each.name)) == wanted
        ] or self._demangled.get(wanted, ())


def without_parameters(name: str) -> str:
    """A demangled name without its parameters, which are what it ends with."""
    head, bracket, tail = name.rpartition(")")
    if not bracket or tail[:1] not in {"", " "}:  # `f(int)@plt`, `main.(*T).run`
        return name
    depth, at = 1, len(head)
    while depth and at:
        at -= 1
        depth += (head[at] == ")") - (head[at] == "(")
    return head[:at]
