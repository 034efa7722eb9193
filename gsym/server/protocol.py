"""uvicorn's HTTP protocol, with limits on request headers and slow clients."""

from __future__ import annotations

import re
from asyncio import AbstractEventLoop, TimerHandle, Transport
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gsym.server.errors import error_response


class LingeringTransport:
    """A transport that, when closed, first discards what the client still sends.

    Otherwise the kernel would reset the connection before the client reads the answer.

    Args:
        transport: The underlying transport.
        loop: The event loop.
        seconds: Maximum time to stay open.
        size: Maximum number of bytes to discard.
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
        self.write: Callable[[bytes], None] = transport.write  # often called
        self._loop = loop
        self._seconds = seconds
        self._left = size
        self._is_sending = is_sending
        self._timer: TimerHandle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    @property
    def is_lingering(self) -> bool:
        """Whether received data is to be passed to `drop`."""
        return self._timer is not None

    def is_closing(self) -> bool:
        """Whether nothing can be sent any more."""
        return self.is_lingering or self._transport.is_closing()

    def close(self) -> None:
        """Close the connection when the client has received everything."""
        if self.is_closing():
            return
        if not self._is_sending() or not self._transport.can_write_eof():
            self._transport.close()
            return
        self._timer = self._loop.call_later(self._seconds, self._transport.close)
        self._transport.write_eof()
        self._transport.resume_reading()

    def drop(self, size: int) -> None:
        """Discard received bytes."""
        self._left -= size
        if self._left < 0:
            self.end()

    def end(self) -> None:
        """Close immediately."""
        if self._timer is not None:
            self._timer.cancel()
        self._transport.close()


# A refused client may continue to send for so long, and so much.
LINGER_SECONDS = 10.0
LINGER_BYTES = 64 << 20
# Seconds for which a server that stops waits for the first request of a connection.
LAST_SECONDS = 2.0
_UPGRADE = re.compile(rb"(?<=\r\n)upgrade(?=[ \t]*:)", re.IGNORECASE)


class Protocol(HttpToolsProtocol):
    """Answers invalid requests in JSON, and disconnects clients that are too slow.

    Args:
        head_size: Maximum size of the request line and headers in bytes. What cannot
            become a head of that size is refused before its end.
        head_timeout: Seconds for them to arrive.
        write_timeout: Seconds for the client to accept more of an answer.
        connection_time: Seconds after which a connection is closed with its next
            answer, so that clients reconnect, perhaps to a newer worker.
        others: Arguments of uvicorn's protocol.
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
        self._head_size = 0  # of the parts that are complete
        self._head_timer: TimerHandle | None = None
        self._is_in_head = False
        self._is_mixed = False  # whether the data just received has more than a head
        self._write_timeout = write_timeout
        self._write_timer: TimerHandle | None = None
        self._ends = self.loop.time() + connection_time
        self._lingering: LingeringTransport | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        self._lingering = LingeringTransport(
            transport, self.loop, LINGER_SECONDS, LINGER_BYTES, self._is_sent_to
        )
        super().connection_made(self._lingering)  # type: ignore[arg-type] # duck-typed
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        self._end_head()
        self._end_writing()
        if self._lingering is not None:
            self._lingering.end()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request starts; its time starts when the previous one is answered."""
        super().on_message_begin()
        self._is_in_head = True
        self._head_left = self._most_head
        self._head_size = len("  HTTP/1.1\r\n\r\n")
        if self._head_timer is None and not self._owes_an_answer:
            self._await_head()

    def on_url(self, url: bytes) -> None:
        """A part of the request line arrived."""
        self._head_size += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header arrived, or one after the body, which nobody reads.

        Raises:
            ValueError: Those after the body are too large; the parser stops.
        """
        self._head_size += len(name) + len(value) + len(": \r\n")
        if self._is_in_head:
            super().on_header(name, value)
        elif self._head_size > self._most_head:
            raise ValueError(self._head_size)

    def on_headers_complete(self) -> None:
        """The headers are complete.

        Raises:
            ValueError: They are too large; the parser stops.
        """
        self._head_size += len(self.parser.get_method())
        if self._head_size > self._most_head:
            raise ValueError(self._head_size)
        self._is_in_head = False
        self._end_head()
        super().on_headers_complete()
        if self.cycle is not None and self.loop.time() >= self._ends:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """A part of the body arrived."""
        self._is_mixed = True
        self._head_left = self._most_head  # for what is around and after its chunks
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is complete; what follows is another one."""
        self._is_mixed = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer was sent; part of the next request may have arrived."""
        super().on_response_complete()
        if self._is_in_head and not self._owes_an_answer:
            self._await_head()

    def pause_writing(self) -> None:
        """The write buffer is full: watch whether the client reads."""
        super().pause_writing()
        self._watch_writing()

    def resume_writing(self) -> None:
        """The client reads."""
        self._end_writing()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Parse data; refuse headers that are too large."""
        if self._lingering is not None and self._lingering.is_lingering:
            self._lingering.drop(len(data))
            return
        self._is_mixed = False
        super().data_received(_without_upgrade(data) if self._head_timer else data)
        # How much of the data is a head that begins after other parts is unknown.
        is_in_message = self._is_in_head or (self.cycle and self.cycle.more_body)
        if not self._is_mixed and (is_in_message or self._head_timer is not None):
            self._head_left -= len(data)
            if self._head_left < 0:
                self._refuse(431)

    def send_400_response(self, msg: str) -> None:
        """Refuse data that is not HTTP, or a head that is too large."""
        if self._head_size > self._most_head:
            self._refuse(431)
        else:
            self._refuse(400, msg.rstrip("."))

    def shutdown(self) -> None:
        """Close when the request in progress, or on its way, is answered."""
        if self._lingering is not None and self._lingering.is_lingering:
            self._lingering.end()
        elif self.cycle is None or self._is_in_head:
            # The client may have sent a request that has not arrived yet.
            self._ends = self.loop.time()
            self._end_head()
            self._head_timer = self.loop.call_later(LAST_SECONDS, self.transport.close)
        else:
            super().shutdown()

    def _is_sent_to(self) -> bool:
        """Whether the client is in the middle of a request."""
        return self.cycle is None or self.cycle.more_body or self._is_in_head

    @property
    def _owes_an_answer(self) -> bool:
        """Whether a complete request is not answered yet."""
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
        self._head_timer = self.loop.call_later(self._head_timeout, self._refuse, 408)

    def _end_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse(self, status: int, title: str = "") -> None:
        self._end_head()
        if self.transport.is_closing():
            return
        if self._owes_an_answer:  # after which nothing can be sent any more
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        if self.cycle and self.cycle.response_started and self.cycle.more_body:
            self.transport.close()
            return
        phrase = HTTPStatus(status).phrase
        body = bytes(error_response(status, title).body)
        header = (
            f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/json\r\n"
            f"connection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        self.transport.write(header.encode() + body)
        self.transport.close()


def _without_upgrade(data: bytes) -> bytes:
    """Headers without `Upgrade`, which is not supported.

    The parser would leave the body to the other protocol.
    """
    end = data.find(b"\r\n\r\n")
    head = data if end < 0 else data[:end]
    if not _UPGRADE.search(head):
        return data
    return _UPGRADE.sub(b"x-upgrade", head) + data[len(head) :]
