"""A server with sources: modules come when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gsym.errors import GsymError
from gsym.server.modules import make_symbolizer
from gsym.server.settings import Settings
from tests.symbol_files import debug_id, key, symbols

if TYPE_CHECKING:
    from pathlib import Path


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


def test_a_source_of_no_kind_stops_the_server(tmp_path: Path) -> None:
    settings = Settings(store=str(tmp_path / "store"), sources=["ftp://h/"])
    with pytest.raises(GsymError, match="source 'ftp://h/': sources are folders"):
        make_symbolizer(settings)
