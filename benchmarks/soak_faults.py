"""The faults of a soak test: upstream server, clients, killed workers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

from benchmarks.faulty_upstream import COLD, FUNCTION, OFFSET
from benchmarks.http_load import Client, hang_up, request as http_request
from benchmarks.server_latency import API
from benchmarks.serving import HOST, free_port, wait_until_it_answers
from benchmarks.soak_load import OK, Tally

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

    from benchmarks.serving import ServerProcess
    from benchmarks.symbolication_load import Module

REPEATED = 4  # every so many requests ask for a module that was asked for before
_POLL = 0.1  # seconds
_GIVE_UP = 60  # seconds until a module is given up that does not come


class Upstream:
    """A symbol server on this machine, in a process of its own, that can be broken."""

    def __init__(self, tree: Path) -> None:
        self.port = free_port()
        command = [sys.executable, "-m", "benchmarks.faulty_upstream"]
        self._command = [*command, str(self.port), str(tree)]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where its files are."""
        return f"http://{HOST}:{self.port}/"

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command)
        wait_until_it_answers(self.port)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def tell(self, word: str) -> dict[str, int]:
        """`break` or `mend` it; how often it gave each fault."""
        place = f"http://{HOST}:{self.port}/__{word}__"
        with urlopen(place, timeout=5) as answer:
            counts: dict[str, int] = json.load(answer)
            return counts


def cold_request(debug_id: str, module: Module, offset: int) -> bytes:
    """A request about a module that only the upstream has, and one in the store."""
    memory_map = [[COLD, debug_id], [module.debug_file, module.debug_id]]
    body = {"memoryMap": memory_map, "stacks": [[[0, OFFSET], [1, offset]]]}
    return http_request(HOST, API, json.dumps(body).encode())


async def ask_for_cold(
    client: Client, module: Module, end: float, tally: Tally, ids: list[str]
) -> None:
    """Ask for modules that the store does not have, one after the other, until *end*.

    Args:
        client: Asks.
        module: One that the store has, whose frame has to be answered all the same.
        end: By `time.monotonic`.
        tally: Of the answers.
        ids: All that were asked for, by whomever.
    """
    offset = module.offsets[0]
    expected = module.frame(1, offset)
    asked = 0
    while time.monotonic() < end:
        asked += 1
        again = ids and asked % REPEATED == 0
        debug_id = secrets.choice(ids) if again else new_id()
        ids.append(debug_id)
        answer = await tally.ask(client, cold_request(debug_id, module, offset))
        if answer.status == OK:
            frame = json.loads(answer.body)["results"][0]["stacks"][0][1]
            frame.pop("function_size", None)
            tally.wrong += frame != expected


def new_id() -> str:
    """A debug id that nobody asked for."""
    return secrets.token_hex(16).upper() + "0"


async def hang_up_early(port: int, message: bytes, end: float, went: list[int]) -> None:
    """Send a part of a request or all of it and go, until *end*; keeps the sizes."""
    while time.monotonic() < end:
        size = max(0, len(message) - secrets.choice((0, 1, len(message) // 2, 1 << 20)))
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection(HOST, port)
            writer.write(message[:size])
            await asyncio.sleep(secrets.choice((0, 0.01)))
            transport: Any = writer.transport
            transport.abort()
        went.append(size)
        await asyncio.sleep(0.2)


async def kill_workers(
    server: ServerProcess, interval: float, end: float, seconds: list[float]
) -> None:
    """Kill a worker every *interval* seconds; keeps the seconds without it."""
    while time.monotonic() + interval < end:
        await asyncio.sleep(interval)
        workers = server.workers()
        killed = secrets.choice(workers)
        os.kill(killed, signal.SIGKILL)
        start = time.monotonic()
        while time.monotonic() - start < _GIVE_UP:
            await asyncio.sleep(_POLL)
            now = server.workers()
            if len(now) >= len(workers) and killed not in now:
                break
        seconds.append(time.monotonic() - start)


async def recovery(port: int, module: Module, ids: list[str]) -> float:
    """Seconds until modules are found that were asked for in vain before."""
    start = time.monotonic()
    client = Client(HOST, port)
    for debug_id in ids:
        message = cold_request(debug_id, module, module.offsets[0])
        while time.monotonic() - start < _GIVE_UP:
            answer = await client.ask(message)
            if FUNCTION.encode() in answer.body:
                break
            await asyncio.sleep(_POLL)
    await hang_up([client])
    return time.monotonic() - start
