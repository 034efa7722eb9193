"""`POST /symbolicate/v5`, `/symbolicate/v4`, `/source/v1` and `/asm/v1`.

A small request for open modules is answered in the event loop: passing it to a thread
would take longer than the answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TypeVar

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gsym.api.extensions import (
    AssemblyRequest,
    SourceRequest,
    SourceRoots,
    answer_assembly,
    answer_source,
    read_assembly_request,
    read_source_request,
)
from gsym.api.request import RequestError, read_v4, read_v5
from gsym.api.response import answer_v4, answer_v5, debug_statistics
from gsym.api.symbolication import ModuleWork, Symbolication
from gsym.errors import LimitError
from gsym.server.bodies import HeldAnswer, request_body
from gsym.server.errors import HttpError, http_error, in_time
from gsym.server.mapped_files import TruncatedFileError
from gsym.server.service import Service, Wanted

Body = bytes | memoryview
_FEW_BYTES = 4096
_FEW_FRAMES = 100
_REPETITIONS = 10  # when a file is truncated meanwhile
_T = TypeVar("_T")
_Asked = TypeVar("_Asked", SourceRequest, AssemblyRequest)
_READERS = {"v4": read_v4, "v5": read_v5}


class _Answering:
    """One request in progress."""

    def __init__(self, service: Service, version: str, headers: Headers) -> None:
        self._service = service
        self._version = version
        self._is_debug = bool(headers.get("debug"))
        # Errors of sources contain folders of this machine. A request with an origin
        # comes from a page in a browser, which may belong to any site.
        self._has_errors = service.settings.module_errors and "origin" not in headers
        self._deadline = monotonic() + service.settings.limits.request_timeout

    def begin(self, body: bytes) -> tuple[Symbolication, list[ModuleWork]]:
        """Parse the request; return the work and the modules to fetch."""
        service = self._service
        try:
            jobs = _READERS[self._version](body, service.request_limits)
        except RequestError as error:
            service.metrics.of("gsym_request_errors", error.kind).inc()
            raise http_error(error) from None
        work = Symbolication(jobs)
        return work, work.open_known(service.symbolizer)

    def finish(self, work: Symbolication) -> Body:
        """The body of the answer."""
        service, most = self._service, self._service.settings.limits.max_answer
        text: Body
        try:
            if self._version == "v4":
                text = answer_v4(work, most, has_errors=self._has_errors)
            else:
                text = answer_v5(
                    work,
                    service.texts,
                    debug=debug_statistics(work) if self._is_debug else None,
                    has_errors=self._has_errors,
                    most=most,
                )
        except LimitError:
            service.metrics.of("gsym_request_errors", "too_large_answer").inc()
            title = f"please ask for less: the answer has more than {most} bytes"
            raise HttpError(413, title) from None
        service.metrics.count_work(self._version, work)
        return text

    async def run(self, body: bytes) -> Body:
        """Answer *body*.

        Raises:
            HttpError: The answer took too long.
            TruncatedFileError: Files are truncated again and again while it is made.
        """
        for _ in range(_REPETITIONS):
            with suppress(TruncatedFileError):
                return await self._run_once(body)
        return await self._run_once(body)

    async def _run_once(self, body: bytes) -> Body:
        service = self._service
        with service.files.guarded() as used:
            if len(body) <= _FEW_BYTES:
                work, missing = self.begin(body)
            else:
                work, missing = await self._in_time(service.run(self.begin, body))
            if missing:
                await self._in_time(service.opening.open_all(missing))
            used += [each.module for each in work.modules.values() if each.module]
            if work.frames <= _FEW_FRAMES:
                return self.finish(work)
            return await self._in_time(service.run(self.finish, work))

    async def _in_time(self, waiting: Awaitable[_T]) -> _T:
        """Await *waiting* until the deadline.

        The rest has no cancel scope, since one costs time.
        """
        with in_time(self._deadline - monotonic()):
            return await waiting


def symbolication_routes(service: Service) -> list[Route]:
    """The endpoints of the symbolication API."""

    def endpoint(version: str) -> Route:
        async def symbolicate(request: Request) -> Response:
            limit = service.settings.limits.max_body
            async with request_body(request, service, limit) as body:
                text = await _Answering(service, version, request.headers).run(body)
            return HeldAnswer(text, service.answer_budget)

        return Route(f"/symbolicate/{version}", symbolicate, methods=["POST"])

    return [endpoint("v5"), endpoint("v4")]


def extension_routes(service: Service) -> list[Route]:
    """The endpoints for source code and disassembly, if enabled."""
    settings, symbolizer = service.settings, service.symbolizer
    source = partial(
        answer_source,
        symbolizer=symbolizer,
        roots=SourceRoots(settings.source_roots),
        path_map=service.path_map,
        most=settings.limits.max_source,
    )
    assembly = partial(
        answer_assembly,
        symbolizer=symbolizer,
        folders=service.binary_folders,
        most=settings.limits.max_code,
    )
    routes = []
    if settings.enable_source:
        routes.append(_route("/source/v1", read_source_request, source, service))
    if settings.enable_asm:
        routes.append(_route("/asm/v1", read_assembly_request, assembly, service))
    return routes


def _route(
    path: str,
    read: Callable[[bytes], _Asked],
    answer: Callable[[_Asked], bytes],
    service: Service,
) -> Route:
    async def endpoint(request: Request) -> Response:
        limit = service.settings.limits.max_body
        async with request_body(request, service, limit) as body:
            try:
                asked = read(body)
                if not await service.opening.open_all([Wanted(asked.key)]):
                    raise HttpError(503, "the module is still fetched", retry_after=5)
                with service.files.guarded():
                    text = await service.opening.run(answer, asked)
            except RequestError as error:
                raise http_error(error) from None
        return Response(text, media_type="application/json")

    return Route(path, endpoint, methods=["POST"])
