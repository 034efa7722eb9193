"""JSON with typed arrays beside it, as the Firefox Profiler keeps profiles."""

from __future__ import annotations

import gzip
import json
import struct
from typing import TYPE_CHECKING

import pytest

from gsym.errors import FormatError, UnsupportedError
from gsym.profiles.input_bytes import SLABS_MAGIC
from gsym.profiles.opening import read_profile
from gsym.profiles.recognition import profile_kind
from tests.profiles.json_profiles import firefox

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.no_engine

JSON, INT32, FLOAT64 = 10, 4, 7


def slabs(root: int, *contents: tuple[int, bytes], version: int = 1) -> bytes:
    """A file, each slab at a multiple of eight."""
    at = 20 + 12 * len(contents)
    table, data = b"", b""
    for kind, content in contents:
        data += bytes(-(at + len(data)) % 8)
        table += struct.pack("<3I", kind, at + len(data), len(content))
        data += content
    return SLABS_MAGIC + struct.pack("<3I", version, len(contents), root) + table + data


def text(value: object) -> tuple[int, bytes]:
    return JSON, json.dumps(value).encode()


def binary_firefox() -> bytes:
    made = firefox()
    (thread,) = made["threads"]
    thread["stackTable"] = {"prefix": {"$s": 0}, "frame": [0, 1]}
    thread["samples"]["time"] = {"$s": 1}
    made["threads"] = {"$s": 3}
    times = (FLOAT64, struct.pack("<3d", 1, 2.5, 3))
    prefixes = (INT32, struct.pack("<2i", -1, 0))
    return slabs(2, prefixes, times, text(made), text([thread]))


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_arrays_are_the_lists_that_they_stand_for(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    path, other = tmp_path / "profile.jslb", tmp_path / "profile.json"
    path.write_bytes(compress(binary_firefox()))
    other.write_text(json.dumps(firefox()))
    assert profile_kind(path) == "firefox"
    made, expected = read_profile(path), read_profile(other)
    for name in ("samples", "stacks", "locations", "mappings", "threads"):
        assert getattr(made, name) == getattr(expected, name)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (slabs(0, text({"meta": {"$s": 0}})), "a slab contains itself"),
        (slabs(0, text({"meta": {"$s": 7}})), "no slab has the index 7"),
        (slabs(0, text({"meta": {"$s": 1}}), (99, b"")), "a slab of unknown type 99"),
        (slabs(0, (JSON, b'{"meta": 1,,}')), "not JSON: "),
        (binary_firefox()[:-8], "ends after the file"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "profile.jslb"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=reason):
        read_profile(path)


def test_another_version_is_not_supported(tmp_path: Path) -> None:
    path = tmp_path / "profile.jslb"
    path.write_bytes(slabs(0, text(firefox()), version=2))
    with pytest.raises(UnsupportedError, match="version 2 of JSLB is not supported"):
        read_profile(path)
