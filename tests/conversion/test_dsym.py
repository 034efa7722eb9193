"""dSYM bundles: the file inside, and real ones beside what LLVM makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import gsym
from tests.conversions import convert_with_llvm, describe, read_functions
from tests.inputs.dwarf import Dwarf
from tests.inputs.macho import DSYM, Macho, code, debug_sections
from tests.inputs.program import function, unit

pytestmark = pytest.mark.long

F = Dwarf([unit(function("f", 0x1000, 0x1010))]).sections()
IMAGE = Macho([code(), *debug_sections(F)], type=DSYM).to_bytes()


def bundle(path: Path, files: dict[str, bytes]) -> str:
    folder = path / "Contents/Resources/DWARF"
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return str(path)


@pytest.mark.parametrize("name", ["a.dSYM", "a"])
def test_the_file_inside_is_converted(name: str, tmp_path: Path) -> None:
    path = bundle(tmp_path / name, {"app": IMAGE, "note": b"text", "empty": b""})
    report = gsym.convert(path)
    assert report.input == f"{path}/Contents/Resources/DWARF/app"
    assert report.outputs == (f"{path}.gsym",)
    assert describe(read_functions(f"{path}.gsym")) == "1000-1010 f\n"


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "without a Mach-O file$"),
        ({"empty": b"", "note": b"text"}, "without a Mach-O file .*empty, note"),
        ({"a": IMAGE, "b": IMAGE}, "several files.*: a, b$"),
    ],
    ids=["empty", "no Mach-O file", "two"],
)
def test_a_bundle_without_one_file_is_refused(
    files: dict[str, bytes], reason: str, tmp_path: Path
) -> None:
    path = bundle(tmp_path / "a.dSYM", files)
    with pytest.raises(gsym.FormatError, match=reason):
        gsym.convert(path)
    assert not Path(f"{path}.gsym").exists()


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(gsym.FormatError, match="no dSYM bundle"):
        gsym.convert(str(tmp_path))


REAL = (
    "py/dSYMs/arm64-CrashProbeiOS.app.dSYM",
    "py/dSYMs/armv7-CrashLibiOS.framework.dSYM",
    "py/minidump/crash_macos.dSYM",
    "macos/crash.dSYM",
)


@pytest.mark.parametrize("name", REAL)
def test_real_files_give_what_llvm_gsymutil_gives(
    name: str, fixtures: Path, llvm_gsymutil: str, tmp_path: Path
) -> None:
    path = fixtures / "symbolic" / name
    report = gsym.convert(str(path), str(tmp_path / "own.gsym"))

    own = read_functions(str(tmp_path / "own.gsym"))
    # It crashes on some of them where it has one thread only.
    theirs = convert_with_llvm(
        llvm_gsymutil, tmp_path, Path(report.input).read_bytes(), "--num-threads=2"
    )
    for mine, other in zip(own, theirs, strict=True):
        # LLVM gives symbols of Mach-O files no size.
        expected = other if other.size else other._replace(size=mine.size)
        assert describe([mine]) == describe([expected])
        assert mine.size > 0


@pytest.mark.parametrize("name", ["py/minidump/crash_macos", "macos/crash"])
def test_a_binary_is_described_by_the_bundle_beside_it(
    name: str, fixtures: Path, tmp_path: Path
) -> None:
    path = fixtures / "symbolic" / name
    found = {}
    for each in (path, path.with_suffix(".dSYM")):
        report = gsym.convert(str(each), str(tmp_path / "out"))
        found[each] = {
            function.start: describe([function])
            for function in read_functions(str(tmp_path / "out"))
        }
        assert report.functions_with_lines > 100
    binary, bundle = found.values()
    assert bundle.items() <= binary.items()
    added = {words for start, words in binary.items() if start not in bundle}
    assert [words for words in added if "symbol stub for: " not in words] == []
    # Alone it says where its debug information was.
    alone = tmp_path / path.name
    alone.write_bytes(path.read_bytes())
    report = gsym.convert(alone)
    assert report.functions_symbol_table
    assert "dsymutil" in report.notes[0]
