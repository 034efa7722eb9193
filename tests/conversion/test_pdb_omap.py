"""PDBs of images that an optimizer changed after linking: code is found where it is.

A debugger translates an address of the image by the table of the optimizer, and looks
for what the linker had there; so do the answers that these tests expect.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.conversion.report import CATEGORIES
from gsym.engine.native import lib
from tests.conversion.test_pdb_properties import IDS, INLINEES, Site, sites
from tests.inputs.pdb import CODE, TEXT, Function, Inline, Module, Pdb
from tests.inputs.pdb_examples import LENGTH, OFFSET, PDBS
from tests.referee.opening import compare

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.long

REMOVED = CATEGORIES[lib.GSYM_WARN_PDB_REMOVED]
MARKS = [0, 0x80000000, 0xFFFFFFFF]  # of code that has no address on the other side
IMAGE = 0x4000  # where the tests put what was moved
Table = list[tuple[int, int]]


def convert(folder: Path, pdb: Pdb) -> gsym.Reader:
    output = folder / "made.gsym"
    gsym.convert(pdb.to_bytes(), output, name="made.pdb")
    return gsym.open(output)


def frames(reader: gsym.Reader, address: int) -> list[tuple[str, str, int]]:
    answer = reader.lookup(address)
    found = answer.frames if answer else ()
    return [(each.name, each.path, each.line) for each in found]


def inverted(to_source: Table) -> Table:
    """The other table, which has only the first of several copies."""
    found: dict[int, int] = {}
    for (at, source), (end, _) in pairwise(to_source):
        if 0 < source < MARKS[1]:
            for offset in range(end - at):
                found.setdefault(source + offset, at + offset)
    entries: list[tuple[int, int]] = []
    for source in range(TEXT, TEXT + 0x1000):
        to = found.get(source, 0)
        known = entries[-1][1] + source - entries[-1][0] if entries else None
        if (to or (entries and entries[-1][1])) and to != known:
            entries.append((source, to))
    return entries


TWO = Pdb(
    [
        Module(
            [
                Function("f", 0, 0x20, [(0, 1), (0x10, 2)]),
                Function("g", 0x20, 0x10, [(0, 7)]),
            ]
        )
    ]
)
# f was cut in two and has 8 bytes more; g was copied; 0x4050 has code of nobody.
STRETCHED = [
    (IMAGE, TEXT),
    (IMAGE + 0x18, TEXT + 0x10),  # again; before it are 8 bytes of an instrumentation
    (IMAGE + 0x20, MARKS[1]),
    (IMAGE + 0x30, TEXT + 0x20),
    (IMAGE + 0x40, TEXT + 0x18),
    (IMAGE + 0x48, TEXT + 0x20),
    (IMAGE + 0x58, MARKS[2]),
]
# Which of the two tables a PDB has.
TABLES: dict[str, Callable[[Pdb, Table], Pdb]] = {
    "of the source": lambda pdb, table: replace(pdb, omap=table),
    "to the source": lambda pdb, table: replace(pdb, omap_to_source=table),
}


@pytest.mark.parametrize("original", [(), ((TEXT, 0x1000, CODE),)])
def test_a_function_is_at_each_place_of_its_bytes(
    tmp_path: Path, original: tuple[tuple[int, int, int], ...]
) -> None:
    pdb = replace(TWO, omap_to_source=STRETCHED, original_sections=original)
    with convert(tmp_path, pdb) as reader:
        found = {
            each.start: (each.name, each.size, [row.line for row in each.line_table])
            for each in reader.functions()
            if each.line_table
        }
    assert found == {
        IMAGE: ("f", 0x20, [1, 2]),
        IMAGE + 0x30: ("g", 0x10, [7]),
        IMAGE + 0x40: ("f", 8, [2]),
        IMAGE + 0x48: ("g", 0x10, [7]),
    }


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("kind", TABLES)
def test_removed_functions_are_counted(tmp_path: Path, mark: int, kind: str) -> None:
    start, to = (TEXT, IMAGE) if kind == "of the source" else (IMAGE, TEXT)
    pdb = TABLES[kind](TWO, [(start, to), (start + 0x20, mark)])
    report = gsym.convert(pdb.to_bytes(), tmp_path / "x.gsym", name="made.pdb")
    assert (report.functions, report.warnings) == (1, {REMOVED: 1})
    with gsym.open(report.outputs[0]) as reader:
        assert [each.start for each in reader.functions()] == [IMAGE]


def test_the_end_of_one_place_is_the_start_of_the_next(tmp_path: Path) -> None:
    """Without the other table nothing says that 0x10 bytes of f were removed."""
    pdb = replace(TWO, omap=[(TEXT, IMAGE), (TEXT + 0x20, IMAGE + 0x10)])
    with convert(tmp_path, pdb) as reader:
        ranges = [(each.name, each.start, each.size) for each in reader.functions()]
    assert ranges == [("f", IMAGE, 0x10), ("g", IMAGE + 0x10, 0x10)]


def test_sections_of_the_source_count(tmp_path: Path) -> None:
    """They are longer than those of the image, as a part of the code was removed."""
    original = ((TEXT, 0x1000, CODE),)
    sections = ((TEXT, 0x10, CODE),)
    table = [(TEXT, TEXT + 0x20), (TEXT + 0x10, 0)]
    pdb = replace(
        TWO,
        sections=sections,
        original_sections=original,
        omap_to_source=table,
    )
    with convert(tmp_path, pdb) as reader:
        assert [each.name for each in reader.functions()] == ["g"]


def test_inlined_calls_follow_the_places_of_their_function(tmp_path: Path) -> None:
    """Of NESTED, 16..40 is inlined, and of that 20..28 once more."""
    table = [
        (IMAGE, TEXT + 24),
        (IMAGE + 8, TEXT + 18),
        (IMAGE + 12, TEXT),
        (IMAGE + 16, TEXT + 36),
        (IMAGE + 24, 0),
    ]
    pdb = replace(PDBS["functions"], omap_to_source=table)
    with convert(tmp_path, pdb) as reader:
        lines = [
            [line for _, _, line in frames(reader, IMAGE + at)]
            for at in (0, 3, 4, 8, 10, 12, 16, 20, 23)
        ]
        assert lines == [
            *([6, 22, 11], [6, 22, 11], [22, 11], [20, 11], [6, 22, 11]),
            *([10], [22, 11], [12], [12]),
        ]
        assert len([each for each in reader.functions() if each.start == IMAGE]) == 1


@pytest.mark.parametrize("mark", MARKS)
def test_publics_are_at_each_place_of_their_bytes(tmp_path: Path, mark: int) -> None:
    """Each is up to the next one, or to a function."""
    table = [
        (IMAGE, TEXT + 0x48),
        (IMAGE + 0x10, mark),
        (IMAGE + 0x20, TEXT + 0x40),
        (IMAGE + 0x28, TEXT + 0x30),
        (IMAGE + 0x30, mark),
    ]
    publics = [("p", 1, 0x40), ("q", 1, 0x50), ("gone", 1, 0x60), ("f", 1, 0)]
    pdb = replace(TWO, publics=publics, omap_to_source=table)
    with convert(tmp_path, pdb) as reader:
        names = [frames(reader, IMAGE + at) for at in range(0x38)]
    found = [each[0][0] if each else "" for each in names]
    assert found == [
        *(["p"] * 8 + ["q"] * 8 + [""] * 16 + ["p"] * 8),
        *[""] * 16,  # f, which has a name of its own, ends before 0x30
    ]


# ---- random tables ---------------------------------------------------------------

SIZE = 64  # of a function; there are two
UNIT = 8


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Pieces of the source in any order, some copied, stretched or removed."""
    entries: Table = []
    at = IMAGE
    for _ in range(draw(st.integers(1, 10))):
        if draw(st.booleans()):
            source = TEXT + draw(st.integers(0, 2 * SIZE))
        else:
            source = draw(st.sampled_from(MARKS))
        entries.append((at, source))
        at += draw(st.integers(0, 3 * UNIT))
    return [*entries, (at, draw(st.sampled_from(MARKS)))]


def source_of(table: Table, address: int) -> int:
    """Where an address of the image was before; 0: nowhere."""
    at = bisect_right(table, (address, 1 << 32)) - 1
    if at < 0 or table[at][1] in MARKS:
        return 0
    return table[at][1] + address - table[at][0]


@given(
    tables(),
    sites(3),
    st.dictionaries(st.integers(0, SIZE - 1), st.integers(1, 50)),
    st.sampled_from(["functions", "publics"]),
)
def test_answers_are_those_of_the_source(
    table: Table, outermost: tuple[Site, ...], rows: dict[int, int], kind: str
) -> None:
    symbols = [each.symbol() for each in outermost]
    functions = [
        Function("f", 0, SIZE, sorted(rows.items()), symbols),
        Function("g", SIZE, SIZE, [(8, 90)]),
    ]
    pdb = Pdb([Module(functions, inlinees=INLINEES)], ids=IDS)
    if kind == "publics":
        pdb = Pdb(publics=[("f", 1, 0), ("g", 1, SIZE), ("h", 1, 2 * SIZE)])
    with TemporaryDirectory() as name:
        folder = Path(name)
        moved = folder / "moved.pdb"
        moved.write_bytes(replace(pdb, omap_to_source=table).to_bytes())
        with convert(folder, pdb) as source:
            expected = {
                at: frames(source, source_of(table, at))
                for at in range(IMAGE - 1, table[-1][0] + 1)
            }
        try:
            report = gsym.convert(moved)
        except gsym.EmptyError:
            assert not any(expected.values())
            return
        with gsym.open(report.outputs[0]) as reader:
            assert {at: frames(reader, at) for at in expected} == expected
        assert compare(report.outputs[0], str(moved)).differences == []


@given(st.permutations(range(8)), st.data())
def test_both_tables_give_the_same_answers(
    order: list[int], data: st.DataObject
) -> None:
    """Where code was only reordered, with gaps."""
    table = []
    at = IMAGE
    for each in order:
        table.append((at, TEXT + each * UNIT))
        at += UNIT
        if data.draw(st.booleans()):
            table.append((at, 0))
            at += UNIT
    table.append((at, 0))
    pdb = replace(PDBS["functions"], publics=())
    found = []
    for made in (
        replace(pdb, omap_to_source=table),
        replace(pdb, omap=inverted(table)),
        replace(pdb, omap=inverted(table), omap_to_source=table),
    ):
        with TemporaryDirectory() as name, convert(Path(name), made) as reader:
            found.append([str(each) for each in reader.functions()])
    assert found[0] == found[1] == found[2]


# ---- damage ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_that_does_not_ascend_is_refused(tmp_path: Path, kind: str) -> None:
    pdb = TABLES[kind](TWO, [(TEXT + 1, IMAGE), (TEXT, IMAGE)])
    with pytest.raises(gsym.FormatError, match="the omap in stream"):
        convert(tmp_path, pdb)


@pytest.mark.parametrize("last", [0x7FFFFFFF, 0xFFFFFFFE])
@pytest.mark.parametrize("size", [1, 0x1000, 0x7FFFFFFF, 0xFFFFFFFF])
def test_addresses_do_not_wrap(tmp_path: Path, last: int, size: int) -> None:
    source = Pdb([Module([Function("f", 0, size, [(0, 1)])])])
    for pdb in (
        replace(source, omap_to_source=[(1, TEXT), (last, TEXT)]),
        replace(source, omap=[(1, 1), (TEXT, last), (last, 2)]),
        replace(source, omap=[(TEXT, IMAGE)]),
    ):
        try:
            reader = convert(tmp_path, pdb)
        except gsym.EmptyError:
            continue
        with reader:
            for each in reader.functions():
                assert each.start + each.size <= 1 << 32


def in_pieces(count: int) -> Table:
    """A table that has moved pieces of two bytes apart."""
    places = [(IMAGE + 4 * at, TEXT + 2 * at) for at in range(count)]
    return [pair for at, to in places for pair in ((at, to), (at + 2, 0))]


@pytest.mark.parametrize("kind", ["functions", "publics"])
def test_65536_parts_are_made_whatever_the_table_has(kind: str, tmp_path: Path) -> None:
    if kind == "functions":
        pdb = Pdb([Module([Function(f"f{at}", 0, 512) for at in range(256)])])
    else:
        pdb = Pdb(publics=[(f"f{at}", 1, 0) for at in range(256)])
    moved = replace(pdb, omap_to_source=in_pieces(256), page_size=4096)
    report = gsym.convert(moved.to_bytes(), tmp_path / "made.gsym", name="made.pdb")
    assert not report.warnings
    assert report.functions == 256


@pytest.mark.hostile
def test_functions_that_overlap_are_not_cut_without_end(tmp_path: Path) -> None:
    count = 1000
    functions = [Function(f"f{at}", 0, 0x1000) for at in range(count)]
    pdb = Pdb([Module(functions)], page_size=4096)
    with pytest.raises(gsym.LimitError, match="parts for each of its entries"):
        convert(tmp_path, replace(pdb, omap_to_source=in_pieces(count)))


@pytest.mark.hostile
def test_copies_of_inlined_calls_have_a_limit(tmp_path: Path) -> None:
    """Each entry has all of a function again, whose rows are many."""
    lines = [(at, at + 1) for at in range(20_000)]
    site = Inline(0x1001, bytes([OFFSET, 0, LENGTH, 16]))
    function = Function("f", 0, 30_000, lines, [site])
    table = [(IMAGE + 30_000 * at, TEXT) for at in range(20_000)]
    pdb = Pdb(
        [Module([function], inlinees=INLINEES)],
        ids=IDS,
        sections=((TEXT, 0x10000, CODE),),
        omap_to_source=table,
        page_size=4096,
    )
    with pytest.raises(gsym.LimitError, match="16 times"):
        convert(tmp_path, pdb)


@pytest.mark.hostile
def test_publics_of_one_address_have_a_limit(tmp_path: Path) -> None:
    """Each would be at very many places."""
    count = 1000
    publics = [(f"f{at}", 1, 0) for at in range(count)]
    pdb = Pdb(
        publics=publics, omap_to_source=in_pieces(count), page_size=4096
    ).to_bytes()
    report = gsym.convert(pdb, tmp_path / "made.gsym", name="made.pdb")
    assert report.functions == count
    assert list(report.warnings) == [CATEGORIES[lib.GSYM_WARN_LIMIT]]
