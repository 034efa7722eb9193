"""gsym.fxt.writer: records -> traces, and back."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from gsym.errors import LimitError
from gsym.fxt.decoder import Decoder
from gsym.fxt.records import (
    EVENT_KINDS,
    Argument,
    Backtrace,
    Blob,
    ContextSwitch,
    Event,
    Initialization,
    KernelObject,
    LargeBlob,
    LegacyContextSwitch,
    Log,
    Mmap,
    Module,
    ProviderEvent,
    ProviderInfo,
    ProviderSection,
    Record,
    String,
    Thread,
    ThreadWakeup,
    TraceInfo,
    Unknown,
    UserspaceObject,
)
from gsym.fxt.writer import MOST_FRAMES, Encoder, argument_of, encode
from tests.fxt.fxt_cases import (
    ARGUMENTS,
    EVENTS,
    OTHERS,
    UNKNOWN,
    bare,
    unknown_record,
)
from tests.inputs.fxt import Words
from tests.strategies import builds

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from gsym.fxt.records import Value

    Order = Literal["little", "big"]

LITTLE, BIG = Words("little"), Words("big")
BOTH = pytest.mark.parametrize("w", [LITTLE, BIG], ids=["little", "big"])
CASES = EVENTS | ARGUMENTS | OTHERS
EVENT = Event("instant", 1, 7, 8, "category", "name", ns=1)
TABLES = (TraceInfo, String, Thread, ProviderSection)


def encoded(
    records: Iterable[Record], byteorder: Order = "little", *, interning: bool = True
) -> bytes:
    return b"".join(encode(records, byteorder, interning=interning))


def decoded(data: bytes) -> list[Any]:
    return list(Decoder(strict=True).records([data]))


def said(records: Iterable[Any]) -> list[Any]:
    """What records say, without where they stand and what tables they need."""
    return [
        record._replace(offset=0)
        for record in records
        if not isinstance(record, TABLES)
    ]


# ---- bytes


@BOTH
def test_each_kind_is_written_as_specified(w: Words) -> None:
    for case, (record, make) in CASES.items():
        expected = make(w) if case == "the magic number" else w.magic() + make(w)
        assert encoded([record], w.byteorder, interning=False) == expected, case


@BOTH
@pytest.mark.parametrize("case", UNKNOWN)
def test_an_unknown_record_is_written_unchanged(w: Words, case: str) -> None:
    record = unknown_record(case, w)
    assert encoded([record], w.byteorder) == w.magic() + record.data


@BOTH
def test_names_and_threads_go_into_tables(w: Words) -> None:
    other = EVENT._replace(name="other", args=(Argument("name", "string", "category"),))
    event = (1, 1, 2)
    argument = w.record(6, 2 << 16 | 1 << 32)
    assert encoded([EVENT, EVENT, other], w.byteorder) == b"".join(
        (
            w.magic(),
            w.thread(1, 7, 8),
            w.string(1, b"category"),
            w.string(2, b"name"),
            w.event(0, 1, event),
            w.event(0, 1, event),
            w.string(3, b"other"),
            w.event(0, 1, (1, 1, 3), argument, argument_count=1),
        )
    )


def test_each_provider_gets_its_own_sections_and_tables() -> None:
    w = LITTLE
    of_5, of_6 = EVENT._replace(provider=5), EVENT._replace(provider=6)
    data = encoded([ProviderInfo("five", 5), of_5, of_6, of_5, EVENT, of_6])
    tables = w.thread(1, 7, 8) + w.string(1, b"category") + w.string(2, b"name")
    event = w.event(0, 1, (1, 1, 2))
    assert data == b"".join(
        (
            w.magic() + w.provider_info(5, b"five") + tables + event,
            w.provider_section(6) + tables + event,
            w.provider_section(5) + event + event,
            w.provider_section(6) + event,
        )
    )
    assert [r.provider for r in said(decoded(data))] == [5, 5, 6, 5, 5, 6]


def test_given_table_entries_are_used() -> None:
    w = LITTLE
    records: list[Record] = [
        String(1, "name"),
        Thread(3, 7, 8),
        EVENT,
        String(1, "other"),
        EVENT,
    ]
    data = encoded(records)
    assert data == b"".join(
        (
            w.magic() + w.string(1, b"name") + w.thread(3, 7, 8),
            w.string(2, b"category") + w.event(0, 1, (3, 2, 1)),
            w.string(1, b"other"),
            w.string(3, b"name") + w.event(0, 1, (3, 2, 3)),
        )
    )


def test_a_trace_after_another_begins_with_empty_tables() -> None:
    first, second = (EVENT._replace(category=f"c{at}", provider=5) for at in (1, 2))
    begin: list[Record] = [TraceInfo(0, 0x16547846), ProviderInfo("five", 5)]
    data = encoded([*begin, first, *begin, second, first])
    assert [r.category for r in said(decoded(data)) if isinstance(r, Event)] == [
        *("c1", "c2", "c1")
    ]


@pytest.mark.slow
def test_full_tables_replace_what_was_not_used_last() -> None:
    names = [f"name {number}" for number in range(33000)]
    events = [
        EVENT._replace(name=name, thread=number % 300)
        for number, name in enumerate(names)
    ]
    read = said(decoded(encoded(events + events[:10])))
    assert [(e.name, e.thread) for e in read] == [
        (e.name, e.thread) for e in events + events[:10]
    ]


class _Number(IntEnum):
    LARGE = 2**31 - 1


def test_a_number_may_be_of_a_subclass() -> None:
    number = _Number.LARGE
    assert argument_of("a", number) == Argument("a", "int32", 2**31 - 1)
    for kind in ("int32", "uint32", "int64", "uint64"):
        event = EVENT._replace(args=(Argument("a", kind, number),))
        (found,) = said(decoded(encoded([event])))
        assert found.args[0].value == 2**31 - 1


def test_a_number_takes_the_smallest_type_that_holds_it() -> None:
    expected = {
        Argument("a", "int64", -(2**31)): "int32",
        Argument("a", "int64", 2**31 - 1): "int32",
        Argument("a", "int64", 2**31): "int64",
        Argument("a", "int64", -(2**31) - 1): "int64",
        Argument("a", "uint64", 2**32 - 1): "uint32",
        Argument("a", "uint64", 2**32): "uint64",
        Argument("a", "pointer", 1): "pointer",
        Argument("a", "koid", 1): "koid",
    }
    for argument, kind in expected.items():
        (event,) = said(decoded(encoded([EVENT._replace(args=(argument,))])))
        assert event.args == (argument._replace(type=kind),)


VALUES: list[tuple[Value, str]] = [
    (None, "null"),
    (True, "bool"),
    (2.5, "double"),
    ("text", "string"),
    (b"data", "blob"),
    (-(2**31), "int32"),
    (2**31 - 1, "int32"),
    (2**31, "uint32"),
    (2**32 - 1, "uint32"),
    (2**32, "int64"),
    (-(2**31) - 1, "int64"),
    (-(2**63), "int64"),
    (2**63, "uint64"),
    (2**64 - 1, "uint64"),
]


@pytest.mark.parametrize(("value", "kind"), VALUES)
def test_a_value_gets_the_type_that_fits_it(value: Value, kind: str) -> None:
    argument = argument_of("a", value)
    assert argument == Argument("a", kind, value)
    (event,) = said(decoded(encoded([EVENT._replace(args=(argument,))])))
    assert event.args == (argument,)


def test_a_value_without_a_type_is_refused() -> None:
    with pytest.raises(OverflowError):
        argument_of("a", 2**64)
    with pytest.raises(OverflowError):
        argument_of("a", -(2**63) - 1)
    with pytest.raises(TypeError):
        argument_of("a", [])  # type: ignore[arg-type] # that is the point


@pytest.mark.parametrize(
    "fields", [{"args": (Argument("a", "null", None),)}, {"process": 7}, {"thread": 0}]
)
def test_a_large_blob_without_a_time_has_no_other_metadata(
    fields: dict[str, Any],
) -> None:
    with pytest.raises(ValueError, match="large blob 'b' has arguments or a thread"):
        encoded([LargeBlob("a", "b", b"data", **fields)])


def test_a_surrogate_that_does_not_represent_a_byte_is_named() -> None:
    reason = r"the text 'ab\\ud800' has the surrogate U\+D800 at 2"
    with pytest.raises(ValueError, match=reason):
        encoded([EVENT._replace(name="ab\ud800")])


def test_a_large_blob_is_split_into_records() -> None:
    data = bytes(range(256)) * 300
    read = said(decoded(encoded([Blob("n", 1, data)])))
    assert len(read) == 3
    assert b"".join(record.data for record in read) == data
    assert [record for record in read if record[:2] != ("n", 1)] == []


def test_the_magic_number_is_written_once() -> None:
    magic: Record = TraceInfo(0, 0x16547846)
    log: Record = Log(0, 0x16547846, 1, "x", 0)
    for records in ([log], [magic, log]):
        data = encoded(records)
        assert data.count(LITTLE.magic()) == 1
        assert said(decoded(data)) == [log]
    assert encoded([log, magic]).count(LITTLE.magic()) == 2


# ---- limits

LIMITS: dict[str, tuple[Record, Record]] = {
    "a string": (String(1, "x" * 32000), String(1, "x" * 32001)),
    "an inline string": (
        KernelObject(1, 1, "x" * 32000),
        KernelObject(1, 1, "ü" * 16000 + "x"),
    ),
    "a line of a log": (Log(1, 2, 3, "x" * 32000), Log(1, 2, 3, "x" * 32001)),
    "the name of a provider": (
        ProviderInfo("x" * 255, 1),
        ProviderInfo("x" * 256, 1),
    ),
    "the name of a module": (
        Module(1, 2, 0, 3, "x" * 255, b""),
        Module(1, 2, 0, 3, "x" * 256, b""),
    ),
    "a build id": (
        Module(1, 2, 0, 3, "", bytes(255)),
        Module(1, 2, 0, 3, "", bytes(256)),
    ),
    "arguments": (
        EVENT._replace(args=(Argument("a", "null", None),) * 15),
        EVENT._replace(args=(Argument("a", "null", None),) * 16),
    ),
    "frames": (
        Backtrace(1, 2, 3, (1,) * MOST_FRAMES),
        Backtrace(1, 2, 3, (1,) * (MOST_FRAMES + 1)),
    ),
    "a record": (
        EVENT._replace(args=(Argument("a", "blob", bytes(32760 - 24)),)),
        EVENT._replace(args=(Argument("a", "blob", bytes(32760 - 23)),)),
    ),
}


def test_values_above_the_limits_are_refused() -> None:
    for fits, too_large in LIMITS.values():
        (*_, read) = decoded(encoded([fits]))
        own = len(fits) - 3  # without ns, provider and offset at the end
        assert read[:own] == fits[:own]
        encoder = Encoder()
        encoder.take()
        with pytest.raises(LimitError, match="limit of"):
            encoder.add(too_large)
        encoder.add(EVENT)
        assert said(decoded(LITTLE.magic() + encoder.take())) == [EVENT]


TOO_LARGE: list[Record] = [
    TraceInfo(16, 0),
    TraceInfo(1, 1 << 40),
    ProviderInfo("", 1 << 32),
    ProviderSection(-1),
    ProviderEvent(16, 1),
    Initialization(1 << 64),
    String(1 << 15, ""),
    Thread(256, 0, 0),
    EVENT._replace(ticks=-1),
    EVENT._replace(process=1 << 64),
    EVENT._replace(provider=1 << 32),
    EVENT._replace(args=(Argument("a", "int32", 1 << 31),)),
    EVENT._replace(args=(Argument("a", "int32", -(1 << 31) - 1),)),
    EVENT._replace(args=(Argument("a", "uint32", -1),)),
    EVENT._replace(args=(Argument("a", "uint64", -1),)),
    EVENT._replace(args=(Argument("a", "int64", 1 << 63),)),
    EVENT._replace(args=(Argument("a", "pointer", 1 << 64),)),
    Blob("", 256, b""),
    KernelObject(1, 256, ""),
    ContextSwitch(1, 1 << 16, 0, 1, 2),
    ContextSwitch(1, 0, 16, 1, 2),
    ThreadWakeup(1, 1 << 16, 2),
    LegacyContextSwitch(1, 256, 0, 1, 2, 3, 4, 5, 6),
    LegacyContextSwitch(1, 0, 16, 1, 2, 3, 4, 5, 6),
    LegacyContextSwitch(1, 0, 0, 1, 2, 3, 4, 256, 6),
    LegacyContextSwitch(1, 0, 0, 1, 2, 3, 4, 5, 256),
    Module(1, 2, 0, 1 << 16, "", b""),
    Mmap(1, 2, 0, 1, 8, 0, 0, 0),
    Mmap(1, 2, 0, 1 << 16, 0, 0, 0, 0),
]


def test_a_number_that_does_not_fit_its_field_is_refused() -> None:
    for record in TOO_LARGE:
        with pytest.raises(OverflowError, match="does not fit in"):
            encoded([record])


INVALID: list[Record] = [
    EVENT._replace(kind="surprise"),
    EVENT._replace(kind="counter"),
    EVENT._replace(kind="duration_complete"),
    EVENT._replace(args=(Argument("a", "surprise", 1),)),
    Unknown(11, None, b""),
    Unknown(11, None, b"7 bytes"),
    unknown_record("an unknown large record", BIG),
]


def test_invalid_records_are_refused() -> None:
    for record in INVALID:
        with pytest.raises(ValueError, match=r"kind|types?|whole words|byte order"):
            encoded([record])


# ---- there and back

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAMES = st.one_of(TEXTS, st.sampled_from(["name", "other", "", "\udcff"]))


def unsigned(bits: int) -> st.SearchStrategy[int]:
    top = (1 << bits) - 1
    return st.one_of(st.integers(0, top), st.sampled_from([0, 1, top]))


U3, U4, U8, U16, U64 = map(unsigned, (3, 4, 8, 16, 64))
BYTES = st.binary(max_size=20)
ARGUMENT = st.one_of(
    *(
        builds(Argument, NAMES, st.just(kind), values)
        for kind, values in {
            "null": st.none(),
            "int32": st.integers(-(2**31), 2**31 - 1),
            "uint32": st.integers(0, 2**32 - 1),
            "int64": st.integers(-(2**63), -(2**31) - 1)
            | st.integers(2**31, 2**63 - 1),
            "uint64": st.integers(2**32, 2**64 - 1),
            "double": st.floats(allow_nan=False),
            "string": NAMES,
            "pointer": U64,
            "koid": U64,
            "bool": st.booleans(),
            "blob": BYTES,
        }.items()
    )
)
ARGS = st.lists(ARGUMENT, max_size=15).map(tuple)
KOIDS = st.one_of(U64, st.integers(1, 4))


def events(kind: str) -> st.SearchStrategy[Event]:
    is_complete = kind == "duration_complete"
    has_id = not is_complete and kind not in {
        "instant",
        "duration_begin",
        "duration_end",
    }
    return builds(
        Event,
        *(st.just(kind), U64, KOIDS, KOIDS, NAMES, NAMES, ARGS),
        id=U64 if has_id else st.none(),
        end_ticks=U64 if is_complete else st.none(),
    )


RECORDS = st.one_of(
    builds(ProviderInfo, NAMES, unsigned(32)),
    builds(ProviderEvent, U4, unsigned(32)),
    builds(TraceInfo, st.integers(1, 15), unsigned(40)),
    builds(Initialization, st.just(10**9)),
    *map(events, EVENT_KINDS),
    builds(Blob, NAMES, U8, BYTES),
    builds(UserspaceObject, U64, KOIDS, NAMES, ARGS),
    builds(KernelObject, KOIDS, U8, NAMES, ARGS),
    builds(ContextSwitch, U64, U16, U4, KOIDS, KOIDS, ARGS),
    builds(ThreadWakeup, U64, U16, KOIDS, ARGS),
    builds(LegacyContextSwitch, U64, U8, U4, *([KOIDS] * 4), U8, U8),
    builds(Log, U64, KOIDS, KOIDS, NAMES),
    builds(Module, U64, KOIDS, KOIDS, U16, NAMES, BYTES),
    builds(Mmap, U64, KOIDS, KOIDS, U16, U3, U64, U64, U64),
    builds(Backtrace, U64, KOIDS, KOIDS, st.lists(U64, max_size=5).map(tuple)),
    builds(LargeBlob, NAMES, NAMES, BYTES),
    builds(LargeBlob, NAMES, NAMES, BYTES, U64, KOIDS, KOIDS, ARGS),
)


def as_read(records: Iterable[Any]) -> list[Any]:
    """Records with the times in ns and the providers that reading them gives."""
    provider: int | None = None
    read = []
    for record in records:
        changes: dict[str, object] = {}
        if isinstance(record, ProviderInfo):
            provider = record.provider
        elif not isinstance(record, (ProviderEvent, TraceInfo)):
            changes["provider"] = provider
        if "ns" in record._fields and getattr(record, "ticks", None) is not None:
            changes["ns"] = record.ticks
        if isinstance(record, Event):
            changes["end_ns"] = record.end_ticks
        read.append(record._replace(**changes))
    return read


@given(
    records=st.lists(RECORDS, max_size=12),
    byteorder=st.sampled_from(["little", "big"]),
    interning=st.booleans(),
)
def test_written_records_are_read_back(
    records: list[Any], byteorder: Order, *, interning: bool
) -> None:
    data = encoded(records, byteorder, interning=interning)
    decoder = Decoder(strict=True)
    read = list(decoder.records([data]))
    assert said(read) == [
        record for record in as_read(records) if not isinstance(record, TABLES)
    ]
    others = [r for r in read if isinstance(r, TraceInfo) and r.type]
    assert [r[:2] for r in others] == [
        r[:2] for r in records if isinstance(r, TraceInfo)
    ]
    assert decoder.byteorder == byteorder


@BOTH
def test_all_kinds_are_read_back_from_tables(w: Words) -> None:
    records = [record for record, _ in CASES.values()]
    data = encoded(records, w.byteorder)
    without_tables = said(decoded(data))
    assert bare(without_tables) == said(records)
