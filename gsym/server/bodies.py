"""Bodies: received within time and size limits, inflated or written to a file.

What a worker holds of bodies and of large answers counts against budgets.

Large ones are inflated in a thread, so that the event loop serves other requests.
"""

from __future__ import annotations

import asyncio
import logging
import os
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from io import FileIO
from typing import Any

from anyio import move_on_after
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gsym.containers.inflation import import_zstd
from gsym.server.errors import HttpError, declared_size, in_time
from gsym.server.modules import store_path
from gsym.server.upkeep import has_free_space
from gsym.store.directory import Store
from gsym.writing.atomic_file import FULL_DISK

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing_extensions import Self

    from gsym.server.service import Service

    # From a stream and a limit to the contents; None if these exceed the limit.
    Inflater = Callable[[bytes, int], bytes | None]
    Run = Callable[[Inflater, bytes, int], Awaitable[bytes | None]]


_LOG = logging.getLogger("gsym.server")
_RETRY_AFTER = 10  # seconds, for bodies that are written to files
_GZIP_STREAM = 31  # for zlib: gzip with a window of any size
# Up to these sizes, inflating takes less time than a switch to a thread.
_FEW_BYTES = 16 << 10
_FEW_INFLATED = 64 << 10
_WRITE_SIZE = 1 << 20
LARGE = 1 << 20  # bytes; smaller answers are not counted, and sent in one piece
_zstd = import_zstd()


class ByteBudget:
    """A budget of *size* bytes; used from one event loop."""

    def __init__(self, size: int) -> None:
        self._size = self._left = size

    def take(self, size: int, held: int = 0) -> None:
        """Reserve *size* bytes.

        Raises:
            HttpError: 503: the budget is used up; 413: it is too small even when
                unused.
        """
        if held + size > self._size:
            title = f"please ask for less: the server holds <= {self._size} bytes of it"
            raise HttpError(413, title, closes=True)
        if size > self._left:
            raise HttpError(503, retry_after=1, closes=True)
        self._left -= size

    def give_back(self, size: int) -> None:
        """Release reserved bytes."""
        self._left += size


class HeldBody:
    """Bytes of a body, counted against a budget until the `with` block ends."""

    def __init__(self, budget: ByteBudget) -> None:
        self._budget = budget
        self._taken = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._budget.give_back(self._taken)

    def take(self, size: int) -> None:
        """Reserve more bytes."""
        self._budget.take(size, self._taken)
        self._taken += size


class HeldAnswer(Response):
    """JSON that counts against a budget, if it is large, until it was sent.

    Raises:
        HttpError: The budget is used up.
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


@asynccontextmanager
async def request_body(
    request: Request, service: Service, limit: int
) -> AsyncIterator[bytes]:
    """The body of a request, as by `read_body` with the limits of the service."""
    with HeldBody(service.body_budget) as held:
        seconds = service.settings.limits.body_timeout
        yield await read_body(request, held, limit, seconds, service.run)


async def read_body(
    request: Request, held: HeldBody, limit: int, seconds: float, run: Run
) -> bytes:
    """The body of a request, inflated; *held* reserves its bytes, at most *limit*.

    Raises:
        HttpError: 408, 413, 415 or 503.
        ClientDisconnect: The client closed the connection.
    """
    if declared_size(request.headers) > limit:
        raise too_large(limit)
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in _INFLATERS:
        title = "Content-Encoding must be gzip, zstd or identity"
        raise HttpError(415, title, closes=True)
    body = None
    with move_on_after(seconds):
        body = await _receive(request, held, limit)
    if body is None:
        raise HttpError(408, closes=True)
    inflate = _INFLATERS[coding]
    if inflate is None:
        return body
    content = None
    if len(body) <= _FEW_BYTES:
        content = inflate(body, min(limit, _FEW_INFLATED))
    if content is None:
        content = await run(inflate, body, limit)
    if content is None:
        raise too_large(limit)
    held.take(len(content))
    return content


async def _receive(request: Request, held: HeldBody, limit: int) -> bytes:
    """The body as it is sent; `Request.stream` would take longer."""
    parts: list[bytes] = []
    size, has_more = 0, True
    while has_more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise too_large(limit)
        held.take(len(part))
        if part:
            parts.append(part)
        has_more = message.get("more_body", False)
    return b"".join(parts)


def too_large(limit: int) -> HttpError:
    """The error for a body of more than *limit* bytes."""
    title = f"please limit the body of a request to <= {limit} bytes"
    return HttpError(413, title, closes=True)


def _inflated(
    open_stream: Callable[[], Any], coding: str, body: bytes, limit: int
) -> bytes | None:
    stream, damaged = open_stream(), HttpError(400, f"Payload is not valid {coding}")
    try:
        content: bytes = stream.decompress(body, limit + 1)
    except (zlib.error, _zstd.ZstdError):
        raise damaged from None
    if len(content) > limit:
        return None
    if not stream.eof or stream.unused_data:
        raise damaged
    return content


_GZIP = partial(_inflated, partial(zlib.decompressobj, _GZIP_STREAM), "gzip")
_ZSTD = partial(_inflated, _zstd.ZstdDecompressor, "zstd")
_INFLATERS: dict[str, Inflater | None] = {
    "identity": None,
    "": None,
    "gzip": _GZIP,
    "x-gzip": _GZIP,
    "zstd": _ZSTD,
}


async def spool_body(
    request: Request,
    service: Service,
    path: str,
    limit: int,
    note: Callable[[bytes], object] = lambda _: None,
) -> None:
    """Write the body of a request to a new file; *note* is called with its bytes.

    Raises:
        ClientDisconnect: The client closed the connection.
        HttpError: 408: the body did not arrive within `upload_timeout`; 413: it is
            larger than *limit*.
    """

    def write(file: FileIO, piece: bytes) -> None:
        note(piece)
        left = memoryview(piece)
        while left:
            left = left[file.write(left) :]

    seconds = service.settings.limits.upload_timeout
    with FileIO(path, "xb") as file, in_time(seconds, 408, closes=True):
        size, waiting = 0, bytearray()
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise too_large(limit)
            waiting += part
            if len(waiting) >= _WRITE_SIZE:
                await service.run(write, file, bytes(waiting))
                waiting.clear()
        await service.run(write, file, bytes(waiting))


@asynccontextmanager
async def work_folder(service: Service, store: Store) -> AsyncIterator[str]:
    """A temporary folder of *store*, removed even if the request was cancelled."""
    run, folder = service.opening.run, store.temporary_folder()
    path = await run(folder.__enter__)
    try:
        yield path
    finally:
        await asyncio.shield(run(folder.__exit__, None, None, None))


class SpooledBodies:
    """Folders for bodies that are written to files, a limited number at a time."""

    def __init__(self, service: Service, most: int) -> None:
        self._service = service
        self._store = Store(store_path(service.settings))
        self._left = most

    @asynccontextmanager
    async def received(
        self, request: Request, limit: int, size: int
    ) -> AsyncIterator[str]:
        """A folder for all that is made of a body, which is its file `body`.

        *size* bytes are free for it at the beginning.

        Raises:
            HttpError: 503: there are too many; 507: the disk is full; or as for
                `spool_body`.
        """
        service = self._service
        if self._left <= 0:
            raise HttpError(503, retry_after=_RETRY_AFTER, closes=True)
        self._left -= 1
        try:
            async with work_folder(service, self._store) as folder:
                if not has_free_space(service.settings, size):
                    _LOG.error("the store has too little free space for an upload")
                    raise HttpError(507, closes=True)
                path = os.path.join(folder, "body")
                await spool_body(request, service, path, limit)
                yield folder
        except OSError as error:
            if error.errno not in FULL_DISK:
                raise
            _LOG.error("cannot write to the store: %s", error.strerror)
            raise HttpError(507, closes=True) from None
        finally:
            self._left += 1
