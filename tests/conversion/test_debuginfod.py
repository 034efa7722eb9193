"""Debug files from debuginfod: servers, their failures, and the shared cache."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.conversion.companions.debuginfod_settings import (
    CLIENT_LIMITS,
    DebuginfodSettings,
    read_settings,
)
from tests.companions import (
    ID,
    OTHER_ID,
    altlink,
    debug_file,
    debug_link,
    names_of,
    place,
    referring,
    shared,
    stripped,
)
from tests.http_server import Reply, Server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

DEBUG = debug_file(ID)
PATH = f"/buildid/{ID.hex()}/debuginfo"
MISSING = Reply(status=404)
FOUND = Reply(DEBUG)


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine counts; the cache is `cache`."""
    for name in list(os.environ):
        if name.startswith("DEBUGINFOD_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))
    monkeypatch.setenv("DEBUGINFOD_URLS", "")
    monkeypatch.setenv("DEBUGINFOD_RETRY_LIMIT", "0")


@pytest.fixture
def http() -> None:
    pytest.importorskip("httpx2", reason="the extra `net` is not installed")


def cached(folder: Path, name: str = "debuginfo") -> Path:
    return folder / "cache" / ID.hex() / name


def convert(folder: Path, binary: bytes | None = None) -> gsym.ConversionReport:
    path = place(folder / "app", stripped(build_id=ID) if binary is None else binary)
    return gsym.convert(path, debug_file_directories=(), debuginfod=True)


def ask(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *servers: Server
) -> gsym.ConversionReport:
    monkeypatch.setenv("DEBUGINFOD_URLS", " ".join(each.url for each in servers))
    return convert(folder)


def leftovers(folder: Path) -> list[str]:
    """What is in the cache besides its settings."""
    return sorted(each.name for each in folder.glob("cache/*/*"))


# ---- servers

needs_http = pytest.mark.usefixtures("http")


@needs_http
@pytest.mark.parametrize("answer", [FOUND, Reply.zipped(DEBUG)], ids=["plain", "gzip"])
def test_a_fetched_file_is_cached_and_used(
    answer: Reply, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(answer) as server:
        report = ask(tmp_path, monkeypatch, server)
        assert names_of(report) == ["in_debug", "in_binary"]
        assert report.companions == (str(cached(tmp_path)),)
        assert report.notes == ()
        again = ask(tmp_path, monkeypatch, server)
    assert again.companions == report.companions
    (asked,) = server.requests
    assert asked.path == PATH
    headers = asked.headers
    assert headers["user-agent"].startswith("gsym/")
    assert headers["x-debuginfod-maxsize"] == str(2 << 30)
    assert cached(tmp_path).read_bytes() == DEBUG
    assert cached(tmp_path).stat().st_mode & 0o777 == 0o400
    assert cached(tmp_path).parent.stat().st_mode & 0o777 == 0o700
    assert leftovers(tmp_path) == ["debuginfo"]


@needs_http
def test_redirections_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(FOUND) as server:
        moved = Reply(status=302, headers=(("Location", f"{server.url}/else/where"),))
        with Server(moved) as first:
            assert ask(tmp_path, monkeypatch, first).notes == ()
    assert server.paths == ["/else/where"]


FAILURES: dict[str, tuple[Reply, dict[str, str], int]] = {
    "HTTP status 500": (Reply(status=500), {}, 3),
    "HTTP status 503": (Reply(status=503), {}, 3),
    "HTTP status 403": (Reply(status=403), {}, 1),
    "is larger than 100 bytes": (FOUND, {"DEBUGINFOD_MAXSIZE": "100"}, 1),
    "is larger than 999 bytes": (
        Reply(status=406),
        {"DEBUGINFOD_MAXSIZE": "999"},
        1,
    ),
    "inflates to more than 99999 bytes": (
        Reply.zipped(bytes(50_000_000)),
        {"DEBUGINFOD_MAXSIZE": "99999"},
        1,
    ),
    f"is of another build: its build id is {OTHER_ID.hex()}": (
        Reply(debug_file(OTHER_ID)),
        {},
        1,
    ),
    "there is no id to compare": (Reply(debug_file()), {}, 1),
    "not an ELF": (Reply(b"<html>"), {}, 1),
    "the file is empty": (Reply(b""), {}, 1),
    "peer closed connection": (Reply(DEBUG[:100], claimed=len(DEBUG)), {}, 3),
    "its gzip encoding is damaged": (
        Reply(b"no gzip", headers=(("Content-Encoding", "gzip"),)),
        {},
        3,
    ),
    "redirect loop": (
        Reply(status=302, headers=(("Location", "/again"),)),
        {},
        2,
    ),
    "invalid redirect": (
        Reply(status=302, headers=(("Location", "ftp:/x"),)),
        {},
        1,
    ),
}


@needs_http
@pytest.mark.parametrize("reason", FAILURES)
def test_a_failure_is_reported_and_not_cached(
    reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, settings, requests = FAILURES[reason]
    monkeypatch.setenv("DEBUGINFOD_RETRY_LIMIT", "2")
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with Server(answer) as server:
        report = ask(tmp_path, monkeypatch, server)
        assert f"{server.url}{PATH}: {reason}" in report.notes[0]
        assert len(server.requests) == requests
    assert names_of(report) == ["in_binary"]
    assert leftovers(tmp_path) == []


@needs_http
def test_a_silent_server_times_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBUGINFOD_TIMEOUT", "1")
    with Server(FOUND._replace(fault="pause")) as slow, Server(FOUND) as other:
        report = ask(tmp_path, monkeypatch, slow, other)
    assert names_of(report) == ["in_debug", "in_binary"]


@needs_http
def test_a_refused_connection_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(FOUND) as server:
        pass
    report = ask(tmp_path, monkeypatch, server)
    assert f"{server.url}{PATH}: " in report.notes[0]
    assert "refused" in report.notes[0]
    assert leftovers(tmp_path) == []


@needs_http
def test_the_next_server_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(MISSING) as first, Server(Reply(status=500)) as second:
        with Server(FOUND) as third:
            assert ask(tmp_path, monkeypatch, first, second, third).notes == ()
        assert len(first.requests) == len(second.requests) == 1


@needs_http
def test_headers_of_the_user_are_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "X-Token: a:b\n\n \t\nnonsense\n: nothing\nX-Other:  c \n"
    monkeypatch.setenv(
        "DEBUGINFOD_HEADERS_FILE", place(tmp_path / "headers", text.encode())
    )
    with Server(FOUND) as server:
        ask(tmp_path, monkeypatch, server)
    (asked,) = server.requests
    headers = asked.headers
    assert (headers["x-token"], headers["x-other"]) == ("a:b", "c")
    assert "nonsense" not in headers


@needs_http
def test_progress_and_requests_are_shown_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Server(FOUND) as server:
        ask(tmp_path, monkeypatch, server)
        assert capsys.readouterr().err == ""
        cached(tmp_path).unlink()
        monkeypatch.setenv("DEBUGINFOD_PROGRESS", "1")
        monkeypatch.setenv("DEBUGINFOD_VERBOSE", "1")
        ask(tmp_path, monkeypatch, server)
    url = f"{server.url}{PATH}"
    # A line per block that arrived, each over the last: the server's writes
    # decide how many there are.
    *_, last = capsys.readouterr().err.split("\r")
    assert last == (
        f"Downloading {url}: {len(DEBUG)} bytes\ndebuginfod: {url}: fetched\n"
    )


# ---- what no server has


@needs_http
def test_a_file_that_no_server_has_is_not_requested_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(MISSING) as first, Server(MISSING) as second:
        report = ask(tmp_path, monkeypatch, first, second)
        assert f"{first.url}{PATH}: not found; {second.url}" in report.notes[0]
        assert cached(tmp_path).stat().st_size == 0
        report = ask(tmp_path, monkeypatch, first, second)
        assert f"{cached(tmp_path)}: no server had it recently" in report.notes[0]
        assert len(first.requests) == len(second.requests) == 1
        past = time.time() - 700
        os.utime(cached(tmp_path), (past, past))
        ask(tmp_path, monkeypatch, first, second)
        assert len(first.requests) == len(second.requests) == 2


@needs_http
def test_the_lifetime_of_a_negative_answer_is_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(MISSING) as server:
        ask(tmp_path, monkeypatch, server)
        past = time.time() - 700
        os.utime(cached(tmp_path), (past, past))
        place(tmp_path / "cache/cache_miss_s", b"1000\n")
        ask(tmp_path, monkeypatch, server)
        assert len(server.requests) == 1


@needs_http
def test_a_failure_beside_a_negative_answer_is_not_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(MISSING) as first, Server(Reply(status=500)) as second:
        ask(tmp_path, monkeypatch, first, second)
    assert leftovers(tmp_path) == []


# ---- the cache


def test_the_cache_is_used_without_a_server_or_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    place(cached(tmp_path), DEBUG)
    old = time.time() - 5000
    os.utime(cached(tmp_path), (old, old))
    assert convert(tmp_path).companions == (str(cached(tmp_path)),)
    status = cached(tmp_path).stat()
    assert status.st_atime > old + 1000
    assert status.st_mtime == pytest.approx(old)


@needs_http
def test_a_damaged_file_in_the_cache_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(cached(tmp_path), b"rubbish")
    with Server(FOUND) as server:
        report = ask(tmp_path, monkeypatch, server)
    assert report.companions == (str(cached(tmp_path)),)
    assert cached(tmp_path).read_bytes() == DEBUG


def test_a_missing_server_is_reported(tmp_path: Path) -> None:
    reason = "debuginfod: DEBUGINFOD_URLS names no server to ask"
    assert convert(tmp_path).notes == (f"no debug information: tried {reason}",)
    reason = "debuginfod: the binary has no build id to ask for"
    assert reason in convert(tmp_path, stripped()).notes[0]
    assert leftovers(tmp_path) == []


def test_servers_are_asked_on_request_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(cached(tmp_path), DEBUG)
    monkeypatch.setenv("DEBUGINFOD_URLS", "http://127.0.0.1:9")
    path = place(tmp_path / "app", stripped(build_id=ID))
    report = gsym.convert(path)
    assert report.companions == ()
    assert "debuginfod: not asked, for that is an option" in report.notes[0]


def test_the_missing_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "gsym.net.connections", None)
    monkeypatch.setenv("DEBUGINFOD_URLS", "http://127.0.0.1:9")
    with pytest.raises(gsym.UnsupportedError, match=r"pip install 'gsym\[net\]'"):
        convert(tmp_path)
    assert main(["convert", "--debuginfod", str(tmp_path / "app")]) == 1
    assert "pip install 'gsym[net]'" in capsys.readouterr().err


@needs_http
def test_a_read_only_cache_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(tmp_path / "file", b"")
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "file/cache"))
    with Server(FOUND) as server:
        (note,) = ask(tmp_path, monkeypatch, server).notes
    assert f"cannot be written to {tmp_path}/file/cache: Not a directory" in note


def test_unused_files_are_removed_after_their_age_limit(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    old, new = time.time() - 700_000, time.time()
    files = {
        "abcdef/debuginfo": old,
        "abcdef/hdr-debuginfo": old,
        "abcd/source##usr#a.c": old,
        "abcd/executable": new,
        "abc/notes": old,
        "ab-c/debuginfo": old,
        "debuginfo": old,
    }
    for name, used in files.items():
        os.utime(place(cache / name, b"x"), (used, old))
    convert(tmp_path)  # writes the settings
    assert (cache / "max_unused_age_s").read_text() == "604800"
    assert (cache / "cache_clean_interval_s").read_text() == "86400"
    assert (cache / "cache_miss_s").read_text() == "600"
    convert(tmp_path)
    assert [name for name in files if not (cache / name).exists()] == []
    past = time.time() - 90_000
    os.utime(cache / "cache_clean_interval_s", (past, past))
    convert(tmp_path)
    gone = {"abcdef/debuginfo", "abcdef/hdr-debuginfo", "abcd/source##usr#a.c"}
    assert {name for name in files if not (cache / name).exists()} == gone
    assert not (cache / "abcdef").exists()
    assert (cache / "cache_clean_interval_s").stat().st_mtime > past + 1000


# ---- file URLs


@pytest.mark.parametrize(
    ("url", "make", "reason"),
    [
        ("file:///nowhere", None, "not there"),
        ("file://elsewhere/x", None, "names another machine"),
        ("ftp://127.0.0.1", None, "the URL is not http or https"),
        ("", os.mkfifo, "not a regular file"),
        ("", os.mkdir, "Is a directory"),
    ],
)
def test_a_folder_without_the_file_is_a_failure(
    url: str,
    make: Callable[[str], None] | None,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if make is not None:
        url = (tmp_path / "server").as_uri()
        (tmp_path / f"server{PATH}").parent.mkdir(parents=True)
        make(f"{tmp_path}/server{PATH}")
    monkeypatch.setenv("DEBUGINFOD_URLS", url)
    assert f"{PATH}: {reason}" in convert(tmp_path).notes[0]


# ---- settings


def settings(**variables: str) -> DebuginfodSettings:
    return read_settings({"HOME": "/nobody", **variables}, url_files="/nowhere/*")


def test_every_variable_is_read() -> None:
    found = settings(
        DEBUGINFOD_URLS=" http://a/  https://b http://a\tima:enforcing http://c "
        "ima:ignore d",
        DEBUGINFOD_CACHE_PATH="/cache",
        DEBUGINFOD_TIMEOUT="-1",
        DEBUGINFOD_MAXTIME="5",
        DEBUGINFOD_MAXSIZE="0",
        DEBUGINFOD_RETRY_LIMIT="none",
        DEBUGINFOD_HEADERS_FILE="/nowhere",
        DEBUGINFOD_PROGRESS="",
        DEBUGINFOD_VERBOSE="",
    )
    assert found == DebuginfodSettings(
        servers=("http://a", "https://b", "d"),
        skipped=("http://c",),
        cache="/cache",
        timeout=0,
        most_seconds=5,
        most_bytes=0,
        retries=2,
        headers=(),
        shows_progress=True,
        is_verbose=True,
    )


def test_the_cache_is_the_folder_of_elfutils(tmp_path: Path) -> None:
    assert settings(XDG_CACHE_HOME="/xdg").cache == "/xdg/debuginfod_client"
    assert settings(HOME="").cache == "/.cache/debuginfod_client"
    old = tmp_path / ".debuginfod_client_cache"
    old.mkdir()
    found = settings(HOME=str(tmp_path), XDG_CACHE_HOME="/xdg").cache
    assert found == str(old)


def test_servers_of_the_machine_are_the_default(tmp_path: Path) -> None:
    place(tmp_path / "b.urls", b"http://b\n")
    place(tmp_path / "a.urls", b"http://a http://c\n")
    pattern = str(tmp_path / "*.urls")
    assert read_settings({}, pattern).servers == ("http://a", "http://c", "http://b")
    assert read_settings({"DEBUGINFOD_URLS": ""}, pattern).servers == ()


def test_servers_whose_files_would_be_signed_are_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBUGINFOD_URLS", "ima:enforcing http://127.0.0.1:9")
    reason = "http://127.0.0.1:9: signatures (ima:enforcing) are not checked"
    assert reason in convert(tmp_path).notes[0]


def test_limits_are_those_of_the_variables_and_none_where_they_are_0() -> None:
    chosen = {"DEBUGINFOD_TIMEOUT": "7", "DEBUGINFOD_MAXTIME": "9"}
    found = settings(**chosen, DEBUGINFOD_RETRY_LIMIT="3")
    limits = found.limits(CLIENT_LIMITS)
    assert (limits.header_seconds, limits.idle_seconds, limits.total_seconds) == (
        7,
        7,
        9,
    )
    assert (limits.least_bytes, limits.attempts) == (100 << 10, 4)
    assert limits.most_bytes == limits.most_inflated == 2 << 30
    free = settings(DEBUGINFOD_TIMEOUT="0", DEBUGINFOD_MAXSIZE="0")
    unlimited = free.limits(CLIENT_LIMITS)
    assert min(unlimited.idle_seconds, unlimited.total_seconds) > 1e7
    assert unlimited.most_bytes > 1 << 60


# ---- what else it finds


def test_a_supplementary_file_is_fetched_by_its_own_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(
        tmp_path / f"server/buildid/{OTHER_ID.hex()}/debuginfo",
        shared(build_id=OTHER_ID),
    )
    monkeypatch.setenv("DEBUGINFOD_URLS", (tmp_path / "server").as_uri())
    report = convert(tmp_path, referring(altlink("nowhere", OTHER_ID)))
    (companion,) = report.companions
    assert companion == str(tmp_path / f"server/buildid/{OTHER_ID.hex()}/debuginfo")
    assert report.notes == ()


def test_files_of_this_machine_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(tmp_path / f"server{PATH}", DEBUG)
    monkeypatch.setenv("DEBUGINFOD_URLS", (tmp_path / "server").as_uri())
    near = place(tmp_path / "app.dbg", DEBUG)
    binary = stripped(debug_link("app.dbg", DEBUG), build_id=ID)
    assert convert(tmp_path, binary).companions == (near,)
