"""Answers and downloads say where a module may be another build than the wanted one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from gsym.api.client.remote_symbolizer import RemoteSymbolizer
from gsym.api.client.symbolication_client import SymbolicationClient
from gsym.conversion.identity import identify
from gsym.modules.key import key_of_debug_id
from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.server.modules import make_symbolizer
from gsym.store.directory import Store
from tests.server.running import RunningServer, made_settings
from tests.store.test_several_builds import (
    FIXED,
    GUID,
    GUID_DIGITS,
    LONG,
    gsym_file,
    image,
    program,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.confined

TOKEN = {"auth-token": "secret"}
PART = "only 16 of 20 bytes of its build id are known"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unsure") / "files"
    folder.mkdir()
    program(folder / "app", "f", FIXED)
    program(folder / "long", "g", LONG)
    for name, function in (("alpha", "alpha"), ("bravo", "bravo_")):
        program(folder / name, function, FIXED[::-1])
    (folder / "app.dll").write_bytes(image(2))
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    settings: dict[str, Any] = {
        "store": str(folder.parent / "store"),
        "sources": [str(folder)],
        "fetch_downloads": True,
    }
    symbolizer = make_symbolizer(made_settings(**settings))
    with RunningServer(symbolizer, **settings) as running:
        yield running
    symbolizer.close()


def asked(debug_id: str, name: str = "app") -> dict[str, Any]:
    return {"memoryMap": [[name, debug_id]], "stacks": [[[0, 0x1130]]]}


def test_an_answer_by_a_part_of_an_id_says_so(
    server: RunningServer, folder: Path
) -> None:
    debug_id = identify(folder / "app").debug_id
    (result,) = server.post({"jobs": [asked(debug_id)]}).json["results"]
    assert result["found_modules"] == {f"app/{debug_id}": True}
    assert result["unsure"] == {f"app/{debug_id}": PART}
    old = {**asked(debug_id), "version": 4}
    answer = server.post(old, "/symbolicate/v4").json
    assert answer["unsure"] == {f"app/{debug_id}": PART}
    with SymbolicationClient(server.url) as client:
        (job,) = client.symbolicate([asked(debug_id)])
        assert job.unsure == {f"app/{debug_id}": PART}
        key = key_of_debug_id("app", debug_id)
        found = RemoteSymbolizer(client).symbolize(key, offset=0x1130)
        assert found.module.unsure == PART


@pytest.mark.parametrize("version", [4, 5])
def test_the_code_id_of_a_request_tells_the_whole_build_id(
    server: RunningServer, folder: Path, version: int
) -> None:
    known = identify(folder / "app")
    other = known.code_id[:-1] + "F0"[known.code_id.endswith("F")]
    for code_id, is_found in ((known.code_id, True), (other, False)):
        job = {**asked(known.debug_id), "codeIds": [code_id]}
        answer = server.post(job, f"/symbolicate/v{version}").json
        (result,) = answer["results"] if version == 5 else [answer]
        found = {f"app/{known.debug_id}": is_found}
        assert result["found_modules" if version == 5 else "knownModules"] == (
            found if version == 5 else [is_found]
        )
        assert "unsure" not in result
    with SymbolicationClient(server.url) as client:
        module = RemoteSymbolizer(client).symbolize(known, offset=0x1130).module
    assert module.unsure == ""
    named = gsym.symbolicate(json.dumps(job), source=str(folder))
    assert [each.state for each in named.modules] == ["missing"]


def test_an_answer_by_a_whole_id_has_no_mark(server: RunningServer) -> None:
    job = asked(f"{GUID_DIGITS}2", "app.pdb")
    (result,) = server.post({"jobs": [job]}).json["results"]
    assert "unsure" not in result


@pytest.mark.parametrize("kind", ["gsym", "executable"])
def test_a_download_by_a_part_of_an_id_says_so(
    server: RunningServer, kind: str
) -> None:
    whole = server.ask("GET", f"/buildid/{LONG.hex()}/{kind}")
    assert (whole.status, whole.headers.get("x-gsym-unsure")) == (200, None)
    part = server.ask("GET", f"/buildid/{LONG[:20].hex()}/{kind}")
    assert (part.status, part.body) == (200, whole.body)
    expected = "only 20 of 32 bytes of its build id are known"
    assert part.headers["x-gsym-unsure"] == expected
    assert server.ask("GET", f"/buildid/{LONG[:16].hex()}/{kind}").status == 404


@pytest.mark.parametrize("kind", ["gsym", "executable", "section/.text"])
def test_of_two_programs_of_one_id_none_is_sent(
    server: RunningServer, folder: Path, kind: str
) -> None:
    answer = server.ask("GET", f"/buildid/{FIXED[::-1].hex()}/{kind}")
    assert answer.status == 404
    assert str(folder.parent) not in answer.title


def test_an_image_is_sent_for_its_own_time_and_size_alone(
    server: RunningServer, folder: Path
) -> None:
    code_id = identify(folder / "app.dll").code_id
    assert server.ask("GET", f"/app.dll/{code_id}/app.dll").status == 200
    other = f"{int(code_id[:8], 16) ^ 1:08X}{code_id[8:]}"
    for each in (other, f"00000000{code_id[8:]}"):
        assert server.ask("GET", f"/app.dll/{each}/app.dll").status == 404


@pytest.fixture(scope="module")
def uploads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    store = tmp_path_factory.mktemp("uploads") / "store"
    symbolizer = Symbolizer(Resolver(Store(store)))
    tokens = {"secret": "upload,replace"}
    with RunningServer(symbolizer, store=str(store), tokens=tokens) as running:
        yield running


def test_an_uploaded_gsym_file_is_known_by_its_own_part(
    uploads: RunningServer, tmp_path: Path
) -> None:
    path = program(tmp_path / "libci.so", "ci", FIXED, "-shared", "-fPIC")
    gsym.convert(path, tmp_path / "libci.so.gsym")
    body = (tmp_path / "libci.so.gsym").read_bytes()
    answer = uploads.ask("POST", "/upload/?name=libci.so.gsym", body, TOKEN)
    assert answer.status == 201, answer.title
    expected = identify(path)
    sym = uploads.ask("GET", f"/libci.so/{expected.debug_id}/libci.so.sym")
    assert sym.status == 200, sym.title
    first, second = sym.body.decode().splitlines()[:2]
    assert first == f"MODULE Linux {expected.architecture} {expected.debug_id} libci.so"
    assert second.startswith(f"INFO CODE_ID {FIXED.hex().upper()}")


def test_an_upload_may_say_of_which_module_it_is(
    uploads: RunningServer, tmp_path: Path
) -> None:
    body = gsym_file(tmp_path / "x.gsym", GUID).read_bytes()
    debug_id = f"{GUID_DIGITS}A"
    query = f"os=windows&architecture=x86_64&debug_file=x.pdb&debug_id={debug_id}"
    answer = uploads.ask("POST", f"/upload/?{query}", body, TOKEN)
    assert answer.status == 201, answer.title
    (module,) = answer.json["upload"]["modules"]
    assert (module["debug_file"], module["debug_id"]) == ("x.pdb", debug_id)
    sym = uploads.ask("GET", f"/x.pdb/{debug_id}/x.sym").body.decode()
    assert sym.startswith(f"MODULE windows x86_64 {debug_id} x.pdb\n")


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("debug_id=" + "AB" * 16 + "0", "debug id"),
        ("build_id=" + "AB" * 20, "its build id is"),
        ("os=windows", "its os is Linux, not windows"),
        ("architecture=s390x", "its architecture is"),
        ("debug_id=" + "0" * 33, "a debug id of zeros"),
        ("debug_id=xyz", "is not a debug id"),
        ("code_id=xyz", "is not an id in hexadecimal digits"),
        ("build_id=12&code_id=34", "two names of one id"),
        ("os=a%20b", "os is not one word"),
        ("debug_file=a%2Fb", "debug_file: it is not a file name"),
    ],
)
def test_an_upload_that_says_something_else_is_refused(
    query: str, title: str, uploads: RunningServer, folder: Path
) -> None:
    body = (folder / "app").read_bytes()
    answer = uploads.ask("POST", f"/upload/?name=app&{query}", body, TOKEN)
    assert 400 <= answer.status < 500
    assert title in answer.title
    assert "/" not in answer.title


def test_parameters_are_for_one_module(
    uploads: RunningServer, folder: Path, tmp_path: Path
) -> None:
    place = tmp_path / "several"
    place.mkdir()
    for name in ("app", "long"):
        shutil.copy(folder / name, place / name)
    archive = shutil.make_archive(str(tmp_path / "x"), "zip", place)
    body = Path(archive).read_bytes()
    answer = uploads.ask("POST", "/upload/?os=Linux", body, TOKEN)
    assert answer.status == 400
    assert "one module" in answer.title


def test_a_module_that_cannot_be_sent_as_text_is_refused_without_paths(
    uploads: RunningServer, tmp_path: Path
) -> None:
    body = gsym_file(tmp_path / "y.gsym", LONG[:20]).read_bytes()
    answer = uploads.ask("POST", "/upload/?name=y", body, TOKEN)
    (module,) = answer.json["upload"]["modules"]
    sym = uploads.ask("GET", f"/y/{module['debug_id']}/y.sym")
    assert sym.status == 404
    assert "must be given" in sym.title
    assert str(Store(uploads.app.state.service.settings.store).path) not in sym.title
