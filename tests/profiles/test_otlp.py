"""Profiles of OpenTelemetry -> profile."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from gsym.errors import FormatError, UnsupportedError
from gsym.profiles import otlp as otlp_profiles
from gsym.profiles.model import (
    MOST_FRAMES,
    Frame,
    Location,
    Mapping,
    Thread,
    ValueType,
)
from gsym.profiles.opening import read_profile
from gsym.profiles.otlp import profile_of
from gsym.profiles.recognition import profile_kind
from gsym.profiles.symbolizing import symbolize
from tests.profiles.otlp_messages import (
    FILE_ID,
    LOADED,
    NUMBER,
    first_profile,
    message,
)
from tests.profiles.symbols import BASE, BUILD_ID, Modules
from tests.profiles.test_round_trips import sums_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.no_engine

LAYOUTS = ("1.10", "1.9")


def written(folder: Path, made: Any) -> Path:
    path = folder / "profiles.pb"
    path.write_bytes(made.SerializeToString())
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_parts_are_converted(tmp_path: Path, layout: str) -> None:
    profile = read_profile(written(tmp_path, message(layout)))
    start = BASE + 0x1000
    assert profile.value_types == (ValueType("samples", "count"),)
    assert profile.mappings == [
        Mapping(start, start + 0x1000, start, 0x1000, "/opt/module", BUILD_ID),
        Mapping(LOADED, LOADED + 0x1000, None, 0, "/opt/other", FILE_ID),
    ]
    assert profile.locations == [
        Location(BASE + 0x1014, 0),
        Location(LOADED + 0x10, 1),
        Location(7, None, frames=(Frame("run", "", "main.py", 7),)),
    ]
    assert profile.stacks == [(0, 1), (2, 0)]
    assert profile.threads == [Thread(5, 8, "", "pool")]
    found = [
        (each.stack, each.thread, each.time, each.values, each.labels)
        for each in profile.samples
    ]
    host = ("host", 1, "")
    assert found == [
        (0, 0, 1_000_010, (1,), (host, ("request", 0, "bytes"))),
        (0, 0, 1_000_020, (2,), (host, ("request", 0, "bytes"))),
        (1, 0, None, (7,), (host, ("trace_id", "0102", ""), ("span_id", "03", ""))),
    ]
    assert (profile.start_time, profile.duration) == (1_000_000, 50)
    assert profile.period == 10
    assert profile.period_type == ValueType("cpu", "nanoseconds")
    assert not profile.losses


def test_link_time_addresses_are_looked_up_unchanged(tmp_path: Path) -> None:
    profile = profile_of([message()])
    symbolize(profile, Modules(tmp_path))
    assert [frame.name for frame in profile.locations[0].frames] == [
        "inner()",
        "outer(int)",
    ]


def test_several_value_types_are_columns() -> None:
    made = message()
    second = (
        made.resource_profiles[0]
        .scope_profiles[0]
        .profiles.add(time_unix_nano=900, duration_nano=70)
    )
    second.sample_type.type_strindex = NUMBER("cpu")
    second.samples.add(stack_index=1, values=[3, 4])
    profile = profile_of([made])
    assert profile.value_types == (ValueType("samples", "count"), ValueType("cpu", ""))
    assert [each.values for each in profile.samples] == [(1, 0), (2, 0), (7, 0), (0, 7)]
    assert (profile.start_time, profile.duration) == (900, 70)


def test_the_number_of_value_types_is_limited() -> None:
    made = message()
    scope = made.resource_profiles[0].scope_profiles[0]
    for number in range(31):
        made.dictionary.string_table.append(str(number).encode())
        added = scope.profiles.add()
        added.sample_type.type_strindex = len(made.dictionary.string_table) - 1
    assert len(profile_of([made]).value_types) == 32
    scope.profiles.add()
    with pytest.raises(FormatError, match="more than 32 types of values"):
        profile_of([made])


@pytest.mark.parametrize(
    ("values", "times", "points"),
    [
        ([], [5, 6], [(1, 5), (1, 6)]),
        ([1], [5, 6], [(1, 5), (1, 6)]),
        ([4, 5], [5, 6], [(4, 5), (5, 6)]),
        ([4, 5], [], [(9, None)]),
        ([4], [5, 6], [(4, None)]),
    ],
)
def test_a_sample_may_have_several_times(
    values: list[int], times: list[int], points: list[tuple[int, int | None]]
) -> None:
    made = message()
    samples = first_profile(made).samples
    del samples[:]
    samples.add(stack_index=1, values=values, timestamps_unix_nano=times)
    profile = profile_of([made])
    assert [(each.values[0], each.time) for each in profile.samples] == points


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("string_value", b"a\xff", "a\ufffd"),
        ("int_value", -3, -3),
        ("bool_value", True, "true"),
        ("double_value", 1.5, "1.5"),
        ("bytes_value", b"\x01\xff", "01ff"),
    ],
)
def test_attributes_are_labels(kind: str, value: object, expected: str | int) -> None:
    made = message()
    host = made.resource_profiles[0].resource.attributes[1].value
    del host.int_value[:]
    getattr(host, kind).append(value)
    labels = profile_of([made]).samples[0].labels
    assert labels[0] == ("host", expected, "")


def test_attributes_that_are_lists_are_counted() -> None:
    made = message()
    host = made.resource_profiles[0].resource.attributes[1].value
    del host.int_value[:]
    host.array_value.append(b"")
    profile = profile_of([made])
    assert profile.losses == {"attributes that are lists": 1}
    assert profile.samples[0].labels == (("request", 0, "bytes"),)


def test_an_older_layout_is_recognised_by_samples_without_times() -> None:
    made = message("1.9")
    profile = first_profile(made)
    del profile.samples[:]
    profile.samples.add(values=[5])
    found = profile_of([otlp_profiles.decode(made.SerializeToString())])
    assert found.samples[0].values == (5,)


def _before_stacks(made: Any) -> None:
    # A list of locations in the place of the time.
    made.resource_profiles[0].scope_profiles[0].profiles[0].Clear()
    first_profile(made).MergeFromString(b"\x1a\x02\x01\x02")


def _without_dictionary(made: Any) -> None:
    made.ClearField("dictionary")


@pytest.mark.parametrize("age", [_before_stacks, _without_dictionary])
def test_earlier_layouts_are_refused(
    tmp_path: Path, age: Callable[[Any], None]
) -> None:
    made = message()
    age(made)
    with pytest.raises(UnsupportedError, match="are not read"):
        read_profile(written(tmp_path, made))


def _stack(made: Any) -> None:
    first_profile(made).samples[0].stack_index = 3


def _location(made: Any) -> None:
    made.dictionary.stack_table[1].location_indices.append(-1)


def _attribute(made: Any) -> None:
    made.dictionary.mapping_table[1].attribute_indices.append(6)


def _text(made: Any) -> None:
    made.dictionary.attribute_table[4].value.string_value_strindex[0] = 99


def _first_text(made: Any) -> None:
    made.dictionary.string_table[0] = b"x"


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_stack, "stack index 3 out of range (table has 3)"),
        (_location, "location index -1 out of range (table has 4)"),
        (_attribute, "attribute index 6 out of range (table has 6)"),
        (_text, "text index 99 out of range (table has 16)"),
        (_first_text, "the first text of the string table is not empty"),
    ],
)
def test_an_invalid_reference_is_refused(
    tmp_path: Path, spoil: Callable[[Any], None], reason: str
) -> None:
    made = message()
    spoil(made)
    path = written(tmp_path, made)
    with pytest.raises(FormatError) as caught:
        read_profile(path)
    assert (caught.value.reason, caught.value.path) == (reason, str(path))


def test_the_depth_of_a_stack_is_limited() -> None:
    made = message()
    made.dictionary.stack_table[1].location_indices[:] = [1] * MOST_FRAMES
    assert len(profile_of([made]).stacks[0]) == MOST_FRAMES
    made.dictionary.stack_table[1].location_indices.append(1)
    with pytest.raises(FormatError, match="a stack has more than 65536 locations"):
        profile_of([made])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_truncated_message_is_read_or_refused(layout: str) -> None:
    whole = message(layout).SerializeToString()
    refused = 0
    for size in range(len(whole)):
        try:
            profile_of([otlp_profiles.decode(whole[:size])])
        except (FormatError, UnsupportedError):  # noqa: PERF203
            refused += 1
    assert refused > len(whole) // 2


@given(st.data())
def test_a_corrupted_message_is_read_or_refused(data: st.DataObject) -> None:
    whole = bytearray(message().SerializeToString())
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    with suppress(FormatError, UnsupportedError):
        profile_of([otlp_profiles.decode(bytes(whole))])


def test_messages_may_follow_their_sizes(tmp_path: Path) -> None:
    data = message().SerializeToString()
    sized = len(data).to_bytes(4, "big") + data
    path = written(tmp_path, message())
    one = read_profile(path)
    path.write_bytes(sized + sized)
    assert profile_kind(path) == "otlp"
    both = read_profile(path)
    assert len(both.samples) == 2 * len(one.samples)
    assert sums_of(both) == {names: 2 * count for names, count in sums_of(one).items()}
    path.write_bytes(sized + sized[:-1])
    with pytest.raises(FormatError, match="a message of") as caught:
        read_profile(path)
    assert caught.value.offset == len(sized)


def test_messages_may_be_lines_of_json(tmp_path: Path) -> None:
    made: dict[str, Any] = {
        "resourceProfiles": [
            {
                "scopeProfiles": [
                    {
                        "profiles": [
                            {
                                "sampleType": {"typeStrindex": 3, "unitStrindex": 4},
                                "samples": [
                                    {
                                        "stackIndex": 1,
                                        "attributeIndices": [1, 2],
                                        "linkIndex": 1,
                                        "values": ["7"],
                                        "timestampsUnixNano": ["1700000000000000001"],
                                    }
                                ],
                            }
                        ]
                    }
                ]
            }
        ],
        "dictionary": {
            "mappingTable": [{}, {"memoryStart": "4096", "filenameStrindex": 1}],
            "locationTable": [{}, {"mappingIndex": 1, "address": "4565"}],
            "linkTable": [{}, {"traceId": "ab" * 16, "spanId": "cd" * 8}],
            "stringTable": [
                "",
                "/app",
                "thread.name",
                "samples",
                "count",
                "process.pid",
            ],
            "attributeTable": [
                {},
                {"keyStrindex": 2, "value": {"stringValue": "worker"}},
                {"keyStrindex": 5, "value": {"intValue": "42"}},
            ],
            "stackTable": [{}, {"locationIndices": [1]}],
        },
    }
    path = tmp_path / "profiles.json"
    line = json.dumps(made)
    path.write_text(f"{line}\n{line}\n")
    assert profile_kind(path) == "otlp"
    profile = read_profile(path)
    assert profile.threads == [Thread(42, None, "", "worker")]
    assert [each.values for each in profile.samples] == [(7,), (7,)]
    assert profile.samples[0].time == 1_700_000_000_000_000_001
    assert dict(each[:2] for each in profile.samples[0].labels)["span_id"] == "cd" * 8
    assert profile.mappings[0].path == "/app"
    made["resourceProfiles"] = [7]
    path.write_text(json.dumps(made))
    with pytest.raises(FormatError, match=r"resourceProfiles\[0\]: not an object"):
        read_profile(path)
    path.write_text(line[:-1])
    with pytest.raises(FormatError, match="not JSON"):
        read_profile(path)


def test_threads_with_a_name_and_no_number_stay_apart() -> None:
    made = message()
    dictionary = made.dictionary
    key = len(dictionary.string_table)
    dictionary.string_table.extend([b"thread.name"])
    (profile,) = made.resource_profiles[0].scope_profiles[0].profiles
    del profile.samples[1:]
    for name in (b"worker", b"gc"):
        index = len(dictionary.attribute_table)
        attribute = dictionary.attribute_table.add(key_strindex=key)
        attribute.value.string_value.append(name)
        profile.samples.add(stack_index=1, attribute_indices=[index], values=[1])
    found = {(each.thread, each.thread_name) for each in profile_of([made]).threads}
    assert {(None, "worker"), (None, "gc")} <= found
