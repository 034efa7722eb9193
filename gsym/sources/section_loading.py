"""The debug sections of a file, inflated and relocated by several threads."""

from __future__ import annotations

from gsym._native import lib
from gsym.workers import run_workers

__all__ = ["load_debug_sections"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.sources.object_file import ObjectFile, Section

# Below this much in all sections a second thread costs more than it brings.
_BYTES_PER_THREAD = 1 << 20


def load_debug_sections(
    file: ObjectFile, threads: int, *, split: bool = False
) -> dict[int, Section]:
    """The sections that *file* has, by `gsym_debug_section`.

    Args:
        file: An object file.
        threads: How many may work on it.
        split: Those of split units.

    Raises:
        FormatError: One reaches past the file or its compressed data is damaged.
        LimitError: They would be too large when inflated.
        UnsupportedError: One is compressed in an unknown way.
        MemoryError: There is not as much memory.
    """
    sizes = {
        which: file.debug_section_size(which, split=split)
        for which in range(lib.GSYM_DEBUG_SECTION_COUNT)
    }
    # The longest are begun first, for the others fit in beside them.
    waiting = sorted(sizes, key=sizes.__getitem__)
    loaded: dict[int, Section] = {}

    def work() -> None:
        while waiting:
            which = waiting.pop()
            section = file.debug_section(which, split=split)
            if section is not None:
                loaded[which] = section

    count = min(threads, 1 + sum(sizes.values()) // _BYTES_PER_THREAD)
    run_workers(work, count, None, waiting.clear)
    return loaded
