"""The fields of `perf script` are told by all lines together."""

from __future__ import annotations

from itertools import product

import pytest

from gsym.profiles.perf_layout import find_layout, inline_frame, is_perf_script
from gsym.profiles.perf_script import PerfSample, UnknownLines, parse_perf_script

pytestmark = pytest.mark.no_engine

NAMES = ("pool 2 worker 3", "Thread 1", "add", "[worker] 7", "app")
FRAMES = ("main (/srv/app)", "[unknown] ([unknown])", "work(int, 7)+0x5 (/srv/app)")


def text_of(fields: frozenset[str], *, has_stack: bool) -> str:
    """A text as perf prints it, of one sample for each name."""
    lines = []
    for number, name in enumerate(NAMES):
        line = ""
        if "comm" in fields:
            line += f"{name} " if has_stack else f"{name:>16} "
        if "pid" in fields:
            line += f"{100:7}/{100 + number:<7} "
        elif "tid" in fields:
            line += f"{100 + number:7} "
        if "cpu" in fields:
            line += f"[{number:03}] "
        if "time" in fields:
            line += f"{12:5}.{number:09}: "
        if "period" in fields:
            line += f"{1000 + number:10} "
        if "event" in fields:
            line += "cycles:u: "
        if has_stack:
            lines.append(line)
            lines += [f"\t{0x1010 + at:16x} {each}" for at, each in enumerate(FRAMES)]
            lines.append("")
        else:
            lines.append(f"{line} {0x1010:16x} {FRAMES[0]}")
    return "\n".join(lines)


FIELDS = [
    frozenset(each for parts in chosen for each in parts.split())
    for chosen in product(
        ("comm", ""),
        ("pid", "tid", ""),
        ("cpu", ""),
        ("time", ""),
        ("period", ""),
        ("event", ""),
    )
]
# A name that ends in a number is told from a number by those that follow.
SURE = [
    fields
    for fields in FIELDS
    if fields & {"pid", "tid"} and fields & {"time", "event"}
]


@pytest.mark.parametrize("has_stack", [True, False])
def test_fields_that_perf_can_print_are_told_apart(*, has_stack: bool) -> None:
    for fields in SURE:
        unknown = UnknownLines()
        lines = text_of(fields, has_stack=has_stack).splitlines()
        assert is_perf_script(lines), fields
        samples = list(parse_perf_script(lines, unknown))
        assert len(samples) == len(NAMES), fields
        assert unknown.count == 0, fields
        for number, sample in enumerate(samples):
            assert isinstance(sample, PerfSample)
            assert sample == PerfSample(
                NAMES[number] if "comm" in fields else "",
                100 if "pid" in fields else 100 + number,
                100 + number,
                number if "cpu" in fields else None,
                12_000_000_000 + number if "time" in fields else None,
                1000 + number if "period" in fields else None,
                "cycles:u" if "event" in fields else "",
                sample.frames,
            ), fields
            assert sample.frames[0].symbol == "main"
            assert len(sample.frames) == (3 if has_stack else 1)


@pytest.mark.parametrize("blank", ["\n", ""])
def test_stacks_may_come_without_first_lines(blank: str) -> None:
    stacks = ("\t 1010 main (/a)\n\t 1020 f (/a)\n", "\t 1030 g (/a)\n")
    lines = (blank + blank.join(stacks)).splitlines()
    assert is_perf_script(lines)
    samples = list(parse_perf_script(lines))
    depths = [len(each.frames) for each in samples if isinstance(each, PerfSample)]
    assert depths == ([2, 1] if blank else [1, 1, 1])
    assert {each[:3] for each in samples} == {("", None, None)}


# As perf 6.1 prints a sample of each, without and with `--call-graph`.
LINES = {
    "ip,sym": "     55c83ca4a139 leaf",
    "tid,ip,sym": "  22909      55c83ca4a139 leaf",
    "time,ip,sym": "20350.074655:      55c83ca4a139 leaf",
    "event,ip,sym": "cpu-clock:      55c83ca4a139 leaf",
    "period,ip,sym": "   5000000      55c83ca4a139 leaf",
    "cpu,ip,sym": "[000]      55c83ca4a139 leaf",
    "comm,ip,sym": "            busy      55c83ca4a139 leaf",
    "comm,cpu,ip,sym": "            busy [000]      55c83ca4a139 leaf",
    "comm,period,ip,sym": "            busy    5000000      55c83ca4a139 leaf",
    "comm,tid,ip,sym": "            busy   22909      55c83ca4a139 leaf",
    "comm,time,ip,sym": "            busy 20350.074655:      55c83ca4a139 leaf",
    "ip,sym,srcline": "     55c83ca4a139 leaf\n  busy.c:3",
    "comm,tid,ip,sym,srcline": "     busy   22909      55c83ca4a139 leaf\n  busy.c:3",
    "ip,sym,dso,srcline": "     55c83ca4a139 leaf (/tmp/busy)\n  busy.c:3",
}
BY_THEMSELVES = {"comm,ip,sym", "comm,cpu,ip,sym"}  # the name is not told


@pytest.mark.parametrize("fields", LINES)
def test_symbols_need_no_modules(fields: str) -> None:
    lines = (LINES[fields] + "\n").splitlines() * 3
    assert is_perf_script(lines)
    for given in ("", fields):
        unknown = UnknownLines()
        samples = list(parse_perf_script(lines, unknown, given))
        assert len(samples) == 3
        assert unknown.count == 0
        for sample in samples:
            assert isinstance(sample, PerfSample)
            (frame,) = sample.frames
            assert frame[:2] == (0x55C83CA4A139, "leaf")
            assert frame.line == (3 if "srcline" in fields else 0)
            if given or fields not in BY_THEMSELVES:
                assert sample.command == ("busy" if "comm" in fields else "")
                assert unknown.others == 0
            if "tid" in fields:
                assert sample.thread == 22909


@pytest.mark.parametrize("names", [("", "", ""), (" leaf", " main", " start")])
@pytest.mark.parametrize("source", ["", "  busy.c:3\n"])
def test_stacks_alone_need_no_modules(names: tuple[str, ...], source: str) -> None:
    addresses = (0x1139, 0x1187, 0x2724A)
    frames = zip(addresses, names, strict=True)
    stack = "".join(f"\t{each:16x}{name}\n{source}" for each, name in frames)
    lines = (f"\n{stack}\n" * 3).splitlines()
    assert is_perf_script(lines)
    for fields in ("", "ip,sym,srcline"):
        unknown = UnknownLines()
        samples = list(parse_perf_script(lines, unknown, fields))
        assert unknown.count == 0
        assert len(samples) == 3
        for sample in samples:
            assert isinstance(sample, PerfSample)
            assert tuple(each.address for each in sample.frames) == addresses


def test_sizes_of_symbols_are_no_addresses_of_samples() -> None:
    # As nm -S prints them.
    lines = ["0000000000001139 000000000000004e T leaf"] * 3
    assert not is_perf_script(lines)


@pytest.mark.parametrize(
    ("rest", "address", "what"),
    [
        ("  55d0  main+0x35 (/usr/bin/app) =>  55d000001210 f (/x)", 0x55D0, "main"),
        ("0 [unknown] ([unknown]) =>     7f6c00001100 _start (/x)", 0, "[unknown]"),
        ("call   55d0000010a5 main+0x35 (/usr/bin/app)", 0x55D0000010A5, "main"),
        ("ffffffff8826e448 native_write_msr ([k]) insn: 0f 30", 0xFFFFFFFF8826E448, ""),
        ("   7ffd12340000      401136 main+0x1 (/a)", 0x401136, "main"),
        ("  7ffd10 data (/x)       401136 main (/a)", 0x401136, "main"),
        (
            "  7ffd10 |OP LOAD|LVL L1 hit|SNP None|LCK No    30   0    55d0 main (/a)",
            0x55D0,
            "main",
        ),
        ("55d0 main (/a)  0x55d4/0x55e0/P/-/-/0 0x1/0x2/M/-/-/0", 0x55D0, "main"),
        ("  1 operator add 3(int, b)+0x3 (/opt/my app (x)/a.so)", 1, "operator"),
        ("  401136", 0x401136, ""),
        ("  401136 main+0x4", 0x401136, "main"),
    ],
)
def test_the_address_of_a_sample_is_told_from_other_fields(
    rest: str, address: int, what: str
) -> None:
    found = inline_frame(rest)
    assert found is not None
    assert found.address == address
    assert found.what.startswith(what)


@pytest.mark.parametrize(
    "rest",
    ["prev_comm=a next_pid=7", "fd: 1, count: 10", "(ffff) arg1=7", "word 12 more"],
)
def test_fields_of_tracepoints_are_no_addresses(rest: str) -> None:
    assert inline_frame(rest) is None


def test_an_address_of_data_is_not_that_of_the_stack() -> None:
    (sample,) = parse_perf_script(
        ["app 7 1.0: 1 page-faults:   7ffd10 data (/x)", "\t 1010 main (/a)"]
    )
    assert isinstance(sample, PerfSample)
    assert [each.symbol for each in sample.frames] == ["main"]


@pytest.mark.parametrize(
    "text",
    [
        # Go's heap profile, strace, a log, a stack of a debugger.
        (
            "heap profile: 3: 12288 [10: 40960] @ heap/1048576\n"
            "1: 8192 [4: 32768] @ 0x401110 0x401220\n#\t0x40110f\tmain.fill+0xf\n\n"
            "2: 4096 [6: 8192] @ 0x401140 0x401330\n#\t0x40113f\tmain.copy+0x3f\n"
        ),
        "100 1690000000.123456 read(3, 4) = 4\n100 1690000000.2 close(3) = 0\n",
        "worker 7 started: ok\nworker 8 started: ok\n",
        "#0  0x401136 in main () at a.c:3\n#1  0x7f00 in start (a.so)\n",
    ],
)
def test_texts_of_other_tools_are_not_taken(text: str) -> None:
    assert not is_perf_script(text.splitlines())


def test_the_layout_with_the_most_fields_is_taken() -> None:
    lines = ["pool 2     250000 cycles:", "", "main 3     250000 cycles:"]
    layout, share = find_layout(lines)
    assert share == 1
    found = layout.match(lines[0])
    assert found is not None
    assert (found["command"], found["process"], found["period"]) == (
        *("pool", "2", "250000"),
    )
    # Without periods, which perf prints ten digits wide, the numbers are of names.
    lines = ["pool 2 25649 cycles:", "", "Thread 1 25648 cycles:"]
    found = find_layout(lines)[0].match(lines[0])
    assert found is not None
    assert (found["command"], found["process"]) == ("pool 2", "25649")


def test_samples_may_have_only_a_name_and_an_event() -> None:
    text = "app cycles: \n\t            1136 main\n\t            1200 start\n\n"
    lines = (text * 2).splitlines()
    assert is_perf_script(lines)
    first, _ = parse_perf_script(lines)
    assert isinstance(first, PerfSample)
    assert first[:3] == ("app", None, None)
    assert [each.symbol for each in first.frames] == ["main", "start"]


@pytest.mark.parametrize("command", ["             app ", ""])
@pytest.mark.parametrize("period", ["    250000", "9999999999", "         1"])
def test_numbers_as_wide_as_periods_are_no_numbers_of_threads(
    command: str, period: str
) -> None:
    lines = [f"{command}{period} cycles:", "\t401136 leaf (/a)", ""] * 3
    found = find_layout(lines)[0].match(lines[0])
    assert found is not None
    assert found["period"] == period.strip()
    other = [f"{command}  123 cycles:", "\t401136 leaf (/a)", ""] * 3
    found = find_layout(other)[0].match(other[0])
    assert found is not None
    assert found["process"] == "123"
