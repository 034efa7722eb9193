"""Strings that many inlined calls use stand at the start of the string table."""

from __future__ import annotations

import pytest

import gsym
from gsym.model import CallSite, FunctionInfo, InlineInfo, LineEntry, Range

COUNT = 300
HOT = ("std::move", "operator new", "shared.h")
LONG = "::" + 200 * "x"  # the order of a small table stays


def function(number: int) -> FunctionInfo:
    """One that calls its own inlined function, and two of all."""
    start = 0x1000 + 64 * number
    calls = [
        InlineInfo(
            f"own {number}{LONG}", f"/src/{number}.c", 3, (Range(start, start + 8),)
        ),
        InlineInfo(
            HOT[0],
            f"/lib/{HOT[2]}",
            4,
            (Range(start + 8, start + 12), Range(start + 16, start + 40)),
            (
                InlineInfo(
                    HOT[1], f"/lib/{HOT[2]}", 5, (Range(start + 20, start + 30),)
                ),
            ),
        ),
    ]
    whole = (Range(start, start + 64),)
    return FunctionInfo(
        start,
        64,
        f"function {number}",
        (LineEntry(start, f"/src/{number}.c", 1),),
        InlineInfo(f"function {number}", "", 0, whole, tuple(calls)),
        call_sites=(CallSite(8, 1, (f"pattern {number}", HOT[1])),),
    )


FUNCTIONS = [function(number) for number in range(COUNT)]
FUNCTIONS[7] = FUNCTIONS[7]._replace(
    merged=(FUNCTIONS[7]._replace(name="twin", call_sites=()),)
)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("index", ["without index", "with index"])
def test_order(version: int, byteorder: str, index: str) -> None:
    has_index = index == "with index"
    with gsym.Creator(version=version, byteorder=byteorder, index=has_index) as creator:
        for each in FUNCTIONS:
            creator.add(each)
        data = creator.to_bytes()
    with gsym.Reader(data) as reader:
        assert list(reader.functions()) == FUNCTIONS
        header = reader.header
    table = data[header.strtab_offset :][: header.strtab_size]
    strings = [each.decode() for each in table.split(b"\0")]
    assert strings[0] == strings[-1] == ""
    assert set(strings[1:6]) == {*HOT, "/lib", "/src"}
    assert len(set(strings)) == len(strings) - 1
    names = [each for each in strings if each.startswith("function ")]
    assert names == [each.name for each in FUNCTIONS]


def test_strings_of_a_small_table_keep_the_order_of_the_input() -> None:
    with gsym.Creator() as creator:
        for each in FUNCTIONS[:100]:
            creator.add(each)
        data = creator.to_bytes()
    with gsym.Reader(data) as reader:
        header = reader.header
    assert header.strtab_size < 1 << 16
    table = data[header.strtab_offset :][: header.strtab_size]
    assert table.startswith(b"\0function 0\0")


def test_copy_of_a_copy() -> None:
    """Counted in the records, so that a copy has the same order."""
    with gsym.Creator() as creator:
        for each in FUNCTIONS:
            creator.add(each)
        first = creator.to_bytes()
    copies = [first]
    for _ in range(2):
        with gsym.Creator() as creator, gsym.Reader(copies[-1]) as reader:
            creator.add_reader(reader)
            copies.append(creator.to_bytes())
    assert copies[1] == copies[2]
    assert len(copies[0]) == len(copies[1])
