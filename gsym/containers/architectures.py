"""Names of machines, as in LLVM's target triples."""

from __future__ import annotations

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

_CUDA, _AMD_GPU = 190, 224
GPUS = frozenset({_CUDA, _AMD_GPU})
_ABI_VERSION_AT, _NEW_ABI = 8, 8
_FLAGS_AT = 48  # of a 64-bit file
# By EF_AMDGPU_MACH from 0x22 on, without `gfx`.
_GFX_NAMES = (
    "700 701 702 703 704 - 801 802 803 810 900 902 904 906 908 909 90c 1010 1011 "
    "1012 1030 1031 1032 1033 - 705 805 1035 1034 90a 940 1100 1013 1150 1103 1036 "
    "1101 1102 1200 1250 1151 941 942 - 1201 950 - 9-generic 10-1-generic "
    "10-3-generic 11-generic 1152 - - 1153 12-generic 1251 - - - - 9-4-generic"
)
_GFX = dict(enumerate(_GFX_NAMES.split(), 0x22))

_CPU_X86, _CPU_ARM, _CPU_POWERPC = 7, 12, 18
_CPU_64, _CPU_64_32 = 0x01000000, 0x02000000
_SUBTYPE_MASK = 0x00FFFFFF  # the rest are capabilities

# By (cputype, cpusubtype without its capability bits).
_MACHO = {
    (_CPU_X86, 3): "i386",
    (_CPU_X86 | _CPU_64, 3): "x86_64",
    (_CPU_X86 | _CPU_64, 8): "x86_64h",
    (_CPU_ARM, 5): "armv4t",
    (_CPU_ARM, 6): "armv6",
    (_CPU_ARM, 7): "armv5e",
    (_CPU_ARM, 8): "xscale",
    (_CPU_ARM, 9): "armv7",
    (_CPU_ARM, 11): "armv7s",
    (_CPU_ARM, 12): "armv7k",
    (_CPU_ARM, 14): "armv6m",
    (_CPU_ARM, 15): "thumbv7m",
    (_CPU_ARM, 16): "thumbv7em",
    (_CPU_ARM | _CPU_64, 0): "arm64",
    (_CPU_ARM | _CPU_64, 1): "arm64",
    (_CPU_ARM | _CPU_64, 2): "arm64e",
    (_CPU_ARM | _CPU_64_32, 1): "arm64_32",
    (_CPU_POWERPC, 0): "ppc",
    (_CPU_POWERPC | _CPU_64, 0): "ppc64",
}
# Where the kind of CPU has no name of its own.
_MACHO_FAMILY = {
    _CPU_X86: "i386",
    _CPU_X86 | _CPU_64: "x86_64",
    _CPU_ARM: "arm",
    _CPU_ARM | _CPU_64: "arm64",
    _CPU_ARM | _CPU_64_32: "arm64_32",
    _CPU_POWERPC: "ppc",
    _CPU_POWERPC | _CPU_64: "ppc64",
}

# By Machine of the COFF header.
_PE = {
    0x14C: "i386",
    0x1C4: "thumb",
    0x8664: "x86_64",
    0xAA64: "aarch64",
    0xA641: "arm64ec",
    0xA64E: "arm64x",
}


def elf_architecture(machine: int, is_64: bool, big_endian: bool) -> str:
    """Name of an ELF machine; `elf-N` for an e_machine without one."""
    return _ELF.get((machine, is_64, big_endian), f"elf-{machine}")


def gpu_architecture(machine: int, header: bytes) -> str:
    """Name of the GPU that a 64-bit ELF file is for: `sm_90`, `gfx942`.

    Args:
        machine: Its e_machine, one of `GPUS`.
        header: The first 64 bytes of the file.
    """
    flags = int.from_bytes(header[_FLAGS_AT : _FLAGS_AT + 4], "little")
    if machine == _AMD_GPU:
        found = _GFX.get(flags & 0xFF, "-")
        return f"elf-{machine}" if found == "-" else f"gfx{found}"
    # The version of the ABI says where it is.
    is_new = header[_ABI_VERSION_AT] >= _NEW_ABI
    return f"sm_{flags >> 8 & 0xFF if is_new else flags & 0xFF}"


def macho_architecture(cpu_type: int, cpu_subtype: int) -> str:
    """Name of a Mach-O machine; `macho-TYPE-SUBTYPE` for one without."""
    subtype = cpu_subtype & _SUBTYPE_MASK
    name = _MACHO.get((cpu_type, subtype)) or _MACHO_FAMILY.get(cpu_type)
    return name or f"macho-{cpu_type}-{subtype}"


def pe_architecture(machine: int) -> str:
    """Name of a PE machine; `pe-N` for one without."""
    return _PE.get(machine, f"pe-{machine}")
