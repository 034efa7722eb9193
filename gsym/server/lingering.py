"""Connections that end while the client still sends.

Closed at once, they would be reset: the client, busy with sending, would learn of that
and never read the answer. So first only the server's side is closed, and what comes is
thrown away, for some time and so many bytes, or until the client has closed its side.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, TimerHandle, Transport
    from collections.abc import Callable
    from typing import Any


class LingeringTransport:
    """A transport, but for how it is closed.

    Args:
        transport: The transport itself.
        loop: Calls back.
        seconds: How long it is left open at most.
        size: For how many bytes.
        is_sending: Whether the client has more to send.
    """

    def __init__(
        self,
        transport: Transport,
        loop: AbstractEventLoop,
        seconds: float,
        size: int,
        is_sending: Callable[[], bool],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._seconds = seconds
        self._left = size
        self._is_sending = is_sending
        self._timer: TimerHandle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    @property
    def is_lingering(self) -> bool:
        """Whether all that comes is to be handed to `drop`."""
        return self._timer is not None

    def is_closing(self) -> bool:
        """Whether nothing can be sent any more."""
        return self.is_lingering or self._transport.is_closing()

    def close(self) -> None:
        """Close the connection once the client has what was sent."""
        if self.is_closing():
            return
        if not self._is_sending() or not self._transport.can_write_eof():
            self._transport.close()
            return
        self._timer = self._loop.call_later(self._seconds, self._transport.close)
        self._transport.write_eof()
        self._transport.resume_reading()

    def drop(self, size: int) -> None:
        """Throw so many bytes away that came."""
        self._left -= size
        if self._left < 0:
            self.end()

    def end(self) -> None:
        """Wait for no more."""
        if self._timer is not None:
            self._timer.cancel()
        self._transport.close()
