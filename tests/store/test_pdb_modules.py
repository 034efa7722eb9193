"""A PDB is a module of a store, as its image is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gsym.modules.key import ModuleKey
from gsym.store.adding import add_file
from tests.inputs.pdb import GUID, TEXT, Function, Module, Pdb
from tests.inputs.pe import CODEVIEW, Pe, Section, codeview

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.store.directory import Store

DEBUG_ID = "030201000504070608090A0B0C0D0E0F1"
PDB = Pdb([Module([Function("f", 0, 16, [(0, 5)])])]).to_bytes()
KEY = ModuleKey("app.pdb", DEBUG_ID)


def test_a_pdb_answers_by_its_debug_id(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "app.pdb"
    path.write_bytes(PDB)
    assert add_file(store, path).outcome == "added"
    entry = store.get(KEY)
    assert entry is not None
    assert (entry.identity.os, entry.identity.architecture) == ("windows", "x86_64")


def test_an_image_is_the_same_module_as_its_pdb(store: Store, tmp_path: Path) -> None:
    (tmp_path / "app.pdb").write_bytes(PDB)
    section = Section(".text", bytes(0x1000), TEXT, 0x60000020)
    record = codeview(GUID, 1, r"D:\build\app.pdb")
    image = Pe([section], image_base=0x140000000, debug=[(CODEVIEW, record)])
    (tmp_path / "app.exe").write_bytes(image.to_bytes())
    add_file(store, tmp_path / "app.exe")
    entry = store.get(KEY)
    assert entry is not None
    assert entry.identity.code_file == "app.exe"
    assert entry.identity.code_id
