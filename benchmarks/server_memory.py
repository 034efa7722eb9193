"""The memory of the processes of a server under load."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import uvloop

from benchmarks.http_load import Answer, Client, ask_in_turn
from benchmarks.server_latency import WrongAnswerError
from benchmarks.serving import HOST, Resources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.serving import ServerProcess

SAMPLES = 20
_OK = 200


class Sample(NamedTuple):
    """What the server held after so many requests."""

    requests: int
    resources: Resources


def watch(
    server: ServerProcess, messages: Sequence[bytes], clients: int, count: int
) -> tuple[list[Sample], float]:
    """Samples spread evenly over *count* requests, the last at their end; the rate."""
    samples: list[Sample] = []
    answered = 0

    def keep(_at: int, answer: Answer) -> None:
        nonlocal answered
        if answer.status != _OK:
            raise WrongAnswerError(f"{answer.status} {answer.body[:200]!r}")
        answered += 1
        if answered * SAMPLES >= count * (len(samples) + 1):
            samples.append(Sample(answered, server.resources()))

    start = time.perf_counter()
    connections = [Client(HOST, server.port) for _ in range(clients)]
    uvloop.run(ask_in_turn(connections, messages, lambda sent: sent >= count, keep))
    return samples, count / (time.perf_counter() - start)
