"""Programs for macOS: the same answers from bundles, object files and LLVM's tools."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from tests.conversions import describe, read_functions
from tests.differential import macho, peers, sampling
from tests.differential.programs import SOURCES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ADDRESSES = 2_000
OWN = str(SOURCES)
PROGRAMS = [
    ("arm64", "bare.c", "-O2 -g"),
    ("arm64", "shapes.cc", "-O2 -g"),
    ("arm64", "twins.cc", "-O2 -gdwarf-5"),
    ("x86_64", "bare.c", "-O0 -g"),
    ("x86_64", "twins.cc", "-O1 -gdwarf-4"),
    ("x86_64", "twins.cc", "-O2 -gdwarf-5"),
]
CPUS = {
    "arm64": "arm64-apple-macos11",
    "arm64e": "arm64e-apple-ios14",
    "arm64_32": "arm64_32-apple-watchos5",
    "armv7": "armv7-apple-ios9",
    "armv7k": "armv7k-apple-watchos3",
    "armv6": "armv6-apple-ios3",
    "x86_64": "x86_64-apple-macos10.12",
    "x86_64h": "x86_64h-apple-macos10.12",
    "i386": "i386-apple-macos10.12",
}


class Built(NamedTuple):
    binary: Path
    bundled: Path  # the file inside of the bundle, which is not beside the binary
    objects: list[Path]


@pytest.fixture(
    scope="module", params=PROGRAMS, ids=["-".join(each) for each in PROGRAMS]
)
def built(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Built:
    missing = peers.missing_tools(
        *(peers.LLVM_GSYMUTIL, peers.LLVM_SYMBOLIZER, macho.DSYMUTIL)
    )
    if missing or not peers.zig():
        pytest.skip(f"not installed: {', '.join(missing or ['zig'])}")
    architecture, source, options = request.param
    folder = tmp_path_factory.mktemp("macos")
    binary = folder / "program"
    objects = macho.build(architecture, source, options.split(), binary)
    bundled = macho.make_bundle(binary, folder / "collected.dSYM")
    return Built(binary, bundled, objects)


def described(path: Path) -> dict[int, str]:
    """Functions of our sources, in words, by address.

    To some of those in the libraries of zig dsymutil adds a row, and llvm-symbolizer
    takes their names from the symbol table.
    """
    return {
        function.start: describe([function])
        for function in read_functions(str(path))
        if function.line_table and function.line_table[0].path.startswith(OWN)
    }


def assert_symbolizer_agrees(binary: Path, file: Path) -> None:
    """*file* answers what llvm-symbolizer reads in the DWARF of *binary*."""
    own_starts = described(file)
    functions = [each for each in sampling.functions(file) if each.start in own_starts]
    addresses = sampling.random_addresses(functions, ADDRESSES, 1)
    theirs = peers.symbolizer_answers(binary, addresses)
    with gsym.open(str(file)) as reader:
        for address, answer in zip(addresses, theirs, strict=True):
            found = reader.lookup(address)
            assert found is not None
            own = [(frame.name, frame.path, frame.line) for frame in found.frames]
            expected = [(frame.name, frame.path, frame.line) for frame in answer]
            assert own == expected, hex(address)


def test_object_files_give_what_a_bundle_gives(built: Built, tmp_path: Path) -> None:
    report = gsym.convert(built.binary, tmp_path / "map.gsym")
    assert set(map(str, built.objects)) <= set(report.companions)
    assert report.warnings == {}
    gsym.convert(built.bundled, tmp_path / "bundle.gsym")
    collected = described(tmp_path / "bundle.gsym")
    assert len(collected) > 2
    assert described(tmp_path / "map.gsym") == collected


def test_llvm_gsymutil_makes_the_same_of_a_bundle(built: Built, tmp_path: Path) -> None:
    gsym.convert(built.bundled, tmp_path / "own.gsym")
    files = (f"--convert={built.bundled}", f"--out-file={tmp_path}/llvm.gsym")
    peers.run(peers.LLVM_GSYMUTIL, "--num-threads=2", *files)
    assert described(tmp_path / "own.gsym") == described(tmp_path / "llvm.gsym")


def test_llvm_symbolizer_answers_the_same_at_random_addresses(
    built: Built, tmp_path: Path
) -> None:
    file = tmp_path / "own.gsym"
    for source in (built.binary, built.bundled):
        gsym.convert(source, file)
        assert_symbolizer_agrees(built.bundled, file)


def test_slices_of_a_fat_file_give_what_thin_files_give(tmp_path: Path) -> None:
    if peers.missing_tools(macho.LIPO, macho.DSYMUTIL) or not peers.zig():
        pytest.skip(f"not installed: {macho.LIPO} or zig")
    thin: dict[str, Path] = {}
    for architecture in macho.TARGETS:
        binary = tmp_path / architecture / "program"
        binary.parent.mkdir()
        macho.build(architecture, "twins.cc", ["-O2", "-g"], binary)
        thin[architecture] = binary
    fat = tmp_path / "fat"
    peers.run(macho.LIPO, "-create", *map(str, thin.values()), "-output", str(fat))
    reports = gsym.convert_slices(fat)
    assert {report.architecture for report in reports} == set(thin)
    for report in reports:
        gsym.convert(thin[report.architecture], tmp_path / "thin.gsym")
        (output,) = report.outputs
        assert report.functions_with_lines > 2
        assert read_functions(output) == read_functions(f"{tmp_path}/thin.gsym")
    # A fat bundle beside it has the DWARF of every slice.
    bundled = [
        str(macho.make_bundle(binary, binary.with_name("collected.dSYM")))
        for binary in thin.values()
    ]
    folder = tmp_path / "fat.dSYM/Contents/Resources/DWARF"
    folder.mkdir(parents=True)
    peers.run(macho.LIPO, "-create", *bundled, "-output", str(folder / "fat"))
    for report in gsym.convert_slices(fat, tmp_path / "bundled"):
        assert report.functions_with_lines > 2
        assert [path.endswith("DWARF/fat") for path in report.companions] == [True]


@pytest.mark.parametrize(
    ("name", "triple", "options"),
    [
        (*cpu, ("-O2 -gdwarf-5", "-O1 -gdwarf-2")[number % 2])
        for number, cpu in enumerate(CPUS.items())
    ],
)
def test_object_files_of_all_cpus(
    name: str, triple: str, options: str, tmp_path: Path
) -> None:
    missing = peers.missing_tools(macho.CLANG, peers.LLVM_SYMBOLIZER)
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    path = tmp_path / "bare.o"
    try:
        macho.compile_object(triple, options.split(), path)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"not built here: {error.stderr.strip()[:200]}")
    report = gsym.convert(path)
    assert report.architecture == name
    assert names_of(f"{path}.gsym") == ["hidden", "last", "main", "shown"]
    assert report.functions_with_lines == 4
    assert report.warnings == {}
    assert_symbolizer_agrees(path, tmp_path / "bare.o.gsym")


def names_of(path: str) -> Sequence[str]:
    return sorted(function.name for function in read_functions(path))
