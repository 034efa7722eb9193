"""Large answers: handed on as clients take them, and held within limits.

What is handed to a connection at once lies in memory until the client has taken it, and
nobody would wait for that, or count it.
"""

from __future__ import annotations

from starlette.responses import Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from gsym.server.room import Room

LARGE = 1 << 20  # bytes; answers that are no larger are not counted


class Pieces:
    """Hands large answers on piece by piece, each when the one before is taken."""

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
    """JSON that takes room, where it is large, until the client has it.

    Raises:
        ServerError: There is no room.
    """

    media_type = "application/json"

    def __init__(self, content: bytes | memoryview, room: Room) -> None:
        super().__init__(content)
        self._room = room
        self._size = len(content) if len(content) > LARGE else 0
        room.take(self._size)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._room.give_back(self._size)
