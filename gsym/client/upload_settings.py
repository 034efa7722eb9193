"""How patiently symbfiles are sent: a plain record."""

from __future__ import annotations

from gsym.records import NamedTuple

__all__ = ["UploadSettings"]


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
