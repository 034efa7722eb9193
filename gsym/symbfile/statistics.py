"""What a symbfile holds, and what its bytes are spent on."""

from __future__ import annotations

from collections import Counter

from gsym.records import NamedTuple

# A damaged file may have as many depths as ranges.
MOST_DEPTH = 256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.symbfile.format import Counts, Decoder


class Statistics(NamedTuple):
    """Figures of a file.

    Attributes:
        counts: Messages, their bytes, strings and rows.
        functions: Ranges of depth 0.
        depths: How many ranges there are of each depth; `MOST_DEPTH` stands for all
            that are so deep or deeper.
        bytes_covered: Sum of the lengths of the ranges of depth 0.
        first_address: The lowest address that has a record; None without any.
        end_address: Behind the highest one.
    """

    counts: Counts
    functions: int
    depths: dict[int, int]
    bytes_covered: int
    first_address: int | None
    end_address: int | None


def measure(decoder: Decoder) -> Statistics:
    """Read a file and add it up, in a memory that does not depend on its size.

    Raises:
        FormatError: It is damaged.
    """
    depths: Counter[int] = Counter()
    covered = 0
    first: int | None = None
    end: int | None = None
    for columns in decoder.columns():
        starts = columns.range_column("elf_va").tolist()
        lengths = columns.range_column("length").tolist()
        levels = columns.range_column("depth").tolist()
        pads = columns.pad_column("elf_va").tolist()
        depths.update(min(level, MOST_DEPTH) for level in levels)
        covered += sum(
            length for length, depth in zip(lengths, levels, strict=True) if not depth
        )
        ends = [start + length for start, length in zip(starts, lengths, strict=True)]
        lowest = min((*starts, *pads))
        highest = max((*ends, *(pad + 1 for pad in pads)))
        first = lowest if first is None else min(first, lowest)
        end = highest if end is None else max(end, highest)
    return Statistics(
        counts=decoder.counts(),
        functions=depths[0],
        depths=dict(sorted(depths.items())),
        bytes_covered=covered,
        first_address=first,
        end_address=end,
    )
