"""GSYM files as Breakpad text: what is written, and what is said to be lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from gsym import FunctionInfo, InlineInfo, LineEntry, ModuleKey, Range
from gsym.modules.part import module_part
from tests import oracle
from tests.breakpad_file import Frame, SymbolFile
from tests.conversions import words
from tests.creations import create
from tests.handmade import file_of, function_of
from tests.views import to_oracle

if TYPE_CHECKING:
    from pathlib import Path

LINUX = ModuleKey(
    os="Linux", architecture="x86_64", debug_id="A" * 32 + "0", debug_file="app"
)
HEAD = f"MODULE Linux x86_64 {'A' * 32}0 app\n"

ROW_OUTSIDE = LineEntry(0x1020, "/src/a.c", 9)


def export(folder: Path, data: bytes) -> tuple[str, gsym.ExportReport]:
    """The text behind the MODULE line, and the report."""
    target = folder / "out.sym"
    with gsym.Reader(data) as reader:
        report = gsym.export_breakpad(reader, target, identity=LINUX)
    text = target.read_bytes()
    assert report.file_size == len(text)
    return text.decode("utf-8").removeprefix(HEAD), report


def inline(*children: InlineInfo, end: int = 0x1010) -> InlineInfo:
    """The root of the function at 0x1000."""
    return InlineInfo("f", "", 0, (Range(0x1000, end),), children)


def call(
    name: str, *ranges: tuple[int, int], inside: tuple[InlineInfo, ...] = ()
) -> InlineInfo:
    extents = tuple(Range(*extent) for extent in ranges)
    return InlineInfo(name, "/src/a.c", 7, extents, inside)


class Case(NamedTuple):
    name: str
    functions: list[FunctionInfo]
    expected: str
    losses: dict[str, int] = {}  # noqa: RUF012 - a default of a NamedTuple


CASES = [
    Case(
        "lines reach to the next row and the last to the end of the function",
        [
            FunctionInfo(
                *(0x1000, 0x10, "f"),
                (LineEntry(0x1000, "/src/a.c", 3), LineEntry(0x1004, "b.c", 0)),
            ),
        ],
        """
        FILE 1 /src/a.c
        FILE 2 b.c
        FUNC 0 10 0 f
        0 4 3 1
        4 c 0 2
        """,
    ),
    Case(
        "a function without lines, one without a size",
        [FunctionInfo(0x1000, 0x10, "f"), FunctionInfo(0x1080, 0, "end")],
        """
        FUNC 0 10 0 f
        PUBLIC 80 0 end
        """,
    ),
    Case(
        "inlined calls by level, with all their ranges",
        [
            FunctionInfo(
                *(0x1000, 0x10, "f", (LineEntry(0x1000, "/src/a.c", 3),)),
                inline(
                    call(
                        *("g", (0x1002, 0x1004), (0x1008, 0x100C)),
                        inside=(call("h", (0x1009, 0x100A)),),
                    ),
                    call("g", (0x1004, 0x1005)),
                ),
            ),
        ],
        """
        FILE 1 /src/a.c
        INLINE_ORIGIN 0 g
        INLINE_ORIGIN 1 h
        FUNC 0 10 0 f
        INLINE 0 7 1 0 2 2 8 4
        INLINE 1 7 1 1 9 1
        INLINE 0 7 1 0 4 1
        0 10 3 1
        """,
    ),
    Case(
        "a root that names a file is a call",
        [
            FunctionInfo(
                *(0x1000, 0x10, "f", (LineEntry(0x1000, "/src/a.c", 3),)),
                inline(call("g", (0x1002, 0x1004)))._replace(
                    name="root", call_path="/src/a.c", call_line=5
                ),
            ),
        ],
        """
        FILE 1 /src/a.c
        INLINE_ORIGIN 0 root
        INLINE_ORIGIN 1 g
        FUNC 0 10 0 f
        INLINE 0 5 1 0 0 10
        INLINE 1 7 1 1 2 2
        0 10 3 1
        """,
    ),
    Case(
        "rows and calls without a file have file 0, which is none",
        [
            FunctionInfo(
                *(0x1000, 0x10, "f"),
                (LineEntry(0x1000, "/src/a.c", 3), LineEntry(0x1008, "", 4)),
                inline(call("g", (0x1002, 0x1004))._replace(call_path="")),
            ),
        ],
        """
        FILE 1 /src/a.c
        INLINE_ORIGIN 0 g
        FUNC 0 10 0 f
        INLINE 0 7 0 0 2 2
        0 8 3 1
        8 8 4 0
        """,
    ),
    Case(
        "inlined calls in front of the first row, where readers need a line",
        [
            FunctionInfo(
                *(0x1000, 0x10, "f", (LineEntry(0x1008, "/src/a.c", 3),)),
                inline(call("g", (0x1002, 0x1004))),
            ),
            FunctionInfo(
                *(0x1010, 0x10, "plain", (LineEntry(0x1018, "/src/a.c", 3),)),
            ),
        ],
        """
        FILE 1 /src/a.c
        INLINE_ORIGIN 0 g
        FUNC 0 10 0 f
        INLINE 0 7 1 0 2 2
        0 8 0 0
        8 8 3 1
        FUNC 10 10 0 plain
        18 8 3 1
        """,
    ),
    Case(
        "inlined calls without any row",
        [FunctionInfo(0x1000, 0x10, "f", None, inline(call("g", (0x1002, 0x1004))))],
        """
        FILE 1 /src/a.c
        INLINE_ORIGIN 0 g
        FUNC 0 10 0 f
        INLINE 0 7 1 0 2 2
        0 10 0 0
        """,
    ),
    Case(
        "of rows at one address the last one counts, one behind the end not",
        [
            FunctionInfo(
                *(0x1000, 0x10, "f"),
                (
                    LineEntry(0x1000, "/src/a.c", 3),
                    LineEntry(0x1000, "/src/a.c", 4),
                    LineEntry(0x1004, "/src/a.c", 5),
                    ROW_OUTSIDE,
                ),
            ),
        ],
        """
        FILE 1 /src/a.c
        FUNC 0 10 0 f
        0 4 4 1
        4 c 5 1
        """,
    ),
    Case(
        "merged functions",
        [
            FunctionInfo(
                *(0x1000, 0x10, "f", None, None),
                (FunctionInfo(0x1000, 0x10, "g"), FunctionInfo(0x1000, 0x10, "h")),
            ),
        ],
        """
        FUNC m 0 10 0 f
        """,
        {"Function left out: merged into another one, marked with m": 2},
    ),
    Case(
        "a function ends where the next one starts",
        [
            FunctionInfo(
                *(0x1000, 0x10, "f"),
                (LineEntry(0x1000, "/src/a.c", 3), LineEntry(0x1008, "/src/a.c", 4)),
                inline(call("g", (0x1000, 0x1002), (0x1003, 0x1009))),
            ),
            FunctionInfo(0x1006, 0x4, "inner"),
        ],
        """
        FILE 1 /src/a.c
        INLINE_ORIGIN 0 g
        FUNC 0 6 0 f
        INLINE 0 7 1 0 0 2 3 3
        0 6 3 1
        FUNC 6 4 0 inner
        """,
        {"Function cut: another one covers a part of it": 1},
    ),
    Case(
        "names that do not fit a line",
        [
            FunctionInfo(0x1000, 0x10, "two\nlines\r"),
            FunctionInfo(0x1010, 0x10, "latin-1 \udce9t\udce9"),
            FunctionInfo(0x1020, 0x10, " \t "),
            FunctionInfo(0x1030, 0x10, "m f(int, char **)"),
            FunctionInfo(0x1040, 0x10, "\N{SNOWMAN}\U0001f600 \udced\udca0\udc80"),
            FunctionInfo(
                *(0x1050, 0x10, "g"),
                (LineEntry(0x1050, "/with space/\udce9\n.c", 3),),
            ),
        ],
        """
        FILE 1 /with space/??.c
        FUNC 0 10 0 two?lines?
        FUNC 10 10 0 latin-1 ?t?
        FUNC 20 10 0 <name omitted>
        FUNC 30 10 0 m f(int, char **)
        FUNC 40 10 0 \N{SNOWMAN}\U0001f600 ???
        FUNC 50 10 0 g
        50 10 3 1
        """,
        {"Name changed: blank, of several lines or not UTF-8": 5},
    ),
    Case(
        "what follows a symbol without a size may be too far away",
        [
            FunctionInfo(0x1000, 0, "near", (LineEntry(0x1000, "/a.c", 1),)),
            FunctionInfo(0x100000FFF, 0, "far", (LineEntry(0x100000FFF, "/a.c", 2),)),
            FunctionInfo(0x200000FFF, 0, "last"),
        ],
        """
        FILE 1 /a.c
        FUNC 0 ffffffff 0 near
        0 ffffffff 1 1
        PUBLIC ffffffff 0 far
        PUBLIC 1ffffffff 0 last
        """,
        {"Lines and inlined calls left out: the function has no size": 1},
    ),
    Case(
        "call sites, and details of what has no size",
        [
            FunctionInfo(
                *(0x1000, 0x10, "f", None, None, ()),
                (gsym.CallSite(4, 1, ("g",)), gsym.CallSite(8, 1, ("h",))),
                {77: b"unknown"},
            ),
            FunctionInfo(0x1020, 0, "g", (LineEntry(0x1020, "/src/a.c", 3),)),
        ],
        """
        FILE 1 /src/a.c
        FUNC 0 10 0 f
        PUBLIC 20 0 g
        """,
        {
            "Lines and inlined calls left out: the function has no size": 1,
            "Call site left out": 2,
            "InfoType without a known meaning left out": 1,
        },
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
@pytest.mark.parametrize(("version", "byteorder"), [(1, "little"), (2, "big")])
def test_the_text_is_as_expected(
    case: Case, version: int, byteorder: str, tmp_path: Path
) -> None:
    # As from any writer, also with content that a creator does not write.
    data = oracle.encode_file(to_oracle(case.functions, version, byteorder))
    text, report = export(tmp_path, data)
    assert text == words(case.expected)
    assert report.losses == case.losses
    SymbolFile((HEAD + text).encode())


def same_start(*functions: FunctionInfo) -> bytes:
    """A file with several functions of one start, which no creator writes."""
    return oracle.encode_file(to_oracle(list(functions), 1, "little"))


def test_the_first_that_reaches_over_an_address_answers(tmp_path: Path) -> None:
    rows = (LineEntry(0x1000, "/src/a.c", 3), LineEntry(0x1006, "/src/a.c", 4))
    text, report = export(
        tmp_path,
        same_start(
            FunctionInfo(0x1000, 4, "short"),
            FunctionInfo(0x1000, 4, "hidden"),
            FunctionInfo(0x1000, 8, "long", rows, inline(call("g", (0x1002, 0x1006)))),
            FunctionInfo(0x1000, 0, "rest"),
            FunctionInfo(0x1000, 9, "never"),
        ),
    )
    expected = """
        FILE 1 /src/a.c
        INLINE_ORIGIN 0 g
        FUNC m 0 4 0 short
        FUNC m 4 4 0 long
        INLINE 0 7 1 0 4 2
        4 2 3 1
        6 2 4 1
        PUBLIC m 8 0 rest
        """
    assert text == words(expected)
    assert report.losses == {
        "Function cut: another one covers a part of it": 2,
        "Function left out: another one covers all of it": 2,
    }


LEFT_OUT = "Inlined call left out: it is not inside its caller or overlaps another"


@pytest.mark.parametrize(
    ("children", "kept", "lost"),
    [
        ([call("g", (0x1002, 0x1006)), call("h", (0x1004, 0x1008))], [], 2),
        ([call("g", (0x1004, 0x1008)), call("h", (0x1002, 0x1006))], [], 2),
        ([call("g", (0x1004, 0x1008)), call("h", (0x1002, 0x1004))], ["g", "h"], 0),
        ([call("g", (2**64 - 8, 2**64 - 4))], [], 1),
        ([call("g", (0x1008, 0x1012))], [], 1),
        ([call("g", (0x1004, 0x1004))], [], 0),
        ([call("g", (0x1008, 0x100A), (0x1002, 0x1004))], [], 1),
        (
            [
                call(
                    *("g", (0x1002, 0x1004), (0x1006, 0x1008)),
                    inside=(
                        call("h", (0x1002, 0x1003), (0x1007, 0x1008)),
                        call("over the gap", (0x1003, 0x1007)),
                    ),
                )
            ],
            ["g", "h"],
            1,
        ),
        (
            [
                call("g", (0x1002, 0x1006)),
                call("h", (0x1004, 0x1008), inside=(call("i", (0x1006, 0x1008)),)),
                call("j", (0x1008, 0x100A), (0x1001, 0x1002)),
                call("k", (0x100C, 0x100E)),
            ],
            ["k"],
            4,
        ),
        (
            [
                call("g", (0x1002, 0x1003), (0x1008, 0x1009)),
                call("h", (0x1004, 0x1005), (0x1007, 0x1009)),
                call("i", (0x1005, 0x1006), (0x1007, 0x1008)),
                call("k", (0x1006, 0x1007), (0x1009, 0x100A)),
            ],
            ["k"],
            3,
        ),
    ],
)
def test_calls_that_readers_disagree_about_are_left_out(
    children: list[InlineInfo], kept: list[str], lost: int, tmp_path: Path
) -> None:
    root = inline(*children)
    data = same_start(FunctionInfo(0x1000, 0x10, "f", None, root))
    text, report = export(tmp_path, data)
    parsed = SymbolFile((HEAD + text).encode())
    (function,) = parsed.functions
    assert [parsed.origins[call.origin] for call in function.calls] == kept
    assert report.losses.get(LEFT_OUT, 0) == lost


def test_a_damaged_record_costs_its_function_only(tmp_path: Path) -> None:
    good = oracle.encode_file(
        to_oracle(
            [FunctionInfo(0x1000, 0x10, "f"), FunctionInfo(0x1020, 0x10, "g")],
            1,
            "little",
        )
    )
    with gsym.Reader(good) as reader:
        assert len(reader) == 2
    # The name of the first record, which stands behind its size, becomes 0.
    at = good.index((0x10).to_bytes(4, "little"), len(good) - 40) + 4
    bad = good[:at] + bytes(4) + good[at + 4 :]
    text, report = export(tmp_path, bad)
    assert text == "FUNC 20 10 0 g\n"
    assert report.losses == {"Function left out: its record is damaged": 1}


def test_names_and_files_past_their_tables_are_none(tmp_path: Path) -> None:
    row = oracle.LineRow(0x1000, 99, 3)
    lost = oracle.InlineInfo(((0x1002, 0x1004),), 0xFFFF, 99, 8)
    root = oracle.InlineInfo(((0x1000, 0x1100),), 0, 0, 0, (lost,))
    file = file_of(replace(function_of((row,), root), name=0xFFFF))
    text, _ = export(tmp_path, oracle.encode_file(file))
    parsed = SymbolFile((HEAD + text).encode())
    assert parsed.lookup(2) == [
        Frame("<name omitted>", "", 3),
        Frame("<name omitted>", "", 8),
    ]


def test_an_empty_file_gives_a_head_only(tmp_path: Path) -> None:
    text, report = export(tmp_path, oracle.encode_file(file_of()))
    assert text == "FILE 1 /src/a.c\n"
    assert report.functions == 0


def test_a_large_file_comes_in_blocks_and_progress_is_told(tmp_path: Path) -> None:
    count = 40_000
    data = create(
        FunctionInfo(0x1000 + 16 * index, 16, f"function {index}")
        for index in range(count)
    )
    told = []
    with gsym.Reader(data) as reader:
        report = gsym.export_breakpad(
            reader,
            tmp_path / "out.sym",
            identity=LINUX,
            progress=lambda *state: told.append(state),
        )
    assert report.functions == count
    assert told == sorted(told)
    assert len(told) > 1
    assert told[-1] == (2 * count, 2 * count)
    lines = (tmp_path / "out.sym").read_text().splitlines()
    expected = [f"FUNC {16 * i:x} 10 0 function {i}" for i in range(count)]
    assert lines[1:] == expected


# ---- the head ----------------------------------------------------------------------


SMALL = [FunctionInfo(0x1000, 0x10, "f")]
BUILD_ID = bytes.fromhex("80AE0509E7CE335AE3CAB61C274274DE96049B64")


@pytest.mark.parametrize(
    ("given", "byteorder", "expected"),
    [
        (
            ModuleKey(os="Linux", architecture="x86_64"),
            "little",
            (
                "MODULE Linux x86_64 0905AE80CEE75A33E3CAB61C274274DE0 lib app.so.1\n"
                "INFO CODE_ID 80AE0509E7CE335AE3CAB61C274274DE96049B64"
            ),
        ),
        (
            ModuleKey(os="Linux", architecture="s390x"),
            "big",
            (
                "MODULE Linux s390x 80AE0509E7CE335AE3CAB61C274274DE0 lib app.so.1\n"
                "INFO CODE_ID 80AE0509E7CE335AE3CAB61C274274DE96049B64"
            ),
        ),
        (
            ModuleKey(
                os="Linux",
                architecture="x86_64",
                debug_id="B" * 32 + "0",
                code_id="1234",
                debug_file="app",
                code_file="",
            ),
            "little",
            f"MODULE Linux x86_64 {'B' * 32}0 app\nINFO CODE_ID 1234",
        ),
        (
            ModuleKey(os="Linux", architecture="x86_64", debug_id="B" * 32 + "0"),
            "little",
            f"MODULE Linux x86_64 {'B' * 32}0 lib app.so.1",
        ),
        (
            ModuleKey(
                os="windows",
                architecture="x86",
                debug_id="B" * 32 + "1a",
                code_id="5AB380779000",
                debug_file="the app.pdb",
                code_file="the\napp.exe",
            ),
            "little",
            (
                f"MODULE windows x86 {'B' * 32}1a the app.pdb\n"
                "INFO CODE_ID 5AB380779000 the?app.exe"
            ),
        ),
    ],
)
def test_the_head_names_the_module(
    given: ModuleKey, byteorder: str, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "lib app.so.1.gsym"
    path.write_bytes(create(SMALL, uuid=BUILD_ID, byteorder=byteorder))
    gsym.export_breakpad(path, tmp_path / "out.sym", identity=given)
    text = (tmp_path / "out.sym").read_text()
    assert text == f"{expected}\nFUNC 0 10 0 f\n"
    SymbolFile(text.encode())


@pytest.mark.parametrize(
    ("given", "uuid", "complaint"),
    [
        (None, BUILD_ID, "the os and architecture of the module must be given"),
        (ModuleKey(os="Linux"), BUILD_ID, "the architecture of the module must"),
        (
            ModuleKey(os="Linux", architecture="x86"),
            b"",
            "the debug id of the module must",
        ),
        (
            ModuleKey(os="windows", architecture="x86"),
            BUILD_ID,
            "the debug id of the module must",
        ),
    ],
)
def test_what_is_not_known_is_asked_for(
    given: ModuleKey | None, uuid: bytes, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "app.gsym"
    path.write_bytes(create(SMALL, uuid=uuid))
    with pytest.raises(gsym.GsymError, match=complaint) as caught:
        gsym.export_breakpad(path, tmp_path / "out.sym", identity=given)
    assert caught.value.path == str(path)
    assert not (tmp_path / "out.sym").exists()


def test_bytes_without_a_name_need_one(tmp_path: Path) -> None:
    nameless = LINUX._replace(debug_file="")
    with (
        gsym.Reader(create(SMALL)) as reader,
        pytest.raises(gsym.GsymError, match="the debug file of the module must"),
    ):
        gsym.export_breakpad(reader, tmp_path / "out.sym", identity=nameless)


@pytest.mark.parametrize("field", ["os", "architecture", "debug_id", "code_id"])
def test_a_word_of_the_head_must_be_one(tmp_path: Path, field: str) -> None:
    odd = LINUX._replace(**{field: "two words"})
    with (
        gsym.Reader(create(SMALL)) as reader,
        pytest.raises(ValueError, match="'two words' is not one word"),
    ):
        gsym.export_breakpad(reader, tmp_path / "out.sym", identity=odd)


def test_the_output_may_not_replace_the_input(tmp_path: Path) -> None:
    path = tmp_path / "app.gsym"
    path.write_bytes(create(SMALL))
    with pytest.raises(ValueError, match="the output would replace the input"):
        gsym.export_breakpad(path, path, identity=LINUX)
    assert path.read_bytes() == create(SMALL)


def module_named(path: Path, **fields: str) -> ModuleKey:
    """Write a file that names its module; the fields that it says."""
    said = ModuleKey(
        os="Linux",
        architecture="x86_64",
        debug_id="0905AE80CEE75A33E3CAB61C274274DE0",
        debug_file="libapp.so",
        code_id=BUILD_ID.hex().upper(),
    )._replace(**fields)
    data = create(SMALL, uuid=BUILD_ID)
    path.write_bytes(data + module_part(said, len(data)))
    return said


def test_a_file_that_names_its_module_needs_no_options(tmp_path: Path) -> None:
    said = module_named(tmp_path / "x.gsym")
    report = gsym.export_breakpad(tmp_path / "x.gsym", tmp_path / "x.sym")
    assert report.identity == said
    head = (tmp_path / "x.sym").read_text().splitlines()[:2]
    assert head == [
        f"MODULE Linux x86_64 {said.debug_id} libapp.so",
        f"INFO CODE_ID {said.code_id}",
    ]


def test_options_do_not_make_a_file_that_of_another_module(tmp_path: Path) -> None:
    module_named(tmp_path / "x.gsym", debug_id="")
    renamed = ModuleKey(debug_file="libother.so", architecture="x86")
    named = gsym.export_breakpad(
        tmp_path / "x.gsym", tmp_path / "x.sym", identity=renamed
    )
    assert named.identity.debug_file == "libother.so"
    assert named.identity.architecture == "x86"
    output = tmp_path / "y.sym"
    for other in (ModuleKey(debug_id="AB" * 16 + "0"), ModuleKey(code_id="AB" * 20)):
        with pytest.raises(gsym.UuidMismatchError, match="id is"):
            gsym.export_breakpad(tmp_path / "x.gsym", output, identity=other)
        assert not output.exists()
