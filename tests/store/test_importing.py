"""Trees and buckets imported into a store; an import that was broken off goes on."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gsym.cli.main import main
from gsym.errors import NotFoundError
from gsym.net.limits import TransferLimits
from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.importing import import_all, open_import_place
from tests.closed_folders import make_closed_folder
from tests.http_server import Reply, Server
from tests.symbol_files import debug_id, key, symbols

if TYPE_CHECKING:
    from gsym.store.tree_adding import FileOutcome

pytestmark = pytest.mark.long

COUNT = 6


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A Breakpad tree of some modules, with files that are none."""
    root = tmp_path / "tree"
    for number in range(COUNT):
        folder = root / "app" / debug_id(number)
        folder.mkdir(parents=True)
        (folder / "app.sym").write_bytes(symbols(number))
    (root / "readme.txt").write_text("symbols")
    (root / "broken.sym").write_bytes(
        b"MODULE Linux x86_64 nonsense app\nFUNC 1 1 0 f\n"
    )
    return root


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def run(
    store: Store, place: Path | str, *, is_repeated: bool = False
) -> list[FileOutcome]:
    opened = open_import_place(str(place), TransferLimits())
    return list(import_all(store, opened, jobs=2, is_repeated=is_repeated))


def counts(outcomes: list[FileOutcome]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in outcomes:
        found[each.outcome] = found.get(each.outcome, 0) + 1
    return found


def test_all_modules_of_a_tree_are_imported(store: Store, tree: Path) -> None:
    assert counts(run(store, tree)) == {"added": COUNT, "skipped": 1, "failed": 1}
    assert [number for number in range(COUNT) if not store.get(key(number))] == []


def test_import_does_not_wait_for_pipes(store: Store, tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    assert counts(run(store, tree)) == {"added": COUNT, "skipped": 1, "failed": 1}


def test_import_skips_files_that_are_done_and_unchanged(
    store: Store, tree: Path
) -> None:
    run(store, tree)
    assert counts(run(store, tree)) == {"done": COUNT + 1, "failed": 1}
    changed = tree / "app" / debug_id(0) / "app.sym"
    changed.write_bytes(symbols(0, functions=2))
    assert counts(run(store, tree)) == {"done": COUNT, "replaced": 1, "failed": 1}
    again = counts(run(store, tree, is_repeated=True))
    assert again == {"kept": COUNT, "skipped": 1, "failed": 1}


def test_interrupted_import_continues(store: Store, tree: Path) -> None:
    place = open_import_place(str(tree), TransferLimits())
    begun = import_all(store, place, jobs=1)
    first = [next(begun), next(begun), next(begun)]
    del begun  # it ends, as by a signal
    assert counts(first)["added"] >= 1
    (journal,) = Path(store.path, ".imports").iterdir()
    journal.write_bytes(journal.read_bytes()[:-5])  # killed while it wrote
    rest = counts(run(store, tree))
    assert 1 <= rest["done"] <= 6
    assert [number for number in range(COUNT) if not store.get(key(number))] == []
    assert counts(run(store, tree)) == {"done": COUNT + 1, "failed": 1}


def test_a_damaged_module_of_another_store_does_not_stop_its_import(
    store: Store, tree: Path, tmp_path: Path
) -> None:
    other = Store(tmp_path / "other")
    for number in range(3):
        add_file(other, tree / "app" / debug_id(number) / "app.sym")
    entry = other.get(key(1))
    assert entry is not None
    Path(entry.path).with_name("module.json").write_text("{")
    for added in ("added", "done"):
        assert counts(run(store, other.path)) == {added: 2, "failed": 1}


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_files_that_cannot_be_read_do_not_stop_an_import(
    store: Store, tree: Path
) -> None:
    (tree / "gone.sym").symlink_to(tree / "nowhere")
    (tree / "bad_disk.sym").symlink_to("/proc/self/mem")  # has nothing at its start
    found = run(store, tree)
    assert counts(found) == {"added": COUNT, "failed": 2, "skipped": 1}
    reasons = {each.path: each.reason for each in found}
    assert reasons["bad_disk.sym"] == "Input/output error"


def test_a_folder_that_cannot_be_read_is_a_failure_of_an_import(
    store: Store, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_closed_folder(tree / "closed", monkeypatch)
    found = {each.path: each for each in run(store, tree)}
    assert found["closed"].outcome == "failed"
    assert found["closed"].reason == "Permission denied"


def test_a_module_that_is_removed_from_another_store_is_reported(
    tree: Path, tmp_path: Path
) -> None:
    other = Store(tmp_path / "other")
    published = add_file(other, tree / "app" / debug_id(3) / "app.sym")
    place = open_import_place(other.path, TransferLimits())
    (item,) = place.items()
    other.remove(published.entry)
    with pytest.raises(NotFoundError, match=f"{item.path}: was removed"):
        item.take(str(tmp_path))


def test_another_store_is_imported_with_its_identities(
    store: Store, tree: Path, tmp_path: Path
) -> None:
    other = Store(tmp_path / "other")
    published = add_file(other, tree / "app" / debug_id(3) / "app.sym")
    assert counts(run(store, other.path)) == {"added": 1}
    found = store.get(key(3))
    assert found is not None
    assert found.identity == published.entry.identity
    assert found.source == published.entry.source


def test_a_store_within_the_tree_is_left_out(tree: Path) -> None:
    store = Store(tree / "store")
    run(store, tree)
    assert counts(run(store, tree)) == {"done": COUNT + 1, "failed": 1}


def test_a_bucket_is_imported(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore", reason="the extra `cloud` is not installed")
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    stamp = (("Last-Modified", "Sat, 21 Nov 2026 10:00:00 GMT"), ("ETag", '"1"'))
    paths = [f"app/{debug_id(number)}/app.sym" for number in range(3)]
    rows = "".join(
        f"<Contents><Key>{each}</Key><LastModified>2026-11-21T10:00:00.000Z"
        f'</LastModified><ETag>"1"</ETag><Size>7</Size></Contents>'
        for each in paths
    )
    listing = (
        '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b'
        f"</Name><KeyCount>3</KeyCount><IsTruncated>false</IsTruncated>{rows}"
        "</ListBucketResult>"
    )
    with Server() as server:
        server.replies["/b?list-type=2"] = Reply(listing.encode())
        for number, each in enumerate(paths):
            server.replies[f"/b/{each}"] = Reply(symbols(number), headers=stamp)
        server.replies[f"/b/{paths[2]}"] = Reply(status=403)
        url = f"s3://b?endpoint={server.url}&region=us-east-1"
        assert counts(run(store, url)) == {"added": 2, "failed": 1}
        server.replies[f"/b/{paths[2]}"] = Reply(symbols(2), headers=stamp)
        assert counts(run(store, url)) == {"added": 1, "done": 2}
        assert server.counts[f"/b/{paths[0]}"] == 1


# ---- the command


def test_command_prints_what_was_imported(
    store: Store, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["store", "import", "--store", store.path, str(tree)]
    assert main(arguments) == 1
    output = capsys.readouterr()
    assert f"{tree}: 6 added, 1 failed, 1 skipped" in output.out
    assert "broken.sym: " in output.err
    (tree / "broken.sym").unlink()
    assert main(arguments) == 0
    assert f"{tree}: 7 done" in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    assert capsys.readouterr().out.count('"outcome": "done"') == 7


@pytest.mark.parametrize("place", ["/no/such/folder", "http://h/", "s3://b?nonsense=1"])
def test_invalid_place_is_a_wrong_command_line(
    store: Store, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("obstore", reason="the extra `cloud` is not installed")
    assert main(["store", "import", "--store", store.path, place]) == 2
    assert "PLACE: " in capsys.readouterr().err
    assert not Path(store.path).exists()
