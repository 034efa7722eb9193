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
from gsym.net.limits import TransferLimits
from gsym.net.retry import (
    Attempts,
    RetryableError,
    RetryPolicy,
    check_later,
    retry,
)
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
    from collections.abc import Callable, Mapping
    from typing import Any

    from gsym.net.connections import Answer
    from gsym.net.web_address import WebAddress


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
        import json

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

    def use_older(self, status: int, asked: str) -> None:
        """Continue with version 4, as the server lacks the path *asked*.

        Raises:
            ServerError: The server lacks that too.
        """
        if asked == _VERSION_4:
            self.path = _VERSION_5
            reason = f"HTTP status {status}: no symbolication API"
            raise ServerError(reason, path=str(self.address))
        self.path = _VERSION_4

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


class Answering:
    """The requests for the jobs of one request, and their results.

    Args:
        conversation: With the server.
        request: As for `SymbolicationClient.symbolicate`.

    Raises:
        ValueError: It is not a request of the API.
    """

    def __init__(self, conversation: Conversation, request: Any) -> None:
        asked, settings = jobs.read_jobs(request), conversation.settings
        pieces = list(jobs.cut_jobs(asked, settings.most_frames))
        groups = jobs.group_pieces(pieces, settings.most_jobs, settings.most_frames)
        self._conversation = conversation
        self._waiting = deque(groups)
        self._batch: list[jobs.Piece] = []  # what was asked last
        self._path = ""  # where; other tasks may change that of the conversation
        self._assembly = jobs.Assembly(len(asked))

    def next_request(self) -> tuple[str, object] | None:
        """Path and payload of the next request; None after the last one."""
        is_old = self._conversation.path == _VERSION_4
        while self._waiting:
            batch = self._waiting.popleft()
            batch = [each for each in batch if not self._assembly.is_refused(each)]
            if is_old and len(batch) > 1:
                self._ask_instead([[piece] for piece in batch])
            elif batch:
                self._batch, self._path = batch, self._conversation.path
                payloads = [piece.payload for piece in batch]
                if is_old:
                    return _VERSION_4, {**payloads[0], "version": 4}
                return _VERSION_5, {"jobs": payloads, "version": 5}
        return None

    def take(self, status: int, body: Any) -> None:
        """Take the answer to that request.

        It is none after which `check_later` asks again. The JSON may be None for 404,
        405 or 410.

        Raises:
            ServerError: It is not usable.
        """
        batch, conversation = self._batch, self._conversation
        if status == _OK:
            if self._path == _VERSION_4:
                body = {"results": [jobs.from_version_4(batch[0], body)]}
            results = body.get("results") if isinstance(body, dict) else None
            if not isinstance(results, list) or len(results) != len(batch):
                raise jobs.mismatch()
            for piece, result in zip(batch, results, strict=True):
                self._assembly.take(piece, result)
            return
        if status in _ABSENT:
            conversation.use_older(status, self._path)
            self._ask_instead([batch])
            return
        title = body.get("title") if isinstance(body, dict) else None
        reason = title if isinstance(title, str) else f"HTTP status {status}"
        if status not in _REFUSALS:
            place = str(conversation.address)
            raise ServerError(f"HTTP status {status}: {reason}", path=place)
        self._ask_instead(_without_refused(batch, status, reason, self._assembly))

    def _ask_instead(self, batches: list[list[jobs.Piece]]) -> None:
        self._waiting.extendleft(reversed(batches))

    def results(self) -> dict[str, Any]:
        """Response as JSON of version 5."""
        return {"results": self._assembly.results()}


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
        answering = Answering(self._conversation, request)
        while (asked := answering.next_request()) is not None:
            answering.take(*self._post(*asked))
        return answering.results()

    def _post(self, path: str, payload: object) -> tuple[int, Any]:
        """Status and JSON of the response, after waits and retries.

        Raises:
            ServerError: The server does not respond, or redirects.
        """
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
    import json

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
