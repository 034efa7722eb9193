"""The ASGI application: endpoints and middleware, replaced when settings change."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from ipaddress import ip_network
from threading import Lock

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from gsym.errors import GsymError
from gsym.modules.symbolizer import Symbolizer
from gsym.server.admission import Admission, options_response
from gsym.server.answers import Answers
from gsym.server.arrow import arrow_routes
from gsym.server.debuginfod import debuginfod_routes
from gsym.server.downloads import download_routes
from gsym.server.errors import HttpError, endpoint_path, error_response
from gsym.server.logs import RequestLog, configure_logs
from gsym.server.modules import make_symbolizer
from gsym.server.monitoring import Metrics, health_routes
from gsym.server.openapi import openapi_routes
from gsym.server.otlp.grpc_service import start_grpc
from gsym.server.otlp.receiving import profile_routes
from gsym.server.page.routes import page_routes
from gsym.server.reports import report_routes
from gsym.server.service import Service
from gsym.server.settings import Settings
from gsym.server.symbfiles.receiving import symbfile_routes
from gsym.server.symbolication import extension_routes, symbolication_routes
from gsym.server.upkeep import Upkeep, tune_memory
from gsym.server.uploads import upload_routes

__all__ = ["MOUNTED", "create_app", "start_grpc"]

_LOG = logging.getLogger("gsym.server")
# Functions that return the routes of their endpoints: of the core, and of applications
# of their own, which the core does not know.
_CORE = (
    *(symbolication_routes, extension_routes, report_routes, upload_routes),
    *(health_routes, openapi_routes),
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
    routes += [*debuginfod_routes(service), *download_routes(service)]

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


def settings_of_modules(settings: Settings) -> tuple[object, ...]:
    """The settings that `make_symbolizer` reads; while equal, modules stay open."""
    limits = settings.limits
    return (
        *(settings.store, settings.sources, settings.allow_private),
        *(settings.confine_fetched, limits.child_memory, limits.child_seconds),
        *(limits.fetch_timeout, limits.max_fetch, limits.missing_time, limits.max_open),
    )


def reloading_app(load: Callable[[], Settings]) -> ReloadingApp:
    """Configure the logs of a worker process and create its application."""
    settings = load()
    configure_logs(settings)
    app = ReloadingApp(load, settings)
    tune_memory()
    return app


class ReloadingApp:
    """Passes requests to the application with the current settings."""

    def __init__(
        self,
        load: Callable[[], Settings],
        settings: Settings,
        open_modules: Callable[[Settings], Symbolizer] = make_symbolizer,
    ) -> None:
        self._load = load
        self._open_modules = open_modules
        self._settings = settings
        self._modules = _Modules(open_modules(settings))
        app = create_app(settings, self._modules.symbolizer)
        self.serving: _Serving = _Serving(app, self._modules)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or handle start and end of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self.serving(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        await receive()
        loop.add_signal_handler(signal.SIGHUP, self.reload)
        upkeep = Upkeep(lambda: self.serving.service)
        upkeep.start()
        grpc = await start_grpc(self, self._settings)
        # Before the first request: that would wait for the first scan
        for each in getattr(self._modules.symbolizer.resolver, "loose_folders", ()):
            each.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if grpc is not None:
            await grpc.stop()
        loop.remove_signal_handler(signal.SIGHUP)
        upkeep.stop()
        self.serving.service.close()
        await send({"type": "lifespan.shutdown.complete"})

    def reload(self) -> None:
        """Apply the current settings, unless they are invalid."""
        modules = self._modules
        try:
            settings = self._load()
            if settings_of_modules(settings) != settings_of_modules(self._settings):
                modules = _Modules(self._open_modules(settings))
            metrics = self.serving.service.metrics
            app = create_app(settings, modules.symbolizer, metrics)
        except (GsymError, OSError, ValueError) as error:
            _LOG.error("the configuration was not reloaded: %s", error)
            if modules is not self._modules:
                modules.symbolizer.close()
            return
        old, self.serving = self.serving, _Serving(app, modules)
        self._settings, self._modules = settings, modules
        configure_logs(settings)
        old.retire()
        _LOG.info("worker %d reloaded its configuration", os.getpid())


class _Modules:
    """A symbolizer that is closed with the last application that uses it."""

    def __init__(self, symbolizer: Symbolizer) -> None:
        self.symbolizer = symbolizer
        self._lock = Lock()
        self._users = 0

    def take(self) -> None:
        with self._lock:
            self._users += 1

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            is_needed = self._users > 0
        if not is_needed:
            self.symbolizer.close()


class _Serving:
    """An application that is closed after its last request, once it is replaced."""

    def __init__(self, app: Starlette, modules: _Modules) -> None:
        self.service: Service = app.state.service
        self._app = app
        self._modules = modules
        self._in_progress = 0
        self._is_retired = False
        modules.take()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._in_progress += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._in_progress -= 1
            self._close_once_idle()

    def retire(self) -> None:
        """Expect no new requests; close when those in progress are answered."""
        self._is_retired = True
        self._close_once_idle()

    def _close_once_idle(self) -> None:
        if self._is_retired and not self._in_progress:
            self.service.close(self._modules.release)
