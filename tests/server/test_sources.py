"""A server with sources: modules come when they are asked for."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from gsym.errors import GsymError
from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.server.modules import make_symbolizer
from gsym.server.settings import Settings
from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.sources.source import FoundFile
from tests.server.running import RunningServer, wait_until
from tests.symbol_files import debug_id, key, symbols

if TYPE_CHECKING:
    from gsym.modules.key import ModuleKey

pytestmark = pytest.mark.no_engine


def test_a_module_of_a_source_is_symbolized(tmp_path: Path) -> None:
    place = tmp_path / "tree" / "app" / debug_id()
    place.mkdir(parents=True)
    (place / "app.sym").write_bytes(symbols())
    settings = Settings(store=str(tmp_path / "store"), sources=[str(tmp_path / "tree")])
    symbolizer = make_symbolizer(settings)
    found = symbolizer.symbolize(key(), offset=0x1004)
    assert found.lookup is not None
    assert found.lookup.function.name == "f0_0"
    missing = symbolizer.symbolize(key(1), offset=0x1004)
    assert missing.lookup is None
    assert {each.outcome for each in missing.module.attempts} == {"missing"}


def test_the_page_lists_the_modules_of_a_folder_and_finds_them_by_name(
    tmp_path: Path,
) -> None:
    for name, number in (("x.sym", 0), ("y.sym", 1)):
        (tmp_path / name).write_bytes(symbols(number, f"app{number}"))
    settings: dict[str, Any] = {
        "store": str(tmp_path / ".store"),
        "sources": [str(tmp_path)],
    }
    symbolizer = make_symbolizer(Settings(**settings))
    with RunningServer(symbolizer, **settings) as server:

        def listed(query: str) -> list[tuple[str, str]]:
            found = server.ask("GET", f"/page/modules?query={query}").json["modules"]
            return [(each["debug_file"], each["level"]) for each in found]

        of_one = ("app1", "not converted yet")
        assert listed("") == [("app0", "not converted yet"), of_one]
        assert listed(debug_id(1)[:8].lower()) == [of_one]
        answer = server.post(b"app0+0x1004", "/symbolicate/report").json
        (thread,) = answer["threads"]
        assert thread["frames"][0]["calls"][0]["function"] == "f0_0"
        opened = server.ask("GET", f"/page/module?id={debug_id(1)}").json
        assert opened["functions"] == 1


class StalledSource:
    """A source that sends a module when it is told to."""

    name = "stalled"

    def __init__(self) -> None:
        self.is_sent = Event()

    def find(self, key: ModuleKey, folder: str) -> FoundFile:
        del key
        assert self.is_sent.wait(100)  # longer than a client waits
        path = Path(folder) / "app.sym"
        path.write_bytes(symbols(1))
        return FoundFile(str(path), "https://symbols.test/app.sym")


def test_stored_modules_are_answered_while_a_source_takes_its_time(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path / "store")
    (tmp_path / "app.sym").write_bytes(symbols())
    add_file(store, str(tmp_path / "app.sym"))
    source = StalledSource()
    symbolizer = Symbolizer(Resolver(store, [source]))
    body = {
        "memoryMap": [["app", debug_id()], ["app", debug_id(1)]],
        "stacks": [[[0, 0x1004], [1, 0x1004]]],
    }
    settings: dict[str, Any] = {
        "source_wait": 0.2,
        "fetch_threads": 1,  # which the source holds
        "request_timeout": 10,
        "enable_downloads": True,
        "fetch_downloads": True,
        "enable_source": True,
    }
    with RunningServer(symbolizer, store=store.path, **settings) as server:

        def ask() -> tuple[list[str | None], dict[str, Any]]:
            (result,) = server.post(body).json["results"]
            frames = result["stacks"][0]
            errors = result.get("module_errors", {})
            return [each.get("function") for each in frames], errors

        functions, errors = ask()
        assert functions == ["f0_0", None]
        ((error,),) = errors.values()
        assert "still searched or fetched: ask again later" in str(error)
        for path in (f"app/{debug_id()}/app.sym", f"app/{debug_id()}/app.json"):
            assert server.ask("GET", f"/{path}").status == 200, path
        report = server.post(b"app+0x1004", "/symbolicate/report?module=app")
        assert b"f0_0" in report.body
        assert server.ask("GET", f"/page/module?id={debug_id()}").status == 200
        asked = {"debugName": "app", "moduleOffset": "0x1004", "file": "main.c"}
        for number, status in ((0, 404), (1, 503)):  # no folder has the file
            wanted = {**asked, "debugId": debug_id(number)}
            assert server.post(wanted, "/source/v1").status == status, number
        source.is_sent.set()
        wait_until(lambda: ask()[0] == ["f0_0", "f1_0"])


def test_an_invalid_source_stops_the_server(tmp_path: Path) -> None:
    settings = Settings(store=str(tmp_path / "store"), sources=["ftp://h/"])
    with pytest.raises(GsymError, match="source 'ftp://h/': sources are folders"):
        make_symbolizer(settings)
