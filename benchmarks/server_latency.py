"""Latency and request rate of a server."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import uvloop

from benchmarks.http_load import (
    Answer,
    Client,
    Percentiles,
    ask_in_turn,
    percentiles,
    request as http_request,
)
from benchmarks.serving import HOST, free_port, wait_until_it_answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.symbolication_load import Request

API = "/symbolicate/v5"
_OK = 200


class Rate(NamedTuple):
    """Requests answered a second, and how long each took."""

    per_second: float
    seconds: Percentiles


class WrongAnswerError(Exception):
    """A server answered wrongly, or not at all: its figures would mean nothing."""


def messages_of(requests: Sequence[Request]) -> list[bytes]:
    """As they go over the wire."""
    return [http_request(HOST, API, each.body()) for each in requests]


def check_answers(port: int, requests: Sequence[Request]) -> None:
    """Ask each request once and compare all frames with offline lookups.

    Raises:
        WrongAnswerError: There is a difference.
    """

    def keep(at: int, answer: Answer) -> None:
        if answer.status != _OK:
            raise WrongAnswerError(f"{answer.status} {answer.body[:200]!r}")
        difference = requests[at].difference(answer.body)
        if difference:
            raise WrongAnswerError(difference)

    uvloop.run(
        ask_in_turn(
            [Client(HOST, port)],
            messages_of(requests),
            lambda sent: sent >= len(requests),
            keep,
        )
    )


def latencies(
    ports: Sequence[int], messages: Sequence[bytes], rounds: int
) -> list[Percentiles]:
    """Of several servers, asked in turn by one client: all *messages* each round."""
    seconds: list[list[float]] = [[] for _ in ports]
    for _ in range(rounds):
        for port, taken in zip(ports, seconds, strict=True):
            _ask_all([Client(HOST, port)], messages, len(messages), taken)
    return [percentiles(each) for each in seconds]


def rate(port: int, messages: Sequence[bytes], clients: int, count: int) -> Rate:
    """Ask *count* requests by so many clients, as fast as they are answered."""
    seconds: list[float] = []
    start = time.perf_counter()
    _ask_all([Client(HOST, port) for _ in range(clients)], messages, count, seconds)
    taken = time.perf_counter() - start
    return Rate(count / taken, percentiles(seconds))


def ceiling(clients: int, count: int) -> Rate:
    """The rate of the clients alone, with a server that does next to nothing."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.bare_server", str(port)]
    server = subprocess.Popen(command)
    try:
        wait_until_it_answers(port)
        return rate(port, [http_request(HOST, API, b"{}")], clients, count)
    finally:
        server.terminate()
        server.wait()


def _ask_all(
    clients: Sequence[Client],
    messages: Sequence[bytes],
    count: int,
    seconds: list[float],
) -> None:
    def keep(_at: int, answer: Answer) -> None:
        if answer.status != _OK:
            raise WrongAnswerError(f"{answer.status} {answer.body[:200]!r}")
        seconds.append(answer.seconds)

    uvloop.run(ask_in_turn(clients, messages, lambda sent: sent >= count, keep))
