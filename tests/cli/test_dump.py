"""`gsym dump`: all that a file says, for people and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.model import CallSite, FunctionInfo, InlineInfo, LineEntry, Range

if TYPE_CHECKING:
    from pathlib import Path

Captured = pytest.CaptureFixture[str]

TWIN = FunctionInfo(0x1000, 0x40, "twin", (LineEntry(0x1000, "/t.c", 2),))
FULL = FunctionInfo(
    0x1000,
    0x40,
    "outer",
    (LineEntry(0x1000, "/a.c", 10), LineEntry(0x1010, "/b.h", 3)),
    InlineInfo(
        "outer",
        "",
        0,
        (Range(0x1000, 0x1040),),
        (
            InlineInfo(
                "inner",
                "/a.c",
                11,
                (Range(0x1010, 0x1020), Range(0x1030, 0x1038)),
                (InlineInfo("innermost", "/b.h", 3, (Range(0x1012, 0x1014),)),),
            ),
            InlineInfo("second", "/a.c", 12, (Range(0x1020, 0x1022),)),
        ),
    ),
    merged=(TWIN,),
    call_sites=(CallSite(0x18, 2, ("callee", "o.*")), CallSite(0x20, 0, ())),
    extra={77: b"\x01\xff"},
)
BARE = FunctionInfo(0x2000, 0, "bare\n")

TEXT = """\
version       1, little-endian
UUID          0123
base address  0x1000
functions     2
files         4
strings       {strings} bytes

0x1000..0x1040 outer
  lines
    0x1000 /a.c:10
    0x1010 /b.h:3
  inlined calls
    0x1010..0x1020 0x1030..0x1038 inner called at /a.c:11
      0x1012..0x1014 innermost called at /b.h:3
    0x1020..0x1022 second called at /a.c:12
  call sites
    +0x18 external callee o.*
    +0x20
  InfoType 77: 01ff
  merged
    0x1000..0x1040 twin
      lines
        0x1000 /t.c:2

0x2000..0x2000 bare\\x0a
"""

OBJECTS = [
    {
        "address": 0x1000,
        "size": 0x40,
        "name": "outer",
        "line_table": [
            {"address": 0x1000, "path": "/a.c", "line": 10},
            {"address": 0x1010, "path": "/b.h", "line": 3},
        ],
        "inline": [
            {
                "depth": 0,
                "name": "outer",
                "call_path": "",
                "call_line": 0,
                "ranges": [[0x1000, 0x1040]],
            },
            {
                "depth": 1,
                "name": "inner",
                "call_path": "/a.c",
                "call_line": 11,
                "ranges": [[0x1010, 0x1020], [0x1030, 0x1038]],
            },
            {
                "depth": 2,
                "name": "innermost",
                "call_path": "/b.h",
                "call_line": 3,
                "ranges": [[0x1012, 0x1014]],
            },
            {
                "depth": 1,
                "name": "second",
                "call_path": "/a.c",
                "call_line": 12,
                "ranges": [[0x1020, 0x1022]],
            },
        ],
        "merged": [
            {
                "address": 0x1000,
                "size": 0x40,
                "name": "twin",
                "line_table": [{"address": 0x1000, "path": "/t.c", "line": 2}],
                "inline": None,
                "merged": [],
                "call_sites": [],
                "extra": {},
            }
        ],
        "call_sites": [
            {"return_offset": 0x18, "flags": 2, "match_regex": ["callee", "o.*"]},
            {"return_offset": 0x20, "flags": 0, "match_regex": []},
        ],
        "extra": {"77": "01ff"},
    },
    {
        "address": 0x2000,
        "size": 0,
        "name": "bare\n",
        "line_table": None,
        "inline": None,
        "merged": [],
        "call_sites": [],
        "extra": {},
    },
]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = str(tmp_path / "a.gsym")
    with gsym.Creator(uuid=b"\x01\x23") as creator:
        creator.add(FULL)
        creator.add(BARE)
        creator.save(path)
    return path


def test_the_text_shows_everything_in_the_file(file: str, capsys: Captured) -> None:
    assert main(["dump", file]) == 0
    with gsym.open(file) as reader:
        strings = reader.header.strtab_size
    assert capsys.readouterr().out == TEXT.format(strings=strings)


def test_json_shows_the_fields_of_the_records(file: str, capsys: Captured) -> None:
    assert main(["dump", "--json", file]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [without_demangled(json.loads(line)) for line in lines] == OBJECTS
    assert main(["dump", "--json", "--no-demangle", file]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == OBJECTS


def without_demangled(value: object) -> object:
    """*value* without the demangled names, each of which stands beside a name."""
    if isinstance(value, list):
        return [without_demangled(each) for each in value]
    if not isinstance(value, dict):
        return value
    assert ("name" in value) == ("demangled" in value)
    if "name" in value:
        assert value["demangled"] == gsym.demangle(value["name"])
    return {
        key: without_demangled(each)
        for key, each in value.items()
        if key != "demangled"
    }


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
