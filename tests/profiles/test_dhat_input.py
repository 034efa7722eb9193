"""Profiles of dhat, of valgrind and of programs in Rust."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gsym.errors import FormatError
from gsym.profiles.opening import read_profile
from gsym.profiles.recognition import profile_kind

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.profiles.model import Profile

pytestmark = pytest.mark.no_engine

HEAP = {
    "dhatFileVersion": 2,
    "mode": "heap",
    "cmd": "./app",
    "pid": 4711,
    "pps": [
        {
            "tb": 900,
            "tbk": 9,
            "tl": 5,
            "mb": 1,
            "mbk": 1,
            "gb": 500,
            "gbk": 5,
            "eb": 100,
            "ebk": 1,
            "rb": 7,
            "wb": 8,
            "fs": [1, 2, 3, 4],
        },
        {"tb": 24, "tbk": 1, "gb": 0, "gbk": 0, "eb": 0, "ebk": 0, "fs": [1, 5]},
    ],
    "ftbl": [
        "[root]",
        "0x48417B4: malloc (in /opt/no/vgpreload.so)",
        "0x1091E5: operator new(unsigned long) (new.h:8)",
        "0x1091E5: grab (app.c:10)",
        "0x109253: main (app.c:20)",
        "0x109260: ???",
    ],
}


def read(folder: Path, content: dict[str, Any]) -> Profile:
    path = folder / "dhat.out.1"
    path.write_text(json.dumps(content))
    assert profile_kind(path) == "dhat"
    return read_profile(path)


def test_places_that_allocate_have_all_values(tmp_path: Path) -> None:
    profile = read(tmp_path, HEAP)
    types = [each.type for each in profile.value_types]
    assert types == [
        *("alloc_objects", "alloc_space", "peak_objects", "peak_space"),
        *("inuse_objects", "inuse_space", "read_space", "written_space"),
    ]
    assert types[profile.default_value or 0] == "alloc_space"
    first, second = profile.samples
    assert first.values == (9, 900, 5, 500, 1, 100, 7, 8)
    assert second.values == (1, 24, 0, 0, 0, 0, 0, 0)
    assert profile.threads == [(4711, None, "", "")]
    assert profile.comments == ["./app"]


def test_frames_of_one_address_are_inlined_calls(tmp_path: Path) -> None:
    profile = read(tmp_path, HEAP)
    found = [profile.locations[index] for index in profile.stacks[0]]
    assert [each.address for each in found] == [0x48417B4, 0x1091E5, 0x109253]
    assert [(each.name, each.path, each.line) for each in found[1].frames] == [
        ("operator new(unsigned long)", "new.h", 8),
        ("grab", "app.c", 10),
    ]
    assert profile.mappings[found[0].mapping or 0].path == "/opt/no/vgpreload.so"
    names = [each.name for each in profile.frames_of(profile.samples[1].stack)]
    assert names == ["malloc", "0x109260"]


def test_rust_has_columns_and_other_modes_their_own_units(tmp_path: Path) -> None:
    content = {
        "dhatFileVersion": 2,
        "mode": "ad-hoc",
        "bu": "unit",
        "bsu": "units",
        "pps": [{"tb": 30, "tbk": 3, "fs": [0, 1], "acc": [1, -2]}],
        "ftbl": ["[root]", "0x10c2f: app::work (src/main.rs:12:9)"],
    }
    profile = read(tmp_path, content)
    assert [tuple(each)[:2] for each in profile.value_types] == [
        ("events", "count"),
        ("ad-hoc", "unit"),
    ]
    assert profile.samples[0].values == (3, 30)
    (frame,) = profile.frames_of(0)
    assert (frame.name, frame.path, frame.line) == ("app::work", "src/main.rs", 12)
    assert profile.losses == {"counts of accesses to each byte of blocks": 1}


def test_a_frame_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    content = {**HEAP, "pps": [{"tb": 1, "tbk": 1, "fs": [9]}]}
    with pytest.raises(FormatError, match=r"pps\[0\].fs\[0\]: not an index below 6"):
        read(tmp_path, content)
