"""Stacks of the threads of a program that has ended."""

from __future__ import annotations

from struct import pack

import pytest

from gsym.memory import threads
from gsym.memory.loaded import Loaded
from gsym.memory.machines import X86_64
from gsym.memory.stack_parts import StackFrame
from gsym.memory.threads import Dump, Thread, dump_report
from gsym.memory.walking import Registers, Walker

STACK, RETURN = 0x10000, 0x401234


@pytest.mark.parametrize(
    ("callers", "shown"), [(1022, 1023), (1023, 1024), (5000, 1024)]
)
def test_a_deep_recursion_is_cut_and_the_report_says_so(
    callers: int, shown: int
) -> None:
    """Each frame has two words: where the next one is, and where it returns to."""
    frames = [pack("<QQ", STACK + 16 * n, RETURN) for n in range(1, callers)]
    stack = b"".join([*frames, pack("<QQ", 0, RETURN)])

    def memory(address: int, size: int) -> bytes:
        return stack[max(address - STACK, 0) :][:size]

    registers = Registers(RETURN, {6: STACK, 7: STACK})
    walker = Walker(X86_64, memory, lambda _: True)
    report = dump_report(
        Dump("core", "", "", [Thread(1, "", registers, is_crashed=True)]),
        Loaded(),
        walker,
    )
    assert sum(isinstance(part, StackFrame) for part in report.parts) == shown
    assert bool(report.notes) == (callers + 1 > shown)


@pytest.mark.parametrize(("most", "shown"), [(6, 6), (5, 5)])
def test_the_frames_of_all_threads_are_limited(
    most: int, shown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "_MOST_IN_ALL", most)
    walker = Walker(X86_64, lambda *_: b"", lambda _: True)
    several = [
        Thread(number, "", Registers(RETURN, {}), is_crashed=False)
        for number in range(6)
    ]
    report = dump_report(Dump("core", "", "", several), Loaded(), walker)
    assert sum(isinstance(part, StackFrame) for part in report.parts) == shown
    assert bool(report.notes) == (most < 6)
