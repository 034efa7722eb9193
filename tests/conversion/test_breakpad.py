"""Breakpad symbol files: what each record says, and what a damaged one costs.

In words, as tests/conversions.py prints them. A case says which warnings it makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import gsym
from gsym.cli.main import main
from gsym.conversion.inputs import breakpad as breakpad_conversion
from gsym.conversion.inputs.breakpad import (
    _CATEGORIES,
    own_build_id,
    read_module,
    triple_architecture,
)
from gsym.engine.native import lib
from tests.conversions import Options, convert_bytes, describe, words
from tests.inputs.breakpad import MODULE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

UNKNOWN = _CATEGORIES[lib.GSYM_BREAKPAD_UNKNOWN_RECORD]
LONG = _CATEGORIES[lib.GSYM_BREAKPAD_LONG_LINE]
NUMBER = _CATEGORIES[lib.GSYM_BREAKPAD_NUMBER]
BAD_MODULE = _CATEGORIES[lib.GSYM_BREAKPAD_MODULE]
RANGE = _CATEGORIES[lib.GSYM_BREAKPAD_RANGE]
TOO_LARGE = _CATEGORIES[lib.GSYM_BREAKPAD_TOO_LARGE]
NO_FUNCTION = _CATEGORIES[lib.GSYM_BREAKPAD_NO_FUNCTION]
HEAD = _CATEGORIES[lib.GSYM_BREAKPAD_HEAD]
INLINE_LIMIT = _CATEGORIES[lib.GSYM_BREAKPAD_LIMIT]
NAME = _CATEGORIES[lib.GSYM_BREAKPAD_NAME]
OUTSIDE = _CATEGORIES[lib.GSYM_BREAKPAD_OUTSIDE]
OVERLAP = _CATEGORIES[lib.GSYM_BREAKPAD_OVERLAP]
UNCOVERED = _CATEGORIES[lib.GSYM_BREAKPAD_UNCOVERED]
NO_FILE = _CATEGORIES[lib.GSYM_BREAKPAD_NO_FILE]
NO_ORIGIN = _CATEGORIES[lib.GSYM_BREAKPAD_NO_ORIGIN]
REDEFINED = _CATEGORIES[lib.GSYM_BREAKPAD_REDEFINED]


class Case(NamedTuple):
    name: str
    text: str
    expected: str
    warnings: dict[str, int] = {}  # noqa: RUF012 - a default of a NamedTuple


RECORDS = [
    Case(
        "functions and lines",
        """
        FILE 0 /src/a.c
        FILE 1 /src/b.h
        FUNC 1000 20 0 main
        1000 4 6 0
        1004 8 3 1
        100c 14 8 0
        FUNC 1020 8 10 next(int, char const*)
        1020 8 9 0
        """,
        """
        1000-1020 main
          1000 /src/a.c:6
          1004 /src/b.h:3
          100c /src/a.c:8
        1020-1028 next(int, char const*)
          1020 /src/a.c:9
        """,
    ),
    Case(
        "m, upper-case digits, leading zeros, 0x",
        """
        FILE 007 a.c
        FUNC m 00000000000000001ABC 1F 0 f
        1abc 0x10 5 7
        0X1ACC F 0000000000000000006 7
        PUBLIC m 0x2000 0 p
        """,
        """
        1abc-1adb f
          1abc a.c:5
          1acc a.c:6
        2000-2000 p
        """,
    ),
    Case(
        "runs of blanks, tabs, blanks in front",
        """
        FILE  0   /src/my file.c
          FUNC\t1000  10 0   my name\x20
        1000   10\t5 0\x20\x20
        """,
        """
        1000-1010 my name\x20
          1000 /src/my file.c:5
        """,
    ),
    Case(
        "inlined calls",
        """
        FILE 0 a.c
        FILE 1 b.h
        INLINE_ORIGIN 0 outer
        INLINE_ORIGIN 1 inner
        FUNC 1000 40 0 f
        INLINE 0 7 0 0 1004 10 1020 8
        INLINE 1 3 1 1 1008 4 1020 4
        INLINE 0 9 0 1 1030 4
        1000 40 1 1
        """,
        """
        1000-1040 f
          1000 b.h:1
          inlined outer 1004-1014,1020-1028 from a.c:7
            inlined inner 1008-100c,1020-1024 from b.h:3
          inlined inner 1030-1034 from a.c:9
        """,
    ),
    Case(
        "inlined calls of the form of 2021",
        """
        FILE 0 a.c
        INLINE_ORIGIN 0 0 outer
        INLINE_ORIGIN 1 -1 inner
        FUNC 1000 40 0 f
        INLINE 0 7 0 1004 10
        INLINE 1 3 1 1008 4
        """,
        """
        1000-1040 f
          inlined outer 1004-1014 from :7
            inlined inner 1008-100c from :3
        """,
    ),
    Case(
        "a child before its parent, after lines",
        """
        FILE 0 a.c
        INLINE_ORIGIN 0 outer
        INLINE_ORIGIN 1 inner
        FUNC 1000 40 0 f
        INLINE 1 3 0 1 1008 4
        1000 40 1 0
        INLINE 0 7 0 0 1004 10
        """,
        """
        1000-1040 f
          1000 a.c:1
          inlined outer 1004-1014 from a.c:7
            inlined inner 1008-100c from a.c:3
        """,
    ),
    Case(
        "a call that two parents share is cut in two",
        """
        FILE 0 a.c
        INLINE_ORIGIN 0 one
        INLINE_ORIGIN 1 two
        INLINE_ORIGIN 2 both
        FUNC 1000 40 0 f
        INLINE 0 1 0 0 1000 10
        INLINE 0 2 0 1 1010 10
        INLINE 1 3 0 2 1008 10
        """,
        """
        1000-1040 f
          inlined one 1000-1010 from a.c:1
            inlined both 1008-1010 from a.c:3
          inlined two 1010-1020 from a.c:2
            inlined both 1010-1018 from a.c:3
        """,
    ),
    Case(
        "a PUBLIC reaches to the next address that has a record",
        """
        FUNC 1000 10 0 f
        PUBLIC 1010 0 a
        PUBLIC 1020 0 b
        FUNC 1030 10 0 g
        PUBLIC 1050 0 c
        PUBLIC 0 0 at zero
        """,
        """
        0-1000 at zero
        1000-1010 f
        1010-1020 a
        1020-1030 b
        1030-1040 g
        1050-1050 c
        """,
    ),
    Case(
        "a FUNC hides each PUBLIC in it; of several PUBLICs the first counts",
        """
        PUBLIC 1000 0 at start
        PUBLIC 1008 0 inside
        PUBLIC 1010 0 first
        PUBLIC 1010 0 second
        FUNC 1000 10 0 f
        PUBLIC 100f 0 last byte
        """,
        """
        1000-1010 f
        1010-1010 first
        """,
    ),
    Case(
        "records in any order",
        """
        STACK CFI INIT 1000 10 .cfa: $rsp 8 +
        PUBLIC 3000 0 p
        FUNC 2000 10 0 g
        STACK CFI 2001 .cfa: $rsp 16 +
        2000 10 2 1
        FUNC 1000 10 0 f
        FILE 0 a.c
        1000 8 1 0
        INFO CODE_ID 00
        1008 8 2 1
        INLINE 0 5 0 0 1008 8
        INLINE_ORIGIN 0 i
        STACK WIN 4 1000 10 0 0 0 0 0 0 1 prog
        FILE 1 b.c
        """,
        """
        1000-1010 f
          1000 a.c:1
          1008 b.c:2
          inlined i 1008-1010 from a.c:5
        2000-2010 g
          2000 b.c:2
        3000-3000 p
        """,
    ),
    Case(
        "lines that are not sorted",
        """
        FILE 0 a.c
        FUNC 1000 20 0 f
        1010 10 3 0
        1000 8 1 0
        1008 8 2 0
        """,
        """
        1000-1020 f
          1000 a.c:1
          1008 a.c:2
          1010 a.c:3
        """,
    ),
    Case(
        "rows that say the same are one",
        """
        FILE 0 a.c
        FILE 1 a.c
        FUNC 1000 20 0 f
        1000 8 1 0
        1008 8 1 1
        1010 10 2 0
        """,
        """
        1000-1020 f
          1000 a.c:1
          1010 a.c:2
        """,
    ),
    Case(
        "a FILE number that is given again counts for what ends behind it",
        """
        FILE 0 a.c
        FUNC 1000 10 0 f
        1000 10 1 0
        FUNC 2000 10 0 g
        2000 10 1 0
        FILE 0 b.c
        """,
        """
        1000-1010 f
          1000 a.c:1
        2000-2010 g
          2000 b.c:1
        """,
        {REDEFINED: 1},
    ),
    Case(
        "numbers far apart",
        """
        FILE 4294967295 a.c
        FILE 16693 b.c
        FILE 0 c.c
        FUNC 1000 30 0 f
        1000 10 1 4294967295
        1010 10 2 16693
        1020 10 4294967295 0
        """,
        """
        1000-1030 f
          1000 a.c:1
          1010 b.c:2
          1020 c.c:4294967295
        """,
    ),
    Case(
        "addresses above 4 GiB",
        """
        FILE 0 a.c
        FUNC 123456789abc 10 0 f
        123456789abc 10 1 0
        FUNC ffffffffffffff00 100 0 end of the world
        ffffffffffffff00 100 2 0
        PUBLIC fffffffffffffe00 0 p
        """,
        """
        123456789abc-123456789acc f
          123456789abc a.c:1
        fffffffffffffe00-ffffffffffffff00 p
        ffffffffffffff00-10000000000000000 end of the world
          ffffffffffffff00 a.c:2
        """,
    ),
]

# What readers disagree on; docs/differences.md has the table.
CHOICES = [
    Case(
        "blank lines, INFO, more of MODULE",
        """

        INFO GENERATOR something 1.0
        FILE 0 a.c

        FUNC 1000 10 0 f

        1000 10 1 0
        """,
        """
        1000-1010 f
          1000 a.c:1
        """,
    ),
    Case(
        "MODULE a second time, or incomplete",
        f"""
        {MODULE}
        MODULE Linux
        FUNC 1000 10 0 f
        """,
        "1000-1010 f\n",
        {BAD_MODULE: 2},
    ),
    Case(
        "what is no record costs itself",
        """
        what is this
        FILE 0 a.c
        FUNC 1000 10 0 f
        FUNCTION 2000
        1000 8 1 0
        stack
        1008 8 2 0
        """,
        """
        1000-1010 f
          1000 a.c:1
          1008 a.c:2
        """,
        {UNKNOWN: 3},
    ),
    Case(
        "a damaged line record costs itself",
        """
        FILE 0 a.c
        FUNC 1000 20 0 f
        1000 4 1 0
        1004 4x 2 0
        1008 4 2
        100c 4 99999999999 0
        1010 4 5 x
        1014
        12345678123456781 1 1 0
        1018 4 7 0 and more
        """,
        """
        1000-1020 f
          1000 a.c:1
          1004 a.c:0
          1018 a.c:7
          101c a.c:0
        """,
        {NUMBER: 6},
    ),
    Case(
        "a damaged FUNC takes what belongs to it along, not what came before",
        """
        FILE 0 a.c
        INLINE_ORIGIN 0 i
        FUNC 1000 10 0 f
        FUNC 20z0 10 0 g
        2000 10 1 0
        INLINE 0 1 0 0 2000 10
        FUNC 3000 10 0 h
        3000 10 3 0
        FUNC
        FUNC 4000
        FUNC 4000 10
        FUNC 4000 10 name
        """,
        """
        1000-1010 f
        3000-3010 h
          3000 a.c:3
        """,
        {NUMBER: 5, NO_FUNCTION: 2},
    ),
    Case(
        "a FUNC of size 0, of 4 GiB, past the last address",
        """
        FUNC 1000 0 0 nothing
        FUNC 2000 100000000 0 much
        FUNC ffffffffffffffff 2 0 wraps
        FUNC 3000 ffffffff 0 just
        """,
        "3000-100002fff just\n",
        {RANGE: 2, TOO_LARGE: 1},
    ),
    Case(
        "PUBLIC and FUNC end a function, other records do not",
        """
        FILE 0 a.c
        FUNC 1000 10 0 f
        PUBLIC 2000 0 p
        1000 8 1 0
        PUBLIC zz
        1008 8 2 0
        """,
        """
        1000-1010 f
        2000-2000 p
        """,
        {NO_FUNCTION: 2, NUMBER: 1},
    ),
    Case(
        "a number without FILE: the line, without a file",
        """
        FILE 0 a.c
        FUNC 1000 10 0 f
        1000 8 1 0
        1008 8 2 5
        """,
        """
        1000-1010 f
          1000 a.c:1
          1008 :2
        """,
        {NO_FILE: 1},
    ),
    Case(
        "functions that overlap are all kept",
        """
        FUNC 1000 20 0 a
        FUNC 1010 20 0 b
        FUNC 2000 40 0 outer
        FUNC 2010 10 0 inner
        FUNC 3000 20 0 long
        FUNC 3000 10 0 short
        """,
        """
        1000-1020 a
        1010-1030 b
        2000-2040 outer
        2010-2020 inner
        2020-2040 outer
        3000-3010 short
        3000-3020 long
        """,
    ),
    Case(
        "of equal ranges the one that says more",
        """
        FILE 0 a.c
        FUNC 1000 10 0 first
        1000 10 1 0
        FUNC 1000 10 0 second
        """,
        """
        1000-1010 first
          1000 a.c:1
        """,
    ),
    Case(
        "a line of size 0",
        """
        FILE 0 a.c
        FUNC 1000 10 0 f
        1000 10 1 0
        1008 0 2 0
        """,
        """
        1000-1010 f
          1000 a.c:1
        """,
    ),
    Case(
        "bytes without a line record have line 0",
        """
        FILE 0 a.c
        FILE 1 b.c
        FUNC 1000 40 0 f
        1010 8 1 0
        1020 8 2 1
        """,
        """
        1000-1040 f
          1000 a.c:0
          1010 a.c:1
          1018 a.c:0
          1020 b.c:2
          1028 b.c:0
        """,
    ),
    Case(
        "lines are cut to their function",
        """
        FILE 0 a.c
        FUNC 1000 10 0 f
        ff0 18 1 0
        1008 1000 2 0
        2000 10 3 0
        f00 10 4 0
        1008 ffffffffffffffff 5 0
        """,
        """
        1000-1010 f
          1000 a.c:1
          1008 a.c:2
        """,
        {OUTSIDE: 5, OVERLAP: 1},
    ),
    Case(
        "of lines that overlap, the one that starts first keeps its bytes",
        """
        FILE 0 a.c
        FUNC 1000 30 0 f
        1000 10 1 0
        1008 10 2 0
        1008 4 3 0
        1018 8 4 0
        1018 10 5 0
        1028 8 6 0
        """,
        """
        1000-1030 f
          1000 a.c:1
          1010 a.c:2
          1018 a.c:4
          1020 a.c:5
          1028 a.c:6
        """,
        {OVERLAP: 3},
    ),
    Case(
        "line 0 and lines below it",
        """
        FILE 0 a.c
        FUNC 1000 20 0 f
        1000 8 1 0
        1008 8 0 0
        1010 8 -5 0
        1018 8 2 0
        """,
        """
        1000-1020 f
          1000 a.c:1
          1008 a.c:0
          1018 a.c:2
        """,
    ),
    Case(
        "an INLINE of which a level is missing, or that leaves its parent",
        """
        FILE 0 a.c
        INLINE_ORIGIN 0 i
        FUNC 1000 40 0 f
        INLINE 0 1 0 0 1000 10
        INLINE 1 2 0 0 1008 10
        INLINE 3 3 0 0 1008 4
        """,
        """
        1000-1040 f
          inlined i 1000-1010 from a.c:1
            inlined i 1008-1010 from a.c:2
        """,
        {UNCOVERED: 2},
    ),
    Case(
        "an INLINE that leaves its function, or only INLINEs without parents",
        """
        FILE 0 a.c
        INLINE_ORIGIN 0 i
        FUNC 1000 10 0 f
        INLINE 0 1 0 0 ff0 14 100c 10
        FUNC 2000 10 0 g
        INLINE 1 1 0 0 2000 4
        """,
        """
        1000-1010 f
          inlined i 1000-1004,100c-1010 from a.c:1
        2000-2010 g
        """,
        {OUTSIDE: 1, UNCOVERED: 1},
    ),
    Case(
        "INLINEs of one level that overlap",
        """
        FILE 0 a.c
        INLINE_ORIGIN 0 i
        INLINE_ORIGIN 1 j
        FUNC 1000 40 0 f
        INLINE 0 1 0 0 1000 10
        INLINE 0 2 0 1 1008 10
        INLINE 0 3 0 1 1000 8
        """,
        """
        1000-1040 f
          inlined i 1000-1010 from a.c:1
          inlined j 1010-1018 from a.c:2
        """,
        {OVERLAP: 2},
    ),
    Case(
        "a damaged INLINE",
        """
        FILE 0 a.c
        INLINE_ORIGIN 0 i
        FUNC 1000 40 0 f
        INLINE
        INLINE 0 1 0 0
        INLINE 0 1 0 0 1000 10 1020 zz
        INLINE x 1 0 0 1000 10
        INLINE 0 -1 0 0 1020 10
        """,
        """
        1000-1040 f
          inlined i 1020-1030 from a.c:0
        """,
        {NUMBER: 4},
    ),
    Case(
        "numbers without INLINE_ORIGIN and FILE",
        """
        FUNC 1000 40 0 f
        INLINE 0 5 3 4 1000 10
        """,
        """
        1000-1040 f
          inlined <name omitted> 1000-1010 from :5
        """,
        {NO_FILE: 1, NO_ORIGIN: 1},
    ),
    Case(
        "names that are missing",
        """
        FILE 0
        INLINE_ORIGIN 0
        FUNC 1000 40 0
        INLINE 0 5 0 0 1000 10
        1000 40 1 0
        PUBLIC 2000 0
        """,
        """
        1000-1040 <unknown>
          1000 :1
          inlined <name omitted> 1000-1010 from :5
        2000-2000 <unknown>
        """,
        {NAME: 4},
    ),
    Case(
        "a name that a NUL cuts",
        """
        FUNC 1000 40 0 f\0g
        PUBLIC 2000 0 \0
        """,
        """
        1000-1040 f
        2000-2000 <unknown>
        """,
        {NAME: 2},
    ),
    Case(
        "paths stay as they are",
        """
        FILE 0 hg:hg.mozilla.org/mozilla-central:js/src/a.cpp:0123abcd
        FILE 1 c:\\src\\.\\a.c
        FILE 2 /src/../b.c
        FUNC 1000 30 0 f
        1000 10 1 0
        1010 10 2 1
        1020 10 3 2
        """,
        """
        1000-1030 f
          1000 hg:hg.mozilla.org/mozilla-central:js/src/a.cpp:0123abcd:1
          1010 c:\\src\\.\\a.c:2
          1020 /src/../b.c:3
        """,
    ),
]


def body(text: str) -> str:
    return "\n".join(line.removeprefix("        ") for line in text.split("\n")[1:-1])


def convert(folder: Path, text: bytes, options: Options | None = None) -> str:
    return describe(convert_bytes(folder, text, options).functions)


@pytest.mark.parametrize("case", RECORDS + CHOICES, ids=lambda case: case.name)
def test_records(case: Case, tmp_path: Path) -> None:
    text = f"{MODULE}\n{body(case.text)}\n".encode()
    report, functions = convert_bytes(tmp_path, text)
    assert describe(functions) == words(case.expected)
    assert report.warnings == case.warnings


# ---- lines of text


SMALL = [MODULE, "FILE 0 a.c", "FUNC 1000 10 0 f", "1000 8 1 0", "1008 8 2 0"]
SMALL_WORDS = "1000-1010 f\n  1000 a.c:1\n  1008 a.c:2\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n", "\n\n", "\n\r\n \t\n"])
def test_ends_of_lines(end: str, tmp_path: Path) -> None:
    report, functions = convert_bytes(tmp_path, end.join(SMALL).encode() + b"\n")
    assert describe(functions) == SMALL_WORDS
    assert report.warnings == {}


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf" + "\n".join(SMALL).encode()
    report, functions = convert_bytes(tmp_path, text)
    assert describe(functions) == SMALL_WORDS
    assert report.architecture == "x86_64"


def test_bytes_that_are_not_utf_8_stay(tmp_path: Path) -> None:
    text = (
        f"{MODULE}\nFILE 0 ".encode()
        + b"\xff.c\nFUNC 1000 10 0 \xe9\xfe\n1000 10 1 0\n"
    )
    (function,) = convert_bytes(tmp_path, text).functions
    assert function.name.encode("utf-8", "surrogateescape") == b"\xe9\xfe"
    assert function.line_table is not None
    assert function.line_table[0].path.encode("utf-8", "surrogateescape") == b"\xff.c"


def test_the_size_of_blocks_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n".join(
        [MODULE, *(body(case.text) for case in RECORDS + CHOICES)]
    ).encode()
    whole = convert_bytes(tmp_path, text, {"verbose": True})
    assert len(whole.report.details) > 50
    for block in (1, 2, 3, 7, 64, 4096):
        monkeypatch.setattr(breakpad_conversion, "_BLOCK_SIZE", block)
        cut = convert_bytes(tmp_path, text, {"verbose": True})
        assert cut.functions == whole.functions
        assert cut.report.warnings == whole.report.warnings
        assert cut.report.details == whole.report.details


def many_functions(count: int) -> bytes:
    """Text of several batches, with findings of the reader and of the encoder.

    One function in a hundred waits for a FILE that stands at the end.
    """
    lines = [MODULE, "FILE 0 a.c", "INLINE_ORIGIN 0 i", "INLINE_ORIGIN 1 j"]
    for number in range(count):
        start = number << 8
        lines.append(f"FUNC {start:x} 80 0 f{number}")
        lines.append(f"INLINE 0 5 0 0 {start + 8:x} 20 {start + 0x40:x} 8")
        lines.append(f"INLINE 1 6 0 1 {start + 16:x} {40 if number % 9 else 80:x}")
        file = 1 if number % 100 == 7 else 0
        lines += [
            f"{start + 4 * row:x} {4 if number % 7 else 8:x} {row + 1} {file}"
            for row in range(32)
        ]
        if number % 50 == 0:
            lines.append("what")
    lines.append("FILE 1 late.c")
    return "\n".join(lines).encode()


@pytest.mark.slow
def test_the_number_of_threads_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = many_functions(6000)
    monkeypatch.setattr(breakpad_conversion, "_LEAST_FOR_THREAD", 1)
    results = []
    for threads in (1, 2):
        report, _ = convert_bytes(tmp_path, text, {"verbose": True, "threads": threads})
        assert report.functions == 6000
        image = (tmp_path / "input.gsym").read_bytes()
        results.append((image, report.warnings, report.details))
    assert results[0] == results[1]
    _, warnings, details = results[0]
    assert {UNKNOWN, OVERLAP, UNCOVERED} <= set(warnings)
    assert [each.line for each in details] == sorted(each.line for each in details)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_failure_of_the_encoder_ends_the_conversion(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(breakpad_conversion, "_LEAST_FOR_THREAD", 1)

    def fail(_status: int, _error: object) -> None:
        raise MemoryError("planted")

    encoding = breakpad_conversion.Encoding

    def failing(_check: object, keep: Callable[[Any], None], *, ahead: bool) -> object:
        assert ahead is (threads > 1)
        return encoding(fail, keep, ahead=ahead)

    monkeypatch.setattr(breakpad_conversion, "Encoding", failing)
    with pytest.raises(MemoryError, match="planted"):
        convert_bytes(tmp_path, many_functions(6000), {"threads": threads})
    assert not (tmp_path / "input.gsym").exists()


LIMIT_OF_LINES = lib.GSYM_BREAKPAD_LINE_SIZE_LIMIT


@pytest.mark.parametrize("block", [256 << 10, 1 << 30])
@pytest.mark.parametrize("excess", [0, 1])
def test_a_line_that_is_too_long_costs_itself(
    excess: int, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(breakpad_conversion, "_BLOCK_SIZE", min(block, 4 << 20))
    head = "FUNC 2000 10 0 "
    long = head + "x" * (LIMIT_OF_LINES - len(head) + excess)
    lines = [*SMALL[:-1], long, "2000 10 5 0", SMALL[-1]]
    report, functions = convert_bytes(
        tmp_path, "\n".join(lines).encode(), {"verbose": True}
    )
    if excess:
        assert describe(functions[:1]) == SMALL_WORDS
        assert report.warnings == {LONG: 1, OUTSIDE: 1}
        assert [each.line for each in report.details] == [5, 6]
        assert report.details[0].offset == len("\n".join(lines[:4])) + 1
    else:
        assert len(functions) == 2
        assert len(functions[1].name) == LIMIT_OF_LINES - len(head)
        assert report.warnings == {OUTSIDE: 1}


@pytest.mark.parametrize("excess", [0, 1])
def test_module_and_info_records_are_kept_up_to_64_kib(
    excess: int, tmp_path: Path
) -> None:
    head = "INFO CODE_ID "
    long = head + "x" * ((1 << 16) - len(MODULE) - len(head) + excess)
    text = "\n".join([MODULE, long, *SMALL[1:]]).encode()
    report, functions = convert_bytes(tmp_path, text)
    assert describe(functions) == SMALL_WORDS
    assert report.warnings == ({HEAD: 1} if excess else {})


@pytest.mark.parametrize("depth", [10, 60])
def test_calls_that_span_many_others_are_cut_up_to_a_limit(
    depth: int, tmp_path: Path
) -> None:
    """256 parts, and four for each range: deeper calls are left out and counted."""
    lines = ["FILE 0 a.c", "INLINE_ORIGIN 0 g", "FUNC 1000 28 0 f"]
    lines += [f"INLINE 0 {n} 0 0 {0x1000 + 2 * n:x} 2" for n in range(20)]
    lines += [f"INLINE {level} 1 0 0 1000 28" for level in range(1, depth + 1)]
    text = "\n".join([MODULE, *lines]).encode()
    report, (info,) = convert_bytes(tmp_path, text)
    levels, node = 0, info.inline
    while node is not None:
        levels, node = levels + 1, next(iter(node.children), None)
    # Each level has a part in each of the 20 calls. The function is a level, too.
    within = min(depth, (256 + 4 * (20 + depth) - 1) // 20)
    assert levels == 2 + within
    assert report.warnings == ({INLINE_LIMIT: depth - within} if depth > within else {})


# ---- what a conversion reports


def test_each_warning_names_its_line_and_offset(tmp_path: Path) -> None:
    lines = [MODULE, "what", "FUNC 1000 10 0 f", "1000 zz 1 0", "1000 20 1 7"]
    report, _ = convert_bytes(tmp_path, "\n".join(lines).encode(), {"verbose": True})
    offsets = [len("\n".join([*lines[:count], ""])) for count in range(len(lines))]
    assert [tuple(each) for each in report.details] == [
        (UNKNOWN, offsets[1], 0, 2),
        (NO_FILE, offsets[2], 7, 3),
        (NUMBER, offsets[3], 0x1000, 4),
        (OUTSIDE, offsets[4], 0x1000, 5),
    ]


def test_findings_are_kept_up_to_a_limit(tmp_path: Path) -> None:
    most = lib.GSYM_BREAKPAD_FINDING_LIMIT
    text = "\n".join([*SMALL, *("?" for _ in range(most + 5))]).encode()
    report, functions = convert_bytes(tmp_path, text, {"verbose": True})
    assert len(report.details) == most
    assert report.warnings == {UNKNOWN: most + 5}
    assert describe(functions) == SMALL_WORDS


def test_a_missing_module_record_is_reported(tmp_path: Path) -> None:
    report, functions = convert_bytes(tmp_path, "\n".join(SMALL[1:]).encode())
    assert describe(functions) == SMALL_WORDS
    assert report.warnings == {"No MODULE record": 1}
    assert (report.architecture, report.uuid) == ("", b"")


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ("STACK CFI INIT 10 10 x\nSTACK CFI 11 y\n", "2 STACK records, 0 damaged"),
        ("FUNC x\n?\n", "0 STACK records, 2 damaged"),
        ("FILE 0 a.c\n", "0 STACK records, 0 damaged"),
    ],
)
def test_a_file_without_functions_is_an_error_that_says_what_it_has(
    records: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(gsym.GsymError, match=f"no FUNC or PUBLIC record; {reason}"):
        convert_bytes(tmp_path, f"{MODULE}\n{records}".encode())
    assert not (tmp_path / "input.gsym").exists()


def test_progress_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breakpad_conversion, "_BLOCKS_PER_PROGRESS", 2)
    monkeypatch.setattr(breakpad_conversion, "_BLOCK_SIZE", 16)
    path = tmp_path / "app.sym"
    path.write_text("\n".join(SMALL))
    seen: list[tuple[int, int]] = []
    gsym.convert(path, progress=lambda done, total: seen.append((done, total)))
    assert seen[:2] == [(32, path.stat().st_size), (64, path.stat().st_size)]


def test_a_progress_that_raises_ends_the_conversion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(breakpad_conversion, "_BLOCKS_PER_PROGRESS", 1)
    path = tmp_path / "app.sym"
    path.write_text("\n".join(SMALL))

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gsym.convert(path, progress=interrupt)
    assert [each.name for each in tmp_path.iterdir()] == ["app.sym"]


# ---- options


TWINS = f"""\
{MODULE}
FILE 0 /build/src/a.c
FUNC m 1000 10 0 one
1000 10 1 0
FUNC m 1000 10 0 two
1000 10 2 0
PUBLIC m 1000 0 three
PUBLIC 1010 0 four
""".encode()


def test_merged_functions_are_kept_on_request(tmp_path: Path) -> None:
    report, functions = convert_bytes(tmp_path, TWINS, {"merged_functions": True})
    assert [each.name for each in functions] == ["one", "four"]
    assert [each.name for each in functions[0].merged] == ["two"]
    assert report.functions_merged == 1
    report, functions = convert_bytes(tmp_path, TWINS)
    assert [each.name for each in functions] == ["two", "four"]
    counts = (report.functions_debug_info, report.functions_symbol_table)
    assert (*counts, report.functions_pruned, report.functions) == (2, 2, 2, 2)


def test_paths_are_mapped(tmp_path: Path) -> None:
    options: Options = {"path_map": (("/x", "/y"), ("/build/", "/home/me/"))}
    text = convert(tmp_path, TWINS, options)
    assert "/home/me/src/a.c:2" in text


# ---- whose symbols they are


GUID = "0905AE80CEE75A33E3CAB61C274274DE"
ID = "80ae0509e7ce335ae3cab61c274274de"


@pytest.mark.parametrize(
    ("records", "build_id"),
    [
        ([f"MODULE Linux x86_64 {GUID}0 a"], ID),
        ([f"MODULE Linux x86_64 {GUID} a"], ID),
        ([f"MODULE windows x86_64 {GUID}1f a.pdb"], ID),
        ([f"MODULE mac x86_64 {GUID}0 a"], GUID.lower()),
        ([f"MODULE Mac arm64 {GUID.lower()}0 a"], GUID.lower()),
        (["MODULE Linux x86 0905ae80-cee7-5a33-e3ca-b61c274274de-0 a"], ID),
        # A code id that opens as the debug id does is the whole build id.
        (
            [f"MODULE Linux x86_64 {GUID}0 a", f"INFO CODE_ID {ID}96049B64"],
            ID + "96049b64",
        ),
        (
            [f"INFO CODE_ID {ID.upper()}96049B64 a", f"MODULE L x {GUID}0"],
            ID + "96049b64",
        ),
        ([f"MODULE mac x86_64 {GUID}0 a", f"INFO CODE_ID {GUID}"], GUID.lower()),
        (
            [
                "MODULE Linux x86 44332211665588770000000000000000 a",
                "INFO CODE_ID 1122334455667788",
            ],
            "1122334455667788",
        ),
        # Others are of another kind.
        ([f"MODULE windows x86 {GUID}1 a.pdb", "INFO CODE_ID 5AB380779000 a.exe"], ID),
        ([f"MODULE Linux x86 {GUID}1 a", "INFO CODE_ID 1234 a"], ID),
        (
            [f"MODULE Linux x86 {GUID}1 a", "INFO CODE_ID xyz", "INFO CODE_ID", "INFO"],
            ID,
        ),
        # No id at all.
        ([f"MODULE Linux x86_64 {'0' * 33} a"], ""),
        (["MODULE Linux x86_64 id a"], ""),
        (["MODULE Linux x86_64 1234 a"], ""),
        ([], ""),
    ],
)
def test_build_id(records: list[str], build_id: str) -> None:
    module = read_module(each.encode() for each in records)
    assert own_build_id(module).hex() == build_id


@pytest.mark.parametrize(
    ("system", "architecture", "triple"),
    [
        ("Linux", "x86_64", "x86_64"),
        ("windows", "x86", "i386"),
        ("Linux", "arm64", "aarch64"),
        ("mac", "arm64", "arm64"),
        ("Linux", "arm", "arm"),
        ("Linux", "unknown", "unknown"),
        ("Fuchsia", "riscv64", "riscv64"),
    ],
)
def test_architecture(system: str, architecture: str, triple: str) -> None:
    module = read_module([f"MODULE {system} {architecture} {GUID}0 my app".encode()])
    assert (module.os, module.debug_file) == (system, "my app")
    assert triple_architecture(module) == triple


@pytest.mark.parametrize(
    ("head", "code_id"),
    [
        (b"MODULE Linux x86_64 EFCDAB000000000000000000000000000 a.o", b"ABCD\x01F"),
        (b"MODULE windows x86_64 88FD491257B2E0F54C4C44205044422E1 a.pdb", b"5E\x0100"),
        (b"MODULE Linux x86\0 88FD491257B2E0F54C4C44205044422E1 a\0.so", b"00"),
    ],
)
def test_a_damaged_head_gives_an_output_that_is_valid(
    head: bytes, code_id: bytes, tmp_path: Path
) -> None:
    source, output = tmp_path / "a.sym", tmp_path / "a.gsym"
    source.write_bytes(head + b"\nINFO CODE_ID " + code_id + b" a.dll\nFUNC 10 4 0 f\n")
    gsym.convert(source, output)
    assert main(["verify", str(output)]) == 0


@pytest.mark.parametrize("code_id", ["1234", "xyz", "00"])
def test_an_id_that_contradicts_the_uuid_is_counted(
    code_id: str, tmp_path: Path
) -> None:
    source, output = tmp_path / "a.sym", tmp_path / "a.gsym"
    source.write_text(
        f"MODULE Linux x86 {GUID}0 a\nINFO CODE_ID {code_id} a\nFUNC 10 4 0 f\n"
    )
    report = gsym.convert(source, output)
    with gsym.open(output) as reader:
        assert reader.module is not None
        assert (reader.module.debug_id, reader.module.code_id) == (f"{GUID}0", "")
    expected = {"Id omitted: it contradicts the UUID": 1} if code_id == "1234" else {}
    assert report.warnings == expected
