"""Access control: host names, cross-origin requests, tokens."""

from __future__ import annotations

from ipaddress import ip_address
from socket import gethostbyname

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from gsym.server.errors import endpoint_path, error_response, header_of
from gsym.server.logs import LOGGED
from gsym.server.monitoring import HEALTH_PATHS
from gsym.server.tokens import READ

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from gsym.server.tokens import Tokens


# Endpoints that need another scope.
_UPLOADS = {
    "/upload/",
    "/api/symbols-ranges",
    "/api/symbols-returnpads",
    "/v1development/profiles",
}
_PAGE_FILES = "/page/files/"  # static files; the page itself asks for the token


class ReadAccess:
    """Answers 401 to requests without a token for reading, if there are any."""

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens
        self._is_on = tokens.is_needed_to_read()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            holder = self._tokens.holder(Headers(scope=scope))
            if holder is not None:
                scope.setdefault(LOGGED, {})["token"] = holder.name
            if (
                self._is_on
                and scope["method"] != "OPTIONS"  # CORS preflights have no token
                and not _is_open(scope["method"], endpoint_path(scope))
                and not (holder is not None and holder.may(READ))
            ):
                headers = {"www-authenticate": "Bearer"}
                await error_response(401, headers=headers)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _is_open(method: str, path: str) -> bool:
    """Whether an endpoint is public, or needs another scope."""
    is_page = method == "GET" and (path == "/" or path.startswith(_PAGE_FILES))
    return is_page or path in HEALTH_PATHS or path in _UPLOADS


_API = frozenset({"/symbolicate/v5", "/symbolicate/v4", "/source/v1", "/asm/v1"})
_EXPOSED = (
    "accept, accept-encoding, authorization, content-type, dnt, origin, user-agent, "
    "x-csrftoken, x-requested-with"
)
_MAX_AGE = "86400"
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
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
        self._names = _LOOPBACK_NAMES | {address.lower(), *map(_name_of, names)}
        is_needed = bool(names) or is_loopback(address)
        self._is_on = is_needed and "*" not in names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and self._is_on:
            host = header_of(scope, b"host", "localhost")  # optional in HTTP/1.0
            if _name_of(host) not in self._names:
                title = (
                    f"the host '{host[:256]}' is not allowed (see the setting "
                    "allowed_hosts)"
                )
                await error_response(421, title)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class Origins:
    """Origins whose pages may use the symbolication API.

    Args:
        allowed: Such as `https://profiler.firefox.com`; `localhost` is any server on
            the client's machine, `*` is any origin.
    """

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = frozenset(each.rstrip("/").lower() for each in allowed)

    def allow(self, origin: str) -> bool:
        """Whether pages of an origin may use the API."""
        if "*" in self._allowed or origin.lower() in self._allowed:
            return True
        scheme, _, host = origin.partition("://")
        is_local = scheme in {"http", "https"} and _name_of(host) in _LOOPBACK_NAMES
        return is_local and "localhost" in self._allowed


class Cors:
    """Lets pages of some origins use the symbolication API, and nothing else.

    Other cross-origin requests that could change something are refused.
    """

    def __init__(self, app: ASGIApp, origins: Origins) -> None:
        self._app = app
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        origin = header_of(scope, b"origin")
        is_api = endpoint_path(scope) in _API
        is_allowed = is_api and self._origins.allow(origin)
        # Origin is no criterion: a proxy may hide the host name that browsers use.
        site = header_of(scope, b"sec-fetch-site", "none")
        is_own = site in {"none", "same-origin"}
        if not (is_allowed or is_own or scope["method"] in _SAFE_METHODS):
            title = "pages of other origins may use the symbolication API only"
            if is_api:
                title = f"the origin '{origin[:256]}' is not allowed (see the setting "
                title += "allowed_origins)"
            await error_response(403, title)(scope, receive, send)
            return

        async def send_open(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                found.add_vary_header("Origin")
                if is_allowed:
                    found["access-control-allow-origin"] = origin
                    found["access-control-expose-headers"] = _EXPOSED
            await send(message)

        is_changed = is_api and origin
        await self._app(scope, receive, send_open if is_changed else send)


def options_response(request: Request, methods: str, origins: Origins) -> Response:
    """The answer to OPTIONS for an endpoint, CORS preflight or not.

    Args:
        request: With the method OPTIONS.
        methods: Methods of the endpoint, separated by commas.
        origins: Origins whose pages may use the API.
    """
    headers = {"allow": methods}
    is_preflight = "access-control-request-method" in request.headers
    is_allowed = origins.allow(request.headers.get("origin", ""))
    if is_preflight and is_allowed and endpoint_path(request.scope) in _API:
        wanted = request.headers.get("access-control-request-headers", "*")
        headers = {
            "access-control-allow-methods": methods,
            "access-control-allow-headers": wanted,
            "access-control-max-age": _MAX_AGE,
        }
    return Response(headers=headers)


def _name_of(host: str) -> str:
    """The name or address in a `Host` header."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    if host.count(":") > 1:  # IPv6 address without brackets, in settings only
        return host.lower()
    return host.partition(":")[0].rstrip(".").lower()


def is_loopback(address: str) -> bool:
    """Whether only this machine can connect to an address."""
    try:  # a name is resolved as `bind` does
        found = address if ":" in address else gethostbyname(address)
        return ip_address(found).is_loopback
    except (OSError, ValueError):
        return False
