"""The ASGI application: endpoints and middleware."""

from __future__ import annotations

from contextlib import asynccontextmanager
from http import HTTPStatus
from ipaddress import ip_network

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from gsym.server.admission import Admission, options_response
from gsym.server.answers import Answers
from gsym.server.arrow import arrow_routes
from gsym.server.downloads import download_routes
from gsym.server.errors import HttpError, endpoint_path, error_response
from gsym.server.logs import RequestLog
from gsym.server.monitoring import health_routes, metrics_routes
from gsym.server.openapi import openapi_routes
from gsym.server.otlp.grpc_service import start_grpc
from gsym.server.otlp.receiving import profile_routes
from gsym.server.page.routes import page_routes
from gsym.server.reports import report_routes
from gsym.server.service import Service
from gsym.server.symbfiles.receiving import symbfile_routes
from gsym.server.symbolication import extension_routes, symbolication_routes
from gsym.server.uploads import upload_routes

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.responses import Response

    from gsym.modules.symbolizer import Symbolizer
    from gsym.server.monitoring import Metrics
    from gsym.server.settings import Settings

__all__ = ["MOUNTED", "create_app", "start_grpc"]

# Functions that return the routes of their endpoints: of the core, and of applications
# of their own, which the core does not know.
_CORE = (
    *(symbolication_routes, extension_routes, report_routes, upload_routes),
    *(health_routes, metrics_routes, openapi_routes),
)
MOUNTED = (arrow_routes, page_routes, symbfile_routes, profile_routes)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """The response to a request that raised an error."""
    status = getattr(error, "status_code", 500)
    headers = dict(getattr(error, "headers", None) or {})
    allowed = headers.pop("Allow", None)
    if allowed is not None:
        if request.method == "OPTIONS":
            origins = request.app.state.service.origins
            return options_response(request, allowed, origins)
        headers["allow"] = f"{allowed}, OPTIONS"
    title = error.detail if isinstance(error, HttpError) else ""
    path = f"{endpoint_path(request.scope)}/"
    if status == HTTPStatus.NOT_FOUND and path in (
        each.path for each in request.app.routes
    ):
        title = f"the path is {path}"
    return error_response(status, title, headers)


def create_app(
    settings: Settings, symbolizer: Symbolizer, metrics: Metrics | None = None
) -> Starlette:
    """The application; `app.state.service` is its `Service`.

    Raises:
        UnsupportedError: A setting needs a package that is not installed.
        ValueError: A path rule, a URL or the address of a proxy is invalid.
    """
    service = Service(settings, symbolizer, metrics)
    routes = [route for part in (*_CORE, *MOUNTED) for route in part(service)]
    # Last: their paths match almost anything.
    routes += download_routes(service)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            service.close()

    trusted = settings.trusted_proxies
    for each in trusted:
        if each != "*":
            ip_network(each)  # uvicorn would ignore it
    proxies = [Middleware(ProxyHeadersMiddleware, trusted)] if trusted else []
    app = Starlette(
        routes=routes,
        middleware=[
            *proxies,
            Middleware(RequestLog, service.metrics),
            Middleware(Admission, service),
            Middleware(Answers, service.run),
        ],
        exception_handlers={
            HTTPException: on_http_exception,
            Exception: on_http_exception,  # raised by middleware
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.service = service
    return app
