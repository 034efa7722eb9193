"""Symbolizer markup: elements taken apart and written, in all dialects."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from gsym.markup.parser import (
    FUCHSIA_DIALECT,
    LLVM_DIALECT,
    SPEC_DIALECT,
    Backtrace,
    Data,
    Dialect,
    DumpFile,
    Fault,
    HexDict,
    Mmap,
    Module,
    Pc,
    Reset,
    Symbol,
    decode,
    encode,
    find_elements,
)
from tests.strategies import builds

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.markup.parser import Element

DIALECTS = {"llvm": LLVM_DIALECT, "spec": SPEC_DIALECT, "fuchsia": FUCHSIA_DIALECT}
ALL = tuple(DIALECTS)

ELEMENTS: list[tuple[str, Element]] = [
    ("{{{symbol:_Z1fv}}}", Symbol("_Z1fv")),
    ("{{{pc:0x12}}}", Pc(0x12)),
    ("{{{pc:0x12:ra}}}", Pc(0x12, "ra")),
    ("{{{pc:0x12:pc}}}", Pc(0x12, "pc")),
    ("{{{data:0xffffffffffffffff}}}", Data((1 << 64) - 1)),
    ("{{{bt:0:0x7acba69d5004}}}", Backtrace(0, 0x7ACBA69D5004)),
    ("{{{bt:10:0x1004:ra}}}", Backtrace(10, 0x1004, "ra")),
    ("{{{hexdict: CS: 0 RIP: 0x6e}}}", HexDict(" CS: 0 RIP: 0x6e")),
    ("{{{dumpfile:sancov:sancov.8675}}}", DumpFile("sancov", "sancov.8675")),
    ("{{{reset}}}", Reset()),
    ("{{{module:0:libc.so:elf:83238a}}}", Module(0, "libc.so", b"\x83\x23\x8a")),
    ("{{{module:7::elf:00}}}", Module(7, "", b"\0")),
    (
        "{{{mmap:0x1000:0x20:load:0:rx:0x00}}}",
        Mmap(0x1000, 0x20, 0, "rx", 0),
    ),
]


def read(
    line: str, dialect: Dialect, modules: set[int] | None = None
) -> tuple[list[Element | None], list[Fault]]:
    faults: list[Fault] = []
    tokens = find_elements(line.encode(), dialect)
    return [decode(token, dialect, faults, modules) for token in tokens], faults


@pytest.mark.parametrize(("text", "element"), ELEMENTS)
def test_an_element_is_read_and_written(text: str, element: Element) -> None:
    for dialect in ALL:
        assert read(text, DIALECTS[dialect]) == ([element], [])
    assert encode(element) == text


def test_the_dialects_of_an_element() -> None:
    for text, dialects, element in [
        ("{{{pc:0}}}", ALL, Pc(0)),
        ("{{{pc:00}}}", ALL, Pc(0)),
        ("{{{bt:007:0x0}}}", ALL, Backtrace(7, 0)),
        ("{{{bt:0:0x1:sp 0x3f}}}", ("fuchsia",), Backtrace(0, 1, "", "sp 0x3f")),
        ("{{{bt:0:0x1:pc:a:b}}}", ("fuchsia",), Backtrace(0, 1, "pc", "a:b")),
        ("{{{reset:begin}}}", ("fuchsia",), Reset("begin")),
        ("{{{reset:end}}}", ("fuchsia",), Reset("end")),
        ("{{{module:0:<V:b/2>:elf:c}}}", ("fuchsia",), Module(0, "<V:b/2>", b"\x0c")),
        ("{{{module:0:elf:elf:ab}}}", ALL, Module(0, "elf", b"\xab")),
        ("{{{module:0x1F::elf:AbC}}}", ALL, Module(31, "", b"\x0a\xbc")),
        ("{{{module:017::elf:0}}}", ALL, Module(15, "", b"\0")),
        ("{{{module:0b11::elf:0}}}", ALL, Module(3, "", b"\0")),
        ("{{{module:0o17::elf:0}}}", ALL, Module(15, "", b"\0")),
        ("{{{mmap:0:10:load:0:RWX:0}}}", ("llvm",), Mmap(0, 10, 0, "rwx", 0)),
        ("{{{mmap:0:10:load:0:r:0}}}", ("spec",), Mmap(0, 16, 0, "r", 0)),
        ("{{{mmap:0:010:load:0:r:0}}}", ("llvm",), Mmap(0, 8, 0, "r", 0)),
        ("{{{mmap:0:010:load:0:r:0}}}", ("fuchsia",), Mmap(0, 10, 0, "r", 0)),
        ("{{{mmap:0:0x10:load:0:r:0}}}", ALL, Mmap(0, 16, 0, "r", 0)),
        ("{{{symbol:a{b}c}}}", ("llvm",), Symbol("a{b}c")),
        ("{{{symbol:}}}", ALL, Symbol("")),
    ]:
        for dialect in dialects:
            assert read(text, DIALECTS[dialect]) == ([element], [])


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("{{{symbol}}}", "expected 1 field(s); found 0", 9),
        ("ab{{{data}}}", "expected 1 field(s); found 0", 9),
        ("{{{pc:42}}}", "expected address; found '42'", 6),
        ("{{{pc:0X42}}}", "expected address; found '0X42'", 6),
        ("{{{pc:0x}}}", "expected address; found '0x'", 6),
        (
            "{{{pc:0x10000000000000000}}}",
            "expected address; found '0x10000000000000000'",
            6,
        ),
        ("{{{pc:0x1:}}}", "expected PC type; found ''", 10),
        ("{{{bt:0}}}", "expected at least 2 field(s); found 1", 5),
        ("{{{bt:-1:0}}}", "expected frame number; found '-1'", 6),
        ("{{{bt:0x1:0}}}", "expected frame number; found '0x1'", 6),
        ("{{{bt:0:0:sp}}}", "expected PC type; found 'sp'", 10),
        ("{{{module:0:a}}}", "expected at least 3 field(s); found 2", 9),
        ("{{{module:079::elf:0}}}", "expected module ID; found '079'", 10),
        ("{{{module:0O17::elf:0}}}", "expected module ID; found '0O17'", 10),
        ("{{{module:0:a:pe:ab}}}", "unknown module type", 14),
        ("{{{module:0:a:elf}}}", "expected 4 field(s); found 3", 9),
        ("{{{module:0:a:elf:0xab}}}", "expected build ID; found '0xab'", 18),
        ("{{{mmap:0:1:anon}}}", "unknown mmap type", 12),
        ("{{{mmap:0:-1:load:0:r:0}}}", "expected size; found '-1'", 10),
        ("{{{mmap:0:1:load:0:r}}}", "expected 6 field(s); found 5", 7),
        ("{{{mmap:0:1:load:0:wr:0}}}", "expected mode; found 'wr'", 19),
        ("{{{mmap:0:1:load:9:r:z}}}", "unknown module ID", 17),
        ("{{{mmap:0:1:load:0:r:z}}}", "expected address; found 'z'", 21),
    ],
)
def test_a_malformed_element_is_a_fault(text: str, message: str, offset: int) -> None:
    expected = [Fault(message.encode(), offset)]
    assert read(text, LLVM_DIALECT, {0}) == ([None], expected)


def test_a_field_too_many_is_a_warning() -> None:
    elements, faults = read("{{{bt:0:0:x:y}}} {{{reset:}}}", LLVM_DIALECT)
    assert elements == [Backtrace(0, 0), Reset()]
    assert [fault.is_warning for fault in faults] == [True, True]
    assert faults[0].message == b"expected at most 3 field(s); found 4"
    assert faults[1].message == b"expected 0 field(s); found 1"


def test_the_kind_counts_with_a_field_behind_it() -> None:
    text = "{{{bt:0:0:pc:y}}} {{{pc:0:pc:y}}} {{{pc:0:x:y}}}"
    elements, faults = read(text, SPEC_DIALECT)
    assert elements == [Backtrace(0, 0, "pc"), Pc(0, "pc"), None]
    assert [fault.is_warning for fault in faults] == [True, True, True, False]


def test_unknown_tag_is_not_a_fault() -> None:
    assert read("{{{other:1}}}", SPEC_DIALECT) == ([None], [])


@pytest.mark.parametrize(
    ("line", "dialect", "found"),
    [
        ("{{{}}} {{{:a}}} {{{tag:", "llvm", []),
        ("{{{}}} {{{:a}}} {{{tag:", "spec", []),
        ("{{{ a {{{symbol:b}}}", "llvm", ["{{{ a {{{symbol:b}}}"]),
        ("{{{ a {{{symbol:b}}}", "spec", ["{{{symbol:b}}}"]),
        ("{{{{symbol:b}}}}", "llvm", ["{{{{symbol:b}}}"]),
        ("{{{{symbol:b}}}}", "spec", ["{{{symbol:b}}}"]),
        ("{{{a}}}{{{b}}}", "spec", ["{{{a}}}", "{{{b}}}"]),
    ],
    ids=repr,
)
def test_start_of_an_element_depends_on_the_dialect(
    line: str, dialect: str, found: list[str]
) -> None:
    tokens = find_elements(line.encode(), DIALECTS[dialect])
    assert [token.text.decode() for token in tokens] == found


def test_the_elements_of_llvms_own_cases(markup_fixtures: Path) -> None:
    path = markup_fixtures / "parser-cases.json"
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    compared = 0
    for case in cases:
        if "multiline_tags" in case:
            continue
        nodes = [tuple(node) for node in case["nodes"] if node[1]]
        tokens = find_elements(case["line"].encode(), LLVM_DIALECT)
        assert [
            (each.text.decode(), each.tag.decode(), [f.decode() for f in each.fields])
            for each in tokens
        ] == nodes
        compared += 1
    assert compared > 15


NAMES = st.text(
    st.characters(exclude_characters=":{}\x7f", min_codepoint=32, codec="utf-8")
)
ADDRESSES = st.integers(0, (1 << 64) - 1)
KINDS = st.sampled_from(["", "ra", "pc"])
RECORDS = st.one_of(
    builds(Symbol, NAMES),
    builds(Pc, ADDRESSES, KINDS),
    builds(Data, ADDRESSES),
    builds(Backtrace, ADDRESSES, ADDRESSES, KINDS),
    builds(HexDict, st.text("RIP0x :\n\r", min_size=1)),
    builds(DumpFile, NAMES, NAMES),
    builds(Reset),
    builds(Module, ADDRESSES, NAMES, st.binary(min_size=1, max_size=32)),
    builds(
        Mmap,
        ADDRESSES,
        ADDRESSES,
        ADDRESSES,
        st.sampled_from(["r", "w", "x", "rw", "rx", "wx", "rwx"]),
        ADDRESSES,
    ),
)


@given(RECORDS, st.sampled_from(ALL))
def test_written_elements_are_read_in_any_dialect(
    element: Element, dialect: str
) -> None:
    assert read(encode(element), DIALECTS[dialect]) == ([element], [])


@given(st.text(), st.sampled_from(ALL))
def test_any_name_gives_an_element_of_its_kind(name: str, dialect: str) -> None:
    line = encode(Module(0, name.encode("utf-8", "replace").decode(), b"\1"))
    elements, faults = read(line, DIALECTS[dialect])
    assert isinstance(elements[0], Module)
    assert not faults


@given(st.binary(), st.sampled_from(ALL))
def test_any_bytes_are_read_without_a_crash(line: bytes, dialect: str) -> None:
    faults: list[Fault] = []
    for token in find_elements(b"{{{mmap:" + line + b"}}}", DIALECTS[dialect]):
        decode(token, DIALECTS[dialect], faults)
        assert token.text[:3] == b"{{{"


@pytest.mark.parametrize(
    ("piece", "dialect"), [(b"x", "fuchsia"), (b"{x", "llvm"), (b"1:", "spec")]
)
def test_an_element_takes_little_more_memory_than_its_text(
    piece: bytes, dialect: str
) -> None:
    line = b"{{{a:" + piece * ((1 << 20) // len(piece)) + b"}}}"
    tracemalloc.start()
    try:
        (token,) = find_elements(line, DIALECTS[dialect])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert token.text == line
    assert peak < 40 * len(line)
