"""What files beside a binary say against what llvm-gsymutil reads of the whole one."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.differential import peers
from tests.differential.compare import compare_files
from tests.differential.programs import Flavour, build

if TYPE_CHECKING:
    from pathlib import Path

ADDRESSES = 1_000


def whole(flavour: Flavour, folder: Path) -> Path:
    """The program with all its debug information in itself."""
    missing = peers.missing_tools(
        *(peers.LLVM_GSYMUTIL, peers.LLVM_SYMBOLIZER, "readelf", "objcopy", "dwz")
    )
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    output = folder / "whole"
    try:
        build(flavour, output)
    except FileNotFoundError as error:
        pytest.skip(f"not installed: {error.filename}")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"not built here: {error.stderr.strip()[:200]}")
    return output


def compare(binary: Path, part: Path, folder: Path, *companions: str) -> None:
    """Convert *part*, and compare with what LLVM makes of the whole *binary*."""
    theirs, ours = folder / "llvm.gsym", folder / f"{binary.name}.gsym"
    peers.llvm_convert(binary, theirs)
    report = gsym.convert(part, ours)
    assert report.notes == ()
    names = [path.rpartition("/")[2] for path in report.companions]
    assert names == list(companions)
    found = compare_files(binary, theirs, ours, ADDRESSES, seed=3)
    assert found.unexplained == []
    assert found.misread == {}


LANGUAGES = pytest.mark.parametrize(
    ("compiler", "source"), [("gcc", "shapes.c"), ("g++", "shapes.cc")]
)


@LANGUAGES
def test_a_debug_file(compiler: str, source: str, tmp_path: Path) -> None:
    binary = whole(Flavour(compiler, source, "-O2 -g"), tmp_path)
    debug, part = tmp_path / "part.debug", tmp_path / "part"
    peers.run("objcopy", "--only-keep-debug", str(binary), str(debug))
    link = f"--add-gnu-debuglink={debug}"
    peers.run("objcopy", "--strip-debug", link, str(binary), str(part))
    compare(binary, part, tmp_path, "part.debug")


@pytest.mark.parametrize("option", [(), ("-5",)], ids=["altlink", "debug_sup"])
@LANGUAGES
def test_a_supplementary_file(
    option: tuple[str, ...], compiler: str, source: str, tmp_path: Path
) -> None:
    binary = whole(Flavour(compiler, source, "-O2 -gdwarf-5"), tmp_path)
    part, other = tmp_path / "part", tmp_path / "other"
    shutil.copy(binary, part)
    shutil.copy(binary, other)
    shared = tmp_path / "shared.debug"
    peers.run(
        "dwz", *option, "-m", str(shared), "-M", "shared.debug", str(part), str(other)
    )
    compare(binary, part, tmp_path, "shared.debug")


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize(
    ("compiler", "source"),
    [
        ("gcc", "shapes.c"),
        ("g++", "shapes.cc"),
        ("clang-19", "shapes.c"),
        ("clang++-19", "shapes.cc"),
    ],
)
def test_split_units(compiler: str, source: str, version: int, tmp_path: Path) -> None:
    options = f"-O2 -gdwarf-{version}"
    binary = whole(Flavour(compiler, source, options), tmp_path)
    part = tmp_path / "part"
    build(Flavour(compiler, source, f"{options} -gsplit-dwarf"), part)
    (split,) = tmp_path.glob("*.dwo")
    compare(binary, part, tmp_path, split.name)
    packer = shutil.which("llvm-dwp-22") or shutil.which("llvm-dwp-19")
    if packer is None:
        pytest.skip("not installed: llvm-dwp")
    peers.run(packer, str(split), "-o", f"{part}.dwp")
    split.unlink()
    compare(binary, part, tmp_path, "part.dwp")


@LANGUAGES
def test_the_split_units_of_a_debug_file(
    compiler: str, source: str, tmp_path: Path
) -> None:
    binary = whole(Flavour(compiler, source, "-O2 -gdwarf-5"), tmp_path)
    split, debug, part = (tmp_path / name for name in ("split", "part.debug", "part"))
    build(Flavour(compiler, source, "-O2 -gdwarf-5 -gsplit-dwarf"), split)
    (dwo,) = tmp_path.glob("*.dwo")
    peers.run("objcopy", "--only-keep-debug", str(split), str(debug))
    link = f"--add-gnu-debuglink={debug}"
    peers.run("objcopy", "--strip-all", link, str(split), str(part))
    compare(binary, part, tmp_path, "part.debug", dwo.name)
