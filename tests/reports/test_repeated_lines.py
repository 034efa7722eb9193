"""Lines that only differ in their numbers: each means what it means where it is new."""

from __future__ import annotations

import re
from io import BytesIO
from random import Random
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.memory.stack_parts import StackFrame
from gsym.reports.judgement import Judge
from gsym.reports.passages import LongText
from gsym.reports.stacks import line_reader
from gsym.reports.stacks.recognition import parse_report
from gsym.reports.stacks.repeated_lines import RepeatedLines
from gsym.reports.symbolicate import symbolicate_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from gsym.memory.stack_parts import AlikeLines
    from gsym.reports.stacks.repeated_lines import Meaning
    from gsym.reports.stacks.shapes import Shape

LINES = (
    ("./app(+0x1189) [0x55d1c0ffe189]", "./app(+0x2189) [0x55d1c0fff189]"),
    ("frame 1: libfoo.so 0x1189", "frame 2: libfoo.so 0x2200"),
    ("in libfoo.so + 5 of it", "in libfoo.so + 7 of it"),
    ("in libfoo.so + 12 of it", "in libfoo.so + 47 of it"),
    ("libfoo.so: run + 12 0x7f1200001189", "libfoo.so: run + 47 0x7f1200002200"),
    (
        "libfoo.so: run+0x17/0x4f 0x7f1200001189",
        "libfoo.so: run+0x18/0x50 0x7f1200002200",
    ),
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
    (
        "libfoo.so: took 12 ms at 0x7f1200001189",
        "libfoo.so: took 47 ms at 0x7f1200002200",
    ),
    ("/opt/app-1 run at 0x1189 of 105", "/opt/app-2 run at 0x2200 of 219"),
    ("/opt/app 0x1189 <run-1>", "/opt/app 0x2200 <run-2>", "/opt/app 0x2200 <run-3>"),
    (
        "/opt/app 0x1189 (BuildId: 12345678901234567890123456789012)",
        "/opt/app 0x2200 (BuildId: 12345678901234567890123456789013)",
    ),
    (
        "7f1200000000-7f1200010000 r-xp 00000000 08:01 1  /opt/app",
        "#1 request 7f1200001189 was answered",
        "#2 request 7f1200002200 was answered",
    ),
)


@pytest.mark.parametrize("lines", LINES)
def test_line_means_what_it_means_to_a_new_reader(
    lines: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n".join(lines * 2)
    known = parse_report(text).parts
    assert any(isinstance(part, StackFrame) for part in known)
    find = RepeatedLines.meaning

    def forget(
        lines: RepeatedLines,
        line: str,
        shape: Shape,
        usual: Callable[[], Iterable[int]],
    ) -> tuple[Meaning | None, Sequence[int]]:
        lines.forget()
        shape.__dict__.pop("numbers", None)
        return find(lines, line, shape, usual)

    monkeypatch.setattr(RepeatedLines, "meaning", forget)
    assert parse_report(text).parts == known


def test_lines_with_other_numbers_in_their_words_share_what_they_mean() -> None:
    lines = [f"libfoo.so: took {at} ms at 0x7f1200001{at}\n" for at in range(100, 300)]
    (alike,) = parse_report("".join(lines)).lines.alike()
    assert alike.texts == lines


def test_address_that_begins_a_page_places_no_module_beside_its_offset() -> None:
    form = "/opt/app(+{at:#x}) [{placed:#x}]\n"
    several = (0x1234, 0x12000, 0x13456, 0x22000, 0x23456)
    lines = [form.format(at=at, placed=0x7F1200000000 + at) for at in several]
    parts = parse_report("".join(lines)).parts
    frames = (each for each in parts if not isinstance(each, str))
    bases = {(each.base, each.address) for each in frames}
    assert bases == {(base, at) for base in ("either", "image") for at in several}


FUNCTIONS = "".join(
    f"FUNC {at:x} 80 0 of_{at:x}\n{at:x} 80 {at >> 4} 0\n"
    for at in range(0x1000, 0x40000, 0x100)
)
SYMBOLS = f"MODULE Linux x86_64 {'1' * 33} app\nFILE 0 a.c\n{FUNCTIONS}"
FORMS = (
    "/opt/app(+{at:#x}) [{placed:#x}]\n",
    "frame {number}: /opt/app {at:#x}\n",
    "/opt/app: of_1000+0x{low:x} {placed:#x}\n",
    "at {placed:#x} in /opt/app ({at:d})\n",
    "/opt/app {start:#x} + {at:#x}\n",
)
FORMED = (
    "#{number}  {placed:#x} in ?? () from /opt/app\n",
    "[ 12.345678]  ? of_1000+0x{low:x}/0x80\n",
    "{number:02x} 000000d5`1f2ff6b8 00007ff6`1a2b1120     app!of_1000+0x{low:x}\n",
    "[{placed:#x}] *Foo +{low} in /opt/app\n",
    "\t/src/a.go:{number} +0x{low:x} fp=0xc000 sp=0xc000 pc={placed:#x}\n",
)


def long_text(form: str, seed: int) -> str:
    """Lines of one form, for more than a block; some also place the module."""
    random, lines = Random(seed), []  # noqa: S311 - no secret
    for number in range(700):
        at = random.randrange(0x1000, 0x40000)
        at = at & ~0xFFF if number % 200 == 150 else at
        start = 0x7F1200000000 + (number // 500 << 28)
        places = {"at": at, "low": at & 0xFF, "placed": start + at, "start": start}
        made = form.format(**places, number=number % 30)
        lines.append(made + "\n" * (number % 50 == 49))
    return "".join(lines)


def find_none(*_: object) -> None:
    """Leave lines to be read one by one."""


@pytest.mark.parametrize("form", FORMS + FORMED)
def test_lines_of_a_block_mean_what_each_means(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_reader, "_BLOCK", 200)
    text = long_text(form, 1)
    known = parse_report(text).parts
    assert sum(isinstance(part, StackFrame) for part in known) >= 690
    monkeypatch.setattr(line_reader.LineReader, "_find", find_none)
    assert parse_report(text).parts == known


@pytest.mark.parametrize("form", FORMS)
def test_lines_are_judged_together_as_each_is(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app.sym").write_text(SYMBOLS)
    text = long_text(form, 2)
    together = gsym.symbolicate(text, source=tmp_path)
    answered = [bool(frame.calls) for frame in together.frames()]
    assert any(answered)
    assert not all(answered)
    add = Judge.add

    def add_alone(judge: Judge, alike: AlikeLines) -> None:
        for at in range(len(alike.texts)):
            add(judge, alike.only([at]))

    monkeypatch.setattr(Judge, "add", add_alone)
    alone = gsym.symbolicate(text, source=tmp_path)
    assert str(alone) == str(together)
    assert alone.threads == together.threads


@pytest.mark.parametrize("form", FORMS)
def test_text_is_made_of_columns_as_of_records(form: str, tmp_path: Path) -> None:
    inlined = re.sub(r"(?m)^(FUNC (\w+) .*\n)", r"\1INLINE 0 7 0 0 \2 40\n", SYMBOLS)
    origin = "INLINE_ORIGIN 0 inlined\nFUNC"
    (tmp_path / "app.sym").write_text(inlined.replace("FUNC", origin, 1))
    line = form.format(at=0x1010, low=16, start=0, placed=0x1010, number=0)
    text = f"{' ' * 300}{line}in no module: 0x12\n{long_text(form, 3)}"

    given = LongText(BytesIO(text.encode()))
    columns, _ = symbolicate_text(given, "", source=str(tmp_path))
    records = columns.with_records()
    assert "".join(columns.texts()) == str(records)
    assert "[inlined]" in str(records)
    assert [*columns.unsure_frames()] == [*records.unsure_frames()]
    assert [*columns.frames()] == [*records.frames()]


@pytest.mark.parametrize(
    ("line", "base", "address"),
    [
        ("  run(int)+0x17/0x4f [/opt/libfoo.so]", "symbol", 0),
        ("0X7f12000002a7 /opt/libfoo.so", "image", 0x2A7),
        ("0X12a7 /opt/libfoo.so", "either", 0x12A7),
        ("0X2a7 /opt/libfoo.so", "either", 0x2A7),
        ("000002a7 (D) /opt/libfoo.so", None, 0),  # of a list of processes
    ],
)
def test_line_near_a_stack_begins_with_a_place_in_code(
    line: str, base: str | None, address: int
) -> None:
    stack = "#0  0x0000000000001189 in main () from /opt/app\n"
    place = "7f1200000000-7f1200010000 r-xp 00000000 08:01 1  /opt/libfoo.so\n"
    found = parse_report(f"{place}{stack * 2}{line}\n").parts
    frames = [part for part in found if isinstance(part, StackFrame)]
    assert len(frames) == (2 if base is None else 3)
    if base is not None:
        assert (frames[-1].base, frames[-1].address) == (base, address)
