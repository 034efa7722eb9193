"""gsym.fxt.tracer: traces of Python programs."""

from __future__ import annotations

import enum
import logging
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from gsym.fxt.decoder import Decoder
from gsym.fxt.records import (
    Event,
    KernelObject,
    Log,
    ProviderInfo,
    ProviderSection,
    String,
    Thread,
)
from gsym.fxt.tracer import Tracer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.fxt"


@pytest.fixture
def tracer(path: Path) -> Iterator[Tracer]:
    with Tracer(path, name="program") as tracer:
        yield tracer


def decoded(path: Path) -> list[Any]:
    return list(Decoder(strict=True).records([path.read_bytes()]))


def of_type(path: Path, kind: type) -> list[Any]:
    return [record for record in decoded(path) if isinstance(record, kind)]


def events(tracer: Tracer, path: Path) -> list[Event]:
    tracer.close()
    return of_type(path, Event)


def named(found: list[Event]) -> list[tuple[str, str, str]]:
    return [(event.kind, event.category, event.name) for event in found]


def values(event: Event) -> dict[str, tuple[str, Any]]:
    return {each.name: (each.type, each.value) for each in event.args}


def run(code: str, path: Path, *, status: int = 0) -> str:
    """What a program says on standard error that traces itself."""
    process = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.returncode == status, process.stderr
    return process.stderr


# ---- events


def test_durations_nest(tracer: Tracer, path: Path) -> None:
    with tracer.duration("cat", "outer"), tracer.duration("cat", "inner"):
        pass
    inner, outer = events(tracer, path)
    assert named([inner, outer]) == [
        ("duration_complete", "cat", "inner"),
        ("duration_complete", "cat", "outer"),
    ]
    assert inner.end_ticks is not None
    assert outer.end_ticks is not None
    assert outer.ticks <= inner.ticks <= inner.end_ticks <= outer.end_ticks
    assert (outer.ns, outer.end_ns) == (outer.ticks, outer.end_ticks)
    assert (outer.process, outer.thread) == (os.getpid(), threading.get_native_id())


def test_a_function_is_a_duration_in_each_call(tracer: Tracer, path: Path) -> None:
    @tracer.duration("cat", "double", kind="pure")
    def double(number: int) -> int:
        """Twice a number."""
        return 2 * number

    assert [double(1), double(number=2)] == [2, 4]
    assert (double.__name__, double.__doc__) == ("double", "Twice a number.")
    found = events(tracer, path)
    assert named(found) == [("duration_complete", "cat", "double")] * 2
    assert values(found[0]) == {"kind": ("string", "pure")}


def test_an_exception_is_recorded_and_raised(tracer: Tracer, path: Path) -> None:
    with pytest.raises(KeyError), tracer.duration("cat", "failing", a=1):
        raise KeyError
    (found,) = events(tracer, path)
    assert values(found) == {"a": ("int32", 1), "error": ("string", "KeyError")}


def test_every_kind_of_event_is_written(tracer: Tracer, path: Path) -> None:
    tracer.instant("cat", "moment")
    tracer.counter("cat", "load", 7, running=3, waiting=0.5)
    operation = tracer.async_("net", "request", url="/")
    operation.instant(state="sent")
    operation.end(status=200)
    with pytest.raises(ValueError, match="no"), tracer.async_("net", "other"):
        raise ValueError("no")
    flow = tracer.flow("net", "way")
    flow.step(at="proxy")
    flow.end()
    found = events(tracer, path)
    assert named(found) == [
        ("instant", "cat", "moment"),
        ("counter", "cat", "load"),
        ("async_begin", "net", "request"),
        ("async_instant", "net", "request"),
        ("async_end", "net", "request"),
        ("async_begin", "net", "other"),
        ("async_end", "net", "other"),
        ("flow_begin", "net", "way"),
        ("flow_step", "net", "way"),
        ("flow_end", "net", "way"),
    ]
    ids = [event.id for event in found]
    assert ids[1] == 7
    assert ids[2] == ids[3] == ids[4]
    assert ids[7] == ids[8] == ids[9]
    assert len({ids[2], ids[5], ids[7]}) == 3
    assert values(found[1]) == {"running": ("int32", 3), "waiting": ("double", 0.5)}
    assert values(found[6]) == {"error": ("string", "ValueError")}


def test_logs_and_names_are_written(tracer: Tracer, path: Path) -> None:
    tracer.log("a line, größer")
    tracer.name_thread("worker")
    tracer.name_process("server")
    tracer.close()
    (log,) = of_type(path, Log)
    assert log.message == "a line, größer"
    pid, tid = os.getpid(), threading.get_native_id()
    said = [(each.koid, each.type, each.name) for each in of_type(path, KernelObject)]
    main = threading.current_thread().name
    assert said == [
        *((pid, 1, "program"), (tid, 2, main)),
        *((tid, 2, "worker"), (pid, 1, "server")),
    ]
    (info,) = of_type(path, ProviderInfo)
    assert (info.name, info.provider) == ("program", pid)


# ---- arguments


class _Colour(enum.IntEnum):
    RED = 3


ARGUMENTS = [
    (None, "null", None),
    (True, "bool", True),
    (False, "bool", False),
    (0, "int32", 0),
    (-1, "int32", -1),
    (-(2**31), "int32", -(2**31)),
    (2**31 - 1, "int32", 2**31 - 1),
    (2**31, "uint32", 2**31),
    (2**32 - 1, "uint32", 2**32 - 1),
    (2**32, "int64", 2**32),
    (-(2**31) - 1, "int64", -(2**31) - 1),
    (-(2**63), "int64", -(2**63)),
    (2**63 - 1, "int64", 2**63 - 1),
    (2**63, "uint64", 2**63),
    (2**64 - 1, "uint64", 2**64 - 1),
    (2**64, "string", "0x10000000000000000"),
    (-(2**63) - 1, "string", "-0x8000000000000001"),
    (1.5, "double", 1.5),
    (float("inf"), "double", float("inf")),
    ("", "string", ""),
    ("text", "string", "text"),
    ("x" * 1000, "string", "x" * 1000),
    ("\udc80", "string", "\udc80"),
    (b"", "blob", b""),
    (b"\0\1", "blob", b"\0\1"),
    (bytearray(b"ab"), "blob", b"ab"),
    ([1, "a"], "string", "[1, 'a']"),
    (_Colour.RED, "int32", 3),
]


def test_an_argument_has_the_smallest_type(tracer: Tracer, path: Path) -> None:
    for number, (argument, *_) in enumerate(ARGUMENTS):
        for _ in range(2):  # the second time by the fast path
            tracer.instant("cat", f"name {number}", arg=argument)
    found = events(tracer, path)
    for at, (_, kind, value) in enumerate(ARGUMENTS):
        assert [values(event) for event in found[2 * at : 2 * at + 2]] == [
            {"arg": (kind, value)}
        ] * 2
    assert not tracer.losses


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=80),
    st.binary(max_size=20),
)


@given(st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=15), max_size=8))
def test_written_arguments_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, given: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("tracer") / "out.fxt"
    tracer = Tracer(path)
    for args in given:
        tracer.instant("cat", "name", **args)
    found = events(tracer, path)
    assert [{a.name: a.value for a in event.args} for event in found] == given
    assert not tracer.losses


class _Unspeakable:
    def __str__(self) -> str:
        raise ZeroDivisionError


def test_losses_are_counted(tracer: Tracer, path: Path) -> None:
    tracer.instant("cat", "name", good=1, bad=_Unspeakable(), other=2)
    tracer.instant("cat", "many", **{f"a{number}": number for number in range(17)})
    tracer.instant("cat", "large", text="ü" * 20000, bytes=b"x" * 9)
    tracer.instant(["unhashable"], "name")  # type: ignore[arg-type]
    assert tracer.losses == {
        "arguments whose text could not be made: ZeroDivisionError": 1,
        "arguments after the 15th of an event": 2,
        "arguments that were cut for their size": 2,
        "events that could not be written: TypeError": 1,
    }
    bad, many, large = events(tracer, path)
    assert values(bad) == {"good": ("int32", 1), "other": ("int32", 2)}
    assert [each.value for each in many.args] == list(range(15))
    assert large.args[0].value == "ü" * 8000


def test_changed_texts_are_counted(path: Path) -> None:
    with Tracer(path, name="p" * 300) as tracer:
        tracer.instant("cat", "n" * 32001)
        tracer.instant("cat", "name", **{"a" * 256: 1, "lone": "\ud800"})
        tracer.instant("cat\ud800", "name")
        tracer.name_thread("t" * 32001)
        tracer.log("m" * 32001)
        tracer.log("lone \ud800")
        losses = dict(tracer.losses)
    is_lone = "with surrogates that do not represent a byte, replaced by ?"
    assert losses == {
        "names of programs that were cut for their size": 1,
        "names of events that were cut for their size": 1,
        f"names of events {is_lone}": 1,
        "names of arguments that were cut for their size": 1,
        f"arguments {is_lone}": 1,
        "texts that were cut for their size": 1,
        "messages that were cut for their size": 1,
        f"messages {is_lone}": 1,
    }
    found = of_type(path, Event)
    assert [len(each.name) for each in found] == [32000, 4, 4]
    assert [each.value for each in found[1].args] == [1, "?"]
    assert found[2].category == "cat?"
    assert of_type(path, Log)[1].message == "lone ?"


def test_losses_are_reported_at_the_end(
    tracer: Tracer, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tracer.instant("cat", "name", bad=_Unspeakable())
    with caplog.at_level(logging.WARNING, "gsym.trace"):
        tracer.close()
    (message,) = caplog.messages
    (log,) = of_type(path, Log)
    assert log.message in message
    assert "(1)" in log.message


# ---- tables


def test_texts_do_not_fill_the_string_table(tracer: Tracer, path: Path) -> None:
    for number in range(17000):
        tracer.instant("cat", "name", value=f"text {number}")
    tracer.instant("cat", "a late name")
    found = events(tracer, path)
    assert [event.args[0].value for event in found[:-1]] == [
        f"text {number}" for number in range(17000)
    ]
    assert "a late name" in {each.value for each in of_type(path, String)}


def test_more_threads_than_table_entries_are_recorded(
    tracer: Tracer, path: Path
) -> None:
    barrier = threading.Barrier(300)

    def work() -> None:
        barrier.wait()
        for _ in range(3):
            tracer.instant("cat", threading.current_thread().name)
        barrier.wait()

    threads = [threading.Thread(target=work, name=f"t{n}") for n in range(300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = events(tracer, path)
    assert len(found) == 900
    by_name: dict[str, set[int]] = {}
    for event in found:
        by_name.setdefault(event.name, set()).add(event.thread)
    assert {name: koids for name, koids in by_name.items() if len(koids) != 1} == {}
    told = {each.koid: each.name for each in of_type(path, KernelObject)}
    assert [event for event in found if told[event.thread] != event.name] == []


def test_entries_of_ended_threads_are_reused(tracer: Tracer, path: Path) -> None:
    for number in range(300):
        thread = threading.Thread(target=tracer.instant, args=("cat", f"n{number}"))
        thread.start()
        thread.join()
    assert len(events(tracer, path)) == 300
    assert len(of_type(path, Thread)) >= 300
    assert max(each.thread_index for each in of_type(path, Thread)) < 200


def test_concurrent_threads_lose_no_event(tracer: Tracer, path: Path) -> None:
    def work(number: int) -> None:
        for step in range(2000):
            tracer.instant(f"cat{number}", f"name{step % 50}", n=number, step=step)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = events(tracer, path)
    assert not tracer.losses
    for number in range(6):
        mine = [event for event in found if event.category == f"cat{number}"]
        assert [event.args[1].value for event in mine] == list(range(2000))
        assert {event.args[0].value for event in mine} == {number}
        assert len({event.thread for event in mine}) == 1


# ---- ends of all kinds


def test_events_after_close_are_counted(tracer: Tracer, path: Path) -> None:
    tracer.instant("cat", "name")
    tracer.close()
    size = path.stat().st_size
    tracer.instant("cat", "name")
    tracer.close()
    assert path.stat().st_size == size
    assert tracer.losses == {"bytes that could not be written: the trace is closed": 16}


def test_a_flush_writes_all_events(tracer: Tracer, path: Path) -> None:
    tracer.instant("cat", "one")
    tracer.flush()
    assert [event.name for event in of_type(path, Event)] == ["one"]
    tracer.flush()


def test_a_full_disk_does_not_stop_the_program() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with Tracer("/dev/full") as tracer:
        for number in range(10000):
            tracer.instant("cat", "name", n=number)
    (reason,) = tracer.losses
    assert "No space left" in reason
    assert tracer.losses[reason] > 10000


START = "import os, sys; from gsym import Tracer; t = Tracer(sys.argv[1])\n"


@pytest.mark.parametrize(
    ("code", "status"), [("", 0), ("raise ValueError", 1), ("sys.exit(3)", 3)]
)
def test_a_trace_is_complete_when_its_program_ends(
    code: str, status: int, path: Path
) -> None:
    run(f"{START}with t.duration('c', 'n'):\n  pass\n  {code}", path, status=status)
    (found,) = of_type(path, Event)
    assert found.name == "n"
    assert len(found.args) == (status != 0)


def test_a_killed_program_leaves_a_readable_trace(path: Path) -> None:
    code = "for n in range(9000): t.instant('c', 'n', n=n)\nos.kill(os.getpid(), 9)"
    run(START + code, path, status=-signal.SIGKILL)
    numbers = [event.args[0].value for event in of_type(path, Event)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= 4000  # as many are held at most


def test_forked_processes_share_the_trace(path: Path) -> None:
    code = (
        "t.instant('c', 'parent')\n"
        "for n in range(3):\n"
        "  if not os.fork():\n"
        "    for step in range(5000): t.instant('c', f'child {n}', step=step)\n"
        "    sys.exit()\n"
        "for step in range(5000): t.instant('c', 'parent', step=step)\n"
        "while True:\n"
        "  try: os.wait()\n"
        "  except ChildProcessError: break\n"
    )
    run(START + code, path)
    found = of_type(path, Event)
    names = ["parent", "child 0", "child 1", "child 2"]
    counts = [sum(event.name == name for event in found) for name in names]
    assert counts == [5001, 5000, 5000, 5000]
    assert [event for event in found if event.provider != event.process] == []
    assert len({event.process for event in found}) == 4
    assert of_type(path, ProviderSection)


def test_a_pool_that_is_killed_loses_no_task_that_ended(path: Path) -> None:
    code = (
        "import multiprocessing as m\n"
        "def work(number):\n"
        "  with tracer.duration('c', 'task', number=number):\n"
        "    tracer.instant('c', 'inside')\n"
        "  tracer.instant('c', 'after')\n"
        "  return number\n"
        "tracer = t\n"
        "with tracer.duration('c', 'all'), m.get_context('fork').Pool(2) as pool:\n"
        "  assert sum(pool.imap_unordered(work, range(40))) == 780\n"
    )
    run(START + code, path)
    names = Counter(each.name for each in of_type(path, Event))
    assert names == {"all": 1, "task": 40, "inside": 40, "after": 40}


def test_multiprocessing_children_are_recorded(path: Path) -> None:
    code = (
        "import multiprocessing as m\n"
        "def work(n):\n"
        "  t.instant('c', 'work', n=n)\n"
        "context = m.get_context('fork')\n"
        "ps = [context.Process(target=work, args=(n,)) for n in range(3)]\n"
        "for p in ps: p.start()\n"
        "for p in ps: p.join()\n"
    )
    run(START + code, path)
    found = of_type(path, Event)
    assert sorted(event.args[0].value for event in found) == [0, 1, 2]
    assert len({event.process for event in found}) == 3


# ---- the package fxt


def test_the_package_fxt_reads_the_same(tracer: Tracer, path: Path) -> None:
    reader = pytest.importorskip("fxt.reader", reason="fxt is not installed")
    tracer.instant("cat", "moment", text="a", number=-5, large=2**63, real=0.5)
    tracer.counter("cat", "load", 3, running=3)
    with tracer.duration("cat", "work", flag=True, nothing=None):
        tracer.log("line")
    with tracer.async_("net", "request") as operation:
        operation.instant()
    flow = tracer.flow("net", "way")
    flow.step()
    flow.end()
    tracer.close()
    with path.open("rb") as file:
        result = reader.parse_records(file)
    assert not result.had_unexpected_eof
    (state,) = result.records_by_provider.values()
    said = [type(each).__name__.removesuffix("Record") for each in state.records]
    assert said == [
        *("KernelObject", "KernelObject", "InstantEvent", "CounterEvent", "Log"),
        *("DurationCompleteEvent", "AsyncBeginEvent", "AsyncInstantEvent"),
        *("AsyncEndEvent", "FlowBeginEvent", "FlowStepEvent", "FlowEndEvent"),
    ]
    moment = state.records[2]
    assert (moment.category, moment.name) == ("cat", "moment")
    args = {"text": "a", "number": -5, "large": 2**63, "real": 0.5}
    assert moment.args == args
    assert moment.thread.thread_id == threading.get_native_id()


def test_durations_of_coroutines_that_overlap_are_counted(tmp_path: Path) -> None:
    with Tracer(tmp_path / "trace.fxt") as tracer:
        jobs = [tracer.duration("cat", f"job {number}") for number in range(3)]
        for job in jobs:
            job.__enter__()
        for job in jobs:
            job.__exit__(None, None, None)
        with tracer.duration("cat", "outer"), tracer.duration("cat", "inner"):
            pass
        assert list(tracer.losses.values()) == [2]
