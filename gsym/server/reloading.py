"""An application that reloads its configuration while it serves."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from threading import Lock

from gsym.errors import GsymError
from gsym.server.application import create_app, start_grpc
from gsym.server.logs import configure_logs
from gsym.server.modules import make_symbolizer, read_folders
from gsym.server.upkeep import Upkeep, tune_memory

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.applications import Starlette
    from starlette.types import Receive, Scope, Send

    from gsym.modules.symbolizer import Symbolizer
    from gsym.server.service import Service
    from gsym.server.settings import Settings


_LOG = logging.getLogger("gsym.server")


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
        read_folders(self._modules.symbolizer)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if grpc is not None:
            await grpc.stop()
        loop.remove_signal_handler(signal.SIGHUP)
        upkeep.stop()
        self.serving.service.close()
        await send({"type": "lifespan.shutdown.complete"})

    def close(self) -> None:
        """Release everything, if nothing was served."""
        self.serving.retire()

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
        """Expect no new requests; those in progress continue."""
        self._is_retired = True
        self._close_once_idle()

    def _close_once_idle(self) -> None:
        if self._is_retired and not self._in_progress:
            self.service.close(self._modules.release)
