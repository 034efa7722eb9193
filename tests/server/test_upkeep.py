"""The limits of a store, which its server keeps by itself."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.server.service import Service
from gsym.server.upkeep import Upkeep, has_free_space, look_after_store
from gsym.store.collection import ServedTime, write_served_time
from gsym.store.directory import Store
from gsym.store.locking import held
from gsym.store.sources.settings import open_source
from tests.server.running import RunningServer, made_settings, wait_until
from tests.server.test_serve_command import Serving
from tests.store_modules import put, write_sym

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.long

FETCHED = "https://symbols.test"
FREED = """
import re
from gsym.server.upkeep import trim_memory, tune_memory

def show():
    with open("/proc/self/smaps_rollup") as file:
        print(re.search(r"Anonymous: +([0-9]+)", file.read())[1])

tune_memory()
blocks = [b"x" * number for number in range(60_000, 61_000)]
del blocks[:-1]
show()
trim_memory()
show()
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with three modules, used today, yesterday and the day before.

    A source has them, so that they may be removed. The last round was a minute ago.
    """
    store = Store(tmp_path / "store")
    for number in range(3):
        entry = put(store, number, source=f"{FETCHED}/{number}").entry
        used = time.time() - number * 86_400
        os.utime(Path(entry.path).with_name("module.json"), (used, used))
    write_served_time(store.path, ServedTime(time.time() - 60))
    return store


@pytest.fixture
def look_after(store: Store) -> Callable[..., dict[str, float]]:
    """Look after the store with some settings, and return the metrics."""

    def run(**settings: Any) -> dict[str, float]:
        known = made_settings(store=store.path, **settings)
        source = open_source(FETCHED)
        service = Service(known, Symbolizer(Resolver(store, [source])))
        look_after_store(service)
        service.close()
        lines = service.metrics.text().decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: float(value) for name, value in pairs}

    return run


def names(store: Store) -> list[str]:
    return sorted(entry.identity.debug_file for entry in store.entries())


def test_without_limits_there_are_figures_only(
    store: Store, look_after: Callable[..., dict[str, float]]
) -> None:
    metrics = look_after()
    assert names(store) == ["lib0.so", "lib1.so", "lib2.so"]
    assert metrics["gsym_store_modules"] == 3
    sizes = [entry.size for entry in store.entries()]
    assert 0 < sum(sizes) <= metrics["gsym_store_bytes"]
    assert metrics["gsym_store_free_bytes"] > 0
    assert metrics["gsym_evictions_total"] == 0


def test_the_least_recently_used_modules_leave_a_store_that_is_too_large(
    store: Store, look_after: Callable[..., dict[str, float]]
) -> None:
    size = look_after()["gsym_store_bytes"]
    metrics = look_after(max_store=int(size) - 1)
    assert names(store) == ["lib0.so", "lib1.so"]
    assert metrics["gsym_evictions_total"] == 1
    assert metrics["gsym_store_modules"] == 2
    assert metrics["gsym_store_bytes"] < size


def test_modules_leave_the_store_that_nobody_used_for_long(
    store: Store, look_after: Callable[..., dict[str, float]]
) -> None:
    look_after(max_unused=36 * 3600.0)
    assert names(store) == ["lib0.so", "lib1.so"]


def test_modules_leave_a_full_file_system(
    store: Store,
    look_after: Callable[..., dict[str, float]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gsym.store.collection.free_bytes", lambda _path: 1 << 30)
    look_after(min_free=1 << 30)
    assert len(names(store)) == 3
    look_after(min_free=(1 << 30) + 1)
    assert names(store) == ["lib0.so", "lib1.so"]


def test_uploads_leave_the_store_by_their_own_limit_only(
    store: Store, look_after: Callable[..., dict[str, float]]
) -> None:
    upload = put(store, 7).entry
    used = time.time() - 10 * 86_400
    os.utime(Path(upload.path).with_name("module.json"), (used, used))
    limits = {"max_store": 1, "max_unused": 1.0, "min_free": 1 << 60}
    for _ in range(4):
        metrics = look_after(**limits)
    assert names(store) == ["lib7.so"]
    assert metrics["gsym_store_lacking_bytes"] > 0
    look_after(max_unused_uploads=11 * 86_400.0)
    assert names(store) == ["lib7.so"]
    look_after(max_unused_uploads=9 * 86_400.0)
    assert names(store) == []


def test_time_that_no_server_ran_is_no_time_without_use(
    store: Store, look_after: Callable[..., dict[str, float]]
) -> None:
    write_served_time(store.path, ServedTime(time.time() - 47 * 3600))
    look_after(max_unused=3600.0)
    assert names(store) == ["lib0.so", "lib1.so"]
    Path(store.path, ".served").unlink()
    look_after(max_unused=3600.0)
    assert names(store) == ["lib0.so", "lib1.so"]


def test_one_process_at_a_time_looks_after_the_store(
    store: Store, look_after: Callable[..., dict[str, float]]
) -> None:
    with held(f"{store.path}/.locks/upkeep"):
        look_after(max_store=1)
        assert len(names(store)) == 3
    look_after(max_store=1)
    assert names(store) == ["lib0.so", "lib1.so"]


def test_an_upload_is_refused_while_there_is_too_little_space(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sym = tmp_path / "x.sym"
    write_sym(sym, 7)
    with RunningServer(
        Symbolizer(Resolver(store)),
        store=store.path,
        tokens={"secret": "upload"},
        min_free=1 << 60,
    ) as server:
        answer = server.ask(
            "POST", "/upload/", sym.read_bytes(), {"Auth-Token": "secret"}
        )
    assert answer.status == 507
    assert len(names(store)) == 3
    assert any("too little free space" in each.getMessage() for each in caplog.records)


def test_a_round_that_fails_is_logged_and_does_not_end_the_next(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ended = Event()
    reasons = iter([OSError("the disk is gone"), KeyError("a defect")])

    def look_after(_service: Service, _pause: float) -> None:
        for reason in reasons:
            raise reason
        ended.set()

    monkeypatch.setattr("gsym.server.upkeep.look_after_store", look_after)
    monkeypatch.setattr("gsym.server.upkeep._PAUSE", 0.0)
    service = Service(made_settings(store=store.path), Symbolizer(Resolver(store)))
    upkeep = Upkeep(lambda: service)
    upkeep.start()
    assert ended.wait(60)
    upkeep.stop()
    service.close()
    first, second = caplog.records
    assert first.getMessage() == "cannot look after the store: the disk is gone"
    assert second.exc_info is not None


@pytest.mark.parametrize(("most", "has_space"), [(1, True), (1 << 60, False)])
def test_a_store_that_does_not_exist_yet_has_the_space_of_its_folder(
    tmp_path: Path, most: int, *, has_space: bool
) -> None:
    settings = made_settings(store=str(tmp_path / "a/b/store"), min_free=most)
    assert has_free_space(settings, 1) is has_space


@pytest.mark.no_engine
def test_a_server_looks_after_its_store_from_its_start(
    store: Store, tmp_path: Path
) -> None:
    options = f"--store={store.path}", f"--source={FETCHED}", "--set=max_store=1"
    with Serving(tmp_path, *options) as serving:
        wait_until(lambda: len(names(store)) == 2)
    lines = [json.loads(line) for line in serving.lines]
    levels = {line["message"].partition(",")[0]: line["level"] for line in lines}
    assert levels["removed 1 modules from the store"] == "warning"


@pytest.mark.no_engine  # which brings another malloc where it has sanitizers
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="is of glibc")
def test_memory_that_answers_needed_is_returned() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FREED], capture_output=True, text=True, check=True
    )
    kept, left = map(int, done.stdout.split())
    assert kept - left > 50_000  # KiB
