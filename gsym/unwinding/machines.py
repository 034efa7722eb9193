"""The machines of which stacks are walked: their registers and conventions."""

from __future__ import annotations

from gsym.model import UINT64_MAX
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Literal

    from gsym.unwinding.images import Memory


class LinkSaves(NamedTuple):
    """Instructions that show whether a function saved its link register."""

    unit: int = 4  # bytes of the smallest instruction
    # masks and values of instructions that save it
    saves: tuple[tuple[int, int], ...] = ()
    # masks and values of instructions that return
    returns: tuple[tuple[int, int], ...] = ()


class Trampoline(NamedTuple):
    """Code to which a handler of a signal returns."""

    code: bytes  # its first bytes
    at: int  # where the saved registers are from the stack pointer, in bytes
    pc: int  # where the program counter is in them, in bytes
    registers: tuple[int, ...]  # where the others are, in the order of their numbers
    # offsets at each of which a pointer to the next part is: the saved registers are at
    # the last one plus *at*
    pointers: tuple[int, ...] = ()
    # where the link register is in them, if its number does not follow
    link: int | None = None


class Machine(NamedTuple):
    """The facts of a machine that a walk needs. Registers are numbered as in DWARF."""

    word: int  # bytes of an address
    stack: int  # number of the stack pointer
    frame: int  # number of the frame pointer
    # where the frame record of a function is from its frame pointer, in words: the
    # frame pointer of its caller, then the return address
    record_at: int = 0
    signature: int = 0  # bits of an address that may be a signature
    pc: int = -1  # number of the program counter
    # number of the register with the return address of a function that was just called;
    # None if calls put it on the stack
    link: int | None = None
    order: Literal["little", "big"] = "little"  # the order of bytes
    # what the canonical frame address is above the stack pointer at a call
    frame_bias: int = 0
    # whether the lowest bit of an address is the mode of its code
    has_modes: bool = False
    # words above the stack pointer of a caller at which its callee saved the return
    # address, where the word at each stack pointer is that of the caller; None on other
    # machines
    back_chain: int | None = None
    link_saves: LinkSaves = LinkSaves()  # see there
    # the first instructions of a function that has a frame pointer, where these are
    # known by their bytes; the first byte pushes the register
    prologues: tuple[bytes, ...] = ()
    trampolines: tuple[Trampoline, ...] = ()  # what handlers of signals return to
    # the names of the registers, in the order of their numbers
    names: tuple[str, ...] = ()
    architecture: str = ""  # its name, if its code can be disassembled; or ""

    def load(self, memory: Memory, address: int) -> int | None:
        """The word at an address; None where memory is not known."""
        held = memory(address & UINT64_MAX, self.word)
        return int.from_bytes(held, self.order) if len(held) == self.word else None


def _numbered(letter: str, count: int) -> tuple[str, ...]:
    """Names of registers that are a letter and a number, from 0 on."""
    return tuple(f"{letter}{each}" for each in range(count))


def _swapped(code: bytes) -> bytes:
    """Instructions of 4 bytes in the other order of bytes."""
    return b"".join(code[at : at + 4][::-1] for at in range(0, len(code), 4))


_X86_64_PLACES = (13, 12, 14, 11, 9, 8, 10, 15, *range(8))
_X86_64_REGISTERS = tuple(8 * each for each in _X86_64_PLACES)
_X86_REGISTERS = (44, 40, 36, 32, 28, 24, 20, 16)
_FIRST_32 = tuple(range(0, 256, 8))
_S390X_REGISTERS = tuple(range(16, 144, 8))
X86_64 = Machine(
    *(8, 7, 6),
    architecture="x86_64",
    pc=16,
    names=(
        *("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"),
        *_numbered("r", 16)[8:],
        "rip",
    ),
    prologues=(b"\x55\x48\x89\xe5", b"\x55\x48\x8b\xec"),
    trampolines=tuple(
        Trampoline(bytes.fromhex(code), 40, 8 * 16, _X86_64_REGISTERS)
        for code in ("48c7c00f0000000f05", "b80f0000000f05")
    ),
)
X86 = Machine(
    *(4, 4, 5),
    architecture="i386",
    pc=8,
    names=("eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"),
    prologues=(b"\x55\x89\xe5", b"\x55\x8b\xec"),
    trampolines=(
        Trampoline(bytes.fromhex("58b877000000cd80"), 4, 56, _X86_REGISTERS),
        Trampoline(bytes.fromhex("b8ad000000cd80"), 20, 56, _X86_REGISTERS, (8,)),
    ),
)
AARCH64 = Machine(
    *(8, 31, 29),
    architecture="aarch64",
    signature=0xFFFF << 48,
    link=30,
    names=(*_numbered("x", 31), "sp"),
    link_saves=LinkSaves(
        # STP X29, X30 and STR X30; RET, RETAA, RETAB
        saves=((0xFF407FFF, 0xA9007BFD), (0xFFE00FFF, 0xF8000FFE)),
        returns=((0xFFFFFFFF, 0xD65F03C0), (0xFFFFFBFF, 0xD65F0BFF)),
    ),
    trampolines=(Trampoline(bytes.fromhex("681180d2010000d4"), 312, 256, _FIRST_32),),
)
ARM = Machine(
    *(4, 13, 11),
    architecture="arm",
    pc=15,
    link=14,
    has_modes=True,
    names=(*_numbered("r", 13), "sp", "lr", "pc"),
    trampolines=tuple(
        Trampoline(bytes.fromhex(code), at, 60, tuple(range(0, 60, 4)))
        for code, at in (
            *(("7770a0e3000000ef", 32), ("772700df", 32)),
            *(("ad70a0e3000000ef", 160), ("ad2700df", 160)),
        )
    ),
)
_RISCV_NAMES = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(*_numbered("a", 8), *_numbered("s", 12)[2:], *_numbered("t", 7)[3:]),
)
RISCV64 = Machine(
    *(8, 2, 8),
    architecture="riscv64",
    record_at=-2,
    link=1,
    names=_RISCV_NAMES,
    # C.SDSP ra; C.JR ra
    link_saves=LinkSaves(2, ((0xE07F, 0xE006),), ((0xFFFF, 0x8082),)),
    # The program counter is in the place of the register that is always 0.
    trampolines=(Trampoline(bytes.fromhex("9308b00873000000"), 304, 0, _FIRST_32),),
)
RISCV32 = Machine(
    *(4, 2, 8), architecture="riscv32", record_at=-2, link=1, names=_RISCV_NAMES
)
LOONGARCH64 = Machine(
    *(8, 3, 22),
    record_at=-2,
    link=1,
    names=_numbered("r", 32),
    trampolines=(
        Trampoline(bytes.fromhex("0b2c820300002b00"), 304, 0, tuple(range(8, 264, 8))),
    ),
)
# ADDI r1, r1, 128; LI r0, 172; SC. That of QEMU lacks the first.
_POWER_RETURNS = {"38210080380000ac44000002": 352, "380000ac44000002": 368}
POWER64 = Machine(
    *(8, 1, 31),
    architecture="powerpc64",
    link=65,
    names=_numbered("r", 32),
    order="big",
    back_chain=2,
    # MFLR r0; BLR
    link_saves=LinkSaves(
        saves=((0xFFFFFFFF, 0x7C0802A6),), returns=((0xFFFFFFFF, 0x4E800020),)
    ),
    trampolines=tuple(
        Trampoline(bytes.fromhex(code), 0, 256, _FIRST_32, (at,), 288)
        for code, at in _POWER_RETURNS.items()
    ),
)
POWER64_LITTLE = POWER64._replace(
    order="little",
    trampolines=tuple(
        each._replace(code=_swapped(each.code)) for each in POWER64.trampolines
    ),
)
POWER32 = POWER64._replace(architecture="powerpc", word=4, back_chain=1, trampolines=())
S390X = Machine(
    *(8, 15, 11),
    architecture="s390x",
    link=14,
    names=_numbered("r", 16),
    order="big",
    frame_bias=160,
    trampolines=(  # SVC 173; SVC 119
        Trampoline(bytes.fromhex("0aad"), 160 + 8 + 128 + 40, 8, _S390X_REGISTERS),
        Trampoline(bytes.fromhex("0a77"), 0, 8, _S390X_REGISTERS, (168,)),
    ),
)
