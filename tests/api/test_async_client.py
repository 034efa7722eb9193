"""The asynchronous client: the rules of the other one, and tasks side by side."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from gsym import AsyncSymbolicationClient, ClientSettings
from gsym.errors import ServerError
from tests.api.test_client import TEMPORARY, functions, job, reply, symbolicated, title
from tests.http_server import Reply, Request, Server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeVar

    Found = TypeVar("Found")

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

SETTINGS = ClientSettings(waits=(0, 0, 0))


def run(
    url: str,
    work: Callable[[AsyncSymbolicationClient], Awaitable[Found]],
    settings: ClientSettings = SETTINGS,
) -> Found:
    """What work with a client of a server returns."""

    async def main() -> Found:
        async with AsyncSymbolicationClient(url, settings) as client:
            return await work(client)

    return anyio.run(main)


def answered(server: Server, settings: ClientSettings = SETTINGS) -> list[list[str]]:
    """The functions of one address."""
    found = run(server.url, lambda client: client.answer(job([5])), settings)
    (only,) = found["results"]
    return functions(only)


@pytest.mark.parametrize("failure", TEMPORARY.values(), ids=TEMPORARY)
def test_a_temporary_failure_is_retried(failure: Reply) -> None:
    with Server(failure, failure, failure, symbolicated) as server:
        assert answered(server) == [["f5"]]
    assert len(server.requests) == 4


def test_after_the_last_wait_the_failure_is_raised() -> None:
    refused = pytest.raises(ServerError, match=r"status 503 \(attempt 4\)")
    with Server(Reply(b"", 503)) as server, refused:
        answered(server)


def test_version_4_and_the_limits_of_a_server_are_heeded() -> None:
    def old(request: Request) -> Reply:
        if request.path == "/symbolicate/v5":
            return reply({}, 404)
        stacks = json.loads(request.body)["stacks"]
        names = [[f"f{offset} (in a.so)" for _, offset in stack] for stack in stacks]
        return reply({"symbolicatedStacks": names, "knownModules": [True]})

    with Server(old) as server:
        found = run(server.url, lambda client: client.symbolicate([job([1]), job([2])]))
    assert [answer.stacks[0][0].function for answer in found] == ["f1", "f2"]
    with Server(title("job 0 is bad"), symbolicated) as server:
        found = run(server.url, lambda client: client.symbolicate([job([1]), job([2])]))
    assert found[0].error == "job 0 is bad"
    assert found[1].stacks[0][0].function == "f2"


REFUSED = {
    "a redirect": (Reply(b"", 302, (("Location", "http://other/"),)), "redirects to"),
    "a redirect whose body does not come": (
        Reply(b"", 302, (("Location", "http://other/"),), claimed=9),
        "redirects to",
    ),
    "a large body": (reply({"results": ["x" * 5000]}), "larger than 1000 bytes"),
    "no such method": (reply({}, 403), "status 403"),
}


@pytest.mark.parametrize(("answer", "reason"), REFUSED.values(), ids=REFUSED)
def test_an_unusable_answer_is_an_error(answer: Reply, reason: str) -> None:
    settings = SETTINGS._replace(most_bytes=1000)
    with Server(answer) as server, pytest.raises(ServerError, match=reason) as caught:
        answered(server, settings)
    assert (caught.value.path or "").startswith(server.url)
    assert len(server.requests) == 1


def test_a_server_to_which_nothing_connects_is_not_asked_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ServerError, match=r"\(attempt 1\)"):
        run(f"http://127.0.0.1:{port}", lambda client: client.answer(job([5])))
    with pytest.raises(ServerError, match="not http"):
        AsyncSymbolicationClient("ftp://127.0.0.1")


def test_credentials_and_headers_are_sent() -> None:
    settings = SETTINGS._replace(headers=(("X-Team", "a"),), user_agent="mine")
    with Server(symbolicated) as server:
        url = server.url.replace("http://", "http://me:secret@")
        run(url, lambda client: client.answer(job([5])), settings)
        (sent,) = server.requests
    assert sent.headers["authorization"] == "Basic bWU6c2VjcmV0"
    assert (sent.headers["x-team"], sent.headers["user-agent"]) == ("a", "mine")


def test_tasks_are_answered_side_by_side() -> None:
    """The server answers none before all have asked."""
    asked = threading.Barrier(4, timeout=30)

    def together(request: Request) -> Reply:
        asked.wait()
        return symbolicated(request)

    async def work(client: AsyncSymbolicationClient) -> list[Any]:
        return await asyncio.gather(*(client.symbolicate(job([at])) for at in range(4)))

    with Server(together) as server:
        found = run(server.url, work)
    assert [each[0].stacks[0][0].function for each in found] == ["f0", "f1", "f2", "f3"]


@pytest.mark.parametrize("waits", [(0,), (500.0,)], ids=["asking", "waiting"])
def test_a_cancelled_task_leaves_its_request(waits: tuple[float, ...]) -> None:
    arrived, released = threading.Event(), threading.Event()

    def slow(_: Request) -> Reply:
        arrived.set()
        if waits == (0,):
            released.wait(30)
        return Reply(b"", 503)

    async def work(client: AsyncSymbolicationClient) -> bool:
        task = asyncio.create_task(client.answer(job([5])))
        await asyncio.to_thread(arrived.wait, 30)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    with Server(slow) as server:
        try:
            settings = SETTINGS._replace(waits=waits)
            assert run(server.url, work, settings)
        finally:
            released.set()


def test_the_time_for_a_request_is_limited() -> None:
    released = threading.Event()

    def slow(request: Request) -> Reply:
        released.wait(30)
        return symbolicated(request)

    with Server(slow) as server:
        refused = pytest.raises(ServerError, match="no answer in time")
        with refused:
            answered(server, SETTINGS._replace(total_timeout=0.2))
        released.set()
