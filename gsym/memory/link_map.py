"""Files of a program by its auxiliary vector and its link map.

They tell what a core file without a list of mapped files has, as QEMU writes it.
"""

from __future__ import annotations

from gsym.engine.native import to_str, zero_ended
from gsym.model import UINT64_MAX

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gsym.unwinding.images import Memory
    from gsym.unwinding.machines import Machine

_AT_PHDR, _AT_PHENT, _AT_PHNUM, _AT_EXECFN = 3, 4, 5, 31
_HEADER_SIZES = {4: 52, 8: 64}  # of an ELF file, by the size of words
_PT_DYNAMIC, _PT_PHDR = 2, 6
_DT_DEBUG = 21
_MAX_HEADERS, _MAX_FILES, _MAX_PATH = 512, 1 << 14, 1 << 12


class LinkMap:
    """The files of a program: where their ELF headers are loaded, and their paths."""

    def __init__(
        self, machine: Machine, auxiliary: Mapping[int, int], memory: Memory
    ) -> None:
        self._machine = machine
        self._auxiliary = auxiliary
        self._memory = memory

    def program(self, name: str) -> tuple[int, str] | None:
        """The program itself; *name* is used where its path is not known."""
        headers = self._auxiliary.get(_AT_PHDR, 0)
        if not headers:
            return None
        path = self._text(self._auxiliary.get(_AT_EXECFN, 0)) or name
        return headers - _HEADER_SIZES[self._machine.word], path

    def libraries(self) -> Iterator[tuple[int, str]]:
        """The other files, in the order of the loader."""
        at = self._first()
        seen: set[int] = set()
        word = self._machine.word
        while at and at not in seen and len(seen) < _MAX_FILES:
            seen.add(at)
            path = self._text(self._word(at + word))
            if path:
                yield self._word(at), path
            at = self._word(at + 3 * word)

    def _first(self) -> int:
        """The first entry of the list of the loader."""
        word = self._machine.word
        dynamic = self._dynamic()
        for number in range(_MAX_HEADERS if dynamic else 0):
            tag = self._word(dynamic + 2 * number * word)
            if tag == _DT_DEBUG:
                debug = self._word(dynamic + (2 * number + 1) * word)
                return self._word(debug + word) if debug else 0
            if not tag:
                break
        return 0

    def _dynamic(self) -> int:
        """Address of the dynamic section of the program; 0 if it has none."""
        start = self._auxiliary.get(_AT_PHDR, 0)
        size = self._auxiliary.get(_AT_PHENT, 0)
        address_at = 16 if self._machine.word == 8 else 8  # noqa: PLR2004 - of p_vaddr
        bias = found = 0
        for number in range(min(self._auxiliary.get(_AT_PHNUM, 0), _MAX_HEADERS)):
            at = start + number * size
            held = self._memory(at, 4)
            kind = int.from_bytes(held, self._machine.order)
            if kind == _PT_PHDR:
                bias = start - self._word(at + address_at)
            elif kind == _PT_DYNAMIC:
                found = self._word(at + address_at)
        return found and (found + bias) & UINT64_MAX

    def _word(self, address: int) -> int:
        return self._machine.load(self._memory, address) or 0

    def _text(self, address: int) -> str:
        for size in (_MAX_PATH, 256, 64, 16):
            held = self._memory(address, size) if address else b""
            if b"\0" in held:
                return to_str(zero_ended(held))
        return ""
