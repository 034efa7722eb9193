"""Sources as people write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from gsym.conversion.companions.debuginfod_settings import read_settings
from gsym.errors import SourceError
from gsym.modules.key import ModuleKey
from gsym.net.limits import TransferLimits
from gsym.store.directory import Store
from gsym.store.entries import Entry
from gsym.store.loose_files import LooseFiles
from gsym.store.sidecar import entry_text
from gsym.store.sources.local_trees import LocalStore, LocalTree
from gsym.store.sources.settings import SourceOpener, open_source
from gsym.store.sources.source import SourceList
from tests.http_server import Reply, Server
from tests.symbol_files import debug_id, key, path, symbols

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_engine

httpx2 = pytest.importorskip("httpx2", reason="the extra `net` is not installed")

URLS = "https://one.example https://two.example/x/"


def text_of(key: ModuleKey) -> bytes:
    """What a server says of a module."""
    return entry_text(Entry(path="", identity=key))


def test_each_form_opens_its_sources() -> None:
    for text, names in [
        ("http://h.example/symbols", ["breakpad http://h.example/symbols"]),
        ("https://u:secret@h.example", ["breakpad https://h.example/"]),
        ("https://h.example/?sas=secret", ["breakpad https://h.example/"]),
        ("breakpad+https://h.example", ["breakpad https://h.example/"]),
        ("gsym+https://h.example", ["gsym https://h.example/"]),
        ("unified+https://h.example", ["unified https://h.example/"]),
        ("symstore+https://h.example", ["symstore https://h.example/"]),
        ("debuginfod+https://h.example", ["debuginfod https://h.example/"]),
        ("debuginfod:https://h.example", ["debuginfod https://h.example/"]),
        (
            "debuginfod",
            ["debuginfod https://one.example/", "debuginfod https://two.example/x"],
        ),
        (
            "srv*/cache*https://h.example/download/symbols",
            ["/cache", "symstore https://h.example/download/symbols"],
        ),
        ("SRV*https://h.example/symbols", ["symstore https://h.example/symbols"]),
    ]:
        with SourceOpener(environment={"DEBUGINFOD_URLS": URLS}) as opener:
            assert [source.name for source in opener.open(text)] == names


def test_kind_of_a_folder_is_recognized_by_its_contents(tmp_path: Path) -> None:
    (tree, files) = SourceOpener().open(str(tmp_path))
    assert isinstance(tree, LocalTree)
    assert isinstance(files, LooseFiles)
    (tmp_path / "gsym-store.json").write_text('{"layout": 1}')
    (store,) = SourceOpener().open(str(tmp_path))
    assert isinstance(store, LocalStore)
    assert open_source(str(tmp_path)).name == str(tmp_path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "sources are folders"),
        ("ftp://u:secret@h/x?secret", "source 'ftp://h/x': sources are folders"),
        ("https://", "source 'https://': the URL has no valid host"),
        ("http://u:secret@h:port/", "source 'http://h:port/'"),
        ("/no/such/folder", "no such folder"),
        ("nonsense", "no such folder"),
        ("debuginfod", "DEBUGINFOD_URLS contains no server"),
        ("debuginfod:ftp://h", "is not http or https"),
        ("srv*", "sources are folders"),
        ("symsrv**", "sources are folders"),
        ("s3+https://h", "sources are folders"),
    ],
)
def test_invalid_sources_are_reported_without_secrets(text: str, reason: str) -> None:
    opener = SourceOpener(environment={"DEBUGINFOD_URLS": ""})
    with pytest.raises(ValueError, match=r".") as caught:
        list(opener.open(text))
    assert reason in str(caught.value)
    assert "secret" not in str(caught.value)
    opener.close()


def test_several_sources_are_asked_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = ModuleKey(code_id="80ae0509e7ce335a")
    held = tmp_path / key.code_id / "debuginfo"
    held.parent.mkdir()
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path))
    with Server(Reply(status=404)) as first, Server(Reply(b"x")) as second:
        monkeypatch.setenv("DEBUGINFOD_URLS", f"{first.url} {second.url}")
        with SourceOpener() as opener:
            source = SourceList(list(opener.open("debuginfod")))
            assert source.find(key, str(tmp_path)).location.startswith(second.url)
            held.write_bytes(b"x")
            assert source.find(key, str(tmp_path)).path == str(held)
        assert isinstance(open_source("debuginfod"), SourceList)


LIMITED = {
    "is larger than 3 bytes": ({"DEBUGINFOD_MAXSIZE": "3"}, Reply(b"file"), 1),
    "is larger than 2 bytes": ({"DEBUGINFOD_MAXSIZE": "2"}, Reply(status=406), 1),
    "HTTP status 503": ({"DEBUGINFOD_RETRY_LIMIT": "1"}, Reply(status=503), 2),
    "no answer in time": (
        {"DEBUGINFOD_TIMEOUT": "1"},
        Reply(b"file", fault="pause"),
        1,
    ),
    "took more than 1 seconds": (
        {"DEBUGINFOD_MAXTIME": "1"},
        Reply(b"file", fault="pause"),
        1,
    ),
}


@pytest.mark.parametrize("source", ["debuginfod", "debuginfod:URL", "debuginfod+URL"])
@pytest.mark.parametrize("reason", LIMITED)
def test_servers_of_debuginfod_have_the_limits_of_its_clients(
    reason: str, source: str, tmp_path: Path
) -> None:
    variables, answer, requests = LIMITED[reason]
    with Server(answer) as server:
        environment = {
            "DEBUGINFOD_URLS": server.url,
            "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"),
            "DEBUGINFOD_RETRY_LIMIT": "0",
            **variables,
        }
        with SourceOpener(environment=environment) as opener:
            (opened,) = opener.open(source.replace("URL", server.url))
            with pytest.raises(SourceError, match=reason):
                opened.find(ModuleKey(code_id="80ae0509e7ce335a"), str(tmp_path))
        asked = [each for each in server.requests if each.path.endswith("/debuginfo")]
        assert len(asked) == requests
        most = variables.get("DEBUGINFOD_MAXSIZE")
        assert asked[0].headers.get("x-debuginfod-maxsize") == most


def test_limits_of_sources_count_where_the_environment_has_none() -> None:
    own = TransferLimits()
    settings = read_settings({"DEBUGINFOD_MAXSIZE": "0"})
    limits = settings.limits(own)
    assert limits.header_seconds == limits.idle_seconds == 90
    kept = "connect_seconds", "write_seconds", "total_seconds"
    for name in (*kept, "most_bytes", "most_inflated", "wait_seconds"):
        assert getattr(limits, name) <= getattr(own, name)


@pytest.mark.parametrize("url", ["file://other/folder", "file://[/"])
def test_a_url_that_names_no_folder_is_named(url: str) -> None:
    opener = SourceOpener(environment={"DEBUGINFOD_URLS": f"{url} http://h"})
    with pytest.raises(ValueError, match=re.escape(f"source '{url.rstrip('/')}': ")):
        list(opener.open("debuginfod"))


def test_limits_of_the_opener_are_not_loosened(tmp_path: Path) -> None:
    with Server(Reply(b"file")) as server:
        environment = {"DEBUGINFOD_MAXSIZE": "0", "DEBUGINFOD_URLS": server.url}
        limits = TransferLimits(most_bytes=3)
        with SourceOpener(limits=limits, environment=environment) as opener:
            (source,) = opener.open("debuginfod")
            with pytest.raises(SourceError, match="is larger than 3 bytes"):
                source.find(ModuleKey(code_id="80ae0509e7ce335a"), str(tmp_path))


def test_a_folder_of_debuginfod_is_a_source(tmp_path: Path) -> None:
    file = tmp_path / "buildid/80ae0509e7ce335a/debuginfo"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x")
    with SourceOpener(environment={"DEBUGINFOD_URLS": tmp_path.as_uri()}) as opener:
        (source,) = opener.open("debuginfod")
    assert source.find(ModuleKey(code_id=file.parent.name), "").path == str(file)


def test_a_netrc_file_has_the_passwords_of_servers(tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login us:er password p@ss\n")
    with Server(Reply(symbols())) as server:
        with SourceOpener(environment={"NETRC": str(netrc)}) as opener:
            (source,) = opener.open(server.url)
            assert "p@ss" not in source.name
            source.find(key(), str(tmp_path))
        sent = server.headers_for(path())
    assert sent["authorization"] == "Basic dXM6ZXI6cEBzcw=="


def test_the_servers_of_debuginfod_get_the_headers_of_its_clients(
    tmp_path: Path,
) -> None:
    (tmp_path / "headers").write_text("X-Token: t\n")
    build_id = "80ae0509e7ce335a"
    with Server(Reply(b"x")) as server:
        environment = {
            "DEBUGINFOD_URLS": server.url,
            "DEBUGINFOD_HEADERS_FILE": str(tmp_path / "headers"),
        }
        with SourceOpener(environment=environment) as opener:
            (source,) = opener.open("debuginfod")
            source.find(ModuleKey(code_id=build_id), str(tmp_path))
        assert server.headers_for(f"/buildid/{build_id}/debuginfo")["x-token"] == "t"


def test_invalid_netrc_file_is_reported(tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("nonsense\n")
    with (
        SourceOpener(environment={"NETRC": str(netrc)}) as opener,
        pytest.raises(ValueError, match="netrc: "),
    ):
        list(opener.open("http://h.example"))


def test_a_server_of_gsym_files_is_asked_for_them_first(tmp_path: Path) -> None:
    tree = path().removesuffix(".sym")
    with Server() as server, SourceOpener(environment={}) as opener:
        server.replies[f"{tree}.sym"] = Reply(symbols())
        (source,) = opener.open(f"gsym+{server.url}")
        source.find(key(), str(tmp_path))
        assert list(server.counts) == [f"{tree}.gsym", f"{tree}.sym"]


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 60_000,
        b'{"format": 2}',
        text_of(ModuleKey(debug_id=debug_id(), debug_file="../x")),
        text_of(ModuleKey(debug_id="nonsense")),
        text_of(ModuleKey(debug_id=debug_id(), os="x" * (1 << 20))),
    ],
)
def test_identity_from_a_server_counts_only_if_it_is_valid(
    tmp_path: Path, told: bytes
) -> None:
    tree = path().removesuffix(".sym")
    with Server() as server, SourceOpener(environment={}) as opener:
        server.replies[f"{tree}.gsym"] = Reply(b"a GSYM file")
        server.replies[f"{tree}.json"] = Reply(told)
        (source,) = opener.open(f"gsym+{server.url}")
        assert source.find(key(), str(tmp_path)).identity == ModuleKey()


def test_a_store_is_opened_by_its_path(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    with store.temporary_folder():
        pass
    assert open_source(store.path).name == store.path
