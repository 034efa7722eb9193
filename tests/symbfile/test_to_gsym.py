"""symbfiles looked up, and converted to GSYM files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.cli.main import main
from gsym.errors import (
    ClosedError,
    EmptyError,
    FormatError,
    GsymError,
    LimitError,
    UnsupportedError,
)
from gsym.symbfile.address_index import AddressIndex, ChainFrame
from gsym.symbfile.columns import LineTableRow, Range, Record, ReturnPad, ReturnPadEntry
from gsym.symbfile.extraction import extract, symbfile_blocks
from gsym.symbfile.format import Decoder, encode
from gsym.symbfile.to_gsym import add_functions, convert_symbfiles
from gsym.writing.creator import Creator
from tests.creations import create, decoded
from tests.strategies import function_lists
from tests.symbfile.sweep import NO_NAME, sweep
from tests.symbfile.test_extraction import addresses_round, ranges_of
from tests.symbfile.test_format import record_lists
from tests.symbfile.trees import iter_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

pytestmark = pytest.mark.long


def test_another_conversion_names_the_verb(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"".join(encode([F])))
    with pytest.raises(UnsupportedError, match="with convert"):
        gsym.convert(tmp_path / "a")


def row(offset: int, line: int) -> LineTableRow:
    return LineTableRow(offset, line)


F = Range(0x10, 0x20, "f", "/f.c", line_table=(row(4, 7), row(8, 9)))
G = Range(0x18, 4, "g", "/g.c", "/f.c", 3, 1, (row(0, 1),))
PAD = ReturnPad(0x19, (ReturnPadEntry("f", "/f.c", 3), ReturnPadEntry("h", "", 0)))


def engine_bytes(records: Iterable[Record], version: int = 1) -> bytes:
    """A GSYM file of the ranges."""
    data = b"".join(encode(records))
    for waits_for_all in (False, True):
        with Creator(version) as creator:
            symbfiles = [Decoder([data])]
            count = add_functions(creator, symbfiles, waits_for_all=waits_for_all)
            if count is not None:
                return creator.to_bytes()
    raise AssertionError("complete ranges are reported as disordered")


def converted(records: Iterable[Record]) -> gsym.Reader:
    return gsym.Reader(engine_bytes(records))


def functions_of(*records: Record) -> list[gsym.FunctionInfo]:
    """What the engine makes of ranges, in the order of addresses."""
    return decoded(engine_bytes(records))


def answer(reader: gsym.Reader, address: int) -> tuple[ChainFrame, ...] | None:
    found = reader.lookup(address)
    if found is None:
        return None
    return tuple(ChainFrame(each.name, each.path, each.line) for each in found.frames)


# ---- lookups


CHAINS: dict[int, tuple[ChainFrame, ...] | None] = {
    0xF: None,
    0x10: (ChainFrame("f", "", 0),),
    0x14: (ChainFrame("f", "/f.c", 7),),
    0x18: (ChainFrame("g", "/g.c", 1), ChainFrame("f", "/f.c", 3)),
    0x19: (ChainFrame("h", "", 0), ChainFrame("f", "/f.c", 3)),
    0x1C: (ChainFrame("f", "/f.c", 9),),
    0x2F: (ChainFrame("f", "/f.c", 9),),
    0x30: None,
}


def test_a_lookup_takes_return_pads_first_and_ranges_by_depth() -> None:
    orders: list[list[Record]] = [[F, G, PAD], [PAD, F, G]]
    for records in orders:
        index = AddressIndex(records)
        assert {at: index.lookup(at) for at in CHAINS} == CHAINS


def test_a_call_without_a_file_is_in_that_of_its_caller() -> None:
    index = AddressIndex([F, G._replace(call_file=None)])
    assert index.lookup(0x18) == (("g", "/g.c", 1), ("f", "/f.c", 3))
    unknown = AddressIndex([F, G._replace(call_file=None, call_line=0)])
    assert unknown.lookup(0x18) == (("g", "/g.c", 1), ("f", "", 0))


@given(function_lists())
def test_a_lookup_sweeps_over_all_ranges(functions: list[gsym.FunctionInfo]) -> None:
    data = create(functions)
    ranges = ranges_of(data)
    index = AddressIndex(ranges)
    known = [each for each in ranges if each.call_file or not each.call_line]
    if len(known) != len(ranges):
        return  # the file of the caller would stand for that of the call
    for address in addresses_round(data, ranges):
        swept = tuple(map(ChainFrame._make, sweep(ranges, address)))
        assert (index.lookup(address) or ()) == swept


# ---- to GSYM and back


@given(function_lists())
def test_a_converted_file_answers_as_the_ranges_do(
    functions: list[gsym.FunctionInfo],
) -> None:
    data = create(functions)
    ranges = ranges_of(data)
    if not ranges or any(each.elf_va + each.length >= 2**64 for each in ranges):
        return
    if any(each.length >= 2**32 for each in ranges):
        with pytest.raises(LimitError, match="has 4 GiB or more"):
            converted(ranges)
        return
    index, reader = AddressIndex(ranges), converted(ranges)
    for address in addresses_round(data, ranges):
        assert answer(reader, address) == index.lookup(address), hex(address)


def outcome(make: Callable[[], bytes]) -> bytes | type[Exception]:
    try:
        return make()
    except (GsymError, ValueError) as error:
        return type(error)


def engine_and_second_opinion_agree(records: list[Record]) -> bool:
    made = outcome(lambda: engine_bytes(records, 2))
    return made == outcome(lambda: create(iter_functions(records), version=2))


def part(at: int, file: str | None, *rows: LineTableRow, name: str = "f") -> Range:
    return Range(8 * at, 8, name, file, line_table=rows)


@pytest.mark.parametrize(
    ("records", "count"),
    [
        ([part(0, "/a.c", row(0, 1)), part(1, "/b.c", row(0, 1))], 1),
        ([part(0, "/a.c", row(0, 1)), part(1, None, row(0, 1))], 1),
        ([part(0, "", row(0, 1)), part(1, None, row(0, 1))], 1),
        ([part(0, "/a.c", row(9, 1)), part(1, "/b.c", row(9, 1))], 1),
        ([part(0, "/a.c", row(0, 1)), part(1, "/a.c", row(0, 1))], 2),
        ([part(0, None, row(0, 1)), part(1, None, row(0, 1))], 2),
        ([part(0, "/a.c", row(0, 1)), part(1, "/b.c")], 2),
        ([part(0, "/a.c"), part(1, "/b.c", row(0, 1))], 2),
        ([part(0, "/a.c", row(0, 1)), part(2, "/b.c", row(0, 1))], 2),
        ([part(0, "/a.c", row(0, 1)), part(1, "/b.c", row(0, 1), name="g")], 2),
    ],
)
def test_parts_of_one_function_have_lines_of_different_files_side_by_side(
    records: list[Record], count: int
) -> None:
    assert len(functions_of(*records)) == count
    assert engine_and_second_opinion_agree(records)


def test_functions_that_come_late_may_overlap() -> None:
    records: list[Record] = [Range(0x20, 16, "b"), Range(0x18, 16, "a")]
    assert [each.start for each in functions_of(*records)] == [0x18, 0x20]
    assert engine_and_second_opinion_agree(records)


def test_functions_after_one_of_parts_may_overlap() -> None:
    parts = [part(0, "/a.c", row(0, 1)), part(1, "/b.c", row(0, 1))]
    outer, call = Range(0x100, 16, "f"), Range(0x104, 4, "g", depth=1)
    records: list[Record] = [*parts, outer, call, Range(0x10A, 16, "h")]
    *_, last = functions_of(*records)
    assert (last.start, last.size) == (0x10A, 16)
    assert engine_and_second_opinion_agree(records)


def test_rows_after_the_end_of_their_range_are_left_out() -> None:
    rows = (row(0, 1), row(8, 2), row(2**32 + 2, 3))
    call = Range(0x1004, 8, "g", "/g.c", depth=1, line_table=rows)
    records: list[Record] = [Range(0x1000, 16, "f"), call]
    (function,) = functions_of(*records)
    assert function.line_table == (
        (0x1000, "", 0),
        (0x1004, "/g.c", 1),
        (0x100C, "", 0),
    )
    assert engine_and_second_opinion_agree(records)


# Ranges that touch, overlap and nest.
few_names = st.sampled_from(["f", "g", "a\0b", "a?b", "", "/f.c", "/g.c"])
small = st.integers(0, 12)
few_rows = st.lists(st.tuples(small, st.integers(0, 3)), max_size=4).map(
    lambda rows: tuple(map(LineTableRow._make, sorted(rows)))
)
nested_ranges = st.builds(
    Range,
    elf_va=small,
    length=small,
    func=few_names,
    file=st.none() | few_names,
    call_file=st.none() | few_names,
    call_line=st.integers(0, 2),
    depth=st.integers(0, 4),
    line_table=few_rows,
)
# Parts of functions, side by side.
parts = st.builds(
    lambda part, at: part._replace(elf_va=8 * at, length=8, depth=0, func="f"),
    nested_ranges,
    st.integers(0, 2),
)


@given(record_lists | st.lists(nested_ranges | parts, max_size=24))
def test_the_engine_makes_of_any_ranges_what_the_second_opinion_makes(
    records: list[Record],
) -> None:
    assert engine_and_second_opinion_agree(records)


def test_functions_that_are_too_large_as_one_stay_two() -> None:
    first = Range(0, 0xFFFFFFFF, "f", "/a.c", line_table=(row(0, 1),))
    second = Range(0xFFFFFFFF, 2, "f", "/b.c", line_table=(row(0, 1),))
    assert [each.size for each in functions_of(first, second)] == [0xFFFFFFFF, 2]
    assert len(functions_of(first._replace(length=0xFFFFFFFD), second)) == 2
    short = first._replace(length=0xFFFFFFFD), second._replace(elf_va=0xFFFFFFFD)
    assert [each.size for each in functions_of(*short)] == [0xFFFFFFFF]


def test_functions_without_a_name_are_kept() -> None:
    ranges = [Range(0, 8, ""), Range(2, 2, "", depth=1)]
    (function,) = functions_of(*ranges)
    assert function.inline is not None
    names = (function.name, function.inline.children[0].name)
    assert names == ("<name omitted>", "<name omitted>")


def test_a_range_of_4_gib_is_refused() -> None:
    assert len(converted([Range(1, 2**32 - 1, "f")])) == 1
    with pytest.raises(LimitError, match="the range at 0x1 has 4 GiB or more"):
        converted([Range(1, 2**32, "f")])


def test_calls_nest_as_deeply_as_256() -> None:
    deepest = [
        Range(0, 8, "f"),
        *(G._replace(elf_va=0, depth=n) for n in range(1, 257)),
    ]
    (function,) = functions_of(*deepest)
    depth, node = 0, function.inline
    while node is not None and node.children:
        depth, node = depth + 1, node.children[0]
    assert depth == 256
    with pytest.raises(LimitError, match="more deeply than 256"):
        functions_of(*deepest, G._replace(depth=257))


def test_a_range_at_the_end_of_all_addresses_is_refused() -> None:
    with pytest.raises(FormatError, match="beyond the address space"):
        functions_of(Range(2**64 - 4, 4, "f"))
    assert len(functions_of(Range(2**64 - 4, 3, "f"))) == 1


@pytest.mark.parametrize(("given", "base"), [(None, 0x10), (0, 0), (8, 8)])
def test_the_base_of_addresses_is_the_first_one_or_as_said(
    tmp_path: Path, given: int | None, base: int
) -> None:
    path = written(tmp_path / "f", F, G)
    convert_symbfiles([path], tmp_path / "f.gsym", base_address=given)
    with gsym.open(tmp_path / "f.gsym") as reader:
        assert reader.header.base_address == base
        assert answer(reader, 0x14) == (("f", "/f.c", 7),)


def test_a_function_keeps_its_names_while_a_reader_gives_its_numbers_up() -> None:
    large = 14 << 20  # a reader keeps up to 64 MB of names
    empty = [Range(0x18, 0, f"{n}" * large, depth=1) for n in range(5)]
    late = Range(0x1A, 1, "late", "/h.h", "/late.c", 1, 1, (row(0, 5),))
    after = Range(0x30, 8, "after", "/after.c", line_table=(row(0, 6),))
    last = Range(0x40, 8, "last", "/last.c", line_table=(row(0, 7),))
    ranges = [F, G, *empty, late, after, *empty, last]
    assert functions_of(*ranges) == functions_of(F, G, late, after, last)
    assert functions_of(*ranges[::-1]) == functions_of(F, G, late, after, last)


def test_a_closed_creator_takes_no_functions() -> None:
    creator = Creator()
    creator.close()
    with pytest.raises(ClosedError):
        add_functions(creator, [Decoder(encode([F]))])


def test_skipped_reads_are_an_error() -> None:
    records = [Range(n, 1, f"{n}") for n in range(1 << 15)]  # of more than one read
    reads = Decoder(encode(records)).reads()
    decoder = Decoder([])
    next(reads)
    decoder.reads = lambda: reads  # type: ignore[method-assign]
    with Creator() as creator, pytest.raises(ValueError, match="were not added"):
        add_functions(creator, [decoder])


def test_ranges_that_would_be_cut_into_too_many_calls_are_refused() -> None:
    def crossing(count: int) -> list[Record]:
        deep = [Range(0, 2 * count, "f", depth=n) for n in range(2, 257)]
        calls = [Range(2 * n, 1, "g", depth=1) for n in range(count)]
        return [Range(0, 2 * count, "f"), *deep, *calls]

    # Each call begins the 255 below it again, as does its end.
    def node_count(count: int) -> int:
        return 1 + count * (1 + 255 + 255)

    def limit(count: int) -> int:
        return (1 << 16) + 16 * len(crossing(count))

    assert node_count(140) <= limit(140)
    assert node_count(141) > limit(141)
    assert engine_bytes(crossing(140))
    with pytest.raises(LimitError, match="more than 16 inlined calls each"):
        engine_bytes(crossing(141))


# ---- files


def written(path: Path, *records: Record) -> Path:
    path.write_bytes(b"".join(encode(records)))
    return path


def test_convert_writes_a_gsym_file_of_all_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [
        written(tmp_path / "0", F, G, PAD),
        written(tmp_path / "1", Range(1, 2, "h")),
    ]
    output = tmp_path / "out.gsym"
    words = [
        "symbfile",
        "convert",
        *map(str, parts),
        "-o",
        str(output),
        "--uuid",
        "0abc",
    ]
    assert main(words) == 0
    assert "2 functions, 1 with lines, 1 with inlined calls" in capsys.readouterr().out
    with gsym.open(output, uuid=b"\x0a\xbc") as reader:
        assert answer(reader, 0x18) == (("g", "/g.c", 1), ("f", "/f.c", 3))
        assert answer(reader, 1) == (("h", "", 0),)


def test_parts_in_any_order_answer_as_a_lookup_in_all_of_them(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    output = folder / "out.gsym"

    @given(st.lists(nested_ranges | parts, min_size=1, max_size=24), st.data())
    def answers_are_equal(records: list[Record], data: st.DataObject) -> None:
        if not any(isinstance(each, Range) and each.length for each in records):
            return
        shuffled = data.draw(st.permutations(records))
        cut = data.draw(st.integers(0, len(shuffled)))
        sources = [
            written(folder / "0", *shuffled[:cut]),
            written(folder / "1", *shuffled[cut:]),
        ]
        convert_symbfiles(sources, output, base_address=0)
        index = AddressIndex(shuffled)
        with gsym.open(output) as reader:
            for address in range(40):
                found = index.lookup(address)
                assert answer(reader, address) == spelled(found), hex(address)

    answers_are_equal()


def spelled(chain: tuple[ChainFrame, ...] | None) -> tuple[ChainFrame, ...] | None:
    """A chain as a GSYM file can hold it: names are never empty and have no NUL."""
    if chain is None:
        return None
    return tuple(
        ChainFrame(func.replace("\0", "?") or NO_NAME, file.replace("\0", "?"), line)
        for func, file, line in chain
    )


def test_convert_prints_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [
        str(written(tmp_path / "0", F, G, PAD)),
        str(written(tmp_path / "1", Range(1, 2, "h"))),
    ]
    output = tmp_path / "out.gsym"
    words = ["convert", "--json", *parts, "-o", str(output)]
    assert main(["symbfile", *words]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["inputs"], told["output"]) == (parts, str(output))
    assert (told["functions"], told["functions_with_lines"]) == (2, 1)
    assert told["file_size"] == output.stat().st_size


def test_an_impossible_range_is_reported_with_its_offset(tmp_path: Path) -> None:
    source = written(tmp_path / "ranges", F, PAD, Range(2**64 - 4, 4, "f"))
    with pytest.raises(FormatError) as found:
        convert_symbfiles([source], tmp_path / "out.gsym")
    (*_, last) = Decoder([source.read_bytes()]).columns()
    assert (found.value.path, found.value.offset) == (str(source), last.offsets[-1])


def test_return_pads_alone_make_no_gsym_file(tmp_path: Path) -> None:
    source = written(tmp_path / "pads", PAD)
    with pytest.raises(EmptyError, match="only return pads"):
        convert_symbfiles([source], tmp_path / "out.gsym")
    with pytest.raises(EmptyError, match="no ranges"):
        convert_symbfiles([written(tmp_path / "none")], tmp_path / "out.gsym")
    assert not (tmp_path / "out.gsym").exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--uuid", "xyz"), "not a string of hex bytes"),
        (("-o", "ranges"), "would replace the input"),
        (("--output-version", "3"), "choose 1 or 2"),
    ],
)
def test_convert_refuses_invalid_options(
    words: tuple[str, ...],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "ranges", F)
    assert main(["symbfile", "convert", "ranges", *words]) == 2
    assert reason in capsys.readouterr().err


def test_lookup_prints_chains(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(written(tmp_path / "ranges", F, G))
    assert main(["symbfile", "lookup", source, "0x18", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "0x18: g at /g.c:1",
        "      f at /f.c:3",
        "0x1: no function covers this address",
    ]
    assert main(["symbfile", "lookup", "--json", "--strict", source, "24", "1"]) == 3
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {
        "address": 0x18,
        "frames": [
            {"func": "g", "file": "/g.c", "line": 1},
            {"func": "f", "file": "/f.c", "line": 3},
        ],
    }
    assert second == {"address": 1, "frames": []}


def test_a_real_program_comes_back_with_equal_answers(
    fixtures: Path, tmp_path: Path
) -> None:
    ranges, output = tmp_path / "ranges", tmp_path / "out.gsym"
    extract(fixtures / "symblib/go-1.22.12", ranges=ranges)
    convert_symbfiles([ranges], output)
    with gsym.open(output) as reader:
        again = b"".join(symbfile_blocks(reader, names="mangled"))
    first = AddressIndex(Decoder([ranges.read_bytes()]).records())
    second = AddressIndex(Decoder([again]).records())
    records = list(Decoder([again]).records())
    for record in records[::7]:
        assert second.lookup(record.elf_va) == first.lookup(record.elf_va)
