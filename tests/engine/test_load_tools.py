"""What measures the server: it sees faults, and is none itself."""

from __future__ import annotations

import asyncio
import json
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING

import pytest

import gsym

pytest.importorskip("uvloop")

from benchmarks.breakpad_tree import place
from benchmarks.faulty_upstream import FAULTS, Wish
from benchmarks.http_load import Client, ask_in_turn, request
from benchmarks.large_breakpad import grow
from benchmarks.serving import Resources
from benchmarks.soak import Outcome
from benchmarks.soak_faults import Upstream
from benchmarks.symbolication_load import Module, mixed_requests
from tests.http_server import Reply, Server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SYM = """\
MODULE Linux x86_64 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA0 app
FILE 0 a.c
INLINE_ORIGIN 0 inlined
FUNC 1000 20 0 f
INLINE 0 7 0 0 1008 8
1000 8 1 0
1008 8 30 0
1010 10 2 0
PUBLIC 2000 0 g
"""
DEBUG_ID = "A" * 32 + "0"


def symbol_file(folder: Path) -> Path:
    path = folder / "app.sym"
    path.write_text(SYM, encoding="utf-8")
    return path


# ---- clients


def test_messages_are_asked_in_turn() -> None:
    kept = []
    with Server(Reply(b"{}")) as server:
        messages = [request("x", path) for path in ("/a", "/b", "/c")]
        asyncio.run(
            ask_in_turn(
                [Client("127.0.0.1", server.port)],
                messages,
                lambda sent: sent >= 5,
                lambda at, answer: kept.append((at, answer.status)),
            )
        )
    assert kept == [(0, 200), (1, 200), (2, 200), (0, 200), (1, 200)]
    assert server.paths == ["/a", "/b", "/c", "/a", "/b"]


# ---- a symbol server with faults


def get(port: int, path: str, seconds: float = 60) -> bytes:
    """The file as a client receives it; nothing if the answer is invalid."""
    connection = HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read(1 << 16)
    except (OSError, HTTPException):
        return b""
    finally:
        connection.close()
    is_whole = len(body) == int(answer.headers["Content-Length"])
    is_plain = answer.status == 200 and "Content-Encoding" not in answer.headers
    return body if is_whole and is_plain else b""


def test_a_broken_upstream_never_gives_the_file_a_mended_one_does(
    tmp_path: Path,
) -> None:
    path = f"/cold/{DEBUG_ID}/cold.sym"
    right = Wish(path, DEBUG_ID).body
    with Upstream(tmp_path) as upstream:
        assert get(upstream.port, path) == right
        upstream.tell("break")
        assert right not in [get(upstream.port, path, 0.1) for _ in FAULTS]
        assert upstream.tell("mend") == dict.fromkeys(FAULTS, 1)
        assert get(upstream.port, path) == right


# ---- requests and their answers


@pytest.fixture
def module(tmp_path: Path) -> Module:
    return Module(place(symbol_file(tmp_path), tmp_path / "tree"), tmp_path)


def test_the_right_answer_tells_the_outer_function_and_inlined_ones(
    module: Module,
) -> None:
    assert module.frame(3, 0x1009) == {
        "frame": 3,
        "module": "app",
        "module_offset": "0x1009",
        "function": "f",
        "function_offset": "0x9",
        "file": "a.c",
        "line": 7,
        "inlines": [{"function": "inlined", "file": "a.c", "line": 30}],
    }
    nowhere = {"frame": 0, "module": "app", "module_offset": "0x10"}
    assert module.frame(0, 0x10) == nowhere


def test_a_frame_that_differs_is_seen(module: Module) -> None:
    (asked,) = mixed_requests([module], 1, most_jobs=2, frames=(3, 5))
    results = [
        {
            "stacks": [
                [module.frame(n, offset) for n, (_, offset) in enumerate(stack)]
                for stack in job
            ],
            "found_modules": {f"app/{DEBUG_ID}": True},
        }
        for job in asked.jobs
    ]

    def body() -> bytes:
        return json.dumps({"results": results}).encode()

    assert asked.difference(body()) == ""
    results[0]["stacks"][0][0]["function"] = "h"  # type: ignore[index]
    assert "'h'" in asked.difference(body())
    assert asked.frames == sum(len(s) for job in asked.jobs for s in job)


def test_a_file_grown_has_the_functions_many_times(tmp_path: Path) -> None:
    grown = tmp_path / "grown.sym"
    grow(symbol_file(tmp_path), grown, 1000)
    assert grown.stat().st_size >= 1000
    gsym.convert(grown, tmp_path / "grown.gsym")
    with gsym.open(tmp_path / "grown.gsym") as reader:
        starts = [each.start for each in reader.functions()]
        assert len(starts) > 4
        shifts = [start - 0x1000 for start in starts[::2]]
        assert shifts == [shifts[1] * n for n in range(len(shifts))]
        lookups = [reader.lookup(shift + 0x1009) for shift in shifts]
        assert [
            found
            for found in lookups
            if not (found and found.frames[0].name == "inlined")
        ] == []


# ---- promises


def kept() -> Outcome:
    outcome = Outcome(100.0)
    outcome.stored.statuses[200] = 10_000
    outcome.stored.seconds += [0.01] * 10_000
    outcome.samples += [(0.0, Resources(200, 100, 50, 3))] * 9
    return outcome


def late(outcome: Outcome) -> None:
    outcome.stored.seconds += [0.3] * 200


def grown(outcome: Outcome) -> None:
    outcome.samples += [(1.0, Resources(200, 120, 50, 3))] * 9


def leaking(outcome: Outcome) -> None:
    outcome.samples += [(1.0, Resources(200, 100, 500, 3))]


def test_a_soak_without_errors_keeps_all_guarantees() -> None:
    assert kept().broken_promises() == []


@pytest.mark.parametrize(
    ("breaks", "said"),
    [
        (lambda o: setattr(o.stored, "wrong", 1), "1 wrong answers"),
        (lambda o: setattr(o.cold, "wrong", 1), "wrong beside a missing module"),
        (lambda o: o.stored.statuses.update({0: 11}), "success"),
        (lambda o: o.stored.statuses.update({500: 1}), "1 answers 5xx"),
        (late, "99th percentile"),
        (grown, "memory"),
        (leaking, "descriptors"),
        (lambda o: setattr(o, "recovery", 5.1), "recovery"),
        (lambda o: o.restarts.append(6.0), "workers were back"),
    ],
)
def test_each_broken_guarantee_is_reported(
    breaks: Callable[[Outcome], None], said: str
) -> None:
    outcome = kept()
    breaks(outcome)
    (broken,) = outcome.broken_promises()
    assert said in broken
