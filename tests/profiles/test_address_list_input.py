"""Lines with addresses -> profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gsym.errors import FormatError
from gsym.profiles.model import Location, Mapping
from gsym.profiles.opening import ProfileOptions, read_profile
from gsym.profiles.recognition import is_address_list
from gsym.profiles.symbolizing import symbolize
from tests.profiles.symbols import BASE, BUILD_ID, Modules

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_engine

ALL = (1 << 64) - 1


def written(folder: Path, text: str) -> Path:
    path = folder / "addresses.txt"
    path.write_text(text)
    return path


def test_addresses_are_samples_in_order(tmp_path: Path) -> None:
    path = written(tmp_path, "# list\n0x401136\n\n  401140\r\n0X401136\n")
    profile = read_profile(path)
    assert profile.locations == [Location(0x401136), Location(0x401140)]
    assert [each.stack for each in profile.samples] == [0, 1, 0]


def test_addresses_are_looked_up_in_their_module(tmp_path: Path) -> None:
    modules = Modules(tmp_path)
    path = written(
        tmp_path, f"{BASE + 0x1040:x}\n{BUILD_ID}:0x401040\nmy+module+0x1040\n0x0\n"
    )
    profile = read_profile(
        path,
        ProfileOptions(build_id=BUILD_ID.upper(), build_ids={"my+module": BUILD_ID}),
    )
    assert profile.mappings == [
        Mapping(0, ALL, 0, 0, "", BUILD_ID),
        Mapping(0, ALL, 0, 0, "my+module", BUILD_ID, is_relative=True),
    ]
    symbolize(profile, modules)
    names = [[frame.name for frame in each.frames] for each in profile.locations]
    assert names == [["next()"], ["next()"], []]
    assert [each.stack for each in profile.samples] == [0, 0, 1, 2]


def test_addresses_may_be_return_addresses(tmp_path: Path) -> None:
    path = written(tmp_path, f"{BUILD_ID}:0x401040")
    profile = read_profile(path, ProfileOptions(return_addresses=True))
    symbolize(profile, Modules(tmp_path))
    assert profile.locations[0].frames[0].name == "outer(int)"


@pytest.mark.parametrize(
    "line", ["main", "0x", "1" * 17, "+0x10", "m+10", "abc:0x10", "-1", "\xb2"]
)
def test_an_invalid_address_is_refused(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, f"0x10\n{line}\n")
    with pytest.raises(FormatError) as caught:
        read_profile(path)
    assert caught.value.reason == f"line 2 is not an address: {line!r}"
    assert caught.value.path == str(path)


def test_a_list_of_addresses_is_recognised() -> None:
    for line in ("0x401136", "401136", "libc.so.6+0x10", f"{BUILD_ID}:0x1"):
        assert is_address_list(["", "# addresses", line])
    assert not is_address_list(["p 13 35.0: 2 cpu-clock:"])
    assert not is_address_list(["main;leaf 12"])
    assert not is_address_list([])
