"""What a trace is, as an object of JSON: times, providers, processes, counts."""

from __future__ import annotations

from gsym.trace.fxt.objects import PROCESS, THREAD
from gsym.trace.fxt.records import EVENT_KINDS, Event, LargeBlob
from gsym.trace.record_object import snake_case

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gsym.trace.fxt.objects import Objects
    from gsym.trace.fxt.records import Record
    from gsym.trace.fxt.survey import Provider, Survey


def kind_of(record: Record) -> str:
    """What of `gsym.trace.fxt.decoder.KINDS` a record is."""
    if isinstance(record, Event):
        return record.kind
    kind = snake_case(type(record).__name__)
    if isinstance(record, LargeBlob) and record.ticks is not None:
        return f"{kind}_with_metadata"
    return kind


def describe_trace(
    survey: Survey, kinds: Mapping[str, int], objects: Objects
) -> dict[str, Any]:
    """The description.

    Args:
        survey: Of the trace, or of what is wanted of it.
        kinds: How many records of each kind there are.
        objects: The names of processes and threads.
    """
    return {
        "begin_ns": survey.begin_ns,
        "end_ns": survey.end_ns,
        "records": sum(kinds.values()),
        "events": sum(kinds.get(kind, 0) for kind in EVENT_KINDS),
        "kinds": {kind: count for kind, count in kinds.items() if count},
        "providers": [
            {
                "id": provider.id,
                "name": provider.name,
                "ticks_per_second": provider.ticks_per_second,
                "events": provider.events,
                "dropped": provider.dropped,
            }
            for _, provider in sorted(survey.providers.items(), key=_by_id)
        ],
        "processes": _processes(survey, objects),
    }


def _by_id(item: tuple[int | None, Provider]) -> int:
    number = item[0]
    return -1 if number is None else number


def _processes(survey: Survey, objects: Objects) -> list[dict[str, Any]]:
    """Processes and their threads by koid."""
    threads: dict[int, list[dict[str, Any]]] = {
        process: [] for process in sorted(survey.processes)
    }
    for (process, thread), events in sorted(survey.threads.items()):
        name = objects.name_of(thread, kind=THREAD) or ""
        described = {"koid": thread, "name": name, "events": events}
        threads[process].append(described)
    return [
        {
            "koid": process,
            "name": objects.name_of(process, kind=PROCESS) or "",
            "threads": found,
        }
        for process, found in threads.items()
    ]
