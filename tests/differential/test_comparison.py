"""The comparison itself: it must see a difference, and excuse only known ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.conftest import REPOSITORY, find_peer
from tests.differential import gsymutil_differences, layout, sampling
from tests.differential.differences import ADDR2LINE, LLVM_SYMBOLIZER, Case, why
from tests.differential.gsymutil_differences import CLASSES
from tests.differential.layout import Gap, Symbol
from tests.differential.peers import Frame, addr2line_frames, parse_frames
from tests.differential.sampling import Function
from tests.inputs import elf

if TYPE_CHECKING:
    from pathlib import Path

ANSWERS = (
    ("error: address 0x1 is not in GSYM", ()),
    ("main", (Frame("main", "", 0, 0),)),
    ("main + 7", (Frame("main", "", 0, 7),)),
    ("main @ /a/b.c:3", (Frame("main", "/a/b.c", 3, 0),)),
    ("main + 12 @ a @ b.c:0", (Frame("main", "a @ b.c", 0, 12),)),
    (
        "f + 1 @ //r.c:9 [inlined]\n" + " " * 20 + "A::g(int) + 2 @ C:\\x.c:8",
        (Frame("f", "//r.c", 9, 1), Frame("A::g(int)", "C:\\x.c", 8, 2)),
    ),
)


@pytest.mark.parametrize(("text", "frames"), ANSWERS)
def test_an_answer_of_gsymutil_gives_its_frames(
    text: str, frames: tuple[Frame, ...]
) -> None:
    assert parse_frames(text) == frames


def test_an_answer_of_addr2line_gives_its_frames() -> None:
    answer = "f\n/a/b.c:3\nmain\n??:?\n"
    assert addr2line_frames(answer) == (Frame("f", "/a/b.c", 3), Frame("main", "", 0))
    assert addr2line_frames("??\n??:0\n") == ()


def test_no_address_is_drawn_twice() -> None:
    ranges = [(0, 10), (20, 25)]
    everything = [*range(10), *range(20, 25)]
    assert sorted(sampling.distinct_addresses_in(ranges, 100, seed=1)) == everything
    assert len(set(sampling.distinct_addresses_in(ranges, 14, seed=1))) == 14


@pytest.mark.parametrize(
    ("symbol", "known"),
    [
        (elf.Symbol("thumb", 0x11, 8), layout.Symbol(0x110, 8, "FUNC", "thumb")),
        (
            elf.Symbol("a\x02", 0x10, 8, elf.NOTYPE),
            layout.Symbol(0x110, 8, "NOTYPE", "a\x02"),
        ),
        (elf.Symbol("$t", 0x10, 0, elf.NOTYPE), None),
        (elf.Symbol("$d.4", 0x10, 0, elf.NOTYPE), None),
        (elf.Symbol("pool", 0x10, 8, elf.OBJECT), None),
    ],
)
def test_symbols_are_those_of_code_at_its_addresses(
    symbol: elf.Symbol, known: Symbol | None, tmp_path: Path
) -> None:
    find_peer("readelf")
    file = elf.Elf(
        [elf.code_section(address=0x100, size=0x100)],
        symbols=[symbol],
        bits=32,
        machine=elf.ARM,
        type=elf.RELOCATABLE,
    )
    path = tmp_path / "a.o"
    path.write_bytes(file.to_bytes())
    table = layout.symbol_table(path)
    assert table.symbols == ([known] if known else [])
    assert table.data == ({"pool"} if symbol.name == "pool" else set())


INNER, OUTER = Frame("inner", "i.h", 5, 4), Frame("outer", "o.c", 9, 36)
PLAIN = (INNER, OUTER)
ERRORS = pytest.mark.parametrize(
    "ours",
    [
        (INNER._replace(line=6), OUTER),
        (INNER._replace(path="j.h"), OUTER),
        (INNER._replace(name="other"), OUTER),
        (INNER, OUTER._replace(line=8)),
        (INNER, OUTER._replace(path="p.c")),
        (INNER, OUTER._replace(name="other")),
        (OUTER,),
        (),
    ],
)
SYMBOLS = (Symbol(100, 50, "FUNC", "outer"),)


@ERRORS
def test_an_error_is_no_difference_from_llvm_gsymutil(ours: tuple[Frame, ...]) -> None:
    function = Function(100, 150, is_bare=False)
    case = gsymutil_differences.Case(136, PLAIN, ours, function, function, SYMBOLS)
    # Whether the innermost line is right is for the DWARF to say.
    excused = {"rows_after_start_are_kept"}
    assert {each.__name__ for each in CLASSES if each(case)} <= excused


@ERRORS
def test_an_error_is_no_difference_from_the_dwarf(ours: tuple[Frame, ...]) -> None:
    case = Case(136, ours, PLAIN, PLAIN, symbols=SYMBOLS)
    assert why(case, LLVM_SYMBOLIZER) == ""
    # Paths of addr2line do not count, and neither do its mistakes.
    excused = {"path_is_joined_differently"}
    assert why(case, ADDR2LINE) in {"", *excused}


def bare(name: str, path: str = "", line: int = 0) -> tuple[Frame, ...]:
    return (Frame(name, path, line),)


AT = bare("f", "f.c", 7)
LABEL = Symbol(0x100, 0, "NOTYPE", "label")
KNOWN = {
    "relocations_are_applied": Case(
        101, AT, bare("g", "f.c", 9), AT, is_foreign_object=True
    ),
    "relocations_are_missing": Case(
        101, AT, bare("f"), bare("f"), is_foreign_object=True
    ),
    "relocations_are_unknown": Case(
        *(101, bare("f"), bare("", "g.c", 9), bare("f", "g.c", 9)),
        is_foreign_object=True,
        is_unknown_object=True,
    ),
    "isa_bit_is_no_address": Case(100, AT, bare("f"), rows_have_isa_bits=True),
    "padding_has_no_line": Case(0x10D, (), bare("", "f.c", 7), gap=Gap(0x10A, 0x110)),
    "code_has_no_name": Case(0x10D, (), bare("", "f.c", 7), gap=Gap(0x102, 0x200)),
    "symbol_before_has_ended": Case(0x10D, (), bare("f"), gap=Gap(0x102, 0x200)),
    "stub_has_a_name": Case(0x10D, bare("puts@plt"), ()),
    "symbol_extends_to_next_function": Case(0x10D, bare("label"), (), symbols=(LABEL,)),
    "alias_differs": Case(
        *(101, (INNER, OUTER), (INNER, OUTER._replace(name="alias")), ()),
        symbols=(*SYMBOLS, Symbol(100, 50, "FUNC", "alias")),
    ),
    "suffix_is_of_symbol": Case(101, AT, bare("f.cold", "f.c", 7)),
    "scope_is_included": Case(101, bare("n::f", "f.c", 7), AT),
    "assembler_label_is_no_name": Case(101, AT, bare(".L0", "f.c", 7)),
    "name_is_of_symbol": Case(
        *(101, bare("f.isra.0", "f.c", 7), AT, ()),
        symbols=(Symbol(100, 50, "FUNC", "f.isra.0"),),
    ),
    "data_names_no_code": Case(
        101, bare("f"), bare("table", "f.c"), data=frozenset(["table"])
    ),
    "underscore_is_left_out": Case(101, AT, bare("_f", "f.c", 7)),
    "row_runs_on_into_symbol": Case(
        *(0x101, bare("label"), bare("label", "f.c", 7)),
        symbols=(LABEL,),
        line_before=7,
    ),
    "rows_of_folded_code_differ": Case(
        *(101, AT, bare("f", "f.c", 9), AT),
        symbols=(Symbol(100, 5, "FUNC", "f"), Symbol(100, 5, "FUNC", "g")),
    ),
    "call_is_outside_of_caller": Case(
        101, AT, (Frame("g", "f.c", 7), Frame("f", "", 0))
    ),
    "folder_is_in_supplement": Case(
        101, bare("f", "/src/f.c", 7), AT, has_supplement=True
    ),
    "lines_are_missing": Case(101, AT, bare("f"), AT),
    "inlined_call_has_its_own_name": Case(
        *(101, PLAIN, (INNER._replace(name="outer"), OUTER), PLAIN), symbols=SYMBOLS
    ),
    "copy_is_of_another_unit": Case(
        101, AT, bare("f", "g.c", 7), copies=(bare("f", "g.c", 7),)
    ),
    "symbol_has_no_file": Case(
        101, bare("f"), bare("f", "s.c"), symbol_files=frozenset(["s.c"])
    ),
    "path_is_joined_differently": Case(101, AT, bare("f", "x//f.c", 7)),
    "inlined_calls_are_missing": Case(101, PLAIN, (OUTER._replace(line=5),)),
    "row_runs_on_out_of_its_unit": Case(101, bare("f"), bare("f", "", 3), bare("f")),
}


@pytest.mark.parametrize("known", [each.__name__ for each in ADDR2LINE])
def test_each_class_knows_its_difference(known: str) -> None:
    assert why(KNOWN[known], ADDR2LINE) == known


@pytest.mark.parametrize("line_before", [0, 6])
def test_a_lost_line_of_a_small_symbol_is_not_excused(line_before: int) -> None:
    known = KNOWN["row_runs_on_into_symbol"]
    assert why(known._replace(line_before=line_before), ADDR2LINE) == ""


def test_every_class_of_a_reader_of_dwarf_is_explained() -> None:
    page = (REPOSITORY / "docs/differences.md").read_text(encoding="utf-8")
    section = page.partition("\n## Readers of DWARF\n")[2].partition("\n## ")[0]
    explained = re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)
    assert explained == [each.__name__ for each in ADDR2LINE]
    assert set(LLVM_SYMBOLIZER) < set(ADDR2LINE)


def test_every_class_of_gsymutil_is_the_test_of_a_promise() -> None:
    promises = (REPOSITORY / "tools/qa/promises.tsv").read_text(encoding="utf-8")
    checks = set(
        re.findall(r"gsymutil_differences\.py::(\w+)$", promises, re.MULTILINE)
    )
    assert checks == {each.__name__ for each in CLASSES}
