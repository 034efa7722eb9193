"""Profile -> pprof: read again it is the same, and pprof itself reads it."""

from __future__ import annotations

import gzip
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from gsym.errors import GsymError
from gsym.profiles import pprof
from gsym.profiles.model import (
    Location,
    Mapping,
    ProfileBuilder,
    ValueType,
)
from gsym.profiles.pprof import pprof_file, profile_of
from tests.conftest import find_peer
from tests.profiles.profiles import TYPES, profiles, small_profile

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.profiles.model import Profile

pytestmark = [pytest.mark.long, pytest.mark.no_engine]


def read_back(data: bytes) -> Profile:
    return profile_of(pprof.decode(gzip.decompress(data)))


def exact(location: Location) -> Location:
    """What pprof has of a location: the address that is looked up."""
    address = max(location.address - location.is_return, 0)
    return location._replace(address=address, is_return=False)


@given(profiles())
def test_a_profile_survives_a_round_trip(profile: Profile) -> None:
    profile.period_type, profile.period = TYPES[1], 1000
    profile.start_time, profile.duration = 1 << 60, 77
    profile.comments = ["one", "", "three"]
    found = read_back(pprof_file(profile, merge=False))
    assert found.value_types == profile.value_types
    assert found.mappings == [
        each._replace(link_start=None) for each in profile.mappings
    ]
    assert found.locations == [exact(each) for each in profile.locations]
    assert described(found) == described(profile)
    assert (found.period_type, found.period) == (TYPES[1], 1000)
    assert (found.start_time, found.duration) == (1 << 60, 77)
    assert found.comments == profile.comments
    assert not found.losses


def described(profile: Profile) -> list[object]:
    """Samples with what they point at."""
    return [
        (
            profile.stacks[each.stack],
            None if each.thread is None else profile.threads[each.thread],
            each.time,
            each.values,
            each.labels,
        )
        for each in profile.samples
    ]


@given(profiles())
def test_merged_samples_have_the_sums_of_their_values(profile: Profile) -> None:
    found = read_back(pprof_file(profile))
    keys = [(each.stack, each.thread, each.labels) for each in found.samples]
    assert len(set(keys)) == len(keys)
    for index in range(len(TYPES)):
        total = sum(sample.values[index] for sample in profile.samples)
        assert sum(sample.values[index] for sample in found.samples) == total


def test_labels_are_texts_or_numbers_with_units() -> None:
    builder = ProfileBuilder()
    labels = (("request", "GET", ""), ("size", -7, "bytes"), ("none", 0, ""))
    builder.sample(builder.stack(()), labels=labels)
    (sample,) = read_back(pprof_file(builder.profile)).samples
    assert sample.labels == labels


@pytest.mark.parametrize("value", [(1 << 63) - 1, -(1 << 63)])
def test_values_are_limited_to_signed_64_bits(value: int) -> None:
    builder = ProfileBuilder()
    stack = builder.stack(())
    builder.sample(stack, (value,))
    assert read_back(pprof_file(builder.profile)).samples[0].values == (value,)
    builder.sample(stack, (1 if value > 0 else -1,))
    with pytest.raises(GsymError, match="a value does not fit in a pprof file"):
        pprof_file(builder.profile)


def test_return_addresses_are_written_as_call_addresses() -> None:
    builder = ProfileBuilder()
    builder.location(0x1000, None, is_return=True)
    builder.location(0, None, is_return=True)
    found = read_back(pprof_file(builder.profile)).locations
    assert found == [Location(0xFFF), Location(0)]


def test_a_mapping_has_flags_for_its_symbols() -> None:
    message = pprof.decode(gzip.decompress(pprof_file(small_profile())))
    (mapping,) = message.mapping
    assert mapping.has_functions
    assert mapping.has_filenames
    assert mapping.has_line_numbers
    assert mapping.has_inline_frames
    assert [function.start_line for function in message.function] == [0, 0, 0]
    assert message.string_table[0] == b""


def pprof_says(path: Path, *options: str) -> str:
    command = [find_peer("go"), "tool", "pprof", *options, str(path)]
    environment = {
        "HOME": str(path.parent),
        "GOCACHE": str(path.parent),
        "PATH": "/usr/bin:/bin",
        "PPROF_TMPDIR": str(path.parent),
    }
    return subprocess.run(
        command, capture_output=True, check=True, text=True, env=environment
    ).stdout


def test_pprof_itself_shows_the_functions(tmp_path: Path) -> None:
    path = tmp_path / "small.pb.gz"
    path.write_bytes(pprof_file(small_profile()))
    rows = [line.split() for line in pprof_says(path, "-top").splitlines()]
    flat = {" ".join(row[5:]): (row[0], row[3]) for row in rows if len(row) > 5}
    assert flat["inner() (inline)"] == ("700ns", "700ns")
    assert flat["outer(int)"] == ("0", "700ns")
    assert flat["main"] == ("0", "750ns")


def test_pprof_itself_reads_every_part(tmp_path: Path) -> None:
    path = tmp_path / "small.pb.gz"
    profile = small_profile()
    profile.period_type, profile.period = ValueType("cpu", "nanoseconds"), 100
    path.write_bytes(pprof_file(profile))
    said = " ".join(pprof_says(path, "-raw").split())
    for part in (
        "PeriodType: cpu nanoseconds Period: 100",
        "3 300: 1 2 comm:[app] thread_comm:[main] pid:[1] tid:[10]",
        "4 400: 1 2 comm:[app] pid:[1] tid:[11]",
        "1: 0x7010 M=1 inner() /src/a.h:3 s=0(_Z5innerv)",
        "outer(int) /src/a.cc:12 s=0(_Z5outeri)",
        "2: 0x704f M=1 main /src/main.c:30",
        f"1: 0x7000/0x9000/0x1000 /opt/lib/a.so {'ab' * 20} [FN][FL][LN][IN]",
    ):
        assert part in said


def profile_of_program() -> Profile:
    """Samples of the kernel, a library, a shell and, most, a program."""
    builder = ProfileBuilder()
    for path, samples in (
        ("[kernel.kallsyms]", 9),
        ("/lib/libc.so.6", 9),
        ("/bin/sh", 1),
        ("/opt/app", 5),
    ):
        mapping = builder.mapping(Mapping(0, 0x1000, path=path))
        stack = builder.stack([builder.location(0x10, mapping)])
        for _ in range(samples):
            builder.sample(stack)
    return builder.profile


def test_the_mapping_of_the_program_comes_first() -> None:
    found = pprof.decode(gzip.decompress(pprof_file(profile_of_program())))
    texts = found.string_table
    paths = {each.id: texts[each.filename].decode() for each in found.mapping}
    assert next(iter(paths.values())) == "/opt/app"
    assert [paths[each.mapping_id] for each in found.location] == [
        "[kernel.kallsyms]",
        "/lib/libc.so.6",
        "/bin/sh",
        "/opt/app",
    ]
