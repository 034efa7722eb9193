"""Symbfiles in parts: what is taken."""

from __future__ import annotations

import gzip
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from gsym.confined.confinement import ChildLimits
from gsym.containers.inflation import import_zstd
from gsym.errors import FormatError, LimitError
from gsym.server.symbfiles import receiving as symbfile_publication
from gsym.server.symbfiles.pending import PendingUpload
from gsym.store.verification import verify_store
from gsym.symbfile.columns import Range
from gsym.symbfile.format import encode
from tests.server.symbfile_pushes import (
    ANY,
    KEY,
    OTHER_KEY,
    PADS,
    RANGES,
    TAKEN,
    download,
    file_id,
    function_at,
    is_clean,
    limited,
    pieces,
    push,
    ranges,
    records,
    refused,
    return_pads,
    running,
    store_of,
    waiting,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.server.running import RunningServer

pytestmark = [pytest.mark.long, pytest.mark.confined]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with limited(tmp_path_factory.mktemp("symbfiles")) as it:
        yield it


# ---- what is taken


def test_a_symbfile_in_one_part_is_published(server: RunningServer) -> None:
    assert function_at(server, 1, 0x1000) is None
    answer = push(server, 1, ranges(1))
    assert (answer.status, answer.json) == (200, TAKEN)
    assert function_at(server, 1, 0x1000) == "f1_0"
    assert function_at(server, 1, 0x1240) is None


def test_inlined_calls_may_be_in_another_part(
    server: RunningServer,
) -> None:
    found = [each for each in records(ranges(40)) if isinstance(each, Range)]
    functions = [each for each in found if not each.depth]
    calls = [each for each in found if each.depth]
    for number, part in enumerate((calls[::-1], functions[::-1])):
        body = b"".join(encode(part))
        assert push(server, 40, body, number, 2).status == 200
    request = {
        "memoryMap": [["app", file_id(40).hex()]],
        "stacks": [[[0, each.elf_va] for each in calls]],
    }
    frames = server.post(request).json["results"][0]["stacks"][0]
    assert [each["inlines"][0]["function"] for each in frames] == ["inner"] * len(calls)


def test_a_kernel_is_at_the_end_of_all_addresses(server: RunningServer) -> None:
    first = 0xFFFFFFFF81000000
    body = b"".join(encode([Range(0x10, 8, "low"), Range(first, 8, "start_kernel")]))
    assert push(server, 3, body).status == 200
    names = [function_at(server, 3, address) for address in (0x10, first, first + 8)]
    assert names == ["low", "start_kernel", None]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_parts_come_in_any_order(server: RunningServer, order: tuple[int, ...]) -> None:
    number = 10 + order[0]
    bodies = [ranges(number, 3 * part) for part in range(3)]
    for part in order:
        assert function_at(server, number, 0x1000) is None
        assert push(server, number, bodies[part], part, 3).json == TAKEN
    names = [function_at(server, number, 0x1000 + 0x100 * each) for each in range(9)]
    assert names == [f"f{number}_{each}" for each in range(9)]
    whole = download(server, number, "ranges").body
    assert records(whole) == [each for body in bodies for each in records(body)]


def test_parts_may_be_pieces_of_one_file(server: RunningServer) -> None:
    body = ranges(20, count=30)
    for part, piece in reversed(list(enumerate(pieces(body, 4)))):
        assert push(server, 20, piece, part, 4).status == 200
    assert function_at(server, 20, 0x1000) == "f20_0"
    assert import_zstd().decompress(download(server, 20, "ranges").body) == body


@pytest.mark.parametrize(
    ("pack", "form"), [(import_zstd().compress, "whole"), (gzip.compress, "cut")]
)
def test_parts_may_be_compressed(server: RunningServer, pack: Any, form: str) -> None:
    number = 22 + 2 * (form == "cut") + (pack is gzip.compress)
    packed = pack(ranges(number))
    bodies = pieces(packed, 2) if form == "cut" else [packed, ranges(number, 3)]
    for part, each in enumerate(bodies):
        assert push(server, number, each, part, 2).json == TAKEN
    assert function_at(server, number, 0x1000) == f"f{number}_0"


def test_the_time_limit_follows_the_inflated_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds: dict[int, int] = {}

    def run(task: str, _arguments: object, _folder: str, limits: Any, **_: Any) -> None:
        seconds[number] = limits.seconds_per_100_mib
        raise LimitError(task)

    monkeypatch.setattr(symbfile_publication, "run_confined", run)
    with running(tmp_path / "store") as server:
        for number, body in enumerate((ranges(1), import_zstd().compress(ranges(1)))):
            assert push(server, number, body).status == 422
    usual = ChildLimits().seconds_per_100_mib
    assert seconds == {0: usual, 1: 8 * usual}


def test_one_part_suffices_to_declare_their_number(server: RunningServer) -> None:
    bodies = [ranges(30, 3 * part) for part in range(3)]
    assert push(server, 30, bodies[0], 0, None).status == 200
    assert push(server, 30, bodies[2], 2, 3).status == 200
    assert function_at(server, 30, 0x1000) is None
    assert push(server, 30, bodies[1], 1, None).status == 200
    assert function_at(server, 30, 0x1000) == "f30_0"


def test_a_repeated_part_changes_nothing(server: RunningServer) -> None:
    bodies = [ranges(31, 3 * part) for part in range(2)]
    for _ in range(3):
        assert push(server, 31, bodies[0], 0, 2).json == TAKEN
    assert push(server, 31, bodies[1], 1, 2).json == TAKEN
    assert function_at(server, 31, 0x1300) == "f31_3"


def test_another_number_of_parts_restarts_the_upload(server: RunningServer) -> None:
    assert push(server, 32, ranges(32), 0, 3).status == 200
    assert push(server, 32, ranges(99), 1, 3).status == 200
    assert push(server, 32, ranges(32, 3), 1, 2).status == 200
    assert function_at(server, 32, 0x1000) is None
    assert push(server, 32, ranges(32), 0, 2).status == 200
    assert function_at(server, 32, 0x1000) == "f32_0"


def test_a_finished_upload_can_be_repeated(server: RunningServer) -> None:
    for _ in range(2):
        assert push(server, 33, ranges(33, count=2)).json == TAKEN
    assert push(server, 33, ranges(33, count=3)).json == TAKEN
    assert function_at(server, 33, 0x1200) == "f33_2"
    assert push(server, 33, ranges(33, count=1)).json == TAKEN
    assert function_at(server, 33, 0x1200) == "f33_2"  # what is richer stays


def test_uploads_of_different_keys_are_separate(server: RunningServer) -> None:
    bodies = [ranges(34, 3 * part) for part in range(2)]
    assert push(server, 34, bodies[0], 0, 2).status == 200
    assert push(server, 34, ranges(99), 0, 2, key=OTHER_KEY).status == 200
    assert push(server, 34, bodies[1], 1, 2).status == 200
    assert function_at(server, 34, 0x1000) == "f34_0"
    assert len(waiting(server)) == 1
    assert push(server, 34, ranges(99, 3), 1, 2, key=OTHER_KEY).status == 200


@pytest.mark.parametrize("form", ["hex", "upper", "padded", "plain"])
def test_every_format_of_a_file_id_is_accepted(
    server: RunningServer, form: str
) -> None:
    number = (0xFBFF << 112) + len(form)
    text = {
        "hex": file_id(number).hex(),
        "upper": file_id(number).hex().upper(),
        "padded": file_id(number).base64 + "==",
        "plain": file_id(number).base64.replace("-", "+").replace("_", "/"),
    }[form]
    answer = push(
        server,
        number,
        ranges(1),
        method="PUT",
        FileID=text,
        Authorization=f"ApiKey  {KEY} ",
    )
    assert answer.json == TAKEN
    assert function_at(server, number, 0x1000) == "f1_0"


@pytest.mark.parametrize("is_old", [True, False])
def test_expired_uploads_are_removed_at_start(tmp_path: Path, *, is_old: bool) -> None:
    with running(tmp_path / "store", symbfile_time=1000) as server:
        assert push(server, 1, ranges(1), 0, 2).status == 200
        (folder,) = tmp_path.glob("store/.symbfiles/*/*")
        if is_old:
            os.utime(folder, (0, 0))
    with running(tmp_path / "store", symbfile_time=1000) as server:
        assert len(waiting(server)) == (not is_old)


# ---- several at once


def test_parts_sent_to_several_workers_make_one_symbfile(
    tmp_path: Path,
) -> None:
    parts = 12
    bodies = [ranges(70, 3 * part) for part in range(parts)]
    with (
        running(tmp_path / "store") as one,
        running(tmp_path / "store") as other,
        ThreadPoolExecutor(2 * parts) as clients,
    ):
        requests = [
            clients.submit(push, server, 70, bodies[part], part, parts)
            for part in range(parts)
            for server in (one, other)  # each part to both
        ]
        assert [each.result().json for each in requests] == [TAKEN] * 2 * parts
        for server in (one, other):
            assert function_at(server, 70, 0x1000) == "f70_0"
        whole = records(download(one, 70, "ranges").body)
        assert whole == [each for body in bodies for each in records(body)]
        assert not list(verify_store(store_of(one)))


def test_a_part_repeated_during_publication_gets_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end = Event(), Event()

    def publish(*_: object, **__: object) -> None:
        begun.set()
        assert may_end.wait(60)
        raise FormatError("no")

    monkeypatch.setattr("gsym.server.symbfiles.receiving.publish_one", publish)
    polled = Event()
    asked = PendingUpload.try_lock

    def try_lock(upload: PendingUpload) -> bool:
        is_mine = asked(upload)
        if not is_mine:
            polled.set()
        return is_mine

    monkeypatch.setattr(PendingUpload, "try_lock", try_lock)
    with (
        running(tmp_path / "store") as one,
        running(tmp_path / "store") as other,
        ThreadPoolExecutor(2) as clients,
    ):
        first = clients.submit(push, one, 1, ANY)
        assert begun.wait(60)
        second = clients.submit(push, other, 1, ANY)
        assert polled.wait(60)
        may_end.set()
        assert refused(first.result(), "1401") == "no"
        assert refused(second.result(), "1401") == "no"
        assert is_clean(one)


def test_an_aborted_part_leaves_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level("INFO", "gsym.requests"),
        running(tmp_path / "store") as server,
        socket.create_connection(("127.0.0.1", server.port)) as wire,
    ):
        wire.sendall(
            f"POST {RANGES} HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: APIKey {KEY}\r\n"
            f"FileID: {file_id(1).base64}\r\nFilePart: 0\r\nFileParts: 1\r\n"
            "Expect: 100-continue\r\nContent-Length: 99999\r\n\r\n".encode()
        )
        assert wire.recv(100).startswith(b"HTTP/1.1 100 ")  # its body is being read
        wire.sendall(b"symbfile")
        wire.close()
        assert push(server, 1, ANY).json == TAKEN
    fields = [vars(each).get("fields", {}) for each in caplog.records]
    results = [each["symbfile"] for each in fields if each.get("path") == RANGES]
    assert sorted(results) == ["added", "broken off"]
    assert is_clean(server)


def test_parts_are_counted(server: RunningServer) -> None:
    def counted() -> dict[str, float]:
        lines = server.ask("GET", "/metrics").body.decode().splitlines()
        pairs = (line.rpartition(" ") for line in lines if "symbfile_" in line)
        return {name: float(number) for name, _, number in pairs if name[0] != "#"}

    before = counted()
    bodies = [return_pads(80, 3 * part) for part in range(2)]
    for part in (0, 0, 1):
        assert push(server, 80, bodies[part], part, 2, path=PADS).status == 200
    assert push(server, 80, b"x", path=PADS).status == 400
    now = counted()
    grown = {
        name: now[name] - before.get(name, 0)
        for name in now
        if "returnpads" in name and "_created" not in name
    }
    parts = 'gsym_symbfile_parts_total{kind="returnpads",result="%s"}'
    results = ("stored", "repeated", "added", "refused")
    assert {name: count for name, count in grown.items() if count} == {
        **dict.fromkeys([parts % result for result in results], 1),
        'gsym_symbfile_bytes_total{kind="returnpads"}': 2 * len(bodies[0])
        + len(bodies[1]),
    }
