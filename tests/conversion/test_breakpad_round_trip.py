"""Breakpad text to a GSYM file and back answers the same."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given

import gsym
from gsym import ModuleKey
from tests.breakpad_file import Frame, SymbolFile
from tests.creations import create
from tests.strategies import function_lists

pytestmark = pytest.mark.long

REAL_FILES = {
    "linux/crash.sym": "Linux",
    "macos/crash.sym": "mac",
    "macos/crash.inlines.sym": "mac",
    "regression/large_symbol.sym": "Linux",
    "windows/CrashWithException.pdb.sym": "windows",
    "windows/crash.sym": "windows",
    "libgallium_dri.sym": "Linux",
    "xul.sym": "windows",
    "xul2.sym": "windows",
}
IDENTITY = ModuleKey(
    os="Linux", architecture="x86_64", debug_id="1" * 33, debug_file="m"
)


def there_and_back(
    text: Path, folder: Path, identity: ModuleKey
) -> tuple[bytes, gsym.ExportReport]:
    file, target = folder / "m.gsym", folder / "m.sym"
    gsym.convert(text, file)
    report = gsym.export_breakpad(file, target, identity=identity)
    return target.read_bytes(), report


def places(text: SymbolFile) -> list[int]:
    """Where functions, lines and inlined calls start and end."""
    found = set()
    for function in text.functions:
        found |= {function.start, function.end or function.start}
        found |= {edge for line in function.lines for edge in line.extent}
        found |= {
            e for call in function.calls for extent in call.extents for e in extent
        }
    return sorted(found | {place - 1 for place in found if place})


def answers(text: SymbolFile, addresses: list[int]) -> list[list[Frame]]:
    """Readers drop blanks round a name, and a file without a line says nothing."""
    return [
        [
            Frame(
                frame.name.strip(" \t"),
                frame.path.strip(" \t") if frame.line else "",
                frame.line,
            )
            for frame in text.lookup(address)
        ]
        for address in addresses
    ]


@given(function_lists())
def test_any_text_of_ours_answers_the_same(functions: list[gsym.FunctionInfo]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = folder / "before.sym"
        with gsym.Reader(create(functions)) as reader:
            gsym.export_breakpad(reader, before, identity=IDENTITY)
        after, report = there_and_back(before, folder, IDENTITY)
        assert report.losses == {}
        first = SymbolFile(before.read_bytes())
        second = SymbolFile(after)
        addresses = places(first)
        assert answers(second, addresses) == answers(first, addresses)


@pytest.mark.parametrize("name", REAL_FILES)
def test_a_real_file_comes_back(name: str, fixtures: Path, tmp_path: Path) -> None:
    source = fixtures / "symbolic" / name
    head = source.read_text().splitlines()[0].split(maxsplit=4)
    identity = ModuleKey(os=head[1], architecture=head[2], debug_file=head[4])
    if identity.os == "windows":  # a GSYM file has no age
        identity = identity._replace(debug_id=head[3])
    text, report = there_and_back(source, tmp_path, identity)
    assert report.losses == {}
    assert text.splitlines()[0].decode().split(maxsplit=4) == head
    assert_same_functions(source, tmp_path / "m.gsym", SymbolFile(text))


def assert_same_functions(source: Path, file: Path, text: SymbolFile) -> None:
    """A second conversion gives the same file."""
    again = file.with_name("again.gsym")
    gsym.convert(file.with_name("m.sym"), again)
    with gsym.open(file) as reader, gsym.open(again) as second:
        assert list(reader.functions()) == list(second.functions()), source
        assert len(text.functions) == len(reader)
