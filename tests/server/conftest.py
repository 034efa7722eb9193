"""One server for all tests that do not change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gsym.modules.symbolizer import Symbolizer
from tests.server.modules import KnownModules, make_modules
from tests.server.running import RunningServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> KnownModules:
    return make_modules(tmp_path_factory.mktemp("modules"))


@pytest.fixture(scope="session")
def server(modules: KnownModules) -> Iterator[RunningServer]:
    with RunningServer(Symbolizer(modules)) as running:
        yield running
