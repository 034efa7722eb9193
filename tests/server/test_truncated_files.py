"""Files that a neighbour truncates in place while they are mapped."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import gsym
from benchmarks.serving import HOST, ServerProcess
from gsym.store.adding import add_file
from gsym.store.directory import Store
from tests.symbol_files import debug_id, key, symbols

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

TRUNCATIONS = 500
FUNCTIONS = 3000
OFFSETS = range(0x1000, 0x1000 + FUNCTIONS * 0x10, 0x70)
NEIGHBOUR = 1


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with a module of about 20 pages, and a small one."""
    folder = tmp_path_factory.mktemp("truncated")
    store = Store(folder / "store")
    for number, functions in ((0, FUNCTIONS), (NEIGHBOUR, 9)):
        path = folder / f"{number}.sym"
        path.write_bytes(symbols(number, functions=functions))
        add_file(store, path)
    return store


@pytest.fixture(scope="module")
def victim(stored: Store) -> Path:
    entry = stored.get(key())
    assert entry is not None
    assert entry.gsym_size > 10 * 4096
    return Path(entry.path)


@pytest.fixture(scope="module")
def server(stored: Store) -> Iterator[ServerProcess]:
    empty = Path(stored.path).with_name("empty")
    empty.mkdir()
    with ServerProcess("--store", stored.path, "--source", str(empty)) as running:
        yield running


def ask(server: ServerProcess) -> Any:
    """The answer about both modules."""
    stack = [[0, offset] for offset in OFFSETS] + [[1, 0x1000]]
    body = {
        "memoryMap": [["app", debug_id()], ["app", debug_id(NEIGHBOUR)]],
        "stacks": [stack],
    }
    url = f"http://{HOST}:{server.port}/symbolicate/v5"
    with urlopen(Request(url, json.dumps(body).encode()), timeout=30) as answer:
        return json.load(answer)["results"][0]


def replace(path: Path, data: bytes) -> None:
    """As a store does."""
    fresh = path.with_suffix(".new")
    fresh.write_bytes(data)
    fresh.replace(path)


def test_a_copy_answers_whatever_happens_to_its_file(
    victim: Path, tmp_path: Path
) -> None:
    path, data = tmp_path / "copied.gsym", victim.read_bytes()
    sizes = random.Random(1)  # noqa: S311 - a sample, no secret
    for _ in range(TRUNCATIONS):
        replace(path, data)
        with gsym.open(path, copy=True) as reader:
            os.truncate(path, sizes.randrange(len(data)))
            for offset in (OFFSETS[0], OFFSETS[-1]):
                found = reader.lookup(offset)
                assert found is not None
                assert found.function.name == f"f0_{(offset - 0x1000) // 16}"


@pytest.mark.parametrize("copy", [False, True])
def test_a_copy_of_an_embedded_or_converted_file_is_one(
    *, copy: bool, tmp_path: Path
) -> None:
    path = tmp_path / "app.sym"
    path.write_bytes(symbols(functions=FUNCTIONS))
    with gsym.open(path, copy=copy) as reader:
        assert (reader.mapped.file is None) is copy
        assert reader.lookup(0x1000) is not None


def test_a_reader_of_a_mapped_file_tells_that_it_was_truncated(
    victim: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mapped.gsym"
    path.write_bytes(victim.read_bytes())
    with gsym.open(path) as reader:
        assert reader.is_whole
        os.truncate(path, path.stat().st_size - 1)
        assert not reader.is_whole


def test_a_process_that_did_not_ask_for_it_keeps_its_signals(
    victim: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mapped.gsym"
    path.write_bytes(victim.read_bytes())
    code = (
        "import gsym, os, sys, gsym.server.mapped_files\n"
        "reader = gsym.open(sys.argv[1])\n"
        "os.truncate(sys.argv[1], 0)\n"
        f"reader.lookup({OFFSETS[-1]})\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -signal.SIGBUS


@pytest.mark.parametrize(
    ("option", "is_traced"), [("-E", False), ("-Xfaulthandler", True)]
)
def test_a_bus_error_that_was_sent_is_passed_to_the_previous_handler(
    option: str,
    is_traced: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    code = (
        "import os, signal\n"
        "from gsym.server.mapped_files import survive_bus_errors\n"
        "survive_bus_errors()\n"
        "survive_bus_errors()\n"  # each application of a process asks for it
        "os.kill(os.getpid(), signal.SIGBUS)\n"
    )
    command = [sys.executable, option, "-c", code]
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
    assert done.returncode == -signal.SIGBUS
    assert ("Fatal Python error: Bus error" in done.stderr) == is_traced


def test_a_file_truncated_while_it_is_converted_is_not_stored(tmp_path: Path) -> None:
    (tmp_path / "app.sym").write_bytes(symbols())
    (tmp_path / "mapped").write_bytes(b"x")
    code = (
        "import mmap, os, gsym.server.modules as modules\n"
        "from gsym.errors import FormatError\n"
        "from gsym.server.mapped_files import survive_bus_errors\n"
        "survive_bus_errors()\n"
        "store, add = modules.Store('store'), modules.add_file\n"
        "def truncate(*arguments, **named):\n"
        "    with open('mapped', 'r+b') as file:\n"
        "        mapped = mmap.mmap(file.fileno(), 0)\n"
        "        file.truncate(0)\n"
        "        assert mapped[0] == 0\n"
        "    return add(*arguments, **named)\n"
        "modules.add_file = truncate\n"
        "try:\n"
        "    modules.add_unconfined(store, 'app.sym', source='app.sym')\n"
        "except FormatError as error:\n"
        "    print(error.reason, [*store.entries()])\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, check=True, cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert done.stdout == "the file was truncated or cannot be read []\n"


@pytest.mark.slow
def test_a_server_survives_and_answers_right_or_that_the_module_is_missing(
    server: ServerProcess, victim: Path
) -> None:
    sizes = random.Random(2)  # noqa: S311 - a sample, no secret
    data, is_over = victim.read_bytes(), Event()
    right = ask(server)
    assert [*right["found_modules"].values()] == [True, True]
    workers = server.workers()

    def ask_on() -> list[bool]:
        found = []
        while not is_over.is_set():
            try:
                answer = ask(server)
            except HTTPError as error:
                if error.code != 503:  # truncated again at each repetition
                    raise
                continue
            is_found = answer["found_modules"][f"app/{debug_id()}"]
            assert answer["stacks"][0][-1] == right["stacks"][0][-1]
            if is_found:
                assert answer == right
            else:
                assert [f for f in answer["stacks"][0][:-1] if "function" in f] == []
            found.append(is_found)
        return found

    with ThreadPoolExecutor() as pool:
        clients = [pool.submit(ask_on) for _ in range(2)]
        try:
            for _ in range(TRUNCATIONS):
                os.truncate(victim, sizes.randrange(len(data)))
                is_over.wait(0.002)
                replace(victim, data)
                is_over.wait(0.008)
        finally:
            is_over.set()
        found = [each for client in clients for each in client.result()]
    assert {*found} == {True, False}
    assert ask(server) == right
    assert server.workers() == workers
    assert "was truncated" in server.log.read_text(encoding="utf-8")


def test_a_module_that_stays_truncated_is_missing_with_the_reason(
    server: ServerProcess, victim: Path
) -> None:
    data = victim.read_bytes()
    right = ask(server)
    os.truncate(victim, len(data) - 1)  # within the last page: no bus error
    try:
        answer = ask(server)
    finally:
        replace(victim, data)
    label = f"app/{debug_id()}"
    assert answer["found_modules"] == {**right["found_modules"], label: False}
    assert answer["module_errors"][label][0]["name"] == "FileRefused"
    assert ask(server) == right
