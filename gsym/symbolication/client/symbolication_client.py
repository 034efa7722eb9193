"""A client of symbolication servers."""

from __future__ import annotations

import time
from collections import deque

from gsym.errors import ServerError
from gsym.symbolication.client.answers import Assembly, from_version_4, read_answer
from gsym.symbolication.client.jobs import (
    cut_jobs,
    group_pieces,
    halve_piece,
    read_jobs,
)
from gsym.symbolication.client.settings import ClientSettings
from gsym.symbolication.client.transport import ABSENT, Transport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

    from typing_extensions import Self

    from gsym.symbolication.client.answers import JobAnswer
    from gsym.symbolication.client.jobs import Piece

_OK = 200
# What is wrong with the request, not with who asks.
_REFUSALS = frozenset({400, 413, 422})
_TOO_LARGE = 413
_VERSION_5 = "/symbolicate/v5"
_VERSION_4 = "/symbolicate/v4"


class SymbolicationClient:
    """Asks one symbolication server; for one thread at a time.

    Requests are cut and put together as the server likes them; a job that it refuses
    costs the others nothing. Version 4 of the API is used where there is no version 5.

    Args:
        server: URL of the server, without the path of the API.
        settings: Limits, waits and headers.
        sleep: Waits for a number of seconds.

    Raises:
        ServerError: *server* is no URL of http or https.
        UnsupportedError: The package for HTTP is not installed (extra `net`).
    """

    def __init__(
        self,
        server: str,
        settings: ClientSettings | None = None,
        *,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._settings = settings or ClientSettings()
        self._transport = Transport(server, self._settings, sleep)
        self._path = _VERSION_5

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def symbolicate(self, request: Any) -> list[JobAnswer]:
        """What became of each job, in order.

        Args:
            request: As JSON has it: a request of version 5, a single job (also one of
                version 4), or a list of jobs. Offsets count from the base of a module.

        Raises:
            ServerError: The server gives no answer, or none of use.
            ValueError: *request* is nothing of this kind.
        """
        return [read_answer(result) for result in self.answer(request)["results"]]

    def answer(self, request: Any) -> dict[str, Any]:
        """The same as JSON of version 5 has it; `{"error": why}` for a refused job."""
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
        """Send one request; returns the requests that are still to be sent for it."""
        if self._path == _VERSION_4 and len(batch) > 1:
            return [[piece] for piece in batch]
        payloads = [piece.payload for piece in batch]
        is_old = self._path == _VERSION_4
        payload = (
            {**payloads[0], "version": 4}
            if is_old
            else {"jobs": payloads, "version": 5}
        )
        status, body = self._transport.post(self._path, payload)
        if status == _OK:
            _take(batch, body, assembly, is_old=is_old)
            return []
        if status in ABSENT:
            return [self._older(batch, status)]
        title = body.get("title") if isinstance(body, dict) else None
        reason = title if isinstance(title, str) else f"HTTP status {status}"
        if status not in _REFUSALS:
            place = str(self._transport.address)
            raise ServerError(f"HTTP status {status}: {reason}", path=place)
        return _without_refused(batch, status, reason, assembly)

    def _older(self, batch: list[Piece], status: int) -> list[Piece]:
        """Go on with version 4, unless that is not there either."""
        if self._path == _VERSION_4:
            self._path = _VERSION_5
            reason = f"HTTP status {status}: there is no symbolication API"
            raise ServerError(reason, path=str(self._transport.address))
        self._path = _VERSION_4
        return batch


def _take(batch: list[Piece], body: Any, assembly: Assembly, *, is_old: bool) -> None:
    if is_old:
        assembly.take(batch[0], from_version_4(batch[0], body))
        return
    results = body.get("results") if isinstance(body, dict) else None
    if not isinstance(results, list) or len(results) != len(batch):
        raise ServerError("the server's answer does not fit what was asked")
    for piece, result in zip(batch, results, strict=True):
        assembly.take(piece, result)


def _without_refused(
    batch: list[Piece], status: int, reason: str, assembly: Assembly
) -> list[list[Piece]]:
    """Leave out the job that the server names; without a name, search for it."""
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
    """N of a text that begins with "job N "."""
    word, _, rest = reason.partition(" ")
    number = rest.partition(" ")[0]
    is_named = word == "job" and number.isascii() and number.isdigit()
    return int(number[:9]) if is_named else None
