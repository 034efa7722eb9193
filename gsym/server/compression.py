"""Compresses answers with zstd or gzip, as the client accepts.

Only complete text bodies that are not small are compressed; streamed files are sent
unchanged.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders

from gsym.server.errors import header_of

try:  # part of Python since 3.14
    from compression import zstd
except ImportError:
    from backports import zstd

__all__ = ["Compression", "allows_coding", "choose_coding", "zstd"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    Coder = Callable[[bytes], bytes]

_TEXT = ("application/json", "text/", "application/javascript", "image/svg+xml")
_LEAST = 1024  # bytes; compressing less does not pay
_SMALL = 1 << 16  # bytes that are compressed faster than passed to a thread
_FASTEST = 1
_GZIP_STREAM = 31


class Compression:
    """Compresses answers.

    Args:
        app: The application.
        run: Runs a function in a thread.
    """

    def __init__(
        self,
        app: ASGIApp,
        run: Callable[[Coder, bytes], Awaitable[bytes]],
    ) -> None:
        self._app = app
        self._run = run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        accepted = header_of(scope, b"accept-encoding") if _is_http(scope) else ""
        coding = choose_coding(accepted)
        if coding is None:
            await self._app(scope, receive, send)
            return
        start: Message | None = None

        async def send_compressed(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            if start is not None:
                begun, start = start, None
                if self._is_worth_it(begun, message):
                    message = await self._compress(begun, message, coding)
                await send(begun)
            await send(message)

        await self._app(scope, receive, send_compressed)

    def _is_worth_it(self, start: Message, body: Message) -> bool:
        headers = Headers(raw=start["headers"])
        return (
            body["type"] == "http.response.body"
            and not body.get("more_body", False)
            and len(body.get("body", b"")) >= _LEAST
            and "content-encoding" not in headers
            and headers.get("content-type", "").startswith(_TEXT)
        )

    async def _compress(self, start: Message, message: Message, coding: str) -> Message:
        body = message["body"]
        coder = _CODERS[coding]
        packed = coder(body) if len(body) < _SMALL else await self._run(coder, body)
        headers = MutableHeaders(scope=start)
        headers["content-encoding"] = coding
        headers["content-length"] = str(len(packed))
        headers.add_vary_header("Accept-Encoding")
        return {**message, "body": packed}


def _is_http(scope: Scope) -> bool:
    return bool(scope["type"] == "http")


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
    return bytes(zstd.compress(body, _FASTEST))


def _gzip(body: bytes) -> bytes:
    try:
        from isal.isal_zlib import compressobj
    except ImportError:
        from zlib import compressobj  # type: ignore[assignment]
    coder = compressobj(_FASTEST, wbits=_GZIP_STREAM)
    return bytes(coder.compress(body) + coder.flush())


_CODERS: dict[str, Coder] = {"zstd": _zstd, "gzip": _gzip}
