"""Logs with markup filtered, in each style."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from gsym.markup.address_space import (
    AddressSpace,
    ContextError,
    Segment,
    SpaceBudget,
)
from gsym.markup.filter import MarkupFilter
from gsym.markup.json_output import JsonOutput
from gsym.markup.parser import DumpFile, Mmap, Module
from gsym.markup.settings import STYLES, FilterSettings
from gsym.markup.symbols import SymbolOptions, Symbols
from gsym.modules.finder import find_in
from tests.markup_modules import CONTEXT, SUMMARY, Modules

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

LIT = (
    *("bt", "build-id-not-found", "color", "context-line-elision", "data"),
    *("error-location", "mmap", "module", "parse-fields", "pc", "reset", "symbol"),
    "tag",
)
WITH_MODULE = {"bt", "data", "pc"}


class Run:
    """Filters a log; what it tells goes to `told`."""

    def __init__(self) -> None:
        self.told: list[bytes] = []
        self.summary: list[str] = []

    def __call__(
        self,
        log: bytes,
        style: str = "spec",
        symbols: SymbolOptions | None = None,
        **settings: object,
    ) -> bytes:
        made = MarkupFilter(
            Modules(),
            style=style,
            symbols=symbols,
            settings=FilterSettings(**settings),  # type: ignore[arg-type]
            tell=self.told.append,
        )
        shown = made.feed(log) + made.finish()
        self.summary = made.summary()
        return shown


@pytest.fixture
def run() -> Run:
    return Run()


@pytest.mark.parametrize("name", LIT)
def test_cases_of_llvm(
    name: str, markup_fixtures: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    case = markup_fixtures / "lit" / name
    if name in WITH_MODULE:
        clang = request.getfixturevalue("clang")
        source = markup_fixtures / f"fixtures/lit/{name}/{name}.s"
        path = tmp_path / ".build-id/ab/cdef.debug"
        path.parent.mkdir(parents=True)
        subprocess.run([clang, "-c", "-o", path, source], check=True)
    expected = case / "expected.nocolumn.stdout"
    if not expected.exists():
        expected = case / "expected.llvm19.stdout"
    told: list[bytes] = []
    log_filter = MarkupFilter(
        find_in([str(tmp_path)], []),
        style="llvm",
        settings=FilterSettings(colour=name == "color"),
        tell=told.append,
    )
    shown = log_filter.feed((case / "input.log").read_bytes()) + log_filter.finish()
    assert shown == expected.read_bytes()
    assert b"".join(told) == (case / "expected.llvm19.stderr").read_bytes()


# ---- the document


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("{{{symbol:_Z1fv}}}", "f()"),
        ("a {{{pc:0x1021}}} b", "a first()[/src/a.c:5] b"),
        ("{{{pc:0x1020}}}", "second[/src/b.h:8]"),
        ("{{{pc:0x1020:pc}}}", "first()[/src/a.c:5]"),
        ("{{{pc:0x1041:pc}}}", "bare"),
        ("{{{pc:0x1080:pc}}}", "a.o+0x80"),
        ("{{{pc:0x5000}}}", "[[[pc:0x5000]]]"),
        ("{{{data:0x1018}}}", "first()+0x8"),
        ("{{{data:0x1080}}}", "a.o+0x80"),
        (
            "{{{bt:0:0x1011:pc}}}",
            "    #0    0x0000000000001011 first() /src/a.c:3 (a.o+0x11)",
        ),
        (
            "\t{{{bt:12:0x1019}}} tail",
            (
                "\t   #12.1  0x0000000000001019 second /src/b.h:8 (a.o+0x18)\n"
                "\t   #12    0x0000000000001019 first() /src/a.c:4 (a.o+0x18) tail"
            ),
        ),
        ("{{{bt:0:0x1041}}}", "    #0    0x0000000000001041 bare (a.o+0x40)"),
        ("{{{bt:0:0x1080}}}", "    #0    0x0000000000001080 (a.o+0x7f)"),
        ("{{{bt:0:0x5000}}}", "[[[bt:0:0x5000]]]"),
        ("{{{other:1}}} {{{Tag}}} {{{}}}", "{{{other:1}}} {{{Tag}}} {{{}}}"),
        ("{{{ a {{{symbol:b}}}}", "{{{ a b}"),
        ("{{{dumpfile:a:b}}}", "[[[dumpfile:a:b]]]"),
        ("\x1b[31mred\x1b[0m \x1b[4m", "\x1b[31mred\x1b[0m \x1b[4m"),
        ("{{{pc}}} {{{bt:0:0:sp}}}", "{{{pc}}} {{{bt:0:0:sp}}}"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_elements_are_replaced_whatever_ends_the_line(
    line: str, shown: str, run: Run, ending: str
) -> None:
    expected = shown if ending != "\r\n" else shown.replace("\n", "\r\n")
    log = CONTEXT + line.encode() + ending.encode()
    # A line without an end cannot end the line on the module otherwise.
    summary = SUMMARY.replace(b"\n", ending.encode() or b"\n")
    assert run(log) == summary + expected.encode() + ending.encode()


def test_contextual_lines_become_a_line_for_each_module(run: Run) -> None:
    log = (
        b"{{{reset}}}\n{{{module:1::elf:ab}}}\n"
        + CONTEXT
        + b" {{{mmap:0x2000:10:load:1:r:0}}}\n{{{reset}}}\ntext\n"
    )
    assert run(log) == (
        b'[[[ELF module #0x1 ""; BuildID=ab]]]\n'
        + SUMMARY
        + b'[[[ELF module #0x1 ""; adds [0x2000-0x200f](r)]]]\n[[[reset]]]\ntext\n'
    )
    assert not run.told


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("N3geo5ShapeE", "geo::Shape"),
        ("PKN3geo5ShapeE", "geo::Shape const*"),
        ("3BoxIiE", "Box<int>"),
        ("Z4mainE3Box", "main::Box"),
        ("_ZTIN3geo5ShapeE", "typeinfo for geo::Shape"),
        *((name, name) for name in ("i", "P4init", "main", "9counter", "N1aE.", "1\0")),
    ],
)
def test_an_unambiguous_type_is_demangled(run: Run, name: str, shown: str) -> None:
    log = f"{{{{{{symbol:{name}}}}}}}\n".encode()
    assert run(log) == f"{shown}\n".encode()
    if not name.startswith("_"):
        assert run(log, "llvm") == f"{name}\n".encode()


def test_text_round_a_contextual_element_stays(run: Run) -> None:
    log = b"a {{{module:0:a.o:elf:abcdef}}} b\nc\n"
    assert run(log) == b'a  b\n[[[ELF module #0x0 "a.o"; BuildID=abcdef]]]\nc\n'


@pytest.mark.parametrize(
    ("context", "shown"), [("summary", SUMMARY), ("elide", b""), ("keep", CONTEXT)]
)
def test_contextual_lines_are_shown_as_chosen(
    run: Run, context: str, shown: bytes
) -> None:
    log = CONTEXT + b"{{{pc:0x1041:pc}}}\n"
    assert run(log, context=context) == shown + b"bare\n"


def test_malformed_elements_stay_and_are_reported(run: Run) -> None:
    log = b"{{{bt:x:0}}}\n{{{mmap:0x1:1:load:9:r:0}}}\n"
    assert run(log) == log
    assert run.told == [
        b"error: expected frame number; found 'x'\n{{{bt:x:0}}}\n      ^\n",
        (
            b"error: unknown module ID\n{{{mmap:0x1:1:load:9:r:0}}}\n"
            b"                   ^\n"
        ),
    ]


def test_unresolved_elements_are_summarized(run: Run) -> None:
    log = b"{{{module:1:b.o:elf:12}}}\n{{{mmap:0x1000:10:load:1:r:0}}}\n"
    run(log + b"{{{bt:0:0x1001}}}\n{{{pc:0x1001}}}\n{{{pc:0x9}}}\n")
    assert run.summary == [
        "2 unresolved in 'b.o' (build id 12): a folder: missing",
        "1 unresolved, not in any module of the log",
    ]
    assert not run.told


def test_symbols_are_shown_as_chosen(run: Run) -> None:
    log = CONTEXT + b"{{{bt:0:0x1019}}}\n"
    options = SymbolOptions(inlines=False, demangle=False, basenames=True)
    assert run(log, symbols=options) == SUMMARY + (
        b"    #0    0x0000000000001019 _Z5firstv b.h:8 (a.o+0x18)\n"
    )


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("linkage", b"first() /src/a.c:3 (a.o+0x11)\nbare\n"),
        ("short", b"first /src/a.c:3 (a.o+0x11)\nbare\n"),
        ("none", b"/src/a.c:3 (a.o+0x11)\n\n"),
    ],
)
def test_names_of_functions_are_shown_as_chosen(
    run: Run, kind: str, shown: bytes
) -> None:
    log = CONTEXT + b"{{{bt:0:0x1011:pc}}}\n{{{pc:0x1041:pc}}}\n"
    options = SymbolOptions(functions=kind)
    frame = b"    #0    0x0000000000001011 "
    assert run(log, symbols=options) == SUMMARY + frame + shown


def test_a_short_name_in_llvms_style_is_that_of_the_innermost_function(
    run: Run,
) -> None:
    log = CONTEXT + b"{{{pc:0x1019:ra}}}\n"
    assert run(log, "llvm") == SUMMARY + b"first()[/src/b.h:8]\n"
    options = SymbolOptions(functions="short")
    assert run(log, "llvm", options) == SUMMARY + b"second[/src/b.h:8]\n"


@pytest.mark.parametrize("style", ["spec", "fuchsia"])
def test_colours_of_the_log_continue_behind_an_element(style: str, run: Run) -> None:
    log = b"\x1b[33mbefore{{{symbol:a}}}after\nplain{{{symbol:a}}}\n"
    assert run(log, style, colour=True) == (
        b"\x1b[33mbefore\x1b[0;34ma\x1b[0;33mafter\nplain\x1b[0;34ma\x1b[0m\n"
    )


# ---- dictionaries and dumps

REGISTERS = (
    b"{{{hexdict:\n  RIP: 0x1018 RAX:      0\n  RSP: 0x7f00 RDI: 0x1045\n}}} end\n"
)


def test_registers_stay_and_inlined_calls_become_notes(run: Run) -> None:
    assert run(CONTEXT + REGISTERS) == SUMMARY + (
        b"\n  RIP: 0x1018 RAX:      0\n  RSP: 0x7f00 RDI: 0x1045\n end\n"
        b"  RIP = 0x1018: second /src/b.h:8 inlined in first() /src/a.c:4 (a.o+0x18)\n"
        b"  RDI = 0x1045: bare (a.o+0x45)\n"
    )


def test_symbols_of_registers_are_added_to_their_line(run: Run) -> None:
    log = CONTEXT + b"{{{hexdict:RDI: 0x1045}}}\n"
    shown = b"RDI: 0x1045 [bare (a.o+0x45)]\n"
    assert run(log, hexdict="inline") == SUMMARY + shown


@pytest.mark.parametrize("size", [63, 64, 65])
def test_a_dictionary_without_an_end_is_text(size: int, run: Run) -> None:
    begin = b"{{{hexdict: A: 0x1045\n"
    log = begin + b"B: 0".ljust(size - len(begin) - 1) + b"\n{{{symbol:_Z1fv}}}\n"
    shown = log.replace(b"{{{symbol:_Z1fv}}}", b"f()")
    assert run(log, hexdict_limit=64) == shown


def test_dump_is_passed_on_with_the_loaded_modules(run: Run) -> None:
    dumps: list[tuple[DumpFile, list[Segment]]] = []

    def take(dump: DumpFile, space: AddressSpace, _symbols: Symbols) -> bytes:
        dumps.append((dump, list(space)))
        return b"<dump>"

    log = CONTEXT + b"a {{{dumpfile:sancov:s.1}}}\n"
    assert run(log, on_dump=take) == SUMMARY + b"a <dump>\n"
    ((dump, (segment,)),) = dumps
    assert dump == DumpFile("sancov", "s.1")
    assert (segment.start, segment.module.name) == (0x1000, b"a.o")


# ---- Fuchsia


def test_cases_of_fuchsia(markup_fixtures: Path, run: Run) -> None:
    path = markup_fixtures / "fuchsia/cases.json"
    cases = json.loads(path.read_text(encoding="utf-8"))
    lines = dict.fromkeys(("second_mmap_silent", "inconsistent_base"))
    lines.update(dict.fromkeys(("unknown_module", "frame_no_symbols", "frame_outside")))
    for name in ("module_line", *lines):
        case = cases[name]
        before = cases["module_line"] if "after" in case else {"lines": [], "out": []}
        log = "".join(f"{line}\n" for line in before["lines"] + case["lines"])
        shown = run(log.encode(), "fuchsia").decode().splitlines()
        assert shown == before["out"] + case["out"], name
    for line, expected in [*cases["passthrough"], *cases["silent"]]:
        shown = run(f"{line}\n".encode(), "fuchsia").decode().splitlines()
        assert shown == ([expected] if expected else []), line


def test_several_elements_of_fuchsia_in_a_line(markup_fixtures: Path, run: Run) -> None:
    path = markup_fixtures / "fuchsia/cases.json"
    cases = json.loads(path.read_text(encoding="utf-8"))["several_per_line"]
    for line, expected in cases:
        shown = run(f"{line}\n".encode(), "fuchsia").decode()
        for number in (0, 1):
            for address in (0x100, 0x1000, 0x2000, 0x3000, 0x4000):
                frame = f"   #{number}    0x{address:016x} is not covered by any module"
                shown = shown.replace(frame, f"F({number})")
        assert shown.splitlines() == expected, line


def test_a_frame_of_fuchsia_with_its_message(run: Run) -> None:
    log = CONTEXT + b"{{{bt:8:0x1019:sp 0x3f}}}\n"
    assert run(log, "fuchsia") == (
        b'[[[ELF module #0x0 "a.o" BuildID=abcdef 0x1000]]]\n'
        b"   #8.1  0x0000000000001019 in second /src/b.h:8 <a.o>+0x19 sp 0x3f\n"
        b"   #8    0x0000000000001019 in first() /src/a.c:4 <a.o>+0x19 sp 0x3f\n"
    )


def test_text_round_an_element_is_repeated_for_each_line(run: Run) -> None:
    log = (
        b"[1] {{{reset}}}\r\n[1] {{{module:0:a.o:elf:abcdef}}}\r\n"
        b"[1] {{{mmap:0x1000:0x100:load:0:rx:0x0}}} x\r\n"
        b"[1] {{{mmap:0x2000:0x100:load:0:r:0x0}}}\r\n"
        b"[1] {{{mmap:0x3000:0x100:load:7:r:0x0}}}\r\n"
        b"[1] {{{bt:8:0x1019}}} y\r\n[1] {{{bt:8:0x1019}}} {{{bt:9:0x1011:pc}}}\r\n"
    )
    inner = b"   #8.1  0x0000000000001019 in second /src/b.h:8 <a.o>+0x19"
    outer = b"   #8    0x0000000000001019 in first() /src/a.c:4 <a.o>+0x19"
    other = b"   #9    0x0000000000001011 in first() /src/a.c:3 <a.o>+0x11"
    assert run(log, "fuchsia").split(b"\r\n") == [
        b'[1] [[[ELF module #0x0 "a.o" BuildID=abcdef 0x1000]]] x',
        b"[1] symbolizer: Inconsistent base address.",
        b"[1] symbolizer: Invalid module id.",
        *(b"[1] " + inner + b" y", b"[1] " + outer + b" y"),
        *(b"[1] " + inner, b"[1] " + outer, b" " + other, b""),
    ]


def test_a_kernel_below_its_link_time_addresses(
    markup_fixtures: Path, run: Run
) -> None:
    path = markup_fixtures / "fuchsia/cases.json"
    case = json.loads(path.read_text(encoding="utf-8"))["kernel_negative_base"]
    log = "".join(f"{line}\n" for line in case["lines"])
    module, frame = run(log.encode(), "fuchsia").decode().splitlines()
    assert module == case["module_line"]
    assert frame == f"{case['frame_prefix']} {case['module_offset_printed']}"


# ---- streams

PIECES = st.lists(
    st.one_of(
        st.binary(max_size=12),
        st.sampled_from([b"{{{", b"}}}", b"\n", b"\r\n", b"{", b"\x1b[1m", b"\0"]),
        st.sampled_from([b"{{{symbol:_Z1fv}}}", b"{{{pc:0x1041:pc}}}", CONTEXT]),
        st.sampled_from([b"{{{reset}}}", b"{{{hexdict:", b" A: 0x1045"]),
    ),
    max_size=20,
)


@given(PIECES, st.data(), st.sampled_from(sorted(STYLES)))
def test_a_log_cut_anywhere_comes_out_the_same(
    pieces: list[bytes], data: st.DataObject, style: str
) -> None:
    log = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=8)))
    whole, parts = (MarkupFilter(Modules(), style=style) for _ in range(2))
    shown = b""
    for start, end in zip([0, *cuts], [*cuts, len(log)], strict=True):
        shown += parts.feed(log[start:end])
    assert shown + parts.finish() == whole.feed(log) + whole.finish()


@given(
    st.lists(st.binary(max_size=30), min_size=1), st.sampled_from(["spec", "fuchsia"])
)
def test_no_byte_outside_of_elements_is_lost(texts: list[bytes], style: str) -> None:
    # No text may make an element with what is beside it.
    safe = [text.replace(b"{", b"[").replace(b"}", b"]") for text in texts]
    made = MarkupFilter(Modules(), style=style)
    shown = made.feed(b"{{{symbol:_Z1fv}}}".join(safe)) + made.finish()
    assert shown == b"f()".join(safe)


# No tag can be made of these, so that only what is put in is an element.
NO_TAGS = st.lists(
    st.sampled_from([b"{", b"}", b"{{{", b"}}}", b":", b"\n", b"\r", b"\r\n"])
    | st.sampled_from([b"\0", b"\xff", b"\xc3", b"\xa9", b"\x1b[31m", b" ", b"0", b"x"])
).map(b"".join)


@given(
    st.lists(NO_TAGS, min_size=1),
    st.data(),
    st.sampled_from(["spec", "fuchsia"]),
    st.sampled_from([(None, None), ("^x", None), (None, "^0"), ("^x", "^0")]),
)
def test_no_byte_is_lost_wherever_a_log_is_cut(
    texts: list[bytes],
    data: st.DataObject,
    style: str,
    patterns: tuple[str | None, str | None],
) -> None:
    log = b"{{{symbol:_Z1fv}}}".join(texts)
    demux, join = patterns
    made = MarkupFilter(Modules(), style=style, demux=demux, join=join)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=8)))
    shown = b""
    for start, end in zip([0, *cuts], [*cuts, len(log)], strict=True):
        shown += made.feed(log[start:end])
        if join is None and data.draw(st.booleans()):
            shown += made.idle()
    shown += made.finish()
    whole = log if join is None else re.sub(rb"\r?\n0", b"", log)
    expected = whole.replace(b"{{{symbol:_Z1fv}}}", b"f()")
    if join is not None and demux is not None:  # lines of others may come in between
        assert sorted(shown.split(b"\n")) == sorted(expected.split(b"\n"))
    else:
        assert shown == expected


@pytest.mark.parametrize(("size", "cut"), [(100, 1), (100, 1000), (101, 40)])
def test_a_line_that_is_too_long_is_text(size: int, cut: int) -> None:
    element = b"{{{symbol:_Z1fv}}}"
    line = element + b"x" * (size - len(element) - 1) + b"\n"
    log = line + element + b"\n"
    made = MarkupFilter(Modules(), settings=FilterSettings(line_limit=100))
    shown = b"".join(made.feed(log[at : at + cut]) for at in range(0, len(log), cut))
    kept = line if size > 100 else line.replace(element, b"f()")
    assert shown + made.finish() == kept + b"f()\n"


def test_waiting_line_is_released_when_idle() -> None:
    made = MarkupFilter(Modules())
    assert made.feed(CONTEXT) == b""
    assert made.idle() == SUMMARY
    assert made.feed(b"{{{mmap:0x2000:10:load:0:r:0}}}\n") == b""
    assert made.finish() == b'[[[ELF module #0x0 "a.o"; adds [0x2000-0x200f](r)]]]\n'


def test_text_input_gives_text_output() -> None:
    made = MarkupFilter(Modules())
    assert made.feed("\udcff {{{symbol:_Z1fv}}}\n") == "\udcff f()\n"


def test_a_module_is_opened_for_its_first_address_and_once() -> None:
    modules = Modules()
    made = MarkupFilter(modules)
    made.feed(CONTEXT)
    assert modules.asked == []
    made.feed(b"{{{pc:0x1041}}}{{{pc:0x1011}}}\n")
    assert modules.asked == ["ABCDEF"]


def test_there_is_no_other_style() -> None:
    with pytest.raises(ValueError, match="style: expected llvm, spec or fuchsia"):
        MarkupFilter(Modules(), style="gnu")


HOSTILE = (
    b" {{{bt:0:0x1011:pc}}}",
    b"{{{bt:0:0x9}}}",
    b"{{{bt:x}}}",
    b"{{{",
    b"{{{a:",
    b"}}}",
    b"{{{hexdict:",
    b"{{{pc:::::::",
    b"{{{module:0:a:elf:1}}}",
    b"\x1b[1m",
    b"{",
    b":",
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_line_of_many_elements_is_filtered_in_linear_time(
    piece: bytes, run: Run
) -> None:
    style = sorted(STYLES)[HOSTILE.index(piece) % len(STYLES)]
    line = CONTEXT + b"{{{x" + piece * ((1 << 16) // len(piece)) + b"\n"
    run(line, style)
    assert sum(map(len, run.told)) < 200 * len(line)


@pytest.mark.parametrize("text", [b"a", b"a:0x" + b"1", b" a: 0x1011z"])
def test_a_dictionary_is_read_once_however_long_its_words_are(
    text: bytes, run: Run
) -> None:
    """Read anew from each byte, it would take an hour."""
    word = text + text[-1:] * 1_000_000
    shown = run(CONTEXT + b"{{{hexdict:%s A:0x1011}}}\n" % word)
    assert (
        shown
        == SUMMARY
        + b"%s A:0x1011\n  A = 0x1011: first() /src/a.c:3 (a.o+0x11)\n" % (word)
    )


@pytest.mark.parametrize(("join", "demux"), [(None, "^[0-9]"), ("> ", None)])
def test_a_long_line_that_comes_byte_by_byte(
    join: str | None, demux: str | None
) -> None:
    log = b"7" * 50_000 + b"\n> {{{symbol:_Z1fv}}}\n"
    made = MarkupFilter(Modules(), join=join, demux=demux)
    shown = b"".join(made.feed(log[at : at + 1]) for at in range(len(log)))
    lines = log.replace(b"{{{symbol:_Z1fv}}}", b"f()")
    if join is not None:
        lines = lines.replace(b"\n> ", b"")
    assert shown + made.finish() == lines


@pytest.mark.parametrize(
    ("size", "join"), [((1 << 20) - 5, r"\+"), (3 << 20, None), (3 << 20, r"\+")]
)
def test_long_line_belongs_to_one_process(size: int, join: str | None) -> None:
    output = JsonOutput()
    made = MarkupFilter(Modules(), demux="^[0-9]", join=join)
    elements = MarkupFilter(Modules(), demux="^[0-9]", join=join, output=output)
    long = b"7 " + b"x" * size + b"\n"
    log = long + b"7 {{{symbol:_Z1fv}}}\n8 a\n"
    pieces = [log[at : at + (1 << 19)] for at in range(0, len(log), 1 << 19)]
    shown = b"".join(map(made.feed, pieces)) + made.finish()
    assert shown == long + b"7 f()\n8 a\n"
    (line,) = (b"".join(map(elements.feed, pieces)) + elements.finish()).splitlines()
    assert json.loads(line)["log_line"] == 2


@pytest.mark.parametrize("others", [256, 257])
def test_split_line_waits_for_a_limited_number_of_others(others: int) -> None:
    made = MarkupFilter(Modules(), demux="^[0-9]+", join=r"[0-9]*\+")
    shown = made.feed(b"1 a\n" + b"2 b\n" * others + b"1+ c\n") + made.finish()
    assert (b"1 a c\n" in shown) == (others == 256)
    assert sorted(shown.splitlines())[-others:] == [b"2 b"] * others


@pytest.mark.parametrize(("demux", "ending"), [(None, b"\r\n"), ("^[0-9]", b"\n")])
def test_line_ending_is_not_part_of_the_joining_mark(
    demux: str | None, ending: bytes
) -> None:
    made = MarkupFilter(Modules(), demux=demux, join=r"\s+")
    log = ending.join([b"a", b"", b"b", b" c", b"  ", b"d", b" "])
    shown = made.feed(log) + made.finish()
    assert shown == ending.join([b"a", b"", b"bc", b"d"])


def test_many_parts_of_a_line_are_joined_up_to_a_limit() -> None:
    made = MarkupFilter(Modules(), join="> ")
    shown = made.feed(b"a\n" + b"> 0123456789\n" * 200_000) + made.finish()
    assert shown.startswith(b"a" + b"0123456789" * 100_000)
    assert shown.count(b"\n") == 2


# ---- what is loaded


@pytest.mark.parametrize("most", [1, 2])
def test_a_log_cannot_fill_the_memory(most: int) -> None:
    budget = SpaceBudget(most)
    space, other = AddressSpace(budget), AddressSpace(budget)
    for number in range(most):
        space.add_module(Module(number, "", b"\1"))
        space.add_segment(Mmap(16 * number, 16, 0, "r", 0))
    with pytest.raises(ContextError, match="too many modules"):
        space.add_module(Module(most, "", b"\1"))
    with pytest.raises(ContextError, match="too many mmaps"):
        space.add_segment(Mmap(16 * most, 16, 0, "r", 0))
    with pytest.raises(ContextError, match="too many modules"):
        other.add_module(Module(0, "", b"\1"))
    space.clear()
    other.add_module(Module(0, "", b"\1"))
    assert (budget.modules, budget.segments) == (most - 1, most)


@pytest.mark.parametrize("size", [9, 10])
def test_names_of_modules_are_limited(size: int) -> None:
    budget = SpaceBudget(most_bytes=10)
    space = AddressSpace(budget)
    space.add_module(Module(0, "x" * (size - 1), b"\1"))
    if size == 10:
        with pytest.raises(ContextError, match="too many modules"):
            space.add_module(Module(1, "", b"\1"))
    else:
        space.add_module(Module(1, "", b"\1"))
    space.clear()
    assert budget.bytes == 10


@pytest.mark.slow
def test_an_idle_process_gives_its_budget_back() -> None:
    told: list[bytes] = []
    made = MarkupFilter(Modules(), demux="^[0-9]+", tell=told.append)
    line = b"%d {{{module:%d:a:elf:ab}}}\n"
    for stream in range(300):
        made.feed(b"".join(line % (stream, each) for each in range(300)))
    assert b"too many modules" in told[0]  # 256 processes have more than 65,536
    told.clear()
    for stream in range(1000, 1300):
        made.feed(line % (stream, 0))
    assert not told


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=12)


@given(SPANS)
def test_segments_are_found_as_by_a_search_through_all(
    spans: list[tuple[int, int]],
) -> None:
    space = AddressSpace()
    space.add_module(Module(0, "", b"\1"))
    held: list[range] = []
    for start, size in spans:
        taken = any(set(range(start, start + size)) & set(each) for each in held)
        try:
            found = space.add_segment(Mmap(start, size, 0, "r", 0))
        except ContextError:
            continue
        assert not taken
        held.append(range(found.start, found.start + found.size))
    for address in range(80):
        segment = space.find(address)
        within = [each for each in held if address in each]
        assert (segment is None) == (not within)


@given(SPANS)
def test_a_later_segment_applies_wherever_it_is(spans: list[tuple[int, int]]) -> None:
    budget = SpaceBudget(64)
    space = AddressSpace(budget, keeps_mmaps=False)
    space.add_module(Module(0, "", b"\1"))
    linked: dict[int, int] = {}
    for number, (start, size) in enumerate(spans, 1):
        space.add_segment(Mmap(start, size, 0, "r", number << 16))
        linked |= {start + at: (number << 16) + at for at in range(size)}
    for address in range(80):
        found = space.find(address)
        assert (found and found.linked(address)) == linked.get(address)
    assert budget.segments == 64 - len(space)


def test_remapped_region_belongs_to_its_new_module(run: Run) -> None:
    log = (
        CONTEXT
        + b"{{{module:1:b.o:elf:12}}}\n{{{pc:0x1041:pc}}}\n"
        + b"{{{mmap:0x1040:0x10:load:1:rx:0x0}}}\n{{{pc:0x1041:pc}}}\n"
        + b"{{{pc:0x1011:pc}}} {{{pc:0x1052:pc}}}\n"
        + CONTEXT.splitlines(keepends=True)[1]
        + b"{{{pc:0x1041:pc}}}\n"
    )
    assert run(log, context="elide") == (
        b"bare\nb.o+0x1\nfirst()[/src/a.c:3] a.o+0x52\nbare\n"
    )
    assert [each.splitlines()[0] for each in run.told] == [
        b"warning: mmap replaces #0x0 [0x1000-0x10ff]",
        b"warning: mmap replaces #0x1 [0x1040-0x104f]",
    ]
    shown = run(log, "llvm")
    assert b"b.o+0x1" not in shown
    assert b"error: overlapping mmap: #0x0 [0x1000-0x10ff]" in run.told[-2]


@pytest.mark.parametrize(
    ("mmaps", "linked", "remark"),
    [
        # Pages of 4 KiB, the smallest there are; then the bias of the first segment.
        (["0x30000:0x1000:load:0:rx:0x2010"], 0x2000, "using 0x2000"),
        (
            ["0x10000:0x10:load:0:r:0x0", "0x30000:0x10:load:0:rx:0x22010"],
            0x20000,
            "using 0x20000",
        ),
        (
            ["0x20008:0x10:load:0:r:0x18", "0x30000:0x1000:load:0:rx:0x10010"],
            0x10010,
            "",
        ),
        (
            ["0x30000:0x800:load:0:rx:0x2010"],
            0x2010,
            "off by 0x10?",
        ),
    ],
)
def test_an_address_of_a_segment_is_rounded_like_its_start(
    mmaps: list[str], linked: int, remark: str, run: Run
) -> None:
    lines = ["module:0:a.o:elf:12", *map("mmap:{}".format, mmaps), "pc:0x30003:pc"]
    log = "".join(f"{{{{{{{line}}}}}}}\n" for line in lines).encode()
    assert run(log, context="elide") == b"a.o+0x%x\n" % (linked + 3)
    assert len(run.told) == bool(remark)
    start = b"warning: start is page-aligned, but address is not: "
    assert [
        each for each in run.told if not each.startswith(start + remark.encode())
    ] == []
