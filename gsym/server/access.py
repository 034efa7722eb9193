"""Access control: host names, cross-origin requests, tokens."""

from __future__ import annotations

from hmac import compare_digest
from ipaddress import ip_address
from socket import gethostbyname

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from gsym.server.errors import endpoint_path, error_response
from gsym.server.monitoring import HEALTH_PATHS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


_BEARER = "bearer "
# Endpoints with tokens of their own.
_UPLOADS = {"/upload/", "/api/symbols-ranges", "/api/symbols-returnpads"}
_PAGE_FILES = "/page/files/"  # static files; the page itself asks for the token


def has_token(headers: Mapping[str, str], tokens: Sequence[str]) -> bool:
    """Whether headers contain one of *tokens*.

    Accepts `Authorization: Bearer TOKEN`, and `Auth-Token: TOKEN` as Mozilla's symbol
    server does.
    """
    given = headers.get("auth-token", "")
    authorization = headers.get("authorization", "")
    if authorization[: len(_BEARER)].lower() == _BEARER:
        given = authorization[len(_BEARER) :].strip()
    return is_one_of(given, tokens)


def is_one_of(token: str, tokens: Sequence[str]) -> bool:
    """Whether *token* is one of *tokens*; compares in constant time."""
    given = token.encode("utf-8", "replace")
    is_one = False
    for known in tokens:
        is_one |= compare_digest(given, known.encode())
    return is_one


class ReadTokens:
    """Answers 401 to requests without a valid token, if tokens are configured."""

    def __init__(self, app: ASGIApp, tokens: Sequence[str]) -> None:
        self._app = app
        self._tokens = tuple(tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if (
            scope["type"] != "http"
            or not self._tokens
            or scope["method"] == "OPTIONS"  # CORS preflights have no token
            or _is_open(scope["method"], endpoint_path(scope))
            or has_token(Headers(scope=scope), self._tokens)
        ):
            await self._app(scope, receive, send)
            return
        headers = {"www-authenticate": "Bearer"}
        await error_response(401, headers=headers)(scope, receive, send)


def _is_open(method: str, path: str) -> bool:
    """Whether an endpoint is public, or has tokens of its own."""
    is_page = method == "GET" and (path == "/" or path.startswith(_PAGE_FILES))
    return is_page or path in HEALTH_PATHS or path in _UPLOADS


_API = frozenset({"/symbolicate/v5", "/symbolicate/v4", "/source/v1", "/asm/v1"})
_EXPOSED = (
    "accept, accept-encoding, authorization, content-type, dnt, origin, user-agent, "
    "x-csrftoken, x-requested-with"
)
_MAX_AGE = "86400"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class HostCheck:
    """Refuses requests for other hosts on a server that listens on loopback.

    By DNS rebinding, the name of a web site may resolve to 127.0.0.1. A browser then
    treats this server as part of that site, and lets its pages read every answer.

    Args:
        app: Answers the accepted requests.
        address: The address that the server listens on.
        names: Further accepted hosts; "*" is any. If not empty, hosts are checked on
            every address.
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
                await _refusal(421, title)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class Cors:
    """Allows pages of any origin to use the symbolication API, and nothing else.

    Other cross-origin requests that could change something are refused.
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
            # Origin is no criterion: a proxy may hide the host name that browsers use.
            site = headers.get("sec-fetch-site", "none")
            if site in {"none", "same-origin"} or scope["method"] in _SAFE_METHODS:
                await self._app(scope, receive, send)
                return
            title = "pages of other origins may use the symbolication API only"
            await _refusal(403, title)(scope, receive, send)
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
    """The answer to OPTIONS for an endpoint, CORS preflight or not.

    Args:
        request: With the method OPTIONS.
        methods: Methods of the endpoint, separated by commas.
    """
    headers = {"allow": methods}
    is_preflight = "access-control-request-method" in request.headers
    if is_preflight and _is_for_all(request.scope):
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
    if host.count(":") > 1:  # IPv6 address without brackets, in settings only
        return host.lower()
    return host.partition(":")[0].rstrip(".").lower()


def _is_loopback(address: str) -> bool:
    try:  # a name is resolved as `bind` does
        found = address if ":" in address else gethostbyname(address)
        return ip_address(found).is_loopback
    except (OSError, ValueError):
        return False
