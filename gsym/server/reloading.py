"""An application that takes on a new configuration while it serves."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import os
import signal
from threading import Lock

from gsym.errors import GsymError
from gsym.server.application import create_app
from gsym.server.logs import configure_logs
from gsym.server.modules import make_symbolizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.applications import Starlette
    from starlette.types import Receive, Scope, Send

    from gsym.server.service import Service
    from gsym.server.settings import Settings
    from gsym.store.symbolizer import Symbolizer


_NEW_OBJECTS = 100_000  # until cycles are looked for
# Of glibc's malloc.h: parameters, and what they are set to.
_MALLOC = (
    (-1, 64 << 20),  # M_TRIM_THRESHOLD: bytes that are free before some are given back
    (-3, 32 << 20),  # M_MMAP_THRESHOLD: bytes from which a block is mapped by itself
    (-8, 2),  # M_ARENA_MAX: each keeps memory of its own
)


def tune_memory() -> None:
    """Tune this process, once it is made of what it will be made of."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)
    try:
        tune = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return  # another C library than glibc
    for parameter, value in _MALLOC:
        tune(parameter, value)


_LOG = logging.getLogger("gsym.server")


def settings_of_modules(settings: Settings) -> tuple[object, ...]:
    """What `make_symbolizer` reads. If it is equal, open modules stay open."""
    limits = settings.limits
    return (
        *(settings.store, settings.sources, settings.allow_private),
        *(settings.confine_fetched, limits.child_memory, limits.child_seconds),
        *(limits.fetch_timeout, limits.max_fetch, limits.missing_time, limits.max_open),
    )


def reloading_app(load: Callable[[], Settings]) -> ReloadingApp:
    """The application of a worker process, which has its logs configured."""
    settings = load()
    configure_logs(settings)
    app = ReloadingApp(load, settings)
    tune_memory()
    return app


class ReloadingApp:
    """Hands requests to the application of the settings that hold now.

    Args:
        load: Reads the settings.
        settings: What it gave the first time.
        open_modules: Makes what has the modules, by the settings.
    """

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
        self.serving = _Serving(app, self._modules)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or begin and end with the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self.serving(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        await receive()
        loop.add_signal_handler(signal.SIGHUP, self.reload)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        loop.remove_signal_handler(signal.SIGHUP)
        self.serving.service.close()
        await send({"type": "lifespan.shutdown.complete"})

    def close(self) -> None:
        """Release everything, if nothing was served."""
        self.serving.retire()

    def reload(self) -> None:
        """Take on the settings as they are now, unless they have a fault."""
        modules = self._modules
        try:
            settings = self._load()
            if settings_of_modules(settings) != settings_of_modules(self._settings):
                modules = _Modules(self._open_modules(settings))
            metrics = self.serving.service.metrics
            app = create_app(settings, modules.symbolizer, metrics)
        except (GsymError, OSError, ValueError) as error:
            _LOG.error("the configuration is not taken on: %s", error)
            if modules is not self._modules:
                modules.symbolizer.close()
            return
        old, self.serving = self.serving, _Serving(app, modules)
        self._settings, self._modules = settings, modules
        configure_logs(settings)
        old.retire()
        _LOG.info("worker %d has read its configuration again", os.getpid())


class _Modules:
    """What has the modules, closed with the last application that asks it."""

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
    """An application that ends with its last request once it has a successor."""

    def __init__(self, app: Starlette, modules: _Modules) -> None:
        self.service: Service = app.state.service
        self._app = app
        self._modules = modules
        self._under_way = 0
        self._is_retired = False
        modules.take()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._under_way += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._under_way -= 1
            self._close_once_idle()

    def retire(self) -> None:
        """No request comes any more; those that are under way go on."""
        self._is_retired = True
        self._close_once_idle()

    def _close_once_idle(self) -> None:
        if self._is_retired and not self._under_way:
            self.service.close(self._modules.release)
