"""NegativeCache that processes share: for a while, bounded, counted."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gsym.modules.key import Attempt, ModuleKey
from gsym.store.sources.negative_cache import Answer, MissLifetimes, NegativeCache
from tests.clock import Clock
from tests.symbol_files import key

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

MISSING = Attempt("a", "missing", "not here", 0.5, 0)
FAILED = Attempt("b", "failed", "out of order")
REFUSED = Attempt("c", "refused", "of another module")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def misses(tmp_path: Path, clock: Clock) -> NegativeCache:
    return NegativeCache(str(tmp_path / "misses"), clock=clock)


def test_miss_keeps_the_answer_of_each_source(
    misses: NegativeCache, tmp_path: Path
) -> None:
    misses.remember(key(), [MISSING, FAILED, REFUSED])
    for each in (misses, NegativeCache(str(tmp_path / "misses"))):
        found = each.find(key())
        assert found is not None
        assert found.key == key()
        assert found.attempts == (MISSING, FAILED, REFUSED)
        assert [each.time for each in found.answers] == [1e9] * 3
        assert (found.asked, found.last_asked) == (1, 1e9)
    assert misses.find(key(1)) is None
    assert misses.find(key()._replace(debug_file="other")) is None


def test_each_kind_of_answer_counts_for_its_time(
    misses: NegativeCache, clock: Clock
) -> None:
    start = clock.now
    for attempt, seconds in [(MISSING, 3600), (FAILED, 60), (REFUSED, 86400)]:
        clock.now = start + seconds - 1
        assert misses.counts(Answer(attempt, 1e9, 0))
        clock.now = start + seconds
        assert not misses.counts(Answer(attempt, 1e9, 0))


def test_refusal_counts_as_long_as_it_has_lasted(
    misses: NegativeCache, clock: Clock
) -> None:
    asked = []
    for second in range(100):
        miss = misses.find(key(0))
        if miss is None or not misses.counts(*miss.answers):
            asked.append(second)
            misses.remember(key(0), [REFUSED])
        clock.now += 1
    assert asked == [0, 2, 4, 8, 16, 32, 64]


def test_another_outcome_ends_consecutive_refusals(
    misses: NegativeCache, clock: Clock
) -> None:
    for attempt in (REFUSED, REFUSED, FAILED, REFUSED):
        misses.remember(key(0), [attempt])
        clock.now += 100
    miss = misses.find(key(0))
    assert miss is not None
    assert [each[1:] for each in miss.answers] == [(1e9 + 300, 1e9 + 300)]


def test_times_can_be_chosen(tmp_path: Path, clock: Clock) -> None:
    lifetimes = MissLifetimes(missing=5)
    misses = NegativeCache(str(tmp_path), lifetimes=lifetimes, clock=clock)
    clock.now += 5
    assert not misses.counts(Answer(MISSING, 1e9, 0))
    assert misses.counts(Answer(FAILED, 1e9, 0))


def test_misses_from_the_future_end_when_the_clock_is_set_back(
    misses: NegativeCache, clock: Clock
) -> None:
    clock.now -= 1
    assert not misses.counts(Answer(MISSING, 1e9, 0))


def test_the_most_missed_come_first(misses: NegativeCache) -> None:
    for number, times in enumerate((3, 9, 1)):
        misses.remember(key(number), [MISSING])
        for _ in range(times - 1):
            misses.count(key(number))
    found = misses.most_missed()
    assert [(each.key, each.asked) for each in found] == [
        (key(1), 9),
        (key(0), 3),
        (key(2), 1),
    ]
    assert len(misses.most_missed(2)) == 2


def test_a_module_that_is_found_is_forgotten(misses: NegativeCache) -> None:
    misses.remember(key(0), [MISSING])
    misses.remember(key(1), [MISSING])
    misses.forget(key(0))
    assert [each.key for each in misses.most_missed()] == [key(1)]
    assert misses.clear() == 1
    assert misses.most_missed() == []


def test_many_misses_take_no_more_room_than_few(tmp_path: Path) -> None:
    misses = NegativeCache(str(tmp_path), most=100)
    huge = ModuleKey("x" * 100_000, "", "y" * 100_000, "00")
    for number in range(400):
        attempt = MISSING._replace(detail="z" * 100_000)
        misses.remember(huge._replace(code_id=f"{number:08X}"), [attempt])
        misses.count(huge)
    assert 95 <= len(misses.most_missed(10_000)) <= 105
    assert misses.find(huge._replace(code_id=f"{399:08X}")) is not None
    assert misses.find(huge._replace(code_id=f"{0:08X}")) is None
    misses.close()
    assert sum(each.stat().st_size for each in tmp_path.iterdir()) < 3 << 20


def test_threads_share_the_misses(misses: NegativeCache) -> None:
    misses.remember(key(), [MISSING])

    def work() -> None:
        for number in range(50):
            misses.remember(key(number), [MISSING])
            misses.count(key())
            assert misses.find(key(number))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = {each.key: each.asked for each in misses.most_missed(1000)}
    assert found[key()] == 1 + 4 + 200
    assert found[key(49)] == 4


SCRIPT = """
import os, sys
from gsym.store.sources.negative_cache import NegativeCache
from gsym.modules.key import Attempt
from tests.symbol_files import key
misses = NegativeCache(sys.argv[1])
misses.remember(key(1), [Attempt("a", "missing")])
if os.fork() == 0:
    misses.remember(key(2), [Attempt("a", "missing")])
    misses.close()
    os._exit(0)
os.wait()
for _ in range(50):
    misses.remember(key(), [Attempt("a", "missing")])
misses.close()
"""


def test_processes_share_the_misses(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    processes = [subprocess.Popen(command, cwd=root) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    found = {
        each.key: each.asked for each in NegativeCache(str(tmp_path)).most_missed()
    }
    assert found == {key(): 150, key(1): 3, key(2): 3}


@pytest.mark.parametrize("damage", [b"garbage" * 999, b'{"key": 1}\n', b"3\n[]\n"])
def test_lines_that_cannot_be_read_are_left_out(
    misses: NegativeCache, tmp_path: Path, damage: bytes
) -> None:
    misses.remember(key(), [MISSING])
    (path,) = (tmp_path / "misses").iterdir()
    path.write_bytes(damage)
    assert misses.find(key()) is None
    assert misses.most_missed() == []
    misses.remember(key(), [FAILED])
    found = misses.find(key())
    assert found is None or found.attempts == (FAILED,)


def test_frequently_requested_module_takes_no_more_room(
    misses: NegativeCache, tmp_path: Path
) -> None:
    for _ in range(400):
        misses.remember(key(), [MISSING])
    (path,) = (tmp_path / "misses").iterdir()
    assert path.stat().st_size < 40_000
    found = misses.find(key())
    assert found is not None
    assert found.asked == 400


def test_a_folder_that_cannot_be_used_remembers_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    misses = NegativeCache(str(tmp_path / "file" / "misses"))
    misses.remember(key(), [MISSING])
    misses.count(key())
    misses.forget(key())
    assert misses.find(key()) is None
    assert misses.most_missed() == []
    assert misses.clear() == 0
    misses.close()
