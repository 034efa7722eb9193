"""Readers of Breakpad symbol files answer as the GSYM file that one was made of."""

from __future__ import annotations

import posixpath
import re
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
    report = gsym.export_breakpad(
        file, target, identity=gsym.identify(binary), binary=binary
    )
    with gsym.open(file) as reader:
        base = reader.header.base_address
        places = sorted(a for a in boundaries(reader.functions()) if a >= base)
        addresses = places[:: max(1, len(places) // ADDRESSES)]
        expected = list(answers(reader, addresses))
    return Exported(
        target.read_bytes(), report, [a - base for a in addresses], expected
    )


def assert_equal(exported: Exported) -> None:
    left_out = "Unwind rule left out: it is an expression of DWARF"
    assert exported.report.losses.keys() <= {left_out}
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


def rules(text: str) -> dict[int, list[tuple[str, dict[str, str]]]]:
    """By place: extents, and rules by register."""
    found: dict[int, list[tuple[str, dict[str, str]]]] = {}
    for line in text.splitlines():
        if line.startswith("STACK CFI "):
            head, *parts = re.split(r" (?=\S+: )", line.removeprefix("STACK CFI "))
            *_, place, size = head.split() if "INIT" in head else (head, "")
            by_register = dict(part.split(": ") for part in parts)
            found.setdefault(int(place, 16), []).append((size, by_register))
    return found


def is_in_code(wanted: dict[str, str], given: dict[str, str]) -> bool:
    """Whether the size of the stack is an operand of the function's code."""
    size = int(given[".cfa"].removeprefix("$rsp ").removesuffix(" +"))
    return wanted[".cfa"] == "$rsp 8 +" and size > 2000


def is_documented(
    expected: list[tuple[str, dict[str, str]]], found: list[tuple[str, dict[str, str]]]
) -> bool:
    """Whether docs/differences.md has the difference."""
    if not expected:  # `__eh_frame` of a function that `__unwind_info` has not
        return True
    if [size for size, _ in expected] != [size for size, _ in found]:
        # Rules that cannot be said end the record.
        return len(found) == 1 and int(found[0][0], 16) < int(expected[0][0], 16)
    return all(
        wanted.items() <= given.items() or is_in_code(wanted, given)
        for (_, wanted), (_, given) in zip(expected, found, strict=True)
    )


@pytest.mark.parametrize(
    "name",
    [
        *("linux/crash", "linux/arm64/cfi_test", "py/minidump/crash_linux"),
        *("windows/CrashWithException.exe", "macos/crash", "py/minidump/crash_macos"),
    ],
)
def test_unwind_information_is_that_of_the_rust_dump_syms(
    name: str, fixtures: Path, tmp_path: Path
) -> None:
    symbolic = pytest.importorskip("symbolic")
    path = fixtures / "symbolic" / name
    (binary,) = symbolic.Archive.open(str(path)).iter_objects()
    text = symbolic.CfiCache.from_object(binary).open_stream().read()
    expected = rules(text.decode("utf-8", "replace"))
    gsym.convert(path, tmp_path / "m.gsym")
    gsym.export_breakpad(
        *(tmp_path / "m.gsym", tmp_path / "m.sym"),
        identity=gsym.identify(path),
        binary=path,
    )
    found = rules((tmp_path / "m.sym").read_text())
    assert len(expected) > 10
    assert expected.keys() - found.keys() == set()
    different = [
        place for place, records in found.items() if records != expected.get(place, [])
    ]
    assert [
        place
        for place in different
        if not is_documented(expected.get(place, []), found[place])
    ] == []
    assert len(different) < len(found) / 5
