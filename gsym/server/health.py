"""Whether a server lives and which it is, where Dockerflow has it."""

from __future__ import annotations

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from gsym import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.requests import Request

    from gsym.server.service import Service

HEALTH_PATHS = frozenset({"/__heartbeat__", "/__lbheartbeat__", "/__version__"})
_JSON = "application/json; charset=utf-8"


def health_routes(service: Service) -> list[Route]:
    """`GET /__heartbeat__`, `/__lbheartbeat__` and `/__version__`."""

    async def heartbeat(_request: Request) -> Response:
        return Response(b"", headers={"content-type": _JSON})

    async def version(_request: Request) -> Response:
        body = msgspec.json.encode(
            {
                "source": "https://pypi.org/project/gsym/",
                "version": __version__,
                **service.facts,
            }
        )
        return Response(body, headers={"content-type": _JSON})

    return [
        Route("/__heartbeat__", heartbeat, methods=["GET"]),
        Route("/__lbheartbeat__", heartbeat, methods=["GET"]),
        Route("/__version__", version, methods=["GET"]),
    ]
