"""A server in the place of a symbolizer: the same answers by another way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gsym import ClientSettings, RemoteSymbolizer, ServerError, SymbolicationClient
from gsym.cli.main import main
from gsym.markup.filter import MarkupFilter
from gsym.markup.json_output import JsonOutput
from gsym.modules.key import ModuleKey, key_of_build_id
from gsym.modules.symbolizer import Symbolizer
from gsym.store.directory import Store
from tests.http_server import Reply, Request, Server
from tests.store_modules import build_id, identity, put

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("msgspec")

from gsym.api.request import RequestError, RequestLimits, read_v5
from gsym.api.response import answer_v5
from gsym.api.symbolication import Symbolication


def serve(symbolizer: Symbolizer) -> Server:
    """A server that answers as ours does, without its transport."""

    def answer(request: Request) -> Reply:
        try:
            jobs = read_v5(request.body, RequestLimits())
        except RequestError as error:
            return Reply(json.dumps({"title": error.reason}).encode(), error.status)
        work = Symbolication(jobs)
        work.open_all(symbolizer)
        return Reply(bytes(answer_v5(work)))

    return Server(answer)


def named(number: int) -> ModuleKey:
    module = identity(number)
    return ModuleKey(module.debug_file, module.debug_id)


def test_answers_are_those_of_a_symbolizer(tmp_path: Path) -> None:
    store = Store(tmp_path)
    put(store, 1, 3)
    put(store, 2, 1)
    local = Symbolizer(store)
    asked: list[tuple[ModuleKey, int]] = [
        (named(1), 0),
        (named(2), 8),
        (named(1), 0x2F),
        (named(1), 0x4000),
        (named(3), 5),
        (named(1), -1),
        (named(2), 1 << 64),
    ]
    with serve(local) as server, SymbolicationClient(server.url) as client:
        found = RemoteSymbolizer(client).symbolize_many(asked)
        assert len(server.requests) == 1
    for (key, offset), remote in zip(asked, found, strict=True):
        expected = local.symbolize(key, offset=offset)
        assert bool(remote.reason) == bool(expected.reason)
        if expected.lookup is None:
            assert remote.lookup is None
            continue
        assert remote.lookup is not None
        assert remote.lookup.frames == expected.lookup.frames
        assert remote.lookup.function.name == expected.lookup.function.name
        assert remote.lookup.function.size == expected.lookup.function.size


def test_failures_have_a_reason(tmp_path: Path) -> None:
    put(Store(tmp_path), 1)
    with (
        serve(Symbolizer(Store(tmp_path))) as server,
        SymbolicationClient(server.url) as client,
    ):
        remote = RemoteSymbolizer(client, "there")
        nothing = remote.symbolize(named(1), offset=0x9999)
        unknown = remote.symbolize(named(9), offset=1)
        refused = remote.symbolize(ModuleKey("a/b", "1" * 33), offset=1)
    assert "no function" in nothing.reason
    assert "no symbols" in unknown.reason
    assert "invalid debug_filename" in refused.reason
    assert [each.outcome for each in unknown.module.attempts] == ["missing"]
    assert refused.module.attempts[0].source == "there"


def test_a_build_id_is_enough(tmp_path: Path) -> None:
    put(Store(tmp_path), 1)
    with (
        serve(Symbolizer(Store(tmp_path))) as server,
        SymbolicationClient(server.url) as client,
    ):
        key = key_of_build_id(build_id(1))
        found = RemoteSymbolizer(client).symbolize(key, offset=0)
    assert found.lookup is not None


def unsure_server(*said: object) -> Server:
    """A server that answers requests one after the other; why it is unsure."""
    replies = iter(said)

    def answer(request: Request) -> Reply:
        stacks = json.loads(request.body)["jobs"][0]["stacks"]
        frames = [
            {"frame": at, "module": "m", "module_offset": hex(offset), "function": "f"}
            for at, (_, offset) in enumerate(stacks[0])
        ]
        result: dict[str, object] = {"stacks": [frames], "found_modules": {"m/1": True}}
        if (unsure := next(replies)) is not None:
            result["unsure"] = unsure
        return Reply(json.dumps({"results": [result]}).encode())

    return Server(answer)


def test_what_a_server_is_unsure_of_is_taken_over() -> None:
    reason = "only 16 of 20 bytes of its build id are known"
    with (
        unsure_server({"m/1": reason}, None) as server,
        SymbolicationClient(server.url) as client,
    ):
        found = [
            RemoteSymbolizer(client).symbolize(ModuleKey("m", "1"), offset=0x14)
            for _ in range(2)
        ]
    assert [each.module.unsure for each in found] == [reason, ""]


def test_the_reasons_of_parts_of_a_job_are_joined() -> None:
    settings = ClientSettings(most_frames=1)
    job = {"memoryMap": [["m", "1"]], "stacks": [[[0, 1], [0, 2]]]}
    with (
        unsure_server(None, {"m/1": "why"}) as server,
        SymbolicationClient(server.url, settings) as client,
    ):
        (answer,) = client.symbolicate(job)
    assert len(answer.stacks[0]) == 2
    assert answer.unsure == {"m/1": "why"}
    with (
        unsure_server(["m/1"]) as server,
        SymbolicationClient(server.url) as client,
        pytest.raises(ServerError),
    ):
        client.symbolicate(job | {"stacks": [[[0, 1]]]})


def test_a_filter_says_what_the_server_is_unsure_of() -> None:
    log = (
        "{{{module:0:m:elf:abcdef}}}\n{{{mmap:0x1000:0x100:load:0:rx:0x0}}}\n"
        "{{{bt:0:0x1010:pc}}}\n{{{bt:1:0x1020:pc}}}\n"
    )
    with (
        unsure_server({"m/1": "why"}) as server,
        SymbolicationClient(server.url) as client,
    ):
        log_filter = MarkupFilter(RemoteSymbolizer(client), output=JsonOutput())
        printed = log_filter.feed(log) + log_filter.feed("")
    records = map(json.loads, printed.splitlines())
    assert [each.get("unsure") for each in records] == [None, None, "why", "why"]
    assert log_filter.doubts() == ["'m': why: it may be of another build"]


def test_the_command_says_what_the_server_is_unsure_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    job = tmp_path / "job.json"
    job.write_text('{"memoryMap": [["m", "1"]], "stacks": [[[0, 1]]]}')
    said = "gsym symbolicate: warning: m: why: it may be another build\n"
    for unsure, printed, status in ({"m/1": "why"}, said, 3), (None, "", 0):
        with unsure_server(unsure) as server:
            command = ["symbolicate", "--strict", "--server", server.url, str(job)]
            assert main(command) == status
        assert capsys.readouterr().err == printed


def test_inlined_calls_come_innermost_first() -> None:
    frame: dict[str, Any] = {
        "frame": 0,
        "module": "m",
        "module_offset": "0x14",
        "function": "outer",
        "function_offset": "0x4",
        "function_size": "0x20",
        "file": "/src/a.c",
        "line": 7,
        "inlines": [{"function": "inner", "file": "b.h", "line": 3}],
    }
    body = {"results": [{"stacks": [[frame]], "found_modules": {"m/1": True}}]}
    with (
        Server(Reply(json.dumps(body).encode())) as server,
        SymbolicationClient(server.url) as client,
    ):
        found = RemoteSymbolizer(client).symbolize(ModuleKey("m", "1"), offset=0x14)
    assert found.lookup is not None
    assert [frame.name for frame in found.lookup.frames] == ["inner", "outer"]
    assert [frame.inlined for frame in found.lookup.frames] == [True, False]
    assert found.lookup.frames[1].path == "/src/a.c"
    assert found.lookup.function == ("outer", 0x10, 0x20)
