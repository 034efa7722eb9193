"""`POST /v1development/profiles`: symbolizes profiles and sends them on.

A module that is not there in time does not delay profiles: its frames remain as they
are, and it is there for later ones.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import Any

from anyio import CancelScope, move_on_after
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gsym.containers import DEBUG_DIRECTORIES
from gsym.errors import LimitError
from gsym.modules.finder import Finder
from gsym.modules.places import Folder
from gsym.profiles.binaries import Binaries
from gsym.profiles.otlp import OtlpCompletion
from gsym.profiles.symbolizing import symbolize
from gsym.server.bodies import request_body
from gsym.server.errors import HttpError, answered, in_time
from gsym.server.logs import LOGGED
from gsym.server.otlp.forwarding import Collector, open_collector
from gsym.server.otlp.status import PROTOBUF, status_response
from gsym.server.service import OpenedModules, Service, Wanted
from gsym.server.tokens import PROFILES

PATH = "/v1development/profiles"
_LARGE = 1 << 20  # bytes of a request whose work takes tenths of a second and more


def profile_routes(service: Service) -> list[Route]:
    """The endpoint, if there is a collector to send profiles to."""
    settings, collector = service.settings, open_collector(service.settings)
    if collector is None:
        return []
    OtlpCompletion(b"", 0)  # fails now if protobuf is not installed
    service.on_close.append(collector.close)
    service.notes.append(f"profiles: symbolized and sent to {collector.name}")
    turn = asyncio.Semaphore()
    if settings.grpc_port:
        service.notes.append(f"profiles by gRPC: port {settings.grpc_port}")

    async def receive(request: Request) -> Response:
        try:
            return await _answer(request, service, collector, turn)
        except HTTPException as error:
            return status_response(error)

    return [Route(PATH, receive, methods=["POST"])]


async def _answer(
    request: Request, service: Service, collector: Collector, turn: asyncio.Semaphore
) -> Response:
    """The answer to a request; HttpError if it, or its profile, is refused."""
    limits = service.settings.limits
    holder = service.tokens.holder(request.headers)
    if service.tokens.is_needed_to_send() and not (holder and holder.may(PROFILES)):
        challenge = {"www-authenticate": "Bearer"}
        title = "profiles need a token with that scope"
        raise HttpError(401, title, headers=challenge)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != PROTOBUF:
        raise HttpError(415, f"Content-Type must be {PROTOBUF}", closes=True)
    facts: dict[str, Any] = request.scope.setdefault(LOGGED, {})
    async with request_body(request, service, limits.max_body) as body:
        with answered(), in_time(limits.request_timeout):
            completed, counts = await _symbolized(body, service, turn)
            facts |= counts
            answer = await _forwarded(completed, service, collector)
    return Response(answer, media_type=PROTOBUF)


async def _symbolized(
    body: bytes, service: Service, turn: asyncio.Semaphore
) -> tuple[bytes, dict[str, int]]:
    """The message with functions and lines, and how many locations got them.

    Large requests are worked on one at a time, so that others need not wait for many.

    Raises:
        LimitError: It has too many locations or modules.
        HttpError: The file of a module was truncated meanwhile.
    """
    limits = service.settings.limits
    own_turn = turn if len(body) > _LARGE else nullcontext()
    # A turn lasts as long as its thread, which goes on where a request times out.
    async with own_turn:
        with CancelScope(shield=True):
            completion = await service.run(OtlpCompletion, body, limits.max_frames)
    profile, modules = completion.profile, completion.modules()
    if len(modules) > limits.max_modules:
        raise LimitError(f"a request may have {limits.max_modules} modules")
    wanted = list(map(Wanted, modules))

    def complete() -> bytes:
        # Paths in the message are those of another machine.
        debug = (Folder(each, by_build_id=True) for each in DEBUG_DIRECTORIES)
        binaries = Binaries(Finder([*service.binary_folders, *debug]))
        opened = OpenedModules(
            (each.key, each.module) for each in wanted if each.module
        )
        symbolize(profile, opened, binaries, guesses=False)
        return completion.complete(service.path_map)

    with service.files.guarded() as used:
        with move_on_after(limits.profile_wait):
            await service.opening.open_all(wanted)
        used += [each.module for each in wanted if each.module]
        async with own_turn:
            with CancelScope(shield=True):
                completed = await service.run(complete)
    native = [each for each in profile.locations if each.mapping is not None]
    found = sum(bool(each.frames) for each in native)
    counts = {"symbolized": found, "left": len(native) - found}
    for result, count in counts.items():
        service.metrics.of("gsym_profile_locations", result).inc(count)
    unsure = sum(bool(each.module and each.module.unsure) for each in wanted)
    return completed, counts | ({"unsure_modules": unsure} if unsure else {})


async def _forwarded(body: bytes, service: Service, collector: Collector) -> bytes:
    """The answer of the next collector; HttpError if it does not take the profile."""
    loop, status = asyncio.get_running_loop(), 499
    try:
        answer = await loop.run_in_executor(collector.threads, collector.send, body)
        status = 200
    except HttpError as error:
        status = error.status_code
        raise
    finally:
        service.metrics.of("gsym_profiles_forwarded", status).inc()
    return answer
