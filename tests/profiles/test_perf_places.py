"""Mappings in memory, as records of perf tell them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gsym.profiles import perf_places
from gsym.profiles.model import ProfileBuilder
from gsym.profiles.perf_places import MOST_MAPPINGS, ModulePlaces, PerfFacts, _Loaded
from gsym.profiles.perf_reader import PerfMapping
from gsym.profiles.perf_script import PerfFrame

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

ID = "ab" * 20


def test_the_number_of_mappings_of_a_process_is_limited() -> None:
    builder = ProfileBuilder()
    places = ModulePlaces(builder, PerfFacts({"/x": ID}))
    for number in range(MOST_MAPPINGS):
        places.load(PerfMapping(1, 0x1000 * number, 0x1000, 0, "/x"))
    assert not builder.profile.losses
    places.load(PerfMapping(1, 0x1000 * MOST_MAPPINGS, 0x1000, 0, "/x"))
    places.load(PerfMapping(2, 0, 0x1000, 0, "/x"))
    assert list(builder.profile.losses.values()) == [1]


@pytest.mark.parametrize("beyond", [0, 1])
def test_the_number_of_mappings_that_processes_inherit_is_limited(
    beyond: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that changes one of 10 mappings has all of them for itself."""
    monkeypatch.setattr(perf_places, "_MOST_COPIED", 30 - beyond)
    builder = ProfileBuilder()
    places = ModulePlaces(builder, PerfFacts({"/x": ID}))
    for number in range(10):
        places.load(PerfMapping(1, 0x1000 * number, 0x1000, 0, "/x"))
    for process in (2, 3, 4):
        places.begin(process, 1)
        places.load(PerfMapping(process, 0x20000, 0x1000, 0, "/x"))
    assert list(builder.profile.losses.values()) == [1] * beyond


def test_a_new_process_has_nothing_of_an_earlier_one_of_its_number() -> None:
    places = ModulePlaces(ProfileBuilder(), PerfFacts({"/x": ID}))
    places.load(PerfMapping(7, 0x1000, 0x1000, 0x5000, "/x"))
    frame = PerfFrame(0x1234, "", "", None, is_inlined=False, path="", line=0)
    assert places.find(frame, 7) == (0x1234, 0)
    places.begin(7, None)
    assert places.find(frame, 7) == (0x1234, None)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), min_size=1, max_size=20)
)
def test_later_mappings_hide_what_they_cover(parts: list[tuple[int, int]]) -> None:
    loaded = _Loaded()
    expected: dict[int, tuple[int, int]] = {}
    for number, (start, size) in enumerate(parts):
        loaded.add(PerfMapping(1, start, size, 1000 * number, str(number)))
        for address in range(start, start + size):
            expected[address] = number, 1000 * number + address - start
    for address in range(70):
        part = loaded.find(address)
        found = part and (int(part.path), part.file_offset + address - part.start)
        assert found == expected.get(address)
