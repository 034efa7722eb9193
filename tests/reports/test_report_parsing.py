"""Pastes taken apart: every form by examples, and what holds for any text."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, strategies as st

import gsym
from gsym.memory.regions import Region, Regions
from gsym.memory.stack_parts import (
    ParsedReport,
    ReportLimits,
    StackFrame,
    module_of_path,
)
from gsym.reports.stacks.recognition import parse_report
from tests import report_examples
from tests.report_examples import (
    CRASH_REPORT,
    GLIBC,
    IPS_REPORT,
    JVM,
    LOGCAT,
    MARKUP,
    MOZILLA,
    REQUEST,
    SANITIZER,
    TOMBSTONE,
)

pytestmark = pytest.mark.long

BUILD_ID = "80AE0509E7CE335AE3CAB61C274274DE96049B64"
UUID = "41068F5C74E33C9892566A18364FB5BA"
CORE_UUID = "7EBD494159783EF98FB724BB81E92C88"
DYLD_UUID = "7EBD4941597833EF98FB724BB81E92C8"
EXAMPLES = [
    text
    for name, text in vars(report_examples).items()
    if name.isupper() and isinstance(text, str)
]


def frames_of(stack: ParsedReport) -> list[StackFrame]:
    return [part for part in stack.parts if isinstance(part, StackFrame)]


def named_frames(stack: ParsedReport) -> list[tuple[str, str, int, str, bool]]:
    """Name of the module, the best id of it, address, base, whether it returns.

    Of the readings of a line the first, and no guesses.
    """
    found: list[tuple[str, str, int, str, bool]] = []
    lines: set[int] = set()
    for frame in frames_of(stack):
        if frame.is_guess or frame.line in lines:
            continue
        lines |= {frame.line} - {-1}
        _text, number, address, base, is_return = frame[:5]
        module = stack.modules[number] if number >= 0 else None
        name = module.name if module else ""
        key = module.key if module else None
        identifier = (key.code_id or key.debug_id) if key else ""
        found.append((name, identifier, address, base, is_return))
    return found


def whole_text(stack: ParsedReport) -> str:
    return "".join(part if isinstance(part, str) else part.text for part in stack.parts)


@pytest.mark.parametrize(
    ("paste", "form", "frames"),
    [
        (
            TOMBSTONE,
            "Android backtrace",
            [
                ("libfoo.so", BUILD_ID, 0x12345, "link", False),
                ("libgame.so", "", 0x6F8, "link", False),
                (
                    "libc.so",
                    "BA489D4985C0CF173209DA67405662F9",
                    0x89ABC,
                    "link",
                    False,
                ),
            ],
        ),
        (
            LOGCAT,
            "Android backtrace",
            [
                ("libdvm.so", "", 0x70B1A, "link", False),
                ("libdvm.so", "", 0x70B73, "link", False),
            ],
        ),
        (
            CRASH_REPORT,
            "Apple crash report",
            [
                ("Example Demo", UUID + "0", 0x2345, "image", True),
                ("CoreFoundation", CORE_UUID + "0", 0x1100, "image", True),
                ("Example Demo", UUID + "0", 0x1A2B, "image", False),
                ("CoreFoundation", CORE_UUID + "0", 0x1000, "image", True),
                ("", "", 0x10, "either", True),
            ],
        ),
        (
            IPS_REPORT,
            "Apple crash report (.ips)",
            [
                ("Example", UUID + "0", 0x1000, "image", False),
                ("dyld", DYLD_UUID + "0", 0x2000, "image", True),
                ("", "", 7, "either", True),
            ],
        ),
        (
            MARKUP,
            "symbolizer markup",
            [
                ("libdemo:1.so", "83238AB56BA10497", 0x1010, "link", False),
                ("libdemo:1.so", "83238AB56BA10497", 0x1020, "link", True),
                ("libdemo:1.so", "83238AB56BA10497", 0x1030, "link", False),
                ("", "", 0x10, "link", True),
                ("", "", 0x7ACBA69D4010, "link", False),
            ],
        ),
        (
            SANITIZER,
            "sanitizer",
            [
                ("", "", 0, "either", False),
                ("libc.so.6", "E6A8B4F2", 0x26D09, "either", False),
                ("server", "", 0x1C9, "either", False),
            ],
        ),
        (
            JVM,
            "JVM error file",
            [
                ("libzip.so", "", 0x1234, "either", False),
                ("libjvm.so", "", 0x5AB3F0, "either", True),
            ],
        ),
        (
            GLIBC,
            "glibc backtrace()",
            [
                ("libc.so.6", "", 0x29D90, "either", True),
                ("prog", "", 0, "symbol", True),
            ],
        ),
        (
            MOZILLA,
            "Mozilla stack walk",
            [("libxul.so", "", 0x1A2B3C, "image", True)],
        ),
        (
            REQUEST,
            "symbolication request",
            [
                (
                    "xul.pdb",
                    "44E4EC8C2F41492B9369D6B9A059577C2",
                    11723767,
                    "image",
                    False,
                ),
                ("bad", "xyz", 5, "image", False),
                ("", "", 7, "either", False),
                ("a.so", "", 1, "image", False),
            ],
        ),
        ("libfoo.so+0x1234", "addresses", [("libfoo.so", "", 0x1234, "either", False)]),
        (
            "libstdc++.so.6 + 0x1F\r\n",
            "addresses",
            [("libstdc++.so.6", "", 0x1F, "either", False)],
        ),
        (
            r"3  C:\Program\xul.dll+0xabc extra",
            "addresses",
            [("xul.dll", "", 0xABC, "either", True)],
        ),
        ("#3 0x12 xul.dll", "addresses", [("xul.dll", "", 0x12, "either", True)]),
        ("prog+0x12", "addresses", [("prog", "", 0x12, "either", False)]),
        (
            "xul.pdb/44E4EC8C2F41492B9369D6B9A059577C2+0x1f",
            "addresses",
            [("xul.pdb", "44E4EC8C2F41492B9369D6B9A059577C2", 0x1F, "either", False)],
        ),
        ("  at main+0x12 here", "text without frames", []),
        (
            "ntdll.dll!RtlUserThreadStart+0x21",
            "addresses",
            [("ntdll.dll", "", 0, "symbol", False)],
        ),
        (
            "RIP: do_sys.isra.0+0x12/0x30",
            "kernel stack",
            [("vmlinux", "", 0, "symbol", False)],
        ),
        ("main.c:12+0x5", "text without frames", []),
        ("libfoo.so+0x12345678901234567", "text without frames", []),
        ("0x1234 0x5678", "text without frames", []),
        ('{"jobs": 1}', "text without frames", []),
        ("{" * 100_000, "text without frames", []),
        ("", "text without frames", []),
    ],
)
def test_each_format_is_recognised_with_its_frames(
    paste: str, form: str, frames: list[tuple[str, str, int, str, bool]]
) -> None:
    stack = parse_report(paste)
    assert stack.form == form
    assert named_frames(stack) == frames


def test_stacks_of_a_crash_report_have_its_headings() -> None:
    stacks = parse_report(CRASH_REPORT).stacks
    found = [(each.name, each.is_crashed) for each in stacks]
    assert found == [("Last Exception Backtrace", False), ("Thread 0", True)]


@pytest.mark.parametrize(
    ("paste", "shown"),
    [
        (
            "#00 pc 0012  /l/a.so (f+1) (BuildId: ab)\r\n",
            ["0012  /l/a.so (f+1) (BuildId: ab)"],
        ),
        ("C  [libjvm.so+0x5f]  JVM+0x10\n", ["[libjvm.so+0x5f]  JVM+0x10"]),
        ("x {{{bt:0:0x10:pc}}} y", ["{{{bt:0:0x10:pc}}}"]),
        # Two readings of one frame, of which the answer has the first.
        ("/lib/libc.so.6(+0x29d90) [0x7f]", ["/lib/libc.so.6(+0x29d90)", "0x7f"]),
    ],
)
def test_a_frame_replaces_only_its_own_text(paste: str, shown: list[str]) -> None:
    assert [frame.text for frame in frames_of(parse_report(paste))] == shown


@pytest.mark.parametrize(
    ("paste", "addresses"),
    [
        ("0x401136", [0x401136]),
        ("401136 4011ff,5", [0x401136, 0x4011FF]),
        ("pc=0x10 lr=0x20", [0x10, 0x20]),
        ("libother.so+0x7 0x9", [0x7, 0x9]),
        ("no address, dead beef.", []),
    ],
)
def test_bare_addresses_belong_to_the_chosen_module(
    paste: str, addresses: list[int]
) -> None:
    stack = parse_report(paste, module_of_path("libfoo.so"))
    assert [frame.address for frame in frames_of(stack)] == addresses
    assert whole_text(stack) == paste


def test_modules_that_cannot_be_looked_up_have_a_reason() -> None:
    stack = parse_report(REQUEST)
    assert [module.problem for module in stack.modules] == [
        "",
        "'xyz' is not a debug id",
        "",
    ]
    assert stack.notes == (
        "Frames that are not pairs of numbers are left out.",
        "Job 2 has no memoryMap and stacks.",
    )


@pytest.mark.parametrize(("count", "notes"), [(3, 0), (4, 1)])
def test_frames_beyond_the_limit_stay_text(count: int, notes: int) -> None:
    paste = "a.so+0x1\n" * count
    stack = parse_report(paste, limits=ReportLimits(frames=3))
    assert len(frames_of(stack)) == 3
    assert len(stack.notes) == notes
    assert whole_text(stack) == paste


@pytest.mark.parametrize(("count", "unknown"), [(3, 0), (4, 1)])
def test_modules_beyond_the_limit_are_unknown(count: int, unknown: int) -> None:
    paste = "".join(f"a{each}.so+0x1\n" for each in range(count))
    stack = parse_report(paste, limits=ReportLimits(modules=3))
    assert len(stack.modules) == 3
    assert [frame.module for frame in frames_of(stack)].count(-1) == unknown
    assert len(stack.notes) == unknown


def test_modules_of_one_name_in_two_folders_are_two() -> None:
    stack = parse_report(
        "7f0000000000-7f0000001000 r-xp 00000000 08:01 1 /a/libplug.so\n"
        "7f1000000000-7f1000001000 r-xp 00000000 08:01 2 /b/libplug.so\n"
        "(/b/libplug.so+0x10)\n(/a/libplug.so+0x20)\n(libplug.so+0x30)\n"
    )
    paths = [stack.modules[frame.module].path for frame in frames_of(stack)]
    assert paths == ["/b/libplug.so", "/a/libplug.so", "/a/libplug.so"]


@pytest.mark.parametrize(("limit", "base"), [(1, "link"), (2, "image")])
def test_images_beyond_the_limit_are_not_placed(limit: int, base: str) -> None:
    paste = (
        "1000-2000 r-xp 00000000 08:01 1 /a/liba.so\n"
        "3000-4000 r-xp 00000000 08:01 2 /b/libb.so\n"
        "#0  0x3010 in ?? () from /b/libb.so\n"
    )
    stack = parse_report(paste, limits=ReportLimits(images=limit))
    assert [frame.base for frame in frames_of(stack)] == [base]


def test_what_no_utf_8_has_is_replaced_in_json() -> None:
    report = {
        "usedImages": [{"name": "x\ud800", "uuid": "", "base": 0x10000}],
        "threads": [
            {
                "name": "t\ud800",
                "frames": [{"imageOffset": 1, "imageIndex": 0, "symbol": "f\ud800"}],
            }
        ],
    }
    stack = parse_report(json.dumps(report))
    whole_text(stack).encode()
    assert stack.modules[0].name == "x?"


@pytest.mark.parametrize(("size", "frames"), [(20, 1), (21, 0)])
def test_a_line_beyond_the_limit_holds_no_frame(size: int, frames: int) -> None:
    paste = "a.so+0x1".ljust(size)
    stack = parse_report(paste, limits=ReportLimits(line=20))
    assert len(frames_of(stack)) == frames
    assert whole_text(stack) == paste


@pytest.mark.parametrize(("count", "notes"), [(3, 0), (4, 1)])
@pytest.mark.parametrize("ending", ["", "\n"])
def test_lines_beyond_the_limit_hold_no_frame(
    count: int, notes: int, ending: str
) -> None:
    paste = "\n".join(["a.so+0x1"] * count) + ending
    stack = parse_report(paste, limits=ReportLimits(lines=3))
    assert len(frames_of(stack)) == 3
    assert len(stack.notes) == notes
    assert whole_text(stack) == paste


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Nov 23 08:00:01 host app[123]: ", ""),
        ("2026-11-23T08:00:01.1Z stderr F ", ""),
        ('{"log":"', '\\n","stream":"stderr"}'),
        ('time="x" level=error msg="', '"'),
        ("> ", ""),
        ("crash.c:2 ", ""),
        ("\x1b[31m", "\x1b[0m"),
        ("\x1b[1m\x1b[31m", "\x1b[m\x1b[K"),
    ],
)
@pytest.mark.parametrize(
    "line",
    [
        "./app(+0x1189) [0x55d1c0ffe189]",
        "./app(main+0x1a) [0x55d1c0ffe189]",
        "#1 0x55d1c0ffe189  (./app+0x1189) (BuildId: 160da11f)",
    ],
)
def test_logs_put_text_around_frames(line: str, before: str, after: str) -> None:
    alone = named_frames(parse_report(line))
    stack = parse_report(before + line + after)
    assert named_frames(stack) == alone
    assert whole_text(stack) == before + line + after


def test_colours_within_a_frame_are_a_part_of_it() -> None:
    line = "#1  \x1b[34m0x4011dd\x1b[m in \x1b[33m??\x1b[m () from \x1b[32m/a.so\x1b[m"
    stack = parse_report(line)
    (frame,) = frames_of(stack)
    assert (frame.address, stack.modules[frame.module].path) == (0x4011DD, "/a.so")
    assert frame.text == "??\x1b[m () from \x1b[32m/a.so"
    assert whole_text(stack) == line


def test_images_that_overlap_others_are_left_out() -> None:
    images = Regions()
    images.add(Region(0x1000, 0x2000, 1, 0, 0x100))
    images.add(Region(0x1FFF, 0x3000, 2))
    images.add(Region(0x800, 0x1001, 3))
    images.add(Region(0x2000, 0x2000, 4))
    images.add(Region(0x2000, 0x3000, 5))
    found = [images.region(each) for each in (0xFFF, 0x1000, 0x1FFF, 0x2000, 0x3000)]
    assert [each and (each.module, each.address) for each in found] == [
        *(None, (1, 0x100), (1, 0x10FF), (5, 0), None)
    ]


def test_an_image_without_an_end_reaches_up_to_the_next() -> None:
    images = Regions()
    images.add(Region(0x1000, 0, 1))
    images.add(Region(0x5000, 0x6000, 2))
    images.add(Region(0x6000, 0, 3))
    images.close()
    ends = (0x1000, 0x4FFF, 0x5000, 0x6000, 0x6000 + (1 << 32))
    found = [images.region(each) for each in ends]
    assert [each and each.module for each in found] == [1, 1, 2, 3, None]
    images.add(Region(0x3000, 0, 4))
    images.close()
    found = [images.region(each) for each in (0x2FFF, 0x3000, 0x4FFF, 0x5000)]
    assert [each and each.module for each in found] == [1, 4, 4, 2]


@given(st.lists(st.integers(0, 0x3000), min_size=1, unique=True))
def test_an_image_without_an_end_may_be_added_at_once(places: list[int]) -> None:
    images = Regions()
    for at, place in enumerate(places):
        start = place << 24  # some are in others
        if images.covering(start) is None:
            images.add_open(Region(start, 0, at))
    found = list(images.regions)
    images.close()
    assert found == images.regions


WORDS = (
    *(
        "{{{",
        "}}}",
        "bt:",
        "pc:0x1000",
        "reset",
        "module:1:a:elf:ab",
        ":pc",
        "\n",
        "\r",
    ),
    *("mmap:0x1000:0x100:load:1:r:0x0", " ", "#00 pc 00ff ", "/lib/x.so", "+0x1f"),
    *("(BuildId: abcd)", "Binary Images:\n", "0x1000 - 0x2000 a <", "-", "0", "\x85"),
    *("3  a\t0x1000 ", '{"jobs": [', '{"threads": [], "usedImages": [', "]}", "\u2028"),
    *("xul.pdb/44E4EC8C2F41492B9369D6B9A059577C2", "[", "]", "(", ")", "\0", "\ud800"),
)


@given(st.one_of(st.text(), st.lists(st.sampled_from(WORDS)).map("".join)))
@example("{{{bt:0:0x10:pc}}}")
def test_any_text_is_parsed_without_loss(text: str) -> None:
    chosen = module_of_path("libfoo.so")
    for stack in (parse_report(text), parse_report(text, chosen)):
        if stack.is_verbatim:
            assert whole_text(stack) == text
        for frame in frames_of(stack):
            assert -1 <= frame.module < len(stack.modules)
            assert 0 <= frame.address < 2**64


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(
                (
                    *("jobs", "stacks", "memoryMap", "threads", "usedImages", "name"),
                    *("frames", "imageOffset", "imageIndex", "uuid", "exception"),
                    *("lastExceptionBacktrace", "symbol"),
                )
            ),
            inner,
        ),
    ),
    max_leaves=30,
)


@given(
    st.fixed_dictionaries({"threads": st.lists(json_values)}).flatmap(
        lambda d: st.fixed_dictionaries({"usedImages": st.lists(json_values)}).map(
            d.__or__
        )
    )
    | st.fixed_dictionaries({"jobs": st.lists(json_values)})
    | st.fixed_dictionaries(
        {"memoryMap": st.lists(json_values), "stacks": st.lists(json_values)}
    )
)
def test_any_json_report_or_request_is_parsed(value: object) -> None:
    stack = parse_report(json.dumps(value))
    assert not stack.is_verbatim
    assert [
        each for each in frames_of(stack) if not -1 <= each.module < len(stack.modules)
    ] == []


@pytest.mark.parametrize("paste", EXAMPLES)
def test_a_truncated_paste_is_parsed(paste: str) -> None:
    for end in range(0, len(paste), 7):
        stack = parse_report(paste[:end])
        if stack.is_verbatim:
            assert whole_text(stack) == paste[:end]


HOSTILE = (
    *("+0x1" * 1000, "a" * 4000, "{{{bt:" * 600, "(" * 4000, "0x1 " * 1000),
    *("#" * 4000, "1 " * 2000, "a.so+0x1!" * 400, " " * 4000, "1" * 4000),
)


def test_work_is_linear_in_the_length_of_a_line() -> None:
    """Quadratic work would take hours for a mebibyte of such lines."""
    chosen = module_of_path("libfoo.so")
    for line in HOSTILE:
        paste = (line + "\n") * 8
        assert whole_text(parse_report(paste, chosen)) == paste


STATES = {
    "arm64": (
        {
            "x": [{"value": 5}, {"value": 6, "symbol": "main"}],
            "flavor": "ARM_THREAD_STATE64",
            "lr": {"value": 0x100001234},
            "fp": {"value": 1},
            "sp": {"value": 2**64 - 1},
            "pc": {"value": 7, "matchesCrashFrame": 1},
            "far": {"value": 0},
        },
        {"x0": 5, "x1": 6, "x30": 0x100001234, "x29": 1, "sp": 2**64 - 1}
        | {"pc": 7, "far": 0},
    ),
    "x86-64": (
        {"flavor": "x86_THREAD_STATE", "rax": {"value": 3}, "rip": {"value": 4}},
        {"rax": 3, "rip": 4},
    ),
    "damaged": (
        {
            "x": 5,
            "a": None,
            "b": {"value": "1"},
            "c": {"value": -1},
            "d": {"value": True},
        }
        | {"e": {"value": 2**64}, "f": {"value": 8}},
        {"f": 8},
    ),
    "no object": ([1], {}),
}


@pytest.mark.parametrize("name", STATES)
def test_the_thread_that_crashed_has_its_registers_in_ips_reports(name: str) -> None:
    """Of other threads only a few have a state, and it is not that of the crash."""
    state, registers = STATES[name]
    frames = [{"imageOffset": 0x10, "imageIndex": 0}]
    first = {"frames": frames, "threadState": {"rip": {"value": 1}}}
    second = {"triggered": True, "frames": frames, "threadState": state}
    images = [{"uuid": UUID, "name": "App", "base": 0x100000000}]
    made = json.dumps({"threads": [first, second], "usedImages": images})
    other, crashed = gsym.symbolicate(made).threads
    assert crashed.registers == registers
    assert other.registers == {}


@pytest.mark.parametrize(
    "key", ["triggered", "crashed", "is_crashed", "crash_thread", "crashing_thread"]
)
@pytest.mark.parametrize("value", [True, False])
def test_json_says_which_thread_crashed(key: str, value: bool) -> None:  # noqa: FBT001
    """As `crash_thread` in the core_backtrace of ABRT."""
    frame = {
        "address": 0x555555555180,
        "build_id": "5f" * 20,
        "build_id_offset": 0x1180,
        "file_name": "/usr/bin/app",
    }
    threads = [{"frames": [frame]}, {key: value, "frames": [frame]}]
    report = gsym.symbolicate(json.dumps({"stacktrace": threads}))
    assert [each.is_crashed for each in report.threads] == [False, value]


@pytest.mark.parametrize(
    "line", ["f367642ba4 fd60f05845 7750937213", "a1b2c 0x7f12ab1000", "123+456 1+2"]
)
def test_a_number_is_no_module(line: str) -> None:
    stack = parse_report(f"{line}\n" * 3)
    assert stack.modules == ()
    assert frames_of(stack) == []


@given(st.lists(st.text("0123456789abcdefx, \t\n"), max_size=9))
def test_lines_of_numbers_are_text(pieces: list[str]) -> None:
    text = "0x".join(pieces)
    stack = parse_report(text)
    assert "".join(map(str, stack.parts)) == text
    assert stack.modules == ()


def test_numbers_above_the_name_of_a_module_may_be_in_it() -> None:
    stack = parse_report("0x1189 0x1200\nlibfoo.so\n")
    assert [frame.address for frame in frames_of(stack)] == [0x1189, 0x1200]


GDB_MAPPINGS = """\
  0x555555554000     0x555555555000     0x1000     0x0  r--p   /opt/app
  0x555555555000     0x555555556000     0x1000     0x1000  r-xp   /opt/app
#1  0x0000555555555010 in ?? ()
"""
LLDB_IMAGE = """\
[  0] 5F2C0A7E-74E3-3C98-9256-6A18364FB5BA 0x0000000100000000 /opt/My App
  * frame #0: 0x0000000100001010 My App`main + 16
"""


@pytest.mark.parametrize(
    ("text", "path"), [(GDB_MAPPINGS, "/opt/app"), (LLDB_IMAGE, "/opt/My App")]
)
def test_a_frame_is_in_the_module_that_a_line_places(text: str, path: str) -> None:
    stack = parse_report(text)
    (found,) = frames_of(stack)
    assert (stack.modules[found.module].path, found.address) == (path, 0x1010)


_ID = "41068F5C-74E3-3C98-9256-6A18364FB5BA"


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("0x100000000 - 0x10000ffff  My Lib.dll  1.0.0.0  (main)", "My Lib.dll"),
        ("0x100000000 - 0x10000ffff  firefox-bin  ???  (main)", "firefox-bin"),
        ("0x100000000 - 0x10000ffff  My App  1.0.0.0", "My App"),
        (f"  0x100000000 - 0x10000ffff +libfoo.dylib <{_ID}>", "libfoo.dylib"),
        (f"  0x100000000 - 0x10000ffff app (0) <{_ID}>", "app"),
        (f"  0x100000000 - 0x10000ffff App (1.0) <{_ID}> ???", "App"),
        (f"  0x100000000 - 0x10000ffff +x (1) <{_ID}> /a b/My App", "/a b/My App"),
        (f"[  1] {_ID} 0x0000000100000000 app", "app"),
        (f"[  1] {_ID} 0x0000000100000000 /a/dyld (0x0000000100000000)", "/a/dyld"),
        ("00000001`00000000 00000001`00010000   app     (deferred)", "app"),
        ("00000001`00000000 00000001`00010000   app   C (pdb)  C:\\a.pdb", "app"),
        ("ModLoad: 00000001`00000000 00000001`00010000   /a b/x.exe", "/a b/x.exe"),
        ("My.dll\tC:\\a b\\My.dll\tN/A\t0000000100000000-0000000100010000", "My.dll"),
        ("My x.dll\tC:\\My x.dll\tN/A\t0000000100000000-0000000100010000", "My x.dll"),
        ("Loaded /opt/libapp.so at 0x100000000", "/opt/libapp.so"),
        ("/opt/libapp.so base=0x100000000 size=0x10000", "/opt/libapp.so"),
        ("0x100000000 /opt/libapp.so symbols loaded", "/opt/libapp.so"),
        ("0x100000000 /opt/My App/lib app.so", "/opt/My App/lib app.so"),
    ],
)
def test_a_line_tells_the_whole_name_of_the_module_that_it_places(
    line: str, path: str
) -> None:
    stack = parse_report(f"#1  0x0000000100001010 in ?? ()\n{line}\n")
    (found,) = frames_of(stack)
    assert (stack.modules[found.module].path, found.address) == (path, 0x1010)


def test_the_frame_of_a_crash_report_names_a_program_with_a_blank() -> None:
    stack = parse_report(
        "Thread 0 Crashed:\n"
        "0   My App             0x0000000104a15020 0x104a14000 + 4128\n"
        "1   My App             0x0000000104a15120 main + 32\n"
    )
    names = [stack.modules[each.module].name for each in frames_of(stack)]
    assert names == ["My App", "My App"]


def test_perf_says_which_part_of_a_file_is_mapped() -> None:
    text = (
        "app 4711 1.0: PERF_RECORD_MMAP2 4711/4711: [0x55d1c0ffe000(0x1000) @ 0x1000 "
        "08:01 123 0]: r-xp /opt/app\n\t    55d1c0ffe010 [unknown] (/opt/app)\n"
    )
    found = frames_of(parse_report(text))[-1]
    assert (found.address, found.base) == (0x1010, "file")
