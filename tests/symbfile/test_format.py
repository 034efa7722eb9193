"""gsym.symbfile.format: files and records, in both directions."""

from __future__ import annotations

import gc
from itertools import chain
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from gsym.errors import FormatError, LimitError
from gsym.symbfile.columns import LineTableRow, Range, Record, ReturnPad, ReturnPadEntry
from gsym.symbfile.format import Decoder, Encoder, encode
from tests.inputs.encoding import uleb
from tests.inputs.symbfile import (
    BYTES,
    FIXED32,
    FIXED64,
    GROUP,
    GROUP_END,
    HEAD,
    HEADER,
    MAGIC,
    RANGE,
    RETURN_PAD,
    STRING_TABLE,
    data,
    line_table,
    message,
    number,
    packed,
    range_at,
    strings,
    zigzag,
)
from tests.symbfile import oracle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

pytestmark = pytest.mark.long


U32_MAX, U64_MAX = 2**32 - 1, 2**64 - 1
MAX_MESSAGE_SIZE = 1 << 24


def decoded(*pieces: bytes) -> list[Record]:
    return list(Decoder(pieces).records())


def encoded(records: Iterable[Record]) -> bytes:
    return b"".join(encode(records))


def name_of(record: Record) -> str:
    assert isinstance(record, Range)
    return record.func


def failure(*pieces: bytes) -> FormatError:
    with pytest.raises(FormatError) as caught:
        decoded(*pieces)
    return caught.value


@pytest.mark.parametrize("switch", [gc.enable, gc.disable])
def test_the_garbage_collector_is_left_as_it_was(switch: Callable[[], None]) -> None:
    file = encoded([Range(0x1000, 4, "f", line_table=(LineTableRow(0, 1),))] * 3)
    was_collecting = gc.isenabled()
    try:
        switch()
        assert len(decoded(file)) == 3
        assert gc.isenabled() == (switch is gc.enable)
    finally:
        (gc.enable if was_collecting else gc.disable)()


# ---- the real file


@pytest.fixture(scope="module")
def real_file(fixtures: Path) -> bytes:
    return (fixtures / "symblib/inline-no-tco.ranges.symbfile").read_bytes()


def test_the_file_of_symblib_says_what_its_tests_say(real_file: bytes) -> None:
    main, inlined, *others = decoded(real_file)
    assert isinstance(main, Range)
    assert isinstance(inlined, Range)
    source = main.file
    assert (main.elf_va, main.length, main.func) == (0x640, 0x24, "main")
    assert main.line_table == ((0, 38), (8, 39), (24, 41))
    assert inlined == Range(0x64C, 12, "a_inline", None, source, 40, 1, ())
    assert len(others) == 7


def test_the_file_of_symblib_is_written_as_it_is(real_file: bytes) -> None:
    assert encoded(decoded(real_file)) == real_file


# ---- small files, read and written

ROWS = (LineTableRow(0, 5), LineTableRow(0x90, 300), LineTableRow(0x90, 0))
PAD = ReturnPad(
    0x657, (ReturnPadEntry("main", "/a.c", 40), ReturnPadEntry("inl", "", 0))
)
CASES: dict[str, tuple[list[Record], bytes]] = {
    "nothing": ([], HEAD + message(STRING_TABLE)),
    "one function": (
        [Range(0x640, 0x24, "main", "/a.c")],
        HEAD
        + message(STRING_TABLE)
        + message(
            RANGE,
            number(12, 0x640) + number(2, 0x24) + data(3, b"main") + data(4, b"/a.c"),
        ),
    ),
    "strings that are shared stand in a table, the most used first": (
        [
            Range(0x10, 1, "b", "/a.c"),
            Range(0x20, 2, "b", "/a.c", "/a.c", 7, 1),
            Range(0x30, 0, "only", "/a.c"),
        ],
        HEAD
        + strings("/a.c", "b")
        + message(RANGE, number(12, 0x10) + number(2, 1) + number(9, 1) + number(10, 0))
        + message(
            RANGE,
            number(1, zigzag(0x10))
            + number(2, 2)
            + number(9, 1)
            + number(10, 0)
            + number(5, 7)
            + number(11, 0)
            + number(7, 1),
        )
        + message(RANGE, number(1, zigzag(0x10)) + data(3, b"only") + number(10, 0)),
    ),
    "a line table": (
        [Range(0, 0x100, "f", None, None, 0, 0, ROWS)],
        HEAD
        + message(STRING_TABLE)
        + message(
            RANGE,
            number(12, 0)
            + number(2, 0x100)
            + data(3, b"f")
            + line_table((0, 0x90, 0), (5, 300, 0)),
        ),
    ),
    "a file without a name is not the same as none": (
        [Range(1, 1, "f", "")],
        HEAD
        + message(STRING_TABLE)
        + message(RANGE, number(12, 1) + number(2, 1) + data(3, b"f") + data(4, b"")),
    ),
    "a return pad": (
        [PAD],
        HEAD
        + strings("main", "/a.c", "inl", "")
        + message(
            RETURN_PAD,
            number(5, 0x657) + packed(2, 0, 2) + packed(3, 1, 3) + packed(4, 40, 0),
        ),
    ),
    "a return pad of nothing": (
        [ReturnPad(3, ())],
        HEAD + message(STRING_TABLE) + message(RETURN_PAD, number(5, 3)),
    ),
    "addresses go on from either kind of record": (
        [Range(0x100, 1, "f"), ReturnPad(0x80, ()), Range(0x80, 1, "g")],
        HEAD
        + message(STRING_TABLE)
        + message(RANGE, number(12, 0x100) + number(2, 1) + data(3, b"f"))
        + message(RETURN_PAD, number(1, zigzag(-0x80)))
        + message(RANGE, number(1, 0) + number(2, 1) + data(3, b"g")),
    ),
    "a step that no delta can hold": (
        [
            Range(0, 1, "f"),
            Range(2**63 - 1, 1, "g"),
            Range(U64_MAX, 1, "h"),
            Range(2**63 - 1, 1, "i"),
            Range(U64_MAX, 1, "j"),
            Range(2**63 - 2, 1, "k"),
        ],
        HEAD
        + message(STRING_TABLE)
        + message(RANGE, number(12, 0) + number(2, 1) + data(3, b"f"))
        + message(RANGE, number(1, zigzag(2**63 - 1)) + number(2, 1) + data(3, b"g"))
        + message(RANGE, number(12, U64_MAX) + number(2, 1) + data(3, b"h"))
        + message(RANGE, number(1, zigzag(-(2**63))) + number(2, 1) + data(3, b"i"))
        + message(RANGE, number(12, U64_MAX) + number(2, 1) + data(3, b"j"))
        + message(RANGE, number(12, 2**63 - 2) + number(2, 1) + data(3, b"k")),
    ),
    "the largest numbers": (
        [
            Range(
                *(U64_MAX, U64_MAX, "f", None, None, U32_MAX, U32_MAX),
                (LineTableRow(U32_MAX, U32_MAX),),
            )
        ],
        HEAD
        + message(STRING_TABLE)
        + message(
            RANGE,
            number(12, U64_MAX)
            + number(2, U64_MAX)
            + data(3, b"f")
            + number(5, U32_MAX)
            + number(7, U32_MAX)
            + line_table((U32_MAX,), (U32_MAX,)),
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_records_become_these_bytes_and_back(case: str) -> None:
    records, file = CASES[case]
    assert encoded(records).hex() == file.hex()
    assert decoded(file) == records


# ---- what readers accept, but writers do not write


def test_fields_may_come_in_any_order_and_the_last_of_several_is_used() -> None:
    body = (
        data(3, b"f")
        + number(9, 0)
        + data(4, b"x")
        + number(10, 1)
        + data(4, b"y")
        + number(2, 1)
        + number(2, 4)
        + number(12, 5)
        + number(1, zigzag(3))
    )
    file = HEAD + strings("name", "no") + range_at(0x10) + message(RANGE, body)
    assert decoded(file)[1] == Range(0x13, 4, "name", "y")


def test_columns_may_come_unpacked_and_in_pieces() -> None:
    rows = number(1, 1) + packed(2, 7) + packed(1, 2, 3) + number(2, 8) + packed(2, 9)
    pad = number(5, 9) + number(2, 0) + packed(2, 1) + packed(4, 3) + number(4, 4)
    pad += packed(3, 1, 1)
    file = HEAD + strings("a", "b") + range_at(1, data(8, rows))
    file += message(RETURN_PAD, pad)
    first, second = decoded(file)
    assert first[-1] == ((1, 7), (3, 8), (6, 9))  # its line table
    assert second[1] == (("a", "b", 3), ("b", "b", 4))


def test_line_tables_of_one_range_are_one() -> None:
    file = HEAD + range_at(1, line_table((1,), (7, 8)), line_table((2,), ()))
    assert decoded(file)[0][-1] == ((1, 7), (3, 8))


@pytest.mark.parametrize(
    "field",
    [
        number(100, 7),
        data(100, b"anything"),
        uleb(100 << 3 | FIXED32) + bytes(4),
        uleb(100 << 3 | FIXED64) + bytes(8),
        uleb(100 << 3 | GROUP)
        + number(1, 1)
        + uleb(2 << 3 | GROUP)
        + uleb(2 << 3 | GROUP_END)
        + uleb(100 << 3 | GROUP_END),
        uleb(101 << 3 | GROUP) * 100 + uleb(101 << 3 | GROUP_END) * 100,
    ],
)
def test_unknown_fields_are_passed_over_everywhere(field: bytes) -> None:
    file = (
        MAGIC
        + message(HEADER, field)
        + message(STRING_TABLE, field + data(1, b"s"))
        + range_at(1, field, data(8, field + packed(1, 2) + packed(2, 3)))
        + message(RETURN_PAD, field + number(1, 0))
    )
    assert decoded(file) == [
        Range(1, 0, "f", line_table=(LineTableRow(2, 3),)),
        ReturnPad(1, ()),
    ]


@pytest.mark.parametrize("kind", [5, 2**31 - 1])
def test_messages_of_unknown_types_are_passed_over(kind: int) -> None:
    body = b"\x00\x00" + MAGIC  # would be a message of type 0
    file = HEAD + message(kind, body) + range_at(1) + message(kind)
    decoder = Decoder([file])
    assert list(decoder.records()) == [Range(1, 0, "f")]
    counts = decoder.counts()
    assert (counts.unknown_messages, counts.ranges) == (2, 1)
    assert counts.unknown_bytes == 2 * len(message(kind)) + len(body)


def test_a_string_table_replaces_the_one_before() -> None:
    def named(index: int) -> bytes:
        return message(RANGE, number(12, 1) + number(9, index))

    file = HEAD + strings("a", "b") + named(0) + named(1) + strings("c") + named(0)
    assert list(map(name_of, decoded(file))) == ["a", "b", "c"]
    assert "string index 1 out of range (table has 1)" in str(failure(file + named(1)))


def test_addresses_wrap_around_the_last_one() -> None:
    records = decoded(HEAD + range_at(U64_MAX) + message(RETURN_PAD, number(1, 4)))
    assert records[1].elf_va == 1


# ---- what is refused, and where

F = data(3, b"f")
COLUMNS = packed(3, 0) + packed(4, 0)
REFUSED: dict[str, tuple[bytes, int, str]] = {
    "no magic": (b"symbfilf\x00\x01", 0, "wrong magic number"),
    "magic of something else": (b"GSYM", 0, "wrong magic number"),
    "a part of the magic": (b"symb", 4, "ends inside its magic"),
    "magic only": (MAGIC, 8, "before its header"),
    "another message first": (MAGIC + message(STRING_TABLE), 8, "is not a header"),
    "an unknown message first": (MAGIC + message(77), 8, "is not a header"),
    "a second header": (HEAD + message(HEADER), 10, "second header"),
    "type 0": (HEAD + message(0, b"xx"), 10, "message type 0"),
    "type 2^31": (HEAD + message(2**31), 10, "message type 2147483648"),
    "type 2^64 - 1": (HEAD + message(U64_MAX), 10, "message type 18446744073709551615"),
    "length cut": (HEAD + b"\x80", 10, "truncated number"),
    "type cut": (HEAD + b"\x05", 11, "truncated number"),
    "body cut": (HEAD + b"\x05\x02abcd", 10, "inside a message"),
    "length of 11 bytes": (HEAD + b"\x80" * 10 + b"\x00\x02", 10, "more than 64 bits"),
    "length of 65 bits": (HEAD + b"\x80" * 9 + b"\x02\x02", 10, "more than 64 bits"),
    "type of 11 bytes": (HEAD + b"\x00" + b"\x80" * 11, 11, "more than 64 bits"),
    "length of 16 MiB and 1": (
        HEAD + uleb(MAX_MESSAGE_SIZE + 1) + b"\x05",
        *(10, "longer than 16 MiB"),
    ),
    "no address": (HEAD + message(RANGE, F), 10, "no address"),
    "no address of a pad": (HEAD + message(RETURN_PAD), 10, "no address"),
    "no name": (HEAD + message(RANGE, number(12, 1)), 10, "no name"),
    "delta without an address before": (
        HEAD + message(RANGE, number(1, 2) + F),
        *(10, "relative to a previous one"),
    ),
    "delta of a pad without an address before": (
        HEAD + message(RETURN_PAD, number(1, 2)),
        *(10, "relative to a previous one"),
    ),
    "name outside of the table": (
        HEAD + message(RANGE, number(12, 1) + number(9, 0)),
        *(10, "string index 0 out of range (table has 0)"),
    ),
    "file outside of the table": (
        HEAD + strings("a") + range_at(1, number(10, 1)),
        *(15, "string index 1 out of range (table has 1)"),
    ),
    "file of a call outside of the table": (
        HEAD + strings("a") + range_at(1, number(11, U32_MAX)),
        *(15, "string index 4294967295 out of range (table has 1)"),
    ),
    "name of a pad outside of the table": (
        HEAD + message(RETURN_PAD, number(5, 1) + number(2, 0) + COLUMNS),
        *(10, "string index 0 out of range (table has 0)"),
    ),
    "more offsets than lines": (
        HEAD + range_at(1, line_table((1, 2), (3,))),
        *(10, "differ in length"),
    ),
    "a line without an offset": (
        HEAD + range_at(1, line_table((), (3,))),
        *(10, "differ in length"),
    ),
    "columns of a pad": (
        HEAD + strings("a") + message(RETURN_PAD, number(5, 1) + packed(2, 0)),
        *(15, "differ in length"),
    ),
    "a name that is not UTF-8": (
        HEAD + message(RANGE, number(12, 1) + data(3, b"ok\xff")),
        *(18, "not UTF-8"),
    ),
    "a surrogate in a table": (
        HEAD + message(STRING_TABLE, data(1, b"\xed\xa0\x80")),
        *(14, "not UTF-8"),
    ),
    "a string past its message": (
        HEAD + message(RANGE, b"\x1a\x05abcd"),
        *(13, "exceeds its message"),
    ),
    "a table past its message": (
        HEAD + range_at(1, data(8, b"\x0a\x04\x01")),
        *(20, "exceeds its message"),
    ),
    "field number 0": (HEAD + message(RANGE, b"\x02\x00"), 12, "invalid field number"),
    "field number of 30 bits": (
        HEAD + message(RANGE, uleb(1 << 32) + b"\x00"),
        *(12, "invalid field number"),
    ),
    "a name that is a number": (
        HEAD + message(RANGE, number(3, 1)),
        *(13, "field 3 is not of wire type 0"),
    ),
    "a string in a table that is a number": (
        HEAD + message(STRING_TABLE, number(1, 1)),
        *(13, "field 1 is not of wire type 0"),
    ),
    "a wire type that is none": (
        HEAD + message(HEADER + 4, b"") + message(RANGE, uleb(100 << 3 | 7)),
        *(16, "unknown wire type"),
    ),
    "a group that does not end": (
        HEAD + message(RANGE, uleb(100 << 3 | GROUP)),
        *(14, "truncated number"),
    ),
    "another group that ends": (
        HEAD + message(RANGE, uleb(100 << 3 | GROUP) + uleb(101 << 3 | GROUP_END)),
        *(14, "the end of another group"),
    ),
    "groups in groups": (
        HEAD + message(RANGE, uleb(100 << 3 | GROUP) * 101),
        *(213, "nest too deeply"),
    ),
    "a header that is no message": (
        MAGIC + message(HEADER, b"\x08"),
        *(11, "truncated number"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_names_the_offset(case: str) -> None:
    """In one piece or in pieces of one byte; the oracle refuses the same."""
    file, offset, reason = REFUSED[case]
    for pieces in ((file,), tuple(file[at : at + 1] for at in range(len(file)))):
        error = failure(*pieces)
        assert reason in error.reason
        assert error.offset == offset
    with pytest.raises(oracle.UnsoundError):
        oracle.decode(file)


def test_records_before_damage_are_returned() -> None:
    records = Decoder([HEAD + range_at(1) + message(0)]).records()
    assert next(records) == Range(1, 0, "f")
    with pytest.raises(FormatError, match=r"offset 0x11: .* message type 0"):
        next(records)


def test_a_message_may_have_16_mib() -> None:
    head = number(12, 1) + uleb(3 << 3 | BYTES) + uleb(1 << 23)
    room = MAX_MESSAGE_SIZE - len(head)
    body = number(12, 1) + data(3, b"f" * room)
    assert len(body) == MAX_MESSAGE_SIZE
    (record,) = decoded(HEAD, message(RANGE, body))
    assert name_of(record) == "f" * room


def test_numbers_may_have_ten_bytes() -> None:
    long_type = b"\x82" + b"\x80" * 8 + b"\x00"
    body = number(12, U64_MAX) + F
    file = HEAD + bytes([len(body) | 0x80]) + b"\x80" * 8 + b"\x00" + long_type + body
    assert decoded(file) == [Range(U64_MAX, 0, "f")]


def test_numbers_of_more_than_32_bits_lose_the_upper_ones_as_protobuf_has_it() -> None:
    file = HEAD + range_at(1, number(7, 2**32 + 1), line_table((2**32 + 2,), (2**33,)))
    rows = (LineTableRow(2, 0),)
    assert decoded(file) == [Range(1, 0, "f", depth=1, line_table=rows)]


# ---- what is not written


def rows(*offsets: int) -> tuple[LineTableRow, ...]:
    return tuple(LineTableRow(offset, 1) for offset in offsets)


HALF = "f" * (MAX_MESSAGE_SIZE // 2)


@pytest.mark.parametrize(
    ("record", "error", "reason"),
    [
        (Range(1, 9, "f", line_table=rows(2, 1)), ValueError, "not sorted"),
        (Range(1, 9, "f", line_table=rows(0, 1 << 32)), LimitError, "32 bits"),
        (Range(-1, 1, "f"), OverflowError, "."),
        (Range(1, 1, "f", depth=2**32), OverflowError, "."),
        (Range(1, 1, "\udcff"), ValueError, "surrogates not allowed"),
        (Range(1, 1, None), ValueError, "string 0 does not exist"),  # type: ignore[arg-type]
        (Range(1, 1, HALF, HALF.upper()), LimitError, "16 MiB"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_invalid_record_is_not_written(
    record: Range, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        encoded([record])


def test_a_pad_may_name_a_long_string_many_times() -> None:
    long = "f" * (1 << 20)
    pad = ReturnPad(1, (ReturnPadEntry(long, long, 1),) * 20)
    assert decoded(encoded([pad])) == [pad]
    longer = [ReturnPadEntry(f"{n:02}" + long, "", 1) for n in range(16)]
    with pytest.raises(LimitError, match="16 MiB"):
        encoded([ReturnPad(1, tuple(longer))])


def test_a_return_pad_that_no_table_has_room_for_is_not_written() -> None:
    texts = [f"{index:02}" * (1 << 19) for index in range(16)]  # 1 MiB each
    entries = [ReturnPadEntry(text, "", 1) for text in texts]
    half, rest = ReturnPad(1, tuple(entries[:8])), ReturnPad(2, tuple(entries[8:15]))
    assert decoded(encoded([half, rest])) == [half, rest]
    # The table of the batch has half of the strings already.
    with pytest.raises(LimitError, match="16 MiB"):
        encoded([half, ReturnPad(2, tuple(entries))])


# ---- batches and parts


def test_strings_of_more_than_16_mib_go_to_several_tables() -> None:
    texts = [f"{index:02}" * (1 << 18) for index in range(40)]  # 512 KiB each
    row = LineTableRow(1, 7)
    records = [
        Range(index, 1, text, text, line_table=(LineTableRow(0, index), row))
        for index, text in enumerate(texts)
    ]
    file = encoded(records)
    decoder = Decoder([file])
    assert list(decoder.records()) == records
    assert decoder.counts().string_tables == 2


def parts_of(records: list[Record], part_size: int) -> list[bytes]:
    encoder, parts, blocks = Encoder(part_size), [], []
    for record in records:
        encoder.add(record)
    encoder.finish()
    while True:
        block, ends_part = encoder.take()
        blocks.append(block)
        if ends_part:
            parts.append(b"".join(blocks))
            blocks = []
        elif not block:
            assert not any(blocks)
            return parts


def test_parts_are_whole_files_of_whole_functions() -> None:
    records: list[Record] = [
        Range(address, 1, f"function {address // 4}", "/a.c", depth=address % 4)
        for address in range(4000)
    ]
    parts = parts_of(records, 5000)
    assert len(parts) > 4
    assert max(map(len, parts)) <= 5000
    for part in parts:
        first, *_ = decoded(part)
        assert isinstance(first, Range)
        assert first.depth == 0
    assert [record for part in parts for record in decoded(part)] == records


def test_a_part_of_several_tables_is_as_small_as_asked_for() -> None:
    texts = (f"{number:02}" * (1 << 18) for number in range(80))  # 512 KiB each
    parts = parts_of([Range(at, 1, text) for at, text in enumerate(texts)], 24 << 20)
    assert [len(part) >> 20 for part in parts] == [23, 16]


def test_a_part_size_that_nothing_fits_gives_a_part_for_each_function() -> None:
    records: list[Record] = [Range(1, 1, "f"), Range(1, 1, "g", depth=1), PAD, PAD]
    assert list(map(decoded, parts_of(records, 1))) == [records[:2], [PAD], [PAD]]


def test_without_records_there_is_one_part() -> None:
    assert parts_of([], 1000) == [HEAD + message(STRING_TABLE)]


def test_what_is_finished_is_finished_once_and_takes_nothing_more() -> None:
    encoder = Encoder(1000)
    encoder.add(Range(1, 1, "f"))
    encoder.finish()
    encoder.finish()
    with pytest.raises(ValueError, match="finished"):
        encoder.add(Range(2, 1, "g"))
    assert [encoder.take()[1] for _ in range(2)] == [True, False]


# ---- properties

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.sampled_from(["main", "f", "g", "/a.c", "/b.h", ""]) | texts
addresses = st.integers(0, U64_MAX) | st.integers(0x1000, 0x1100)
u32s = st.integers(0, U32_MAX) | st.integers(0, 200)
line_tables = st.lists(st.tuples(u32s, u32s), max_size=6).map(
    lambda rows: tuple(map(LineTableRow._make, sorted(rows)))
)
ranges = st.builds(
    Range,
    elf_va=addresses,
    length=addresses,
    func=names,
    file=st.none() | names,
    call_file=st.none() | names,
    call_line=u32s,
    depth=u32s,
    line_table=line_tables,
)
entries = st.builds(ReturnPadEntry, names, names, u32s)
return_pads = st.builds(ReturnPad, addresses, st.lists(entries, max_size=5).map(tuple))
record_lists = st.lists(ranges | return_pads, max_size=12)


def cut(file: bytes, size: int) -> list[bytes]:
    return [file[at : at + size] for at in range(0, len(file), size)]


def assert_taken_as_by_the_oracle(file: bytes, piece_size: int) -> None:
    try:
        expected = oracle.decode(file)
    except oracle.UnsoundError:
        assert 0 <= (failure(*cut(file, piece_size)).offset or 0) <= len(file)
    else:
        assert decoded(*cut(file, piece_size)) == expected


@given(record_lists, st.integers(1, 64))
def test_what_is_written_is_read_back(records: list[Record], piece_size: int) -> None:
    file = encoded(records)
    assert oracle.decode(file) == records
    assert decoded(*cut(file, piece_size)) == records
    assert encoded(decoded(file)) == file


@given(record_lists, st.integers(1, 2000))
def test_parts_say_the_same_as_one_file(records: list[Record], part_size: int) -> None:
    parts = map(oracle.decode, parts_of(records, part_size))
    assert list(chain.from_iterable(parts)) == records


fields = st.one_of(
    st.builds(number, st.integers(1, 14), st.integers(0, 3) | addresses),
    st.builds(data, st.integers(1, 9), st.binary(max_size=6)),
    st.builds(packed, st.integers(1, 8), st.integers(0, 3), st.integers(0, 300)),
    st.binary(max_size=3),
)
messages = st.builds(
    message,
    st.sampled_from([2, 2, 2, 3, 3, 4, 4, 5, 0, 1]),
    st.lists(fields, max_size=8).map(b"".join),
)


@given(st.lists(messages, max_size=6).map(b"".join), st.integers(1, 40))
def test_any_bytes_are_taken_as_the_oracle_takes_them(
    tail: bytes, piece_size: int
) -> None:
    assert_taken_as_by_the_oracle(HEAD + tail, piece_size)


def test_every_prefix_of_a_file_ends_well_or_is_refused() -> None:
    file = encoded([PAD, Range(1, 2, "f", "/a.c", line_table=ROWS), PAD])
    for size in range(len(file)):
        assert_taken_as_by_the_oracle(file[:size], len(file))


def test_every_changed_byte_is_taken_as_the_oracle_takes_it() -> None:
    file = encoded([PAD, Range(1, 2, "f", "/a.c", line_table=ROWS), PAD])
    for at in range(len(file)):
        for mask in (0x01, 0x08, 0x80, 0xFF):
            changed = bytearray(file)
            changed[at] ^= mask
            assert_taken_as_by_the_oracle(bytes(changed), len(file))


# ---- large files


def test_columns_have_what_records_have() -> None:
    records: list[Record] = [
        Range(at, 4, f"f{at % 100}", "/a.c", None, 0, at % 3, (LineTableRow(0, at),))
        for at in range(40_000)
    ]
    addresses_read: list[int] = []
    lines: list[int] = []
    strings_read = set()
    for columns in Decoder([encoded(records)]).columns():
        addresses_read += columns.range_column("elf_va").tolist()
        lines += columns.rows()[1].tolist()
        strings_read |= {columns.strings[n] for n in columns.range_column("func")}
    assert addresses_read == lines == list(range(40_000))
    assert len(strings_read) == 100


def test_strings_are_let_go_when_they_are_many() -> None:
    # Half of a megabyte each, so that they are given up on the way.
    texts = [f"{index:03}" * (1 << 17) for index in range(200)]
    records = (Range(1, 1, text, "/a.c") for text in texts)
    kept = 0
    for columns in Decoder(encode(records)).columns():
        kept = max(kept, sum(len(text or "") for text in columns.strings))
    assert kept < sum(map(len, texts)) * 0.9
    again = (Range(1, 1, text, "/a.c") for text in texts)
    assert list(map(name_of, Decoder(encode(again)).records())) == texts


def test_the_counts_of_a_file() -> None:
    file = encoded([Range(1, 2, "f", "/a.c", line_table=ROWS), PAD])
    decoder = Decoder([file])
    list(decoder.records())
    counts = decoder.counts()
    assert (counts.ranges, counts.return_pads, counts.string_tables) == (1, 1, 1)
    assert (counts.line_rows, counts.entries, counts.unknown_messages) == (3, 2, 0)
    assert (counts.table_strings, counts.inline_strings, counts.references) == (4, 1, 5)
    sizes = counts.range_bytes + counts.return_pad_bytes + counts.string_table_bytes
    assert sizes == len(file) - len(HEAD)
