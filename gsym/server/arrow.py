"""`POST /symbolicate/arrow`: addresses in Arrow record batches, answered as a stream.

The body is checked completely before the first batch is sent, so that errors are
answers. Batches are then made one at a time, each when the client has read the last.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack
from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from gsym.arrow import stream
from gsym.arrow.modules import keys_of
from gsym.arrow.rows import import_pyarrow
from gsym.errors import UnsupportedError
from gsym.server.answers import HoldingResponse
from gsym.server.bodies import LARGE, HeldBody, request_body
from gsym.server.errors import HttpError, answered, in_time
from gsym.server.service import OpenedModules, Service, Wanted

MEDIA_TYPE = "application/vnd.apache.arrow.stream"
_OUTPUTS = ("stack", "frames")
ARROW_PARAMETERS = {
    "module": "column of modules; default: build_id",
    "address": "column of addresses; default: address",
    "return_address": "column of flags, or true",
    "base": "column of addresses that modules are loaded at, or one",
    "output": "stack or frames",
}
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
    """Keywords of `symbolize`; HttpError where one is unknown or invalid."""
    options: dict[str, Any] = dict(query)
    if unknown := sorted({*options} - {*ARROW_PARAMETERS}):
        known = ", ".join(ARROW_PARAMETERS)
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


async def _open_modules(values: list[bytes | str], service: Service) -> OpenedModules:
    """The modules of the values of a column, by the first key that leads to one."""
    keys = {each: keys_of(each) for each in values if len(each) <= _MAX_ID}
    opened = OpenedModules()
    with service.files.guarded() as used:
        while wanted := {
            value: Wanted(left.pop(0))
            for value, left in keys.items()
            if left and opened.find(value).reader is None
        }:
            await service.opening.open_all(wanted.values())
            for value, each in wanted.items():
                if each.module is not None:
                    opened[value] = each.module
        used.extend(opened.values())
    return opened


async def _begin(
    body: bytes, options: dict[str, Any], service: Service
) -> AsyncGenerator[bytes]:
    """The pieces of the answer to a body; HttpError if it is damaged or too large."""
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
    modules = await _open_modules(values, service)
    found = sum(each.reader is not None for each in modules.values())
    service.metrics.of("gsym_symbolicate_frames", "arrow").observe(addresses)
    service.metrics.of("gsym_modules", "found").inc(found)
    service.metrics.of("gsym_modules", "missing").inc(len(values) - found)
    return _checked(stream.answer_pieces(parts, modules, options), modules, service)


async def _checked(
    pieces: Iterator[bytes], modules: OpenedModules, service: Service
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
                used.extend(modules.values())
                piece = await service.run(next, pieces, None)
            if piece is None:
                return
            if len(piece) > max(largest, LARGE):
                held.take(len(piece) - largest)
                largest = len(piece)
            yield piece
