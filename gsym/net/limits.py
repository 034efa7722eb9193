"""Limits of requests and transfers."""

from __future__ import annotations

from gsym.records import NamedTuple


class TransferLimits(NamedTuple):
    """Limits of one transfer; times are in seconds, sizes in bytes.

    A stalled server is given up after about *idle_seconds*.

    Attributes:
        connect_seconds: Time to connect to one address.
        header_seconds: Time until the headers of the answer arrived, including
            connecting and sending the request.
        idle_seconds: Time in which at least *least_bytes* must arrive.
        total_seconds: Total time, including redirects, retries and waits.
        most_bytes: Size of an answer as transferred.
        most_inflated: Size of an answer when inflated.
        least_bytes: See *idle_seconds*.
        redirects: Maximum number of redirects.
        attempts: Maximum number of attempts if an answer may come later.
        wait_seconds: If a server requests a longer wait, the download fails; until then
            the server is only probed occasionally.
        backoff_seconds: The wait before the second attempt; it doubles with each
            attempt and is reduced by up to half at random.
        write_seconds: Time in which a server must accept more data.
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
