"""What browsers may ask for on behalf of other sites: the symbolication API alone.

Pages of any origin may use that, the Firefox Profiler above all. All else that browsers
ask for, they ask for the page of this server.
"""

from __future__ import annotations

from ipaddress import ip_address
from socket import gethostbyname

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from gsym.server.paths import endpoint_path

__all__ = ["Cors", "HostCheck", "options_response"]

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
    """Refuses requests for other hosts, on a server that is for its machine alone.

    The name of a web site may be made to stand for 127.0.0.1. A browser then takes this
    server for a part of that site, and lets pages of it read every answer.

    Args:
        app: What answers the other requests.
        address: What the server listens on.
        names: Further hosts that it answers for; "*" is any. Where there are some, they
            count on any address.
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
            host = Headers(scope=scope).get("host", "localhost")  # of old clients
            if _name_of(host) not in self._names:
                title = (
                    f"this server does not answer for the host '{host[:256]}': the "
                    "setting allowed_hosts names those that it answers for"
                )
                await _refusal(_MISDIRECTED, title)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class Cors:
    """Lets pages of any origin read what the symbolication API answers, errors too.

    What they send elsewhere is refused, even where they could not read the answer.
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
            # Not by Origin: a proxy may have hidden what the host is for browsers.
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
    if host.count(":") > 1:  # as only settings write an address of IPv6
        return host.lower()
    return host.partition(":")[0].rstrip(".").lower()


def _is_loopback(address: str) -> bool:
    try:  # a name leads where `bind` finds it
        found = address if ":" in address else gethostbyname(address)
        return ip_address(found).is_loopback
    except (OSError, ValueError):
        return False
