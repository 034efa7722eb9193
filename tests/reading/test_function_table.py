"""All functions of a file as columns, and found by a part of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from gsym import FunctionInfo
from gsym.reading import function_table
from gsym.reading.function_table import FunctionTable
from gsym.reading.reader import Reader
from tests.creations import create

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = (
    "_ZN9BlueStore4openEv",
    "_ZNSt6vectorI9BlueStoreE4pushEv",
    "main",
    "domain",  # holds `main` as its end
    "MAIN_2",
    "ünïcode",
)


def table_of(names: Sequence[str]) -> FunctionTable:
    functions = [
        FunctionInfo(0x1000 * at, at + 1, name) for at, name in enumerate(names)
    ]
    return FunctionTable(Reader(create(functions)))


def test_the_columns_are_those_of_the_functions() -> None:
    table = table_of(NAMES)
    assert len(table) == len(NAMES)
    assert table.starts.tolist() == [0x1000 * at for at in range(len(NAMES))]
    assert table.sizes.tolist() == [1, 2, 3, 4, 5, 6]
    assert table.name(0) == "BlueStore::open()"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("BlueStore::open", {0}),
        ("bluestore", {0, 1}),
        ("_ZN9BlueStore4open", {0}),
        ("main", {2, 3, 4}),
        ("  main ", {2, 3, 4}),
        ("open::main", set()),
        ("std::vector<BlueStore>", {1}),
        ("nothing", set()),
        ("m", set()),
        ("", set()),
        ("std::", set()),
        ("ünï", {5}),
        (".*", set()),
    ],
)
def test_functions_are_found_by_a_part_of_their_names(
    text: str, found: set[int]
) -> None:
    assert set(table_of(NAMES).search(text, 10)) == found


def test_no_more_are_found_than_were_asked_for() -> None:
    table = table_of([f"name_{at}" for at in range(9)])
    assert len(table.search("name", 8)) == 8
    assert len(table.search("name", 9)) == 9
    assert len(table.search("name", 10)) == 9
    assert table.search("name", 0) == []


def test_a_search_demangles_names_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those with a word of the text, of which the first ones are tried."""
    monkeypatch.setattr(function_table, "_MOST_TRIED", 5)
    others = [f"_ZN4word{len(f'n{at}')}n{at}Ev" for at in range(4)]
    wanted = "_ZN4word4thisEv"
    assert table_of([*others, wanted]).search("word::this", 9) == [4]
    assert table_of([*others, "_ZN4word2n4Ev", wanted]).search("word::this", 9) == []


words = st.text(st.sampled_from("abcAB_9"), min_size=2, max_size=6)


@given(st.lists(words, min_size=1, max_size=20, unique=True), words)
def test_a_search_finds_what_reading_all_names_finds(
    names: list[str], word: str
) -> None:
    table = table_of(names)
    wanted = {at for at in range(len(table)) if word.lower() in table.name(at).lower()}
    assert set(table.search(word, 100)) == wanted


def test_a_file_without_functions_that_fit_is_searched() -> None:
    assert table_of(["x"]).search("yy", 5) == []
