"""How much clients may ask for at a time."""

from __future__ import annotations

import time
from collections import OrderedDict
from ipaddress import IPv6Address, IPv6Network
from math import ceil

from gsym.server.errors import error_response
from gsym.server.health import HEALTH_PATHS
from gsym.server.paths import endpoint_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client import Gauge
    from starlette.types import ASGIApp, Receive, Scope, Send

_TOO_MANY = 429
_UNAVAILABLE = 503
_SECOND = {"retry-after": "1"}
_MOST_CLIENTS = 10_000
_CLIENT_BITS = 64  # of an IPv6 address: the network that a client gets
# They answer at any load: who watches the server needs them most then.
_ALWAYS = HEALTH_PATHS | {"/metrics"}


class InFlight:
    """Answers 503 where too many requests are under way.

    Args:
        app: Answers the others.
        most: How many.
        gauge: Shows how many there are.
    """

    def __init__(self, app: ASGIApp, most: int, gauge: Gauge) -> None:
        self._app = app
        self._most = most
        self._gauge = gauge
        self._count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or endpoint_path(scope) in _ALWAYS:
            await self._app(scope, receive, send)
            return
        if self._count >= self._most:
            await error_response(_UNAVAILABLE, headers=_SECOND)(scope, receive, send)
            return
        self._count += 1
        self._gauge.inc()
        try:
            await self._app(scope, receive, send)
        finally:
            self._count -= 1
            self._gauge.dec()


class RateLimit:
    """Answers 429 to a client that asks too often.

    Each client has *burst* requests, which come back at *rate* a second. Of clients
    that were not heard of for long nothing is known any more.

    Args:
        app: Answers the others.
        rate: Requests a second; 0: any number.
        burst: Requests at once.
        clock: Tells seconds.
    """

    def __init__(
        self,
        app: ASGIApp,
        rate: float,
        burst: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._rate = rate
        self._burst = burst
        self._clock = clock
        # (requests left, as of when)
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        is_limited = self._rate and scope["type"] == "http"
        if is_limited and endpoint_path(scope) not in _ALWAYS:
            client = scope.get("client")
            wait = self.take(client_of(client[0]) if client else "")
            if wait > 0:
                headers = {"retry-after": str(ceil(wait))}
                await error_response(_TOO_MANY, headers=headers)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def take(self, client: str) -> float:
        """Let the client ask, or say in how many seconds it may; 0: now.

        Args:
            client: As `client_of` names it.
        """
        now = self._clock()
        left, then = self._clients.pop(client, (float(self._burst), now))
        left = min(float(self._burst), left + (now - then) * self._rate)
        is_allowed = left >= 1
        self._clients[client] = (left - 1 if is_allowed else left, now)
        if len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        return 0 if is_allowed else (1 - left) / self._rate


def client_of(address: str) -> str:
    """What stands for the client at an address, as far as limits tell clients apart.

    Of IPv6 that is the network of 64 bits, all addresses of which one client has; of
    IPv4 it is the address, also where it comes in the form of IPv6.
    """
    if ":" not in address:
        return address
    try:
        parsed = IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((parsed, _CLIENT_BITS), strict=False))
