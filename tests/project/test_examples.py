"""The projects in examples/ that users copy, each run as its first lines say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gsym
from benchmarks.serving import ServerProcess
from tests.conftest import REPOSITORY, find_peer
from tests.server.running import token_lines

pytestmark = pytest.mark.no_engine

EXAMPLES = REPOSITORY / "examples"
BIN = Path(sys.executable).parent


def output_of(*command: str | Path, folder: Path, **variables: str) -> str:
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_page_lists_all_examples() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)/`", page, re.MULTILINE)
    assert sorted(listed) == sorted(
        path.name for path in EXAMPLES.iterdir() if path.is_dir()
    )


@pytest.mark.long
def test_a_build_of_cmake_uploads_what_the_server_answers_from(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    for tool in ("cc", "cmake", "strip"):
        find_peer(tool)
    folder = shutil.copytree(EXAMPLES / "cmake", tmp_path / "project")
    module = REPOSITORY / "integrations"
    tokens = tmp_path / "tokens"
    tokens.write_text(token_lines({"secret": "upload"}))
    store = tmp_path / "store"
    (tmp_path / "empty").mkdir()
    config = tmp_path / "gsym.toml"
    lines = (f'store = "{store}"', f'sources = ["{tmp_path}/empty"]')
    config.write_text("\n".join([*lines, f'token_files = ["{tokens}"]']))
    with ServerProcess("--config", str(config)) as server:
        url = f"http://127.0.0.1:{server.port}"
        known = (f"-DGsymConvert_DIR={module}", f"-DGSYM_SERVER={url}")
        output_of("cmake", "-B", "build", *known, folder=folder)
        output_of("cmake", "--build", "build", folder=folder)
        upload = ("cmake", "--build", "build", "--target", "upload")
        output_of(*upload, folder=folder, GSYM_API_KEY="secret")
    listed = output_of("gsym", "store", "list", "--store", store, folder=folder)
    key = gsym.identify(folder / "build/app")
    assert str(key.debug_id) in listed
    answer = output_of("gsym", "lookup", "build/app", "main+0", folder=folder)
    assert "app.c:" in answer
    assert gsym.identify(folder / "build/app.stripped").debug_id == key.debug_id


def test_a_crash_is_reported_and_counted(tmp_path: Path) -> None:
    build = ("-g", "-O1", "-fsanitize=address", EXAMPLES / "cmake/app.c")
    command = [find_peer("cc"), *map(str, build), "-o", str(tmp_path / "app")]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("not installed: a compiler with AddressSanitizer")
    reporter = (sys.executable, str(EXAMPLES / "crash_reporter/reporter.py"))
    asan = {**os.environ, "ASAN_OPTIONS": "symbolize=0"}
    for _ in range(2):
        done = subprocess.run(
            [*reporter, "--source", ".", "--", "./app"],
            cwd=tmp_path,
            env=asan,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode
        assert "share" in done.stderr
        assert "app.c:7" in done.stderr
    (kept,) = (tmp_path / "reports").iterdir()
    assert json.loads(kept.read_text())["seen"] == 2
    died = subprocess.run(
        [*reporter, "--", "sh", "-c", "kill -SEGV $$"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert died.returncode == 128 + 11
    assert died.stderr == "died by signal 11, without a stack\n"
    fine = output_of(*reporter, "--", "./app", "one", folder=tmp_path)
    assert fine == "120 each\n"


def test_the_files_of_the_compose_file_are_read_by_their_programs(
    tmp_path: Path,
) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    folder = EXAMPLES / "compose"
    services = yaml.safe_load((folder / "compose.yaml").read_text())["services"]
    assert {"gsym", "proxy", "prometheus"} == set(services)
    mounts = [each.split(":") for of in services.values() for each in of["volumes"]]
    own = [source for source, *_ in mounts if source.startswith(".")]
    assert [each for each in own if not (folder / each).resolve().is_file()] == []
    assert (folder / services["gsym"]["build"]["context"]).resolve() == REPOSITORY
    # As the server inside of the container reads them.
    settings = (REPOSITORY / "deploy/gsym.toml").read_text()
    for there, here in (("/etc/gsym", folder), ("/var/lib", tmp_path)):
        settings = settings.replace(f'"{there}', f'"{here}')
    settings = settings.replace("/srv/builds", str(tmp_path))
    (tmp_path / "gsym.toml").write_text(settings)
    check = ("gsym", "serve", "--check-config", "--config", tmp_path / "gsym.toml")
    output_of(*check, folder=tmp_path, GSYM_ALLOWED_HOSTS="symbols.example.org,gsym")
    rules = (folder / "prometheus.yml").read_text()
    (tmp_path / "prometheus.yml").write_text(
        rules.replace(
            "/etc/prometheus/gsym-alerts.yaml", str(REPOSITORY / "deploy/alerts.yaml")
        )
    )
    output_of(
        find_peer("promtool"), "check", "config", "prometheus.yml", folder=tmp_path
    )


def test_the_notebook_runs_and_both_answer_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for tool in ("cc", "addr2line"):
        find_peer(tool)
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / "notebook/compare.ipynb").read_text())
    names: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec("".join(cell["source"]), names)  # noqa: S102 - as a notebook does
    printed = capsys.readouterr().out
    found = re.search(r"equal answers: (\d+) of 1000", printed)
    assert found is not None
    assert int(found[1]) > 900, printed
