"""Folders as sources: the trees of other tools, told apart by looking."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gsym.conversion.identity import identify
from gsym.errors import NotFoundError, SourceError
from gsym.modules.key import ModuleKey, key_of_build_id
from gsym.modules.resolver import Resolver
from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.sources import foreign_layouts
from gsym.store.sources.local_trees import LocalStore, LocalTree, open_by_path
from tests.companions import ID, debug_file
from tests.symbol_files import debug_id, key, symbols

BUILD_ID = ID.hex()


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    """An ELF file with debug information and a build id."""
    path = tmp_path / "app.debug"
    path.write_bytes(debug_file(ID))
    return path


def place(source: Path, tree: Path, path: str) -> str:
    target = tree / path
    target.parent.mkdir(parents=True)
    shutil.copy(source, target)
    return str(target)


BY_BUILD_ID = [
    f".build-id/{BUILD_ID[:2]}/{BUILD_ID[2:]}.debug",
    f".build-id/{BUILD_ID[:2]}/{BUILD_ID[2:]}",
    f"{BUILD_ID[:2]}/{BUILD_ID[2:]}.debug",
    f"{BUILD_ID}/debuginfo",
    f"{BUILD_ID}/executable",
    f"{BUILD_ID[:2]}/{BUILD_ID[2:]}/debuginfo",
    f"_.debug/elf-buildid-sym-{BUILD_ID}/_.debug",
    f"_./_.debug/elf-buildid-sym-{BUILD_ID}/_.debug",
]


@pytest.mark.parametrize("path", BY_BUILD_ID)
def test_tree_by_build_id_is_recognized(
    binary: Path, tmp_path: Path, path: str
) -> None:
    tree = tmp_path / "tree"
    expected = place(binary, tree, path)
    found = open_by_path(str(tree)).find(key_of_build_id(ID), "")
    assert found.path == found.location == expected


@pytest.mark.parametrize("path", BY_BUILD_ID[:6:2])
def test_a_debug_id_is_enough_where_names_can_be_listed(
    binary: Path, tmp_path: Path, path: str
) -> None:
    tree = tmp_path / "tree"
    expected = place(binary, tree, path)
    asked = ModuleKey("app", identify(binary).debug_id)
    assert LocalTree(str(tree)).find(asked, "").path == expected
    resolved = Resolver(Store(tmp_path / "store"), [LocalTree(str(tree))]).resolve(
        asked
    )
    assert resolved.entry is not None
    assert resolved.entry.identity.code_id == BUILD_ID.upper()


@pytest.mark.parametrize("suffix", [".sym", ".sym.gz", ".gsym"])
def test_a_breakpad_tree_has_text_compressed_text_or_gsym(
    tmp_path: Path, suffix: str
) -> None:
    folder = tmp_path / "tree" / "app" / debug_id()
    folder.mkdir(parents=True)
    (folder / f"app{suffix}").write_bytes(symbols())
    found = open_by_path(str(tmp_path / "tree")).find(key(), "")
    assert found.path == str(folder / f"app{suffix}")


@pytest.mark.parametrize("name", ["xul.dll", "XUL.DLL"])
def test_names_are_lower_case_in_ssqp(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "tree" / "xul.dll" / "5CF2591C6859a000"
    folder.mkdir(parents=True)
    (folder / "xul.dll").write_bytes(b"MZ")
    asked = ModuleKey("", "", name, "5CF2591C6859A000")
    assert LocalTree(str(tmp_path / "tree")).find(asked, "").path.endswith("/xul.dll")


def test_empty_file_means_not_found(tmp_path: Path) -> None:
    folder = tmp_path / "tree" / BUILD_ID
    folder.mkdir(parents=True)
    (folder / "debuginfo").write_bytes(b"")
    with pytest.raises(NotFoundError, match="not found"):
        LocalTree(str(tmp_path / "tree")).find(key_of_build_id(ID), "")


def test_folder_in_place_of_a_file_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "app" / debug_id() / "app.sym").mkdir(parents=True)
    with pytest.raises(NotFoundError):
        LocalTree(str(tmp_path)).find(key(), "")


def test_a_key_without_what_a_tree_goes_by_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="needs a file name and its id"):
        LocalTree(str(tmp_path)).find(ModuleKey("app"), "")


def test_a_folder_that_went_away_is_a_failure(tmp_path: Path) -> None:
    tree = LocalTree(str(tmp_path / "gone"))
    with pytest.raises(SourceError, match="the folder does not exist"):
        tree.find(key(), "")


@pytest.mark.parametrize("name", ["../secret", "..", "a/../../secret", "\0", "/etc"])
def test_no_name_leads_out_of_the_tree(tmp_path: Path, name: str) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for each in (tmp_path / "secret", tree / debug_id()):
        folder = each / debug_id()
        folder.mkdir(parents=True)
        (folder / "secret.sym").write_bytes(symbols())
    with pytest.raises(NotFoundError):
        LocalTree(str(tree)).find(ModuleKey(name, debug_id()), "")


def test_only_the_chosen_layouts_count(binary: Path, tmp_path: Path) -> None:
    place(binary, tmp_path / "tree", BY_BUILD_ID[0])
    chosen = LocalTree(str(tmp_path / "tree"), [foreign_layouts.DEBUGINFOD_CACHE])
    with pytest.raises(NotFoundError):
        chosen.find(key_of_build_id(ID), "")


def test_another_store_is_recognized_by_its_marker(
    binary: Path, tmp_path: Path
) -> None:
    store = Store(tmp_path / "other")
    published = add_file(store, binary)
    source = open_by_path(store.path)
    assert isinstance(source, LocalStore)
    found = source.find(key_of_build_id(ID), "")
    assert found.identity == published.entry.identity
    assert Path(found.path).samefile(published.entry.path)
    with pytest.raises(NotFoundError):
        source.find(key(3), "")


def test_a_store_that_is_damaged_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "gsym-store.json").write_text("{}")
    with pytest.raises(SourceError):
        open_by_path(str(tmp_path)).find(key(), "")
