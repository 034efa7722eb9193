"""perf.data of Android's simpleperf has its symbols, events and exact callers."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from gsym.errors import FormatError
from gsym.profiles.opening import ProfileOptions
from gsym.profiles.perf_data import read_perf_data
from gsym.profiles.perf_features import FILE, FILE2, INIT_MAP, META_INFO, read_symbols
from tests.inputs import perf_data as p

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gsym.profiles.model import Profile

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

LITTLE = p.PerfFile()
KERNEL = 0xFFFFFFFF81000000
APP = "/data/app/lib.so"
SETTINGS = b"simpleperf_version\0001.build.7\0event_type_info\0"
EVENTS = b"raw-mem-access,4,19\ncpu-cycles,0,0\0"
STACK = (p.KERNEL_MARKER, KERNEL + 16, p.USER_MARKER, 0x401010, 0x401020, 0x501004)
RECORDS = b"".join(
    (
        LITTLE.mapping(-1, KERNEL, 0x1000000, "[kernel.kallsyms]", misc=p.KERNEL_MODE),
        LITTLE.mapping(7, 0x401000, 0x1000, APP, offset=0x2000),
        LITTLE.sample(9, STACK),
    )
)


def field(number: int, value: int | bytes) -> bytes:
    """A field of a protobuf message."""
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low]) if not rest else bytes([low | 0x80]) + varint(rest)


def message(path: str, kind: int, symbols: list[tuple[int, int, str]]) -> bytes:
    """A file and its symbols: least address 0x7000 at 0x2000 of an ELF file."""
    made = field(1, path.encode()) + field(2, kind) + field(3, 0x7000 * (kind == 2))
    for start, size, name in symbols:
        made += field(4, field(1, start) + field(2, size) + field(3, name.encode()))
    made += field(6, field(1, 0x2000)) if kind == 2 else b""
    return struct.pack("<I", len(made)) + made


def fields(path: str, kind: int, symbols: list[tuple[int, int, str]]) -> bytes:
    """The same as older versions write it."""
    made = (
        path.encode()
        + b"\0"
        + struct.pack("<IQI", kind, 0x7000 * (kind == 2), len(symbols))
    )
    for start, size, name in symbols:
        made += struct.pack("<QI", start, size) + name.encode() + b"\0"
    made += struct.pack("<Q", 0x2000) if kind == 2 else b""
    return struct.pack("<I", len(made)) + made


FILES = (
    ("[kernel.kallsyms]", 0, [(KERNEL, 32, "do_idle")]),
    (APP, 2, [(0x7018, 16, "_ZN3app4workEv"), (0x7000, 0x18, "leaf")]),
)


def read(folder: Path, data: bytes) -> Profile:
    path = folder / "perf.data"
    path.write_bytes(data)
    return read_perf_data(str(path), ProfileOptions())


def names(profile: Profile) -> list[str]:
    """The functions of the first stack; addresses of unknown ones."""
    return [frame.name for frame in profile.frames_of(profile.samples[0].stack)]


@pytest.mark.parametrize(("feature", "made"), [(FILE, fields), (FILE2, message)])
def test_symbols_in_the_file_are_names(
    tmp_path: Path, feature: int, made: Callable[..., bytes]
) -> None:
    symbols = b"".join(made(*each) for each in FILES)
    features = {META_INFO: SETTINGS + EVENTS, feature: symbols}
    profile = read(tmp_path, LITTLE.file(RECORDS, others=features))
    assert names(profile) == ["do_idle", "leaf", "app::work()", "0x501004"]
    assert not profile.losses


def test_callers_are_addresses_of_calls(tmp_path: Path) -> None:
    for settings, are_returns in ((SETTINGS + EVENTS, False), (b"", True)):
        made = LITTLE.file(RECORDS, others={META_INFO: settings})
        (*_, caller, _) = read(tmp_path, made).locations
        assert (caller.address, caller.is_return) == (0x401020, are_returns)


def test_events_have_the_names_of_the_settings(tmp_path: Path) -> None:
    kinds = ((0, 0), (4, 19), (4, 20))
    for (kind, config), name in zip(
        kinds, ("cpu-cycles", "raw-mem-access", "event-0x14"), strict=True
    ):
        made = LITTLE.file(
            RECORDS, (p.Event(kind, config),), others={META_INFO: SETTINGS + EVENTS}
        )
        assert read(tmp_path, made).value_types[1].type == name
    many = SETTINGS + f"cpu-cycles,0,{5000 * '1'}\0".encode()
    made = LITTLE.file(RECORDS, (p.Event(0, 0),), others={META_INFO: many})
    assert read(tmp_path, made).value_types[1].type == "cycles"


def test_numbers_of_events_may_come_in_a_record(tmp_path: Path) -> None:
    kind = p.IDENTIFIER | p.IP | p.TID
    sample = LITTLE.record(p.SAMPLE, LITTLE.pack("QQii", 31, 0x401000, 7, 7))
    numbers = LITTLE.record(32774, LITTLE.pack("5Q", 2, 0, 30, 1, 31), misc=0)
    events = (p.Event(1, 1, kind), p.Event(1, 2, kind))
    profile = read(tmp_path, LITTLE.file(numbers + sample, events))
    assert profile.samples[0].labels == ()
    assert profile.value_types[1].type == "page-faults"


def test_sizes_of_its_own_records_have_32_bits(tmp_path: Path) -> None:
    body = bytes(0x12340)
    size = 8 + len(body)
    large = LITTLE.pack("IHH", 32769, size >> 16, size & 0xFFFF) + body
    profile = read(tmp_path, LITTLE.file(large + RECORDS))
    assert len(profile.samples) == 1
    assert not profile.losses


def test_memory_from_before_the_recording_is_in_a_feature(tmp_path: Path) -> None:
    mapping = LITTLE.mapping(7, 0x401000, 0x1000, APP, offset=0x2000, time=0)
    sample = LITTLE.sample(9, (p.USER_MARKER, 0x401010))
    features = {META_INFO: SETTINGS + EVENTS, INIT_MAP: mapping}
    profile = read(tmp_path, LITTLE.file(sample, others=features))
    assert [each.path for each in profile.mappings] == [APP]
    assert profile.locations[0].mapping == 0


@pytest.mark.parametrize(("registers", "lost"), [(0, 0), (2, 1)])
def test_only_stacks_that_are_not_unwound_are_lost(
    tmp_path: Path, registers: int, lost: int
) -> None:
    event = p.Event(sample_type=p.SAMPLE_TYPE | p.STACK_USER)
    sample = LITTLE.sample(9, (p.USER_MARKER, 0x401010))
    rest = LITTLE.pack("QQ", registers, 0)
    sample = LITTLE.record(p.SAMPLE, sample[8:] + rest)
    made = LITTLE.file(sample, (event,), others={META_INFO: SETTINGS + EVENTS})
    assert sum(read(tmp_path, made).losses.values()) == lost


@pytest.mark.parametrize("feature", [FILE, FILE2])
def test_damaged_symbols_are_refused(feature: int) -> None:
    make = message if feature == FILE2 else fields
    sound = make(*FILES[1])
    assert read_symbols(sound, feature, "<")[APP].find(0x401000, 0x401000, 0x2000)
    for size in range(1, len(sound)):
        with pytest.raises(FormatError):
            read_symbols(sound[:size], feature, "<")
