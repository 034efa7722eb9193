"""A server of objects on this machine: ranges, preconditions and puts as of S3."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.http_server import MISSING, Reply, Request, Server

if TYPE_CHECKING:
    from email.message import Message


class ObjectServer(Server):
    """Objects by path, `/BUCKET/KEY`.

    Attributes:
        objects: Their bytes; can be changed at any time.
        headers: Further headers of each answer.
        has_ranges: Whether it heeds the header Range.
        has_tags: Whether it sends entity tags and heeds If-Match.
        refuses: Whether nobody is allowed anything.
        failures: Statuses of the next answers, the last one first.
    """

    def __init__(self, objects: dict[str, bytes] | None = None) -> None:
        super().__init__(self._answer)
        self.objects = {} if objects is None else objects
        self.headers = {"Last-Modified": "Sat, 21 Nov 2026 10:00:00 GMT"}
        self.has_ranges = self.has_tags = True
        self.refuses = False
        self.failures: list[int] = []

    def bucket(self, path: str) -> str:
        """The S3 URL of `/PATH`."""
        return f"s3://{path}?endpoint={self.url}&region=us-east-1"

    def counted(self) -> tuple[int, int]:
        """Requests, and bytes of their answers, since the last call."""
        with self.lock:
            found, self.requests = self.requests, []
        return len(found), sum(each.reply.size for each in found)

    def _answer(self, request: Request) -> Reply:
        reply = self._plain(request)
        return reply._replace(headers=(*reply.headers, *self.headers.items()))

    def _plain(self, request: Request) -> Reply:
        if self.refuses or self.failures:
            return Reply(status=403 if self.refuses else self.failures.pop())
        parts = urlsplit(request.path)
        path, query = unquote(parts.path), parse_qs(parts.query)
        if request.method == "PUT":
            return self._put(path, request)
        if "list-type" in query:
            return Reply(self._listing(path, query.get("prefix", [""])[0]))
        if path not in self.objects:
            return MISSING
        return self._part(self.objects[path], request.headers)

    def _put(self, path: str, request: Request) -> Reply:
        with self.lock:
            if path in self.objects and request.headers["If-None-Match"] == "*":
                return Reply(status=412)
            self.objects[path] = request.body
        return Reply(headers=(("ETag", _tag(request.body)),))

    def _part(self, data: bytes, asked: Message) -> Reply:
        headers = (("ETag", _tag(data)),) if self.has_tags else ()
        if headers and asked.get("If-Match", _tag(data)) != _tag(data):
            return Reply(b"", 412, headers)
        if not (self.has_ranges and "Range" in asked):
            return Reply(data, 200, headers)
        first, last = map(int, asked["Range"].removeprefix("bytes=").split("-"))
        part = data[first : last + 1]
        if not part:
            return Reply(b"", 416, headers)
        place = f"bytes {first}-{first + len(part) - 1}/{len(data)}"
        return Reply(part, 206, (*headers, ("Content-Range", place)))

    def _listing(self, bucket: str, prefix: str) -> bytes:
        found = [
            f"<Contents><Key>{escape(path[len(bucket) + 1 :])}</Key>"
            "<LastModified>2026-11-21T10:00:00.000Z</LastModified>"
            f"<ETag>{escape(_tag(data))}</ETag><Size>{len(data)}</Size></Contents>"
            for path, data in sorted(self.objects.items())
            if path.startswith(f"{bucket}/{prefix}")
        ]
        return (
            '<?xml version="1.0"?><ListBucketResult '
            'xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<IsTruncated>false</IsTruncated>{''.join(found)}</ListBucketResult>"
        ).encode()


def _tag(data: bytes) -> str:
    return f'"{hash(data):x}"'  # which Python remembers
