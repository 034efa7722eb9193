"""Lines that are made to be slow: the patterns of reports do bounded work on them.

How long a search takes shows in no assertion. Quadratic work on such lines would take
minutes for the second test, though, and a pattern that begins with an unbounded repeat
is quadratic by construction, which the first test looks for.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest

from gsym.memory.stack_parts import ReportLimits, StackFrame, module_of_path
from gsym.reports.stacks.frames import FRAMES
from gsym.reports.stacks.headings import HEADINGS
from gsym.reports.stacks.images import IMAGES
from gsym.reports.stacks.recognition import parse_report
from tests.reports.test_form_list import LINES

if TYPE_CHECKING:
    import re
    from typing import Any

    from gsym.memory.stack_parts import StackModule

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import sre_constants
    import sre_parse

pytestmark = [pytest.mark.long, pytest.mark.hostile]

PATTERNS = [
    *(form.pattern for form in FRAMES),
    *(form.pattern for form in IMAGES),
    *(form.pattern for form in HEADINGS),
]
LINE = ReportLimits().line
PIECES = (
    *("0x1", " 0x1", "+0x1", "#1 ", "#1 0x1 ", "a.so+0x1!", "a+0x1;", "1 ", " ", "\t"),
    *("(", "((", ")", "[", "[0x1", "a(", "in a (", " (in a) [0x", "at ", "::", ": "),
    *("a:1 ", "|", "@", "a@", "<", "`", "!", " + ", "a + 0x1", "wasm", "ip 1 sp 1 "),
    *("Thread ", "RIP", "/.* ", "]: x", " - ", "0x1-0x1 /a", "00000000`00000001 "),
)


def starts_unbounded(parsed: sre_parse.SubPattern) -> bool:
    """Whether a parsed pattern begins with a repeat that has no limit."""
    operations: Any = parsed.data
    for kind, value in operations:
        if kind is sre_constants.SUBPATTERN:
            return starts_unbounded(value[3])
        if kind is sre_constants.BRANCH:
            return any(starts_unbounded(each) for each in value[1])
        if kind in {sre_constants.MAX_REPEAT, sre_constants.MIN_REPEAT}:
            return bool(value[1] == sre_constants.MAXREPEAT)
        return False
    return False


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.pattern[:40])
def test_no_search_begins_with_an_unbounded_repeat(pattern: re.Pattern[str]) -> None:
    assert not starts_unbounded(sre_parse.parse(pattern.pattern))


def test_the_check_finds_unbounded_starts() -> None:
    found = {
        text: starts_unbounded(sre_parse.parse(text))
        for text in (r"\S+:", r"(?P<a>.*?)x", r"a|\d*", r"^\S+", r"(?<!\S)\S+", "a.*")
    }
    assert list(found.values()) == [True, True, True, False, False, False]


@pytest.mark.parametrize("chosen", [None, module_of_path("app")], ids=("", "chosen"))
def test_hostile_lines_stay_as_they_are(chosen: StackModule | None) -> None:
    samples = [cell.strip("`").replace("\\|", "|") for cell in LINES.values()]
    pieces = (*PIECES, *samples)
    lines = [
        (start + piece * LINE)[: LINE - 2] + "!\n"
        for piece in pieces
        for start in ("", "#1 0x1 ")
    ]
    text = "".join(lines)
    stack = parse_report(text, chosen)
    whole = (
        each.text if isinstance(each, StackFrame) else each for each in stack.parts
    )
    assert "".join(whole) == text
