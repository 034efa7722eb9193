"""Parts of symbfiles that are refused: each code, and nothing left behind."""

from __future__ import annotations

import errno
import http.client
import json
import os
import re
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gsym.containers.inflation import import_zstd
from gsym.symbfile.format import (
    encode,
)
from tests.server.symbfile_pushes import (
    ANY,
    CODES,
    KEY,
    OTHER_KEY,
    PADS,
    PART_LIMIT,
    PARTS_LIMIT,
    RANGES,
    SIZE_LIMIT,
    TAKEN,
    download,
    file_id,
    function_at,
    is_clean,
    limited,
    push,
    ranges,
    refused,
    return_pads,
    running,
    store_of,
    unknown_message,
    waiting,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.running import RunningServer

pytestmark = [pytest.mark.long, pytest.mark.confined]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with limited(tmp_path_factory.mktemp("symbfiles")) as it:
        yield it


# ---- what is refused


REFUSALS: dict[str, dict[str, Any]] = {
    "1001": {"Authorization": ""},
    "1002": {"key": KEY[:-1]},
    "1101": {"FileID": "d--nFqkSpJIXRFeHMp_Sm"},
    "1102": {"FilePart": "-1"},
    "1103": {"part": 2, "parts": 2},
    "1105": {"body": b""},
    "1106": {"Content_Encoding": "br"},
    "1201": {"body": bytes(PART_LIMIT + 1)},
    "1202": {"part": PARTS_LIMIT, "parts": None},
    "1203": {"body": import_zstd().compress(bytes(SIZE_LIMIT + 1))},
    "1401": {"body": ANY[:-1]},
    "1402": {"body": return_pads(1)},
    "1403": {"body": b"".join(encode([]))},
}
# Those that one request cannot bring about have tests of their own below.
ELSEWHERE = {"1000", "1104", "1107", "1301", "1404", "1501", "1502", "1503"}


def test_every_code_has_a_test() -> None:
    assert set(REFUSALS) | ELSEWHERE == set(CODES)
    assert not set(REFUSALS) & ELSEWHERE


@pytest.mark.parametrize("code", REFUSALS)
def test_an_invalid_request_is_refused_with_its_code(
    server: RunningServer, code: str
) -> None:
    request = {"body": ANY, **REFUSALS[code]}
    assert refused(push(server, 50, **request), code)
    assert function_at(server, 50, 0x1000) is None
    assert is_clean(server)


@pytest.mark.parametrize(
    ("body", "path", "code", "text"),
    [
        (ANY, PADS, "1402", "it contains ranges"),
        (return_pads(1), RANGES, "1402", "it contains return pads"),
        (import_zstd().compress(ANY)[:-4], RANGES, "1401", "damaged"),
    ],
)
def test_a_body_is_refused_with_the_reason(
    server: RunningServer, body: bytes, path: str, code: str, text: str
) -> None:
    assert text in refused(push(server, 51, body, path=path), code)
    assert is_clean(server)


def test_a_part_with_different_bytes_is_refused(
    server: RunningServer,
) -> None:
    bodies = [ranges(51, 3 * part) for part in range(2)]
    assert push(server, 51, bodies[0], 0, 2).status == 200
    text = refused(push(server, 51, ranges(99), 0, 2), "1301")
    assert text.startswith("part 0 was already sent with other bytes: ")
    assert push(server, 51, bodies[1], 1, 2).status == 200
    assert function_at(server, 51, 0x1000) == "f51_0"


def test_a_part_after_the_last_one_is_refused(server: RunningServer) -> None:
    assert push(server, 52, ranges(52), 1, None).status == 200
    refused(push(server, 52, ranges(52), 0, 1), "1103")
    assert push(server, 52, ranges(52, 3), 0, 3).status == 200
    refused(push(server, 52, ranges(52), 3, None), "1103")
    assert push(server, 52, ranges(52, 6), 2, 3).status == 200


def test_a_damaged_part_discards_the_upload(
    server: RunningServer,
) -> None:
    good = [ranges(53, 3 * part) for part in range(3)]
    for part in (0, 2):
        assert push(server, 53, good[part], part, 3).status == 200
    text = refused(push(server, 53, good[1][:-3], 1, 3), "1401")
    assert re.match(r"part 1: offset 0x[0-9a-f]+: ", text)
    assert is_clean(server)
    for part in range(3):
        assert push(server, 53, good[part], part, 3).status == 200
    assert function_at(server, 53, 0x1000) == "f53_0"


def test_a_body_without_a_length_is_refused(server: RunningServer) -> None:
    head = (
        f"POST {RANGES} HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: APIKey {KEY}\r\n"
        f"FileID: {file_id(54).base64}\r\nFilePart: 0\r\nFileParts: 1\r\n"
    )
    body = f"{len(ANY):x}\r\n".encode() + ANY + b"\r\n0\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as wire:
        wire.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + body)
        response = http.client.HTTPResponse(wire)
        response.begin()
        found = {name.lower(): value for name, value in response.getheaders()}
        answer = type(push(server, 1, b""))(response.status, found, response.read())
    refused(answer, "1104")


def test_a_slow_body_is_refused(tmp_path: Path) -> None:
    with running(tmp_path / "store", upload_timeout=0.1) as server:
        head = (
            f"POST {RANGES} HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: APIKey {KEY}\r\n"
            f"FileID: {file_id(1).base64}\r\nFilePart: 0\r\nContent-Length: 9\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", server.port)) as wire:
            wire.sendall(head.encode() + b"symb")
            response = http.client.HTTPResponse(wire)
            response.begin()
            assert json.loads(response.read())["error"]["Code"] == "1107"
            assert response.status == CODES["1107"].status
        assert not waiting(server)


@pytest.mark.parametrize(
    ("error", "code"), [(OSError(errno.ENOSPC, ""), "1503"), (OSError(5, ""), "1000")]
)
def test_a_part_can_be_repeated_after_a_disk_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, code: str
) -> None:
    with running(tmp_path / "store") as server:
        with monkeypatch.context() as patch:
            patch.setattr(
                "gsym.server.symbfiles.receiving.publish_one",
                lambda *_, **__: raise_(error),
            )
            refused(push(server, 1, ANY), code)
        assert function_at(server, 1, 0x1000) is None
        assert waiting(server)
        assert push(server, 1, ANY).json == TAKEN
        assert function_at(server, 1, 0x1000) == "f1_0"
        assert is_clean(server)


def raise_(error: Exception) -> None:
    raise error


def test_the_uuid_of_an_internal_error_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(
        "gsym.server.symbfiles.pending.PendingUpload.all_parts",
        lambda _: raise_(ValueError("a fault")),
    )
    with caplog.at_level("INFO", "gsym"), running(tmp_path / "store") as server:
        answer = push(server, 1, ANY)
    assert refused(answer, "1000") == "Something went wrong on our side."
    (said,) = (each for each in caplog.records if each.levelname == "ERROR")
    assert answer.json["uuid"] in said.getMessage()
    assert said.exc_info is not None
    (line,) = (each for each in caplog.records if RANGES in each.getMessage())
    assert line.fields["uuid"] == answer.json["uuid"]  # type: ignore[attr-defined]


def test_an_upload_above_the_memory_limit_is_refused(tmp_path: Path) -> None:
    with running(tmp_path / "store", child_memory=1 << 20) as server:
        refused(push(server, 1, ANY), "1404")
        assert is_clean(server)


def test_the_number_of_pending_uploads_is_limited(tmp_path: Path) -> None:
    with running(
        tmp_path / "store", max_pending_of_key=2, max_pending_symbfiles=3
    ) as server:
        for number in (1, 2):
            assert push(server, number, ANY, 0, 2).status == 200
        refused(push(server, 3, ANY, 0, 2), "1501")
        refused(push(server, 1, ANY, 0, 2, path=PADS), "1501")
        assert push(server, 2, ANY, 0, 2).status == 200
        assert push(server, 3, ANY, 0, 2, key=OTHER_KEY).status == 200
        refused(push(server, 4, ANY, 0, 2, key=OTHER_KEY), "1502")
        assert push(server, 1, ranges(1, 3), 1, 2).status == 200
        assert push(server, 4, ANY, 0, 2, key=OTHER_KEY).status == 200


def test_a_pending_upload_expires(tmp_path: Path) -> None:
    with running(tmp_path / "store", symbfile_time=100_000) as server:
        for number in (1, 2):
            assert push(server, number, ranges(9), 0, 2).status == 200
        root = Path(store_of(server).path, ".symbfiles")
        for name, age in (("1", 100_001), ("2", 50_000)):
            (folder,) = root.glob(f"*/*{name}.ranges")
            then = time.time() - age
            os.utime(folder, (then, then))
        # Neither is the old part known any more, nor is it part of anything.
        assert push(server, 1, ranges(1), 0, 2).status == 200
        refused(push(server, 2, ranges(2), 0, 2), "1301")
        assert push(server, 1, ranges(1, 3), 1, 2).status == 200
        assert function_at(server, 1, 0x1000) == "f1_0"
        assert len(waiting(server)) == 1


def test_expired_uploads_do_not_count(tmp_path: Path) -> None:
    with running(
        tmp_path / "store", symbfile_time=1000, max_pending_symbfiles=1
    ) as server:
        assert push(server, 1, ANY, 0, 2).status == 200
        refused(push(server, 2, ANY, 0, 2), "1502")
        (folder,) = Path(store_of(server).path, ".symbfiles").glob("*/*")
        os.utime(folder, (0, 0))
        assert push(server, 2, ANY, 0, 2).status == 200
        assert [Path(each).name for each in waiting(server)] == [
            f"{file_id(2).hex()}.ranges"
        ]


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"symbfile": "/etc/passwd"},
        {"refusal": "unknown", "text": {"a": 1}},
        {"modules": []},
        {"modules": [1, 2]},
        {"modules": [{"path": "/etc/passwd"}]},
    ],
)
def test_a_forged_answer_of_a_confined_process_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]
) -> None:
    def run(_task: str, arguments: dict[str, Any], *_: Any, **__: Any) -> Any:
        made = Path(arguments["folder"], "made")
        made.write_bytes(b"")
        return {"symbfile": str(made), **answer} if "modules" in answer else answer

    target = "gsym.server.symbfiles.receiving.run_confined"
    with running(tmp_path / "store") as server:
        with monkeypatch.context() as patch:
            patch.setattr(target, run)
            refused(push(server, 1, ANY), "1401")
        assert is_clean(server)
        assert function_at(server, 1, 0x1000) is None


# ---- limits


def test_the_number_of_parts_is_limited(server: RunningServer) -> None:
    for part in range(PARTS_LIMIT):
        body = ranges(61, part, 1)
        assert push(server, 61, body, part, PARTS_LIMIT).json == TAKEN
    assert function_at(server, 61, 0x1000) == "f61_0"
    refused(push(server, 61, ANY, 0, PARTS_LIMIT + 1), "1202")


def test_the_size_of_a_symbfile_is_limited(server: RunningServer) -> None:
    sizes = [5000, 5000, SIZE_LIMIT - 10_000]
    bodies = [
        ranges(62, 3 * part) + unknown_message(size - len(ranges(62, 3 * part)))
        for part, size in enumerate(sizes)
    ]
    assert push(server, 62, bodies[0], 0, 3).status == 200
    assert push(server, 62, bodies[1], 1, 3).status == 200
    refused(push(server, 62, bodies[2] + b"\0", 2, 3), "1203")
    assert push(server, 62, bodies[2], 2, 3).json == TAKEN
    assert function_at(server, 62, 0x1000) == "f62_0"


def test_without_keys_there_are_no_endpoints(tmp_path: Path) -> None:
    with running(tmp_path / "store", tokens={}) as server:
        assert push(server, 1, ANY).status == 404


def test_read_tokens_are_not_api_keys(tmp_path: Path) -> None:
    with running(
        tmp_path / "store", tokens={"reader": "read", KEY: "upload"}
    ) as server:
        assert push(server, 1, ANY).json == TAKEN
        assert download(server, 1, "ranges").status == 401
        refused(push(server, 1, ANY, key="reader"), "1002")
        refused(push(server, 1, ANY, Authorization="Bearer reader"), "1001")
