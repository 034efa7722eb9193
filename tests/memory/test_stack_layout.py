"""Threads that wait in the same place: their stacks are those that a walk finds."""

from __future__ import annotations

from contextlib import suppress
from struct import pack

import pytest

from gsym.memory.walking import Registers, Walker
from gsym.unwinding.expressions import DamagedError
from gsym.unwinding.frame_info import Row, Step, apply_row, make_row
from gsym.unwinding.machines import AARCH64, X86_64, Machine

WAIT, CALLER, OTHER, START = 0x400100, 0x400200, 0x400280, 0x400300
SIZE = 0x1000
UNDEFINED = {16: ("undefined", 0)}
SAVED: dict[int, tuple[str, int | bytes]] = {6: ("offset", -16), 16: ("offset", -8)}
# The innermost function has no frame pointer; those that call it have one.
ROWS = {
    WAIT: make_row((7, 16), SAVED, 16),
    CALLER - 1: make_row((6, 16), SAVED, 16),
    OTHER - 1: make_row((6, 16), SAVED, 16),
    START - 1: make_row((7, 8), dict(UNDEFINED), 16),
}
ARM_ROWS = {
    WAIT: make_row((31, 0), {}, 30),
    CALLER - 1: make_row((29, 16), {29: ("offset", -16), 30: ("offset", -8)}, 30),
    OTHER - 1: make_row((31, 48), {29: ("offset", -16), 30: ("offset", -8)}, 30),
    START - 1: make_row((31, 0), {30: ("undefined", 0)}, 30),
}


class Stacks:
    """Stacks of threads, each at a multiple of SIZE, and how often they were read."""

    def __init__(self, *words: tuple[int, ...]) -> None:
        self.held = [pack(f"<{len(each)}Q", *each) for each in words]
        self.steps = 0

    def memory(self, address: int, size: int) -> bytes:
        number, place = divmod(address, SIZE)
        held = self.held[number - 1] if 0 < number <= len(self.held) else b""
        return held[place : place + size]

    def walker(self, machine: Machine, rows: dict[int, Row]) -> Walker:
        def step(pc: int, values: dict[int, int]) -> Step | None:
            self.steps += 1
            row = rows.get(pc)
            with suppress(DamagedError):
                return (
                    None
                    if row is None
                    else apply_row(row, values, self.memory, machine)
                )
            return None

        return Walker(machine, self.memory, lambda pc: 0x400000 <= pc < START, step)


def stack(base: int, back: int = CALLER, frame: int = 32) -> tuple[int, ...]:
    """A stack whose second function has its frame pointer at a distance."""
    words = [base + frame, back, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    words[frame // 8 : frame // 8 + 2] = [0, START]
    return tuple(words)


@pytest.mark.parametrize(
    ("other", "is_equal"),
    [
        (stack(2 * SIZE), True),
        (stack(2 * SIZE, OTHER), False),
        (stack(2 * SIZE, frame=48), False),
        (stack(2 * SIZE)[:5], False),
        (stack(2 * SIZE)[:6], True),
        (stack(2 * SIZE, 0), False),
        (stack(1 * SIZE), False),
    ],
)
def test_a_stack_is_that_of_another_thread_if_its_words_are(
    other: tuple[int, ...], *, is_equal: bool
) -> None:
    stacks = Stacks(stack(SIZE), other)
    threads = [Registers(WAIT, {7: base, 6: 5}) for base in (SIZE, 2 * SIZE)]
    alone = [stacks.walker(X86_64, ROWS).walk(each) for each in threads]
    together = stacks.walker(X86_64, ROWS)
    found = [together.walk(each) for each in threads]
    assert found == alone
    assert (found[0] is found[1]) == is_equal
    assert [each.address for each in found[0].frames] == [WAIT, CALLER, START]


def test_equal_stacks_are_walked_once_and_count_as_frames() -> None:
    stacks = Stacks(stack(SIZE), stack(2 * SIZE), stack(3 * SIZE))
    walker = stacks.walker(X86_64, ROWS)
    walker.budget = 8
    threads = [Registers(WAIT, {7: at * SIZE, 6: at}) for at in (1, 2, 3)]
    found = [walker.walk(each) for each in threads]
    assert stacks.steps == 6 - 1  # the third stack is cut, and is walked
    assert [len(each.frames) for each in found] == [3, 3, 2]
    assert found[2].end == "only 2 frames are walked"


@pytest.mark.parametrize(
    ("link", "frame", "is_equal"),
    [(CALLER, 0x10, True), (CALLER, 0x20, False), (OTHER, 0x10, False)],
)
def test_registers_count_as_words_do(link: int, frame: int, *, is_equal: bool) -> None:
    words = (1, 2, 0, START, 0, START, 7, 8)
    stacks = Stacks(words, words)
    known = [(SIZE, CALLER, 0x10), (2 * SIZE, link, frame)]
    threads = [
        Registers(WAIT, {31: base, 30: link, 29: base + frame})
        for base, link, frame in known
    ]
    alone = [stacks.walker(AARCH64, ARM_ROWS).walk(each) for each in threads]
    together = stacks.walker(AARCH64, ARM_ROWS)
    found = [together.walk(each) for each in threads]
    assert found == alone
    assert [len(each.frames) for each in found] == [3, 3]
    assert (found[0] is found[1]) == is_equal
