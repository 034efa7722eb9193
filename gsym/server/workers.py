"""The processes of a server, one or several, and where they listen.

A worker that dies is started again. SIGHUP reads the configuration again, without an
end of requests or of open modules; if it has an error the old one stays.

Workers have a socket each, among which the kernel spreads connections. Of a shared one,
the first to wake would accept all connections that come at once, and keep them.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
from functools import partial

import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.supervisors import Multiprocess

from gsym.server.monitoring import FOLDER_VARIABLE
from gsym.server.protocol import Protocol
from gsym.server.reloading import reloading_app

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gsym.server.reloading import ReloadingApp
    from gsym.server.settings import Settings


_BACKLOG = 2048
# Elsewhere the last socket may get all connections.
_CAN_SPREAD = sys.platform == "linux"


def bind(settings: Settings) -> socket.socket:
    """A socket where the settings say: it listens, or is to be handed to workers.

    Raises:
        OSError: The address is in use, or none of this machine.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    address = (settings.host, settings.port)
    try:
        listener = _bound(socket.socket, family, address)
        if settings.workers == 1 or not _CAN_SPREAD:
            listener.listen(_BACKLOG)
            return listener
        # Sockets that spread connections do not tell that the address is in use.
        address = listener.getsockname()
        listener.close()
        return _bound(WorkerSocket, family, address)
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        raise OSError(error.errno, error.strerror, where) from None


class WorkerSocket(socket.socket):
    """A socket that becomes another one in each process it is handed to."""

    def __reduce__(self) -> tuple[Callable[..., socket.socket], tuple[object, ...]]:
        return _bound, (WorkerSocket, self.family, self.getsockname())


def _bound(
    kind: type[socket.socket], family: int, address: tuple[object, ...]
) -> socket.socket:
    listener = kind(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if kind is WorkerSocket:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    listener.set_inheritable(True)
    return listener


_LOG = logging.getLogger("gsym.server")
# Seconds after which a worker that says nothing is taken for hung. On a busy machine it
# takes more than uvicorn's five to start.
_LONGEST_START = 30
_STOP_SECONDS = 30  # for requests that are being answered when the server stops


def serve(
    load: Callable[[], Settings],
    app: ReloadingApp,
    settings: Settings,
    listener: socket.socket,
    greet: Callable[[], None],
) -> None:
    """Serve until a signal says to stop; requests that are under way are answered.

    Args:
        load: Reads the settings again. Workers are new processes: it is pickled.
        app: Made with it, for a single worker. Several workers make their own; then it
            is closed.
        settings: What it gave the first time.
        listener: From `bind`.
        greet: Called once nobody who connects is refused.
    """
    if settings.workers == 1:
        server = uvicorn.Server(_config(lambda: app, settings))
        signal.signal(signal.SIGTERM, partial(_stop, server))
        greet()
        with contextlib.suppress(KeyboardInterrupt):
            server.run([listener])
        _end_without_waiting()
        return
    app.close()
    config = _config(partial(reloading_app, load), settings)
    with _metrics_folder():
        _Workers(config, listener, greet).run()


def _stop(server: uvicorn.Server, _number: int, _frame: object) -> None:
    """End once the server has started: it handles signals itself from then on.

    When it has stopped, it raises the signals that it has handled again.
    """
    server.should_exit = True


def _end_without_waiting() -> None:
    """End this process where threads still fetch for requests that are over.

    Python would wait for them. What they leave in the store is cleaned up as that of a
    process that was killed.
    """
    if threading.active_count() > 1:
        logging.shutdown()
        os._exit(0)


def _config(app: Callable[[], Any], settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=True,
        http=partial(  # type: ignore[arg-type] # it makes one
            Protocol,
            head_size=settings.limits.max_head,
            head_timeout=settings.limits.head_timeout,
            write_timeout=settings.limits.write_timeout,
            connection_time=settings.limits.connection_time,
        ),
        workers=settings.workers,
        root_path=settings.root_path,
        timeout_graceful_shutdown=_STOP_SECONDS,
        timeout_worker_healthcheck=_LONGEST_START,
        access_log=False,
        log_config=None,
        proxy_headers=False,
        server_header=False,
        ws="none",
    )


@contextlib.contextmanager
def _metrics_folder() -> Iterator[None]:
    """The folder in which workers collect their metrics."""
    if FOLDER_VARIABLE in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="gsym-figures-") as folder:
        os.environ[FOLDER_VARIABLE] = folder
        try:
            yield
        finally:
            del os.environ[FOLDER_VARIABLE]


class _Workers(Multiprocess):
    """Worker processes that read their configuration again themselves."""

    def __init__(
        self, config: uvicorn.Config, listener: socket.socket, greet: Callable[[], None]
    ) -> None:
        super().__init__(config, [listener])
        self._greet = greet

    def init_processes(self) -> None:
        """Start them; they listen when they are ready."""
        super().init_processes()
        for worker in self.processes:
            worker.wait_until_ready(self.config.timeout_worker_healthcheck)
        self._greet()

    def keep_subprocess_alive(self) -> None:
        """Start successors of those that have died, whose state counts no more."""
        before = {worker.pid for worker in self.processes}
        super().keep_subprocess_alive()
        for dead in before - {worker.pid for worker in self.processes}:
            _LOG.warning("worker %d has died; it is replaced", dead)
            mark_process_dead(dead)  # type: ignore[no-untyped-call]

    def handle_hup(self) -> None:
        """Hand the signal on."""
        for worker in self.processes:
            if worker.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGHUP)
