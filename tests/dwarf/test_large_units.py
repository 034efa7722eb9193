"""Units of so many functions that they are read in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from tests.inputs.scaled import FUNCTION_SIZE, TEXT, methods_before_their_class

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

PART = 1 << 16
COUNT = 2 * PART + 1_000


def test_a_unit_in_parts_is_like_one_that_is_read_at_once(tmp_path: Path) -> None:
    path, made = tmp_path / "app", []
    path.write_bytes(methods_before_their_class(COUNT))
    for threads in (1, 2):
        report = gsym.convert(str(path), threads=threads)
        made.append((tmp_path / "app.gsym").read_bytes())
    assert made[0] == made[1]
    assert report.functions == COUNT + 1
    assert not report.warnings
    with gsym.open(str(tmp_path / "app.gsym")) as reader:
        for number in (0, 5, PART - 1, PART, 2 * PART - 1, 2 * PART, COUNT - 1):
            found = reader.lookup(TEXT + number * FUNCTION_SIZE + 8)
            assert found is not None
            assert [(frame.name, frame.line) for frame in found.frames] == [
                ("inlined", number + 1),
                (f"C::m{number:06}", number % 90 + 1),
            ]
        last = reader.lookup(TEXT + COUNT * FUNCTION_SIZE)
        assert last is not None
        assert last.frames[0].name == f"function_{COUNT}"
