"""Stacks in long logs, of which only the lines around them are read."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.engine.native import ffi, lib
from gsym.reports.passages import ANY_NUMBER, FileText, LongText
from tests.reports.test_form_list import LINES as SAMPLES
from tests.reports.test_prefixes import LINES, is_same
from tests.reports.test_recorded import modules

if TYPE_CHECKING:
    from pathlib import Path

    from tests.reports.recorded import Recorded

__all__ = ["modules"]

LOG = "".join(
    f"2026-11-23T08:{at // 60 % 60:02}:{at % 60:02}.5+00:00 INFO {at * 7919:016x} "
    f'"GET /items/{at}?q=foo+bar" took {at} us\n'
    for at in range(3_000)
)


@pytest.mark.parametrize("case", LINES, ids=lambda case: case.name)
def test_a_long_log_has_the_answers_of_its_stacks(
    case: Recorded, modules: Path
) -> None:
    text = case.text if case.text.endswith("\n") else f"{case.text}\n"
    is_same(case, f"{LOG}{text}{LOG}", modules)


def found(line: str, ranges: tuple[tuple[int, int], ...] = ()) -> int:
    text = line.encode()
    return int(
        lib.gsym_text_find_address(
            ffi.from_buffer(text),
            len(text),
            0,
            ffi.new("gsym_range[]", ranges),
            len(ranges),
            ffi.NULL,
        )
    )


def test_each_form_is_found() -> None:
    for line in SAMPLES.values():
        text = line.strip("`").replace("\\|", "|")
        assert found(f"{text}\n") < len(text), line


@pytest.mark.parametrize(
    "line",
    [
        LOG[: LOG.index("\n") + 1],
        '1.2.3.4 - - [29/Nov/2026:08:00:01 +0200] "GET / HTTP/1.1" 200 12345678\n',
        '{"time": "2026-11-29T08:00:01+01:00", "id": "b0b5c0ffee15f00d"}\n',
        "id=550e8400-e29b-41d4-a716-446655440000 took=81000000\n",
        "id 550e8000-e29b-41d4-a716-446655440000 took 81 ms\n",
        "sum=0123456789abcdef0123456789abcdef\n",
        "feedback from deadbeefs\n",
    ],
)
def test_usual_lines_are_passed_over(line: str) -> None:
    assert found(line) == len(line)


def test_other_numbers_are_found_in_ranges() -> None:
    line = "called from 7f12ab34c0de\n"
    assert found(line) == len(line)
    assert found(line, ((0x1000, 0x2000), (0x7F12AB340000, 0x7F12AB350000))) == 12
    assert found(line, ((0x1000, 0x2000), (0x7F12AB350000, 0x7F12AB360000))) == len(
        line
    )
    assert found(line, ANY_NUMBER) == 12
    assert found("id 7f12ab34c0deX\n", ANY_NUMBER) == 17


def test_a_module_beside_digits_is_found_by_its_ending() -> None:
    for word, is_found in (
        ("lib.so.6", True),
        ("a.b.dll", True),
        ("app.exe", True),
        ("a.s", False),
        ("a.dl", False),
        ("a.b.c", False),
    ):
        line = f"called 12ab34cd in {word}"
        assert (found(line) < len(line)) is is_found, line


def test_an_id_that_ends_as_a_page_does_is_none_among_others() -> None:
    ids = f"id 7f12ab34c0de took 81 ms\n{LOG.splitlines()[1]}\n" * 3_000
    page = "libfoo 7f12ab340000\n"
    assert len(LongText(io.BytesIO(f"{ids}{page}{ids}".encode())).passages()) == 0
    found = LongText(io.BytesIO(f"{ids}{page * 2}{ids}".encode())).passages()
    assert len(found) == 1
    assert found[0][0] < len(ids) < len(ids) + 2 * len(page) < found[0][1]
    few = f"id 7f12ab34c0de took 81 ms\n{LOG}" * 2 + page
    assert len(LongText(io.BytesIO(few.encode())).passages()) == 1


class Counted(io.BytesIO):
    """A file that counts the bytes that are read of it."""

    count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        self.count += len(found)
        return found


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-23 08:00:01.000 [worker-3] INFO answered",
        "[worker-3] INFO answered",
        "[4711] INFO answered",
        "[2026-11-23 08:00:01] {answered}",
        '2026-11-23T08:00:01.5Z {"message": "answered"}',
    ],
)
def test_a_log_with_brackets_is_not_read_for_a_document(line: str) -> None:
    file = Counted(f"{line}\n".encode() * 200_000)
    assert LongText(file).document() is None
    assert file.count < 1 << 20


def test_parts_and_rest_are_the_text() -> None:
    stack = "#0 0x55d1c0ffe189 (/opt/app+0x1189)\n"
    text = f"{LOG}{stack}{LOG}{LOG}{stack}{LOG}é\n{stack}"
    report = gsym.symbolicate(text)
    assert str(report) == text
    assert len([*report.frames()]) == 3
    long = LongText(io.BytesIO(text.encode()))
    passages = long.passages()
    assert len(passages) == 3
    assert sum(end - begin for begin, end in passages) < len(LOG)
    read = [long.read(passages)]
    parts = [*long.with_rest(read, read, passages)]
    assert len([each for each in parts if isinstance(each, FileText)]) == 3
    assert "".join(map(str, parts)) == text


@pytest.mark.parametrize("is_piped", [False, True])
def test_the_command_answers_a_long_log(
    modules: Path, tmp_path: Path, *, is_piped: bool
) -> None:
    stack = "#1 0x55d1c0ffe189 (/opt/app+0x1010)\n"
    text = f"{LOG}{stack}{LOG}"
    (tmp_path / "app.log").write_text(text)
    path = "-" if is_piped else str(tmp_path / "app.log")
    done = subprocess.run(
        [sys.executable, "-m", "gsym", "symbolicate", path, "--source", str(modules)],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(LOG)
    assert done.stdout.endswith(LOG)
    assert "leaf" in done.stdout
