"""The faults of a soak test: upstream server, clients, killed workers, stored files."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

from benchmarks.faulty_upstream import COLD, FUNCTION, OFFSET
from benchmarks.http_load import Client, hang_up, request as http_request
from benchmarks.server_latency import API
from benchmarks.serving import HOST, free_port, wait_until_it_answers
from benchmarks.soak_load import OK, Tally
from gsym.store.adding import add_file

if TYPE_CHECKING:
    from collections import Counter
    from types import TracebackType

    from typing_extensions import Self

    from benchmarks.serving import ServerProcess
    from benchmarks.symbolication_load import Module
    from gsym.store.directory import Store

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


class Victim:
    """A stored module whose file is damaged again and again.

    Args:
        store: Gets the module.
        folder: For other files.
    """

    name = "victim"
    function = "still_here"

    def __init__(self, store: Store, folder: Path) -> None:
        self.debug_id = new_id()
        functions = "".join(
            f"FUNC {start:x} 10 0 {self.function}_{start:x}\n"
            for start in range(0x1000, 0x21000, 0x10)
        )
        path = folder / "victim.sym"
        head = f"MODULE Linux x86_64 {self.debug_id} {self.name}\n"
        path.write_text(head + functions, encoding="ascii")
        self.path = Path(add_file(store, path).entry.path)
        self._data = self.path.read_bytes()

    def request(self, offset: int) -> bytes:
        """A question about one of its functions."""
        memory_map = [[self.name, self.debug_id]]
        body = {"memoryMap": memory_map, "stacks": [[[0, offset]]]}
        return http_request(HOST, API, json.dumps(body).encode())

    def is_right(self, body: bytes, offset: int) -> bool:
        """Whether an answer has the function, or says that the module is missing."""
        (found,) = json.loads(body)["results"]
        frame = found["stacks"][0][0]
        wanted = f"{self.function}_{offset:x}"
        is_found = found["found_modules"][f"{self.name}/{self.debug_id}"]
        return bool(frame.get("function") == (wanted if is_found else None))

    def truncate(self) -> None:
        """Somewhere, in place."""
        os.truncate(self.path, secrets.randbelow(len(self._data)))

    def empty(self) -> None:
        """Cut it to nothing, in place."""
        os.truncate(self.path, 0)

    def remove(self) -> None:
        """Remove it, but not its record."""
        self.path.unlink()

    def garble(self) -> None:
        """Replace it by random bytes."""
        self._replace(secrets.token_bytes(len(self._data)))

    def mend(self) -> None:
        """As it was."""
        self._replace(self._data)

    def _replace(self, data: bytes) -> None:
        fresh = self.path.with_name("fresh")
        fresh.write_bytes(data)
        fresh.replace(self.path)


async def damage(victim: Victim, end: float, counts: Counter[str]) -> None:
    """Damage the file of a stored module in turn, and mend it, until *end*."""
    faults = (victim.truncate, victim.empty, victim.remove, victim.garble)
    for fault in itertools.cycle(faults):
        if time.monotonic() > end:
            return
        fault()
        counts[f"file: {fault.__name__}"] += 1
        await asyncio.sleep(_POLL)
        victim.mend()
        await asyncio.sleep(_POLL)


async def ask_for_victim(
    client: Client, victim: Victim, end: float, tally: Tally
) -> None:
    """Ask for the module whose file is damaged, until *end*."""
    while time.monotonic() < end:
        offset = 0x1000 + 0x10 * secrets.randbelow(0x2000)
        answer = await tally.ask(client, victim.request(offset))
        tally.wrong += answer.status == OK and not victim.is_right(answer.body, offset)
        await asyncio.sleep(_POLL / 4)


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
