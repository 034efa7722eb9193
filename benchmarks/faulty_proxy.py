"""A proxy that breaks each connection to a server after some bytes.

It does not interpret HTTP, except for one response of its own. Two of three connections
break before a part may have passed; every third one lets at least one part pass.
"""

from __future__ import annotations

import random
import selectors
import socket
import struct
import threading
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing_extensions import Self

HOST = "127.0.0.1"
FAULTS = ("refused", "reset", "answer lost", "answer cut", "unavailable")
_READ_SIZE = 1 << 16
_PATIENCE = 600  # seconds for which nothing may happen
_UNAVAILABLE = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nConnection: close\r\n"
    b"Content-Length: 0\r\n\r\n"
)


class Plan(NamedTuple):
    """How a connection breaks: *fault* once *after* bytes came from the client."""

    fault: str
    after: int


class FaultyProxy:
    """Passes bytes on to a server on this machine, for a while.

    Args:
        port: Of the server.
        part_size: Bytes of the parts that clients send, about.
        seed: Other faults for another one.

    Attributes:
        url: Of the proxy.
        faults: How often each of `FAULTS` was given.
    """

    def __init__(self, port: int, part_size: int, seed: int = 0) -> None:
        self._upstream = port
        self._part_size = part_size
        self._chance = random.Random(seed)  # noqa: S311 - faults are no secret
        self.faults: Counter[str] = Counter()
        self._listener = socket.create_server((HOST, 0))
        self.url = f"http://{HOST}:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept)
        self._workers: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for worker in self._workers:
            worker.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            plan = self._plan(len(self._workers))
            worker = threading.Thread(target=self._serve, args=(client, plan))
            worker.start()
            self._workers.append(worker)

    def _plan(self, number: int) -> Plan:
        is_kind = number % 3 == 2  # noqa: PLR2004 - of three
        least, most = (2.0, 5.0) if is_kind else (0.0, 1.5)
        after = int(self._part_size * self._chance.uniform(least, most))
        faults = FAULTS[1:] if is_kind else FAULTS
        return Plan(self._chance.choice(faults), after)

    def _serve(self, client: socket.socket, plan: Plan) -> None:
        if plan.fault == "refused":
            self.faults[plan.fault] += 1
            reset(client)
            return
        address = HOST, self._upstream
        with (
            client,
            suppress(OSError),
            socket.create_connection(address) as server,
        ):
            self._relay(client, server, plan)

    def _relay(self, client: socket.socket, server: socket.socket, plan: Plan) -> None:
        left = plan.after
        with selectors.DefaultSelector() as ready:
            ready.register(client, selectors.EVENT_READ)
            ready.register(server, selectors.EVENT_READ)
            while True:
                events = ready.select(_PATIENCE)
                for source in [key.fileobj for key, _ in events]:
                    is_client = source is client
                    data = (client if is_client else server).recv(_READ_SIZE)
                    if not data or (left <= 0 and self._breaks(client, plan, data)):
                        return
                    (server if is_client else client).sendall(data)
                    left -= len(data) if is_client else 0
                if not events:
                    return

    def _breaks(self, client: socket.socket, plan: Plan, data: bytes) -> bool:
        """Break the connection, if these bytes are those to do it at."""
        is_answer = data.startswith(b"HTTP/1.1 ")
        if plan.fault.startswith("answer") and not is_answer:
            return False
        self.faults[plan.fault] += 1
        if plan.fault == "unavailable" and not is_answer:
            client.sendall(_UNAVAILABLE)
            client.shutdown(socket.SHUT_WR)
            while client.recv(_READ_SIZE):
                pass
        elif plan.fault == "answer cut":
            client.sendall(data[: len(data) // 2])
        else:
            reset(client)
        return True


def reset(connection: socket.socket) -> None:
    """Close a connection so that the other end sees an error."""
    linger = struct.pack("ii", 1, 0)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    connection.close()
