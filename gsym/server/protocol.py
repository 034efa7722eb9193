"""HTTP as uvicorn reads it, with limits on what comes before the body."""

from __future__ import annotations

import re
from http import HTTPStatus

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

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


_BAD_REQUEST = 400
_TIMEOUT = 408
_TOO_LARGE = 431
# A refused client may send on for so long, and so much, so that it reads the answer.
LINGER_SECONDS = 10.0
LINGER_BYTES = 64 << 20
_UPGRADE = re.compile(rb"(?<=\r\n)upgrade(?=[ \t]*:)", re.IGNORECASE)


class Protocol(HttpToolsProtocol):
    """Answers in JSON what it cannot read, and hangs up on who sends or takes nothing.

    Args:
        head_size: Bytes that the head of a request may have, about: what comes at once
            is read at once.
        head_timeout: Seconds in which it has to come.
        write_timeout: Seconds in which a client has to take some of what is sent.
        connection_time: Seconds after which a connection ends with its next answer:
            clients come back, to a worker that was started meanwhile as well.
        others: As uvicorn gives them.
    """

    def __init__(
        self,
        *,
        head_size: int = 1 << 16,
        head_timeout: float = 10.0,
        write_timeout: float = 60.0,
        connection_time: float = 30.0,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self._most_head = head_size
        self._head_timeout = head_timeout
        self._head_left = head_size
        self._head_timer: TimerHandle | None = None
        self._is_in_head = False
        self._write_timeout = write_timeout
        self._write_timer: TimerHandle | None = None
        self._ends = self.loop.time() + connection_time
        self._lingering: LingeringTransport | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        self._lingering = LingeringTransport(
            transport, self.loop, LINGER_SECONDS, LINGER_BYTES, self._is_sent_to
        )
        super().connection_made(self._lingering)  # type: ignore[arg-type] # is as one
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._end_head()
        self._end_writing()
        if self._lingering is not None:
            self._lingering.end()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A head begins; it may take its time while the request before is answered."""
        super().on_message_begin()
        self._is_in_head = True
        self._head_left = self._most_head
        if self._head_timer is None and not self._owes_an_answer:
            self._await_head()

    def on_headers_complete(self) -> None:
        """A head is complete."""
        self._is_in_head = False
        self._end_head()
        super().on_headers_complete()
        if self.cycle is not None and self.loop.time() >= self._ends:
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        """An answer is sent; of the next request there may be a part."""
        super().on_response_complete()
        if self._is_in_head and not self._owes_an_answer:
            self._await_head()

    def pause_writing(self) -> None:
        """Much is left to be sent: see whether the client takes it."""
        super().pause_writing()
        self._watch_writing()

    def resume_writing(self) -> None:
        """The client takes it."""
        self._end_writing()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Read on; who sends a head without an end is hung up on."""
        if self._lingering is not None and self._lingering.is_lingering:
            self._lingering.drop(len(data))
            return
        super().data_received(_without_upgrade(data) if self._head_timer else data)
        if self._is_in_head or self._head_timer is not None:
            self._head_left -= len(data)
            if self._head_left < 0:
                self._refuse(_TOO_LARGE)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._refuse(_BAD_REQUEST, msg.rstrip("."))

    def shutdown(self) -> None:
        """End as soon as the request that is under way is answered."""
        if self._lingering is not None and self._lingering.is_lingering:
            self._lingering.end()
        else:
            super().shutdown()

    def _is_sent_to(self) -> bool:
        """Whether the client is in the middle of a request."""
        return self.cycle is None or self.cycle.more_body or self._is_in_head

    @property
    def _owes_an_answer(self) -> bool:
        """Whether a whole request came that is not answered."""
        if self.cycle is None or self.cycle.response_complete:
            return False
        return bool(self.pipeline) or not self.cycle.more_body

    def _watch_writing(self) -> None:
        left = self.transport.get_write_buffer_size()

        def check() -> None:
            if self.transport.get_write_buffer_size() < left:
                self._watch_writing()
            else:
                self.transport.abort()

        self._write_timer = self.loop.call_later(self._write_timeout, check)

    def _end_writing(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(
            self._head_timeout, self._refuse, _TIMEOUT
        )

    def _end_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse(self, status: int, title: str = "") -> None:
        self._end_head()
        if self.transport.is_closing():
            return
        if self._owes_an_answer:  # behind which nothing can be said any more
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        if self.cycle and self.cycle.response_started and self.cycle.more_body:
            self.transport.close()
            return
        phrase = HTTPStatus(status).phrase
        body = msgspec.json.encode({"title": title or f"{status} {phrase}"})
        head = (
            f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/json\r\n"
            f"connection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


def _without_upgrade(data: bytes) -> bytes:
    """A head without the offer to go on in another protocol, which is not taken up.

    The parser would leave the body to that protocol.
    """
    end = data.find(b"\r\n\r\n")
    head = data if end < 0 else data[:end]
    if not _UPGRADE.search(head):
        return data
    return _UPGRADE.sub(b"x-upgrade", head) + data[len(head) :]
