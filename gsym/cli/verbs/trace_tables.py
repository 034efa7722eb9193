"""Tables for people: names with their weights, as wide as the terminal."""

from __future__ import annotations

import shutil

from gsym.cli.grammar import Option
from gsym.cli.terminal import printable
from gsym.trace.profiles.top import GROUPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gsym.cli.grammar import Values

_DEFAULT_LIMIT = 20
BY = Option(
    "--by",
    f"what a row stands for: {', '.join(GROUPS)} (default: function)",
    metavar="GROUP",
    choices=GROUPS,
)
LIMIT = Option(
    "--limit",
    f"number of rows of a table; 0: all (default: {_DEFAULT_LIMIT})",
    metavar="N",
)
_LEAST_NAME = 16
_UNITS = {
    "nanoseconds": ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns")),
    "bytes": ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")),
}


def chosen_group(values: Values) -> str:
    """What a command line with `BY` counts by.

    Raises:
        UsageError: It is none of `GROUPS`.
    """
    return values.choice(BY.name) or "function"


def row_limit(values: Values) -> int | None:
    """How many rows a command line with `LIMIT` wants; None: all.

    Raises:
        UsageError: It is no number.
    """
    given = values.number(LIMIT.name)
    return _DEFAULT_LIMIT if given is None else given or None


def print_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], limit: int | None
) -> None:
    """Print the first rows, as wide as the terminal, or as COLUMNS says."""
    for line in table_lines(heads, rows[:limit], shutil.get_terminal_size().columns):
        print(line)
    if limit is not None and limit < len(rows):
        print(f"and {len(rows) - limit} more: {LIMIT.name} 0 shows all")


def amount(number: float, unit: str) -> str:
    """A sum of samples as people read it."""
    for size, name in _UNITS.get(unit, ()):
        if abs(number) >= size or size == 1:
            return f"{number / size:.{0 if size == 1 else 2}f} {name}"
    return f"{number:.0f}"


def share(part: float, whole: float) -> str:
    """A part of a whole in percent."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def table_lines(
    heads: Sequence[str], rows: Iterable[Sequence[str]], width: int
) -> Iterator[str]:
    """A table whose last column, of names, is cut to what is left of the width.

    Other columns stand at their right ends. Of a name that is too long the middle is
    left out: its beginning and its end tell most.
    """
    texts = [[printable(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)][:-1]
    room = max(width - sum(widths) - 2 * len(widths), _LEAST_NAME)
    for *cells, name in texts:
        columns = [cell.rjust(size) for cell, size in zip(cells, widths, strict=True)]
        yield "  ".join([*columns, _shortened(name, room)]).rstrip()


def _shortened(name: str, room: int) -> str:
    if len(name) <= room:
        return name
    front = (room - 3) // 2
    return f"{name[:front]}...{name[len(name) - (room - 3 - front) :]}"
