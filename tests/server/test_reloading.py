"""A new configuration while a server serves: what is taken on, what goes on."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from gsym.server.modules import make_symbolizer
from gsym.server.reloading import OF_MODULES, ReloadingApp
from gsym.server.settings import Settings
from gsym.symbolizer import Symbolizer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.modules import KnownModules

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

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.read.add(name)
        return getattr(self._settings, name)


def test_whatever_modules_are_found_by_has_them_found_anew(tmp_path: Path) -> None:
    settings = Settings(store=str(tmp_path), sources=[str(tmp_path)])
    watched = Watched(settings)
    make_symbolizer(watched)  # type: ignore[arg-type]
    assert watched.read == set(OF_MODULES)


def test_a_request_under_way_is_answered_by_the_threads_of_its_time(
    modules: KnownModules, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The logs of this process are those of the tests.
    monkeypatch.setattr("gsym.server.reloading.configure_logs", lambda _: None)

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
    assert len(json.loads(body["body"])["results"][0]["stacks"][0]) == 1000
