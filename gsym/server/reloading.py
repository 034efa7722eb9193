"""An application that takes on a new configuration while it serves."""

from __future__ import annotations

import asyncio
import logging
import os
import signal

from gsym.errors import GsymError
from gsym.server.application import create_app
from gsym.server.logs import configure_logs
from gsym.server.modules import make_symbolizer
from gsym.server.process_memory import tune_memory

__all__ = ["ReloadingApp", "reloading_app"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.applications import Starlette
    from starlette.types import Receive, Scope, Send

    from gsym.server.settings import Settings
    from gsym.symbolizer import Symbolizer

_LOG = logging.getLogger("gsym.server")
# With others than these the modules that are open stay so.
_OF_MODULES = (
    "store",
    "sources",
    "allow_private",
    "max_open",
    "max_mapped",
    "index_memory",
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
        self._symbolizer = open_modules(settings)
        self._app: Starlette = create_app(settings, self._symbolizer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or begin and end with the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self._app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        await receive()
        loop.add_signal_handler(signal.SIGHUP, self.reload)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        loop.remove_signal_handler(signal.SIGHUP)
        self._app.state.service.close()
        await send({"type": "lifespan.shutdown.complete"})

    def reload(self) -> None:
        """Take on the settings as they are now, unless they have a fault."""
        try:
            settings = self._load()
            symbolizer = self._symbolizer
            if any(
                getattr(settings, name) != getattr(self._settings, name)
                for name in _OF_MODULES
            ):
                symbolizer = self._open_modules(settings)
            app = create_app(settings, symbolizer, self._app.state.service.metrics)
        except (GsymError, OSError, ValueError) as error:
            _LOG.error("the configuration is not taken on: %s", error)
            return
        old, self._app = self._app, app
        self._settings, self._symbolizer = settings, symbolizer
        configure_logs(settings)
        old.state.service.retire()
        _LOG.info("worker %d has read its configuration again", os.getpid())
