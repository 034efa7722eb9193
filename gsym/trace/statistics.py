"""How many events of each provider, category and name a trace has."""

from __future__ import annotations

from collections import Counter

from gsym.formats.fxt_records import EVENT_KINDS, Event
from gsym.trace.matching import match_events

__all__ = ["MATCHED_KINDS", "EventCounts", "unmatched_halves"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gsym.formats.fxt import Columns
    from gsym.formats.fxt_records import Record

    # Id of a provider, category, name, kind.
    EventKey = tuple[int | None, str, str, str]

# Of `gsym.formats.fxt.KINDS`: events that are halves or parts of something.
MATCHED_KINDS = tuple(
    kind for kind in EVENT_KINDS if kind.startswith(("duration", "async", "flow"))
)


class EventCounts:
    """Counts events.

    Attributes:
        counts: By provider, category, name and kind.
    """

    def __init__(self) -> None:
        self.counts: Counter[EventKey] = Counter()

    def add_columns(self, parts: Iterable[Columns]) -> None:
        """Take all events of columns in."""
        numbers: Counter[tuple[int, int, int, int]] = Counter()
        texts: list[str] = []
        providers: Sequence[int | None] = ()
        for columns in parts:
            if columns.first_new_string == 1:
                self._name(numbers, texts, providers)
                numbers.clear()
                texts.clear()
            texts += columns.strings[len(texts) :]
            providers = columns.providers
            numbers.update(
                zip(
                    columns.event_column("provider"),
                    columns.event_column("category"),
                    columns.event_column("name"),
                    columns.event_kinds(),
                    strict=True,
                )
            )
        self._name(numbers, texts, providers)

    def add(self, record: Record) -> None:
        """Take a record in, if it is an event."""
        if isinstance(record, Event):
            key = (record.provider, record.category, record.name, record.kind)
            self.counts[key] += 1

    def _name(
        self,
        numbers: Mapping[tuple[int, int, int, int], int],
        texts: Sequence[str],
        providers: Sequence[int | None],
    ) -> None:
        for (provider, category, name, kind), count in numbers.items():
            key = (providers[provider], texts[category], texts[name], EVENT_KINDS[kind])
            self.counts[key] += count


def unmatched_halves(records: Iterable[Record]) -> dict[str, int]:
    """How many halves of each kind of event have no other half, by kind.

    Args:
        records: Of `MATCHED_KINDS`; they are all kept in memory.
    """
    events = (record for record in records if isinstance(record, Event))
    return match_events(events).unmatched
