"""A web server on this machine that answers as a test says, or fails to."""

from __future__ import annotations

import enum
import gzip
import mimetypes
import os
import threading
from collections import Counter
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from benchmarks.faulty_proxy import reset

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable
    from email.message import Message
    from typing import TypeAlias

    from typing_extensions import Self

HOST = "127.0.0.1"
_PATIENCE = 120  # seconds until a stalled answer is given up
_READ_SIZE = 1 << 16


class Reply(NamedTuple):
    """An answer of the server.

    Attributes:
        body: Its bytes.
        status, headers: Of the head.
        claimed: The size of the body in the head: None for the true one, -1 for none.
        fault: What goes wrong, a key of `FAULTS`.
        file: What is sent instead of a body.
    """

    body: bytes = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    claimed: int | None = None
    fault: str = ""
    file: Path | None = None

    @classmethod
    def zipped(cls, body: bytes) -> Reply:
        return cls(gzip.compress(body), headers=(("Content-Encoding", "gzip"),))

    @classmethod
    def redirect(cls, location: str, status: int = 302) -> Reply:
        return cls(status=status, headers=(("Location", location),))

    @property
    def size(self) -> int:
        return len(self.body) if self.file is None else self.file.stat().st_size

    @property
    def is_last(self) -> bool:
        """Whether the server closes the connection after this answer."""
        return bool(self.fault) or self.claimed not in {None, self.size}

    @property
    def head(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}"]
        size = self.size if self.claimed is None else self.claimed
        lines += [f"Content-Length: {size}"] if size >= 0 else []
        lines += ["Connection: close"] if self.is_last else []
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


MISSING = Reply(status=404)


class Request(NamedTuple):
    """A request, as it came, and what was answered."""

    first_line: str
    headers: Message
    body: bytes
    client: tuple[str, int]
    reply: Reply = Reply()

    @property
    def method(self) -> str:
        return self.first_line.split(" ")[0]

    @property
    def path(self) -> str:
        return self.first_line.split(" ")[1]


class Step(enum.Enum):
    """What a server does, other than to send bytes or to wait some seconds."""

    STALL = enum.auto()
    READ_ON = enum.auto()
    RESET = enum.auto()


if TYPE_CHECKING:
    Answer: TypeAlias = Reply | Callable[[Request], Reply]
    # Those of a list are given in turn, the last one again and again.
    Answers: TypeAlias = Answer | list[Answer] | list[Reply]
    Steps: TypeAlias = Iterable[bytes | float | Step]


def slowly(data: Iterable[int], seconds: float = 0.02) -> Steps:
    """A byte now and then."""
    return chain.from_iterable((bytes([byte]), seconds) for byte in data)


# By the head and the body of an answer.
FAULTS: dict[str, Callable[[bytes, bytes], Steps]] = {
    "stall": lambda _head, _body: [Step.STALL],
    "pause": lambda head, body: [head, body[: len(body) // 2], Step.STALL],
    "trickle": lambda head, body: [head, *slowly(body)],
    "trickle head": lambda _head, _body: slowly(
        chain(b"HTTP/1.1 200 OK\r\nX: ", repeat(ord("y")))
    ),
    "drip": lambda head, body: slowly(head + body, 0.2),
    "half": lambda head, body: [head, body[: len(body) // 2]],
    "reset": lambda head, body: [head, body[: len(body) // 2], Step.RESET],
    "reset before head": lambda _head, _body: [Step.RESET],
    "no head": lambda _head, body: [body],
    "deaf": lambda _head, _body: [Step.STALL],
    "early": lambda head, body: [head, body, Step.READ_ON],
    "reset in request": lambda _head, _body: [Step.RESET],
}
# How much of the body of a request is read before these.
_SHARES = {"deaf": 0, "early": 0, "reset in request": 0.5}


class Server:
    """Answers by path.

    Args:
        answers: For paths that are not in *replies*: one after the other, the last one
            again and again; without any, 404.
        replies: By path, with its query.
        tls: Of a server for https.
        port: Where it listens.

    Attributes:
        otherwise, replies: Of the arguments; can be changed at any time.
        requests: The complete requests, in order.
        gate: Answers wait until it is set, as it is at first.
        keeps_bodies: Whether bodies of requests are kept, or else are empty.
    """

    def __init__(
        self,
        *answers: Answer,
        replies: dict[str, Answers] | None = None,
        tls: ssl.SSLContext | None = None,
        port: int = 0,
    ) -> None:
        self.otherwise: Answers = list(answers) or MISSING
        self.replies: dict[str, Answers] = {} if replies is None else replies
        self.requests: list[Request] = []
        self.keeps_bodies = True
        self.gate = threading.Event()
        self.gate.set()
        self.lock = threading.Lock()
        self._stopped = threading.Event()
        self._listener = _Listener(self, port)
        if tls is not None:
            plain = self._listener.socket
            self._listener.socket = tls.wrap_socket(plain, server_side=True)
        self._thread = threading.Thread(
            target=self._listener.serve_forever, args=(0.01,)
        )

    @property
    def port(self) -> int:
        return self._listener.server_port

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def paths(self) -> list[str]:
        """The paths that were asked for."""
        return [each.path for each in self.requests]

    @property
    def counts(self) -> Counter[str]:
        """How often each path was asked for."""
        return Counter(self.paths)

    @property
    def bodies(self) -> list[bytes]:
        return [each.body for each in self.requests]

    def headers_for(self, path: str) -> Message:
        """The headers of the last request for a path."""
        return [each.headers for each in self.requests if each.path == path][-1]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self.gate.set()
        self._listener.shutdown()
        self._thread.join()
        self._listener.server_close()

    def serve(self, handler: _Handler) -> None:
        """Answer the request that has come to a handler."""
        answer = self._answer_to(handler.path)
        size = int(handler.headers.get("Content-Length", "0"))
        fault = answer.fault if isinstance(answer, Reply) else ""
        wanted = int(size * _SHARES.get(fault, 1))
        body = self._read(handler, wanted)
        if self.keeps_bodies and len(body) < wanted:
            handler.close_connection = True
            return
        request = Request(
            handler.requestline, handler.headers, body, handler.client_address
        )
        reply = answer if isinstance(answer, Reply) else answer(request)
        with self.lock:
            self.requests.append(request._replace(reply=reply))
        self.gate.wait(_PATIENCE)
        handler.close_connection |= reply.is_last
        with suppress(OSError):
            for step in _steps(reply, handler.command):
                if not self._do(step, handler):
                    break

    def _answer_to(self, path: str) -> Answer:
        with self.lock:
            found = self.replies.get(path, self.otherwise)
            if isinstance(found, list):
                return found.pop(0) if len(found) > 1 else found[0]
            return found

    def _read(self, handler: _Handler, size: int) -> bytes:
        if self.keeps_bodies:
            return handler.rfile.read(size)
        while size:
            size -= len(handler.rfile.read(min(size, _READ_SIZE)))
        return b""

    def _do(self, step: bytes | float | Path | Step, handler: _Handler) -> bool:
        """Do a step; whether there may be another one."""
        match step:
            case bytes():
                handler.wfile.write(step)
            case Path():
                with step.open("rb") as file:
                    handler.connection.sendfile(file)
            case Step.STALL:
                self._stopped.wait(_PATIENCE)
            case Step.READ_ON:
                while handler.rfile.read(_READ_SIZE):
                    pass
            case Step.RESET:
                reset(handler.connection)
            case _:
                return not self._stopped.wait(step)
        return True


def _steps(reply: Reply, method: str) -> Iterable[bytes | float | Path | Step]:
    if reply.fault:
        return FAULTS[reply.fault](reply.head, reply.body)
    if method == "HEAD":
        return [reply.head]
    if reply.file is not None:
        return [reply.head, reply.file]
    return [reply.head + reply.body]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def do_GET(self) -> None:
        self.server.owner.serve(self)

    do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815 - called by name

    def log_message(self, *_: object) -> None:
        pass


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, owner: Server, port: int) -> None:
        self.owner = owner
        super().__init__((HOST, port), _Handler)

    def handle_error(self, *_: object) -> None:
        """Print nothing about clients that close the connection."""


def files_of(folder: Path) -> Callable[[Request], Reply]:
    """Answers with the files of a folder."""

    def answer(request: Request) -> Reply:
        name = unquote(urlsplit(request.path).path).strip("/") or "index.html"
        path = Path(os.path.normpath(folder / name))  # links lead to packages
        if not path.is_relative_to(folder) or not path.is_file():
            return MISSING
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        return Reply(headers=(("Content-Type", kind),), file=path)

    return answer
