"""Lines of `perf script` -> records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gsym.errors import FormatError
from gsym.profiles.perf_layout import is_perf_script
from gsym.profiles.perf_reader import PerfCommand, PerfFork, PerfMapping
from gsym.profiles.perf_script import (
    PerfFrame,
    PerfSample,
    UnknownLines,
    parse_perf_script,
)

if TYPE_CHECKING:
    from gsym.profiles.perf_script import PerfRecord

pytestmark = pytest.mark.no_engine

KERNEL = "[kernel.kallsyms]"


def frame(
    address: int, symbol: str = "", module: str = "", *, is_inlined: bool = False
) -> PerfFrame:
    is_kernel = {KERNEL: True, "[vdso]": False}.get(module)
    return PerfFrame(
        address, symbol, module, is_inlined=is_inlined, is_kernel=is_kernel
    )


def records(text: str) -> list[PerfRecord]:
    unknown = UnknownLines()
    found = list(parse_perf_script(text.splitlines(), unknown))
    assert unknown.count == unknown.first == 0
    return found


def only_sample(text: str) -> PerfSample:
    (found,) = records(text)
    assert isinstance(found, PerfSample)
    return found


def test_a_sample_with_default_fields() -> None:
    sample = only_sample(
        "p 13619 35050.298310:     250000 cpu-clock: \n"
        "\tffffffff8168a1a5 memcg1_commit_charge+0x85 ([kernel.kallsyms])\n"
        "\t           219b0 memset+0xb0 (/usr/lib/ld-linux-x86-64.so.2)\n"
        "\t    7fcc831fa8a8 [unknown] ([unknown])\n"
        "\t               0 [unknown] (/opt/app)\n"
        "\n"
    )
    assert sample == PerfSample(
        *("p", 13619, 13619, None, 35_050_298_310_000, 250_000, "cpu-clock"),
        (
            frame(0xFFFFFFFF8168A1A5, "memcg1_commit_charge", KERNEL),
            frame(0x219B0, "memset", "/usr/lib/ld-linux-x86-64.so.2"),
            frame(0x7FCC831FA8A8),
            frame(0, "", "/opt/app"),
        ),
    )


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (
            "perf-exec  1676/1677  [002] 36670.836041: cycles:u: ",
            ("perf-exec", 1676, 1677, 2, 36_670_836_041_000, None, "cycles:u"),
        ),
        (
            "Web Content 12/13 1.5:  7 sched:sched_switch: prev_comm=a next_comm=b",
            ("Web Content", 12, 13, None, 1_500_000_000, 7, "sched:sched_switch"),
        ),
        (
            "        swapper     0 [000]  0.000000001:   1 cpu/mem-loads,ldlat=30/P:",
            ("swapper", 0, 0, 0, 1, 1, "cpu/mem-loads,ldlat=30/P"),
        ),
        ("a b c 1 2  5 cycles:", ("a b c 1", 2, 2, None, None, 5, "cycles")),
        ("app 7 cycles: ", ("app", 7, 7, None, None, None, "cycles")),
        ("app    -1/-1  cycles: ", ("app", -1, -1, None, None, None, "cycles")),
    ],
)
def test_fields_may_be_left_out(head: str, expected: tuple[object, ...]) -> None:
    assert only_sample(f"{head}\n\t 10 f (/x)\n") == (
        *expected,
        (frame(0x10, "f", "/x"),),
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("  804 leaf+0x34 (/opt/p)", frame(0x804, "leaf", "/opt/p")),
        ("  804 leaf (/opt/p)", frame(0x804, "leaf", "/opt/p")),
        ("  804 leaf", frame(0x804, "leaf")),
        ("  804 (/opt/p)", frame(0x804, "", "/opt/p")),
        ("  804", frame(0x804)),
        ("  7b7 deep+0x37 (inlined)", frame(0x7B7, "deep", is_inlined=True)),
        (
            "  1 ns::S::operator()(int) const+0x3 (/opt/my app (x)/a.so)",
            frame(1, "ns::S::operator()(int) const", "/opt/my app (x)/a.so"),
        ),
        (
            "  1 (anonymous namespace)::f(int)+0x3 (/usr/bin/app (deleted))",
            frame(1, "(anonymous namespace)::f(int)", "/usr/bin/app (deleted)"),
        ),
        ("  1 f+0x1 ([vdso])", frame(1, "f", "[vdso]")),
        ("  1 f+0x1 (app.exe)", frame(1, "f", "app.exe")),
        (
            "  1 f+0x1 (/opt/p+0x804)",
            PerfFrame(1, "f", "/opt/p", 0x804, is_inlined=False, path="", line=0),
        ),
    ],
)
def test_lines_of_a_stack(line: str, expected: PerfFrame) -> None:
    assert only_sample(f"app 7 cycles:\n\t{line}\n").frames == (expected,)


def test_a_single_address_may_be_on_the_header_line() -> None:
    text = (
        "   p 15508 35146.446641: 250000 cpu-clock:      55edc2edf804 leaf+0x34 (/p)\n"
        "   p 15508 35146.446890: 250000 cpu-clock:      55edc2edf805 [unknown] (/p)\n"
        "   p 15508 35147.0: 250000 syscalls:sys_enter_write: fd: 1, count: 10\n"
    )
    frames = [each.frames for each in records(text) if isinstance(each, PerfSample)]
    assert frames == [
        (frame(0x55EDC2EDF804, "leaf", "/p"),),
        (frame(0x55EDC2EDF805, "", "/p"),),
        (),
    ]


def test_source_lines_follow_their_frames() -> None:
    sample = only_sample(
        "p 1 cycles:\n"
        "\t 804 leaf (/opt/p)\n"
        "  p.cc:4\n"
        "\t 805 main (/opt/p)\n"
        "  [kernel.kallsyms][ffffffff815e2a95]\n"
        "\t 806 start (/opt/p)\n"
        "  :0\n"
        "\t 807 last (/opt/p)\n"
        "  /src/with space:x.c:77\n"
    )
    assert [(each.path, each.line) for each in sample.frames] == [
        ("p.cc", 4),
        ("", 0),
        ("", 0),
        ("/src/with space:x.c", 77),
    ]


def test_mappings_of_code_come_between_samples() -> None:
    found = records(
        "p 1 1.0: PERF_RECORD_MMAP2 15/16: [0x55edc2edf000(0x1000) @ 0x2000 fe:00 23 "
        "81]: r-xp /opt/my p\n"
        "p 1 1.0: PERF_RECORD_MMAP 15/16: [0x1000(0x800) @ 0]: x /opt/q\n"
        "p 1 1.0: PERF_RECORD_MMAP2 15/16: [0x1000(0x800) @ 0 fe:00 2 8]: r--p /data\n"
        "p 1 1.0: PERF_RECORD_COMM: p:15/15\n"
        "p 1 1.0: PERF_RECORD_EXIT(15:15):(15:15)\n"
        "p 1 cycles:\n"
    )
    assert found[:3] == [
        PerfMapping(15, 0x55EDC2EDF000, 0x1000, 0x2000, "/opt/my p", inode=23),
        PerfMapping(15, 0x1000, 0x800, 0, "/opt/q"),
        PerfCommand(15, 15, "p"),
    ]
    assert len(found) == 4


def test_a_mapping_has_the_build_id_that_is_printed() -> None:
    (found,) = records(
        f"p 1 1.0: PERF_RECORD_MMAP2 15/16: [0x1000(0x1000) @ 0 <{'ab' * 20}>]: "
        "r-xp /opt/p\n"
    )
    assert found == PerfMapping(15, 0x1000, 0x1000, 0, "/opt/p", "ab" * 20)


def test_lines_of_threads_are_records() -> None:
    found = records(
        "perf 0 0.000000: PERF_RECORD_FORK(8:8):(1:1)\n"
        "app 7 12.000001: PERF_RECORD_COMM exec: my app: 2:7/7\n"
        "app 7 12.000002: PERF_RECORD_FORK(7:9):(7:7)\n"
    )
    assert found == [
        PerfFork(8, 1, 8, 1, has_maps=False),
        PerfCommand(7, 7, "my app: 2"),
        PerfFork(7, 7, 9, 7, has_maps=True),
    ]


def test_bytes_and_fields_of_records_are_no_samples() -> None:
    # perf script -D, of a thread of .NET.
    dump = (
        "\n0x79b0@perf.data [0x58]: event: 9\n"
        ".\n. ... raw event: size 32 bytes\n"
        ".  0000:  09 00 00 00 02 00 58 00 97 d2 d6 6b d8 55 00 00  ......X.\n"
        "\n49249186908556 0x79b0 [0x58]: "
        "PERF_RECORD_SAMPLE(IP, 0x2): 767/773: 0x55d86bd6d297 period: 250000 addr: 0\n"
        "... FP chain: nr:2\n.....  0: fffffffffffffe00\n.....  1: 000055d86bd6d297\n"
        " ... thread: .NET Timer:773\n ...... dso: /opt/app\n"
        ".NET Timer 773 49249.186908:     250000 cpu-clock:ppp: \n"
        "\t            1297 burn+0x97 (/opt/app)\n"
    )
    for sample in records(dump * 2):
        assert isinstance(sample, PerfSample)
        assert (sample.command, sample.event) == (".NET Timer", "cpu-clock:ppp")
        assert sample.frames == (frame(0x1297, "burn", "/opt/app"),)
    assert is_perf_script(dump.splitlines() * 2)


def test_samples_are_returned_as_soon_as_they_end() -> None:
    # The first 4,096 lines tell the layout.
    lines = ["p 1 cycles:", "\t 1 f (/x)", "", "p 2 cycles:"] * 1024
    lines += ["p 1 cycles:", "\t 1 f (/x)", "", "p 2 cycles:", "p 3 cycles:"]
    given: list[str] = []

    def watched() -> object:
        for line in lines:
            given.append(line)
            yield line

    parser = parse_perf_script(watched())  # type: ignore[arg-type]
    for _ in range(2048):
        assert next(parser)
    assert len(given) == 4097
    assert next(parser)
    assert len(given) == 4099
    assert next(parser)
    assert len(given) == 4101


def test_unrecognized_lines_are_counted() -> None:
    unknown = UnknownLines()
    text = "# comment\nwhat is this\np 1 cycles:\n\t 1 f (/x)\nnonsense\n"
    assert len(list(parse_perf_script(text.splitlines(), unknown))) == 1
    assert (unknown.count, unknown.first) == (2, 2)


@pytest.mark.parametrize(
    "line", ["    4010 main+0x10 (/opt/app)", "  4010", "    /src/a.c:7"]
)
def test_lines_of_a_stack_without_a_sample_are_unknown(line: str) -> None:
    unknown = UnknownLines()
    text = f"{line}\n\napp 7 cycles: \n    10 f (/opt/app)\n\n{line}\n# comment"
    (sample,) = parse_perf_script(text.splitlines(), unknown)
    assert isinstance(sample, PerfSample)
    assert sample.frames == (frame(0x10, "f", "/opt/app"),)
    assert (unknown.count, unknown.first) == (2, 1)


def test_a_thread_may_have_the_name_of_an_address() -> None:
    first, second = records(
        "app 7 cycles: \n  10 f (/a)\nadd 8 cycles: \n  20 g (/a)\n"
    )
    assert isinstance(first, PerfSample)
    assert isinstance(second, PerfSample)
    assert (first.command, second.command) == ("app", "add")
    assert [len(each.frames) for each in (first, second)] == [1, 1]


def test_the_depth_of_a_stack_is_limited() -> None:
    lines = ["p 1 cycles:", *["\t 1 f (/x)"] * (1 << 16)]
    (sample,) = parse_perf_script(lines)
    assert isinstance(sample, PerfSample)
    assert len(sample.frames) == 1 << 16
    with pytest.raises(FormatError, match="line 65538: a stack has too many frames"):
        list(parse_perf_script([*lines, lines[-1]]))


LONG_LINES = (
    "a " * 200_000,
    "a" + " " * 400_000 + "1",
    "a 1 " + "1" * 400_000,
    "\t1 " + "(" * 400_000,
    "p 1 x: " + " (/" * 100_000,
    "p 1 PERF_RECORD_MMAP " + "[0x1(" * 100_000,
    "  " + "x[" * 200_000,
    "  " + ":" * 400_000,
)


def test_work_is_linear_in_the_length_of_a_line() -> None:
    for line in LONG_LINES:  # a quadratic expression would take minutes
        assert len(list(parse_perf_script(["p 1 cycles:", "\t1 f (/x)", line]))) >= 1


def test_perf_script_output_is_recognised() -> None:
    assert is_perf_script(["# ========", "", "p 13 35.0: 2 cpu-clock:", "\t 1 f (/x)"])
    assert is_perf_script(["p 1 0.0: PERF_RECORD_COMM: p:1/1"])
    assert not is_perf_script(["0x401136"])
    assert not is_perf_script(["a;b;c 12"])
    assert not is_perf_script([])
