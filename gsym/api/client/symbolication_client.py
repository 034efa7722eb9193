"""A client of symbolication servers.

Mozilla's service asks clients to send a user agent, to heed Retry-After, and to treat a
response without JSON as a temporary failure.
"""

from __future__ import annotations

import logging
import time
from collections import deque

from gsym.api.client import jobs
from gsym.arguments import refusal, text_of
from gsym.errors import ServerError
from gsym.lazy import json
from gsym.net.limits import TransferLimits
from gsym.net.retry import Attempts, RetryableError, RetryPolicy, check_later, retry
from gsym.net.server_connection import (
    ServerClient,
    failures,
    read_body,
    refuse_redirect,
    server_address,
)
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from typing import Any

    from gsym.net.connections import Answer
    from gsym.net.web_address import WebAddress

    Exchange = Generator[tuple[str, object], Any, dict[str, Any]]


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
# The request is invalid, not the client.
_REFUSALS = frozenset({400, 413, 422})
_TOO_LARGE = 413
_VERSION_5 = "/symbolicate/v5"
_VERSION_4 = "/symbolicate/v4"


class Sending(NamedTuple):
    """A request on its way."""

    address: WebAddress
    headers: list[tuple[str, str]]
    body: bytes
    until: float  # the end of its last attempt, as of `time.monotonic`
    attempts: Attempts


class Conversation:
    """Requests to one server and their failures, without a transport.

    Args:
        server: URL of the server, without the path of the API.
        settings: Limits, waits and headers; None for those by default.

    Raises:
        ServerError: *server* is not a URL of http or https.
    """

    def __init__(self, server: str, settings: ClientSettings | None) -> None:
        self.address: WebAddress = server_address(text_of("server", server))
        if settings is not None and not isinstance(settings, ClientSettings):
            raise refusal("settings", "a ClientSettings", settings)
        self.settings: ClientSettings = settings or ClientSettings()
        self._headers = [("Accept-Encoding", "gzip, zstd"), *self.settings.headers]
        if self.settings.user_agent:
            self._headers.append(("User-Agent", self.settings.user_agent))
        self.path: str = _VERSION_5

    def sending(self, path: str, payload: object) -> Sending:
        """A request that is to be sent now."""
        settings, address = self.settings, self.address.below(path.lstrip("/"))
        body = json.dumps(payload, separators=(",", ":")).encode("ascii")
        headers = [*self._headers, ("Content-Type", "application/json")]
        if settings.compresses:
            import gzip

            body = gzip.compress(body, 6, mtime=0)
            headers.append(("Content-Encoding", "gzip"))
        if address.authorization:
            headers.append(("Authorization", address.authorization))

        def tell(error: RetryableError, wait: float) -> None:
            if wait:
                _LOG.info("%s: %s; again in %.0f s", address, error.reason, wait)

        policy = RetryPolicy(
            len(settings.waits) + 1,
            0.0,
            settings.longest_wait,
            waits=settings.waits,
            cuts_waits=True,
            needs_server=True,
        )
        until = time.monotonic() + settings.total_timeout
        attempts = Attempts(policy, until, tell)
        return Sending(address, headers, body, until, attempts)

    def read(self, answer: Answer) -> tuple[int, Any]:
        """Status and JSON of an answer.

        Raises:
            RetryableError: It is not JSON.
        """
        status = answer.status
        body = read_body(answer, self.settings.most_bytes)
        try:
            return status, _decoded(body)
        except (ValueError, RecursionError):
            if status in _ABSENT:
                return status, None
            raise RetryableError(f"HTTP status {status} without JSON") from None

    def exchange(self, request: Any) -> Exchange:
        """Yield path and payload of each request that answers the jobs of *request*.

        The caller sends back the status and the JSON of each answer, but for answers
        after which `check_later` asks again. JSON may be None for 404, 405 or 410.

        Returns:
            The response as JSON of version 5.

        Raises:
            ServerError: An answer is not usable.
            ValueError: *request* is not a request of the API.
        """
        asked, settings = jobs.read_jobs(request), self.settings
        pieces = list(jobs.cut_jobs(asked, settings.most_frames))
        waiting = deque(
            jobs.group_pieces(pieces, settings.most_jobs, settings.most_frames)
        )
        assembly = jobs.Assembly(len(asked))
        while waiting:
            batch = [
                each for each in waiting.popleft() if not assembly.is_refused(each)
            ]
            path = self.path  # other tasks may change it meanwhile
            if path == _VERSION_4 and len(batch) > 1:
                waiting.extendleft([piece] for piece in reversed(batch))
            elif batch:
                payloads = [piece.payload for piece in batch]
                payload = {"jobs": payloads, "version": 5}
                if path == _VERSION_4:
                    payload = {**payloads[0], "version": 4}
                status, body = yield path, payload
                instead = self._taken(status, body, batch, path, assembly)
                waiting.extendleft(reversed(instead))
        return {"results": assembly.results()}

    def _taken(
        self,
        status: int,
        body: Any,
        batch: list[jobs.Piece],
        path: str,
        assembly: jobs.Assembly,
    ) -> list[list[jobs.Piece]]:
        """Take an answer; return what is to be asked instead."""
        if status == _OK:
            if path == _VERSION_4:
                body = {"results": [jobs.from_version_4(batch[0], body)]}
            results = body.get("results") if isinstance(body, dict) else None
            if not isinstance(results, list) or len(results) != len(batch):
                raise jobs.mismatch()
            for piece, result in zip(batch, results, strict=True):
                assembly.take(piece, result)
            return []
        if status in _ABSENT:
            if path == _VERSION_4:
                self.path = _VERSION_5
                reason = f"HTTP status {status}: no symbolication API"
                raise ServerError(reason, path=str(self.address))
            self.path = _VERSION_4
            return [batch]
        title = body.get("title") if isinstance(body, dict) else None
        reason = title if isinstance(title, str) else f"HTTP status {status}"
        if status not in _REFUSALS:
            reason = f"HTTP status {status}: {reason}"
            raise ServerError(reason, path=str(self.address))
        return _without_refused(batch, status, reason, assembly)


class SymbolicationClient(ServerClient):
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
        self._conversation = Conversation(server, settings)
        self._sleep = sleep
        settings = self._conversation.settings
        limits = TransferLimits(
            connect_seconds=settings.connect_timeout,
            header_seconds=settings.timeout,
            idle_seconds=settings.timeout,
        )
        super().__init__(server, "a client", limits)

    def symbolicate(self, request: Any) -> list[jobs.JobAnswer]:
        """The answer to each job, in order.

        Args:
            request: Decoded JSON: a request of version 5, a single job (also of version
                4), or a list of jobs. Offsets count from the base of a module.

        Raises:
            ServerError: The server returns no usable response.
            ValueError: *request* is none of these.
        """
        return [jobs.read_answer(result) for result in self.answer(request)["results"]]

    def answer(self, request: Any) -> dict[str, Any]:
        """Response as JSON of version 5; `{"error": reason}` for a refused job."""
        exchange, answer = self._conversation.exchange(request), None
        while True:
            try:
                asked = exchange.send(answer)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            answer = self._post(*asked)

    def _post(self, path: str, payload: object) -> tuple[int, Any]:
        """Status and JSON of the response, after waits and retries; or ServerError."""
        conversation = self._conversation
        sending = conversation.sending(path, payload)
        address, headers, body, until, attempts = sending

        def attempt() -> tuple[int, Any]:
            with self._connections.ask(
                address, headers, body=body, is_trusted=True, until=until
            ) as answer:
                check_answer(address, answer.status, answer.headers)
                return conversation.read(answer)

        with failures(str(address)):
            return retry(attempt, attempts, self._sleep)


def check_answer(address: WebAddress, status: int, headers: Mapping[str, str]) -> None:
    """Check the head of an answer, before its body is read.

    Raises:
        RetryableError: A later answer may be another one.
        SourceError: It redirects.
    """
    refuse_redirect(address, status, headers)
    check_later(status, headers)


def _decoded(body: bytes) -> Any:
    answer = json.loads(body)
    if b"\\ud" in body.lower():
        # An unpaired surrogate is valid in JSON and cannot be printed.
        text = json.dumps(answer, ensure_ascii=False)
        answer = json.loads(text.encode("utf-8", "replace"))
    return answer


def _without_refused(
    batch: list[jobs.Piece], status: int, reason: str, assembly: jobs.Assembly
) -> list[list[jobs.Piece]]:
    """Leave out the job that the server names; otherwise bisect."""
    at = _named_job(reason)
    if len(batch) == 1 and status == _TOO_LARGE and batch[0].frames > 1:
        return [[piece] for piece in jobs.halve_piece(batch[0])]
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
