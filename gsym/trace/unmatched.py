"""Events of a trace that lack what belongs to them."""

from __future__ import annotations

from gsym.trace.fxt.records import EVENT_KINDS, Event
from gsym.trace.matching import match_events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.trace.fxt.records import Record

# Of `gsym.trace.fxt.decoder.KINDS`: events that are halves or parts of something.
MATCHED_KINDS = tuple(
    kind for kind in EVENT_KINDS if kind.startswith(("duration", "async", "flow"))
)


def unmatched_halves(records: Iterable[Record]) -> dict[str, int]:
    """How many halves of each kind of event have no other half, by kind.

    Args:
        records: Of `MATCHED_KINDS`; they are all kept in memory.
    """
    events = (record for record in records if isinstance(record, Event))
    return match_events(events).unmatched
