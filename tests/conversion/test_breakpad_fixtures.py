"""Real Breakpad symbol files: what becomes of each, beside its twins and symbolic."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from tests.breakpad_meaning import frames_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Outcome(NamedTuple):
    """FUNC and PUBLIC records; functions in the output, with lines, with calls."""

    functions: int
    publics: int
    written: int
    with_lines: int = 0
    with_calls: int = 0
    build_id: str = ""


OUTCOMES = {
    "linux/crash.sym": Outcome(
        *(0, 167, 167), build_id="f1c3bcc0279865fe3058404b2831d9e64135386c"
    ),
    "macos/crash.sym": Outcome(
        *(193, 61, 254, 193), build_id="67e9247c814e392ba027dbde6748fcbf"
    ),
    "macos/crash.inlines.sym": Outcome(
        *(193, 2, 195, 193, 113), build_id="67e9247c814e392ba027dbde6748fcbf"
    ),
    "windows/crash.sym": Outcome(
        *(92, 35, 127, 79), build_id="9dd94932400c31498610f4e4fb0b6936"
    ),
    "windows/CrashWithException.pdb.sym": Outcome(
        *(66, 33, 99, 54), build_id="fbc535f5e82ab84baa206c30be566c5a"
    ),
    "regression/large_symbol.sym": Outcome(
        *(1, 0, 1, 1), build_id="23902a9b66509dcd316ed02a49952fa0d693af15"
    ),
    "libgallium_dri.sym": Outcome(
        *(0, 1, 1), build_id="91325f5a9542faa422b591670a49fbef719a143e"
    ),
    "xul.sym": Outcome(*(1, 0, 1), build_id="ecd7f9091ff3e3604c4c44205044422e"),
    "xul2.sym": Outcome(*(1, 0, 1, 1), build_id="1249fd88b257f5e04c4c44205044422e"),
    # Unwind rules, cut out of whole files.
    "py/minidump/crash_linux.sym": None,
    "py/minidump/crash_macos.sym": None,
}
READABLE = [name for name, outcome in OUTCOMES.items() if outcome]
# Symbol files and the binaries that they were made from.
TWINS = [
    ("macos/crash.sym", "macos/crash.dSYM"),
    ("macos/crash.inlines.sym", "macos/crash.dSYM"),
    ("linux/crash.sym", "linux/crash.debug"),
]


def convert(source: Path, folder: Path) -> gsym.Reader:
    return gsym.open(gsym.convert(source, folder / f"{source.name}.gsym").outputs[0])


@pytest.mark.parametrize("name", OUTCOMES)
def test_each_file_has_its_outcome(name: str, fixtures: Path, tmp_path: Path) -> None:
    outcome = OUTCOMES[name]
    source = fixtures / "symbolic" / name
    if outcome is None:
        with pytest.raises(gsym.EmptyError, match="no FUNC or PUBLIC record; "):
            gsym.convert(source, tmp_path / "output")
        return
    report = gsym.convert(source, tmp_path / "output")
    assert report.warnings == {}
    assert outcome == (
        *(report.functions_debug_info, report.functions_symbol_table),
        *(report.functions, report.functions_with_lines),
        *(report.functions_with_inlines, report.uuid.hex()),
    )


def test_no_file_is_left_out(fixtures: Path) -> None:
    folder = fixtures / "symbolic"
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*.sym")}
    assert found == set(OUTCOMES)


@pytest.mark.parametrize(("symbols", "binary"), TWINS)
def test_it_tells_the_build_id_and_the_lines_of_its_binary(
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
            lookup = other.lookup(function.address + base)
            assert lookup is not None
            own = one.lookup(function.address)
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
        edges = {function.address, function.address + function.size}
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
