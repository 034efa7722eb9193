"""How many bytes of one kind may be held at a time."""

from __future__ import annotations

from gsym.server.errors import ServerError

_TOO_LARGE, _UNAVAILABLE = 413, 503


class Room:
    """Room for *size* bytes; used from one event loop."""

    def __init__(self, size: int) -> None:
        self._size = self._left = size

    def take(self, size: int, held: int = 0) -> None:
        """Take room for *size* bytes.

        Args:
            size: So many more.
            held: So many that are given back together with them.

        Raises:
            ServerError: There is none: 503, the client may try again; or 413 where
                there would be none ever.
        """
        if held + size > self._size:
            title = f"please ask for less: the server holds <= {self._size} bytes of it"
            raise ServerError(_TOO_LARGE, title, closes=True)
        if size > self._left:
            raise ServerError(_UNAVAILABLE, retry_after=1, closes=True)
        self._left -= size

    def give_back(self, size: int) -> None:
        """Give back what was taken."""
        self._left += size
