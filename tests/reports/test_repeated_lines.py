"""Lines that only differ in their numbers: each means what it means where it is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gsym.memory.stack_parts import StackFrame
from gsym.reports.stacks.recognition import parse_report
from gsym.reports.stacks.repeated_lines import RepeatedLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gsym.reports.stacks.evidence import Candidate, Line

LINES = (
    ("./app(+0x1189) [0x55d1c0ffe189]", "./app(+0x2189) [0x55d1c0fff189]"),
    ("frame 1: libfoo.so 0x1189", "frame 2: libfoo.so 0x2200"),
    ("in libfoo.so + 5 of it", "in libfoo.so + 7 of it"),
    ("in libfoo.so + 12 of it", "in libfoo.so + 47 of it"),
    ("libfoo.so: run + 12 0x7f1200001189", "libfoo.so: run + 47 0x7f1200002200"),
    ("in libfoo.so + 05 of it", "in libfoo.so + 12 of it"),
    (
        "/opt/app 0x55d1c0ffd000 + 0x1189",
        "/opt/app 0x55d1c0ffe000 + 0x1189",
        "/opt/app 0x55d1c0ffe189 + 0x1000",
    ),
    (
        "7f1200000000-7f1200010000 r-xp 00000000 08:01 1  /opt/app",
        "/opt/app 0x7f1200000000 + 0x1189",
        "/opt/app 0x7f1200001000 + 0x1189",
    ),
    ("/opt/app 0x1189 deadbe12", "/opt/app 0x2200 feedbe34"),
    ("/opt/app $00001189 run+0x10", "/opt/app $00002200 run+0x20"),
    ("/opt/app 00007f12`00001189", "/opt/app 00007f12`00002200"),
    (
        'x {"m":"/opt/a","ip":"0x1189"},{"m":"/opt/b","ip":"0x1190"}',
        'x {"m":"/opt/a","ip":"0x2200"},{"m":"/opt/b","ip":"0x2201"}',
    ),
)


@pytest.mark.parametrize("lines", LINES)
def test_line_means_what_it_means_to_a_new_reader(
    lines: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n".join(lines * 2)
    known = parse_report(text).parts
    assert any(isinstance(part, StackFrame) for part in known)
    find = RepeatedLines.candidates

    def forget(
        lines: RepeatedLines, line: Line, usual: Callable[[], Iterable[int]]
    ) -> Sequence[Candidate]:
        lines._known.clear()  # noqa: SLF001
        return find(lines, line, usual)

    monkeypatch.setattr(RepeatedLines, "candidates", forget)
    assert parse_report(text).parts == known
