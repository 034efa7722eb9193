"""Frames by the instructions of functions without call frame information.

The instructions from the start of a function to the address are followed in their
order; forward jumps carry what is on the stack to their targets.
"""

from __future__ import annotations

from functools import partial

from gsym.model import UINT64_MAX
from gsym.unwinding.followed_aarch64 import follow_aarch64
from gsym.unwinding.followed_code import Flow, StackState
from gsym.unwinding.followed_riscv import follow_riscv
from gsym.unwinding.followed_x86 import follow_x86
from gsym.unwinding.frame_info import Step
from gsym.unwinding.machines import AARCH64, RISCV64, X86, X86_64, Machine

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.unwinding.images import Memory

    Follow = Callable[[bytes, int, StackState], Flow]

_FOLLOWING: dict[Machine, Follow] = {
    **dict.fromkeys((X86_64, X86), follow_x86),
    RISCV64: follow_riscv,
    AARCH64: follow_aarch64,
}
# Limit: Code before an address of a dump without call frame information
_MAX_CODE = 1 << 16
# Limit: Such code of all addresses of a dump
_MOST_CODE = 8 << 20
_MAX_INSTRUCTION = 16


class FollowedCode:
    """Callers by the instructions of functions; those of an address are followed once.

    Args:
        machine: What they are for.
        memory: The memory of the process, with its code.
    """

    def __init__(self, machine: Machine, memory: Memory) -> None:
        self._machine = machine
        self._memory = memory
        self._follow: Follow | None = _FOLLOWING.get(machine)
        self._states: dict[int, StackState | None] = {}  # by address
        self._left = _MOST_CODE

    def step(self, start: int, pc: int, values: dict[int, int]) -> Step | None:
        """The registers in the caller; None if unknown.

        Args:
            start: Where the function starts.
            pc: An address in the instruction.
            values: The registers.
        """
        if pc not in self._states:
            self._states[pc] = self._state(start, pc)
        found = self._states[pc]
        if found is None:
            return None
        machine, word = self._machine, self._machine.word
        load = partial(machine.load, self._memory)
        bases = [(machine.stack, found.stack), (machine.frame, found.frame)]
        if found.has_record():
            bases.reverse()  # the stack pointer may change in loops
        places = (
            (values[register] - place) & UINT64_MAX
            for register, place in bases
            if place is not None and register in values
        )
        top = next(places, None)
        if top is None:
            return None
        saved = {number: load(top + place) for number, place in found.saved.items()}
        known = {number: value for number, value in saved.items() if value is not None}
        known = {**values, **known, machine.stack: top}
        back = load(top - word) if machine.link is None else known.get(machine.link)
        if not back or (machine.link not in {None, *saved} and back == pc + 1):
            return None  # the link register has where the function's callee returned to
        return Step(back, known, is_signal=False, trust="prologue")

    def _state(self, start: int, pc: int) -> StackState | None:
        """The state of the stack at an address."""
        size = pc - start
        if self._follow is None or not 0 <= size <= min(_MAX_CODE, self._left):
            return None
        self._left -= size
        code = self._memory(start, size + _MAX_INSTRUCTION)
        return _state_at(StackState(self._machine), self._follow, code, size)


def _state_at(
    state: StackState, follow: Follow, code: bytes, inside: int
) -> StackState | None:
    """The state before the instruction at an offset; None if that is not reached."""
    first = state.stack
    settled = state  # at a jump, with most on the stack
    waiting: dict[int, StackState] = {}
    at = 0
    while True:
        before = state.copy()
        flow = follow(code, at, state)
        if not flow.size:
            return None
        if at + flow.size > inside:
            return before
        if flow.jump:
            if flow.jump > 0:
                waiting.setdefault(at + flow.jump, before)
            depths = before.stack, settled.stack
            if None in depths or depths[0] <= depths[1]:  # type: ignore[operator]
                settled = before
        at += flow.size
        jumped = waiting.pop(at, None)  # is sure: a call before may not return
        if flow.ends:
            is_left = flow.returns or before.stack == first
            jumped = jumped or (settled if is_left else before)
        state = jumped.copy() if jumped is not None else state
