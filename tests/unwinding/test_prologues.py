"""Callers by the instructions of a function, beside what compilers say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gsym.containers.data_symbols import DataSymbols
from gsym.containers.machine_code import MachineCode, x86_instruction_size
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.memory.module_files import read_file
from gsym.unwinding.machines import AARCH64, ARM, RISCV64, X86, X86_64, Machine
from gsym.unwinding.prologues import FollowedCode

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.memory.module_files import LoadedFile
    from gsym.unwinding.frame_info import Step

CODE, TOP, LINK = 0x400000, 0x70000, 0x1234
FUNCTIONS = frozenset({2})
CALL = 0xE8
NOP = bytes.fromhex("0f1f840000000000")  # of 8 bytes, so that few are followed
PYELFTOOLS = "pyelftools/test"
UNTOLD = {"_dl_runtime_resolve"}  # its information lacks what it stores

# By their instructions: a `raise` of musl, in which RBP is no frame pointer.
RAISE = """
    55 53 89fb 4881ec98000000 64488b042528000000 4889842488000000 31c0 4889e5 4889ef
    e897ffffff 4863f3 64488b042500000000 486378 30b8c8000000 0f05 4889c7 e8183f0000
    4889ef 4889c3 e88dffffff 488b942488000000 6448 2b142528000000 750c 4881c498000000
    89d8 5b 5d c3 e899ddffff"""
# Arguments on the stack; INC and an absolute address, which x86-64 does not have.
ARGUMENTS = """
    53 40 83ec18 85c0 7413 a134120000 83ec0c 50 e8e9ffffff 83c428 5b c3 e8dfffffff"""
ALIGNED = "55 89e5 56 83e4f0 83ec64 e8d0ffffff c9 c3"
# ADD sp, sp, -192; SD s0; AUIPC, ADD s0; LD; AUIPC, LD; SD s1, s2, ra
ABORT = """
    3171 22f9 17140800 1304441c 1c64 17070700 0337a7ba 26f5 4af1 06fd 1463"""
# LUI, ADD t0; ADD sp, sp, t0; SD ra, s0; BEQZ; JAL; LD; LUI, ADD; ADD sp; RET; CALL
LARGE = """
    b7f2ffff 93820201 33015100 2338117c 2334817c 63000502 eff09ffe 8330017d 0334817c
    b7120000 938202ff 33015100 67800000 97000000 e7800000"""
# STP before; MOV x29; STP; MOV x16; SUB sp, x16; CBZ; BL; MOV sp, x29; LDP; LDP; RET
PAIRS = """
    fd7bbca9 fd030091 f35301a9 100284d2 ff6330cb c00000b4 faffff97 bf030091 f35341a9
    fd7bc4a8 c0035fd6 f50700f9 f4ffff97"""
SMALL = (
    "ff0300d1 ff0b40d1 fe0b00f9 f30f1ff8 00000094"  # SUB 0; SUB 8192; STR; STR before
)


class Memory:
    """Code, and a stack of which each word has its own address."""

    def __init__(self, machine: Machine, code: bytes, start: int = CODE) -> None:
        self.word, self.code, self.start = machine.word, code, start

    def __call__(self, address: int, size: int) -> bytes:
        inside = address - self.start
        if 0 <= inside < len(self.code):
            return self.code[inside : inside + size]
        return address.to_bytes(self.word, "little") if size == self.word else b""


def stepped(machine: Machine, code: str, inside: int, **values: int) -> Step | None:
    """The caller, with the stack and frame pointers in their distance from `TOP`."""
    numbers = {"stack": machine.stack, "frame": machine.frame}
    held = {numbers[name]: TOP + value for name, value in values.items()}
    if machine.link is not None:
        held[machine.link] = LINK
    memory = Memory(machine, bytes.fromhex(code))
    return FollowedCode(machine, memory).step(CODE, CODE + inside, held)


@pytest.mark.parametrize(
    ("machine", "code", "inside", "size", "saved"),
    [
        (X86_64, RAISE, 0, 8, {}),
        (X86_64, RAISE, 1, 16, {6: 16}),
        (X86_64, RAISE, 0x26, 176, {6: 16, 3: 24}),
        (X86_64, RAISE, 0x72, 176, {6: 16, 3: 24}),  # after RET
        (X86_64, RAISE, 0x6F, 24, {6: 16, 3: 24}),
        (X86_64, RAISE, 0x71, 8, {}),
        (X86, ARGUMENTS, 2, 8, {3: 8}),
        (X86, ARGUMENTS, 0x13, 48, {3: 8}),
        (X86, ARGUMENTS, 0x1D, 32, {3: 8}),
        (RISCV64, ABORT, 2, 192, {}),
        (RISCV64, ABORT, 0x1C, 192, {8: 16, 9: 24, 18: 32, 1: 8}),
        (RISCV64, LARGE, 0, 0, {}),
        (RISCV64, LARGE, 0x18, 4080, {1: 2080, 8: 2088}),
        (RISCV64, LARGE, 0x34, 4080, {1: 2080, 8: 2088}),
        (RISCV64, LARGE, 0x30, 0, {}),
        (AARCH64, PAIRS, 4, 64, {29: 64, 30: 56}),
        (AARCH64, PAIRS, 0x18, 64 + 0x2010, {29: 64, 30: 56, 19: 48, 20: 40}),
        (AARCH64, PAIRS, 0x28, 0, {}),
        (
            *(AARCH64, PAIRS, 0x30, 64 + 0x2010),
            {29: 64, 30: 56, 19: 48, 20: 40, 21: 64 + 0x2010 - 8},
        ),
        (AARCH64, SMALL, 0x10, 8192 + 16, {30: 8192 - 16, 19: 8192 + 16}),
    ],
)
def test_caller(
    machine: Machine, code: str, inside: int, size: int, saved: dict[int, int]
) -> None:
    step = stepped(machine, code, inside, stack=-size)
    assert step is not None
    found = {each: TOP - place for each, place in saved.items()}
    pc = TOP - machine.word if machine.link is None else found.get(machine.link, LINK)
    kept = {machine.link: LINK} if machine.link is not None else {}
    assert step.pc == pc
    assert step.values == kept | found | {machine.stack: TOP}
    assert step.trust == "prologue"


def test_frame_pointer_where_the_stack_pointer_is_unknown() -> None:
    """After AND ESP, the frame is that of EBP."""
    step = stepped(X86, ALIGNED, 10, stack=-4096, frame=-8)
    assert step is not None
    assert (step.pc, step.values[4], step.values[5]) == (TOP - 4, TOP, TOP - 8)
    assert stepped(X86, ALIGNED, 10, stack=-4096) is None


@pytest.mark.parametrize(
    ("machine", "code"),
    [
        (ARM, "00000000"),  # not followed
        (X86_64, "06" * 16),  # undefined
        (RISCV64, "0000" * 8),
        (AARCH64, ""),
    ],
)
def test_unknown(machine: Machine, code: str) -> None:
    assert stepped(machine, code, 8, stack=0) is None


def test_link_register_of_a_callee() -> None:
    """A function that called and has not saved the register is not followed."""
    memory = Memory(AARCH64, bytes(4) + bytes.fromhex("00000094") + bytes(16))
    values = {AARCH64.stack: TOP, 30: CODE + 8}
    assert FollowedCode(AARCH64, memory).step(CODE, CODE + 7, values) is None


@pytest.mark.parametrize(
    ("machine", "name", "least"),
    [
        (X86_64, "symbolic/py/minidump/crash_linux", 1000),
        (X86, "pyelftools/test/testfiles_for_readelf/libelf0_8_13_32bit.so.elf", 150),
        (
            RISCV64,
            "pyelftools/test/testfiles_for_unittests/simple_clang.elf.riscv",
            1000,
        ),
    ],
)
def test_call_frame_information(
    fixtures: Path, machine: Machine, name: str, least: int
) -> None:
    """At each call, the stack is what call frame information says."""
    path = str(fixtures / name)
    file = read_file(path, machine)
    assert file is not None
    with ObjectFile(map_file(path), path) as binary:
        functions = list(DataSymbols(binary, FUNCTIONS))
        calls = MachineCode(binary)
    count = 0
    for function in functions[::3]:
        if function.name in UNTOLD:
            continue
        code = bytes(file.read(function.start, function.size))
        memory = Memory(machine, code, function.start)
        at = 0
        while at < len(code):
            size = _size(machine, code[at : at + 16]) or len(code)
            is_call = machine.link is not None or code[at] == CALL
            at += size
            if is_call and calls.may_return(function.start + at):
                count += _compare(machine, file, function.start, at - 1, memory)
    assert count >= least


def _size(machine: Machine, code: bytes) -> int:
    if machine.link is not None:
        return 4 if code[0] & 3 == 3 else 2
    return x86_instruction_size(code, is_64=machine == X86_64)


def _compare(
    machine: Machine, file: LoadedFile, start: int, inside: int, memory: Memory
) -> bool:
    """Compare a caller; False where nothing says what it is."""
    pc = start + inside
    links = {} if machine.link is None else {machine.link: LINK}
    of_stack = {machine.stack: TOP, **links}
    by_stack = FollowedCode(machine, memory).step(start, pc, of_stack)
    of_frame = {machine.frame: TOP, **links}
    by_frame = FollowedCode(machine, memory).step(start, pc, of_frame)
    frame = 1 << 24  # not where it is set
    if by_frame is not None:
        by_stack = by_stack or by_frame
        frame = TOP + by_stack.values[machine.stack] - by_frame.values[machine.stack]
    values = {**of_stack, machine.frame: frame, machine.pc: pc}
    told = file.step(pc, values, memory)
    if told is None or not told.pc:
        return False
    assert by_stack is not None, hex(pc)
    assert told.pc == by_stack.pc, hex(pc)
    assert told.values[machine.stack] == by_stack.values[machine.stack], hex(pc)
    return True


def test_the_code_before_an_address_is_followed_once() -> None:
    reads = []

    def memory(address: int, size: int) -> bytes:
        reads.append(address)
        return (
            b"\x55\xe8".ljust(size, b"\x90") if address == CODE else (NOP * size)[:size]
        )

    followed = FollowedCode(X86_64, memory)
    for depth in range(3):
        followed.step(CODE, CODE + 4, {7: TOP + 8 * depth, 16: CODE + 4})
    assert reads.count(CODE) == 1
    huge = 1 << 16  # of all such functions only some are followed
    far = CODE - huge
    followed.step(far, far + huge + 1, {7: TOP})
    assert reads.count(far) == 0
    for number in range(1, 200):
        followed.step(CODE + number * huge, CODE + (number + 1) * huge, {7: TOP})
    assert reads.count(CODE + huge) == 1
    assert reads.count(CODE + 199 * huge) == 0
