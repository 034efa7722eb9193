"""A client of symbolication servers.

Mozilla's service asks clients to send a user agent, to heed Retry-After, and to treat a
response without JSON as a temporary failure.
"""

from __future__ import annotations

import logging
import time
from collections import deque

from gsym.api.client.jobs import (
    Assembly,
    JobAnswer,
    Piece,
    cut_jobs,
    from_version_4,
    group_pieces,
    halve_piece,
    mismatch,
    read_answer,
    read_jobs,
)
from gsym.arguments import refusal, text_of
from gsym.errors import ServerError, SourceError
from gsym.net.limits import TransferLimits
from gsym.net.retry import RetryableError, read_retry_after, retry
from gsym.net.server_connection import ServerConnection, read_body
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

    from gsym.net.connections import Answer


class ClientSettings(NamedTuple):
    """The settings of a client.

    Attributes:
        user_agent: The header `User-Agent`; "" for that of this package.
        headers: (name, value) of further headers, such as a token.
        waits: Seconds before each retry of a temporary failure, which the logger
            `gsym.client` tells. A server to which no connection can be opened is not
            asked again.
        longest_wait: Maximum seconds of a wait that a server asks for.
        connect_timeout: Seconds for opening a connection.
        timeout: Seconds for the next bytes of the response. A server that has to fetch
            and parse symbols takes minutes.
        total_timeout: Seconds for a request, with all attempts and waits.
        most_jobs: In one request.
        most_frames: In one request.
        most_bytes: Of a response, inflated.
        compresses: Whether requests are compressed by gzip, which not every server
            supports.
    """

    user_agent: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    waits: tuple[float, ...] = (0, 1, 2, 3, 4, 5)
    longest_wait: float = 60.0
    connect_timeout: float = 10.0
    timeout: float = 300.0
    total_timeout: float = 900.0
    most_jobs: int = 10
    most_frames: int = 10_000
    most_bytes: int = 256 << 20
    compresses: bool = False


_LOG = logging.getLogger("gsym.client")
_LOG.addHandler(logging.NullHandler())
_OK = 200
_ABSENT = frozenset({404, 405, 410})
_TIMED_OUT = 408
_TOO_MANY_REQUESTS = 429
_SERVER_FAULT = 500
# The request is invalid, not the client.
_REFUSALS = frozenset({400, 413, 422})
_TOO_LARGE = 413
_VERSION_5 = "/symbolicate/v5"
_VERSION_4 = "/symbolicate/v4"


class SymbolicationClient:
    """Asks one symbolication server; for one thread at a time.

    Requests are split and joined to fit the limits of the server; a refused job does
    not affect the others. Version 4 of the API is used if there is no version 5.

    Args:
        server: URL of the server, without the path of the API.
        settings: Limits, waits and headers.
        sleep: Waits for a number of seconds.

    Raises:
        ServerError: *server* is not a URL of http or https.
        UnsupportedError: The package for HTTP is not installed (extra `net`).
    """

    def __init__(
        self,
        server: str,
        settings: ClientSettings | None = None,
        *,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        server = text_of("server", server)
        if settings is not None and not isinstance(settings, ClientSettings):
            raise refusal("settings", "a ClientSettings", settings)
        self._settings = settings = settings or ClientSettings()
        self._sleep = sleep
        limits = TransferLimits(
            connect_seconds=settings.connect_timeout,
            header_seconds=settings.timeout,
            idle_seconds=settings.timeout,
        )
        self._server = ServerConnection(server, "a client", limits)
        self._headers = [("Accept-Encoding", "gzip, zstd"), *settings.headers]
        if settings.user_agent:
            self._headers.append(("User-Agent", settings.user_agent))
        self._path = _VERSION_5

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def symbolicate(self, request: Any) -> list[JobAnswer]:
        """The answer to each job, in order.

        Args:
            request: Decoded JSON: a request of version 5, a single job (also of version
                4), or a list of jobs. Offsets count from the base of a module.

        Raises:
            ServerError: The server returns no usable response.
            ValueError: *request* is none of these.
        """
        return [read_answer(result) for result in self.answer(request)["results"]]

    def answer(self, request: Any) -> dict[str, Any]:
        """Response as JSON of version 5; `{"error": reason}` for a refused job."""
        jobs = read_jobs(request)
        pieces = list(cut_jobs(jobs, self._settings.most_frames))
        settings = self._settings
        waiting = deque(group_pieces(pieces, settings.most_jobs, settings.most_frames))
        assembly = Assembly(len(jobs))
        while waiting:
            batch = waiting.popleft()
            batch = [piece for piece in batch if not assembly.is_refused(piece)]
            if batch:
                left = self._ask(batch, assembly)
                waiting.extendleft(reversed(left))
        return {"results": assembly.results()}

    def _ask(self, batch: list[Piece], assembly: Assembly) -> list[list[Piece]]:
        """Send one request; returns the requests to send in its place."""
        if self._path == _VERSION_4 and len(batch) > 1:
            return [[piece] for piece in batch]
        payloads = [piece.payload for piece in batch]
        is_old = self._path == _VERSION_4
        payload = (
            {**payloads[0], "version": 4}
            if is_old
            else {"jobs": payloads, "version": 5}
        )
        status, body = self._post(self._path, payload)
        if status == _OK:
            _take(batch, body, assembly, is_old=is_old)
            return []
        if status in _ABSENT:
            return [self._older(batch, status)]
        title = body.get("title") if isinstance(body, dict) else None
        reason = title if isinstance(title, str) else f"HTTP status {status}"
        if status not in _REFUSALS:
            place = str(self._server.address)
            raise ServerError(f"HTTP status {status}: {reason}", path=place)
        return _without_refused(batch, status, reason, assembly)

    def _post(self, path: str, payload: object) -> tuple[int, Any]:
        """Status and JSON of the response, after waits and retries.

        The status is below 500 and not 429. The JSON may be None for 404, 405 or 410.

        Raises:
            ServerError: There is no response, or a redirect.
        """
        settings = self._settings
        until = time.monotonic() + settings.total_timeout
        url = str(self._server.address.below(path.lstrip("/")))
        body, headers = self._encoded(payload)
        waits = iter(settings.waits)

        def attempt() -> tuple[int, Any]:
            with self._server.ask(path, headers, body, until) as answer:
                return self._read(answer)

        def wait_before(error: RetryableError) -> float | None:
            wait = next(waits, None)
            # Where nobody listens, a wait for minutes would only hide a wrong address.
            if wait is None or error.is_unreachable:
                return None
            wait = (
                wait if error.wait is None else min(error.wait, settings.longest_wait)
            )
            if wait:
                _LOG.info("%s: %s; again in %.0f s", url, error.reason, wait)
            return wait

        try:
            return retry(attempt, wait_before, sleep=self._sleep, until=until)
        except RetryableError as error:
            reason = f"{error.reason} (attempt {error.attempts})"
            raise ServerError(reason, path=url) from None
        except SourceError as error:
            raise ServerError(error.reason, path=url) from None

    def _encoded(self, payload: object) -> tuple[bytes, list[tuple[str, str]]]:
        import json

        body = json.dumps(payload, separators=(",", ":")).encode("ascii")
        headers = [*self._headers, ("Content-Type", "application/json")]
        if self._settings.compresses:
            import gzip

            body = gzip.compress(body, 6, mtime=0)
            headers.append(("Content-Encoding", "gzip"))
        return body, headers

    def _read(self, answer: Answer) -> tuple[int, Any]:
        status = answer.status
        if status in {_TIMED_OUT, _TOO_MANY_REQUESTS} or status >= _SERVER_FAULT:
            wait = read_retry_after(answer.headers.get("retry-after", ""))
            raise RetryableError(f"HTTP status {status}", wait=wait)
        body = read_body(answer, self._settings.most_bytes)
        try:
            return status, _decoded(body)
        except (ValueError, RecursionError):
            if status in _ABSENT:
                return status, None
            raise RetryableError(f"HTTP status {status} without JSON") from None

    def _older(self, batch: list[Piece], status: int) -> list[Piece]:
        """Continue with version 4, unless the server lacks that too."""
        if self._path == _VERSION_4:
            self._path = _VERSION_5
            reason = f"HTTP status {status}: no symbolication API"
            raise ServerError(reason, path=str(self._server.address))
        self._path = _VERSION_4
        return batch


def _decoded(body: bytes) -> Any:
    import json

    answer = json.loads(body)
    if b"\\ud" in body.lower():
        # An unpaired surrogate is valid in JSON and cannot be printed.
        text = json.dumps(answer, ensure_ascii=False)
        answer = json.loads(text.encode("utf-8", "replace"))
    return answer


def _take(batch: list[Piece], body: Any, assembly: Assembly, *, is_old: bool) -> None:
    if is_old:
        assembly.take(batch[0], from_version_4(batch[0], body))
        return
    results = body.get("results") if isinstance(body, dict) else None
    if not isinstance(results, list) or len(results) != len(batch):
        raise mismatch()
    for piece, result in zip(batch, results, strict=True):
        assembly.take(piece, result)


def _without_refused(
    batch: list[Piece], status: int, reason: str, assembly: Assembly
) -> list[list[Piece]]:
    """Leave out the job that the server names; otherwise bisect."""
    at = _named_job(reason)
    if len(batch) == 1 and status == _TOO_LARGE and batch[0].frames > 1:
        return [[piece] for piece in halve_piece(batch[0])]
    if len(batch) == 1:
        at = 0
    if at is None or at >= len(batch):
        middle = len(batch) // 2
        return [batch[:middle], batch[middle:]]
    named = reason.replace(f"job {at} ", f"job {batch[at].job} ", 1)
    assembly.refuse(batch[at], named)
    rest = batch[:at] + batch[at + 1 :]
    return [rest] if rest else []


def _named_job(reason: str) -> int | None:
    """The number N if the text begins with "job N "."""
    word, _, rest = reason.partition(" ")
    number = rest.partition(" ")[0]
    is_named = word == "job" and number.isascii() and number.isdigit()
    return int(number[:9]) if is_named else None
