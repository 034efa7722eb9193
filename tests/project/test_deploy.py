"""The files in `deploy/`, by the programs that read them."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from http.client import HTTPSConnection
from itertools import count
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pytest

from benchmarks.serving import ServerProcess, free_port
from gsym.server.monitoring import METRICS
from gsym.server.settings import load_settings
from tests.server.running import token_lines, wait_until
from tests.symbol_files import debug_id, symbols

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
PATIENCE = 60  # seconds
RESTARTS, CLIENTS = 10, 4


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.mark.parametrize("file", ["alerts.yaml", "grafana.json"])
def test_rules_and_dashboard_name_metrics_that_exist(file: str) -> None:
    text = (DEPLOY / file).read_text(encoding="utf-8")
    named = set(re.findall(r"\bgsym_[a-z_]+", text))
    series = {
        name + suffix
        for name in METRICS
        for suffix in ("", "_total", "_bucket", "_sum", "_count")
    }
    assert named
    assert named <= series
    assert not re.findall(
        r"rate\(gsym_(?!\w*(?:_total|_bucket|_sum|_count)\b)\w+", text
    )


def test_the_dashboard_has_a_number_for_each_panel() -> None:
    dashboard = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
    numbers = [panel["id"] for panel in dashboard["panels"]]
    assert numbers == list(range(1, len(numbers) + 1))


def test_prometheus_accepts_the_rules() -> None:
    rules = str(DEPLOY / "alerts.yaml")
    subprocess.run([tool("promtool"), "check", "rules", rules], check=True)


def test_prometheus_accepts_the_shown_configuration(tmp_path: Path) -> None:
    text = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```yaml\n(scrape_configs:.*?)```", text, re.DOTALL)
    config = tmp_path / "prometheus.yml"
    config.write_text(shown, encoding="utf-8")
    command = [tool("promtool"), "check", "config", "--syntax-only", str(config)]
    subprocess.run(command, check=True)


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    analyze = tool("systemd-analyze")
    unit = tmp_path / "gsym.service"
    text = (DEPLOY / "gsym.service").read_text(encoding="utf-8")
    unit.write_text(text.replace("/opt/gsym/bin/gsym", sys.executable))
    passed = tmp_path / "gsym.socket"
    passed.write_text((DEPLOY / "gsym.socket").read_text(encoding="utf-8"))
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(unit), str(passed)],
        capture_output=True,
        text=True,
        check=False,
    )
    if "Failed to" in done.stderr:
        pytest.skip("systemd-analyze does not run here")
    assert done.stderr == ""
    assert done.returncode == 0


def test_the_settings_are_those_of_the_server(tmp_path: Path) -> None:
    text = (DEPLOY / "gsym.toml").read_text(encoding="utf-8")
    tokens = tmp_path / "tokens"
    tokens.write_text(token_lines({"secret": "upload"}))
    config = tmp_path / "gsym.toml"
    text = text.replace("/etc/gsym/tokens", str(tokens))
    text = text.replace("/var/lib/gsym", str(tmp_path / "store"))
    config.write_text(text.replace("/srv/builds", str(tmp_path)))
    settings = load_settings({}, {}, [str(config)])
    assert settings.max_store == 200 << 30
    done = subprocess.run(
        [sys.executable, "-m", "gsym", "serve", "--check-config", "--config", config],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0


@pytest.mark.parametrize("file", ["deploy/Containerfile", "docs/deploy.md"])
def test_what_is_installed_can_ask_the_sources(file: str) -> None:
    settings = load_settings({}, {}, [str(DEPLOY / "gsym.toml")])
    assert any(source.startswith("https:") for source in settings.sources)
    found = re.findall(
        r"pip install [^`\n]*\[([\w,]+)\]", (ROOT / file).read_text(encoding="utf-8")
    )
    assert found
    assert [
        each for each in found if not {"server", "net"} <= set(each.split(","))
    ] == []


def test_a_server_demangles_names() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (server,) = re.findall(r"^server = \[\n(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    assert '"gsym[demangle]"' in server


def test_kubectl_reads_each_field_of_the_manifest() -> None:
    """It drops fields that are not of the type, such as misspelt ones."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    kubectl = tool("kubectl")
    text = (DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")
    service, stateful_set = yaml.safe_load_all(text)
    assert (
        service["spec"]["selector"] == stateful_set["spec"]["selector"]["matchLabels"]
    )
    done = subprocess.run(
        [kubectl, "set", "env", "--local", "-f", "-", "ADDED=1", "-o", "json"],
        input=yaml.safe_dump(stateful_set),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert lost(stateful_set, json.loads(done.stdout)) == []


def lost(given: object, read: object, path: str = "") -> list[str]:
    """The paths of values that are not as they were given; additions do not count."""
    if isinstance(given, dict) and isinstance(read, dict):
        return [
            each
            for key, value in given.items()
            for each in lost(value, read.get(key), f"{path}/{key}")
        ]
    if isinstance(given, list) and isinstance(read, list):
        rest = [*read, *[None] * len(given)]
        return [
            each
            for index, value in enumerate(given)
            for each in lost(value, rest[index], f"{path}/{index}")
        ]
    return [] if given == read else [path]


def test_variables_of_a_service_are_no_settings() -> None:
    """Kubernetes sets GSYM_PORT to an address, as the Service is called gsym."""
    text = (DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")
    assert "enableServiceLinks: false" in text


@pytest.mark.parametrize(
    "file", ["deploy/kubernetes.yaml", "examples/compose/compose.yaml"]
)
def test_variables_of_containers_are_settings(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    known = {f"GSYM_{name.upper()}" for name in load_settings({}, {}).__struct_fields__}
    of_proxy = {"GSYM_SITE", "GSYM_SERVER", "GSYM_BUILDS"}
    assert set(re.findall(r"GSYM_[A-Z_]+", text)) <= known | of_proxy


@contextmanager
def proxied(folder: Path, server_port: int) -> Iterator[Callable[[], HTTPSConnection]]:
    """Caddy before a server, with its own certificate authority: opens connections."""
    caddy, port = tool("caddy"), free_port()
    environment = {
        **os.environ,
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "GSYM_SITE": f"https://localhost:{port}",
        "GSYM_SERVER": f"127.0.0.1:{server_port}",
    }
    config = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    # Port 80 is for redirects, and may be in use here.
    file = folder / "Caddyfile"
    file.write_text(config.replace("admin off", "admin off\n\thttp_port 0", 1))
    command = [caddy, "run", "--config", str(file), "--adapter", "caddyfile"]
    root = folder / "caddy/pki/authorities/local/root.crt"
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as proxy:
        try:
            yield lambda: _waited(port, root)
        finally:
            proxy.kill()


@pytest.fixture
def https(tmp_path: Path) -> Iterator[HTTPSConnection]:
    """`gsym serve` behind Caddy."""
    (tmp_path / "any.sym").write_bytes(symbols())
    options = ("--store", str(tmp_path / "store"), "--source", str(tmp_path))
    with (
        ServerProcess(*options) as server,
        proxied(tmp_path, server.port) as connect,
        closing(connect()) as connection,
    ):
        yield connection


class PassedSocket:
    """`gsym serve` with a socket that stays open, as systemd passes it."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.told.settimeout(PATIENCE)
        self.told.bind(str(folder / "notify"))
        serve = [sys.executable, "-m", "gsym", "serve", *options]
        number = self.listener.fileno()
        script = f'exec 3<&{number}; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"'
        self.command = ["bash", "-c", script, "bash", *serve]
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "NOTIFY_SOCKET": str(folder / "notify"),
        }

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command,
            env=self.environment,
            pass_fds=[self.listener.fileno()],
            stderr=subprocess.DEVNULL,
        )
        assert self.told.recv(64) == b"READY=1"

    def stop(self) -> None:
        self.process.terminate()
        assert self.told.recv(64) == b"STOPPING=1"
        assert self.process.wait(PATIENCE) == 0


@pytest.mark.slow
@pytest.mark.no_engine
def test_restarts_lose_no_request(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(token_lines({"secret": "upload"}))
    store = str(tmp_path / "store")
    # One worker may get the uploads of all clients.
    limits = ("--limit", f"max_uploads={CLIENTS}")
    server = PassedSocket(
        *(tmp_path, "--store", store, "--set", f"token_files={tokens}"),
        *("--workers", "2", *limits),
    )
    server.start()
    is_over = Event()
    statuses: list[int] = []
    faults: list[tuple[int, int, bytes]] = []

    def ask(connect: Callable[[], HTTPSConnection], number: int) -> None:
        body = json.dumps({"stacks": [[[0, 0x1004]]], "memoryMap": [["a", "0" * 33]]})
        for each in count(number, CLIENTS):
            connection = connect()
            if each % 3:
                connection.request("POST", "/symbolicate/v5", body)
            else:
                connection.request(
                    "POST", "/upload/", symbols(each), {"Auth-Token": "secret"}
                )
            answer = connection.getresponse()
            text = answer.read()
            statuses.append(answer.status)
            if answer.status >= 300:
                faults.append((each, answer.status, text))
            connection.close()
            if is_over.is_set():
                return

    with (
        closing(server.listener),
        closing(server.told),
        proxied(tmp_path, server.listener.getsockname()[1]) as connect,
        ThreadPoolExecutor(CLIENTS) as clients,
    ):
        asking = [clients.submit(ask, connect, number) for number in range(CLIENTS)]
        try:
            for _ in range(RESTARTS):
                enough = len(statuses) + CLIENTS
                wait_until(lambda enough=enough: len(statuses) > enough)  # type: ignore[misc]
                server.stop()
                server.start()
        finally:
            is_over.set()
        for each in asking:
            each.result(PATIENCE)
        server.stop()
    assert faults == []
    assert set(statuses) == {200, 201}
    assert len(statuses) > RESTARTS * CLIENTS


def _waited(port: int, root: Path) -> HTTPSConnection:
    """A connection to the proxy, once it has a certificate and a server."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(OSError):
            context = ssl.create_default_context(cafile=str(root))
            connection = HTTPSConnection("localhost", port, context=context)
            connection.request("GET", "/__heartbeat__")
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                return connection
            connection.close()
        time.sleep(0.1)
    raise TimeoutError


@pytest.mark.long
@pytest.mark.no_engine
def test_the_proxy_serves_https(https: HTTPSConnection) -> None:
    body = {"stacks": [[[0, 0x1004]]], "memoryMap": [["app", debug_id()]]}
    https.request("POST", "/symbolicate/v5", json.dumps(body))
    (frame,) = json.load(https.getresponse())["results"][0]["stacks"][0]
    assert frame["function"] == "f0_0"
    https.request("GET", "/")
    assert b"Symbolicate" in https.getresponse().read()
