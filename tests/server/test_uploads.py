"""`POST /upload/`: what is taken, and what is refused without a trace."""

from __future__ import annotations

import errno
import gzip
import io
import json
import socket
import struct
import sys
import time
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import AsyncMock

import pytest

import gsym
from gsym.confined.process import run_confined
from gsym.confined.uploads import boundary_of, unpack_upload
from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.store.archives import ArchiveLimits, members
from gsym.store.directory import Store
from tests.http_server import Reply, Server
from tests.inputs import elf
from tests.inputs.cabinet import cabinet
from tests.inputs.pdb_examples import PDBS
from tests.server.running import RunningServer, wait_until
from tests.store_modules import build_id, identity, key, write_gsym, write_sym

pytestmark = [pytest.mark.long, pytest.mark.confined]

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.server.running import Answer

TOKEN = {"auth-token": "secret"}
LIMIT = 1 << 20


@pytest.fixture(scope="module")
def uploads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("uploads") / "store"
    with running(folder, max_upload=LIMIT, max_members=50, max_inflated=4 << 20) as it:
        yield it


def running(folder: Path, **settings: Any) -> RunningServer:
    return RunningServer(
        Symbolizer(Resolver(Store(folder))),
        **{
            "store": str(folder),
            "tokens": {"secret": "upload,replace", "other": "upload"},
            **settings,
        },
    )


def store_of(server: RunningServer) -> Store:
    return Store(server.app.state.service.settings.store)


def put(
    server: RunningServer, body: bytes, path: str = "/upload/", **headers: str
) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.ask("POST", path, body, {**TOKEN, **named})


def files_in(server: RunningServer) -> list[str]:
    """All files of the store but those that say what it is."""
    root = Path(store_of(server).path)
    return sorted(
        str(path.relative_to(root))
        for path in root.rglob("*")
        if not path.is_dir() and path.name != "gsym-store.json"
    )


def zipped(files: dict[str, bytes], **fields: Any) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            for field, value in fields.items():
                setattr(info, field, value)
            archive.writestr(info, data)
    return buffer.getvalue()


def form(*parts: tuple[str, str | None, bytes]) -> tuple[bytes, str]:
    """A form of (field, file name, contents), and its type."""
    body = b""
    for name, file, data in parts:
        where = f'form-data; name="{name}"' + (f'; filename="{file}"' if file else "")
        body += f"--edge\r\nContent-Disposition: {where}\r\n\r\n".encode()
        body += data + b"\r\n"
    return body + b"--edge--\r\n", "multipart/form-data; boundary=edge"


def sym(number: int, folder: Path) -> bytes:
    path = folder / f"{number}.sym"
    write_sym(path, number)
    return path.read_bytes()


def breakpad_path(number: int) -> str:
    module = identity(number)
    return f"{module.debug_file}/{module.debug_id}/{module.debug_file}.sym"


def binary(number: int) -> bytes:
    return elf.Elf(
        sections=(elf.code_section(0x1000, 0x20),),
        segments=(elf.Segment(0),),
        symbols=(elf.Symbol(f"f{number}", 0x1000, 0x20),),
        build_id=build_id(number),
    ).to_bytes()


# ---- what is taken


def test_an_archive_in_breakpad_layout_is_added(
    uploads: RunningServer, tmp_path: Path
) -> None:
    files = {breakpad_path(n): sym(n, tmp_path) for n in (1, 2)}
    body = zipped({**files, "readme.txt": b"hello", "folder/": b""})
    whole, kind = form(("symbols", "symbols.zip", body))
    answer = put(uploads, whole, content_type=kind)
    assert answer.status == 201
    upload = answer.json["upload"]
    assert upload["size"] == len(whole)
    assert upload["skipped_keys"] == ["readme.txt"]
    assert [(each["debug_id"], each["outcome"]) for each in upload["modules"]] == [
        (identity(n).debug_id, "added") for n in (1, 2)
    ]
    entry = store_of(uploads).get(key(1))
    assert entry is not None
    assert Path(entry.originals["sym"]).read_bytes() == sym(1, tmp_path)
    again = put(uploads, body, content_type="application/zip").json["upload"]
    assert [each["outcome"] for each in again["modules"]] == ["kept", "kept"]
    assert again["skipped_keys"] == ["readme.txt", *files]
    assert 0 < upload["id"] < again["id"]


@pytest.mark.parametrize("kind", ["sym", "sym.gz", "gsym", "elf in a form"])
def test_single_files_are_accepted(
    uploads: RunningServer, tmp_path: Path, kind: str
) -> None:
    number = 10 + ["sym", "sym.gz", "gsym", "elf in a form"].index(kind)
    headers = {"content_type": "application/octet-stream"}
    body, path = binary(number), "/upload/?name=libmine.so"
    if kind == "sym":
        body, path = sym(number, tmp_path), "/upload/"
    elif kind == "sym.gz":
        body = gzip.compress(sym(number, tmp_path))
    elif kind == "gsym":
        body = Path(write_gsym(tmp_path / "x", number)).read_bytes()
    elif kind == "elf in a form":
        body, headers["content_type"] = form(("f", "libmine.so", body))
    answer = put(uploads, body, path, **headers)
    assert answer.status == 201, answer.body
    (module,) = answer.json["upload"]["modules"]
    assert module["debug_id"] == identity(number).debug_id
    if "sym" not in kind or kind == "gsym":
        assert module["debug_file"] == "libmine.so"


def test_a_poorer_file_replaces_nothing(uploads: RunningServer, tmp_path: Path) -> None:
    rich, poor = tmp_path / "rich", tmp_path / "poor"
    bodies = {
        n: Path(write_gsym(p, 20, n)).read_bytes() for p, n in ((rich, 5), (poor, 2))
    }
    outcomes = [
        put(uploads, bodies[n]).json["upload"]["modules"][0]["outcome"]
        for n in (2, 5, 2)
    ]
    assert outcomes == ["added", "replaced", "kept"]
    entry = store_of(uploads).get(key(20))
    assert entry is not None
    with gsym.open(entry.path) as reader:
        assert len(reader) == 5


@pytest.mark.parametrize("form_of", ["pdb", "cabinet", "in an archive"])
def test_a_pdb_answers_by_its_guid_and_age(tmp_path: Path, form_of: str) -> None:
    pdb = PDBS["functions"].to_bytes()
    body = {"pdb": pdb, "in an archive": zipped({"App.pdb": pdb})}.get(form_of)
    if body is None:
        body = cabinet("App.pdb", pdb)
    name = "App.pd_" if form_of == "cabinet" else "App.pdb"
    debug_id = "030201000504070608090A0B0C0D0E0F1"
    with running(tmp_path / "store") as server:
        answer = put(server, body, f"/upload/?name={name}")
        assert answer.status == 201, answer.body
        (module,) = answer.json["upload"]["modules"]
        assert (module["debug_file"], module["debug_id"]) == ("App.pdb", debug_id)
        job = {"memoryMap": [["App.pdb", debug_id]], "stacks": [[[0, 0x1018]]]}
        (result,) = server.post({"jobs": [job]}).json["results"]
        old = server.post({**job, "version": 4}, "/symbolicate/v4").json
    (frame,) = result["stacks"][0]
    assert result["found_modules"] == {f"App.pdb/{debug_id}": True}
    assert (frame["function"], frame["line"]) == ("N::f(int, char)", 11)
    calls = [each["function"] for each in frame["inlines"]]
    assert calls == ["N::inner(int, char)", "outer(int, char)"]
    assert old["symbolicatedStacks"] == [["N::f(int, char) (in App.pdb)"]]


# ---- who may


def test_a_token_is_needed(uploads: RunningServer) -> None:
    cases: list[tuple[dict[str, str], int]] = [
        ({}, 401),
        ({"auth-token": ""}, 403),
        ({"Authorization": "Basic secret"}, 403),
        ({"auth-token": "secreT"}, 403),
        ({"Authorization": "Bearer wrong"}, 403),
        ({"auth-token": "other"}, 400),
        ({"Authorization": "bearer  secret"}, 400),
    ]
    for headers, status in cases:
        assert uploads.ask("POST", "/upload/", b"x", headers).status == status, headers


def test_the_upload_tool_of_mozilla_learns_what_its_token_may_do(
    uploads: RunningServer,
) -> None:
    answer = uploads.ask("POST", "/upload/auth_info/", b"", {"auth-token": "other"})
    info = answer.json
    assert info.pop("token_expires_at") > time.time() + 10 * 365 * 86400
    assert info == {"email": "other", "try_symbols": False, "upload_api_version": 1}
    refused = uploads.ask("POST", "/upload/auth_info/", b"", {"auth-token": "no"})
    assert (refused.status, refused.json["error"]) == (403, "unknown token")


def test_a_token_for_uploads_needs_none_for_reading(
    tmp_path: Path,
) -> None:
    tokens = {"reading": "read", "sending": "upload"}
    with RunningServer(
        Symbolizer(Resolver(Store(tmp_path / "store"))),
        store=str(tmp_path / "store"),
        tokens=tokens,
    ) as server:
        sent = {"auth-token": "sending"}
        assert server.ask("POST", "/upload/auth_info/", b"", sent).status == 200
        without = server.ask("POST", "/upload", b"x", sent)
        assert (without.status, without.title) == (404, "the path is /upload/")
        assert server.ask("GET", "/metrics", None, sent).status == 401


@pytest.mark.parametrize("path", ["/upload/", "/upload/auth_info/"])
def test_without_tokens_there_are_no_uploads(server: RunningServer, path: str) -> None:
    assert server.ask("POST", path, b"x", TOKEN).status == 404


def test_the_version_endpoint_reports_the_confinement(uploads: RunningServer) -> None:
    version = uploads.ask("GET", "/__version__").json
    assert "limits" in version["confinement"]


# ---- what is refused


def mangled(data: bytes, old: bytes, new: bytes) -> bytes:
    assert old in data
    return data.replace(old, new)


def overlapping() -> bytes:
    """Two members of the directory that share one head and its bytes."""
    data = bytearray(zipped({"a": b"x" * 100, "b": b"x" * 100}))
    second = data.rfind(b"PK\x01\x02")
    struct.pack_into("<I", data, second + 42, 0)  # where its head is said to be
    return bytes(data)


def misdeclared(size: int) -> bytes:
    """A member that is said to have *size* bytes and has 100000."""
    data = bytearray(zipped({"a": bytes(100_000)}))
    for signature, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.find(signature) + at, size)
    return bytes(data)


def bomb(kind: str) -> bytes:
    if kind == "gzip":
        return gzip.compress(bytes(100 << 20))
    if kind == "zstd":
        return bytes(zstd.compress(bytes(100 << 20)))
    return zipped({"a": bytes(3 << 20), "b": bytes(2 << 20)})


HOSTILE: dict[str, tuple[Any, int]] = {
    "nothing": (lambda: b"", 400),
    "text": (lambda: b"hello", 400),
    "an empty archive": (lambda: zipped({}), 400),
    "half an archive": (lambda: zipped({"a": bytes(1000)})[:-30], 400),
    "an archive of text": (lambda: zipped({"a.txt": b"hello"}), 400),
    "a path upwards": (lambda: zipped({"../evil.sym": b"x"}), 400),
    "a path upwards inside": (lambda: zipped({"a/../../evil.sym": b"x"}), 400),
    "an absolute path": (lambda: zipped({"/etc/evil.sym": b"x"}), 400),
    "a drive": (lambda: zipped({"c:evil.sym": b"x"}), 400),
    "a backslash": (lambda: zipped({"..\\evil.sym": b"x"}), 400),
    "an empty part": (lambda: zipped({"a//b.sym": b"x"}), 400),
    "a name twice": (
        lambda: mangled(zipped({"aa": b"x", "ab": b"x"}), b"ab", b"aa"),
        400,
    ),
    "a link": (
        lambda: zipped({"a.sym": b"/etc/passwd"}, external_attr=0o120777 << 16),
        400,
    ),
    "a device": (lambda: zipped({"a.sym": b""}, external_attr=0o020666 << 16), 400),
    "an encrypted member": (
        lambda: mangled(
            zipped({"a.sym": b"x" * 50}),
            b"PK\x01\x02\x14\x03\x14\x00\x00\x00",
            b"PK\x01\x02\x14\x03\x14\x00\x01\x00",
        ),
        400,
    ),
    "overlapping members": (overlapping, 400),
    "more than it says": (lambda: misdeclared(10), 400),
    "less than it says": (lambda: misdeclared(200_000), 400),
    "a wrong checksum": (
        lambda: mangled(
            zipped({"a": b"hello"}), struct.pack("<I", zlib.crc32(b"hello")), b"\0" * 4
        ),
        400,
    ),
    "too much": (lambda: bomb("zip"), 413),
    "a gzip bomb": (lambda: bomb("gzip"), 413),
    "a zstd bomb": (lambda: bomb("zstd"), 413),
    "too many members": (lambda: zipped({f"{n}": b"" for n in range(51)}), 413),
    "too large": (lambda: bytes(LIMIT + 1), 413),
    "a damaged GSYM file": (lambda: b"MYSG" + bytes(60), 400),
    "a damaged ELF file": (lambda: binary(30)[:80], 400),
    "an ELF file without functions": (
        lambda: elf.Elf(build_id=build_id(31)).to_bytes(),
        400,
    ),
    "a form without end": (lambda: b"--edge\r\nContent-Disposition: x\r\n\r\nabc", 400),
    "a form without boundary": (lambda: b"abc", 400),
}


@pytest.mark.parametrize("case", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_upload_is_refused_and_leaves_nothing(
    uploads: RunningServer, case: tuple[Any, int], request: pytest.FixtureRequest
) -> None:
    make, status = case
    body = make()
    before = files_in(uploads)
    name = request.node.callspec.id
    kind = "application/octet-stream"
    if "form without end" in name:
        kind = "multipart/form-data; boundary=edge"
    elif "form without boundary" in name:
        kind = "multipart/form-data"
    answer = put(uploads, body, content_type=kind)
    assert answer.status == status, answer.body
    assert set(answer.json) == {"title", "error"}
    assert "/" not in answer.title or "store" not in answer.title
    assert files_in(uploads) == before


def patched(data: bytes, *changes: tuple[bytes, int, str, int]) -> bytes:
    """*data* with numbers changed: last signature before it, offset, format, value."""
    archive = bytearray(data)
    for signature, at, form, value in changes:
        struct.pack_into(form, archive, data.rfind(signature) + at, value)
    return bytes(archive)


ENTRY, END = b"PK\x01\x02", b"PK\x05\x06"
END_64, LOCATOR_64 = b"PK\x06\x06", b"PK\x06\x07"


def zip64(archive: bytes, size: int = 0) -> bytes:
    """The archive with a directory of 64 bits, as Go writes it; it says *size*."""
    at = archive.rfind(END)
    count, own, start = struct.unpack_from("<10xHII", archive, at)
    fields = 44, 45, 45, 0, 0, count, count, size or own, start
    end = struct.pack("<4sQHHIIQQQQ", END_64, *fields)
    locator = struct.pack("<4sIQI", LOCATOR_64, 0, at, 1)
    return archive[:at] + end + locator + END + bytes(4) + b"\xff" * 12 + bytes(2)


# What is made of an archive by someone who writes it by hand, and the reason.
ARCHIVES: list[tuple[Callable[[], bytes], str]] = [
    (
        lambda: patched(zipped(dict.fromkeys("abc", b"")), (END, 10, "<H", 1)),
        "more than 2 files",
    ),
    (
        lambda: patched(zipped({"a": b"x"}), (END, 12, "<I", 1 << 20)),
        "more than 2 files",
    ),
    (lambda: zipped({"a": b"x"}, compress_type=zipfile.ZIP_BZIP2), "with deflate"),
    (lambda: zipped({"a": b"x"}, compress_type=zipfile.ZIP_LZMA), "with deflate"),
    (lambda: zip64(zipped({"a": b"x"}), 1 << 20), "more than 2 files"),
    (lambda: zip64(zipped({"a": b"x"})).replace(END_64, b"XXXX"), "has no end"),
    (
        lambda: patched(zipped({"a": b"x"}), (ENTRY, 24, "<I", 17 << 20)),
        "shorter than declared",
    ),
    (
        lambda: patched(zipped({"a": b"x"}), (ENTRY, 42, "<I", 1)),
        "a member has no header",
    ),
    (
        lambda: patched(zipped({"a": b"x"}), (ENTRY, 8, "<H", 0x20)),
        "cannot be unpacked: compressed patched data",
    ),
]


def extract_all(path: str, folder: str) -> None:
    for member in members(path, ArchiveLimits(members=2)):
        member.extract(folder)


@pytest.mark.parametrize(("make", "reason"), ARCHIVES)
def test_an_archive_is_refused_with_the_reason(
    make: Callable[[], bytes], reason: str, tmp_path: Path
) -> None:
    (tmp_path / "files").mkdir()
    path = tmp_path / "archive.zip"
    path.write_bytes(make())
    with pytest.raises(gsym.GsymError, match=reason):
        extract_all(str(path), str(tmp_path / "files"))


def test_a_directory_of_64_bits_is_read(tmp_path: Path) -> None:
    path = tmp_path / "archive.zip"
    path.write_bytes(zip64(zipped({"a": b"x"})))
    extract_all(str(path), str(tmp_path))
    assert (tmp_path / "a").read_bytes() == b"x"


PART = b"--edge\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n"


@pytest.mark.parametrize(
    ("body", "reason", "offset"),
    [
        (b"", "the form is empty", None),
        (b"abc", "does not start with its boundary", None),
        (b"--edge\r\nContent-Disposition: x\r\n", "has no header", 6),
        (PART, "has no end", PART.index(b"x\r\n")),
        (PART * 101 + b"--edge--", "more than 100 parts", None),
    ],
)
def test_a_form_is_refused_with_the_reason(
    body: bytes, reason: str, offset: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "body"
    path.write_bytes(body)
    kind = "multipart/form-data; boundary=edge"
    with pytest.raises(gsym.FormatError, match=reason) as caught:
        unpack_upload(str(path), kind, "upload", str(tmp_path), [10, LIMIT])
    assert caught.value.offset == offset


@pytest.mark.parametrize(
    ("kind", "boundary"),
    [
        ("multipart/form-data; boundary=edge", b"edge"),
        (f"Multipart/Form-Data; boundary={'x' * 70}", b"x" * 70),
        ("multipart/mixed; boundary=edge", None),
        ("application/zip", None),
    ],
)
def test_a_form_has_a_boundary(kind: str, boundary: bytes | None) -> None:
    assert boundary_of(kind) == boundary


@pytest.mark.parametrize("end", ["", "; boundary=", f"; boundary={'x' * 71}"])
def test_the_boundary_of_a_form_has_1_to_70_characters(end: str) -> None:
    with pytest.raises(gsym.FormatError, match="no valid boundary"):
        boundary_of(f"multipart/form-data{end}")


def test_a_body_without_a_length_is_read_up_to_the_limit(
    uploads: RunningServer,
) -> None:
    head = "POST /upload/ HTTP/1.1\r\nHost: localhost\r\nAuth-Token: secret\r\n"
    head += "Transfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", uploads.port), timeout=60) as client:
        client.sendall(head.encode())
        client.sendall(b"%x\r\n%s\r\n" % (LIMIT + 1, bytes(LIMIT + 1)))
        assert b" 413 " in client.recv(1000)


def test_a_full_disk_is_not_an_error_of_the_upload(
    uploads: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = AsyncMock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr("gsym.server.bodies.spool_body", full)
    before = files_in(uploads)
    assert put(uploads, binary(43)).status == 507
    assert files_in(uploads) == before


@pytest.mark.parametrize(("members", "status"), [(50, 201), (51, 413)])
def test_the_number_of_members_is_limited(
    uploads: RunningServer, members: int, status: int
) -> None:
    files = dict.fromkeys(map(str, range(members - 1)), b"x")
    assert put(uploads, zipped({**files, "m": binary(40)})).status == status


@pytest.mark.slow
def test_members_may_have_long_names(tmp_path: Path) -> None:
    files = {f"{number}/{'n' * 900}": b"x" for number in range(1300)}
    with running(tmp_path / "store") as server:
        answer = put(server, zipped({**files, "m": binary(41)}))
    assert answer.status == 201
    assert len(answer.json["upload"]["skipped_keys"]) == len(files)


@pytest.mark.parametrize(("size", "status"), [(4 << 20, 201), ((4 << 20) + 1, 413)])
def test_the_inflated_size_is_limited(
    uploads: RunningServer, size: int, status: int
) -> None:
    module = binary(39)
    archive = zipped({"m": module, "rest": bytes(size - len(module))})
    assert put(uploads, archive).status == status


def test_a_damaged_member_refuses_the_archive(
    uploads: RunningServer, tmp_path: Path
) -> None:
    before = files_in(uploads)
    good = sym(41, tmp_path)
    archive = zipped({breakpad_path(41): good, breakpad_path(42): good})
    answer = put(uploads, archive)
    assert answer.status == 400
    assert breakpad_path(42) in answer.title
    assert files_in(uploads) == before


@pytest.mark.parametrize("members", [None, [], ["x"], [7], [0, 0]])
def test_a_forged_list_of_members_refuses_the_upload(
    uploads: RunningServer, monkeypatch: pytest.MonkeyPatch, members: Any
) -> None:
    def run(task: str, *rest: Any, **named: Any) -> dict[str, Any]:
        answer = run_confined(task, *rest, **named)
        return {**answer, "members": members} if task == "convert" else answer

    monkeypatch.setattr("gsym.server.uploads.run_confined", run)
    before = files_in(uploads)
    answer = put(uploads, binary(44))
    assert (answer.status, answer.title) == (
        400,
        "the conversion had an invalid result",
    )
    assert files_in(uploads) == before


def test_an_upload_of_the_maximum_size_is_accepted(uploads: RunningServer) -> None:
    body = binary(43)
    answer = put(uploads, body + bytes(LIMIT - len(body)))
    assert answer.status == 201
    assert answer.json["upload"]["size"] == LIMIT


def test_a_million_members_cost_little(uploads: RunningServer) -> None:
    entry = struct.pack("<4s24xH16x", b"PK\x01\x02", 1) + b"a"
    directory = entry * 20_000
    end = struct.pack("<4s4xHHIIH", b"PK\x05\x06", 1, 1, len(directory), 0, 0)
    answer = put(uploads, b"PK\x03\x04" + directory + end)
    assert answer.status in {400, 413}


def test_an_upload_of_any_size_takes_24_mebibytes_of_the_server(tmp_path: Path) -> None:
    """The processes that unpack and convert it have limits of their own."""
    body = binary(44) + bytes(48 << 20)
    with running(tmp_path / "store") as server:
        tracemalloc.start()
        try:
            answer = put(server, body)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert answer.status == 201
    assert peak < 24 << 20


def test_a_compressed_body_is_refused(uploads: RunningServer) -> None:
    answer = put(uploads, gzip.compress(binary(44)), content_encoding="gzip")
    assert answer.status == 415


def test_conversions_above_the_memory_limit_are_stopped(tmp_path: Path) -> None:
    with running(tmp_path / "store", child_memory=1 << 20) as server:
        answer = put(server, binary(45))
        assert answer.status in {413, 422}
        assert [name for name in files_in(server) if "gsym" in name] == []


HEAD = (
    b"POST /upload/ HTTP/1.1\r\nHost: localhost\r\nauth-token: secret\r\n"
    b"Content-Length: 100000\r\n\r\n"
)


def test_an_aborted_upload_leaves_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "store") as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(HEAD + bytes(5000))
            place = tmp_path / "store" / ".tmp"
            wait_until(lambda: place.is_dir() and any(place.iterdir()))
        wait_until(lambda: not any(place.iterdir()))
        assert put(server, binary(46)).status == 201


def test_the_number_of_uploads_at_a_time_is_limited(tmp_path: Path) -> None:
    with running(tmp_path / "store", max_uploads=1) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(HEAD)
            place = tmp_path / "store" / ".tmp"
            wait_until(lambda: place.is_dir() and any(place.iterdir()))
            answer = put(server, binary(47))
        assert answer.status == 503
        assert int(answer.headers["retry-after"]) > 0


def test_a_slow_upload_times_out(tmp_path: Path) -> None:
    with running(tmp_path / "store", upload_timeout=0.2) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(HEAD + b"abc")
            assert client.recv(1000).startswith(b"HTTP/1.1 408 ")
        wait_until(lambda: files_in(server) == [])


def test_a_slow_dump_times_out_as_an_upload_does(tmp_path: Path) -> None:
    with running(tmp_path / "store", upload_timeout=0.2) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            head = HEAD.replace(b"/upload/", b"/symbolicate/report")
            client.sendall(head + b"MDMP" + bytes(5000))
            assert client.recv(1000).startswith(b"HTTP/1.1 408 ")
        wait_until(lambda: files_in(server) == [])


# ---- by URL


def test_a_file_is_fetched_from_an_allowed_host(tmp_path: Path) -> None:
    with (
        Server(Reply(binary(50))) as upstream,
        running(
            tmp_path / "store", upload_hosts=["127.0.0.1"], allow_private=True
        ) as server,
    ):
        url = f"{upstream.url}/some/libfetched.so"
        body, kind = form(("url", None, url.encode()))
        answer = put(server, body, content_type=kind)
        (module,) = answer.json["upload"]["modules"]
        assert module["debug_file"] == "libfetched.so"
        plain = put(
            server,
            f"url={url}".encode(),
            content_type="application/x-www-form-urlencoded",
        )
        assert plain.status == 201


@pytest.mark.parametrize(
    ("settings", "url", "status"),
    [
        ({}, "http://127.0.0.1:1/x", 400),
        ({"upload_hosts": ["127.0.0.1"]}, "file:///etc/passwd", 400),
        ({"upload_hosts": ["localhost"]}, "http://localhost:1/x", 502),
        ({"upload_hosts": ["example.org"]}, "http://example.org@127.0.0.1/x", 400),
    ],
)
def test_other_hosts_are_not_contacted(
    tmp_path: Path, settings: dict[str, Any], url: str, status: int
) -> None:
    body, kind = form(("url", None, url.encode()))
    with running(tmp_path / "store", **settings) as server:
        answer = put(server, body, content_type=kind)
        assert answer.status == status, answer.body
        assert json.loads(answer.body)["title"]
        assert files_in(server) == []
