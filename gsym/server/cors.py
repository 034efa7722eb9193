"""Requests that browsers may send for other sites: only the symbolication API.

Pages of any origin may use it, such as the Firefox Profiler. Other requests of browsers
are meant for the page of this server.
"""

from __future__ import annotations

from ipaddress import ip_address
from socket import gethostbyname

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from gsym.server.paths import endpoint_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_API = frozenset({"/symbolicate/v5", "/symbolicate/v4", "/source/v1", "/asm/v1"})
_EXPOSED = (
    "accept, accept-encoding, authorization, content-type, dnt, origin, user-agent, "
    "x-csrftoken, x-requested-with"
)
_MAX_AGE = "86400"
_CHANGES_NOTHING = frozenset({"GET", "HEAD", "OPTIONS"})
_FORBIDDEN = 403
_MISDIRECTED = 421


class HostCheck:
    """Refuses requests for other hosts on a server that listens on loopback.

    By DNS rebinding, the name of a web site may resolve to 127.0.0.1. A browser then
    treats this server as part of that site, and lets its pages read every answer.

    Args:
        app: Answers the accepted requests.
        address: The address that the server listens on.
        names: Further accepted hosts; "*" is any. If there are some, hosts are checked
            on every address.
    """

    def __init__(self, app: ASGIApp, address: str, names: Sequence[str]) -> None:
        self._app = app
        own = {"localhost", "127.0.0.1", "::1", address.lower()}
        self._names = frozenset({*own, *map(_name_of, names)})
        is_needed = bool(names) or _is_loopback(address)
        self._is_on = is_needed and "*" not in names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and self._is_on:
            host = Headers(scope=scope).get("host", "localhost")  # optional in HTTP/1.0
            if _name_of(host) not in self._names:
                title = (
                    f"the host '{host[:256]}' is not allowed (see the setting "
                    "allowed_hosts)"
                )
                await _refusal(_MISDIRECTED, title)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class Cors:
    """Lets pages of any origin read answers of the symbolication API, errors too.

    Their other requests are refused, even if they could not read the answer.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not _is_for_all(scope):
            # Not by Origin: a proxy may hide the host name that browsers use.
            site = headers.get("sec-fetch-site", "none")
            if site in {"none", "same-origin"} or scope["method"] in _CHANGES_NOTHING:
                await self._app(scope, receive, send)
                return
            title = "pages of other origins may use the symbolication API only"
            await _refusal(_FORBIDDEN, title)(scope, receive, send)
            return

        async def send_open(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                found["access-control-allow-origin"] = "*"
                found["access-control-expose-headers"] = _EXPOSED
            await send(message)

        has_origin = "origin" in headers
        await self._app(scope, receive, send_open if has_origin else send)


def options_response(request: Request, methods: str) -> Response:
    """The answer to OPTIONS for an endpoint, before a request to it or for itself.

    Args:
        request: With the method OPTIONS.
        methods: What the endpoint takes, separated by commas.
    """
    headers = {"allow": methods}
    is_asking = "access-control-request-method" in request.headers
    if is_asking and _is_for_all(request.scope):
        wanted = request.headers.get("access-control-request-headers", "*")
        headers = {
            "access-control-allow-methods": methods,
            "access-control-allow-headers": wanted,
            "access-control-max-age": _MAX_AGE,
        }
    return Response(headers=headers)


def _is_for_all(scope: Scope) -> bool:
    """Whether pages of any origin may use an endpoint."""
    return endpoint_path(scope) in _API


def _refusal(status: int, title: str) -> Response:
    body = msgspec.json.encode({"title": title})
    return Response(body, status, media_type="application/json")


def _name_of(host: str) -> str:
    """The name or address in a `Host` header."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    if host.count(":") > 1:  # an IPv6 address without brackets, in settings only
        return host.lower()
    return host.partition(":")[0].rstrip(".").lower()


def _is_loopback(address: str) -> bool:
    try:  # a name is resolved as by `bind`
        found = address if ":" in address else gethostbyname(address)
        return ip_address(found).is_loopback
    except (OSError, ValueError):
        return False
