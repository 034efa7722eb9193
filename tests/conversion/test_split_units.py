"""Packages and .dwo files of split units: where they may be, which ones count."""

from __future__ import annotations

import os
import resource
import struct
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest
from elftools.elf.elffile import ELFFile

import gsym
from gsym.cli.main import main
from tests.companions import debug_link, place
from tests.conftest import find_peer
from tests.conversions import describe, read_functions, words
from tests.inputs.dies import Die, Ref
from tests.inputs.dwarf_constants import At, Lang, Tag
from tests.inputs.elf import (
    Compression,
    Elf,
    Section,
    Symbol,
    code_section,
)
from tests.inputs.line_program import sequence
from tests.inputs.program import function
from tests.inputs.split import split_unit
from tests.inputs.split_examples import (
    SYMBOL,
    addressed,
    build,
    complete,
    lines_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

ONE = build("in_split")


def convert(folder: Path, binary: bytes, **options: object) -> gsym.ConversionReport:
    """Convert *binary* as `bin/app`; what was compiled in /src is in `build`."""
    path = place(folder / "bin/app", binary)
    path_map = (("/src", str(folder / "build")),)
    return gsym.convert(path, path_map=path_map, **options)  # type: ignore[arg-type]


def names_of(report: gsym.ConversionReport) -> list[str]:
    with gsym.open(report.outputs[0]) as reader:
        return [each.name for each in reader.functions() if each.name != SYMBOL.name]


# ---- where


@pytest.mark.parametrize("where", ["build/a.dwo", "bin/a.dwo"])
@pytest.mark.parametrize("version", [4, 5])
def test_a_split_file_is_found_in_both_folders(
    where: str, version: int, tmp_path: Path
) -> None:
    built = build("in_split", version=version)
    path = place(tmp_path / where, built.splits[0])
    report = convert(tmp_path, built.binary)
    assert names_of(report) == ["in_split"]
    assert report.companions == (path,)
    assert (report.notes, report.warnings) == ((), {})


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("version", [4, 5])
def test_a_package_is_found_beside_the_binary(
    version: int, byteorder: ByteOrder, tmp_path: Path
) -> None:
    built = build("f", "g", "h", version=version, byteorder=byteorder)
    path = place(tmp_path / "bin/app.dwp", built.package)
    report = convert(tmp_path, built.binary)
    assert names_of(report) == ["f", "g", "h"]
    assert report.companions == (path,)
    assert (report.notes, report.warnings) == ((), {})


def test_a_package_is_found_beside_the_debug_file(tmp_path: Path) -> None:
    debug = place(tmp_path / "bin/app.debug", ONE.binary)
    stripped = Elf([code_section(), debug_link("app.debug", ONE.binary)]).to_bytes()
    path = place(tmp_path / "bin/app.debug.dwp", ONE.package)
    report = convert(tmp_path, stripped)
    assert names_of(report) == ["in_split"]
    assert report.companions == (debug, path)


def test_a_package_may_be_named(tmp_path: Path) -> None:
    place(tmp_path / "bin/app.dwp", b"not looked at")
    path = place(tmp_path / "elsewhere", ONE.package)
    report = convert(tmp_path, ONE.binary, dwp=path)
    assert names_of(report) == ["in_split"]
    assert report.companions == (path,)


PACKAGE_ID = b"\x51\x62\x73"


def debug_dwp(
    name: str, number: bytes = PACKAGE_ID, *, is_package: bool = False, version: int = 6
) -> Section:
    head = struct.pack("<HB", version, is_package)
    data = head + os.fsencode(name) + b"\0" + bytes([len(number)]) + number
    return Section(".debug_dwp", data)


def with_section(elf: bytes, section: Section, folder: Path) -> bytes:
    """*elf* with one more section, by objcopy."""
    objcopy = find_peer("objcopy", "llvm-objcopy-22", "llvm-objcopy-19")
    path, contents = folder / "elf", folder / "section"
    path.write_bytes(elf)
    contents.write_bytes(section.data)
    added = f"--add-section={section.name}={contents}"
    subprocess.run([objcopy, added, path], check=True)
    return path.read_bytes()


@pytest.mark.parametrize("name", ["symbols.pkg", "../pkg/symbols", "/symbols.pkg"])
def test_the_package_that_the_binary_names_is_found(name: str, tmp_path: Path) -> None:
    name = f"{tmp_path}{name}" if name.startswith("/") else name
    own = debug_dwp("", is_package=True)
    place(tmp_path / "bin/app.dwp", b"not needed")
    (tmp_path / "pkg").mkdir()
    path = place(tmp_path / "bin" / name, with_section(ONE.package, own, tmp_path))
    report = convert(tmp_path, with_section(ONE.binary, debug_dwp(name), tmp_path))
    assert names_of(report) == ["in_split"]
    assert report.companions == (path,)


@pytest.mark.parametrize(
    ("link", "own", "reason"),
    [
        (debug_dwp("p"), debug_dwp("", b"\x51", is_package=True), "has another id"),
        (debug_dwp("p"), debug_dwp("p"), "has another id"),
        (debug_dwp("p"), None, "has another id"),
        (debug_dwp("p", version=5), None, "is damaged, or of an unknown version"),
        (debug_dwp("p", b""), None, "names no file"),
        (debug_dwp(""), None, "names no file"),
    ],
)
def test_a_package_of_another_id_is_not_used(
    link: Section, own: Section | None, reason: str, tmp_path: Path
) -> None:
    package = ONE.package if own is None else with_section(ONE.package, own, tmp_path)
    path = place(tmp_path / "bin/p", package)
    report = convert(tmp_path, with_section(ONE.binary, link, tmp_path))
    assert (names_of(report), report.companions) == ([], ())
    where = path if reason == "has another id" else ".debug_dwp"
    assert f"tried {where}: {reason}; " in report.notes[0]


def test_the_command_names_a_few_of_many_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built = build("f", "g", "h", "i", "j", separate=True)
    path = place(tmp_path / "app", built.binary)
    for number, data in enumerate(built.splits):
        place(tmp_path / f"{number}.dwo", data)
    assert main(["convert", path]) == 0
    shown = ", ".join(f"{tmp_path}/{number}.dwo" for number in range(3))
    assert capsys.readouterr().out.endswith(f"\n  with {shown} and 2 more\n")


# ---- which


def test_units_missing_from_a_package_are_searched_for_in_files(tmp_path: Path) -> None:
    built = build("f", "g")
    pack = place(tmp_path / "bin/app.dwp", build("f").package)
    path = place(tmp_path / "bin/a.dwo", built.splits[1])
    report = convert(tmp_path, built.binary)
    assert names_of(report) == ["f", "g"]
    assert report.companions == (pack, path)


def test_a_file_of_another_build_is_not_used(tmp_path: Path) -> None:
    other = build("in_split", first_id=99)
    first = place(tmp_path / "build/a.dwo", other.splits[0])
    pack = place(tmp_path / "bin/app.dwp", other.package)
    report = convert(tmp_path, ONE.binary)
    assert names_of(report) == []
    assert report.companions == ()
    third = tmp_path / "bin/a.dwo"
    tried = (
        f"{pack}: has other units; /src/a.dwo: not there; {first}: has other units; "
        f"{third}: not there"
    )
    assert report.notes == (f"1 split unit not found: tried {tried}",)
    second = place(tmp_path / "bin/a.dwo", ONE.splits[0])
    report = convert(tmp_path, ONE.binary)
    assert names_of(report) == ["in_split"]
    assert report.companions == (second,)
    assert report.notes == ()


FAULTS = {
    "the file is empty": b"",
    "not an ELF": b"text",
    "has no split units": Elf([code_section()]).to_bytes(),
    "is for powerpc64": build("in_split", byteorder="big").splits[0],
    "the ELF section table": ONE.splits[0][:-50],
    "a compressed section is damaged": build("in_split", compression="zlib")
    .splits[0]
    .replace(b"x\x9c", b"x\x9d"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", ["app.dwp", "a.dwo"])
def test_an_unusable_file_costs_its_units_only(
    fault: str, name: str, tmp_path: Path
) -> None:
    path = place(tmp_path / "bin" / name, FAULTS[fault])
    report = convert(tmp_path, ONE.binary)
    assert report.functions == 1
    assert report.companions == ()
    assert f"{path}: {fault}" in report.notes[0]
    assert report.warnings == {"Split unit (.dwo) not found": 1}


def test_a_named_package_has_to_match(tmp_path: Path) -> None:
    place(tmp_path / "bin/a.dwo", ONE.splits[0])
    for name, data in FAULTS.items():
        path = place(tmp_path / "package", data)
        with pytest.raises(gsym.FormatError) as caught:
            convert(tmp_path, ONE.binary, dwp=path)
        assert caught.value.path == path, name
    path = place(tmp_path / "package", build("in_split", first_id=99).package)
    with pytest.raises(gsym.FormatError, match=r"no split unit of .*/bin/app"):
        convert(tmp_path, ONE.binary, dwp=path)
    with pytest.raises(FileNotFoundError):
        convert(tmp_path, ONE.binary, dwp=tmp_path / "nowhere")
    assert not (tmp_path / "bin/app.gsym").exists()


def test_missing_files_are_counted_and_the_first_ones_named(tmp_path: Path) -> None:
    built = build(*(f"f{number}" for number in range(9)))
    report = convert(tmp_path, built.binary)
    (note,) = report.notes
    assert note.startswith(
        f"9 split units not found: tried {tmp_path}/bin/app.dwp: not there; /src/a.dwo"
    )
    assert report.warnings == {"Split unit (.dwo) not found": 9}
    assert report.functions == 1


@pytest.mark.parametrize("split", [ONE.splits[0], ONE.package], ids=["dwo", "dwp"])
def test_split_units_alone_are_refused(split: bytes, tmp_path: Path) -> None:
    with pytest.raises(gsym.UnsupportedError, match="convert the binary they are of"):
        convert(tmp_path, split)


@pytest.mark.parametrize("how", ["zlib", "zstd"])
def test_split_files_may_be_compressed(how: Compression, tmp_path: Path) -> None:
    built = build("f", "g", compression=how)
    place(tmp_path / "bin/app.dwp", built.package)
    assert names_of(convert(tmp_path, built.binary)) == ["f", "g"]


# ---- real tools

SOURCE = """
#include <stdlib.h>
static int twice(int n) { return 2 * atoi(n ? "1" : "2"); }
int FUNCTION(int n) { return twice(n) + 1; }
"""


def run(folder: Path, *arguments: str) -> None:
    subprocess.run(arguments, check=True, cwd=folder, timeout=60, capture_output=True)


def compile_units(compiler: str, folder: Path, *options: str, units: int = 3) -> Path:
    """A library of some units; their objects and .dwo files stay where they are."""
    folder.mkdir()
    (folder / "unit.c").write_text(SOURCE)
    objects = [f"unit{number}.o" for number in range(units)]
    for number, each in enumerate(objects):
        define = f"-DFUNCTION=function{number}"
        flags = ("-O1", "-g", "-fPIC", *options, define, "-c", "-o", each)
        run(folder, compiler, *flags, "unit.c")
    run(folder, compiler, "-shared", "-Wl,--build-id", "-o", "lib.so", *objects)
    return folder / "lib.so"


def whole(compiler: str, folder: Path, *options: str) -> str:
    """What the same program says that was not split."""
    output = gsym.convert(compile_units(compiler, folder, *options)).outputs[0]
    return describe(read_functions(output)).replace(str(folder), "FOLDER")


def said(report: gsym.ConversionReport, folder: Path) -> str:
    return describe(read_functions(report.outputs[0])).replace(str(folder), "FOLDER")


@pytest.mark.slow
@pytest.mark.parametrize("split", ["-gsplit-dwarf", "-gsplit-dwarf=single"])
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("name", ["gcc", "clang-19"])
def test_split_programs_give_the_functions_of_complete_ones(
    name: str, version: int, split: str, tmp_path: Path
) -> None:
    compiler = find_peer(name)
    if name == "gcc" and "=" in split:
        pytest.skip("GCC has no such option")
    folder = tmp_path / "split"
    dwarf = f"-gdwarf-{version}"
    library = compile_units(compiler, folder, dwarf, split)
    expected = whole(compiler, tmp_path / "whole", dwarf)
    report = gsym.convert(library)
    ending = ".o" if "=" in split else ".dwo"
    files = tuple(str(folder / f"unit{number}{ending}") for number in range(3))
    assert tuple(map(os.path.normpath, report.companions)) == files
    assert report.functions_with_lines == 3
    assert said(report, folder) == expected
    moved = tmp_path / "moved"
    folder.rename(moved)
    report = gsym.convert(moved / "lib.so")
    assert len(report.companions) == 3
    assert said(report, folder) == expected


@pytest.mark.slow
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("name", ["gcc", "clang-19"])
def test_real_packages_give_the_functions_of_complete_programs(
    name: str, version: int, tmp_path: Path
) -> None:
    compiler, packer = find_peer(name), find_peer("llvm-dwp-22", "llvm-dwp-19")
    folder = tmp_path / "split"
    library = compile_units(compiler, folder, f"-gdwarf-{version}", "-gsplit-dwarf")
    files = sorted(each.name for each in folder.glob("*.dwo"))
    run(folder, packer, *files, "-o", "lib.so.dwp")
    for each in files:
        (folder / each).unlink()
    report = gsym.convert(library)
    assert report.companions == (f"{library}.dwp",)
    expected = whole(compiler, tmp_path / "whole", f"-gdwarf-{version}")
    assert said(report, folder) == expected


def test_a_package_may_have_wider_offsets_of_strings(tmp_path: Path) -> None:
    """As llvm-dwp writes them where all strings take more than 4 GiB."""
    compiler, packer = find_peer("clang-19"), find_peer("llvm-dwp-22")
    folder = tmp_path / "split"
    library = compile_units(compiler, folder, "-gdwarf-5", "-gsplit-dwarf")
    expected = said(gsym.convert(library), folder)
    files = sorted(each.name for each in folder.glob("*.dwo"))
    wide = "-dwarf64-str-offsets-promotion=always"
    run(folder, packer, wide, *files, "-o", "lib.so.dwp")
    report = gsym.convert(library)
    assert report.companions == (f"{library}.dwp",)
    assert said(report, folder) == expected


@pytest.mark.parametrize("version", [4, 5])
def test_the_units_of_an_object_file_may_be_in_itself(
    version: int, clang: str, tmp_path: Path
) -> None:
    """As clang -gsplit-dwarf=single writes them, and none of a neighbour is wanted."""
    expected = []
    for name, split in (("single", ["-gsplit-dwarf=single"]), ("whole", [])):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.c").write_text(
            "static inline __attribute__((always_inline)) int in(int x) {\n"
            "return x / 3; }\nint out(int x) {\nreturn in(x) + 1; }\n"
        )
        flags = [f"-gdwarf-{version}", "-O1", f"-fdebug-prefix-map={folder}=/src"]
        run(folder, clang, *flags, *split, "-c", "a.c")
        report = gsym.convert(folder / "a.o")
        assert not report.warnings
        assert not report.notes
        assert report.companions == ()
        with gsym.open(folder / "a.o.gsym") as reader:
            expected.append(list(reader))
    assert expected[0] == expected[1]
    assert expected[0][0].inline is not None


@pytest.mark.parametrize("version", [4, 5])
def test_a_package_may_be_in_the_binary(version: int, tmp_path: Path) -> None:
    built = build("f", "g", "h", version=version)
    place(tmp_path / "package", built.package)
    place(tmp_path / "bare", built.binary)
    added = []
    with (tmp_path / "package").open("rb") as stream:
        for each in ELFFile(stream).iter_sections():
            if each.name.startswith(".debug"):
                content = place(tmp_path / each.name, each.data())
                added += ["--add-section", f"{each.name}={content}"]
    run(tmp_path, find_peer("objcopy"), *added, "bare", "app")
    report = convert(tmp_path, (tmp_path / "app").read_bytes())
    assert names_of(report) == ["f", "g", "h"]
    assert (report.companions, report.notes, report.warnings) == ((), (), {})


def test_there_may_be_more_files_than_descriptors(tmp_path: Path) -> None:
    built = build(*(f"f{number}" for number in range(100)), separate=True)
    path = place(tmp_path / "app", built.binary)
    for number, data in enumerate(built.splits):
        place(tmp_path / f"{number}.dwo", data)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    try:
        report = gsym.convert(path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert report.functions_debug_info == len(report.companions) == 100


# ---- files of another build

MARK = "Function of a split unit (.dwo) contradicts the binary"


def subprogram(name: str, start: int, size: int, *inner: Die) -> Die:
    return Die(Tag.subprogram, {At.name: name, **addressed(5, start, size)}, *inner)


F = subprogram("f", 0x1000, 0x10)
G = subprogram("g", 0x1010, 0x10)
H = subprogram("h", 0x1020, 0x10)
CALL = Die(
    Tag.inlined_subroutine,
    {At.abstract_origin: Ref("tiny"), **addressed(5, 0x1024, 4)},
)
F_IS, G_IS = Symbol("f", 0x1000, 0x10), Symbol("g", 0x1010, 0x10)
NOT_H = [Symbol("i", 0x1020, 8), Symbol("j", 0x1028, 8)]
AS_IT_IS = "1000-1010 f\n1010-1020 g\n1020-1030 h\n"


class Build(NamedTuple):
    """Functions and symbols, how many contradict each other, and what remains."""

    dies: Sequence[Die]
    symbols: Sequence[Symbol]
    contradict: int
    expected: str
    high_pc: int | None = None


BUILDS = {
    "the same": Build([F, G, H], [F_IS, G_IS, Symbol("h", 0x1020, 0x10)], 0, AS_IT_IS),
    "other names of the same size": Build(
        [F, G, H],
        [F_IS, Symbol("new_g", 0x1010, 0x10), Symbol("new_h", 0x1020, 0x10)],
        0,
        AS_IT_IS.replace("g", "new_g").replace("h", "new_h"),
    ),
    "symbols with padding": Build(
        [subprogram("f", 0x1000, 9)], [F_IS], 0, "1000-1009 f\n1000-1010 f\n"
    ),
    "symbols without a size": Build(
        [F, G], [Symbol("a", 0x1000, 0), Symbol("b", 0x1008, 0)], 0, AS_IT_IS[:24]
    ),
    "a part": Build(
        [F, G],
        [F_IS, Symbol("g.part.0", 0x1010, 0x10)],
        0,
        "1000-1010 f\n1010-1020 g.part.0\n",
    ),
    "code that the linker made shorter": Build(
        [F, G, subprogram("h", 0x101C, 4)],
        [F_IS, Symbol("g", 0x1010, 0xC), Symbol("h", 0x101C, 4)],
        1,
        "1000-1010 f\n1010-101c g\n101c-1020 h\n",
    ),
    "the last function, which the linker made shorter": Build(
        [
            Die(Tag.subprogram, {At.name: "tiny", At.inline: 1}, label="tiny"),
            subprogram("h", 0x1020, 0x10, CALL),
        ],
        [Symbol("h", 0x1020, 8)],
        1,
        "1020-1028 h\n  inlined tiny 1024-1028 from :0\n",
        high_pc=0x1028,
    ),
    "one function is another": Build(
        [F, G, H],
        [F_IS, G_IS, *NOT_H],
        1,
        "1000-1010 f\n1010-1020 g\n1020-1028 i\n1028-1030 j\n",
    ),
    "most functions are others": Build(
        [F, G, H],
        [F_IS, Symbol("k", 0x1010, 4), Symbol("g", 0x1014, 8), *NOT_H],
        3,
        "1000-1010 f\n1010-1014 k\n1014-101c g\n1020-1028 i\n1028-1030 j\n",
    ),
    "functions that start in others": Build(
        [subprogram("f", 0x1008, 8)],
        [F_IS, G_IS],
        1,
        "1000-1010 f\n1010-1020 g\n",
    ),
    "functions without a symbol around others": Build(
        [F],
        [Symbol("g", 0x1004, 4)],
        1,
        "1004-1008 g\n",
    ),
    "functions outside of the skeleton": Build(
        [F, G, H],
        [Symbol("k", 0x1040, 4)],
        3,
        "1040-1044 k\n",
        high_pc=0x1028,
    ),
    "one function outside of the skeleton, without symbols": Build(
        [F, G, H], [], 1, AS_IT_IS[:24], high_pc=0x1028
    ),
    "one function outside of the code, without symbols": Build(
        [F, G, subprogram("h", 0x8000, 4)], [], 0, AS_IT_IS[:24]
    ),
    "most functions outside of the skeleton, without symbols": Build(
        [F, G, H, subprogram("i", 0x1040, 4)],
        [Symbol("no_size", 0x1800, 0)],
        4,
        "1800-2000 no_size\n",
        high_pc=0x1010,
    ),
    "functions of the skeleton": Build(
        [F, G, H], [Symbol("k", 0x1040, 4)], 0, AS_IT_IS + "1040-1044 k\n", 0x1030
    ),
}


@pytest.mark.parametrize("name", BUILDS)
def test_functions_of_another_build_yield_to_symbols_and_skeletons(
    name: str, tmp_path: Path
) -> None:
    made = BUILDS[name]
    unit = split_unit(*made.dies, high_pc=made.high_pc, language=Lang.C99)
    binary, split = complete(unit, *made.symbols)
    place(tmp_path / "bin/a.dwo", split)
    report = convert(tmp_path, binary)
    assert describe(read_functions(report.outputs[0])) == made.expected
    assert report.warnings.get(MARK, 0) == made.contradict
    [*notes] = report.notes
    assert len(notes) == (1 if made.contradict else 0)
    reason = "a.dwo may be of another build"
    assert [note for note in notes if reason not in note] == []


def test_dropped_code_does_not_speak_against_a_split_unit(tmp_path: Path) -> None:
    """GNU ld moves it to address 0, where live code may be."""
    dead = [subprogram(f"dead{size}", 0, size) for size in (4, 8, 12)]
    unit = split_unit(*dead, subprogram("live", 0, 0x20), low_pc=0, language=Lang.C99)
    symbol = Symbol("live", 0, 0x20)
    binary, split = complete(unit, symbol, code=code_section(0, 0x40))
    place(tmp_path / "bin/a.dwo", split)
    report = convert(tmp_path, binary)
    assert describe(read_functions(report.outputs[0])) == "0-20 live\n"
    assert (report.notes, report.warnings.get(MARK)) == ((), None)


def test_a_skeleton_counts_in_place_of_a_unit_of_another_build(tmp_path: Path) -> None:
    """With its lines, and its own DIEs (clang -fsplit-dwarf-inlining)."""
    own = function("of_the_skeleton", 0x1000, 0x1010)
    lines = replace(lines_of(5), ops=sequence((0x1000, 5), (0x1010, 6), end=0x1020))
    unit = split_unit(H, high_pc=0x1020, children=[own], lines=lines)
    binary, split = complete(unit, Symbol("g", 0x1010, 0x10))
    place(tmp_path / "bin/a.dwo", split)
    found = describe(read_functions(convert(tmp_path, binary).outputs[0]))
    assert found.replace(str(tmp_path / "build"), "/src") == words("""
        1000-1010 of_the_skeleton
          1000 /src/b.h:5
        1010-1020 g
          1010 /src/b.h:6
    """)


@pytest.mark.parametrize("package", [True, False])
def test_a_program_that_bolt_rewrote_does_not_fit_the_files_of_before(
    package: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
) -> None:
    """BOLT keeps the ids of its units."""
    compiler, packer = find_peer("clang-19"), find_peer("llvm-dwp-19")
    bolt = find_peer("llvm-bolt-19")
    (tmp_path / "a.c").write_text(
        "int first(int x) {\nreturn x * 3; }\n"
        "int second(int x) {\nif (x > 3) {\nreturn first(x) / 5; }\nreturn 0; }\n"
        "int third(int x) {\nreturn second(x) ^ first(x); }\n"
        "void _start(void) {\nthird(0); }\n"
    )
    flags = ["-g", "-O1", "-gsplit-dwarf", "-fno-inline", "-nostdlib", "-Wl,-q"]
    run(tmp_path, compiler, *flags, "-fuse-ld=lld-19", "a.c", "-o", "app")
    [split] = tmp_path.glob("*.dwo")
    before = gsym.convert(tmp_path / "app", tmp_path / "before.gsym")
    assert before.functions_with_lines == 4
    how = ["-update-debug-sections", "-reorder-functions=random", "-split-functions"]
    content = split.read_bytes()
    run(tmp_path, bolt, "app", "-o", "new", *how, "-split-all-cold")
    names = [each.name for each in tmp_path.glob("*.dwo*")]
    for each in names:
        (tmp_path / each).unlink()
    expected = gsym.convert(tmp_path / "new", tmp_path / "expected.gsym")
    assert expected.notes
    for each in names:
        (tmp_path / each).write_bytes(content)
    if package:
        run(tmp_path, packer, split.name, "-o", "new.dwp")
        for each in names:
            (tmp_path / each).unlink()
    report = gsym.convert(tmp_path / "new", tmp_path / "new.gsym")
    assert MARK in report.warnings
    found, right = (
        describe(read_functions(str(tmp_path / name)))
        for name in ("new.gsym", "expected.gsym")
    )
    assert found == right
