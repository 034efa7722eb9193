"""Bodies of requests: complete, in time, within limits; inflated, or written to a file.

Large ones are inflated beside the event loop, for which other requests wait.
"""

from __future__ import annotations

import zlib

from anyio import fail_after
from starlette.requests import ClientDisconnect

from gsym.errors import LimitError
from gsym.server.errors import ServerError
from gsym.server.zstd import zstd

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType
    from typing import Protocol

    from starlette.requests import Request
    from starlette.types import Receive
    from typing_extensions import Self

    from gsym.server.load_limits import ByteBudget

    class Inflater(Protocol):
        """A decompressor of one kind of stream."""

        def __call__(self, body: bytes, limit: int) -> bytes | None:
            """The contents; None where there are more than *limit* bytes."""

    Run = Callable[[Inflater, bytes, int], Awaitable[bytes | None]]
    from io import FileIO

    from gsym.server.service import Service

    class Digest(Protocol):
        """One of `hashlib`."""

        def update(self, data: bytes, /) -> None:
            """Take the next bytes in."""


_BAD_REQUEST = 400
_TIMEOUT = 408
_TOO_LARGE = 413
_UNSUPPORTED = 415
_GZIP_STREAM = 31  # for zlib: a stream of gzip, window of any size
# What takes less time than to hand it to a thread: bytes of a body, and inflated.
_FEW_BYTES = 16 << 10
_FEW_INFLATED = 64 << 10


class HeldBody:
    """The body of a request, counted against a budget until the `with` block ends."""

    def __init__(self, budget: ByteBudget) -> None:
        self._budget = budget
        self._taken = 0
        self.content = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._budget.give_back(self._taken)

    def take(self, size: int) -> None:
        """Reserve more bytes for it."""
        self._budget.take(size, self._taken)
        self._taken += size


async def read_body(
    request: Request, held: HeldBody, limit: int, seconds: float, run: Run
) -> bytes:
    """The body of *request*, inflated.

    Args:
        request: Nothing of its body was read.
        held: Reserves the bytes.
        limit: Bytes, as they come and inflated.
        seconds: In which all of it has to come.
        run: Runs a function beside the event loop.

    Raises:
        ServerError: 408, 413, 415 or 503.
        ClientDisconnect: The client has gone.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared[:20]) > limit:
        raise _too_large(limit)
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in _INFLATERS:
        raise ServerError(
            _UNSUPPORTED,
            "Content-Encoding is none of gzip, zstd and identity",
            closes=True,
        )
    try:
        with fail_after(seconds):
            body = await _receive(request.receive, held, limit)
    except TimeoutError:
        raise ServerError(_TIMEOUT, closes=True) from None
    return await _inflate(coding, body, held, limit, run)


async def _receive(receive: Receive, held: HeldBody, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        held.take(len(part))
        if part:
            parts.append(part)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


async def _inflate(
    coding: str, body: bytes, held: HeldBody, limit: int, run: Run
) -> bytes:
    inflate = _INFLATERS[coding]
    if inflate is None:
        return body
    content = None
    if len(body) <= _FEW_BYTES:
        content = inflate(body, min(limit, _FEW_INFLATED))
    if content is None:
        content = await run(inflate, body, limit)
    if content is None:
        raise _too_large(limit)
    held.take(len(content))
    return content


def _too_large(limit: int) -> ServerError:
    title = f"please limit the body of a request to <= {limit} bytes"
    return ServerError(_TOO_LARGE, title, closes=True)


def _damaged(coding: str) -> ServerError:
    return ServerError(_BAD_REQUEST, f"Payload is not valid {coding}")


def _inflate_gzip(body: bytes, limit: int) -> bytes | None:
    stream = zlib.decompressobj(_GZIP_STREAM)
    try:
        content = stream.decompress(body, limit + 1)
    except zlib.error:
        raise _damaged("gzip") from None
    if len(content) > limit:
        return None
    if not stream.eof or stream.unused_data:
        raise _damaged("gzip")
    return content


def _inflate_zstd(body: bytes, limit: int) -> bytes | None:
    stream = zstd.ZstdDecompressor()
    try:
        content: bytes = stream.decompress(body, limit + 1)
    except zstd.ZstdError:
        raise _damaged("zstd") from None
    if len(content) > limit:
        return None
    if not stream.eof or stream.unused_data:
        raise _damaged("zstd")
    return content


_INFLATERS: dict[str, Inflater | None] = {
    "identity": None,
    "": None,
    "gzip": _inflate_gzip,
    "x-gzip": _inflate_gzip,
    "zstd": _inflate_zstd,
}


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
        OSError: The disk is full.
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
