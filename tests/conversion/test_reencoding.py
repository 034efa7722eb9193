"""Files written again: real ones to the byte, others with all that they hold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

import gsym
from gsym.engine.native import check, lib, new_error
from gsym.errors import ClosedError, FormatError, LimitError
from gsym.model import CallSite, FunctionInfo, InlineInfo, LineEntry, Range
from gsym.reading.reader import Reader
from gsym.verification.check import check_structure
from gsym.writing.creator import Creator
from tests import oracle, strategies
from tests.creations import create, decoded, handle_of
from tests.engine.test_hostile_records import END_OF_LIST, file_with
from tests.reading.test_record_check import UNSOUND
from tests.views import to_oracle

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

EVERYTHING = FunctionInfo(
    0x1000,
    0x100,
    "all",
    (LineEntry(0x1000, "/s/a.c", 1), LineEntry(0x1010, "", 2)),
    InlineInfo(
        "all",
        "",
        0,
        (Range(0x1000, 0x1100),),
        (InlineInfo("g", "/s/b.c", 7, (Range(0x1000, 0x1008), Range(0x1010, 0x1011))),),
    ),
    (FunctionInfo(0x1000, 0x100, "twin", (LineEntry(0x1004, "/s/c.c", 3),)),),
    (CallSite(8, 1, ("g", "h.*")), CallSite(16, 0, ())),
    {5: b"", 0x80000001: b"extra"},
)


def copied(data: bytes, creator: Creator) -> bytes:
    """The file that *creator* makes of all that another file holds."""
    with creator, Reader(data) as reader:
        creator.add_reader(reader)
        return creator.to_bytes()


# ---- between versions and byte orders -------------------------------------------


@given(strategies.function_lists(), strategies.versions, strategies.byte_orders)
def test_a_copy_equals_what_is_made_from_the_functions_again(
    functions: list[FunctionInfo], version: int, byteorder: str
) -> None:
    data = create(functions, version=version, byteorder=byteorder)
    assert copied(data, Creator(version, byteorder)) == data
    assert create(decoded(data), version=version, byteorder=byteorder) == data


def test_two_files_become_one() -> None:
    first = create([FunctionInfo(0x20, 4, "b", (LineEntry(0x20, "/s/x.c", 1),))])
    second = create([FunctionInfo(0x10, 4, "a", (LineEntry(0x10, "/s/x.c", 2),))])
    with Creator() as creator, Reader(first) as one, Reader(second) as two:
        creator.add_reader(one)
        creator.add_reader(two)
        merged = creator.to_bytes()
    assert decoded(merged) == [*decoded(second), *decoded(first)]
    assert oracle.decode_file(merged).strings == b"\0b\0/s\0x.c\0a\0"


# ---- sections of unknown types --------------------------------------------------

SECTIONS = {7: b"seven", 8: b"8", 0xFFFF_FFFF: bytes(range(9))}


def test_unknown_sections_are_left_out_of_version_1() -> None:
    file = replace(to_oracle([EVERYTHING], 2, "little"), extra_sections=SECTIONS)
    again = copied(oracle.encode_file(file), Creator(1))
    assert again == create(decoded(again))


@pytest.mark.parametrize(
    ("version", "kind", "payload", "error"),
    [
        (1, 7, b"x", LimitError),
        (2, 0, b"x", ValueError),
        (2, 6, b"x", ValueError),
        (2, 7, b"", ValueError),
    ],
)
def test_a_section_that_no_reader_would_take_is_refused(
    version: int, kind: int, payload: bytes, error: type[Exception]
) -> None:
    with Creator(version) as creator:
        problem, size = new_error(), len(payload)
        status = lib.gsym_creator_add_section(
            handle_of(creator), kind, payload, size, problem
        )
        with pytest.raises(error, match=r"section"):
            check(status, problem)


# ---- what cannot be copied ------------------------------------------------------


def test_a_damaged_record_is_not_copied() -> None:
    data = create([EVERYTHING])
    for size in range(data.index(b"\0all\0") + 40, len(data) - 1, 7):
        with (
            Creator() as creator,
            Reader(data[:size], path="cut.gsym") as reader,
            pytest.raises(FormatError, match=r"cut\.gsym: offset 0x"),
        ):
            creator.add_reader(reader)


def test_a_file_number_without_a_file_is_not_copied() -> None:
    file = to_oracle([EVERYTHING], 1, "little")
    data = oracle.encode_file(replace(file, files=file.files[:2]))
    with pytest.raises(FormatError, match="file"):
        copied(data, Creator())


@pytest.mark.parametrize("complaint", UNSOUND)
def test_what_verify_rejects_is_refused(complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "unsound.gsym"
    path.write_bytes(file_with(1, UNSOUND[complaint](1) + END_OF_LIST))
    assert check_structure(str(path))
    reason = rf"unsound\.gsym: offset 0x\w+: function 0 at 0x\w+: .*{complaint}"
    with pytest.raises(FormatError, match=reason):
        gsym.convert(path, tmp_path / "copy.gsym")
    with pytest.raises(FormatError, match=reason):
        gsym.merge_files([path], tmp_path / "copy.gsym")
    assert not (tmp_path / "copy.gsym").exists()


def test_a_closed_reader_and_a_closed_creator_have_their_own_errors() -> None:
    data = create([EVERYTHING])
    with Creator() as creator:
        with Reader(data) as reader:
            pass
        with pytest.raises(ClosedError, match="reader"):
            creator.add_reader(reader)
    with Reader(data) as reader, pytest.raises(ClosedError, match="creator"):
        creator.add_reader(reader)
