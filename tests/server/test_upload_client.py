"""`gsym upload` against a server, and against one that fails."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.api.client.upload_client import UploadClient
from gsym.cli.main import main
from gsym.errors import ServerError
from gsym.modules.key import ModuleKey
from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.store.directory import Store
from tests.http_server import Reply, Server
from tests.inputs.dwarf import Dwarf
from tests.inputs.elf import CODE, RELOCATABLE, Elf, Section, Symbol, code_section
from tests.inputs.line_program import LineProgram, sequence
from tests.inputs.macho import DSYM, Macho, code, debug_sections
from tests.inputs.program import function, unit
from tests.server.running import RunningServer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.long, pytest.mark.confined]

TEXT = Section(".text", bytes(0x100), flags=CODE, address=0x1000)


def build_id(number: int) -> bytes:
    return bytes([number] * 20)


def with_lines(number: int) -> bytes:
    lines = LineProgram(sequence((0x1000, 7), end=0x1010))
    one = unit(function("f", 0x1000, 0x1010), version=4, lines=lines)
    debug = [Section(name, data) for name, data in Dwarf([one]).sections().items()]
    return Elf([TEXT, *debug], build_id=build_id(number)).to_bytes()


def with_symbols(number: int) -> bytes:
    symbols = [Symbol("f", 0x1000, 0x10)]
    return Elf([TEXT], symbols=symbols, build_id=build_id(number)).to_bytes()


def code_alone(number: int) -> bytes:
    return Elf([TEXT], build_id=build_id(number)).to_bytes()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    folder = tmp_path / "store"
    with RunningServer(
        Symbolizer(Resolver(Store(folder))),
        store=str(folder),
        tokens={"secret": "upload,replace", "reader": "profiles"},
        keep_originals=True,
    ) as running:
        yield running


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A build folder."""
    path = tmp_path / "build"
    (path / "lib").mkdir(parents=True)
    (path / "app").write_bytes(code_alone(1))
    (path / "lib/app.debug").write_bytes(with_lines(1))
    (path / "lib/libstdc++.so").write_bytes(with_lines(2))
    (path / "app.o").write_bytes(Elf([code_section()], type=RELOCATABLE).to_bytes())
    (path / "readme.txt").write_text("no binary")
    return path


def outcomes(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The outcome of each file, by name."""
    printed = json.loads(capsys.readouterr().out)
    return {Path(each["path"]).name: each["outcome"] for each in printed["files"]}


def test_a_folder_is_sent_debug_files_first_and_only_once(
    server: RunningServer, build: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["upload", "--server", server.url, "--api-key", "secret", str(build)]
    assert main([*arguments, "--dry-run", "--json"]) == 0
    assert set(outcomes(capsys).values()) == {"lacking"}
    assert not [*Store(server.app.state.service.settings.store).entries()]
    assert main([*arguments, "--json"]) == 0
    # `app` has no functions: the server takes it with the debug file it has by then.
    assert outcomes(capsys) == {
        "app.debug": "added",
        "libstdc++.so": "added",
        "app": "kept",
    }
    store = Store(server.app.state.service.settings.store)
    stored = {each.identity.debug_file: each for each in store.entries()}
    assert {*stored} == {"app", "libstdc++.so"}
    assert {*stored["app"].originals} == {"debuginfo", "executable"}
    assert main([*arguments, "--json"]) == 0
    assert set(outcomes(capsys).values()) == {"present"}
    assert main(arguments) == 0
    assert capsys.readouterr().out.endswith("\n3 present\n")


def test_a_better_file_is_sent_and_a_poorer_one_is_not(
    server: RunningServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    poor, good = tmp_path / "poor/app", tmp_path / "good/app"
    for path, data in ((poor, with_symbols(1)), (good, with_lines(1))):
        path.parent.mkdir()
        path.write_bytes(data)
        gsym.convert(path)
    arguments = ["upload", "--server", server.url, "--api-key", "secret", "--json"]
    assert main([*arguments, f"{poor}.gsym"]) == 0
    assert outcomes(capsys) == {"app.gsym": "added"}
    assert main([*arguments, f"{good}.gsym"]) == 0
    assert outcomes(capsys) == {"app.gsym": "replaced"}
    assert main([*arguments, f"{poor}.gsym"]) == 0
    assert outcomes(capsys) == {"app.gsym": "present"}
    assert main([*arguments, f"{poor}.gsym", "--all"]) == 0
    assert outcomes(capsys) == {"app.gsym": "kept"}


def test_another_build_of_which_the_server_knows_a_part_of_the_id_is_sent(
    server: RunningServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "app"
    arguments = ["upload", "--server", server.url, "--api-key", "secret", "--json"]
    for last in (1, 2):  # beyond the 16 bytes of a debug id
        identifier = bytes(range(19)) + bytes([last])
        symbols = [Symbol("f", 0x1000, 0x10)]
        path.write_bytes(Elf([TEXT], symbols=symbols, build_id=identifier).to_bytes())
        gsym.convert(path, force=True)
        assert main([*arguments, f"{path}.gsym"]) == 0
        assert outcomes(capsys) == {"app.gsym": "added"}


def test_a_damaged_file_does_not_stop_the_others(
    server: RunningServer, build: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (build / "damaged").write_bytes(b"\x7fELF")
    arguments = ["upload", "--server", server.url, "--api-key", "secret", str(build)]
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert f"gsym: error: {build}/damaged: " in printed.err
    assert printed.out.endswith("1 failed, 2 added, 1 kept\n")


@pytest.mark.parametrize("token", ["reader", "unknown"])
def test_a_wrong_token_ends_the_upload_with_one_request(
    server: RunningServer,
    build: Path,
    token: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["upload", "--all", "--server", server.url, str(build)]
    assert main([*arguments, "--api-key", token]) == 1
    printed = capsys.readouterr()
    assert "HTTP status 403" in printed.err
    assert printed.err.count("not sent: ") == 2
    assert token not in printed.err


def test_a_server_that_is_busy_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "app"
    path.write_bytes(with_lines(1))
    waits: list[float] = []
    module = {"debug_file": "app", "debug_id": "0", "outcome": "added"}
    done = Reply(json.dumps({"upload": {"modules": [module]}}).encode(), 201)
    busy = Reply(status=503, headers=(("Retry-After", "7"),))
    with (
        Server(busy, Reply(status=502), done) as server,
        UploadClient(server.url, "secret", sleep=waits.append) as client,
    ):
        (sent,) = client.send(str(path), "lib c++.so")
        assert sent.outcome == "added"
        assert waits[0] == 7.0
        assert [len(each) for each in server.bodies] == [path.stat().st_size] * 3
        assert {*server.paths} == {"/upload/?name=lib%20c%2B%2B.so"}
        headers = server.requests[0].headers
        assert headers["authorization"] == "Bearer secret"


def test_a_server_that_stays_busy_fails_without_showing_the_token(
    tmp_path: Path,
) -> None:
    path = tmp_path / "app"
    path.write_bytes(with_lines(1))
    with (
        Server(Reply(status=503)) as server,
        UploadClient(server.url, "secret", sleep=lambda _: None) as client,
        pytest.raises(ServerError, match=r"HTTP status 503 \(attempt 6\)") as caught,
    ):
        client.send(str(path), "app")
    assert caught.value.status == 503


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b'{"upload": 1}', b'{"upload": {"modules": [1]}}']
)
def test_an_answer_of_something_else_is_an_error(body: bytes, tmp_path: Path) -> None:
    path = tmp_path / "app"
    path.write_bytes(with_lines(1))
    with Server(Reply(body)) as server, UploadClient(server.url) as client:
        with pytest.raises(ServerError, match="HTTP status 200"):
            client.send(str(path), "app")
        key = ModuleKey(debug_file="app", debug_id="0" * 31 + "10")
        assert client.stored(key) is None


def test_the_server_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["upload", "app"]) == 2
    assert "option '--server' is required" in capsys.readouterr().err
    assert main(["upload", "app", "--server", "example"]) == 1


def test_a_bundle_is_sent_as_its_file(
    server: RunningServer, build: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(build)
    bundle = build / "app.dSYM/Contents/Resources/DWARF"
    bundle.mkdir(parents=True)
    one = unit(function("f", 0x1000, 0x1010))
    sections = [code(), *debug_sections(Dwarf([one]).sections())]
    found = Macho(sections, type=DSYM, uuid=bytes([3] * 16))
    (bundle / "app").write_bytes(found.to_bytes())
    arguments = ["upload", "--server", server.url, "--api-key", "secret", str(build)]
    assert main([*arguments, "--json"]) == 0
    assert outcomes(capsys) == {"app": "added"}
