"""Limits on concurrent requests, request rates, and memory for bodies and answers."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from ipaddress import IPv6Address, IPv6Network
from math import ceil

from starlette.responses import Response

from gsym.server.errors import ServerError, endpoint_path, error_response
from gsym.server.monitoring import HEALTH_PATHS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client import Gauge
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class ByteBudget:
    """A budget of *size* bytes; used from one event loop."""

    def __init__(self, size: int) -> None:
        self._size = self._left = size

    def take(self, size: int, held: int = 0) -> None:
        """Reserve *size* bytes.

        Args:
            size: Bytes to add.
            held: Bytes that the caller has already; they are released together.

        Raises:
            ServerError: 503: the budget is used up; 413: it is too small even when
                unused.
        """
        if held + size > self._size:
            title = f"please ask for less: the server holds <= {self._size} bytes of it"
            raise ServerError(413, title, closes=True)
        if size > self._left:
            raise ServerError(503, retry_after=1, closes=True)
        self._left -= size

    def give_back(self, size: int) -> None:
        """Release reserved bytes."""
        self._left += size


_MAX_CLIENTS = 10_000
_CLIENT_BITS = 64  # prefix length of an IPv6 network that belongs to one client
_WITH_BODY = frozenset({"POST", "PUT"})  # others are answered without reading it
# Answered at any load, as monitoring needs them most then.
_ALWAYS = HEALTH_PATHS | {"/metrics"}


class InFlight:
    """Refuses requests while too many are in progress, of all clients or of one.

    A POST or PUT request counts for all when its body has arrived, so that clients that
    send slowly do not keep others out; and for its client from the beginning.

    Args:
        app: The application.
        most: Maximum number of requests; above it the answer is 503.
        most_of_client: The same for one client; above it the answer is 429.
        gauge: Shows the current number.
    """

    def __init__(
        self, app: ASGIApp, most: int, most_of_client: int, gauge: Gauge
    ) -> None:
        self._app = app
        self._most = most
        self._most_of_client = most_of_client
        self._gauge = gauge
        self._count = 0
        self._of_client: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or endpoint_path(scope) in _ALWAYS:
            await self._app(scope, receive, send)
            return
        address = scope.get("client")
        client = client_of(address[0]) if address else ""
        if self._of_client[client] >= self._most_of_client:
            await _refuse(429, scope, receive, send)
            return
        self._of_client[client] += 1
        try:
            if scope["method"] in _WITH_BODY:
                await self._answer_body(scope, receive, send)
            elif self._count >= self._most:
                await _refuse(503, scope, receive, send)
            else:
                self._add(1)
                try:
                    await self._app(scope, receive, send)
                finally:
                    self._add(-1)
        finally:
            self._of_client[client] -= 1
            if not self._of_client[client]:
                del self._of_client[client]

    async def _answer_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that counts when its body has arrived."""
        is_counted = False

        async def receive_counted() -> Message:
            nonlocal is_counted
            message = await receive()
            is_body = message["type"] == "http.request"
            if is_body and not message.get("more_body") and not is_counted:
                if self._count >= self._most:
                    raise ServerError(503, retry_after=1)
                is_counted = True
                self._add(1)
            return message

        try:
            await self._app(scope, receive_counted, send)
        finally:
            self._add(-is_counted)

    def _add(self, step: int) -> None:
        self._count += step
        self._gauge.inc(step)


async def _refuse(status: int, scope: Scope, receive: Receive, send: Send) -> None:
    await error_response(status, headers={"retry-after": "1"})(scope, receive, send)


class RateLimit:
    """Answers 429 to a client that sends too many requests.

    Each client has a token bucket of *burst* requests, refilled at *rate* per second.
    Only the most recent clients are remembered.

    Args:
        app: The application.
        rate: Requests per second; 0: no limit.
        burst: Requests at once.
        clock: Returns seconds.
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
        # (requests left, time of that)
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        is_limited = self._rate and scope["type"] == "http"
        if is_limited and endpoint_path(scope) not in _ALWAYS:
            client = scope.get("client")
            wait = self.take(client_of(client[0]) if client else "")
            if wait > 0:
                headers = {"retry-after": str(ceil(wait))}
                await error_response(429, headers=headers)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def take(self, client: str) -> float:
        """Count a request; return 0, or the seconds until it is allowed.

        Args:
            client: As returned by `client_of`.
        """
        now = self._clock()
        left, then = self._clients.pop(client, (float(self._burst), now))
        left = min(float(self._burst), left + (now - then) * self._rate)
        is_allowed = left >= 1
        self._clients[client] = (left - 1 if is_allowed else left, now)
        if len(self._clients) > _MAX_CLIENTS:
            self._clients.popitem(last=False)
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


LARGE = 1 << 20  # bytes; smaller answers are not counted


class Pieces:
    """Sends large answers in pieces, each when the previous one was accepted."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_pieces(message: Message) -> None:
            body = message.get("body", b"")
            if len(body) <= LARGE:
                await send(message)
                return
            whole, has_more = memoryview(body), message.get("more_body", False)
            for first in range(0, len(whole), LARGE):
                end = first + LARGE
                is_last = end >= len(whole) and not has_more
                piece = {"body": whole[first:end], "more_body": not is_last}
                await send({**message, **piece})

        await self._app(scope, receive, send_pieces)


class HeldAnswer(Response):
    """JSON that counts against a budget, if it is large, until it was sent.

    Raises:
        ServerError: The budget is used up.
    """

    media_type = "application/json"

    def __init__(self, content: bytes | memoryview, budget: ByteBudget) -> None:
        super().__init__(content)
        self._budget = budget
        self._size = len(content) if len(content) > LARGE else 0
        budget.take(self._size)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._budget.give_back(self._size)
