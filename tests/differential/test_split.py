"""Real programs with their DWARF in several files say what they say in one.

The same sources are built with and without -gsplit-dwarf, or run through dwz; the
functions that come out are the same.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest
from elftools.elf.elffile import ELFFile

import gsym
from tests.conversions import describe, read_functions
from tests.differential import peers
from tests.differential.programs import SOURCES
from tests.dwarf_files import (
    MAIN,
    SECTIONS,
    SPLIT,
    SUPPLEMENTARY,
    DwarfFile,
    Outcome,
    convert_files,
)

if TYPE_CHECKING:
    from pathlib import Path


class Flavour(NamedTuple):
    compiler: str
    source: str
    options: str

    @property
    def title(self) -> str:
        return "".join(
            (self.compiler, *self.options.split(), f"-{self.source}")
        ).translate(str.maketrans("", "", "/="))


OPTIONS = (
    "-gdwarf-4 -O2",
    "-gdwarf-5 -O2 -fdebug-types-section",
    "-gdwarf-5 -O0",
    "-gdwarf-4 -O0",
    "-gdwarf-5 -O2",
    "-gdwarf-4 -O2 -fdebug-types-section",
)
# Each source of each compiler in two of the six; of each two choices every pair.
FLAVOURS = [
    Flavour(compiler, source, options)
    for number, (compiler, source) in enumerate(
        (
            ("gcc", "shapes.c"),
            ("g++", "shapes.cc"),
            ("g++", "twins.cc"),
            ("clang-19", "shapes.c"),
            ("clang++-19", "shapes.cc"),
            ("clang++-19", "twins.cc"),
        )
    )
    for options in (OPTIONS[number], OPTIONS[(number + 1) % 6])
]
flavours = pytest.mark.parametrize(
    "flavour", FLAVOURS, ids=[flavour.title for flavour in FLAVOURS]
)


class Built(NamedTuple):
    """The same program twice; *splits* are the .dwo files of the second."""

    whole: Path
    skeleton: Path
    splits: list[Path]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


def build(flavour: Flavour, folder: Path) -> Built:
    """Build both programs, once for all tests."""
    place = folder / flavour.title
    halves = ["", "-DOTHER"] if flavour.source.startswith("twins") else [""]
    built = Built(
        place / "whole",
        place / "skeleton",
        [place / f"{n}.dwo" for n in range(len(halves))],
    )
    if place.exists():
        return built
    place.mkdir()
    for output, more in ((built.whole, ()), (built.skeleton, ("-gsplit-dwarf",))):
        objects = []
        for number, half in enumerate(halves):
            objects.append(str(place / f"{number}.o"))
            _compile(
                *(flavour.compiler, *flavour.options.split(), *half.split(), *more),
                *("-c", str(SOURCES / flavour.source), "-o", objects[-1]),
                folder=place,
            )
        _compile(flavour.compiler, *objects, "-o", str(output), folder=place)
    return built


def _compile(*command: str, folder: Path) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
    except FileNotFoundError as error:
        pytest.skip(f"not installed: {error.filename}")


def read(path: Path, role: int = MAIN) -> DwarfFile:
    """The debug sections; several of one name, as .dwo files have them, are joined."""
    suffix = ".dwo" if role == SPLIT else ""
    sections: dict[str, bytes] = {}
    with path.open("rb") as stream:
        for section in ELFFile(stream).iter_sections():
            name = section.name.removesuffix(suffix)
            if name in SECTIONS and (
                section.name != name or not suffix or "index" in name
            ):
                sections[name] = sections.get(name, b"") + section.data()
    return DwarfFile(sections, role)


def code_of(path: Path) -> list[tuple[int, int]]:
    with path.open("rb") as stream:
        return [
            (section["sh_addr"], section["sh_addr"] + section["sh_size"])
            for section in ELFFile(stream).iter_sections()
            if section["sh_flags"] & 4
        ]


def convert(folder: Path, main: Path, *others: DwarfFile) -> Outcome:
    return convert_files(folder, read(main), *others, text=code_of(main))


@flavours
def test_split_units_give_the_functions_of_complete_ones(
    flavour: Flavour, folder: Path, tmp_path: Path
) -> None:
    built = build(flavour, folder)
    whole = convert(tmp_path, built.whole)
    splits = [read(path, SPLIT) for path in built.splits]
    outcome = convert(tmp_path, built.skeleton, *splits)
    assert outcome.matched == [1] * len(built.splits)
    assert describe(outcome.functions) == describe(whole.functions) != ""
    assert outcome.warnings == []
    assert whole.warnings == []


@flavours
@pytest.mark.parametrize("packager", ["llvm-dwp-22", "llvm-dwp-19", "dwp"])
def test_a_package_gives_the_functions_of_its_files(
    packager: str, flavour: Flavour, folder: Path, tmp_path: Path
) -> None:
    if shutil.which(packager) is None:
        pytest.skip(f"not installed: {packager}")
    if packager == "dwp" and "-gdwarf-5" in flavour.options:
        pytest.skip("GNU dwp does not support DWARF 5")
    built = build(flavour, folder)
    target = tmp_path / "package.dwp"
    peers.run(packager, *map(str, built.splits), "-o", str(target))
    apart = convert(
        tmp_path, built.skeleton, *(read(path, SPLIT) for path in built.splits)
    )
    outcome = convert(tmp_path, built.skeleton, read(target, SPLIT))
    assert outcome.matched == [len(built.splits)]
    assert outcome.image == apart.image


@flavours
def test_convert_finds_the_files_and_joins_them(
    flavour: Flavour, folder: Path, tmp_path: Path
) -> None:
    built = build(flavour, folder)
    found = []
    for program in (built.whole, built.skeleton):
        gsym.convert(str(program), str(tmp_path / "out.gsym"))
        found.append(describe(read_functions(str(tmp_path / "out.gsym"))))
    assert found[0] == found[1]


@flavours
def test_an_object_file_has_the_functions_of_the_program(
    flavour: Flavour, folder: Path, tmp_path: Path
) -> None:
    """Type units stand in sections of their own there."""
    built = build(flavour, folder)
    target = str(tmp_path / "out.gsym")
    names = []
    for path in (built.whole, built.whole.with_name("0.o")):
        gsym.convert(str(path), target)
        # A thunk before an aligned function may look like padding there.
        names.append(
            {
                each.name
                for each in read_functions(target)
                if each.line_table and not each.name.startswith("_ZTh")
            }
        )
    if len(built.splits) == 1:
        assert names[0] == names[1]
    else:
        assert names[0] > names[1] > set()


# ---- dwz --------------------------------------------------------------------------

PAIRS = [
    (compiler, source, version)
    for compiler, source in (("gcc", "shapes.c"), ("g++", "shapes.cc"))
    for version in (4, 5)
]


def programs(pair: tuple[str, str, int], folder: Path) -> list[Path]:
    compiler, source, version = pair
    return [
        build(Flavour(compiler, source, f"-gdwarf-{version} -O{n}"), folder).whole
        for n in (0, 2)
    ]


def shrink(originals: list[Path], folder: Path, *options: str) -> list[Path]:
    """Copies of these programs after dwz."""
    if shutil.which("dwz") is None:
        pytest.skip("not installed: dwz")
    copies = [folder / str(number) for number in range(len(originals))]
    for original, copy in zip(originals, copies, strict=True):
        shutil.copy(original, copy)
    peers.run("dwz", *options, *map(str, copies))
    return copies


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_partial_units_give_the_functions_of_complete_ones(
    pair: tuple[str, str, int], folder: Path, tmp_path: Path
) -> None:
    originals = programs(pair, folder)
    for original, copy in zip(originals, shrink(originals, tmp_path), strict=True):
        outcome = convert(tmp_path, copy)
        assert outcome.warnings == []
        assert outcome.image == convert(tmp_path, original).image


@pytest.mark.parametrize("options", [(), ("-5",)], ids=str)
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_a_common_file_completes_what_refers_to_it(
    options: tuple[str, ...], pair: tuple[str, str, int], folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "common"
    originals = programs(pair, folder)
    copies = shrink(originals, tmp_path, "-m", str(path), *options)
    common = read(path, SUPPLEMENTARY)
    for original, copy in zip(originals, copies, strict=True):
        outcome = convert(tmp_path, copy, common)
        assert outcome.warnings == []
        assert outcome.image == convert(tmp_path, original).image
        alone = {each.category for each in convert(tmp_path, copy).warnings}
        assert "SUPPLEMENTARY_MISSING" in alone
