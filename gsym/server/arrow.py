"""`POST /symbolicate/arrow`: addresses in Arrow record batches, answered as a stream.

The body is checked completely before the first batch is sent, so that errors are
answers. Batches are then made one at a time, each when the client has read the last.
"""

from __future__ import annotations

from contextlib import AsyncExitStack

from starlette.routing import Route

from gsym.arrow import stream
from gsym.arrow.rows import import_pyarrow
from gsym.errors import UnsupportedError
from gsym.modules.key import key_of_build_id, keys_of_text
from gsym.modules.open_module import OpenModule
from gsym.server.bodies import LARGE, HeldBody, request_body
from gsym.server.errors import HttpError, answered, in_time
from gsym.server.file_responses import HoldingResponse
from gsym.server.service import Wanted

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
    from typing import Any

    from starlette.requests import Request

    from gsym.server.service import Service

MEDIA_TYPE = "application/vnd.apache.arrow.stream"
_OUTPUTS = ("stack", "frames")
_PARAMETERS = ("module", "address", "return_address", "base", "output")
_MAX_ID = 1024  # bytes or characters of an id with a name


def arrow_routes(service: Service) -> list[Route]:
    """The endpoint."""

    async def answer(request: Request) -> HoldingResponse:
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        if kind.lower() != MEDIA_TYPE:
            raise HttpError(415, f"Content-Type must be {MEDIA_TYPE}", closes=True)
        options = _read_options(request.query_params)
        async with AsyncExitStack() as stack:
            limits = service.settings.limits
            held = request_body(request, service, limits.max_body)
            body = await stack.enter_async_context(held)
            with in_time(limits.request_timeout):
                pieces = await _begin(body, options, service)
                stack.push_async_callback(pieces.aclose)
                first = await anext(pieces)
            whole = _whole(first, pieces)
            return HoldingResponse(whole, stack.pop_all(), media_type=MEDIA_TYPE)

    return [Route("/symbolicate/arrow", answer, methods=["POST"])]


async def _whole(first: bytes, others: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces of an answer."""
    yield first
    async for piece in others:
        yield piece


def _read_options(query: Mapping[str, str]) -> dict[str, Any]:
    """Keywords of `symbolize`.

    Raises:
        HttpError: One is unknown or invalid.
    """
    options: dict[str, Any] = dict(query)
    if unknown := sorted({*options} - {*_PARAMETERS}):
        known = ", ".join(_PARAMETERS)
        raise HttpError(400, f"unknown parameter '{unknown[0][:80]}'; known: {known}")
    if options.get("output", "stack") not in _OUTPUTS:
        raise HttpError(400, f"output must be one of {', '.join(_OUTPUTS)}")
    if options.get("return_address") == "true":
        options["return_address"] = True
    base = options.get("base", "")
    try:
        options |= {"base": int(base, 0)} if base[:1].isdigit() else {}
    except ValueError:
        raise HttpError(400, "base is not a number") from None
    return options


class _Modules:
    """The modules of a request, by the values of its column."""

    def __init__(self, values: list[bytes | str]) -> None:
        self._keys = {
            value: [key_of_build_id(value)]
            if isinstance(value, bytes)
            else keys_of_text(value)
            for value in values
            if len(value) <= _MAX_ID
        }
        self._found: dict[bytes | str, OpenModule] = {}

    def find(self, value: bytes | str) -> OpenModule:
        """A module, without a reader if it is not found."""
        return self._found.get(value) or OpenModule(None, None)

    async def open(self, service: Service) -> None:
        """Open all of them, by the first of their keys that leads to one.

        Raises:
            HttpError: The file of one was truncated meanwhile.
        """
        with service.files.guarded() as used:
            await self._open(service)
            used.extend(self.opened)

    async def _open(self, service: Service) -> None:
        while wanted := {
            value: Wanted(keys.pop(0))
            for value, keys in self._keys.items()
            if keys and self.find(value).reader is None
        }:
            await service.opening.open_all(wanted.values())
            for value, each in wanted.items():
                if each.module is not None:
                    self._found[value] = each.module

    @property
    def opened(self) -> list[OpenModule]:
        """The modules that were found."""
        return [each for each in self._found.values() if each.reader is not None]


async def _begin(
    body: bytes, options: dict[str, Any], service: Service
) -> AsyncGenerator[bytes]:
    """The pieces of the answer to a body that was checked.

    Raises:
        HttpError: The body is damaged, or asks for too much.
    """
    limits, run = service.settings.limits, service.run
    try:
        await run(import_pyarrow)
    except UnsupportedError as error:
        raise HttpError(501, error.reason) from None
    names = options.get("module") or "build_id", options.get("address") or "address"
    most = limits.max_answer if options.get("output") == "frames" else None
    with answered():
        batches = await run(stream.read_batches, body, limits.max_body)
        values, addresses = await run(stream.contents_of, batches, *names)
        if addresses > limits.max_frames:
            raise stream.too_much(limits.max_frames, "addresses")
        parts = await run(stream.parts_of, batches, names[1], most)
        if len(values) > limits.max_modules:
            raise stream.too_much(limits.max_modules, "modules")
    modules = _Modules(values)
    await modules.open(service)
    found = len(modules.opened)
    service.metrics.count_rows(addresses, found, len(values) - found)
    return _checked(stream.answer_pieces(parts, modules, options), modules, service)


async def _checked(
    pieces: Iterator[bytes], modules: _Modules, service: Service
) -> AsyncGenerator[bytes]:
    """The pieces, each made in a thread.

    Raises:
        HttpError: The file of a module was truncated meanwhile, or the server holds
            too many pieces.
    """
    with HeldBody(service.answer_budget) as held:
        largest = 0
        while True:
            with service.files.guarded() as used, answered():
                used.extend(modules.opened)
                piece = await service.run(next, pieces, None)
            if piece is None:
                return
            if len(piece) > max(largest, LARGE):
                held.take(len(piece) - largest)
                largest = len(piece)
            yield piece
