"""gsym.fxt.decoder: which records of a trace are handed out."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from gsym.fxt.decoder import Decoder, Filter
from gsym.fxt.records import (
    Backtrace,
    Blob,
    ContextSwitch,
    Event,
    KernelObject,
    LargeBlob,
    LegacyContextSwitch,
    Log,
    Mmap,
    Module,
    ProviderInfo,
    Record,
    String,
    Thread,
    ThreadWakeup,
    TraceInfo,
    UserspaceObject,
)
from gsym.fxt.writer import argument_of, encode
from tests.inputs.fxt import Words

pytestmark = pytest.mark.long

LITTLE = Words("little")
CONTEXT: list[Record] = [
    ProviderInfo("p", 1),
    KernelObject(7, 1, "seven"),
    UserspaceObject(1, 7, "object"),
    Module(900, 7, 0, 1, "m", b""),
    Mmap(900, 7, 0, 1, 0, 0, 0, 0),
]
EARLY = Event("instant", 10, 7, 71, "disk", "read")
LONG = Event("duration_complete", 20, 7, 72, "net", "send", end_ticks=500)
LATE = Event("counter", 600, 8, 81, "disk", "write", (argument_of("n", 5),), id=1)
SWITCH = ContextSwitch(30, 0, 3, 71, 81)
WAKEUP = ThreadWakeup(40, 0, 81)
LEGACY = LegacyContextSwitch(50, 0, 3, 7, 71, 8, 81, 1, 2)
LOG = Log(60, 7, 71, "disk")
SAMPLE = Backtrace(70, 8, 81, (1, 2))
BLOB = Blob("read", 1, b"data")
LARGE = LargeBlob("disk", "read", b"data")
LARGE_TIMED = LargeBlob("disk", "write", b"data", 80, 8, 81)
OTHERS = [EARLY, LONG, LATE, SWITCH, WAKEUP, LEGACY, LOG, SAMPLE, BLOB, LARGE]
OTHERS += [LARGE_TIMED]


def passing(chosen: Filter, records: list[Any] | None = None) -> list[Any]:
    """Which of the records pass, besides those that always do."""
    records = OTHERS if records is None else records
    data = b"".join(encode([*CONTEXT, *records]))
    decoder = Decoder(strict=True, chosen=chosen)
    records_found: list[Any] = list(decoder.records([data]))
    found = [
        record._replace(
            provider=None,
            offset=0,
            **dict.fromkeys({"ns", "end_ns"} & {*record._fields}),
        )
        for record in records_found
        if not isinstance(record, (ProviderInfo, String, Thread, TraceInfo))
    ]
    assert len(found[:4]) == len(CONTEXT) - 1
    assert decoder.counts().left_out == len(records) - len(found[4:])
    assert [record for record in found[4:] if record not in records] == []
    return found[4:]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (Filter(), OTHERS),
        (
            Filter(from_ns=61, to_ns=80),
            [LONG, SAMPLE, LARGE_TIMED],
        ),
        (Filter(from_ns=30, to_ns=50), [LONG, SWITCH, WAKEUP, LEGACY]),
        (Filter(from_ns=500, to_ns=599), [LONG]),
        (Filter(from_ns=501), [LATE]),
        (Filter(to_ns=19), [EARLY]),
        (Filter(processes=[8]), [LATE, LEGACY, SAMPLE, LARGE_TIMED]),
        (Filter(processes=[9, 7]), [EARLY, LONG, LEGACY, LOG]),
        (
            Filter(threads=[81]),
            [LATE, SWITCH, WAKEUP, LEGACY, SAMPLE, LARGE_TIMED],
        ),
        (Filter(threads=[72], processes=[8]), []),
        (Filter(categories=["x", "n?t"]), [LONG]),
        (Filter(names=["*e*d"]), [EARLY, LONG, BLOB, LARGE]),
        (Filter(names=["write"], categories=["d*"], from_ns=100), [LATE]),
        (Filter(names=[""]), []),
    ],
)
def test_a_filter_passes_matching_records(
    chosen: Filter, expected: list[Record]
) -> None:
    assert passing(chosen) == expected


PIECES = st.lists(st.sampled_from(["a", "b", "ü", "*", "?", ""]), max_size=6)


@given(
    names=st.lists(st.text("abü", max_size=6), max_size=6),
    patterns=st.lists(PIECES.map("".join), min_size=1, max_size=3),
)
@example(names=["a", "a\0", "a\0b"], patterns=["a", "b"])
def test_patterns_match_like_shell_patterns(
    names: list[str], patterns: list[str]
) -> None:
    events = [EARLY._replace(name=name) for name in names]
    found = passing(Filter(names=patterns), events)
    expected = [n for n in names if any(fnmatchcase(n, each) for each in patterns)]
    assert [event.name for event in found] == expected


def test_a_backtracking_pattern_terminates() -> None:
    name = "a" * 30000
    events = [EARLY._replace(name=name + str(number)) for number in range(5)]
    assert passing(Filter(names=["*a" * 50 + "b"]), events) == []


def test_a_cached_match_is_not_reused_for_another_string() -> None:
    names = [f"{number:08}{'x' * 30000}" for number in range(2500)]
    records = [EARLY._replace(name=name) for name in names]
    found = passing(Filter(names=["*5xx*"]), records)
    assert [e.name for e in found] == [n for n in names if n[7] == "5"]


def test_events_are_filtered_without_other_records() -> None:
    events = [LITTLE.named_event(0, 5, name) for name in (b"yes", b"no")]
    decoder = Decoder(strict=True, chosen=Filter(names=["y*"]))
    assert decoder.feed(b"".join(events)) == [
        Event("instant", 5, 7, 8, "", "yes", ns=5),
    ]


def test_a_pattern_with_a_nul_and_a_negative_koid_are_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        Decoder(chosen=Filter(names=["a\0b"]))
    with pytest.raises(OverflowError):
        Decoder(chosen=Filter(threads=[-1]))
