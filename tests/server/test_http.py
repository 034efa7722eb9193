"""What stands round the answers: origins, health, compression, tokens, limits, logs."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import Gauge
from starlette.responses import PlainTextResponse

import gsym
from gsym.containers.inflation import import_zstd
from gsym.modules.symbolizer import Symbolizer
from gsym.server.admission import Admission, InFlight, RequestRate, client_of
from gsym.server.answers import choose_coding
from gsym.server.errors import HttpError
from gsym.server.logs import OnceAMinute
from gsym.server.service import Service
from gsym.store.entries import Resolution
from tests.server.error_cases import job
from tests.server.modules import LIB_ID, MISSING_ID, KnownModules
from tests.server.running import RunningServer, made_settings
from tests.server.symbfile_pushes import KEY, push, ranges

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.modules.key import ModuleKey

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

ORIGIN = {"Origin": "https://profiler.firefox.com"}
EXPOSED = (
    "accept, accept-encoding, authorization, content-type, dnt, origin, user-agent, "
    "x-csrftoken, x-requested-with"
)


# ---- other origins


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/symbolicate/v5", job()),
        ("POST", "/symbolicate/v4", b"nonsense"),
        ("GET", "/symbolicate/v5", None),
        ("OPTIONS", "/symbolicate/v5", None),
        ("POST", "/asm/v1", b"{}"),
        ("GET", "/buildid/0123456789abcdef/debuginfo", None),
    ],
)
def test_an_allowed_origin_may_read_the_symbolication_api(
    server: RunningServer, method: str, path: str, body: Any
) -> None:
    headers = server.ask(method, path, body, ORIGIN).headers
    assert headers["access-control-allow-origin"] == ORIGIN["Origin"]
    assert headers["access-control-expose-headers"] == EXPOSED
    assert "Origin" in headers["vary"]
    without = server.ask(method, path, body).headers
    assert not [name for name in without if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("allowed", "origin", "is_allowed"),
    [
        (None, "https://profiler.firefox.com", True),
        (None, "HTTPS://Profiler.Firefox.com", True),
        (None, "http://localhost:4242", True),
        (None, "https://127.0.0.1", True),
        (None, "http://[::1]:80", True),
        (None, "http://profiler.firefox.com", False),
        (None, "https://profiler.firefox.com.example", False),
        (None, "https://localhost.example", False),
        (None, "file://localhost", False),
        (None, "null", False),
        (["https://own.example/"], "https://own.example", True),
        (["https://own.example"], "http://localhost:4242", False),
        (["*"], "null", True),
        ([], "https://profiler.firefox.com", False),
    ],
)
def test_the_origins_of_pages_are_a_setting(
    allowed: list[str] | None, origin: str, modules: KnownModules, *, is_allowed: bool
) -> None:
    settings: Any = {} if allowed is None else {"allowed_origins": allowed}
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    with RunningServer(Symbolizer(modules), **settings) as server:
        for method in ("OPTIONS", "POST"):
            answer = server.ask(method, "/symbolicate/v5", job(), asked)
            found = answer.headers.get("access-control-allow-origin")
            assert found == (origin if is_allowed else None), method
            assert "Origin" in answer.headers["vary"]
        refused = server.post(job(), Origin=origin, Sec_Fetch_Site="cross-site")
        assert refused.status == (200 if is_allowed else 403)
        assert is_allowed or "allowed_origins" in refused.title


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/page/modules",
        "/page/misses",
        "/page/state",
        "/metrics",
        "/openapi.json",
        "/upload/",
        "/no/such/path",
        f"/libdemo.so/{LIB_ID}/libdemo.so.gsym",
    ],
)
def test_other_origins_cannot_read_other_answers(
    server: RunningServer, path: str
) -> None:
    asked = {**ORIGIN, "Access-Control-Request-Method": "GET"}
    for method in ("GET", "OPTIONS", "POST"):
        headers = server.ask(method, path, None, asked).headers
        assert not [name for name in headers if name.startswith("access-control")]


def test_a_page_of_another_site_gets_no_errors_of_sources(
    server: RunningServer,
) -> None:
    body = job(modules=[["x", MISSING_ID]])
    (own,) = server.post(body).json["results"]
    (foreign,) = server.post(body, **ORIGIN).json["results"]
    assert own["module_errors"]
    assert "module_errors" not in foreign


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_may_send_only_symbolication_requests(
    server: RunningServer, site: str
) -> None:
    sent = {"Sec_Fetch_Site": site}
    for path in ("/upload/", "/symbolicate/report", "/"):
        answer = server.post(b"text=x", path, **sent, **ORIGIN)
        assert answer.status == 403, path
        assert "other origins" in answer.title
    assert server.post(job(), **sent, **ORIGIN).status == 200
    for path in (
        "/",
        "/page/modules",
        "/metrics",
        f"/libdemo.so/{LIB_ID}/libdemo.so.gsym",
    ):
        for method in ("GET", "HEAD"):
            marked = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
            assert server.ask(method, path, headers=marked).status == 403, path
            linked = {**marked, "Sec-Fetch-Mode": "navigate"}
            assert server.ask(method, path, headers=linked).status != 403, path
    own = server.post(b"x", "/symbolicate/report", Sec_Fetch_Site="same-origin")
    assert own.status == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST.:8000", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:8000", 200),
        ("symbols.example:8000", 421),
        ("localhost.symbols.example", 421),
        ("", 421),
        ("[", 421),
    ],
)
def test_a_server_on_loopback_refuses_other_hosts(
    server: RunningServer, host: str, status: int
) -> None:
    answer = server.ask("GET", "/page/modules", headers={"Host": host, **ORIGIN})
    assert answer.status == status
    if status != 200:
        assert f"the host '{host}' is not allowed" in answer.title


def test_hosts_are_allowed_by_setting_or_address(
    modules: KnownModules,
) -> None:
    symbolizer = Symbolizer(modules)
    cases: list[tuple[dict[str, Any], str, int]] = [
        ({"allowed_hosts": ["Symbols.example"]}, "symbols.example", 200),
        ({"allowed_hosts": ["*"]}, "any.example", 200),
        ({"host": "127.0.0.2"}, "127.0.0.2:8000", 200),
        ({"host": "127.1"}, "any.example", 421),
        ({"host": "LocalHost"}, "localhost", 200),
        ({"allowed_hosts": ["2001:DB8::1"]}, "[2001:db8::1]:80", 200),
        ({"allowed_hosts": ["2001:DB8::1"]}, "", 421),
        ({"host": "0.0.0.0"}, "any.example", 200),  # noqa: S104
        (
            {"host": "192.0.2.1", "allowed_hosts": ["symbols.example"]},
            "any.example",
            421,
        ),
    ]
    for settings, host, status in cases:
        with RunningServer(symbolizer, **settings) as server:
            answer = server.ask("GET", "/__version__", headers={"Host": host})
            assert answer.status == status, settings


def test_a_preflight_request_is_answered(server: RunningServer) -> None:
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "user-agent, x-own",
    }
    answer = server.ask("OPTIONS", "/symbolicate/v5", None, {**ORIGIN, **asked})
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["access-control-allow-origin"] == ORIGIN["Origin"]
    assert answer.headers["access-control-allow-methods"] == "POST"
    assert answer.headers["access-control-allow-headers"] == "user-agent, x-own"
    assert answer.headers["access-control-max-age"] == "86400"


def test_options_lists_the_methods(server: RunningServer) -> None:
    answer = server.ask("OPTIONS", "/symbolicate/v5")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["allow"] == "POST"


# ---- health and figures


@pytest.mark.parametrize("path", ["/__heartbeat__", "/__lbheartbeat__"])
def test_a_heartbeat_is_empty(server: RunningServer, path: str) -> None:
    answer = server.ask("GET", path)
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert server.ask("HEAD", path).status == 200


def test_metrics_count_requests(modules: KnownModules) -> None:
    with RunningServer(Symbolizer(modules)) as server:
        body = job([[[0, 1]], [[0, 2], [1, 3]]], [["libdemo.so", LIB_ID], ["x", "1"]])
        assert server.post(body).status == 200
        assert server.post(b"x").status == 400
        assert server.post({"jobs": [1] * 11}).status == 400
        server.ask("GET", "/no")
        server.ask("GET", "/upload")
        text = server.ask("GET", "/metrics").body.decode()
    assert series(text, "gsym_requests_total", "POST", "/symbolicate/v5", "200") == 1
    assert series(text, "gsym_requests_total", "POST", "/symbolicate/v5", "400") == 2
    assert series(text, "gsym_requests_total", "GET", '"other"', "404") == 2
    assert series(text, "gsym_info", f'version="{gsym.__version__}"') == 1
    assert series(text, "gsym_request_errors_total", "bad_json") == 1
    assert series(text, "gsym_request_errors_total", "too_many_jobs") == 1
    assert series(text, "gsym_symbolicate_frames_sum", "v5") == 3
    assert series(text, "gsym_symbolicate_stacks_sum", "v5") == 2
    assert series(text, "gsym_modules_total", "found") == 1
    assert series(text, "gsym_modules_total", "fetched") == 0
    assert series(text, "gsym_modules_total", "missing") == 1
    assert series(text, "gsym_requests_in_flight") == 0
    assert series(text, "gsym_open_modules") == 1


def test_a_refused_request_counts_for_its_endpoint(modules: KnownModules) -> None:
    symbolizer = Symbolizer(modules)
    with RunningServer(symbolizer, rate_limit=0.001, rate_burst=1) as server:
        statuses = [server.post(b"x").status for _ in range(3)]
        text = server.ask("GET", "/metrics").body.decode()
    assert statuses == [400, 429, 429]
    assert series(text, "gsym_requests_total", "POST", "/symbolicate/v5", "429") == 2


def series(text: str, name: str, *labels: str) -> float:
    """The value of one series, 0 where there is none."""
    found = [
        float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if line.startswith((name + "{", name + " "))
        and all(label in line for label in labels)
    ]
    return sum(found)


def test_a_repeated_error_is_logged_once_a_minute() -> None:
    repeats, kept = OnceAMinute(), []
    for second in (0, 10, 59, 61, 62, 130):
        for text in ("full", f"at {second}"):
            record = logging.makeLogRecord(
                {"levelno": logging.ERROR, "msg": "%s", "args": (text,)}
            )
            record.created = 1e9 + second
            if repeats.filter(record):
                kept.append(record.getMessage())
    others = [f"at {second}" for second in (0, 10, 59, 61, 62, 130)]
    said = [each for each in kept if each.startswith("full")]
    assert said == ["full", "full (2 times more)", "full (1 times more)"]
    assert [each for each in kept if each not in said] == others


# ---- compression


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("", None),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip;q=1.0, zstd;q=0.1", "zstd"),
        ("zstd;q=0, gzip", "gzip"),
        ("zstd; q=0.000", None),
        ("*", "zstd"),
        ("*;q=0", None),
        ("identity", None),
        ("br", None),
        (",;,", None),
    ],
)
def test_the_best_coding_is_chosen(accepted: str, coding: str | None) -> None:
    assert choose_coding(accepted) == coding


@pytest.mark.parametrize(("coding", "frames"), [("gzip", 100), ("zstd", 20_000)])
def test_answers_are_compressed(
    server: RunningServer, coding: str, frames: int
) -> None:
    body = job([[[-1, number] for number in range(frames)]], [])
    plain = server.post(body)
    packed = server.post(body, Accept_Encoding=coding)
    assert packed.headers["content-encoding"] == coding
    assert "Accept-Encoding" in packed.headers["vary"]
    assert len(packed.body) == int(packed.headers["content-length"])
    assert len(packed.body) < len(plain.body) / 2
    unpack = gzip.decompress if coding == "gzip" else import_zstd().decompress
    assert unpack(packed.body) == plain.body


# ---- tokens


def test_a_server_with_tokens_requires_one(modules: KnownModules) -> None:
    with RunningServer(
        Symbolizer(modules), tokens={"one": "read", "two": "read"}
    ) as server:
        refused = server.post(job(), **ORIGIN)
        assert (refused.status, refused.title) == (401, "401 Unauthorized")
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.headers["access-control-allow-origin"] == ORIGIN["Origin"]
        for shown, status in [
            ({"Authorization": "Bearer two"}, 200),
            ({"Authorization": "bearer one"}, 200),
            ({"Auth-Token": "one"}, 200),
            ({"Authorization": "Bearer three"}, 401),
            ({"Authorization": "Basic one"}, 401),
            ({"Authorization": "Bearer"}, 401),
            ({"Auth-Token": ""}, 401),
            ({"Auth-Token": "\xff"}, 401),
        ]:
            assert server.post(job(), **shown).status == status, shown
        assert server.ask("GET", "/metrics").status == 401
        assert server.ask("GET", "/__heartbeat__").status == 200
        assert server.ask("OPTIONS", "/symbolicate/v5").status == 200


def test_a_file_named_like_an_endpoint_needs_a_token(modules: KnownModules) -> None:
    with RunningServer(Symbolizer(modules), tokens={"one": "read"}) as server:
        for name in ("upload", "page", "__heartbeat__"):
            path = f"/{name}/{'1' * 33}/{name}.sym"
            assert server.ask("GET", path).status == 401


# ---- how much


def test_the_request_rate_is_limited_by_client() -> None:
    now = [100.0]
    limit = RequestRate(2.0, 3, clock=lambda: now[0])
    waits = [limit.take("a") for _ in range(4)]
    assert waits == [0, 0, 0, 0.5]
    assert limit.take("b") == 0  # another one
    now[0] += 0.25
    assert limit.take("a") == 0.25
    now[0] += 0.25
    assert limit.take("a") == 0
    assert limit.take("a") > 0
    now[0] += 1000
    assert [limit.take("a") > 0 for _ in range(4)] == [False, False, False, True]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", True),
        ("2001:db8:1:2:ffff::", "2001:db8:1:3::", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("no:address", "no:address", True),
        ("no:address", "2001:db8::", False),
    ],
)
def test_addresses_are_of_one_client_by_their_network(
    one: str, other: str, *, is_same: bool
) -> None:
    assert (client_of(one) == client_of(other)) is is_same


async def statuses_in_flight(
    clients: list[str], *, bodies: str, method: str = "POST"
) -> list[int]:
    """Statuses of requests at a time, at most 3 in all and 2 of one client.

    Bodies: "none", "slow" ones that do not end, or "there".
    """
    end = asyncio.Event()

    async def app(_scope: Any, receive: Any, send: Any) -> None:
        try:
            await receive()
        except HttpError as error:
            await send({"type": "http.response.start", "status": error.status_code})
            return
        await end.wait()
        await send({"type": "http.response.start", "status": 200})

    limit = InFlight(3, 2, Gauge("gauge", "", registry=None))
    statuses = []

    async def ask(client: str) -> None:
        async def receive() -> Any:
            if bodies == "slow":
                await end.wait()
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        try:
            place = limit.enter(client, method, receive)
        except HttpError as error:
            statuses.append(error.status_code)
            return
        try:
            await app({}, place.receive, send)
        finally:
            place.leave()

    tasks = [asyncio.create_task(ask(client)) for client in clients]
    for _ in range(10):
        await asyncio.sleep(0)
    end.set()
    await asyncio.gather(*tasks)
    assert not limit.of_client  # nothing is left behind
    return statuses


def test_a_request_whose_check_fails_leaves_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = made_settings(max_in_flight=1)
    service = Service(settings, Symbolizer(KnownModules()))
    admission = Admission(PlainTextResponse("answer"), service)
    statuses = []

    async def receive() -> Any:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        statuses.append(message.get("status"))

    def ask() -> None:
        asked = {"type": "http", "method": "GET", "path": "/", "headers": []}
        asyncio.run(admission(asked, receive, send))

    with monkeypatch.context() as patch:
        patch.setattr(service.tokens, "holder", lambda _: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            ask()
    ask()
    assert statuses[0] == 200


@pytest.mark.parametrize("bodies", ["none", "there"])
def test_requests_are_limited_in_all_and_by_client(bodies: str) -> None:
    found = asyncio.run(statuses_in_flight(["a", "a", "a", "b", "c"], bodies=bodies))
    assert sorted(found) == [200, 200, 200, 429, 503]


def test_a_body_that_nobody_reads_does_not_evade_the_limit() -> None:
    found = asyncio.run(statuses_in_flight([*"abcd"], bodies="slow", method="GET"))
    assert sorted(found) == [200, 200, 200, 503]


def test_slow_bodies_of_some_clients_keep_nobody_out() -> None:
    found = asyncio.run(statuses_in_flight([*"aabbccdd"], bodies="slow"))
    assert found == [200] * 8


def test_a_client_above_the_rate_limit_gets_retry_after(
    modules: KnownModules,
) -> None:
    with RunningServer(Symbolizer(modules), rate_limit=0.01, rate_burst=2) as server:
        # The first request of the test's server is its heartbeat, which is free.
        assert [server.post(job()).status for _ in range(3)] == [200, 200, 429]
        answer = server.post(job())
        assert answer.title == "429 Too Many Requests"
        assert 0 < int(answer.headers["retry-after"]) <= 100
        assert server.ask("GET", "/__heartbeat__").status == 200
        # Nobody is believed to be another one.
        assert server.post(job(), X_Forwarded_For="1.2.3.4").status == 429


def test_a_trusted_proxy_tells_clients_apart(modules: KnownModules) -> None:
    with RunningServer(
        Symbolizer(modules),
        rate_limit=0.01,
        rate_burst=1,
        trusted_proxies=["127.0.0.0/8"],
    ) as server:
        for client in ("1.2.3.4", "1.2.3.5"):
            # The last address is that of the client of the proxy.
            sent = {"X_Forwarded_For": f"9.9.9.9, {client}"}
            assert server.post(job(), **sent).status == 200
            assert server.post(job(), **sent).status == 429


class Stalling:
    """Finds nothing until it is told to."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()
        self.is_asked = threading.Event()

    def resolve(self, key: ModuleKey) -> Resolution:
        self.is_asked.set()
        if key.debug_id != "0" * 33:
            self.goes_on.wait(10)
        return Resolution(None)


def test_the_number_of_requests_in_flight_is_limited() -> None:
    stalling = Stalling()
    body = job(modules=[["x", LIB_ID]])
    with RunningServer(Symbolizer(stalling), max_in_flight=1) as server:
        first = threading.Thread(target=server.post, args=(body,))
        first.start()
        assert stalling.is_asked.wait(10)
        answer = server.post(job([[]], []))
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert answer.title == "503 Service Unavailable"
        assert server.ask("GET", "/__heartbeat__").status == 200
        assert server.ask("GET", "/metrics").status == 200
        stalling.goes_on.set()
        first.join()
        assert server.post(job([[]], [])).status == 200


@pytest.mark.confined
def test_a_symbfile_above_the_limit_is_to_be_sent_again(tmp_path: Path) -> None:
    stalling = Stalling()
    settings: dict[str, Any] = {"store": str(tmp_path), "tokens": {KEY: "upload"}}
    with RunningServer(Symbolizer(stalling), max_in_flight=1, **settings) as server:
        body = job(modules=[["x", LIB_ID]])
        first = threading.Thread(target=server.post, args=(body,))
        first.start()
        assert stalling.is_asked.wait(10)
        answer = push(server, 1, ranges(1))
        stalling.goes_on.set()
        first.join()
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert push(server, 1, ranges(1)).status == 200


def test_a_source_that_stalls_delays_no_other_request() -> None:
    stalling = Stalling()
    with RunningServer(
        Symbolizer(stalling), request_timeout=0.2, threads=1, fetch_threads=2
    ) as server:
        answer = server.post(job(modules=[["x", LIB_ID]]))
        assert (answer.status, answer.title) == (503, "503 Service Unavailable")
        assert answer.headers["retry-after"] == "5"
        assert server.post(job([[]], [])).status == 200
        assert server.post(job(modules=[["x", "0" * 33]])).status == 200
        stalling.goes_on.set()
        assert server.post(job(modules=[["x", LIB_ID]])).status == 200


# ---- names of requests


@pytest.mark.parametrize("given", ["", "a b", "A" * 129, "x\xe4"])
def test_a_request_keeps_its_id_if_that_is_valid(
    server: RunningServer, given: str
) -> None:
    for valid in ("abc-1.2_3", "A" * 128):
        assert server.post(job(), X_Request_Id=valid).headers["x-request-id"] == valid
    one = server.post(job(), X_Request_Id=given).headers["x-request-id"]
    other = server.post(b"x").headers["x-request-id"]
    assert len(one) == len(other) == 16
    assert one != other


def test_each_request_is_logged(
    server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "gsym.requests"):
        answer = server.post(job(), X_Request_Id="seen", User_Agent="mine")
        server.ask("GET", "/__heartbeat__")  # behind it, the first is written
    (record,) = [
        fields
        for each in caplog.records
        if (fields := getattr(each, "fields", {})).get("request_id") == "seen"
    ]
    assert record["status"] == 200
    assert record["path"] == "/symbolicate/v5"
    assert record["bytes"] == len(answer.body)
    assert record["client"] == "127.0.0.1"
    assert record["user_agent"] == "mine"


def test_an_internal_error_is_answered_in_json(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("gsym.api.symbolication.key_of_debug_id", fail)
    answer = server.post(job(), **ORIGIN)
    assert (answer.status, answer.title) == (500, "500 Internal Server Error")
    assert answer.headers["access-control-allow-origin"] == ORIGIN["Origin"]
    assert b"secret" not in answer.body


def test_a_server_may_have_a_root_path(modules: KnownModules) -> None:
    with RunningServer(
        Symbolizer(modules), root_path="/symbols", rate_limit=0.001, rate_burst=1
    ) as server:
        # The proxy takes the path away.
        assert server.post(job()).status == 200
        assert server.ask("GET", "/__heartbeat__").status == 200
        document = json.loads(server.ask("GET", "/__version__").body)
        assert document["version"]
