"""Units of so many functions that they are read in parts, or so large as to be cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conversions import Options, convert_bytes
from tests.inputs.dies import SIBLING, Die, Raw, Ref
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.elf import Symbol, code_section, elf_of
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.program import function, inlined, unit
from tests.inputs.scaled import FUNCTION_SIZE, TEXT, methods_before_their_class

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

PART = 1 << 16
COUNT = 2 * PART + 1_000
GIANT_FUNCTIONS = 200
GIANT_PADDING = 100_000  # bytes of each function
LARGE = 2 << 20  # bytes of a unit that is read before its turn


def test_a_unit_in_parts_is_like_one_that_is_read_at_once(tmp_path: Path) -> None:
    path, made = tmp_path / "app", []
    path.write_bytes(methods_before_their_class(COUNT))
    for threads in (1, 2):
        report = gsym.convert(str(path), threads=threads)
        made.append((tmp_path / "app.gsym").read_bytes())
    assert made[0] == made[1]
    assert report.functions == COUNT + 1
    assert not report.warnings
    with gsym.open(str(tmp_path / "app.gsym")) as reader:
        for number in (0, 5, PART - 1, PART, 2 * PART - 1, 2 * PART, COUNT - 1):
            found = reader.lookup(TEXT + number * FUNCTION_SIZE + 8)
            assert found is not None
            assert [(frame.name, frame.line) for frame in found.frames] == [
                ("inlined", number + 1),
                (f"C::m{number:06}", number % 90 + 1),
            ]
        last = reader.lookup(TEXT + COUNT * FUNCTION_SIZE)
        assert last is not None
        assert last.frames[0].name == f"function_{COUNT}"


def _giant_unit(
    sibling: object, crossing: int | None = None, *, is_damaged: bool = False
) -> bytes:
    """A unit of 20 MB: methods, the class that declares them, rows without a function.

    With *sibling*, children say where the next one begins; the one of number *crossing*
    names an offset that is wrong. If it *is_damaged*, nothing ends its abbreviations.
    """
    after = {} if sibling is None else {At.sibling: sibling}
    methods, rows, declared = [], [], []
    for number in range(GIANT_FUNCTIONS):
        start = TEXT + 2 * number * FUNCTION_SIZE
        rows += [(start, number + 1), (start + FUNCTION_SIZE, 9_000 + number)]
        call = inlined(Ref("callee"), (start + 8, start + 16), call=(1, number + 1))
        padding = Die(Tag.variable, {At.location: Form.block4(bytes(GIANT_PADDING))})
        attributes = {At.specification: Ref(f"m{number}"), **after}
        if number == crossing:
            attributes[At.sibling] = Form.ref4(Raw(12_345_678))
        methods.append(
            function(
                *(None, start, start + FUNCTION_SIZE, call, padding),
                attributes=attributes,
            )
        )
        name = {At.name: f"m{number}", At.declaration: True}
        declared.append(Die(Tag.subprogram, name, label=f"m{number}"))
    callee = Die(Tag.subprogram, {At.name: "callee", At.inline: 1}, label="callee")
    class_ = Die(Tag.class_type, {At.name: "C", **after}, *declared)
    end = rows[-1][0] + FUNCTION_SIZE
    lines = LineProgram(sequence(*rows, end=end), files=(File("a.c"), File("a.c")))
    dies = unit(callee, *methods, class_, lines=lines)
    symbol = Symbol("between", TEXT + 15 * FUNCTION_SIZE, FUNCTION_SIZE)
    sections = Dwarf([dies]).sections()
    if is_damaged:
        sections[".debug_abbrev"] = sections[".debug_abbrev"][:-1]
    return elf_of(sections, code_section(TEXT, end - TEXT), symbols=[symbol])


def test_a_giant_unit_is_cut_into_pieces_alike_for_any_threads(tmp_path: Path) -> None:
    made = set()
    for sibling in (SIBLING, None):  # as GCC and as Clang writes them
        for threads in (1, 2, 5):
            found = convert_bytes(tmp_path, _giant_unit(sibling), {"threads": threads})
            assert len(found.functions) == GIANT_FUNCTIONS + 1
            assert found.functions[7].line_table
            assert found.functions[8].name == "between"
            assert found.functions[8].line_table
            assert found.functions[7].name == "C::m7"
            assert not found.report.warnings
            path = str(tmp_path / "made")
            gsym.convert(str(tmp_path / "input"), path, threads=threads)
            made.add((tmp_path / "made").read_bytes())
    assert len(made) == 1


def test_units_read_before_their_turn_are_alike_for_any_threads(tmp_path: Path) -> None:
    units, made = [], set()
    for number in range(40):
        start = TEXT + number * FUNCTION_SIZE
        size = LARGE if number in {5, 6, 20, 39} else 1
        padding = Die(Tag.variable, {At.location: Form.block4(bytes(size))})
        units.append(
            unit(function(f"f{number}", start, start + FUNCTION_SIZE, padding))
        )
    (tmp_path / "input").write_bytes(
        elf_of(Dwarf(units).sections(), code_section(TEXT, 40 * FUNCTION_SIZE))
    )
    for threads in (1, 2, 5):
        report = gsym.convert(
            str(tmp_path / "input"), str(tmp_path / "made"), threads=threads
        )
        assert report.functions == 40
        made.add((tmp_path / "made").read_bytes())
    assert len(made) == 1


def test_a_wrong_sibling_in_a_giant_unit_is_bounded(tmp_path: Path) -> None:
    image = _giant_unit(SIBLING, crossing=GIANT_FUNCTIONS // 2)
    found = [convert_bytes(tmp_path, image, {"threads": threads}) for threads in (1, 2)]
    assert found[0].functions == found[1].functions
    assert found[0].report.warnings == found[1].report.warnings


def test_a_full_walk_of_a_giant_unit_follows_no_sibling(tmp_path: Path) -> None:
    image = _giant_unit(SIBLING, crossing=GIANT_FUNCTIONS // 2)
    for threads in (1, 2):
        options: Options = {"threads": threads, "full_walk": True}
        found = convert_bytes(tmp_path, image, options)
        assert len(found.functions) == GIANT_FUNCTIONS + 1
        assert not found.report.warnings


def test_damage_of_a_giant_unit_is_one_warning(tmp_path: Path) -> None:
    image = _giant_unit(SIBLING, is_damaged=True)
    for threads in (1, 2, 5):
        found = convert_bytes(tmp_path, image, {"threads": threads})
        assert len(found.functions) == GIANT_FUNCTIONS + 1
        assert found.report.warnings == {"Damaged abbreviations": 1}
