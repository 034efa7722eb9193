"""Processes that serve: connections are spread, a dead one has a successor."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

from benchmarks.http_load import Client, request
from benchmarks.serving import HOST, ServerProcess, free_port
from gsym.server.settings import Settings
from gsym.server.workers import _LONGEST_START, serve
from tests.server.running import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    import uvicorn

pytestmark = [pytest.mark.slow, pytest.mark.no_engine]

LIVES = request(HOST, "/__lbheartbeat__")
CONNECTIONS = 32
PATIENCE = 30  # seconds


@contextmanager
def connected(port: int) -> Iterator[None]:
    """Clients that connected at once, and stay."""

    async def connect() -> list[Client]:
        clients = [Client(HOST, port) for _ in range(CONNECTIONS)]
        answers = await asyncio.gather(*(client.ask(LIVES) for client in clients))
        assert {answer.status for answer in answers} == {200}
        return clients

    async def close(clients: list[Client]) -> None:
        for client in clients:
            client.close()

    loop = asyncio.new_event_loop()
    clients = loop.run_until_complete(connect())
    yield
    loop.run_until_complete(close(clients))
    loop.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    options = ("--workers", "2", "--store", str(tmp_path))
    # Health checks that succeed are logged with this level.
    with ServerProcess(*options, "--set", "log_level=debug") as running:
        yield running


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux spreads connections")
def test_connections_that_come_at_once_are_spread(server: ServerProcess) -> None:
    with connected(server.port):
        lines = server.log.read_text(encoding="utf-8").splitlines()
    pids = {json.loads(line)["pid"] for line in lines if "heartbeat" in line}
    assert pids == set(server.workers())


def test_a_server_whose_output_nobody_reads_serves_and_stops(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "gsym", "serve", "--port", str(port)]
    command += ["--store", str(tmp_path), "--set", "log_format=text"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.stderr.close()
        with connected(port):
            process.terminate()
        assert process.wait(PATIENCE) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_single_worker_that_dies_is_replaced_and_counted(tmp_path: Path) -> None:
    with ServerProcess("--store", str(tmp_path)) as server:
        (worker,) = server.workers()
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: metric(server, "gsym_worker_deaths_total") == 1)
        assert server.workers() != [worker]
        text = server.log.read_text(encoding="utf-8")
    how = "SIGKILL (out of memory, or no answer for 30 s)"
    assert f"worker {worker} died and was replaced: {how}" in text


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_worker_killed_while_it_is_asked_is_replaced_before_its_time_to_answer(
    tmp_path: Path,
) -> None:
    with ServerProcess("--store", str(tmp_path)) as server:
        (worker,) = server.workers()
        os.kill(worker, signal.SIGSTOP)
        time.sleep(1.5)  # the supervisor asks twice a second
        os.kill(worker, signal.SIGKILL)
        start = time.monotonic()
        wait_until(lambda: metric(server, "gsym_worker_deaths_total") == 1)
        assert time.monotonic() - start < _LONGEST_START / 2


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    with ServerProcess("--workers", "2", "--store", str(tmp_path)) as server:
        first, *_ = server.pids()
        workers = server.workers()
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: not any(is_there(pid) for pid in workers))


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_server_removes_what_one_that_was_killed_left_elsewhere_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary, digits = tmp_path / "temporary", "0123456789abcdef"
    others = {"gsym-serve-x", f"gsym-serve-{digits}", f"x.gsym-metrics-{digits}"}
    others |= {".gsym-metrics-x", f".gsym-metrics-{digits}.old"}
    for name in others:
        (temporary / name).mkdir(parents=True)

    def made() -> set[str]:
        return {each.name for each in temporary.glob("*gsym-*")} - others

    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    options = ("--store", str(tmp_path / "store"))
    log = tmp_path / "log"
    with ServerProcess(*options, log=log) as one, ServerProcess(*options) as other:
        assert len(made()) == 2
        first, *workers = one.pids()
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: not any(is_there(pid) for pid in workers))
        assert len(made()) == 2
        with ServerProcess(*options):
            assert len(made()) == 2
            assert metric(other, "gsym_worker_deaths_total") == 0
    assert {each.name for each in temporary.iterdir()} == others


def test_workers_have_time_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    configs: list[uvicorn.Config] = []

    def supervisor(config: uvicorn.Config, *_: object) -> SimpleNamespace:
        configs.append(config)
        return SimpleNamespace(run=lambda: None, processes=[])

    monkeypatch.setattr("gsym.server.workers._Workers", supervisor)
    with socket.socket() as listener:
        serve(Settings, Settings(workers=2), listener, lambda: None)
    assert [config.timeout_worker_healthcheck for config in configs] == [PATIENCE]


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").exists()


def metric(server: ServerProcess, name: str) -> float:
    try:
        with urlopen(f"http://{HOST}:{server.port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
    except OSError:
        return -1  # nobody is there to tell
    name += " "
    return sum(float(line[len(name) :]) for line in lines if line.startswith(name))


def test_requests_of_a_killed_worker_are_not_in_flight(tmp_path: Path) -> None:
    body = json.dumps({"stacks": [[[0, 16]]], "memoryMap": [["x", "1" * 33]]}).encode()
    head = "POST /symbolicate/v5 HTTP/1.1\r\nHost: localhost\r\n"
    sent = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    with (
        socket.create_server((HOST, 0)) as source,  # connects, and says nothing
        ServerProcess(
            *("--workers", "2", "--store", str(tmp_path)),
            *("--source", f"http://{HOST}:{source.getsockname()[1]}/"),
        ) as server,
    ):
        address = (HOST, server.port)
        clients = [socket.create_connection(address) for _ in range(CONNECTIONS)]
        for client in clients:
            client.sendall(sent)
        wait_until(lambda: metric(server, "gsym_requests_in_flight") == CONNECTIONS)
        for worker in server.workers():
            os.kill(worker, signal.SIGKILL)
        wait_until(lambda: metric(server, "gsym_requests_in_flight") == 0)
        for client in clients:
            client.close()


def test_a_port_in_use_is_reported(server: ServerProcess, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gsym", "serve", "--port", str(server.port)]
    done = subprocess.run(
        [*command, "--workers", "2", "--store", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert "in use" in done.stderr
    assert f":{server.port}" in done.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_connections_after_the_greeting_are_accepted(
    workers: str, tmp_path: Path
) -> None:
    port = free_port()
    command = [sys.executable, "-m", "gsym", "serve", "--port", str(port)]
    command += ["--workers", workers, "--store", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert str(port) in process.stderr.readline()
        with connected(port):
            process.terminate()
        process.stderr.read()
        assert process.wait(PATIENCE) == 0, "however early it is stopped"


def test_a_connection_is_closed_after_its_time(
    tmp_path: Path,
) -> None:
    options = ("--store", str(tmp_path), "--limit", "connection_time=100ms")
    with ServerProcess(*options) as server:
        connection = HTTPConnection(HOST, server.port)
        heads = []
        for _ in range(2):
            connection.request("GET", "/__lbheartbeat__")
            answer = connection.getresponse()
            answer.read()
            heads.append(answer.getheader("connection"))
            time.sleep(0.15)
        connection.close()
    assert heads == [None, "close"]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_that_stops_does_not_wait_for_a_source(
    workers: str, tmp_path: Path
) -> None:
    body = {"stacks": [[[0, 16]]], "memoryMap": [["xul.pdb", "1" * 33]]}
    options = ["--workers", workers, "--store", str(tmp_path)]
    with ExitStack() as stack:
        for _ in range(3):  # connect, and say nothing: 10 seconds each
            source = stack.enter_context(socket.create_server((HOST, 0)))
            options += ["--source", f"http://{HOST}:{source.getsockname()[1]}/"]
        server = ServerProcess(*options, "--limit", "request_timeout=0.2")
        with server:
            connection = HTTPConnection(HOST, server.port)
            connection.request("POST", "/symbolicate/v5", json.dumps(body))
            assert connection.getresponse().status == 503
            connection.close()
            assert server.stop()
