"""HTTP as uvicorn reads it, with bounds on what comes before the body."""

from __future__ import annotations

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["Protocol"]


class Protocol(HttpToolsProtocol):
    """Answers in JSON what it cannot read."""

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, and hang up."""
        body = msgspec.json.encode({"title": msg.rstrip(".")})
        head = [
            b"HTTP/1.1 400 Bad Request",
            b"content-type: application/json",
            b"connection: close",
            b"content-length: %d" % len(body),
        ]
        self.transport.write(b"\r\n".join(head) + b"\r\n\r\n" + body)
        self.transport.close()
