"""Microsoft's layout, and a server in front of a private bucket."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from gsym.conversion.identity import identify
from gsym.modules.key import ModuleKey
from gsym.modules.resolver import Resolver
from gsym.server.modules import make_symbolizer
from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.sources.settings import SourceOpener
from tests.inputs.macho import Macho, Symbol, code
from tests.inputs.pdb import GUID, TEXT, Function, Module, Pdb
from tests.inputs.pe import CODEVIEW, Pe, Section, codeview
from tests.object_server import ObjectServer
from tests.server.running import RunningServer, made_settings
from tests.server.test_packages import binary
from tests.store_modules import build_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.long, pytest.mark.no_engine, pytest.mark.confined]

PDB_ID = "030201000504070608090A0B0C0D0E0F1"
PDB = Pdb([Module([Function("f", 0, 16, [(0, 5)])])]).to_bytes()
IMAGE = Pe(
    [Section(".text", bytes(0x1000), TEXT, 0x60000020)],
    image_base=0x140000000,
    debug=[(CODEVIEW, codeview(GUID, 1, r"D:\build\app.pdb"))],
).to_bytes()
UUID = bytes(range(16))
MACHO = Macho([code()], [Symbol("_f", 0x1000)], uuid=UUID).to_bytes()


@pytest.fixture(scope="module")
def code_id(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("image") / "app.exe"
    path.write_bytes(IMAGE)
    return identify(path).code_id


@pytest.fixture(scope="module", params=["uploads", "a folder"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("symstore")
    (place := folder / "files").mkdir()
    files = {
        "app.pdb": PDB,
        "app.exe": IMAGE,
        "app": binary(1),
        "libx.dylib": MACHO,
    }
    for name, data in files.items():
        (place / name).write_bytes(data)
    settings: dict[str, Any] = {"store": str(folder / "store")}
    if request.param == "uploads":
        for name in files:
            add_file(Store(folder / "store"), place / name, keep_original=True)
        place = folder / "nothing"
        place.mkdir()
    settings["sources"] = [str(place)]
    symbolizer = make_symbolizer(made_settings(**settings))
    with RunningServer(symbolizer, **settings) as running:
        yield running
    symbolizer.close()


DIGITS = build_id(1).hex()
PATHS = {
    f"/app.pdb/{PDB_ID}/app.pdb": PDB,
    f"/app.pdb/{PDB_ID.lower()}/app.pdb": PDB,
    f"/APP.PDB/{PDB_ID}/app.pdb": PDB,
    f"/ap/app.pdb/{PDB_ID}/app.pdb": PDB,
    f"/app/elf-buildid-{DIGITS}/app": binary(1),
    f"/_.debug/elf-buildid-sym-{DIGITS}/_.debug": binary(1),
    f"/_./_.debug/elf-buildid-sym-{DIGITS}/_.debug": binary(1),
    f"/libx.dylib/mach-uuid-{UUID.hex()}/libx.dylib": MACHO,
    f"/_.dwarf/mach-uuid-sym-{UUID.hex()}/_.dwarf": MACHO,
}


@pytest.mark.parametrize("path", PATHS)
def test_files_are_at_the_paths_of_a_symbol_store(
    path: str, server: RunningServer
) -> None:
    answer = server.ask("GET", path)
    assert (answer.status, answer.body) == (200, PATHS[path])


def test_an_image_is_at_its_time_and_size(server: RunningServer, code_id: str) -> None:
    answer = server.ask("GET", f"/app.exe/{code_id}/app.exe")
    assert (answer.status, answer.body) == (200, IMAGE)


@pytest.mark.parametrize(
    "path",
    [
        f"/app.pdb/{PDB_ID}/other.pdb",
        f"/app.pdb/{PDB_ID[:-1]}7/app.pdb",
        f"/zz/app.pdb/{PDB_ID}/app.pdb",
        f"/app/elf-buildid-{'ab' * 20}/app",
        "/app/elf-buildid-xyz/app",
        "/app/mach-uuid-00/app",
        "/app.exe/5E8F310E0/app.exe",
        "/app.exe/..%2f../app.exe",
        f"/app/{'A' * 300}/app",
        f"/app.pdb/{PDB_ID}/app.pd_",
    ],
)
def test_other_paths_are_404(path: str, server: RunningServer) -> None:
    assert server.ask("GET", path).status == 404


def test_a_client_of_symbol_servers_finds_files(
    server: RunningServer, tmp_path: Path
) -> None:
    pytest.importorskip("httpx2", reason="the extra `net` is not installed")
    with SourceOpener(environment={}) as opener:
        sources = list(opener.open(f"srv*{server.url}"))
        resolver = Resolver(Store(tmp_path / "mine"), sources)
        for key in (ModuleKey("app.pdb", PDB_ID), ModuleKey(code_id=DIGITS.upper())):
            found = resolver.resolve(key).entry
            assert found is not None, key


# ---- in front of a bucket


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectServer]:
    pytest.importorskip("obstore", reason="the extra `cloud` is not installed")
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    objects = {f"/private/symbols/buildid/{DIGITS}/debuginfo": binary(1)}
    with ObjectServer(objects) as running:
        yield running


def test_a_private_bucket_is_read_with_the_token_of_the_server_s_client(
    bucket: ObjectServer, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {
        "store": str(tmp_path / "store"),
        "sources": [bucket.bucket("private/symbols")],
        "fetch_downloads": True,
    }
    symbolizer = make_symbolizer(made_settings(**settings))
    with RunningServer(symbolizer, tokens={"ann": "read"}, **settings) as server:
        path = f"/buildid/{DIGITS}/debuginfo"
        assert server.ask("GET", path).status == 401
        assert bucket.requests == []
        ann = {"Authorization": "Bearer ann"}
        assert server.ask("GET", path, headers=ann).body == binary(1)
        assert server.ask("GET", f"/buildid/{DIGITS}/gsym", headers=ann).status == 200
        missing = server.ask("GET", f"/buildid/{'ab' * 20}/debuginfo", headers=ann)
        assert missing.status == 404
        client = shutil.which("debuginfod-find")
        if client is not None:
            environment = {
                **os.environ,
                "DEBUGINFOD_URLS": server.url,
                "DEBUGINFOD_HEADERS_FILE": str(tmp_path / "headers"),
                "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"),
            }
            (tmp_path / "headers").write_text("Authorization: Bearer ann\n")
            command = [client, "debuginfo", DIGITS]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
    signed = [each.headers.get("authorization", "") for each in bucket.requests]
    assert signed
    assert [
        each
        for each in signed
        if not each.startswith("AWS4-HMAC-SHA256 Credential=key/")
    ] == []
    symbolizer.close()
