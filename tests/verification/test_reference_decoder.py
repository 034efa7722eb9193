"""The decoder behind `compare` and the engine agree on inputs made to be difficult."""

from __future__ import annotations

import os
from dataclasses import replace
from struct import pack
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.verification.check import compare
from tests.dwarf import test_inlines
from tests.dwarf.test_differential import MODULES
from tests.inputs.dies import Die, Ref
from tests.inputs.dwarf_constants import At, Tag
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.program import LAYOUTS, Layout, function, inlined, program, unit

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from gsym.verification.check import Comparison
    from tests.conversions import Options

pytestmark = pytest.mark.long


# pyelftools does not get past what these hold.
UNREADABLE = {"all forms of version 5 at once"}


def compare_converted(
    folder: Path, image: bytes, options: Options | None = None
) -> Comparison:
    binary, path = os.fspath(folder / "input"), os.fspath(folder / "input.gsym")
    (folder / "input").write_bytes(image)
    gsym.convert(binary, path, **(options or {}))
    return compare(path, binary)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_second_opinion_agrees_on_every_case(
    module: ModuleType, tmp_path: Path
) -> None:
    for case in module.CASES:
        if case.image.startswith(b"MZ"):
            continue
        found = compare_converted(tmp_path, case.image, case.options)
        assert bool(found.unread) == (case.name in UNREADABLE), case.name
        assert found.differences == [], case.name


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_the_second_opinion_agrees_in_every_layout(
    layout: Layout, tmp_path: Path
) -> None:
    lines = LineProgram(
        directories=("/src",) if layout.version >= 5 else (),
        files=(File("a.c"), File("b.h")),
        ops=sequence((0x1000, 5, 1), (0x1008, 6, 1), (0x1010, 9, 1), end=0x1040),
    )
    image = layout.program(
        Die(Tag.subprogram, {At.name: "g", At.inline: 1}, label="g"),
        function("f", 0x1000, 0x1040, inlined(Ref("g"), (0x1004, 0x1010))),
        lines=lines,
    )
    found = compare_converted(tmp_path, image)
    assert (found.differences, found.unread) == ([], {})
    assert found.functions == 1


def test_the_second_opinion_knows_rows_after_the_start(tmp_path: Path) -> None:
    image = program(
        unit(
            function(
                "f", 0x1000, 0x1010, attributes={At.decl_file: 1, At.decl_line: 4}
            ),
            version=4,
            lines=LineProgram(
                files=(File("a.c"),),
                ops=sequence((0x1004, 7, 1), (0x1008, 8, 1), end=0x1010),
            ),
        )
    )
    assert compare_converted(tmp_path, image).differences == []
    with gsym.open(tmp_path / "input.gsym") as reader:
        rows = next(iter(reader.functions())).line_table
    assert [(row.address, row.line) for row in rows or ()] == [(0x1004, 7), (0x1008, 8)]


@pytest.mark.parametrize(
    ("version", "directories", "file", "expected"),
    [
        (4, ("lib",), 1, "/src/lib/a.c"),
        (4, ("lib",), 0, ""),
        (5, ("build", "lib"), 0, "build/a.c"),
        (5, ("/src", "lib"), 1, "/src/lib/b.c"),
    ],
)
def test_the_second_opinion_knows_relative_directories(
    version: int,
    directories: tuple[str, ...],
    file: int,
    expected: str,
    tmp_path: Path,
) -> None:
    files = (File("a.c", version < 5), File("b.c", 1))
    ops = sequence((0x1000, 5, file), end=0x1010)
    lines = LineProgram(ops, directories=directories, files=files)
    image = program(unit(function("f", 0x1000, 0x1010), lines=lines, version=version))
    found = compare_converted(tmp_path, image)
    assert (found.differences, found.unread) == ([], {})
    with gsym.open(tmp_path / "input.gsym") as reader:
        answer = reader.lookup(0x1000)
    assert answer is not None
    assert [frame.path for frame in answer.frames] == [expected]


def test_an_unknown_compression_type_is_named(tmp_path: Path) -> None:
    main = unit(function("f", 0x1000, 0x1010))
    image = program(main, compression="zlib")
    compare_converted(tmp_path, image)
    binary, path = tmp_path / "input", os.fspath(tmp_path / "input.gsym")
    head = pack("<II", 1, 0)  # ch_type ELFCOMPRESS_ZLIB, ch_reserved
    assert head in image
    binary.write_bytes(image.replace(head, pack("<II", 7, 0)))
    with pytest.raises(gsym.UnsupportedError, match="unknown compression type 7"):
        compare(path, os.fspath(binary))


@pytest.mark.parametrize("table", ["directory_format", "file_format"])
def test_entries_of_line_tables_without_bytes_are_not_read(
    table: str, tmp_path: Path
) -> None:
    lines = LineProgram(sequence((0x1000, 5), end=0x1010), **{table: ()})  # type: ignore[arg-type]
    for count, is_read in ((0, True), (1000, False)):
        some = replace(lines, files=(File("a.c"),) * count, directories=("/",) * count)
        image = program(unit(function("f", 0x1000, 0x1010), lines=some, version=5))
        found = compare_converted(tmp_path, image)
        reasons = "".join(found.unread.values())
        assert ("take no bytes" in reasons) != is_read, reasons


def test_no_damaged_binary_stops_the_comparison_but_by_an_error(tmp_path: Path) -> None:
    cases = {case.name: case for case in test_inlines.CASES}
    image = cases["a call may fill its caller"].image
    compare_converted(tmp_path, image)
    binary, path = tmp_path / "input", os.fspath(tmp_path / "input.gsym")
    answered = refused = 0
    for offset in range(0, len(image), 7):
        damaged = bytearray(image)
        damaged[offset] ^= 0xFF
        binary.write_bytes(damaged)
        try:
            compare(path, os.fspath(binary))
            answered += 1
        except gsym.GsymError:
            refused += 1
    assert answered > 10
    assert refused > 10
