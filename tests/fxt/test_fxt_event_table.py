"""gsym.fxt.event_table: events as Arrow batches."""

from __future__ import annotations

import random
import sys
from typing import Any

import pytest

from gsym.errors import UnsupportedError
from gsym.fxt.event_table import event_batches
from gsym.fxt.reader import open_trace
from gsym.fxt.records import EVENT_KINDS, Event
from gsym.fxt.writer import argument_of, encode
from tests.inputs.fxt import Words

pytestmark = pytest.mark.long

SHARED = (
    *("offset", "kind", "ticks", "ns", "process", "thread", "category", "name"),
    *("id", "end_ticks", "end_ns", "provider"),
)


def random_events(count: int) -> list[Event]:
    chosen = random.Random(3)  # noqa: S311 - no secret
    events = []
    for ticks in range(count):
        kind = chosen.choice(EVENT_KINDS)
        value = chosen.randrange(2**64)
        has_id = kind not in {*EVENT_KINDS[2:5], "instant"}
        events.append(
            Event(
                *(kind, ticks, chosen.randrange(3), chosen.randrange(300)),
                *(f"category {ticks % 3}", f"name {chosen.randrange(ticks + 1)}"),
                tuple(argument_of("a", n) for n in range(ticks % 3)),
                id=value if has_id else None,
                end_ticks=value if kind == "duration_complete" else None,
                provider=chosen.choice([1, 1, 1, 2]),
            )
        )
    return events


def test_batches_match_the_records() -> None:
    pa = pytest.importorskip("pyarrow")
    data = b"".join(encode(random_events(20000)))
    table = pa.Table.from_batches(list(event_batches(open_trace(data))))
    rows: list[dict[str, Any]] = table.to_pylist()
    records = [record for record in open_trace(data) if isinstance(record, Event)]
    assert len(rows) == len(records) == 20000
    for row, record in zip(rows, records, strict=True):
        assert {name: row[name] for name in SHARED} == {
            name: getattr(record, name) for name in SHARED
        }
        assert row["argument_count"] == len(record.args)


def test_values_that_arrow_cannot_hold_are_null_or_replaced() -> None:
    pytest.importorskip("pyarrow")
    w = Words("little")
    parts = [
        w.named_event(0, 2**63, b"\xff"),
        w.initialization(1),
        w.named_event(4, 2**63, b"e", w(2**63)),
    ]
    (batch,) = event_batches(open_trace(b"".join(parts)))
    plain, wide = batch.to_pylist()
    assert (plain["name"], plain["provider"], plain["ns"]) == ("?", None, 2**63)
    assert (wide["ns"], wide["end_ns"], wide["end_ticks"]) == (None, None, 2**63)


def test_without_pyarrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UnsupportedError, match=r"gsym\[arrow\]"):
        next(event_batches(open_trace(b"")))
