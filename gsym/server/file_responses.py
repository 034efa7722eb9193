"""Responses with files: ranges, compression on the fly, entity tags."""

from __future__ import annotations

import os
import re
import zlib
from contextlib import AsyncExitStack

from starlette.responses import Response, StreamingResponse

from gsym.server.answers import allows_coding
from gsym.server.errors import HttpError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterator,
        Callable,
        Iterator,
        Mapping,
    )
    from io import FileIO
    from typing import Any

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from gsym.server.service import Service

_BLOCK = 1 << 18
_RANGE = re.compile(r"bytes=(\d{0,19})-(\d{0,19})")
_FASTEST = 1
_GZIP_STREAM = 31


class FileBody:
    """The bytes of an open file, which it owns, or of a part of it."""

    def __init__(
        self,
        file: FileIO,
        part: tuple[int, int] | None = None,
        *,
        is_packed: bool = False,
    ) -> None:
        self._file = file
        self.is_packed = is_packed
        self._first, end = part or (0, os.fstat(file.fileno()).st_size)
        self.size: int | None = end - self._first

    def pieces(self, start: int, end: int | None) -> Iterator[bytes]:
        """The bytes from *start* to *end*, or to the end of the body."""
        left = (self.size or 0 if end is None else end) - start
        self._file.seek(self._first + start)
        while left > 0:
            piece = self._file.read(min(_BLOCK, left))
            if not piece:
                raise OSError("the file was truncated while it was sent")
            left -= len(piece)
            yield piece

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class TextBody:
    """Text that is generated while it is sent."""

    size: int | None = None
    is_packed = False

    def __init__(self, text: Iterator[bytes], close: Callable[[], object]) -> None:
        self._text = text
        self._close = close

    def pieces(self, _start: int, _end: int | None) -> Iterator[bytes]:
        """All pieces; generated text has no ranges."""
        return self._text

    def close(self) -> None:
        """Release the input of the text."""
        self._text = iter(())
        self._close()


class HoldingResponse(StreamingResponse):
    """A streamed response that holds files, memory or a place in a queue.

    They are released when it was sent, and at once when the client is gone.
    """

    def __init__(
        self, pieces: AsyncIterator[bytes], held: AsyncExitStack, **options: Any
    ) -> None:
        super().__init__(pieces, **options)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        async with self._held:
            await super().__call__(scope, receive, send)


def body_response(
    request: Request,
    service: Service,
    body: FileBody | TextBody,
    tag: str,
    headers: Mapping[str, str],
) -> Response:
    """A response with *body*, which is closed at its end.

    Raises:
        HttpError: 416.
    """
    sent = {**headers, "vary": "Accept-Encoding", "etag": f'"{tag}"'}
    if body.size is not None:
        sent["accept-ranges"] = "bytes"
    if is_known(request, tag):
        body.close()
        return Response(None, 304, headers=sent)
    span = _span(request, tag, body.size)
    if span is None:
        status, pieces = 200, _whole(request, body, sent)
    else:
        start, end = span
        if start >= (body.size or 0):
            body.close()
            raise HttpError(416, headers={"content-range": f"bytes */{body.size}"})
        status, pieces = 206, body.pieces(start, end)
        sent["content-range"] = f"bytes {start}-{end - 1}/{body.size}"
        sent["content-length"] = str(end - start)
    if request.method != "HEAD":
        held = AsyncExitStack()
        held.callback(body.close)
        streamed = _in_threads(service, pieces)
        held.push_async_callback(streamed.aclose)
        return HoldingResponse(streamed, held, status_code=status, headers=sent)
    body.close()
    response = Response(None, status)
    if "content-length" not in sent:
        del response.headers["content-length"]
    response.headers.update(sent)
    return response


def is_known(request: Request, tag: str) -> bool:
    """Whether the client has the body with this entity tag (RFC 9110, 13.1.2)."""
    known = {each.strip() for each in _header(request, "if-none-match").split(",")}
    return bool(known & {f'"{tag}"', f'W/"{tag}"', f'"{tag}-gzip"', "*"})


def _whole(
    request: Request, body: FileBody | TextBody, sent: dict[str, str]
) -> Iterator[bytes]:
    """The pieces of a complete body, compressed if the client accepts that."""
    pieces = body.pieces(0, None)
    accepted = _header(request, "accept-encoding")
    if not body.is_packed and allows_coding(accepted, "gzip"):
        sent["content-encoding"] = "gzip"
        sent["etag"] = f'{sent["etag"][:-1]}-gzip"'
        return _compressed(pieces)
    if body.size is not None:
        sent["content-length"] = str(body.size)
    return pieces


def _span(request: Request, tag: str, size: int | None) -> tuple[int, int] | None:
    """Start and end of the requested range; None for the complete body."""
    found = _RANGE.fullmatch(_header(request, "range").replace(" ", ""))
    condition = _header(request, "if-range")
    if size is None or found is None or condition not in {"", f'"{tag}"'}:
        return None
    first, last = found.groups()
    if not first:
        return (max(0, size - int(last)), size) if last else None
    start, end = int(first), min(size, int(last) + 1) if last else size
    return None if last and int(last) < start else (start, end)


def _header(request: Request, name: str) -> str:
    return request.headers.get(name, "")


def _compressed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    coder = zlib.compressobj(_FASTEST, zlib.DEFLATED, _GZIP_STREAM)
    for piece in pieces:
        if packed := coder.compress(piece):
            yield packed
    yield coder.flush()


async def _in_threads(
    service: Service, pieces: Iterator[bytes]
) -> AsyncGenerator[bytes, None]:
    """The pieces, read in threads outside the event loop."""
    with service.files.guarded():
        while (piece := await service.run(next, pieces, None)) is not None:
            yield piece
