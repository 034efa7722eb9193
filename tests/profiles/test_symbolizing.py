"""Locations of profiles get the functions that their modules have there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gsym.profiles.model import Frame, Mapping, ProfileBuilder
from gsym.profiles.symbolizing import symbolize
from tests.profiles.symbols import BASE, BUILD_ID, Modules

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_engine

LOADED = 0x7F0000001000
OUTER = Frame("outer(int)", "_Z5outeri", "/src/a.cc", 12)
INNER = Frame("inner()", "_Z5innerv", "/src/a.h", 3)
CALLER = Frame("outer(int)", "_Z5outeri", "/src/a.cc", 11)
NEXT = Frame("next()", "_Z4nextv", "/src/b.cc", 7)


@pytest.fixture
def modules(tmp_path: Path) -> Modules:
    return Modules(tmp_path)


def code(**fields: Any) -> Mapping:  # noqa: ANN401
    mapping = Mapping(
        LOADED, LOADED + 0x1000, BASE + 0x1000, 0x1000, "/opt/module", BUILD_ID
    )
    return mapping._replace(**fields)


def frames_at(
    modules: Modules, offset: int, mapping: Mapping | None, *, is_return: bool = False
) -> tuple[tuple[Frame, ...], str]:
    builder = ProfileBuilder()
    index = None if mapping is None else builder.mapping(mapping)
    builder.location(LOADED + offset, index, is_return=is_return)
    symbolize(builder.profile, modules)
    (location,) = builder.profile.locations
    return location.frames, location.reason


@pytest.mark.parametrize(
    ("offset", "is_return", "frames"),
    [
        (0x10, False, (INNER, CALLER)),
        (0x20, False, (OUTER,)),
        (0x20, True, (INNER, CALLER)),
        (0x40, False, (NEXT,)),
        (0x40, True, (OUTER,)),
        (0x50, True, (NEXT,)),
    ],
)
def test_a_location_has_the_frames_of_its_link_time_address(
    modules: Modules, offset: int, frames: tuple[Frame, ...], *, is_return: bool
) -> None:
    assert frames_at(modules, offset, code(), is_return=is_return) == (frames, "")


def test_without_a_link_time_address_offsets_in_the_file_count_from_the_base(
    modules: Modules,
) -> None:
    assert frames_at(modules, 0x40, code(link_start=None)) == ((NEXT,), "")


def test_a_mapping_at_its_own_offset_is_the_kernel_and_counts_from_the_base(
    modules: Modules,
) -> None:
    kernel = code(
        limit=LOADED + 0x2000,
        link_start=None,
        file_offset=LOADED,
        path="[kernel.kallsyms]",
    )
    assert frames_at(modules, 0x1040, kernel) == ((NEXT,), "")
    assert frames_at(modules, 0x1040, kernel, is_return=True) == ((OUTER,), "")


@pytest.mark.parametrize(
    ("offset", "mapping", "reason"),
    [
        (0x10, None, "no mapping covers it"),
        (0x10, code(build_id=""), "the build id of its module is unknown"),
        (0x10, code(build_id="ab"), "no symbols for this module"),
        (0x50, code(), "no function of "),
        (0, code(link_start=0), "no function of "),
    ],
)
def test_a_location_without_frames_has_a_reason(
    modules: Modules, offset: int, mapping: Mapping | None, reason: str
) -> None:
    frames, said = frames_at(modules, offset, mapping)
    assert not frames
    assert said.startswith(reason)


def test_a_module_is_opened_once_for_all_its_mappings(modules: Modules) -> None:
    builder = ProfileBuilder()
    for number in range(3):
        start = LOADED + 0x10000 * number
        mapping = code(start=start, limit=start + 0x1000)
        builder.location(start + 0x40, builder.mapping(mapping))
    symbolize(builder.profile, modules)
    assert [location.frames for location in builder.profile.locations] == [(NEXT,)] * 3
    assert len(modules.asked) == 1


def test_existing_frames_are_kept(modules: Modules) -> None:
    builder = ProfileBuilder()
    builder.location(LOADED, builder.mapping(code()))
    known = builder.profile.locations[0]._replace(frames=(Frame("known"),))
    builder.profile.locations[0] = known
    symbolize(builder.profile, modules)
    assert builder.profile.locations == [known]


@pytest.mark.parametrize(
    ("symbol", "is_assumed", "names"),
    [
        ("outer", True, ["inner()", "outer(int)"]),  # perf leaves out parameters
        ("_Z5outeri", True, ["inner()", "outer(int)"]),
        ("other", True, ["other"]),  # another file is there now
        ("other", False, ["inner()", "outer(int)"]),
    ],
)
def test_a_symbol_of_the_profiler_is_replaced_if_the_binary_matches(
    modules: Modules, symbol: str, names: list[str], *, is_assumed: bool
) -> None:
    builder = ProfileBuilder()
    mapping = code(unsure="it is assumed" if is_assumed else "")
    builder.location(LOADED + 0x10, builder.mapping(mapping))
    profile = builder.profile
    profile.locations[0] = profile.locations[0]._replace(
        frames=(Frame(symbol, symbol),), is_named_only=True
    )
    symbolize(profile, modules)
    assert [frame.name for frame in profile.locations[0].frames] == names


def test_a_symbol_of_the_profiler_is_kept_without_a_function(
    modules: Modules,
) -> None:
    builder = ProfileBuilder()
    builder.location(LOADED + 0x50, builder.mapping(code()))
    known = builder.profile.locations[0]._replace(
        frames=(Frame("known"),), is_named_only=True
    )
    builder.profile.locations[0] = known
    symbolize(builder.profile, modules)
    assert builder.profile.locations == [known]
