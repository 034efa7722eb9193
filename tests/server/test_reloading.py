"""A new configuration while a server serves: what is taken on, what goes on."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gsym.modules.key import ModuleKey
from gsym.modules.symbolizer import Symbolizer
from gsym.server.application import ReloadingApp, settings_of_modules
from gsym.server.modules import make_symbolizer
from gsym.server.settings import Settings
from tests.server.running import made_settings

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.modules import KnownModules

pytestmark = pytest.mark.no_engine

LARGE = json.dumps({"stacks": [[[-1, 1]] * 1000], "memoryMap": []}).encode()
SCOPE = {
    "type": "http",
    "method": "POST",
    "path": "/symbolicate/v5",
    "query_string": b"",
    "headers": [],
}


class Watched:
    """Settings, and which of them were asked for."""

    def __init__(self, settings: Any, read: set[str]) -> None:
        self._settings = settings
        self.read = read

    def __getattr__(self, name: str) -> Any:
        if name == "limits":
            return Watched(self._settings.limits, self.read)
        self.read.add(name)
        return getattr(self._settings, name)


def test_settings_that_find_modules_reopen_them(tmp_path: Path) -> None:
    settings = Settings(store=str(tmp_path), sources=[str(tmp_path)])
    found_by, compared = Watched(settings, set()), Watched(settings, set())
    make_symbolizer(found_by)  # type: ignore[arg-type]
    settings_of_modules(compared)  # type: ignore[arg-type]
    assert found_by.read == compared.read


def test_a_request_in_flight_survives_a_reload(
    modules: KnownModules, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The logs of this process are those of the tests.
    monkeypatch.setattr("gsym.server.application.configure_logs", lambda _: None)

    async def reload_within_a_request() -> list[dict[str, Any]]:
        app = ReloadingApp(Settings, Settings(), lambda _: Symbolizer(modules))
        service = app.serving.service
        body_comes = asyncio.Event()
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            await body_comes.wait()
            return {"type": "http.request", "body": LARGE}

        async def send(message: Any) -> None:
            sent.append(message)

        request = asyncio.ensure_future(app(SCOPE, receive, send))
        await asyncio.sleep(0)
        app.reload()
        assert app.serving.service is not service
        assert await service.run(len, "it works") == 8
        body_comes.set()
        await request
        with pytest.raises(RuntimeError, match="after shutdown"):
            await service.run(len, "it has ended")
        return sent

    start, body = asyncio.run(reload_within_a_request())
    assert start["status"] == 200
    assert len(json.loads(bytes(body["body"]))["results"][0]["stacks"][0]) == 1000


def test_modules_stay_open_while_in_use(
    modules: KnownModules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsym.server.application.configure_logs", lambda _: None)
    is_closed = threading.Event()
    loaded = iter([made_settings(max_jobs=7), made_settings(max_jobs=7, max_open=7)])
    made: list[Symbolizer] = []

    def open_modules(_: Settings) -> Symbolizer:
        made.append(Symbolizer(modules, on_close=None if made else is_closed.set))
        return made[-1]

    async def reload_twice_within_a_search() -> None:
        app = ReloadingApp(lambda: next(loaded), Settings(), open_modules)
        begun, may_end = threading.Event(), threading.Event()

        def fetch() -> bool:
            begun.set()
            return may_end.wait(60)

        search = asyncio.ensure_future(app.serving.service.opening.run(fetch))
        await asyncio.to_thread(begun.wait, 60)
        for count in (1, 2):
            old = app.serving.service
            app.reload()
            assert app.serving.service is not old
            assert len(made) == count
        # The second of three has ended, the first has not.
        assert not await asyncio.to_thread(is_closed.wait, 0.05)
        may_end.set()
        await search

    asyncio.run(reload_twice_within_a_search())
    assert is_closed.wait(60)


def test_modules_of_rejected_settings_are_closed(
    modules: KnownModules,
) -> None:
    closed: list[int] = []
    made: list[Symbolizer] = []

    def open_modules(_: Settings) -> Symbolizer:
        number = len(made)
        made.append(Symbolizer(modules, on_close=lambda: closed.append(number)))
        return made[-1]

    app = ReloadingApp(
        lambda: made_settings(max_open=7, path_map=["no rule"]),
        Settings(),
        open_modules,
    )
    before = app.serving
    app.reload()
    assert app.serving is before
    assert (len(made), closed) == (2, [1])


def test_closing_a_symbolizer_closes_its_connections(
    tmp_path: Path,
) -> None:
    pytest.importorskip("httpx2", reason="the extra `net` is not installed")
    (tmp_path / "store").mkdir()
    is_hung_up = threading.Event()

    def serve(listener: socket.socket) -> None:
        wire, _ = listener.accept()
        with wire:
            while wire.recv(1 << 16):
                wire.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        is_hung_up.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        symbolizer = make_symbolizer(
            Settings(store=str(tmp_path / "store"), sources=[url])
        )
        found = symbolizer.open(ModuleKey("a.pdb", "A" * 33))
        assert [attempt.outcome for attempt in found.attempts] == ["missing"]
        assert not is_hung_up.is_set()
        symbolizer.close()
        assert is_hung_up.wait(60)
