"""A server with sources: modules come when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gsym.errors import GsymError
from gsym.server.modules import make_symbolizer
from gsym.server.settings import Settings
from tests.server.running import RunningServer
from tests.symbol_files import debug_id, key, symbols

if TYPE_CHECKING:
    from pathlib import Path

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


def test_an_invalid_source_stops_the_server(tmp_path: Path) -> None:
    settings = Settings(store=str(tmp_path / "store"), sources=["ftp://h/"])
    with pytest.raises(GsymError, match="source 'ftp://h/': sources are folders"):
        make_symbolizer(settings)
