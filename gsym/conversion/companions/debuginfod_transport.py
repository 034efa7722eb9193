"""The bytes behind a URL of a debuginfod server, within the limits of a client."""

from __future__ import annotations

import os
import time

from gsym import __version__
from gsym.errors import CopyableError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.conversion.companions.debuginfod_settings import DebuginfodSettings

_READ_SIZE = 256 << 10
_LEAST_BYTES = 100 << 10  # in each time-out
_NOT_FOUND = 404
_TOO_LARGE = 406  # the server heeds the limit that it was told
_SERVER_ERROR = 500


class NotThereError(Exception):
    """The server does not have the file."""


class TransportError(CopyableError):
    """The server gave no answer, or none that is of use.

    *may_retry* tells whether it might give another one.
    """

    def __init__(self, reason: str, *, may_retry: bool) -> None:
        super().__init__(reason)
        self.may_retry = may_retry


def fetch(url: str, settings: DebuginfodSettings) -> Iterator[bytes]:
    """The contents of *url*, piece by piece.

    Raises:
        NotThereError: There is no such file.
        TransportError: It cannot be had, or not within the limits.
        UnsupportedError: The package for HTTP is not installed.
    """
    if url.startswith("file://"):
        pieces = _fetch_file(url)
    elif url.startswith(("http://", "https://")):
        pieces = _fetch_http(url, settings)
    else:
        raise TransportError("is no http, https or file URL", may_retry=False)
    return _within_limits(pieces, settings)


def _within_limits(
    pieces: Iterator[bytes], settings: DebuginfodSettings
) -> Iterator[bytes]:
    started = since = time.monotonic()
    size = recent = 0
    for piece in pieces:
        now = time.monotonic()
        size += len(piece)
        recent += len(piece)
        if settings.most_bytes and size > settings.most_bytes:
            raise _too_large(settings)
        if settings.most_seconds and now - started > settings.most_seconds:
            reason = f"took more than {settings.most_seconds} seconds"
            raise TransportError(reason, may_retry=False)
        if settings.timeout and now - since > settings.timeout:
            if recent < _LEAST_BYTES:
                reason = f"sent {recent} bytes in {settings.timeout} seconds"
                raise TransportError(reason, may_retry=True)
            since, recent = now, 0
        yield piece


def _too_large(settings: DebuginfodSettings) -> TransportError:
    reason = f"is larger than {settings.most_bytes} bytes"
    return TransportError(reason, may_retry=False)


def _fetch_file(url: str) -> Iterator[bytes]:
    from urllib.parse import unquote_to_bytes, urlsplit

    parts = urlsplit(url)
    if parts.netloc not in {"", "localhost"}:
        raise TransportError("names another machine", may_retry=False)
    try:
        with open(unquote_to_bytes(parts.path), "rb", opener=_open_at_once) as file:
            while piece := file.read(_READ_SIZE):
                yield piece
    except FileNotFoundError:
        raise NotThereError from None
    except OSError as error:
        raise TransportError(error.strerror or str(error), may_retry=False) from error


def _open_at_once(path: str, flags: int) -> int:
    """Open a file; a pipe would be waited for otherwise."""
    return os.open(path, flags | os.O_NONBLOCK)


def _fetch_http(url: str, settings: DebuginfodSettings) -> Iterator[bytes]:
    try:
        import httpx2
    except ImportError:
        reason = "debuginfod needs the package httpx2: pip install 'gsym[net]'"
        raise UnsupportedError(reason) from None
    headers = [("User-Agent", f"gsym/{__version__}"), *settings.headers]
    if settings.most_bytes:
        headers.append(("X-DEBUGINFOD-MAXSIZE", str(settings.most_bytes)))
    waits = [each for each in (settings.timeout, settings.most_seconds) if each]
    try:
        with (
            httpx2.Client(
                headers=headers,
                timeout=min(waits, default=None),
                follow_redirects=True,
            ) as client,
            client.stream("GET", url) as response,
        ):
            _check(response.status_code, settings)
            yield from response.iter_bytes(_READ_SIZE)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        final = (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.TooManyRedirects)
        reason = str(error) or type(error).__name__
        raise TransportError(reason, may_retry=not isinstance(error, final)) from error


def _check(status: int, settings: DebuginfodSettings) -> None:
    if status == _NOT_FOUND:
        raise NotThereError
    if status == _TOO_LARGE and settings.most_bytes:
        raise _too_large(settings)
    if status != 200:  # noqa: PLR2004 - OK
        reason = f"HTTP status {status}"
        raise TransportError(reason, may_retry=status >= _SERVER_ERROR)
