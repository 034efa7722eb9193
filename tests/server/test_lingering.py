"""Who is refused while it sends gets to read why."""

from __future__ import annotations

import socket
import time
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import pytest

from gsym.server import protocol
from gsym.server.protocol import LingeringTransport
from gsym.store.symbolizer import Symbolizer
from tests.server.running import RunningServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.server.modules import KnownModules

LIMIT = 10_000
LARGE = 20 << 20  # more than all buffers on the way hold
FOREVER = 1000.0  # seconds
PATIENCE = 60  # seconds
HEAD = b"POST /symbolicate/v5 HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def patient(modules: KnownModules) -> Iterator[RunningServer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "LINGER_SECONDS", FOREVER)
        with RunningServer(
            Symbolizer(modules), max_body=LIMIT, max_head=LIMIT
        ) as server:
            yield server


def in_chunks() -> Iterator[bytes]:
    for _ in range(LARGE >> 20):
        yield bytes(1 << 20)


@pytest.mark.parametrize("body", [bytes(LARGE), in_chunks()], ids=["whole", "chunked"])
def test_the_answer_to_a_body_that_is_too_large_is_read_behind_it(
    patient: RunningServer, body: Any
) -> None:
    connection = HTTPConnection("127.0.0.1", patient.port, timeout=60)
    connection.request("POST", "/symbolicate/v5", body)
    response = connection.getresponse()
    assert response.status == 413
    assert b"please limit the body" in response.read()
    connection.close()


def test_the_answer_to_a_head_that_is_too_large_is_read_behind_it(
    patient: RunningServer,
) -> None:
    with socket.create_connection(("127.0.0.1", patient.port), timeout=60) as wire:
        wire.sendall(HEAD + b"X: " + b"x" * LARGE)
        assert wire.makefile("rb").read().startswith(b"HTTP/1.1 431 ")


def test_who_sends_more_than_is_thrown_away_is_hung_up_on(
    modules: KnownModules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "LINGER_SECONDS", FOREVER)
    monkeypatch.setattr(protocol, "LINGER_BYTES", LIMIT)
    with (
        RunningServer(Symbolizer(modules), max_body=LIMIT) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=60) as wire,
    ):
        wire.sendall(HEAD + b"Content-Length: 9999999999\r\n\r\n")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            send_for_ever(wire)


def test_who_closes_is_waited_for_no_more(patient: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", patient.port), timeout=60) as wire:
        wire.sendall(HEAD + b"Content-Length: 9999999\r\n\r\nx")
        assert wire.makefile("rb").read().startswith(b"HTTP/1.1 413 ")
        assert patient.connections == 1
    wait_for(lambda: not patient.connections)


def test_nobody_is_waited_for_whose_request_came_whole(patient: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", patient.port), timeout=60) as wire:
        wire.sendall(
            b"GET /__version__ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        assert wire.makefile("rb").read().startswith(b"HTTP/1.1 200 ")
        wait_for(lambda: not patient.connections)


def test_a_server_that_stops_waits_for_nobody(
    modules: KnownModules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "LINGER_SECONDS", FOREVER)
    with socket.socket() as wire:
        with RunningServer(Symbolizer(modules), max_body=LIMIT) as server:
            wire.connect(("127.0.0.1", server.port))
            wire.sendall(HEAD + b"Content-Length: 9999999\r\n\r\nx")
            assert wire.makefile("rb").read().startswith(b"HTTP/1.1 413 ")
        # It has stopped, though the connection is still open at this end.
        assert not server.connections


def send_for_ever(wire: socket.socket) -> None:
    while True:
        wire.sendall(bytes(1 << 20))


def wait_for(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


# ---- alone


class FakeTransport:
    """Remembers what was done to it."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def __getattr__(self, name: str) -> Callable[[], bool]:
        def call() -> bool:
            self.done.append(name)
            return True

        return call

    def is_closing(self) -> bool:
        return "close" in self.done


class FakeLoop:
    """Calls back on request."""

    def __init__(self) -> None:
        self.calls: list[tuple[float, Callable[[], object]]] = []

    def call_later(self, seconds: float, call: Callable[[], object]) -> FakeLoop:
        self.calls.append((seconds, call))
        return self

    def cancel(self) -> None:
        self.calls.clear()


def lingering(
    *, is_sending: bool
) -> tuple[LingeringTransport, FakeTransport, FakeLoop]:
    transport, loop = FakeTransport(), FakeLoop()
    made: Any = LingeringTransport
    return made(transport, loop, 7.0, LIMIT, lambda: is_sending), transport, loop


def test_it_ends_after_its_time() -> None:
    wire, transport, loop = lingering(is_sending=True)
    wire.close()
    assert transport.done == ["can_write_eof", "write_eof", "resume_reading"]
    assert wire.is_closing()
    ((seconds, call),) = loop.calls
    assert seconds == 7.0
    call()
    assert transport.done[-1] == "close"


def test_so_many_bytes_are_thrown_away() -> None:
    wire, transport, loop = lingering(is_sending=True)
    wire.close()
    wire.close()
    wire.drop(LIMIT - 1)
    wire.drop(1)
    assert "close" not in transport.done
    wire.drop(1)
    assert transport.done[-1] == "close"
    assert not loop.calls


def test_a_request_that_is_whole_is_not_waited_for() -> None:
    wire, transport, loop = lingering(is_sending=False)
    wire.close()
    assert transport.done == ["close"]
    assert not loop.calls
