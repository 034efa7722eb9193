"""Connections to web servers: kept between requests, guarded, never waited on forever.

There are two kinds of them, never mixed: those to servers that the operator named, and
those to anybody else, which `network_guard` allows or refuses by the address that is
connected to. This module is imported only where the extra `net` is installed.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager, suppress
from urllib.request import getproxies_environment, proxy_bypass

import httpcore2
import httpx2

from gsym.records import NamedTuple
from gsym.store.net.limits import AnswerLength
from gsym.store.net.network_guard import public_addresses
from gsym.store.net.request_headers import request_headers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from ssl import SSLContext
    from typing import Any

    from gsym.store.net.limits import TransferLimits
    from gsym.store.net.web_address import WebAddress


class Answer(NamedTuple):
    """The answer to a request.

    Attributes:
        status: Of HTTP.
        headers: Name, in lower case, and value; the last of equal ones counts.
        pieces: The body as it is sent; to be taken once.
    """

    status: int
    headers: dict[str, str]
    pieces: Iterator[bytes]


_KEPT = 32  # connections that nobody uses
_KEPT_SECONDS = 30
_READ_SIZE = 1 << 20  # bytes read at once: each piece costs as much as 100 KiB of it
_WRITE_SIZE = 1 << 16  # bytes, between which it is seen if time is left
_LOOPBACK = ("localhost", "127.", "::1")


class Connections:
    """Requests to servers over connections that all threads share.

    Args:
        limits: Those of time.
        allow_private: Reach any address for anybody.
        resolve: Looks names up, as `socket.getaddrinfo`.
    """

    def __init__(
        self,
        limits: TransferLimits,
        *,
        allow_private: bool = False,
        resolve: Callable[..., list[Any]] = socket.getaddrinfo,
    ) -> None:
        self._limits = limits
        self._allow_private = allow_private
        self._resolve = resolve
        self._clock = _Clock()
        self._ssl_context = httpx2.create_ssl_context()
        self._trusted = self._pool(_Backend(self._clock))
        self._guarded = self._pool(_Backend(self._clock, self._public_addresses))
        self._proxied: dict[str, httpcore2.ConnectionPool] = {}
        self._lock = threading.Lock()

    def _pool(
        self, backend: httpcore2.NetworkBackend, proxy: httpcore2.Proxy | None = None
    ) -> httpcore2.ConnectionPool:
        return httpcore2.ConnectionPool(
            ssl_context=self._ssl_context,
            proxy=proxy,
            max_connections=None,
            max_keepalive_connections=_KEPT,
            keepalive_expiry=_KEPT_SECONDS,
            network_backend=backend,
        )

    def _public_addresses(self, host: str, port: int) -> list[str]:
        return public_addresses(host, port, self._resolve)

    @contextmanager
    def ask(
        self,
        address: WebAddress,
        headers: Iterable[tuple[str, str]],
        *,
        is_trusted: bool,
        until: float,
        body: bytes | Iterator[bytes] | None = None,
    ) -> Iterator[Answer]:
        """The answer to a request, whose head is there and whose body is not yet.

        Args:
            address: What to ask for.
            headers: (name, value) to send along.
            is_trusted: The operator named the server.
            until: When all has to be done, by `time.monotonic`.
            body: To send by POST; None: GET. Pieces need a Content-Length among the
                headers.

        Raises:
            AddressRefusedError: It may not be reached.
            Exception: One of httpcore2.
        """
        limits = self._limits
        self._clock.end_at(min(time.monotonic() + limits.header_seconds, until))
        self._clock.begin_answer()
        left = self._clock.cut(None)
        url = httpcore2.URL(
            scheme=address.scheme.encode("ascii"),
            host=address.host.encode("ascii"),
            port=address.port,
            target=address.target.encode("ascii"),
        )
        timeouts = {
            "connect": min(limits.connect_seconds, left),
            "read": limits.idle_seconds,
            "write": limits.write_seconds,
            "pool": left,
        }
        sent = request_headers(address, headers)
        pool = self._pool_for(address, is_trusted=is_trusted)
        with pool.stream(
            "GET" if body is None else "POST",
            url,
            headers=[(name.encode(), value.encode()) for name, value in sent],
            content=body,
            extensions={"timeout": timeouts},
        ) as response:
            self._clock.end_at(until)
            fields = {
                name.decode("latin-1").lower(): value.decode("latin-1").strip()
                for name, value in response.headers
            }
            claimed = fields.get("content-length", "")
            yield Answer(response.status, fields, self._body(response, claimed))

    def _body(self, response: httpcore2.Response, claimed: str) -> Iterator[bytes]:
        yield from response.iter_stream()
        if self._clock.length.is_more_than(claimed):
            raise httpcore2.RemoteProtocolError("sent more than it claims to")

    def _pool_for(
        self, address: WebAddress, *, is_trusted: bool
    ) -> httpcore2.ConnectionPool:
        is_free = is_trusted or self._allow_private
        proxy = _proxy_for(address)
        if not proxy:
            return self._trusted if is_free else self._guarded
        if not is_free:
            with suppress(OSError):  # only the proxy may know the name
                self._public_addresses(address.host, address.port)
        with self._lock:
            if proxy not in self._proxied:
                backend = _Backend(self._clock)
                self._proxied[proxy] = self._pool(backend, _proxy_of(proxy))
            return self._proxied[proxy]

    def close(self) -> None:
        """Close all connections."""
        for pool in (self._trusted, self._guarded, *self._proxied.values()):
            pool.close()


def _proxy_for(address: WebAddress) -> str:
    """The proxy that the environment names for a URL; "" for none."""
    proxies = getproxies_environment()
    if not proxies or address.host.startswith(_LOOPBACK):
        return ""
    if proxy_bypass(f"{address.host}:{address.port}"):
        return ""
    return proxies.get(address.scheme) or proxies.get("all", "")


def _proxy_of(url: str) -> httpcore2.Proxy:
    parsed = httpx2.Proxy(url)
    return httpcore2.Proxy(
        httpcore2.URL(
            scheme=parsed.url.raw_scheme,
            host=parsed.url.raw_host,
            port=parsed.url.port,
            target=b"/",
        ),
        auth=parsed.raw_auth,
    )


class _Clock(threading.local):
    """When each thread's request has to be done, and how much came of its answer."""

    def __init__(self) -> None:
        self.end = float("inf")
        self.length = AnswerLength()

    def end_at(self, end: float) -> None:
        self.end = end

    def begin_answer(self) -> None:
        self.length = AnswerLength()

    def cut(self, seconds: float | None) -> float:
        """*seconds*, or what is left if that is less.

        Raises:
            httpcore2.ReadTimeout: Nothing is left.
        """
        left = self.end - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout("the time is up")
        return left if seconds is None else min(seconds, left)


class _Backend(httpcore2.NetworkBackend):
    """Connects to the addresses that *choose* gives for a host, or to any."""

    def __init__(
        self, clock: _Clock, choose: Callable[[str, int], list[str]] | None = None
    ) -> None:
        self._backend = httpcore2.SyncBackend()
        self._clock = clock
        self._choose = choose

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        try:
            addresses = [host] if self._choose is None else self._choose(host, port)
        except OSError as error:
            raise httpcore2.ConnectError(error.strerror or str(error)) from error
        failure: Exception = httpcore2.ConnectError("the host has no address")
        for address in addresses:
            try:
                left = self._clock.cut(timeout)
                stream = self._backend.connect_tcp(
                    address, port, left, local_address, socket_options
                )
                return _Stream(stream, self._clock)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:  # noqa: PERF203 - the next address may do
                failure = error
        raise failure


class _Stream(httpcore2.NetworkStream):
    """A connection that nobody waits on past the end of a request.

    A server that sends a byte now and then, or takes one, would hold its client up
    forever otherwise.
    """

    def __init__(self, stream: httpcore2.NetworkStream, clock: _Clock) -> None:
        self._stream = stream
        self._clock = clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        size = max(max_bytes, _READ_SIZE)
        data = bytes(self._stream.read(size, self._clock.cut(timeout)))
        self._clock.length.count(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        whole = memoryview(buffer)
        for first in range(0, len(whole), _WRITE_SIZE):
            piece: Any = whole[first : first + _WRITE_SIZE]
            self._stream.write(piece, self._clock.cut(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        self._clock.begin_answer()  # what came was that of a proxy
        stream = self._stream.start_tls(ssl_context, server_hostname, timeout)
        return _Stream(stream, self._clock)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
