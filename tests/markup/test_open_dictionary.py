"""Dictionaries over several lines: which lines they have, and when they are text."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gsym.markup.filter import MarkupFilter
from gsym.markup.log_stream import OpenDictionary
from gsym.markup.settings import STYLES, FilterSettings
from tests.markup_modules import Modules

pytestmark = pytest.mark.long

BEGIN = b"{{{hexdict: A: 0x1041\n"
PREFIX = b"Nov 22 04:52:59 host app[17]: [    9.99] "


def taken(lines: list[bytes], most_bytes: int = 1 << 16) -> list[tuple[int, bytes]]:
    """What comes of lines, without what waits for an end."""
    dictionary = OpenDictionary(FilterSettings(hexdict_limit=most_bytes))
    return [
        each
        for number, line in enumerate(lines, 1)
        for each in dictionary.take(number, line)
    ]


GOES_ON = [
    b"B: 0x0\n",
    b"  B:0xFFFFFFFFFFFFFFFF C:   0\r\n",
    b"\n",
    b" \t\n",
    b"B: 000 C: 12\n",
    b"<b>: 0x1\n",
    b"CR2: 0 R8: 0x3b1373489860  R9:         0x2776ff4f",
]
ENDS_IT = [
    b"next\n",
    b"B: 0x1 next\n",
    b"next B: 0x1\n",
    b"B: 0x1,\n",
    b"B: 0x1g\n",
    b"B: ff\n",
    b"B:\n",
    b"B 0x1\n",
    b": 0x1\n",
    b"0x1\n",
    b"B: {0x1}\n",
    b"{{{pc:0x1011}}}\n",
    b"{{{symbol:_Z1fv}}} B: 0x1\n",
    b"\0\n",
]


@pytest.mark.parametrize("prefix", [b"", PREFIX])
@pytest.mark.parametrize("line", GOES_ON)
def test_a_line_of_pairs_continues_the_dictionary(prefix: bytes, line: bytes) -> None:
    lines = [prefix + BEGIN, prefix + line, prefix + b"}}} more\n"]
    assert taken(lines[:2]) == []
    assert taken(lines) == [(1, b"".join(lines))]


@pytest.mark.parametrize("prefix", [b"", PREFIX])
@pytest.mark.parametrize("line", ENDS_IT)
def test_any_other_line_releases_all_lines(prefix: bytes, line: bytes) -> None:
    lines = [prefix + BEGIN, prefix + b"B: 0\n", prefix + line]
    assert taken(lines) == [*enumerate(lines, 1)]


@pytest.mark.parametrize(
    ("line", "goes_on"),
    [
        (b"Dec  1 14:02:01 host app[9]: [ 1234.56] B: 0x1\n", True),
        (b"Nov 22 04:52:59 host app[17]: [   10.00]B: 0x1\n", False),
        (b"Nov 22 04:52:59 other app[17]: [    9.99] B: 0x1\n", False),
        (b"Nov 22 04:52:59\n", False),
        (b"B: 0x1\n", True),
    ],
)
def test_prefixes_of_lines_may_differ_in_numbers(line: bytes, *, goes_on: bool) -> None:
    lines = [PREFIX.replace(b"Nov", b"Dec") + BEGIN, line]
    if line.startswith(b"Nov"):
        lines[0] = PREFIX + BEGIN
    assert taken(lines) == ([] if goes_on else [*enumerate(lines, 1)])


@pytest.mark.parametrize("size", [255, 256, 257])
def test_prefix_of_lines_is_limited(size: int) -> None:
    prefix = b" ".rjust(size, b"-")
    lines = [prefix + BEGIN, prefix + b"B: 0\n"]
    assert taken(lines) == ([] if size <= 256 else [*enumerate(lines, 1)])


@pytest.mark.parametrize(
    "line",
    [
        b"a {{{hexdict: more\n",
        b"{{{hexdict\n",
        b"{{{hexdict: A: 1}}}\n",
        b"\n",
    ],
)
def test_other_lines_are_released_at_once(line: bytes) -> None:
    assert taken([line]) == [(1, line)]


def test_dictionary_may_begin_behind_another() -> None:
    both = [b"{{{hexdict:\n", b"}}} {{{hexdict: A: 0\n", b"}}}\n"]
    assert taken(both) == [(1, b"".join(both))]
    assert taken([*both[:2], b"next\n"]) == [(1, both[0] + both[1]), (3, b"next\n")]
    assert taken([BEGIN, *both]) == [(1, BEGIN), (2, b"".join(both))]


@pytest.mark.parametrize("size", [63, 64, 65])
def test_bytes_of_a_dictionary_are_limited(size: int) -> None:
    end = b"}}}\n"
    lines = [BEGIN, b"B: 0".ljust(size - len(BEGIN + end) - 1) + b"\n", end]
    whole = [(1, b"".join(lines))]
    assert taken(lines, 64) == (whole if size <= 64 else [*enumerate(lines, 1)])


@pytest.mark.parametrize("count", [255, 256, 257])
def test_lines_of_a_dictionary_are_limited(count: int) -> None:
    lines = [BEGIN, *[b"B: 0\n"] * (count - 2), b"}}}\n"]
    whole = [(1, b"".join(lines))]
    assert taken(lines) == (whole if count <= 256 else [*enumerate(lines, 1)])


def test_limits_are_those_of_all_dictionaries_on_shared_lines() -> None:
    lines = [BEGIN, *[b"}}} {{{hexdict:\n"] * 1000]
    counts = [whole.count(b"\n") for _, whole in taken(lines)]
    assert counts == [256] * 3


PARTS = st.sampled_from(
    [
        *(b"{{{hexdict:", b" A: 0x1041", b" B:0", b"\n", b"\r\n", b"{", b"{{{pc:0x1"),
        *(b"x", b"1 ", b":", b" ", b"\0", b"\xff"),
    ]
)
ENDS = st.sampled_from([b"}}}", b"}}}\n", b"}"])


@given(st.lists(PARTS | ENDS))
def test_no_line_is_lost_and_none_changes_its_place(parts: list[bytes]) -> None:
    log = b"".join(parts)
    dictionary = OpenDictionary(FilterSettings(hexdict_limit=200, hexdict_lines=5))
    at, shown = 0, b""
    for number, line in enumerate(log.split(b"\n")):
        for first, whole in dictionary.take(number, line + b"\n"):
            assert first == at
            at += whole.count(b"\n")
            shown += whole
        assert bool(dictionary) == (at <= number)
    rest = b"".join(line for _, line in dictionary.release())
    assert shown + rest == log + b"\n"


@given(
    st.lists(st.lists(PARTS)),
    st.sampled_from([name for name in STYLES if name != "llvm"]),
    st.sampled_from([None, "^1"]),
)
def test_open_dictionary_is_released_unchanged_when_idle(
    pieces: list[list[bytes]], style: str, demux: str | None
) -> None:
    made = MarkupFilter(Modules(), style=style, demux=demux)
    log, shown = b"", b""
    for piece in pieces:
        text = b"".join(piece)
        log += text
        shown += made.feed(text) + made.idle()
        whole = log[: log.rfind(b"\n") + 1]
        if demux is None:
            assert shown == whole
        else:  # lines of others may come before
            assert sorted(shown.split(b"\n")) == sorted(whole.split(b"\n"))
    assert len(shown + made.finish()) == len(log)


@given(st.lists(PARTS), st.sampled_from(["spec", "fuchsia"]))
def test_line_without_a_pair_releases_all(parts: list[bytes], style: str) -> None:
    log = b"".join(parts) + b"\nnext\n"
    assert MarkupFilter(Modules(), style=style).feed(log) == log


PAIRS = st.lists(
    st.tuples(
        st.sampled_from([b"RAX", b"x0", b"<b>"]),
        st.sampled_from([b":", b": ", b":     "]),
        st.sampled_from([b"0", b"000", b"0x1041", b"0xffffffffffffffff"]),
        st.sampled_from([b" ", b"  ", b"\n", b"\r\n", b"\n\n ", b"\t"]),
    ).map(b"".join)
).map(b"".join)


@given(PAIRS, st.data())
def test_a_dictionary_of_the_document_is_replaced_wherever_its_lines_end(
    pairs: bytes, data: st.DataObject
) -> None:
    log = b"a {{{hexdict:%s}}} b\n" % pairs
    cut = data.draw(st.integers(0, len(log)))
    settings = FilterSettings(hexdict="plain", hexdict_lines=1 << 16)
    made = MarkupFilter(Modules(), settings=settings)
    shown = made.feed(log[:cut]) + made.idle(0.9) + made.feed(log[cut:])
    assert shown == b"a %s b\n" % pairs


@pytest.mark.parametrize(("seconds", "shown"), [(0.9, b""), (1.0, BEGIN)])
def test_a_dictionary_may_pause_for_a_second(seconds: float, shown: bytes) -> None:
    made = MarkupFilter(Modules())
    assert made.feed(BEGIN) == b""
    assert made.idle(seconds) == shown
    assert made.feed(b"}}}\n") == (b"}}}\n" if shown else b" A: 0x1041\n\n")


@pytest.mark.parametrize("join", [None, r"\+"])
@pytest.mark.parametrize("others", [256, 257])
def test_dictionary_waits_for_a_limited_number_of_other_lines(
    others: int, join: str | None
) -> None:
    made = MarkupFilter(Modules(), demux="^[0-9]", join=join)
    begin = b"1 " + BEGIN
    shown = made.feed(begin + b"1 B: 0\n" + b"2 a\n" * others)
    assert (begin in shown) == (others > 256)


def test_text_message_is_released_at_once() -> None:
    made = MarkupFilter(Modules(), join=">")
    assert made.feed("a\n") == ""
    assert made.release() == b"a\n"
    made.feed(BEGIN)
    assert made.release() == BEGIN
    assert made.idle() == b""
