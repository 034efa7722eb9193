"""Downloads from web servers: complete and within limits, or failed."""

from __future__ import annotations

import os
import time
from contextlib import AbstractContextManager, suppress

from gsym.containers.inflation import inflate_gzip, inflate_zstd, limited
from gsym.errors import NotFoundError, SourceError
from gsym.net import open_connections
from gsym.net.circuit_breaker import CircuitBreaker
from gsym.net.limits import TransferLimits
from gsym.net.retry import (
    Attempts,
    RetryableError,
    RetryPolicy,
    check_later,
    retry,
)
from gsym.writing.atomic_file import FULL_DISK

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeVar

    from typing_extensions import Buffer

    from gsym.net.connections import Answer, Connections
    from gsym.net.web_address import WebAddress

    Headers = Iterable[tuple[str, str]]
    Result = TypeVar("Result")

    from collections.abc import Iterable


_OK = 200
_PARTIAL = 206
_REDIRECTS = {301, 302, 303, 307, 308}
_NOT_FOUND = {404, 410}
_NOT_ALLOWED = {401, 403, 407}
_TOO_LARGE = 406  # the server heeds X-DEBUGINFOD-MAXSIZE
_DRAINED = 64 << 10  # bytes read of an error, so that its connection can be kept
_PROBE_SECONDS = 1.5
_ENCODINGS = ("Accept-Encoding", "gzip, zstd")
_INFLATERS = {"gzip": inflate_gzip, "x-gzip": inflate_gzip, "zstd": inflate_zstd}


class Transfer:
    """Fetches files; safe for threads, and keeps its connections.

    Args:
        limits: Limits of each file.
        user: The feature that needs it, for the message about a missing package.
        sleep: Waits for a number of seconds.
        connections: In place of new ones.
        breaker: Remembers which servers sent Retry-After, by origin.
        options: Keywords of `Connections`.

    Raises:
        UnsupportedError: The extra `net` is not installed.
    """

    def __init__(
        self,
        limits: TransferLimits | None = None,
        *,
        user: str = "a web server",
        sleep: Callable[[float], object] = time.sleep,
        connections: Connections | None = None,
        breaker: CircuitBreaker | None = None,
        **options: Any,
    ) -> None:
        self.limits: TransferLimits = TransferLimits() if limits is None else limits
        self._sleep = sleep
        self._breaker = breaker or CircuitBreaker(
            probe_seconds=_PROBE_SECONDS, clock=time.monotonic
        )
        self._connections = connections or open_connections(
            user, self.limits, **options
        )

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def fetch(
        self,
        address: WebAddress,
        path: str,
        *,
        headers: Headers = (),
        is_trusted: bool = False,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        """Download a URL to *path*, inflated; the file is removed if that fails.

        Until then it is incomplete: for others to see, its caller renames it.

        The credentials in the URL and *headers* are sent to its own server only. A
        trusted server, which an operator has named, may have any address, unlike
        servers that it redirects to.

        Raises:
            NotFoundError: The server does not have the file.
            SourceError: It gave no usable answer, or not within the limits.
        """

        def write(answer: Answer) -> None:
            if answer.status != _OK:
                raise SourceError(f"HTTP status {answer.status}", status=answer.status)
            encoding = answer.headers.get("content-encoding", "")
            most = self.limits.most_inflated
            write_pieces(inflated_pieces(answer.pieces, encoding, most), path, progress)

        self.receive(
            address, write, (_ENCODINGS,), own_headers=headers, is_trusted=is_trusted
        )

    def receive(
        self,
        address: WebAddress,
        take: Callable[[Answer], Result],
        headers: Headers,
        *,
        own_headers: Headers = (),
        is_trusted: bool = False,
    ) -> Result:
        """The result of *take*, called with the answer for a URL or a part of it.

        Args:
            address: The URL. Its credentials are sent to its own server only.
            take: Reads the answer, whose pieces are limited; called again if that
                fails and a later attempt may succeed.
            headers: (name, value) to send, also to servers that it redirects to.
            own_headers: (name, value) to send to the server of *address* only.
            is_trusted: As for `fetch`.

        Raises:
            NotFoundError: The server does not have the file.
            SourceError: It gave no usable answer, or not within the limits.
        """
        limits, origin = self.limits, address.origin
        started = time.monotonic()
        until = started + limits.total_seconds
        self._wait_for(address)
        shared, own = tuple(headers), list(own_headers)
        if address.credentials:
            own.insert(0, ("Authorization", address.authorization))

        def ask(place: WebAddress) -> AbstractContextManager[Answer]:
            is_own = place.origin == origin
            sent = [*shared, *(own if is_own else ())]
            trusted = is_trusted and is_own
            return self._connections.ask(place, sent, is_trusted=trusted, until=until)

        policy = RetryPolicy(
            limits.attempts, limits.backoff_seconds, limits.wait_seconds
        )
        # A wait beyond this time ends the attempts.
        attempts = Attempts(policy, min(until, started + limits.retry_seconds))
        try:
            result = retry(
                lambda: self._attempt(address, take, ask, until), attempts, self._sleep
            )
        except RetryableError as error:
            if is_trusted and error.wait:
                longest = min(error.wait, limits.total_seconds)
                self._breaker.back_off(origin, longest)
            raise
        except NotFoundError:
            self._breaker.answered(origin)
            raise
        self._breaker.answered(origin)
        return result

    def _wait_for(self, address: WebAddress) -> None:
        """Wait until a server may be asked, unless this request is a probe."""
        left = self._breaker.seconds_left(address.origin)
        if left <= 0:
            return
        # The rest has to be enough for the file.
        if left <= min(self.limits.wait_seconds, self.limits.total_seconds / 2):
            self._sleep(left)
        elif not self._breaker.claims_probe(address.origin):
            reason = f"the server sent Retry-After; {left:.0f} s of that are left"
            raise SourceError(reason, path=str(address), may_retry=True)

    def _attempt(
        self,
        first: WebAddress,
        take: Callable[[Answer], Result],
        ask: Callable[[WebAddress], AbstractContextManager[Answer]],
        until: float,
    ) -> Result:
        """Attempt a download once, at a URL and at what it redirects to."""
        address, seen = first, {first}
        try:
            while True:
                with ask(address) as answer:
                    location = _redirect_of(answer)
                    if location is None:
                        return take(self._limited(answer, until))
                address = self._redirected(address, location, first, seen)
                seen.add(address)
        except (NotFoundError, SourceError) as error:
            error.path = str(address)
            is_late = time.monotonic() >= until
            if is_late and isinstance(error, RetryableError):
                limit = f"took more than {self.limits.total_seconds:g} seconds"
                reason = f"{error.reason}; it {limit}"
                raise SourceError(reason, path=error.path, may_retry=True) from error
            raise

    def _redirected(
        self,
        address: WebAddress,
        location: str,
        first: WebAddress,
        seen: set[WebAddress],
    ) -> WebAddress:
        try:
            target = address.joined(location)
        except ValueError as error:
            raise SourceError(f"invalid redirect: {error}") from None
        is_downgrade = address.scheme == "https" and target.scheme == "http"
        if is_downgrade and first.scheme != "http":
            raise SourceError("redirected from https to http")
        if target in seen:
            raise SourceError("redirect loop")
        if len(seen) > self.limits.redirects:
            raise SourceError(f"more than {self.limits.redirects} redirects")
        return target

    def _limited(self, answer: Answer, until: float) -> Answer:
        """An answer whose pieces are within the limits."""
        most = self.limits.most_bytes
        length = answer.headers.get("content-length", "")
        if length.isdigit() and int(length[:20]) > most:
            raise SourceError(f"is larger than {most} bytes")
        pieces = within_size(self._in_time(answer.pieces, until), most)
        return answer._replace(pieces=pieces)

    def _in_time(self, pieces: Iterable[bytes], until: float) -> Iterator[bytes]:
        limits = self.limits
        since, recent = time.monotonic(), 0
        for piece in pieces:
            recent += len(piece)
            now = time.monotonic()
            if now > until:
                raise RetryableError("timed out")
            if now - since > limits.idle_seconds:
                if recent < limits.least_bytes:
                    sent = f"sent {recent} bytes in {limits.idle_seconds:g} seconds"
                    raise RetryableError(sent)
                since, recent = now, 0
            yield piece


def _redirect_of(answer: Answer) -> str | None:
    """The target of a redirect; None for a file or a part of one."""
    status, fields = answer.status, answer.headers
    if status in {_OK, _PARTIAL}:
        return None
    _drain(answer)
    if status in _REDIRECTS and "location" in fields:
        return fields["location"]
    reason = f"HTTP status {status}"
    if status in _NOT_FOUND:
        raise NotFoundError(reason)
    check_later(status, fields)
    denied = ": not allowed" if status in _NOT_ALLOWED else ""
    raise SourceError(reason + denied, status=status)


def _drain(answer: Answer) -> None:
    """Read a short answer to its end, so that its connection can be used again."""
    size = 0
    for piece in answer.pieces:
        size += len(piece)
        if size > _DRAINED:
            return


# ---- bodies, of web servers and others


def within_size(pieces: Iterable[bytes], most: int) -> Iterator[bytes]:
    """*pieces*, of at most *most* bytes together."""
    return limited(pieces, most, SourceError(f"is larger than {most} bytes"))


def inflated_pieces(
    pieces: Iterable[Buffer], encoding: str, most: int
) -> Iterator[Buffer]:
    """A body without its Content-Encoding.

    Raises:
        SourceError: They are more than *most*, or of another encoding; a
            `RetryableError` where they are damaged.
    """
    encoding = encoding.strip().lower()
    if encoding in {"", "identity"}:
        yield from pieces
        return
    inflate = _INFLATERS.get(encoding)
    if inflate is None:
        raise SourceError("has an encoding that was not requested")
    refused = SourceError(f"inflates to more than {most} bytes")
    try:
        yield from limited(inflate(pieces), most, refused)
    except ValueError as error:
        raise RetryableError(f"its {encoding} encoding is damaged: {error}") from error


def write_pieces(
    pieces: Iterable[Buffer], path: str, progress: Callable[[int], object] | None = None
) -> None:
    """Write a new file, which is removed if that fails."""
    try:
        with open(path, "wb") as file:
            for piece in pieces:
                file.write(piece)
                if progress is not None:
                    progress(file.tell())
            is_empty = file.tell() == 0
    except BaseException as error:
        with suppress(OSError):
            os.unlink(path)
        if not isinstance(error, OSError) or error.errno in FULL_DISK:
            raise
        reason = error.strerror or str(error)
        raise SourceError(f"cannot be written: {reason}") from error
    if is_empty:
        os.unlink(path)
        raise SourceError("the file is empty")


class FileServer:
    """The files below a URL that the user or an operator named.

    Args:
        address: The URL.
        transfer: Downloads them.
        headers: (name, value) to send to this server only.
        most_bytes: The largest file that a debuginfod server shall send; 0: any.
    """

    def __init__(
        self,
        address: WebAddress,
        transfer: Transfer,
        headers: Iterable[tuple[str, str]] = (),
        most_bytes: int = 0,
    ) -> None:
        self._address = address
        self._transfer = transfer
        limit = (("X-DEBUGINFOD-MAXSIZE", str(most_bytes)),) if most_bytes else ()
        self._headers = (*headers, *limit)
        self._most_bytes = most_bytes

    def __str__(self) -> str:
        return str(self._address)

    def location(self, path: str) -> str:
        """The URL of a file, without credentials."""
        return str(self._address.below(path))

    def fetch(
        self, path: str, target: str, progress: Callable[[int], object] | None = None
    ) -> None:
        """Download the file at a relative path to *target*, as `Transfer.fetch` does.

        Raises:
            NotFoundError: The server does not have the file.
            SourceError: It gave no usable answer, or not within the limits.
        """
        try:
            self._transfer.fetch(
                self._address.below(path),
                target,
                headers=self._headers,
                is_trusted=True,
                progress=progress,
            )
        except SourceError as error:
            if error.status == _TOO_LARGE and self._most_bytes:
                error.reason = f"is larger than {self._most_bytes} bytes"
            raise
