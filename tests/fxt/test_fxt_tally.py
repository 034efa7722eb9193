"""gsym.fxt.columns: events counted by what they have in common."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from hypothesis import given, strategies as st

from gsym.fxt import summary as fxt_tally
from gsym.fxt.decoder import Decoder
from gsym.fxt.records import Event
from gsym.fxt.summary import OTHERS, EventKey, Tally
from tests.inputs.fxt import Words

if TYPE_CHECKING:
    import pytest

MOST_KEPT = 64 << 20
"""Bytes of texts; when there are more, the engine gives all up."""
LONGEST = 32000


def tally_of(data: bytes, piece: int = 1 << 20) -> dict[EventKey, tuple[int, int]]:
    tally = Tally()
    pieces = (data[at : at + piece] for at in range(0, len(data), piece))
    for columns in Decoder().columns(pieces):
        tally.add(columns)
    return tally.sums()


def counted(data: bytes) -> dict[EventKey, tuple[int, int]]:
    """The same, by its records; each ends where the next one begins."""
    records = [*Decoder().records((data,))]
    ends = [*(record.offset for record in records), len(data)]
    events: Counter[EventKey] = Counter()
    sizes: Counter[EventKey] = Counter()
    for record, (start, end) in zip(records, pairwise(ends), strict=True):
        if isinstance(record, Event):
            key = EventKey(record.provider, record.category, record.name, record.kind)
            events[key] += 1
            sizes[key] += end - start
    return {key: (count, sizes[key]) for key, count in events.items()}


def last(w: Words, kind: int) -> bytes:
    return b"" if kind in {0, 2, 3} else w(7)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 10),
            st.sampled_from([b"", b"a", b"a longer name"]),
            st.integers(0, 3),
        ),
        max_size=30,
    ),
    st.sampled_from(["little", "big"]),
    st.integers(1, 200),
)
def test_tallies_match_the_records(
    events: list[tuple[int, bytes, int]],
    byteorder: Literal["little", "big"],
    piece: int,
) -> None:
    w = Words(byteorder)
    data = w.magic() + b"".join(
        (w.provider_section(provider) if provider else w.thread(1, 2, 3))
        + w.named_event(kind, 1, name, last(w, kind))
        for kind, name, provider in events
    )
    assert tally_of(data, piece) == counted(data)


def test_many_groups_are_distinguished() -> None:
    w = Words("little")
    data = b"".join(w.named_event(0, 1, f"{at}".encode()) for at in range(5000)) * 3
    found = tally_of(data)
    assert len(found) == 5000
    assert {events for events, _ in found.values()} == {3}


def test_dropped_texts_keep_their_counts() -> None:
    w = Words("little")
    names = [
        b"%07d" % at + bytes(LONGEST - 7) for at in range(MOST_KEPT // LONGEST + 9)
    ]
    events = (w.named_event(0, 1, name) for name in [*names, names[0]])
    tally = Tally()
    restarts = 0
    for columns in Decoder().columns(events):
        restarts += columns.first_new_string == 1
        tally.add(columns)
    found = tally.sums()
    assert restarts == 2  # at the beginning, and when there are too many
    assert len(found) == len(names)
    counts = [found[EventKey(None, "", name.decode(), "instant")] for name in names]
    size = len(w.named_event(0, 1, names[0]))
    assert counts == [(2, 2 * size)] + [(1, size)] * (len(names) - 1)


def test_events_of_too_many_names_are_counted_as_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fxt_tally, "MOST_GROUPS", 2)
    counted = Tally()
    keys = [EventKey(1, "c", name, "instant") for name in "abcda"]
    for key in keys:
        counted.count(key, 1, 10)
    assert counted.sums() == {
        keys[0]: (2, 20),
        keys[1]: (1, 10),
        EventKey(1, OTHERS, OTHERS, "instant"): (2, 20),
    }
