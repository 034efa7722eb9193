"""Sends symbfiles to a server, part by part, with retries.

The response to a part means one of four things: it arrived; it may be accepted later;
only this part is refused; or the server accepts no part at all.
"""

from __future__ import annotations

import os
import random
import time

from gsym.arguments import text_of
from gsym.errors import GsymError, SourceError
from gsym.net.limits import TransferLimits
from gsym.net.retry import (
    LATER,
    Attempts,
    RetryableError,
    RetryPolicy,
    read_retry_after,
    retry,
)
from gsym.net.server_connection import (
    ServerClient,
    file_pieces,
    read_body,
    server_address,
)
from gsym.net.web_address import request_headers
from gsym.records import NamedTuple
from gsym.symbfile.upload import ENDPOINTS, UploadPart, part_headers, read_answer
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gsym.net.connections import Answer

    # the result, the seconds to wait as the server asks, and what the part became
    _Attempt = tuple[str, float, "PartOutcome"]


class UploadSettings(NamedTuple):
    """The choices of a client that sends symbfiles; times are in seconds."""

    attempts: int = 8  # maximum attempts to send a part that may be accepted later
    # wait before the second attempt; doubled for each further one. A random part of up
    # to one half is subtracted
    backoff: float = 0.5
    longest_backoff: float = 30.0  # maximum of that wait
    longest_wait: float = 300.0  # if a server asks for a longer wait, the upload fails
    connect_timeout: float = 10.0  # for opening a connection
    write_timeout: float = 60.0  # for the server to accept the next bytes
    # for the next bytes of the response. A server may convert all parts after the last
    # one, which takes minutes
    timeout: float = 300.0
    attempt_timeout: float = 3600.0  # for one attempt


class PartOutcome(NamedTuple):
    """The result of sending a part."""

    part: UploadPart  # the part
    arrived: bool  # whether the server confirmed it
    reason: str = ""  # why it did not arrive, or ""
    attempts: int = 0  # how often it was sent
    status: int = 0  # the HTTP status of the last response, or 0
    uuid: str = ""  # identifies the failure in the log of the server, or ""


# The results of an attempt.
_ARRIVED = "arrived"
_LATER = "later"
_REFUSED = "refused"
_UNUSABLE = "unusable"

_OK = range(200, 300)
_INTERNAL = 500  # some servers send it for a part that they cannot read
# They concern the client, the URL or the server, not the part.
_UNUSABLE_STATUSES = {401, 402, 403, 404, 405, 407, 410, 421, 426, 501, 505, 507, 511}
_MOST_ANSWER = 1 << 20  # bytes
_PIECE_SIZE = 1 << 18


class SymbfileClient(ServerClient):
    """Sends parts of symbfiles to one server; for one thread at a time.

    Bodies are streamed from their files. To resume an upload, send all parts again. The
    paths of the protocol are appended to *url*; the key is never shown.

    Raises:
        ServerError: *url* is not a URL of http or https, or has credentials beside a
            key.
        UnsupportedError: The extra `net` is not installed.
    """

    def __init__(
        self,
        url: str,
        api_key: str = "",
        settings: UploadSettings | None = None,
        *,
        sleep: Callable[[float], object] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        url = text_of("url", url)
        self._settings = settings = settings or UploadSettings()
        limits = TransferLimits(
            connect_seconds=settings.connect_timeout,
            header_seconds=settings.attempt_timeout,
            idle_seconds=settings.timeout,
            write_seconds=settings.write_timeout,
        )
        super().__init__(url, "to push", limits, api_key, "an API key")
        self._sleep = sleep
        self._policy = RetryPolicy(
            settings.attempts,
            settings.backoff,
            settings.longest_wait,
            settings.longest_backoff,
            chance,
        )
        # why nothing more is sent: the server accepts no part, or does not respond;
        # else ""
        self.stopped: str = ""

    def send(
        self,
        parts: Sequence[UploadPart],
        progress: Callable[[int, int], None] | None = None,
    ) -> list[PartOutcome]:
        """Send parts in order; returns the outcome of each.

        A part that is refused or cannot be read does not stop the others.
        """
        tell = progress or (lambda _done, _total: None)
        total = sum(part.size for part in parts)
        done = 0
        outcomes = []
        for part in parts:

            def sent(size: int, before: int = done) -> None:
                tell(before + size, total)

            outcomes.append(self._send(part, sent))
            done += part.size
        return outcomes

    def _send(self, part: UploadPart, sent: Callable[[int], object]) -> PartOutcome:
        if self.stopped:
            return PartOutcome(part, arrived=False, reason=f"not sent: {self.stopped}")
        number, result, wait = 0, _LATER, 0.0
        outcome = PartOutcome(part, arrived=False)

        def attempt() -> None:
            nonlocal number, result, wait, outcome
            number += 1
            result, wait, outcome = self._attempt(part, sent)
            if result == _LATER:
                raise RetryableError(outcome.reason, wait=wait)

        try:
            retry(attempt, Attempts(self._policy), self._sleep)
        except RetryableError:
            pass  # the last attempt says why
        except (GsymError, OSError) as error:
            return PartOutcome(part, arrived=False, reason=str(error), attempts=number)
        reason = outcome.reason
        if wait > self._settings.longest_wait:
            reason += f", which asks to wait {wait:.0f} s"
        is_over = result == _LATER and outcome.status != _INTERNAL
        if result == _UNUSABLE or is_over:
            self.stopped = reason
        return outcome._replace(reason=reason, attempts=number)

    def _attempt(self, part: UploadPart, sent: Callable[[int], object]) -> _Attempt:
        headers = part_headers(part, self._secret)
        until = time.monotonic() + self._settings.attempt_timeout
        body = file_pieces(part.path, part.size, sent)
        try:
            with self._ask(ENDPOINTS[part.kind], headers, body, until) as answer:
                return self._judge(part, answer)
        except SourceError as error:
            result = _LATER if isinstance(error, RetryableError) else _UNUSABLE
            reason = self._shown(error.reason)
            return (
                result,
                0.0,
                PartOutcome(part, arrived=False, reason=reason, status=error.status),
            )

    def _judge(self, part: UploadPart, answer: Answer) -> _Attempt:
        status, fields = answer.status, answer.headers
        wait = read_retry_after(fields.get("retry-after", "")) or 0.0
        uuid = ""
        try:
            said = read_answer(read_body(answer, _MOST_ANSWER))
        except (SourceError, ValueError) as error:
            reason = f"HTTP status {status}, unexpected answer: {error}"
            # A page with status 200 may come from a proxy.
            result = _LATER if status in _OK else _result(status)
        else:
            if status in _OK and said.success:
                return _ARRIVED, 0.0, PartOutcome(part, arrived=True, status=status)
            result = _result(said.status if status in _OK else status)
            code = f": error {said.code}" if said.code else ""
            text = f": {said.text}" if said.text else ""
            reason, uuid = f"HTTP status {status}{code}{text}", self._shown(said.uuid)
        reason = self._shown(reason)
        return (
            result,
            wait,
            PartOutcome(part, arrived=False, reason=reason, status=status, uuid=uuid),
        )


def _result(status: int) -> str:
    if status in LATER:
        return _LATER
    return _UNUSABLE if status in _UNUSABLE_STATUSES else _REFUSED


_HIDDEN = "***"


class UploadFolder:
    """A folder of requests: `HEX.KIND-N.head` with the header of each, and its body.

    Together they are the bytes that would be sent, except for the API key. The body is
    `HEX.KIND-N.symbfile`; HEX is the FileID.
    """

    def __init__(self, path: str, url: str, *, has_key: bool) -> None:
        self._address = server_address(url)
        os.makedirs(path, exist_ok=True)
        if os.listdir(path):
            raise GsymError("the folder is not empty", path=path)
        self._path = path
        self._has_key = has_key

    def write(self, parts: Iterable[UploadPart]) -> list[str]:
        """Write the requests of parts; returns the paths of their headers."""
        return [self._write(part) for part in parts]

    def _write(self, part: UploadPart) -> str:
        name = f"{part.file_id.hex()}.{part.kind}-{part.file_part}"
        head = os.path.join(self._path, f"{name}.head")
        with AtomicFile(head) as file:
            file.write(self._head(part))
        with (
            open(part.path, "rb") as body,
            AtomicFile(os.path.join(self._path, f"{name}.symbfile")) as file,
        ):
            while piece := body.read(_PIECE_SIZE):
                file.write(piece)
        return head

    def _head(self, part: UploadPart) -> bytes:
        address = self._address.below(ENDPOINTS[part.kind])
        headers = part_headers(part, _HIDDEN if self._has_key else "")
        if address.authorization:
            headers.append(("Authorization", f"Basic {_HIDDEN}"))
        lines = [f"POST {address.target} HTTP/1.1"]
        lines += [
            f"{name}: {value}" for name, value in request_headers(address, headers)
        ]
        return "\r\n".join([*lines, "", ""]).encode("ascii")
