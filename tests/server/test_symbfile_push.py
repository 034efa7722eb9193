"""`gsym symbfile push` and the server of this package, with what fails in between."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.faulty_proxy import FAULTS, FaultyProxy
from gsym.api.client.symbfile_client import UploadSettings
from gsym.cli.main import main
from gsym.cli.verbs import symbfile_push
from gsym.symbfile.file_id import FileId
from gsym.symbfile.format import decode, open_symbfile
from tests.inputs import elf
from tests.server.symbfile_pushes import KEY, running

if TYPE_CHECKING:
    from gsym.symbfile.columns import Record
    from tests.server.running import RunningServer

pytestmark = [pytest.mark.long, pytest.mark.confined]

PART_SIZE = 4096
FUNCTIONS = 1500
CALL = bytes.fromhex("e8 00 00 00 00 c3")


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A program of many functions, each of which calls."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GSYM_API_KEY", raising=False)
    monkeypatch.setattr(
        symbfile_push, "UploadSettings", lambda: UploadSettings(backoff=0.0)
    )
    symbols = [
        elf.Symbol(f"function_{number}", 0x1000 + 6 * number, 6)
        for number in range(FUNCTIONS)
    ]
    text = elf.Section(".text", FUNCTIONS * CALL, flags=elf.CODE, address=0x1000)
    binary = elf.Elf((text,), symbols=symbols, machine=elf.X86_64)
    Path("app").write_bytes(binary.to_bytes())
    return "app"


def push(app: str, url: str, *words: str) -> int:
    return main(["symbfile", "push", "-e", app, "--url", url, "--api-key", KEY, *words])


def received(server: RunningServer, app: str, name: str) -> list[Record]:
    text = FileId.of_file(app).base64
    answer = server.ask("GET", f"/{text[:2]}/{text[2:4]}/{text}/{name}")
    assert answer.status == 200
    return list(decode(answer.body).records())


@pytest.mark.parametrize("seed", range(2))
def test_an_upload_survives_network_failures(
    seed: int, app: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["symbfile", "extract", app, "--kind=both", "-o", "whole"]) == 0
    with (
        running(tmp_path / "store") as server,
        FaultyProxy(server.port, PART_SIZE, seed) as proxy,
    ):
        assert push(app, proxy.url, "--part-size", str(PART_SIZE)) == 0
        for kind in ("ranges", "returnpads"):
            expected = list(open_symbfile(f"whole.{kind}.symbfile").records())
            assert received(server, app, kind) == expected
    assert proxy.faults
    assert set(proxy.faults) <= set(FAULTS)
    assert "sent again" in capsys.readouterr().out


@pytest.mark.slow
def test_an_interrupted_push_is_resumed(app: str, tmp_path: Path) -> None:
    with running(tmp_path / "store") as server:
        with FaultyProxy(server.port, 3 * PART_SIZE) as proxy:
            words = ["--part-size", str(PART_SIZE), "--attempts", "1"]
            assert push(app, proxy.url, *words) == 1
        assert push(app, server.url, "--part-size", str(PART_SIZE)) == 0
        assert len(received(server, app, "returnpads")) == FUNCTIONS


@pytest.mark.parametrize(
    ("key", "reason"),
    [("other", "error 1002: unknown API key"), ("", "error 1001")],
)
def test_an_upload_needs_a_valid_key(
    key: str,
    reason: str,
    app: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["symbfile", "push", "-e", app, *([f"--api-key={key}"] if key else [])]
    with running(tmp_path / "store") as server:
        assert main([*words, "--url", server.url]) == 1
    told = capsys.readouterr().err
    assert f"HTTP status 401: {reason}" in told
    assert "(uuid " in told


def test_a_part_above_the_limit_is_reported(
    app: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path / "store", max_symbfile_part=PART_SIZE) as server:
        assert push(app, server.url) == 1
    assert "413: error 1201: please send parts of <= 4096" in capsys.readouterr().err
