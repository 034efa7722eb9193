"""How much of an answer came over a connection, whatever its head claims.

What stands behind the claimed end of an answer is dropped by HTTP; of a server that
claims too little that would make half a file look whole.
"""

from __future__ import annotations

__all__ = ["AnswerLength"]

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
