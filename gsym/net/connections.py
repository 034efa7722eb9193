"""Connections to web servers: kept between requests, guarded, with deadlines.

There are two kinds, never mixed: those to servers that the operator named, and those to
others, which `network_guard` allows or refuses by the address that is connected to.
Import this module by `gsym.net.open_connections`: it needs the extra `net`.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from contextlib import AbstractContextManager, contextmanager, suppress
from urllib.request import getproxies_environment, proxy_bypass

import httpcore2
import httpx2

from gsym.errors import SourceError
from gsym.net.network_guard import AddressRefusedError, public_addresses
from gsym.net.retry import RetryableError
from gsym.net.web_address import WebAddress, request_headers
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from gsym.net.limits import TransferLimits


class Answer(NamedTuple):
    """The answer to a request."""

    status: int  # the HTTP status
    # values by name in lower case; the last of equal names counts
    headers: dict[str, str]
    pieces: Iterator[bytes]  # the body as transferred; can be read once


_IDLE_CONNECTIONS = 32
_IDLE_SECONDS = 30
_READ_SIZE = 1 << 20  # each read costs as much as 100 KiB of its bytes
_WRITE_SIZE = 1 << 16  # bytes between two checks of the deadline
_LOOPBACK = ("localhost", "127.", "::1")
_END_OF_HEADERS = b"\r\n\r\n"
_INTERIM = b"1"  # first digit of the status of an interim response
_STATUS_AT = len("HTTP/1.1 ")
_MAX_HEADERS = 1 << 20


class Connections:
    """Requests to servers over connections that all threads share."""

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
            max_keepalive_connections=_IDLE_CONNECTIONS,
            keepalive_expiry=_IDLE_SECONDS,
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
        """Send a request; the answer's headers are read, its body is not yet.

        *body* is sent by POST; pieces need a Content-Length among the headers. An
        operator has named a trusted server.

        Raises:
            RetryableError: There is no answer, or its body is incomplete.
            SourceError: The address may not be reached, the proxy refused, or the
                certificate is not that of the server.
        """
        try:
            with self._stream(address, headers, body, until, is_trusted) as response:
                self._clock.end = until
                fields = {
                    name.decode("latin-1").lower(): value.decode("latin-1").strip()
                    for name, value in response.headers
                }
                declared = fields.get("content-length", "")
                yield Answer(response.status, fields, self._body(response, declared))
        except AddressRefusedError as error:
            raise SourceError(error.reason) from error
        except httpcore2.TimeoutException as error:
            raise RetryableError("no answer in time") from error
        except httpcore2.ProxyError as error:
            raise SourceError(f"the proxy: {error}") from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            reason = str(error) or type(error).__name__
            if any(
                isinstance(each, ssl.SSLCertVerificationError) for each in error.args
            ):
                raise SourceError(reason) from error
            is_unreachable = isinstance(error, httpcore2.ConnectError)
            raise RetryableError(reason, is_unreachable=is_unreachable) from error

    def _stream(
        self,
        address: WebAddress,
        headers: Iterable[tuple[str, str]],
        body: bytes | Iterator[bytes] | None,
        until: float,
        is_trusted: bool,
    ) -> AbstractContextManager[httpcore2.Response]:
        """Send a request."""
        limits = self._limits
        self._clock.end = min(time.monotonic() + limits.header_seconds, until)
        self._clock.length = AnswerLength()
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
        return pool.stream(
            "GET" if body is None else "POST",
            url,
            headers=[(name.encode(), value.encode()) for name, value in sent],
            content=body,
            extensions={"timeout": timeouts},
        )

    def _body(self, response: httpcore2.Response, declared: str) -> Iterator[bytes]:
        yield from response.iter_stream()
        if self._clock.length.is_more_than(declared):
            raise httpcore2.RemoteProtocolError("sent more than declared")

    def _pool_for(
        self, address: WebAddress, *, is_trusted: bool
    ) -> httpcore2.ConnectionPool:
        is_free = is_trusted or self._allow_private
        proxy = proxy_for(address)
        if not proxy:
            return self._trusted if is_free else self._guarded
        if not is_free:
            with suppress(OSError):  # perhaps only the proxy can resolve the name
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


def proxy_for(address: WebAddress) -> str:
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


class AnswerLength:
    """Counts the bytes of one answer."""

    def __init__(self) -> None:
        self.body: int | None = None  # bytes after the headers; None before their end
        self._headers = b""

    def count(self, data: bytes) -> None:
        """Count the next bytes of the connection."""
        if self.body is not None:
            self.body += len(data)
            return
        self._headers += data
        while (at := self._headers.find(_END_OF_HEADERS)) >= 0:
            rest = self._headers[at + len(_END_OF_HEADERS) :]
            if self._headers[_STATUS_AT : _STATUS_AT + 1] != _INTERIM:
                self.body = len(rest)
                self._headers = b""
                return
            self._headers = rest
        if len(self._headers) > _MAX_HEADERS:
            self._headers = b""  # the HTTP library refuses it as well

    def is_more_than(self, declared: str) -> bool:
        """Whether more bytes arrived than a `Content-Length` declares."""
        if self.body is None or not declared.isdigit():
            return False
        return self.body > int(declared[:20])


class _Clock(threading.local):
    """The deadline of each thread's request, and the length of its answer."""

    def __init__(self) -> None:
        self.end = float("inf")
        self.length = AnswerLength()

    def cut(self, seconds: float | None) -> float:
        """*seconds*, or the time to the deadline if that is less."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout("timed out")
        return left if seconds is None else min(seconds, left)


class _Backend(httpcore2.NetworkBackend):
    """Connects to the addresses that *choose* returns for a host, or to any."""

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
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:  # noqa: PERF203 - the next address may work
                failure = error
        raise failure


class _Stream(httpcore2.NetworkStream):
    """A connection whose reads and writes end at the deadline of the request.

    Otherwise a server could block its client forever with a byte now and then.
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
        data = memoryview(buffer)
        for first in range(0, len(data), _WRITE_SIZE):
            piece: Any = data[first : first + _WRITE_SIZE]
            self._stream.write(piece, self._clock.cut(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        self._clock.length = AnswerLength()  # it was the answer of a proxy
        stream = self._stream.start_tls(ssl_context, server_hostname, timeout)
        return _Stream(stream, self._clock)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
