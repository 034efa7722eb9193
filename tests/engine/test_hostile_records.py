"""Files with one hostile record: answers and errors, in little time and memory."""

from __future__ import annotations

from itertools import product

import pytest

import gsym
from tests import oracle
from tests.hostile import SIZE, START, ask
from tests.oracle.encode import sleb, uleb
from tests.strategies import VERSIONS

pytestmark = pytest.mark.long

ENCODER = {1: oracle.Encoder("little", 4), 2: oracle.Encoder("little", 8)}

every_version = pytest.mark.parametrize("version", VERSIONS)

END_OF_LIST = bytes(8)
LINE_TABLE, INLINE_INFO, MERGED, CALL_SITES = 1, 2, 3, 4
NAME = 1


def u32(value: int) -> bytes:
    return value.to_bytes(4, "little")


def u64(value: int) -> bytes:
    return value.to_bytes(8, "little")


def record(version: int, body: bytes, name: int = NAME) -> bytes:
    return u32(SIZE) + ENCODER[version].strp(name) + body


def info(info_type: int, payload: bytes) -> bytes:
    return u32(info_type) + u32(len(payload)) + payload


def file_with(version: int, body: bytes, name: int = NAME) -> bytes:
    """A file of one function at START, whose record ends in *body*."""
    return file_of(version, record(version, body, name))


def file_of(version: int, whole_record: bytes) -> bytes:
    function = oracle.FunctionInfo(START, SIZE, NAME)
    file = oracle.GsymFile(
        *(version, "little", 1, START, b"", b"\0main\0a.c\0"),
        files=((0, 0), (0, 6)),
        functions=(function,),
    )
    return oracle.encode_file(file, [whole_record])


# ---- damage that every reading of the record must report ------------------------

# A special opcode is among the opcodes, so none can be read without the range.
ROWS = bytes([0x0A, 0x04, 0x00])

DAMAGED: dict[str, bytes] = {
    "a line range of zero": info(LINE_TABLE, sleb(1) + sleb(0) + ROWS),
    "a negative line range": info(LINE_TABLE, sleb(5) + sleb(-5) + ROWS),
    "a line range that overflows": info(
        LINE_TABLE, sleb(-(2**63)) + sleb(2**63 - 1) + ROWS
    ),
    "a line table without its first line": info(LINE_TABLE, sleb(0) + sleb(1)),
    "a line table without an end": info(LINE_TABLE, sleb(0) + sleb(1) + b"\x0a"),
    "a file number cut short": info(LINE_TABLE, sleb(0) + sleb(1) + b"\x0a\x01\x80"),
    "a step without its size": info(LINE_TABLE, sleb(0) + sleb(1) + b"\x0a\x02"),
    "a step of lines without it": info(LINE_TABLE, sleb(0) + sleb(1) + b"\x0a\x03"),
    "an inline range without its size": info(INLINE_INFO, b"\x01\x00"),
    "an inline call without a name": info(INLINE_INFO, b"\x01\x00\x40\x00"),
    "more inline ranges than bytes": info(INLINE_INFO, uleb(2**64 - 1) + b"\x00\x40"),
    "a list of inlined calls without an end": info(
        INLINE_INFO, b"\x01\x00\x40\x01" + bytes(10)
    )[:-1],
    "more merged functions than bytes": info(MERGED, u32(2**32 - 1)),
    "a merged function longer than its list": info(MERGED, u32(1) + u32(2**32 - 1)),
    "a merged function of no bytes": info(MERGED, u32(1) + u32(0)),
    "more call sites than bytes": info(CALL_SITES, u32(2**32 - 1)),
    "more patterns than bytes": info(
        CALL_SITES, u32(1) + u64(0) + b"\x00" + u32(2**32 - 1)
    ),
    "a length past the end": u32(99) + u32(2**32 - 1),
    "no end of the list": info(99, b"\x00"),
    "nothing after the name": b"",
}


@every_version
@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_record_raises_and_names_the_place(version: int, name: str) -> None:
    ends = name not in {"no end of the list", "nothing after the name"}
    data = file_with(version, DAMAGED[name] + (END_OF_LIST if ends else b""))
    ask(data)
    with gsym.Reader(data) as reader:
        with pytest.raises(gsym.FormatError) as caught:
            list(reader.functions())
        assert caught.value.offset is not None
        assert caught.value.offset <= len(data)


@pytest.mark.parametrize("step", [1, 63, 64, 127, 128, 129, 255, 256, 8192, 16384])
def test_a_step_of_any_number_of_bytes_is_read_whole(step: int) -> None:
    ops = b"".join(
        b"\x03" + sleb(lines) + b"\x02" + uleb(step) for lines in (step, -step)
    )
    rows = info(LINE_TABLE, sleb(0) + sleb(1) + uleb(99) + ops + b"\0")
    whole = u32(4 * step) + ENCODER[1].strp(NAME) + rows + END_OF_LIST
    with gsym.Reader(file_of(1, whole)) as reader:
        (function,) = reader.functions()
    found = [(row.address - START, row.line) for row in function.line_table or ()]
    assert found == [(step, 99 + step), (2 * step, 99)]


LOOKUP_FAILS = [name for name in DAMAGED if "merged" not in name and "call" not in name]


@every_version
@pytest.mark.parametrize("name", LOOKUP_FAILS)
def test_a_lookup_in_a_damaged_record_raises(version: int, name: str) -> None:
    ends = name not in {"no end of the list", "nothing after the name"}
    data = file_with(version, DAMAGED[name] + (END_OF_LIST if ends else b""))
    with gsym.Reader(data) as reader:
        with pytest.raises(gsym.FormatError):
            reader.lookup(START)
        assert reader.lookup(START - 1) is None


@every_version
def test_a_function_without_a_name_raises(version: int) -> None:
    data = file_with(version, END_OF_LIST, name=0)
    with gsym.Reader(data) as reader:
        with pytest.raises(gsym.FormatError):
            reader.lookup(START)
        with pytest.raises(gsym.FormatError):
            list(reader.functions())


# ---- depth and number ------------------------------------------------------------

DEEP = 100_000


def inline_node(version: int, *, has_children: bool) -> bytes:
    name = ENCODER[version].strp(NAME)
    return b"\x01\x00\x40" + bytes([has_children]) + name + b"\x01\x07"


def nested_inlines(version: int, depth: int) -> bytes:
    nodes = inline_node(version, has_children=True) * (depth - 1)
    return nodes + inline_node(version, has_children=False) + bytes(depth - 1)


@pytest.mark.hostile
@pytest.mark.slow
@every_version
def test_inlined_calls_nested_without_end_are_answered_or_refused(version: int) -> None:
    body = info(INLINE_INFO, nested_inlines(version, DEEP)) + END_OF_LIST
    ask(file_with(version, body), [START])


@every_version
def test_deep_nesting_is_answered(version: int) -> None:
    body = info(INLINE_INFO, nested_inlines(version, 500)) + END_OF_LIST
    with gsym.Reader(file_with(version, body)) as reader:
        answer = reader.lookup(START)
        assert answer is not None
        assert len(answer.frames) == 501
        (function,) = reader.functions()
        depth, node = 1, function.inline
        while node is not None and node.children:
            depth, node = depth + 1, node.children[0]
        assert depth == 500


@every_version
def test_many_inlined_calls_side_by_side_are_answered(version: int) -> None:
    siblings = inline_node(version, has_children=False) * DEEP
    tree = inline_node(version, has_children=True) + siblings + b"\x00"
    with gsym.Reader(
        file_with(version, info(INLINE_INFO, tree) + END_OF_LIST)
    ) as reader:
        answer = reader.lookup(START)
        assert answer is not None
        assert len(answer.frames) == 3
        (function,) = reader.functions()
        assert function.inline is not None
        assert len(function.inline.children) == DEEP


@every_version
def test_merged_functions_inside_merged_functions_are_answered_or_refused(
    version: int,
) -> None:
    nested = record(version, END_OF_LIST)
    for _ in range(2_000):
        payload = u32(1) + u32(len(nested)) + nested
        nested = record(version, info(MERGED, payload) + END_OF_LIST)
    ask(file_of(version, nested))


@every_version
def test_many_merged_functions_are_all_answered(version: int) -> None:
    count = 5_000
    child = record(version, END_OF_LIST)
    payload = u32(count) + (u32(len(child)) + child) * count
    body = info(MERGED, payload) + END_OF_LIST
    with gsym.Reader(file_with(version, body)) as reader:
        answer = reader.lookup(START, merged=True)
        assert answer is not None
        assert len(answer.merged) == count


def test_entries_that_share_a_record_of_many_functions_take_little_memory() -> None:
    count = 2_000
    child = record(1, END_OF_LIST)
    body = info(MERGED, u32(count) + (u32(len(child)) + child) * count) + END_OF_LIST
    function = oracle.FunctionInfo(START, SIZE, NAME)
    file = oracle.GsymFile(
        *(1, "little", 1, START, b"", b"\0main\0", ((0, 0),)),
        functions=(function,) * count,
    )
    data = oracle.encode_file(file, [record(1, body)] + [b""] * (count - 1))
    offsets = 48 + count
    first = data[offsets : offsets + 4]
    shared = data[:offsets] + first * count + data[offsets + 4 * count :]
    with gsym.Reader(shared) as reader, pytest.raises(gsym.FormatError):
        reader.find("main")


# ---- numbers at their limits ---------------------------------------------------------


def line_table(opcodes: bytes) -> bytes:
    return info(LINE_TABLE, sleb(0) + sleb(1) + uleb(1) + opcodes) + END_OF_LIST


@every_version
@pytest.mark.parametrize(
    "opcodes",
    [
        b"\x02" + uleb(2**64 - 1) + b"\x02" + uleb(2**64 - 1) + b"\x00",
        b"\x03" + sleb(-(2**63)) + b"\x04\x00",
        b"\x03" + sleb(2**63 - 1) + b"\x04\x00",
        b"\x01" + uleb(2**32 - 1) + b"\x04\x00",
        b"\x02" + b"\x80" * 1000 + b"\x00" + b"\x00",
        b"\x02" + b"\xff" * 1000 + b"\x01" + b"\x00",
    ],
)
def test_opcodes_that_overflow_are_answered_or_refused(
    version: int, opcodes: bytes
) -> None:
    ask(file_with(version, line_table(opcodes)))


@every_version
def test_inline_ranges_that_overflow_are_answered_or_refused(version: int) -> None:
    name = ENCODER[version].strp(NAME)
    for start, size in product([0, 1, 2**63, 2**64 - 1], repeat=2):
        node = b"\x01" + uleb(start) + uleb(size) + b"\x00" + name + b"\x00\x00"
        ask(file_with(version, info(INLINE_INFO, node) + END_OF_LIST))


@every_version
def test_a_file_number_outside_the_table_keeps_the_name(version: int) -> None:
    data = file_with(version, line_table(b"\x01" + uleb(77) + b"\x04\x00"))
    with gsym.Reader(data) as reader:
        answer = reader.lookup(START)
        assert answer is not None
        assert answer.frames[0].name == "main"
        assert answer.frames[0].path == ""


@every_version
def test_the_last_of_repeated_tables_is_read(version: int) -> None:
    first, last = (
        info(LINE_TABLE, sleb(0) + sleb(1) + uleb(line) + ROWS) for line in (5, 7)
    )
    answers = []
    for tables in (first + last, last):
        with gsym.Reader(file_with(version, tables + END_OF_LIST)) as reader:
            answers.append((list(reader.functions()), reader.lookup(START + 3)))
    assert answers[0] == answers[1]
    (function,), answer = answers[0]
    assert {row.line for row in function.line_table or ()} == {7}
    assert answer is not None
    assert answer.frames[0].line == 7
