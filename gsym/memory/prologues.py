"""Frames by the instructions of functions without call frame information.

The instructions from the start of a function to the address are followed in their
order; forward jumps carry what is on the stack to their targets.
"""

from __future__ import annotations

from gsym.memory.followed_aarch64 import follow_aarch64
from gsym.memory.followed_code import StackState
from gsym.memory.followed_riscv import follow_riscv
from gsym.memory.followed_x86 import follow_x86
from gsym.memory.frame_info import Step
from gsym.memory.machines import AARCH64, RISCV64, X86, X86_64
from gsym.model import UINT64_MAX

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.memory.followed_code import Flow
    from gsym.memory.images import Memory
    from gsym.memory.machines import Machine

    Follow = Callable[[bytes, int, StackState], Flow]

_FOLLOWING: dict[Machine, Follow] = {
    **dict.fromkeys((X86_64, X86), follow_x86),
    RISCV64: follow_riscv,
    AARCH64: follow_aarch64,
}
_MAX_CODE = 1 << 16  # bytes of a function before an address
_MAX_INSTRUCTION = 16


def step_by_instructions(
    machine: Machine, start: int, pc: int, values: dict[int, int], memory: Memory
) -> Step | None:
    """The registers in the caller of the function at *pc*; None if unknown.

    Args:
        machine: What it is for.
        start: Where the function starts.
        pc: An address in the instruction.
        values: The registers.
        memory: The memory of the process, with its code.
    """
    follow = _FOLLOWING.get(machine)
    if follow is None or not 0 <= pc - start <= _MAX_CODE:
        return None
    state = StackState(machine)
    code = memory(start, pc - start + _MAX_INSTRUCTION)
    found = _state_at(state, follow, code, pc - start)
    if found is None:
        return None
    word = machine.word

    def load(address: int) -> int | None:
        held = memory(address & UINT64_MAX, word)
        return int.from_bytes(held, machine.order) if len(held) == word else None

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


def _state_at(
    state: StackState,
    follow: Follow,
    code: bytes,
    inside: int,
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
