"""The next collector: sends profiles to it, and tells what becomes of a request.

Nothing is queued: a client whose request is not forwarded is told to send it again.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from gsym.errors import FormatError, SourceError, UnsupportedError
from gsym.net import open_connections
from gsym.net.limits import TransferLimits
from gsym.net.retry import RetryableError, read_retry_after
from gsym.net.server_connection import read_body
from gsym.net.web_address import read_web_address
from gsym.server.errors import HttpError
from gsym.server.otlp.status import PROTOBUF, status_text
from gsym.server.settings import Settings

_LOG = logging.getLogger("gsym.server")
METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
_GRPC = {"grpc": False, "grpcs": True}
DETAILS = "grpc-status-details-bin"
_MAX_ANSWER = 1 << 20
_THREADS = 8
_RETRY_AFTER = 5  # seconds
_MAX_RETRY = 3600
_ACCEPTED = range(200, 300)
_REFUSED = frozenset({400, 413})  # the fault of the request
_REFUSAL = "the next collector refused the request"


class Collector:
    """The next collector.

    Args:
        url: `http://`, `https://`: its endpoint for profiles; `grpc://HOST:PORT`,
            `grpcs://HOST:PORT`: a server of gRPC.
        seconds: Time for an answer.

    Raises:
        UnsupportedError: A package is not installed.
        ValueError: The URL is invalid.
    """

    def __init__(self, url: str, seconds: float) -> None:
        scheme = urlsplit(url).scheme
        make = _grpc_sender if scheme in _GRPC else _http_sender
        self.name: str
        self.name, self._send, self._close = make(url, seconds)
        self._was_reached = True
        self.threads: ThreadPoolExecutor = ThreadPoolExecutor(_THREADS, "gsym-forward")

    def send(self, data: bytes) -> bytes:
        """Send a request; the answer of the collector, which may refuse parts of it.

        Raises:
            HttpError: 400 or 413: it refused the request; 503: it may take it later.
        """
        try:
            answer = self._send(data)
        except SourceError as error:
            if self._was_reached:
                _LOG.error("profiles are not forwarded: %s", error.reason)
            self._was_reached = False
            wait = getattr(error, "wait", None)
            seconds = _RETRY_AFTER if wait is None else min(int(wait), _MAX_RETRY)
            title = "the next collector does not accept profiles now"
            raise HttpError(503, title, retry_after=max(seconds, 1)) from None
        if not self._was_reached:
            _LOG.info("profiles are forwarded again")
        self._was_reached = True
        return answer

    def close(self) -> None:
        """End the threads, and close the connections."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        self._close()


def open_collector(settings: Settings) -> Collector | None:
    """The collector that profiles are sent to; None if there is none.

    Raises:
        UnsupportedError: A package is not installed.
        ValueError: A setting is invalid.
    """
    if not settings.forward_profiles:
        if settings.grpc_port:
            raise ValueError("setting 'grpc_port': there is no forward_profiles")
        return None
    try:
        return Collector(settings.forward_profiles, settings.limits.forward_timeout)
    except ValueError as error:
        raise ValueError(f"setting 'forward_profiles': {error}") from None


# The name of a collector for people, and functions: one sends a message and returns the
# answer, the other one closes the connections.
_Sender = tuple[str, Callable[[bytes], bytes], Callable[[], None]]


def _http_sender(url: str, seconds: float) -> _Sender:
    address = read_web_address(url)
    limits = TransferLimits(header_seconds=seconds, idle_seconds=seconds)
    connections = open_connections("forward_profiles", limits)

    def send(data: bytes) -> bytes:
        headers = [("Content-Type", PROTOBUF), ("Content-Length", str(len(data)))]
        until = time.monotonic() + seconds
        with connections.ask(
            address, headers, body=data, is_trusted=True, until=until
        ) as answer:
            body = read_body(answer, _MAX_ANSWER)
        if answer.status in _ACCEPTED:
            return body
        if answer.status in _REFUSED:
            text = ""
            with suppress(FormatError):
                text = status_text(body)
            raise HttpError(answer.status, _REFUSAL + f": {text[:1000]}" * bool(text))
        wait = read_retry_after(answer.headers.get("retry-after", ""))
        reason = f"{address}: HTTP status {answer.status}"
        raise RetryableError(reason, wait=wait)

    return str(address), send, connections.close


def import_grpc(user: str) -> Any:
    """The package grpc.

    Raises:
        UnsupportedError: It is not installed.
    """
    # Else it writes to standard error, in a form of its own.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        import grpc
        import grpc.aio
    except ImportError:
        reason = f"{user} needs the package grpcio: pip install 'gsym[otlp]'"
        raise UnsupportedError(reason) from None
    return grpc


def _grpc_sender(url: str, seconds: float) -> _Sender:
    grpc, parts = import_grpc("forward_profiles"), urlsplit(url)
    is_plain = parts.netloc and "@" not in parts.netloc and not parts.path
    if not is_plain or not parts.port:
        raise ValueError("expected grpc://HOST:PORT")
    options = [("grpc.max_receive_message_length", _MAX_ANSWER)]
    if _GRPC[parts.scheme]:
        credentials = grpc.ssl_channel_credentials()
        channel = grpc.secure_channel(parts.netloc, credentials, options=options)
    else:
        channel = grpc.insecure_channel(parts.netloc, options=options)
    export, codes = channel.unary_unary(METHOD), grpc.StatusCode

    def send(data: bytes) -> bytes:
        try:
            return bytes(export(data, timeout=seconds))
        except grpc.RpcError as error:
            code, text = error.code(), error.details() or ""
            keys = {each.key for each in error.trailing_metadata() or ()}
        title = f"{_REFUSAL}: {text[:1000]}"
        if code == codes.INVALID_ARGUMENT:
            raise HttpError(400, title)
        # Without a time to retry after, it would not take the request later either.
        if code == codes.RESOURCE_EXHAUSTED and DETAILS not in keys:
            raise HttpError(413, title)
        raise RetryableError(f"grpc://{parts.netloc}: {code.name}: {text[:1000]}")

    return url, send, channel.close
