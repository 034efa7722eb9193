"""`POST /source/v1` and `/asm/v1`, where the operator allows them."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import Route

from gsym.server.bodies import HeldBody, read_body
from gsym.server.errors import ServerError
from gsym.symbolication.assembly import answer_assembly, read_assembly_request
from gsym.symbolication.binary_search import BinarySearch
from gsym.symbolication.extension_request import ExtensionError
from gsym.symbolication.source import SourceRoots, answer_source, read_source_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from gsym.server.service import Service


def extension_routes(service: Service) -> list[Route]:
    """The endpoints that are switched on."""
    settings, symbolizer = service.settings, service.symbolizer
    roots = SourceRoots(settings.source_roots)
    binaries = BinarySearch(settings.binary_dirs)

    def source(body: bytes) -> bytes:
        return answer_source(
            read_source_request(body),
            symbolizer,
            roots,
            path_map=service.path_map,
            most=settings.limits.max_source,
        )

    def assembly(body: bytes) -> bytes:
        return answer_assembly(
            read_assembly_request(body),
            symbolizer,
            binaries,
            most=settings.limits.max_code,
        )

    routes = []
    if settings.enable_source:
        routes.append(_route("/source/v1", source, service))
    if settings.enable_asm:
        routes.append(_route("/asm/v1", assembly, service))
    return routes


def _route(path: str, answer: Callable[[bytes], bytes], service: Service) -> Route:
    async def endpoint(request: Request) -> Response:
        settings = service.settings
        with HeldBody(service.body_room) as held:
            limits = settings.limits.max_body, settings.limits.body_timeout
            body = await read_body(request, held, *limits, service.run)
            try:
                text = await service.opening.run(answer, body)
            except ExtensionError as error:
                raise ServerError(error.status, error.reason) from None
        return Response(text, media_type="application/json")

    return Route(path, endpoint, methods=["POST"])
