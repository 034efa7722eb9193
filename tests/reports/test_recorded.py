"""Recorded reports: forms, stacks, answers, reasons, and the text around frames."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.memory.stack_parts import StackFrame
from gsym.reports.stacks.recognition import parse_report
from tests.reports.recorded import (
    FOLDED,
    MODULES,
    MUSL,
    PROFILE,
    RECORDED,
    WASM,
    Recorded,
)

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.reports.report import Report


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the symbols."""
    folder = tmp_path_factory.mktemp("modules")
    for name, text in MODULES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


def answered(report: Report) -> str:
    """The innermost function and line of each frame."""
    return " ".join(
        f"{frame.calls[0].name}:{frame.calls[0].line}" if frame.calls else "-"
        for frame in report.frames()
    )


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case.name)
def test_a_recorded_report_is_answered(
    case: Recorded, modules: Path, tmp_path: Path
) -> None:
    report = gsym.symbolicate(case.text, source=modules, store=str(tmp_path / "store"))
    assert (report.form, answered(report)) == (case.form, case.expected)
    assert len(report.threads) == case.threads
    assert case.reason in report.reason
    crashed = [thread.name for thread in report.threads if thread.is_crashed]
    assert crashed == ([case.crashed] if case.crashed else [])
    if report.is_verbatim:
        restored = "".join(
            part
            if isinstance(part, str)
            else report.threads[part[0]].frames[part[1]].text
            for part in report.parts
        )
        assert restored == case.text


def test_a_profile_stays_a_profile(modules: Path, tmp_path: Path) -> None:
    report = gsym.symbolicate(PROFILE, source=modules, store=str(tmp_path / "store"))
    answer, asked = json.loads(str(report)), json.loads(PROFILE)
    strings = [thread.pop("stringArray") for thread in answer["threads"]]
    assert strings == [
        ["(root)", "leaf", "middle", "app", 'a "name"', "0x99"],
        ["main"],
    ]
    for thread in asked["threads"]:
        del thread["stringArray"]
    assert answer == asked


def test_folded_stacks_stay_folded(modules: Path, tmp_path: Path) -> None:
    report = gsym.symbolicate(FOLDED, source=modules, store=str(tmp_path / "store"))
    assert str(report) == "app;main;middle;leaf 17\napp;[unknown];main 3\n"


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [(("", ""), "leaf:101 middle:201"), (("#0 ", "#1 "), "leaf:101 middle:200")],
)
def test_lines_of_no_known_form_are_one_stack(
    numbers: tuple[str, str], expected: str, modules: Path
) -> None:
    # Without code, those of callers are return addresses if the lines have numbers.
    first, second = numbers
    text = f"{first}0x55d1c0ffe010 here\n{second}0x55d1c0ffe110 here\n"
    loaded = {"/opt/app": 0x55D1C0FFD000}
    report = gsym.symbolicate(text, source=modules, load_addresses=loaded)
    assert (len(report.threads), answered(report)) == (1, expected)


def test_the_explanation_has_a_line_for_each_frame(modules: Path) -> None:
    report = gsym.symbolicate(MUSL + WASM, source=modules)
    lines = list(report.explanation())[-4:]
    path = modules / "linux/app.sym"
    assert lines[0] == f"0x55d1c0ffe030 <leaf+0x30> at /opt/app: app+0x1030 in {path}"
    assert "no symbols of app.wasm" in lines[3]


@pytest.mark.parametrize("prefix", ["", "Nov 23 08:00:01 host app[123]: ", "12: "])
@pytest.mark.parametrize("path", ["/opt/app", "/srv/My Games/bin/app"])
def test_lines_in_quotes_are_answered(prefix: str, path: str, modules: Path) -> None:
    frames = (
        f"#0  0x0000000000001010 in ?? () from {path}",
        rf"#1  0x0000000000001110 in middle (text=0x1 \"a, b\") from {path}",
    )
    lines = ('&"bt\\n"', *(f'~"{each}\\n"' for each in frames), "^done")
    text = "".join(f"{prefix}{each}\n" for each in lines)
    report = gsym.symbolicate(text, source=modules)
    assert answered(report) == "leaf:101 middle:200"
    quoted = "".join(f'"{each}"\n' for each in frames)
    report = gsym.symbolicate(quoted, source=modules)
    assert answered(report) == "leaf:101 middle:200"


def test_each_object_of_a_line_is_a_frame(modules: Path) -> None:
    frame = '{"ip": "0x1110", "module": "/opt/app"}'
    last = '{"ip": "0x1210", "module": "/opt/app", "vars": {"a": 1}}'
    line = f'{{"level": "error", "frames": [{frame}, {frame}, {frame}, {last}]}}\n'
    report = gsym.symbolicate(f"begin\n12:00 {line}12:01 {line}", source=modules)
    assert answered(report) == " ".join([*["middle:201"] * 3, "main:301"] * 2)
    assert [len(each.frames) for each in report.threads] == [4, 4]


def test_a_frame_may_be_at_the_start_of_a_page() -> None:
    row = '{"ip": "0x7f1200%06x", "module": "/opt/app", "offset": "0x%x"}'
    rows = [row % (each, each) for each in (0x11010, 0x12000, 0x13010)]
    parts = parse_report(f'begin\n{{"frames": [{", ".join(rows)}]}}\n').parts
    shown = [each.text for each in parts if isinstance(each, StackFrame)]
    assert "0x7f1200012000" in shown


def test_a_list_of_modules_may_have_a_prefix() -> None:
    row = "winapp.exe\tC:\\b c\\WinApp.exe\tN/A\tYes\t\t1\t1.0\t"
    row += "7FF61A2B0000-7FF61A2C0000\t[1] a"
    frame = ">\twinapp.exe!00007FF61A2B1110()\tUnknown"
    for prefix in "", "12:00:01 [ERR] ", "Nov 23 08:00:01 host app[1]: ":
        stack = parse_report(f"{prefix}{row}\n{prefix}{row}\n{prefix}{frame}\n")
        assert [each.name for each in stack.modules] == ["winapp.exe"]
        (found,) = (each for each in stack.parts if isinstance(each, StackFrame))
        assert (found.module, found.address) == (0, 0x1110)
