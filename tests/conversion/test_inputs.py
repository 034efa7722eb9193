"""The writers of test inputs, as seen by an independent reader of DWARF."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.inputs.dies import SIBLING, Die, Ref
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.program import LAYOUTS, Layout, function, inlined
from tests.inputs.range_lists import RangeEntry, ranges

if TYPE_CHECKING:
    from pathlib import Path


def everything(layout: Layout) -> bytes:
    """A program that uses what a version has, and is sound."""
    is_new = layout.version >= 5
    lines = LineProgram(
        sequence((0x1000, 5), (0x1004, 6, 1), end=0x1110),
        directories=("/src", "inc") if is_new else ("inc",),
        files=(File("a.c"), File("b.h", 1)),
    )
    where = ranges((0x1000, 0x1010), RangeEntry.base_address(0x1100), (0, 0x10))
    return layout.program(
        Die(Tag.subprogram, {At.name: Form.strp("g"), At.inline: 1}, label="g"),
        Die(
            Tag.structure_type,
            {At.name: Form.strx2("S") if is_new else "S", At.sibling: SIBLING},
            Die(Tag.member, {At.name: "m"}),
        ),
        function("f", 0x1000, 0x1010, inlined(Ref("g"), (0x1004, 0x1008))),
        Die(
            Tag.subprogram,
            {At.name: "h", At.ranges: Form.rnglistx(where) if is_new else where},
        ),
        lines=lines,
    )


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_llvm_dwarfdump_finds_nothing_wrong(
    layout: Layout, llvm_dwarfdump: str, tmp_path: Path
) -> None:
    path = tmp_path / "input"
    path.write_bytes(everything(layout))
    result = subprocess.run(
        [llvm_dwarfdump, "--verify", str(path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.stderr == ""
    assert "No errors." in result.stdout
