"""`perf script` -> profile."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from gsym.errors import ErrorsOf, FormatError
from gsym.profiles import perf_script
from gsym.profiles.input_bytes import MOST_CHARACTERS, lines_of
from gsym.profiles.model import (
    SAMPLES,
    Frame,
    Location,
    Mapping,
    Profile,
    Thread,
    ValueType,
)
from gsym.profiles.opening import ProfileOptions, read_profile
from gsym.profiles.perf_script import (
    profile_of_lines,
    read_build_ids,
    read_perf_script,
)
from tests.conftest import find_peer
from tests.profiles.loaded_program import frames
from tests.profiles.symbols import BUILD_ID

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

ID = "ab" * 20
TEXT = """\
app 7/7 [001] 10.000001: 250 cycles:u:
\tffffffff8168a1a5 commit+0x85 ([kernel.kallsyms])
\tffffffff81692478 charge+0x48 ([kernel.kallsyms])
\t           21000 [unknown] (/opt/lib.so)
\t           22000 [unknown] (/opt/lib.so)
\t    7fcc831fa8a8 [unknown] ([unknown])

pool 7/8 [000] 10.000002: 350 cycles:u:
\t             7b7 deep+0x37 (inlined)
\t             7b7 _ZN2ns3runEv+0x37 (/opt/app)
\t            1000 alias+0x1 (inlined)
\t            1000 alias+0x1 (inlined)
\t            2000 main+0x1 (/opt/app)

"""


def profile_of(text: str) -> Profile:
    return profile_of_lines(
        text.splitlines(),
        build_ids={"/opt/lib.so": ID, "/opt/app": "cd"},
    )


def test_samples_have_their_threads_times_and_periods() -> None:
    profile = profile_of(TEXT)
    assert profile.value_types == (
        ValueType("samples", "count"),
        ValueType("cycles", "count"),
    )
    assert profile.threads == [Thread(7, 7, "app", "app"), Thread(7, 8, "app", "pool")]
    assert [
        (each.thread, each.time, each.values, each.labels) for each in profile.samples
    ] == [
        (0, 10_000_001_000, (1, 250), (("cpu", 1, ""),)),
        (1, 10_000_002_000, (1, 350), (("cpu", 0, ""),)),
    ]
    assert not profile.losses


def test_the_innermost_address_of_user_space_is_exact_too() -> None:
    profile = profile_of(TEXT)
    assert profile.mappings == [
        Mapping(0, 0, path="[kernel.kallsyms]"),
        Mapping(0, 0x23000, None, 0, "/opt/lib.so", ID),
        Mapping(0, 0x3000, None, 0, "/opt/app", "cd"),
    ]
    stack = [profile.locations[each] for each in profile.stacks[0]]
    commit, charge = Frame("commit", "commit"), Frame("charge", "charge")
    assert stack == [
        Location(0xFFFFFFFF8168A1A5, 0, frames=(commit,)),
        Location(0xFFFFFFFF81692478, 0, is_return=True, frames=(charge,)),
        Location(0x21000, 1),
        Location(0x22000, 1, is_return=True),
        Location(0x7FCC831FA8A8, None, is_return=True),
    ]


def test_inlined_lines_belong_to_the_line_of_the_same_address() -> None:
    profile = profile_of(TEXT)
    stack = [profile.locations[each] for each in profile.stacks[1]]
    assert stack == [
        Location(
            *(0x7B7, 2, False),
            (Frame("deep", "deep"), Frame("ns::run()", "_ZN2ns3runEv")),
            is_named_only=True,
        ),
        Location(0x1000, None, is_return=True, frames=(Frame("alias", "alias"),)),
        Location(*(0x2000, 2, True, (Frame("main", "main"),)), is_named_only=True),
    ]


def test_addresses_without_a_module_are_distinguished_by_symbol() -> None:
    profile = profile_of(
        "a 1 cycles:\n\t 10 one (inlined)\n\t 10 two (inlined)\n\n"
        "a 1 cycles:\n\t 10 other (inlined)\n"
    )
    assert frames(profile) == (("one", "two"), ("other",))


def test_several_events_have_a_label() -> None:
    profile = profile_of("a 1  5 cycles:\n\t 1 f (/x)\n\na 1  7 faults:\n\t 1 f (/x)\n")
    assert [each.type for each in profile.value_types[1:]] == ["cycles", "faults"]
    assert [each.labels for each in profile.samples] == [
        (("event", "cycles", ""),),
        (("event", "faults", ""),),
    ]


def test_clocks_count_nanoseconds_and_no_period_counts_nothing() -> None:
    clock = profile_of("a 1  5 task-clock:ppp:\n\t 1 f (/x)\n")
    assert clock.value_types[1] == ValueType("task-clock", "nanoseconds")
    clock = profile_of("a 1  5 cpu-clock:\n\t 1 f (/x)\n")
    assert clock.value_types[1] == ValueType("cpu-clock", "nanoseconds")
    plain = profile_of("a 1 cycles:\n\t 1 f (/x)\n")
    assert plain.value_types == (ValueType("samples", "count"),)
    assert plain.samples[0].values == (1,)


def test_mapped_addresses_are_runtime_addresses() -> None:
    profile = profile_of(
        "a 7 0.0: PERF_RECORD_MMAP2 7/7: [0x7f0000001000(0x2000) @ 0x4000 fe:00 1 2]: "
        "r-xp /opt/lib.so\n"
        "a 7 cycles:  7f0000001234 [unknown] (/opt/lib.so)\n"
        "a 7 cycles:  7f0000003000 [unknown] (/opt/lib.so)\n"
        "b 8 cycles:  5234 [unknown] (/opt/lib.so)\n"
    )
    assert profile.mappings == [
        Mapping(0x7F0000001000, 0x7F0000003000, None, 0x4000, "/opt/lib.so", ID),
        Mapping(0, 0, path="/opt/lib.so"),  # where in the file is not known
        Mapping(0, 0x6000, None, 0, "/opt/lib.so", ID),
    ]
    assert [each.mapping for each in profile.locations] == [0, 1, 2]


def test_a_mapping_locates_the_kernel() -> None:
    start = 0xFFFFFFFF81000000
    profile = profile_of_lines(
        [
            (
                f"a 0 0.0: PERF_RECORD_MMAP -1/0: [{start:#x}(0x2000) @ {start:#x}]:"
                " x [kernel.kallsyms]_text"
            ),
            f"a 7 cycles:  {start + 0x1040:x} copy+0x10 ([kernel.kallsyms])",
            f"a 7 cycles:  {start + 0x2000:x} module+0x10 ([ext4])",
        ],
        build_ids={"[kernel.kallsyms]": BUILD_ID},
    )
    assert profile.mappings == [
        Mapping(start, start + 0x2000, None, start, "[kernel.kallsyms]", BUILD_ID),
        Mapping(0, 0, path="[ext4]"),
    ]
    assert frames(profile) == (("copy",), ("module",))


def test_a_printed_file_offset_takes_precedence() -> None:
    profile = profile_of("a 7 cycles:\n\t 7f0000001234 f (/opt/lib.so+0x5234)\n")
    (location,) = profile.locations
    assert location.address == 0x5234
    assert profile.mappings[0].limit == 0x6000


def test_unrecognized_lines_are_reported_as_losses() -> None:
    profile = profile_of("what\nis this\na 1 cycles:\n")
    assert profile.losses == {"unrecognized lines, the first is line 1": 2}


def test_a_text_without_samples_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "perf.txt"
    path.write_text("no sample\n")
    with pytest.raises(FormatError) as caught, ErrorsOf(str(path)):
        read_perf_script(str(path), ProfileOptions())
    assert caught.value.path == str(path)
    assert caught.value.reason == "no perf sample found"


def test_the_length_of_a_line_is_limited() -> None:
    whole = b"x" * MOST_CHARACTERS
    assert list(lines_of([b"a\r\n", whole, b"\nb\xc3", b"\xa4"])) == [
        "a",
        whole.decode(),
        "b\u00e4",
    ]
    for pieces in ([b"\n", whole, b"y"], [b"\n" + whole + b"y\n"]):
        with pytest.raises(FormatError, match="line 2 has more than"):
            list(lines_of(pieces))


def test_a_function_that_calls_itself_is_not_inlined() -> None:
    lines = ["app 7/7 1.0: 5 cycles:u:"]
    lines += [f"\t20 {name} (/opt/app)" for name in ("f+0x1", "f+0x1")]
    lines += ["\t30 g (inlined)", "\t30 f+0x11 (/opt/app)"]
    profile = profile_of_lines(lines)
    (sample,) = profile.samples
    names = [frame.name for frame in profile.frames_of(sample.stack)]
    assert names == ["f", "f", "g", "f"]
    assert len(profile.stacks[sample.stack]) == len(names) - 1


@pytest.mark.parametrize("beyond", [0, 1])
def test_the_size_of_a_list_of_build_ids_is_limited(
    beyond: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ids"
    path.write_text(f"{ID} /opt/app\n")
    most = path.stat().st_size - beyond
    monkeypatch.setattr(perf_script, "_MOST_LIST_BYTES", most)
    if not beyond:
        assert read_build_ids(path) == {"/opt/app": ID}
        return
    with pytest.raises(FormatError, match=f"more than {most} bytes"):
        read_build_ids(path)


def test_build_ids_are_read_as_perf_lists_them(tmp_path: Path) -> None:
    path = tmp_path / "ids"
    path.write_text(f"{ID} [kernel.kallsyms]\n\n{ID.upper()} /opt/my app\n")
    assert read_build_ids(path) == {"[kernel.kallsyms]": ID, "/opt/my app": ID}
    path.write_text("nonsense here\n")
    with pytest.raises(FormatError, match="line 1 is not a build id"):
        read_build_ids(path)


def test_every_sample_of_perf_itself_is_read(tmp_path: Path) -> None:
    perf = find_peer("perf")
    data = tmp_path / "perf.data"
    record = [perf, "record", "-q", "-e", "cpu-clock", "-g", "-o", str(data)]
    work = [shutil.which("python3") or "true", "-c", "sum(range(3_000_000))"]
    made = subprocess.run([*record, "--", *work], check=False, capture_output=True)
    if made.returncode or not data.exists():
        pytest.skip("perf cannot record here")
    for fields in ((), ("-F", "comm,pid,tid,time,event,ip,sym,dso,symoff")):
        said = subprocess.run(
            [perf, "script", "-i", str(data), *fields],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        blocks = [block for block in said.split("\n\n") if block.strip()]
        if not blocks:
            pytest.skip("perf took no sample")
        profile = profile_of_lines(said.splitlines())
        assert len(profile.samples) == len(blocks)
        assert not profile.losses
        depth = {len(profile.stacks[each.stack]) for each in profile.samples}
        assert max(depth) <= max(block.count("\n") for block in blocks)


def test_highly_compressible_text_is_read(
    tmp_path: Path,
) -> None:
    stack = f"\t1000 {'f' * 4000}+0x1 (/opt/app)\n" * 5
    sample = f"app 7/7 [001] 10.0: 250 cycles:u:\n{stack}\n".encode()
    count = (20 << 20) // len(sample)
    path = tmp_path / "perf.txt.gz"
    path.write_bytes(gzip.compress(sample * count))
    assert path.stat().st_size * 100 < count * len(sample) - (16 << 20)
    assert (
        sum(
            each.values[0]
            for each in read_perf_script(str(path), ProfileOptions()).samples
        )
        == count
    )


MAPPED = "p 7 1.0: PERF_RECORD_MMAP2 {0}/{0}: [0x1000(0x1000) @ 0 {1}]: r-xp /opt/x\n"


def test_one_address_of_two_programs_has_the_function_of_each() -> None:
    profile = profile_of(
        "one 7/7 1.0: cycles:\n\t 1136 alpha+0x6 (/app/server)\n\n"
        "two 8/8 1.0: cycles:\n\t 1136 beta+0x26 (/app/server)\n\n"
        "jit 9/9 1.0: cycles:\n\t 9c51fd34 first ([JIT app cache])\n\n"
        "jit 10/10 1.0: cycles:\n\t 9c51fd34 second ([JIT app cache])\n\n"
    )
    assert [each.frames[0].name for each in profile.locations] == [
        *("alpha", "beta", "first", "second"),
    ]


@pytest.mark.parametrize("address", ["1010", "  10"])
def test_files_at_one_path_are_told_by_the_mappings_of_their_processes(
    address: str,
) -> None:
    """Addresses are those in memory, or offsets in the file."""
    profile = profile_of(
        MAPPED.format(7, f"<{ID}>")
        + MAPPED.format(8, f"<{BUILD_ID}>")
        + "".join(
            f"p {process}/{process} 2.0: cycles:\n\t {address} [unknown] (/opt/x)\n\n"
            for process in (7, 8)
        )
    )
    assert [each.build_id for each in profile.mappings] == [ID, BUILD_ID]
    assert [each.mapping for each in profile.locations] == [0, 1]


def test_threads_belong_to_the_process_that_made_them() -> None:
    profile = profile_of(
        MAPPED.format(7, f"<{ID}>") + "app 7 1.0: PERF_RECORD_COMM exec: app:7/7\n"
        "app 7 1.1: PERF_RECORD_FORK(7:8):(7:7)\n"
        "app 7 1.1: PERF_RECORD_FORK(9:9):(7:7)\n"
        "app 8 1.2: PERF_RECORD_COMM: worker:7/8\n"
        "worker 8 2.0: cycles: \n\t 1010 [unknown] ([unknown])\n\n"
        "app 9 2.0: cycles: \n\t 1010 [unknown] ([unknown])\n\n"
    )
    assert profile.threads == [
        Thread(7, 8, "app", "worker"),
        Thread(9, 9, "app", "app"),
    ]
    assert [each.mapping for each in profile.locations] == [0]


def test_a_kernel_that_is_printed_as_a_path_is_the_kernel() -> None:
    start = 0xFFFFFFFF81000000
    text = (
        f"p 0 0.0: PERF_RECORD_MMAP2 -1/0: [{start:#x}(0x2000) @ {start:#x} <{ID}>]: "
        "---p [kernel.kallsyms]_text\n"
        f"p 7/7 2.0: cycles:\n\t {start + 0x10:x} f (/usr/lib/debug/boot/vmlinux)\n\n"
        f"p 7/7 2.0: cycles:\n\t {start + 0x10:x} f (/lib/modules/fs/ext4.ko)\n\n"
    )
    profile = profile_of(text)
    assert [(each.path, each.build_id) for each in profile.mappings] == [
        ("/usr/lib/debug/boot/vmlinux", ID),
        ("/lib/modules/fs/ext4.ko", ""),
    ]


def test_a_list_may_have_two_build_ids_of_a_path(tmp_path: Path) -> None:
    path = tmp_path / "ids"
    path.write_text(f"{ID} /x\n{BUILD_ID} /x\n{ID} /y\n{ID} /y\n")
    found = read_build_ids(path)
    assert found == {"/x": (ID, BUILD_ID), "/y": ID}


def test_events_have_values_of_their_own() -> None:
    profile = profile_of_lines(
        "app 7/7 1.0:   250000 cpu-clock: \n\t 10 f (/x)\n\n"
        "app 7/7 1.1:        3 page-faults: \n\t 20 g (/x)\n".splitlines()
    )
    assert profile.value_types == (
        SAMPLES,
        ValueType("cpu-clock", "nanoseconds"),
        ValueType("page-faults", "count"),
    )
    assert profile.events == (1, 2)
    assert [each.values for each in profile.samples] == [(1, 250_000, 0), (1, 0, 3)]


def test_events_without_periods_count_their_samples() -> None:
    profile = profile_of_lines(
        "app 7/7 1.0: cpu-clock: \n\t 10 f (/x)\n\n"
        "app 7/7 1.1: page-faults: \n\t 20 g (/x)\n".splitlines()
    )
    assert [each.unit for each in profile.value_types] == [
        "count",
        "samples",
        "samples",
    ]
    assert [each.values for each in profile.samples] == [(1, 1, 0), (1, 0, 1)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # The first thread comes late, has no sample, or runs two programs.
        ("w 7/8 1: c: \nmain 7/7 2: c: \nw 7/9 3: c: \n", {"main"}),
        ("w 7/8 1: c: \nw 7/9 3: c: \n", {"w"}),
        ("w 7/8 1: c: \nv 7/9 3: c: \n", {""}),
        ("sh 7/7 1: c: \napp 7/7 2: c: \n", {"sh", "app"}),
    ],
)
def test_threads_have_the_name_of_their_process(text: str, names: set[str]) -> None:
    lines = text.replace(": c", ".0: c").splitlines()
    profile = profile_of_lines(lines)
    assert {each.process_name for each in profile.threads} == names
    assert {each.process for each in profile.threads} == {7}


def test_differences_of_times_are_added_up() -> None:
    text = "".join(f"app 7/7 {each}: c: \n\t 10 f (/x)\n\n" for each in DIFFERENCES)
    profile = profile_of_lines(text.splitlines())
    assert [each.time for each in profile.samples] == [0, 1_000_000, 1_998_000]


DIFFERENCES = ("0.000000", "0.001000", "0.000998")


@pytest.mark.parametrize(
    ("lines", "sizes"),
    [
        # As perf prints inlined calls, and with a library that mistakes the first one.
        (("leaf (inlined)", "mid (inlined)", "outer (/x)"), [3]),
        (("outer (/x)", "mid (inlined)", "outer (/x)"), [3]),
        (("outer (/x)", "mid (inlined)", "outer (/x)") * 2, [3, 3]),
        (("f (/x)", "f (/x)"), [1, 1]),
        (("mid (inlined)", "outer (/x)", "outer (/x)"), [2, 1]),
    ],
)
def test_calls_at_one_address_are_one_location(
    lines: tuple[str, ...], sizes: list[int]
) -> None:
    text = ["app 7/7 1.0: c: ", *(f"\t 1024 {line}" for line in lines)]
    profile = profile_of_lines(text)
    (stack,) = profile.stacks
    assert len(stack) == len(sizes)
    assert profile.losses == {}


def test_where_the_kernel_is_its_name_tells() -> None:
    profile = profile_of_lines(
        (
            "app 7/7 1.0: c: ",
            "\t c0009050 k ([kernel.kallsyms])",
            "\t 10454 u (/opt/app)",
            "\t 10500 main (/opt/app)",
        )
    )
    returns = [profile.locations[at].is_return for at in profile.stacks[0]]
    assert returns == [False, False, True]


POOL = "pool 2 25649 250000 cycles:\n\t401136 leaf+0x10 (/opt/app)\n\n"
SPELLED = "comm,tid,period,event,ip,sym,dso"


def test_fields_that_are_given_tell_names_and_numbers_apart() -> None:
    guessed = profile_of_lines(POOL.splitlines())
    told = profile_of_lines(POOL.splitlines(), fields=SPELLED)
    assert guessed.threads[0].thread_name == "pool 2 25649"
    assert told.threads == [Thread(25649, 25649, "pool 2", "pool 2")]
    assert told.samples[0].values == (1, 250000)


@pytest.mark.parametrize(
    ("text", "fields", "line"),
    [
        (POOL, "comm,tid,time,event,ip", 1),
        (POOL, "comm,pid,tid,period,event,ip", 1),
        (POOL, "comm,tid,event,ip", None),
        (POOL + POOL.replace("pool 2 25649", "app"), SPELLED, 4),
        (POOL + "and so on\n", SPELLED, 4),
        ("a 1/2 [003] 5.000001: cycles: 1 f (/a)\n", "comm,pid,tid,time,event,ip", 1),
    ],
)
def test_a_line_without_the_fields_that_are_given_is_an_error(
    text: str, fields: str, line: int | None
) -> None:
    if line is None:
        (thread,) = profile_of_lines(text.splitlines(), fields=fields).threads
        # Nothing tells a number from the rest of a name.
        assert thread.thread_name == "pool 2 25649"
        return
    with pytest.raises(FormatError, match=f"line {line} does not have the fields"):
        profile_of_lines(text.splitlines(), fields=fields)


@pytest.mark.parametrize("fields", ["comm,tid,tod", "comm,", "+ip", "hw:ip"])
def test_unknown_fields_are_refused(fields: str) -> None:
    with pytest.raises(ValueError, match="unknown field of perf script"):
        profile_of_lines(POOL.splitlines(), fields=fields)


def test_fields_make_any_text_one_of_perf(tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_text("1 2\n")
    with pytest.raises(FormatError, match="line 1 does not have"):
        read_profile(path, ProfileOptions(fields="comm,time,ip"))
