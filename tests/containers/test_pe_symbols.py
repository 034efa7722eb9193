"""Symbols of PE images: which are functions, how far they reach, what is exported."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.conversions import convert_bytes, describe
from tests.inputs.pe import (
    ABSOLUTE,
    ARM64,
    DATA,
    DEBUG,
    I386,
    LABEL,
    STATIC,
    UNDEFINED,
    WEAK,
    X86_64,
    Export,
    Pe,
    Section,
    Symbol,
    code_section,
)

if TYPE_CHECKING:
    from pathlib import Path

BASE = 0x400000
TEXT = code_section(0x1000, 0x100)
DATA_SECTION = Section(".data", bytes(16), 0x3000, DATA)


class Case(NamedTuple):
    symbols: list[Symbol]
    expected: str  # addresses without the image base
    machine: int = X86_64
    unwind: tuple[tuple[int, int], ...] = ()
    exports: tuple[Export, ...] = ()


CASES = {
    "one ends where the next starts": Case(
        [Symbol("a", 0), Symbol("b", 0x20)], "1000-1020 a, 1020-1100 b"
    ),
    "in any order": Case(
        [Symbol("b", 0x20), Symbol("a", 0)], "1000-1020 a, 1020-1100 b"
    ),
    "static functions": Case([Symbol("a", 0, storage=STATIC)], "1000-1100 a"),
    "weak functions": Case([Symbol("a", 0, storage=WEAK)], "1000-1100 a"),
    "hand-written code has no type": Case([Symbol("a", 0, kind=0)], "1000-1100 a"),
    "of equal symbols the one with the type of a function": Case(
        [Symbol("a", 0), Symbol("__end__", 0, kind=0)], "1000-1100 a"
    ),
    "whichever is first": Case(
        [Symbol("__end__", 0, kind=0), Symbol("a", 0, storage=STATIC)], "1000-1100 a"
    ),
    "what a section is called": Case(
        [
            Symbol(".text", 0, kind=0, storage=STATIC, auxiliary=1),
            Symbol("text$x", 0x10, kind=0, storage=STATIC, auxiliary=1),
            Symbol("a", 0x20),
        ],
        "1020-1100 a",
    ),
    "labels": Case([Symbol("a", 0), Symbol("l", 0x10, storage=LABEL)], "1000-1100 a"),
    "auxiliary entries are no symbols": Case(
        [Symbol("a", 0, auxiliary=3), Symbol("b", 0x20, auxiliary=1)],
        "1000-1020 a, 1020-1100 b",
    ),
    "in no section": Case(
        [
            Symbol("undefined", 0x10, UNDEFINED),
            Symbol("absolute", 0x10, ABSOLUTE),
            Symbol("debug", 0x10, DEBUG),
            Symbol("none", 0x10, 9),
            Symbol("a", 0),
        ],
        "1000-1100 a",
    ),
    "data": Case([Symbol("d", 0, ".data", 0), Symbol("a", 0)], "1000-1100 a"),
    "behind the end of the section": Case(
        [Symbol("a", 0), Symbol("end", 0x100)], "1000-1100 a"
    ),
    "names of 8 bytes and more": Case(
        [Symbol("eight_78", 0), Symbol("nine_6789", 0x80)],
        "1000-1080 eight_78, 1080-1100 nine_6789",
    ),
    "the underscore of C": Case(
        [Symbol("_main", 0), Symbol("__start", 0x10), Symbol("_f@4", 0x20)],
        "1000-1010 main, 1010-1020 _start, 1020-1100 f@4",
        machine=I386,
    ),
    "an underscore and nothing else": Case([Symbol("_", 0)], "1000-1100 _", I386),
    "no underscore on other machines": Case([Symbol("_main", 0)], "1000-1100 _main"),
    "ends of the unwind table": Case(
        [Symbol("a", 0), Symbol("b", 0x20)],
        "1000-101d a, 1020-1100 b",
        unwind=((0x1000, 0x101D),),
    ),
    "starts of the unwind table": Case(
        [Symbol("a", 0), Symbol("b", 0x80)],
        "1000-1040 a, 1080-1100 b",
        machine=ARM64,
        unwind=((0x1000, 0), (0x1040, 0)),
    ),
    "exports where there are no symbols": Case(
        [],
        "1010-1030 a, 1030-1100 b",
        exports=(Export("a", 0x1010), Export("b", 0x1030)),
    ),
    "exports are known by their names": Case(
        [], "1010-1100 _a", I386, exports=(Export("_a", 0x1010),)
    ),
    "exports of data and of other images": Case(
        [],
        "1010-1100 a",
        exports=(
            Export("d", 0x3000),
            Export("elsewhere", forward="OTHER.f"),
            Export("a", 0x1010),
        ),
    ),
    "symbols are better than exports": Case(
        [Symbol("a", 0)], "1000-1100 a", exports=(Export("b", 0x1010),)
    ),
    "exports end by the unwind table": Case(
        [],
        "1010-1018 a",
        exports=(Export("a", 0x1010),),
        unwind=((0x1010, 0x1018),),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_are_found(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    image = Pe(
        [TEXT, DATA_SECTION],
        case.symbols,
        machine=case.machine,
        image_base=BASE,
        unwind=case.unwind,
        exports=case.exports,
    )
    functions = convert_bytes(tmp_path, image.to_bytes()).functions
    found = [each._replace(address=each.address - BASE) for each in functions]
    assert ", ".join(describe(found).splitlines()) == case.expected
