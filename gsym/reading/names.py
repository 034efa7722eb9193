"""The names and extents of all functions of a GSYM file."""

from __future__ import annotations

from gsym.errors import FormatError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.model import FunctionRange
    from gsym.reading.reader import Reader


def function_ranges(reader: Reader) -> Iterator[FunctionRange]:
    """The functions of a file in its order, also merged ones, without their records.

    Raises:
        FormatError: A record is damaged.
    """
    mapped = reader.mapped
    for index in range(len(reader)):
        yield from mapped.function_ranges(index)


def module_range(reader: Reader) -> tuple[int, int] | None:
    """The start of the first function of a file and the end of the last one.

    None where there are no functions, or these two are damaged.
    """
    mapped = reader.mapped
    try:
        first, *_ = mapped.function_ranges(0)
        last = max(mapped.function_ranges(len(reader) - 1), key=lambda each: each.size)
    except (FormatError, IndexError, ValueError):
        return None
    return first.start, last.start + last.size
