"""Modules from sources: converted once, never the wrong one, misses remembered."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.errors import NotFoundError, SourceError
from gsym.modules.key import ModuleKey
from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.net.circuit_breaker import CircuitBreaker
from gsym.net.limits import TransferLimits
from gsym.net.transfer import write_pieces
from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.loose_files import LooseFiles
from gsym.store.sources.foreign_layouts import DEBUGINFOD
from gsym.store.sources.negative_cache import MissLifetimes, NegativeCache
from gsym.store.sources.settings import SourceOpener
from gsym.store.sources.source import FoundFile
from gsym.store.sources.web_server import FetchedFiles
from tests.clock import Clock
from tests.http_server import Reply, Server
from tests.inputs.elf import Elf, Symbol, code_section
from tests.store_modules import identity, write_sym
from tests.symbol_files import key, path, symbols

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gsym.store.entries import Entry, Resolution
    from gsym.store.publication import Publication
    from gsym.store.sources.source import Source

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

LIMITS = TransferLimits(
    connect_seconds=1,
    header_seconds=1,
    idle_seconds=1,
    total_seconds=9,
    attempts=1,
    backoff_seconds=0.01,
    most_inflated=1 << 20,
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    pytest.importorskip("httpx2", reason="the extra `net` is not installed")
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with Server() as running:
        yield running


class Opener:
    """Opens servers as sources, and closes their connections in the end."""

    def __init__(self) -> None:
        self.opened: list[SourceOpener] = []

    def __call__(
        self, *servers: Server, limits: TransferLimits = LIMITS
    ) -> list[Source]:
        opener = SourceOpener(limits=limits)
        self.opened.append(opener)
        return [source for each in servers for source in opener.open(each.url)]


@pytest.fixture
def web() -> Iterator[Opener]:
    opener = Opener()
    yield opener
    for each in opener.opened:
        each.close()


class Given:
    """A source that says what a test gives it."""

    def __init__(self, name: str, say: Callable[[ModuleKey, str], FoundFile]) -> None:
        self.name = name
        self.asked: list[ModuleKey] = []
        self.say = say

    def find(self, key: ModuleKey, folder: str) -> FoundFile:
        self.asked.append(key)
        return self.say(key, folder)


def missing(key: ModuleKey, folder: str) -> FoundFile:
    del key, folder
    raise NotFoundError("not here")


def failing(key: ModuleKey, folder: str) -> FoundFile:
    del key, folder
    raise SourceError("out of order", may_retry=True)


def having(data: bytes) -> Callable[[ModuleKey, str], FoundFile]:
    def find(key: ModuleKey, folder: str) -> FoundFile:
        file = Path(folder) / f"{key.debug_file}.sym"
        file.write_bytes(data)
        return FoundFile(str(file), "somewhere")

    return find


def outcomes(resolution: Resolution) -> list[str]:
    return [each.outcome for each in resolution.attempts]


def function_of(resolution: Resolution) -> str:
    assert resolution.entry is not None
    with gsym.open(resolution.entry.path) as reader:
        found = reader.lookup(0x1000)
    assert found is not None
    return found.function.name


# ---- found


def test_a_module_comes_from_the_first_source_that_has_it(
    store: Store, server: Server, web: Opener
) -> None:
    server.replies[path()] = Reply.zipped(symbols())
    with Server() as empty:
        resolver = Resolver(store, web(empty, server))
        found = resolver.resolve(key())
        assert outcomes(found) == ["missing", "found"]
        assert found.attempts[0].source == f"breakpad {empty.url}/"
        assert found.attempts[0].detail == f"{empty.url}{path()}: HTTP status 404"
        assert found.attempts[1].detail == f"{server.url}{path()}"
        assert found.attempts[1].size == len(symbols())
        assert found.attempts[1].seconds > 0
        assert not found.is_cached
        assert function_of(found) == "f0_0"
        again = resolver.resolve(key())
        assert again.is_cached
        assert again.entry is not None
        assert again.entry.source == f"{server.url}{path()}"
    assert server.counts == {path(): 1}


BUILD_ID = "abcdef0123456789abcdef0123456789abcdef01"


@pytest.mark.parametrize(
    ("file", "asked", "told", "name"),
    [
        *((f"{each}.debug", "", "", BUILD_ID) for each in (BUILD_ID, BUILD_ID[2:])),
        *(
            (each, "", "", BUILD_ID)
            for each in ("debuginfo", "executable", "gsym", "_")
        ),
        ("DebugInfo.xz", "", "", BUILD_ID),
        ("debuginfo", "app", "", "app"),
        ("debuginfo", "", "lib.so", "lib.so"),
        ("libx.so.debug", "", "", "libx.so"),
        ("libx.so.debug", "", "lib.so", "lib.so"),
    ],
)
def test_a_module_is_named_by_its_build_id_where_nothing_else_names_it(
    store: Store, file: str, asked: str, told: str, name: str
) -> None:
    build_id = bytes.fromhex(BUILD_ID)
    elf = Elf([code_section()], symbols=[Symbol("f", 0x1000, 16)], build_id=build_id)

    def find(_: ModuleKey, folder: str) -> FoundFile:
        found = Path(folder, file)
        found.write_bytes(elf.to_bytes())
        return FoundFile(str(found), "somewhere", ModuleKey(debug_file=told))

    resolver = Resolver(store, [Given("builds", find)])
    entry = resolver.resolve(ModuleKey(asked, code_id=BUILD_ID.upper())).entry
    assert entry is not None
    assert entry.identity.debug_file == name


def test_stopped_fetch_is_not_waited_for_forever(store: Store) -> None:
    source = Given("a", having(symbols()))
    resolver = Resolver(store, [source], longest_wait=0.05)
    with Store(store.path).lock(key()):
        found = resolver.resolve(key())
    assert outcomes(found) == ["failed"]
    assert found.attempts[0].detail == "locked by another process for more than 0.05 s"
    assert source.asked == []
    assert resolver.resolve(key()).entry


# ---- damaged in the store

DAMAGE = {
    "no record": ("module.json", b""),
    "garbage for a record": ("module.json", b"{"),
    "an empty file": ("module.gsym", b""),
    "half a file": ("module.gsym", b"MYSG\x01\0\x08\x14"),
    "no file": ("module.gsym", None),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_module_is_fetched_anew(store: Store, damage: str) -> None:
    entry = put_and_damage(store, *DAMAGE[damage])
    for again in range(2):
        symbolizer = Symbolizer(Resolver(store, [Given("a", having(symbols()))]))
        found = symbolizer.symbolize(key(), va=0x1000)
        assert found.lookup is not None
        assert found.lookup.function.name == "f0_0"
        assert found.module.is_cached == bool(again)
        assert found.module.entry is not None
        assert found.module.entry.path != entry.path


def test_unavailable_damaged_module_reports_its_damage(store: Store) -> None:
    put_and_damage(store, *DAMAGE["half a file"])
    for sources in ([], [Given("a", missing)]):
        found = Resolver(store, sources).resolve(key())
        assert found.entry is None
        assert found.attempts[0].source == "store"
        assert found.attempts[0].detail
        assert outcomes(found) == ["failed", *("missing" for _ in sources)]


@pytest.mark.parametrize("damage", ["garbage for a record", "no file"])
def test_a_damaged_module_is_replaced_when_it_is_added_again(
    store: Store, tmp_path: Path, damage: str
) -> None:
    put_and_damage(store, *DAMAGE[damage])
    file = tmp_path / "app.sym"
    file.write_bytes(symbols())
    assert add_file(Store(store.path), file).outcome == "replaced"
    assert function_of(Resolver(store).resolve(key())) == "f0_0"


def put_and_damage(store: Store, name: str, contents: bytes | None) -> Entry:
    """A module of which one file holds something else; another process put it there."""
    entry = Resolver(Store(store.path), [Given("a", having(symbols()))]).resolve(key())
    assert entry.entry is not None
    file = Path(entry.entry.path).with_name(name)
    file.unlink()
    if contents is not None:
        file.write_bytes(contents)
    return entry.entry


def test_module_removed_before_opening_is_fetched_again(store: Store) -> None:
    class Forgetful(Resolver):
        """Somebody makes the store smaller right after each of the first answers."""

        left = 2

        def resolve(self, key: ModuleKey) -> Resolution:
            found = super().resolve(key)
            if self.left:
                self.left -= 1
                Store(self.store.path).collect(0)
            return found

    symbolizer = Symbolizer(Forgetful(store, [Given("a", having(symbols()))]))
    found = symbolizer.symbolize(key(), va=0x1000)
    assert found.lookup is not None


def test_a_module_found_by_its_code_id_does_not_answer_for_a_debug_id(
    store: Store,
) -> None:
    with store.temporary_folder() as folder:
        add_file(store, write_sym(Path(folder, "a.sym"), 1))
    symbolizer = Symbolizer(store)
    stranger = key(9)
    by_code = stranger._replace(code_id=identity(1).code_id)
    assert symbolizer.symbolize(by_code, va=0x1000).lookup is not None
    assert symbolizer.symbolize(stranger, va=0x1000).lookup is None


# ---- refused

BAD_FILES = {
    "another module": (symbols(1), "debug id is"),
    "garbage": (b"garbage" * 99, ""),
    "no functions": (symbols(0, functions=0), ""),
    "half a gsym": (b"GSYM\x01\0\x08\x14", ""),
}


@pytest.mark.parametrize("fault", BAD_FILES)
def test_useless_file_is_refused_and_the_next_source_asked(
    store: Store, fault: str
) -> None:
    data, reason = BAD_FILES[fault]
    bad, good = Given("bad", having(data)), Given("good", having(symbols()))
    found = Resolver(store, [bad, good]).resolve(key())
    assert outcomes(found) == ["refused", "found"]
    assert reason in found.attempts[0].detail
    assert function_of(found) == "f0_0"


# ---- failed


def test_exceptions_of_sources_are_not_raised(store: Store) -> None:
    def broken(key: ModuleKey, folder: str) -> FoundFile:
        raise ZeroDivisionError(key, folder)

    def away(key: ModuleKey, folder: str) -> FoundFile:
        del key
        return FoundFile(f"{folder}/nothing", "nowhere")

    sources = [
        Given("failing", failing),
        Given("broken", broken),
        Given("away", away),
        Given("good", having(symbols())),
    ]
    found = Resolver(store, sources).resolve(key())
    assert outcomes(found) == ["failed", "failed", "failed", "found"]
    assert found.attempts[0].detail == "out of order"
    assert found.attempts[1].detail.startswith("ZeroDivisionError")


def test_unwritable_store_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    source = Given("good", having(symbols()))
    found = Resolver(Store(tmp_path / "file" / "store"), [source]).resolve(key())
    assert found.entry is None
    (attempt,) = found.attempts
    assert (attempt.source, attempt.outcome) == ("store", "failed")


@pytest.mark.parametrize("number", ["ENOSPC", "EROFS"])
def test_a_full_disk_is_logged_and_not_counted_for_the_source(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    number: str,
) -> None:
    error = OSError(getattr(errno, number), os.strerror(getattr(errno, number)))

    def sync(_path: str) -> None:
        raise error

    resolver = Resolver(store, [Given("good", having(symbols()))])
    with monkeypatch.context() as patch:
        patch.setattr("gsym.store.publication.sync", sync)
        (attempt,) = resolver.resolve(key()).attempts
    detail = f"cannot be written: {error.strerror}"
    assert attempt[:3] == ("store", "failed", detail)
    (record,) = caplog.records
    assert (record.levelname, record.name) == ("ERROR", "gsym.store")
    assert record.getMessage() == f"the store {store.path}: {detail}"
    assert resolver.resolve(key()).entry is not None  # not in the negative cache


def test_a_source_stays_in_use_if_its_files_cannot_be_kept(
    store: Store,
) -> None:
    def find(_key: ModuleKey, folder: str) -> FoundFile:
        target = f"{folder}/app.sym"
        Path(target).symlink_to("/dev/full")
        write_pieces([symbols()], target)
        raise AssertionError

    breaker = CircuitBreaker()
    resolver = Resolver(store, [Given("good", find)], breaker=breaker)
    for _ in range(10):
        (attempt,) = resolver.resolve(key()).attempts
        assert (attempt.source, attempt.outcome) == ("store", "failed")
    assert breaker.is_asked("good")


def test_keys_without_an_id_are_not_requested(store: Store) -> None:
    for asked in [ModuleKey(), ModuleKey("app"), ModuleKey("app", "0" * 33)]:
        source = Given("good", having(symbols()))
        assert Resolver(store, [source]).resolve(asked).entry is None
        assert source.asked == []


FAULTS = {
    "stall": Reply(fault="stall"),
    "trickle": Reply(symbols(), fault="trickle"),
    "reset": Reply(symbols(), fault="reset"),
    "short body": Reply(symbols(), claimed=9999),
    "lie about length": Reply(symbols(), claimed=40),
    "circle": Reply.redirect(path()),
    "elsewhere": Reply.redirect("http://169.254.169.254/"),
    "garbage": Reply(b"\0garbage" * 99),
    "wrong module": Reply(symbols(7)),
    "500": Reply(status=500),
    "429": Reply(status=429),
}


@pytest.mark.slow
def test_failing_upstream_stores_nothing_and_is_asked_again(
    store: Store, server: Server, web: Opener
) -> None:
    clock = Clock()
    misses = NegativeCache(str(Path(store.path) / ".misses"), clock=clock)
    breaker = CircuitBreaker(clock=clock)
    resolver = Resolver(store, web(server), misses=misses, breaker=breaker)
    server.replies[path(99)] = Reply(symbols(99))
    assert resolver.resolve(key(99)).entry
    bad = dict(enumerate(FAULTS.values()))
    for number, reply in bad.items():
        server.replies[path(number)] = reply
        found = resolver.resolve(key(number))
        assert found.entry is None, number
        assert outcomes(found)[0] in {"failed", "refused"}
        assert function_of(resolver.resolve(key(99))) == "f99_0"
    for number in bad:
        server.replies[path(number)] = Reply(symbols(number))
    clock.now += 5
    probe = resolver.resolve(key(0))
    assert function_of(probe) == "f0_0"
    answers = {
        number: resolver.resolve(key(number))
        for number in bad
        if outcomes(resolver.resolve(key(number))) != ["refused"]
    }
    assert len(answers) >= len(bad) - 3
    for number, answer in answers.items():
        assert function_of(answer) == f"f{number}_0"


# ---- misses


def test_a_miss_is_remembered_with_its_reasons_until_its_time_is_over(
    store: Store,
) -> None:
    clock = Clock()
    source = Given("a", missing)
    misses = NegativeCache(str(Path(store.path) / ".misses"), clock=clock)
    resolver = Resolver(store, [source], misses=misses)
    first = resolver.resolve(key())
    assert not first.is_cached
    clock.now += 3599
    second = resolver.resolve(key())
    assert second.is_cached
    assert second.attempts == first.attempts
    assert len(source.asked) == 1
    clock.now += 2
    assert not resolver.resolve(key()).is_cached
    assert len(source.asked) == 2


def test_each_source_is_asked_again_in_its_own_time(store: Store) -> None:
    clock = Clock()
    sources = [
        Given("missing", missing),
        Given("failing", failing),
        Given("wrong", having(symbols(5))),
    ]
    lifetimes = MissLifetimes(first_refused=86400)
    folder = str(Path(store.path) / ".misses")
    misses = NegativeCache(folder, lifetimes=lifetimes, clock=clock)
    breaker = CircuitBreaker(clock=clock, probe_seconds=1e9)
    breaker.claims_probe("failing")
    resolver = Resolver(store, sources, misses=misses, breaker=breaker)
    asked = []
    for passed in (0, 59, 2, 3600, 86400):
        clock.now += passed
        resolver.resolve(key())
        asked.append([len(source.asked) for source in sources])
    assert asked == [[1, 1, 1], [1, 1, 1], [1, 2, 1], [2, 3, 1], [3, 4, 2]]


def test_recovered_source_is_asked_again_for_everything(
    store: Store,
) -> None:
    clock = Clock()
    misses = NegativeCache(str(Path(store.path) / ".misses"), clock=clock)
    source = Given("a", having(symbols(9)))
    breaker = CircuitBreaker(clock=clock)
    resolver = Resolver(store, [source], misses=misses, breaker=breaker)
    for _ in range(100):  # so that the module 1 is refused for long
        assert outcomes(resolver.resolve(key(1))) == ["refused"]
        clock.now += 1
    assert outcomes(resolver.resolve(key(2))) == ["refused"]
    clock.now += 2
    asked = len(source.asked)

    def give(wanted: ModuleKey, folder: str) -> FoundFile:
        number = 1 if wanted == key(1) else 2
        return having(symbols(number))(wanted, folder)

    source.say = give
    assert outcomes(resolver.resolve(key(1))) == ["refused"]
    assert len(source.asked) == asked
    assert outcomes(resolver.resolve(key(2))) == ["found"]
    assert outcomes(resolver.resolve(key(1))) == ["found"]


def test_new_source_is_asked_for_known_misses(store: Store) -> None:
    poor = Given("poor", missing)
    assert Resolver(store, [poor]).resolve(key()).entry is None
    rich = Given("rich", having(symbols()))
    found = Resolver(store, [poor, rich]).resolve(key())
    assert outcomes(found) == ["missing", "found"]
    assert len(poor.asked) == 1


# ---- one at a time


def run_together(work: Callable[[int], object], count: int) -> None:
    threads = [threading.Thread(target=work, args=(each,)) for each in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_many_threads_make_one_request(
    store: Store, server: Server, web: Opener
) -> None:
    server.replies[path()] = Reply(symbols())
    server.gate.clear()
    limits = LIMITS._replace(header_seconds=10, total_seconds=20)
    resolver = Resolver(store, web(server, limits=limits))
    answers: list[str] = []
    begun = threading.Barrier(33)

    def work(_: int) -> None:
        begun.wait()
        answers.append(function_of(resolver.resolve(key())))

    def open_gate() -> None:
        begun.wait()
        while not server.requests:
            time.sleep(0.001)
        server.gate.set()

    opener = threading.Thread(target=open_gate)
    opener.start()
    run_together(work, 32)
    opener.join()
    assert answers == ["f0_0"] * 32
    assert server.counts == {path(): 1}


def test_a_miss_of_many_threads_is_one_request(
    store: Store, server: Server, web: Opener
) -> None:
    resolver = Resolver(store, web(server))
    answers: list[Resolution] = []
    run_together(lambda _: answers.append(resolver.resolve(key())), 16)
    assert {outcomes(each)[0] for each in answers} == {"missing"}
    assert server.counts == {path(): 1}


SCRIPT = """
import sys
from gsym.store.directory import Store
from gsym.modules.resolver import Resolver
from gsym.store.sources.settings import open_source
from tests.symbol_files import key
resolver = Resolver(Store(sys.argv[1]), [open_source(sys.argv[2])])
print("ready", flush=True)
sys.stdin.readline()
for number in range(4):
    found = resolver.resolve(key(number))
    print(number, bool(found.entry), *(each.outcome for each in found.attempts))
"""


def test_several_processes_make_one_request(store: Store, server: Server) -> None:
    for number in range(3):
        server.replies[path(number)] = Reply(symbols(number))
    command = [sys.executable, "-c", SCRIPT, store.path, server.url]
    pipe = subprocess.PIPE
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    processes = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    outputs = []
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        outputs.append(process.communicate()[0].splitlines())
        assert process.returncode == 0
    for lines in outputs:
        assert [line.split()[1] for line in lines] == ["True"] * 3 + ["False"]
    assert server.counts == {path(number): 1 for number in range(4)}


def test_conversions_are_done_no_more_at_a_time_than_allowed(store: Store) -> None:
    running, most = 0, 0
    lock = threading.Lock()

    def add(store: Store, path: str, **options: object) -> Publication:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        try:
            return add_file(store, path, **options)  # type: ignore[arg-type]
        finally:
            with lock:
                running -= 1

    def find(asked: ModuleKey, folder: str) -> FoundFile:
        return having(symbols(int(asked.debug_id[:8], 16)))(asked, folder)

    resolver = Resolver(store, [Given("all", find)], add=add, conversions=2)
    run_together(lambda each: resolver.resolve(key(each)), 8)
    assert len(list(store.entries())) == 8
    assert most == 2


# ---- sources in trouble


def test_repeatedly_failing_source_is_probed_occasionally(
    store: Store,
) -> None:
    clock = Clock()
    source = Given("a", failing)
    breaker = CircuitBreaker(most_failures=5, probe_seconds=2, clock=clock)
    misses = NegativeCache(str(Path(store.path) / ".misses"), clock=clock)
    resolver = Resolver(store, [source], misses=misses, breaker=breaker)
    found = [resolver.resolve(key(number)) for number in range(20)]
    assert len(source.asked) == 6  # five failures and a probe
    assert "is not answering" in found[-1].attempts[0].detail
    source.say = having(symbols(50))
    clock.now += 2.1
    assert resolver.resolve(key(50)).entry
    source.say = having(symbols(3))
    assert resolver.resolve(key(3)).entry


def test_no_request_waits_for_a_source_that_takes_its_time_to_fail(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    source = Given("slow", failing)
    probes: list[Callable[[], object]] = []
    breaker = CircuitBreaker(most_seconds=0.0, probe_seconds=2, clock=clock)
    misses = NegativeCache(str(Path(store.path) / ".misses"), clock=clock)
    resolver = Resolver(
        store, [source], misses=misses, breaker=breaker, probe=probes.append
    )
    for number in range(20):
        (attempt,) = resolver.resolve(key(number)).attempts
        assert attempt.outcome == "failed"
        assert len(source.asked) == 1
    assert len(probes) == 1
    clock.now += 1
    source.say = having(symbols(1))
    probes.pop()()
    assert len(source.asked) == 2
    asked = source.asked[-1]
    number = next(each for each in range(20) if key(each) == asked)
    source.say = having(symbols(number + 1))
    assert resolver.resolve(key(number + 1)).entry
    assert [each.getMessage() for each in caplog.records] == [
        "the source slow does not answer, and is only probed: out of order",
        "the source slow answers again",
    ]
    assert [each.levelname for each in caplog.records] == ["WARNING"] * 2


def test_a_module_improved_by_another_process_is_not_converted_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    file = tmp_path / "bin" / "x.sym"
    file.write_bytes(symbols(functions=1))
    first, second = (
        Resolver(store, [LooseFiles(str(file.parent), rescan_seconds=-1)], add=add)
        for add in (add_file, _refuse)
    )
    poor = first.resolve(key()).entry
    assert poor is not None
    file.write_bytes(symbols(functions=2))
    os.utime(file, (poor.added + 9, poor.added + 9))
    lock = store.lock

    @contextmanager
    def lock_later(asked: ModuleKey, wait: float | None) -> Iterator[None]:
        monkeypatch.setattr(store, "lock", lock)
        better = first.resolve(asked).entry
        assert better is not None
        assert better.path != poor.path
        with lock(asked, wait):
            yield

    monkeypatch.setattr(store, "lock", lock_later)
    found = second.resolve(key()).entry
    assert found is not None
    assert found.quality.functions == 2


def _refuse(*_: object, **_known: object) -> Publication:
    raise AssertionError("converted again")


class ExecutablesOnly(FetchedFiles):
    """A server of executables, which notes the paths that it is asked for."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__("executables", (DEBUGINFOD,))
        self.files = files
        self.asked: list[str] = []

    def fetch(self, path: str, target: str) -> None:
        self.asked.append(path)
        if path not in self.files:
            raise NotFoundError("not found")
        Path(target).write_bytes(self.files[path])


def test_sources_without_code_of_a_module_are_not_asked_again_for_a_while(
    store: Store,
) -> None:
    """By no process, until it is over; and when a user asks for the module anew."""
    clock = Clock()
    misses = NegativeCache(str(Path(store.path) / ".misses"), clock=clock)
    asked = ModuleKey(code_id="AB" * 20)
    source = ExecutablesOnly({})
    both = [f"buildid/{'ab' * 20}/{kind}" for kind in ("executable", "debuginfo")]

    def paths() -> list[str]:
        """Asked for by a new process."""
        resolver = Resolver(store, [source], misses=misses)
        source.asked.clear()
        assert list(resolver.binaries(asked)) == []
        return source.asked

    assert paths() == [*reversed(both), *both]
    assert paths() == []
    clock.now += MissLifetimes().missing + 1
    assert paths() == [*reversed(both), *both]
    misses.forget(asked)
    assert paths() == [*reversed(both), *both]
    assert [each.key for each in misses.most_missed()] == [asked]
    assert misses.clear() == 2
    assert paths() == [*reversed(both), *both]
