"""Collapsed stacks: values, places in names, and lines that are refused."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

import pytest

from gsym.errors import FormatError
from gsym.profiles.collapsed_input import read_collapsed
from gsym.profiles.model import Frame, ProfileBuilder, ValueType
from gsym.profiles.opening import ProfileOptions, read_profile
from gsym.profiles.outputs import collapsed_lines
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
    profile = read_profile(path)
    (kind,) = profile.value_types
    assert {names: kind.plain(sum_) for names, sum_ in sums_of(profile).items()} == {
        ("work", "<module>"): 4,
        ("operator new(unsigned long)", "main"): 2,
        ("main",): 0.6,
    }
    assert profile.losses == {}
    (place,) = (
        each.frames[0] for each in profile.locations if each.frames[0].line == 3
    )
    assert (place.name, place.path) == ("work", "app.py")


@pytest.mark.parametrize("line", ["main;leaf", "12", "main;leaf x", "main;leaf 12 "])
def test_only_stacks_with_a_value_are_taken(path: Path, line: str) -> None:
    assert is_collapsed([line]) == line.endswith("12 ")
    path.write_text(f"main 1\n{line}\n")
    profile = read_collapsed(str(path), ProfileOptions())
    if line.endswith("12 "):
        assert len(profile.samples) == 2
    else:
        assert profile.losses == {"lines that are no stack with a value": 1}


def test_a_value_without_functions_counts_as_py_spy_writes_it(path: Path) -> None:
    path.write_text("<module> (app.py:17);leaf (app.py:4) 237\n 15\n")
    profile = read_collapsed(str(path), ProfileOptions())
    assert sums_of(profile) == {("leaf", "<module>"): 237, (): 15}
    assert profile.losses == {}


@pytest.mark.parametrize(
    "text",
    [
        "read(3, 0x10, 4) = 4\nopen(7) = 3\n",  # strace
        "total 12\nfiles 4\n",
        "a;b 1\nsome words\nand others\n",
    ],
)
def test_other_lines_that_end_in_numbers_are_no_stacks(text: str) -> None:
    assert not is_collapsed(text.splitlines())


def test_values_are_exact(path: Path) -> None:
    path.write_text("a;b 0.412\na 1.5\na;c -31.\n")
    profile = read_profile(path)
    assert profile.value_types == (ValueType("samples", "count", 1000),)
    assert list(collapsed_lines(profile)) == ["a 1.5", "a;b 0.412", "a;c -31"]


def test_two_values_are_before_and_after_as_difffolded_writes_them(path: Path) -> None:
    path.write_text("a;b 3 4\na 1 0\n")
    profile = read_profile(path)
    assert [each.type for each in profile.value_types] == ["before", "after"]
    assert [each.values for each in profile.samples] == [(3, 4), (1, 0)]
    path.write_text("a;b 3 4\na 1\n")
    assert sums_of(read_profile(path)) == {
        ("b 3", "a"): 4,
        ("a",): 1,
    }


def test_the_end_of_a_stack_of_heaptrack_is_no_function(path: Path) -> None:
    path.write_bytes(codecs.BOM_UTF8 + b"main (a.cpp);f; 40000\n")
    profile = read_profile(path)
    assert sums_of(profile) == {("f", "main"): 40000}
    assert {each.frames[0].path for each in profile.locations} == {"", "a.cpp"}


def test_lines_of_austin_have_threads_places_and_microseconds(path: Path) -> None:
    path.write_text(
        "# austin: 3.7.0\n# mode: wall\n\n"
        "P7;T0:7;/a.py:<module>:3;/a.py:f:4 2125\nP7;T0:8 500\n"
    )
    profile = read_profile(path)
    assert profile.value_types == (ValueType("wall", "microseconds"),)
    assert [each[:2] for each in profile.threads] == [(7, 7), (7, 8)]
    places = [each.frames[0] for each in profile.locations]
    assert Frame("f", path="/a.py", line=4) in places
    assert sums_of(profile) == {("f", "<module>"): 2125, (): 500}


def test_native_frames_of_austinp_are_addresses_of_mapped_modules(path: Path) -> None:
    # As austinp 4.0.0 and mojo2austin of austin-python write them.
    path.write_text(
        "# map: 5598921a9000-5598921aa000 /opt/python\n"
        "# map: 7f34ae600000-7f34ae6f5000 /opt/libpython3.11.so.1.0\n"
        "# map: 7f34ae6f5000-7f34ae931000 /opt/libpython3.11.so.1.0\n"
        "# austin: 4.0.0\n# mode: wall\n"
        "P7;T0:7;native@7f34ae8b8f3b:pymain_init:171;/a.py:f:4;"
        "native@7f34ade88181:outer:9;native@7f34ae6f5000:spin:0 5\n"
        "P7;T0:7;native@7f34ae8b8f3b:pymain_init:171 2\n"
    )
    profile = read_profile(path)
    spin, outer, work, caller = profile.stacks[0]
    (exact,) = profile.stacks[1]
    places = [profile.locations[each] for each in (spin, outer, caller, exact)]
    assert [each.address for each in places] == [
        *(0x7F34AE6F5000, 0x7F34ADE88181, 0x7F34AE8B8F3B, 0x7F34AE8B8F3B)
    ]
    assert [each.is_return for each in places] == [False, True, True, False]
    assert [each.frames for each in places] == [
        (Frame(name),) for name in ("spin", "outer", "pymain_init", "pymain_init")
    ]
    assert [each.is_named_only for each in places] == [True] * 4
    modules = [each.mapping for each in places]
    assert modules[1] is None  # a module that was loaded later
    (number,) = {modules[0], modules[2], modules[3]}
    assert number is not None
    mapping = profile.mappings[number]
    assert (mapping.start, mapping.limit) == (0x7F34AE600000, 0x7F34AE931000)
    assert (mapping.link_start, mapping.is_relative) == (0, True)
    assert profile.locations[work].frames == (Frame("f", path="/a.py", line=4),)


def test_empty_stacks_and_names_are_written_as_words() -> None:
    builder = ProfileBuilder()
    builder.sample(builder.stack([]), (5,))
    builder.sample(builder.stack([builder.function(Frame(""))]), (2,))
    lines = list(collapsed_lines(builder.profile))
    assert lines == ["(no stack) 5", "(unknown) 2"]


def test_a_stack_of_too_many_frames_is_refused(path: Path) -> None:
    path.write_text("a;" * 70_000 + "a 1\n")
    with pytest.raises(FormatError, match="line 1 has more than 65536 frames"):
        read_profile(path)
