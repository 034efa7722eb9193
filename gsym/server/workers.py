"""The processes of a server and their sockets.

A worker that dies is replaced, also a single one. SIGHUP reloads the configuration
without interrupting requests or closing modules; if it has an error, the old one is
kept.

Each worker has a socket of its own, and the kernel distributes connections among them.
With a shared socket, the first worker to wake up would accept all pending connections.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import logging
import os
import signal
import socket
import ssl
import sys
import tempfile
from asyncio import AbstractEventLoop, new_event_loop
from collections.abc import Callable, Iterator
from functools import partial
from glob import escape, glob
from typing import Any

import msgspec
import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from gsym.errors import GsymError
from gsym.server.application import ReloadingApp, reloading_app
from gsym.server.logs import log_everything
from gsym.server.mapped_files import survive_bus_errors
from gsym.server.monitoring import FOLDER_VARIABLE, count_death
from gsym.server.protocol import Protocol
from gsym.server.settings import Settings, SettingsError
from gsym.store.locking import owned_folder, remove_abandoned

_BACKLOG = 2048
_PASSED = 3  # the descriptor of the first socket that systemd passes
# Other systems may give all connections to the last socket.
_CAN_DISTRIBUTE = sys.platform == "linux"


def bind(settings: Settings) -> socket.socket:
    """A socket bound as configured: it listens, or is to be passed to workers.

    A socket that systemd has passed is taken as it is. It stays open while the server
    is restarted, so that no connection is refused.
    """
    if os.environ.get("LISTEN_PID") == str(os.getpid()):
        del os.environ["LISTEN_PID"]
        if os.environ.pop("LISTEN_FDS", "") != "1":
            raise OSError(errno.EINVAL, "more than one socket was passed")
        os.set_inheritable(_PASSED, False)  # noqa: FBT003 - its form
        return socket.socket(fileno=_PASSED)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    address = (settings.host, settings.port)
    try:
        listener = _bound(socket.socket, family, address)
        if settings.workers == 1 or not _CAN_DISTRIBUTE:
            listener.listen(_BACKLOG)
            return listener
        # With SO_REUSEPORT, an address in use is not an error; so bind without first.
        address = listener.getsockname()
        listener.close()
        return _bound(WorkerSocket, family, address)
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        raise OSError(error.errno, error.strerror, where) from None


def check_host(settings: Settings) -> None:
    """Check that this machine has the address to listen on, whatever the port."""
    if "LISTEN_PID" not in os.environ:
        bind(msgspec.structs.replace(settings, port=0, workers=1)).close()


def check_grpc_port(settings: Settings) -> None:
    """Check that workers can listen for gRPC."""
    if settings.grpc_port:
        replaced = msgspec.structs.replace
        bind(replaced(settings, port=settings.grpc_port, workers=1)).close()


def check_tls(settings: Settings) -> None:
    """Check certificate and key of the server.

    Raises:
        SettingsError: They are invalid, or do not belong together.
    """
    if settings.tls_certificate:
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
                settings.tls_certificate, settings.tls_key or None
            )
        except ssl.SSLError as error:
            reason = error.reason or str(error)
            raise SettingsError(f"setting 'tls_certificate': {reason}") from None


class WorkerSocket(socket.socket):
    """A socket that is unpickled as a new socket with the same address."""

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
# Seconds after which a silent worker counts as hung. uvicorn's default of 5 is too
# short for a worker to start on a busy machine.
_LONGEST_START = 30
_STOP_SECONDS = 30  # for requests in progress when the server stops


def serve(
    load: Callable[[], Settings],
    settings: Settings,
    listener: socket.socket,
    greet: Callable[[], None],
) -> None:
    """Serve until a signal stops the server; requests in progress are answered.

    Args:
        load: Reads the settings. It is pickled, as workers are new processes.
        settings: First result of *load*.
        listener: From `bind`.
        greet: Called when the server accepts connections.

    Raises:
        GsymError: A worker could not start.
    """
    log_everything()
    config = _config(partial(worker_app, load), settings)
    with _metrics_folder():
        workers = _Workers(config, listener, greet)
        workers.run()
    if any(each.exitcode == STARTUP_FAILURE for each in workers.processes):
        raise GsymError("a worker could not start; its errors are above")


_PR_SET_PDEATHSIG = 1


def worker_app(load: Callable[[], Settings]) -> ReloadingApp:
    """The application of a worker, which ends with the process that started it."""
    survive_bus_errors()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    log_everything()
    return reloading_app(load)


class _Config(uvicorn.Config):
    """A configuration whose loops end TLS handshakes that take longer than a head."""

    def __init__(self, *given: Any, handshake_timeout: float, **others: Any) -> None:
        super().__init__(*given, **others)
        self._handshake_timeout = handshake_timeout

    def get_loop_factory(self) -> Callable[[], AbstractEventLoop] | None:
        """Return the function that makes the loop of a worker."""
        make = super().get_loop_factory() or new_event_loop
        return partial(self._loop, make) if self.is_ssl else make

    def _loop(self, make: Callable[[], AbstractEventLoop]) -> AbstractEventLoop:
        loop = make()
        listen = partial(
            loop.create_server, ssl_handshake_timeout=self._handshake_timeout
        )
        loop.create_server = listen  # type: ignore[method-assign] # of this one
        return loop


def _config(app: Callable[[], Any], settings: Settings) -> uvicorn.Config:
    return _Config(
        app,
        handshake_timeout=settings.limits.head_timeout,
        factory=True,
        http=partial(
            Protocol,
            head_size=settings.limits.max_head,
            head_timeout=settings.limits.head_timeout,
            write_timeout=settings.limits.write_timeout,
            connection_time=settings.limits.connection_time,
        ),
        workers=settings.workers,
        root_path=settings.root_path,
        ssl_certfile=settings.tls_certificate or None,
        ssl_keyfile=settings.tls_key or None,
        timeout_graceful_shutdown=_STOP_SECONDS,
        timeout_worker_healthcheck=_LONGEST_START,
        access_log=False,
        log_config=None,
        proxy_headers=False,
        server_header=False,
        ws="none",
        lifespan="on",  # a worker that cannot listen for gRPC does not go on without
    )


@contextlib.contextmanager
def _metrics_folder() -> Iterator[None]:
    """Provide a folder in which workers collect their metrics."""
    if FOLDER_VARIABLE in os.environ:
        yield
        return
    stem = os.path.join(tempfile.gettempdir(), ".gsym-metrics-")
    # Exactly the names of `owned_folder`: the folder has those of others, too.
    for left in glob(escape(stem) + "[0-9a-f]" * 16):
        remove_abandoned(left)  # of a server that was killed
    with owned_folder(stem) as folder:
        os.chmod(folder, 0o700)
        os.environ[FOLDER_VARIABLE] = folder
        try:
            yield
        finally:
            del os.environ[FOLDER_VARIABLE]


class _Workers(Multiprocess):
    """Worker processes that reload their configuration themselves."""

    def __init__(
        self, config: uvicorn.Config, listener: socket.socket, greet: Callable[[], None]
    ) -> None:
        super().__init__(config, [listener])
        self._greet = greet

    def init_processes(self) -> None:
        """Start the workers and wait until they listen."""
        super().init_processes()
        self._hand_over_pipes()
        for worker in self.processes:
            worker.wait_until_ready(self.config.timeout_worker_healthcheck)
        self._greet()
        _notify("READY=1")

    def run(self) -> None:
        """Start the workers, and replace those that die until a signal stops all."""
        try:
            super().run()
        finally:
            for worker in self.processes:  # after an error, Python would wait for them
                if worker.process.is_alive():
                    worker.process.terminate()

    def keep_subprocess_alive(self) -> None:
        """Replace dead workers and drop their gauges from the metrics."""
        before = {worker.pid: worker for worker in self.processes}
        super().keep_subprocess_alive()
        self._hand_over_pipes()
        for dead in before.keys() - {worker.pid for worker in self.processes}:
            ending = _ending(before[dead].exitcode)
            _LOG.warning("worker %d died and was replaced: %s", dead, ending)
            count_death()
            mark_process_dead(dead)  # type: ignore[no-untyped-call]

    def _hand_over_pipes(self) -> None:
        """Close the ends of pipes that workers have.

        Otherwise the death of a worker while it is asked whether it lives would be
        noticed only when it should have answered.
        """
        for worker in self.processes:
            worker.child_conn.close()

    def terminate_all(self) -> None:
        """Tell systemd, then the workers, that the server stops."""
        _notify("STOPPING=1")
        super().terminate_all()

    def handle_hup(self) -> None:
        """Forward the signal to the workers."""
        for worker in self.processes:
            if worker.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGHUP)


def _notify(state: str) -> None:
    """Tell systemd the state of the service, if it asks for it."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path:
        return
    address = f"\0{path[1:]}" if path[0] == "@" else path
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as told,
    ):
        told.sendto(state.encode("ascii"), address)


def _ending(status: int | None) -> str:
    """Description of how a process ended, by the exit code of `multiprocessing`."""
    if status == -signal.SIGKILL:
        return f"SIGKILL (out of memory, or no answer for {_LONGEST_START} s)"
    if status is not None and status < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-status).name
    return f"exit status {status}"
