"""Cores of other machines: the files of their modules come from servers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from gsym.server.modules import make_symbolizer
from tests.memory.running import build
from tests.memory.test_core import crashed_core
from tests.server.running import RunningServer, made_settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.long,
    pytest.mark.no_engine,
    pytest.mark.skipif(sys.platform != "linux", reason="needs Linux"),
]


@pytest.fixture
def core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> tuple[Path, list[tuple[Any, ...]]]:
    """A core whose stripped binaries and debug files are elsewhere, and its calls."""
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    home = tmp_path / "home"
    home.mkdir()
    files = build(home, compiler, "-fomit-frame-pointer")
    core = crashed_core(files[0], "library", files[1])
    stacks = calls(gsym.symbolicate(core))
    served = tmp_path / "served"
    served.mkdir()
    for file in files:
        debug = served / f"{file.name}.debug"
        subprocess.run(
            ["objcopy", "--only-keep-debug", str(file), str(debug)], check=True
        )
        subprocess.run(["strip", str(file)], check=True)
        shutil.move(file, served / file.name)
    return core, stacks


def calls(report: gsym.Report) -> list[tuple[Any, ...]]:
    """The calls of each frame, and how it was found."""
    return [
        (thread.end, frame.trust, [(each.name, each.line) for each in frame.calls])
        for thread in report.threads
        for frame in thread.frames
    ]


@pytest.mark.parametrize("layout", ["debuginfod", "gsym"])
def test_a_core_walks_as_on_the_machine_that_it_is_from(
    core: tuple[Path, list[tuple[Any, ...]]],
    layout: str,
    tmp_path: Path,
) -> None:
    path, stacks = core
    names = [name for _, _, calls in stacks for name, _ in calls]
    assert names.index("crash") < names.index("main")
    settings: dict[str, Any] = {
        "store": str(tmp_path / "store of the server"),
        "sources": [str(tmp_path / "served")],
        "fetch_downloads": True,
    }
    symbolizer = make_symbolizer(made_settings(**settings))
    store = str(tmp_path / "store")
    assert calls(gsym.symbolicate(path, store=store)) != stacks
    with RunningServer(symbolizer, **settings) as running:
        source = f"{layout}+{running.url}"
        assert calls(gsym.symbolicate(path, source=source, store=store)) == stacks
    symbolizer.close()
    # What was fetched is in the store.
    assert calls(gsym.symbolicate(path, store=store)) == stacks
