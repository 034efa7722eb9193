"""Problems of a log: messages with their position, and unresolved addresses."""

from __future__ import annotations

from gsym.markup.answers import NO_SYMBOL, Answer

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.markup.address_space import LoadedModule
    from gsym.markup.parser import Fault
    from gsym.markup.symbols import ModuleSymbols

_MOST_MODULES = 4096
# Bytes of a line that is shown with a message: it may have many errors.
_LONGEST_LINE = 4096


def doubt(name: str, unsure: str, path: str) -> str:
    """A sentence about a module whose file may be of another build."""
    return f"'{name}': {unsure}: {path or 'it'} may be of another build"


class Failures:
    """Reports errors at once, and counts unresolved addresses."""

    def __init__(self, tell: Callable[[bytes], object]) -> None:
        self._tell = tell
        self._counts: dict[tuple[bytes, bytes, str], int] = {}
        self._nowhere = 0

    def add(self, fault: Fault, line: bytes) -> None:
        """Report an error in a line, with or without its newline."""
        kind = b"warning" if fault.is_warning else b"error"
        if len(line) > _LONGEST_LINE:
            self._tell(b"%s: %s\n" % (kind, fault.message[:_LONGEST_LINE]))
            return
        ended = line if line.endswith(b"\n") else line + b"\n"
        place = b" " * fault.offset
        self._tell(b"%s: %s\n%s%s^\n" % (kind, fault.message, ended, place))

    def add_missing_module(self) -> None:
        """Report a module without a file, in the words of llvm-symbolizer."""
        self._tell(b"error: could not find build ID\n")

    def count(self, answer: Answer) -> None:
        """Count an address without a symbol."""
        if answer.segment is None or answer.symbols is None:
            self._nowhere += 1
        else:
            damage = answer.symbols.damage_at(answer.linked)
            self._count(answer.segment.module, damage or answer.reason, 1)

    def count_in(
        self, module: LoadedModule, symbols: ModuleSymbols, count: int, damage: str
    ) -> None:
        """Count code addresses without a symbol; *damage* says why, or is ""."""
        self._count(module, damage or symbols.reason or NO_SYMBOL, count)

    def _count(self, module: LoadedModule, reason: str, count: int) -> None:
        key = module.build_id, module.name[:_LONGEST_LINE], reason
        if key in self._counts or len(self._counts) < _MOST_MODULES:
            self._counts[key] = self._counts.get(key, 0) + count

    def summary(self) -> list[str]:
        """A line with the reason for each module with unresolved addresses."""
        lines = []
        for (build_id, name, reason), count in self._counts.items():
            shown = name.decode("utf-8", "backslashreplace") or "?"
            lines.append(
                f"{count} unresolved in '{shown}' (build id {build_id.hex()}): {reason}"
            )
        if self._nowhere:
            lines.append(f"{self._nowhere} unresolved, not in any module of the log")
        return lines
