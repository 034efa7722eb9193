"""Admission of requests by host, origin, number, rate and token."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from ipaddress import IPv6Address, IPv6Network, ip_address
from math import ceil
from socket import gethostbyname

from prometheus_client import Gauge
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gsym.cache import BoundedCache
from gsym.server.errors import HttpError, endpoint_path, error_response, header_of
from gsym.server.logs import LOGGED
from gsym.server.monitoring import HEALTH_PATHS, PROBES
from gsym.server.tokens import READ

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.server.service import Service


_API = frozenset({"/symbolicate/v5", "/symbolicate/v4", "/source/v1", "/asm/v1"})
_BUILD_IDS = "/buildid/"  # debuginfod, which pages of these origins may read as well
# Endpoints that need another scope than that for reading.
_UPLOADS = frozenset(
    {
        "/upload",  # the answer names the right path
        "/upload/",
        "/upload/auth_info/",
        "/api/symbols-ranges",
        "/api/symbols-returnpads",
        "/v1development/profiles",
    }
)
_PAGE_FILES = "/page/files/"  # static files; the page itself asks for the token
_EXPOSED = (
    "accept, accept-encoding, authorization, content-type, dnt, origin, user-agent, "
    "x-csrftoken, x-requested-with"
)
_MAX_AGE = "86400"
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_LINK_METHODS = frozenset({"GET", "HEAD"})
_WITH_BODY = frozenset({"POST", "PUT"})  # others are answered without reading it
_MAX_CLIENTS = 10_000
_CLIENT_BITS = 64  # prefix length of an IPv6 network that belongs to one client


class Admission:
    """Refuses requests that are not admitted, and answers the others by *app*."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        settings, limits = service.settings, service.settings.limits
        self._app = app
        self._hosts = Hosts(settings.host, settings.allowed_hosts)
        self._origins = service.origins
        self._in_flight = InFlight(
            limits.max_in_flight,
            limits.max_of_client,
            service.metrics["gsym_requests_in_flight"],
        )
        self._rate = RequestRate(settings.rate_limit, limits.rate_burst)
        self._tokens = service.tokens
        self._needs_token = service.tokens.is_needed_to_read()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer, place = self._app, None
        path = endpoint_path(scope)
        try:
            try:
                self._hosts.check(scope)
                send = self._origins.checked(scope, path, send)
                if path not in PROBES:
                    address = scope.get("client")
                    client = client_of(address[0]) if address else ""
                    place = self._in_flight.enter(client, scope["method"], receive)
                    receive = place.receive
                    self._rate.check(client)
                self._check_token(scope, path)
            except HttpError as error:
                refused = error.status_code, error.detail, error.headers
                answer = error_response(*refused)
            await answer(scope, receive, send)
        finally:
            if place is not None:
                place.leave()

    def _check_token(self, scope: Scope, path: str) -> None:
        """Refuse a request without a token for reading, if there are any."""
        holder = self._tokens.holder(Headers(scope=scope))
        if holder is not None:
            scope.setdefault(LOGGED, {})["token"] = holder.name
        method = scope["method"]
        if (
            not self._needs_token
            or method == "OPTIONS"  # CORS preflights have no token
            or path in HEALTH_PATHS
            or path in _UPLOADS
            or (method == "GET" and (path == "/" or path.startswith(_PAGE_FILES)))
            or (holder is not None and holder.may(READ))
        ):
            return
        raise HttpError(401, headers={"www-authenticate": "Bearer"})


class Hosts:
    """Refuses requests for other hosts to a server that listens on loopback.

    By DNS rebinding, the name of a web site may resolve to 127.0.0.1. A browser then
    treats this server as part of that site, and lets its pages read every answer.

    Args:
        address: The address that the server listens on.
        names: Further accepted hosts; "*" is any. If not empty, hosts are checked on
            every address.
    """

    def __init__(self, address: str, names: Sequence[str]) -> None:
        self._names = _LOOPBACK_NAMES | {address.lower(), *map(_name_of, names)}
        self._is_on = (bool(names) or is_loopback(address)) and "*" not in names

    def check(self, scope: Scope) -> None:
        """Raise `HttpError` for another host, or if it is not one (RFC 9112, 3.2)."""
        hosts = [
            str(text, "latin-1") for key, text in scope["headers"] if key == b"host"
        ]
        if len(hosts) > 1 or (not hosts and scope.get("http_version") == "1.1"):
            raise HttpError(400, "a request needs one Host header")
        if self._is_on:
            host = hosts[0] if hosts else "localhost"
            if _name_of(host) not in self._names:
                title = f"the host '{host[:256]}' is not allowed "
                raise HttpError(421, title + "(see the setting allowed_hosts)")


class Origins:
    """Origins whose pages may use the symbolication API and debuginfod, and no more.

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

    def checked(self, scope: Scope, path: str, send: Send) -> Send:
        """Refuse a request that a page of another origin makes, but for links to it.

        Returns:
            A function to send the answer with the headers for the origin, or *send*.

        Raises:
            HttpError: The request is refused.
        """
        origin = header_of(scope, b"origin")
        method = scope["method"]
        is_api = path in _API or path.startswith(_BUILD_IDS)
        is_allowed = is_api and self.allow(origin)
        # Origin is no criterion: a proxy may hide the host name that browsers use.
        is_own = header_of(scope, b"sec-fetch-site", "none") in {"none", "same-origin"}
        is_link = header_of(scope, b"sec-fetch-mode") == "navigate"
        is_safe = method == "OPTIONS" or (is_link and method in _LINK_METHODS)
        if not (is_allowed or is_own or is_safe):
            title = "pages of other origins may use the symbolication API only"
            if is_api:
                title = f"the origin '{origin[:256]}' is not allowed "
                title += "(see the setting allowed_origins)"
            raise HttpError(403, title)
        if not (is_api and origin):
            return send

        async def send_open(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                found.add_vary_header("Origin")
                if is_allowed:
                    found["access-control-allow-origin"] = origin
                    found["access-control-expose-headers"] = _EXPOSED
            await send(message)

        return send_open


def options_response(request: Request, methods: str, origins: Origins) -> Response:
    """The answer to OPTIONS for an endpoint, CORS preflight or not."""
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


class InFlight:
    """Counts the requests in progress, and refuses further ones.

    A POST or PUT request counts for all when its body has arrived, so that clients that
    send slowly do not keep others out; and for its client from the beginning.

    Args:
        most: Maximum number of requests; above it the answer is 503.
        most_of_client: The same for one client; above it the answer is 429.
        gauge: Shows the current number.
    """

    def __init__(self, most: int, most_of_client: int, gauge: Gauge) -> None:
        self._most = most
        self._most_of_client = most_of_client
        self._gauge = gauge
        self._count = 0
        self.of_client: Counter[str] = Counter()

    def enter(self, client: str, method: str, receive: Receive) -> Place:
        """The place of a new request.

        Raises:
            HttpError: There are too many requests.
        """
        if self.of_client[client] >= self._most_of_client:
            raise HttpError(429, retry_after=1)
        place = Place(self, client, receive)
        if method not in _WITH_BODY:
            place.count()
        self.of_client[client] += 1
        return place

    def add(self, step: int) -> None:
        """Count one more, or one less.

        Raises:
            HttpError: There are too many requests.
        """
        if step > 0 and self._count >= self._most:
            raise HttpError(503, retry_after=1)
        self._count += step
        self._gauge.inc(step)


class Place:
    """A request that is counted: of a client, and when its body is there for all."""

    __slots__ = ("_client", "_in_flight", "_is_counted", "_receive")

    def __init__(self, in_flight: InFlight, client: str, receive: Receive) -> None:
        self._in_flight = in_flight
        self._receive = receive
        self._client = client
        self._is_counted = False

    def count(self) -> None:
        """Count it for all; raise `HttpError` if there are too many requests."""
        self._in_flight.add(1)
        self._is_counted = True

    async def receive(self) -> Message:
        """Receive a part of the body.

        Raises:
            HttpError: It is the last one, and there are too many requests.
        """
        message = await self._receive()
        is_body = message["type"] == "http.request"
        if is_body and not message.get("more_body") and not self._is_counted:
            self.count()
        return message

    def leave(self) -> None:
        """End the request."""
        of_client = self._in_flight.of_client
        of_client[self._client] -= 1
        if not of_client[self._client]:
            del of_client[self._client]
        if self._is_counted:
            self._in_flight.add(-1)


class RequestRate:
    """Refuses a client that sends too many requests.

    Each client has a token bucket of *burst* requests, refilled at *rate* per second.
    When there are too many clients, all are forgotten.

    Args:
        rate: Requests per second; 0: no limit.
        burst: Requests at once.
        clock: Returns seconds.
    """

    def __init__(
        self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        # (requests left, time of that)
        self._clients: BoundedCache[str, tuple[float, float]]
        self._clients = BoundedCache(_MAX_CLIENTS)

    def check(self, client: str) -> None:
        """Count a request; raise `HttpError` if it is not allowed."""
        if self._rate and (wait := self.take(client)) > 0:
            raise HttpError(429, retry_after=ceil(wait))

    def take(self, client: str) -> float:
        """Count a request; return 0, or the seconds until it is allowed."""
        now = self._clock()
        left, then = self._clients.get(client, (float(self._burst), now))
        left = min(float(self._burst), left + (now - then) * self._rate)
        is_allowed = left >= 1
        self._clients.keep(client, (left - 1 if is_allowed else left, now))
        return 0 if is_allowed else (1 - left) / self._rate


def client_of(address: str) -> str:
    """The client at an address: an IPv4 address, also if mapped, or an IPv6 /64."""
    if ":" not in address:
        return address
    try:
        parsed = IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((parsed, _CLIENT_BITS), strict=False))
