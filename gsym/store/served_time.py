"""The times in which a server ran, by which the age of an unused module is measured.

The clock may jump, and a server may not run for long. Neither says that nobody needs a
module, so such gaps do not count.
"""

from __future__ import annotations

import json
import os

from gsym.records import NamedTuple
from gsym.store.layout import SERVED
from gsym.writing.atomic_file import AtomicFile

_MOST_GAPS = 64
_SHORTEST_GAP = 3600.0  # seconds without a round of upkeep
_MAX_SIZE = 1 << 16


class ServedTime(NamedTuple):
    """The time that was served until the last round of upkeep."""

    last: float  # time of the last round, in seconds since 1970
    # begin and end of the times that do not count
    gaps: tuple[tuple[float, float], ...] = ()

    def at(self, now: float) -> ServedTime:
        """The served time at another round."""
        gaps = [(begin, min(end, now)) for begin, end in self.gaps if begin < now]
        if now - self.last > _SHORTEST_GAP:
            gaps.append((self.last, now))
        longest = sorted(gaps, key=lambda gap: gap[0] - gap[1])[:_MOST_GAPS]
        return ServedTime(now, tuple(sorted(longest)))

    def since(self, time: float) -> float:
        """Seconds that were served since a time."""
        gone = self.last - time
        for begin, end in self.gaps:
            gone -= max(0.0, end - max(begin, time))
        return max(0.0, gone)


def read_served_time(store: str) -> ServedTime:
    """The record of a store; without one, no time was served yet."""
    try:
        with open(os.path.join(store, SERVED), "rb") as file:
            record = json.loads(file.read(_MAX_SIZE))
        gaps = tuple((float(begin), float(end)) for begin, end in record["gaps"])
        return ServedTime(float(record["last"]), gaps)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return ServedTime(0.0)


def write_served_time(store: str, served: ServedTime) -> None:
    """Replace the record of a store."""
    with AtomicFile(os.path.join(store, SERVED)) as file:
        file.write(json.dumps(served._asdict()).encode("ascii"))
