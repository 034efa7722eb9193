"""Clients with a constant request rate that check each response."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.http_load import Answer, Client, request as http_request
from benchmarks.server_latency import API, WrongAnswerError
from benchmarks.serving import HOST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.serving import Resources, ServerProcess
    from benchmarks.symbolication_load import Request

OK = 200


class Question(NamedTuple):
    """A request as it is sent, and the right answer to it."""

    message: bytes
    answer: bytes


class Tally:
    """What became of requests.

    Attributes:
        statuses: How many answers had which status; 0 stands for none at all.
        wrong: How many answers said something that is not so.
        asked_again: How many requests were sent again because their connection broke.
        seconds: How long each took, asking again included.
        unanswered: The reasons why requests had no answer though a worker listened.
        met_no_worker: How many had none because no worker listened: a connection is
            refused only then, as workers have sockets of their own.
    """

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()
        self.wrong = 0
        self.asked_again = 0
        self.seconds: list[float] = []
        self.unanswered: Counter[str] = Counter()
        self.met_no_worker = 0

    async def ask(self, client: Client, message: bytes) -> Answer:
        """The answer to a message, which is counted.

        One whose connection broke is sent once more, as clients of the API do.
        """
        answer = await client.ask(message)
        if answer.status == 0:
            self.asked_again += 1
            again = await client.ask(message)
            answer = again._replace(seconds=answer.seconds + again.seconds)
        if answer.status == 0:
            reason = answer.body.decode()
            if reason.startswith(ConnectionRefusedError.__name__):
                self.met_no_worker += 1
            else:
                self.unanswered[reason] += 1
        self.statuses[answer.status] += 1
        self.seconds.append(answer.seconds)
        return answer

    @property
    def success(self) -> float:
        """The part of the requests that were answered rightly."""
        asked = self.statuses.total()
        return (self.statuses[OK] - self.wrong) / asked if asked else 0.0

    @property
    def server_errors(self) -> int:
        """How many answers were of a status 500 or higher."""
        return sum(n for status, n in self.statuses.items() if status >= 500)  # noqa: PLR2004


async def verified(client: Client, requests: Sequence[Request]) -> list[Question]:
    """Ask each request once, and compare every frame with offline lookups.

    Raises:
        WrongAnswerError: There is a difference.
    """
    questions = []
    for request in requests:
        message = http_request(HOST, API, request.body())
        answer = await client.ask(message)
        if answer.status != OK:
            raise WrongAnswerError(f"{answer.status} {answer.body[:200]!r}")
        difference = request.difference(answer.body)
        if difference:
            raise WrongAnswerError(difference)
        questions.append(Question(message, answer.body))
    return questions


class Pace(NamedTuple):
    """How often a client asks, and until when.

    Attributes:
        interval: Seconds from one question to the next, on average.
        end: By `time.monotonic`.
        generator: Chooses questions and intervals.
    """

    interval: float
    end: float
    generator: random.Random


async def ask_steadily(
    client: Client, questions: Sequence[Question], pace: Pace, tally: Tally
) -> None:
    """Ask random questions.

    The answers were verified, so that equal bytes are right.
    """
    generator = pace.generator
    due = time.monotonic() + pace.interval * generator.random()
    while due < pace.end:
        await asyncio.sleep(due - time.monotonic())
        question = generator.choice(questions)
        answer = await tally.ask(client, question.message)
        tally.wrong += answer.status == OK and answer.body != question.answer
        due += generator.expovariate(1 / pace.interval)
        due = max(due, time.monotonic())


async def peak(
    clients: Sequence[Client], questions: Sequence[Question], seconds: float
) -> float:
    """Requests a second when all ask as fast as they are answered."""
    end = time.monotonic() + seconds
    answered = 0

    generator = random.Random(1)  # noqa: S311 - a sample, no secret

    async def go_on(client: Client) -> None:
        nonlocal answered
        while time.monotonic() < end:
            answer: Answer = await client.ask(generator.choice(questions).message)
            if answer.status != OK:
                raise WrongAnswerError(f"{answer.status} {answer.body[:200]!r}")
            answered += 1

    start = time.monotonic()
    await asyncio.gather(*map(go_on, clients))
    return answered / (time.monotonic() - start)


async def sample(
    server: ServerProcess,
    interval: float,
    end: float,
    samples: list[tuple[float, Resources]],
) -> None:
    """Keep what the server holds, by the seconds since the start, until *end*."""
    start = time.monotonic()
    while time.monotonic() < end:
        samples.append((time.monotonic() - start, server.resources()))
        await asyncio.sleep(interval)
