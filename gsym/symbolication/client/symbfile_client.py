"""Sends symbfiles to a server, part by part, as often as it takes."""

from __future__ import annotations

import random
import time
from functools import partial
from itertools import count

from gsym.errors import GsymError
from gsym.records import NamedTuple
from gsym.symbolication.client.part_transport import (
    ARRIVED,
    LATER,
    UNUSABLE,
    Attempt,
    PartTransport,
)
from gsym.symbolication.client.settings import UploadSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from gsym.symbfile.upload import UploadPart


class PartOutcome(NamedTuple):
    """What became of a part.

    Attributes:
        part: The part.
        arrived: Whether the server has said so.
        reason: Why it did not arrive, for people; else "".
        attempts: So often it was sent; 0: not at all.
        status: Of HTTP, of the last answer; 0 for none.
        uuid: Under which the log of the server has that; "" for none.
    """

    part: UploadPart
    arrived: bool
    reason: str = ""
    attempts: int = 0
    status: int = 0
    uuid: str = ""


_INTERNAL = 500  # some servers have it for what they cannot read


class SymbfileClient:
    """Sends parts of symbfiles to one server; for one thread at a time.

    Bodies are streamed from their files. To resume an upload, send all parts again:
    they replace what arrived.

    Args:
        url: Of the server; the paths of the protocol are appended to it.
        api_key: Shown nowhere; "" for none.
        settings: How patient it is.
        sleep: Waits for a number of seconds.
        chance: A number of at least 0 and below 1, another one each time.

    Attributes:
        stopped: Why nothing is sent any more, once the server took no part at all or
            answered no longer; "" up to then.

    Raises:
        ServerError: *url* is no URL of http or https, or has credentials beside a key.
        UnsupportedError: The package for HTTP is not installed (extra `net`).
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
        self._settings = settings or UploadSettings()
        self._transport = PartTransport(url, api_key, self._settings)
        self._sleep = sleep
        self._chance = chance
        self.stopped = ""

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

    def send(
        self,
        parts: Sequence[UploadPart],
        progress: Callable[[int, int], None] | None = None,
    ) -> list[PartOutcome]:
        """Send parts in turn; what became of each, in the same order.

        A part that is refused, or whose file cannot be read, does not keep the others
        back.

        Args:
            parts: Of any executables.
            progress: Called now and then with (bytes sent, bytes in all).
        """
        total = sum(part.size for part in parts)
        done = 0
        outcomes = []
        for part in parts:
            sent = partial(_tell, progress, done, total)
            outcomes.append(self._send(part, sent))
            done += part.size
        return outcomes

    def _send(self, part: UploadPart, sent: Callable[[int], object]) -> PartOutcome:
        if self.stopped:
            return PartOutcome(part, arrived=False, reason=f"not sent: {self.stopped}")
        for number in count(1):
            try:
                attempt = self._transport.send(part, sent)
            except (GsymError, OSError) as error:
                return PartOutcome(
                    part, arrived=False, reason=str(error), attempts=number
                )
            is_last = number >= self._settings.attempts
            is_too_long = attempt.wait > self._settings.longest_wait
            if attempt.result != LATER or is_last or is_too_long:
                break
            self._sleep(max(attempt.wait, self._backoff(number)))
        return self._outcome(part, attempt, number)

    def _backoff(self, attempts: int) -> float:
        """Seconds before the next attempt."""
        settings = self._settings
        longest = settings.longest_backoff
        # A shift of any number of attempts would be a number of any size.
        doubled = min(settings.backoff * 2.0 ** min(attempts - 1, 64), longest)
        return doubled * (1 - self._chance() / 2)

    def _outcome(
        self, part: UploadPart, attempt: Attempt, attempts: int
    ) -> PartOutcome:
        status, reason = attempt.status, attempt.reason
        if attempt.wait > self._settings.longest_wait:
            reason += f", which asks to wait {attempt.wait:.0f} s"
        is_over = attempt.result == LATER and status != _INTERNAL
        if attempt.result == UNUSABLE or is_over:
            self.stopped = reason
        is_there = attempt.result == ARRIVED
        return PartOutcome(part, is_there, reason, attempts, status, attempt.uuid)


def _tell(
    progress: Callable[[int, int], None] | None, before: int, total: int, sent: int
) -> None:
    if progress is not None:
        progress(before + sent, total)
