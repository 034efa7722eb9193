"""What a day of 10^10 addresses costs, and what breaks first.

    python -m benchmarks.bulk_plan

A model with measured costs. The popularity of modules has a Zipf distribution; rows
come in any order, or are sorted by module within a window of time before they are
symbolized.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.markdown import table

if TYPE_CHECKING:
    Shares = np.ndarray[Any, np.dtype[np.float64]]

MODULES = 1_000_000
DEBUG_BYTES = 100e12
ROWS_A_DAY = 1e10
DAY = 86_400.0
# Rounded from what benchmarks.bulk and other benchmarks measured on one machine.
SHARE_OF_DEBUG_BYTES = 1 / 10  # of a GSYM file, 1/8 to 1/14
CONVERTED_A_SECOND = 400e6  # bytes of debug information, with one core
SECONDS_A_ROW = 0.5e-6  # of a core, without the opening of modules
SECONDS_AN_OPENING = 70e-6
PAGES_AN_OPENING = 14  # that the first lookup in a file reads
PAGE = 4096
ROWS_AT_ONCE = 1 << 20
# Assumed.
CORES = 16  # of a machine
PAGES_A_SECOND = 20_000.0  # read at random from one disk
MEMORY = 64e9  # of a machine, for pages of modules


def shares() -> Shares:
    """The share of the rows that each module has, the most popular first."""
    weights = 1 / np.arange(1, MODULES + 1)
    popularity: Shares = weights / weights.sum()
    return popularity


def modules_among(popularity: Shares, rows: float) -> float:
    """The expected number of distinct modules among so many rows."""
    return float(np.sum(-np.expm1(-rows * popularity)))


def openings(popularity: Shares, window: float) -> float:
    """Openings of modules a day, if rows are sorted by module in a window of seconds.

    A worker keeps the most popular modules open, as many as fit into its memory; the
    others are opened again in each batch, or window, that has them.
    """
    kept = int(MEMORY / (PAGES_AN_OPENING * PAGE * 16))  # several functions of each
    rows = max(ROWS_AT_ONCE, ROWS_A_DAY * window / DAY)
    return ROWS_A_DAY / rows * modules_among(popularity[kept:], rows)


def plan(name: str, popularity: Shares, window: float) -> list[str]:
    """A row of the table."""
    opened = openings(popularity, window)
    cores = (ROWS_A_DAY * SECONDS_A_ROW + opened * SECONDS_AN_OPENING) / DAY
    pages = opened * PAGES_AN_OPENING / DAY
    disks = pages / PAGES_A_SECOND
    broken = "reads" if disks > cores / CORES else "cores"
    return [
        name,
        f"{opened / 1e6:,.0f} M",
        f"{cores:.2f}",
        f"{pages:,.0f}",
        f"{pages * PAGE * DAY / 1e12:.2f} TB",
        f"{disks:.2f}",
        broken,
    ]


def main() -> None:
    """Print the plan."""
    popularity = shares()
    store = DEBUG_BYTES * SHARE_OF_DEBUG_BYTES
    hours = DEBUG_BYTES / CONVERTED_A_SECOND / 3600
    print(f"GSYM files: {store / 1e12:.0f} TB; conversion: {hours:,.0f} core-hours")
    distinct = modules_among(popularity, ROWS_AT_ONCE)
    print(f"modules in a batch of {ROWS_AT_ONCE:,} rows: {distinct:,.0f}\n")
    head = ("order of rows", "openings", "cores", "pages/s", "read a day", "disks")
    windows = {"as they come": 0.0, "by module, 10 minutes": 600.0}
    windows |= {"by module, 1 hour": 3600.0, "by module, 1 day": DAY}
    rows = [plan(name, popularity, window) for name, window in windows.items()]
    print(table((*head, "limit"), rows))


if __name__ == "__main__":
    main()
