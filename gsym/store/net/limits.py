"""Limits of transfers."""

from __future__ import annotations

from gsym.records import NamedTuple


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


_END_OF_HEAD = b"\r\n\r\n"
_INTERIM = b"1"  # first digit of the status of a head that another one follows
_STATUS_AT = len("HTTP/1.1 ")
_LONGEST_HEAD = 1 << 20


class AnswerLength:
    """Counts the bytes of one answer.

    Attributes:
        body: Bytes that came behind the head; None while it is not known.
    """

    def __init__(self) -> None:
        self.body: int | None = None
        self._head = b""

    def count(self, data: bytes) -> None:
        """Take the next bytes of the connection."""
        if self.body is not None:
            self.body += len(data)
            return
        self._head += data
        while (at := self._head.find(_END_OF_HEAD)) >= 0:
            rest = self._head[at + len(_END_OF_HEAD) :]
            if self._head[_STATUS_AT : _STATUS_AT + 1] != _INTERIM:
                self.body = len(rest)
                self._head = b""
                return
            self._head = rest
        if len(self._head) > _LONGEST_HEAD:
            self._head = b""  # HTTP refuses it as well

    def is_more_than(self, claimed: str) -> bool:
        """Whether more came than a `Content-Length` claims."""
        if self.body is None or not claimed.isdigit():
            return False
        return self.body > int(claimed[:20])
