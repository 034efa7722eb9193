"""Answers to many addresses, as columns, rows and Arrow tables."""

from __future__ import annotations

import sys
from array import array
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from tests import oracle
from tests.handmade import END, HEAD, START, file_bytes, file_of, function_of, info

if TYPE_CHECKING:
    from pathlib import Path

ASKED = [START + 9, 0, START + 0x21, START + 9, START + 0x48]
HIT, MISS = (True, ""), (False, "no function covers this address")
ROWS = [
    (0, START + 9, 0, "one", "b.h", 30, 1, True, *HIT),
    (0, START + 9, 0, "main", "/src/a.c", 7, 9, False, *HIT),
    (1, 0, -1, "", "", 0, 0, False, *MISS),
    (2, START + 0x21, 1, "symbol", "", 0, 1, False, *HIT),
    (3, START + 9, 0, "one", "b.h", 30, 1, True, *HIT),
    (3, START + 9, 0, "main", "/src/a.c", 7, 9, False, *HIT),
    (4, START + 0x48, -1, "", "", 0, 0, False, *MISS),
]
COLUMNS = (
    *("address_index", "address", "function_index", "name", "path", "line", "offset"),
    *("inlined", "found", "reason"),
)


def test_there_may_be_one_row_for_each_address() -> None:
    reader = gsym.Reader(file_bytes())
    every = list(reader.lookup_many(ASKED))
    for frames, place in (("innermost", 0), ("outermost", -1)):
        found = reader.lookup_many(ASKED, frames=frames)
        assert len(found) == len(ASKED)
        for number, row in enumerate(found):
            rows = [each for each in every if each.address_index == number]
            assert row == rows[place]
        assert len(reader.lookup_many([], frames=frames)) == 0
        some = reader.lookup_many(ASKED, frames=frames, misses=False)
        assert [each.found for each in some] == [True] * 3


def test_names_may_be_demangled() -> None:
    function = gsym.FunctionInfo(START, 4, "_ZN3geo4areaEv")
    reader = gsym.Reader(file_bytes([function]))
    frames = reader.lookup_many([START])
    assert frames.names == ["_ZN3geo4areaEv"]
    assert frames.demangled == ["geo::area()"]
    assert frames.to_pylist(demangle=True)[0]["name"] == "geo::area()"
    assert frames.to_pylist()[0]["name"] == "_ZN3geo4areaEv"
    assert "<td" in frames._repr_html_() and "geo::area()" in frames._repr_html_()  # noqa: PT018
    (found,) = reader.find("geo::area")
    answer = reader.lookup(START)
    assert answer is not None
    for each in (found, answer.frames[0], answer.function, function):
        assert each.demangled == "geo::area()"


def test_a_notebook_shows_no_markup_of_a_file() -> None:
    function = gsym.FunctionInfo(START, 4, "<script>")
    frames = gsym.Reader(file_bytes([function])).lookup_many([START] * 60)
    assert "<script>" not in (shown := frames._repr_html_())
    assert shown.count("&lt;script&gt;") == 50
    assert "10 more rows" in shown


class OfPandas:
    """Equal to nothing, as `pandas.NA` is."""

    def __eq__(self, _other: object) -> Any:  # noqa: ANN401
        raise TypeError

    __hash__ = None  # type: ignore[assignment]


OfPandas.__name__ = "NAType"


class Column(list[Any]):
    """Iteration of an Arrow array has no integers, but `to_pylist` has."""

    def __iter__(self) -> Any:  # noqa: ANN401
        return map(str, super().__iter__())

    def to_pylist(self) -> list[Any]:
        return list(super().__iter__())


@pytest.mark.parametrize("null", [None, float("nan"), OfPandas()])
@pytest.mark.parametrize("column", [list, iter, Column])
def test_nulls_are_no_addresses(null: object, column: Any) -> None:  # noqa: ANN401
    asked = [null, START + 9, null, 0]
    reader = gsym.Reader(file_bytes())
    frames = reader.lookup_many(column(asked))
    assert frames.address_index.tolist() == [0, 1, 1, 2, 3]
    assert frames.found.tolist() == [False, True, True, False, False]
    assert len(reader.lookup_many(column(asked), misses=False)) == 2


@pytest.mark.parametrize(
    "addresses",
    [
        ASKED,
        tuple(ASKED),
        iter(ASKED),
        array("Q", ASKED),
        array("I", ASKED),
        memoryview(array("Q", ASKED)),
        memoryview(array("Q", [value for each in ASKED for value in (each, 1)]))[::2],
        dict.fromkeys([*ASKED[:3], START + 0xA, ASKED[4]]),
    ],
    ids=["list", "tuple", "iterator", "Q", "I", "view", "strided view", "dict"],
)
def test_addresses_may_come_in_any_form(addresses: Any) -> None:  # noqa: ANN401
    frames = gsym.Reader(file_bytes()).lookup_many(addresses)
    assert frames.address_index.tolist() == [row[0] for row in ROWS]
    assert frames.names == [row[3] for row in ROWS]
    assert (frames.answered, frames.damaged, len(frames)) == (3, 0, 7)


def test_columns_and_rows_say_the_same() -> None:
    frames = gsym.Reader(file_bytes()).lookup_many(ASKED)
    assert frames.to_pylist() == [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]
    assert list(frames) == [frames[at] for at in range(len(frames))] == ROWS
    assert frames[-1] == ROWS[-1]
    assert frames[1:3] == ROWS[1:3]
    assert (frames.paths, frames.reasons) == (
        [row[4] for row in ROWS],
        [row[9] for row in ROWS],
    )
    for at, column in enumerate(COLUMNS):
        if column not in {"name", "path", "reason"}:
            assert getattr(frames, column).tolist() == [row[at] for row in ROWS]
    assert frames.line.readonly
    assert repr(frames) == "<gsym.Frames: 7 rows, 3 of 5 addresses found>"
    with pytest.raises(IndexError):
        frames[7]


def test_misses_are_left_out_on_request() -> None:
    frames = gsym.Reader(file_bytes()).lookup_many(ASKED, misses=False)
    assert list(frames) == [row for row in ROWS if row[8]]


@pytest.mark.parametrize("number", [-1, 1 << 64, (1 << 64) + START])
def test_a_number_that_is_not_an_address_is_a_miss(number: int) -> None:
    frames = gsym.Reader(file_bytes()).lookup_many([START, number, START])
    assert frames.found.tolist() == [True, False, True]
    assert frames[1].address == (1 << 64) - 1


def test_what_is_asked_may_change_afterwards() -> None:
    asked = array("Q", [START, 0])
    frames = gsym.Reader(file_bytes()).lookup_many(asked)
    asked[0] = 7
    assert frames.address.tolist() == [START, 0]


def test_no_addresses_give_no_rows() -> None:
    frames = gsym.Reader(file_bytes()).lookup_many([])
    assert len(frames) == frames.answered == 0
    assert frames.to_pylist() == []
    assert frames.names == frames.paths == []
    assert frames.offset.format == "Q"


def test_many_answers_equal_single_ones(gsym_fixtures: Path) -> None:
    with gsym.open(gsym_fixtures / "shapes.v2.24.gsym") as reader:
        addresses = range(0x1600, 0x2400)
        frames = reader.lookup_many(addresses)
        singles = [reader.lookup(address) for address in addresses]
    assert [
        (row["name"], row["path"], row["line"], row["offset"], row["inlined"])
        for row in frames.to_pylist()
        if row["found"]
    ] == [
        (frame.name, frame.path, frame.line, frame.offset, frame.inlined)
        for single in singles
        if single is not None
        for frame in single.frames
    ]
    assert frames.answered == sum(single is not None for single in singles) > 100


def test_a_damaged_record_among_many_is_counted() -> None:
    sound = HEAD + END
    broken = HEAD + info(1, b"") + END
    second = function_of(start=START + 0x1000)
    data = oracle.encode_file(file_of(function_of(), second), [sound, broken])
    frames = gsym.Reader(data).lookup_many([START + 0x1000, START, START + 0x1001])
    assert frames.found.tolist() == [False, True, False]
    assert frames.reasons == ["damaged record", "", "damaged record"]
    assert (frames.answered, frames.damaged) == (1, 2)


def test_arrow_tables_hold_the_rows() -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = gsym.Reader(file_bytes()).lookup_many(ASKED).to_arrow()
    assert table.to_pylist() == [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]


def test_numpy_arrays_hold_the_rows() -> None:
    pytest.importorskip("numpy", reason="numpy is not installed")
    arrays = gsym.Reader(file_bytes()).lookup_many(ASKED).to_numpy()
    names, paths = arrays["names"][arrays["name"]], arrays["paths"][arrays["path"]]
    columns = (
        *(arrays["address_index"], arrays["address"], arrays["function_index"]),
        *(names, paths),
        *(arrays["line"], arrays["offset"], arrays["inlined"], arrays["found"]),
        arrays["reasons"][arrays["reason"]],
    )
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == ROWS


def test_a_data_frame_of_pandas_holds_the_rows() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    table = gsym.Reader(file_bytes()).lookup_many(ASKED).to_pandas()
    assert [*table.columns] == [*COLUMNS]
    assert [*table.itertuples(index=False, name=None)] == ROWS
    assert [*table.name.cat.categories] == ["one", "main", "", "symbol"]


def test_a_path_that_two_file_entries_spell_is_one_category() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    strings = b"\0main\0/src\0a.c\0/src/a.c\0"
    main, folder, base, path = (
        strings.index(each) for each in strings.split(b"\0")[1:5]
    )
    functions = (
        oracle.FunctionInfo(START, 4, main, (oracle.LineRow(START, 1, 5),), None),
        oracle.FunctionInfo(
            START + 4, 4, main, (oracle.LineRow(START + 4, 2, 6),), None
        ),
    )
    file = file_of(
        *functions, strings=strings, files=((0, 0), (folder, base), (0, path))
    )
    frames = gsym.Reader(oracle.encode_file(file)).lookup_many([START, START + 4])
    assert frames.path.tolist() == [1, 2]
    table = frames.to_pandas()
    assert [*table.path] == ["/src/a.c", "/src/a.c"]
    assert [*table.path.cat.categories] == ["/src/a.c"]
    assert frames.to_arrow()["path"].to_pylist() == frames.paths


def test_what_reads_arrow_streams_takes_the_frames() -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    frames = gsym.Reader(file_bytes()).lookup_many(ASKED)
    assert arrow.table(frames) == frames.to_arrow()


def test_polars_and_duckdb_take_the_arrow_table() -> None:
    """The recipes of the manual."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    polars = pytest.importorskip("polars", reason="polars is not installed")
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    table = gsym.Reader(file_bytes()).lookup_many(ASKED).to_arrow()
    frame = polars.from_arrow(table)
    assert frame["name"].to_list() == [row[3] for row in ROWS]
    counts = frame.group_by("name").len().sort("name").rows()
    with duckdb.connect() as connection:
        connection.register("frames", table)
        query = "select name, count(*) from frames group by name order by name"
        assert connection.execute(query).fetchall() == counts


def test_a_missing_numpy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    frames = gsym.Reader(file_bytes()).lookup_many(ASKED)
    with pytest.raises(ImportError, match="needs the package numpy"):
        frames.to_numpy()


def test_a_missing_pyarrow_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    frames = gsym.Reader(file_bytes()).lookup_many(ASKED)
    with pytest.raises(ImportError, match="needs the package pyarrow"):
        frames.to_arrow()
