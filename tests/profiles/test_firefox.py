"""Files for the Firefox Profiler: their tables, and what those hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from gsym.profiles.firefox import default_value, firefox_profile
from gsym.profiles.model import Profile, ValueType
from gsym.profiles.perf_script import profile_of_lines
from tests.profiles.profiles import MODULE, profiles, small_profile

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.no_engine

# Columns that hold indexes, and the table that they are of.
INDEXES = {
    ("stackTable", "prefix"): "stackTable",
    ("stackTable", "frame"): "frameTable",
    ("frameTable", "func"): "funcTable",
    ("funcTable", "resource"): "resourceTable",
    ("samples", "stack"): "stackTable",
}
STRINGS = [("funcTable", "name"), ("funcTable", "fileName"), ("resourceTable", "name")]


def names_of(thread: dict[str, Any], sample: int) -> list[str]:
    """The functions of a sample, innermost first."""
    stacks, frames, functions = (
        thread[name] for name in ("stackTable", "frameTable", "funcTable")
    )
    found = []
    stack = thread["samples"]["stack"][sample]
    while stack is not None:
        function = frames["func"][stacks["frame"][stack]]
        found.append(thread["stringArray"][functions["name"][function]])
        stack = stacks["prefix"][stack]
    return found


def column_lengths(thread: dict[str, Any]) -> Iterator[tuple[int, int]]:
    for each in thread.values():
        if isinstance(each, dict) and "length" in each:
            for column in each.values():
                if isinstance(column, list):
                    yield len(column), each["length"]


def test_each_thread_has_its_samples_in_the_order_of_time() -> None:
    first, second = firefox_profile(small_profile())["threads"]
    assert (first["name"], first["pid"], first["tid"]) == ("main", "1", "10")
    assert first["samples"]["time"] == [0.001, 0.002, 0.003]
    assert first["samples"]["weight"] == [1, 1, 2]
    deep = ["inner()", "outer(int)", "main"]
    assert [names_of(first, number) for number in range(3)] == [
        ["0x1fff", "main"],
        deep,
        deep,
    ]
    assert names_of(second, 0) == deep


def test_frames_have_library_address_depth_and_line() -> None:
    file = firefox_profile(small_profile())
    (library,) = file["libs"]
    assert (library["name"], library["codeId"]) == ("a.so", MODULE.build_id)
    assert library["breakpadId"] == "ABABABABABABABABABABABABABABABAB0"
    frames = file["threads"][1]["frameTable"]
    rows = list(
        zip(frames["address"], frames["inlineDepth"], frames["line"], strict=True)
    )
    # The outermost call is in front of where it returns to.
    assert rows == [(0x104F, 0, 30), (0x1010, 0, 12), (0x1010, 1, 3)]


def test_samples_without_times_are_a_period_apart() -> None:
    profile = small_profile()
    profile.samples = [each._replace(time=None) for each in profile.samples]
    profile.period_type, profile.period = ValueType("cpu", "nanoseconds"), 2_500_000
    file = firefox_profile(profile)
    assert file["meta"]["interval"] == 2.5
    assert file["threads"][0]["samples"]["time"] == [0, 2.5, 5]


def test_the_interval_is_the_usual_time_between_samples() -> None:
    profile = small_profile()  # 1, 2 and 3 us; one sample of another thread
    assert firefox_profile(profile)["meta"]["interval"] == 0.001
    profile.period_type, profile.period = ValueType("cpu", "microseconds"), 250
    assert firefox_profile(profile)["meta"]["interval"] == 0.25


@pytest.mark.parametrize(
    ("value_type", "weight_type", "weights"),
    [
        (ValueType("samples", "count"), "samples", [50, 100, 200]),
        (ValueType("delay", "seconds"), "tracing-ms", [50e3, 100e3, 200e3]),
        (ValueType("inuse_space", "bytes"), "bytes", [50, 100, 200]),
    ],
)
def test_weights_have_the_unit_of_their_values(
    value_type: ValueType, weight_type: str, weights: list[float]
) -> None:
    profile = small_profile()
    profile.value_types = (profile.value_types[0], value_type)
    samples = firefox_profile(profile, 1)["threads"][0]["samples"]
    assert samples["weightType"] == weight_type
    assert samples["weight"] == pytest.approx(weights)


def test_the_default_value_has_a_unit() -> None:
    cycles, space = ValueType("cycles", "count"), ValueType("space", "bytes")
    samples = ValueType("samples", "count")
    assert default_value(Profile((cycles, samples, space))) == 1
    assert default_value(Profile((cycles, space, cycles))) == 1
    assert default_value(Profile((cycles, cycles))) == 1


@pytest.mark.parametrize("base", [0, 0x400000])
def test_addresses_are_relative_to_the_image_base(base: int) -> None:
    profile = small_profile()
    profile.mappings = [MODULE._replace(link_start=base + 0x1000)]
    frames = firefox_profile(profile)["threads"][0]["frameTable"]
    assert 0x1010 in frames["address"]


def test_addresses_of_the_kernel_are_those_that_javascript_keeps() -> None:
    start, offset = 0xFFFFFFFF81000000, 0x168A1A5
    mapping = (
        f"a 0 0.0: PERF_RECORD_MMAP -1/0: [{start:#x}(0x2000000) @ {start:#x}]:"
        " x [kernel.kallsyms]_text"
    )
    lines = [f"a 7 1.0: cycles:  {start + offset:x} copy+0x10 ([kernel.kallsyms])"]
    (found,) = firefox_profile(profile_of_lines([mapping, *lines]))["threads"]
    assert found["frameTable"]["address"] == [offset]
    assert found["nativeSymbols"]["address"] == [offset]
    # Without the place of the kernel there is a name alone.
    (found,) = firefox_profile(profile_of_lines(lines))["threads"]
    assert found["frameTable"]["address"] == [-1]
    assert names_of(found, 0) == ["copy"]


@given(profiles())
def test_any_profile_has_valid_indexes_and_weights(profile: Profile) -> None:
    file = json.loads(json.dumps(firefox_profile(profile)))
    for thread in file["threads"]:
        assert [
            (length, count)
            for length, count in column_lengths(thread)
            if length != count
        ] == []
        for (name, column), target in INDEXES.items():
            for index in thread[name][column]:
                assert index is None or -1 <= index < thread[target]["length"]
        for name, column in STRINGS:
            texts = len(thread["stringArray"])
            assert [
                i for i in thread[name][column] if i is not None and i >= texts
            ] == []
        for row, prefix in enumerate(thread["stackTable"]["prefix"]):
            assert prefix is None or prefix < row
    weights = [sum(thread["samples"]["weight"]) for thread in file["threads"]]
    assert sum(weights) == sum(sample.values[0] for sample in profile.samples)
