"""`compare` of a Breakpad symbol file with what became of it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

import gsym
from tests.conversion.test_breakpad_meaning import symbol_files
from tests.inputs.breakpad import Symbols, text_of
from tests.referee.opening import compare
from tests.verification.test_verification import calls, only, rewrite, rows, subjects

if TYPE_CHECKING:
    from tests.verification.test_verification import Change

TEXT = """\
MODULE Linux x86_64 0905AE80CEE75A33E3CAB61C274274DE0 app
INFO CODE_ID 80AE0509E7CE335AE3CAB61C274274DE01020304
FILE 0 /src/a.c
FILE 1 /src/b.h
INLINE_ORIGIN 0 outer
INLINE_ORIGIN 1 inner
FUNC 1000 20 0 main
INLINE 0 7 0 0 1004 8 1010 4
INLINE 1 3 1 1 1006 2
1000 4 5 0
1004 8 3 1
100c 14 8 0
FUNC m 1020 10 0 f(int)
1020 8 12 0
PUBLIC 1030 0 last
PUBLIC 1000 0 hidden
"""


def convert(folder: Path, text: str = TEXT) -> tuple[str, str]:
    """The GSYM file, and what it was made from."""
    path = folder / "app.sym"
    path.write_text(text, encoding="utf-8")
    return gsym.convert(path).outputs[0], str(path)


def test_functions_and_symbols_of_a_breakpad_file_are_compared(tmp_path: Path) -> None:
    found = compare(*convert(tmp_path))
    assert (found.functions, found.symbols, found.units_in_all) == (2, 1, 0)
    assert (found.differences, found.uncompared) == ([], {})


def test_an_inlined_function_may_have_a_file_that_is_not_compared(
    tmp_path: Path,
) -> None:
    text = TEXT.replace("INLINE_ORIGIN 1 inner", "INLINE_ORIGIN 1 0 inner one")
    path, source = convert(tmp_path, text)
    with gsym.open(path) as reader:
        found = reader.lookup(0x1006)
    assert found is not None
    assert found.frames[0].name == "inner one"
    assert compare(path, source).differences == []


@pytest.mark.parametrize(
    ("name", "change", "subject"),
    [
        ("main", lambda info: info._replace(name="x"), "name"),
        ("last", lambda info: info._replace(name="x"), "name"),
        ("main", rows(lambda row: row._replace(line=6), 0), "lines"),
        ("f(int)", lambda info: info._replace(line_table=None), "lines"),
        ("main", calls(lambda _: None), "inlined calls"),
        ("main", calls(lambda call: call._replace(children=())), "inlined calls"),
        ("f(int)", lambda _: None, "function"),
        ("last", lambda _: None, "symbol"),
    ],
)
def test_errors_are_found(
    name: str, change: Change, subject: str, tmp_path: Path
) -> None:
    path, source = convert(tmp_path)
    rewrite(path, only(name, change))
    assert subjects(compare(path, source)) == {subject}


def test_the_identifier_is_compared(tmp_path: Path) -> None:
    path, source = convert(tmp_path)
    rewrite(path, lambda info: info, uuid=bytes(20))
    (difference,) = compare(path, source).differences
    assert difference.subject == "UUID"
    assert difference.binary == "80ae0509e7ce335ae3cab61c274274de01020304"


def test_records_that_contradict_each_other_are_counted(
    tmp_path: Path,
) -> None:
    text = TEXT.replace("1020 8 12 0", "1020 8 12 0\n1024 8 9 0")
    found = compare(*convert(tmp_path, text))
    assert (found.functions, found.symbols, found.differences) == (1, 1, [])
    assert found.uncompared == {"its records contradict each other": 1}


@given(symbol_files())
def test_the_second_opinion_agrees_on_random_files(symbols: Symbols) -> None:
    if not symbols.functions and not symbols.publics:
        return
    with TemporaryDirectory() as folder:
        found = compare(*convert(Path(folder), text_of(*symbols.records()).decode()))
    assert found.differences == []
