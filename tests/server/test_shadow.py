"""`--shadow`: another server is asked behind the answer."""

from __future__ import annotations

import json
import logging
import time
from queue import Queue
from typing import TYPE_CHECKING, Any

import pytest

from gsym.server.metrics import Metrics
from gsym.server.settings import Settings
from gsym.server.shadow import Shadow
from gsym.symbolizer import Symbolizer
from tests.debuginfod_server import Answer, Server
from tests.server.modules import LIB_ID, MISSING_ID, XUL_ID
from tests.server.running import RunningServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server.modules import KnownModules

JOB = {
    "memoryMap": [["xul.pdb", XUL_ID], ["libdemo.so", LIB_ID], ["no.so", MISSING_ID]],
    "stacks": [[[0, 0x1014], [1, 0x404], [2, 5]], [[-1, 3], [1, -1]]],
}
FRAMES = 5


def counted(server: RunningServer, kind: str = "requests") -> dict[str, float]:
    """Figures of comparisons by their result."""
    text = server.ask("GET", "/metrics").body.decode()
    head = f'gsym_shadow_{kind}_total{{result="'
    found = [line[len(head) :] for line in text.splitlines() if line.startswith(head)]
    return {line.partition('"')[0]: float(line.split()[-1]) for line in found}


def wait_for(server: RunningServer, result: str, count: float = 1) -> None:
    """Until so many comparisons ended so."""
    end = time.monotonic() + 20
    while counted(server).get(result, 0) < count:
        assert time.monotonic() < end, counted(server)
        time.sleep(0.01)


def beside(modules: KnownModules, url: str, **settings: Any) -> RunningServer:
    return RunningServer(Symbolizer(modules), shadow=url, **settings)


def changed(
    server: RunningServer, change: Callable[[dict[str, Any]], None]
) -> Callable[[str, bytes], Answer]:
    """Another server, which says what *server* does but for a change."""

    def answer(path: str, body: bytes) -> Answer:
        said = server.post(body, path).json
        change(said)
        return Answer(json.dumps(said).encode())

    return answer


def test_equal_answers_are_counted(
    server: RunningServer, modules: KnownModules
) -> None:
    with beside(modules, server.url) as tried:
        for request in (JOB, {"jobs": [JOB, JOB]}):
            assert tried.post(request).json == server.post(request).json
        wait_for(tried, "same", 2)
        assert counted(tried, "frames") == {"same": 3 * FRAMES, "different": 0}


def test_a_request_of_version_4_is_compared_as_well(
    server: RunningServer, modules: KnownModules
) -> None:
    with beside(modules, server.url) as tried:
        assert tried.post(JOB, "/symbolicate/v4").status == 200
        wait_for(tried, "same")


def rename(said: dict[str, Any]) -> None:
    frame = said["results"][0]["stacks"][0][0]
    frame["function"], frame["line"] = "other()", 99


def lose(said: dict[str, Any]) -> None:
    said["results"][0]["found_modules"][f"libdemo.so/{LIB_ID}"] = False


def test_differences_are_logged_with_what_either_says(
    server: RunningServer, modules: KnownModules, caplog: pytest.LogCaptureFixture
) -> None:
    logger = logging.getLogger("gsym.shadow")
    with (
        Server(changed(server, rename)) as other,
        beside(modules, other.url) as tried,
        caplog.at_level(logging.WARNING, logger.name),
    ):
        logging.getLogger("gsym").propagate = True
        assert tried.post(JOB).json == server.post(JOB).json
        wait_for(tried, "different")
        assert counted(tried, "frames") == {"same": FRAMES - 1, "different": 1}
    (record,) = [each for each in caplog.records if hasattr(each, "fields")]
    assert record.fields == {
        "job": 0,
        "stack": 0,
        "frame": 0,
        "module": f"xul.pdb/{XUL_ID}",
        "offset": 0x1014,
        "ours": json.dumps({"function": "a::outer()", "line": _line(server)}),
        "theirs": json.dumps({"function": "other()", "line": 99}),
    }


def _line(server: RunningServer) -> int:
    line = server.post(JOB).json["results"][0]["stacks"][0][0]["line"]
    assert isinstance(line, int)
    return line


def test_fields_can_be_left_out(server: RunningServer, modules: KnownModules) -> None:
    with (
        Server(changed(server, rename)) as other,
        beside(modules, other.url, shadow_ignore=["function", "line"]) as tried,
    ):
        tried.post(JOB)
        wait_for(tried, "same")


def test_a_module_that_one_of_them_lacks_is_a_difference(
    server: RunningServer, modules: KnownModules
) -> None:
    with (
        Server(changed(server, lose)) as other,
        beside(modules, other.url) as tried,
    ):
        tried.post(JOB)
        wait_for(tried, "different")
        assert counted(tried, "frames") == {"same": FRAMES, "different": 0}


USELESS = {
    "an error": Answer(b"{}", 500),
    "HTML": Answer(b"<html>"),
    "no object": Answer(b"[]"),
    "no results": Answer(b'{"results": []}'),
    "other frames": Answer(b'{"results": [{"stacks": [], "found_modules": {}}]}'),
    "text for frames": Answer(b'{"results": [{"stacks": "ab", "found_modules": {}}]}'),
    "deep JSON": Answer(b"[" * 100_000),
    "a refusal": Answer(b'{"title": "no"}', 400),
}


@pytest.mark.parametrize("answer", USELESS.values(), ids=USELESS)
def test_a_server_without_an_answer_is_counted_and_changes_nothing(
    server: RunningServer, modules: KnownModules, answer: Answer
) -> None:
    with Server(answer) as other, beside(modules, other.url) as tried:
        for number in (1, 2):
            assert tried.post(JOB).json == server.post(JOB).json
            wait_for(tried, "failed", number)


def test_a_server_that_is_not_there_changes_nothing(
    server: RunningServer, modules: KnownModules
) -> None:
    with Server(Answer()) as gone:
        pass
    with beside(modules, gone.url) as tried:
        assert tried.post(JOB).json == server.post(JOB).json
        wait_for(tried, "failed")


@pytest.mark.parametrize("limit", [{"shadow_queue": 1}, {"shadow_bytes": 4000}])
def test_what_waits_too_long_is_dropped_and_answers_do_not_wait(
    modules: KnownModules, limit: dict[str, int]
) -> None:
    with (
        Server(Answer(b"{}" * 500, pause=60)) as stalled,
        beside(modules, stalled.url, **limit) as tried,
    ):
        for _ in range(8):
            assert tried.post(JOB).status == 200
        wait_for(tried, "dropped", 5)


class TakenMeanwhile(Queue[Any]):
    """What another thread takes from just before one does."""

    def empty(self) -> bool:
        return False


def test_a_comparison_may_begin_while_those_that_wait_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gsym.server.shadow.Queue", TakenMeanwhile)
    Shadow(Settings(shadow="http://127.0.0.1:9"), Metrics()).close()


def test_a_refused_request_is_not_sent_on(modules: KnownModules) -> None:
    with Server(Answer(b"{}")) as other, beside(modules, other.url) as tried:
        assert tried.post({"jobs": [3]}).status == 400
    assert other.requests == []


def test_what_comes_for_comparison_is_not_sent_on(
    server: RunningServer, modules: KnownModules
) -> None:
    with beside(modules, server.url) as tried:
        assert tried.post(JOB, user_agent="gsym-shadow").status == 200
        assert tried.post(JOB).status == 200
        wait_for(tried, "same")
        assert sum(counted(tried).values()) == 1
