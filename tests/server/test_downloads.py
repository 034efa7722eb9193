"""Files of the store, as clients of Breakpad's stores and of debuginfod ask."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from starlette.requests import ClientDisconnect, Request

import gsym
from gsym.conversion.export import export_breakpad
from gsym.errors import NotFoundError
from gsym.modules.key import ModuleKey
from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.server.answers import TextBody, body_response
from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.sources.settings import SourceOpener
from gsym.store.verification import verify_store
from tests.inputs import elf
from tests.server.running import RunningServer
from tests.store_modules import (
    PE_CODE_ID,
    build_id,
    identity,
    key,
    put,
    windows_identity,
    write_sym,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gsym.store.sources.source import FoundFile
    from tests.server.running import Answer

pytestmark = pytest.mark.long

KEPT_SYM, EXPORTED, WINDOWS, DEBUG_FILE, EXECUTABLE = range(1, 6)
PDB_ID = "44E4EC8C2F41492B9369D6B9A059577C2A"


def running(folder: Path, **settings: Any) -> RunningServer:
    symbolizer = Symbolizer(Resolver(Store(folder)))
    return RunningServer(symbolizer, store=str(folder), **settings)


def debug_file(number: int, *, has_code: bool) -> bytes:
    text = elf.code_section(0x1000, 0x20)
    if has_code:
        text = elf.Section(".text", bytes(0x20), flags=elf.CODE, address=0x1000)
    return elf.Elf(
        sections=(text,),
        segments=(elf.Segment(0),),
        symbols=(elf.Symbol(f"f{number}", 0x1000, 0x20),),
        build_id=build_id(number),
    ).to_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("downloads")
    store = Store(place / "store")
    write_sym(place / "kept.sym", KEPT_SYM)
    add_file(store, place / "kept.sym", keep_original=True)
    put(store, EXPORTED, 3)
    put(store, WINDOWS, **windows_identity(WINDOWS)._asdict())
    for number in (DEBUG_FILE, EXECUTABLE):
        path = place / f"lib{number}.so"
        path.write_bytes(debug_file(number, has_code=number == EXECUTABLE))
        add_file(store, path, keep_original=True)
    (place / "pdb.sym").write_text(
        f"MODULE windows x86_64 {PDB_ID} app.pdb\n"
        "INFO CODE_ID 5CF2591C6859A000 app.dll\nFUNC 1000 10 0 f\n"
    )
    add_file(store, place / "pdb.sym")
    return place / "store"


@pytest.fixture(scope="module")
def downloads(folder: Path) -> Iterator[RunningServer]:
    with running(folder) as server:
        yield server


def path_of(number: int, kind: str = "sym") -> str:
    module = identity(number)
    return f"/{module.debug_file}/{module.debug_id}/{module.debug_file}.{kind}"


def get(
    server: RunningServer, path: str, method: str = "GET", **headers: str
) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.ask(method, path, None, named)


def test_a_stored_breakpad_file_is_served_unchanged(
    downloads: RunningServer, folder: Path
) -> None:
    answer = get(downloads, path_of(KEPT_SYM))
    assert answer.status == 200
    assert answer.body == (folder.parent / "kept.sym").read_bytes()
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["content-length"] == str(len(answer.body))


def test_a_breakpad_file_is_exported_on_demand(
    downloads: RunningServer, folder: Path, tmp_path: Path
) -> None:
    entry = Store(folder).get(key(EXPORTED))
    assert entry is not None
    export_breakpad(entry.path, tmp_path / "x.sym", identity=entry.identity)
    answer = get(downloads, path_of(EXPORTED))
    assert answer.status == 200
    assert answer.body == (tmp_path / "x.sym").read_bytes()
    assert b"FUNC 0 10 0 f2_3\n" in answer.body


def test_a_breakpad_file_has_the_stack_records_of_the_stored_executable(
    tmp_path: Path, compiler: str
) -> None:
    (tmp_path / "a.c").write_text("int f(int x) { return x + 1; }")
    command = [compiler, "-shared", "-g", "-O1", "-Wl,--build-id", "-o", "a.so", "a.c"]
    subprocess.run(command, check=True, cwd=tmp_path)
    gsym.convert(tmp_path / "a.so", tmp_path / "a.gsym")
    # As CI sends them: the GSYM file, and the program without debug information.
    subprocess.run(["strip", "a.so"], check=True, cwd=tmp_path)
    store = Store(tmp_path / "store")
    add_file(store, tmp_path / "a.gsym", keep_original=True)
    entry = add_file(store, tmp_path / "a.so", keep_original=True).entry
    assert entry.originals.keys() == {"executable"}
    module = entry.identity
    with running(tmp_path / "store") as server:
        path = f"/{module.debug_file}/{module.debug_id}/{module.debug_file}.sym"
        text = get(server, path).body.decode()
    (function,) = (each for each in text.splitlines() if each.endswith(" f"))
    _, start, size, *_ = function.split()

    assert f"STACK CFI INIT {start} {size} " in text


def test_a_gsym_file_is_served_by_name_and_by_build_id(
    downloads: RunningServer, tmp_path: Path
) -> None:
    by_name = get(downloads, path_of(EXPORTED, "gsym"))
    by_id = get(downloads, f"/buildid/{build_id(EXPORTED).hex()}/gsym")
    assert by_name.status == by_id.status == 200
    assert by_name.body == by_id.body
    (tmp_path / "x.gsym").write_bytes(by_name.body)
    with gsym.open(tmp_path / "x.gsym") as reader:
        assert reader.uuid == build_id(EXPORTED)


def test_the_page_of_a_module_has_links_to_its_files(
    downloads: RunningServer,
) -> None:
    expected = {EXPORTED: {"gsym", "sym"}, EXECUTABLE: {"gsym", "sym", "debuginfo"}}
    for number, kinds in expected.items():
        found = get(downloads, f"/page/module?id={identity(number).debug_id}").json
        paths = {each["kind"]: each["path"] for each in found["downloads"]}
        assert paths.keys() == kinds
        for path in paths.values():
            assert get(downloads, f"/{path}").status == 200


def test_an_id_may_be_in_lower_case(downloads: RunningServer) -> None:
    module = identity(KEPT_SYM)
    path = f"/{module.debug_file}/{module.debug_id.lower()}/{module.debug_file}.sym"
    assert get(downloads, path).status == 200


def test_a_pdb_is_named_without_its_suffix(downloads: RunningServer) -> None:
    debug_id = windows_identity(WINDOWS).debug_id
    for file in ("xul.sym", "xul.gsym", "xul.pdb.gsym"):
        assert get(downloads, f"/xul.pdb/{debug_id}/{file}").status == 200
    assert get(downloads, f"/xul.pdb/{debug_id}/other.sym").status == 404


def test_the_code_id_leads_to_the_debug_id(downloads: RunningServer) -> None:
    debug_id = windows_identity(WINDOWS).debug_id
    for file in ("xul.dll.sym", "xul.sym"):
        answer = get(downloads, f"/xul.dll/{PE_CODE_ID}/{file}")
        assert answer.status == 302
        assert answer.headers["location"] == f"/xul.pdb/{debug_id}/xul.sym"


def test_what_the_store_has_is_answered_before_a_source_is_asked(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path / "store")
    stored = put(store, 1, **windows_identity(1)._asdict()).entry.identity
    elf = put(store, 2).entry.identity
    source = RecordingSource()
    symbolizer = Symbolizer(Resolver(store, [source]))
    settings: dict[str, Any] = {"store": store.path, "fetch_downloads": True}
    with RunningServer(symbolizer, **settings) as server:
        for path in (
            f"/xul.dll/{PE_CODE_ID}/xul.sym",
            f"/xul.pdb/{stored.debug_id}/xul.gsym",
            f"/{elf.debug_file}/{elf.code_id}/{elf.debug_file}.gsym",
        ):
            assert get(server, path).status in {200, 302}
        assert source.asked == []
        assert get(server, f"/xul.dll/{PE_CODE_ID[:-1]}1/xul.sym").status == 404
        # A code id may also be a debug id, so it is what a source is asked for.
        assert len(source.asked) <= 1


class RecordingSource:
    """A source without modules."""

    name = "recording"

    def __init__(self) -> None:
        self.asked: list[ModuleKey] = []

    def find(self, key: ModuleKey, folder: str) -> FoundFile:
        del folder
        self.asked.append(key)
        raise NotFoundError("not here")


def test_a_store_whose_links_were_followed_says_why_it_has_no_code_ids(
    folder: Path, tmp_path: Path
) -> None:
    path = f"/xul.dll/{PE_CODE_ID}/xul.sym"
    shutil.copytree(folder, tmp_path / "copy")
    with running(folder) as whole, running(tmp_path / "copy") as copy:
        assert get(whole, path).status == 302
        answer = get(copy, path)
        assert answer.status == 404
        assert "'gsym store verify --repair' restores them" in answer.title
    list(verify_store(Store(tmp_path / "copy"), repair=True))
    with running(tmp_path / "copy") as mended:
        assert get(mended, path).status == 302


@pytest.mark.parametrize(
    ("debug_id", "asked"),
    [
        (PDB_ID, ModuleKey("app.pdb", PDB_ID)),
        (PDB_ID, ModuleKey(code_file="app.dll", code_id="5CF2591C6859A000")),
        (identity(EXECUTABLE).debug_id, ModuleKey("a", identity(EXECUTABLE).debug_id)),
        (
            identity(EXECUTABLE).debug_id,
            ModuleKey(code_id=identity(EXECUTABLE).code_id),
        ),
    ],
)
def test_another_server_gets_the_identity_of_a_module(
    downloads: RunningServer,
    folder: Path,
    tmp_path: Path,
    debug_id: str,
    asked: ModuleKey,
) -> None:
    pytest.importorskip("httpx2", reason="the extra `net` is not installed")
    there = Store(folder).get(ModuleKey(debug_id=debug_id))
    assert there is not None
    with SourceOpener(environment={}) as opener:
        sources = list(opener.open(f"gsym+{downloads.url}"))
        found = Resolver(Store(tmp_path / "mine"), sources).resolve(asked)
    assert found.entry is not None
    assert found.entry.identity == there.identity
    assert found.entry.source.endswith("gsym")


def test_the_identity_of_a_module_hides_its_source(
    downloads: RunningServer,
) -> None:
    answer = get(downloads, path_of(EXPORTED, "json"))
    assert answer.headers["content-type"] == "application/json"
    fields = {**identity(EXPORTED)._asdict(), "path": ""}
    assert {**json.loads(answer.body), "path": ""} == {
        "format": 1,
        **fields,
        "level": 0,
        "files": [],
    }
    assert get(downloads, path_of(99, "json")).status == 404


MISSES = [
    path_of(99),
    path_of(99, "gsym"),
    path_of(EXPORTED, "txt"),
    "/a/b/c",
    "/a/b/a.sym",
    f"/buildid/{'ab' * 20}/gsym",
    f"/buildid/{build_id(EXPORTED).hex()}/debuginfo",
    f"/buildid/{build_id(EXPORTED).hex()}/source",
    f"/buildid/{build_id(DEBUG_FILE).hex()}/executable",
    "/buildid/xyz/gsym",
    "/buildid/../gsym",
    f"/..%2f..%2fetc/{identity(EXPORTED).debug_id}/passwd.sym",
    f"/%00/{identity(99).debug_id}/%00.sym",
    f"/{'a' * 300}/{'1' * 33}/{'a' * 300}.sym",
    "/x/" + "0" * 33 + "/x.sym",
]


@pytest.mark.parametrize("path", MISSES)
def test_not_found_is_json_with_a_reason(downloads: RunningServer, path: str) -> None:
    answer = get(downloads, path)
    assert answer.status == 404
    assert answer.title.startswith("404 Not Found")
    assert get(downloads, path, "HEAD").status == 404


# ---- HTTP


@pytest.mark.confined
@pytest.mark.parametrize(
    "path",
    [
        path_of(KEPT_SYM),
        path_of(EXPORTED),
        path_of(EXPORTED, "gsym"),
        f"/buildid/{build_id(EXECUTABLE).hex()}/executable",
    ],
)
def test_head_has_the_headers_of_get(downloads: RunningServer, path: str) -> None:
    head, whole = get(downloads, path, "HEAD"), get(downloads, path)
    assert head.status == 200
    assert head.body == b""
    left_out = {"date", "x-request-id", "transfer-encoding"}
    assert {
        name: head.headers[name] for name in head.headers if name not in left_out
    } == {name: whole.headers[name] for name in whole.headers if name not in left_out}


@pytest.mark.parametrize("path", [path_of(KEPT_SYM), path_of(EXPORTED)])
def test_an_unchanged_file_is_not_sent_again(
    downloads: RunningServer, path: str
) -> None:
    tag = get(downloads, path).headers["etag"]
    for known in (tag, f'"x", {tag}', f"W/{tag}", "*"):
        answer = get(downloads, path, if_none_match=known)
        assert (answer.status, answer.body) == (304, b"")
        assert answer.headers["etag"]
    assert get(downloads, path, if_none_match='"x"').status == 200


@pytest.mark.parametrize("path", [path_of(KEPT_SYM), path_of(EXPORTED)])
def test_another_file_is_not_sent_to_a_client_that_has_begun_one(
    downloads: RunningServer, path: str
) -> None:
    tag = get(downloads, path).headers["etag"]
    for wanted in ("*", tag, f'"x", {tag}'):
        assert get(downloads, path, if_match=wanted).status == 200
    for wanted in ('"x"', f"W/{tag}"):
        assert get(downloads, path, if_match=wanted).status == 412
        assert get(downloads, path, if_match=wanted, if_none_match=tag).status == 412


@pytest.mark.parametrize("path", [path_of(KEPT_SYM), path_of(EXPORTED, "gsym")])
def test_files_are_compressed_if_accepted(downloads: RunningServer, path: str) -> None:
    plain, packed = get(downloads, path), get(downloads, path, accept_encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert packed.headers["etag"] != plain.headers["etag"]
    refused = get(downloads, path, accept_encoding="gzip;q=0, identity")
    assert refused.body == plain.body
    again = get(
        downloads, path, accept_encoding="gzip", if_none_match=packed.headers["etag"]
    )
    assert again.status == 304


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=0-9", 0, 10),
        ("bytes=5-5", 5, 6),
        ("bytes=10-", 10, None),
        ("bytes=-10", -10, None),
        ("bytes=-99999999", 0, None),
        ("bytes=0-99999999", 0, None),
    ],
)
def test_a_range_of_a_file_is_sent(
    downloads: RunningServer, asked: str, start: int, end: int | None
) -> None:
    whole = get(downloads, path_of(EXPORTED, "gsym"))
    part = get(downloads, path_of(EXPORTED, "gsym"), range=asked)
    assert part.status == 206
    assert part.body == whole.body[start:end]
    first = start % len(whole.body)
    last = first + len(part.body) - 1
    assert part.headers["content-range"] == f"bytes {first}-{last}/{len(whole.body)}"
    other = get(downloads, path_of(EXPORTED, "gsym"), range=asked, if_range='"x"')
    assert other.status == 200


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("bytes=99999999-", 416),
        ("bytes=-0", 416),
        ("bytes=5-4", 200),
        ("bytes=a-b", 200),
        ("bytes=0-1,3-4", 200),
        ("bytes=-", 200),
        ("lines=0-1", 200),
    ],
)
def test_an_invalid_range_is_refused_or_ignored(
    downloads: RunningServer, asked: str, status: int
) -> None:
    assert get(downloads, path_of(EXPORTED, "gsym"), range=asked).status == status


def test_a_module_that_is_replaced_has_another_tag(tmp_path: Path) -> None:
    store = Store(tmp_path)
    put(store, 7, 1)
    with running(tmp_path) as server:
        first = get(server, path_of(7, "gsym"))
        put(store, 7, 5)
        second = get(server, path_of(7, "gsym"), if_none_match=first.headers["etag"])
    assert second.status == 200
    assert second.body != first.body


def test_a_store_copied_with_its_links_followed_is_served(
    folder: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy, symlinks=False)
    by_build_id = f"/buildid/{build_id(EXPORTED).hex()}/gsym"
    with running(folder) as whole, running(copy) as copied:
        for path in (path_of(KEPT_SYM), path_of(EXPORTED, "gsym"), by_build_id):
            answer = get(copied, path)
            assert answer.status == 200
            assert answer.body == get(whole, path).body
        # Only a link knows code ids of Windows.
        assert get(copied, f"/xul.dll/{PE_CODE_ID}/xul.sym").status == 404


def test_downloads_can_be_switched_off(folder: Path) -> None:
    with running(folder, enable_downloads=False) as server:
        assert get(server, path_of(KEPT_SYM)).status == 404


def test_head_and_cached_requests_leave_no_file_open(
    downloads: RunningServer,
) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        pytest.skip("open files cannot be counted here")
    get(downloads, path_of(KEPT_SYM), "HEAD")
    before = len(list(descriptors.iterdir()))
    for _ in range(20):
        for method in ("HEAD", "GET"):
            get(downloads, path_of(KEPT_SYM), method)
            get(downloads, path_of(EXPORTED), method, if_none_match="*")
    assert len(list(descriptors.iterdir())) <= before + 4


# ---- debuginfod


@pytest.mark.confined
def test_debuginfod_files_have_a_name_and_a_size(
    downloads: RunningServer,
) -> None:
    digits = build_id(EXECUTABLE).hex()
    for kind in ("debuginfo", "executable"):
        answer = get(downloads, f"/buildid/{digits}/{kind}")
        assert answer.body == debug_file(EXECUTABLE, has_code=True)
        assert answer.headers["x-debuginfod-file"] == f"lib{EXECUTABLE}.so"
        assert answer.headers["x-debuginfod-size"] == str(len(answer.body))
        assert answer.headers["content-type"] == "application/octet-stream"


CLIENTS = ["debuginfod-find", "llvm-debuginfod-find-19", "llvm-debuginfod-find"]


@pytest.mark.confined
def test_a_client_of_debuginfod_finds_files(
    downloads: RunningServer, tmp_path: Path
) -> None:
    client = next(filter(None, map(shutil.which, CLIENTS)), None)
    if client is None:
        pytest.skip("no client of debuginfod is installed")
    digits = build_id(DEBUG_FILE).hex()
    command = [client, "debuginfo", digits]
    if "llvm" in client:
        command = [client, "--debuginfo", digits]
    environment = {
        **os.environ,
        "DEBUGINFOD_URLS": downloads.url,
        "DEBUGINFOD_CACHE_PATH": str(tmp_path),
    }
    found = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    fetched = Path(found.stdout.strip().splitlines()[-1])
    assert fetched.read_bytes() == debug_file(DEBUG_FILE, has_code=False)


def test_a_client_that_is_gone_releases_the_input_at_once() -> None:
    """Garbage, which holds an exception and what its frames refer to, may stay long."""
    closed, begun = [], []

    def text() -> Iterator[bytes]:
        try:
            for number in range(3):
                begun.append(number)
                yield b"x"
        finally:
            closed.append("text")

    async def run(function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    async def send(message: Mapping[str, Any]) -> None:
        if message.get("body"):
            raise OSError("the client is gone")

    service: Any = SimpleNamespace(
        run=run, files=SimpleNamespace(guarded=contextlib.nullcontext)
    )
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/"}
    scope |= {"headers": [], "asgi": {"spec_version": "2.4"}}
    body = TextBody(text(), lambda: closed.append("reader"))
    response: Any = body_response(Request(scope), service, body, "tag", {})

    async def answer() -> None:
        with pytest.raises(ClientDisconnect):
            await response(scope, None, send)
        assert (begun, closed) == ([0], ["text", "reader"])

    gc.disable()
    try:
        asyncio.run(answer())
    finally:
        gc.enable()
