"""Profiler records of a trace become samples in modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gsym.fxt.records import (
    Backtrace,
    KernelObject,
    Mmap,
    Module,
)
from gsym.profiles.fxt_input import read_fxt_samples
from gsym.profiles.model import Location, Mapping, Thread
from gsym.profiles.symbolizing import symbolize
from tests.profiles.symbols import BASE, BUILD_ID, Modules

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gsym.fxt.records import Record

pytestmark = pytest.mark.no_engine

ID = bytes.fromhex(BUILD_ID)
LOADED = 0x7F0000001000
SAMPLE = Backtrace(5, 100, 101, (LOADED + 0x10, LOADED + 0x50), ns=50)
MODULE = Module(5, 100, 0, 3, "libmodule.so", ID)
MMAP = Mmap(5, 100, 0, 3, 5, LOADED, 0x1000, BASE + 0x1000)
HEADERS = Mmap(5, 100, 0, 3, 4, LOADED - 0x1000, 0x1000, BASE)
NAMES = [
    KernelObject(100, 1, "app"),
    KernelObject(101, 2, "ma"),
    KernelObject(101, 2, "main"),
    KernelObject(101, 2, "m"),
    KernelObject(7, 3, "a channel"),
]


def test_modules_may_follow_the_samples(tmp_path: Path) -> None:
    profile = read_fxt_samples([SAMPLE, *NAMES, HEADERS, MMAP, MODULE])
    assert profile.threads == [Thread(100, 101, "app", "main")]
    mapping = Mapping(
        LOADED, LOADED + 0x1000, BASE + 0x1000, 0x1000, "libmodule.so", BUILD_ID
    )
    assert profile.mappings[1] == mapping
    assert profile.locations == [
        Location(LOADED + 0x10, 1),
        Location(LOADED + 0x50, 1, is_return=True),
    ]
    (sample,) = profile.samples
    assert (sample.time, sample.thread, sample.values) == (50, 0, (1,))
    symbolize(profile, Modules(tmp_path))
    names = [frame.name for frame in profile.frames_of(sample.stack)]
    assert names == ["inner()", "outer(int)", "next()"]


def test_each_process_has_its_own_modules() -> None:
    other: list[Record] = [
        SAMPLE._replace(process=200),
        MODULE._replace(process=200, build_id=b"\1" * 20),
        MMAP._replace(process=200),
    ]
    profile = read_fxt_samples([SAMPLE, MODULE, MMAP, *other])
    ids = [
        profile.mappings[location.mapping].build_id
        for location in profile.locations
        if location.mapping is not None
    ]
    assert ids == [BUILD_ID, BUILD_ID, "01" * 20, "01" * 20]


@pytest.mark.parametrize(
    ("offset", "is_covered"), [(-1, False), (0, True), (0xFFF, True), (0x1000, False)]
)
def test_only_mapped_addresses_have_a_module(offset: int, *, is_covered: bool) -> None:
    sample = SAMPLE._replace(frames=(LOADED + offset,))
    profile = read_fxt_samples([MODULE, MMAP, sample])
    assert (profile.locations[0].mapping is not None) == is_covered


def test_unusable_records_are_counted() -> None:
    second = MODULE._replace(build_id=b"\2" * 20)
    profile = read_fxt_samples(
        [MODULE, MODULE, second, MMAP._replace(module_id=9), MMAP, SAMPLE]
    )
    assert profile.losses == {
        "modules with the number of another at that time": 1,
        "mappings of a module that is not named": 1,
    }
    assert profile.mappings[0].build_id == "02" * 20


@pytest.mark.parametrize(
    ("build_id", "text"),
    [
        (BUILD_ID.upper().encode(), BUILD_ID),
        (b"ab" * 8, "6162" * 8),
        (b"", ""),
    ],
)
def test_a_build_id_may_be_written_as_digits(build_id: bytes, text: str) -> None:
    profile = read_fxt_samples([MODULE._replace(build_id=build_id), MMAP])
    assert profile.mappings[0].build_id == text


OTHER = MODULE._replace(name="other.so", build_id=b"\1" * 20)


def modules_of(records: Sequence[Record]) -> list[str]:
    """The name of the module of the innermost frame of each sample; "" without one."""
    profile = read_fxt_samples(records)
    innermost = (
        profile.locations[profile.stacks[sample.stack][0]].mapping
        for sample in profile.samples
    )
    return ["" if at is None else profile.mappings[at].path for at in innermost]


def of_provider(provider: int, *records: Record) -> list[Record]:
    return [record._replace(provider=provider) for record in records]


def test_modules_of_another_provider_are_not_used() -> None:
    names = [KernelObject(100, 1, "other app")]
    records = [
        *of_provider(1, MODULE, MMAP, SAMPLE, *NAMES),
        *of_provider(2, OTHER, MMAP, SAMPLE, *names),
    ]
    assert modules_of(records) == ["libmodule.so", "other.so"]
    threads = read_fxt_samples(records).threads
    assert [each.process_name for each in threads] == ["app", "other app"]
    records = [*of_provider(1, MODULE, MMAP), *of_provider(2, SAMPLE)]
    assert modules_of(records) == [""]
    kind = "samples in processes of other providers"
    assert read_fxt_samples(records).losses == {kind: 1}


def test_a_module_before_any_provider_is_the_default() -> None:
    records = [
        *(MODULE, MMAP),
        *of_provider(1, SAMPLE),
        *of_provider(2, OTHER, MMAP, SAMPLE),
    ]
    assert modules_of(records) == ["libmodule.so", "other.so"]


def test_a_mapping_does_not_apply_to_earlier_samples() -> None:
    module, mapping = OTHER._replace(module_id=4), MMAP._replace(module_id=4)
    records = [
        *(
            each._replace(ns=20) for each in (module, mapping)
        ),  # the file is not in order of time
        *(SAMPLE._replace(ns=ns) for ns in (25, 10, 19, 20)),
        *(each._replace(ns=10) for each in (MODULE, MMAP)),
    ]
    expected = ["other.so", "libmodule.so", "libmodule.so", "other.so"]
    assert modules_of(records) == expected
    assert read_fxt_samples(records).losses == {}


def test_a_reused_module_id_names_the_module_of_its_time() -> None:
    lower = MMAP._replace(start_address=LOADED - 0x1000)
    records = [
        SAMPLE._replace(ns=30, frames=(LOADED - 1,)),
        SAMPLE._replace(ns=30),
        *(each._replace(ns=20) for each in (OTHER, lower)),
        *(each._replace(ns=10) for each in (MODULE, MMAP)),
    ]
    assert modules_of(records) == ["other.so", "libmodule.so"]


def test_samples_before_all_mappings_use_the_first() -> None:
    records = [
        SAMPLE._replace(ns=5, frames=(LOADED,)),
        *(each._replace(ns=20) for each in (OTHER, MMAP)),
        *(each._replace(ns=10) for each in (MODULE, MMAP)),
    ]
    assert modules_of(records) == ["libmodule.so"]
    kind = "mappings that are later than samples in them"
    assert read_fxt_samples(records).losses == {kind: 1}
