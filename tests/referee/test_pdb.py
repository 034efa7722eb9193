"""`compare` of a PDB, or of its program, with what became of it."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from struct import pack
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from tests.conversion.test_pdb_properties import IDS, INLINEES, SIZE, Site, sites
from tests.inputs.pdb import GUID, LINES, Function, Module, Pdb, subsection
from tests.inputs.pdb_examples import PDBS
from tests.inputs.pe import CODEVIEW, Pe, Section, codeview
from tests.referee.opening import compare
from tests.verification.test_verification import calls, rewrite, rows, subjects

if TYPE_CHECKING:
    from tests.verification.test_verification import Change


def convert(folder: Path, pdb: Pdb = PDBS["functions"]) -> tuple[str, str]:
    """The GSYM file, and what it was made from."""
    path = folder / "app.pdb"
    path.write_bytes(pdb.to_bytes())
    return gsym.convert(path).outputs[0], str(path)


@pytest.mark.parametrize("name", PDBS)
def test_what_was_converted_is_in_the_pdb(name: str, tmp_path: Path) -> None:
    found = compare(*convert(tmp_path, PDBS[name]))
    assert (found.differences, found.unread) == ([], {})
    left_out = (
        {"it has inlined calls of another module": 1} if name == "imports" else {}
    )
    assert found.uncompared == left_out
    assert found.functions > 0 or left_out


@pytest.mark.parametrize(
    ("address", "change", "subject"),
    [
        (0x1000, lambda info: info._replace(name="x"), "name"),
        (0x1200, lambda info: info._replace(name="x"), "name"),
        (0x1000, rows(lambda row: row._replace(line=6), 0), "lines"),
        (0x1000, lambda info: info._replace(line_table=None), "lines"),
        (0x1000, calls(lambda _: None), "inlined calls"),
        (
            0x1000,
            calls(lambda call: call._replace(children=())),
            "inlined calls",
        ),
        (0x1080, lambda _: None, "function"),
        (0x1100, lambda _: None, "symbol"),
    ],
)
def test_errors_are_found(
    address: int, change: Change, subject: str, tmp_path: Path
) -> None:
    path, source = convert(tmp_path)
    rewrite(path, lambda info: change(info) if info.start == address else info)
    assert subject in subjects(compare(path, source))


def test_a_program_is_compared_with_its_pdb(tmp_path: Path) -> None:
    _, source = convert(tmp_path)
    program = tmp_path / "app.exe"
    section = Section(".text", bytes(0x1000), 0x1000, 0x60000020)
    record = codeview(GUID, 1, "app.pdb")
    image = Pe([section], image_base=0x140000000, debug=[(CODEVIEW, record)])
    program.write_bytes(image.to_bytes())
    path = gsym.convert(program).outputs[0]
    found = compare(path, str(program))
    assert (found.differences, found.functions > 0) == ([], True)
    assert subjects(compare(path, source)) >= {"base address"}


@pytest.mark.parametrize("size", range(5))
def test_lines_may_follow_a_part_of_any_size(size: int, tmp_path: Path) -> None:
    lines = pack("<IHHI", 0, 1, 0, SIZE) + pack("<IIIII", 0, 1, 20, 0, 7)
    parts = subsection(0xF3, bytes(size)) + subsection(LINES, lines)
    pdb = Pdb([Module([Function("f", 0, SIZE)], subsections=parts)])
    path, source = convert(tmp_path, pdb)
    assert compare(path, source).differences == []
    with gsym.open(path) as reader:
        found = reader.lookup(0x1000)
    assert found is not None
    assert [frame.line for frame in found.frames] == [7]


@given(
    sites(3),
    st.dictionaries(st.integers(0, SIZE - 1), st.integers(1, 50), min_size=1),
)
def test_random_inlined_calls_are_those_of_the_conversion(
    outermost: tuple[Site, ...], lines: dict[int, int]
) -> None:
    symbols = [each.symbol() for each in outermost]
    function = Function("f", 0, SIZE, sorted(lines.items()), symbols)
    pdb = Pdb([Module([function], inlinees=INLINEES)], ids=IDS)
    with TemporaryDirectory() as folder:
        found = compare(*convert(Path(folder), pdb))
    assert (found.differences, found.unread) == ([], {})


def test_a_damaged_pdb_is_an_error_or_unread(tmp_path: Path) -> None:
    path, source = convert(tmp_path)
    whole = Path(source).read_bytes()
    choose = random.Random(22)  # noqa: S311 - the same each time
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(choose.randrange(1, 4)):
            data[choose.randrange(len(data))] = choose.choice((0, 1, 0x7F, 0x80, 0xFF))
        Path(source).write_bytes(data[: choose.choice((len(data), 5000))])
        with suppress(gsym.GsymError):
            compare(path, source)


@pytest.mark.parametrize("size", [0, 1, 511, 0xFFFFFFFF])
def test_an_impossible_page_size_is_an_error(tmp_path: Path, size: int) -> None:
    path, source = convert(tmp_path)
    data = bytearray(Path(source).read_bytes())
    data[32:36] = size.to_bytes(4, "little")
    Path(source).write_bytes(data)
    with pytest.raises(gsym.FormatError, match="the second decoder cannot read it"):
        compare(path, source)
