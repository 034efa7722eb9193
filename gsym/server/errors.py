"""Answers to failed requests: always JSON, whatever a client accepts."""

from __future__ import annotations

import logging
from http import HTTPStatus

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send


def endpoint_path(scope: Scope) -> str:
    """The path of a request, without the prefix of a proxy."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def header_of(scope: Scope, name: bytes, default: str = "") -> str:
    """A header of a request; *name* in lower case. Faster than `Headers`."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return default


_LOG = logging.getLogger("gsym.server")


class ServerError(HTTPException):
    """A request that ends with an error.

    Args:
        status: HTTP status code.
        title: For the client; by default code and phrase of the status.
        retry_after: Seconds until the client may try again; None: it should not.
        closes: Whether to close the connection without reading the rest of the request.
    """

    def __init__(
        self,
        status: int,
        title: str = "",
        *,
        retry_after: int | None = None,
        closes: bool = False,
    ) -> None:
        headers = {}
        if retry_after is not None:
            headers["retry-after"] = str(retry_after)
        if closes:
            headers["connection"] = "close"
        super().__init__(status, title or _phrase(status), headers)


def error_body(title: str) -> bytes:
    """A JSON object with the error as `title` and as `error`.

    Clients of Mozilla's symbolication server read the first, those that upload to its
    symbol server the second.
    """
    return msgspec.json.encode({"title": title, "error": title})


def error_response(
    status: int, title: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """A response with the body `error_body`."""
    return Response(
        error_body(title or _phrase(status)),
        status,
        headers={"vary": "Accept", **(headers or {})},
        media_type="application/json",
    )


class Errors:
    """Logs unexpected exceptions and answers them with 500."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def send_on(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        except ClientDisconnect:
            pass  # nobody waits for an answer
        except Exception:
            _LOG.exception("a request failed")
            if has_begun:
                raise
            await error_response(500)(scope, receive, send)


def _phrase(status: int) -> str:
    return f"{status} {HTTPStatus(status).phrase}"
