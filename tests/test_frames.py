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
ROWS = [
    (0, 0, "one", "b.h", 30, 1, True),
    (0, 0, "main", "/src/a.c", 7, 9, False),
    (2, 1, "symbol", "", 0, 1, False),
    (3, 0, "one", "b.h", 30, 1, True),
    (3, 0, "main", "/src/a.c", 7, 9, False),
]
COLUMNS = ("address_index", "function", "name", "file", "line", "offset", "inlined")


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
    assert frames.names == [row[2] for row in ROWS]
    assert (frames.found, frames.damaged, len(frames)) == (3, 0, 5)


def test_bytes_are_small_addresses() -> None:
    reader = gsym.Reader(file_bytes([gsym.FunctionInfo(0x10, 2, "low")]))
    assert reader.lookup_many(b"\x0f\x10\x11\x12").address_index.tolist() == [1, 2]


def test_columns_and_rows_say_the_same() -> None:
    frames = gsym.Reader(file_bytes()).lookup_many(ASKED)
    assert frames.to_pylist() == [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]
    assert frames.files == [row[3] for row in ROWS]
    for column, at in (("function", 1), ("line", 4), ("offset", 5), ("inlined", 6)):
        values = getattr(frames, column)
        assert values.tolist() == [row[at] for row in ROWS]
        assert values.readonly
    assert len(set(frames.name)) == 3
    assert frames.file.tolist()[2] == 0


def test_no_addresses_give_no_rows() -> None:
    frames = gsym.Reader(file_bytes()).lookup_many([])
    assert len(frames) == frames.found == 0
    assert frames.to_pylist() == []
    assert frames.names == frames.files == []
    assert frames.offset.format == "Q"


def test_many_answers_equal_single_ones(gsym_fixtures: Path) -> None:
    with gsym.open(gsym_fixtures / "shapes.v2.24.gsym") as reader:
        addresses = range(0x1600, 0x2400)
        frames = reader.lookup_many(addresses)
        singles = [reader.lookup(address) for address in addresses]
    assert [
        (row["name"], row["file"], row["line"], row["offset"], row["inlined"])
        for row in frames.to_pylist()
    ] == [
        (frame.name, frame.path, frame.line, frame.offset, frame.inlined)
        for single in singles
        if single is not None
        for frame in single.frames
    ]
    assert frames.found == sum(single is not None for single in singles) > 100


def test_a_damaged_record_among_many_is_counted() -> None:
    sound = HEAD + END
    broken = HEAD + info(1, b"") + END
    second = function_of(start=START + 0x1000)
    data = oracle.encode_file(file_of(function_of(), second), [sound, broken])
    frames = gsym.Reader(data).lookup_many([START + 0x1000, START, START + 0x1001])
    assert frames.address_index.tolist() == [1]
    assert (frames.found, frames.damaged) == (1, 2)


def test_arrow_tables_hold_the_rows() -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = gsym.Reader(file_bytes()).lookup_many(ASKED).to_arrow()
    assert table.to_pylist() == [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]


def test_numpy_arrays_hold_the_rows() -> None:
    pytest.importorskip("numpy", reason="numpy is not installed")
    arrays = gsym.Reader(file_bytes()).lookup_many(ASKED).to_numpy()
    names, files = arrays["names"][arrays["name"]], arrays["files"][arrays["file"]]
    columns = (
        *(arrays["address_index"], arrays["function"], names, files),
        *(arrays["line"], arrays["offset"], arrays["inlined"]),
    )
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == ROWS


def test_polars_and_duckdb_take_the_arrow_table() -> None:
    """The recipes of the manual."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    polars = pytest.importorskip("polars", reason="polars is not installed")
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    table = gsym.Reader(file_bytes()).lookup_many(ASKED).to_arrow()
    frame = polars.from_arrow(table)
    assert frame["name"].to_list() == [row[2] for row in ROWS]
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
