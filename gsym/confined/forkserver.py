"""Starts processes fast: each is forked by one that has loaded the code.

A new interpreter takes about 60 ms to start and to load the code that converts a
module, a fork of one that waits a few. The processes share nothing else: each reads
its own order, does one task and ends, and the one that forks them reads no input.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

_BOOTSTRAP = (
    "import json, sys; target, modules, sys.path[:] = json.loads(sys.argv[1]); "
    "from gsym.confined.forkserver import serve_forks; serve_forks(target, modules)"
)
# Needed by an engine with sanitizers. Nothing else of the environment is passed on, as
# it may contain credentials.
_KEPT = (
    *("LD_PRELOAD", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS"),
    *("UBSAN_OPTIONS", "LANG", "LC_ALL"),
)
# All forks have one address layout, of which a crash may tell an attacker a little.
_MOST_FORKS = 1000
_MOST_FILES = 1024
_STATUS = struct.Struct("<i")
_FAILED = 1


class ForkServer:
    """Forks processes that run orders; started at the first order.

    Args:
        target: Module and function, separated by a colon, that runs an order: a JSON
            object with at least `folder`, which becomes the current folder and
            `TMPDIR`.
        modules: Modules to load before the first fork.
    """

    def __init__(self, target: str, modules: Sequence[str]) -> None:
        self._target = target
        self._modules = modules
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._closed: list[subprocess.Popen[bytes]] = []
        self._forks = 0
        self._running = 0
        # called with the number of processes whenever one starts or ends
        self.show: Callable[[int], object] = lambda _running: None
        atexit.register(self.close)

    def run(self, order: dict[str, Any], seconds: float) -> int | None:
        """Run an order in a new process; kill it with its children after a time.

        Returns:
            The exit status, negative for a signal; None if the process timed out.
        """
        self._count(1)
        try:
            return self._run(order, seconds)
        finally:
            self._count(-1)

    def _count(self, step: int) -> None:
        with self._lock:
            self._running += step
            self.show(self._running)

    def _run(self, order: dict[str, Any], seconds: float) -> int | None:
        mine, its = socket.socketpair()
        with mine:
            with its:
                reading, writing = os.pipe()
                try:
                    self._send([its.fileno(), reading])
                except BaseException:
                    os.close(writing)
                    raise
                finally:
                    os.close(reading)
            # A process that ends early is no reason to fail: its status tells more.
            with suppress(BrokenPipeError), open(writing, "w") as pipe:
                json.dump(order, pipe)
            mine.settimeout(seconds)
            try:
                status = mine.recv(_STATUS.size)
            except TimeoutError:
                mine.shutdown(socket.SHUT_WR)
                mine.settimeout(None)
                mine.recv(_STATUS.size)  # the process has ended
                return None
        if not status:
            raise ChildProcessError("a process could not be started, or was lost")
        found: int = _STATUS.unpack(status)[0]
        if found < 0:  # a fault
            with self._lock:
                self._close()
        return found

    def _send(self, descriptors: Sequence[int]) -> None:
        with self._lock:
            if self._forks == _MOST_FORKS:
                self._close()
            try:
                socket.send_fds(self._control or self._start(), [b"\0"], descriptors)
            except OSError:  # it was killed
                self._close()
                socket.send_fds(self._start(), [b"\0"], descriptors)
            self._forks += 1

    def _start(self) -> socket.socket:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        path = [os.path.abspath(each) for each in sys.path if each]
        start = json.dumps([self._target, self._modules, path])
        self._forks = 0
        self._control, its = socket.socketpair()
        with its:
            # -I: no modules are loaded from the environment or the current folder.
            self._process = subprocess.Popen(  # noqa: S603 - the interpreter of this
                [sys.executable, "-I", "-B", "-c", _BOOTSTRAP, start],
                env={**kept, "MALLOC_ARENA_MAX": "2"},
                stdin=its.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        return self._control

    @property
    def pid(self) -> int | None:
        """The process that forks the others."""
        process = self._process
        return None if process is None else process.pid

    def close(self) -> None:
        """Kill the server and its processes."""
        with self._lock:
            self._close()
            for process in self._closed:
                process.kill()
                process.wait()
            self._closed.clear()

    def _close(self) -> None:
        """Start no more processes from the present server; those that run end first."""
        self._closed = [each for each in self._closed if each.poll() is None]
        if self._control is not None and self._process is not None:
            self._control.close()
            self._closed.append(self._process)
        self._control = self._process = None


def serve_forks(target: str, modules: Sequence[str]) -> None:
    """Fork processes until standard input, a socket, is closed.

    Each message on it has two descriptors: a socket that is sent the exit status, and
    a pipe with the order. When the other end of the socket is shut down, the process is
    killed.
    """
    # Closing all descriptors takes long where their number is hardly limited.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    control = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    for each in modules:
        import_module(each)
    module, _, name = target.partition(":")
    run = getattr(import_module(module), name)
    _Forks(control, run).serve()


class _Forks:
    """The processes forked by this one, which has a single thread."""

    def __init__(
        self, control: socket.socket, run: Callable[[dict[str, Any]], None]
    ) -> None:
        self._control = control
        self._run = run
        self._reports: dict[int, socket.socket] = {}  # by process
        self._selector = selectors.DefaultSelector()
        self._woken, self._waker = socket.socketpair()
        for each in (self._woken, self._waker):
            each.settimeout(0)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(self._waker.fileno())
        self._selector.register(control, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)

    def serve(self) -> None:
        is_open = True
        while is_open or self._reports:
            for key, _ in self._selector.select():
                if key.fileobj is self._control:
                    is_open = self._accept()
                elif key.fileobj is self._woken:
                    with suppress(BlockingIOError):
                        self._woken.recv(4096)
                    self._reap()
                # A process reaped meanwhile is left alone: another one may have its
                # number now.
                elif self._reports.get(key.data) is key.fileobj:
                    self._selector.unregister(key.fileobj)
                    _kill(key.data)

    def _accept(self) -> bool:
        """Fork a process for the next message; False after the last one."""
        message, descriptors, _, _ = socket.recv_fds(self._control, 1, 2)
        if not message:
            self._selector.unregister(self._control)
            return False
        try:
            report, order = descriptors
            pid = os.fork()
        except (OSError, ValueError):  # too many processes, or open files
            for each in descriptors:
                os.close(each)
            return True
        if pid == 0:
            _become(order, self._run)
        os.close(order)
        self._reports[pid] = its = socket.socket(fileno=report)
        self._selector.register(its, selectors.EVENT_READ, pid)
        return True

    def _reap(self) -> None:
        for pid in list(self._reports):
            # It stays a zombie, whose number no other process can have, until its
            # children are killed.
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            if os.waitid(os.P_PID, pid, options) is None:
                continue
            _kill(pid)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            with self._reports.pop(pid) as report:
                if report.fileno() in self._selector.get_map():
                    self._selector.unregister(report)
                with suppress(OSError):  # nobody waits
                    report.send(_STATUS.pack(status))


def _kill(pid: int) -> None:
    """Kill a process and its group; it may not have made that yet."""
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _become(descriptor: int, run: Callable[[dict[str, Any]], None]) -> NoReturn:
    """Run an order in this process, which was forked for it."""
    status: Any = _FAILED
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        with open(descriptor, encoding="utf-8") as pipe:
            order = json.load(pipe)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.chdir(order["folder"])
        os.environ["TMPDIR"] = order["folder"]
        run(order)
        status = 0
    except SystemExit as end:
        status = end.code
    finally:
        os._exit(status if isinstance(status, int) else _FAILED)
