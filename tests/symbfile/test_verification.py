"""gsym.symbfile.inspection."""

from __future__ import annotations

import pytest
from hypothesis import given

from gsym.symbfile.columns import LineTableRow, Range, Record, ReturnPad, ReturnPadEntry
from gsym.symbfile.format import Decoder, encode
from gsym.symbfile.inspection import verify
from tests.symbfile.test_format import record_lists

PAD = ReturnPad(0x10, (ReturnPadEntry("f", "", 0),))


def row(offset: int, line: int = 7) -> LineTableRow:
    return LineTableRow(offset, line)


def inlined(start: int, length: int, depth: int) -> Range:
    return Range(start, length, "g", "/g.c", "/f.c", 3, depth, (row(0),))


def found(*records: Record) -> list[tuple[str, int, bool]]:
    findings = verify(Decoder(encode(records)))
    return [(each.rule, each.elf_va, each.is_error) for each in findings]


F = Range(0x10, 0x20, "f", "/f.c", line_table=(row(0),))


@pytest.mark.parametrize(
    "records",
    [
        (),
        (F,),
        (F, inlined(0x10, 8, 1), inlined(0x12, 4, 2), inlined(0x18, 8, 1), PAD),
        (Range(0x40, 1, "h"), F),
        (F._replace(line_table=(row(8),)), inlined(0x10, 4, 1), inlined(0x14, 4, 1)),
        (Range(2**64 - 1, 1, "last"),),
        (Range(1, 1, "symbol"),),
    ],
)
def test_sound_records_have_no_findings(records: tuple[Record, ...]) -> None:
    assert found(*records) == []


@pytest.mark.parametrize(
    ("records", "rule", "at"),
    [
        ((inlined(5, 1, 1),), "order", 5),
        ((F, inlined(0x10, 1, 2)), "order", 0x10),
        ((F, inlined(0x2F, 2, 1)), "nesting", 0x2F),
        ((F, inlined(0xF, 2, 1)), "nesting", 0xF),
        ((F, inlined(0x14, 4, 1), inlined(0x10, 4, 2)), "nesting", 0x10),
        ((F, inlined(0x14, 4, 1), inlined(0x10, 5, 1)), "overlap", 0x14),
        ((F, Range(0x2F, 8, "h")), "overlap", 0x2F),
        ((Range(0x2F, 8, "h"), F), "overlap", 0x2F),
        ((PAD, PAD), "overlap", 0x10),
        ((F._replace(line_table=(row(1), row(1))),), "columns", 0x10),
        ((F._replace(line_table=(row(0x20),)),), "columns", 0x10),
        ((F._replace(length=0, line_table=()),), "fields", 0x10),
        ((Range(2**64 - 1, 2, "f"),), "fields", 2**64 - 1),
        ((F._replace(func=""),), "fields", 0x10),
        ((F._replace(call_line=1),), "fields", 0x10),
        ((ReturnPad(4, ()),), "fields", 4),
        ((ReturnPad(4, (ReturnPadEntry("", "/a", 1),)),), "fields", 4),
    ],
)
def test_an_error_is_reported_with_its_rule(
    records: tuple[Record, ...], rule: str, at: int
) -> None:
    assert (rule, at, True) in found(*records)


@pytest.mark.parametrize(
    ("records", "rule"),
    [
        ((F._replace(file=None),), "columns"),
        ((F, Range(0x10, 4, "g", "/g.c", depth=1)), "fields"),
        ((F._replace(line_table=(row(2),)),), "hole"),
        ((F._replace(line_table=(row(8),)), inlined(0x12, 6, 1)), "hole"),
        ((F._replace(line_table=(row(8),)), inlined(0x10, 7, 1)), "hole"),
    ],
)
def test_missing_information_is_a_note(records: tuple[Record, ...], rule: str) -> None:
    assert found(*records) == [(rule, 0x10, False)]


def test_a_finding_has_the_offset_of_the_message() -> None:
    (finding,) = verify(Decoder(encode([F, Range(0x2F, 8, "h")])))
    (columns,) = Decoder(encode([F, Range(0x2F, 8, "h")])).columns()
    assert finding.offset == columns.offsets[1]


@given(record_lists)
def test_any_records_are_verified(records: list[Record]) -> None:
    for finding in verify(Decoder(encode(records))):
        assert finding.reason
