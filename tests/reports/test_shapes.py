"""Lines that only differ in their numbers are read as each is alone."""

from __future__ import annotations

import re
import tracemalloc
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given, strategies as st

from gsym.engine.native import ffi, lib
from gsym.memory.stack_parts import StackFrame, module_of_path
from gsym.reports.stacks.recognition import mapped_ranges, parse_report
from gsym.reports.stacks.repeated_lines import NO_SHAPE, LineKeys
from gsym.reports.stacks.shapes import Shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.reports.stacks.shapes import Shape

# Pairs that patterns or tokens tell apart, as similar as they can be.
PAIRS = (
    ("    #1 0x12  (/opt/app+0x12)", "    #1 0x1f  (/opt/app+0x1f)"),
    ("    #1 0x12  (/opt/app+0x1)", "    #1 0x1  (/opt/app+0x12)"),
    ("app+0x10 at 12", "app+0x1 at 123"),
    ("app+12 (a1)", "app+1f (a1)"),
    ("0x1234 in facade", "0x1234 in faca12"),
    ("(00401000 00402000", "(a0401000 b0402000"),
    ("app 0x1000 0x1234", "app 0x1010 0x1234"),
    ("app r1 0x5551", "app b1 0x5551"),
    ("#1 0x5551 app!f + 0x1A", "#1 0x555a app!f + 0x1a"),
    ("pc 0x5551 in cafe12 of cafe12", "pc 0x5551 in cafe12 of beef34"),
    ("pc 0x5551 of lib-1 in lib-1", "pc 0x5551 of lib-1 in lib-2"),
    ("  $00000000004010C3  ACT", "  $00000000004010cC  ACT"),
    ("0x12340 (cafe12) from cafe12", "0x12340 (cafe12) from beef34"),
    ("a_leaf+0x12/0x34 [a_mod]", "a_root+0x12/0x34 [b_mod]"),
    ("a_leaf+0x12 in a_leaf", "a_root+0x12 in b_leaf"),
    ("\ta_leaf+0x12 (/opt/app)", "\tb_root+0x12 (/opt/cpp)"),
    ("./app(a_leaf+0x12) [0x5551]", "./app(b_root+0x12) [0x5551]"),
    ("0x5551 in ns::leaf (./app+0x1)", "0x5551 in ns::root (./app+0x1)"),
    ("a_name: 0x5551 in app", "b_name: 0x5551 in app"),
    ("app!a_leaf+0x12", "app!b_root+0x12"),
)


def readings(text: str) -> list[tuple[object, ...]]:
    """The frames of a text, and what each may be instead."""
    parsed = parse_report(text)
    names = [each.name for each in parsed.modules]
    return [
        (each.text, names[each.module] if each.module >= 0 else "", *each[2:7])
        for part in parsed.parts
        if isinstance(part, StackFrame)
        for each in (part, *part.others)
    ]


@pytest.mark.parametrize("pair", PAIRS)
def test_lines_of_nearly_the_same_shape_are_read_as_each_alone(
    pair: tuple[str, str],
) -> None:
    first, second = (f"{each}\n" for each in pair)
    alone = [readings(first), readings(second)]
    assert readings(f"{first}\n{second}") == alone[0] + alone[1]
    assert readings(f"{second}\n{first}") == alone[1] + alone[0]


LINES = (
    "    #%d 0x%s  (/opt/lib/app+0x%s) (BuildId: %s)",
    "./app(+0x%s) [0x%s]",
    "%s main+0x%s (/opt/app)",
    "[%s] <%s> in %s of app-%s +0x%s",
    "$%s app %s %s",
    "%s|%s|app||||0x%s",
    "at app!f+0x%s %s, from %s",
    "#1  0x%s in ?? () from /lib/libfoo.so",
    "[  12.3%d] ? run+0x%s/0x%s",
    "2026-11-%dT08:%d:01.%dZ stderr F ./app(+0x%s) [0x%s]",
    "%s 000000d5`1f2ff6b8 00007ff6`1a2b1120     app!f+0x%s",
    "[0x%s] *Foo +%s in ./app",
    "\t/src/a.go:%d +0x%s fp=0xc000 sp=0xc000 pc=0x%s",
    "[<0>] %n+0x%s/0x%s [nf_tables]",
    "\t  0x%s %n+0x%s (/opt/app)",
    "#1 0x%s in %n (app+0x%s)",
    "    @     0x%s %n",
    "%n: ./app(%n+0x%s) [0x%s]",
    "at app!%n+0x%s of %n",
)
NAMES = st.sampled_from(["a_leaf", "b_leaf", "a_2fff", "std::f", "isLeaf", "a_if01"])
DIGITS = st.text("0123456789abcdefABCDEF", min_size=1, max_size=17) | st.sampled_from(
    ["cafe12", "beef34", "12", "55d1c0ffe000", "0000", "DEAD1234", "7", "1"]
)


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """Several lines of one template."""
    template = draw(st.sampled_from(LINES)).replace("%d", "%s")
    kinds = [
        NAMES if each == "%n" else DIGITS for each in re.findall("%[ns]", template)
    ]
    rows = st.lists(st.tuples(*kinds), min_size=2, max_size=4)
    return [f"{template.replace('%n', '%s') % row}\n" for row in draw(rows)]


def each_alone(_: LineKeys, several: Sequence[str], _longest: int) -> list[int]:
    """Numbers of lines that are all of other shapes."""
    return [NO_SHAPE] * len(several)


@given(lines())
def test_what_is_known_of_a_line_is_right_for_others(several: list[str]) -> None:
    text = "".join(several)
    found = readings(text)
    with patch.object(LineKeys, "shapes", each_alone):
        assert found == readings(text)


NUMBER = re.compile(
    r"(?<=0[xX])[0-9a-fA-F]+|((?<!\w)|(?<=\d\d[Tx])(?=\d\d))"
    r"(\d+|(?=[a-fA-F]*\d)[0-9a-fA-F]{6,})((?!\w)|(?<=\d\d)(?=[Tx]\d\d)|(?<=.\d)(?=Z(?!\w)))",
    re.ASCII,
)


def masked(text: str) -> bytes:
    """A text without the values of its numbers."""
    plain = text.encode("utf-8", "surrogatepass")
    found = bytearray(len(plain))
    lib.gsym_text_mask_numbers(plain, len(plain), ffi.from_buffer(found))
    return bytes(found)


NAME = re.compile(
    r"(?<![\w./\\\-@~$!`%\"'=&?#+:])(?=\w*(_|[a-z][A-Z]|::\w))(?=[\w:]*[g-wyz])"
    r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*(?=\+0|(?![\w./\\\-@~$!`%\"'=&?#+:]))",
    re.ASCII,
)
TEXTS = st.text(st.sampled_from("0x1a9AFgTZ_ .-+:\n"), max_size=60)


@given(TEXTS)
def test_only_digits_of_numbers_and_names_are_masked(text: str) -> None:
    found = (*NUMBER.finditer(text), *NAME.finditer(text))
    inside = {at for each in found for at in range(*each.span())}
    for at, (each, byte) in enumerate(zip(text, masked(text), strict=True)):
        assert byte == ord(each) or (at in inside and byte >= 0xF8)


@pytest.mark.parametrize(
    ("text", "masks"),
    [
        ("0x12 12 0xab 0xAB 0xaB", "0xaa aa 0xbb 0xcc 0xaB"),
        ("abcde1 ABCDE1 1abcde abcdef", "eeeeee ffffff bbbbbb abcdef"),
        ("a12 12a ab12 é12 12é", "a12 12a ab12 é12 12é"),
        ("abcde1 abcde1 abcde2", "abcde1 abcde1 eeeeee"),
        ("abcde1\nabcde1", "eeeeee\neeeeee"),
        ("app-1 lib-1 app-2 3 3", "app-1 lib-1 app-a a a"),
        ("2026-11-23T08:00:01.25Z", "aaaa-aa-aaTaa:aa:aa.aaZ"),
        ("1920x1080 00x12 10x0x12", "aaaaxaaaa aaxaa 10xaxaa"),
        (
            "11T 1Ta aT1 T11 _1T1 11Tx 1Z1 Z1 1Za",
            "11T 1Ta aT1 T11 _1T1 11Tx 1Z1 Z1 1Za",
        ),
        ("do_exit+0x1/0x2 isLeaf std::f", "nnnnnnn+0xa/0xa nnnnnn nnnnnn"),
        ("do_exit do_idle do_exit", "do_exit nnnnnnn do_exit"),
        ("schedule dead_beef PERF_MAP", "schedule dead_beef PERF_MAP"),
        (
            "a/do_exit do_exit.c do_exit: do_exit=",
            "a/do_exit do_exit.c do_exit: do_exit=",
        ),
        ("do_exit+12 'do_exit' pc:do_exit", "do_exit+aa 'do_exit' pc:do_exit"),
    ],
)
def test_a_mask_tells_kinds_of_numbers_apart(text: str, masks: str) -> None:
    kinds = {0xF8: "a", 0xF9: "b", 0xFA: "c", 0xFB: "d", 0xFC: "e", 0xFD: "f"}
    kinds[0xFF] = "n"
    shown = bytes([ord(kinds.get(each, chr(each))) for each in masked(text)])
    assert shown == masks.encode()


def test_the_shapes_of_a_long_text_are_not_all_kept() -> None:
    shapes = Shapes(1 << 14, takes_bare=False)
    text = [f"{'x' * 3000}{chr(0x100 + at)}\n" for at in range(500)]
    tracemalloc.start()
    try:
        for at in range(8):
            shapes.of([f"{at}x{line}" for line in text])
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < sum(map(len, text)) * 8


def test_a_word_beside_ranges_of_many_lines_is_no_module() -> None:
    kernel = "[    0.1] pci 0000:00:00.0: BAR 0: assigned [mem 0x%08x-0x%08x pref]\n"
    log = "".join(kernel % (at << 16, (at + 1) << 16) for at in range(2_000))
    table = "".join(f"lib{at}.so 0x{at:05}000-0x{at:05}fff\n" for at in range(1, 2_000))
    assert 0 < len(mapped_ranges(log, "", {})[0]) <= 64
    assert len(mapped_ranges(table, "", {})[0]) == 1_999
    stack = "app 0x55d1c0ffd000-0x55d1c0fff000\n#1 0x55d1c0ffe010 in leaf\n"
    found = [each for each in readings(log + stack) if each[1] == "app"]
    assert [each[2] for each in found] == [0x1010]


def test_few_long_lines_are_read_at_once() -> None:
    sizes: list[int] = []
    found = Shapes.of

    def noted(shapes: Shapes, several: Sequence[str]) -> list[Shape]:
        sizes.append(sum(map(len, several)))
        return found(shapes, several)

    with patch.object(Shapes, "of", noted):
        parse_report(f"0x12 {'x' * 15_000}\n" * 300)
    assert max(sizes) <= 1 << 20
    assert sum(sizes) >= 300 * 15_000


def test_symbols_of_a_table_are_no_frames_unless_a_module_is_chosen() -> None:
    lines = ("T _text", "t run.cold [nf_tables]", "(D) data", "W __weak@@GLIBC_2.2")
    text = "".join(f"ffffffff8100{at}123 {each}\n" for at, each in enumerate(lines))
    assert parse_report(text).parts == (text,)
    chosen = parse_report(text, module_of_path("vmlinux")).parts
    assert sum(isinstance(each, StackFrame) for each in chosen) == len(lines)
