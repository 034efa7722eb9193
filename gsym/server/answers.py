"""Answers as they are sent: compressed if clients accept that, large ones in pieces.

Complete bodies are compressed if they are text and not small; files as they are sent.
"""

from __future__ import annotations

import logging
import os
import re
import zlib
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
)
from contextlib import AsyncExitStack
from io import FileIO
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gsym.containers.inflation import import_zstd
from gsym.server.bodies import LARGE
from gsym.server.errors import HttpError, error_response, header_of
from gsym.server.service import Service

Coder = Callable[[bytes], bytes]
_LOG = logging.getLogger("gsym.server")
_TEXT = ("application/json", "text/", "application/javascript", "image/svg+xml")
_LEAST = 1024  # bytes; compressing less does not pay
_SMALL = 1 << 16  # bytes that are compressed faster than passed to a thread
_FASTEST = 1
_GZIP_STREAM = 31
_BLOCK = 1 << 18
_TAG = re.compile(r'(?:W/)?"[^"]*"|[*]')
_RANGE = re.compile(r"bytes=(\d{0,19})-(\d{0,19})")


class Answers:
    """Sends the answers of *app*; an unexpected error is logged and answered 500."""

    def __init__(
        self,
        app: ASGIApp,
        run: Callable[[Coder, bytes], Awaitable[bytes]],
    ) -> None:
        self._app = app
        self._run = run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        coding = choose_coding(header_of(scope, b"accept-encoding"))
        start: Message | None = None
        has_begun = False

        async def send_answer(message: Message) -> None:
            nonlocal start, has_begun
            has_begun = True
            if message["type"] == "http.response.start" and coding is not None:
                start = message
                return
            if start is not None:
                begun, start = start, None
                if coding and _is_worth_it(begun, message):
                    message = await self._compress(begun, message, coding)
                await send(begun)
            if len(message.get("body", b"")) <= LARGE:
                await send(message)
            else:
                await _send_pieces(message, send)

        try:
            await self._app(scope, receive, send_answer)
        except ClientDisconnect:
            pass  # nobody waits for an answer
        except Exception:
            _LOG.exception("a request failed")
            if has_begun:
                raise
            await error_response(500)(scope, receive, send_answer)

    async def _compress(self, start: Message, message: Message, coding: str) -> Message:
        body = message["body"]
        coder = _CODERS[coding]
        packed = coder(body) if len(body) < _SMALL else await self._run(coder, body)
        headers = MutableHeaders(scope=start)
        headers["content-encoding"] = coding
        headers["content-length"] = str(len(packed))
        headers.add_vary_header("Accept-Encoding")
        return {**message, "body": packed}


def _is_worth_it(start: Message, body: Message) -> bool:
    headers = Headers(raw=start["headers"])
    return (
        body["type"] == "http.response.body"
        and not body.get("more_body", False)
        and len(body.get("body", b"")) >= _LEAST
        and "content-encoding" not in headers
        and headers.get("content-type", "").startswith(_TEXT)
    )


async def _send_pieces(message: Message, send: Send) -> None:
    whole, has_more = memoryview(message["body"]), message.get("more_body", False)
    for first in range(0, len(whole), LARGE):
        end = first + LARGE
        is_last = end >= len(whole) and not has_more
        piece = {"body": whole[first:end], "more_body": not is_last}
        await send({**message, **piece})


def choose_coding(accepted: str) -> str | None:
    """Our preferred coding that `Accept-Encoding` allows; None: identity."""
    return next((each for each in _CODERS if allows_coding(accepted, each)), None)


def allows_coding(accepted: str, coding: str) -> bool:
    """Whether `Accept-Encoding` allows a coding."""
    allowed = {}
    for part in accepted.lower().split(","):
        name, _, parameters = part.partition(";")
        quality = parameters.replace(" ", "").partition("q=")[2]
        allowed[name.strip()] = quality.strip("0.") != "" or not quality
    return allowed.get(coding, allowed.get("*", False))


def _gzip(body: bytes) -> bytes:
    try:
        from isal.isal_zlib import compressobj
    except ImportError:
        from zlib import compressobj  # type: ignore[assignment]
    coder = compressobj(_FASTEST, wbits=_GZIP_STREAM)
    return bytes(coder.compress(body) + coder.flush())


_CODERS: dict[str, Coder] = {
    "zstd": lambda body: bytes(import_zstd().compress(body, _FASTEST)),
    "gzip": _gzip,
}


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
        HttpError: 412 or 416.
    """
    sent = {**headers, "vary": "Accept-Encoding", "etag": f'"{tag}"'}
    if body.size is not None:
        sent["accept-ranges"] = "bytes"
    try:
        is_there = is_known(request, tag)
    except HttpError:
        body.close()
        raise
    if is_there:
        body.close()
        if _is_compressed(request, body):
            sent["etag"] = f'"{tag}-gzip"'
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
    """Whether the client has the body with this entity tag (RFC 9110, 13.1).

    Raises:
        HttpError: 412: it asks for a body with another tag (`If-Match`).
    """
    ours = {f'"{tag}"', f'"{tag}-gzip"', "*"}
    wanted = _TAG.findall(request.headers.get("if-match", ""))
    known = _TAG.findall(request.headers.get("if-none-match", ""))
    if wanted and ours.isdisjoint(wanted):  # a weak tag matches none
        raise HttpError(412)
    return not ours.isdisjoint(each.removeprefix("W/") for each in known)


def _whole(
    request: Request, body: FileBody | TextBody, sent: dict[str, str]
) -> Iterator[bytes]:
    """The pieces of a complete body, compressed if the client accepts that."""
    pieces = body.pieces(0, None)
    if _is_compressed(request, body):
        sent["content-encoding"] = "gzip"
        sent["etag"] = f'{sent["etag"][:-1]}-gzip"'
        return _compressed(pieces)
    if body.size is not None:
        sent["content-length"] = str(body.size)
    return pieces


def _is_compressed(request: Request, body: FileBody | TextBody) -> bool:
    """Whether a complete body is sent compressed."""
    accepted = request.headers.get("accept-encoding", "")
    return not body.is_packed and allows_coding(accepted, "gzip")


def _span(request: Request, tag: str, size: int | None) -> tuple[int, int] | None:
    """Start and end of the requested range; None for the complete body."""
    found = _RANGE.fullmatch(request.headers.get("range", "").replace(" ", ""))
    condition = request.headers.get("if-range", "")
    if size is None or found is None or condition not in {"", f'"{tag}"'}:
        return None
    first, last = found.groups()
    if not first:
        return (max(0, size - int(last)), size) if last else None
    start, end = int(first), min(size, int(last) + 1) if last else size
    return None if last and int(last) < start else (start, end)


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
