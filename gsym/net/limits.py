"""Limits of requests and transfers."""

from __future__ import annotations

from gsym.records import NamedTuple


class TransferLimits(NamedTuple):
    """Limits of one transfer; times are in seconds, sizes in bytes.

    A server that stalls is waited for at most about *idle_seconds*.

    Attributes:
        connect_seconds: To connect to one address.
        header_seconds: Until the head of the answer is there, including connecting and
            sending the request.
        idle_seconds: In this time at least *least_bytes* have to arrive.
        total_seconds: For everything, including redirects, retries and waits.
        most_bytes: Of an answer as it is sent.
        most_inflated: Of an answer when it is inflated.
        least_bytes: See *idle_seconds*.
        redirects: How many are followed.
        attempts: How often the server is asked where an answer may come later.
        wait_seconds: If a server asks for a longer wait, the attempt ends; until that
            time it is probed now and then.
        backoff_seconds: The wait before the second attempt; it doubles with each, and
            up to half of it is left out at random.
        write_seconds: In this time a server has to accept some of what is sent.
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
