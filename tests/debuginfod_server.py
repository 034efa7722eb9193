"""A server on this machine that answers as a test says."""

from __future__ import annotations

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self


class Answer(NamedTuple):
    """What the server sends.

    Of *body* it claims *claimed* bytes, or none; *pause* are seconds between its two
    halves.
    """

    body: bytes = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    claimed: int | None = None
    pause: float = 0

    @classmethod
    def zipped(cls, body: bytes) -> Answer:
        return cls(gzip.compress(body), headers=(("Content-Encoding", "gzip"),))


class Server:
    """Answers requests in turn, the last answer again and again.

    An answer may be made of the path and the body of a POST.

    Attributes:
        requests: (path, headers in lower case) of each.
        bodies: What came with those by POST.
    """

    def __init__(self, *answers: Answer | Callable[[str, bytes], Answer]) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.bodies: list[bytes] = []
        left = list(answers)
        requests, bodies = self.requests, self.bodies
        self._stop = stop = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                requests.append((self.path, headers))
                answer = left.pop(0) if len(left) > 1 else left[0]
                if not isinstance(answer, Answer):
                    answer = answer(self.path, bodies[-1])
                self.send_response(answer.status)
                size = len(answer.body) if answer.claimed is None else answer.claimed
                self.send_header("Content-Length", str(size))
                for header in answer.headers:
                    self.send_header(*header)
                self.end_headers()
                half = len(answer.body) // 2
                self.wfile.write(answer.body[:half])
                stop.wait(answer.pause)
                self.wfile.write(answer.body[half:])

            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length", "0"))
                bodies.append(self.rfile.read(size))
                self.do_GET()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
