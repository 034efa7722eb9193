"""The manual lists every form, with a line that is one, and every form is tested."""

from __future__ import annotations

import re

import pytest

from gsym.memory.stack_parts import StackFrame
from gsym.reports.stacks import evidence, json_frames
from gsym.reports.stacks.frames import FRAMES
from gsym.reports.stacks.recognition import parse_report
from tests.conftest import REPOSITORY
from tests.reports.recorded import RECORDED
from tests.reports.test_prefixes import PREFIXES
from tests.reports.test_programs import CASES

MANUAL = (REPOSITORY / "docs/crash.md").read_text()
TESTED = {case.form for case in RECORDED} | {case.form for case in CASES}
FORMS = {form.form for form in FRAMES} | evidence.FORMS


def rows(heading: str) -> dict[str, str]:
    """The rows of a table: {first cell: second cell}."""
    table = MANUAL.split(heading, 1)[1].split("\n\n", 2)[0]
    cells = [re.split(r"(?<!\\)\|", line)[1:3] for line in table.split("\n")[1:]]
    return {first.strip(): second.strip() for first, second in cells}


LINES = rows("| Form | A line of it |\n")
OTHERS = rows("| Tool | A line of it |\n")
DOCUMENTS = rows("| Form | What it is |\n")


def test_the_manual_lists_the_forms_of_lines() -> None:
    assert set(LINES) == FORMS


def test_each_sample_line_is_of_its_form() -> None:
    for form, cell in LINES.items():
        line = cell.strip("`").replace("\\|", "|") + "\n"
        stack = parse_report(line, load_addresses={"app": 0x555555554000})
        assert (line, stack.form) == (line, form)


def frames(text: str) -> tuple[str, list[tuple[object, ...]]]:
    """The form of a text, and its frames without their places in it."""
    stack = parse_report(text, load_addresses={"app": 0x555555554000})
    several = (part for part in stack.parts if isinstance(part, StackFrame))
    paths = [each.path for each in stack.modules]
    return stack.form, [
        (each.text, paths[each.module] if each.module >= 0 else "", *each[2:7])
        for each in several
    ]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("tool", [*LINES, *OTHERS])
def test_a_stack_of_each_form_is_the_same_behind_a_prefix_and_in_one_line(
    tool: str, prefix: str
) -> None:
    line = {**LINES, **OTHERS}[tool].strip("`").replace("\\|", "|")
    alone = frames(f"{line}\n{line}\n")
    assert tool in OTHERS or alone[0] == tool
    assert len(alone[1]) >= 2
    assert frames(f"{prefix}{line}\n{prefix}{line}\n") == alone
    for between in (r"\n", "#012"):
        assert frames(f"{prefix}{line}{between}{line}\n") == alone


def test_every_form_has_a_report() -> None:
    assert FORMS | set(DOCUMENTS) == TESTED | {json_frames.FORM}


def test_there_are_sixty_reports_of_thirty_kinds() -> None:
    assert len(RECORDED) + len(CASES) >= 60
    assert len(TESTED) >= 30
