"""How many bytes of one kind may be held at a time."""

from __future__ import annotations

from gsym.server.errors import ServerError

__all__ = ["Room"]

_UNAVAILABLE = 503


class Room:
    """Room for *size* bytes; used from one event loop."""

    def __init__(self, size: int) -> None:
        self._left = size

    def take(self, size: int) -> None:
        """Take room for *size* bytes.

        Raises:
            ServerError: There is none; the client may try again.
        """
        if size > self._left:
            raise ServerError(_UNAVAILABLE, retry_after=1, closes=True)
        self._left -= size

    def give_back(self, size: int) -> None:
        """Give back what was taken."""
        self._left += size
