"""Files from web servers: whole or not at all, whatever the server does."""

from __future__ import annotations

import base64
import gzip
import socket
import sys
import threading
import time
from contextlib import contextmanager, suppress
from email.utils import formatdate
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from gsym import __version__
from gsym.errors import NotFoundError, SourceError
from gsym.net import retry as retry_module, transfer as transfer_module
from gsym.net.circuit_breaker import CircuitBreaker
from gsym.net.limits import TransferLimits
from gsym.net.transfer import Transfer
from gsym.net.web_address import read_web_address
from tests.clock import Clock
from tests.http_server import Reply, Server

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from gsym.net.connections import Answer
    from gsym.net.web_address import WebAddress

httpcore2 = pytest.importorskip("httpcore2", reason="the extra `net` is not installed")
connections = pytest.importorskip("gsym.net.connections")

BODY = bytes(range(256)) * 700
LIMITS = TransferLimits(
    connect_seconds=2,
    header_seconds=2,
    idle_seconds=2,
    total_seconds=10,
    attempts=1,
    backoff_seconds=0.01,
)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine counts."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


class Fetch:
    """Fetches from a server into a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.waits: list[float] = []

    def __call__(
        self,
        url: str,
        limits: TransferLimits = LIMITS,
        *,
        allow_private: bool = False,
        **options: object,
    ) -> bytes:
        """What was kept; nothing else may be there."""
        transfer = self.transfer(limits, allow_private=allow_private)
        path = self.folder / "file"
        is_trusted = bool(options.pop("is_trusted", True))
        headers = options.pop("headers", ())
        assert not options
        try:
            transfer.fetch(
                read_web_address(url),
                str(path),
                headers=headers,  # type: ignore[arg-type]
                is_trusted=is_trusted,
            )
        except (NotFoundError, SourceError):
            assert list(self.folder.iterdir()) == []
            raise
        finally:
            transfer.close()
        assert list(self.folder.iterdir()) == [path]
        found = path.read_bytes()
        path.unlink()
        return found

    def transfer(self, limits: TransferLimits, *, allow_private: bool) -> Transfer:
        return Transfer(limits, allow_private=allow_private, sleep=self.waits.append)


@pytest.fixture
def fetch(tmp_path: Path) -> Fetch:
    return Fetch(tmp_path)


# ---- what comes


@pytest.mark.parametrize(
    "reply",
    [
        Reply(BODY),
        Reply(BODY, claimed=-1),
        Reply.zipped(BODY),
        Reply(zstd.compress(BODY), headers=(("Content-Encoding", "zstd"),)),
        Reply(BODY, headers=(("Content-Encoding", "identity"),)),
    ],
    ids=["plain", "no length", "gzip", "zstd", "identity"],
)
def test_file_is_fetched_whole_and_inflated(
    fetch: Fetch, server: Server, reply: Reply
) -> None:
    server.replies["/a.sym"] = reply
    assert fetch(f"{server.url}/a.sym") == BODY


def test_requests_name_the_client_and_the_host(fetch: Fetch, server: Server) -> None:
    server.replies["/a?b=c%2Fd"] = Reply(BODY)
    fetch(f"{server.url}/a?b=c%2Fd", headers=(("X-Token", "t"),))
    headers = server.headers_for("/a?b=c%2Fd")
    assert headers["host"] == f"127.0.0.1:{server.port}"
    assert headers["user-agent"] == f"gsym/{__version__}"
    assert headers["accept-encoding"] == "gzip, zstd"
    assert headers["x-token"] == "t"


@pytest.mark.parametrize("status", [404, 410])
def test_missing_file_is_distinguished_from_a_failure(
    fetch: Fetch, server: Server, status: int
) -> None:
    server.otherwise = Reply(status=status)
    with pytest.raises(NotFoundError, match=f"{server.url}/x: HTTP status {status}"):
        fetch(f"{server.url}/x", LIMITS._replace(attempts=9))
    assert server.counts["/x"] == 1


@pytest.mark.parametrize("status", [204, 304, 401])
def test_other_statuses_fail_at_once(fetch: Fetch, server: Server, status: int) -> None:
    server.otherwise = Reply(status=status)
    with pytest.raises(SourceError, match=f"HTTP status {status}") as caught:
        fetch(f"{server.url}/x", LIMITS._replace(attempts=9))
    assert not caught.value.may_retry
    assert server.counts["/x"] == 1


# ---- what goes wrong

FAULTS = {
    "long body": (Reply(BODY, claimed=len(BODY) - 1), "sent more than declared"),
    "short claim": (Reply(BODY, claimed=100), "sent more than declared"),
    "short body": (Reply(BODY, claimed=len(BODY) + 1), "without sending complete"),
    "reset": (Reply(BODY, fault="reset"), "."),
    "garbage": (Reply(b"garbage\r\n\r\n" * 9, fault="no head"), "."),
    "nothing": (Reply(fault="no head"), "without sending a response"),
    "empty": (Reply(), "is empty"),
    "truncated gzip": (
        Reply(gzip.compress(BODY)[:-9], headers=(("Content-Encoding", "gzip"),)),
        "truncated",
    ),
    "no gzip": (Reply(BODY, headers=(("Content-Encoding", "gzip"),)), "damaged"),
    "unknown encoding": (
        Reply(BODY, headers=(("Content-Encoding", "br"),)),
        "encoding",
    ),
    "negative length": (
        Reply(BODY, claimed=-1, headers=(("Content-Length", "-5"),)),
        ".",
    ),
    "two lengths": (Reply(BODY, headers=(("Content-Length", "7"),)), "."),
    "endless head": (
        Reply(b"HTTP/1.1 200 OK\r\nX: " + bytes(9 << 20), fault="no head"),
        ".",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_answer_is_a_failure_and_never_a_file(
    fetch: Fetch, server: Server, fault: str
) -> None:
    server.otherwise, reason = FAULTS[fault]
    with pytest.raises(SourceError, match=reason) as caught:
        fetch(f"{server.url}/x")
    assert str(caught.value).startswith(f"{server.url}/x: ")


@pytest.mark.parametrize(
    ("reply", "limits"),
    [
        (Reply(fault="stall"), {"connect_seconds": 0.1, "header_seconds": 0.1}),
        (Reply(fault="trickle head"), {"connect_seconds": 0.1, "header_seconds": 0.1}),
        (Reply(BODY, fault="pause"), {"idle_seconds": 0.1}),
        (Reply(BODY, fault="trickle"), {"idle_seconds": 0.1}),
        (Reply(BODY, fault="trickle"), {"total_seconds": 0.2}),
    ],
)
def test_a_slow_server_is_not_waited_for(
    fetch: Fetch, server: Server, reply: Reply, limits: dict[str, Any]
) -> None:
    server.otherwise = reply
    started = time.monotonic()
    with pytest.raises(SourceError) as caught:
        fetch(f"{server.url}/x", LIMITS._replace(**limits))
    assert caught.value.may_retry
    assert time.monotonic() - started < 10


def test_refused_connection_is_a_failure(fetch: Fetch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(SourceError) as caught:
            fetch(f"http://127.0.0.1:{port}/x")
    assert caught.value.may_retry


def test_a_folder_that_cannot_be_written_to_is_a_failure(
    fetch: Fetch, server: Server, tmp_path: Path
) -> None:
    server.otherwise = Reply(BODY)
    transfer = fetch.transfer(LIMITS, allow_private=False)
    with pytest.raises(SourceError, match="cannot be written: No such file"):
        transfer.fetch(
            read_web_address(f"{server.url}/x"),
            str(tmp_path / "none" / "file"),
            is_trusted=True,
        )
    transfer.close()


# ---- limits


@pytest.mark.parametrize("claimed", [None, -1])
def test_a_file_may_be_as_large_as_the_limit(
    fetch: Fetch, server: Server, claimed: int | None
) -> None:
    server.otherwise = Reply(BODY, claimed=claimed)
    assert fetch(f"{server.url}/x", LIMITS._replace(most_bytes=len(BODY))) == BODY
    with pytest.raises(SourceError, match=f"larger than {len(BODY) - 1} bytes"):
        fetch(f"{server.url}/x", LIMITS._replace(most_bytes=len(BODY) - 1))


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_stops_at_the_limit(fetch: Fetch, server: Server, encoding: str) -> None:
    pack = gzip.compress if encoding == "gzip" else zstd.compress
    bomb = pack(bytes(256 << 20))
    server.otherwise = Reply(bomb, headers=(("Content-Encoding", encoding),))
    with pytest.raises(SourceError, match="inflates to more than 3000000 bytes"):
        fetch(f"{server.url}/x", LIMITS._replace(most_inflated=3_000_000))


# ---- another attempt


@pytest.mark.parametrize("status", [429, 503])
def test_failing_server_is_asked_again(
    fetch: Fetch, server: Server, status: int
) -> None:
    server.replies["/x"] = [Reply(status=status), Reply(status=status), Reply(BODY)]
    assert fetch(f"{server.url}/x", LIMITS._replace(attempts=3)) == BODY
    assert len(fetch.waits) == 2
    assert [wait for wait in fetch.waits if not 0 <= wait <= 0.02] == []


def test_broken_connection_is_opened_again(fetch: Fetch, server: Server) -> None:
    broken = Reply(BODY, fault="reset"), Reply(fault="no head")
    server.replies["/x"] = [*broken, Reply(BODY, claimed=999_999), Reply(BODY)]
    assert fetch(f"{server.url}/x", LIMITS._replace(attempts=4)) == BODY


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_waited_for(fetch: Fetch, server: Server, form: str) -> None:
    asked = "7" if form == "seconds" else formatdate(time.time() + 7.9, usegmt=True)
    busy = Reply(status=429, headers=(("Retry-After", asked),))
    server.replies["/x"] = [busy, Reply(BODY)]
    assert fetch(f"{server.url}/x", LIMITS._replace(attempts=2)) == BODY
    assert 4 <= fetch.waits[0] <= 8


def test_wait_beyond_the_total_time_does_not_start(
    fetch: Fetch, server: Server
) -> None:
    busy = Reply(status=503, headers=(("Retry-After", "11"),))
    server.replies["/x"] = [busy, Reply(BODY)]
    with pytest.raises(SourceError, match="503, which asks to wait 11 s"):
        fetch(f"{server.url}/x", LIMITS._replace(attempts=2))
    assert fetch.waits == []


class Busy:
    """Connections to a server that asks for some time at first."""

    def __init__(self, times: int = 1, otherwise: int = 200) -> None:
        self.asked = 0
        self._times = times
        self._otherwise = otherwise

    @contextmanager
    def ask(self, *_: object, **__: object) -> Iterator[Answer]:
        self.asked += 1
        is_busy = self.asked <= self._times
        yield connections.Answer(
            429 if is_busy else self._otherwise,
            {"retry-after": "100"} if is_busy else {},
            iter([b"body"]),
        )


def resting(
    busy: Busy, clock: Clock, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> Transfer:
    times = SimpleNamespace(monotonic=clock, time=time.time)
    monkeypatch.setattr(transfer_module, "time", times)
    monkeypatch.setattr(retry_module, "time", times)
    return Transfer(
        LIMITS._replace(attempts=9, wait_seconds=10, total_seconds=1000),
        sleep=waits.append,
        connections=cast("Any", busy),
        breaker=CircuitBreaker(probe_seconds=4, clock=clock),
    )


def test_server_with_a_long_retry_after_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, busy, waits = Clock(), Busy(), list[float]()
    transfer = resting(busy, clock, waits, monkeypatch)
    address, path = read_web_address("https://h.example"), str(tmp_path / "file")
    with pytest.raises(SourceError, match="which asks to wait 100 s"):
        transfer.fetch(address.below("x"), path, is_trusted=True)
    with pytest.raises(SourceError, match="sent Retry-After; 100 s") as caught:
        transfer.fetch(address.below("y"), path, is_trusted=True)
    assert caught.value.may_retry
    assert (busy.asked, waits) == (1, [])
    clock.now += 95
    transfer.fetch(address.below("y"), path, is_trusted=True)
    assert (busy.asked, waits) == (2, [5])
    clock.now += 5
    transfer.fetch(address.below("x"), path, is_trusted=True)
    assert (busy.asked, waits) == (3, [5])


def test_waiting_server_is_probed_until_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, busy, waits = Clock(), Busy(times=2), list[float]()
    transfer = resting(busy, clock, waits, monkeypatch)
    address, path = read_web_address("https://h.example/x"), str(tmp_path / "file")
    asked = []
    for seconds in (0, 3, 1, 3, 1, 0):
        clock.now += seconds
        before = busy.asked
        with suppress(SourceError):
            transfer.fetch(address, path, is_trusted=True)
        asked.append(busy.asked > before)
    assert asked == [True, False, True, False, True, True]
    assert waits == []


def test_status_404_ends_the_wait_of_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, waits = Clock(), list[float]()
    transfer = resting(Busy(otherwise=404), clock, waits, monkeypatch)
    address, path = read_web_address("https://h.example/x"), str(tmp_path / "file")
    with pytest.raises(SourceError, match="429"):
        transfer.fetch(address, path, is_trusted=True)
    clock.now += 4
    for _ in range(2):
        with pytest.raises(NotFoundError):
            transfer.fetch(address, path, is_trusted=True)


def test_invalid_retry_after_is_ignored(fetch: Fetch, server: Server) -> None:
    for text in ["soon", "-1", "1e9", "9" * 400, "Thu, 99"]:
        server.otherwise = Reply(status=503, headers=(("Retry-After", text),))
        with pytest.raises(SourceError, match="HTTP status 503"):
            fetch(f"{server.url}/x", LIMITS._replace(attempts=2))


# ---- redirects


@pytest.mark.parametrize("status", [302, 308])
def test_redirects_are_followed_up_to_the_limit(
    fetch: Fetch, server: Server, status: int
) -> None:
    for hop in range(5):
        server.replies[f"/{hop}"] = Reply.redirect(f"{hop + 1}", status)
    server.replies["/5"] = Reply(BODY)
    assert fetch(f"{server.url}/0") == BODY
    with pytest.raises(SourceError, match="more than 4 redirects"):
        fetch(f"{server.url}/0", LIMITS._replace(redirects=4))


def test_redirect_loop_is_reported(fetch: Fetch, server: Server) -> None:
    server.replies["/a"] = Reply.redirect(f"{server.url}/b")
    server.replies["/b"] = Reply.redirect("/a")
    with pytest.raises(SourceError, match="redirect loop"):
        fetch(f"{server.url}/a")
    assert server.counts == {"/a": 1, "/b": 1}


def test_redirects_to_invalid_urls_are_refused(fetch: Fetch, server: Server) -> None:
    for location in [
        "ftp://h/x",
        "file:///etc/passwd",
        "http://a\\b/",
        "http://h:x/",
        "http://h:99999/",
        "http://" + "h" * 9000,
    ]:
        server.otherwise = Reply.redirect(location)
        with pytest.raises(SourceError, match="invalid redirect"):
            fetch(f"{server.url}/x")


class Redirecting:
    """Connections on which every server redirects as *targets* says."""

    def __init__(self, targets: dict[str, str]) -> None:
        self.targets = targets

    @contextmanager
    def ask(self, address: WebAddress, *_: object, **__: object) -> Iterator[Answer]:
        location = self.targets.get(str(address))
        yield connections.Answer(
            302 if location else 200,
            {"location": location} if location else {},
            iter([b"body"]),
        )


@pytest.mark.parametrize(
    ("first", "second", "is_followed"),
    [
        ("https://a/", "http://a/", False),
        ("https://a/", "http://b/", False),
        ("https://a/", "https://b/", True),
        ("http://a/", "https://a/", True),
        ("http://a/", "http://b/", True),
    ],
)
def test_redirect_from_https_to_http_is_refused(
    tmp_path: Path, first: str, second: str, *, is_followed: bool
) -> None:
    transfer = Transfer(LIMITS, connections=cast("Any", Redirecting({first: second})))
    path = tmp_path / "file"
    if is_followed:
        transfer.fetch(read_web_address(first), str(path))
        assert path.read_bytes() == b"body"
    else:
        with pytest.raises(SourceError, match="redirected from https"):
            transfer.fetch(read_web_address(first), str(path))


def test_a_redirect_to_another_private_address_is_refused_unless_allowed(
    fetch: Fetch, server: Server
) -> None:
    with Server(Reply(BODY)) as inner:
        server.otherwise = Reply.redirect(f"{inner.url}/secret")
        with pytest.raises(SourceError, match=r"127\.0\.0\.1 is a loopback address"):
            fetch(f"{server.url}/x")
        assert not inner.requests
        assert fetch(f"{server.url}/x", allow_private=True) == BODY


def test_untrusted_url_does_not_reach_this_machine(
    fetch: Fetch, server: Server
) -> None:
    server.otherwise = Reply(BODY)
    with pytest.raises(SourceError, match="loopback"):
        fetch(f"{server.url}/x", is_trusted=False)
    assert not server.requests
    assert fetch(f"{server.url}/x", allow_private=True, is_trusted=False) == BODY


# ---- secrets


def test_credentials_go_to_their_own_server_only(fetch: Fetch, server: Server) -> None:
    own = server.url.replace("//", "//us%40er:p%3Ass@")
    with Server(Reply(BODY)) as storage:
        server.replies["/a"] = Reply.redirect("/b")
        server.replies["/b"] = Reply.redirect(f"{storage.url}/c?signature=s3cret")
        headers = (("X-Token", "t0ken"),)
        fetch(f"{own}/a", allow_private=True, headers=headers)
        expected = "Basic " + base64.b64encode(b"us@er:p:ss").decode()
        assert server.headers_for("/a")["authorization"] == expected
        assert server.headers_for("/b")["x-token"] == "t0ken"
        (sent,) = [each.headers for each in storage.requests]
        assert "authorization" not in sent
        assert "x-token" not in sent
        storage.otherwise = Reply(status=500)
        with pytest.raises(SourceError) as caught:
            fetch(f"{own}/a", allow_private=True)
    assert str(caught.value) == f"{storage.url}/c: HTTP status 500"


# ---- connections


def test_threads_share_connections(tmp_path: Path, server: Server) -> None:
    server.otherwise = Reply(BODY)
    transfer = Transfer(LIMITS)
    address = read_web_address(server.url)

    def work(number: int) -> None:
        for turn in range(10):
            path = str(tmp_path / f"{number}-{turn}")
            transfer.fetch(address.below(f"x{turn}"), path, is_trusted=True)

    threads = [threading.Thread(target=work, args=(each,)) for each in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    transfer.close()
    assert len(server.requests) == 80
    assert len({each.client for each in server.requests}) <= 8
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {BODY}


# ---- time


def test_no_connection_is_begun_when_the_time_is_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        url = read_web_address(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        asked = connections.Connections(LIMITS).ask(
            url, (), is_trusted=True, until=time.monotonic()
        )
        with pytest.raises(SourceError, match="no answer in time"), asked:
            pass
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_all_addresses_of_a_host_share_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, waits = Clock(), list[float]()

    def connect(_: object, host: str, port: int, timeout: float, *__: object) -> None:
        waits.append(timeout)
        clock.now += timeout
        raise httpcore2.ConnectTimeout(f"{host}:{port}")

    def resolve(*_: object, **__: object) -> list[Any]:
        return [(socket.AF_INET, 0, 0, "", (f"1.1.1.{at}", 80)) for at in range(9)]

    monkeypatch.setattr(connections, "time", SimpleNamespace(monotonic=clock))
    monkeypatch.setattr(httpcore2.SyncBackend, "connect_tcp", connect)
    limits = LIMITS._replace(connect_seconds=10, header_seconds=1000)
    asked = connections.Connections(limits, resolve=resolve).ask(
        read_web_address("http://h.example/"), (), is_trusted=False, until=clock() + 25
    )
    with pytest.raises(SourceError, match="no answer in time"), asked:
        pass
    assert waits == [10, 10, 5]
