"""`gsym dump`: all that a file says, for people and for programs."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.engine.native import lib
from gsym.model import FunctionInfo, InlineInfo, Range
from tests.engine.test_hostile_records import END_OF_LIST, file_with, info, u32, u64

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gsymutil_runs import Run

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_a_damaged_file_is_an_error_of_one_line(
    option: list[str], tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "cut.gsym"
    path.write_bytes(b"MYSG\x01\x00")
    assert main(["dump", *option, str(path)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"gsym: error: {path}: ")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_very_deep_inlining_can_be_dumped(
    option: list[str], tmp_path: Path, capsys: Captured
) -> None:
    node: tuple[InlineInfo, ...] = ()
    where = (Range(0x1000, 0x1010),)
    for depth in range(3000, 0, -1):
        node = (InlineInfo(f"depth{depth}", "/a.c", depth, where, node),)
    path = str(tmp_path / "deep.gsym")
    with gsym.Creator() as creator:
        creator.add(
            FunctionInfo(0x1000, 0x10, "f", None, InlineInfo("f", "", 0, where, node))
        )
        creator.save(path)
    assert main(["dump", *option, path]) == 0
    assert "depth3000" in capsys.readouterr().out


def test_unknown_information_is_dumped_as_bytes(
    tmp_path: Path, capsys: Captured
) -> None:
    path = str(tmp_path / "extra.gsym")
    with gsym.Creator() as creator:
        creator.add(FunctionInfo(0x1000, 0x10, "f", extra={77: b"\x01\xff"}))
        creator.save(path)
    assert main(["dump", path]) == 0
    assert "  InfoType 77: 01ff\n" in capsys.readouterr().out


NAME, ZERO = u32(1), b"\0"
INNER = u32(16) + NAME + END_OF_LIST
# Fields of each kind of information, with what LLVM reports of a record without one.
FIELDS: dict[str, tuple[int, list[tuple[bytes, str]]]] = {
    "line table": (
        lib.GSYM_INFO_LINE_TABLE,
        [
            (ZERO, "missing LineTable MinDelta"),
            (b"\4", "missing LineTable MaxDelta"),
            (b"\5", "missing LineTable FirstLine"),
            (b"\1", "EOF found before EndSequence"),
            (b"\1", "EOF found before SetFile value"),
            (b"\2", "EOF found before EndSequence"),
            (b"\4", "EOF found before AdvancePC value"),
            (b"\3", "EOF found before EndSequence"),
            (b"\2", "EOF found before AdvanceLine value"),
            (b"\7", "EOF found before EndSequence"),
            (ZERO, "EOF found before EndSequence"),
        ],
    ),
    "inlined calls": (
        lib.GSYM_INFO_INLINE_INFO,
        [
            (b"\1\0\x40", "missing InlineInfo address ranges data"),
            (b"\1", "missing InlineInfo uint8_t indicating children"),
            (NAME, "missing InlineInfo name"),
            (b"\1", "missing ULEB128 for InlineInfo call file"),
            (b"\1", "missing ULEB128 for InlineInfo call line"),
            (ZERO, "missing InlineInfo address ranges data"),
        ],
    ),
    "call sites": (
        lib.GSYM_INFO_CALL_SITES,
        [
            (u32(1), "missing CallSiteInfo count"),
            (u64(4), "missing ReturnOffset"),
            (ZERO, "missing Flags"),
            (u32(2), "missing MatchRegex count"),
            (NAME, "missing MatchRegex entry"),
            (NAME, "missing MatchRegex entry"),
        ],
    ),
    "merged functions": (
        lib.GSYM_INFO_MERGED_FUNCTIONS,
        [
            (u32(1), "unable to read the function count"),
            (u32(len(INNER)), "unable to read size of function 0"),
            (INNER, "function data is truncated for function 0"),
        ],
    ),
}


@pytest.mark.parametrize("kind", FIELDS)
def test_a_record_that_is_cut_lacks_the_field_that_llvm_names(
    kind: str, run: Run, tmp_path: Path
) -> None:
    number, fields = FIELDS[kind]
    payload = b"".join(data for data, _ in fields)
    starts = accumulate((len(data) for data, _ in fields), initial=0)
    path = tmp_path / "cut.gsym"
    for (start, end), (_, reason) in zip(pairwise(starts), fields, strict=True):
        for cut in range(start, end):
            path.write_bytes(file_with(1, info(number, payload[:cut]) + END_OF_LIST))
            assert reason in run(str(path)).out.splitlines()[-1], cut
    path.write_bytes(file_with(1, info(number, payload) + END_OF_LIST))
    assert "missing" not in run(str(path)).out


def merged(function: bytes) -> bytes:
    """Return the rest of a record into which a function with these bytes is merged."""
    return info(3, u32(1) + u32(len(function)) + function) + END_OF_LIST


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "missing FunctionInfo InfoType value"),
        (u32(1), "missing FunctionInfo InfoType length"),
        (u32(1) + u32(2) + b"\0", "missing FunctionInfo data for InfoType 1"),
        (u32(5) + u32(0) + END_OF_LIST, "unsupported InfoType 5"),
        (merged(u32(16)), "missing FunctionInfo Name"),
        (merged(u32(16) + u32(0)), "invalid FunctionInfo Name value"),
        (merged(u32(0)[:2]), "missing FunctionInfo Size"),
    ],
)
def test_a_record_that_is_damaged_has_the_error_that_llvm_names(
    body: bytes, reason: str, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "damaged.gsym"
    path.write_bytes(file_with(1, body))
    assert reason in run(str(path)).out.splitlines()[-1]
