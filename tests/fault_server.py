"""A web server on this machine that answers each path as a test says, or fails to."""

from __future__ import annotations

import gzip
import socket
import struct
import threading
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from typing_extensions import Self


class Reply(NamedTuple):
    """What the server sends.

    Of *body* it claims *claimed* bytes: None for its size, -1 to say nothing. *fault*
    is what goes wrong: "stall" before the head, "pause" after half of the body, both
    until the server ends; "trickle" and "trickle head": a byte now and then; "reset" in
    the middle of the body; "no head": bytes that are no answer.
    """

    body: bytes = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    claimed: int | None = None
    fault: str = ""

    @classmethod
    def zipped(cls, body: bytes) -> Reply:
        return cls(gzip.compress(body), headers=(("Content-Encoding", "gzip"),))

    @classmethod
    def redirect(cls, location: str, status: int = 302) -> Reply:
        return cls(status=status, headers=(("Location", location),))


MISSING = Reply(status=404)


class FaultServer:
    """Answers by path.

    Attributes:
        replies: What it says to each path, and how often: the last of a list is said
            again and again. It can be changed at any time.
        otherwise: What it says to other paths.
        headers: Those of the last request to each path, names in lower case.
        gate: Answers wait for it; it is open at first.
    """

    def __init__(
        self,
        replies: dict[str, Reply | list[Reply]] | None = None,
        otherwise: Reply = MISSING,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.replies = {} if replies is None else replies
        self.otherwise = otherwise
        self.headers: dict[str, dict[str, str]] = {}
        self.requests: Counter[str] = Counter()
        self.clients: set[tuple[str, int]] = set()
        self.gate = threading.Event()
        self.gate.set()
        self.stopped = threading.Event()
        self._lock = threading.Lock()
        self._server = _Listener(("127.0.0.1", 0), self._handler())
        if tls is not None:
            listening = self._server.socket
            self._server.socket = tls.wrap_socket(listening, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                reply = server.reply(self)
                with suppress(OSError):
                    _FAULTS.get(reply.fault, _send)(self, reply, server.stopped)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def reply(self, handler: BaseHTTPRequestHandler) -> Reply:
        path = handler.path
        with self._lock:
            self.requests[path] += 1
            self.clients.add(handler.client_address)
            self.headers[path] = {k.lower(): v for k, v in handler.headers.items()}
            found = self.replies.get(path, self.otherwise)
            if isinstance(found, list):
                found = found.pop(0) if len(found) > 1 else found[0]
        self.gate.wait(20)
        return found

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self.gate.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """A client that goes away is no error."""


def _head(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    handler.send_response(reply.status)
    size = len(reply.body) if reply.claimed is None else reply.claimed
    if size >= 0:
        handler.send_header("Content-Length", str(size))
    else:
        handler.send_header("Connection", "close")
        handler.close_connection = True
    for header in reply.headers:
        handler.send_header(*header)
    handler.end_headers()


def _send(
    handler: BaseHTTPRequestHandler, reply: Reply, stopped: threading.Event
) -> None:
    del stopped
    _head(handler, reply)
    handler.wfile.write(reply.body)
    if reply.claimed is not None and reply.claimed != len(reply.body):
        handler.close_connection = True


def _stall(
    handler: BaseHTTPRequestHandler, reply: Reply, stopped: threading.Event
) -> None:
    del reply
    stopped.wait(20)
    handler.close_connection = True


def _pause(
    handler: BaseHTTPRequestHandler, reply: Reply, stopped: threading.Event
) -> None:
    _head(handler, reply)
    handler.wfile.write(reply.body[: len(reply.body) // 2])
    stopped.wait(20)
    handler.close_connection = True


def _trickle(
    handler: BaseHTTPRequestHandler, reply: Reply, stopped: threading.Event
) -> None:
    _head(handler, reply)
    for at in range(len(reply.body)):
        handler.wfile.write(reply.body[at : at + 1])
        if stopped.wait(0.02):
            break
    handler.close_connection = True


def _trickle_head(
    handler: BaseHTTPRequestHandler, reply: Reply, stopped: threading.Event
) -> None:
    del reply
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    while not stopped.wait(0.02):
        handler.wfile.write(b"y")
    handler.close_connection = True


def _reset(
    handler: BaseHTTPRequestHandler, reply: Reply, stopped: threading.Event
) -> None:
    del stopped
    _head(handler, reply)
    handler.wfile.write(reply.body[: len(reply.body) // 2])
    handler.wfile.flush()
    linger = struct.pack("ii", 1, 0)  # close sends a reset
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.connection.shutdown(socket.SHUT_RD)
    handler.connection.close()
    handler.close_connection = True


def _no_head(
    handler: BaseHTTPRequestHandler, reply: Reply, stopped: threading.Event
) -> None:
    del stopped
    handler.wfile.write(reply.body)
    handler.close_connection = True


_FAULTS: dict[str, Callable[[BaseHTTPRequestHandler, Reply, threading.Event], None]] = {
    "stall": _stall,
    "pause": _pause,
    "trickle": _trickle,
    "trickle head": _trickle_head,
    "reset": _reset,
    "no head": _no_head,
}
