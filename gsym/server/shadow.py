"""Each request is sent to another server too, and what that says otherwise is logged.

So an operator sees what a change of servers would change. It happens behind the answer,
in a thread of its own with a bounded queue: a server that stalls costs comparisons, not
answers.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Lock, Thread

from gsym.client.answers import Assembly, from_version_4
from gsym.client.jobs import Piece
from gsym.client.settings import ClientSettings
from gsym.client.transport import Transport
from gsym.errors import GsymError
from gsym.server.answer_comparison import FrameDifference, compare_answers

__all__ = ["Shadow", "is_from_shadow"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gsym.server.answer_comparison import ModuleDifference
    from gsym.server.metrics import Metrics
    from gsym.server.settings import Settings

    Comparison = tuple[str, bytes, bytes]  # version, request, answer

_LOG = logging.getLogger("gsym.shadow")
_USER_AGENT = "gsym-shadow"
_OK = 200
_FIELDS: tuple[str, ...] = (
    "module",
    "function",
    "function_offset",
    "file",
    "line",
    "inlines",
)
_FIELDS_OF_VERSION_4 = ("module", "function")


class Shadow:
    """Compares answers with those of another server.

    Args:
        settings: Name the server, and limit the queue and the log.
        metrics: Count what becomes of each request.

    Raises:
        UnsupportedError: The package for HTTP is not installed.
    """

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        client = ClientSettings(
            user_agent=_USER_AGENT, waits=(), timeout=settings.request_timeout
        )
        self._transport = Transport(settings.shadow, client)
        self._metrics = metrics
        self._most_logged = settings.shadow_logged
        self._most_bytes = settings.shadow_bytes
        self._ignored = frozenset(settings.shadow_ignore)
        self._bytes = 0
        self._lock = Lock()
        self._queue: Queue[Comparison | None] = Queue(settings.shadow_queue)
        self._thread = Thread(target=self._work, name="gsym-shadow", daemon=True)
        self._thread.start()

    def offer(self, version: str, request: bytes, answer: bytes | memoryview) -> None:
        """Have an answer compared, unless too many wait for that already.

        Args:
            version: "v4" or "v5", of both.
            request: Its body.
            answer: Its body, which is copied if it is compared.
        """
        size = len(request) + len(answer)
        with self._lock:
            has_room = self._bytes + size <= self._most_bytes
            if has_room:
                self._bytes += size
        if has_room:
            try:
                self._queue.put_nowait((version, request, bytes(answer)))
            except Full:
                self._give_back(size)
                has_room = False
        if not has_room:
            self._count("dropped")

    def close(self) -> None:
        """Compare no more; what waits is dropped."""
        with suppress(Empty):  # its thread takes from it, too
            while True:
                self._queue.get_nowait()
        with suppress(Full):  # by requests that are under way
            self._queue.put_nowait(None)

    def _work(self) -> None:
        while (comparison := self._queue.get()) is not None:
            try:
                self._compare(*comparison)
            except Exception:  # noqa: BLE001 - nothing that it says may end this
                _LOG.exception("an answer could not be compared")
                self._count("failed")
            self._give_back(len(comparison[1]) + len(comparison[2]))
        self._transport.close()

    def _compare(self, version: str, request: bytes, answer: bytes) -> None:
        asked = json.loads(request)
        jobs = asked["jobs"] if version == "v5" and "jobs" in asked else [asked]
        try:
            theirs = self._ask(jobs)
        except GsymError as error:
            _LOG.warning("the other server gives no answer: %s", error)
            self._count("failed")
            return
        found = json.loads(answer)
        fields = _FIELDS
        if version == "v4":
            fields = _FIELDS_OF_VERSION_4
            ours = [from_version_4(Piece(0, jobs[0], None, 0), found)]
        else:
            ours = found["results"]
        fields = tuple(each for each in fields if each not in self._ignored)
        differences = list(compare_answers(jobs, ours, theirs, fields))
        self._count("different" if differences else "same")
        frames = sum(len(stack) for job in jobs for stack in job["stacks"])
        unlike = sum(isinstance(each, FrameDifference) for each in differences)
        self._metrics.shadow_frames.labels("different").inc(unlike)
        self._metrics.shadow_frames.labels("same").inc(frames - unlike)
        for each in differences[: self._most_logged]:
            _log(each)
        if len(differences) > self._most_logged:
            _LOG.warning("%d differences in all", len(differences))

    def _ask(self, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What the other server says of jobs.

        Raises:
            GsymError: It gives no answer, or one to something else.
        """
        payload = {"jobs": jobs, "version": 5}
        status, body = self._transport.post("/symbolicate/v5", payload)
        results = body.get("results") if isinstance(body, dict) else None
        if status != _OK or not isinstance(results, list) or len(results) != len(jobs):
            raise GsymError(
                f"HTTP status {status}, which is no answer to {len(jobs)} jobs"
            )
        assembly = Assembly(len(jobs))
        for number, (job, result) in enumerate(zip(jobs, results, strict=True)):
            assembly.take(Piece(number, job, None, 0), result)
        return assembly.results()

    def _give_back(self, size: int) -> None:
        with self._lock:
            self._bytes -= size

    def _count(self, result: str) -> None:
        self._metrics.shadow_requests.labels(result).inc()


def is_from_shadow(headers: Mapping[str, str]) -> bool:
    """Whether a request is for comparison only: it is compared with nothing further.

    Two servers could name each other.
    """
    return headers.get("user-agent") == _USER_AGENT


def _log(difference: FrameDifference | ModuleDifference) -> None:
    fields = {
        name: json.dumps(value) if isinstance(value, dict) else value
        for name, value in difference._asdict().items()
    }
    _LOG.warning(
        "%s differs: %s here, %s there",
        difference.module or "no module",
        fields["ours"],
        fields["theirs"],
        extra={"fields": fields},
    )
