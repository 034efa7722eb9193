"""Cheap HTTP clients that measure response times.

Each sends its next request when it has the response, on a persistent connection if the
server allows it. Responses may have a length, chunks, or end with the connection;
nothing else of HTTP is supported.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

_HEAD_END = b"\r\n\r\n"
_BROKEN = 0


class Answer(NamedTuple):
    """What became of a request: status 0 where there is no answer, *body* says why."""

    status: int
    body: bytes
    seconds: float


class Percentiles(NamedTuple):
    """Of the seconds that answers took."""

    median: float
    p99: float


def percentiles(seconds: Sequence[float]) -> Percentiles:
    """Median and 99th percentile, the next value above it."""
    ordered = sorted(seconds)
    return Percentiles(
        statistics.median(ordered), ordered[-max(1, len(ordered) // 100)]
    )


def request(host: str, path: str, body: bytes | None = None) -> bytes:
    """A POST of *body*, or a GET without one, as it goes over the wire."""
    method = "GET" if body is None else "POST"
    size = "" if body is None else f"Content-Length: {len(body)}\r\n"
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{size}\r\n"
    return head.encode() + (body or b"")


class Client:
    """One connection at a time to a server."""

    def __init__(self, host: str, port: int, timeout: float = 60) -> None:
        self._place = (host, port)
        self._timeout = timeout
        self._wire: _Wire | None = None

    async def ask(self, message: bytes) -> Answer:
        """The answer to a message; one without is told by the status 0."""
        start = time.perf_counter()
        try:
            status, body = await self._ask(message)
        except (OSError, asyncio.TimeoutError, ValueError) as problem:
            self.close()
            reason = f"{type(problem).__name__}: {problem}".encode()
            return Answer(_BROKEN, reason, time.perf_counter() - start)
        return Answer(status, body, time.perf_counter() - start)

    async def _ask(self, message: bytes) -> tuple[int, bytes]:
        # A server may close a connection that it kept open, at any moment: a request
        # that met its end without a byte of an answer goes out once more.
        if self._wire is not None and not self._wire.is_closed:
            try:
                return await self._wire.ask(message, self._timeout)
            except _ClosedUnansweredError:
                pass
        loop = asyncio.get_running_loop()
        connecting = loop.create_connection(_Wire, *self._place)
        _, wire = await asyncio.wait_for(connecting, self._timeout)
        self._wire = wire
        return await wire.ask(message, self._timeout)

    def close(self) -> None:
        """Hang up."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None


class _ClosedUnansweredError(ConnectionError):
    """The connection ended before the first byte of an answer."""


class _Wire(asyncio.Protocol):
    """A connection and the answer that comes in on it."""

    def __init__(self) -> None:
        self.is_closed = False
        self._received = bytearray()
        self._wanted = 0  # bytes of the whole answer; 0 where that is not known yet
        self._body_at = 0
        self._status = 0
        self._is_chunked = False
        self._is_last = False
        self._done: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    async def ask(self, message: bytes, timeout: float) -> tuple[int, bytes]:
        loop = asyncio.get_running_loop()
        self._done = loop.create_future()
        self._transport.write(message)
        # `asyncio.wait_for` would start a task for each request.
        expiry = loop.call_later(timeout, self._expire)
        try:
            return await self._done
        finally:
            expiry.cancel()

    def _expire(self) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(asyncio.TimeoutError("no answer in time"))

    def close(self) -> None:
        self.is_closed = True
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        if not self._body_at and not self._read_head():
            return
        if self._is_chunked:
            if received.endswith(b"0\r\n\r\n"):
                self._finish(_joined_chunks(received, self._body_at))
        elif self._wanted and len(received) >= self._wanted:
            self._finish(bytes(memoryview(received)[self._body_at : self._wanted]))

    def _read_head(self) -> bool:
        end = self._received.find(_HEAD_END)
        if end < 0:
            return False
        first, *lines = bytes(self._received[:end]).split(b"\r\n")
        fields = {
            name.strip().lower(): value.strip().lower()
            for name, _, value in (line.partition(b":") for line in lines)
        }
        self._body_at = end + len(_HEAD_END)
        self._status = int(first.split(b" ", 2)[1])
        self._is_last = fields.get(b"connection") == b"close"
        self._is_chunked = fields.get(b"transfer-encoding") == b"chunked"
        size = fields.get(b"content-length")
        self._wanted = self._body_at + int(size) if size is not None else 0
        return True

    def _finish(self, body: bytes) -> None:
        if self._is_last:
            self.close()
        self._received.clear()
        self._wanted = self._body_at = 0
        if self._done is not None and not self._done.done():
            self._done.set_result((self._status, body))

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed = True
        if self._done is None or self._done.done():
            return
        if self._body_at and not self._wanted and not self._is_chunked:
            self._finish(bytes(self._received[self._body_at :]))
        elif not self._received:
            self._done.set_exception(_ClosedUnansweredError("closed unanswered"))
        else:
            self._done.set_exception(exc or ConnectionError("closed within the answer"))


def _joined_chunks(received: bytearray, at: int) -> bytes:
    parts: list[bytes] = []
    while True:
        end = received.index(b"\r\n", at)
        size = int(received[at:end], 16)
        if not size:
            return b"".join(parts)
        parts.append(bytes(received[end + 2 : end + 2 + size]))
        at = end + 2 + size + 2


async def ask_in_turn(
    clients: Sequence[Client],
    messages: Sequence[bytes],
    until: Callable[[int], bool],
    keep: Callable[[int, Answer], None],
) -> None:
    """Every client asks, and asks again when it has its answer; at last all hang up.

    Args:
        clients: All of them ask at the same time.
        messages: Asked in turn, whoever asks.
        until: Tells by the number of requests that went out whether to stop.
        keep: Takes the index of a message and its answer.
    """
    sent = 0

    async def go_on(client: Client) -> None:
        nonlocal sent
        while not until(sent):
            at = sent % len(messages)
            sent += 1
            keep(at, await client.ask(messages[at]))

    try:
        await asyncio.gather(*map(go_on, clients))
    finally:
        await hang_up(clients)


async def hang_up(clients: Iterable[Client]) -> None:
    """End all connections."""
    for client in clients:
        client.close()
    await asyncio.sleep(0)  # until they are
