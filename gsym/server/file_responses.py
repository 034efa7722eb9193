"""Files as responses: whole or a range of them, compressed as they go, or not again."""

from __future__ import annotations

import os
import re
import zlib

from starlette.responses import Response, StreamingResponse

from gsym.server.compression import allows_coding
from gsym.server.errors import ServerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from io import FileIO

    from starlette.requests import Request

    from gsym.server.service import Service

_OK, _PARTIAL, _NOT_MODIFIED, _OUT_OF_RANGE = 200, 206, 304, 416
_BLOCK = 1 << 18
_RANGE = re.compile(r"bytes=(\d{0,19})-(\d{0,19})")
_FASTEST = 1
_GZIP_STREAM = 31


class FileBody:
    """The bytes of an open file, which nothing else uses.

    Args:
        file: The file.
        is_packed: Whether it is compressed already.
    """

    def __init__(self, file: FileIO, *, is_packed: bool = False) -> None:
        self._file = file
        self.is_packed = is_packed
        self.size: int | None = os.fstat(file.fileno()).st_size

    def pieces(self, start: int, end: int | None) -> Iterator[bytes]:
        """What stands from *start* to *end*, or to the end of the file.

        Raises:
            OSError: It cannot be read.
        """
        left = (self.size or 0 if end is None else end) - start
        self._file.seek(start)
        while left > 0:
            piece = self._file.read(min(_BLOCK, left))
            if not piece:
                raise OSError("the file has become shorter")
            left -= len(piece)
            yield piece

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class TextBody:
    """Text that is made as it goes, once.

    Args:
        text: Its pieces.
        close: Called when no more of them is wanted.
    """

    size: int | None = None
    is_packed = False

    def __init__(self, text: Iterator[bytes], close: Callable[[], object]) -> None:
        self._text = text
        self._close = close

    def pieces(self, _start: int, _end: int | None) -> Iterator[bytes]:
        """All of it: there are no parts of what is not there yet."""
        return self._text

    def close(self) -> None:
        """Let go of what it is made of."""
        self._close()


def body_response(
    request: Request,
    service: Service,
    body: FileBody | TextBody,
    tag: str,
    headers: Mapping[str, str],
) -> Response:
    """A response with a body, which is closed at its end.

    Args:
        request: May ask for a part, or for the body only if it is another one.
        service: Has the threads that make it.
        body: Its bytes.
        tag: Stands for these bytes and no others.
        headers: More of them.

    Raises:
        ServerError: 416.
    """
    sent = {**headers, "vary": "Accept-Encoding", "etag": f'"{tag}"'}
    if body.size is not None:
        sent["accept-ranges"] = "bytes"
    known = {each.strip() for each in _header(request, "if-none-match").split(",")}
    if known & {f'"{tag}"', f'W/"{tag}"', f'"{tag}-gzip"', "*"}:
        body.close()
        return Response(None, _NOT_MODIFIED, headers=sent)
    span = _span(request, tag, body.size)
    if span is None:
        return _whole(request, service, body, sent)
    start, end = span
    if start >= (body.size or 0):
        body.close()
        error = ServerError(_OUT_OF_RANGE)
        error.headers = {"content-range": f"bytes */{body.size}"}
        raise error
    sent["content-range"] = f"bytes {start}-{end - 1}/{body.size}"
    sent["content-length"] = str(end - start)
    return _sent(request, service, body, body.pieces(start, end), _PARTIAL, sent)


def _whole(
    request: Request,
    service: Service,
    body: FileBody | TextBody,
    sent: dict[str, str],
) -> Response:
    pieces = body.pieces(0, None)
    accepted = _header(request, "accept-encoding")
    if not body.is_packed and allows_coding(accepted, "gzip"):
        sent["content-encoding"] = "gzip"
        sent["etag"] = f'{sent["etag"][:-1]}-gzip"'
        pieces = _compressed(pieces)
    elif body.size is not None:
        sent["content-length"] = str(body.size)
    return _sent(request, service, body, pieces, _OK, sent)


def _sent(  # noqa: PLR0913, PLR0917 - what a response is made of
    request: Request,
    service: Service,
    body: FileBody | TextBody,
    pieces: Iterator[bytes],
    status: int,
    sent: dict[str, str],
) -> Response:
    if request.method != "HEAD":
        return StreamingResponse(_beside(service, body, pieces), status, sent)
    body.close()
    response = Response(None, status)
    if "content-length" not in sent:
        del response.headers["content-length"]
    response.headers.update(sent)
    return response


def _span(request: Request, tag: str, size: int | None) -> tuple[int, int] | None:
    """Start and end of the part that is asked for; None for all."""
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


async def _beside(
    service: Service, body: FileBody | TextBody, pieces: Iterator[bytes]
) -> AsyncIterator[bytes]:
    """The pieces, made by threads beside the event loop."""
    try:
        while (piece := await service.run(next, pieces, None)) is not None:
            yield piece
    finally:
        body.close()
