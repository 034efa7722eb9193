"""`gsym serve` as a process: one worker or several, signals, configuration."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.running import token_lines, wait_until
from tests.symbol_files import debug_id, symbols

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from typing_extensions import Self

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

ROOT = Path(__file__).resolve().parents[2]
REQUEST = {"stacks": [[[0, 0x1004]]], "memoryMap": [["app", debug_id()]]}


class Serving:
    """A server as people start it, in a folder with a Breakpad file."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        words: Sequence[str] = ("-m", "gsym", "serve", "--port", "0"),
        **environment: str,
    ) -> None:
        (folder / "any.sym").write_bytes(symbols())
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, *words, *arguments],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "XDG_DATA_HOME": str(folder / ".data"),
                **environment,
            },
        )
        self.port = 0
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            found = re.search(r"symbolServer=https?://[\d.]+:(\d+)", line)
            if found:
                self.port = int(found[1])
                break
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines.extend(self.process.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> int:
        """Ask it to stop; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        self._reading.join()
        if self.process.stderr is not None:
            self.process.stderr.close()
        return code

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, json.dumps(body) if body else None)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def symbolicate(self) -> tuple[int, Any]:
        status, body = self.ask("POST", "/symbolicate/v5", REQUEST)
        return status, json.loads(body)


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_what_is_stored_is_for_the_user_and_the_group(
    mask: int, tmp_path: Path
) -> None:
    before = os.umask(mask)
    try:
        with Serving(tmp_path, f"--store={tmp_path / 'store'}") as serving:
            assert serving.symbolicate()[0] == 200
    finally:
        os.umask(before)
    modes = {
        path.stat().st_mode & 0o777 & ~(0o750 if path.is_dir() else 0o640)
        for path in (tmp_path / "store").rglob("*")
        if not path.is_symlink()
    }
    assert modes == {0}
    (found,) = (tmp_path / "store").rglob("module.gsym")
    assert found.stat().st_mode & 0o777 == 0o640 & ~mask


def test_the_start_says_who_may_do_what(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(token_lines({"ann": "read", "ci": "upload", "bob": "admin"}))
    limits = ("--limit=max_body=1M", "--set=max_store=2M")
    with Serving(tmp_path, f"--set=token_files={tokens}", *limits) as serving:
        assert serving.ask("GET", "/__lbheartbeat__")[0] == 200
    texts = [json.loads(line)["message"] for line in serving.lines]
    assert sum("are confined by" in text for text in texts) == 1
    assert "limits: max_store=2000000, max_body=1000000" in texts
    assert "readers: ann, bob" in texts
    assert "uploaders: ci, bob" in texts
    assert "web pages that may use it: https://profiler.firefox.com, localhost" in texts


@pytest.mark.parametrize(
    ("scopes", "is_warned"), [("upload", True), ("read,upload", False)]
)
def test_a_server_for_anybody_is_warned_of(
    scopes: str, tmp_path: Path, *, is_warned: bool
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(token_lines({"ann": scopes}))
    with Serving(tmp_path, "--host=0.0.0.0", f"--set=token_files={tokens}") as serving:
        pass
    text = "anybody who can reach 0.0.0.0 may read"
    assert warnings_of(serving) == ([text] if is_warned else [])


@pytest.mark.parametrize(("store", "is_warned"), [("any.sym/s", True), ("s", False)])
def test_a_store_that_cannot_be_written_to_is_warned_of(
    store: str, tmp_path: Path, *, is_warned: bool
) -> None:
    with Serving(tmp_path, f"--store={store}") as serving:
        pass
    text = "the store cannot be written to"
    assert warnings_of(serving) == ([text] if is_warned else [])


def warnings_of(serving: Serving) -> list[str]:
    records = [json.loads(line) for line in serving.lines]
    return [each["message"] for each in records if each["level"] == "warning"]


def gsym_serve(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gsym", "serve", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_printed_configuration_is_one_that_can_be_read(tmp_path: Path) -> None:
    flags = ("--port=0", '--set=path_map=/a=/b,/c="/d', "--limit=max_body=1KiB")
    printed = gsym_serve("--print-config", *flags, folder=tmp_path)
    assert printed.returncode == 0
    config = tmp_path / "c.toml"
    config.write_text(printed.stdout)
    again = gsym_serve("--print-config", "--config", "c.toml", folder=tmp_path)
    assert again.stdout == printed.stdout
    assert "port = 0\n" in printed.stdout
    assert "max_body = 1024\n" in printed.stdout


@pytest.mark.parametrize(
    ("flags", "status", "text"),
    [
        ((), 0, "the configuration is valid\n"),
        (("--store=c.txt/s",), 1, "the store cannot be written to"),
        (("--host=0.0.0.0",), 1, "anybody who can reach 0.0.0.0 may read"),
        (("--host=192.0.2.1",), 1, "192.0.2.1:0: Cannot assign requested address"),
        (("--set=trusted_proxies=10.0.0.1/8",), 2, "10.0.0.1/8 has host bits set"),
        (("--set=trusted_proxies=*,10.0.0.0/8,::1",), 0, "the configuration is valid"),
        (("--set=token_files=missing",), 1, "missing: No such file"),
        (("--set=path_map=/a",), 2, "setting 'path_map': '/a': expected OLD=NEW"),
        (("--set=source_map=/a=b",), 2, "setting 'source_map': '/a=b' lacks {path}"),
        (("--set=token_files=c.txt",), 1, "c.txt: line 1: expected NAME SCOPES HASH"),
        (("--set=tls_certificate=c.txt",), 2, "setting 'tls_certificate': "),
        (("--set=tls_certificate=missing",), 1, "No such file"),
        (("--source=ftp://h/",), 2, "source 'ftp://h/'"),
        (("--store=.",), 1, ".: the folder is not empty and not a store"),
        (("--config=c.txt",), 1, "c.txt: invalid TOML"),
    ],
)
def test_a_configuration_can_be_checked(
    flags: tuple[str, ...], status: int, text: str, tmp_path: Path
) -> None:
    (tmp_path / "c.txt").write_text("nonsense\n")
    done = gsym_serve("--check-config", *flags, folder=tmp_path)
    assert text in done.stdout + done.stderr
    assert (status == 0) == (done.stdout == "the configuration is valid\n")
    assert done.returncode == status


def test_a_server_speaks_https(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    pem = tmp_path / "server.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(pem), "-out", str(tmp_path / "certificate.pem")]
    subprocess.run(command, check=True, capture_output=True)
    with pem.open("a", encoding="ascii") as file:
        file.write((tmp_path / "certificate.pem").read_text(encoding="ascii"))
    limit = ("--limit", "head_timeout=1s")
    with Serving(tmp_path, f"--set=tls_certificate={pem}", *limit) as serving:
        # A client that begins no handshake is hung up, with nothing to read.
        with socket.create_connection(("127.0.0.1", serving.port), 30) as idle:
            assert idle.recv(1) == b""
        context = ssl.create_default_context(cafile=str(pem))
        connection = http.client.HTTPSConnection(
            "127.0.0.1", serving.port, timeout=30, context=context
        )
        connection.request("POST", "/symbolicate/v5", json.dumps(REQUEST))
        answer = json.loads(connection.getresponse().read())
        connection.close()
    (frame,) = answer["results"][0]["stacks"][0]
    assert frame["function"] == "f0_0"


def test_the_current_folder_is_served_by_default(tmp_path: Path) -> None:
    with Serving(tmp_path) as serving:
        status, answer = serving.symbolicate()
        assert status == 200
        (frame,) = answer["results"][0]["stacks"][0]
        assert frame["function"] == "f0_0"
        assert serving.stop() == 0
    (line,) = [line for line in serving.lines if "/symbolicate/v5" in line]
    assert json.loads(line)["status"] == 200


def test_the_log_is_json_and_begins_with_the_sources(
    tmp_path: Path,
) -> None:
    store = str(tmp_path / "store")
    with Serving(tmp_path, GSYM_STORE=store) as serving:
        url = f"http://127.0.0.1:{serving.port}"
        assert serving.symbolicate()[0] == 200
        assert serving.stop() == 0
    messages = [json.loads(line)["message"] for line in serving.lines]
    profiler = "for the Firefox Profiler: https://profiler.firefox.com/from-url/..."
    assert messages[:4] == [
        f"serving at {url}",
        f"{profiler}?symbolServer={url}",
        f"store: {store}",
        f"source: {tmp_path}",
    ]


_NOISY = """
import asyncio, logging, sys, threading, warnings
from starlette.responses import Response
from starlette.routing import Route
import gsym.server.application as application
from gsym.cli.main import main

class Noise:
    def __del__(self):
        raise ValueError("in a destructor")

async def lose():
    raise ValueError("in a task")

async def noisy(request):
    warnings.warn("a warning of Python")
    logging.getLogger("library").warning("a warning of a library")
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    Noise()
    asyncio.ensure_future(lose())
    return Response()

async def failing(request):
    raise ValueError("in an endpoint")

routes = [Route("/noisy", noisy), Route("/failing", failing)]
application.MOUNTED += (lambda service: routes,)
if __name__ == "__main__":
    sys.exit(main())
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_all_that_a_server_writes_is_json(workers: str, tmp_path: Path) -> None:
    """Warnings, lost errors, other libraries and the log of uvicorn, too."""
    (tmp_path / "noisy.py").write_text(_NOISY)
    words = ["noisy.py", "serve", "--port", "0", "--workers", workers]
    with Serving(tmp_path, words=words) as serving:
        for path in ("/noisy", "/failing", "/ HTTP/1.1 nonsense"):
            with socket.create_connection(("127.0.0.1", serving.port)) as client:
                client.sendall(
                    f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
                )
                assert client.recv(1 << 16)
        assert serving.stop() == 0
    records = [json.loads(line) for line in serving.lines]
    text = "\n".join(f"{each['message']} {each.get('exception')}" for each in records)
    for said in (
        "a warning of Python",
        "a warning of a library",
        "ZeroDivisionError",
        "in a destructor",
        "in a task",
        "in an endpoint",
        "Invalid HTTP request",
    ):
        assert said in text


def test_the_log_for_people_is_text(tmp_path: Path) -> None:
    with Serving(tmp_path, "--set", "log_format=text") as serving:
        with socket.create_connection(("127.0.0.1", serving.port)) as client:
            client.sendall(b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.recv(1 << 16)
        assert serving.stop() == 0
    form = r"\d\d:\d\d:\d\d .*/nowhere -> 404 in [0-9.]+ ms\n"
    assert [each for each in serving.lines if re.fullmatch(form, each)]


def test_probes_are_logged_only_if_they_fail(tmp_path: Path) -> None:
    with Serving(tmp_path) as serving:
        for path in ("/__heartbeat__", "/metrics", "/__version__", "/nowhere"):
            serving.ask("GET", path)
        assert serving.ask("POST", "/metrics")[0] == 405
    records = [json.loads(line) for line in serving.lines]
    asked = [(each["path"], each["status"]) for each in records if "path" in each]
    assert asked == [("/nowhere", 404), ("/metrics", 405)]


@pytest.mark.parametrize(("form", "first"), [("json", "{"), ("text", "gsym: error: ")])
def test_a_start_that_fails_is_told_in_the_form_of_the_log(
    tmp_path: Path, form: str, first: str
) -> None:
    done = gsym_serve(
        f"--set=log_format={form}", "--host", "203.0.113.1", folder=tmp_path
    )
    assert done.returncode == 1
    assert done.stderr.startswith(first)
    assert "203.0.113.1:8000: " in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_sighup_reloads_the_configuration(tmp_path: Path) -> None:
    config = tmp_path / "gsym.toml"
    config.write_text("[limits]\nmax_jobs = 1\n")
    two = {"jobs": [REQUEST] * 2}
    with Serving(tmp_path, "--config", str(config)) as serving:

        def status() -> int:
            return serving.ask("POST", "/symbolicate/v5", two)[0]

        assert status() == 400
        config.write_text("[limits]\nmax_jobs = 2\n")
        serving.process.send_signal(signal.SIGHUP)
        wait_until(lambda: status() == 200)
        config.write_text("[limits]\nmax_jobs = 0\n")
        serving.process.send_signal(signal.SIGHUP)
        wait_until(lambda: any("was not reloaded" in line for line in serving.lines))
        assert status() == 200


def test_several_workers_share_the_work_and_the_metrics(tmp_path: Path) -> None:
    with Serving(tmp_path, GSYM_WORKERS="2") as serving:
        assert serving.symbolicate()[0] == 200
        for _ in range(19):
            assert serving.ask("GET", "/__heartbeat__")[0] == 200

        def requests() -> float:
            text = serving.ask("GET", "/metrics")[1].decode()
            counts = re.findall(
                r"^gsym_requests_total{.*heartbeat.*} (.*)$", text, re.MULTILINE
            )
            return sum(map(float, counts))

        # The other worker may count its last request after it has answered.
        wait_until(lambda: requests() == 19)

        workers = children(serving.process.pid)
        assert len(workers) == 2
        os.kill(workers[0], signal.SIGKILL)
        wait_until(lambda: len(set(children(serving.process.pid)) - {workers[0]}) == 2)
        assert serving.symbolicate()[0] == 200
        assert serving.stop() == 0
    assert any(f"worker {workers[0]} died" in line for line in serving.lines)


def children(pid: int) -> list[int]:
    """Processes that were started by *pid* and serve."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            command = (path / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if parent == pid and b"spawn_main" in command:
            found.append(int(path.name))
    return found


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--port", "x"], "setting 'port'"),
        (["--set", "x"], "expected NAME=VALUE"),
        (["--set", "x=1"], "unknown setting 'x'"),
        (["--workers", "0"], "setting 'workers'"),
        (["--config", "/none/such"], "/none/such: No such file"),
        (["--host", "203.0.113.1"], "203.0.113.1:"),
        (["--source", "ftp://h/", "--workers", "2"], "source 'ftp://h/'"),
    ],
)
def test_an_invalid_option_is_reported_in_one_line(
    tmp_path: Path, arguments: list[str], reason: str
) -> None:
    words = [sys.executable, "-m", "gsym", "serve", "--port", "0", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        words,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in {1, 2}
    assert reason in run.stderr
    assert "serving at" not in run.stderr
    assert "Traceback" not in run.stderr
