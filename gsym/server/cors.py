"""Answers that pages of other origins may read, the Firefox Profiler above all."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

__all__ = ["Cors", "options_response"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_EXPOSED = (
    "accept, accept-encoding, authorization, content-type, dnt, origin, user-agent, "
    "x-csrftoken, x-requested-with"
)
_MAX_AGE = "86400"


class Cors:
    """Lets pages of any origin read what is answered, errors too."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or "origin" not in Headers(scope=scope):
            await self._app(scope, receive, send)
            return

        async def send_open(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["access-control-allow-origin"] = "*"
                headers["access-control-expose-headers"] = _EXPOSED
            await send(message)

        await self._app(scope, receive, send_open)


def options_response(request: Request, methods: str) -> Response:
    """The answer to OPTIONS for an endpoint, before a request to it or for itself.

    Args:
        request: With the method OPTIONS.
        methods: What the endpoint takes, separated by commas.
    """
    headers = {"allow": methods}
    if "access-control-request-method" in request.headers:
        wanted = request.headers.get("access-control-request-headers", "*")
        headers = {
            "access-control-allow-methods": methods,
            "access-control-allow-headers": wanted,
            "access-control-max-age": _MAX_AGE,
        }
    return Response(headers=headers)
