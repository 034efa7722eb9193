"""A receiver of symbfiles on this machine: strict, and failing as a test says."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NamedTuple

from benchmarks.faulty_proxy import reset

if TYPE_CHECKING:
    from typing_extensions import Self

SUCCESS = b'{"success": true, "status": 200}'
_READ_SIZE = 1 << 16


class Request(NamedTuple):
    """A request, as it came."""

    first_line: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def kind(self) -> str:
        return self.first_line.split(" ")[1].rpartition("symbols-")[2]

    def header(self, name: str) -> str:
        """The value of a header that came once."""
        (value,) = (v for n, v in self.headers if n.lower() == name.lower())
        return value


class Reply(NamedTuple):
    """What is answered to a request, or how it fails.

    *fault* is "": none; "reset in body": the connection is reset in the middle of the
    body; "reset behind body": behind it, without an answer; "early": the answer comes
    before the body is read, and the connection ends; "half": in the middle of the
    answer the connection ends; "deaf": the body is not read; "stall": there is no
    answer; "garbage": it is no HTTP.
    """

    status: int = 200
    body: bytes = SUCCESS
    headers: tuple[tuple[str, str], ...] = ()
    fault: str = ""

    @classmethod
    def error(
        cls,
        status: int,
        text: str = "Something went wrong on our side.",
        fault: str = "",
        **headers: str,
    ) -> Reply:
        body = {
            "success": False,
            "uuid": "f1ada52e-d705-423f-a1b0-fc054eb8900e",
            "error": {"Code": "1000", "Text": text},
            "status": status,
        }
        named = tuple((n.replace("_", "-"), value) for n, value in headers.items())
        return cls(status, json.dumps(body).encode(), named, fault)

    def to_bytes(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} X", f"Content-Length: {len(self.body)}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines += ["Connection: close"] if self.fault == "early" else []
        return "\r\n".join([*lines, "", ""]).encode() + self.body


class Receiver:
    """Answers requests in turn, those behind the last reply with success.

    Attributes:
        url: Of the server.
        requests: Those that came whole and were answered, in order.
        broken: How many did not.
        parts: The body of each part that arrived, by FileID, kind and number.
        problems: What a client did against the protocol.
    """

    def __init__(self, *replies: Reply, keeps_bodies: bool = True) -> None:
        self.requests: list[Request] = []
        self.broken = 0
        self.parts: dict[tuple[str, str, int], bytes] = {}
        self.problems: list[str] = []
        self._replies = list(replies)
        self._keeps_bodies = keeps_bodies
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._accept)
        self._workers: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for worker in self._workers:
            worker.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            worker = threading.Thread(target=self._serve, args=(connection,))
            worker.start()
            self._workers.append(worker)

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(20)
        with connection, suppress(OSError), connection.makefile("rb") as stream:
            while self._answer(connection, stream):
                pass

    def _answer(self, connection: socket.socket, stream: IO[bytes]) -> bool:
        """Whether the connection goes on behind the next request."""
        lines = list(iter(lambda: stream.readline().decode().rstrip("\r\n"), ""))
        if not lines:
            return False
        headers = [
            (name, value.strip())
            for name, _, value in (line.partition(":") for line in lines[1:])
        ]
        request = Request(lines[0], headers, b"")
        size = self._body_size(request)
        reply = self._replies.pop(0) if self._replies else Reply()
        if reply.fault == "deaf":
            self._stopped.wait(20)
            return False
        if reply.fault in {"early", "reset in body"}:
            self.broken += 1
            if reply.fault == "early":
                connection.sendall(reply.to_bytes())
                connection.shutdown(socket.SHUT_WR)
                while stream.read(_READ_SIZE):
                    pass
            else:
                stream.read(size // 2)
                reset(connection)
            return False
        body = self._read_body(stream, size)
        if self._keeps_bodies and len(body) < size:
            self.broken += 1
            return False
        return self._finish(connection, reply, request._replace(body=body))

    def _read_body(self, stream: IO[bytes], size: int) -> bytes:
        if self._keeps_bodies:
            return stream.read(size)
        while size:
            size -= len(stream.read(min(size, _READ_SIZE)))
        return b""

    def _finish(
        self, connection: socket.socket, reply: Reply, request: Request
    ) -> bool:
        is_kept = reply.fault in {"", "half", "reset behind body", "garbage"}
        if reply.status == 200 and is_kept:
            part = int(request.header("FilePart"))
            key = (request.header("FileID"), request.kind, part)
            self.parts[key] = request.body
        if reply.fault:
            self.broken += 1
        else:
            self.requests.append(request)
        if reply.fault == "reset behind body":
            reset(connection)
        elif reply.fault == "half":
            connection.sendall(reply.to_bytes()[:-5])
        elif reply.fault == "garbage":
            connection.sendall(b"this is no HTTP\r\n\r\n")
        elif reply.fault == "stall":
            self._stopped.wait(20)
        else:
            connection.sendall(reply.to_bytes())
        return not reply.fault

    def _body_size(self, request: Request) -> int:
        """What the head announces; what is wrong with it is noted."""
        names = [name.lower() for name, _ in request.headers]
        if len(set(names)) != len(names):
            self.problems.append(f"a header comes twice: {names}")
        if "transfer-encoding" in names or "expect" in names:
            self.problems.append(f"the body is not plain: {names}")
        method, path, version = request.first_line.split(" ")
        ends = ("/api/symbols-ranges", "/api/symbols-returnpads")
        if (method, version) != ("POST", "HTTP/1.1") or not path.endswith(ends):
            self.problems.append(f"first line: {request.first_line}")
        return int(request.header("Content-Length"))
