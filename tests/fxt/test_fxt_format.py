"""gsym.fxt.decoder: traces -> records."""

from __future__ import annotations

import random
import struct
import tracemalloc
from itertools import chain
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from gsym.errors import FormatError
from gsym.fxt.decoder import KINDS, Decoder
from gsym.fxt.records import (
    Argument,
    Backtrace,
    Event,
    LargeBlob,
    Log,
    Mmap,
    Module,
    ProviderInfo,
    Record,
    TraceInfo,
)
from tests.fxt.fxt_cases import (
    ARGUMENTS,
    EVENTS,
    OTHERS,
    UNKNOWN,
    bare,
    unknown_record,
)
from tests.guarded import GuardedMemory
from tests.inputs.fxt import Words, inline, stream

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from gsym.fxt.decoder import Problem

pytestmark = pytest.mark.long

LITTLE, BIG = Words("little"), Words("big")
BOTH = pytest.mark.parametrize("w", [LITTLE, BIG], ids=["little", "big"])
CASES = EVENTS | ARGUMENTS | OTHERS
U64 = 2**64 - 1


def decoded(*pieces: bytes, strict: bool = True) -> list[Record]:
    return list(Decoder(strict=strict).records(pieces))


def mended(*pieces: bytes) -> tuple[list[Record], list[Problem]]:
    decoder = Decoder()
    return list(decoder.records(pieces)), decoder.problems


def events(records: Iterable[Record]) -> list[Event]:
    return [record for record in records if isinstance(record, Event)]


# ---- each kind


@BOTH
def test_an_unknown_record_keeps_its_bytes(w: Words) -> None:
    for case, (_, make) in UNKNOWN.items():
        event = w.named_event(0, 1, b"next")
        records = decoded(w.magic() + make(w) + event)
        assert records[1]._replace(offset=0) == unknown_record(case, w), case
        assert isinstance(records[2], Event)


@BOTH
def test_all_kinds_in_one_trace_come_in_order(w: Words) -> None:
    expected = [record for record, _ in CASES.values()]
    data = w.magic() + b"".join(make(w) for _, make in CASES.values())
    assert bare(decoded(data))[1:] == expected


def test_reserved_bits_of_a_large_record_are_ignored() -> None:
    expected, make = OTHERS["a large blob"]
    data = bytearray(make(LITTLE))
    data[5] |= 0xF0
    data[6:8] = b"\xff\xff"
    assert bare(mended(bytes(data))[0]) == [expected]


def test_a_second_trace_may_follow_in_another_byte_order() -> None:
    parts = [w.magic() + w.named_event(0, 5, b"e") for w in (BIG, LITTLE, BIG)]
    assert [event.ticks for event in events(decoded(*parts))] == [5, 5, 5]


def test_the_byte_order_can_be_given_without_a_magic_number() -> None:
    decoder = Decoder(byteorder="big", strict=True)
    (event,) = decoder.records([BIG.named_event(0, 5, b"e")])
    assert event == Event("instant", 5, 7, 8, "", "e", ns=5)
    assert decoder.byteorder == "big"


def test_an_argument_of_an_unknown_type_is_left_out() -> None:
    w = LITTLE
    arguments = (
        w.argument(11, b"odd", 5, w(1, 2))
        + w.argument(1, b"one", 1)
        + w.argument(15, b"odd")
    )
    decoder = Decoder(strict=True)
    body = w(7, 8) + arguments + w(99)
    (event,) = events(decoder.records([w.event(5, 1, (0, 0, 0), body, 3)]))
    assert event.args == (Argument("one", "int32", 1),)
    assert event.id == 99
    assert decoder.counts().unknown_arguments == 2


def test_words_after_known_fields_are_skipped_and_counted() -> None:
    w = LITTLE
    scope = w.event(0, 1, (0, 0, inline(b"e")), w(7, 8) + stream(b"e") + w(2))
    start = w.record(1, 0, w(10**9, 5, 6))
    argument = w(7, 8) + w.argument(1, b"a", 5, w(1, 2, 3))
    decoder = Decoder(strict=True)
    data = start + scope + w.event(0, 1, (0, 0, 0), argument, argument_count=1)
    assert [type(record).__name__ for record in decoder.records([data])] == [
        "Initialization",
        "Event",
        "Event",
    ]
    assert decoder.counts().appended_words == 2 + 1 + 3
    decoder = Decoder(strict=True)
    list(decoder.records([all_kinds(w)]))
    assert decoder.counts().appended_words == 0


# ---- strings, threads, providers


@BOTH
def test_strings_and_threads_are_looked_up_in_the_tables(w: Words) -> None:
    trace = (
        w.magic()
        + w.string(1, b"cat")
        + w.string(0x7FFF, b"name")
        + w.thread(255, 70, 71)
        + w.event(0, 1, (255, 1, 0x7FFF))
        + w.record(6, 255 << 16 | 1 << 24, w(0xABC))
        + w.record(8, 255 << 28 | 255 << 36, w(1))
        + w.record(10, 255 << 20 | 1 << 28 | 2 << 16, w(1, 0x40))
    )
    _, _, _, _, event, thing, switch, sample = decoded(trace)
    assert event[:6] == ("instant", 1, 70, 71, "cat", "name")
    assert thing[:3] == (0xABC, 70, "cat")
    assert switch[3:7] == (70, 71, 70, 71)
    assert sample[:4] == (1, 70, 71, (0x40,))


def test_an_entry_is_replaced_for_what_follows() -> None:
    w = LITTLE
    event = w.event(0, 1, (1, 0, 1))
    trace = (
        w.string(1, b"old")
        + w.thread(1, 7, 8)
        + event
        + w.string(1, b"new")
        + w.thread(1, 9, 10)
        + event
    )
    found = [(e.name, e.process, e.thread) for e in events(decoded(trace))]
    assert found == [("old", 7, 8), ("new", 9, 10)]


def test_each_provider_has_its_own_tables() -> None:
    w = LITTLE
    event = w.event(0, 3, (1, 0, 1))
    trace = (
        w.provider_info(1, b"one")
        + w.initialization(3)
        + w.string(1, b"of one")
        + w.thread(1, 10, 11)
        + w.provider_info(2, b"two")
        + w.string(1, b"of two")
        + w.thread(1, 20, 21)
        + event
        + w.provider_section(1)
        + event
    )
    found = [
        (e.provider, e.name, e.process, e.thread, e.ns) for e in events(decoded(trace))
    ]
    assert found == [(2, "of two", 20, 21, 3), (1, "of one", 10, 11, 10**9)]


def test_tables_before_any_provider_are_defaults() -> None:
    w = LITTLE
    trace = (
        w.initialization(2 * 10**9)
        + w.string(1, b"common")
        + w.string(2, b"common, too")
        + w.provider_section(5)
        + w.string(2, b"own")
        + w.event(0, 10, (0, 1, 2), w(7, 8))
    )
    (event,) = events(decoded(trace))
    assert (event.provider, event.category, event.name, event.ns) == (
        *(5, "common", "own"),
        5,
    )


def test_undefined_references_are_reported_and_replaced() -> None:
    w = LITTLE
    trace = (
        w.provider_info(1, b"one")
        + w.string(1, b"of one")
        + w.thread(1, 1, 2)
        + w.provider_section(2)
        + w.event(0, 1, (1, 1, 0))
    )
    records, problems = mended(trace)
    offset = len(trace) - 16
    assert records[-1][:6] == ("instant", 1, U64, U64, "<unknown>", "")
    assert problems == [
        (offset, "thread 1 is not defined"),
        (offset, "string 1 is not defined"),
    ]


def test_a_magic_number_ends_earlier_definitions() -> None:
    w = LITTLE
    first = (
        *(w.magic(), w.initialization(2), w.string(1, b"front"), w.thread(1, 7, 8)),
        *(w.provider_info(1, b"p"), w.initialization(4), w.string(2, b"own")),
        w.event(0, 40, (1, 1, 2)),
    )
    wide = w.event(4, U64, (0, 0, 0), w(7, 8) + w(U64))
    second = (w.magic(), wide, w.provider_section(1), w.event(0, 5, (1, 1, 2)))
    expected = ("instant", 5, U64, U64, "<unknown>", "<unknown>")
    for rate in (3, 10**9):
        third = (w.magic(), w.initialization(rate), wide)
        decoder = Decoder()
        one, two, three, four = events(decoder.records([*first, *second, *third]))
        assert (one.category, one.name, one.process, one.ns) == (
            "front",
            "own",
            7,
            10**10,
        )
        assert (two.ns, two.provider) == (U64, None)
        assert (three[:6], three.ns, three.provider) == (expected, 5, 1)
        assert (four.ns, four.end_ns) == (U64 * 10**9 // rate,) * 2
        assert len(decoder.problems) == 3
        joined = b"".join((*first, *second, *third))
        assert events(Decoder().records([joined])) == [one, two, three, four]


# ---- time


@given(
    rate=st.one_of(st.integers(1, U64), st.integers(1, 10**11)),
    ticks=st.lists(st.integers(0, U64), min_size=1, max_size=4),
)
def test_nanoseconds_are_exact(rate: int, ticks: list[int]) -> None:
    w = LITTLE
    parts = [
        w.initialization(rate),
        *(w.named_event(4, time, b"e", w(time // 2)) for time in ticks),
        w.record(9, 0, w(ticks[0], 7, 8)),
        w.initialization(10**9),
        w.named_event(0, 77, b"e"),
    ]
    *timed, last = (r for r in decoded(*parts) if isinstance(r, (Event, Log)))
    times = [*ticks, ticks[0]]
    assert [record.ns for record in timed] == [t * 10**9 // rate for t in times]
    assert [event.end_ns for event in events(timed)] == [
        t // 2 * 10**9 // rate for t in ticks
    ]
    assert last.ns == 77


def test_a_rate_of_0_ticks_is_ignored() -> None:
    w = LITTLE
    records, problems = mended(w.initialization(0) + w.named_event(0, 5, b"e"))
    assert problems == [(0, "invalid tick rate: 0 ticks per second")]
    assert events(records)[0].ns == 5


# ---- what writers do otherwise


def test_a_provider_name_sized_in_words_is_read() -> None:
    w = LITTLE
    info = w.record(0, 1 << 16 | 7 << 20 | 2 << 52, stream(b"ocaml-trace"))
    assert decoded(info) == [ProviderInfo("ocaml-trace", 7)]


def test_a_module_and_a_mapping_may_lack_the_thread() -> None:
    w = LITTLE
    name, build_id = stream(b"m"), b"12345678"
    module = w.record(10, 1 << 44 | 8 << 52, w(5, 7) + name + build_id)
    mapping = w.record(10, 1 << 16, w(5, 7, 0x1000, 0x2000, 0x3000))
    assert decoded(module + mapping) == [
        Module(5, 7, 0, 0, "m", build_id, 5),
        Mmap(5, 7, 0, 0, 0, 0x1000, 0x2000, 0x3000, 5, None, 40),
    ]


def test_a_truncated_backtrace_keeps_its_frames() -> None:
    w = LITTLE
    sample = w.record(10, 2 << 16 | 3 << 28, w(5, 7, 8, 1, 2))
    records, problems = mended(sample)
    assert records == [Backtrace(5, 7, 8, (1, 2), 5)]
    assert problems == [(0, "a backtrace has 2 frames but declares more")]


# ---- damage


def test_records_of_size_0_are_skipped() -> None:
    w = LITTLE
    event = w.named_event(0, 5, b"e")
    records, problems = mended(event + bytes(80) + event + bytes(8))
    assert len(records) == 2
    assert problems == [
        (len(event), "80 bytes of records with size 0"),
        (2 * len(event) + 80, "8 bytes of records with size 0"),
    ]


def test_a_record_too_short_for_its_fields_is_left_out() -> None:
    w = LITTLE
    event = w.named_event(0, 5, b"e")
    bad = [
        w.event(0, 1, (0, 0, inline(b"long name")), w(7, 8) + b"too long"),
        w.event(0, 1, (0, 0, 0), w(7)),
        w.event(5, 1, (0, 0, 0), w(7, 8)),
        w.event(0, 1, (0, 0, 0), w(7, 8), argument_count=1),
        w.event(0, 1, (0, 0, 0), w(7, 8) + w(0), argument_count=1),
        w.event(0, 1, (0, 0, 0), w(7, 8) + w(1 | 2 << 4), argument_count=1),
        w.event(0, 1, (0, 0, 0), w(7, 8) + w(3 | 1 << 4) + w(5), argument_count=1),
        w.string(1, b"text")[:8],
        w.thread(1, 1, 1)[:16],
        w.record(10, 2 << 16, w(5, 7)),
        w.record(5, 9 << 32, b"8 bytes."),
        w.large(1 << 40, w(0, U64, 0)),
        w.large(1 << 40, w(0, 9, 0)),
    ]
    for data in bad:
        size = len(data)
        sized = w((struct.unpack("<Q", data[:8])[0] & ~0xFFF0) | size // 8 << 4)
        records, problems = mended(event + sized + data[8:] + event)
        assert [type(record) for record in records] == [Event, Event], data
        reason = f"a record of {size} bytes is too short for its fields"
        assert problems == [(len(event), reason)], data


def test_arguments_of_a_record_that_is_too_short_are_dropped() -> None:
    w = LITTLE
    arguments = w.argument(1, b"a", 1) + w.argument(6, b"b", inline(b"v"), b"v" * 8)
    bad = w.event(5, 1, (0, 0, 0), w(7, 8) + arguments, argument_count=2)
    body = w(7, 8) + w.argument(1, b"c", 3)
    good = w.event(0, 1, (0, 0, 0), body, argument_count=1)
    records, _ = mended(bad + good)
    assert events(records)[0].args == (Argument("c", "int32", 3),)


def test_strict_reading_fails_after_the_last_valid_record() -> None:
    w = LITTLE
    event = w.named_event(0, 5, b"e")
    records = Decoder("a.fxt", strict=True).records([event + bytes(8) + event])
    assert isinstance(next(records), Event)
    with pytest.raises(FormatError, match="records with size 0") as caught:
        next(records)
    assert (caught.value.path, caught.value.offset) == ("a.fxt", len(event))


def test_a_strict_reader_returns_the_records_before_a_problem() -> None:
    event = LITTLE.named_event(0, 5, b"e")
    decoder = Decoder(strict=True)
    assert len(decoder.feed(event + bytes(8) + event)) == 1
    for _ in range(2):
        with pytest.raises(FormatError, match="records with size 0"):
            decoder.feed(event)
    with pytest.raises(FormatError, match="records with size 0"):
        decoder.finish()


def test_another_magic_number_is_a_problem() -> None:
    w = LITTLE
    records, problems = mended(w.record(0, 4 << 16 | 0x123 << 24))
    assert records == [TraceInfo(0, 0x123)]
    assert problems == [(0, "the magic number is 291")]


def test_the_end_of_a_truncated_trace_is_reported() -> None:
    event = LITTLE.named_event(0, 5, b"e")
    for size in range(1, len(event)):
        records, problems = mended(event + event[:size])
        assert len(records) == 1
        reason = f"the trace ends inside a record after {size} bytes"
        assert problems == [(len(event), reason)]


def test_a_record_above_the_size_limit_is_skipped() -> None:
    w = LITTLE
    event = w.named_event(0, 5, b"e")
    large = w.large(1 << 40, w(0, 80) + bytes(80))
    for most, is_read in ((len(large), True), (len(large) - 8, False)):
        for step in (1, 7, 1000):
            data = event + large + event
            pieces = [data[at : at + step] for at in range(0, len(data), step)]
            decoder = Decoder(most_record_size=most)
            records = list(decoder.records(pieces))
            assert len(events(records)) == 2
            assert any(isinstance(record, LargeBlob) for record in records) is is_read
            reason = f"a record of {len(large)} bytes is too large for memory: skipped"
            assert decoder.problems == ([] if is_read else [(len(event), reason)])
    decoder = Decoder(most_record_size=len(large) - 8)
    assert len(events(decoder.records([event, large[:-24]]))) == 1
    reason = f"the trace ends inside a record after {len(large) - 24} bytes"
    assert decoder.problems[-1] == (len(event), reason)


def test_a_huge_declared_record_takes_no_memory() -> None:
    decoder = Decoder()
    decoder.feed(LITTLE(15 | (2**32 - 1) << 4))
    block = bytes(1 << 20)
    tracemalloc.start()
    try:
        for _ in range(16):
            decoder.feed(block)
        assert tracemalloc.get_traced_memory()[1] < 1 << 18
    finally:
        tracemalloc.stop()
    assert len(decoder.problems) == 1


# ---- pieces


def all_kinds(w: Words) -> bytes:
    """Every case, without the blob that takes long to cut."""
    makers = [make for name, (_, make) in CASES.items() if name != "a large blob"]
    return w.magic() + b"".join(make(w) for make in makers) + w.string(9, b"end")


def test_a_truncated_trace_gives_the_complete_records() -> None:
    data = all_kinds(BIG)
    whole = decoded(data)
    ends = [record.offset for record in whole[1:]] + [len(data)]
    for size in range(0, len(data), 3):
        records, problems = mended(data[:size])
        count = sum(end <= size for end in ends)
        assert records == whole[:count]
        is_cut = size not in {0, *ends}
        assert len(problems) == is_cut


@pytest.mark.parametrize(("w", "step"), [(LITTLE, 1), (BIG, 100)])
def test_a_trace_in_pieces_gives_the_same_records(w: Words, step: int) -> None:
    data = all_kinds(w) + bytes(24) + w.named_event(0, 1, b"e") + b"rest"
    pieces = [data[at : at + step] for at in range(0, len(data), step)]
    assert mended(*pieces) == mended(data)
    decoder = Decoder()
    fed = [record for piece in pieces for record in decoder.feed(piece)]
    decoder.finish()
    assert (fed, decoder.problems) == mended(data)


def test_many_records_come_in_order_with_their_strings() -> None:
    w = LITTLE
    chosen = random.Random(5)  # noqa: S311 - reproducible
    parts, names = [w.magic()], []
    for number in range(30000):
        name = f"name {chosen.randrange(5000)}".encode()
        if chosen.random() < 0.1:
            parts.append(w.string(chosen.randrange(1, 100), name))
        parts.append(w.named_event(0, number, name))
        names.append(name.decode())
    found = events(decoded(b"".join(parts)))
    assert [event.ticks for event in found] == list(range(30000))
    assert [event.name for event in found] == names


def test_string_numbers_are_reset_before_they_use_much_memory() -> None:
    w = LITTLE
    names = [f"{number:08}".encode() + bytes(30000) for number in range(3200)]
    trace = (w.event(0, 1, (0, 1, inline(n)), w(7, 8) + stream(n)) for n in names)
    most, found = 0, []
    decoder = Decoder(strict=True)
    for columns in decoder.columns(chain((w.string(1, b"stays"),), trace)):
        most = max(most, len(columns.strings))
        found += events(columns.records())
    assert {event.category for event in found} == {"stays"}
    assert [event.name.encode() for event in found] == names
    assert most < 2400


# ---- counts, kinds


def test_counts_are_of_all_kinds() -> None:
    decoder = Decoder()
    data = all_kinds(LITTLE) + bytes(8)
    for _ in decoder.columns([data]):
        pass
    counts = decoder.counts()
    assert sum(counts.records.values()) == len(decoded(all_kinds(LITTLE)))
    assert sum(counts.bytes.values()) == len(data) - 8
    assert counts.records["counter"] == 1
    assert counts.records["instant"] == 1 + len(ARGUMENTS)
    assert counts.providers == 2
    assert counts.problems == 1


def test_only_selected_kinds_are_returned() -> None:
    w = LITTLE
    trace = (
        w.string(1, b"name")
        + w.event(0, 1, (0, 0, 1), w(7, 8))
        + w.event(2, 1, (0, 0, 1), w(7, 8))
    )
    decoder = Decoder(kinds={"duration_begin"})
    (event,) = decoder.records([trace])
    assert isinstance(event, Event)
    assert (event.kind, event.name) == ("duration_begin", "name")
    assert decoder.counts().records["instant"] == 1


def test_each_kind_can_be_selected() -> None:
    w = LITTLE
    data = all_kinds(w) + OTHERS["a large blob"][1](w) + w.record(12, 0, w(5))
    for kind in KINDS:
        decoder = Decoder(kinds={kind})
        found = list(decoder.records([data]))
        assert len(found) == decoder.counts().records[kind] > 0, kind


# ---- the columns


def test_columns_have_the_values_of_records() -> None:
    data = all_kinds(BIG)
    for columns in Decoder().columns([data]):
        found = events(columns.records())
        assert columns.event_column("ticks").tolist() == [e.ticks for e in found]
        names = [columns.strings[n] for n in columns.event_column("name")]
        assert names == [e.name for e in found]
        assert len({*columns.strings}) == len(columns.strings)
        assert [KINDS[kind] for kind in columns.event_kinds()] == [
            e.kind for e in found
        ]


# ---- hostile


@given(data=st.binary(max_size=400))
def test_random_bytes_are_read_to_the_end(data: bytes) -> None:
    records, problems = mended(data)
    assert [record for record in records if not isinstance(record, tuple)] == []
    assert [problem for problem in problems if problem.offset > len(data)] == []


def test_flipped_bits_cause_no_read_past_the_end() -> None:
    data = bytearray(all_kinds(LITTLE))
    memory = GuardedMemory(len(data))
    chosen = random.Random(1)  # noqa: S311 - reproducible
    for _ in range(500):
        flips = [chosen.randrange(8 * len(data)) for _ in range(3)]
        for bit in flips:
            data[bit // 8] ^= 1 << bit % 8
        decoder = Decoder()
        with memory.hold(bytes(data)) as held:
            count = sum(1 for _ in decoder.records([held]))
        assert count < len(data) // 8
        for bit in flips:
            data[bit // 8] ^= 1 << bit % 8


def test_problems_are_counted_beyond_those_that_are_listed() -> None:
    w = LITTLE
    decoder = Decoder()
    data = w.event(0, 1, (0, 0, 5), w(7, 8)) * 1000
    for _ in range(70):
        decoder.feed(data)
    assert decoder.counts().problems == 70000
    assert len(decoder.problems) == 65536


# ---- real traces


def test_the_second_trace_of_another_writer_is_read(fixtures: Path) -> None:
    data = (fixtures / "fxt/ocaml-trace-t2-2.fxt").read_bytes()
    records = decoded(data)
    assert ProviderInfo("ocaml-trace", 1, 48) in records
    found = [(e.kind, e.name, e.ticks, e.end_ticks) for e in events(records)]
    assert found == [
        ("duration_complete", "outer", 100000, 5000000),
        ("duration_complete", "inner", 180000, 4500000),
        ("instant", "hello", 1234567, None),
    ]
    assert {(e.process, e.thread, e.provider) for e in events(records)} == {(1, 86, 1)}
