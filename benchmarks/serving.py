"""Run `gsym serve` in separate processes, and measure them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import urlopen

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from typing_extensions import Self

HOST = "127.0.0.1"
_PATIENCE = 30  # seconds until a server answers
_GRACE = 15  # seconds until it has stopped
_MIB = 1024  # KiB
_HEARTBEAT = "/__lbheartbeat__"


class Resources(NamedTuple):
    """What the processes of a server hold.

    Attributes:
        resident: MiB in memory, pages of files that processes share counted each time.
        private: Those of them that no file holds.
        descriptors: Open files and connections.
        processes: How many there are.
    """

    resident: float
    private: float
    descriptors: int
    processes: int


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


class ServerProcess:
    """`gsym serve` on a free port of this machine, whose workers all listen.

    Attributes:
        port: Where it listens.
        log: What it wrote, among it a line for each request.
    """

    def __init__(self, *options: str, log: Path | None = None) -> None:
        self.port = free_port()
        self._command = [sys.executable, "-m", "gsym", "serve", "--host", HOST]
        self._command += ["--port", str(self.port), *options]
        self._folder = tempfile.TemporaryDirectory()
        self.log = log or Path(self._folder.name) / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        greeting = f"symbolServer=http://{HOST}:{self.port}".encode()
        end = time.monotonic() + _PATIENCE
        while greeting not in self.log.read_bytes():
            if time.monotonic() > end or self._process.poll() is not None:
                self.stop()
                raise TimeoutError(self.log.read_text(encoding="utf-8"))
            time.sleep(0.02)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._folder.cleanup()

    def stop(self) -> bool:
        """End it, kindly first; whether that was enough."""
        process = self._process
        if process is None:
            return True
        process.terminate()
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            for pid in reversed(self.pids()):
                os.kill(pid, signal.SIGKILL)
            process.wait()
        self._process = None
        return process.returncode != -signal.SIGKILL

    def pids(self) -> list[int]:
        """Its processes, the first one first."""
        if self._process is None:
            return []
        return [self._process.pid, *_descendants(self._process.pid)]

    def workers(self) -> list[int]:
        """The processes that answer."""
        first, *_ = self.pids()
        return [pid for pid in _children(first) if not _is_tracker(pid)]

    def resources(self) -> Resources:
        """What it holds now."""
        return resources(self.pids())


def wait_until_it_answers(port: int) -> None:
    """Until the server at a port of this machine tells that it lives.

    Raises:
        TimeoutError: It does not.
    """
    end = time.monotonic() + _PATIENCE
    while not _answers(port):
        if time.monotonic() > end:
            raise TimeoutError(f"no server answers at port {port}")
        time.sleep(0.05)


def _answers(port: int) -> bool:
    try:
        with urlopen(f"http://{HOST}:{port}{_HEARTBEAT}", timeout=1):
            return True
    except OSError:
        return False


def resources(pids: Sequence[int]) -> Resources:
    """What processes hold; those that have ended count for nothing."""
    resident = private = descriptors = count = 0
    for pid in pids:
        try:
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
            descriptors += len(list(Path(f"/proc/{pid}/fd").iterdir()))
        except OSError:
            continue
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        resident += int(fields.get("VmRSS", "0 kB").split()[0])
        private += int(fields.get("RssAnon", "0 kB").split()[0])
        count += 1
    return Resources(resident / _MIB, private / _MIB, descriptors, count)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            found += map(int, path.read_text(encoding="ascii").split())
    return found


def _descendants(pid: int) -> list[int]:
    children = _children(pid)
    return children + [each for child in children for each in _descendants(child)]


def _is_tracker(pid: int) -> bool:
    """Whether a process is the one by which Python cleans up after others."""
    try:
        return b"resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True
