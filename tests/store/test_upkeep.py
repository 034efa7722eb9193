"""A store is collected, verified, repaired and exported."""

from __future__ import annotations

import json
import os
import re
import tarfile
import time
import zipfile
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.modules.key import ModuleKey, key_of_build_id
from gsym.sizes import rounded_size
from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.locking import OwnedFolder
from gsym.store.tree_export import export_modules
from gsym.store.verification import verify_store
from tests.store_modules import (
    build_id,
    identity,
    key,
    put,
    windows_identity,
    write_sym,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gsym.store.entries import Entry

pytestmark = [pytest.mark.long, pytest.mark.no_engine]


def folder_of(entry: Entry) -> Path:
    return Path(entry.path).parent


def size_of(entry: Entry) -> int:
    """All bytes that the module takes, damaged record of it included."""
    return sum(path.stat().st_size for path in folder_of(entry).iterdir())


def use(entry: Entry, seconds: int) -> None:
    os.utime(folder_of(entry) / "module.json", (seconds, seconds))


def links(store: Store) -> set[str]:
    root = Path(store.path)
    return {
        str(each.relative_to(root)) for each in root.rglob("*") if each.is_symlink()
    }


def files(store: Store) -> set[str]:
    root = Path(store.path)
    return {str(each.relative_to(root)) for each in root.rglob("*") if each.is_file()}


# ---- gc


def test_least_recently_used_module_is_collected_first(store: Store) -> None:
    entries = [put(store, number).entry for number in range(4)]
    sizes = [size_of(entry) for entry in entries]
    for entry, seconds in zip(entries, (300, 100, 400, 200), strict=True):
        use(entry, seconds)
    exact = sizes[0] + sizes[2]
    done = store.collect(exact)
    assert tuple(done) == (sum(sizes), exact, 2, 0, 2, 0, 0)
    assert {entry.identity.debug_file for entry in store.entries()} == {
        "lib0.so",
        "lib2.so",
    }
    assert store.collect(exact).removed == 0
    assert store.collect(exact - 1).removed == 1
    (left,) = store.entries()
    assert left.identity.debug_file == "lib2.so"
    assert store.collect(0).size_after == 0
    assert links(store) == set()
    assert files(store) == {"gsym-store.json"}


def test_locked_module_is_not_collected(store: Store) -> None:
    for number in (1, 2, 3):
        use(put(store, number).entry, number)
    by_build_id = key_of_build_id(build_id(2))
    with store.lock(key(1)), store.lock(by_build_id):
        done = store.collect(0)
    assert (done.removed, done.locked) == (1, 2)
    assert {entry.identity.debug_file for entry in store.entries()} == {
        "lib1.so",
        "lib2.so",
    }


def test_reader_keeps_a_collected_module(store: Store) -> None:
    entry = put(store, 1).entry
    with gsym.open(entry.path) as reader:
        done = store.collect(0)
        assert done.pending == done.size_before > 0
        found = reader.lookup(0x1000)
    assert store.collect(0).pending == 0
    assert files(store) == {"gsym-store.json"}
    assert found is not None
    assert found.function.name == "f1_1"


def test_a_damaged_module_can_be_collected(store: Store) -> None:
    entry = put(store, 1).entry
    (folder_of(entry) / "module.json").write_text("{}")
    assert store.collect(0).removed == 1
    assert links(store) == set()


def test_collecting_a_missing_store_does_not_create_it(store: Store) -> None:
    assert store.collect(0).size_before == 0
    assert not Path(store.path).exists()


def test_the_command_collects(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = [size_of(put(store, number).entry) for number in (1, 2)]
    arguments = ["store", "gc", "--store", store.path, "--max-size"]
    assert main([*arguments, "1M", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "size_before": sum(sizes),
        "size_after": sum(sizes),
        "removed": 0,
        "locked": 0,
        "kept": 2,
        "pending": 0,
        "lacking": 0,
    }
    assert main([*arguments, "0"]) == 0
    size = rounded_size(sum(sizes))
    assert capsys.readouterr().out == f"2 modules removed: {size} -> 0 B\n"
    for text in ("x", "", "-1", "1.5Q", "G"):
        assert main([*arguments, text]) == 2
    assert main(arguments[:-1]) == 2


def test_the_command_collects_by_age_and_by_free_space(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, seconds in ((1, 100), (2, 200)):
        use(put(store, number).entry, int(time.time()) - seconds)
    arguments = ["store", "gc", "--store", store.path]
    assert main([*arguments, "--max-age", "1d"]) == 0
    assert capsys.readouterr().out.startswith("0 modules removed")
    assert main([*arguments, "--max-age", "150s"]) == 0
    assert capsys.readouterr().out.startswith("1 modules removed")
    monkeypatch.setattr("gsym.store.collection.free_bytes", lambda _path: 5 * 10**8)
    assert main([*arguments, "--min-free", "500M"]) == 0
    assert capsys.readouterr().out.startswith("0 modules removed")
    assert main([*arguments, "--min-free", "501M"]) == 0
    assert capsys.readouterr().out.startswith("1 modules removed")


# ---- verify


def findings(store: Store, *, repair: bool = False) -> dict[str, str]:
    return {each.path: each.reason for each in verify_store(store, repair=repair)}


def test_a_sound_store_has_no_findings(store: Store, tmp_path: Path) -> None:
    put(store, 1)
    put(store, 2, **windows_identity(2)._asdict())
    add_file(store, write_sym(tmp_path / "a.sym", 3), keep_original=True)
    assert findings(store) == {}


def break_record(entry: Entry) -> None:
    (folder_of(entry) / "module.json").write_text("{}")


def break_file(entry: Entry) -> None:
    path = Path(entry.path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 0xFF
    path.write_bytes(data)


def cut_file(entry: Entry) -> None:
    os.truncate(entry.path, 50)


def exchange_file(entry: Entry) -> None:
    path = Path(entry.path)
    data = path.read_bytes()
    path.write_bytes(data.replace(build_id(1), build_id(2)))


def remove_file(entry: Entry) -> None:
    Path(entry.path).unlink()


def remove_folder(entry: Entry) -> None:
    folder = folder_of(entry)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (break_record, "damaged record"),
        (break_file, "its GSYM file is damaged"),
        (cut_file, "its files have 50 bytes"),
        (exchange_file, "its GSYM file is of another build: its build id is "),
        (remove_file, "module.gsym is missing"),
        (remove_folder, "module.json is missing"),
    ],
)
def test_a_damaged_module_is_found_and_removed_on_request(
    store: Store, damage: Callable[[Entry], None], reason: str
) -> None:
    put(store, 2)
    entry = put(store, 1).entry
    damage(entry)
    debug_id = entry.identity.debug_id
    link = f".debug-id/{debug_id[:2]}/{debug_id[2:]}"
    assert reason in findings(store)[link]
    assert reason in findings(store, repair=True)[link]
    assert findings(store) == {}
    assert store.get(key(1)) is None
    assert store.get(key(2)) is not None


def test_missing_and_dangling_links_are_repaired(store: Store) -> None:
    put(store, 1)
    root, before = Path(store.path), links(store)
    digits = build_id(1).hex()
    missing = f".build-id/{digits[:2]}/{digits[2:]}.gsym"
    (root / missing).unlink()
    other = identity(2).debug_id
    nowhere = f"old.so/{other}/old.so.gsym"
    (root / nowhere).parent.mkdir(parents=True)
    target = f"../../.debug-id/{other[:2]}/{other[2:]}/module.gsym"
    (root / nowhere).symlink_to(target)
    expected = {missing: "the link is missing", nowhere: "the link is broken"}
    assert findings(store) == expected
    assert findings(store, repair=True) == expected
    assert findings(store) == {}
    assert links(store) == before
    assert not (root / "old.so").exists()


def test_foreign_files_in_a_store_are_reported_and_kept(store: Store) -> None:
    put(store, 1)
    root = Path(store.path)
    (root / "letter.txt").write_text("dear")
    (root / "folder").mkdir()
    (root / "folder/x").symlink_to("/etc/passwd")
    for repair in (False, True, False):
        assert set(findings(store, repair=repair)) == {"letter.txt", "folder/x"}
    assert (root / "letter.txt").read_text() == "dear"


@pytest.mark.parametrize("mend", ["verify", "gc", "add"])
def test_a_store_copied_with_its_links_followed_answers_and_is_mended(
    store: Store, tmp_path: Path, mend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put(store, 1)
    put(store, 2, **windows_identity(2)._asdict())
    add_file(store, write_sym(tmp_path / "a.sym", 3), keep_original=True)
    before = links(store)
    copytree(store.path, tmp_path / "copy", symlinks=False)
    copy = Store(tmp_path / "copy")
    assert links(copy) == set()
    # Modules are found by debug id and by build id. Only a link knows other ids.
    assert [each.identity for each in copy.entries()] == [
        each.identity for each in store.entries()
    ]
    for each in (key(1), key_of_build_id(build_id(1)), key(2)):
        found = copy.open(each)
        assert found is not None
        with found[1] as reader:
            assert len(reader) == found[0].quality.functions
    known = windows_identity(2)
    by_code = ModuleKey(code_file=known.code_file, code_id=known.code_id)
    mending = "copied with its links followed; 'gsym store verify --repair'"
    with pytest.raises(gsym.FormatError, match=mending):
        copy.get(by_code)
    arguments = ["store", "verify", "--store", copy.path]
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert (said.out.count("copied with its links followed"), said.err) == (3, "")
    # It goes on to what was made of aliases.
    assert said.out.count("not a link, and not part of a store") == len(before) - 3
    if mend == "verify":
        assert main([*arguments, "--repair"]) == 0
    elif mend == "gc":
        assert copy.collect(1 << 30).kept == 3
    else:
        assert put(copy, 1).outcome == "kept"
    capsys.readouterr()
    assert main(arguments) == 0
    assert links(copy) == before
    entry = copy.get(by_code)
    assert entry is not None
    assert entry.identity == known
    assert put(copy, 1).outcome == "kept"
    assert copy.collect(0).removed == len(list(store.entries()))


@pytest.mark.parametrize("mend", ["verify", "gc", "add"])
def test_a_store_copied_without_its_links_is_mended(
    store: Store, tmp_path: Path, mend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put(store, 1)
    put(store, 2, **windows_identity(2)._asdict())
    before = links(store)
    copytree(store.path, tmp_path / "copy", symlinks=True)
    copy = Store(tmp_path / "copy")
    put(copy, 3)
    cut = copy.get(key(3))
    assert cut is not None
    os.truncate(cut.path, 50)  # half a copy
    for each in links(copy):
        Path(copy.path, each).unlink()
    assert main(["store", "list", "--store", copy.path]) == 1
    assert "links of 2 modules are missing; 'gsym store" in capsys.readouterr().err
    reasons = ["the link is missing"] * 2
    assert [each.reason for each in verify_store(copy)] == reasons
    if mend == "verify":
        found = [*verify_store(copy, repair=True)]
        assert [each.reason for each in found] == [*reasons, "unused files"]
    elif mend == "gc":
        assert copy.collect(1 << 30).kept == 2
    else:
        assert put(copy, 1).outcome == "kept"
    assert links(copy) == before
    assert set(findings(copy).values()) <= {"unused files"}


def test_an_added_module_does_not_displace_one_that_lost_its_link(
    store: Store,
) -> None:
    # As a repair leaves the store that was killed after the first module.
    entries = [put(store, number).entry for number in (1, 2)]
    before = links(store)
    lost = folder_of(entries[1])
    for each in before:
        if Path(store.path, each).resolve().is_relative_to(lost):
            Path(store.path, each).unlink()
    added = put(store, 3).entry
    assert folder_of(added).parent == lost.parent
    list(verify_store(store, repair=True))
    assert before < links(store)
    assert {each.identity for each in store.entries()} == {
        each.identity for each in (*entries, added)
    }


CALLS = ("rename", "replace", "symlink", "unlink", "mkdir", "rmdir")


def killed(calls: int, names: Sequence[str], work: Callable[[], object]) -> bool:
    """Do *work* in a process that dies at such a call after so many; if it ends."""
    child = os.fork()
    if not child:
        left = [calls]

        def ends(call: Callable[..., None]) -> Callable[..., None]:
            def counted(*arguments: object, **options: object) -> None:
                if not left[0]:
                    os._exit(1)
                left[0] -= 1
                call(*arguments, **options)

            return counted

        for name in names:
            setattr(os, name, ends(getattr(os, name)))
        try:
            work()
        except BaseException:  # noqa: BLE001 - the exit code tells it
            os._exit(2)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status in {0, 1 << 8}
    return not status


def mended(store: Store) -> None:
    list(verify_store(store, repair=True))


@pytest.mark.parametrize("follow", [True, False])
def test_a_repair_that_is_killed_at_any_call_loses_no_module(
    store: Store, tmp_path: Path, *, follow: bool
) -> None:
    put(store, 1, code_hash="a1" * 8)
    add_file(store, write_sym(tmp_path / "a.sym", 2), keep_original=True)
    second = put(store, 1, code_hash="b2" * 8).entry
    # It has names that the second one, which is older now, would have alone.
    assert put(store, 1, functions=2, code_hash="a1" * 8).outcome == "replaced"
    assert "-" in second.slot
    before = links(store)
    kept = {each.slot: each.identity for each in store.entries()}
    for calls in range(99):
        copy = Store(tmp_path / f"copy{calls}")
        copytree(store.path, copy.path, symlinks=not follow)
        for each in links(copy):
            Path(copy.path, each).unlink()
        renaming = ("rename", "replace")
        is_over = killed(calls, renaming, partial(mended, copy))
        list(verify_store(copy, repair=True))
        assert links(copy) == before
        assert {each.slot: each.identity for each in copy.entries()} == kept
        assert list(verify_store(copy)) == []
        if is_over:
            break
    assert calls > len(kept)


def put_sym(store: Store) -> None:
    path = write_sym(Path(store.path).with_suffix(".sym"), 1)
    add_file(store, path, keep_original=True)


CHANGES: dict[str, tuple[int, Callable[[Store], object]]] = {
    "add": (0, lambda store: put(store, 1)),
    "add a further one": (
        0,
        lambda store: put(store, 1, debug_id=key(1).debug_id[:32]),
    ),
    "replace": (1, lambda store: put(store, 1, functions=9)),
    "join": (1, put_sym),
    "remove": (1, lambda store: store.collect(0)),
    "replace and remove": (1, lambda s: (put(s, 1, functions=9), s.collect(0))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_store_whose_only_change_is_killed_at_any_call_is_whole(
    tmp_path: Path, change: str
) -> None:
    count, work = CHANGES[change]
    for calls in range(999):
        store = Store(tmp_path / f"store{calls}")
        with store.temporary_folder():
            pass  # which makes the store
        for _ in range(count):
            put(store, 1)
        # Who looks at the locks of a killed process removes them.
        is_over = killed(calls, CALLS, partial(work, store))
        for _ in range(2):
            reasons = {each.reason for each in verify_store(store)}
            assert reasons <= {"unused files", "the link is broken"}, calls
            assert len(list(store.entries())) <= 1
        put(store, 2)
        assert len(list(store.entries())) in {1, 2}
        list(verify_store(store, repair=True))
        assert list(verify_store(store)) == []
        if is_over:
            break
    assert 10 < calls < 998


@pytest.mark.parametrize("place", [".entries/ab/AB.1234", ".tmp/1234"])
def test_unused_files_are_found_and_removed(store: Store, place: str) -> None:
    put(store, 1)
    left = Path(store.path, place)
    left.mkdir(parents=True)
    (left / "module.gsym").write_text("half")
    lock = Path(store.path, ".locks/left")
    lock.write_text("")
    expected = {place: "unused files"}
    assert findings(store) == expected
    assert findings(store, repair=True) == expected
    assert findings(store) == {}
    assert not left.exists()
    assert not lock.exists()


def test_the_command_verifies(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    entry = put(store, 1).entry
    arguments = ["store", "verify", "--store", store.path]
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"{store.path}: the store is valid\n"
    break_file(entry)
    assert main([*arguments, "--quick"]) == 0
    capsys.readouterr()
    assert main(arguments) == 1
    assert "its GSYM file is damaged" in capsys.readouterr().out
    assert main([*arguments, "--repair"]) == 0
    assert capsys.readouterr().out.endswith(" (repaired)\n")
    assert main([*arguments[:3], f"{store.path}-2"]) == 1
    assert "not a store" in capsys.readouterr().err


# ---- export


def test_modules_are_exported_as_symbol_servers_have_them(
    store: Store, tmp_path: Path
) -> None:
    text = Path(write_sym(tmp_path / "a.sym", 1)).read_text() + "STACK CFI INIT 1 1\n"
    (tmp_path / "a.sym").write_text(text)
    add_file(store, tmp_path / "a.sym", keep_original=True)
    put(store, 2, **windows_identity(2)._asdict())
    output = tmp_path / "out"
    done = list(export_modules(store.entries(), output, kind="sym"))
    one, two = identity(1).debug_id, identity(2).debug_id
    assert [(each.path, each.reason) for each in done] == [
        (f"lib1.so/{one}/lib1.so.sym", ""),
        (f"xul.pdb/{two}/xul.sym", ""),
    ]
    assert (output / done[0].path).read_text() == text
    made = (output / done[1].path).read_text().splitlines()
    assert made[0] == f"MODULE windows x86_64 {two} xul.pdb"
    assert made[1].endswith(" xul.dll")
    again = Store(tmp_path / "again")
    for each in done:
        add_file(again, output / each.path)
    assert {each.identity for each in again.entries()} == {
        each.identity for each in store.entries()
    }


@pytest.mark.parametrize("suffix", [".zip", ".tar", ".tar.xz"])
def test_modules_are_exported_into_an_archive(
    store: Store, tmp_path: Path, suffix: str
) -> None:
    entries = [put(store, number).entry for number in (1, 2)]
    output = tmp_path / f"out{suffix}"
    done = list(export_modules(store.entries(), output, kind="gsym"))
    for each in done:
        if suffix == ".zip":
            with zipfile.ZipFile(output) as archive:
                data = archive.read(each.path)
        else:
            with tarfile.open(output) as archive_tar:
                file = archive_tar.extractfile(each.path)
                assert file is not None
                data = file.read()
        assert data == Path(each.entry.path).read_bytes()
    assert len(done) == len(entries)
    assert {path.name for path in tmp_path.iterdir()} == {"store", output.name}


def test_names_invalid_in_paths_are_escaped(store: Store, tmp_path: Path) -> None:
    put(store, 1, debug_file="..\\x\n.so")
    (done,) = export_modules(store.entries(), tmp_path / "out", kind="gsym")
    assert done.path.startswith("%2E.%5Cx%0A.so/")
    assert (tmp_path / "out" / done.path).exists()


def test_incomplete_module_is_skipped_and_reported(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(store, 1, architecture="")
    put(store, 2)
    output = str(tmp_path / "out")
    arguments = ["store", "export", "--store", store.path]
    assert main([*arguments, "-o", output]) == 1
    captured = capsys.readouterr()
    assert "lib1.so.sym: the architecture of the module must be given" in captured.err
    assert captured.out == f"lib2.so/{identity(2).debug_id}/lib2.so.sym\n"
    assert main([*arguments, "-o", output, "--to", "gsym", "LIB1*"]) == 0
    assert capsys.readouterr().out == f"lib1.so/{identity(1).debug_id}/lib1.so.gsym\n"
    assert main([*arguments, "-o", output, "--to", "x"]) == 2
    assert main(arguments) == 2


def test_exports_are_a_source_of_the_same_modules(store: Store, tmp_path: Path) -> None:
    put(store, 1)
    list(export_modules(store.entries(), tmp_path / "out.zip", kind="gsym"))
    other = Store(tmp_path / "other")
    debug_id = identity(1).debug_id
    entry = add_file(
        other,
        Path(store.path) / f"lib1.so/{debug_id}/lib1.so.gsym",
        key=ModuleKey("lib1.so", debug_id),
    ).entry
    assert entry.uuid == build_id(1)


@pytest.mark.parametrize(
    ("fields", "output", "reason"),
    [
        ({"debug_file": "a" * 254}, "out", "the name is too long for a file"),
        ({"os": "two words"}, "out", "'two words' is not one word"),
        ({"os": "two words"}, "out.zip", "'two words' is not one word"),
    ],
)
def test_module_that_cannot_be_exported_does_not_stop_the_others(
    tmp_path: Path, fields: dict[str, str], output: str, reason: str
) -> None:
    store = Store(tmp_path / "store")
    put(store, 1, **fields)  # type: ignore[arg-type]
    put(store, 2)
    found = export_modules(store.entries(), tmp_path / output, kind="sym")
    assert [each.reason for each in found] == [reason, ""]


def test_a_module_that_is_removed_does_not_stop_an_export(
    store: Store, tmp_path: Path
) -> None:
    first, second = (put(store, number).entry for number in (1, 2))
    store.remove(first)
    found = export_modules([first, second], tmp_path / "out", kind="gsym")
    assert [each.reason for each in found] == ["the module was removed meanwhile", ""]


@pytest.mark.parametrize(
    "words", ["list", "get a/B0", "info a/B0", "gc --max-size 1", "export -o out"]
)
def test_missing_store_is_not_an_empty_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    store = tmp_path / "none"
    assert main(["store", *words.split(), "--store", str(store)]) == 1
    reason = "no such store; 'gsym store add' creates it"
    assert capsys.readouterr().err == f"gsym: error: {store}: {reason}\n"
    assert not store.exists()


def test_info_takes_the_name_of_one_module(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = put(store, 1).entry
    name = entry.identity.debug_file
    arguments = ["store", "info", name, "--store", store.path]
    assert main(arguments) == 0
    assert entry.identity.debug_id in capsys.readouterr().out
    put(store, 2, debug_file=name)
    assert main(arguments) == 1
    assert f"several modules {name}: {entry.identity.debug_id}" in (
        capsys.readouterr().err
    )
    assert main(["store", "info", "[a]", "--store", store.path]) == 1
    assert "no module [a]" in capsys.readouterr().err


# ---- what killed processes leave


def test_files_being_written_are_not_leftovers(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    entry = put(store, 1).entry
    folder = OwnedFolder(f"{folder_of(entry).parent}/{entry.identity.debug_id}.")
    assert list(verify_store(store)) == []
    folder.release()
    (found,) = verify_store(store)
    assert found.path == os.path.relpath(folder.path, store.path)
    assert found.reason == "unused files"


def test_temporary_files_are_not_leftovers(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    put(store, 1)
    with store.temporary_folder():
        assert list(verify_store(store)) == []
    assert list(verify_store(store)) == []


@pytest.mark.parametrize("calls", [0, 2, 5])
def test_process_killed_while_publishing_leaves_nothing_for_long(
    tmp_path: Path, calls: int
) -> None:
    store = Store(tmp_path / "store")
    child = os.fork()
    if not child:
        left = [calls]

        def replace(source: str, target: str) -> None:
            if not left[0]:
                os._exit(0)
            left[0] -= 1
            rename(source, target)

        rename, os.replace = os.replace, replace  # type: ignore[assignment]
        put(store, 1)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "there are fewer calls"
    put(store, 1)
    list(verify_store(store, repair=True))
    assert list(verify_store(store)) == []
    names = {re.sub(r"\.[0-9a-f]{16}/", "/", each) for each in files(store)}
    whole = Store(tmp_path / "other")
    put(whole, 1)
    assert names == {re.sub(r"\.[0-9a-f]{16}/", "/", each) for each in files(whole)}
