"""gsym.trace.recording.program: which calls are recorded, on which thread.

`sys.monitoring` calls the methods `monitor_...`; most tests do that instead.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gsym.trace.fxt.reader import open_trace
from gsym.trace.fxt.records import Event
from gsym.trace.recording.program import FunctionCalls
from gsym.trace.recording.tracer import Tracer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parent.parent.parent
DISABLE = object()


def outer() -> None: ...


def inner() -> None: ...


OUTER, INNER = outer.__code__, inner.__code__


class Monitored:
    """A recorder that a test tells about calls."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tracer = Tracer(path)
        self.calls = self.new_calls()

    def new_calls(self, **options: Any) -> FunctionCalls:  # noqa: ANN401
        calls = FunctionCalls(self.tracer, **options)
        calls.disable = DISABLE
        calls.write_to(self.tracer.process.output.records)
        return calls

    def events(self) -> list[Event]:
        self.calls.hand_over()
        self.tracer.close()
        return [each for each in open_trace(self.path) if isinstance(each, Event)]

    def names(self) -> list[str]:
        return [each.name for each in self.events()]


@pytest.fixture
def monitored(tmp_path: Path) -> Iterator[Monitored]:
    monitored = Monitored(tmp_path / "out.fxt")
    yield monitored
    monitored.tracer.close()


def test_monitored_calls_are_durations_that_nest(monitored: Monitored) -> None:
    calls = monitored.calls
    assert calls.monitor_begin(OUTER, 0) is None
    calls.monitor_throw(INNER, 0, KeyError())
    calls.monitor_unwind(INNER, 0, KeyError())
    assert calls.monitor_end(OUTER, 0, None) is None
    inside, outside = monitored.events()
    assert (inside.name, outside.name) == ("inner", "outer")
    assert inside.category == outside.category == __name__
    args = {each.name: each.value for each in outside.args}
    assert args == {"file": __file__, "line": OUTER.co_firstlineno}
    assert outside.ticks <= inside.ticks
    assert (inside.end_ticks or 0) <= (outside.end_ticks or 0)


def test_excluded_functions_are_no_longer_monitored(monitored: Monitored) -> None:
    calls = monitored.new_calls(excluded=("tests",))
    assert calls.monitor_begin(OUTER, 0) is DISABLE
    assert calls.monitor_end(OUTER, 0, None) is DISABLE
    # These events have no such answer.
    for tell in (calls.monitor_throw, calls.monitor_unwind):
        assert tell(OUTER, 0, KeyError()) is None
    assert monitored.names() == []


def test_an_end_closes_calls_that_have_none(monitored: Monitored) -> None:
    calls = monitored.calls
    calls.monitor_end(INNER, 0, None)  # began before all this
    calls.monitor_begin(OUTER, 0)
    calls.monitor_begin(INNER, 0)
    calls.monitor_end(OUTER, 0, None)
    calls.monitor_end(INNER, 0, None)
    assert monitored.names() == ["outer"]


def test_short_calls_are_counted(monitored: Monitored) -> None:
    calls = monitored.new_calls(minimum=10**15)
    for _ in range(3):
        calls.monitor_begin(OUTER, 0)
        calls.monitor_end(OUTER, 0, None)
    assert calls.left_out == 3
    assert monitored.names() == []


def test_each_thread_has_calls_of_its_own(monitored: Monitored) -> None:
    calls, both_began = monitored.calls, threading.Barrier(2)
    numbers = {}

    def run(code: Any) -> None:  # noqa: ANN401
        numbers[code.co_name] = threading.get_native_id()
        calls.monitor_begin(code, 0)
        both_began.wait()
        calls.monitor_end(code, 0, None)

    threads = [threading.Thread(target=run, args=(code,)) for code in (OUTER, INNER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {each.name: each.thread for each in monitored.events()} == numbers


def test_functions_whose_names_are_too_many_or_long_are_recorded(
    monitored: Monitored,
) -> None:
    codes = [OUTER.replace(co_name=f"f{n}", co_qualname=f"f{n}") for n in range(2000)]
    long = "n" * 1000
    codes.append(OUTER.replace(co_name=long, co_qualname=long))
    for code in codes * 3:
        monitored.calls.monitor_begin(code, 0)
        monitored.calls.monitor_end(code, 0, None)
    assert monitored.names() == [code.co_name for code in codes] * 3


def test_after_a_stop_calls_are_ignored(monitored: Monitored) -> None:
    monitored.calls.monitor_begin(OUTER, 0)
    monitored.calls.is_stopped = True
    monitored.calls.monitor_end(OUTER, 0, None)
    assert monitored.names() == []


def test_blocks_are_written_however_small_they_are(
    monitored: Monitored, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(FunctionCalls, "flush", lambda _, now: flushed.append(now))
    for _ in range(10_000):
        monitored.calls.monitor_begin(OUTER, 0)
        monitored.calls.monitor_end(OUTER, 0, None)
        monitored.calls.hand_over()  # as a new thread does
    assert len(flushed) >= 2
    assert len(monitored.events()) == 10_000


def recorded(folder: Path, code: str) -> list[Event]:
    (folder / "p.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "gsym", "trace", "record", "--only=__main__"]
    command += ["-o", str(folder / "out.fxt"), str(folder / "p.py")]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    (folder / "said").write_bytes(done.stdout)
    found = open_trace(folder / "out.fxt", strict=True)
    return [each for each in found if isinstance(each, Event)]


def test_calls_are_on_their_threads_however_many_there_are(tmp_path: Path) -> None:
    """More threads at a time, and more after another, than a trace has numbers for."""
    events = recorded(
        tmp_path,
        "import threading\n"
        "def call(number): pass\n"
        "def run():\n"
        "  for n in range(20): call(n)\n"
        "  numbers.append(threading.get_native_id())\n"
        "def wait(): run(); end.wait()\n"
        "numbers, end = [], threading.Event()\n"
        "for _ in range(300):\n"
        "  t = threading.Thread(target=run); t.start(); t.join()\n"
        "ts = [threading.Thread(target=wait) for _ in range(300)]\n"
        "for t in ts: t.start()\n"
        "end.set()\n"
        "for t in ts: t.join()\n"
        "print(*numbers)\n",
    )
    numbers = sorted(map(int, (tmp_path / "said").read_text().split() * 20))
    assert sorted(each.thread for each in events if each.name == "call") == numbers


def test_many_calls_are_all_recorded(tmp_path: Path) -> None:
    events = recorded(
        tmp_path,
        "def f(n):\n  if n: f(n - 1); f(n - 1)\n"
        "def g():\n  for n in range(3000): yield n\n"
        "f(12); print(sum(g()))\n",
    )
    names = [each.name for each in events]
    assert names.count("f") == 2**13 - 1
    assert names.count("g") == 3001
    depth = max(
        sum(a.ticks <= b.ticks and (b.end_ticks or 0) <= (a.end_ticks or 0) for a in f)
        for f in [[each for each in events if each.name == "f"][-14:]]
        for b in f
    )
    assert depth >= 2


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="sys.monitoring is used")
def test_a_program_may_put_the_profile_function_back(tmp_path: Path) -> None:
    events = recorded(
        tmp_path,
        "import sys\n"
        "def f(): pass\n"
        "kept = sys.getprofile(); sys.setprofile(None); f(); sys.setprofile(kept)\n"
        "f()\n",
    )
    assert [each.name for each in events if each.name == "f"] == ["f"]
