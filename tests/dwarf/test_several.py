"""Several main files in one conversion: the object files behind a debug map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gsym.engine.native import lib
from tests.conversions import describe, words
from tests.dwarf_files import (
    MAIN,
    SPLIT,
    SUPPLEMENTARY,
    DwarfFile,
    Run,
    convert_files,
)
from tests.inputs.dies import Die, Ref
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.program import function, inlined, unit
from tests.inputs.split import split_unit

if TYPE_CHECKING:
    from pathlib import Path


def object_file(name: str, *extra: Die, start: int = 0) -> Dwarf:
    """Functions NAME1 and NAME2 of 16 bytes each, from *start* on."""
    lines = LineProgram(
        ops=sequence((start, 1), (start + 4, 2), (start + 16, 3), end=start + 32),
        files=(File("x.h"), File(f"{name}.c")),
    )
    return Dwarf(
        [
            unit(
                Die(Tag.subprogram, {At.name: "callee"}, label="callee"),
                function(
                    f"{name}1",
                    start,
                    start + 16,
                    inlined(Ref("callee"), (start + 4, start + 8), call=(1, 9)),
                ),
                function(f"{name}2", start + 16, start + 32),
                *extra,
                lines=lines,
            )
        ]
    )


def described(name: str, first: int) -> str:
    return words(f"""
        {first:x}-{first + 16:x} {name}1
          {first:x} {name}.c:1
          {first + 4:x} {name}.c:2
          inlined callee {first + 4:x}-{first + 8:x} from {name}.c:9
        {first + 16:x}-{first + 32:x} {name}2
          {first + 16:x} {name}.c:3
    """)


def test_units_of_all_main_files_are_converted(tmp_path: Path) -> None:
    outcome = convert_files(
        tmp_path,
        DwarfFile(object_file("a", start=0x1000).sections()),
        DwarfFile(object_file("b", start=0x1100).sections()),
    )
    assert outcome.warnings == []
    assert describe(outcome.functions) == described("a", 0x1000) + described(
        "b", 0x1100
    )


def test_functions_of_object_files_move_to_where_they_were_linked(
    tmp_path: Path,
) -> None:
    a, b = object_file("a"), object_file("b", start=0x40)
    outcome = convert_files(
        tmp_path,
        DwarfFile(a.sections(), spans=[(0, 32, 0x1800)]),
        DwarfFile(b.sections(), spans=[(0x50, 16, 0x1200), (0x40, 16, 0x1300)]),
    )
    assert outcome.warnings == []
    assert describe(outcome.functions) == (
        words("""
            1200-1210 b2
              1200 b.c:3
            1300-1310 b1
              1300 b.c:1
              1304 b.c:2
              inlined callee 1304-1308 from b.c:9
        """)
        + described("a", 0x1800)
    )


def test_functions_outside_of_all_spans_are_left_out_silently(tmp_path: Path) -> None:
    outcome = convert_files(
        tmp_path,
        DwarfFile(object_file("a").sections(), spans=[(16, 16, 0x1000)]),
        DwarfFile(object_file("b").sections(), spans=[(0, 0, 0)]),
    )
    assert outcome.warnings == []
    assert describe(outcome.functions) == "1000-1010 a2\n  1000 a.c:3\n"


def test_text_ranges_do_not_hold_for_files_with_spans(tmp_path: Path) -> None:
    outcome = convert_files(
        tmp_path,
        DwarfFile(object_file("a").sections(), spans=[(0, 32, 0x9000)]),
        DwarfFile(object_file("b", start=0x9000).sections()),
    )
    assert describe(outcome.functions) == described("a", 0x9000)
    assert {each.file for each in outcome.warnings} == {1}


def test_equal_functions_of_different_objects_are_not_taken_for_one(
    tmp_path: Path,
) -> None:
    """They look the same until they are moved."""
    sections = object_file("a").sections()
    outcome = convert_files(
        tmp_path,
        DwarfFile(sections, spans=[(0, 32, 0x1000)]),
        DwarfFile(sections, spans=[(0, 32, 0x1100)]),
        DwarfFile(sections, spans=[(0, 32, 0x1000)]),
    )
    assert describe(outcome.functions) == described("a", 0x1000) + described(
        "a", 0x1100
    )


def test_call_sites_count_from_the_start_of_the_moved_function(tmp_path: Path) -> None:
    site = Die(
        Tag.call_site,
        {At.call_return_pc: 0x24, At.call_origin: Ref("callee")},
    )
    outcome = convert_files(
        tmp_path,
        DwarfFile(
            object_file("a", function("c", 0x20, 0x30, site)).sections(),
            spans=[(0x20, 16, 0x1000)],
        ),
        flags=lib.GSYM_CONVERT_CALL_SITES,
    )
    assert describe(outcome.functions) == "1000-1010 c\n  call +4 to callee\n"


def test_a_function_that_would_pass_the_last_address_is_left_out(
    tmp_path: Path,
) -> None:
    last = (1 << 64) - 8
    sections = Dwarf([unit(function("f", 0x10, 0x20))]).sections()
    outcome = convert_files(tmp_path, DwarfFile(sections, spans=[(0x10, 4, last)]))
    assert outcome.functions == []
    assert [each.category for each in outcome.warnings] == ["RANGE_INVALID"]


def test_skeletons_of_every_main_file_are_found(tmp_path: Path) -> None:
    def split(name: str, dwo_id: int) -> Dwarf:
        own = {At.low_pc: Form.addrx(0x10), At.high_pc: Form.data4(16)}
        die = Die(Tag.subprogram, {At.name: Form.strx(name), **own})
        return Dwarf([split_unit(die, dwo_id=dwo_id, low_pc=0x10)])

    files = [split("f", 1), split("g", 2)]
    spans = [(0x10, 16, 0x1000)], [(0x10, 16, 0x1100)]
    mains = [
        DwarfFile(file.sections(), MAIN, span)
        for file, span in zip(files, spans, strict=True)
    ]
    splits = [DwarfFile(file.split_sections()[0], SPLIT) for file in files]
    outcome = convert_files(tmp_path, *mains, *splits)
    assert [each.file for each in outcome.skeletons] == [0, 1]
    assert outcome.matched == [1, 1]
    assert describe(outcome.functions) == "1000-1010 f\n1100-1110 g\n"


@pytest.mark.parametrize("threads", [5])
def test_many_files_come_out_the_same_for_any_number_of_threads(
    threads: int, tmp_path: Path
) -> None:
    files = [
        DwarfFile(object_file(f"f{n}").sections(), spans=[(0, 32, 0x1000 + 32 * n)])
        for n in range(60)
    ]
    alone = convert_files(tmp_path, *files)
    assert len(alone.functions) == 120
    assert convert_files(tmp_path, *files, threads=threads).image == alone.image


# ---- calls out of order ------------------------------------------------------------


def test_a_second_supplementary_file_is_refused(tmp_path: Path) -> None:
    file = DwarfFile(object_file("a").sections(), SUPPLEMENTARY)
    with pytest.raises(ValueError, match="a supplementary file already"):
        convert_files(tmp_path, file._replace(role=MAIN), file, file)


def test_an_address_span_has_an_end_and_a_main_file(tmp_path: Path) -> None:
    file = DwarfFile(object_file("a").sections())
    for span in ((1, (1 << 64) - 1, 0), (0, 2, (1 << 64) - 1)):
        with pytest.raises(ValueError, match="without an end"):
            convert_files(tmp_path, file._replace(spans=[span]))
    split = DwarfFile({}, SPLIT, [(0, 16, 0x1000)])
    with pytest.raises(ValueError, match="only a main file"):
        convert_files(tmp_path, file, split)


def test_files_and_skeletons_have_numbers() -> None:
    run = Run(0, 1, big_endian=False)
    file = DwarfFile(object_file("a").sections())
    with pytest.raises(ValueError, match="no file has the number 1"):
        run.add(file, 1)
    with pytest.raises(ValueError, match="no such role"):
        run.add(file._replace(role=3))
    number = run.add(DwarfFile({}, SPLIT))
    with pytest.raises(ValueError, match="after the scan"):
        run.link(number)
    run.call(lib.gsym_conversion_scan)
    with pytest.raises(ValueError, match="the units are known already"):
        run.add(file)
    with pytest.raises(ValueError, match="file 0 has no split units"):
        run.link(0)
    assert run.link(number) == 0
    with pytest.raises(ValueError, match="once"):
        run.link(number)
    with pytest.raises(ValueError, match="no skeleton unit has the number 0"):
        run.skeleton(0)


def test_no_function_at_all_is_no_file(tmp_path: Path) -> None:
    assert convert_files(tmp_path, DwarfFile({})).image == b""
