"""A store stays right whoever works on it, dies at it, or finds the disk full."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.verification import verify_store
from tests.store.turmoil import LEFT, assert_clean, check
from tests.store_modules import key, put, write_sym

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

ROOT = Path(__file__).resolve().parents[2]
KILLS = 40
PROCESSES = 4


def turmoil(*arguments: object, before: tuple[str, ...] = ()) -> None:
    command = [*before, sys.executable, "-m", "tests.store.turmoil"]
    done = subprocess.run(
        [*command, *map(str, arguments)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_a_process_killed_at_any_instant_leaves_a_right_store(tmp_path: Path) -> None:
    turmoil("crash", tmp_path, 1, KILLS)


def test_concurrent_processes_see_consistent_modules(tmp_path: Path) -> None:
    turmoil("together", tmp_path, 1, PROCESSES)


def test_concurrent_threads_see_consistent_modules(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    problems: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for functions in range(1, 15):
                put(store, number % 2, functions=functions)
                check(store, (number + 1) % 2)
                if functions % 5 == 0:
                    store.collect(500)
        except BaseException as error:  # noqa: BLE001 - told below
            problems.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    store.collect(1 << 40)
    assert_clean(store)


# ---- a disk that is full


def test_full_file_system_is_reported_and_leaves_nothing(tmp_path: Path) -> None:
    script = (
        'mount -t tmpfs -o size=400k none "$0" || exit 77; '
        'head -c 100000 /dev/zero > "$0/ballast"; '
        f'exec "{sys.executable}" -m tests.store.turmoil full "$0" 0 100'
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, str(tmp_path)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no file system can be mounted here")
    assert done.returncode == 0, done.stderr


class FailingDisk:
    """Lets one of the calls that need room fail with an error, the others not."""

    NAMES = ("mkdir", "symlink", "write", "fsync", "replace", "rename", "open")

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, failing: int, error: int
    ) -> None:
        self.count = 0
        self.error = error
        self.failing = failing
        for name in self.NAMES:
            monkeypatch.setattr(os, name, self._counted(getattr(os, name)))

    def _counted(self, call: Callable[..., object]) -> Callable[..., object]:
        def counted(*arguments: object, **options: object) -> object:
            flags = arguments[1] if call.__name__ == "open" else os.O_CREAT
            is_reading = isinstance(flags, int) and not flags & os.O_CREAT
            self.count += not is_reading
            if self.count == self.failing and not is_reading:
                raise OSError(self.error, os.strerror(self.error))
            return call(*arguments, **options)

        return counted


def add(store: Store, folder: Path) -> None:
    add_file(store, write_sym(folder / "new.sym", 1), keep_original=True)


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_at_any_call_leaves_nothing(
    tmp_path: Path,
    error: int,
    is_new: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    failing = 1
    while True:
        store = Store(tmp_path / f"store{failing}")
        put(store, 2)
        before = None if is_new else put(store, 1, functions=2).entry
        with pytest.MonkeyPatch.context() as monkeypatch:
            disk = FailingDisk(monkeypatch, failing, error)
            try:
                add(store, tmp_path)
            except OSError as raised:
                assert raised.errno == error  # noqa: PT017 - it may not fail
            else:
                if disk.count < failing:
                    break
        found = store.get(key(1))
        # It may be there: what failed was not needed, or came afterwards.
        assert found == before or (found and found.quality.level == 1)
        assert not {each.reason for each in verify_store(store)} - LEFT
        add(store, tmp_path)
        assert_clean(store)
        failing += 1
    assert failing > 10
