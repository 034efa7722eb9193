"""Addresses that are said to be return addresses, or not to be."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from gsym.cli.main import main
from gsym.modules.symbolizer import Symbolizer
from gsym.store.directory import Store
from tests.store_modules import identity, put

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("msgspec")

from gsym.api.request import RequestError, RequestLimits, read_v5
from gsym.api.response import answer_v5
from gsym.api.symbolication import Symbolication

DEBUG_ID = "0123456789ABCDEF0123456789ABCDEF0"
SYMBOLS = (
    f"MODULE Linux x86_64 {DEBUG_ID} app\nFILE 0 a.c\n"
    "FUNC 1000 10 0 first\n1000 8 1 0\n1008 8 2 0\nFUNC 1010 10 0 second\n1010 10 9 0\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.sym").write_text(SYMBOLS)
    return tmp_path


def test_a_lookup_is_in_the_call(folder: Path) -> None:
    gsym.convert(folder / "app.sym", folder / "app.gsym")
    with gsym.open(folder / "app.gsym") as reader:
        exact, call = reader.lookup(0x1010), reader.lookup(0x1010, is_return=True)
        assert exact is not None
        assert call is not None
        assert (exact.frames[0].name, exact.frames[0].offset) == ("second", 0)
        assert (call.frames[0].name, call.frames[0].line) == ("first", 2)
        assert (call.address, call.frames[0].offset) == (0x1010, 0x10)
        assert reader.lookup(0, is_return=True) is None


@pytest.mark.parametrize(("is_return", "expected"), [(None, 2), (False, 2), (True, 1)])
def test_all_addresses_of_a_text(
    folder: Path, is_return: object, expected: int
) -> None:
    given: dict[str, Any] = {"source": folder, "is_return": is_return}
    report = gsym.symbolicate("app+0x1008\n", **given)
    (frame,) = report.frames()
    assert (frame.calls[0].line, frame.offset) == (expected, 0x1008)
    assert frame.is_return == bool(is_return)


def test_the_option_decides(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "list.txt").write_text("app+0x1010\n")
    command = ["symbolicate", str(folder / "list.txt"), "--source", str(folder)]
    answers = []
    for option in ("--return-addresses", "--exact-addresses"):
        main([*command, option])
        answers.append(capsys.readouterr().out.split()[0])
    assert answers == ["first", "second"]
    assert main([*command, "--return-addresses", "--exact-addresses"]) == 2


def test_a_job_says_which_are(tmp_path: Path) -> None:
    put(Store(tmp_path), 1)
    asked: dict[str, Any] = {
        "memoryMap": [[identity(1).debug_file, identity(1).debug_id]],
        "stacks": [[[0, 0x10], [0, 0x10], [-1, -1]], [], [[0, 0]]],
    }
    answered: dict[Any, list[bool]] = {}
    returns: Any
    for returns in (None, "callers", "all"):
        body = asked if returns is None else {**asked, "returnAddresses": returns}
        work = Symbolication(read_v5(json.dumps(body).encode(), RequestLimits()))
        work.open_all(Symbolizer(Store(tmp_path)))
        stacks = json.loads(bytes(answer_v5(work)))["results"][0]["stacks"]
        answered[returns] = ["function" in each for each in chain(*stacks)]
    assert answered == {
        None: [False, False, False, True],
        "callers": [False, True, False, True],
        "all": [True, True, False, True],
    }
    for returns in (True, "none", []):
        body = {**asked, "returnAddresses": returns}
        with pytest.raises(RequestError, match="returnAddresses"):
            read_v5(json.dumps(body).encode(), RequestLimits())
