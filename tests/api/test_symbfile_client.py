"""Parts of symbfiles on their way to a server that fails as a script says."""

from __future__ import annotations

import gzip
import random
import ssl
import sys
import tracemalloc
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gsym.api.client.symbfile_client import (
    PartOutcome,
    SymbfileClient,
    UploadSettings,
)
from gsym.errors import ServerError
from gsym.symbfile.file_id import FileId
from gsym.symbfile.upload import ENDPOINTS, UploadPart
from tests.http_server import Reply, Server
from tests.symbfile_receiver import SUCCESS, Receiver, failure

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable

FILE_ID = FileId(bytes(range(240, 256)))
KEY = "QzJqQ1Q0WUI1NlR0QVl4NTlZcXg6Y0xhcFN1S2tTSXlyTFlNTUloclJvdw=="


class Clock:
    """Remembers what a client wanted to sleep."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


def made_parts(folder: Path, *sizes: int, kind: str = "ranges") -> list[UploadPart]:
    """Parts of random bytes."""
    made = []
    for number, size in enumerate(sizes):
        path = folder / f"{kind}-{number}"
        path.write_bytes(random.Random(size + number).randbytes(size))  # noqa: S311
        made.append(UploadPart(str(path), size, FILE_ID, kind, number, len(sizes)))
    return made


def large_part(folder: Path) -> UploadPart:
    """One of 64 MiB, more than waits on its way to who does not read."""
    path = folder / "large"
    with path.open("wb") as file:
        file.truncate(64 << 20)
    return UploadPart(str(path), 64 << 20, FILE_ID, "ranges", 0, 1)


def send(
    receiver: Receiver,
    parts: list[UploadPart],
    clock: Clock | None = None,
    progress: Callable[[int, int], None] | None = None,
    **settings: float,
) -> list[PartOutcome]:
    chosen = UploadSettings()._replace(**settings)  # type: ignore[arg-type] # by name
    sleep = clock or Clock()
    with SymbfileClient(
        receiver.url + "/base/", KEY, chosen, sleep=sleep, chance=lambda: 0.0
    ) as client:
        return client.send(parts, progress)


def assert_arrived(receiver: Receiver, parts: list[UploadPart]) -> None:
    """Each part is there, with its bytes."""
    expected = {}
    for part in parts:
        key = (part.file_id.base64, part.kind, part.file_part)
        expected[key] = Path(part.path).read_bytes()
    assert receiver.parts == expected
    assert receiver.problems == []


@pytest.mark.parametrize("kind", ENDPOINTS)
def test_a_request_has_the_headers_of_the_protocol_and_the_exact_body(
    kind: str, tmp_path: Path
) -> None:
    parts = made_parts(tmp_path, 700_000, 1, 300, kind=kind)
    with Receiver() as receiver:
        outcomes = send(receiver, parts)
    assert outcomes == [PartOutcome(part, True, "", 1, 200, "") for part in parts]  # noqa: FBT003 - a record
    assert_arrived(receiver, parts)
    for number, request in enumerate(receiver.requests):
        assert request.first_line == f"POST /base/api/symbols-{kind} HTTP/1.1"
        named = dict(request.headers)
        assert named.pop("User-Agent").startswith("gsym/")
        assert named == {
            "Host": receiver.url.removeprefix("http://"),
            "Accept": "*/*",
            "FileID": FILE_ID.base64,
            "FilePart": str(number),
            "FileParts": "3",
            "Content-Length": str(parts[number].size),
            "Authorization": f"APIKey {KEY}",
        }


def test_without_a_key_the_credentials_of_the_url_are_sent(tmp_path: Path) -> None:
    parts = made_parts(tmp_path, 10)
    with Receiver() as receiver:
        url = receiver.url.replace("http://", "http://me:secret@")
        with SymbfileClient(url) as client:
            client.send(parts)
        (request,) = receiver.requests
        expected = b64encode(b"me:secret").decode()
        assert request.headers["Authorization"] == f"Basic {expected}"
        with pytest.raises(ServerError, match="either an API key") as refused:
            SymbfileClient(url, KEY)
    assert "secret" not in str(refused.value)
    assert KEY not in str(refused.value)


PASSING = [
    SUCCESS._replace(fault="reset in request"),
    SUCCESS._replace(fault="reset before head"),
    SUCCESS._replace(fault="half"),
    Reply(b"this is no HTTP\r\n\r\n", fault="no head"),
    Reply(b"<html>a portal</html>"),
    Reply(b"[" * 100_000),
    Reply(b" " * (1 << 20) + SUCCESS.body),
    *(failure(status) for status in (408, 429, 500, 503)),
    failure(503, fault="early"),
    Reply(b"bad gateway", 502),
]


@pytest.mark.parametrize("reply", PASSING, ids=lambda r: f"{r.status} {r.fault}")
def test_a_temporary_failure_is_sent_again(reply: Reply, tmp_path: Path) -> None:
    parts = made_parts(tmp_path, 300_000, 5)
    clock = Clock()
    with Receiver(reply) as receiver:
        outcomes = send(receiver, parts, clock)
    assert [(each.arrived, each.attempts) for each in outcomes] == [
        (True, 2),
        (True, 1),
    ]
    assert len(clock.waits) == 1
    assert_arrived(receiver, parts)


FINAL = [
    *(failure(status) for status in (400, 409, 422, 401, 404, 507)),
    failure(401, fault="early"),
    Reply(b"not here", 404),
    Reply.redirect("https://user:pw@elsewhere.example/x?sig=1"),
    Reply(failure(400).body),
]


@pytest.mark.parametrize("reply", FINAL, ids=lambda r: f"{r.status} {r.fault}")
def test_a_permanent_failure_is_not_sent_again(reply: Reply, tmp_path: Path) -> None:
    clock = Clock()
    with Receiver(reply) as receiver:
        (outcome,) = send(receiver, made_parts(tmp_path, 3000), clock)
    assert (outcome.arrived, outcome.attempts, clock.waits) == (False, 1, [])
    assert outcome.status == reply.status
    assert str(reply.status) in outcome.reason
    assert "sig=1" not in outcome.reason


def test_an_error_is_reported_with_code_text_and_uuid(tmp_path: Path) -> None:
    with Receiver(failure(400, "no room for this")) as receiver:
        (outcome,) = send(receiver, made_parts(tmp_path, 9))
    assert outcome.reason == "HTTP status 400: error 1000: no room for this"
    assert outcome.uuid == "f1ada52e-d705-423f-a1b0-fc054eb8900e"


@pytest.mark.parametrize(
    ("encoding", "body", "attempts"),
    [
        ("gzip", gzip.compress(SUCCESS.body, mtime=0), 1),
        ("zstd", zstd.compress(SUCCESS.body), 1),
        ("gzip", SUCCESS.body, 2),
        ("br", SUCCESS.body, 2),
    ],
)
def test_a_compressed_response_is_decoded(
    encoding: str, body: bytes, attempts: int, tmp_path: Path
) -> None:
    reply = Reply(body, headers=(("Content-Encoding", encoding),))
    with Receiver(reply) as receiver:
        (outcome,) = send(receiver, made_parts(tmp_path, 9))
    assert (outcome.arrived, outcome.attempts) == (True, attempts)


def test_a_key_repeated_by_the_server_is_not_printed(tmp_path: Path) -> None:
    replies = [
        failure(403, f"unknown key {KEY}"),
        Reply(f"<p>{KEY}</p>".encode(), 403),
    ]
    for reply in replies:
        with Receiver(reply) as receiver:
            (outcome,) = send(receiver, made_parts(tmp_path, 9))
        assert outcome.reason.startswith("HTTP status 403")
        assert KEY not in repr(outcome)


@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_part_does_not_stop_the_others(status: int, tmp_path: Path) -> None:
    parts = made_parts(tmp_path, 10, 20, 30)
    with Receiver(SUCCESS, failure(status)) as receiver:
        outcomes = send(receiver, parts)
    assert [each.arrived for each in outcomes] == [True, False, True]
    assert_arrived(receiver, [parts[0], parts[2]])


@pytest.mark.parametrize("status", [401, 507])
def test_a_server_that_refuses_all_parts_is_asked_once(
    status: int, tmp_path: Path
) -> None:
    with Receiver(failure(status)) as receiver:
        outcomes = send(receiver, made_parts(tmp_path, 10, 20))
    assert [each.attempts for each in outcomes] == [1, 0]
    assert outcomes[1].reason == f"not sent: {outcomes[0].reason}"
    assert len(receiver.requests) == 1


def test_a_part_that_fails_does_not_stop_the_others(
    tmp_path: Path,
) -> None:
    parts = made_parts(tmp_path, 10, 20)
    with Receiver(*[failure(500)] * 3) as receiver:
        outcomes = send(receiver, parts, attempts=3)
    found = [(each.arrived, each.attempts) for each in outcomes]
    assert found == [(False, 3), (True, 1)]


@pytest.mark.parametrize(
    "reply",
    [failure(503), SUCCESS._replace(fault="reset before head")],
    ids=["503", "reset"],
)
def test_an_unavailable_server_is_given_up(reply: Reply, tmp_path: Path) -> None:
    with Receiver(*[reply] * 3) as receiver:
        outcomes = send(receiver, made_parts(tmp_path, 10, 20), attempts=3)
    assert [each.attempts for each in outcomes] == [3, 0]


def test_a_server_that_does_not_answer_times_out(tmp_path: Path) -> None:
    stalled = [Reply(fault="stall")] * 2
    with Receiver(*stalled) as receiver:
        (outcome,) = send(receiver, made_parts(tmp_path, 9), attempts=2, timeout=0.2)
    assert (outcome.arrived, outcome.reason) == (False, "no answer in time")


def test_a_server_that_does_not_read_the_body_times_out(tmp_path: Path) -> None:
    with Receiver(*[Reply(fault="deaf")] * 2) as receiver:
        parts = [large_part(tmp_path)]
        (outcome,) = send(receiver, parts, attempts=2, write_timeout=0.2)
    assert (outcome.attempts, outcome.reason) == (2, "no answer in time")


def test_an_invalid_certificate_is_not_retried(
    certificate: tuple[str, str], tmp_path: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with Server(tls=context) as server:
        url = f"https://127.0.0.1:{server.port}/"
        with SymbfileClient(url, KEY, sleep=Clock()) as client:
            outcomes = client.send(made_parts(tmp_path, 9, 9))
    assert [each.attempts for each in outcomes] == [1, 0]
    assert "certificate verify failed" in outcomes[0].reason


def test_a_refused_connection_is_reported(tmp_path: Path) -> None:
    with Receiver() as receiver:
        gone = receiver.url
    with SymbfileClient(gone, settings=UploadSettings(2), sleep=Clock()) as client:
        outcomes = client.send(made_parts(tmp_path, 9, 9))
    assert [each.attempts for each in outcomes] == [2, 0]
    assert "refused" in outcomes[0].reason


def test_the_backoff_doubles_up_to_a_limit(tmp_path: Path) -> None:
    clock = Clock()
    with Receiver(*[failure(503)] * 8) as receiver:
        (outcome,) = send(receiver, made_parts(tmp_path, 9), clock)
    assert clock.waits == [0.5, 1, 2, 4, 8, 16, 30]
    assert outcome.attempts == 8


def test_jitter_shortens_a_wait_by_up_to_half(tmp_path: Path) -> None:
    clock = Clock()
    chances = iter([0.0, 0.5, 0.999])
    with (
        Receiver(*[failure(503)] * 3) as receiver,
        SymbfileClient(
            receiver.url, sleep=clock, chance=lambda: next(chances)
        ) as client,
    ):
        client.send(made_parts(tmp_path, 9))
    assert clock.waits == pytest.approx([0.5, 0.75, 1.001])


def test_retry_after_is_the_shortest_wait(tmp_path: Path) -> None:
    clock = Clock()
    replies = [failure(status, Retry_After="7") for status in (429, 503)]
    replies += [failure(503, Retry_After=text) for text in ("0", "soon", "-3")]
    with Receiver(*replies) as receiver:
        (outcome,) = send(receiver, made_parts(tmp_path, 9), clock)
    assert clock.waits == [7, 7, 2, 4, 8]
    assert outcome.arrived


@pytest.mark.parametrize(("asked", "attempts"), [(300, 2), (301, 1)])
def test_a_retry_after_above_the_limit_ends_the_upload(
    asked: int, attempts: int, tmp_path: Path
) -> None:
    with Receiver(failure(503, Retry_After=str(asked))) as receiver:
        (outcome,) = send(receiver, made_parts(tmp_path, 9))
    assert outcome.attempts == attempts
    assert outcome.arrived == (attempts == 2)
    assert outcome.arrived or "asks to wait 301 s" in outcome.reason


def test_temporary_failures_lose_no_part(tmp_path: Path) -> None:
    chance = random.Random(7)  # noqa: S311
    sizes = [chance.randrange(1, 400_000) for _ in range(12)]
    parts = made_parts(tmp_path, *sizes) + made_parts(tmp_path, 5, kind="returnpads")
    replies = [chance.choice([SUCCESS, *PASSING]) for _ in range(40)]
    with Receiver(*replies) as receiver:
        outcomes = send(receiver, parts, attempts=41)
    assert [each for each in outcomes if not each.arrived] == []
    assert any(each.reply.fault for each in receiver.requests)
    assert_arrived(receiver, parts)


def test_a_truncated_file_does_not_stop_the_others(
    tmp_path: Path,
) -> None:
    parts = made_parts(tmp_path, 600_000, 20, 30)
    (tmp_path / "ranges-0").write_bytes(b"x")
    (tmp_path / "ranges-1").unlink()
    with Receiver() as receiver:
        outcomes = send(receiver, parts)
    assert [each.arrived for each in outcomes] == [False, False, True]
    assert "truncated while" in outcomes[0].reason
    assert "No such file" in outcomes[1].reason
    assert_arrived(receiver, parts[2:])


def test_progress_counts_the_bytes_of_all_parts(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with Receiver() as receiver:
        send(
            receiver,
            made_parts(tmp_path, 600_000, 10),
            progress=lambda done, total: told.append((done, total)),
        )
    assert told == sorted(told)
    assert told[-1] == (600_010, 600_010)
    assert len(told) > 3


def test_a_large_part_is_not_held_in_memory(tmp_path: Path) -> None:
    part = large_part(tmp_path)
    with Receiver() as receiver:
        receiver.keeps_bodies = False
        tracemalloc.start()
        try:
            (outcome,) = send(receiver, [part])
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert outcome.arrived
    assert peak < 8 << 20


@pytest.mark.parametrize("url", ["ftp://x.example", "http://a b/"])
def test_an_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(ServerError, match="the URL"):
        SymbfileClient(url)
