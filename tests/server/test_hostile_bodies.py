"""Bodies that are too large, too slow, too deep, or not what they say."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import resource
import socket
import time
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from starlette.requests import Request

from gsym.containers.inflation import import_zstd
from gsym.modules.symbolizer import Symbolizer
from gsym.server.bodies import ByteBudget, HeldBody, read_body
from gsym.store.entries import Resolution
from tests.server.error_cases import NO_JSON, job
from tests.server.running import RunningServer, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gsym.modules.key import ModuleKey
    from gsym.server.bodies import Inflater
    from tests.server.modules import KnownModules

ZSTD = import_zstd()
pytestmark = [pytest.mark.long, pytest.mark.no_engine]

LIMIT = 10_000
TOO_LARGE = f"please limit the body of a request to <= {LIMIT} bytes"
BODY = json.dumps(job()).encode()


@pytest.fixture(scope="module")
def small(modules: KnownModules) -> Iterator[RunningServer]:
    """A server with small limits."""
    with RunningServer(
        Symbolizer(modules), max_body=LIMIT, body_timeout=0.15, max_held_bodies=25_000
    ) as server:
        yield server


def padded(size: int) -> bytes:
    return BODY.ljust(size)


def exchange(server: RunningServer, *parts: bytes) -> bytes:
    """Send bytes as they are; all that comes back until the server hangs up."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as wire:
        found = b""
        try:
            for part in parts:
                wire.sendall(part)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has heard enough, and may have said so
        try:
            while piece := wire.recv(1 << 16):
                found += piece
        except ConnectionResetError:
            pass
        return found


HEAD = b"POST /symbolicate/v5 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"


def chunked(body: bytes, size: int = 1000) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    text = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + text + b"0\r\n\r\n"


def test_the_size_of_a_body_is_limited(small: RunningServer) -> None:
    assert small.post(padded(LIMIT)).status == 200
    answer = small.post(padded(LIMIT + 1))
    assert (answer.status, answer.title) == (413, TOO_LARGE)
    assert b"HTTP/1.1 200" in exchange(small, chunked(padded(LIMIT)))
    assert b"HTTP/1.1 413" in exchange(small, chunked(padded(LIMIT + 1)))


def test_a_body_that_is_announced_too_large_is_not_waited_for(
    small: RunningServer,
) -> None:
    found = exchange(small, HEAD + b"Content-Length: 99999999999999999999\r\n\r\n")
    assert b"HTTP/1.1 4" in found


CODERS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("x-gzip", gzip.compress),
    ("zstd", lambda body: bytes(ZSTD.compress(body))),
    ("identity", bytes),
    (" GZIP ", gzip.compress),
]


@pytest.mark.parametrize(("coding", "code"), CODERS)
def test_a_body_may_be_compressed(
    small: RunningServer, coding: str, code: Callable[[bytes], bytes]
) -> None:
    expected = small.post(BODY).body
    assert small.post(code(BODY), Content_Encoding=coding).body == expected
    assert small.post(code(padded(LIMIT)), Content_Encoding=coding).body == expected
    answer = small.post(code(padded(LIMIT + 1)), Content_Encoding=coding)
    assert (answer.status, answer.title) == (413, TOO_LARGE)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", b""),
        ("gzip", b"x"),
        ("zstd", BODY),
        ("gzip", gzip.compress(BODY)[:-1]),
        ("gzip", gzip.compress(BODY) + b"more"),
        ("zstd", ZSTD.compress(BODY)[:-1]),
        ("zstd", ZSTD.compress(BODY) + b"more"),
        ("gzip", zlib.compress(BODY)),
        ("zstd", gzip.compress(BODY)),
    ],
)
def test_a_body_that_does_not_match_its_coding_is_refused(
    small: RunningServer, coding: str, body: bytes
) -> None:
    answer = small.post(body, Content_Encoding=coding)
    assert (answer.status, answer.title) == (400, f"Payload is not valid {coding}")


@pytest.mark.parametrize("coding", ["br", "gzip, gzip", "identity,x"])
def test_an_unknown_coding_is_refused(small: RunningServer, coding: str) -> None:
    assert small.post(BODY, Content_Encoding=coding).status == 415


@pytest.mark.parametrize(
    ("coding", "code"),
    [
        ("gzip", gzip.compress),
        ("zstd", lambda body: bytes(ZSTD.compress(body))),
    ],
)
def test_a_decompression_bomb_takes_little_memory(
    server: RunningServer, coding: str, code: Callable[[bytes], bytes]
) -> None:
    bomb = code(bytes(300 << 20))
    assert len(bomb) < 400_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = server.post(bomb, Content_Encoding=coding)
    assert answer.status == 413
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 64 << 10  # KiB


@pytest.mark.parametrize(
    ("coding", "body", "is_beside"),
    [
        ("gzip", BODY, False),
        ("zstd", padded(1 << 20), True),
        ("gzip", os.urandom(1 << 15), True),
    ],
    ids=["small", "large", "large as it comes"],
)
def test_large_bodies_are_inflated_off_the_event_loop(
    coding: str, body: bytes, *, is_beside: bool
) -> None:
    compress: Callable[[bytes], bytes] = {
        "gzip": gzip.compress,
        "zstd": ZSTD.compress,
    }[coding]
    packed, handed = compress(body), []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": packed}

    async def run(inflate: Inflater, content: bytes, limit: int) -> bytes | None:
        handed.append(inflate)
        return inflate(content, limit)

    headers = [(b"content-encoding", coding.encode())]
    request = Request({"type": "http", "method": "POST", "headers": headers}, receive)
    with HeldBody(ByteBudget(1 << 30)) as held:
        found = asyncio.run(read_body(request, held, 1 << 20, 60, run))
    assert found == body
    assert bool(handed) is is_beside


def test_a_slow_body_times_out(small: RunningServer) -> None:
    found = exchange(small, HEAD + b"Content-Length: 100\r\n\r\n{")
    assert b"HTTP/1.1 408" in found
    assert found.endswith(b'"error":"408 Request Timeout"}')


def test_an_aborted_body_releases_its_memory(small: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", small.port)) as wire:
        wire.sendall(HEAD + b"Content-Length: 9000\r\n\r\n" + b" " * 5000)
    for _ in range(5):  # its room is free again
        assert small.post(padded(LIMIT)).status == 200


def test_the_memory_of_all_bodies_is_limited(modules: KnownModules) -> None:
    with (
        RunningServer(Symbolizer(modules), max_held_bodies=15_000) as server,
        socket.create_connection(("127.0.0.1", server.port)) as wire,
    ):
        wire.sendall(HEAD + b"Content-Length: 9001\r\n\r\n" + b" " * 9000)
        held = padded(6001)
        while (answer := server.post(held)).status == 200:
            pass  # the other one is not read yet
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert answer.title == "503 Service Unavailable"
        assert server.post(padded(5000)).status == 200


@pytest.mark.parametrize(
    "garbage",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /symbolicate/v5 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_invalid_http_is_refused_in_json(server: RunningServer, garbage: bytes) -> None:
    found = exchange(server, garbage)
    assert found.startswith(b"HTTP/1.1 400")
    assert b"content-type: application/json" in found
    assert b'{"title":"' in found


def test_the_size_of_a_header_is_limited(server: RunningServer) -> None:
    fits = b"X: " + b"a" * 60_000 + b"\r\n"
    found = exchange(server, HEAD + fits + b"Content-Length: 0\r\n\r\n")
    assert b"HTTP/1.1 400" in found
    assert NO_JSON.encode() in found
    endless = (b"X: " + b"a" * 1000 + b"\r\n") * 30
    found = exchange(server, HEAD, *[endless] * 20)
    assert found == b"" or b"HTTP/1.1 431" in found


class SlowModules:
    """Finds nothing, and takes its time."""

    def resolve(self, _key: ModuleKey) -> Resolution:
        time.sleep(0.2)
        return Resolution(None)


@pytest.fixture(scope="module")
def slow() -> Iterator[RunningServer]:
    with RunningServer(
        Symbolizer(SlowModules()), head_timeout=0.1, body_timeout=0.1, max_head=10_000
    ) as server:
        yield server


@pytest.mark.parametrize("pieces", [1, 7])
def test_a_head_has_at_most_the_size_of_the_setting(
    slow: RunningServer, pieces: int
) -> None:
    """However it arrives, and whatever the size of the request before it."""
    before = HEAD.replace(b"close", b"keep-alive")
    before += b"Content-Length: 200000\r\n\r\n" + bytes(200_000)
    for size, status in ((10_000, b"200"), (10_001, b"431"), (100_000, b"431")):
        start = b"GET /__lbheartbeat__ HTTP/1.1\r\nHost: localhost\r\n"
        start += b"Connection: close\r\nX: "
        head = start + b"x" * (size - len(start) - 4) + b"\r\n\r\n"
        part = -(-len(head) // pieces)
        sent = [head[at : at + part] for at in range(0, len(head), part)]
        assert exchange(slow, *sent).startswith(b"HTTP/1.1 " + status), size
        found = exchange(slow, before + sent[0], *sent[1:])
        assert found.startswith(b"HTTP/1.1 400")  # it is no JSON
        assert (b"HTTP/1.1 200" in found[12:]) == (status == b"200")


def test_an_upgrade_to_another_protocol_is_ignored(server: RunningServer) -> None:
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA"
    rest = b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
    first = HEAD.replace(b"Connection: close", offer) + rest
    found = exchange(server, first + HEAD + rest)
    assert found.count(b"HTTP/1.1 200") == 2


def test_an_endless_header_times_out(modules: KnownModules) -> None:
    with RunningServer(Symbolizer(modules), head_timeout=0.1) as server:
        found = exchange(server, b"POST /symbolicate/v5 HTTP/1.1\r\nHost:")
        assert b"HTTP/1.1 408" in found
        found = exchange(server, b"")
        assert b"HTTP/1.1 408" in found
        assert server.post(BODY).status == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[" * 4_000_000, 400),
        (b'{"a":' * 1_000_000, 400),
        (b'{"jobs":[' + b"[" * 900 + b"]" * 900 + b"]}", 400),
        (b'{"stacks":[[[0,' + b"9" * 4_000_000 + b"]]]}", 400),
        (b'{"jobs":[{"stacks":[[]],"memoryMap":[' + b'["a","1"],' * 10_000, 400),
        (json.dumps(job(modules=[["a", "1"]] * 10_000)).encode(), 200),
        (json.dumps(job(modules=[["a", "1"]] * 10_001)).encode(), 413),
        (
            b'{"memoryMap":[],"stacks":[['
            + b",".join([b"[-1,1]"] * 1_000_001)
            + b"]]}",
            413,
        ),
        (b'{"memoryMap":[],"stacks":[' + b",".join([b"[]"] * 1_000_000) + b"]}", 200),
        (b'"' + b"\\u0041" * 1_000_000 + b'"', 400),
        (b'{"' + b'a":1,"' * 1_000_000 + b'stacks":[]}', 400),
    ],
)
def test_a_heavy_body_is_answered_in_bounded_memory(
    server: RunningServer, body: bytes, status: int
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = server.post(body)
    assert answer.status == status
    if status != 200:
        assert answer.title
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 700 << 10  # KiB


# ---- several requests in one go, and answers that nobody takes


WHOLE = HEAD.replace(b"close", b"keep-alive") + b"Content-Length: %d\r\n\r\n%b"
WHOLE %= len(BODY), BODY


@pytest.mark.parametrize(
    ("behind", "then"),
    [
        (b"POST /symbolicate", b"408"),
        (b"nonsense\r\n\r\n", None),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000, b"408"),
        (b"GET /__lbheartbeat__ HTTP/1.0\r\n\r\n", b"200"),
        (b"GET /__lbheartbeat__ HTTP/1.1\r\nConnection: close\r\n\r\n", b"400"),
        (WHOLE + b"nonsense\r\n\r\n", b"200"),
    ],
)
def test_pipelined_requests_are_answered_in_order(
    slow: RunningServer, behind: bytes, then: bytes | None
) -> None:
    _, *answers = exchange(slow, WHOLE + behind).split(b"HTTP/1.1 ")
    assert b"found_modules" in answers[0]
    assert [answer[:3] for answer in answers] == [b"200", *([then] if then else [])]


def test_an_invalid_chunk_is_refused_in_order(
    slow: RunningServer,
) -> None:
    start = HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
    found = exchange(slow, WHOLE + start + b"nonsense\r\n")
    assert found.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 408" in found
    assert exchange(slow, start + b"nonsense\r\n").startswith(b"HTTP/1.1 400")


# The response has some 9 MB; a small one fits in the buffers of the sockets.
LARGE = json.dumps(job([[[0, 4100]] * 60_000])).encode()
LARGE_REQUEST = HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(LARGE), LARGE)


def with_small_buffers(port: int) -> socket.socket:
    """A connection on which large answers wait until somebody takes them."""
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    wire.settimeout(60)
    wire.connect(("127.0.0.1", port))
    return wire


def taken(wire: socket.socket) -> int:
    """How many bytes come."""
    size = 0
    try:
        while part := wire.recv(1 << 16):
            size += len(part)
    except ConnectionResetError:
        pass
    return size


def test_an_unread_response_is_dropped(modules: KnownModules) -> None:
    with RunningServer(Symbolizer(modules), write_timeout=0.1) as server:
        whole = len(server.post(LARGE).body)
        with socket.create_connection(("127.0.0.1", server.port), 10) as wire:
            wire.sendall(LARGE_REQUEST)
            assert wire.recv(1)
            wait_until(lambda: not server.connections)
            assert taken(wire) < whole
        assert server.post(LARGE).status == 200


def test_the_memory_of_unread_responses_is_limited(
    modules: KnownModules,
) -> None:
    with RunningServer(Symbolizer(modules)) as server:
        size = len(server.post(LARGE).body)
    with RunningServer(Symbolizer(modules), max_held_answers=2 * size - 1) as server:
        with with_small_buffers(server.port) as wire:
            wire.sendall(LARGE_REQUEST)
            assert wire.recv(1)
            refused = server.post(LARGE)
            assert (refused.status, refused.title) == (503, "503 Service Unavailable")
            assert refused.headers["retry-after"] == "1"
            assert server.post(job()).status == 200
            assert taken(wire) > size
        assert len(server.post(LARGE).body) == size


def test_a_response_above_the_memory_limit_is_refused(
    modules: KnownModules,
) -> None:
    with RunningServer(Symbolizer(modules)) as server:
        size = len(server.post(LARGE).body)
    statuses = {}
    for room in (size - 1, size):
        with RunningServer(Symbolizer(modules), max_held_answers=room) as server:
            answer = server.post(LARGE)
            statuses[answer.status] = room
            assert "retry-after" not in answer.headers
            assert server.post(job()).status == 200
    assert statuses == {413: size - 1, 200: size}


@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_a_body_above_the_memory_limit_is_refused(
    modules: KnownModules, coding: str
) -> None:
    body = padded(LIMIT)
    packed = gzip.compress(body) if coding == "gzip" else body
    size = len(packed) + (len(body) if coding == "gzip" else 0)
    statuses = {}
    for room in (size - 1, size):
        with RunningServer(Symbolizer(modules), max_held_bodies=room) as server:
            answer = server.post(packed, Content_Encoding=coding)
            statuses[answer.status] = room
            assert "retry-after" not in answer.headers
            assert server.post(BODY).status == 200  # all was given back
    assert statuses == {413: size - 1, 200: size}


def test_a_request_is_in_flight_until_its_response_is_read(
    modules: KnownModules,
) -> None:
    with RunningServer(Symbolizer(modules), max_in_flight=1) as server:
        with with_small_buffers(server.port) as wire:
            wire.sendall(LARGE_REQUEST)
            assert wire.recv(1)
            assert server.post(job()).status == 503
            assert taken(wire)
        assert server.post(job()).status == 200
