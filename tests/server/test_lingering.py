"""Who is refused while it sends gets to read why."""

from __future__ import annotations

import socket
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import pytest

from gsym.modules.symbolizer import Symbolizer
from gsym.server import protocol
from tests.server.running import RunningServer, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.modules import KnownModules

LIMIT = 10_000
LARGE = 20 << 20  # more than all buffers on the way hold
FOREVER = 1000.0  # seconds
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
def test_the_refusal_of_a_large_body_is_readable(
    patient: RunningServer, body: Any
) -> None:
    connection = HTTPConnection("127.0.0.1", patient.port, timeout=60)
    connection.request("POST", "/symbolicate/v5", body)
    response = connection.getresponse()
    assert response.status == 413
    assert b"please limit the body" in response.read()
    connection.close()


def test_the_refusal_of_a_large_header_is_readable(
    patient: RunningServer,
) -> None:
    with socket.create_connection(("127.0.0.1", patient.port), timeout=60) as wire:
        wire.sendall(HEAD + b"X: " + b"x" * LARGE)
        assert wire.makefile("rb").read().startswith(b"HTTP/1.1 431 ")


def test_a_client_that_keeps_sending_is_dropped_after_a_size(
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


def test_a_client_that_keeps_sending_is_dropped_after_a_time(
    modules: KnownModules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "LINGER_SECONDS", 0.05)
    monkeypatch.setattr(protocol, "LINGER_BYTES", 1 << 40)
    with (
        RunningServer(Symbolizer(modules), max_body=LIMIT) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=60) as wire,
    ):
        wire.sendall(HEAD + b"Content-Length: 9999999999\r\n\r\n")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            send_for_ever(wire)


def test_a_closed_connection_ends_lingering(patient: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", patient.port), timeout=60) as wire:
        wire.sendall(HEAD + b"Content-Length: 9999999\r\n\r\nx")
        assert wire.makefile("rb").read().startswith(b"HTTP/1.1 413 ")
        assert patient.connections == 1
    wait_until(lambda: not patient.connections)


def test_a_complete_request_does_not_linger(patient: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", patient.port), timeout=60) as wire:
        wire.sendall(
            b"GET /__version__ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        assert wire.makefile("rb").read().startswith(b"HTTP/1.1 200 ")
        wait_until(lambda: not patient.connections)


def test_a_server_that_stops_does_not_linger(
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
