"""A server of objects on this machine: ranges, preconditions and puts, as S3 has them.

It counts requests and the bytes that it sends, and keeps what it was asked.
"""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from email.message import Message

    from typing_extensions import Self


class Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    status: int
    sent: int


class ObjectServer:
    """Objects by path, `/BUCKET/KEY`.

    Attributes:
        objects: Their bytes; can be changed at any time.
        requests: Those that were answered.
        headers: Further headers of each answer.
        has_ranges: Whether it heeds the header Range.
        has_tags: Whether it sends entity tags and heeds If-Match.
        refuses: Whether nobody is allowed anything.
        failures: Statuses of the next answers, the last one first.
    """

    def __init__(self, objects: dict[str, bytes] | None = None) -> None:
        self.objects = {} if objects is None else objects
        self.requests: list[Request] = []
        self.headers: dict[str, str] = {}
        self.has_ranges = self.has_tags = True
        self.refuses = False
        self.failures: list[int] = []
        self.lock = threading.Lock()
        self._server = _Listener(("127.0.0.1", 0), _handler_of(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def bucket(self, path: str) -> str:
        """The S3 URL of `/PATH`."""
        return f"s3://{path}?endpoint={self.url}&region=us-east-1"

    def counted(self) -> tuple[int, int]:
        """Requests, and bytes of their answers, since the last call."""
        with self.lock:
            found, self.requests = self.requests, []
        return len(found), sum(each.sent for each in found)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """A client that goes away is no error."""


def _handler_of(server: ObjectServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.answer(*_answer(server, self.path, self.headers))

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_PUT(self) -> None:
            path = unquote(urlsplit(self.path).path)
            data = self.rfile.read(int(self.headers["Content-Length"]))
            with server.lock:
                is_new = path not in server.objects
                if is_new or self.headers.get("If-None-Match") != "*":
                    server.objects[path] = data
                    is_new = True
            status = 403 if server.refuses else 200 if is_new else 412
            self.answer(status, b"", {"ETag": _tag(data)})

        def answer(
            self, status: int, body: bytes, headers: dict[str, str] | None = None
        ) -> None:
            fields = {key.lower(): value for key, value in self.headers.items()}
            request = Request(self.command, self.path, fields, status, len(body))
            with server.lock:
                server.requests.append(request)
            self.send_response(status)
            stamp = "Sat, 21 Nov 2026 10:00:00 GMT"
            common = {"Content-Length": str(len(body)), "Last-Modified": stamp}
            for each in (common, headers or {}, server.headers):
                for key, value in each.items():
                    self.send_header(key, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def _answer(
    server: ObjectServer, target: str, asked: Message
) -> tuple[int, bytes, dict[str, str]]:
    """Status, body and headers."""
    if server.refuses or server.failures:
        return 403 if server.refuses else server.failures.pop(), b"", {}
    parts = urlsplit(target)
    path, query = unquote(parts.path), parse_qs(parts.query)
    if "list-type" in query:
        return 200, _listing(server, path, query.get("prefix", [""])[0]), {}
    if path not in server.objects:
        return 404, b"", {}
    return _part(server, server.objects[path], asked)


def _part(
    server: ObjectServer, data: bytes, asked: Message
) -> tuple[int, bytes, dict[str, str]]:
    headers = {"ETag": _tag(data)} if server.has_tags else {}
    if headers and asked.get("If-Match", headers["ETag"]) != headers["ETag"]:
        return 412, b"", headers
    if not (server.has_ranges and "Range" in asked):
        return 200, data, headers
    first, last = map(int, asked["Range"].removeprefix("bytes=").split("-"))
    part = data[first : last + 1]
    if not part:
        return 416, b"", headers
    end = first + len(part) - 1
    headers["Content-Range"] = f"bytes {first}-{end}/{len(data)}"
    return 206, part, headers


def _tag(data: bytes) -> str:
    return f'"{hash(data):x}"'  # which Python remembers


def _listing(server: ObjectServer, bucket: str, prefix: str) -> bytes:
    found = [
        f"<Contents><Key>{escape(path[len(bucket) + 1 :])}</Key>"
        "<LastModified>2026-11-21T10:00:00.000Z</LastModified>"
        f"<ETag>{escape(_tag(data))}</ETag><Size>{len(data)}</Size></Contents>"
        for path, data in sorted(server.objects.items())
        if path.startswith(f"{bucket}/{prefix}")
    ]
    return (
        '<?xml version="1.0"?><ListBucketResult '
        'xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<IsTruncated>false</IsTruncated>{''.join(found)}</ListBucketResult>"
    ).encode()
