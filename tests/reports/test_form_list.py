"""The manual lists every form, with a line that is one, and every form is tested."""

from __future__ import annotations

import re

from gsym.reports.stacks import evidence, json_frames
from gsym.reports.stacks.recognition import PROGRAMS, parse_report
from tests.conftest import REPOSITORY
from tests.reports.recorded import RECORDED
from tests.reports.test_prefixes import PREFIXES
from tests.reports.test_programs import CASES

MANUAL = (REPOSITORY / "docs/crash.md").read_text()
TESTED = {case.form for case in RECORDED} | {case.form for case in CASES}
FORMS = {form.form for table in PROGRAMS for form in table.frames} | evidence.FORMS


def rows(heading: str) -> dict[str, str]:
    """The rows of a table: {first cell: second cell}."""
    table = MANUAL.split(heading, 1)[1].split("\n\n", 2)[0]
    cells = [re.split(r"(?<!\\)\|", line)[1:3] for line in table.split("\n")[1:]]
    return {first.strip(): second.strip() for first, second in cells}


LINES = rows("| Form | A line of it |\n")
DOCUMENTS = rows("| Form | What it is |\n")


def test_the_manual_lists_the_forms_of_lines() -> None:
    assert set(LINES) == FORMS


def test_each_sample_line_is_of_its_form() -> None:
    for form, cell in LINES.items():
        line = cell.strip("`").replace("\\|", "|") + "\n"
        stack = parse_report(line, load_addresses={"app": 0x555555554000})
        assert (line, stack.form) == (line, form)


def test_each_sample_line_is_of_its_form_behind_a_prefix() -> None:
    for form, cell in LINES.items():
        line = cell.strip("`").replace("\\|", "|")
        for prefix in PREFIXES:
            text = f"{prefix}{line}\n"
            stack = parse_report(text, load_addresses={"app": 0x555555554000})
            assert (text, stack.form) == (text, form)


def test_every_form_has_a_report() -> None:
    assert FORMS | set(DOCUMENTS) == TESTED | {json_frames.FORM}


def test_there_are_sixty_reports_of_thirty_kinds() -> None:
    assert len(RECORDED) + len(CASES) >= 60
    assert len(TESTED) >= 30
