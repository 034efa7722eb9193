"""perf.data is read as perf itself reads it."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

from gsym.errors import ErrorsOf, FormatError
from gsym.profiles import perf_data
from gsym.profiles.model import SAMPLES, Thread, ValueType
from gsym.profiles.opening import ProfileOptions, read_profile
from gsym.profiles.perf_data import read_perf_data
from tests.inputs import perf_data as p

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Literal

    from gsym.profiles.model import Profile

pytestmark = pytest.mark.long

ID = bytes(range(1, 21))
KERNEL = 0xFFFFFFFF81000000
LITTLE = p.PerfFile()
MAPPING = LITTLE.mapping(7, 0x400000, 0x1000, "/opt/app", offset=0x1000)
SAMPLE = LITTLE.sample(10, (p.USER_MARKER, 0x400010))
both_orders = pytest.mark.parametrize("byteorder", ["little", "big"])


def read(folder: Path, data: bytes) -> Profile:
    path = folder / "perf.data"
    path.write_bytes(data)
    with ErrorsOf(str(path)):
        return read_perf_data(str(path), ProfileOptions())


def stacks(profile: Profile) -> list[list[tuple[int, str, bool]]]:
    """Address, module and kind of address of each frame of each sample."""
    found = []
    for sample in profile.samples:
        stack = []
        for index in profile.stacks[sample.stack]:
            location = profile.locations[index]
            number = location.mapping
            path = "" if number is None else profile.mappings[number].path
            stack.append((location.address, path, location.is_return))
        found.append(stack)
    return found


@both_orders
def test_a_file_is_read_in_either_byte_order(
    tmp_path: Path, byteorder: Literal["little", "big"]
) -> None:
    profile = read(tmp_path, p.small_file(byteorder))
    frames = [(0x400010, "/opt/app", False), (0x400020, "/opt/app", True)]
    assert stacks(profile) == [frames]
    (sample,) = profile.samples
    assert (sample.time, sample.values) == (1000, (1, 5))
    assert profile.threads == [Thread(7, 7, "app", "app")]
    assert profile.value_types == (SAMPLES, ValueType("cpu-clock", "nanoseconds"))
    (mapping,) = profile.mappings
    assert mapping[:4] == (0x400000, 0x401000, None, 0x1000)
    assert not profile.losses


@both_orders
def test_what_is_written_to_a_pipe_is_read(
    tmp_path: Path, byteorder: Literal["little", "big"]
) -> None:
    perf = p.PerfFile(byteorder)
    kind = p.IDENTIFIER | p.IP | p.TID
    events = (p.Event(1, 1, kind, ids=(5,)), p.Event(1, 2, kind, ids=(6,)))
    named = (p.Event(name="first"), p.Event(name="other"))
    update = perf.pack("QQ", 2, 6) + b"second\0\0"
    records = (
        perf.record(p.FEATURE, perf.pack("Q", 12) + perf.names(named)),
        perf.record(p.EVENT_UPDATE, update),
        perf.build_id("/opt/app", ID),
        perf.mapping(7, 0x400000, 0x1000, "/opt/app"),
        *(
            perf.record(p.SAMPLE, perf.pack("QQii", number, 0x400001, 7, 8))
            for number in (6, 5, 6)
        ),
    )
    profile = read(tmp_path, perf.pipe(b"".join(records), events))
    labels = [dict(label[:2] for label in each.labels) for each in profile.samples]
    assert [each["event"] for each in labels] == ["second", "first", "second"]
    assert profile.mappings[0].build_id == ID.hex()
    assert profile.threads == [Thread(7, 8, "", ":8")]
    assert [each.type for each in profile.value_types[1:]] == ["second", "first"]


def test_all_fields_before_the_stack_are_skipped(tmp_path: Path) -> None:
    fixed = p.IDENTIFIER | p.IP | p.TID | p.TIME | p.ADDR | p.ID | p.STREAM_ID
    kind = fixed | p.CPU | p.PERIOD | p.READ | p.CALLCHAIN | p.RAW | p.STACK_USER
    for form, values in ((0x1F, (2, 9, 9, *range(6))), (0x17, (1, 9, 9, 4, 0))):
        event = p.Event(0, 1, kind, form, (3,), "instructions:u")
        body = LITTLE.pack("QQiiQQQQiiQ", 3, 1, 7, 7, 44, 0, 3, 0, 2, 0, 6)
        body += LITTLE.pack(f"{len(values)}Q", *values)
        sample = LITTLE.record(p.SAMPLE, body + LITTLE.chain((1, 2)) + b"raw")
        profile = read(tmp_path, LITTLE.file(sample, (event,)))
        assert stacks(profile) == [[(1, "", False), (2, "", True)]]
        assert profile.samples[0].labels == (("cpu", 2, ""),)
        assert profile.samples[0].time == 44
        assert profile.value_types[1] == ValueType("instructions", "count")
        assert sum(profile.losses.values()) == 1


def test_records_take_effect_in_the_order_of_their_times(tmp_path: Path) -> None:
    records = (
        LITTLE.sample(30, (0x400010,)),
        LITTLE.sample(10, (0x400010,)),
        LITTLE.mapping(7, 0x400000, 0x1000, "/opt/late", time=20),
        LITTLE.mapping(7, 0x400000, 0x1000, "/opt/early", time=5),
    )
    profile = read(tmp_path, LITTLE.file(b"".join(records)))
    assert [each.time for each in profile.samples] == [10, 30]
    assert [path for ((_, path, _),) in stacks(profile)] == ["/opt/early", "/opt/late"]


def test_processes_inherit_memory_and_names(
    tmp_path: Path,
) -> None:
    records = (
        LITTLE.command(7, "app"),
        MAPPING,
        LITTLE.fork(8, 7, 10),
        LITTLE.sample(11, (0x400010,), 8),
        LITTLE.mapping(8, 0x400000, 0x10, "/opt/own", time=12),
        LITTLE.sample(13, (0x400001,), 8),
        LITTLE.sample(13, (0x400001,), 7),
        LITTLE.command(8, "other", 14),
        LITTLE.sample(15, (0x400010,), 8),
        LITTLE.fork(9, 7, 16, misc=p.IS_EXEC),
        LITTLE.sample(17, (0x400010,), 9),
    )
    profile = read(tmp_path, LITTLE.file(b"".join(records)))
    paths = [path for ((_, path, _),) in stacks(profile)]
    assert paths == ["/opt/app", "/opt/own", "/opt/app", "/opt/app", ""]
    names = {each.thread: each.thread_name for each in profile.threads}
    assert names == {7: "app", 8: "other", 9: "app"}


def test_pages_that_were_let_go_of_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = range(20_000, 0, -1)
    records = MAPPING + b"".join(
        LITTLE.sample(time, (p.USER_MARKER, 0x400000 + time % 99)) for time in times
    )
    whole = read(tmp_path, LITTLE.file(records))
    monkeypatch.setattr(perf_data, "_DROPPED_SIZE", 5000)
    profile = read(tmp_path, LITTLE.file(records))
    assert stacks(profile) == stacks(whole)
    assert [sample.time for sample in profile.samples] == sorted(times)


def test_a_mapping_hides_what_is_known_of_its_process_alone(tmp_path: Path) -> None:
    chain = (p.USER_MARKER, 0x400010, 0x400020)
    records = (
        *(LITTLE.mapping(each, 0x400000, 0x1000, f"/opt/{each}") for each in (7, 8)),
        *(LITTLE.sample(10, chain, each) for each in (7, 8)),
        LITTLE.mapping(7, 0x400000, 0x1000, "/opt/new", time=11),
        *(LITTLE.sample(12, chain, each) for each in (7, 8)),
        LITTLE.sample(13, (p.KERNEL_MARKER, KERNEL + 4), 8),
        LITTLE.mapping(-1, KERNEL, 0x1000, "[kernel.kallsyms]_text", time=14),
        LITTLE.sample(15, (p.KERNEL_MARKER, KERNEL + 4), 8),
    )
    profile = read(tmp_path, LITTLE.file(b"".join(records)))
    *found, before, after = stacks(profile)
    paths = ["/opt/7", "/opt/8", "/opt/new", "/opt/8"]
    assert found == [
        [(0x400010, path, False), (0x400020, path, True)] for path in paths
    ]
    assert before == [(KERNEL + 4, "", False)]
    assert after == [(KERNEL + 4, "[kernel.kallsyms]", False)]


def test_addresses_are_known_after_many_more_were_read(tmp_path: Path) -> None:
    """A mapping of the kernel makes all be looked up again, where they are then."""
    few, many = range(0x400000, 0x400040), range(0x500000, 0x504000)
    records = (
        *(LITTLE.sample(10, (p.USER_MARKER, each)) for each in few),
        LITTLE.mapping(-1, KERNEL, 0x1000, "[kernel.kallsyms]_text", time=11),
        *(LITTLE.sample(12, (p.USER_MARKER, each)) for each in (*few, *many)),
    )
    profile = read(tmp_path, LITTLE.file(b"".join(records)))
    found = [stack[0][0] for stack in stacks(profile)]
    assert found == [*few, *few, *many]


@pytest.mark.parametrize("marker", [(), (p.USER_MARKER,)])
def test_high_addresses_among_those_of_user_space_are_of_the_kernel(
    tmp_path: Path, marker: tuple[int, ...]
) -> None:
    """As where code without frame pointers leaves anything in their register."""
    addresses = (0x400010, 0x400020, KERNEL, KERNEL + 1, 0x400030, 0x400030)
    records = MAPPING + LITTLE.sample(10, (*marker, *addresses))
    (found,) = stacks(read(tmp_path, LITTLE.file(records)))
    assert [address for address, _, _ in found] == [*addresses]
    assert [is_return for _, _, is_return in found] == [
        *(False, True, True, True),
        *(False, True),
    ]


def test_build_ids_come_from_the_file(tmp_path: Path) -> None:
    records = (
        LITTLE.mapping2(7, 0x400000, 0x1000, "/opt/app", build_id=ID),
        LITTLE.mapping2(7, 0x400000, 0x1000, "/opt/data", mode=3),
        LITTLE.mapping(7, 0x400000, 0x1000, "/opt/data", misc=p.IS_DATA),
        LITTLE.mapping(-1, KERNEL, 0x1000, "[kernel.kallsyms]_text", offset=KERNEL),
        LITTLE.mapping(-1, KERNEL + 0x1000, 0x1000, "/lib/a.ko"),
        LITTLE.sample(
            5,
            (
                *(p.KERNEL_MARKER, KERNEL + 1, KERNEL + 0x1001),
                *(p.USER_MARKER, 0x400001, 0x400001),
            ),
        ),
    )
    ids = LITTLE.build_id("[kernel.kallsyms]", ID[::-1])
    profile = read(tmp_path, LITTLE.file(b"".join(records), build_ids=ids))
    assert stacks(profile) == [
        [
            (KERNEL + 1, "[kernel.kallsyms]", False),
            (KERNEL + 0x1001, "/lib/a.ko", True),
            (0x400001, "/opt/app", False),
            (0x400001, "/opt/app", True),
        ]
    ]
    known = {each.path: each.build_id for each in profile.mappings}
    assert known["/opt/app"] == ID.hex()
    assert known["[kernel.kallsyms]"] == ID[::-1].hex()
    assert not known["/lib/a.ko"]


def test_compressed_records_are_one_stream(tmp_path: Path) -> None:
    made = zstd.ZstdCompressor()
    records = MAPPING + SAMPLE * 3
    parts = [made.compress(records[at : at + 70], made.FLUSH_BLOCK) for at in (0, 70)]
    parts.append(made.compress(records[140:], made.FLUSH_BLOCK))
    packed = b"".join(LITTLE.record(p.COMPRESSED, part) for part in parts)
    profile = read(tmp_path, LITTLE.file(SAMPLE + packed))
    assert stacks(profile) == [[(0x400010, "/opt/app", False)]] * 4
    damaged = LITTLE.record(p.COMPRESSED, b"\xff" * 20)
    with pytest.raises(FormatError, match="compressed records are damaged"):
        read(tmp_path, LITTLE.file(damaged))
    bomb = zstd.compress(bytes(32 << 20))
    with pytest.raises(FormatError, match="bytes of data"):
        read(tmp_path, LITTLE.file(LITTLE.record(p.COMPRESSED, bomb)))


def test_a_folder_has_records_in_several_files(tmp_path: Path) -> None:
    def packed(records: bytes) -> bytes:
        return LITTLE.record(p.COMPRESSED, zstd.compress(records))

    later = LITTLE.sample(30, (p.USER_MARKER, 0x400030))
    (tmp_path / "data").write_bytes(LITTLE.file(b""))
    (tmp_path / "data.0").write_bytes(later + packed(SAMPLE))
    (tmp_path / "data.1").write_bytes(b"")
    # Each file is compressed by itself, and times order the records of all.
    early = LITTLE.sample(5, (p.USER_MARKER, 0x400050))
    (tmp_path / "data.10").write_bytes(MAPPING + packed(early))
    profile = read_profile(tmp_path)
    places = [stack[0][0] for stack in stacks(profile)]
    assert places == [0x400050, 0x400010, 0x400030]
    assert {stack[0][1] for stack in stacks(profile)} == {"/opt/app"}
    assert not profile.losses


def test_what_is_missing_is_counted(tmp_path: Path) -> None:
    lost = LITTLE.record(p.LOST, LITTLE.pack("QQ", 1, 40))
    guests = b"".join(
        LITTLE.record(p.SAMPLE, SAMPLE[8:], mode)
        for mode in (p.GUEST_KERNEL_MODE, p.GUEST_USER_MODE)
    )
    losses = read(tmp_path, LITTLE.file(SAMPLE + lost + lost + guests)).losses
    assert losses == {"records lost by perf": 80, "samples of virtual machines": 2}


def test_a_recording_that_was_not_finished_is_read(tmp_path: Path) -> None:
    data = bytearray(LITTLE.file(SAMPLE))
    data[48:56] = bytes(8)
    profile = read(tmp_path, bytes(data))
    assert len(profile.samples) == 1
    assert len(profile.losses) == 1


def hostile() -> dict[str, tuple[bytes, str, int]]:
    """File, reason and offset."""
    whole = LITTLE.file(SAMPLE, (p.Event(ids=(1,)),))
    records = len(whole) - len(SAMPLE)

    def patched(place: int, value: int, size: int = 8) -> bytes:
        return whole[:place] + value.to_bytes(size, "little") + whole[place + size :]

    huge = 2**64 - 1
    return {
        "header": (whole[:30], "truncated", 24),
        "header size": (patched(8, 5), "header of 5 bytes", 8),
        "attribute size": (patched(16, 0), "attributes of 0 bytes", 16),
        "attributes": (patched(32, huge), "end after the file", 24),
        "records": (patched(40, huge), "end after the file", 40),
        "ids": (patched(p.HEADER_SIZE + 8 + 136, huge), "ids of an event", 240),
        "record of no size": (patched(records + 6, 0, 2), "of 0 bytes", records),
        "record too long": (patched(records + 6, 9999, 2), "of 9999 bytes", records),
        "count of a stack": (patched(records + 40, huge), "too short", records),
        "no attribute": (LITTLE.pipe(SAMPLE, ()), "before the attributes", 16),
    }


@pytest.mark.parametrize("case", hostile())
def test_a_damaged_file_is_refused_with_the_place(tmp_path: Path, case: str) -> None:
    data, reason, offset = hostile()[case]
    with pytest.raises(FormatError, match=reason) as caught:
        read(tmp_path, data)
    assert caught.value.offset == offset
    assert caught.value.path == str(tmp_path / "perf.data")


def test_a_file_without_samples_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no perf sample found"):
        read(tmp_path, LITTLE.file(MAPPING))


@settings(max_examples=300)
@given(data=st.data())
def test_changed_and_truncated_files_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp()
    perf = p.PerfFile(data.draw(st.sampled_from(["little", "big"])))
    records = perf.command(7, "a") + perf.fork(8, 7, 3) + perf.sample(4, (1, 2), 8)
    records += perf.mapping2(7, 0, 64, "/a", build_id=ID)
    events = (p.Event(ids=(1, 2), name="a"), p.Event(ids=(3,), name="b"))
    make = data.draw(st.sampled_from([perf.file, perf.pipe]))
    made = bytearray(make(records, events))
    for _ in range(data.draw(st.integers(0, 4))):
        made[data.draw(st.integers(8, len(made) - 1))] = data.draw(st.integers(0, 255))
    # Nothing else is raised.
    with suppress(FormatError):
        read(folder, bytes(made[: data.draw(st.integers(9, len(made)))]))


def build_ids(profile: Profile) -> list[tuple[str, str]]:
    """Build id of the module of each sample, and why it is not sure."""
    found = []
    for sample in profile.samples:
        number = profile.locations[profile.stacks[sample.stack][0]].mapping
        assert number is not None
        mapping = profile.mappings[number]
        found.append((mapping.build_id, mapping.unsure))
    return found


@both_orders
def test_a_mapping_has_its_own_build_id(
    tmp_path: Path, byteorder: Literal["little", "big"]
) -> None:
    """Two processes have different files at one path."""
    perf = p.PerfFile(byteorder)
    other = bytes(range(2, 22))
    records = (
        perf.mapping2(7, 0x400000, 0x1000, "/opt/app", build_id=ID),
        perf.mapping2(8, 0x400000, 0x1000, "/opt/app", build_id=other),
        *(
            perf.sample(10, (p.USER_MARKER, 0x400010), process=process)
            for process in (7, 8)
        ),
    )
    table = perf.build_id("/opt/app", bytes(20 * [3]))
    profile = read(tmp_path, perf.file(b"".join(records), build_ids=table))
    assert build_ids(profile) == [(ID.hex(), ""), (other.hex(), "")]


def test_several_build_ids_of_a_path_are_unsure(tmp_path: Path) -> None:
    table = LITTLE.build_id("/opt/app", ID) + LITTLE.build_id("/opt/app", ID[::-1])
    profile = read(tmp_path, LITTLE.file(MAPPING + SAMPLE, build_ids=table))
    reason = "the profile has 2 build ids for its path"
    assert build_ids(profile) == [(ID[::-1].hex(), reason)]
    table = 2 * LITTLE.build_id("/opt/app", ID)
    table += LITTLE.build_id("/opt/app", ID[::-1], misc=5)  # of a virtual machine
    profile = read(tmp_path, LITTLE.file(MAPPING + SAMPLE, build_ids=table))
    assert build_ids(profile) == [(ID.hex(), "")]


@pytest.mark.parametrize(
    "path",
    ["[kernel.kallsyms]", "/usr/lib/debug/boot/vmlinux-6.1", "/boot/vmlinux"],
)
def test_the_kernel_may_be_known_by_the_path_of_its_file(
    tmp_path: Path, path: str
) -> None:
    mapping = LITTLE.mapping(
        -1, KERNEL, 0x1000000, "[kernel.kallsyms]_text", offset=KERNEL, misc=1
    )
    sample = LITTLE.sample(10, (KERNEL + 0x10,))
    module = "/lib/modules/6.1/kernel/fs/ext4.ko.xz"
    table = LITTLE.build_id(module, ID[::-1], misc=1)
    table += LITTLE.build_id(path, ID, misc=1)
    profile = read(tmp_path, LITTLE.file(mapping + sample, build_ids=table))
    assert build_ids(profile) == [(ID.hex(), "")]
    assert profile.mappings[0].path == path


def addresses(profile: Profile) -> list[tuple[int, bool]]:
    """The addresses of the first sample, and whether they are return addresses."""
    locations = [profile.locations[at] for at in profile.stacks[0]]
    return [(each.address, each.is_return) for each in locations]


@both_orders
def test_marks_in_a_stack_tell_what_is_in_the_kernel(
    tmp_path: Path, byteorder: Literal["little", "big"]
) -> None:
    perf = p.PerfFile(byteorder)
    chain = p.KERNEL_MARKER, 0xC0009050, 0xC0009090, p.USER_MARKER, 0x10454, 0x10500
    profile = read(tmp_path, perf.file(perf.sample(1, chain)))
    assert addresses(profile) == [
        (0xC0009050, False),
        (0xC0009090, True),
        (0x10454, False),
        (0x10500, True),
    ]


def test_a_stack_of_user_space_may_be_recorded_later(tmp_path: Path) -> None:
    chain = p.KERNEL_MARKER, 1 << 63, p.DEFERRED_MARKER, 77
    later = LITTLE.pack("QQQQQ", 77, 3, p.USER_MARKER, 0x400050, 0x400090)
    ending = LITTLE.ending(9, 7)
    deferred = LITTLE.record(p.DEFERRED, later + ending)
    profile = read(tmp_path, LITTLE.file(LITTLE.sample(1, chain) + deferred))
    assert [each for each, _ in addresses(profile)] == [1 << 63, 0x400050, 0x400090]
    assert profile.losses == {}
    profile = read(tmp_path, LITTLE.file(LITTLE.sample(1, chain)))
    assert len(addresses(profile)) == 1
    assert list(profile.losses.values()) == [1]


def test_samples_take_stacks_that_are_recorded_later_up_to_a_limit(
    tmp_path: Path,
) -> None:
    depth, count = 8000, 400
    chain = range(0x400000, 0x400000 + depth)
    later = LITTLE.pack(f"QQQ{depth}Q", 77, 1 + depth, p.USER_MARKER, *chain)
    records = LITTLE.record(p.DEFERRED, later + LITTLE.ending(9, 7)) + b"".join(
        LITTLE.sample(at, (p.KERNEL_MARKER, KERNEL + at, p.DEFERRED_MARKER, 77))
        for at in range(count)
    )
    data = LITTLE.file(records)
    profile = read(tmp_path, data)
    whole = sum(len(stack) > 1 for stack in profile.stacks)
    assert whole == ((1 << 20) + len(data)) // (depth + 1)
    assert list(profile.losses.values()) == [count - whole]
    # Of a file that is larger, all are whole.
    whole_records = LITTLE.record(p.FINISHED_ROUND, bytes(0xFF00)) * 40 + records
    profile = read(tmp_path, LITTLE.file(whole_records))
    assert {len(stack) for stack in profile.stacks} == {depth + 1}
    assert not profile.losses


def test_a_group_that_counts_down_or_beyond_64_bits_has_no_sample_of_it(
    tmp_path: Path,
) -> None:
    kind = p.SAMPLE_TYPE | p.READ
    events = (p.Event(sample_type=kind, read_format=8 | 4, ids=(1,), name="a"),)
    samples = b"".join(
        LITTLE.record(
            p.SAMPLE,
            LITTLE.pack("QiiQQ", 0x10, 7, 7, at, 5)
            + LITTLE.pack("QQQ", 1, value, 1)
            + LITTLE.chain((0x10,)),
        )
        for at, value in enumerate((7, 2**64 - 1, 3, 3))
    )
    profile = read(tmp_path, LITTLE.file(samples, events))
    assert [each.values for each in profile.samples] == [
        (1, 7),
        (1, 2**64 - 9),
        (1, 5),
        (1, 5),
    ]


@pytest.mark.parametrize("branches", [p.OF_CALLS, 0])
def test_a_branch_stack_of_calls_has_the_callers(tmp_path: Path, branches: int) -> None:
    event = p.Event(sample_type=p.SAMPLE_TYPE | p.BRANCHES, branches=branches)
    sample = LITTLE.pack("QiiQQ", 0x401139, 7, 7, 1, 5)
    sample += LITTLE.chain((p.USER_MARKER, 0x401139))
    sample += LITTLE.pack("Q6Q", 2, 0x401210, 0x401130, 0, 0x401310, 0x401200, 0)
    profile = read(tmp_path, LITTLE.file(LITTLE.record(p.SAMPLE, sample), (event,)))
    if branches:
        calls = (0x401130, False), (0x401210, False), (0x401310, False)
        assert addresses(profile) == list(calls)
        assert profile.losses == {}
    else:
        assert addresses(profile) == [(0x401139, False)]
        assert profile.losses == {"branch stacks": 1}


def test_a_sample_without_a_period_counts_that_of_its_event(tmp_path: Path) -> None:
    event = p.Event(sample_type=p.SAMPLE_TYPE & ~p.PERIOD)
    sample = LITTLE.pack("QiiQ", 0x10, 7, 7, 1) + LITTLE.chain((0x10,))
    profile = read(tmp_path, LITTLE.file(LITTLE.record(p.SAMPLE, sample), (event,)))
    assert profile.value_types[1] == ValueType("cpu-clock", "nanoseconds")
    assert [each.values for each in profile.samples] == [(1, 250)]


def test_members_of_a_group_have_samples_of_their_own(tmp_path: Path) -> None:
    group = p.SAMPLE_TYPE | p.READ
    form = 8 | 4  # of all members, with ids
    events = (
        p.Event(sample_type=group, read_format=form, ids=(1,), name="cycles"),
        p.Event(sample_type=group, read_format=form, ids=(2,), name="misses"),
    )
    samples = b""
    for time, counts in enumerate(((100, 7), (250, 7), (300, 9))):
        body = LITTLE.pack("QiiQQ", 0x10, 7, 7, time, 5)
        body += LITTLE.pack("Q4Q", 2, counts[0], 1, counts[1], 2) + LITTLE.chain(
            (0x10,)
        )
        samples += LITTLE.record(p.SAMPLE, body)
    profile = read(tmp_path, LITTLE.file(samples, events))
    assert [each.type for each in profile.value_types] == [
        "samples",
        "cycles",
        "misses",
    ]
    sums = [
        sum(column) for column in zip(*(s.values for s in profile.samples), strict=True)
    ]
    assert sums == [5, 300, 9]


def test_what_precedes_damage_is_read_and_the_damage_counted(tmp_path: Path) -> None:
    samples = LITTLE.sample(1, (0x10,)) + LITTLE.sample(2, (0x20,))
    whole = LITTLE.file(samples)
    for data in (
        whole[:-5],
        whole[:-50],
        LITTLE.file(samples, build_ids=LITTLE.build_id("/opt/app", ID))[:-20],
        LITTLE.file(samples + b"and a text of some program"),
        LITTLE.file(samples + LITTLE.record(p.SAMPLE, b"")),
    ):
        profile = read(tmp_path, data)
        assert len(profile.samples) >= 1
        assert profile.losses
