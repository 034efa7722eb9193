"""Remote files: the answers of local ones, from a few ranges of one version."""

from __future__ import annotations

import random
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.modules.key import ModuleKey
from gsym.modules.part import module_part
from gsym.remote import reader as remote_reader
from gsym.remote.sparse_image import HEAD_SIZE
from tests.creations import create
from tests.http_server import Reply, Server
from tests.object_server import ObjectServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

pytestmark = pytest.mark.long

pytest.importorskip("httpx2", reason="the extra `net` is not installed")

PATH = "/symbols/app/big.gsym"
START = 0x10000
SIZE = 0x100
UNIT = 50  # functions


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine counts."""
    for name in ("http_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")


@pytest.fixture
def server() -> Iterator[ObjectServer]:
    with ObjectServer() as running:
        yield running


@pytest.fixture(params=["https", "s3"])
def url(request: pytest.FixtureRequest, server: ObjectServer) -> str:
    if request.param == "s3":
        pytest.importorskip("obstore", reason="the extra `cloud` is not installed")
        return server.bucket(PATH[1:])
    return server.url + PATH


@pytest.fixture
def tiny_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table, record and string is in blocks of its own."""
    monkeypatch.setattr("gsym.remote.sparse_image._BLOCK", 64)
    monkeypatch.setattr("gsym.remote.sparse_image._RECORD", 16)
    monkeypatch.setattr("gsym.remote.sparse_image._STRING", 8)
    monkeypatch.setattr("gsym.remote.sparse_image._FIRST_ANSWER", 0)
    monkeypatch.setattr("gsym.remote.sparse_image._GAPS", 0)
    monkeypatch.setattr("gsym.remote.reader.HEAD_SIZE", 192)


COUNT = 12_000  # functions of the large file


def function(index: int, padding: int = 0) -> gsym.FunctionInfo:
    """A function with calls of its unit and of the first one, where all do so."""
    start, unit = START + index * SIZE, index // UNIT
    names = "N" * (padding // 7)
    file = f"/src/unit{unit}/file{index % 7}.cc"
    common = f"/usr/include/c++/common{index % 5}.h"
    inner = gsym.InlineInfo(
        f"common{index % 9}", file, 12, (gsym.Range(start + 0x20, start + 0x40),)
    )
    outer = gsym.InlineInfo(
        f"unit{unit}_call{index % 6}_{names}",
        f"/src/unit{unit}/unit.h",
        11,
        (gsym.Range(start + 0x10, start + 0x80),),
        (inner,),
    )
    name = f"function{index}_{names}"
    root = gsym.InlineInfo(name, "", 0, (gsym.Range(start, start + SIZE),), (outer,))
    rows = (
        gsym.LineEntry(start, file, 10),
        gsym.LineEntry(start + 0x20, common, 20 + index % 50),
        gsym.LineEntry(start + 0x90, file, 30),
    )
    twin = gsym.FunctionInfo(start, SIZE, f"twin{index}", rows[:1])
    return gsym.FunctionInfo(
        start,
        SIZE,
        name,
        rows,
        root,
        merged=(twin,) if index % 10 == 3 else (),
        call_sites=(gsym.CallSite(0x30, 1, (f"to{index}",)),) if index % 4 == 1 else (),
        extra={77: bytes(padding)} if padding else {},
    )


def program(count: int, padding: int = 0, **options: Any) -> bytes:  # noqa: ANN401
    functions = (function(index, padding) for index in range(count))
    return create(functions, **options)


@pytest.fixture(scope="module")
def large() -> bytes:
    """A file of 56 MB, 9 MB of which are strings."""
    data = program(COUNT, 4000, uuid=bytes(range(20)))
    assert 55_000_000 < len(data) < 62_000_000
    return data


# ---- requests and bytes ----------------------------------------------------------


def test_a_first_answer_takes_four_requests_and_a_megabyte_of_56(
    server: ObjectServer, url: str, large: bytes
) -> None:
    server.objects[PATH] = large
    chosen, local = random.Random(1), gsym.Reader(large)  # noqa: S311 - repeatable
    for _ in range(12):
        address = START + chosen.randrange(COUNT * SIZE)
        with gsym.open(url) as reader:
            assert reader.lookup(address) == local.lookup(address)
        requests, size = server.counted()
        assert requests <= 4
        assert size <= 1 << 20


def test_further_answers_take_two_requests_or_none(
    server: ObjectServer, url: str, large: bytes
) -> None:
    server.objects[PATH] = large
    chosen, local = random.Random(2), gsym.Reader(large)  # noqa: S311 - repeatable
    with gsym.open(url) as reader:
        reader.lookup(START)
        server.counted()
        for _ in range(40):
            address = START + chosen.randrange(COUNT * SIZE)
            assert reader.lookup(address) == local.lookup(address)
            assert server.counted()[0] <= 2
            assert reader.lookup(address) == local.lookup(address)
            assert reader.lookup(address ^ 1) == local.lookup(address ^ 1)
            assert server.counted()[0] == 0


def test_many_addresses_are_asked_for_together(
    server: ObjectServer, url: str, large: bytes
) -> None:
    server.objects[PATH] = large
    addresses = [START + 0x30 + index * SIZE for index in range(9000, 9100)]
    with gsym.open(url) as reader:
        found = reader.lookup_many(addresses)
        requests, size = server.counted()
        assert requests <= 4
        assert size <= 2 << 20
    expected = gsym.Reader(large).lookup_many(addresses)
    assert found.to_pylist() == expected.to_pylist()  # also after it was closed


# ---- answers ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"version": 1, "byteorder": "little"},
        {"version": 1, "byteorder": "big", "index": False},
        {"version": 2, "byteorder": "little", "index": False},
        {"version": 2, "byteorder": "big"},
    ],
)
@pytest.mark.usefixtures("tiny_blocks")
def test_answers_are_those_of_the_local_file(
    server: ObjectServer, options: dict[str, Any]
) -> None:
    data = program(150, 150, uuid=b"12345678", **options)
    data += module_part(ModuleKey(code_id=b"12345678".hex(), os="Linux"), len(data))
    server.objects[PATH] = data
    local = gsym.Reader(data)
    with gsym.open(server.url + PATH, uuid=b"12345678") as reader:
        assert reader.header == local.header
        assert reader.module_range == local.module_range
        for address in range(START - 8, START + 150 * SIZE, 0x1FF):
            expected = local.lookup(address, merged=True)
            assert reader.lookup(address, merged=True) == expected
        assert reader.lookup(1 << 70) is None
        assert reader.is_partial
        assert server.counted()[1] < len(data)
        assert local.module is not None
        assert reader.module == local.module
        assert reader.is_partial


class HeldFile:
    """A remote file in memory."""

    name = "held"

    def __init__(self, data: bytes) -> None:
        self.data, self.size, self.head = data, len(data), data[:192]

    def read(self, start: int, size: int) -> bytes:
        assert start + size <= self.size
        return self.data[start : start + size]


def outcome(call: Callable[..., object], *arguments: object) -> object:
    try:
        return call(*arguments)
    except gsym.GsymError as error:
        return type(error), error.reason, error.offset


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        (str(1 << 60), "is larger than 4294967296 bytes"),
        ("9" * 1000, "is larger than 4294967296 bytes"),
        ("\xb2", "does not declare its size"),
        ("*", "does not declare its size"),
        ("10", "sent 524288 bytes"),
    ],
)
def test_a_size_that_cannot_be_is_refused(size: str, reason: str) -> None:
    head = b"GSYM".ljust(HEAD_SIZE, b"\0")
    headers = (("Content-Range", f"bytes 0-{HEAD_SIZE - 1}/{size}"),)
    reply = Reply(head, status=206, headers=headers)
    with (
        Server(replies={"/a.gsym": reply}) as faulty,
        pytest.raises(gsym.SourceError) as raised,
    ):
        gsym.open(faulty.url + "/a.gsym")
    assert raised.value.reason == reason


@pytest.mark.usefixtures("tiny_blocks")
def test_a_record_of_many_parts_is_read_with_the_whole_file(
    server: ObjectServer,
) -> None:
    extra = {100 + each: b"" for each in range(1000)}
    server.objects[PATH] = create([function(0)._replace(extra=extra)])
    with gsym.open(server.url + PATH) as reader:
        assert reader.lookup(START + 0x10) is not None
    # Not one for each block, of which only the one before tells that it is needed.
    assert server.counted()[0] < 30


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.usefixtures("tiny_blocks")
def test_a_damaged_file_has_the_outcomes_of_the_local_one(
    version: int, byteorder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = program(40, version=version, byteorder=byteorder)
    tables = gsym.Reader(whole).header.strtab_offset
    chosen = random.Random(version)  # noqa: S311 - repeatable
    monkeypatch.setattr(remote_reader, "RemoteFile", lambda url, *_: files[url])
    files: dict[str, HeldFile] = {}
    for end in (6, 200, tables, len(whole)) * 60:
        data = bytearray(whole)
        for _ in range(chosen.choice((1, 8))):
            data[chosen.randrange(4, end)] = chosen.choice((0, 1, 0x80, 0xFF))
        files["held"] = HeldFile(bytes(data))
        local = outcome(gsym.Reader, bytes(data))
        remote = outcome(remote_reader.open_remote, "held")
        if not isinstance(local, gsym.Reader):
            assert remote == local
            continue
        assert isinstance(remote, gsym.Reader)
        for _ in range(6):
            address = START + chosen.randrange(40 * SIZE)
            found = outcome(partial(remote.lookup, merged=True), address)
            assert found == outcome(partial(local.lookup, merged=True), address)


@pytest.mark.usefixtures("tiny_blocks")
def test_everything_else_reads_the_file_once(server: ObjectServer, url: str) -> None:
    data = program(80)
    server.objects[PATH] = data
    local = gsym.Reader(data)
    with gsym.open(url) as reader:
        assert reader.lookup(START) == local.lookup(START)
        assert list(reader) == list(local)
        assert not reader.is_partial
        server.counted()
        assert reader.find("function7_") == local.find("function7_")
        assert reader.lookup(START + SIZE) == local.lookup(START + SIZE)
        assert server.counted() == (0, 0)


@pytest.mark.usefixtures("tiny_blocks")
def test_memory_is_bounded_and_answers_stay_whole(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsym.remote.sparse_image.MEMORY", 4096)
    data = program(200)
    server.objects[PATH] = data
    local = gsym.Reader(data)
    with gsym.open(server.url + PATH) as reader:
        kept = reader.lookup_many([START + 0x30])
        images = set()
        for index in range(200):
            address = START + index * SIZE + 0x30
            assert reader.lookup(address) == local.lookup(address)
            images.add(id(reader.mapped_for((address,))))
        assert len(images) > 1
        assert reader.is_partial
        server.counted()
        assert reader.lookup(START + 199 * SIZE) == local.lookup(START + 199 * SIZE)
        assert server.counted() == (0, 0)  # what was used last is kept
    assert kept.to_pylist() == local.lookup_many([START + 0x30]).to_pylist()


@pytest.mark.usefixtures("tiny_blocks")
def test_threads_share_a_reader(server: ObjectServer) -> None:
    data = program(200)
    server.objects[PATH] = data
    local = gsym.Reader(data)
    wrong: list[int] = []
    with gsym.open(server.url + PATH) as reader:

        def work(seed: int) -> None:
            chosen = random.Random(seed)  # noqa: S311 - repeatable
            for _ in range(40):
                address = START + chosen.randrange(200 * SIZE)
                if reader.lookup(address) != local.lookup(address):
                    wrong.append(address)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert wrong == []


def test_the_command_takes_a_url(
    server: ObjectServer, url: str, capfd: pytest.CaptureFixture[str]
) -> None:
    server.objects[PATH] = program(20_000)
    assert main(["lookup", url, hex(START + 0x30), "0x1"]) == 0
    printed = capfd.readouterr()
    assert printed.out.startswith("0x10030: common0 + 16 at")
    assert "0x1 is outside the module (0x10000-0x4f2000)" in printed.err
    assert server.counted()[1] < 1 << 20


# ---- failures --------------------------------------------------------------------


@pytest.mark.usefixtures("tiny_blocks")
def test_a_file_that_is_replaced_is_an_error_that_names_it(
    server: ObjectServer, url: str
) -> None:
    server.objects[PATH] = program(100)
    with gsym.open(url) as reader:
        server.objects[PATH] = program(101)
        with pytest.raises(
            gsym.SourceError, match=r"bytes \d+-\d+: the file was replaced"
        ) as caught:
            reader.lookup(START + 50 * SIZE)
        assert "symbols/app/big.gsym: bytes" in str(caught.value)
        del server.objects[PATH]
        with pytest.raises(gsym.SourceError, match="the file was replaced"):
            reader.lookup(START + 50 * SIZE)
        with pytest.raises(gsym.SourceError, match="the file was replaced"):
            list(reader)


@pytest.mark.usefixtures("tiny_blocks")
def test_without_entity_tags_the_size_tells_that_it_was_replaced(
    server: ObjectServer,
) -> None:
    server.has_tags = False
    server.objects[PATH] = program(100)
    with gsym.open(server.url + PATH) as reader:
        reader.lookup(START)
        server.objects[PATH] = program(101)
        with pytest.raises(gsym.SourceError, match="the file was replaced"):
            reader.lookup(START + 50 * SIZE)


@pytest.mark.parametrize(
    ("data", "kind", "reason"),
    [
        (b"", gsym.FormatError, "not a GSYM file"),
        (b"\x7fELF" + bytes(9999), gsym.FormatError, "not a GSYM file: binaries"),
        (b"\x1f\x8b" + bytes(9999), gsym.FormatError, "compressed files are"),
        (b"MYSG\1\0\4", gsym.FormatError, "not enough data"),
        (program(3)[:100], gsym.FormatError, "truncated"),
    ],
)
def test_a_file_that_lookups_cannot_read_is_refused(
    server: ObjectServer, url: str, data: bytes, kind: type[Exception], reason: str
) -> None:
    server.objects[PATH] = data
    with pytest.raises(kind, match=reason) as caught:
        gsym.open(url)
    assert "symbols/app/big.gsym: " in str(caught.value)


def test_a_missing_file_and_an_invalid_url_are_errors(
    server: ObjectServer, url: str
) -> None:
    with pytest.raises(gsym.GsymError, match=r"big\.gsym: .*(404|not found)"):
        gsym.open(url)
    for text in ("https://", "https://h:x/", "s3://bucket", "s3://"):
        with pytest.raises(gsym.GsymError):
            gsym.open(text)
    assert len(server.requests) == 1


@pytest.mark.usefixtures("tiny_blocks")
def test_a_request_that_fails_is_repeated_and_then_reported(
    server: ObjectServer, url: str
) -> None:
    server.objects[PATH] = data = program(100)
    address = START + 50 * SIZE
    with gsym.open(url) as reader:
        server.failures = [503]
        assert reader.lookup(address) == gsym.Reader(data).lookup(address)
        server.failures = [500] * 3
        with pytest.raises(
            gsym.SourceError, match=r"big\.gsym: bytes \d+-\d+: .*500"
        ) as caught:
            reader.lookup(START)
        assert "\n" not in str(caught.value)
        assert reader.lookup(START) == gsym.Reader(data).lookup(START)


def test_a_redirect_to_this_machine_is_refused(server: ObjectServer) -> None:
    server.objects[PATH] = program(3)
    with Server(replies={PATH: Reply.redirect(server.url + PATH)}) as other:
        with pytest.raises(gsym.SourceError, match="is a loopback address"):
            gsym.open(other.url + PATH)
        assert server.requests == []


def test_an_encoded_file_is_refused(server: ObjectServer, url: str) -> None:
    server.objects[PATH] = program(3)
    server.headers["Content-Encoding"] = "gzip"
    with pytest.raises(gsym.UnsupportedError, match="with the encoding gzip"):
        gsym.open(url)


def test_a_server_without_ranges_serves_small_files_only(server: ObjectServer) -> None:
    server.has_ranges = False
    server.objects[PATH] = data = program(3)
    with gsym.open(server.url + PATH) as reader:
        assert list(reader) == list(gsym.Reader(data))
    server.objects[PATH] = program(20_000)
    with pytest.raises(gsym.SourceError, match="does not send ranges: download"):
        gsym.open(server.url + PATH)


def test_the_uuid_is_compared(server: ObjectServer) -> None:
    server.objects[PATH] = program(3, uuid=b"1234")
    assert gsym.lookup(server.url + PATH, START, b"1234") is not None
    with pytest.raises(gsym.UuidMismatchError, match="the UUID is 31323334, not 35"):
        gsym.open(server.url + PATH, uuid=b"5")


def test_a_closed_reader_answers_no_more(server: ObjectServer) -> None:
    server.objects[PATH] = program(3)
    reader = gsym.open(server.url + PATH)
    assert repr(reader).endswith("big.gsym>")
    reader.close()
    assert repr(reader).endswith("big.gsym: closed>")
    for call in (
        lambda: reader.lookup(START),
        lambda: reader.lookup_many([START]),
        lambda: list(reader),
        lambda: reader.size,
        lambda: reader.module_range,
    ):
        with pytest.raises(gsym.ClosedError):
            call()
