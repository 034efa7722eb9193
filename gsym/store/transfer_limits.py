"""How long a transfer may take and how much it may bring: a plain record."""

from __future__ import annotations

from gsym.records import NamedTuple

__all__ = ["TransferLimits"]


class TransferLimits(NamedTuple):
    """Limits of one transfer; times are in seconds, sizes in bytes.

    Nobody waits much longer than *idle_seconds* for a server that stalls, nor for
    the next attempt where it answers again.

    Attributes:
        connect_seconds: To connect to one address.
        header_seconds: Until the head of the answer is there, with connecting and
            all that is sent.
        idle_seconds: In this time at least *least_bytes* have to come.
        total_seconds: For all, with redirects, retries and waits.
        most_bytes: Of an answer as it is sent.
        most_inflated: Of it when it is inflated.
        least_bytes: See *idle_seconds*.
        redirects: So many are followed.
        attempts: So often it is asked where an answer may come later.
        wait_seconds: Where a server asks for a longer wait, the attempt ends; until
            that is over it is asked now and then, to see if it answers.
        backoff_seconds: The longest wait before the second attempt; it doubles with
            each. How long it is each time is left to chance.
        write_seconds: In this time a server has to take something of what is sent.
    """

    connect_seconds: float = 4
    header_seconds: float = 4
    idle_seconds: float = 4
    total_seconds: float = 300
    most_bytes: int = 4 << 30
    most_inflated: int = 8 << 30
    least_bytes: int = 4 << 10
    redirects: int = 5
    attempts: int = 3
    wait_seconds: float = 300
    backoff_seconds: float = 0.5
    write_seconds: float = 10
