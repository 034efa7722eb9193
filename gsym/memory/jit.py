"""Code that a JIT registered: files in memory, listed from `__jit_debug_descriptor`."""

from __future__ import annotations

from gsym.records import NamedTuple
from gsym.unwinding.expressions import ByteReader, DamagedError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.unwinding.images import Memory
    from gsym.unwinding.machines import Machine

DESCRIPTOR = b"__jit_debug_descriptor"
_MAX_FILES = 1 << 16
# Limit: File that a JIT registered
_MAX_SIZE = 64 << 20


class RegisteredFile(NamedTuple):
    """An ELF file in memory; *address* is where it is."""

    address: int
    data: bytes


def registered_files(
    descriptor: int, memory: Memory, machine: Machine
) -> Iterator[RegisteredFile]:
    """The files in the list of a descriptor."""

    def words(address: int, *sizes: int) -> list[int]:
        data = ByteReader(memory(address, sum(sizes)), machine.word, machine.order)
        return [data.fixed(each) for each in sizes]

    word = machine.word
    seen: set[int] = set()
    try:
        *_, at = words(descriptor, 4, 4, word, word)
        while at and at not in seen and len(seen) < _MAX_FILES:
            seen.add(at)
            following, _, address, size = words(at, word, word, word, 8)
            if size <= _MAX_SIZE:
                data = memory(address, size)
                if len(data) == size:
                    yield RegisteredFile(address, data)
            at = following
    except DamagedError:
        return
