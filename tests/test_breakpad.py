"""Breakpad symbol files: each record, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gsym

if TYPE_CHECKING:
    from pathlib import Path


def test_functions_lines_inlined_calls_and_publics_come_over(tmp_path: Path) -> None:
    path = tmp_path / "app.sym"
    path.write_text(
        "MODULE Linux x86_64 0905AE80CEE75A33E3CAB61C274274DE0 app\n"
        "INFO CODE_ID 80AE0509E7CE335AE3CAB61C274274DE96049B64\n"
        "FILE 0 /src/a.c\n"
        "INLINE_ORIGIN 0 helper\n"
        "FUNC 1000 20 0 main\n"
        "INLINE 0 7 0 0 1004 8\n"
        "1000 4 6 0\n"
        "1004 8 3 0\n"
        "100c 14 8 0\n"
        "PUBLIC 1020 0 asm_label\n"
    )
    report = gsym.convert(path)
    assert report.uuid.hex() == "80ae0509e7ce335ae3cab61c274274de96049b64"
    assert report.architecture == "x86_64"
    assert report.warnings == {}
    with gsym.open(report.outputs[0]) as reader:
        lookup = reader.lookup(0x1005)
        assert lookup is not None
        frames = [(each.name, each.path, each.line) for each in lookup.frames]
        assert frames == [("helper", "/src/a.c", 3), ("main", "/src/a.c", 7)]
        public = reader.lookup(0x2000)
        assert public is not None
        assert public.function == ("asm_label", 0x1020, 0)
