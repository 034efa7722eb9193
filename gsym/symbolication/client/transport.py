"""One request to a symbolication server and its answer, however many attempts it takes.

What Mozilla's service asks of its clients: name yourself, wait when told to, and take
an answer that is no JSON as a failure that will pass.
"""

from __future__ import annotations

import time

from gsym.errors import ServerError, UnsupportedError
from gsym.records import NamedTuple
from gsym.store.net.limits import TransferLimits
from gsym.store.net.received_file import inflated_pieces
from gsym.store.net.retrying import read_retry_after
from gsym.store.net.web_address import read_web_address
from gsym.store.sources.source import SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gsym.store.net.connections import Answer
    from gsym.store.net.web_address import WebAddress
    from gsym.symbolication.client.settings import ClientSettings


class Reply(NamedTuple):
    """What the server said.

    Attributes:
        status: Of HTTP, below 500 and not 429.
        body: From JSON; None for a 404, 405 or 410 that has no such body.
    """

    status: int
    body: Any


ABSENT = frozenset({404, 405, 410})
_TIMED_OUT = 408
_TOO_MANY_REQUESTS = 429
_SERVER_FAULT = 500
_REDIRECTS = range(300, 400)
_ANY = 1 << 62


class _PassingError(Exception):
    """Another attempt may go better, in *wait* seconds if the server said so."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class Transport:
    """A connection to one server, for one thread at a time.

    Args:
        server: URL that the paths of the API are appended to. Its credentials are sent
            as basic authorization, and shown nowhere.
        settings: Limits, waits and headers.
        sleep: Waits for a number of seconds.

    Raises:
        ServerError: *server* is no URL of http or https.
        UnsupportedError: The package for HTTP is not installed.
    """

    def __init__(
        self,
        server: str,
        settings: ClientSettings,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        try:
            from gsym.store.net.connections import Connections
        except ImportError:
            reason = "a client needs the package httpx2: pip install 'gsym[net]'"
            raise UnsupportedError(reason) from None
        try:
            self.address = read_web_address(server)
        except ValueError as error:
            raise ServerError(str(error)) from None
        self._settings = settings
        self._sleep = sleep
        headers = [*settings.headers, ("Accept-Encoding", "gzip, zstd")]
        if settings.user_agent:
            headers.insert(0, ("User-Agent", settings.user_agent))
        if authorization := self.address.authorization:
            headers.insert(0, ("Authorization", authorization))
        self._headers = headers
        self._connections = Connections(
            TransferLimits(
                connect_seconds=settings.connect_timeout,
                header_seconds=settings.timeout,
                idle_seconds=settings.timeout,
            )
        )

    def close(self) -> None:
        """Close the connection."""
        self._connections.close()

    def post(self, path: str, payload: object) -> Reply:
        """The answer to *payload*, after waiting and asking once more where it helps.

        Raises:
            ServerError: There is none, or only a refusal to serve.
        """
        body, headers = self._encoded(payload)
        url = self.address.below(path.lstrip("/"))
        until = time.monotonic() + self._settings.total_timeout
        waits = iter(self._settings.waits)
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._attempt(url, body, headers, until)
            except _PassingError as error:
                wait = next(waits, None)
                if wait is not None and error.wait is not None:
                    wait = min(error.wait, self._settings.longest_wait)
                if wait is None or time.monotonic() + wait >= until:
                    reason = f"{error} (attempt {attempt})"
                    raise ServerError(reason, path=str(url)) from None
            self._sleep(wait)

    def _encoded(self, payload: object) -> tuple[bytes, list[tuple[str, str]]]:
        import json

        body = json.dumps(payload, separators=(",", ":")).encode("ascii")
        headers = [*self._headers, ("Content-Type", "application/json")]
        if self._settings.compresses:
            import gzip

            body = gzip.compress(body, 6, mtime=0)
            headers.append(("Content-Encoding", "gzip"))
        return body, headers

    def _attempt(
        self,
        url: WebAddress,
        body: bytes,
        headers: list[tuple[str, str]],
        until: float,
    ) -> Reply:
        import httpcore2

        try:
            with self._connections.ask(
                url, headers, body=body, is_trusted=True, until=until
            ) as answer:
                return self._reply(url, answer)
        except httpcore2.TimeoutException:
            raise _PassingError("no answer in time") from None
        except (
            httpcore2.NetworkError,
            httpcore2.ProtocolError,
            httpcore2.ProxyError,
        ) as error:
            raise _PassingError(str(error) or type(error).__name__) from None

    def _reply(self, url: WebAddress, answer: Answer) -> Reply:
        status, fields = answer.status, answer.headers
        if status in {_TIMED_OUT, _TOO_MANY_REQUESTS} or status >= _SERVER_FAULT:
            wait = read_retry_after(fields.get("retry-after", ""))
            raise _PassingError(f"HTTP status {status}", wait)
        if status in _REDIRECTS:
            target = url.shown_target(fields.get("location", ""))
            reason = f"redirects to {target}: name that server"
            raise ServerError(reason, path=str(url))
        try:
            return Reply(status, self._decoded(url, answer))
        except SourceError as error:
            raise _PassingError(error.reason) from None
        except (ValueError, RecursionError):
            if status in ABSENT:
                return Reply(status, None)
            raise _PassingError(f"HTTP status {status} without JSON") from None

    def _decoded(self, url: WebAddress, answer: Answer) -> Any:
        import json

        body = bytearray()
        encoding = answer.headers.get("content-encoding", "")
        for piece in inflated_pieces(answer.pieces, encoding, _ANY):
            body += piece
            if len(body) > self._settings.most_bytes:
                reason = f"answers more than {self._settings.most_bytes} bytes"
                raise ServerError(reason, path=str(url))
        answer = json.loads(bytes(body))
        if b"\\ud" in body.lower():
            # A half of a pair of surrogates, which JSON can have, cannot be printed.
            text = json.dumps(answer, ensure_ascii=False)
            answer = json.loads(text.encode("utf-8", "replace"))
        return answer
