"""Sending of answers: errors as JSON, compressed as the client accepts, in pieces.

Only complete text bodies that are not small are compressed; streamed files are sent
unchanged. A large body is sent in pieces, each when the previous one was accepted.
"""

from __future__ import annotations

import logging

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect

from gsym.containers.inflation import import_zstd
from gsym.server.bodies import LARGE
from gsym.server.errors import error_response, header_of

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    Coder = Callable[[bytes], bytes]

_LOG = logging.getLogger("gsym.server")
_TEXT = ("application/json", "text/", "application/javascript", "image/svg+xml")
_LEAST = 1024  # bytes; compressing less does not pay
_SMALL = 1 << 16  # bytes that are compressed faster than passed to a thread
_FASTEST = 1
_GZIP_STREAM = 31


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


def _zstd(body: bytes) -> bytes:
    return bytes(import_zstd().compress(body, _FASTEST))


def _gzip(body: bytes) -> bytes:
    try:
        from isal.isal_zlib import compressobj
    except ImportError:
        from zlib import compressobj  # type: ignore[assignment]
    coder = compressobj(_FASTEST, wbits=_GZIP_STREAM)
    return bytes(coder.compress(body) + coder.flush())


_CODERS: dict[str, Coder] = {"zstd": _zstd, "gzip": _gzip}
