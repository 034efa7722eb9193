"""A store answers by any id of a module, and never with half of one."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.errors import FormatError, GsymError, UnsupportedError
from gsym.modules.key import ModuleKey, key_of_build_id, macho_debug_id
from gsym.store.aliases import add_aliases
from gsym.store.directory import Store
from gsym.store.entries import Quality
from gsym.store.verification import verify_store
from tests.store_modules import (
    PE_CODE_ID,
    build_id,
    identity,
    key,
    put,
    windows_identity,
    write_gsym,
)

pytestmark = [pytest.mark.long, pytest.mark.no_engine]


def tree(store: Store) -> set[str]:
    """All files and links of a store that somebody else may look for."""
    return {
        path.relative_to(store.path).as_posix()
        for path in Path(store.path).rglob("*")
        if path.is_symlink()
    }


def names(store: Store, folder: str) -> list[str]:
    return [path.name for path in Path(store.path, folder).iterdir()]


def publish(store: Store, module: ModuleKey, number: int = 1, **options: object) -> str:
    with store.temporary_folder() as folder:
        path = write_gsym(f"{folder}/new.gsym", number)
        quality = Quality(0, 1)
        return store.publish(path, module, quality=quality, **options).outcome  # type: ignore[arg-type]


# ---- asking


def test_a_store_that_does_not_exist_is_empty(store: Store) -> None:
    assert store.get(key(1)) is None
    assert list(store.entries()) == []
    assert not Path(store.path).exists()


def test_module_is_found_by_each_of_its_ids(store: Store) -> None:
    entry = put(store, 1).entry
    debug_id = identity(1).debug_id
    dashed = f"{debug_id[:8]}-{debug_id[8:12]}-{debug_id[12:32]}-0"
    for asked in (
        ModuleKey(debug_id=debug_id),
        ModuleKey(debug_id=debug_id.lower()),
        ModuleKey(debug_id=dashed),
        ModuleKey("any name", debug_id),
        key_of_build_id(build_id(1)),
        ModuleKey(code_id=build_id(1).hex()),
        ModuleKey(debug_id=identity(2).debug_id, code_id=build_id(1).hex()),
    ):
        assert store.get(asked) == entry, asked
    assert store.get(key(2)) is None
    assert store.get(key_of_build_id(build_id(2))) is None
    assert store.get(ModuleKey(debug_file="lib1.so")) is None


def test_entry_has_the_whole_identity(store: Store) -> None:
    put(store, 3, functions=7)
    entry = Store(store.path).get(key(3))
    assert entry is not None
    assert entry.identity == identity(3)
    assert entry.uuid == build_id(3)
    assert entry.quality == Quality(0, 7)
    assert entry.source == "source of 3"
    assert entry.size == Path(entry.path).stat().st_size
    assert entry.added > 0
    with gsym.open(entry.path, uuid=build_id(3)) as reader:
        assert len(reader) == 7


def test_a_breakpad_file_knows_half_of_a_build_id_and_answers_for_all(
    store: Store,
) -> None:
    publish(store, identity(1, code_id=""), uuid=build_id(1)[:16])
    found = store.get(key_of_build_id(build_id(1)))
    assert found is not None
    assert found.identity.debug_id == identity(1).debug_id


def test_a_module_of_apple_is_found_by_its_uuid(store: Store) -> None:
    uuid = bytes(range(16))
    module = ModuleKey(
        os="mac",
        architecture="arm64",
        debug_id=macho_debug_id(uuid),
        code_id="",
        debug_file="app",
    )
    publish(store, module)
    assert store.get(key_of_build_id(uuid)) is not None


def test_code_ids_of_windows_need_the_name(store: Store) -> None:
    for code_file, code_id, is_found in [
        ("xul.dll", PE_CODE_ID, True),
        ("XUL.DLL", PE_CODE_ID.lower(), True),
        ("other.dll", PE_CODE_ID, False),
        ("xul.dll", PE_CODE_ID[:-1] + "1", False),
        ("", PE_CODE_ID, False),
        ("../xul.dll", PE_CODE_ID, False),
        ("xul\0.dll", PE_CODE_ID, False),
        ("x" * 5000, PE_CODE_ID, False),
        ("\ud800", PE_CODE_ID, False),
    ]:
        publish(store, windows_identity(1))
        found = store.get(ModuleKey(code_file=code_file, code_id=code_id))
        assert (found is not None) == is_found


def test_invalid_ids_find_no_module(store: Store) -> None:
    for debug_id in [
        "",
        "0",
        "5",
        "x" * 33,
        "../../etc/passwd",
        "0" * 33,
        "1" * 50,
        "é" * 33,
    ]:
        put(store, 1)
        assert store.get(ModuleKey("lib1.so", debug_id)) is None


def test_lookup_counts_as_use(store: Store) -> None:
    entry = put(store, 1).entry
    old = 1_000_000_000
    os.utime(Path(entry.path).with_name("module.json"), (old, old))
    assert store.last_used(entry) == old
    list(store.entries())
    assert store.last_used(entry) == old
    store.get(key(1))
    assert store.last_used(entry) > old


def test_read_only_store_is_read(store: Store) -> None:
    entry = put(store, 1).entry
    folders = [Path(path) for path, _, _ in os.walk(store.path)]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert Store(store.path).get(key(1)) == entry
    finally:
        for folder in folders:
            folder.chmod(0o755)


# ---- the tree


def test_other_tools_find_the_files_by_their_own_rules(store: Store) -> None:
    put(store, 1)
    publish(store, windows_identity(2))
    debug_id, digits = identity(1).debug_id, build_id(1).hex()
    other = identity(2).debug_id
    assert tree(store) == {
        f".debug-id/{debug_id[:2]}/{debug_id[2:]}",
        f"lib1.so/{debug_id}/lib1.so.gsym",
        f".build-id/{digits[:2]}/{digits[2:]}.gsym",
        f"{digits}/gsym",
        f".debug-id/{other[:2]}/{other[2:]}",
        f"xul.pdb/{other}/xul.gsym",
        f".code-id/xul.dll/{PE_CODE_ID}",
    }
    for path in tree(store):
        assert Path(store.path, path).exists(), path


def test_originals_are_stored_where_tools_look_for_them(store: Store) -> None:
    with store.temporary_folder() as folder:
        Path(folder, "a.sym").write_text("text of a.sym")
        Path(folder, "a.debug").write_text("bytes of a.debug")
        originals = {"sym": f"{folder}/a.sym", "debuginfo": f"{folder}/a.debug"}
        path = write_gsym(f"{folder}/new.gsym", 1)
        entry = store.publish(
            *(path, identity(1)), quality=Quality(0, 1), originals=originals
        ).entry
    digits, debug_id = build_id(1).hex(), identity(1).debug_id
    root = Path(store.path)
    assert (root / "lib1.so" / debug_id / "lib1.so.sym").read_text() == "text of a.sym"
    for place in (f".build-id/{digits[:2]}/{digits[2:]}.debug", f"{digits}/debuginfo"):
        assert (root / place).read_text() == "bytes of a.debug"
    assert {kind: Path(path).read_text() for kind, path in entry.originals.items()} == {
        "sym": "text of a.sym",
        "debuginfo": "bytes of a.debug",
    }
    assert entry.size == Path(entry.path).stat().st_size + 13 + 16
    assert Store(store.path).get(key(1)) == entry


def test_module_is_linked_under_the_names_it_was_requested_by(store: Store) -> None:
    debug_id = identity(1).debug_id
    for name in ("first.so", "second.so"):
        publish(store, identity(1), key=ModuleKey(name, debug_id))
        assert f"{name}/{debug_id}/{name}.gsym" in tree(store)
    assert len(list(store.entries())) == 1
    assert put(store, 1, debug_file="third.so").outcome == "kept"
    assert f"third.so/{debug_id}/third.so.gsym" in tree(store)


# ---- choosing, replacing, removing


def test_the_richer_of_two_files_stays(store: Store) -> None:
    assert put(store, 1, functions=2).outcome == "added"
    assert put(store, 1, functions=1).outcome == "kept"
    assert put(store, 1, functions=2).outcome == "kept"
    assert put(store, 1, functions=3).outcome == "replaced"
    (entry,) = store.entries()
    with gsym.open(entry.path) as reader:
        assert len(reader) == 3
    shelf = Path(entry.path).parent.parent
    assert [path.name for path in shelf.iterdir()] == [Path(entry.path).parent.name]


@pytest.mark.parametrize("has_links", [True, False])
def test_a_richer_file_joins_the_executable_of_its_module(
    store: Store, monkeypatch: pytest.MonkeyPatch, *, has_links: bool
) -> None:
    if not has_links:  # as on some network file systems
        monkeypatch.setattr("os.link", Mock(side_effect=PermissionError))
    publish(store, identity(1))
    with store.temporary_folder() as folder:
        path = write_gsym(f"{folder}/new.gsym", 1)
        Path(folder, "program").write_bytes(b"program")
        poor, originals = Quality(0, 1), {"executable": f"{folder}/program"}
        store.publish(path, identity(1), quality=poor, originals=originals)
    with store.temporary_folder() as folder:
        path = write_gsym(f"{folder}/new.gsym", 1)
        store.publish(path, identity(1), quality=Quality(1, 1))
    entry = store.get(key(1))
    assert entry is not None
    assert entry.quality == Quality(1, 1)
    assert Path(entry.originals["executable"]).read_bytes() == b"program"


def test_a_broken_link_leads_to_no_module(store: Store) -> None:
    shutil.rmtree(Path(put(store, 1).entry.path).parent)
    assert store.get(key(1)) is None


def test_a_companion_that_stays_unreadable_replaces_nothing(
    store: Store, tmp_path: Path
) -> None:
    broken, other = tmp_path / "1.dwo", tmp_path / "2.dwo"
    broken.touch()

    def add(*wanted: Path) -> str:
        with store.temporary_folder() as folder:  # in which a package was unpacked
            tried = [f"{folder}/1.dwo", *map(str, wanted)]
            missing = [f"split units not found: tried {', '.join(tried)}"]
            return publish(store, identity(1), missing=missing, wanted=tried)

    assert add(broken, other) == "added"
    assert add(broken, other) == "kept"
    other.touch()
    assert add(broken) == "replaced"
    assert add(broken) == "kept"
    (entry,) = store.entries()
    assert entry.missing == (f"split units not found: tried 1.dwo, {broken}",)


def test_a_replaced_module_keeps_its_names_and_loses_its_original(store: Store) -> None:
    with store.temporary_folder() as folder:
        Path(folder, "a.sym").write_text("text")
        store.publish(
            *(write_gsym(f"{folder}/new.gsym", 1), identity(1)),
            quality=Quality(0, 1),
            originals={"sym": f"{folder}/a.sym"},
            key=ModuleKey("other.so", identity(1).debug_id),
        )
    assert any(path.endswith(".sym") for path in tree(store))
    assert put(store, 1, functions=2).outcome == "replaced"
    assert [path for path in tree(store) if path.endswith(".sym")] == []
    assert f"other.so/{identity(1).debug_id}/other.so.gsym" in tree(store)


def test_a_removed_module_leaves_nothing(store: Store) -> None:
    entry = put(store, 1).entry
    store.remove(entry)
    assert store.get(key(1)) is None
    assert tree(store) == set()
    left = {path.name for path in Path(store.path).iterdir()}
    assert left <= {"gsym-store.json", ".entries", ".debug-id", ".locks", ".tmp"}


def test_a_removal_finishes_one_that_was_killed_at_its_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed, entry = put(store, 1).entry, put(store, 2).entry
    with monkeypatch.context() as patch:
        patch.setattr("gsym.store.publication.remove_evicted", lambda _store: 0)
        store.remove(killed)
    assert list(Path(store.path, ".evicted").iterdir())
    store.remove(entry)
    assert not Path(store.path, ".evicted").exists()


def test_a_module_that_was_replaced_is_not_removed(store: Store) -> None:
    before = put(store, 1).entry
    after = put(store, 1, functions=2).entry
    store.remove(before)
    assert store.get(key(1)) == after


def test_modules_with_invalid_names_or_ids_are_refused(store: Store) -> None:
    for module in [
        identity(1, debug_id=""),
        identity(1, debug_id="0" * 33),
        identity(1, debug_id="../" * 11),
        identity(1, debug_file="a/b"),
        identity(1, debug_file=".."),
        identity(1, debug_file="a\0"),
        identity(1, debug_file="x" * 256),
        identity(1, debug_file="\ud800"),
        identity(1, code_id="../../x"),
    ]:
        with pytest.raises(ValueError, match=r"debug id|invalid module name|code id"):
            publish(store, module)
        assert list(store.entries()) == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        "gsym-store.json",
        "x" * 255,
        "\udc80",
    ],
)
def test_unusual_names_are_accepted_and_stay_in_the_store(
    store: Store, name: str
) -> None:
    publish(store, identity(1, debug_file=name))
    entry = Store(store.path).get(key(1))
    assert entry is not None
    assert entry.identity.debug_file == name
    for path in tree(store):
        target = os.path.realpath(Path(store.path, path))
        assert target.startswith(os.path.realpath(store.path) + os.sep)
    assert Store(store.path).get(key(1)) == entry


@given(
    debug_file=st.text(st.characters(exclude_categories=()), max_size=300),
    code_file=st.text(st.characters(exclude_categories=()), max_size=300),
    code_id=st.sampled_from(["", PE_CODE_ID, "AB", "../x"]),
    debug_id=st.sampled_from(["", identity(1).debug_id, "/", "\0" * 33]),
)
def test_no_key_reaches_out_of_the_store(
    tmp_path_factory: pytest.TempPathFactory,
    debug_file: str,
    code_file: str,
    code_id: str,
    debug_id: str,
) -> None:
    folder = tmp_path_factory.mktemp("keys")
    store = Store(folder / "store")
    asked = ModuleKey(debug_file, debug_id, code_file, code_id)
    publish(store, windows_identity(1), key=asked)
    found = store.get(asked)
    assert found is None or found.identity == windows_identity(1)
    with store.lock(asked):
        pass
    assert [path.name for path in folder.iterdir()] == ["store"]
    for path in tree(store):
        assert Path(store.path, path).exists()


def test_folder_with_other_files_does_not_become_a_store(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(GsymError, match="not a store"):
        put(Store(tmp_path), 1)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_new_disk_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    assert put(Store(tmp_path), 1).outcome == "added"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"layout": 2}', UnsupportedError),
        ("[]", FormatError),
        ("[" * 4000, FormatError),
    ],
)
def test_a_store_of_another_layout_is_left_alone(
    tmp_path: Path, text: str, error: type[GsymError]
) -> None:
    (tmp_path / "gsym-store.json").write_text(text)
    with pytest.raises(error, match=r"gsym-store\.json"):
        Store(tmp_path).get(key(1))
    with pytest.raises(error, match=r"gsym-store\.json"):
        put(Store(tmp_path), 1)


# ---- locks and temporary folders


def test_a_lock_has_one_holder_among_threads(store: Store) -> None:
    inside = most = 0
    guard = threading.Lock()

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with store.lock(key(1)):
                with guard:
                    inside += 1
                    most = max(most, inside)
                with guard:
                    inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert names(store, ".locks") == []


def test_locks_of_different_modules_do_not_wait_for_each_other(store: Store) -> None:
    with store.lock(key(1)), store.lock(key(2)), store.lock(ModuleKey(code_id="AB")):
        assert len(names(store, ".locks")) == 3


def test_a_temporary_folder_is_gone_afterwards(store: Store) -> None:
    with store.temporary_folder() as folder:
        assert list(Path(folder).iterdir()) == []
        Path(folder, "sub").mkdir()
    assert not Path(folder).exists()


def test_unused_folder_is_removed_and_a_used_one_is_not(
    store: Store,
) -> None:
    with store.temporary_folder() as mine:
        left = Path(store.path, ".tmp", "left")
        left.mkdir()
        (left / "file").write_text("half")
        with store.temporary_folder():
            assert not left.exists()
            assert Path(mine).is_dir()


def test_a_link_that_cannot_be_made_is_not_listed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a process that is killed there would leave a module without it."""
    entry = put(store, 1).entry
    alias = f"other.so/{entry.identity.debug_id}/other.so.gsym"
    named = store.path, entry.folder, entry.slot, {alias: "module.gsym"}
    with monkeypatch.context() as patch:
        patch.setattr("gsym.store.aliases.make_link", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            add_aliases(*named)
    assert list(verify_store(store)) == []
    add_aliases(*named)
    assert (Path(store.path) / alias).resolve() == Path(entry.path).resolve()
    assert list(verify_store(store)) == []
    store.remove(entry)
    assert not (Path(store.path) / "other.so").exists()
