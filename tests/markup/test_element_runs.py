"""Logs as JSON and as pages: many lines at once, and lines of many elements."""

from __future__ import annotations

import json
import tracemalloc
from html import escape
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from gsym.markup.filter import MarkupFilter
from gsym.markup.hexdict import MAX_VALUES
from gsym.markup.html_output import HtmlOutput
from gsym.markup.json_output import JsonOutput
from gsym.markup.line_filter import LineFilter
from gsym.markup.outputs import MAX_HELD, Output
from gsym.markup.settings import STYLES, FilterSettings
from gsym.markup.symbols import FUNCTION_NAMES, SymbolOptions
from tests.markup_modules import CONTEXT, Modules
from tests.strategies import builds

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    Making = Callable[[Callable[[Buffer], object] | None], Output]

pytestmark = pytest.mark.long

# Another module of which there is no file, and an address behind it that is in none.
OTHER = b"{{{module:1:b.o:elf:12}}}\n{{{mmap:0x2000:0x100:load:1:rx:0}}}\n"
PLAIN = st.sampled_from(
    [
        *(b"{{{bt:0:0x1019}}}", b"{{{bt:12:0x1019:ra}}}", b"{{{bt:3:0x1041:pc}}}"),
        *(b"{{{pc:0x1019}}}", b"{{{pc:0x1011:pc}}}", b"{{{pc:0x1020:ra}}}"),
        *(b"{{{pc:0x1080}}}", b"{{{pc:0x2000:pc}}}", b"text", b" ", b"\t", b"<b>\xff"),
        # Sequences of UTF-8, some cut short or not well formed, and control characters.
        *(b"\xc3\xa4", b"\xf0\x9f\x98\x80", b"\xe2\x82", b"\xed\xa0", b"\xf4\x90\x80"),
        *(b"\xc0\xaf", b"\xf1\x80\x80", b"\x80", b"\x00\x1f&\x7f", b"'\"\xe0\x9f"),
    ]
)
OTHERS = st.sampled_from(
    [
        *(b"{{{pc:0x9}}}", b"{{{pc:9}}}", b"{{{bt:007:0X1011}}}", b"{{{x:1}}}"),
        *(b"{{{bt:0:0x1011:sp}}}", b"{{{bt:0:0x1:pc:x}}}", b"{{{symbol:a}}}"),
        *(b"{{{data:0x1018}}}", b"{{{reset}}}", OTHER[:26], CONTEXT, b"\x1b[31m"),
        *(b"{{{", b"}}}", b"{{{hexdict: a: 0x1011\nb"),
    ]
)
ENDINGS = st.sampled_from([b"\n", b"\n", b"\r\n"])
LINES = st.lists(
    st.tuples(st.lists(PLAIN, max_size=4) | st.lists(PLAIN | OTHERS), ENDINGS)
)


def filtered(
    output: Output,
    log: bytes,
    style: str = "spec",
    *,
    symbols: SymbolOptions | None = None,
    line_limit: int = 1 << 20,
) -> tuple[bytes, list[bytes], list[str]]:
    """What comes out, what was told, and the summary."""
    told: list[bytes] = []
    made = MarkupFilter(
        Modules(),
        symbols=symbols,
        settings=FilterSettings(style=STYLES[style], line_limit=line_limit),
        tell=told.append,
        output=output,
    )
    shown = made.feed(CONTEXT + OTHER + log) + made.finish()
    return shown, told, made.summary()


@pytest.mark.parametrize("make", [JsonOutput, HtmlOutput])
@given(
    style=st.sampled_from(sorted(STYLES)),
    lines=LINES,
    options=builds(
        SymbolOptions, st.sampled_from(FUNCTION_NAMES), st.booleans(), st.booleans()
    ),
)
def test_runs_are_answered_as_single_lines_are(
    make: Callable[[], Output],
    style: str,
    lines: list[tuple[list[bytes], bytes]],
    options: SymbolOptions,
) -> None:
    log = b"".join(b"".join([*pieces, ending]) for pieces, ending in lines)
    with pytest.MonkeyPatch.context() as patch:
        at_once = filtered(make(), log, style, symbols=options)
        patch.setattr(LineFilter, "filter_run", lambda *_arguments: 0)
        assert at_once == filtered(make(), log, style, symbols=options)


@pytest.mark.parametrize("make", [JsonOutput, HtmlOutput])
def test_lines_with_code_locations_are_a_run(
    make: Callable[[], Output], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = b"a {{{bt:0:0x1019}}}\ntext\n{{{pc:0x1041}}} {{{pc:0x1080}}}\n"
    taken: list[int] = []
    run = LineFilter.filter_run

    def filter_run(
        lines: LineFilter,
        text: memoryview,
        element: int,
        number: int,
        process: bytes | None,
    ) -> int:
        taken.append(run(lines, text, element, number, process))
        return taken[-1]

    monkeypatch.setattr(LineFilter, "filter_run", filter_run)
    summary = filtered(make(), b"first\n" + lines * 2000)[2]
    assert taken == [len(lines) * 2000]
    assert summary == [
        "2000 unresolved in 'a.o' (build id abcdef): no symbol at this address"
    ]


# First bytes of all sizes, and those at the bounds of what may follow them.
BYTES = {*b"\t &\"'<>~", 0, 0x1F, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2}
BYTES |= {0xDF, 0xE0, 0xE1, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF}
PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) != "\t"}


def test_text_of_a_run_is_escaped_for_html() -> None:
    texts = [bytes(each) for size in (1, 2, 3) for each in product(BYTES, repeat=size)]
    texts += [head + b"\x80" for head in texts if len(head) == 3 and head[0] >= 0xF0]
    log = b"".join(b"%s|{{{pc:0x1011}}}\n" % text for text in texts)
    lines = filtered(HtmlOutput(), log)[0].split(b"\n")
    shown = [line.partition(b"|<span")[0] for line in lines if b"|<span" in line]
    assert [each.decode() for each in shown] == [
        escape(text.decode("utf-8", "replace")).translate(PICTURES) for text in texts
    ]


@pytest.mark.parametrize("line_limit", [16, 17])
def test_too_long_line_is_in_no_run(line_limit: int) -> None:
    shown = filtered(JsonOutput(), b"{{{pc:0x1011}}}\n", line_limit=line_limit)[0]
    assert b"0x1011" in shown
    log = b" {{{pc:0x1011}}}\n"
    shown = filtered(JsonOutput(), log, line_limit=line_limit)[0]
    assert (b"0x1011" in shown) == (line_limit >= len(log))


# ---- many elements in a line

MANY = 5_000


def peak_of(make: Making, log: bytes) -> int:
    """Bytes of memory that are held at most, beside the log."""
    written = 0

    def write(text: Buffer) -> None:
        nonlocal written
        written += memoryview(text).nbytes

    output = make(write)
    tracemalloc.start()
    try:
        filtered(output, log)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        b"{{{pc:0x1011}}}" * MANY + b"\n",
        b"{{{symbol:_Z1fv}}}" * MANY + b"\n",
        b"{{{pc:1}}}" * MANY + b"\n",
        b"{{{pc:0x1011}}}" * MANY + b"{{{reset}}}\n",
        b"{{{hexdict:" + b"A:0x1011 " * MANY + b"}}}\n",
    ],
    ids=["addresses", "names", "malformed", "context", "dictionary"],
)
@pytest.mark.parametrize("make", [JsonOutput, HtmlOutput, Output])
def test_a_line_of_many_elements_is_not_held(make: Making, line: bytes) -> None:
    # Some copies of the line, and what is held of its elements.
    assert peak_of(make, line) < 8 * len(line) + 64 * MAX_HELD


@pytest.mark.parametrize("style", STYLES)
def test_many_elements_of_a_line_keep_their_order(style: str) -> None:
    elements = [b"{{{symbol:a}}}", b"{{{pc:x}}}", b"{{{symbol:b}}}", b"{{{module:0}}}"]
    if style == "llvm":  # what is behind a contextual element is none
        elements.pop()
    shown = filtered(JsonOutput(), b"".join(elements) * 4000 + b"\n", style)[0]
    columns = [json.loads(line)["column"] for line in shown.splitlines()[4:]]
    assert len(columns) == 4000 * len(elements)
    assert columns == sorted(columns)


@pytest.mark.parametrize("count", [MAX_VALUES, MAX_VALUES + 1])
def test_a_dictionary_has_so_many_values_that_are_looked_up(count: int) -> None:
    log = b"{{{hexdict:" + b"A:0x1011 " * count + b"}}}\n"
    shown = filtered(JsonOutput(), log)[0].splitlines()[4]
    assert len(json.loads(shown)["places"]) == MAX_VALUES
