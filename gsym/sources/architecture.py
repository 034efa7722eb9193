"""What LLVM's target triples call the machine that a binary is for."""

from __future__ import annotations

__all__ = ["elf_architecture"]

# By (e_machine, 64-bit, big-endian).
_ELF = {
    (3, False, False): "i386",
    (8, False, False): "mipsel",
    (8, False, True): "mips",
    (8, True, False): "mips64el",
    (8, True, True): "mips64",
    (20, False, True): "powerpc",
    (20, False, False): "powerpcle",
    (21, True, True): "powerpc64",
    (21, True, False): "powerpc64le",
    (22, True, True): "s390x",
    (40, False, False): "arm",
    (40, False, True): "armeb",
    (43, True, True): "sparcv9",
    (62, True, False): "x86_64",
    (62, False, False): "x86_64",
    (183, True, False): "aarch64",
    (183, True, True): "aarch64_be",
    (243, False, False): "riscv32",
    (243, True, False): "riscv64",
    (258, False, False): "loongarch32",
    (258, True, False): "loongarch64",
}


def elf_architecture(machine: int, is_64: bool, big_endian: bool) -> str:
    """Name of an ELF machine; `elf-N` for an e_machine without one."""
    return _ELF.get((machine, is_64, big_endian), f"elf-{machine}")
