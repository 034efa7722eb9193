"""Real Breakpad symbol files: what becomes of each, beside its twins and symbolic."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conversion.breakpad_meaning import frames_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


READABLE = [
    "linux/crash.sym",
    "macos/crash.sym",
    "macos/crash.inlines.sym",
    "windows/crash.sym",
    "windows/CrashWithException.pdb.sym",
    "regression/large_symbol.sym",
    "libgallium_dri.sym",
    "xul.sym",
    "xul2.sym",
]
# Symbol files and the binaries that they were made from.
TWINS = [
    ("macos/crash.sym", "macos/crash.dSYM"),
    ("macos/crash.inlines.sym", "macos/crash.dSYM"),
    ("linux/crash.sym", "linux/crash.debug"),
]


def convert(source: Path, folder: Path) -> gsym.Reader:
    return gsym.open(gsym.convert(source, folder / f"{source.name}.gsym").outputs[0])


@pytest.mark.parametrize(("symbols", "binary"), TWINS)
def test_it_has_the_build_id_and_the_lines_of_its_binary(
    symbols: str, binary: str, fixtures: Path, tmp_path: Path
) -> None:
    folder = fixtures / "symbolic"
    with (
        convert(folder / symbols, tmp_path) as one,
        convert(folder / binary, tmp_path) as other,
    ):
        assert one.uuid == other.uuid
        base = other.header.base_address
        compared = 0
        for function in one.functions():
            if function.line_table is None:
                continue
            lookup = other.lookup(function.start + base)
            assert lookup is not None
            own = one.lookup(function.start)
            assert own is not None
            # Names are demangled in one of them, or cut; and crash.sym has no calls.
            places, count = places_of(lookup), len(own.frames)
            assert places_of(own) == places[:count]
            assert function.inline is None or count == len(places)
            compared += 1
        assert compared == (0 if "linux" in symbols else 193)


def places_of(lookup: gsym.Lookup) -> list[tuple[str, int]]:
    return [(folded(frame.path), frame.line) for frame in lookup.frames]


def places_in(reader: gsym.Reader) -> Iterable[int]:
    """Where an answer may change, and beside."""
    found = set()
    for function in reader.functions():
        edges = {function.start, function.start + function.size}
        edges |= {row.address for row in function.line_table or ()}
        found |= {edge + step for edge in edges for step in (-1, 0, 1)}
    return sorted(address for address in found if address >= 0)


@pytest.mark.parametrize("name", READABLE)
def test_symbolic_says_the_same(name: str, fixtures: Path, tmp_path: Path) -> None:
    symbolic = pytest.importorskip("symbolic")
    source = fixtures / "symbolic" / name
    archive = symbolic.Archive.open(str(source))
    (binary,) = archive.iter_objects()
    cache = binary.make_symcache()
    with convert(source, tmp_path) as reader:
        for address in places_in(reader):
            ours = frames_of(reader.lookup(address)) or ()
            if ours and ours[0][2] == 0 and ours[0][1]:
                continue  # no line: there symbolic goes on with the one before
            assert [(name, folded(path), line) for name, path, line in ours] == [
                (found.symbol, found.full_path or "", found.line)
                for found in cache.lookup(address)
            ], hex(address)


def folded(path: str) -> str:
    """*path* without `.` and `..`, as some tools write and show it."""
    return posixpath.normpath(path) if path else ""
