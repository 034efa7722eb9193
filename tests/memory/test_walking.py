"""Ways from a frame to its caller, in memory made for the test."""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING

import pytest

from gsym.memory import walking
from gsym.memory.elf_core import read_core
from gsym.memory.walking import Registers, Walker
from gsym.unwinding.frame_info import Step
from gsym.unwinding.machines import (
    AARCH64,
    ARM,
    LOONGARCH64,
    POWER64,
    POWER64_LITTLE,
    RISCV64,
    S390X,
    X86,
    X86_64,
    Machine,
)
from tests.inputs.core import small_core

if TYPE_CHECKING:
    from collections.abc import Callable

CODE, STACK = 0x400000, 0x70000
CALL = bytes.fromhex("e800000000")


class Program:
    """Code of 64 KiB, of which a part is given, and a stack."""

    def __init__(self, code: dict[int, bytes], stack: bytes) -> None:
        self.code = bytearray(0x10000)
        for at, data in code.items():
            self.code[at : at + len(data)] = data
        self.stack = stack

    def memory(self, address: int, size: int) -> bytes:
        for start, data in ((CODE, bytes(self.code)), (STACK, self.stack)):
            if start <= address < start + len(data):
                return data[address - start :][:size]
        return b""

    def is_code(self, address: int) -> bool:
        return CODE <= address < CODE + len(self.code)

    def walk(
        self,
        machine: Machine,
        pc: int,
        values: dict[int, int],
        step: Callable[[int, dict[int, int]], Step | None] = lambda *_: None,
    ) -> tuple[list[tuple[int, str]], str]:
        walker = Walker(machine, self.memory, self.is_code, step)
        walked = walker.walk(Registers(pc, values))
        return [(each.address, each.trust) for each in walked.frames], walked.end


@pytest.mark.parametrize("pc", [0, 0x70008, 0xDEAD0000])
def test_the_caller_of_no_code_is_on_top_of_the_stack(pc: int) -> None:
    program = Program({}, pack("<QQ", CODE + 0x105, 0))
    frames, _ = program.walk(X86_64, pc, {7: STACK, 6: 0})
    assert frames == [(pc, "context"), (CODE + 0x105, "return address")]
    program = Program({}, pack("<II", CODE + 0x105, 0))
    frames, _ = program.walk(X86, pc, {4: STACK, 5: 0})
    assert frames == [(pc, "context"), (CODE + 0x105, "return address")]


def test_a_stack_that_ends_beside_the_start_of_the_program_is_cut() -> None:
    """A function beside it has a caller, which call frame information names."""
    program = Program({}, bytes(64))
    step = Step(0x10, {}, is_signal=False)
    walker = Walker(RISCV64, program.memory, program.is_code, lambda *_: step)
    walker.entry = CODE
    walked = walker.walk(Registers(CODE + 0x40, {2: STACK}))
    assert walked.end == "its caller would be at 0x10, where no code is"


@pytest.mark.parametrize("machine", [X86_64, RISCV64])
@pytest.mark.parametrize("back", [CODE + 0x205, CODE + 0x207])
def test_instructions_lead_to_a_caller_only(machine: Machine, back: int) -> None:
    """On x86, what they find is none where no call ends."""
    program = Program({0x200: CALL}, pack("<2Q", back, 0))
    steps = {CODE + 0x108: Step(back, {}, is_signal=False, trust="prologue")}
    values = {machine.stack: STACK + 16, machine.frame: 0}
    frames, _ = program.walk(
        *(machine, CODE + 0x108, values), lambda pc, _: steps.get(pc)
    )
    is_found = machine == RISCV64 or back == CODE + 0x205
    assert frames[1:] == ([(back, "prologue")] if is_found else [])


@pytest.mark.parametrize(
    ("machine", "link"),
    [(AARCH64, 30), (ARM, 14), (RISCV64, 1), (S390X, 14), (POWER64, 65)],
)
def test_the_caller_of_no_code_is_in_the_link_register(
    machine: Machine, link: int
) -> None:
    program = Program({}, bytes(64))
    frames, end = program.walk(machine, 0, {link: CODE + 0x104, machine.stack: STACK})
    assert frames == [(0, "context"), (CODE + 0x104, "link register")]
    assert not end


def test_a_leaf_without_frame_information_does_not_hide_its_caller() -> None:
    """The frame pointer is that of the caller, which has a caller as well."""
    stack = pack("<8Q", CODE + 0x205, 0, STACK + 0x30, CODE + 0x305, *bytes(4))
    program = Program({0x200: CALL, 0x300: CALL}, stack)
    frames, end = program.walk(X86_64, CODE + 0x108, {7: STACK, 6: STACK + 0x10})
    assert [address - CODE for address, _ in frames] == [0x108, 0x205, 0x305]
    assert [trust for _, trust in frames[1:]] == ["return address", "frame pointer"]
    assert not end


@pytest.mark.parametrize(
    ("inside", "stack", "frame"),
    [
        (0, (0x205, 0), 0x100),
        (1, (0, 0x205), 0x100),
        (4, (0, 0x205), STACK),
        (9, (0, 0x205), STACK),
    ],
)
def test_the_first_instructions_of_a_function_say_what_it_pushed(
    inside: int, stack: tuple[int, int], frame: int
) -> None:
    """PUSH RBP; MOV RBP, RSP. A word of the stack may look like a return address."""
    words = [each and CODE + each for each in stack]
    code = {0x100: bytes.fromhex("554889e590909090"), 0x200: CALL}
    program = Program(code, pack("<3Q", *words, 0))
    frames, _ = program.walk(X86_64, CODE + 0x100 + inside, {7: STACK, 6: frame})
    assert [address - CODE for address, _ in frames] == [0x100 + inside, 0x205]


def test_a_word_that_follows_no_call_is_no_return_address() -> None:
    program = Program({}, pack("<2Q", CODE + 0x205, 0))
    frames, end = program.walk(X86_64, CODE + 0x108, {7: STACK, 6: 5})
    assert frames == [(CODE + 0x108, "context")]
    assert end == "there is no call frame information at 0x400108"


@pytest.mark.parametrize(
    ("machine", "code", "is_saved"),
    [
        (AARCH64, "c0035fd6 fd7bbfa9 fd030091", True),
        (AARCH64, "fd7bbfa9 c0035fd6 00000014", False),
        (AARCH64, "fe0f1ff8 fd030091", True),
        (RISCV64, "8280 4111 06e4", True),
        (RISCV64, "06e4 8280 4111", False),
    ],
)
def test_the_link_register_counts_where_it_is_not_saved(
    machine: Machine, code: str, *, is_saved: bool
) -> None:
    data = bytes.fromhex(code)
    stack = pack("<4Q", 0, CODE + 0x304, 0, 0)
    program = Program({0x100: data}, stack)
    frame = STACK - machine.record_at * 8
    values = {machine.link or 0: CODE + 0x204, machine.stack: STACK}
    frames, _ = program.walk(
        machine, CODE + 0x100 + len(data), {**values, machine.frame: frame}
    )
    outer = (CODE + 0x304, "frame pointer")
    assert frames[1] == (outer if is_saved else (CODE + 0x204, "link register"))


@pytest.mark.parametrize("frame", [STACK - 0x40, 5 << 32])
def test_a_register_of_another_use_does_not_end_a_stack_in_silence(frame: int) -> None:
    """The word at it is zero, but it is no frame record: it is not on the stack."""
    program = Program({0x200: CALL}, pack("<4Q", CODE + 0x205, 0, 0, 0))
    frames, end = program.walk(X86_64, CODE + 0x108, {7: STACK, 6: frame})
    assert [address - CODE for address, _ in frames] == [0x108, 0x205]
    assert end == "there is no call frame information at 0x400205"


def test_power_has_a_chain_of_stack_pointers() -> None:
    stack = pack(">6Q", STACK + 0x18, 0, 0, 0, 0, CODE + 0x204)
    program = Program({0x100: bytes.fromhex("7c0802a6")}, stack)
    values = {1: STACK, 65: CODE + 0x108}
    frames, end = program.walk(POWER64, CODE + 0x108, values)
    assert frames[1:] == [(CODE + 0x204, "frame pointer")]
    assert not end


# By machine: the code at the trampoline, and where registers are from the stack
# pointer: that with the number 3, the stack pointer, the program counter.
TRAMPOLINES = [
    (X86_64, "48c7c00f0000000f05", 3, (40 + 88, 40 + 120, 40 + 128)),
    (X86, "58b877000000cd80", 3, (4 + 32, 4 + 28, 4 + 56)),
    (AARCH64, "681180d2010000d4", 3, (312 + 24, 312 + 248, 312 + 256)),
    (ARM, "7770a0e3000000ef", 3, (32 + 12, 32 + 52, 32 + 60)),
    (ARM, "ad70a0e3000000ef", 3, (160 + 12, 160 + 52, 160 + 60)),
    (ARM, "ad2700df", 3, (160 + 12, 160 + 52, 160 + 60)),
    (RISCV64, "9308b00873000000", 3, (304 + 24, 304 + 16, 304)),
    (LOONGARCH64, "0b2c820300002b00", 4, (304 + 40, 304 + 32, 304)),
    (S390X, "0aad", 3, (336 + 40, 336 + 136, 336 + 8)),
]


@pytest.mark.parametrize(("machine", "code", "register", "places"), TRAMPOLINES)
def test_a_trampoline_of_signals_is_known_by_its_code(
    machine: Machine, code: str, register: int, places: tuple[int, int, int]
) -> None:
    register_at, stack_at, pc_at = places
    stack = bytearray(0x400)
    for at, value in (
        (register_at, 0x3333),
        (stack_at, STACK + 0x380),
        (pc_at, CODE + 0x500),
    ):
        stack[at : at + machine.word] = value.to_bytes(machine.word, machine.order)
    program = Program({0x100: bytes.fromhex(code)}, bytes(stack))
    seen: list[dict[int, int]] = []

    def step(pc: int, values: dict[int, int]) -> Step | None:
        seen.append(values)
        return Step(0, values, is_signal=False) if pc == CODE + 0x500 else None

    frames, end = program.walk(machine, CODE + 0x100, {machine.stack: STACK}, step)
    assert frames[1:] == [(CODE + 0x500, "signal frame")]
    assert not end
    assert seen[-1][register] == 0x3333
    assert seen[-1][machine.stack] == STACK + 0x380


@pytest.mark.parametrize(
    ("machine", "code", "pointer_at"),
    [
        (X86, "b8ad000000cd80", 8),
        (POWER64, "38210080380000ac44000002", 352),
        (POWER64_LITTLE, "80002138ac00003802000044", 352),
        (POWER64, "380000ac44000002", 368),
        (POWER64_LITTLE, "ac00003802000044", 368),
        (S390X, "0a77", 168),
    ],
)
def test_a_trampoline_may_have_a_pointer_to_the_registers(
    machine: Machine, code: str, pointer_at: int
) -> None:
    (trampoline,) = [
        each for each in machine.trampolines if each.code == bytes.fromhex(code)
    ]
    stack = bytearray(0x600)
    for at, value in (
        (pointer_at, STACK + 0x200),
        (0x200 + trampoline.at + trampoline.pc, CODE + 0x500),
    ):
        stack[at : at + machine.word] = value.to_bytes(machine.word, machine.order)
    program = Program({0x100: bytes.fromhex(code)}, bytes(stack))
    frames, _ = program.walk(machine, CODE + 0x100, {machine.stack: STACK})
    assert frames[1] == (CODE + 0x500, "signal frame")


@pytest.mark.parametrize("machine", [POWER64, POWER64_LITTLE])
def test_a_trampoline_restores_the_link_register(machine: Machine) -> None:
    """After a call of a null pointer the caller is in that register alone."""
    stack = bytearray(0x600)
    for at, value in (352, STACK + 0x200), (0x200 + 288, CODE + 0x504):
        stack[at : at + 8] = value.to_bytes(8, machine.order)
    program = Program({0x100: machine.trampolines[0].code}, bytes(stack))
    frames, _ = program.walk(machine, CODE + 0x100, {machine.stack: STACK})
    assert frames[1:3] == [(0, "signal frame"), (CODE + 0x504, "link register")]


def test_a_trampoline_may_be_on_the_stack() -> None:
    stack = bytearray(0x400)
    stack[0x300:0x308] = bytes.fromhex("681180d2010000d4")
    stack[568:576] = pack("<Q", CODE + 0x500)
    program = Program({}, bytes(stack))
    frames, _ = program.walk(AARCH64, CODE, {31: STACK, 30: STACK + 0x300})
    assert [trust for _, trust in frames[:3]] == [
        *("context", "link register", "signal frame")
    ]


@pytest.mark.parametrize("bits", [39, 47, 48, 52])
def test_signatures_of_any_size_are_taken_off(bits: int) -> None:
    mask = (1 << 55) - (1 << bits)
    machine = AARCH64._replace(signature=mask)
    values = {30: CODE + 0x104 | mask & 0x5555 << 40, 31: STACK, 29: 0}
    frames, _ = Program({}, b"").walk(machine, 0, values)
    assert frames[1] == (CODE + 0x104, "link register")


def test_a_stack_may_go_down_and_ends_where_it_repeats() -> None:
    places = {0x100: (0x200, 0x50), 0x200: (0x300, 0x10), 0x300: (0x200, 0x50)}

    def step(pc: int, _values: dict[int, int]) -> Step | None:
        found = places.get(pc - CODE & -16)
        if found is None:
            return None
        return Step(CODE + found[0] + 1, {7: STACK + found[1]}, is_signal=False)

    program = Program({}, b"")
    frames, end = program.walk(X86_64, CODE + 0x100, {7: STACK}, step)
    assert [address - CODE for address, _ in frames] == [0x100, 0x201, 0x301]
    assert end == "the caller of 0x400201 would be itself"


def test_a_caller_in_no_code_ends_a_stack() -> None:
    def step(_pc: int, values: dict[int, int]) -> Step:
        return Step(0x1234, values, is_signal=False)

    _, end = Program({}, b"").walk(X86_64, CODE + 1, {7: STACK}, step)
    assert end == "its caller would be at 0x1234, where no code is"


def test_a_stack_that_is_not_known_ends() -> None:
    _, end = Program({}, b"").walk(X86_64, CODE + 1, {7: 0x123000})
    assert end == "the stack at 0x123000 is not known"


def deeper(_pc: int, values: dict[int, int]) -> Step:
    return Step(CODE + 1, {7: values[7] + 8}, is_signal=False)


def test_the_frames_that_are_walked_are_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(walking, "_MAX_FRAMES", 2000)
    walker = Walker(X86_64, lambda *_: b"", lambda _: True, deeper)
    walker.budget = 3000
    first, second = (walker.walk(Registers(CODE, {7: STACK})) for _ in range(2))
    assert (len(first.frames), first.left_out, first.left_out_at) == (1024, 976, 512)
    assert first.end == "only 2000 frames are walked"
    assert first.period == 1
    assert second.end == "only 1000 frames are walked"


def test_the_frames_of_all_stacks_are_limited_by_the_size_of_the_core(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gsym.memory.elf_core._MAX_WALKED", (1, 0))
    parsed = read_core(memoryview(small_core()), "core")
    assert [each.end for each in parsed.stacks] == ["only 1 frames are walked"]


@pytest.mark.parametrize(("period", "shown"), [(1, 1), (2, 2), (3, 3), (100, 0)])
def test_repeats_are_told_from_other_frames(period: int, shown: int) -> None:
    def step(_pc: int, values: dict[int, int]) -> Step:
        at = (values[7] - STACK) // 8
        back = CODE + 0x100 * (at % period) + 2 if at < 2000 else 0
        return Step(back, {7: values[7] + 8}, is_signal=False)

    walker = Walker(X86_64, lambda *_: b"", lambda _: True, step)
    walked = walker.walk(Registers(CODE, {7: STACK}))
    assert (walked.left_out, walked.period) == (2001 - 1024, shown)
    assert not walked.end
