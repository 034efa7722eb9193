"""Lines that are made to be slow: the patterns of reports do bounded work on them.

How long a search takes shows in no assertion. Quadratic work on such lines would take
minutes for the second test, though, and a pattern that begins with an unbounded repeat
is quadratic by construction, which the first test looks for.
"""

from __future__ import annotations

import tracemalloc
import warnings
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.memory.stack_parts import ReportLimits, StackFrame, module_of_path
from gsym.reports.stacks.frames import FRAMES
from gsym.reports.stacks.headings import HEADINGS
from gsym.reports.stacks.images import IMAGES
from gsym.reports.stacks.recognition import parse_report
from gsym.reports.stacks.tokens import pieces
from tests.reports.test_form_list import LINES

if TYPE_CHECKING:
    import re
    from pathlib import Path
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
    *("ffffffff81000000 T _text", "app!f [", "00 00000001 00000002 app!f [a @ 1"),
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


def test_what_follows_a_path_is_read_once() -> None:
    pattern = next(each for each in FRAMES if each.form == "Android backtrace").pattern
    path = "/opt/app" + "(b(c)d)" * 50_000
    found = pattern.search(f"#1 pc 1 {path} x")
    assert found is not None
    assert found["module"] == path


@pytest.mark.parametrize("context", [0, 1])
@pytest.mark.parametrize("end", [r"\n", "\r"], ids=("escaped", "returns"))
def test_frames_of_one_long_line_are_answered(
    end: str, context: int, tmp_path: Path
) -> None:
    functions = "FUNC 1000 10 0 f\nINLINE 0 7 0 0 1000 10\n1000 10 9 0\n"
    head = f"MODULE Linux x86_64 {'1' * 33} app\nFILE 0 a.c\nINLINE_ORIGIN 0 g\n"
    (tmp_path / "app.sym").write_text(head + functions)
    count = 20_000
    text = end.join(["> #1 0x7f0000001005 (/opt/app+0x1005)"] * count)
    answers = str(gsym.symbolicate(text, source=tmp_path, context=context))
    outer = "\n>                   f + 5 at a.c:7 "
    assert answers.startswith(f"> #1 0x7f0000001005 g + 5 at a.c:9 [inlined]{outer}")
    assert answers.count(" f + 5 at a.c:7 ") == count


@pytest.mark.parametrize("part", ["x y", "\\n"])
def test_long_texts_in_json_need_little_memory(part: str) -> None:
    line = '{"log": "' + part * 100_000 + ' 0x1234567"}\n'
    tracemalloc.start()
    try:
        several = pieces([line])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "".join(several) == line
    assert peak < 80 * len(line)


def test_a_text_in_json_ends_at_the_first_quote_after_which_json_goes_on() -> None:
    line = r'{"a": "C:\", "b": "f+0x1 \"g\" x", "c": "h+0x2 \\"}'
    assert "".join(pieces([line])) == line
    found = [each for each in pieces([line]) if "0x" in each]
    assert found == [r"f+0x1 \"g\" x", r"h+0x2 \\"]
