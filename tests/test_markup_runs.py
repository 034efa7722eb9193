"""Runs of backtraces that the engine answers: the same as line by line."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gsym
from gsym._native import lib
from gsym.markup_filter.filter import MarkupFilter
from gsym.markup_filter.line_filter import LineFilter
from gsym.markup_filter.settings import FilterSettings
from gsym.markup_filter.symbols import SymbolOptions
from gsym.markup_text import MarkupText
from gsym.text_buffer import TextBuffer
from tests.guarded import GuardedMemory
from tests.markup_modules import CONTEXT, Modules, gsym_bytes

MORE = (
    b"{{{module:1:b.o:elf:12}}}\n{{{mmap:0x3000:0x10:load:1:r:0}}}\n"
    b"{{{mmap:0x2000:0x40:load:0:rx:0x10}}}\n{{{mmap:0xfffffffffffffff0:0xf:load:0:r:0}}}\n"
)
ADDRESSES = (
    *("0x1010", "0x1011", "0x1018", "0x1019", "0x1020", "0x1021", "0x1030", "0x1041"),
    *("0x1000", "0x10ff", "0x1100", "0x2000", "0x2001", "0x2018", "0x3001", "0x0"),
    *("0xfffffffffffffff0", "0xFFFFFFFFFFFFFFFF", "0x00000000000001019", "0x", "1019"),
)
NUMBERS = ("0", "7", "12", "99999", "123456", "00012", "9" * 18, "9" * 19, "", "-1")
KINDS = ("", "", ":ra", ":pc", ":", ":sp", ":ra:x")
BEFORE = (
    "",
    "",
    " ",
    "\t ",
    "[1] ",
    "{{",
    "{",
    "\x1b[31m",
    "{{{",
    "}}}",
    "{{{symbol:a}}}",
)
BEHIND = ("", "", " tail", "\r", "}", "{{{x", " {{{bt:0:0x1011:pc}}}", "\x1b[0m", "\0")
TEXTS = ("", "plain", "{{{reset}}}", "{{{pc:0x1011}}}", "\x1b[1mbold", "{{{", "x" * 300)


def line(source: random.Random) -> str:
    if source.random() < 0.2:
        return source.choice(TEXTS)
    number, address = source.choice(NUMBERS), source.choice(ADDRESSES)
    element = f"{{{{{{bt:{number}:{address}{source.choice(KINDS)}}}}}}}"
    return source.choice(BEFORE) + element + source.choice(BEHIND)


def plain_line(source: random.Random) -> str:
    address = source.choice(ADDRESSES[:13])
    return f" {{{{{{bt:{source.choice(NUMBERS[:6])}:{address}}}}}}}"


def log(seed: int) -> bytes:
    source = random.Random(seed)  # noqa: S311
    make = line if seed % 2 else plain_line
    lines = "\n".join(make(source) for _ in range(200))
    return CONTEXT + MORE + lines.encode() + b"\n" * source.randrange(2)


def filtered(
    text: bytes, style: str, options: SymbolOptions, limit: int
) -> tuple[bytes, bytes, list[str]]:
    told: list[bytes] = []
    made = MarkupFilter(
        Modules(),
        style=style,
        symbols=options,
        settings=FilterSettings(line_limit=limit),
        tell=told.append,
    )
    shown = made.feed(text) + made.finish()
    return shown, b"".join(told), sorted(made.summary())


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("style", ["spec", "llvm", "fuchsia"])
@pytest.mark.parametrize(
    "options",
    [
        SymbolOptions(),
        SymbolOptions(demangle=False, basenames=True),
        SymbolOptions(inlines=False),
        SymbolOptions(functions="none"),
        SymbolOptions(functions="short"),
    ],
)
def test_a_run_is_answered_as_its_lines_are(
    seed: int, style: str, options: SymbolOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = (1 << 20, 200)[seed % 2]
    ran = filtered(log(seed), style, options, limit)
    monkeypatch.setattr(LineFilter, "filter_run", lambda *_arguments: 0)
    assert ran == filtered(log(seed), style, options, limit)


def test_the_engine_answers_what_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: object, found: bytes) -> None:
        raise AssertionError(found)

    frames = b"text\n  {{{bt:0:0x1011:pc}}} x\r\n{{{bt:1:0x1041}}}\n" * 20_000
    made = MarkupFilter(Modules())
    made.feed(CONTEXT + b"text\n")
    monkeypatch.setattr(LineFilter, "filter", refuse)
    shown = made.feed(frames)
    assert shown == (
        b"text\n      #0    0x0000000000001011 first() /src/a.c:3 (a.o+0x11) x\r\n"
        b"    #1    0x0000000000001041 bare (a.o+0x40)\n" * 20_000
    )


def test_another_mmap_is_heeded() -> None:
    made = MarkupFilter(Modules())
    frame = b"{{{bt:0:0x2001:pc}}}\n"
    shown = made.feed(CONTEXT + b"{{{bt:0:0x1011:pc}}}\n" + frame)
    assert b"[[[bt:0:0x2001:pc]]]" in shown
    shown = made.feed(b"{{{mmap:0x2000:0x40:load:0:rx:0x10}}}\n" + frame * 2)
    assert shown.count(b" first() /src/a.c:3 (a.o+0x11)\n") == 2
    assert b"[[[bt:0:0x2001:pc]]]" in made.feed(b"{{{reset}}}\n" + frame)


# ---- the engine by itself


class Engine:
    def __init__(self, line_limit: int = 1 << 20) -> None:
        reader = gsym.Reader(gsym_bytes())
        flags = int(lib.GSYM_MARKUP_INLINES)
        self._text = MarkupText(
            reader, TextBuffer(), flags=flags, demangle=True, line_limit=line_limit
        )
        self._text.place(b"a.o", [(0x1000, 0x100, 0)])

    def __call__(self, lines: bytes | memoryview) -> tuple[int, bytes]:
        shown: list[bytes] = []
        used, _ = self._text.answer(lines, lambda piece: shown.append(bytes(piece)))
        return used, b"".join(shown)


@pytest.fixture(scope="module")
def memory() -> GuardedMemory:
    return GuardedMemory(1 << 16)


@given(st.integers(0, 1 << 16), st.integers(0, 400))
def test_no_byte_behind_the_lines_is_read(
    memory: GuardedMemory, seed: int, size: int
) -> None:
    lines = log(seed)[-400:][:size]
    held = memory.hold(lines)
    assert Engine()(held)[0] <= len(lines)


@given(st.binary(max_size=80), st.binary(max_size=40))
def test_any_bytes_are_answered_or_left(
    memory: GuardedMemory, front: bytes, behind: bytes
) -> None:
    lines = front + b"{{{bt:0:0x1011:pc" + behind + b"\n"
    used, shown = Engine()(memory.hold(lines))
    assert used <= len(lines)
    assert used == 0 or lines[used - 1 : used] == b"\n"
    assert b"{{{bt" not in shown


@pytest.mark.parametrize("limit", [22, 23, 24])
def test_a_line_that_is_too_long_is_left(limit: int) -> None:
    lines = b"x {{{bt:0:0x1041:pc}}}\n"
    assert len(lines) == 23
    assert bool(Engine(limit)(lines)[0]) == (limit >= 23)
