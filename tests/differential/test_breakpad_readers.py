"""Readers of Breakpad symbol files answer as the GSYM file that one was made of."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from tests.breakpad_answers import answers, boundaries
from tests.breakpad_file import Frame, SymbolFile
from tests.differential.building import program
from tests.differential.programs import FLAVOURS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.differential.programs import Flavour

ADDRESSES = 5_000  # of one file, at most twice as many
REAL_FILES = (
    "linux/crash.debug",
    "linux/cross_language_lto.debug",
    "linux/libjemalloc.so.debug",
    "py/minidump/crash_linux",
)
SMALL = [
    flavour
    for flavour in FLAVOURS
    if flavour.options in {"-O2 -gdwarf-5", "-O0 -g", "-O2 -g -flto"}
]


class Exported(NamedTuple):
    text: bytes
    report: gsym.ExportReport
    addresses: list[int]  # from the load address of the module
    expected: list[list[Frame]]


def export(binary: Path, folder: Path) -> Exported:
    """A binary through a GSYM file, with answers at places where they change."""
    file, target = folder / "m.gsym", folder / "m.sym"
    gsym.convert(binary, file)
    report = gsym.export_breakpad(file, target, identity=gsym.identify(binary))
    with gsym.open(file) as reader:
        base = reader.header.base_address
        places = sorted(a for a in boundaries(reader.functions()) if a >= base)
        addresses = places[:: max(1, len(places) // ADDRESSES)]
        expected = list(answers(reader, addresses))
    return Exported(
        target.read_bytes(), report, [a - base for a in addresses], expected
    )


def assert_equal(exported: Exported) -> None:
    assert exported.report.losses == {}
    parsed = SymbolFile(exported.text)
    assert list(map(parsed.lookup, exported.addresses)) == exported.expected


def assert_symbolic_agrees(exported: Exported) -> None:
    symbolic = pytest.importorskip("symbolic")
    archive = symbolic.Archive.from_bytes(exported.text)
    (binary,) = archive.iter_objects()
    assert binary.file_format == "breakpad"
    cache = binary.make_symcache()
    for address, frames in zip(exported.addresses, exported.expected, strict=True):
        assert [
            Frame(found.symbol, found.full_path or "", found.line)
            for found in cache.lookup(address)
        ] == [frame._replace(path=folded(frame.path)) for frame in frames]


def folded(path: str) -> str:
    """*path* without `.` and `..`, as symbolic shows it."""
    return posixpath.normpath(path) if path else ""


@pytest.mark.parametrize("name", REAL_FILES)
def test_real_files_answer_the_same(name: str, fixtures: Path, tmp_path: Path) -> None:
    exported = export(fixtures / "symbolic" / name, tmp_path)
    assert_equal(exported)
    assert_symbolic_agrees(exported)


@pytest.mark.parametrize("flavour", SMALL, ids=[flavour.title for flavour in SMALL])
def test_small_programs_answer_the_same(flavour: Flavour, tmp_path: Path) -> None:
    exported = export(program(flavour, tmp_path), tmp_path)
    assert exported.report.inlined_calls > 0 or "-O0" in flavour.options
    assert_equal(exported)
    assert_symbolic_agrees(exported)
