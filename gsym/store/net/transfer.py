"""Files from web servers: whole and within limits, or not at all."""

from __future__ import annotations

import random
import socket
import time
from itertools import count

from gsym.errors import UnsupportedError
from gsym.store.net.limits import TransferLimits
from gsym.store.net.network_guard import AddressRefusedError
from gsym.store.net.received_file import inflated_pieces, keep_pieces, within_size
from gsym.store.net.retrying import ServerRests, read_retry_after
from gsym.store.sources.source import NotThereError, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from typing import Any

    from typing_extensions import Buffer

    from gsym.store.net.connections import Answer, Connections
    from gsym.store.net.web_address import WebAddress

    Headers = Iterable[tuple[str, str]]

_OK = 200
_REDIRECTS = {301, 302, 303, 307, 308}
_NOT_THERE = {404, 410}
_NOT_ALLOWED = {401, 403, 407}
_LATER = {408, 425, 429, 500, 502, 503, 504}
_LONGEST_BACKOFF = 30.0
_DRAINED = 64 << 10  # of an answer that is of no use, so that its connection is
_ENCODINGS = ("Accept-Encoding", "gzip, zstd")


class Transfer:
    """Fetches files; one serves any number of threads and keeps its connections.

    Args:
        limits: Of each file.
        allow_private: Let redirects, and URLs of strangers, lead anywhere.
        sleep: Waits for a number of seconds.
        resolve: Looks names up.
        connections: Instead of those that it makes.
        rests: Remembers which servers asked to be left in peace.

    Raises:
        UnsupportedError: The package for HTTP is not installed.
    """

    def __init__(  # noqa: PLR0913 - keywords, each a choice of its own
        self,
        limits: TransferLimits | None = None,
        *,
        allow_private: bool = False,
        sleep: Callable[[float], object] = time.sleep,
        resolve: Callable[..., list[Any]] = socket.getaddrinfo,
        connections: Connections | None = None,
        rests: ServerRests | None = None,
    ) -> None:
        self.limits = TransferLimits() if limits is None else limits
        self._sleep = sleep
        self._rests = ServerRests() if rests is None else rests
        self._connections = connections or _connect(self.limits, allow_private, resolve)

    def fetch(
        self,
        address: WebAddress,
        path: str,
        *,
        headers: Headers = (),
        is_trusted: bool = False,
    ) -> None:
        """Let the file behind a URL appear at *path*, inflated.

        Args:
            address: What to ask for. Its credentials go to its own server only.
            path: Where the file shall appear; it is there whole or not at all.
            headers: (name, value) to send, to its own server only.
            is_trusted: The operator named the server: it may have any address. Servers
                that it redirects to may not.

        Raises:
            NotThereError: There is no such file.
            SourceError: It cannot be had, or not within the limits.
        """
        until = time.monotonic() + self.limits.total_seconds
        self._wait_for(address)
        request = _Request(self, address, tuple(headers), is_trusted, until)
        try:
            self._attempt(request, path, until)
        except _LaterError as error:
            if is_trusted and error.wait:
                # It is left in peace for as long as it asks to, within reason.
                longest = min(error.wait, self.limits.total_seconds)
                self._rests.begin(address.origin, longest)
            raise
        except NotThereError:
            self._rests.end(address.origin)
            raise
        self._rests.end(address.origin)

    def _attempt(self, request: _Request, path: str, until: float) -> None:
        """Attempt a request as often as the limits have it."""
        for attempt in count(1):
            error = request.attempt(path)
            if error is None:
                return
            wait = max(error.wait, self._backoff(attempt))
            is_last = attempt >= self.limits.attempts or wait > self.limits.wait_seconds
            if is_last or time.monotonic() + wait >= until:
                raise error
            self._sleep(wait)

    def _wait_for(self, address: WebAddress) -> None:
        """Wait until a server may be asked again, or ask to see if it answers.

        Raises:
            SourceError: It is to be left in peace.
        """
        left = self._rests.seconds_left(address.origin)
        if left <= 0:
            return
        # What remains has to be enough for the file.
        if left <= min(self.limits.wait_seconds, self.limits.total_seconds / 2):
            self._sleep(left)
        elif not self._rests.claims_probe(address.origin):
            reason = f"asked for no requests; {left:.0f} s of that are left"
            raise SourceError(reason, path=str(address), may_retry=True)

    def _backoff(self, attempt: int) -> float:
        longest = self.limits.backoff_seconds * 2 ** (attempt - 1)
        return random.uniform(0, min(longest, _LONGEST_BACKOFF))  # noqa: S311

    def get(
        self, address: WebAddress, headers: Headers, *, is_trusted: bool, until: float
    ) -> AbstractContextManager[Answer]:
        """As `Connections.ask`."""
        return self._connections.ask(
            address, headers, is_trusted=is_trusted, until=until
        )

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()


def _connect(
    limits: TransferLimits, allow_private: bool, resolve: Callable[..., list[Any]]
) -> Connections:
    try:
        from gsym.store.net.connections import Connections
    except ImportError:
        reason = "web servers need the package httpx2: pip install 'gsym[net]'"
        raise UnsupportedError(reason) from None
    return Connections(limits, allow_private=allow_private, resolve=resolve)


class _LaterError(SourceError):
    """No answer now; *wait* are the seconds that the server asks for."""

    def __init__(self, reason: str, wait: float = 0) -> None:
        super().__init__(reason, may_retry=True)
        self.wait = wait


class _Request:
    """A URL that is asked until there is an answer, along redirects."""

    def __init__(
        self,
        transfer: Transfer,
        address: WebAddress,
        headers: tuple[tuple[str, str], ...],
        is_trusted: bool,
        until: float,
    ) -> None:
        self._transfer = transfer
        self._limits = transfer.limits
        self._first = address
        self._headers = headers
        self._is_trusted = is_trusted
        self._until = until

    def attempt(self, path: str) -> _LaterError | None:
        """Let the file appear at *path*; else why there may be one later."""
        address, seen = self._first, {self._first}
        try:
            while (location := self._ask(address, path)) is not None:
                address = self._redirected(address, location, seen)
                seen.add(address)
        except _LaterError as error:
            error.path = str(address)
            return error
        except (NotThereError, SourceError) as error:
            error.path = str(address)
            raise
        return None

    def _redirected(
        self, address: WebAddress, location: str, seen: set[WebAddress]
    ) -> WebAddress:
        try:
            target = address.joined(location)
        except ValueError as error:
            raise SourceError(f"a redirect is of no use: {error}") from None
        is_downgrade = address.scheme == "https" and target.scheme == "http"
        if is_downgrade and self._first.scheme != "http":
            raise SourceError("a redirect leads from https to http")
        if target in seen:
            raise SourceError("redirects lead in a circle")
        if len(seen) > self._limits.redirects:
            raise SourceError(f"more than {self._limits.redirects} redirects")
        return target

    def _ask(self, address: WebAddress, path: str) -> str | None:
        """Where else to ask; None once the file is kept."""
        import httpcore2

        is_own = address.origin == self._first.origin
        headers = [_ENCODINGS, *(self._own_headers() if is_own else ())]
        try:
            with self._transfer.get(
                address,
                headers,
                is_trusted=self._is_trusted and is_own,
                until=self._until,
            ) as answer:
                location = self._judge(answer)
                if location is None:
                    self._keep(answer, path)
                return location
        except AddressRefusedError as error:
            raise SourceError(error.reason) from error
        except httpcore2.TimeoutException as error:
            raise self._later("no answer in time") from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise self._later(str(error) or type(error).__name__) from error
        except httpcore2.ProxyError as error:
            raise SourceError(f"the proxy: {error}") from error

    def _own_headers(self) -> Iterator[tuple[str, str]]:
        if authorization := self._first.authorization:
            yield "Authorization", authorization
        yield from self._headers

    def _later(self, reason: str) -> SourceError:
        if time.monotonic() >= self._until:
            limit = f"took more than {self._limits.total_seconds:g} seconds"
            return SourceError(f"{reason}; it {limit}", may_retry=True)
        return _LaterError(reason)

    def _judge(self, answer: Answer) -> str | None:
        """Where a redirect leads; None for an answer that can be kept."""
        status, fields = answer.status, answer.headers
        if status == _OK:
            return None
        _drain(answer)
        if status in _REDIRECTS and "location" in fields:
            return fields["location"]
        what = f"HTTP status {status}"
        if status in _NOT_THERE:
            raise NotThereError(what)
        if status in _NOT_ALLOWED:
            raise SourceError(f"{what}: not allowed")
        if status in _LATER:
            wait = read_retry_after(fields.get("retry-after", "")) or 0.0
            asked = f", which asks to wait {wait:.0f} s" if wait else ""
            raise _LaterError(what + asked, wait)
        raise SourceError(what)

    def _keep(self, answer: Answer, path: str) -> None:
        limits, fields = self._limits, answer.headers
        length = fields.get("content-length", "")
        if length.isdigit() and int(length[:20]) > limits.most_bytes:
            raise SourceError(f"is larger than {limits.most_bytes} bytes")
        encoding = fields.get("content-encoding", "")
        pieces = within_size(answer.pieces, limits.most_bytes)
        pieces = inflated_pieces(self._in_time(pieces), encoding, limits.most_inflated)
        keep_pieces(pieces, path)

    def _in_time(self, pieces: Iterable[Buffer]) -> Iterator[Buffer]:
        limits = self._limits
        since, recent = time.monotonic(), 0
        for piece in pieces:
            recent += memoryview(piece).nbytes
            now = time.monotonic()
            if now > self._until:
                raise self._later("the time is up")
            if now - since > limits.idle_seconds:
                if recent < limits.least_bytes:
                    sent = f"sent {recent} bytes in {limits.idle_seconds:g} seconds"
                    raise _LaterError(sent)
                since, recent = now, 0
            yield piece


def _drain(answer: Answer) -> None:
    """Read a short answer to its end, so that its connection can be used again."""
    size = 0
    for piece in answer.pieces:
        size += len(piece)
        if size > _DRAINED:
            return
