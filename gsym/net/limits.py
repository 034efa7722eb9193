"""Limits of requests and transfers."""

from __future__ import annotations

from gsym.records import NamedTuple


class TransferLimits(NamedTuple):
    """Limits of one transfer; times are in seconds, sizes in bytes.

    A stalled server is given up after about *idle_seconds*.
    """

    connect_seconds: float = 4  # time to connect to one address
    # time until the headers of the answer arrived, including connecting and sending the
    # request
    header_seconds: float = 4
    idle_seconds: float = 4  # time in which at least *least_bytes* must arrive
    total_seconds: float = 300  # total time, including redirects, retries and waits
    most_bytes: int = 4 << 30  # size of an answer as transferred
    most_inflated: int = 8 << 30  # size of an answer when inflated
    least_bytes: int = 4 << 10  # see *idle_seconds*
    redirects: int = 5  # maximum number of redirects
    attempts: int = 3  # maximum number of attempts if an answer may come later
    retry_seconds: float = 300  # time after which there is no further attempt
    # if a server requests a longer wait, the download fails; until then the server is
    # only probed occasionally
    wait_seconds: float = 300
    # the wait before the second attempt; it doubles with each attempt and is reduced by
    # up to half at random
    backoff_seconds: float = 0.5
    write_seconds: float = 10  # time in which a server must accept more data
