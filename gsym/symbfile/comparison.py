"""What two symbfiles say differently, in whatever order they say it."""

from __future__ import annotations

from collections import Counter, defaultdict

from gsym.records import NamedTuple
from gsym.symbfile.format import Range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gsym.symbfile.format import Record

    _Sides = tuple[list[Record], list[Record]]


class Difference(NamedTuple):
    """A record that only one file has, or that the other has with other fields.

    Attributes:
        old: As the first file has it, or None.
        new: As the second file has it, or None.
    """

    old: Record | None
    new: Record | None


def compare(old: Iterable[Record], new: Iterable[Record]) -> Iterator[Difference]:
    """Differences in the order of addresses; memory for all records is needed.

    Records of one kind, address and depth are taken for the same record.
    """
    before, after = Counter(old), Counter(new)
    places: dict[tuple[int, int, int], _Sides] = defaultdict(lambda: ([], []))
    for side, records in enumerate((before - after, after - before)):
        for record in records.elements():
            places[_place(record)][side].append(record)
    for place in sorted(places):
        olds, news = (sorted(side, key=_order) for side in places[place])
        count = max(len(olds), len(news))
        for index in range(count):
            yield Difference(
                olds[index] if index < len(olds) else None,
                news[index] if index < len(news) else None,
            )


def differing_fields(difference: Difference) -> tuple[str, ...]:
    """Names of the fields that differ, where both files have the record."""
    old, new = difference
    if old is None or new is None:
        return ()
    pairs = zip(old._fields, old, new, strict=True)
    return tuple(name for name, one, other in pairs if one != other)


def _place(record: Record) -> tuple[int, int, int]:
    if isinstance(record, Range):
        return record.elf_va, 0, record.depth
    return record.elf_va, 1, 0


def _order(record: Record) -> str:
    """Any order that does not depend on that of the file; fields may be None."""
    return repr(record)
