"""Collapsed stacks: values, places in names, and lines that are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gsym.errors import FormatError
from gsym.profiles.collapsed_input import read_collapsed
from gsym.profiles.recognition import is_collapsed
from tests.profiles.test_round_trips import sums_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_engine

TEXT = """\
# mode: cpu
<module> (app.py:9);work (app.py:3) 4

main;operator new(unsigned long) 2
main 0.6
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "stacks.txt"


def test_stacks_are_read_from_the_root(path: Path) -> None:
    path.write_text(TEXT)
    profile = read_collapsed(path)
    assert sums_of(profile) == {
        ("work", "<module>"): 4,
        ("operator new(unsigned long)", "main"): 2,
        ("main",): 1,
    }
    assert profile.losses == {"fractions of values": 1}
    (place,) = (
        each.frames[0] for each in profile.locations if each.frames[0].line == 3
    )
    assert (place.name, place.path) == ("work", "app.py")


@pytest.mark.parametrize("line", ["main;leaf", "12", "main -3", "main;leaf 12 "])
def test_only_stacks_with_a_value_are_taken(path: Path, line: str) -> None:
    assert is_collapsed([line]) == line.endswith("12 ")
    path.write_text(f"main 1\n{line}\n")
    if line.endswith("12 "):
        assert len(read_collapsed(path).samples) == 2
    else:
        with pytest.raises(FormatError, match="line 2 is not a stack"):
            read_collapsed(path)


def test_a_stack_of_too_many_frames_is_refused(path: Path) -> None:
    path.write_text("a;" * 70_000 + "a 1\n")
    with pytest.raises(FormatError, match="line 1 has more than 65536 frames"):
        read_collapsed(path)
