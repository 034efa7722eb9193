"""Cores of other machines: the files of their modules come from servers."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import gsym
from gsym.reports import confined_dump
from gsym.server.modules import make_symbolizer
from gsym.server.openapi import Report
from tests.memory.running import build
from tests.memory.test_core import crashed_core
from tests.server.running import RunningServer, made_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
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
    report = gsym.symbolicate(core)
    stacks = calls(report)
    served = tmp_path / "served"
    served.mkdir()
    for module in report.modules:
        if module.name.startswith("libc."):
            shutil.copy(module.path, served)
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


@contextmanager
def serving(tmp_path: Path, **limits: Any) -> Iterator[RunningServer]:
    settings: dict[str, Any] = {
        "store": str(tmp_path / "store of the server"),
        "sources": [str(tmp_path / "served")],
        "fetch_downloads": True,
        **limits,
    }
    symbolizer = make_symbolizer(made_settings(**settings))
    with RunningServer(symbolizer, **settings) as running:
        yield running
    symbolizer.close()


@pytest.mark.parametrize("layout", ["debuginfod", "gsym"])
def test_a_core_walks_as_on_the_machine_that_it_is_from(
    core: tuple[Path, list[tuple[Any, ...]]],
    layout: str,
    tmp_path: Path,
) -> None:
    path, stacks = core
    names = [name for _, _, calls in stacks for name, _ in calls]
    assert names.index("crash") < names.index("main")
    store = str(tmp_path / "store")
    assert calls(gsym.symbolicate(path, store=store)) != stacks
    with serving(tmp_path) as running:
        source = f"{layout}+{running.url}"
        assert calls(gsym.symbolicate(path, source=source, store=store)) == stacks
    # What was fetched is in the store.
    assert calls(gsym.symbolicate(path, store=store)) == stacks


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_server_answers_a_core_as_the_machine_that_it_is_from(
    core: tuple[Path, list[tuple[Any, ...]]], tmp_path: Path, *, is_packed: bool
) -> None:
    path, stacks = core
    body = path.read_bytes()
    with serving(tmp_path) as running:
        sent = gzip.compress(body) if is_packed else body
        answer = running.ask("POST", "/symbolicate/report?parts=true", sent)
    assert answer.status == 200, answer.body
    msgspec.convert(answer.json, Report)
    assert answer.json["form"] == "ELF core file"
    assert answer.json["reason"] == "SIGSEGV at 0x0"
    found = [
        (
            thread["end"],
            frame["trust"],
            [(each["function"], each["line"]) for each in frame["calls"]],
        )
        for thread in answer.json["threads"]
        for frame in thread["frames"]
    ]
    # The C library has no lines there.
    assert [each[:2] for each in found] == [each[:2] for each in stacks]
    assert found[:3] == stacks[:3]


def test_dumps_are_limited(
    core: tuple[Path, list[tuple[Any, ...]]], tmp_path: Path
) -> None:
    body = core[0].read_bytes()
    path = "/symbolicate/report"
    with serving(tmp_path, max_dump=len(body) - 1) as running:
        assert running.ask("POST", path, body).status == 413
    with serving(tmp_path, max_dump_inflated=len(body) - 1) as running:
        assert running.ask("POST", path, gzip.compress(body)).status == 413
        assert running.ask("POST", path, body[:64]).status == 400
        text = gzip.compress(b"a text")
        assert running.ask("POST", path, text).json["form"] == "text without frames"


def test_the_frames_of_a_dump_are_limited(
    core: tuple[Path, list[tuple[Any, ...]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(confined_dump, "_MOST_FRAMES", 1)
    monkeypatch.setattr(tempfile, "tempdir", None)  # which the process sets
    read = confined_dump.read_confined_dump
    report = read(str(core[0]), str(tmp_path), {}, 1 << 30)["report"]
    assert len([part for part in report["parts"] if isinstance(part, list)]) == 1
    assert report["notes"][-1] == "Only 1 frames are shown."
