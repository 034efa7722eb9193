"""PDBs that have, together, every record that is read."""

from __future__ import annotations

from struct import pack

from tests.inputs.encoding import cstring
from tests.inputs.pdb import (
    CHAR,
    CODE,
    EXPORTS,
    IMPORTS,
    INT,
    LF_MFUNC_ID,
    LF_MFUNCTION,
    LF_MODIFIER,
    LF_POINTER,
    LF_STRING_ID,
    LF_STRUCTURE,
    S_BLOCK32_ST,
    S_END,
    S_GMANPROC,
    S_GPROC32_ID,
    S_GPROC32_ST,
    S_PUB32_ST,
    S_SEPCODE,
    S_THUNK32,
    S_TRAMPOLINE,
    TEXT,
    C,
    Function,
    Inline,
    Module,
    Pdb,
    argument_list,
    function_id,
    procedure_type,
    record,
    sized,
    subsection,
)

# Operations of binary annotations, with one operand of less than 0x80 each.
OFFSET, LENGTH, FILE, LINE, BOTH = 0x03, 0x04, 0x05, 0x06, 0x0B
LENGTH_AND_OFFSET = 0x0C

ARGUMENTS, FUNCTION, CLASS, CONST_CLASS, THIS, NONE, METHOD = range(0x1000, 0x1007)
SCOPE, INNER, OUTER, MEMBER = range(0x1000, 0x1004)

TYPES = (
    argument_list(INT, CHAR),
    procedure_type(ARGUMENTS),
    record(LF_STRUCTURE, pack("<HHIIIH", 0, 0, 0, 0, 0, 8) + cstring("N::S")),
    record(LF_MODIFIER, pack("<IH", CLASS, 1)),
    record(LF_POINTER, pack("<II", CONST_CLASS, 0x1000C)),
    argument_list(),
    record(LF_MFUNCTION, pack("<IIIBBHIi", INT, CLASS, THIS, 0, 0, 0, NONE, 0)),
)
IDS = (
    record(LF_STRING_ID, pack("<I", 0) + cstring("N")),
    function_id("inner", SCOPE, FUNCTION),
    function_id("outer", 0, FUNCTION),
    record(LF_MFUNC_ID, pack("<II", CLASS, METHOD) + cstring("get")),
)
HEADER = r"C:\src\b.h"
INLINEES = ((INNER, HEADER, 5), (OUTER, HEADER, 20), (MEMBER, HEADER, 30))

# f: 16..40 is outer, called in line 11; of that 20..28 is inner, called in line 22.
NESTED = Function(
    "N::f",
    0,
    64,
    [(0, 10), (16, 11), (40, 12)],
    [
        Inline(
            OUTER,
            bytes([OFFSET, 16, LINE, 4, BOTH, 4, LENGTH, 20]),
            [Inline(INNER, bytes([LINE, 2, LENGTH_AND_OFFSET, 8, 20]))],
        )
    ],
    type=FUNCTION,
)
THUNK = record(S_THUNK32, pack("<IIIIHHB", 0, 0, 0, 0x200, 1, 6, 0) + cstring("thunk"))
APART = record(S_SEPCODE, pack("<IIIIIIHH", 0, 0, 16, 0, 0x300, 0, 1, 1))
END = record(S_END, b"")
REFERENCE = 0x80000000
OLD_PLACE = pack("<8IHB", 0, 0, 0, 16, 0, 0, 0, 0x20, 1, 0)

PDBS = {
    "functions": Pdb(
        [
            Module([NESTED], symbols=THUNK + END + APART + END, inlinees=INLINEES),
            Module(
                [Function("plain", 0x80, 8, [(0, 3)], kind=S_GPROC32_ID)],
                name="b.obj",
                language=C,
            ),
        ],
        publics=[("?g@@YAXXZ", 1, 0x100), ("data", 2, 0), ("_plain", 1, 0x80)],
        types=TYPES,
        ids=IDS,
        sections=((TEXT, 0x1000, CODE), (0x2000, 0x100, 0x40000040)),
    ),
    "members": Pdb(
        [
            Module(
                [
                    Function(
                        "N::S::get",
                        0,
                        32,
                        [(0, 7), (8, 0xFEEFEE), (16, 9)],
                        [Inline(MEMBER, bytes([OFFSET, 8, LENGTH, 8]))],
                        type=METHOD,
                    ),
                    Function("`x'::?A0x1234abcd::y", 32, 8),
                ],
                inlinees=INLINEES,
            )
        ],
        types=TYPES,
        ids=IDS,
    ),
    "imports": Pdb(
        [
            Module(
                name="A.OBJ",
                subsections=subsection(EXPORTS, pack("<II", REFERENCE | 1, INNER)),
            ),
            Module(
                [
                    Function(
                        "f",
                        0,
                        32,
                        [(0, 1)],
                        [Inline(REFERENCE, bytes([OFFSET, 8, LENGTH, 8]))],
                    )
                ],
                name="b.obj",
                inlinees=[(REFERENCE, "a.obj", 5)],
                subsections=subsection(IMPORTS, pack("<III", 14, 1, REFERENCE | 1)),
            ),
            Module(name="* CIL *"),
        ],
        types=TYPES,
        ids=IDS,
    ),
    "trampolines": Pdb(
        [
            Module([Function("f", 0x40, 16, [(0, 7)])]),
            Module(
                name="* Linker *",
                symbols=record(S_TRAMPOLINE, pack("<HHIIHH", 0, 5, 5, 0x40, 1, 1))
                + record(S_TRAMPOLINE, pack("<HHIIHH", 0, 5, 10, 0x60, 1, 1)),
            ),
        ],
        publics=[("?f@@YAXXZ", 1, 0x40), ("first", 1, 0), ("gone", 1, 0x60)],
    ),
    "moved": Pdb(
        [Module([NESTED], inlinees=INLINEES)],
        types=TYPES,
        ids=IDS,
        original_sections=((TEXT, 0x1000, CODE),),
        omap=((TEXT, 0x5000), (TEXT + 0x40, 0), (TEXT + 0x100, 0x6000)),
        publics=[("gone", 1, 0x40), ("moved", 1, 0x110)],
    ),
    # Parts of a function in another order, one of them twice, code of nobody between.
    "reordered": Pdb(
        [Module([NESTED], symbols=APART + END, inlinees=INLINEES)],
        types=TYPES,
        ids=IDS,
        omap_to_source=(
            (0x4000, TEXT + 24),
            (0x4010, TEXT),
            (0x4018, 0x80000000),
            (0x4020, TEXT + 12),
            (0x4030, TEXT + 0x300),
            (0x4050, TEXT + 0x104),
            (0x4060, 0),
        ),
        omap=((TEXT, 0x4010), (TEXT + 12, 0x4020), (TEXT + 24, 0x4000)),
        publics=[("q", 1, 0x100), ("?f@@", 1, 0)],
    ),
    # As of before Visual Studio 2005.
    "old": Pdb(
        [
            Module(
                [Function("f", 0, 32, [(0, 10), (16, 12)])],
                is_old=True,
                symbols=sized(S_GPROC32_ST, OLD_PLACE, "g")
                + sized(S_BLOCK32_ST, bytes(18), "")
                + END
                + END
                + record(S_GMANPROC, bytes(39) + cstring("h"))
                + END,
            )
        ],
        symbol_records=sized(S_PUB32_ST, pack("<IIH", 2, 0x80, 1), "public"),
        features=(),
        dbi_version=19970606,
    ),
}
