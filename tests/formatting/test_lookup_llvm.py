"""Lookups by LLVM's rules: real files, what gaps cost, and its words for damage."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.engine.native import lib
from tests import oracle
from tests.engine_image import Image
from tests.handmade import (
    END,
    HEAD,
    MAIN,
    MISSING_FILE,
    START,
    file_of,
    frame_text,
    function_of,
    info,
    inlined,
)

if TYPE_CHECKING:
    from pathlib import Path

# ---- real files ------------------------------------------------------------------

REAL_FILES = (
    *("shapes.v1.22", "shapes.v1.24", "shapes.v2.24"),
    *("shapes.merged.v1.24", "shapes.merged.v2.24"),
    *("shapes-be.v1.24", "shapes-be.v2.24", "shapes-macho.v1.24"),
)


def answer_text(address: int, answer: gsym.Lookup | None, *, patterns: bool) -> str:
    if answer is None:
        return f"{address:#018x}: error: address {address:#x} is not in GSYM\n"
    text = f"{address:#018x}: "
    text += ("\n" + " " * 20).join(map(frame_text, answer.frames))
    if patterns and answer.call_site_patterns:
        text += "\n      CallSites: " + ", ".join(answer.call_site_patterns)
    return text + "\n"


def printed_text(address: int, answer: gsym.Lookup | None, *, merged: bool) -> str:
    """As llvm-gsymutil prints it, with or without --merged-functions."""
    if answer is None or not merged:
        return answer_text(address, answer, patterns=False)
    count = 1 + len(answer.merged)
    found = f"Found {count} function{'s' * (count > 1)} at address {address:#018x}:\n"
    each = (answer, *answer.merged)
    return found + "\n".join(
        "   " + answer_text(address, one, patterns=True) for one in each
    )


def printed_answers(folder: Path, name: str) -> tuple[list[int], bool, str]:
    """Addresses, whether merged functions were asked for, and what LLVM printed."""
    arguments = (folder / f"{name}.gsym.lookup.args").read_text()
    addresses = [int(at, 0) for at in re.findall(r"--address=(\S+)", arguments)]
    printed = (folder / f"{name}.gsym.lookup.txt").read_text()
    title, _, answers = printed.partition("\n")
    assert title == f'Looking up addresses in "{name}.gsym":'
    assert addresses
    return addresses, "--merged-functions" in arguments, answers


@pytest.mark.parametrize("name", REAL_FILES)
def test_real_files_are_answered_as_llvm_does(gsym_fixtures: Path, name: str) -> None:
    addresses, merged, printed = printed_answers(gsym_fixtures, name)
    data = (gsym_fixtures / f"{name}.gsym").read_bytes()
    image, reader = Image(data), gsym.Reader(data)
    by_llvm = [image.lookup(at, lib.GSYM_LOOKUP_LLVM) for at in addresses]
    own = [reader.lookup(at, merged=merged) for at in addresses]
    for answers in (by_llvm, own):
        assert printed == "".join(
            printed_text(address, answer, merged=merged)
            for address, answer in zip(addresses, answers, strict=True)
        )


# ---- where the rules differ --------------------------------------------------------

ROW = oracle.LineRow(START, 1, 5)
ADDRESS = START + 0x18


@dataclass(frozen=True)
class Difference:
    """What both rules make of ADDRESS: frames as text, or the reason against."""

    function: oracle.FunctionInfo
    llvm: tuple[str, ...] | str
    ours: tuple[str, ...]


DIFFERENCES = {
    "no row at or below the address": Difference(
        function_of((oracle.LineRow(ADDRESS + 1, 1, 5),)),
        "address 0x1018 is not in the line table",
        ("main + 24",),
    ),
    "the row has no file": Difference(
        function_of((oracle.LineRow(START, 0, 5),)),
        "address 0x1018 is not in the line table",
        ("main + 24",),
    ),
    "the file of the row is not in the table": Difference(
        function_of((oracle.LineRow(START, MISSING_FILE, 5),)),
        "failed to extract file[7]",
        ("main + 24",),
    ),
    "inlines without a line table": Difference(
        function_of(None, inlined(1)),
        ("main + 24",),
        ("one + 8 [inlined]", "main + 24 @ /src/a.c:30"),
    ),
    "inlines where no row is found": Difference(
        function_of((oracle.LineRow(ADDRESS + 1, 1, 5),), inlined(1)),
        "address 0x1018 is not in the line table",
        ("one + 8 [inlined]", "main + 24 @ /src/a.c:30"),
    ),
    "a call from no file": Difference(
        function_of((ROW,), inlined(0)),
        ("main + 24 @ /src/a.c:5",),
        ("one + 8 @ /src/a.c:5 [inlined]", "main + 24"),
    ),
    "a call from a file that is not in the table": Difference(
        function_of((ROW,), inlined(MISSING_FILE)),
        "failed to extract file[7]",
        ("one + 8 @ /src/a.c:5 [inlined]", "main + 24"),
    ),
    "two calls from files that are not in the table": Difference(
        function_of((ROW,), replace(inlined(MISSING_FILE), call_file=MISSING_FILE + 1)),
        "failed to extract file[8]",
        ("one + 8 @ /src/a.c:5 [inlined]", "main + 24"),
    ),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_missing_rows_or_files_cost_the_location_only(name: str) -> None:
    difference = DIFFERENCES[name]
    version = 1 + len(name) % 2
    data = oracle.encode_file(file_of(difference.function, version=version))
    image = Image(data)
    if isinstance(difference.llvm, str):
        with pytest.raises(gsym.FormatError) as problem:
            image.lookup(ADDRESS, lib.GSYM_LOOKUP_LLVM)
        assert problem.value.reason == difference.llvm
    else:
        answer = image.lookup(ADDRESS, lib.GSYM_LOOKUP_LLVM)
        assert answer is not None
        assert tuple(map(frame_text, answer.frames)) == difference.llvm
    with gsym.Reader(data) as reader:
        mended = reader.lookup(ADDRESS)
    assert mended is not None
    assert tuple(map(frame_text, mended.frames)) == difference.ours


@pytest.mark.parametrize("call_file", [0, MISSING_FILE])
def test_a_call_from_an_unknown_file_keeps_its_line(call_file: int) -> None:
    data = oracle.encode_file(file_of(function_of((ROW,), inlined(call_file))))
    answer = gsym.Reader(data).lookup(ADDRESS)
    assert answer is not None
    assert [frame.line for frame in answer.frames] == [5, 30]


def test_offsets_have_64_bits_with_us_and_32_with_llvm() -> None:
    data = oracle.encode_file(file_of(function_of(size=0)))
    far = START + 2**40 + 3
    ours = gsym.Reader(data).lookup(far)
    theirs = Image(data).lookup(far, lib.GSYM_LOOKUP_LLVM)
    assert ours is not None
    assert theirs is not None
    assert ours.frames[0].offset == 2**40 + 3
    assert theirs.frames[0].offset == 3


# ---- LLVM's words for damage --------------------------------------------------------


# Record, what LLVM says of it, what we say, and where in the record that is.
DAMAGED = {
    "cut inside the head": (
        *(HEAD[:6], "FunctionInfo data is truncated", "missing FunctionInfo Name", 4),
    ),
    "without a name": (
        HEAD[:4] + bytes(4) + END,
        "0x00000004: invalid FunctionInfo Name value 0x0",
        "invalid FunctionInfo Name value 0x0",
        4,
    ),
    "without an end": (
        *(HEAD, "FunctionInfo data is truncated"),
        *("missing FunctionInfo InfoType value", 8),
    ),
    "cut inside the length of an InfoType": (
        *(HEAD + info(9, b"")[:6], "FunctionInfo data is truncated"),
        *("missing FunctionInfo InfoType length", 12),
    ),
    "with an InfoType that reaches past the file": (
        *(HEAD + info(9, b"", size=1000), "FunctionInfo data is truncated"),
        *("missing FunctionInfo data for InfoType 9", 16),
    ),
    "with an empty line table": (
        HEAD + info(1, b"") + END,
        "0x00000000: missing LineTable MinDelta",
        "missing LineTable MinDelta",
        16,
    ),
    "with a line table of one delta": (
        HEAD + info(1, b"\0") + END,
        "0x00000001: missing LineTable MaxDelta",
        "missing LineTable MaxDelta",
        17,
    ),
    "with a line table without a first line": (
        HEAD + info(1, b"\0\0") + END,
        "0x00000002: missing LineTable FirstLine",
        "missing LineTable FirstLine",
        18,
    ),
    "with rows that do not end": (
        HEAD + info(1, b"\0\0\5\4") + END,
        "0x00000004: EOF found before EndSequence",
        "EOF found before EndSequence",
        20,
    ),
    "with a SetFile without a file": (
        HEAD + info(1, b"\0\0\5\1") + END,
        "0x00000004: EOF found before SetFile value",
        "EOF found before SetFile value",
        20,
    ),
    "with an AdvancePC without a distance": (
        HEAD + info(1, b"\0\0\5\2") + END,
        "0x00000004: EOF found before AdvancePC value",
        "EOF found before AdvancePC value",
        20,
    ),
    "with an AdvanceLine without a distance": (
        HEAD + info(1, b"\0\0\5\3") + END,
        "0x00000004: EOF found before AdvanceLine value",
        "EOF found before AdvanceLine value",
        20,
    ),
    "with call sites without a count": (
        HEAD + info(4, b"") + END,
        "0x00000000: missing CallSiteInfo count",
        "missing CallSiteInfo count",
        16,
    ),
    "with a call site that is not there": (
        HEAD + info(4, b"\1\0\0\0") + END,
        "0x00000004: missing ReturnOffset",
        "missing ReturnOffset",
        20,
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_record_is_refused_with_its_place(name: str) -> None:
    record, llvm, ours, offset = DAMAGED[name]
    data = oracle.encode_file(file_of(function_of()), [record])
    place = len(data) - len(record) + offset
    with pytest.raises(gsym.FormatError) as by_llvm:
        Image(data).lookup(START, lib.GSYM_LOOKUP_LLVM)
    assert (by_llvm.value.reason, by_llvm.value.offset) == (llvm, place)
    with gsym.Reader(data, path="x.gsym") as reader:
        for ask in (lambda: reader.lookup(START), lambda: reader.function(0)):
            with pytest.raises(gsym.FormatError) as by_us:
                ask()
            assert (by_us.value.reason, by_us.value.offset) == (ours, place)
            assert str(by_us.value) == f"x.gsym: offset {place:#x}: {ours}"


@pytest.mark.parametrize("deltas", [b"\x01\x00", b"\x05\x01"])
def test_a_line_table_without_a_range_of_deltas_is_refused(deltas: bytes) -> None:
    record = HEAD + info(1, deltas + b"\x05\x04\x00") + END
    reader = gsym.Reader(oracle.encode_file(file_of(function_of()), [record]))
    with pytest.raises(gsym.FormatError, match="invalid LineTable deltas"):
        reader.lookup(START)
    with pytest.raises(gsym.FormatError, match="invalid LineTable deltas"):
        reader.function(0)


def test_an_inline_tree_that_ends_early_is_refused_by_us_and_not_by_llvm() -> None:
    root = b"\1\0\x80\2" + b"\1" + MAIN.to_bytes(4, "little") + b"\0\0"
    record = HEAD + info(1, b"\0\0\5\4\0") + info(2, root + b"\1\0") + END
    data = oracle.encode_file(file_of(function_of()), [record])
    answer = Image(data).lookup(START, lib.GSYM_LOOKUP_LLVM)
    assert answer is not None
    assert [frame.name for frame in answer.frames] == ["main"]
    with pytest.raises(gsym.FormatError, match="InlineInfo data is truncated"):
        gsym.Reader(data).lookup(START)


def test_damage_after_the_row_that_answers_is_not_read() -> None:
    rows = b"\0\0\5\4\2\x10\2"  # the last AdvancePC lacks its distance
    data = oracle.encode_file(
        file_of(function_of()), [HEAD + info(1, rows, len(rows)) + END]
    )
    reader = gsym.Reader(data)
    assert reader.lookup(START + 0xF) is not None
    with pytest.raises(gsym.FormatError):
        reader.lookup(START + 0x10)
