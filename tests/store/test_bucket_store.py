"""A store in a bucket: published once, looked up by ranges, a source for others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.errors import AmbiguousModuleError, FormatError, SourceError
from gsym.modules.key import ModuleKey, key_of_build_id
from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.sources.settings import (
    SourceOpener,
    open_source,
    source_of_store,
)
from gsym.store.tree_export import export_modules
from tests.creations import create
from tests.object_server import ObjectServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.store.entries import Entry

pytest.importorskip("obstore", reason="the extra `cloud` is not installed")

ROOT = Path(__file__).resolve().parents[2]
RECIPE = ROOT / "docs/examples/convert_bucket.py"
ID = bytes(range(1, 21))
KEY = key_of_build_id(ID)
FOLDER = "/symbols/crash/.debug-id/04/03020106050807090A0B0C0D0E0F10"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectServer]:
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    with ObjectServer() as running:
        yield running


@pytest.fixture
def url(server: ObjectServer) -> str:
    return server.bucket("symbols/crash")


def entry_of(folder: Path, name: str = "main") -> Entry:
    """A module of a store in *folder*."""
    functions = [gsym.FunctionInfo(0x1000 + i * 16, 16, f"{name}{i}") for i in range(9)]
    path = folder / f"{name}.gsym"
    path.write_bytes(create(functions, uuid=ID))
    identity = gsym.ModuleKey(os="Linux", debug_file="libapp.so")
    store = Store(folder / f"store-{name}")
    return add_file(store, path, identity=identity).entry


def test_a_published_module_is_found_by_its_ids(
    server: ObjectServer, url: str, tmp_path: Path
) -> None:
    store, entry = gsym.BucketStore(url), entry_of(tmp_path)
    assert repr(store) == f"<gsym.store.BucketStore {store.name}>"
    assert store.get(KEY) is None
    assert store.open(KEY) is None
    assert store.publish(entry)
    assert set(server.objects) == {f"{FOLDER}0/module.gsym", f"{FOLDER}0/module.json"}
    again = gsym.BucketStore(url)
    for key in (KEY, ModuleKey(debug_id=entry.identity.debug_id)):
        found = again.get(key)
        assert found is not None
        assert (found.identity, found.quality) == (entry.identity, entry.quality)
        opened = again.open(key)
        assert opened is not None
        answer = opened[1].lookup(0x1014)
        assert answer is not None
        assert answer.function.name == "main1"
    assert again.get(ModuleKey(debug_id="not an id")) is None


def test_a_module_is_published_once(
    server: ObjectServer, url: str, tmp_path: Path
) -> None:
    entries = [entry_of(tmp_path, f"m{number}_") for number in range(8)]
    outcomes: list[bool] = []
    threads = [
        threading.Thread(
            target=lambda each=each: outcomes.append(
                gsym.BucketStore(url).publish(each)
            )
        )
        for each in entries
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(outcomes) == [False] * 7 + [True]
    puts = [each for each in server.requests if each.method == "PUT"]
    assert {each.headers.get("if-none-match") for each in puts} == {"*"}
    first = server.objects[f"{FOLDER}0/module.gsym"]
    assert not gsym.BucketStore(url).publish(entries[3])
    assert server.objects[f"{FOLDER}0/module.gsym"] is first


def test_a_module_is_visible_once_it_is_complete(
    server: ObjectServer, url: str, tmp_path: Path
) -> None:
    store = gsym.BucketStore(url)
    store.publish(entry_of(tmp_path))
    puts = [each.path for each in server.requests if each.method == "PUT"]
    assert puts[-1].endswith("/module.gsym")
    del server.objects[f"{FOLDER}0/module.gsym"]  # as if killed before it
    assert gsym.BucketStore(url).get(KEY) is None
    server.objects[f"{FOLDER}0/module.gsym"] = b""
    server.objects[f"{FOLDER}0/module.json"] = b"{}"
    with pytest.raises(FormatError, match=r"module\.json: damaged record") as caught:
        gsym.BucketStore(url).get(KEY)
    assert "s3cret" not in str(caught.value)


def test_a_symbolizer_reads_parts_of_modules_in_a_bucket(
    server: ObjectServer, url: str, tmp_path: Path
) -> None:
    store = gsym.BucketStore(url)
    store.publish(entry_of(tmp_path))
    symbolizer = Symbolizer(store, recheck=0)
    found = symbolizer.symbolize(KEY, va=0x1025)
    assert found.lookup is not None
    assert found.lookup.function.name == "main2"
    server.counted()
    again = symbolizer.symbolize(KEY, va=0x1035)
    assert again.lookup is not None
    assert server.counted() == (0, 0)
    other = key_of_build_id(bytes(reversed(ID)))
    assert symbolizer.symbolize(other, va=0x1000).lookup is None
    symbolizer.close()


def test_builds_of_one_debug_id_are_told_apart(
    server: ObjectServer, url: str, tmp_path: Path
) -> None:
    store = gsym.BucketStore(url)
    first = entry_of(tmp_path)
    code = [first.identity._replace(code_hash=digit * 32) for digit in "ab"]
    entries = [first._replace(identity=each) for each in code]
    assert [store.publish(each) for each in entries] == [True, True]
    assert [store.publish(each) for each in entries] == [False, False]
    assert len(server.objects) == 4
    other = first.identity._replace(code_id=ID[:-1].hex() + "99")
    assert store.publish(first._replace(identity=other))
    again = gsym.BucketStore(url)
    for each in (*code, other):
        found = again.get(each)
        assert found is not None
        assert found.identity == each._replace(code_id=each.code_id.upper())
        with pytest.raises(AmbiguousModuleError, match="modules have this id"):
            again.get(ModuleKey(debug_id=each.debug_id))
    assert again.get(key_of_build_id(ID[:-1] + b"?")) is None
    assert Symbolizer(again).open(KEY).reason.startswith("store: 2 modules have this")
    windows = other._replace(os="windows", debug_id="1" * 32, code_id="123456789000")
    assert store.publish(first._replace(identity=windows))
    found = gsym.BucketStore(url).get(ModuleKey(debug_id="1" * 32 + "7"))
    assert found is not None
    assert found.identity.debug_id == "1" * 32


def test_a_bucket_with_a_store_is_a_source_of_modules_with_names(
    url: str, tmp_path: Path
) -> None:
    entry = entry_of(tmp_path)
    gsym.BucketStore(url).publish(entry)
    resolver = Resolver(Store(tmp_path / "other"), [open_source(url)])
    found = resolver.resolve(KEY).entry
    assert found is not None
    assert found.identity == entry.identity


def test_the_command_publishes_a_store(
    server: ObjectServer, url: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "store-main")
    entry_of(tmp_path)
    command = ["store", "export", "--store", folder, "-o", url]
    for _ in range(2):
        assert main([*command, "--to", "gsym"]) == 0
        assert capfd.readouterr().out == f"{FOLDER[15:]}0\n"
    assert len(server.objects) == 2
    assert main(command) == 1
    assert "only GSYM files: '--to gsym'" in capfd.readouterr().err
    address = server.bucket(f"{FOLDER[1:]}0/module.gsym")
    assert main(["lookup", address, "0x1014"]) == 0
    assert capfd.readouterr().out == "0x1014: main1 + 4\n"


def test_commands_fill_and_read_a_store_at_a_url(
    server: ObjectServer,
    url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "own"))
    entry = entry_of(tmp_path)
    for _ in range(2):
        assert main(["store", "add", "--store", url, entry.path]) == 0
    assert set(server.objects) == {f"{FOLDER}0/module.gsym", f"{FOLDER}0/module.json"}
    assert capfd.readouterr().out.count("1 added") == 2
    log = tmp_path / "log"
    log.write_text(
        f"{{{{{{module:0:libapp.so:elf:{ID.hex()}}}}}}}\n"
        "{{{mmap:0x0:0x2000:load:0:rx:0x0}}}\n{{{pc:0x1014}}}\n"
    )
    assert main(["filter", "--store", url, str(log)]) == 0
    assert "main1" in capfd.readouterr().out
    assert (tmp_path / "own").is_dir()
    web = source_of_store(server.url + FOLDER.partition("/.debug-id")[0])
    with SourceOpener() as opener:
        found = Resolver(Store(tmp_path / "web"), list(opener.open(web))).resolve(KEY)
        assert found.entry is not None
    assert main(["store", "list", "--store", url]) == 2
    assert "'s3://symbols/crash' is not a folder" in capfd.readouterr().err
    for verb in ("add", "filter", "symbolicate"):
        command = ["store", verb] if verb == "add" else [verb]
        assert main([*command, "--store", "ftp://a/b", str(log)]) == 2
        assert "'ftp://a/b'" in capfd.readouterr().err
    assert not Path("s3:").exists()


@pytest.mark.slow
def test_the_recipe_for_dask_publishes_what_a_bucket_has(
    server: ObjectServer, url: str
) -> None:
    pytest.importorskip("dask.bag", reason="dask is not installed")
    data = create([gsym.FunctionInfo(0x1000, 16, "main")], uuid=ID)
    server.objects |= {"/builds/a/app.gsym": data, "/builds/a/notes.txt": b"text"}
    settings = {"AWS_ALLOW_HTTP": "true", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, RECIPE, server.bucket("builds/a"), url],
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=300,
    )
    entry = gsym.BucketStore(url).get(KEY)
    assert entry is not None
    binary, text = sorted(done.stdout.splitlines())
    assert binary == f"app.gsym {entry.identity.debug_id}"
    assert text.startswith("notes.txt neither a binary")


def test_a_bucket_that_refuses_is_reported(
    server: ObjectServer, url: str, tmp_path: Path
) -> None:
    entry = entry_of(tmp_path)
    server.refuses = True
    store = gsym.BucketStore(url)
    for call in (lambda: store.publish(entry), lambda: store.get(KEY)):
        with pytest.raises(SourceError, match="not allowed") as caught:
            call()
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith("s3://symbols/crash/.debug-id/")
    (done,) = export_modules([entry], url, kind="gsym")
    assert "not allowed" in done.reason


def test_a_module_that_cannot_be_published_does_not_stop_the_others(
    server: ObjectServer, url: str, tmp_path: Path
) -> None:
    gone, entry = entry_of(tmp_path, "gone"), entry_of(tmp_path)
    shutil.rmtree(Path(gone.path).parent)
    found = export_modules([gone, entry], url, kind="gsym")
    assert [each.reason for each in found] == ["the module was removed meanwhile", ""]
    assert len(server.objects) == 2
    with pytest.raises(SourceError, match="s3://: "):
        list(export_modules([entry], "s3://?secret", kind="gsym"))
