"""Machine code as text, by the package capstone."""

from __future__ import annotations

import re

from gsym.errors import UnsupportedError
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Instruction(NamedTuple):
    """An instruction."""

    offset: int  # from the start of the code
    size: int  # in bytes
    text: str  # name and operands
    target: int | None  # address of a branch; None for other instructions


_X86_BRANCH = re.compile(r"j\w+|call|loop\w*")
_ARM_BRANCH = re.compile(
    r"b(?:l|lx|\.\w+)?(?:eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge"
    r"|lt|gt|le|al)?(?:\.w)?|cbn?z|tbn?z"
)
_TARGET = re.compile(r"(?:.*, )?#?(0x[0-9a-f]+)")
# Architectures of which no listings are made: what capstone calls them.
_OTHERS = {
    "riscv64": ("CS_ARCH_RISCV", "CS_MODE_RISCV64", "CS_MODE_RISCVC"),
    "riscv32": ("CS_ARCH_RISCV", "CS_MODE_RISCV32", "CS_MODE_RISCVC"),
    "powerpc64": ("CS_ARCH_PPC", "CS_MODE_64"),
    "powerpc": ("CS_ARCH_PPC", "CS_MODE_32"),
    "s390x": ("CS_ARCH_SYSZ",),
}


class Disassembler:
    """Reads the code of one architecture."""

    def __init__(self, name: str, engine: Any, alignment: int) -> None:
        self.name = name  # of the architecture, as in the API
        self.syntax = "Intel" if alignment == 1 else "ARM"  # of the text
        self.alignment = alignment  # of instructions, in bytes
        self._engine = engine
        self._branch = _X86_BRANCH if alignment == 1 else _ARM_BRANCH

    def read(self, code: bytes, address: int, size: int) -> Iterator[Instruction]:
        """The instructions that begin in the first *size* bytes of *code*.

        *code* may be longer, so that the last instruction is complete. Targets of
        branches have the base of *address*.
        """
        at = 0
        while at < min(size, len(code)):
            for start, length, name, operands in self._engine.disasm_lite(
                code[at:], address + at
            ):
                if start - address >= size:
                    return
                text = f"{name} {operands}".rstrip()
                is_branch = self._branch.fullmatch(name)
                found = _TARGET.fullmatch(operands) if is_branch else None
                target = int(found[1], 16) if found else None
                yield Instruction(start - address, length, text, target)
                at = start - address + length
            if at < min(size, len(code)):
                wrong = code[at : at + self.alignment]
                numbers = ", ".join(f"{byte:#04x}" for byte in wrong)
                text = f".byte {numbers} # Invalid instruction"
                yield Instruction(at, len(wrong), text, None)
                at += len(wrong)


def disassembler_for(
    architecture: str, *, is_big_endian: bool, is_thumb: bool
) -> Disassembler:
    """The disassembler of an architecture.

    Raises:
        UnsupportedError: The architecture is unknown, or the package is not installed.
    """
    capstone = _capstone()
    arm64 = getattr(capstone, "CS_ARCH_AARCH64", None) or capstone.CS_ARCH_ARM64
    order = capstone.CS_MODE_BIG_ENDIAN if is_big_endian else 0
    if architecture in {"i386", "i686", "x86"}:
        kind = "i686", capstone.CS_ARCH_X86, capstone.CS_MODE_32, 1
    elif architecture.startswith("x86_64"):
        kind = "x86_64", capstone.CS_ARCH_X86, capstone.CS_MODE_64, 1
    elif architecture.startswith(("aarch64", "arm64")):
        kind = "aarch64", arm64, order, 4
    elif architecture.startswith(("arm", "thumb")):
        mode = capstone.CS_MODE_THUMB if is_thumb else capstone.CS_MODE_ARM
        kind = "arm", capstone.CS_ARCH_ARM, mode | order, 2 if is_thumb else 4
    else:
        raise UnsupportedError(f"Unrecognized architecture {architecture}")
    name, number, mode, alignment = kind
    return Disassembler(name, capstone.Cs(number, mode), alignment)


def instruction_text(
    code: bytes,
    address: int,
    architecture: str,
    *,
    is_big_endian: bool = False,
    is_thumb: bool = False,
) -> str:
    """The first instruction in *code*, also of `_OTHERS`; "" if it is unknown.

    Raises:
        UnsupportedError: The architecture is unknown, or the package is not installed.
    """
    if architecture not in _OTHERS:
        reader = disassembler_for(
            architecture, is_big_endian=is_big_endian, is_thumb=is_thumb
        )
        return next(reader.read(code, address, 1)).text
    capstone = _capstone()
    number, *modes = (getattr(capstone, each) for each in _OTHERS[architecture])
    mode = sum(modes) | (capstone.CS_MODE_BIG_ENDIAN if is_big_endian else 0)
    for _, _, name, operands in capstone.Cs(number, mode).disasm_lite(code, address, 1):
        return f"{name} {operands}".rstrip()
    return ""


def _capstone() -> Any:
    try:
        import capstone
    except ImportError:
        reason = "disassembly needs the package capstone: pip install 'gsym[asm]'"
        raise UnsupportedError(reason) from None
    return capstone
