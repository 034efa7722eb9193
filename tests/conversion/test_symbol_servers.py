"""PDBs from symbol stores and symbol servers, as they are and in cabinets."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

import gsym
from gsym.cli.main import main
from gsym.containers.cabinet import inflate_cabinet
from gsym.modules.conversion_cache import collect_cache
from gsym.store.adding import add_file
from gsym.store.directory import Store
from tests.http_server import Reply, Server
from tests.inputs.cabinet import LZX, MSZIP, STORED, cabinet
from tests.inputs.pdb import GUID, Function, Module, Pdb
from tests.inputs.pe import CODEVIEW, Pe, Section, codeview

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

http = pytest.mark.skipif(not find_spec("httpx2"), reason="needs the extra `net`")

KEY = "030201000504070608090A0B0C0D0E0F1"
PDB = Pdb([Module([Function("f", 0, 16, [(0, 5)])])])
MISSING = Reply(status=404)


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine counts; the cache is `cache`."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "app.exe"
    rename(path, rb"D:\build\App.pdb")
    return path


def rename(program: Path, pdb: bytes) -> None:
    """Write the program, whose record has the path *pdb*."""
    section = Section(".text", bytes(0x1000), 0x1000, 0x60000020)
    record = codeview(GUID, 1, os.fsdecode(pdb))
    image = Pe([section], image_base=0x140000000, debug=[(CODEVIEW, record)])
    program.write_bytes(image.to_bytes())


def convert(program: Path, *servers: Server) -> gsym.ConversionReport:
    urls = [each.url for each in servers]
    return gsym.convert(program, symbol_servers=urls, debug_file_directories=())


# ---- servers ---------------------------------------------------------------------


@http
def test_a_server_delivers_once(program: Path, tmp_path: Path) -> None:
    with Server(Reply(PDB.to_bytes())) as server:
        for _ in range(2):
            report = convert(program, server)
        assert server.paths == [f"/App.pdb/{KEY}/App.pdb"]
    cached = tmp_path / f"cache/symbols/App.pdb/{KEY}/App.pdb"
    assert report.companions == (str(cached),)
    assert report.functions_debug_info == 1
    assert list(cached.parent.iterdir()) == [cached]


@http
def test_a_server_may_have_a_cabinet(program: Path) -> None:
    packed = cabinet("App.pdb", PDB.to_bytes())

    with Server(MISSING, MISSING, Reply(packed)) as server:
        report = convert(program, server)
        assert server.paths[-1] == f"/App.pdb/{KEY}/App.pd_"
    assert report.functions_debug_info == 1


@http
def test_the_next_server_is_asked_for_what_does_not_fit(
    program: Path, tmp_path: Path
) -> None:
    other = replace(PDB, age=2).to_bytes()
    with (
        Server(MISSING) as empty,
        Server(Reply(status=403)) as closed,
        Server(Reply(other)) as wrong,
        Server(Reply(b"<html>")) as page,
    ):
        servers = (empty, closed, wrong, page)
        with pytest.raises(gsym.EmptyError) as error:
            convert(program, *servers)
        for server, reason in zip(
            (empty, closed), ("not found", "HTTP status 403: not allowed"), strict=True
        ):
            assert f"{server.url}: {reason}" in error.value.reason
        assert "is of another build: " in error.value.reason
        assert "neither a binary" in error.value.reason
        with Server(Reply(PDB.to_bytes())) as right:
            assert convert(program, *servers, right).functions_debug_info == 1
    kept = [name for _, _, names in os.walk(tmp_path / "cache") for name in names]
    assert kept == ["App.pdb"]


@http
def test_a_server_may_redirect_to_a_private_address(program: Path) -> None:
    with Server(Reply(PDB.to_bytes())) as storage:
        headers = (("Location", f"{storage.url}/file"),)
        with Server(Reply(status=302, headers=headers)) as server:
            assert convert(program, server).functions_debug_info == 1


@http
def test_errors_do_not_repeat_the_password_of_a_server(program: Path) -> None:
    with Server(MISSING) as server:
        url = server.url.replace("://", "://me:secret@") + "/?token=secret"
        with pytest.raises(gsym.EmptyError, match="not found") as error:
            gsym.convert(program, symbol_servers=[url], debug_file_directories=())
    assert server.requests[0].headers["authorization"].startswith("Basic ")
    assert "secret" not in str(error.value)


@http
@pytest.mark.parametrize(
    ("path", "asked"),
    [
        (rb"D:\..\..\x.pdb", "/x.pdb/"),
        (b"a?b#%2e\n\x1b.pdb", "/a%3Fb%23%252e%0A%1B.pdb/"),
        (b"\xff.pdb", "/%FF.pdb/"),
    ],
)
def test_any_name_stays_in_the_cache(
    program: Path, tmp_path: Path, path: bytes, asked: str
) -> None:
    rename(program, path)
    with Server(Reply(PDB.to_bytes())) as server:
        (found,) = convert(program, server).companions
        assert server.paths[0].startswith(asked)
    assert Path(found).resolve().parent.parent.parent == tmp_path / "cache/symbols"


@http
@pytest.mark.parametrize("path", [b"", b".", b"..", rb"a\..", b"..\\", b"n" * 300])
def test_a_name_that_no_file_can_have_leaves_nothing(
    program: Path, tmp_path: Path, path: bytes
) -> None:
    rename(program, path)
    with Server(Reply(PDB.to_bytes())) as server, pytest.raises(gsym.EmptyError):
        convert(program, server)
    assert [names for _, _, names in os.walk(tmp_path / "cache") if names] == []


@http
def test_no_server_is_asked_for_a_pdb_that_is_there(
    program: Path, tmp_path: Path
) -> None:
    (tmp_path / "app.pdb").write_bytes(PDB.to_bytes())
    with Server(MISSING) as server:
        convert(program, server)
        assert server.requests == []


@http
def test_a_url_that_is_none_is_named(program: Path) -> None:
    with pytest.raises(gsym.EmptyError, match=r"symbols: the URL is not http or http"):
        gsym.convert(program, symbol_servers=["symbols"], debug_file_directories=())


@http
def test_convert_and_store_add_have_the_option(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Server(Reply(PDB.to_bytes())) as server:
        assert main(["convert", str(program), "--symbol-server", server.url]) == 0
        store = str(tmp_path / "store")
        command = ["store", "add", str(program), "--store", store]
        assert main([*command, "--symbol-server", server.url]) == 0
    assert capsys.readouterr().out.count("1 functions") == 2


@http
def test_files_of_servers_leave_the_cache_too(program: Path, tmp_path: Path) -> None:
    with Server(Reply(PDB.to_bytes())) as server:
        convert(program, server)
    assert collect_cache(0).removed == 1
    assert [names for _, _, names in os.walk(tmp_path / "cache") if names] == []


# ---- stores ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        f"App.pdb/{KEY}/App.pdb",
        f"Ap/App.pdb/{KEY}/App.pdb",
        f"app.pdb/{KEY}/app.pdb",
        f"ap/app.pdb/{KEY.lower()}/app.pdb",
    ],
)
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_store_of_any_form_has_the_pdb(
    program: Path, tmp_path: Path, path: str, *, is_packed: bool
) -> None:
    content = PDB.to_bytes()
    if is_packed:
        path, content = f"{path[:-1]}_", cabinet("App.pdb", content)
    file = tmp_path / "symbols" / path
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    report = gsym.convert(program, debug_file_directories=[str(tmp_path / "symbols")])
    assert report.companions == (str(file),)


# ---- cabinets --------------------------------------------------------------------


@pytest.mark.parametrize("compression", [STORED, MSZIP, LZX])
def test_each_compression_is_read(compression: int) -> None:
    content = bytes(range(256)) * 300 + b"end"
    packed = cabinet("a.pdb", content, compression)
    pieces = (packed[at : at + 1000] for at in range(0, len(packed), 1000))
    assert b"".join(inflate_cabinet(pieces)) == content


@pytest.mark.parametrize("size", [0, 4, 40, 80, 1000])
def test_a_cabinet_that_is_cut_is_damaged(size: int) -> None:
    with pytest.raises(ValueError, match=r"."):
        b"".join(inflate_cabinet([cabinet("a.pdb", os.urandom(5000))[:size]]))


def test_a_damaged_cabinet_is_named(program: Path, tmp_path: Path) -> None:
    file = tmp_path / f"symbols/App.pdb/{KEY}/App.pd_"
    file.parent.mkdir(parents=True)
    file.write_bytes(cabinet("App.pdb", PDB.to_bytes())[:-100])
    with pytest.raises(gsym.EmptyError, match=r"App\.pd_: compressed data is damaged"):
        gsym.convert(program, debug_file_directories=[str(tmp_path / "symbols")])


def test_a_cabinet_that_inflates_without_end_is_refused(
    program: Path, tmp_path: Path
) -> None:
    file = tmp_path / f"symbols/App.pdb/{KEY}/App.pd_"
    file.parent.mkdir(parents=True)
    file.write_bytes(cabinet("App.pdb", bytes(32 << 20)))
    with pytest.raises(gsym.EmptyError, match=r"more than is believable"):
        gsym.convert(program, debug_file_directories=[str(tmp_path / "symbols")])


def test_a_store_takes_a_cabinet(tmp_path: Path) -> None:
    file = tmp_path / "App.pd_"
    file.write_bytes(cabinet("App.pdb", PDB.to_bytes()))
    added = add_file(Store(tmp_path / "store"), file)
    assert added.outcome == "added"
    assert added.entry.identity.debug_file == "App.pdb"
