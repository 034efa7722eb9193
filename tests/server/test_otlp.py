"""`/v1development/profiles` and gRPC: profiles in flight get functions and lines."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

grpc = pytest.importorskip("grpc", reason="grpcio is not installed")
pytest.importorskip("opentelemetry.proto", reason="opentelemetry-proto is missing")

from google.protobuf.unknown_fields import UnknownFieldSet  # noqa: E402
from opentelemetry.proto.collector.profiles.v1development import (  # noqa: E402
    profiles_service_pb2 as service,
    profiles_service_pb2_grpc as service_grpc,
)

from gsym.modules.key import Attempt, ModuleKey  # noqa: E402
from gsym.modules.symbolizer import Symbolizer  # noqa: E402
from gsym.profiles.symbolizing import symbolize as complete  # noqa: E402
from gsym.server.otlp import receiving  # noqa: E402
from gsym.server.otlp.grpc_service import GrpcService  # noqa: E402
from gsym.server.otlp.status import status_message, status_text  # noqa: E402
from gsym.store.entries import Entry, Resolution  # noqa: E402
from tests.profiles.symbols import BASE, BUILD_ID, Modules  # noqa: E402
from tests.server.collectors import ACCEPTED, GrpcCollector, HttpCollector  # noqa: E402
from tests.server.running import RunningServer, made_settings  # noqa: E402
from tests.server.test_serve_command import Serving  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.running import Answer

pytestmark = [pytest.mark.no_engine, pytest.mark.long]

PATH = "/v1development/profiles"
KIND = "application/x-protobuf"
BUILD_ID_KEY = "process.executable.build_id.gnu"
LOADED = 0x7F0000001000
TEXTS = ("", "samples", "count", "/opt/module", BUILD_ID_KEY, "main.py", "run")
NUMBER = TEXTS.index


class OneModule:
    """Finds the module with `BUILD_ID`, when *is_ready* is set."""

    def __init__(self, folder: Path) -> None:
        self.path = str(Modules(folder).path)
        self.is_ready = threading.Event()
        self.is_ready.set()

    def resolve(self, key: ModuleKey) -> Resolution:
        self.is_ready.wait(60)
        if key.code_id != BUILD_ID.upper():
            return Resolution(None, (Attempt("here", "missing"),), is_cached=True)
        identity = ModuleKey(code_id=BUILD_ID)
        return Resolution(Entry(self.path, identity), is_cached=True)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> OneModule:
    return OneModule(tmp_path_factory.mktemp("module"))


@pytest.fixture(scope="module")
def shared_collector() -> Iterator[HttpCollector]:
    with HttpCollector() as running:
        yield running


@pytest.fixture
def collector(shared_collector: HttpCollector) -> HttpCollector:
    shared_collector.answers(ACCEPTED)
    return shared_collector


@pytest.fixture(scope="module")
def server(
    module: OneModule, shared_collector: HttpCollector
) -> Iterator[RunningServer]:
    """One for all tests that do not change it."""
    with running(module, shared_collector) as made:
        yield made


def request() -> Any:
    """A native and an interpreted frame, addresses in memory and without a module."""
    made = service.ExportProfilesServiceRequest()
    tables = made.dictionary
    tables.string_table.extend(TEXTS)
    tables.attribute_table.add()
    build_id = tables.attribute_table.add(key_strindex=NUMBER(BUILD_ID_KEY))
    build_id.value.string_value = BUILD_ID
    number = tables.attribute_table.add(key_strindex=NUMBER("samples"))
    number.value.int_value = 7
    path = NUMBER("/opt/module")
    tables.mapping_table.add()
    tables.mapping_table.add(
        memory_start=BASE + 0x1000,
        memory_limit=BASE + 0x2000,
        file_offset=0x1000,
        filename_strindex=path,
        attribute_indices=[1, 2],
    )
    tables.mapping_table.add(
        memory_start=LOADED,
        memory_limit=LOADED + 0x1000,
        file_offset=0x1000,
        filename_strindex=path,
        attribute_indices=[1],
    )
    tables.function_table.add()
    tables.function_table.add(
        name_strindex=NUMBER("run"),
        filename_strindex=NUMBER("main.py"),
        start_line=3,
    )
    tables.link_table.add()
    tables.location_table.add()
    tables.location_table.add(
        mapping_index=1, address=BASE + 0x1014, attribute_indices=[2]
    )
    named = tables.location_table.add(mapping_index=1, address=BASE + 0x1040)
    named.lines.add(function_index=1, line=7, column=9)
    tables.location_table.add(mapping_index=2, address=LOADED + 0x14)
    tables.location_table.add(address=7)
    tables.stack_table.add()
    tables.stack_table.add(location_indices=[1, 2, 3, 4])
    resource = made.resource_profiles.add(schema_url="https://example.org/1")
    resource.resource.attributes.add(key="host").value.int_value = 5
    scope = resource.scope_profiles.add()
    scope.scope.name = "agent"
    profile = scope.profiles.add(time_unix_nano=5, profile_id=bytes(16), period=9)
    profile.sample_type.type_strindex = NUMBER("samples")
    profile.samples.add(stack_index=1, values=[1, 2], timestamps_unix_nano=[6, 7])
    return made


def frames_of(message: Any, index: int) -> list[tuple[str, str, str, int]]:
    tables = message.dictionary
    texts = tables.string_table
    found = []
    for line in tables.location_table[index].lines:
        each = tables.function_table[line.function_index]
        numbers = each.name_strindex, each.system_name_strindex, each.filename_strindex
        name, system_name, path = (texts[number] for number in numbers)
        found.append((name, system_name, path, line.line))
    return found


FRAMES = [
    ("inner()", "_Z5innerv", "/src/a.h", 3),
    ("outer(int)", "_Z5outeri", "/src/a.cc", 11),
]


def without_additions(message: Any) -> Any:
    """The message as it was sent."""
    left = service.ExportProfilesServiceRequest()
    left.CopyFrom(message)
    del left.dictionary.location_table[1].lines[:]
    del left.dictionary.function_table[2:]
    del left.dictionary.string_table[len(TEXTS) :]
    return left


def running(
    module: OneModule, collector: HttpCollector | GrpcCollector, **settings: Any
) -> RunningServer:
    return RunningServer(Symbolizer(module), forward_profiles=collector.url, **settings)


def send(server: RunningServer, body: bytes, **headers: str) -> Answer:
    return server.post(body, PATH, **{"content_type": KIND, **headers})


def test_a_forwarded_profile_has_functions_lines_and_inlined_calls(
    server: RunningServer, collector: HttpCollector
) -> None:
    answer = send(server, request().SerializeToString())
    assert answer.status == 200
    assert answer.headers["content-type"] == KIND
    message = service.ExportProfilesServiceRequest.FromString(collector.bodies[0])
    assert frames_of(message, 1) == FRAMES


def test_everything_else_of_a_profile_is_as_it_was_sent(
    server: RunningServer, collector: HttpCollector
) -> None:
    send(server, request().SerializeToString())
    message = service.ExportProfilesServiceRequest.FromString(collector.bodies[0])
    assert without_additions(message) == request()


def test_unknown_fields_at_every_level_survive(
    server: RunningServer, collector: HttpCollector
) -> None:
    each: Any
    unknown = b"\xfa\x7f\x03new"  # field 2047
    data = request().SerializeToString()
    made = service.ExportProfilesServiceRequest.FromString(data + unknown)
    tables = made.dictionary
    for each in (
        tables,
        tables.location_table[1],
        tables.location_table[2].lines[0],
        tables.function_table[1],
        tables.mapping_table[1],
        tables.attribute_table[2],
        made.resource_profiles[0],
        made.resource_profiles[0].scope_profiles[0].profiles[0].samples[0],
    ):
        each.MergeFromString(unknown)
    send(server, made.SerializeToString())
    message = service.ExportProfilesServiceRequest.FromString(collector.bodies[0])
    assert frames_of(message, 1) == FRAMES
    assert without_additions(message) == made
    tables = message.dictionary
    for each in (
        message,
        tables,
        tables.location_table[1],
        tables.location_table[2].lines[0],
        tables.function_table[1],
        message.resource_profiles[0].scope_profiles[0].profiles[0].samples[0],
    ):
        fields: Any = UnknownFieldSet(each)
        assert [field.data for field in fields] == [b"new"]


def test_frames_that_cannot_be_resolved_are_forwarded_untouched(
    server: RunningServer, collector: HttpCollector
) -> None:
    made = request()
    made.dictionary.attribute_table[1].value.string_value = "ab" * 20
    assert send(server, made.SerializeToString()).status == 200
    assert collector.bodies == [made.SerializeToString()]


def test_an_address_in_memory_is_not_resolved_without_the_segments_of_its_binary(
    server: RunningServer, collector: HttpCollector
) -> None:
    send(server, request().SerializeToString())
    message = service.ExportProfilesServiceRequest.FromString(collector.bodies[0])
    assert frames_of(message, 3) == []


def test_a_message_without_tables_is_forwarded(
    server: RunningServer, collector: HttpCollector
) -> None:
    assert send(server, b"").status == 200
    assert collector.bodies == [b""]


def test_gzip_is_accepted(server: RunningServer, collector: HttpCollector) -> None:
    packed = gzip.compress(request().SerializeToString())
    assert send(server, packed, content_encoding="gzip").status == 200
    message = service.ExportProfilesServiceRequest.FromString(collector.bodies[0])
    assert frames_of(message, 1) == FRAMES


def test_paths_are_rewritten_as_in_other_answers(
    module: OneModule, collector: HttpCollector
) -> None:
    with running(module, collector, path_map=["/src=/home/me"]) as server:
        send(server, request().SerializeToString())
    message = service.ExportProfilesServiceRequest.FromString(collector.bodies[0])
    assert [path for _, _, path, _ in frames_of(message, 1)] == [
        "/home/me/a.h",
        "/home/me/a.cc",
    ]


def test_partial_success_of_the_next_collector_reaches_the_client(
    server: RunningServer, collector: HttpCollector
) -> None:
    partial = service.ExportProfilesServiceResponse()
    partial.partial_success.rejected_profiles = 1
    partial.partial_success.error_message = "too old"
    collector.answers(partial.SerializeToString())
    answer = send(server, request().SerializeToString())
    found = service.ExportProfilesServiceResponse.FromString(answer.body)
    assert (answer.status, found) == (200, partial)


def test_another_status_of_success_is_not_sent_again(
    server: RunningServer, collector: HttpCollector
) -> None:
    collector.answers(b"", 202)
    answer = send(server, request().SerializeToString())
    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("\xb2", "5"), ("7", "7"), ("Wed, 21 Oct 2015 07:28:00 GMT", "1")],
)
def test_a_time_to_retry_after_is_a_number_or_a_date(
    server: RunningServer, collector: HttpCollector, theirs: str, ours: str
) -> None:
    collector.answers(b"", 503, retry_after=theirs)
    answer = send(server, request().SerializeToString())
    assert (answer.status, answer.headers["retry-after"]) == (503, ours)


@pytest.mark.parametrize(
    ("theirs", "ours", "retry_after"),
    [
        (429, 503, "7"),
        (503, 503, "7"),
        (502, 503, "7"),
        (401, 503, "7"),
        (400, 400, None),
        (413, 413, None),
    ],
)
def test_the_client_learns_whether_to_send_again(
    theirs: int,
    ours: int,
    retry_after: str | None,
    server: RunningServer,
    collector: HttpCollector,
) -> None:
    collector.answers(status_message(400, "no such thing", {}), theirs, retry_after="7")
    answer = send(server, request().SerializeToString())
    assert (answer.status, answer.headers.get("retry-after")) == (ours, retry_after)
    assert answer.headers["content-type"] == KIND
    assert ("no such thing" in status_text(answer.body)) == (ours != 503)


def test_a_collector_that_is_down_is_503(
    module: OneModule, caplog: pytest.LogCaptureFixture
) -> None:
    with HttpCollector() as gone:
        url = gone.url
    with RunningServer(Symbolizer(module), forward_profiles=url) as server:
        answers = [send(server, b"") for _ in range(3)]
    assert [each.status for each in answers] == [503] * 3
    assert "retry-after" in answers[0].headers
    said = [each.message for each in caplog.records if each.levelname == "ERROR"]
    assert len(said) == 1
    assert "profiles are not forwarded" in said[0]


def test_a_slow_module_does_not_delay_profiles(
    module: OneModule, collector: HttpCollector
) -> None:
    module.is_ready.clear()
    body = request().SerializeToString()
    with running(module, collector, profile_wait=0.05) as server:
        assert send(server, body).status == 200
        assert collector.bodies == [body]
        module.is_ready.set()
        while send(server, body).status == 200:
            found = service.ExportProfilesServiceRequest.FromString(
                collector.bodies[-1]
            )
            if frames_of(found, 1) == FRAMES:
                break
            time.sleep(0.01)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"\xff", {}, 400),
        (b"", {"content_type": "application/json"}, 415),
        (b"", {"content_encoding": "br"}, 415),
        (b"1234", {"content_encoding": "gzip"}, 400),
        (bytes(2000), {}, 413),
        (gzip.compress(bytes(2000), mtime=0), {"content_encoding": "gzip"}, 413),
    ],
)
def test_bad_requests_are_refused_and_not_forwarded(
    body: bytes,
    headers: dict[str, str],
    status: int,
    module: OneModule,
    collector: HttpCollector,
) -> None:
    with running(module, collector, max_body=1000) as server:
        answer = send(server, body, **headers)
    assert answer.status == status
    assert answer.headers["content-type"] == KIND
    assert status_text(answer.body)
    assert not collector.bodies


def test_an_index_out_of_range_is_refused(server: RunningServer) -> None:
    made = request()
    made.dictionary.location_table[1].mapping_index = 99
    answer = send(server, made.SerializeToString())
    assert answer.status == 400
    assert "mapping index 99 out of range" in status_text(answer.body)


def test_a_build_id_that_is_none_is_not_searched_for(
    server: RunningServer, collector: HttpCollector
) -> None:
    made = request()
    made.dictionary.attribute_table[1].value.string_value = "ab" * 1000
    assert send(server, made.SerializeToString()).status == 200
    assert collector.bodies == [made.SerializeToString()]


def test_texts_that_many_entries_share_are_read_once(
    server: RunningServer, collector: HttpCollector
) -> None:
    made = request()
    tables, text = made.dictionary, "a" * 2_000_000
    tables.string_table.append("/" + text)
    tables.attribute_table[1].value.string_value = text
    tables.mapping_table[1].attribute_indices.extend([1] * 1_000_000)
    for _ in range(5000):
        index = len(tables.mapping_table)
        tables.location_table.add(mapping_index=index, address=BASE)
        tables.mapping_table.add(
            memory_start=BASE,
            memory_limit=BASE + 1,
            filename_strindex=len(TEXTS),
            attribute_indices=[1],
        )
    assert send(server, made.SerializeToString()).status == 200
    assert collector.bodies == [made.SerializeToString()]


@pytest.mark.parametrize("field", [1, 2, 3, 4, 6, 7])
def test_a_table_with_too_many_entries_is_refused_before_it_is_read(
    field: int, module: OneModule, collector: HttpCollector
) -> None:
    tables = bytes([field << 3 | 2, 0]) * 2000
    body = b"\x12\xa0\x1f" + tables  # the field `dictionary`
    with running(module, collector, max_frames=1999) as server:
        answer = send(server, body)
    assert answer.status == 413
    assert "_table has more than 1999 entries" in status_text(answer.body)
    assert not collector.bodies


def test_profiles_are_sent_again_if_a_file_was_truncated_meanwhile(
    module: OneModule, collector: HttpCollector, tmp_path: Path
) -> None:
    with running(module, collector) as server:
        send(server, request().SerializeToString())
        path = Path(module.path)
        data = path.read_bytes()
        os.truncate(path, len(data) - 1)
        try:
            answer = send(server, request().SerializeToString())
        finally:
            fresh = tmp_path / "fresh"
            fresh.write_bytes(data)
            shutil.move(fresh, path)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert send(server, request().SerializeToString()).status == 200
    assert len(collector.bodies) == 2


def test_too_many_locations_are_refused(
    module: OneModule, collector: HttpCollector
) -> None:
    with running(module, collector, max_frames=3) as server:
        assert send(server, request().SerializeToString()).status == 413


def test_large_requests_are_worked_on_one_at_a_time(
    module: OneModule, collector: HttpCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small ones do not wait for them."""
    at_once, most = 0, 0
    has_begun, may_end = threading.Event(), threading.Event()

    def symbolize(profile: Any, *arguments: Any, **options: Any) -> None:
        nonlocal at_once, most
        if len(profile.locations) > 10:
            at_once += 1
            most = max(most, at_once)
            has_begun.set()
            assert may_end.wait(60)
            at_once -= 1
        complete(profile, *arguments, **options)

    monkeypatch.setattr(receiving, "symbolize", symbolize)
    small, large = request(), request()
    large.dictionary.string_table.append("x" * (1 << 20))
    for address in range(100):
        large.dictionary.location_table.add(mapping_index=1, address=LOADED + address)
    with running(module, collector) as server, ThreadPoolExecutor(3) as threads:
        body = large.SerializeToString()
        waiting = [threads.submit(send, server, body) for _ in range(3)]
        assert has_begun.wait(60)
        assert send(server, small.SerializeToString()).status == 200
        assert [each.done() for each in waiting] == [False] * 3
        may_end.set()
        assert [each.result().status for each in waiting] == [200] * 3
    assert most == 1


@pytest.mark.parametrize(
    ("tokens", "given", "status"),
    [
        ({"agent": "profiles"}, "", 401),
        ({"agent": "profiles"}, "agent", 200),
        ({"reader": "read"}, "", 401),
        ({"reader": "read"}, "reader", 401),
        ({"root": "admin", "reader": "read"}, "root", 200),
        ({"builder": "upload"}, "", 200),
    ],
)
def test_sending_needs_its_scope_if_there_are_tokens_to_read_or_send(
    tokens: dict[str, str],
    given: str,
    status: int,
    module: OneModule,
    collector: HttpCollector,
) -> None:
    headers = {"authorization": f"Bearer {given}"} if given else {}
    with running(module, collector, tokens=tokens) as server:
        assert send(server, b"", **headers).status == status


def test_there_is_no_endpoint_without_a_collector(module: OneModule) -> None:
    with RunningServer(Symbolizer(module)) as server:
        assert send(server, b"").status == 404


def test_locations_and_requests_are_counted(
    module: OneModule, collector: HttpCollector
) -> None:
    with running(module, collector) as server:
        send(server, request().SerializeToString())
        text = server.ask("GET", "/metrics").body.decode()
    assert 'gsym_profile_locations_total{result="symbolized"} 1.0' in text
    assert 'gsym_profile_locations_total{result="left"} 1.0' in text
    assert 'gsym_profiles_forwarded_total{status="200"} 1.0' in text


class RunningGrpc:
    """A gRPC server before the application of a `RunningServer`, and a client."""

    def __init__(self, server: RunningServer, **settings: Any) -> None:
        made = made_settings(**settings)
        self._service = GrpcService(server.app, made)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def __enter__(self) -> Any:
        self._thread.start()
        port = self._run(self._service.start())
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        return service_grpc.ProfilesServiceStub(self._channel)  # type: ignore[no-untyped-call]

    def __exit__(self, *_: object) -> None:
        self._channel.close()
        self._run(self._service.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def test_grpc_is_answered_and_forwarded_as_http_is(module: OneModule) -> None:
    with (
        GrpcCollector() as collector,
        running(module, collector) as server,
        RunningGrpc(server) as client,
    ):
        collector.answer.partial_success.rejected_profiles = 2
        for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
            answer = client.Export(request(), compression=compression)
            assert answer == collector.answer
            assert frames_of(collector.requests[-1], 1) == FRAMES
            assert without_additions(collector.requests[-1]) == request()
        text = server.ask("GET", "/metrics").body.decode()
    counted = f'gsym_requests_total{{method="POST",path="{PATH}",status="200"}} 2.0'
    assert counted in text


@pytest.mark.parametrize(
    ("error", "has_details", "ours"),
    [
        ("UNAVAILABLE", 0, "UNAVAILABLE"),
        ("RESOURCE_EXHAUSTED", 1, "UNAVAILABLE"),
        ("RESOURCE_EXHAUSTED", 0, "RESOURCE_EXHAUSTED"),
        ("UNAUTHENTICATED", 0, "UNAVAILABLE"),
        ("INVALID_ARGUMENT", 0, "INVALID_ARGUMENT"),
    ],
)
def test_a_client_of_grpc_learns_whether_to_send_again(
    error: str, has_details: int, ours: str, module: OneModule
) -> None:
    with (
        GrpcCollector() as collector,
        running(module, collector) as server,
        RunningGrpc(server) as client,
    ):
        collector.error = getattr(grpc.StatusCode, error), "no"
        if has_details:
            details = status_message(503, "no", {"retry-after": "1"})
            collector.trailing = (("grpc-status-details-bin", details),)
        with pytest.raises(grpc.RpcError) as caught:
            client.Export(request())
    assert caught.value.code().name == ours
    details = dict(caught.value.trailing_metadata())["grpc-status-details-bin"]
    assert (b"RetryInfo" in details) == (ours == "UNAVAILABLE")


def test_tokens_of_grpc_are_metadata(module: OneModule) -> None:
    tokens = {"agent": "profiles"}
    with (
        GrpcCollector() as collector,
        running(module, collector, tokens=tokens) as server,
        RunningGrpc(server) as client,
    ):
        with pytest.raises(grpc.RpcError) as caught:
            client.Export(request())
        assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED
        client.Export(request(), metadata=(("authorization", "Bearer agent"),))


def certificate(folder: Path) -> tuple[Path, bytes]:
    """A file with a certificate for 127.0.0.1 and its key, and the certificate."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    key, public = folder / "key.pem", folder / "certificate.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(public)]
    subprocess.run(command, check=True, capture_output=True)
    both = folder / "server.pem"
    both.write_bytes(key.read_bytes() + public.read_bytes())
    return both, public.read_bytes()


@pytest.mark.long
@pytest.mark.no_engine
def test_a_server_with_workers_and_a_certificate_accepts_both_protocols(
    tmp_path: Path,
) -> None:
    pem, public = certificate(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with (
        GrpcCollector() as collector,
        Serving(
            tmp_path,
            "--workers=2",
            f"--set=forward_profiles={collector.url}",
            f"--set=grpc_port={port}",
            f"--set=tls_certificate={pem}",
        ) as serving,
    ):
        context = ssl.create_default_context(cadata=public.decode())
        connection = HTTPSConnection(
            "127.0.0.1", serving.port, timeout=30, context=context
        )
        headers = {"content-type": KIND}
        connection.request("POST", PATH, request().SerializeToString(), headers)
        assert connection.getresponse().status == 200
        connection.close()
        credentials = grpc.ssl_channel_credentials(public)
        with grpc.secure_channel(f"127.0.0.1:{port}", credentials) as channel:
            stub: Any = service_grpc.ProfilesServiceStub
            stub(channel).Export(request(), timeout=30, wait_for_ready=True)
        assert collector.requests == [request(), request()]
        assert serving.stop() == 0
    messages = [json.loads(line)["message"] for line in serving.lines]
    assert f"profiles by gRPC: port {port}" in messages
    assert f"profiles: symbolized and sent to {collector.url}" in messages


LATE = """
import sys
import gsym.server.workers
from gsym.cli.main import main

gsym.server.workers.check_grpc_port = lambda settings: None
if __name__ == "__main__":
    sys.exit(main())
"""


@pytest.mark.long
@pytest.mark.no_engine
def test_a_server_whose_worker_cannot_listen_for_grpc_fails(tmp_path: Path) -> None:
    script = tmp_path / "late.py"
    script.write_text(LATE)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with Serving(
            tmp_path,
            "--set=forward_profiles=http://127.0.0.1:9/",
            f"--set=grpc_port={port}",
            words=(str(script), "serve", "--port", "0"),
        ) as serving:
            assert serving.process.wait(60) == 1
    text = "".join(serving.lines)
    assert f"127.0.0.1:{port}: cannot listen for gRPC" in text
    assert "a worker could not start" in text


def test_a_message_of_grpc_above_the_limit_is_refused(module: OneModule) -> None:
    made = request()
    made.resource_profiles[0].schema_url = "x" * 100_000
    with (
        GrpcCollector() as collector,
        running(module, collector) as server,
        RunningGrpc(server, max_body=50_000) as client,
    ):
        for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
            with pytest.raises(grpc.RpcError) as caught:
                client.Export(made, compression=compression)
            assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not collector.requests
