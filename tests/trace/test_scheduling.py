"""gsym.trace.scheduling: how long threads ran, were ready, and waited."""

from __future__ import annotations

from gsym.trace.fxt.records import (
    Argument,
    ContextSwitch,
    LegacyContextSwitch,
    ThreadWakeup,
)
from gsym.trace.scheduling import Scheduled, scheduled_threads

RUNNING, BLOCKED, DEAD = 1, 3, 5


def switch(
    ns: int,
    outgoing: int,
    incoming: int,
    state: int = BLOCKED,
    *args: Argument,
    cpu: int = 0,
) -> ContextSwitch:
    return ContextSwitch(ns, cpu, state, outgoing, incoming, args, ns)


def by_thread(*records: object) -> dict[int, Scheduled]:
    return {found.thread: found for found in scheduled_threads(records)}


def test_a_thread_runs_from_switch_to_switch() -> None:
    found = by_thread(switch(100, 1, 2), switch(400, 2, 1), switch(1000, 1, 2))
    assert found[1] == Scheduled(1, 600, 0, 300, 300, 1)
    assert found[2] == Scheduled(2, 300, 0, 600, 600, 2)


def test_a_thread_that_was_preempted_or_woken_is_ready() -> None:
    woken = ThreadWakeup(300, 0, 2, (), 300)
    found = by_thread(
        switch(100, 1, 2, RUNNING), switch(200, 2, 1), woken, switch(700, 1, 2)
    )
    assert (found[1].ready, found[1].waiting) == (100, 0)
    assert (found[2].ready, found[2].waiting, found[2].longest) == (400, 100, 500)


def test_a_wakeup_of_a_thread_that_does_not_wait_changes_nothing() -> None:
    woken = ThreadWakeup(150, 0, 2, (), 150)
    stranger = ThreadWakeup(150, 0, 9, (), 150)
    found = by_thread(switch(100, 1, 2), woken, stranger, switch(200, 2, 1))
    assert found[2].running == 100
    assert 9 not in found


def test_a_dead_thread_waits_no_longer() -> None:
    found = by_thread(switch(100, 1, 2), switch(200, 2, 3, DEAD), switch(900, 3, 1))
    assert found[2] == Scheduled(2, 100, 0, 0, 0, 1)


def test_the_order_of_records_does_not_matter() -> None:
    records = [switch(100, 1, 2), switch(400, 2, 1), switch(1000, 1, 2)]
    assert by_thread(*records) == by_thread(*reversed(records))


def test_processors_are_independent() -> None:
    found = by_thread(
        switch(100, 1, 2), switch(150, 3, 4, cpu=1), switch(300, 2, 1, cpu=0)
    )
    assert found[4].running == 150
    assert found[2].running == 200


def test_idle_threads_are_omitted() -> None:
    idle_in = Argument("incoming_weight", "int32", -(2**31))
    idle_out = Argument("outgoing_weight", "int32", -(2**31))
    found = by_thread(
        switch(100, 1, 50, BLOCKED, idle_in), switch(300, 50, 1, RUNNING, idle_out)
    )
    assert list(found) == [1]
    assert found[1].waiting == 200


def test_legacy_switches_are_understood() -> None:
    found = by_thread(
        LegacyContextSwitch(100, 0, BLOCKED, 7, 1, 0, 50, 16, 0, 100),
        LegacyContextSwitch(400, 0, RUNNING, 0, 50, 7, 1, 0, 16, 400),
        LegacyContextSwitch(600, 0, BLOCKED, 7, 1, 8, 2, 16, 16, 600),
    )
    assert set(found) == {1, 2}
    assert (found[1].running, found[1].waiting) == (200, 300)


def test_threads_are_sorted_by_time_off_processors() -> None:
    threads = scheduled_threads(
        [switch(0, 1, 2), switch(10, 2, 3), switch(500, 3, 1), switch(600, 1, 2)]
    )
    assert [each.thread for each in threads] == [2, 1, 3]
