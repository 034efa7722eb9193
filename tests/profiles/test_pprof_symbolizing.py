"""pprof gets lines, and all else of the file stays as it was."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest

from gsym.profiles import pprof
from gsym.profiles.pprof import profile_of, symbolize_pprof
from gsym.profiles.protobuf import unknown_fields
from tests.profiles.pprof_messages import message
from tests.profiles.symbols import Modules

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_engine


@pytest.fixture
def modules(tmp_path: Path) -> Modules:
    return Modules(tmp_path)


def symbolized(made: Any, modules: Modules, *, return_addresses: bool = False) -> Any:
    data, _ = symbolize_pprof(
        made.SerializeToString(), modules, return_addresses=return_addresses
    )
    return pprof.decode(gzip.decompress(data))


def names(made: Any) -> list[list[str]]:
    return [
        [frame.name for frame in location.frames]
        for location in profile_of(made).locations
    ]


def test_only_locations_without_lines_get_lines(
    modules: Modules,
) -> None:
    found = symbolized(message(), modules)
    assert names(found) == [
        ["known"],
        ["inner()", "outer(int)"],
        ["inner()", "outer(int)"],
        ["next()"],
    ]
    assert profile_of(found).locations[0].frames[0].line == 9


def test_return_addresses_are_decremented(modules: Modules) -> None:
    made = message()
    made.location[2].address += 1
    assert names(symbolized(made, modules))[2] == ["outer(int)"]
    found = symbolized(made, modules, return_addresses=True)
    assert names(found)[2] == ["inner()", "outer(int)"]
    assert found.location[2].address == made.location[2].address


def test_all_other_fields_are_unchanged(modules: Modules) -> None:
    made = message()
    # Fields that are not known: 99 of the profile, 50 of a sample.
    extended = made.SerializeToString() + b"\x9a\x06\x03abc"
    made = pprof.decode(extended)
    made.sample[0].MergeFromString(b"\x90\x03\x07")
    found = symbolized(made, modules)
    assert [each for each, _ in unknown_fields(found)] == [99]
    assert [each for each, _ in unknown_fields(found.sample[0])] == [50]
    added = len(made.string_table), len(made.function)
    assert len(found.string_table) > added[0]
    del found.string_table[added[0] :]
    del found.function[added[1] :]
    for location in found.location:
        if location.id != 5:
            del location.line[:]
    mapping = found.mapping[0]
    flags = "has_functions", "has_filenames", "has_line_numbers", "has_inline_frames"
    for flag in flags:
        assert getattr(mapping, flag)
        setattr(mapping, flag, False)
    assert found.SerializeToString() == made.SerializeToString()


def test_functions_are_reused(modules: Modules) -> None:
    made = message()
    first = len(made.string_table)
    made.string_table.extend([b"next()", b"_Z4nextv", b"/src/b.cc"])
    made.function.add(id=1000, name=first, system_name=first + 1, filename=first + 2)
    found = symbolized(made, modules)
    assert len(set(found.string_table)) == len(found.string_table)
    assert [function.id for function in found.function] == [3, 1000, 1001, 1002]
    assert found.location[3].line[0].function_id == 1000


def test_locations_without_symbols_have_a_reason(modules: Modules) -> None:
    made = message()
    made.string_table[6] = b"ff"
    data, places = symbolize_pprof(made.SerializeToString(), modules)
    found = pprof.decode(gzip.decompress(data))
    assert names(found) == [["known"], [], [], []]
    assert not found.mapping[0].has_functions
    assert places.locations[1].reason == "no symbols for this module"
