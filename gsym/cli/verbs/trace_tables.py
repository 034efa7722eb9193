"""Descriptions of files, and tables of names and weights as wide as the terminal."""

from __future__ import annotations

from gsym.cli.terminal import print_lines, table_lines
from gsym.fxt.record_formats import seconds
from gsym.lazy import shutil
from gsym.profiles.top import GROUPS
from gsym.sizes import BINARY_UNITS

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gsym.cli.grammar import Values

_DEFAULT_LIMIT = 20
BY = (
    f"--by GROUP {{{'|'.join(GROUPS)}}}  a row for each: {', '.join(GROUPS)} (default: "
    "function)"
)
LIMIT = f"--limit N  number of rows of a table; 0: all (default: {_DEFAULT_LIMIT})"
_TIMES = ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))
_UNITS = {
    "nanoseconds": _TIMES,
    "microseconds": tuple((size // 10**3, name) for size, name in _TIMES[:3]),
    "milliseconds": tuple((size // 10**6, name) for size, name in _TIMES[:2]),
    "bytes": (*BINARY_UNITS, (1, "B")),
}

_LABEL_WIDTH = 11
_MAX_THREADS = 24  # of a process; --json has all
_MAX_PROCESSES = 64


def labelled(label: str, text: str) -> str:
    """A line of a description."""
    return f"  {label:<{_LABEL_WIDTH}}{text}".rstrip()


def time_text(begin: int | None, end: int | None) -> str:
    """A span of time in nanoseconds."""
    if begin is None or end is None:
        return "none"
    return f"{seconds(begin)} s to {seconds(end)} s, {seconds(end - begin)} s long"


def process_lines(processes: list[dict[str, Any]], what: str) -> Iterator[str]:
    """Processes and their threads, those with the most of *what* first."""
    for process in processes[:_MAX_PROCESSES]:
        yield labelled("process", _numbered(process))
        threads = sorted(process["threads"], key=lambda each: -each[what])
        for thread in threads[:_MAX_THREADS]:
            count = f"{thread[what]} {what}" if thread[what] else ""
            yield labelled("  thread", f"  {_numbered(thread):<36} {count}")
        if len(threads) > _MAX_THREADS:
            yield labelled("", f"  and {len(threads) - _MAX_THREADS} more threads")
    if len(processes) > _MAX_PROCESSES:
        yield labelled("", f"and {len(processes) - _MAX_PROCESSES} more processes")


def _numbered(described: dict[str, Any]) -> str:
    """The number of a process or thread, if it is known, and its name."""
    number = "-" if described["koid"] is None else described["koid"]
    return f"{number} {described['name']}"


def row_limit(values: Values) -> int | None:
    """The number of rows of the option `LIMIT`; None: all."""
    given = values.number("--limit")
    return _DEFAULT_LIMIT if given is None else given or None


def print_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    limit: int | None,
    count: int | None = None,
) -> None:
    """Print the first of *count* or all rows, as wide as the terminal, or COLUMNS."""
    width = shutil.get_terminal_size().columns
    print_lines(table_lines([headers, *rows[:limit]], width))
    count = len(rows) if count is None else count
    if limit is not None and limit < count:
        print(f"and {count - limit} more: --limit 0 shows all")


def amount(number: float, unit: str) -> str:
    """A sum of samples with a suitable unit."""
    for size, name in _UNITS.get(unit, ()):
        if abs(number) >= size or size == 1:
            return f"{number / size:.{0 if size == 1 else 2}f} {name}"
    return f"{number:.12g}" if isinstance(number, float) else f"{number}"


def share(part: float, whole: float) -> str:
    """A part of a whole in percent."""
    return f"{100 * part / whole:.1f} %" if whole else "-"
