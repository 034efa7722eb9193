"""Profiles of jemalloc, gperftools and Go's allocator."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

import pytest

from gsym.errors import FormatError
from gsym.profiles.heap_input import read_cpu_words, read_heap
from gsym.profiles.opening import ProfileOptions, read_profile
from gsym.profiles.recognition import profile_kind

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.profiles.model import Profile

pytestmark = pytest.mark.no_engine

MAPS = """
MAPPED_LIBRARIES:
00400000-00401000 r--p 00000000 08:01 1234                   /opt/app
00401000-00402000 r-xp 00001000 08:01 1234                   /opt/app
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
"""
GPERFTOOLS = f"""\
heap profile:      3:     8192 [     5:    16384] @ heapprofile
     1:     4096 [     2:     8192] @ 0x00401110 0x00401220
     2:     4096 [     3:     8192] @ 0x00401140 0x7f0000000010
{MAPS}"""
JEMALLOC = f"""\
heap_v2/524288
  t*: 3: 3072 [0: 0]
  t0: 1: 1024 [0: 0]
  t7: 2: 2048 [0: 0] worker
@ 0x401110 0x401220
  t*: 3: 3072 [0: 0]
  t0: 1: 1024 [0: 0]
  t7: 2: 2048 [0: 0] worker
@ 0x401140
  t*: 2: 64 [4: 128]
{MAPS}"""


def read(folder: Path, text: str, kind: str = "heap") -> Profile:
    path = folder / "heap"
    path.write_text(text)
    assert profile_kind(path) == kind
    return read_profile(path)


def addresses(profile: Profile) -> list[list[int]]:
    return [[profile.locations[at].address for at in each] for each in profile.stacks]


def test_a_heap_of_gperftools_has_its_numbers_and_mappings(tmp_path: Path) -> None:
    profile = read(tmp_path, GPERFTOOLS)
    assert [each.type for each in profile.value_types] == [
        *("alloc_objects", "alloc_space", "inuse_objects", "inuse_space"),
    ]
    assert [each.values for each in profile.samples] == [
        (2, 8192, 1, 4096),
        (3, 8192, 2, 4096),
    ]
    assert addresses(profile) == [[0x401110, 0x401220], [0x401140, 0x7F0000000010]]
    assert [each.is_return for each in profile.locations] == [True] * 4
    (mapping,) = profile.mappings
    assert mapping[:5] == (0x401000, 0x402000, None, 0x1000, "/opt/app")
    assert [each.mapping for each in profile.locations] == [0, 0, 0, None]
    assert profile.losses == {}


def test_a_mapping_of_a_file_that_was_removed_has_its_path(tmp_path: Path) -> None:
    text = GPERFTOOLS.replace("/opt/app\n", "/opt/my app (deleted)\n")
    (mapping,) = read(tmp_path, text).mappings
    assert mapping.path == "/opt/my app"


def estimated(objects: int, size: int, rate: int) -> tuple[int, int]:
    """As jeprof adjusts samples."""
    factor = 1 / (1 - math.exp(-(size / objects) / rate))
    return int(objects * factor), int(size * factor)


def test_a_heap_of_jemalloc_stands_for_all_objects(tmp_path: Path) -> None:
    profile = read(tmp_path, JEMALLOC)
    first, second = estimated(1, 1024, 524288), estimated(2, 2048, 524288)
    found = [each.values for each in profile.samples]
    for value, expected in zip(
        found,
        [(0, 0, *first), (0, 0, *second), (*estimated(4, 128, 524288),)],
        strict=True,
    ):
        assert value[: len(expected)] == pytest.approx(expected, abs=1)
    assert [each.thread for each in profile.samples] == [0, 1, None]
    assert profile.threads == [(None, 0, "", ""), (None, 7, "", "worker")]
    assert addresses(profile) == [[0x401110, 0x401220], [0x401140]]


def test_go_writes_twice_the_rate_and_names_after_each_stack(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        "heap profile: 1: 8192 [4: 32768] @ heap/1048576\n"
        "1: 8192 [4: 32768] @ 0x401110 0x401220\n"
        "#\t0x40110f\tmain.fill+0xf\t/src/fill.go:10\n"
        "#\t0x40121f\tmain.work+0x1f\t\t/src/work.go:20\n\n"
        "# runtime.MemStats\n# Alloc = 12288\n",
    )
    assert profile.samples[0].values[2:] == estimated(1, 8192, 524288)
    frames = [each.frames[0] for each in profile.locations]
    assert [(each.name, each.path, each.line) for each in frames] == [
        ("main.fill", "/src/fill.go", 10),
        ("main.work", "/src/work.go", 20),
    ]
    assert profile.losses == {}


def test_counts_of_go_have_names_and_labels(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        "goroutine profile: total 10\n3 @ 0x401110 0x401220\n"
        '# labels: {"kind":"worker"}\n'
        "#\t0x40110f\tmain.wait+0xf\t/src/wait.go:10\n\n7 @\n#\t0x0\n",
        "go",
    )
    assert profile.value_types == (("goroutine", "count", 1),)
    assert [each.values for each in profile.samples] == [(3,), (7,)]
    assert [each.labels for each in profile.samples] == [(("kind", "worker", ""),), ()]
    assert addresses(profile) == [[0x401110, 0x401220], []]
    assert profile.locations[0].frames[0].name == "main.wait"
    assert profile.losses == {}


def test_waiting_is_cycles_in_nanoseconds_as_often_as_sampled(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        "--- mutex:\ncycles/second=2000000000\nsampling period=5\n"
        "600 46 @ 0x401110 0x401220\n#\t0x40110f\tmain.work+0xf\t/src/work.go:1\n",
        "go",
    )
    assert [each.type for each in profile.value_types] == ["contentions", "delay"]
    assert profile.samples[0].values == (230, 1500)
    plain = read(tmp_path, "--- contention:\ncycles/second = 10\n1 2 @ 0x3\n", "go")
    assert plain.samples[0].values == (2, 100_000_000)


def test_other_lines_are_counted(tmp_path: Path) -> None:
    text = GPERFTOOLS.replace("MAPPED", "what is this\nMAPPED", 1)
    assert read(tmp_path, text).losses == {"lines that are not understood": 1}
    path = tmp_path / "other"
    path.write_text("nothing\n")
    with pytest.raises(FormatError, match="not a heap profile"):
        read_heap(str(path), ProfileOptions())


@pytest.mark.parametrize("layout", ["<Q", ">Q", "<I", ">I"])
def test_a_profile_of_the_cpu_has_words_of_the_machine(
    tmp_path: Path, layout: str
) -> None:
    # Head; a stack seen twice; one whose first address is there twice; the end.
    words = (0, 3, 0, 10_000, 0, 2, 2, 0x401110, 0x401220, 1, 2, 0x401140, 0x401140)
    data = struct.pack(f"{layout[0]}16{layout[1]}", *words, 0, 1, 0)
    path = tmp_path / "cpu"
    path.write_bytes(data + MAPS.encode())
    assert profile_kind(path) == "gperftools"
    profile = read_profile(path)
    assert [each.values for each in profile.samples] == [
        (2, 20_000_000),
        (1, 10_000_000),
    ]
    assert addresses(profile) == [[0x401110, 0x401220], [0x401140]]
    assert [each.is_return for each in profile.locations] == [False, True, False]
    assert profile.mappings[0].path == "/opt/app"
    path.write_bytes(data[: len(data) // 16 * 13])
    losses = read_profile(path).losses
    assert losses == {"ends of a profile that was not finished": 1}
    path.write_bytes(data[: len(data) // 16 * 8])
    with pytest.raises(FormatError, match="a stack of 2 addresses"):
        read_cpu_words(str(path), ProfileOptions())
