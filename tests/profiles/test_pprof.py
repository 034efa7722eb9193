"""pprof -> profile: what is taken over, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gsym.errors import FormatError, UnsupportedError
from gsym.profiles import pprof
from gsym.profiles.model import (
    MOST_FRAMES,
    Frame,
    Location,
    Mapping,
    ProfileBuilder,
    Sample,
    Thread,
    ValueType,
)
from gsym.profiles.opening import ProfileOptions, read_profile
from gsym.profiles.pprof import decode, pprof_file, profile_of, read_pprof
from gsym.profiles.protobuf import message_types
from tests.profiles.pprof_messages import START, message
from tests.profiles.symbols import BUILD_ID

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.no_engine

GOLDEN = Path(__file__).parents[1] / "golden" / "profiles"


def written(folder: Path, data: bytes) -> Path:
    path = folder / "profile.pb"
    path.write_bytes(data)
    return path


def test_all_parts_of_a_message_are_converted() -> None:
    profile = profile_of(message())
    known = Frame("known", "", "/src/known.c", 9)
    assert profile.value_types == (
        ValueType("samples", "count"),
        ValueType("cpu", "nanoseconds"),
    )
    assert profile.mappings == [
        Mapping(START, START + 0x1000, None, 0x1000, "/opt/module", BUILD_ID)
    ]
    assert profile.locations == [
        Location(START + 0x30, 0, frames=(known,)),
        Location(START + 0x14, 0),
        Location(START + 0x1F, 0),
        Location(START + 0x44, 0),
    ]
    assert profile.stacks == [(0, 2, 1), (1, 2)]
    assert profile.samples == [
        Sample(0, None, None, (1, 10), (("request", "GET", ""),)),
        Sample(1, None, None, (2, 20), (("bytes", -5, "bytes"),)),
        Sample(0, None, None, (3, 30)),
    ]
    assert profile.period_type == ValueType("cpu", "nanoseconds")
    assert (profile.period, profile.duration) == (10, 5_000)
    assert profile.start_time == 1_700_000_000_000_000_000
    assert profile.comments == ["a comment"]
    assert profile.losses == {
        "columns of lines": 1,
        "drop_frames": 1,
        "lines at which functions start": 1,
    }


def test_labels_of_perf_to_profile_give_thread_and_time() -> None:
    made = message()
    names = [b"pid", b"tid", b"comm", b"thread_comm", b"timestamp_ns", b"app", b"pool"]
    first = len(made.string_table)
    made.string_table.extend(names)
    pid, tid, comm, thread_comm, time, app, pool = range(first, first + len(names))
    label = made.sample[0].label
    label.add(key=pid, num=12)
    label.add(key=tid, num=-1)
    label.add(key=comm, str=app)
    label.add(key=thread_comm, str=pool)
    label.add(key=time, num=99)
    profile = profile_of(made)
    assert profile.threads == [Thread(12, (1 << 64) - 1, "app", "pool")]
    assert profile.samples[0] == Sample(0, 0, 99, (1, 10), (("request", "GET", ""),))


def test_callers_are_return_addresses_on_request() -> None:
    assert [each for each in profile_of(message()).locations if each.is_return] == []
    profile = profile_of(message(), return_addresses=True)
    # The second was the innermost of a sample; the last is in none.
    assert [each.is_return for each in profile.locations] == [False, False, True, True]


def test_a_profile_of_go_is_read() -> None:
    profile = read_profile(GOLDEN / "go-cpu.pb.gz")
    stacks = {
        tuple(frame.name for frame in profile.frames_of(sample.stack)): sample.values
        for sample in profile.samples
    }
    main = ("main.inlined", "main.middle", "main.main", "runtime.main")
    assert stacks[("main.leaf", *main)] == (1, 10_000_000)
    assert profile.mappings[0].path == "/opt/example/app"
    assert profile.period == 10_000_000


def test_an_invalid_build_id_is_dropped_and_counted() -> None:
    made = message()
    made.string_table[6] = b"go:abc"
    profile = profile_of(made)
    assert profile.mappings[0].build_id == ""
    assert profile.losses["build ids of no known form"] == 1


def _twice(made: Any) -> None:
    made.location.add(id=5)


def _no_id(made: Any) -> None:
    made.function.add(name=1)


def _mapping(made: Any) -> None:
    made.location[0].mapping_id = 8


def _function(made: Any) -> None:
    made.location[0].line[0].function_id = 1 << 63


def _location(made: Any) -> None:
    made.sample[1].location_id.append(77)


def _text(made: Any) -> None:
    made.mapping[0].filename = len(made.string_table)


def _negative_text(made: Any) -> None:
    made.comment.append(-1)


def _values(made: Any) -> None:
    made.sample[2].value.append(4)


def _types(made: Any) -> None:
    del made.sample_type[:]


def _first_text(made: Any) -> None:
    made.string_table[0] = b"x"


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_twice, "location 4 has id 5, which is not unique"),
        (_no_id, "function 1 has id 0, which is not valid"),
        (_mapping, "a location has unknown mapping 8"),
        (_function, f"a location has unknown function {1 << 63}"),
        (_location, "a sample has unknown location 77"),
        (_text, "text index 14 out of range (table has 14)"),
        (_negative_text, "text index -1 out of range (table has 14)"),
        (_values, "a sample has 3 values, not 2"),
        (_types, "the profile declares no sample type"),
        (_first_text, "the first text of the string table is not empty"),
    ],
)
def test_an_invalid_reference_is_refused(
    tmp_path: Path, spoil: Callable[[Any], None], reason: str
) -> None:
    made = message()
    spoil(made)
    path = written(tmp_path, made.SerializeToString())
    with pytest.raises(FormatError) as caught:
        read_profile(path)
    assert (caught.value.reason, caught.value.path) == (reason, str(path))


def test_a_truncated_message_is_read_or_refused() -> None:
    whole = message().SerializeToString()
    offsets = []
    for size in range(1, len(whole)):
        try:
            profile_of(pprof.decode(whole[:size]))
        except FormatError as error:  # noqa: PERF203
            offsets.append((error.offset or 0, size))
    assert len(offsets) > len(whole) // 2
    assert [(offset, size) for offset, size in offsets if offset >= size] == []


@pytest.mark.parametrize(
    ("data", "offset", "reason"),
    [
        (b"\x0a\x02\x08\x01\x12\x05\x0a", 4, "protobuf field 2 reaches past the end"),
        (b"\x0a\x00\x32", 2, "a number of a protobuf field is truncated"),
        (b"\x50" + b"\xff" * 10, 0, "a number of a protobuf field is truncated"),
        (b"\x0a\x00\x03", 2, "invalid protobuf field number 0"),
        (b"\x0a\x00\x0b", 2, "protobuf field 1 has wire type 3"),
        (b"\x0a\x00\x12\x01\x0a", 2, "not a Profile message: a field is damaged"),
    ],
)
def test_a_truncated_field_is_reported_with_its_offset(
    tmp_path: Path, data: bytes, offset: int, reason: str
) -> None:
    with pytest.raises(FormatError) as caught:
        read_pprof(str(written(tmp_path, data)), ProfileOptions())
    assert (caught.value.reason, caught.value.offset) == (reason, offset)


def test_the_depth_of_a_stack_is_limited() -> None:
    made = message()
    del made.sample[1:]
    made.sample[0].location_id[:] = [9] * MOST_FRAMES
    assert len(profile_of(made).stacks[0]) == MOST_FRAMES
    made.sample[0].location_id.append(9)
    with pytest.raises(FormatError, match="a stack has more than 65536 locations"):
        profile_of(made)


def test_a_decompression_bomb_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(bytes(1 << 20)) * 100)
    with pytest.raises(FormatError, match="more than 8388608 bytes of data"):
        read_pprof(str(path), ProfileOptions(most_bytes=8 << 20))


@pytest.mark.parametrize("cut", [10, -1])
def test_a_damaged_gzip_file_is_refused(tmp_path: Path, cut: int) -> None:
    data = gzip.compress(message().SerializeToString())
    with pytest.raises(FormatError, match="compressed data is damaged"):
        read_profile(written(tmp_path, data[:cut]))


def test_without_protobuf_an_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "google.protobuf", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'gsym\[proto\]'"):
        message_types("none", "")


def test_a_profile_has_the_default_value_that_its_source_names() -> None:
    made = message()
    types = made.sample_type
    name = made.string_table[types[0].type]
    types.add(type=len(made.string_table), unit=0)
    made.string_table.append(b"other")
    for sample in made.sample:
        sample.value.append(1)
    made.default_sample_type = types[0].type
    profile = profile_of(made)
    assert profile.default_value == 0
    assert "default_sample_type" not in profile.losses
    again = profile_of(decode(gzip.decompress(pprof_file(profile))))
    assert again.default_value == 0
    assert again.value_types[0].type == name.decode()


def test_fractions_survive_a_file_of_pprof() -> None:
    builder = ProfileBuilder((ValueType("samples", "count", 1000),))
    builder.sample(builder.stack([builder.function(Frame("f"))]), (412,))
    again = profile_of(decode(gzip.decompress(pprof_file(builder.profile))))
    assert again.value_types == (ValueType("samples", "count", 1000),)
    assert again.samples[0].values == (412,)


def test_threads_with_a_name_and_no_number_stay_apart_in_pprof() -> None:
    builder = ProfileBuilder()
    stack = builder.stack([builder.function(Frame("f"))])
    threads = [
        Thread(7, None, "", "worker"),
        Thread(7, None, "", "gc"),
        Thread(8, 8, "sh", ""),
        Thread(8, 8, "app", ""),
    ]
    for thread in threads:
        builder.sample(stack, (1,), thread=builder.thread(thread))
    again = profile_of(decode(gzip.decompress(pprof_file(builder.profile))))
    assert again.threads == threads


def test_marks_of_folded_functions_are_counted() -> None:
    made = message()
    made.location[0].is_folded = True
    kind = "marks of locations that several functions share"
    assert profile_of(made).losses[kind] == 1
