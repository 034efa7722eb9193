"""A folder means the same wherever it may be named."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.api.extensions import open_binaries
from gsym.arrow.modules import Modules
from gsym.confined.symbolizer import open_symbolizer
from gsym.conversion.identity import identify
from gsym.memory.report_modules import ReportModules
from gsym.memory.stack_parts import StackModule
from gsym.modules.finder import find_in
from gsym.modules.places import Folder
from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.profiles.binaries import Binaries
from gsym.profiles.model import Mapping
from gsym.store.adding import add_file
from gsym.store.directory import Store
from tests.companions import ID, debug_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gsym.modules.key import ModuleKey

DIGITS = ID.hex()
NAME = "app.debug"

# The path of a file in the folder, and whether it is found.
LAYOUTS = {
    "any name": ("build/out/deep/er/any thing", True),
    "name of the module": (NAME, True),
    ".build-id tree": (f".build-id/{DIGITS[:2]}/{DIGITS[2:]}.debug", True),
    "tree without .build-id": (f"{DIGITS[:2]}/{DIGITS[2:]}", True),
    "build id and .gsym": (f"{DIGITS}.gsym", True),
    "symstore": (f"_.debug/elf-buildid-sym-{DIGITS}/_.debug", True),
    "two-tier symstore": (f"_./_.debug/elf-buildid-sym-{DIGITS}/_.debug", True),
    "debuginfod cache": (f"{DIGITS}/debuginfo", True),
    "unified layout": (f"{DIGITS[:2]}/{DIGITS[2:]}/debuginfo", True),
    "Breakpad tree": ("app.debug/{debug_id}/app.debug.sym", True),
    "store": ("", True),
    "hidden folder": (".git/app.debug", False),
}
_BINARIES = frozenset({"build id and .gsym", "Breakpad tree", "store"})


def by_open_source(folder: str, key: ModuleKey, place: Path) -> bool:
    """`gsym.open_source(DIR)`, `--source DIR` of `gsym filter` and `store prefetch`."""
    resolver = Resolver(Store(place), [gsym.open_source(folder)])
    return resolver.resolve(key).entry is not None


def by_server(folder: str, key: ModuleKey, place: Path) -> bool:
    """`gsym serve --source DIR`."""
    symbolizer = open_symbolizer(str(place), [folder], add=add_file)
    with_reader = symbolizer.open(key).reader is not None
    symbolizer.close()
    return with_reader


def by_report(folder: str, key: ModuleKey, place: Path) -> bool:
    """`gsym.symbolicate(..., source=DIR)`, `gsym symbolicate --source DIR`."""
    with ReportModules(folder, store=str(place)) as modules:
        return modules.open(StackModule(NAME, key)).reader is not None


def by_arrow(folder: str, key: ModuleKey, place: Path) -> bool:
    """`gsym.arrow.Modules(DIR)`, `gsym batch`."""
    del place
    return Modules(folder).find(bytes.fromhex(key.code_id)).reader is not None


def by_gsym_dir(folder: str, key: ModuleKey, place: Path) -> bool:
    """`--gsym-dir DIR` of `gsym filter` and `gsym trace`."""
    del place
    return find_in([folder]).open(key).reader is not None


def by_binary_dir(folder: str, key: ModuleKey, place: Path) -> bool:
    """`gsym serve --binary-dir DIR`."""
    found = open_binaries(key, None, Symbolizer(place), [Folder(folder)])
    return next(found, None) is not None


def by_profile(folder: str, key: ModuleKey, place: Path) -> bool:
    """The segments of a module of a profile, with `--gsym-dir DIR`."""
    del place
    mapping = Mapping(0, 1 << 40, 0, 0, NAME, key.code_id.lower())
    return Binaries(find_in([folder])).segments(mapping) != ()


DOORS = (by_open_source, by_server, by_report, by_arrow, by_gsym_dir)
OF_BINARIES = (by_binary_dir, by_profile)


@pytest.fixture(params=LAYOUTS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with a module in one of the layouts."""
    binary = tmp_path / NAME
    binary.write_bytes(debug_file(ID))
    path, _ = LAYOUTS[request.param]
    folder = tmp_path / "folder"
    if not path:
        add_file(Store(folder), binary)
        return folder
    file = folder / path.format(debug_id=identify(binary).debug_id)
    file.parent.mkdir(parents=True)
    if path.endswith((".gsym", ".sym")):
        gsym.convert(binary, made := tmp_path / "made.gsym")
        if path.endswith(".sym"):
            gsym.export_breakpad(made, file, identity=identify(binary))
        else:
            shutil.copy(made, file)
    else:
        shutil.copy(binary, file)
    return folder


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "own store"))


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_folder_means_the_same_at_each_door(
    door: Callable[[str, ModuleKey, Path], bool],
    folder: Path,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    layout = request.node.callspec.params["folder"]
    key = identify(tmp_path / NAME)
    assert door(str(folder), key, tmp_path / "place") == LAYOUTS[layout][1]


@pytest.mark.parametrize("door", OF_BINARIES, ids=lambda door: door.__name__)
def test_binaries_are_found_in_the_same_folders(
    door: Callable[[str, ModuleKey, Path], bool],
    folder: Path,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    layout = request.node.callspec.params["folder"]
    expected = LAYOUTS[layout][1] and layout not in _BINARIES
    assert door(str(folder), identify(tmp_path / NAME), tmp_path) == expected
