"""Settings of the clients."""

from __future__ import annotations

from gsym.records import NamedTuple


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


class UploadSettings(NamedTuple):
    """The choices of a client that sends symbfiles; times are in seconds.

    Attributes:
        attempts: So often a part is sent where it may arrive later.
        backoff: Before the second attempt; it doubles with each. Up to a half of
            it is left out, by chance, so that clients do not come back together.
        longest_backoff: It does not grow beyond.
        longest_wait: Where a server asks for a longer one, it is given up.
        connect_timeout: Until a connection must stand.
        write_timeout: In which the server must take something of what is sent.
        timeout: In which something of the answer must come. With the last part
            a server may convert all of them first, which takes minutes.
        attempt_timeout: For all of one attempt.
    """

    attempts: int = 8
    backoff: float = 0.5
    longest_backoff: float = 30.0
    longest_wait: float = 300.0
    connect_timeout: float = 10.0
    write_timeout: float = 60.0
    timeout: float = 300.0
    attempt_timeout: float = 3600.0
