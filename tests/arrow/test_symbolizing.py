"""Arrow batches of addresses: answers, columns, lists, nulls and reasons."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from gsym.arrow import Modules, symbolize, symbolize_batches
from gsym.arrow.answers import Known
from gsym.arrow.columns import plain_type
from gsym.arrow.symbolizing import answer_parts
from gsym.errors import LimitError, NotFoundError, UnsupportedError
from gsym.model import InlineInfo, Range
from tests.arrow_batches import SIZE, START, STEP, expected, function, put, rows
from tests.store_modules import build_id, identity

if TYPE_CHECKING:
    from gsym.store.directory import Store

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

NO_FUNCTION = "no function covers this address"
ADDRESS = START + STEP + 0x18  # in an inlined call
INNER = ("helper", "/src/m0/f1.c", 17, True, 8)
OUTER = ("f0_1", "/src/m0/f1.c", 701, False, 0x18)


def batch_of(addresses: Any, kind: Any = None, **columns: Any) -> Any:  # noqa: ANN401
    column = pa.array(addresses, kind or pa.uint64())
    columns.setdefault("build_id", [build_id(0)] * len(column))
    return pa.record_batch({"address": column, **columns})


def frames_of(stack: list[dict[str, Any]] | None) -> list[tuple[Any, ...]] | None:
    return None if stack is None else [tuple(frame.values()) for frame in stack]


def stacks(answer: Any) -> list[Any]:  # noqa: ANN401
    answer.validate(full=True)
    return [frames_of(stack) for stack in answer["stack"].to_pylist()]


@pytest.fixture
def modules(store: Store) -> Modules:
    for number in range(3):
        put(store, number)
    return Modules(store)


def test_rows_are_answered_as_by_single_lookups(store: Store, modules: Modules) -> None:
    readers = {
        entry.uuid: gsym.Reader(Path(entry.path).read_bytes())
        for entry in store.entries()
    }
    columns = rows(3000, 3)
    answer = symbolize(
        pa.record_batch({**columns, "address": pa.array(columns["address"], "uint64")}),
        modules,
    )
    answer.validate(full=True)
    pairs = zip(columns["build_id"], columns["address"], strict=True)
    wanted = [expected(readers, *pair) for pair in pairs]
    assert answer["stack"].to_pylist() == wanted
    assert answer["id"].to_pylist() == columns["id"]
    assert [reason is None for reason in answer["reason"].to_pylist()] == [
        each is not None for each in wanted
    ]
    assert {len(each) for each in wanted if each} == {1, 2}


def test_all_outputs_say_the_same(modules: Modules) -> None:
    columns = rows(500, 3)
    batch = batch_of(columns.pop("address"), **columns)
    stack = symbolize(batch, modules)
    flat = symbolize(batch, modules, output="frames")
    numbered, table = symbolize(batch, modules, output="ids")
    of_row: dict[int, list[Any]] = {}
    for row in flat.to_pylist():
        frame = {name: row[name] for name in table.schema.names[1:]}
        of_row.setdefault(row["id"], []).append(None if row["reason"] else frame)
    wanted = [each or [None] for each in stack["stack"].to_pylist()]
    assert list(of_row.values()) == wanted
    frames = [
        {name: row[name] for name in row if name != "frame_id"}
        for row in table.to_pylist()
    ]
    numbers = numbered["frame_ids"].to_pylist()
    assert [ids and [frames[each] for each in ids] for ids in numbers] == (
        stack["stack"].to_pylist()
    )
    assert numbered["reason"].to_pylist() == stack["reason"].to_pylist()


class Streaming:
    """A table of another library."""

    def __init__(self, table: Any) -> None:  # noqa: ANN401
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("form", [lambda table: table, Streaming])
def test_tables_are_answered_as_their_batches(
    store: Store,
    modules: Modules,
    form: Any,  # noqa: ANN401
) -> None:
    # The second part has addresses of the first again.
    columns = {name: values * 2 for name, values in rows(200, 3).items()}
    batch = batch_of(columns.pop("address"), **columns)
    parts = [batch.slice(0, 150), batch.slice(150)]
    given = form(pa.Table.from_batches(parts))
    for source in (modules, store, store.path, Path(store.path)):
        for output in ("stack", "frames"):
            wanted = symbolize(batch, modules, output=output)
            answer = symbolize(given, source, output=output)
            assert answer.to_pylist() == wanted.to_pylist()
    numbered, frames = symbolize(given, modules, output="ids")
    stacks = symbolize(batch, modules)["stack"].to_pylist()
    known = {row.pop("frame_id"): row for row in frames.to_pylist()}
    for ids, stack in zip(numbered["frame_ids"].to_pylist(), stacks, strict=True):
        assert (ids and [known[each] for each in ids]) == stack
    empty = symbolize(form(pa.Table.from_batches(parts[:1]).slice(0, 0)), modules)
    assert empty.num_rows == 0
    assert "stack" in empty.schema.names


@pytest.mark.parametrize("wrong", [7, "table", [1], None])
def test_what_is_no_table_is_refused(modules: Modules, wrong: object) -> None:
    with pytest.raises(TypeError, match=r"batch: expected a record batch, .*, not "):
        symbolize(wrong, modules)


def test_chunks_of_a_table_keep_their_dictionaries(modules: Modules) -> None:
    # Each fits its numbers of 8 bits, but both together do not.
    parts = []
    for part in range(2):
        texts = pa.array([f"{part} {number}" for number in range(100)])
        column = pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), texts)
        parts.append(batch_of([ADDRESS] * 100, note=column))
    table = pa.Table.from_batches(parts)
    for output in ("stack", "frames", "ids"):
        answer = symbolize(table, modules, output=output)
        notes = (answer[0] if output == "ids" else answer)["note"]
        assert set(notes.to_pylist()) == set(table["note"].to_pylist())


@pytest.mark.parametrize("wrong", [7, b"store", ["store"]])
def test_what_has_no_modules_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match="source: expected a path"):
        symbolize(batch_of([ADDRESS]), wrong)  # type: ignore[arg-type]


def test_equal_addresses_share_their_frames(modules: Modules) -> None:
    batch = batch_of([ADDRESS, ADDRESS + 1] * 1000)
    numbered, table = symbolize(batch, modules, output="ids")
    assert len({tuple(ids) for ids in numbered["frame_ids"].to_pylist()}) == 2
    assert table.num_rows < 10


@pytest.mark.parametrize(
    "column",
    [
        [build_id(0)],
        [build_id(0).hex()],
        [build_id(0).hex().upper()],
        [identity(0).debug_id],
        [identity(0).debug_id.lower()],
        ["lib0.so"],
        [f"lib0.so/{identity(0).debug_id}"],
        pa.array([build_id(0)], pa.binary(20)),
        pa.array([build_id(0)], pa.large_binary()),
        pa.array([build_id(0).hex()], pa.string_view()),
        pa.array(["lib0.so"], pa.large_string()),
        pa.array(["none", "lib0.so"]).dictionary_encode()[1:],
    ],
)
def test_modules_are_named_in_many_ways(modules: Modules, column: Any) -> None:  # noqa: ANN401
    answer = symbolize(batch_of([ADDRESS], build_id=column), modules)
    assert stacks(answer) == [[INNER, OUTER]]


def test_rows_without_an_answer_have_a_reason(modules: Modules) -> None:
    ids = [build_id(0), build_id(0), None, b"\1\2\3", build_id(0), b""]
    batch = batch_of([ADDRESS, 1, 1, 1, None, 1], build_id=ids)
    answer = symbolize(batch, modules)
    assert stacks(answer) == [[INNER, OUTER], None, None, None, None, None]
    reasons = [None, NO_FUNCTION, "no module", "store: missing", "no address"]
    assert answer["reason"].to_pylist() == [*reasons, "no module"]


def test_a_missing_module_may_be_an_error(store: Store) -> None:
    put(store, 0)
    modules = Modules(store, missing="raise")
    batch = batch_of([ADDRESS], build_id=[b"\1\2\3"])
    with pytest.raises(NotFoundError, match="module 010203: store: missing"):
        symbolize(batch, modules)


def test_lists_are_stacks(modules: Modules) -> None:
    lists = [[START, ADDRESS, 1], None, [], [START]]
    batch = batch_of(lists, pa.list_(pa.uint64()))
    first = ("f0_0", None, None, False, 0)
    miss = (None,) * 5
    answer = symbolize(batch, modules)
    assert stacks(answer) == [[first, INNER, OUTER, miss], None, [], [first]]
    reasons = [[None, None, NO_FUNCTION], None, [], [None]]
    assert answer["reason"].to_pylist() == reasons
    assert stacks(symbolize(batch.slice(2), modules)) == [[], [first]]
    flat = symbolize(batch, modules, output="frames")
    assert flat["address"].to_pylist() == [START, ADDRESS, ADDRESS, 1, START]
    numbered, _ = symbolize(batch, modules, output="ids")
    lengths = [4, None, 0, 1]
    assert numbered["frame_ids"].value_lengths().to_pylist() == lengths


@pytest.mark.parametrize("kind", [pa.large_list(pa.int64()), pa.list_(pa.int64(), 2)])
def test_lists_may_have_other_types(modules: Modules, kind: Any) -> None:  # noqa: ANN401
    batch = batch_of([[START, ADDRESS], None, [ADDRESS, START]], kind)
    first = ("f0_0", None, None, False, 0)
    both = [first, INNER, OUTER]
    wanted = [both, None, [INNER, OUTER, first]]
    assert stacks(symbolize(batch, modules)) == wanted
    assert stacks(symbolize(batch.slice(1), modules)) == wanted[1:]


def test_the_items_of_a_null_list_do_not_count(modules: Modules) -> None:
    items = pa.array([START, START, ADDRESS], pa.uint64())
    column = pa.ListArray.from_arrays(
        pa.array([0, 2, 3]), items, mask=pa.array([True, False])
    )
    batch = batch_of(column, column.type)
    assert stacks(symbolize(batch, modules)) == [None, [INNER, OUTER]]
    flat = symbolize(batch, modules, output="frames")
    assert flat["address"].to_pylist() == [ADDRESS, ADDRESS]


def test_the_addresses_of_a_stack_may_be_in_several_modules(modules: Modules) -> None:
    both = [[build_id(1), build_id(0), None]]
    batch = batch_of([[START] * 3], pa.list_(pa.uint64()), build_id=both)
    answer = symbolize(batch, modules)
    names = [[frame and frame[0] for frame in stack] for stack in stacks(answer)]
    assert names == [["f1_0", "f0_0", None]]
    with pytest.raises(ValueError, match="column 'build_id': its lists are not as"):
        symbolize(batch_of([[1]], pa.list_(pa.uint64()), build_id=both), modules)


def test_a_return_address_belongs_to_the_call_before_it(modules: Modules) -> None:
    after = START + STEP + 0x60  # of the inlined call
    batch = batch_of([after, after, 0], returns=[True, False, True])
    plain = ("f0_1", "/src/m0/f1.c", 81, False, 0x60)
    call = [
        ("helper", "/src/m0/f1.c", 81, True, 0x4F),
        ("f0_1", "/src/m0/f1.c", 701, False, 0x5F),
    ]
    assert stacks(symbolize(batch, modules, return_address="returns")) == [
        call,
        [plain],
        None,
    ]
    assert stacks(symbolize(batch, modules, return_address=True))[1] == call
    lists = batch_of([[after, after]], pa.list_(pa.uint64()), returns=[[False, True]])
    (stack,) = stacks(symbolize(lists, modules, return_address="returns"))
    assert stack == [plain, *call]


def test_addresses_in_memory_are_relative_to_the_load_base(modules: Modules) -> None:
    loaded = 0x7F00_0000_0000
    addresses = [loaded + ADDRESS - START, 0x10, 2**64 - 1]
    batch = batch_of(addresses, at=pa.array([loaded] * 3, pa.uint64()))
    wanted = [[INNER, OUTER], None, None]
    assert stacks(symbolize(batch, modules, base="at")) == wanted
    assert stacks(symbolize(batch, modules, base=loaded)) == wanted
    for kind in (pa.uint64(), pa.int64()):
        some = batch_of(addresses[:2], at=pa.array([None, None], kind))
        assert stacks(symbolize(some, modules, base="at")) == [None, None]
    (stack,) = stacks(symbolize(batch_of([ADDRESS - START]), modules, base=0))
    assert stack == [INNER, OUTER]


def test_negative_numbers_are_addresses_of_64_bits(store: Store) -> None:
    high = 2**64 - 0x2000
    put(store, 0, gsym.FunctionInfo(high, 0x10, "high"))
    batch = batch_of([high + 4 - 2**64], pa.int64())
    (stack,) = stacks(symbolize(batch, Modules(store)))
    assert stack == [("high", None, None, False, 4)]


def test_text_may_have_hexadecimal_addresses(modules: Modules) -> None:
    batch = batch_of([hex(ADDRESS), str(ADDRESS)], pa.string())
    assert stacks(symbolize(batch, modules)) == [[INNER, OUTER]] * 2


def test_names_that_are_not_utf8_are_valid_text(store: Store) -> None:
    name = b"a\xff\xc3\xa9".decode("utf-8", "surrogateescape")
    put(store, 0, gsym.FunctionInfo(0x90000, 4, name))
    (stack,) = stacks(symbolize(batch_of([0x90000]), Modules(store)))
    assert stack[0][0] == "a\ufffdé"


def test_a_damaged_record_is_a_reason(tmp_path: Path) -> None:
    with gsym.Creator(uuid=build_id(0)) as creator:
        creator.add(function(0, 0))
        data = bytearray(creator.to_bytes())
    name = data.rindex(SIZE.to_bytes(4, "little")) + 4  # in the record
    data[name : name + 4] = b"\xff" * 4
    data[name + 8 : name + 12] = b"\xff" * 4  # size of the line table
    (tmp_path / "damaged.gsym").write_bytes(data)
    modules = Modules(tmp_path)
    answer = symbolize(batch_of([5, START]), modules)
    assert answer["reason"].to_pylist()[1] == "damaged record"
    (said,) = modules.damaged.values()
    assert said.startswith(f"{tmp_path / 'damaged.gsym'}: offset 0x")


def test_more_frames_than_an_arrow_list_holds_are_an_error(store: Store) -> None:
    name, depth = "deep", 2100
    call = None
    for level in range(depth):
        nested = () if call is None else (call,)
        call = InlineInfo(f"i{level}", "", 1, (Range(0x90000, 0x90010),), nested)
    assert call is not None
    root = InlineInfo(name, "", 0, (Range(0x90000, 0x90010),), (call,))
    put(store, 0, gsym.FunctionInfo(0x90000, 0x10, name, None, root))
    batch = batch_of(pa.repeat(pa.scalar(0x90008, pa.uint64()), 1 << 20))
    with pytest.raises(LimitError, match="2\\^31 - 1 frames; use smaller batches"):
        symbolize(batch, Modules(store))
    assert len(stacks(symbolize(batch[:1], Modules(store)))[0]) == depth + 1


def test_buffers_of_frames_have_no_byte_that_nothing_wrote(modules: Modules) -> None:
    """Files of equal answers are equal byte by byte."""
    answers = symbolize(pa.record_batch(rows(800, 3)), modules=modules)
    frames = answers.column("stack").values
    for field, array in zip(frames.type, frames.flatten(), strict=True):
        width = getattr(field.type, "index_type", field.type).bit_width
        valid, values = array.buffers()[:2]
        assert valid.size == -(-len(frames) // 8), field
        assert values.size == -(-len(frames) * width // 8), field


@pytest.mark.parametrize("output", ["stack", "frames"])
def test_parts_have_the_answers_of_their_batch(modules: Modules, output: str) -> None:
    columns = rows(300, 3)
    single = batch_of(columns.pop("address"), **columns)
    given = [[ADDRESS, 1], None, [], [START], [START, None, ADDRESS], [ADDRESS]] * 5
    stacks = batch_of(given, pa.list_(pa.uint64()), row=list(range(len(given))))
    for batch in (single, stacks, stacks.slice(2, 9), stacks.slice(0, 0)):
        names = {"module": "build_id", "address": "address"}
        parts = [*answer_parts(batch, modules, output, Known(), 4, **names)]
        for part in parts:
            part.validate(full=True)
        wanted = symbolize(batch, modules, output=output)
        assert len(parts) == max(-(-batch.num_rows // 4), 1)
        assert pa.Table.from_batches(parts).to_pylist() == wanted.to_pylist()


def test_batches_are_sliced_and_empty(modules: Modules) -> None:
    batch = batch_of([1, ADDRESS, None, ADDRESS])
    assert stacks(symbolize(batch.slice(1, 2), modules)) == [[INNER, OUTER], None]
    for output in ("stack", "frames"):
        empty = symbolize(batch.slice(0, 0), modules, output=output)
        assert empty.num_rows == 0
        assert empty.schema == symbolize(batch, modules, output=output).schema
    parts = list(symbolize_batches([batch, batch.slice(1)], modules))
    assert [part.num_rows for part in parts] == [4, 3]


@pytest.mark.parametrize(
    ("columns", "options", "error", "text"),
    [
        ({"address": [1.5]}, {}, TypeError, "'address': expected integers, not double"),
        ({"address": ["1z"]}, {}, ValueError, "'1z' as a scalar of type uint64"),
        ({"build_id": [1]}, {}, TypeError, "'build_id': modules are text or binary"),
        ({}, {"module": "uuid"}, KeyError, "no column 'uuid'"),
        (
            {},
            {"output": "rows"},
            ValueError,
            "output: expected stack, frames or ids, not",
        ),
        ({"stack": [1]}, {}, ValueError, "has a column 'stack' already"),
        ({}, {"return_address": "build_id"}, TypeError, "expected booleans"),
    ],
)
def test_bad_columns_are_named(
    modules: Modules,
    columns: dict[str, Any],
    options: dict[str, Any],
    error: type[Exception],
    text: str,
) -> None:
    batch = pa.record_batch({"address": [1], "build_id": [b"\1"], **columns})
    with pytest.raises(error, match=text):
        symbolize(batch, modules, **options)


def test_without_pyarrow_the_extra_is_named(
    modules: Modules, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = batch_of([1])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UnsupportedError, match=r"gsym\[arrow\]"):
        symbolize(batch, modules)


def test_plain_types_are_those_within_structs_and_lists() -> None:
    pair = pa.struct({"at": pa.uint64(), "of": pa.dictionary(pa.int8(), pa.string())})
    assert plain_type(pair, signed=True) == pa.struct(
        {"at": pa.int64(), "of": pa.string()}
    )
    assert plain_type(pa.list_(pair), signed=False) == pa.list_(
        pa.struct({"at": pa.uint64(), "of": pa.string()})
    )
