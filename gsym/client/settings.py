"""What a client sends and how long it waits: a plain record."""

from __future__ import annotations

from gsym.records import NamedTuple

__all__ = ["ClientSettings"]


class ClientSettings(NamedTuple):
    """The choices of a client.

    Attributes:
        user_agent: Tells the operator of the server who asks; "" for that of this
            package.
        headers: (name, value) of further headers, such as a token.
        waits: Seconds before each further attempt at what failed for the moment.
        longest_wait: Seconds; of a server that asks for more, this much is heeded.
        connect_timeout: Seconds until a connection must stand.
        timeout: Seconds in which something of the answer must come. A server that
            has to fetch and parse symbols first takes minutes.
        total_timeout: Seconds for a request, with all attempts and waits.
        most_jobs: In one request.
        most_frames: In one request.
        most_bytes: Of an answer, inflated.
        compresses: Whether requests are sent compressed by gzip. Not every server
            takes that.
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
