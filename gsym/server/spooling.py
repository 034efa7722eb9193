"""Large bodies of requests: written to a file as they come, not held in memory."""

from __future__ import annotations

from starlette.requests import ClientDisconnect

from gsym.errors import LimitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import FileIO
    from typing import Protocol

    from starlette.requests import Request

    from gsym.server.service import Service

    class Digest(Protocol):
        """One of `hashlib`."""

        def update(self, data: bytes, /) -> None:
            """Take the next bytes in."""


_WRITTEN_AT_ONCE = 1 << 20


async def spool_body(
    request: Request,
    service: Service,
    file: FileIO,
    most: int,
    digest: Digest | None = None,
) -> None:
    """Write the body of a request to a file.

    Args:
        request: Nothing of its body was read.
        service: Has the threads that write.
        file: Empty.
        most: Bytes that it may have.
        digest: Takes all that is written.

    Raises:
        ClientDisconnect: The client has gone.
        LimitError: It has more.
        OSError: There is no room for it.
    """

    def write(piece: bytes) -> None:
        if digest is not None:
            digest.update(piece)
        left = memoryview(piece)
        while left:
            left = left[file.write(left) :]

    size, waiting, has_more = 0, bytearray(), True
    while has_more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        waiting += message.get("body", b"")
        has_more = message.get("more_body", False)
        if len(waiting) >= _WRITTEN_AT_ONCE or not has_more:
            size += len(waiting)
            if size > most:
                raise LimitError(f"the body has more than {most} bytes")
            await service.run(write, bytes(waiting))
            waiting.clear()
