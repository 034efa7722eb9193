"""Paths of source files: joined from their parts, otherwise left as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.conversions import Case, convert_bytes, describe
from tests.inputs.dwarf_constants import At, Content, Form
from tests.inputs.elf import Symbol
from tests.inputs.line_program import (
    File,
    LineProgram,
    sequence,
)
from tests.inputs.program import LAYOUTS, Layout, function, program, unit

if TYPE_CHECKING:
    from pathlib import Path


DOUBLED = "llvm-gsymutil prints the slash of a directory that ends in one twice"
BACKSLASH = "llvm-gsymutil joins with a backslash where the directory has one"
COLLAPSED = "llvm-gsymutil keeps one of several slashes"


class PathCase(NamedTuple):
    """The *path* of a file whose directory has index 1 (None: index 0)."""

    comp_dir: str | None
    directory: str | None
    name: str
    path: str
    differs: str = ""

    def case(self, version: int) -> Case:
        comp_dir, directory, name, path, differs = self
        directories: tuple[str, ...] = () if directory is None else (directory,)
        file = File(name, 0 if directory is None else 1)
        files: tuple[File, ...] = (file,)
        if version >= 5:
            directories, files = (comp_dir or "", *directories), (File("unit"), file)
        table = LineProgram(
            sequence((0x1000, 5), end=0x1040), files=files, directories=directories
        )
        main = unit(function("f", 0x1000, 0x1040), version=version, lines=table)
        if comp_dir is None:
            del main.root.attributes[At.comp_dir]
        else:
            main.root.attributes[At.comp_dir] = comp_dir
        title = f"version {version}: {comp_dir} + {directory} + {name}"
        expected = f"1000-1040 f\n  1000 {path}:5\n"
        return Case(title, program(main), expected, differs)


PATHS = [
    path.case(version)
    for version in (4, 5)
    for path in [
        PathCase("/src", None, "a.c", "/src/a.c"),
        PathCase("/src", "lib", "a.c", "/src/lib/a.c"),
        PathCase("/src", "/usr/include", "a.h", "/usr/include/a.h"),
        PathCase("/src", "/usr/include", "/abs/a.h", "/abs/a.h"),
        PathCase("/src", "lib", "sub/a.c", "/src/lib/sub/a.c"),
        PathCase("/src", "../lib", "./a.c", "/src/../lib/./a.c"),
        PathCase("/src/", "lib/", "a.c", "/src/lib/a.c"),
        PathCase("/", None, "r.c", "/r.c", DOUBLED),
        PathCase("/src", None, "/r.c", "/r.c", DOUBLED),
        PathCase("/src", None, "//net/a.c", "//net/a.c", DOUBLED),
        PathCase("/src", "lib//x", "a.c", "/src/lib//x/a.c"),
        PathCase("/src", "C:\\lib", "a.c", "C:\\lib/a.c", BACKSLASH),
        PathCase("C:\\src", "lib", "a.c", "C:\\src/lib/a.c"),
        PathCase("/src", None, "C:\\a.c", "C:\\a.c"),
        PathCase("/src", None, "hg:host/repo:path:rev", "/src/hg:host/repo:path:rev"),
        PathCase("rel", "lib", "a.c", "rel/lib/a.c"),
        PathCase(None, "lib", "a.c", "lib/a.c"),
        PathCase(None, None, "a.c", "a.c"),
    ]
]

ODD_PATHS = [
    PathCase(None, None, name, name, differs).case(version)
    for version in (4, 5)
    for name, differs in [
        ("/r.c", DOUBLED),
        ("C:\\x", ""),
        ("C:\\Users\\me\\a.cpp", ""),
        ("hg:host/repo:path:rev", ""),
        ("git:github.com/rust-lang/rust:library/core/src/fmt/mod.rs:abc123:", ""),
        ("s3:bucket:hash/a.c:", ""),
        ("//net/n.c", DOUBLED),
        ("dir//a.c", COLLAPSED),
        ("./a.c", ""),
        ("..", ""),
        ("<stdin>", ""),
        ("Größe.c", ""),
    ]
]


CASES = [*PATHS, *ODD_PATHS]


def test_paths_are_joined_from_their_parts(tmp_path: Path) -> None:
    for case in CASES:
        converted = convert_bytes(tmp_path, case.image, case.options)
        assert describe(converted.functions) == case.expected, case.name


@pytest.mark.parametrize(("size", "is_kept"), [(1 << 16, True), ((1 << 16) + 1, False)])
def test_a_part_of_a_path_has_at_most_64_kib(
    size: int,
    is_kept: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
) -> None:
    folder = "d" * size
    image = program(
        unit(
            function("f", 0x1000, 0x1010),
            version=4,
            lines=LineProgram(sequence((0x1000, 1), end=0x1010)),
            attributes={At.comp_dir: Form.strp(folder)},
        )
    )
    path = f"{folder}/a.c" if is_kept else "a.c"
    found = describe(convert_bytes(tmp_path, image).functions)
    assert found == f"1000-1010 f\n  1000 {path}:1\n"


@pytest.mark.parametrize(
    ("first", "comp_dir", "path"),
    [
        ("/build", None, "/build/lib/a.c"),
        ("/build", "/elsewhere/out", "/build/lib/a.c"),
        ("C:\\build", "/src", "C:\\build/lib/a.c"),
        (".", "/src", "/src/lib/a.c"),
        ("", "/src", "/src/lib/a.c"),
    ],
)
def test_relative_directories_of_version_5_are_in_directory_0(
    first: str, comp_dir: str | None, path: str, tmp_path: Path
) -> None:
    """What changes DIEs after the compiler may leave another DW_AT_comp_dir."""
    table = LineProgram(
        sequence((0x1000, 5), end=0x1040),
        files=(File("unit"), File("a.c", 1)),
        directories=(first, "lib"),
    )
    main = unit(function("f", 0x1000, 0x1040), lines=table)
    del main.root.attributes[At.comp_dir]
    if comp_dir is not None:
        main.root.attributes[At.comp_dir] = comp_dir
    functions = convert_bytes(tmp_path, program(main)).functions
    assert describe(functions) == f"1000-1040 f\n  1000 {path}:5\n"


@pytest.mark.parametrize(
    "layout", [each for each in LAYOUTS if each.version == 5], ids=str
)
@pytest.mark.parametrize("form", [Form.string, Form.line_strp, Form.strp], ids=str)
def test_files_of_an_assembler_without_a_folder_are_in_directory_0(
    form: int, layout: Layout, tmp_path: Path
) -> None:
    """Rows of a symbol: of files in directory 0, below it and elsewhere."""
    table = LineProgram(
        sequence((0x1000, 5, 1), (0x1004, 6, 2), (0x1008, 7, 3), end=0x1010),
        files=(File("unit.s"), File("unit.s"), File("macros.inc", 1), File("e.inc", 2)),
        directories=("D:\\work", "..\\inc", "/usr/inc"),
        directory_format=((Content.path, form),),
        file_format=((Content.path, form), (Content.directory_index, Form.udata)),
    )
    main = unit(lines=table, dwarf64=layout.dwarf64)
    del main.root.attributes[At.comp_dir]
    image = program(
        main,
        symbols=[Symbol("start", 0x1000, 0x10)],
        byteorder=layout.byteorder,
        address_size=layout.address_size,
    )
    assert describe(convert_bytes(tmp_path, image).functions) == (
        "1000-1010 start\n"
        "  1000 D:\\work/unit.s:5\n"
        "  1004 D:\\work/..\\inc/macros.inc:6\n"
        "  1008 /usr/inc/e.inc:7\n"
    )


@pytest.mark.parametrize(
    ("path_map", "path"),
    [
        ((("/src", "/build"),), "/build/a.c"),
        ((("/src/", ""),), "a.c"),
        ((("/other", "/build"),), "/src/a.c"),
        ((("/src", "/one"), ("/src/a", "/two")), "/one/a.c"),
        ((("/src", "/one"), ("/one", "/two")), "/one/a.c"),
        ((("src", "/build"),), "/src/a.c"),
    ],
)
def test_path_prefixes_are_rewritten_by_the_first_rule_that_fits(
    path_map: tuple[tuple[str, str], ...], path: str, tmp_path: Path
) -> None:
    image = PathCase("/src", None, "a.c", "").case(4).image
    functions = convert_bytes(tmp_path, image, {"path_map": path_map}).functions
    assert describe(functions) == f"1000-1040 f\n  1000 {path}:5\n"
