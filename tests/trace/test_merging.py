"""gsym.trace.merging: several traces as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from gsym.trace.fxt.decoder import Decoder
from gsym.trace.fxt.records import (
    Backtrace,
    Event,
    Initialization,
    Mmap,
    Module,
    ProviderEvent,
    ProviderInfo,
    ProviderSection,
    String,
    Thread,
    TraceInfo,
    Unknown,
)
from gsym.trace.fxt.writer import encode
from gsym.trace.merging import MergedProvider, TraceMerger
from gsym.trace.profiles.fxt_samples import read_fxt_samples
from tests.inputs.fxt import Words
from tests.trace.fxt_cases import ARGUMENTS, EVENTS, OTHERS, UNKNOWN, unknown_record

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from gsym.trace.fxt.records import Record

    Order = Literal["little", "big"]

pytestmark = pytest.mark.long

LITTLE, BIG = Words("little"), Words("big")
BOTH = pytest.mark.parametrize("order", ["little", "big"])
METADATA = (TraceInfo, ProviderInfo, ProviderSection, ProviderEvent, Initialization)
TABLES = (String, Thread)


def event(ticks: int, provider: int | None = None, name: str = "name") -> Event:
    return Event("instant", ticks, 7, 8, "category", name, provider=provider)


def trace(records: Iterable[Record], order: Order = "little") -> bytes:
    return b"".join(encode(records, order))


def decoded(data: bytes) -> list[Any]:
    return list(Decoder(strict=True).records([data]))


def merged(
    *traces: bytes, merger: TraceMerger | None = None, lenient: bool = False
) -> bytes:
    merger = merger or TraceMerger()
    pieces: list[bytes] = []
    for number, data in enumerate(traces):
        records = Decoder(strict=not lenient).records([data])
        pieces += merger.pieces(records, f"trace{number}")
    return b"".join(pieces)


def said(data: bytes) -> list[Any]:
    """What a trace says, without its tables, its metadata and ids of providers."""
    return [
        record._replace(offset=0, provider=None)
        for record in decoded(data)
        if not isinstance(record, (*METADATA, *TABLES))
    ]


def of_type(data: bytes, kind: type) -> list[Any]:
    return [record for record in decoded(data) if isinstance(record, kind)]


def names(data: bytes) -> list[tuple[int, str]]:
    return [(info.provider, info.name) for info in of_type(data, ProviderInfo)]


# ---- providers


def test_clashing_provider_ids_are_renumbered() -> None:
    one = trace([ProviderInfo("a", 1), event(1, 1), ProviderInfo("b", 2), event(2, 2)])
    two = trace([ProviderInfo("c", 2), event(3, 2), ProviderInfo("d", 7), event(4, 7)])
    merger = TraceMerger()
    data = merged(one, two, merger=merger)
    assert names(data) == [(1, "a"), (2, "b"), (3, "c"), (7, "d")]
    assert [(e.ticks, e.provider) for e in of_type(data, Event)] == [
        (1, 1),
        (2, 2),
        (3, 3),
        (4, 7),
    ]
    assert merger.providers == [
        MergedProvider("trace0", 1, 1, "a"),
        MergedProvider("trace0", 2, 2, "b"),
        MergedProvider("trace1", 2, 3, "c"),
        MergedProvider("trace1", 7, 7, "d"),
    ]


def test_assigned_provider_ids_are_not_reused() -> None:
    traces = [
        trace([ProviderInfo("a", 1), event(1, 1)]),
        trace([event(2)]),
        trace([ProviderInfo("b", 2), event(3, 2)]),
    ]
    assert names(merged(*traces)) == [(1, "a"), (2, "trace1"), (3, "b")]


@pytest.mark.parametrize("name", ["x" * 256, "\udcff" * 300])
def test_a_long_provider_name_is_truncated(name: str) -> None:
    pieces = TraceMerger().pieces([event(1)], name)
    (info,) = of_type(b"".join(pieces), ProviderInfo)
    assert len(info.name.encode("utf-8", "surrogateescape")) == 255


def test_tables_of_the_implicit_provider_are_shared() -> None:
    w = LITTLE
    data = w.magic() + w.string(3, b"cat") + w.thread(5, 7, 8)
    data += w.provider_info(1, b"p") + w.event(0, 500, (5, 3, 3))
    assert said(merged(data)) == [
        Event("instant", 500, 7, 8, "cat", "cat", ns=500),
    ]


@pytest.mark.slow
def test_full_tables_lose_no_record() -> None:
    strings = [event(number, 1, f"name {number}") for number in range(40000)]
    threads = [event(number, 1)._replace(thread=number) for number in range(400)]
    data = trace([ProviderInfo("a", 1), *strings, *threads])
    assert said(merged(data, data)) == said(data) * 2


# ---- time and byte order


def test_each_provider_keeps_its_ticks() -> None:
    one = trace([Initialization(1000), event(5)])
    two = trace([ProviderInfo("a", 1), Initialization(2000, 1), event(5, 1)])
    data = merged(one, two, trace([event(5)]))
    assert [each.ns for each in of_type(data, Event)] == [5_000_000, 2_500_000, 5]
    assert [each.ticks for each in of_type(data, Event)] == [5, 5, 5]


def test_an_initial_tick_rate_is_the_default() -> None:
    data = trace([Initialization(1000), ProviderInfo("a", 1), event(5, 1)])
    (found,) = of_type(merged(data), Event)
    assert found.ns == 5_000_000


def test_nanoseconds_unify_the_tick_rates() -> None:
    complete = event(3)._replace(kind="duration_complete", end_ticks=4)
    one = trace([Initialization(3), complete])
    two = trace([Initialization(7_000_000_000), event(15)])
    data = merged(one, two, merger=TraceMerger(nanoseconds=True))
    assert {each.ticks_per_second for each in of_type(data, Initialization)} == {10**9}
    first, second = of_type(data, Event)
    assert (first.ticks, first.end_ticks, second.ticks) == (10**9, 1333333333, 2)


def test_a_time_that_is_too_large_for_nanoseconds_is_counted() -> None:
    merger = TraceMerger(nanoseconds=True)
    data = merged(trace([Initialization(1), event(1 << 63), event(1)]), merger=merger)
    assert [each.ns for each in of_type(data, Event)] == [10**9]
    assert sum(merger.dropped.values()) == 1


@BOTH
def test_traces_of_both_byte_orders_are_merged(order: Order) -> None:
    records = [case[0] for case in (EVENTS | ARGUMENTS).values()]
    data = merged(
        *(trace(records, each) for each in ("little", "big")),
        merger=TraceMerger(order),
    )
    assert data[:8] == Words(order).magic()
    assert said(data) == records * 2


# ---- nothing is lost


@BOTH
def test_every_kind_of_record_is_merged(order: Order) -> None:
    records = [case[0] for case in (EVENTS | ARGUMENTS | OTHERS).values()]
    data = trace(records, order)
    merger = TraceMerger()
    again = merged(data, merger=merger)
    assert said(again) == said(data)
    for kind in TABLES:
        tables = [
            each._replace(offset=0, provider=None)
            for each in records
            if isinstance(each, kind)
        ]
        found = [
            each._replace(offset=0, provider=None) for each in of_type(again, kind)
        ]
        assert [each for each in tables if each not in found] == []


@BOTH
def test_unknown_records_are_copied_within_their_byte_order(order: Order) -> None:
    w = Words(order)
    records = [unknown_record(name, w) for name in UNKNOWN]
    for target in (LITTLE, BIG):
        merger = TraceMerger(target.byteorder)
        found = of_type(merged(trace(records, order), merger=merger), Unknown)
        if target.byteorder == order:
            assert [each.data for each in found] == [each.data for each in records]
        else:
            assert found == []
            assert sum(merger.dropped.values()) == len(records)


def test_stray_metadata_is_dropped_and_counted() -> None:
    w = LITTLE
    data = b"".join(
        (
            w.magic() + w.provider_info(1, b"a") + w.initialization(5),
            w.named_event(0, 1, b"e") + w.provider_info(1, b"a"),
            w.initialization(5) + w.named_event(0, 2, b"e"),
            w.record(0, 4 << 16 | 3 << 20) + w.record(0, 3 << 16 | 9 << 20),
            w.record(0, 3 << 16 | 1 << 20) + w.provider_info(6, b"silent"),
        )
    )
    merger = TraceMerger()
    again = merged(data, merger=merger)
    assert merger.dropped == {
        "providers that are named again": 1,
        "initializations that repeat": 1,
        "trace infos that are not a magic number": 1,
        "events of providers that are not named": 1,
        "providers without records": 1,
    }
    assert [type(each).__name__ for each in decoded(again)] == [
        *("TraceInfo", "ProviderInfo", "Initialization", "Thread", "String"),
        *("Event", "Event", "ProviderEvent"),
    ]
    assert merger.records == 2


def test_concatenated_traces_merge_like_separate_ones() -> None:
    w = LITTLE
    one, two = (
        w.magic()
        + w.provider_info(1, name)
        + w.initialization(rate)
        + w.string(1, name)
        + w.event(0, 10, (0, 0, 1), w(7, 8))
        for name, rate in ((b"a", 5), (b"b", 10**9))
    )
    assert merged(one + two) == merged(one, two)
    assert names(merged(one + two)) == [(1, "a"), (2, "b")]


def test_samples_of_a_merged_trace_keep_their_modules() -> None:
    def sampled(name: str) -> bytes:
        module = Module(5, 7, 0, 0, name, name.encode(), provider=1)
        mapping = Mmap(5, 7, 0, 0, 5, 0x1000, 0x1000, 0, provider=1)
        sample = Backtrace(6, 7, 8, (0x1234,), provider=1)
        return trace([ProviderInfo("p", 1), sample, module, mapping])

    data = merged(sampled("alpha"), sampled("beta"))
    for joined in (data, merged(data), sampled("alpha") + sampled("beta")):
        profile = read_fxt_samples(decoded(joined))
        found = [profile.mappings[each.mapping or 0].path for each in profile.locations]
        assert found == ["alpha", "beta"]
        assert not profile.losses


def test_a_unit_of_0_is_dropped() -> None:
    data = LITTLE.magic() + LITTLE.initialization(0) + LITTLE.named_event(0, 1, b"e")
    merger = TraceMerger()
    (found,) = of_type(merged(data, merger=merger, lenient=True), Event)
    assert found.ns == 1
    assert merger.dropped == {"initializations of 0 ticks a second": 1}


def test_a_full_buffer_of_a_silent_provider_is_kept() -> None:
    data = trace([ProviderInfo("a", 3), ProviderEvent(0, 3)])
    again = merged(trace([ProviderInfo("b", 3), event(1, 3)]), data)
    (found,) = of_type(again, ProviderEvent)
    assert dict(names(again))[found.provider] == "a"


def test_a_record_that_is_too_large_to_write_is_counted() -> None:
    w = LITTLE
    long = b"x" * 32001
    data = w.magic() + w.named_event(0, 1, long) + w.named_event(0, 2, b"e")
    merger = TraceMerger()
    assert [each.ticks for each in said(merged(data, merger=merger))] == [2]
    assert merger.dropped == {"records that are larger than can be written": 1}


# ---- merged again


PROVIDERS = st.sampled_from([None, 0, 1, 2, 2**32 - 1])
EVENT_RECORDS = st.builds(
    event, st.integers(0, 1000), PROVIDERS, st.text("abc", max_size=1)
)
INITIALIZATIONS = st.builds(Initialization, st.sampled_from([1, 7, 10**9]), PROVIDERS)
INFOS = st.builds(ProviderInfo, st.sampled_from("ab"), st.integers(0, 2))
RECORDS = st.one_of(EVENT_RECORDS, INITIALIZATIONS, INFOS)


@given(st.lists(st.lists(RECORDS), min_size=1, max_size=3))
def test_merging_keeps_all_records(traces: list[list[Record]]) -> None:
    inputs = [trace(records) for records in traces]
    once = merged(*inputs)
    assert said(once) == [record for data in inputs for record in said(data)]
    ids = [provider for provider, _ in names(once)]
    assert {each.provider for each in of_type(once, Event)} <= set(ids)


@given(st.lists(st.lists(RECORDS), min_size=1, max_size=3))
def test_merging_is_idempotent(traces: list[list[Record]]) -> None:
    once = merged(*(trace(records) for records in traces))
    assert merged(once) == once


def test_folder_names_are_not_written() -> None:
    merger = TraceMerger()
    data = b"".join(merger.pieces([event(1)], "/home/user/app.fxt"))
    assert b"app.fxt" in data
    assert b"/home" not in data
    (provider,) = merger.providers
    assert (provider.trace, provider.name) == ("/home/user/app.fxt", "app.fxt")


def test_a_merge_is_streamed() -> None:
    records = (event(number, 1, f"name {number % 9}") for number in range(60000))
    pieces = list(TraceMerger().pieces(records, "trace"))
    assert len(pieces) > 4
    assert max(map(len, pieces)) < 600_000
