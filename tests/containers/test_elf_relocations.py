"""What relocations do to the debug sections of relocatable files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from elftools.elf import enums
from hypothesis import given, strategies as st

import gsym
from gsym.containers.object_file import ObjectFile
from gsym.engine.native import lib
from tests.inputs.elf import (
    AARCH64,
    ABSOLUTE,
    ALPHA,
    AMDGPU,
    ARC_COMPACT,
    ARC_COMPACT2,
    ARM,
    AVR,
    BPF,
    COMMON,
    CSKY,
    CUDA,
    EXECUTABLE,
    HEXAGON,
    I386,
    IA_64,
    LOCAL,
    LOONGARCH,
    M32R,
    M68K,
    MICROBLAZE,
    MIPS,
    MSP430,
    NIOS2,
    OPENRISC,
    PARISC,
    PPC,
    PPC64,
    RELA,
    RELOCATABLE,
    RISCV,
    S390,
    SECTION,
    SH,
    SHARED,
    SPARC,
    SPARCV9,
    UNDEFINED,
    VE,
    X86_64,
    XTENSA,
    Compression,
    Elf,
    Relocation,
    Section,
    Symbol,
    code_section,
)
from tests.inputs.encoding import ByteOrder, uleb

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Name, number, what is written, how many low bits of the place take part.
TYPES = {
    (X86_64, 64): """
        R_X86_64_NONE 0 none
        R_X86_64_64 1 S+A 64
        R_X86_64_PC32 2 S+A-P 32
        R_X86_64_32 10 S+A 32
        R_X86_64_32S 11 S+A 32
        R_X86_64_16 12 S+A 16
        R_X86_64_PC16 13 S+A-P 16
        R_X86_64_8 14 S+A 8
        R_X86_64_PC8 15 S+A-P 8
        R_X86_64_DTPOFF64 17 S+A 64
        R_X86_64_DTPOFF32 21 S+A 32
        R_X86_64_PC64 24 S+A-P 64
    """,
    (I386, 32): """
        R_386_NONE 0 none
        R_386_32 1 S+A 32
        R_386_PC32 2 S+A-P 32
        R_386_16 20 S+A 16
        R_386_PC16 21 S+A-P 16
        R_386_8 22 S+A 8
        R_386_PC8 23 S+A-P 8
        R_386_TLS_LDO_32 32 S+A 32
        R_386_TLS_DTPOFF32 36 S+A 32
    """,
    (AARCH64, 64): """
        - 0 none
        R_AARCH64_NONE 256 none
        R_AARCH64_ABS64 257 S+A 64
        R_AARCH64_ABS32 258 S+A 32
        R_AARCH64_ABS16 259 S+A 16
        R_AARCH64_PREL64 260 S+A-P 64
        R_AARCH64_PREL32 261 S+A-P 32
        R_AARCH64_PREL16 262 S+A-P 16
        - 1029 S+A 64
    """,
    (AARCH64, 32): """
        - 0 none
        - 1 S+A 32
        - 2 S+A 16
        - 3 S+A-P 32
        - 4 S+A-P 16
        - 185 S+A 32
    """,
    (ARM, 32): """
        R_ARM_NONE 0 none
        R_ARM_ABS32 2 S+A 32
        R_ARM_REL32 3 S+A-P 32
        R_ARM_ABS16 5 S+A 16
        R_ARM_ABS8 8 S+A 8
        R_ARM_SBREL32 9 S+A 32
        R_ARM_TLS_DTPOFF32 18 S+A 32
        R_ARM_TARGET1 38 S+A 32
        R_ARM_PREL31 42 S+A-P 31
        R_ARM_TLS_LDO32 106 S+A 32
    """,
    **dict.fromkeys(
        [(RISCV, 32), (RISCV, 64)],
        """
        - 0 none
        - 1 S+A 32
        - 2 S+A 64
        - 8 S+A 32
        - 9 S+A 64
        - 33 + 8
        - 34 + 16
        - 35 + 32
        - 36 + 64
        - 37 - 8
        - 38 - 16
        - 39 - 32
        - 40 - 64
        - 43 none
        - 51 none
        - 52 - 6
        - 53 S+A 6
        - 54 S+A 8
        - 55 S+A 16
        - 56 S+A 32
        - 57 S+A-P 32
        - 59 S+A-P 32
        - 60 uleb 0
        - 61 uleb- 0
        """,
    ),
    (LOONGARCH, 64): """
        R_LARCH_NONE 0 none
        R_LARCH_32 1 S+A 32
        R_LARCH_64 2 S+A 64
        R_LARCH_TLS_DTPREL32 8 S+A 32
        R_LARCH_TLS_DTPREL64 9 S+A 64
        R_LARCH_MARK_LA 20 none
        R_LARCH_MARK_PCREL 21 none
        R_LARCH_ADD8 47 + 8
        R_LARCH_ADD16 48 + 16
        R_LARCH_ADD24 49 + 24
        R_LARCH_ADD32 50 + 32
        R_LARCH_ADD64 51 + 64
        R_LARCH_SUB8 52 - 8
        R_LARCH_SUB16 53 - 16
        R_LARCH_SUB24 54 - 24
        R_LARCH_SUB32 55 - 32
        R_LARCH_SUB64 56 - 64
        R_LARCH_32_PCREL 99 S+A-P 32
        R_LARCH_RELAX 100 none
        R_LARCH_ALIGN 102 none
        R_LARCH_ADD6 105 + 6
        R_LARCH_SUB6 106 - 6
        R_LARCH_ADD_ULEB128 107 uleb+ 0
        R_LARCH_SUB_ULEB128 108 uleb- 0
        R_LARCH_64_PCREL 109 S+A-P 64
    """,
    (PPC64, 64): """
        R_PPC64_NONE 0 none
        R_PPC64_ADDR32 1 S+A 32
        R_PPC64_ADDR16 3 S+A 16
        R_PPC64_UADDR32 24 S+A 32
        R_PPC64_UADDR16 25 S+A 16
        R_PPC64_REL32 26 S+A-P 32
        R_PPC64_ADDR64 38 S+A 64
        R_PPC64_UADDR64 43 S+A 64
        R_PPC64_REL64 44 S+A-P 64
        R_PPC64_DTPREL64 78 S+A 64
    """,
    (PPC, 32): """
        R_PPC_NONE 0 none
        R_PPC_ADDR32 1 S+A 32
        R_PPC_ADDR16 3 S+A 16
        R_PPC_UADDR32 24 S+A 32
        R_PPC_UADDR16 25 S+A 16
        R_PPC_REL32 26 S+A-P 32
        - 38 S+A 64
        - 43 S+A 64
        - 44 S+A-P 64
        - 78 S+A 32
    """,
    (S390, 64): """
        R_390_NONE 0 none
        R_390_8 1 S+A 8
        R_390_16 3 S+A 16
        R_390_32 4 S+A 32
        R_390_PC32 5 S+A-P 32
        R_390_PC16 16 S+A-P 16
        R_390_64 22 S+A 64
        R_390_PC64 23 S+A-P 64
        R_390_TLS_LDO32 52 S+A 32
        R_390_TLS_LDO64 53 S+A 64
    """,
    **dict.fromkeys(
        [(MIPS, 32), (MIPS, 64)],
        """
        R_MIPS_NONE 0 none
        R_MIPS_16 1 S+A 16
        R_MIPS_32 2 S+A 32
        R_MIPS_64 18 S+A 64
        R_MIPS_TLS_DTPREL32 39 S+A 32
        R_MIPS_TLS_DTPREL64 41 S+A 64
        R_MIPS_PC32 248 S+A-P 32
        """,
    ),
    **dict.fromkeys(
        [(SPARC, 32), (SPARCV9, 64)],
        """
        - 0 none
        - 1 S+A 8
        - 2 S+A 16
        - 3 S+A 32
        - 4 S+A-P 8
        - 5 S+A-P 16
        - 6 S+A-P 32
        - 23 S+A 32
        - 32 S+A 64
        - 46 S+A-P 64
        - 54 S+A 64
        - 55 S+A 16
        - 76 S+A 32
        - 77 S+A 64
        """,
    ),
    (HEXAGON, 32): """
        - 0 none
        - 6 S+A 32
        - 7 S+A 16
        - 8 S+A 8
        - 31 S+A-P 32
        - 47 S+A 32
    """,
    (M68K, 32): """
        - 0 none
        - 1 S+A 32
        - 2 S+A 16
        - 3 S+A 8
        - 4 S+A-P 32
        - 5 S+A-P 16
        - 6 S+A-P 8
        - 31 S+A 32
    """,
    (BPF, 64): """
        R_BPF_NONE 0 none
        R_BPF_64_64 1 S+A 64
        R_BPF_64_32 10 S+A 32
        R_BPF_64_ABS64 2 S+A 64
        R_BPF_64_ABS32 3 S+A 32
        R_BPF_64_NODYLD32 4 S+A 32
        R_BPF_DATA_32 11 S+A 32
        R_BPF_DATA_64 12 S+A 64
    """,
    (SH, 32): """
        - 0 none
        - 1 + 32
        - 146 + 32
        - 150 + 32
    """,
    (ALPHA, 64): """
        - 0 none
        - 1 S+A 32
        - 2 S+A 64
        - 9 S+A-P 16
        - 10 S+A-P 32
        - 11 S+A-P 64
        - 33 S+A 64
    """,
    **dict.fromkeys(
        [(PARISC, 32), (PARISC, 64)],
        """
        - 0 none
        - 1 S+A 32
        - 9 S+A-P 32
        - 41 S+A 32
        - 72 S+A-P 64
        - 80 S+A 64
        - 104 S+A 64
        - 244 S+A 32
        - 245 S+A 64
        """,
    ),
    (IA_64, 64): """
        - 0 none
        - 36 S+A 32
        - 37 S+A 32
        - 38 S+A 64
        - 39 S+A 64
        - 76 S+A-P 32
        - 77 S+A-P 32
        - 78 S+A-P 64
        - 79 S+A-P 64
        - 100 S+A 32
        - 101 S+A 32
        - 102 S+A 64
        - 103 S+A 64
        - 180 S+A 32
        - 181 S+A 32
        - 182 S+A 64
        - 183 S+A 64
    """,
    (AVR, 32): """
        - 0 none
        - 1 S+A 32
        - 4 S+A 16
        - 26 S+A 8
        - 30 none
        - 31 none
        - 32 none
    """,
    (M32R, 32): """
        - 0 none
        - 1 S+A 16
        - 2 S+A 32
        - 33 S+A 16
        - 34 S+A 32
        - 45 S+A-P 32
    """,
    (OPENRISC, 32): """
        - 0 none
        - 1 S+A 32
        - 2 S+A 16
        - 3 S+A 8
        - 9 S+A-P 32
        - 10 S+A-P 16
        - 11 S+A-P 8
    """,
    **dict.fromkeys(
        [(ARC_COMPACT, 32), (ARC_COMPACT2, 32)],
        """
        - 0 none
        - 1 S+A 8
        - 2 S+A 16
        - 4 S+A 32
        - 49 S+A-P 32
        - 67 S+A 32
        """,
    ),
    (XTENSA, 32): """
        - 0 none
        - 1 + 32
        - 17 none
        - 18 none
        - 19 none
        - 52 + 32
        - 57 none
        - 58 none
        - 59 none
        - 60 none
        - 61 none
        - 62 none
    """,
    (MSP430, 32): """
        - 0 none
        - 1 S+A 32
        - 3 S+A 16
        - 5 S+A 16
        - 9 S+A 8
    """,
    (MICROBLAZE, 32): """
        - 0 none
        - 1 S+A 32
        - 2 S+A-P 32
    """,
    (CUDA, 64): """
        - 0 none
        - 1 S+A 32
        - 2 S+A 64
    """,
    (AMDGPU, 64): """
        - 0 none
        - 3 S+A 64
        - 4 S+A-P 32
        - 5 S+A-P 64
        - 6 S+A 32
    """,
    (CSKY, 32): """
        - 0 none
        - 1 S+A 32
        - 5 S+A-P 32
        - 57 S+A 32
    """,
    (NIOS2, 32): """
        - 0 none
        - 12 S+A 32
        - 13 S+A 16
        - 14 S+A 8
        - 34 S+A 32
    """,
    (VE, 64): """
        - 0 none
        - 1 S+A 32
        - 2 S+A 64
        - 3 S+A-P 32
        - 23 S+A 64
    """,
}
ENUMS = {
    X86_64: enums.ENUM_RELOC_TYPE_x64,
    I386: enums.ENUM_RELOC_TYPE_i386,
    AARCH64: enums.ENUM_RELOC_TYPE_AARCH64,
    ARM: enums.ENUM_RELOC_TYPE_ARM,
    LOONGARCH: enums.ENUM_RELOC_TYPE_LOONGARCH,
    PPC64: enums.ENUM_RELOC_TYPE_PPC64,
    PPC: enums.ENUM_RELOC_TYPE_PPC,
    S390: enums.ENUM_RELOC_TYPE_S390X,
    MIPS: enums.ENUM_RELOC_TYPE_MIPS,
    BPF: enums.ENUM_RELOC_TYPE_BPF,
}


class Type(NamedTuple):
    """A relocation type of a machine, as one line of the table has it."""

    machine: int
    word: int
    name: str
    number: int
    operation: str
    bits: int = 0


def read_types() -> Iterator[Type]:
    for (machine, word), text in TYPES.items():
        for line in text.strip().splitlines():
            name, number, operation, *bits = line.split()
            yield Type(machine, word, name, int(number), operation, *map(int, bits))


ALL_TYPES = list(read_types())
ORDERS: tuple[ByteOrder, ...] = ("little", "big")


LONGEST_ULEB128 = 16  # bytes; longer ones are left alone and counted


def apply(  # noqa: PLR0913 - what a relocation is
    kind: Type,
    data: bytes,
    offset: int,
    value: int,
    order: ByteOrder,
    *,
    in_place: bool,
) -> bytes:
    """*data* with S + A = *value* applied, by the words of the processor supplements.

    *in_place* says that the addend stands at the place and is not part of *value*.
    """
    if kind.operation == "none":
        return data
    if kind.operation.startswith("uleb"):
        end = next(i for i in range(offset, len(data)) if data[i] < 0x80) + 1
        groups = [each & 0x7F for each in data[offset:end]]
        present = sum(group << (7 * i) for i, group in enumerate(groups))
        sums = {"": value, "+": present + value, "-": present - value}
        number = sums[kind.operation[4:]] % (1 << min(64, 7 * len(groups)))
        return data[:offset] + uleb(number, len(groups)) + data[end:]
    end = offset + (kind.bits + 7) // 8
    present = int.from_bytes(data[offset:end], order)
    if kind.operation in {"+", "-"}:
        value = present + value if kind.operation == "+" else present - value
    else:
        value += present if in_place else 0
        value -= offset if kind.operation == "S+A-P" else 0
    mask = (1 << kind.bits) - 1
    number = present & ~mask | value & mask
    return data[:offset] + number.to_bytes(end - offset, order) + data[end:]


PLACE = bytes(range(0x90, 0xB0))
TEXT_SIZE = 0x12345678
G_ADDRESS = TEXT_SIZE + 8


def relocatable(  # noqa: PLR0913 - keywords, each a choice of its own
    *relocations: Relocation,
    data: bytes = PLACE,
    machine: int = X86_64,
    bits: int = 64,
    byteorder: ByteOrder = "little",
    explicit_addends: bool = True,
    compression: Compression | None = None,
) -> Elf:
    """A file whose .debug_info is *data*, with a symbol g behind much code."""
    return Elf(
        [
            code_section(0, TEXT_SIZE),
            code_section(0, 0x100, ".text.g"),
            Section(".debug_info", data, compression=compression),
        ],
        symbols=[Symbol("g", 8, 4, section=".text.g")],
        relocations=[(".debug_info", relocations)],
        machine=machine,
        bits=bits,
        byteorder=byteorder,
        explicit_addends=explicit_addends,
        type=RELOCATABLE,
    )


class Outcome(NamedTuple):
    data: bytes
    failed: int


def relocate(elf: Elf | bytes, name: bytes = b".debug_info") -> Outcome:
    image = elf if isinstance(elf, bytes) else elf.to_bytes()
    with ObjectFile(memoryview(image), "input") as source:
        data = source.section(name)
        assert data is not None
        return Outcome(bytes(data), sum(source.unapplied_relocations.values()))


@pytest.mark.parametrize("explicit", [True, False], ids=["RELA", "REL"])
@pytest.mark.parametrize(("machine", "bits"), TYPES, ids=str)
def test_a_type_does_what_the_processor_supplement_says(
    machine: int, bits: int, *, explicit: bool
) -> None:
    """Each type in both kinds of sections, of each two types in all byte orders."""
    kinds = [kind for kind in ALL_TYPES if (kind.machine, kind.word) == (machine, bits)]
    for number, kind in enumerate(kinds):
        check_type(kind, ORDERS[explicit ^ number % 2], explicit=explicit)


def check_type(kind: Type, order: ByteOrder, *, explicit: bool) -> None:
    offset, addend = 5, -0x1021
    data = PLACE[:9] + b"\x03" + PLACE[10:] if "uleb" in kind.operation else PLACE
    elf = relocatable(
        Relocation(offset, kind.number, "g", addend),
        data=data,
        machine=kind.machine,
        bits=kind.word,
        byteorder=order,
        explicit_addends=explicit,
    )
    value = G_ADDRESS + (addend if explicit else 0)
    expected = apply(kind, data, offset, value, order, in_place=not explicit)
    assert relocate(elf) == (expected, 0), kind


@pytest.mark.parametrize(("machine", "bits"), TYPES, ids=str)
def test_other_types_are_counted_and_change_nothing(machine: int, bits: int) -> None:
    known = {
        kind.number
        for kind in ALL_TYPES
        if (kind.machine, kind.word) == (machine, bits)
    }
    most = 0x100 if bits == 32 or machine == SPARCV9 else 0x500
    others = [number for number in range(most) if number not in known]
    elf = relocatable(
        *(Relocation(0, number, "g") for number in others), machine=machine, bits=bits
    )
    assert relocate(elf) == (PLACE, len(others))


def test_the_numbers_are_those_of_pyelftools() -> None:
    named = [kind for kind in ALL_TYPES if kind.name in ENUMS.get(kind.machine, {})]
    assert len(named) > 100
    assert [ENUMS[kind.machine][kind.name] for kind in named] == [
        kind.number for kind in named
    ]


@pytest.mark.parametrize("place", [len(PLACE), 1 << 40, (1 << 64) - 1])
def test_a_place_outside_of_its_section_makes_nothing_doubtful(place: int) -> None:
    image = relocatable(Relocation(place, 0xFE, "g")).to_bytes()
    with ObjectFile(memoryview(image), "input") as source:
        section = source.debug_section(lib.GSYM_DEBUG_INFO)
        assert section is not None
        assert section.distrusted == (len(PLACE), len(PLACE))
        assert sum(source.unapplied_relocations.values()) == 1


def test_an_unknown_machine_has_no_types() -> None:
    elf = relocatable(Relocation(0, 1, "g"), machine=0xFFF0)
    assert relocate(elf) == (PLACE, 1)


@pytest.mark.parametrize("order", ["little", "big"])
def test_mips_types_that_work_together_are_counted(order: ByteOrder) -> None:
    both = Relocation(0, 18 << 8 | 3, "g")  # R_MIPS_REL32, then R_MIPS_64
    elf = relocatable(both, machine=MIPS, byteorder=order)
    assert relocate(elf) == (PLACE, 1)


def test_sparc_keeps_other_things_above_the_type() -> None:
    elf = relocatable(Relocation(0, 0xABCD00 | 54, "g"), machine=SPARCV9)
    assert relocate(elf).data == G_ADDRESS.to_bytes(8, "little") + PLACE[8:]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([kind for kind in ALL_TYPES if kind.word == 64]),
            st.integers(0, len(PLACE) - 9),
            st.integers(-(1 << 63), (1 << 63) - 1),
        ),
        max_size=8,
    ),
    st.sampled_from([RISCV, LOONGARCH, X86_64, MIPS]),
    st.sampled_from(["little", "big"]),
)
def test_many_relocations_act_one_after_the_other(
    chosen: list[tuple[Type, int, int]], machine: int, order: ByteOrder
) -> None:
    data = PLACE[:-1] + b"\x05"
    expected, failed = data, 0
    relocations = []
    for kind, offset, addend in chosen:
        if kind.machine == machine:
            relocations.append(Relocation(offset, kind.number, "g", addend))
            value = G_ADDRESS + addend
            number = expected[offset : offset + LONGEST_ULEB128]
            if kind.operation.startswith("uleb") and min(number) >= 0x80:
                failed += 1
                continue
            expected = apply(kind, expected, offset, value, order, in_place=False)
    elf = relocatable(*relocations, data=data, machine=machine, byteorder=order)
    assert relocate(elf) == (expected, failed)


# ---- symbols ------------------------------------------------------------------------


def absolute(value: int, data: bytes = PLACE) -> bytes:
    """*data* with *value* in its first 8 bytes."""
    return value.to_bytes(8, "little") + data[8:]


SYMBOLS = {
    "a function": (Symbol("s", 0x10, section=".text.g"), TEXT_SIZE + 0x10),
    "a section": (
        Symbol("s", 0, kind=SECTION, binding=LOCAL, section=".text.g"),
        TEXT_SIZE,
    ),
    "a section that is not loaded": (
        Symbol("s", 0x10, kind=SECTION, section=".debug_str"),
        0x10,
    ),
    "undefined": (Symbol("s", 0x10, section=UNDEFINED), 0),
    "absolute": (Symbol("s", 0x10, section=ABSOLUTE), 0x10),
    "common, whose value is an alignment": (Symbol("s", 0x10, section=COMMON), 0),
}


@pytest.mark.parametrize("name", SYMBOLS)
def test_the_value_of_a_symbol_counts_from_its_section(name: str) -> None:
    symbol, value = SYMBOLS[name]
    for extended in (False, True):
        elf = Elf(
            [
                code_section(0, TEXT_SIZE),
                code_section(0, 0x100, ".text.g"),
                Section(".debug_str", b"\0"),
                Section(".debug_info", PLACE),
            ],
            symbols=[Symbol("other", 1), symbol],
            relocations=[(".debug_info", [Relocation(0, 1, "s", 3)])],
            type=RELOCATABLE,
            extended=extended,
        )
        assert relocate(elf) == (absolute(value + 3), 0)


def test_no_symbol_is_the_value_0() -> None:
    assert relocate(relocatable(Relocation(0, 1, 0, 7))) == (absolute(7), 0)


@pytest.mark.parametrize("symbol", [2, 3, 1 << 31])
def test_a_symbol_that_does_not_exist_is_counted(symbol: int) -> None:
    assert relocate(relocatable(Relocation(0, 1, symbol))) == (PLACE, 1)


def test_a_symbol_of_a_section_that_does_not_exist_is_counted() -> None:
    elf = Elf(
        [code_section(), Section(".debug_info", PLACE)],
        symbols=[Symbol("s", 8, section=0x1234)],
        relocations=[(".debug_info", [Relocation(0, 1, "s")])],
        type=RELOCATABLE,
    )
    assert relocate(elf) == (PLACE, 1)


def test_without_a_symbol_table_only_the_value_0_is_known() -> None:
    relocations = [Relocation(0, 1, 0, 5), Relocation(8, 1, 1)]
    elf = Elf(
        [Section(".debug_info", PLACE)],
        relocations=[(".debug_info", relocations)],
        type=RELOCATABLE,
    )
    assert relocate(elf) == (absolute(5), 1)


# ---- which sections -----------------------------------------------------------------


@pytest.mark.parametrize("how", ["zlib", "zstd", "gnu"])
def test_offsets_count_in_the_inflated_section(how: Compression) -> None:
    data = bytes(1000) + PLACE
    elf = relocatable(Relocation(1000, 1, "g"), data=data, compression=how)
    name = b".zdebug_info" if how == "gnu" else b".debug_info"
    assert relocate(elf, name) == (bytes(1000) + absolute(G_ADDRESS), 0)


@pytest.mark.parametrize("kind", [EXECUTABLE, SHARED])
def test_what_a_linker_has_done_is_not_done_again(kind: int) -> None:
    """As by `ld --emit-relocs`."""
    elf = relocatable(Relocation(0, 1, "g"))
    image = bytearray(elf.to_bytes())
    image[16:18] = kind.to_bytes(2, "little")
    assert relocate(bytes(image)) == (PLACE, 0)


def test_all_sections_of_relocations_count_in_their_order() -> None:
    add, subtract = Relocation(0, 36, "g", 5), Relocation(0, 60, "g", 9)
    for relocations in ([add], [subtract]), ([subtract], [add]):
        elf = Elf(
            [code_section(0, 0x100), Section(".debug_info", bytes(16))],
            symbols=[Symbol("g", 0x20)],
            relocations=[(".debug_info", each) for each in relocations],
            machine=RISCV,
            type=RELOCATABLE,
        )
        first = relocations[0][0]
        # The first byte is a number of one byte: 0x29, then 0x25 is added; or not.
        expected = 0x25 + 0x29 if first is subtract else 0x29
        assert relocate(elf).data[0] == expected


# ---- damage -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "kind"),
    [
        (len(PLACE) - 7, 1),
        (len(PLACE) - 3, 10),
        (len(PLACE), 24),
        (len(PLACE) + 1, 1),
        (1 << 32, 10),
        ((1 << 64) - 1, 24),
    ],
)
def test_a_place_outside_of_the_section_is_counted(offset: int, kind: int) -> None:
    assert relocate(relocatable(Relocation(offset, kind, "g"))) == (PLACE, 1)


@pytest.mark.parametrize("offset", [len(PLACE) - 1, len(PLACE), (1 << 64) - 1])
def test_a_number_that_does_not_end_is_counted(offset: int) -> None:
    elf = relocatable(Relocation(offset, 60, "g"), machine=RISCV)
    assert relocate(elf) == (PLACE, 1)


def with_relocations(**changes: int) -> bytes:
    """A file whose section of relocations has other header fields."""
    elf = relocatable(Relocation(0, 1, "g"))
    fields = {"kind": RELA, "link": 4, "info": 3, "size": 24, **changes}
    image = bytearray(elf.to_bytes())
    table = int.from_bytes(image[40:48], "little")
    header = table + 6 * 64
    assert image[header + 4] == RELA
    places = {"kind": (4, 4), "link": (40, 4), "info": (44, 4), "size": (32, 8)}
    for name, value in fields.items():
        at, width = places[name]
        image[header + at : header + at + width] = value.to_bytes(width, "little")
    return bytes(image)


@pytest.mark.parametrize("info", [0, 6, 0xFFFFFFFF])
def test_relocations_of_other_sections_change_nothing(info: int) -> None:
    assert relocate(with_relocations(info=info)) == (PLACE, 0)


@pytest.mark.parametrize("link", [0, 3, 0xFFFFFFFF])
def test_a_link_to_no_symbol_table_is_counted(link: int) -> None:
    assert relocate(with_relocations(link=link)) == (PLACE, 1)


@pytest.mark.parametrize("size", [0, 1, 23])
def test_half_an_entry_is_none(size: int) -> None:
    assert relocate(with_relocations(size=size)) == (PLACE, 0)


@pytest.mark.parametrize("size", [1 << 16, 1 << 63, (1 << 64) - 1])
def test_relocations_past_the_end_of_the_file_are_refused(size: int) -> None:
    with pytest.raises(gsym.FormatError, match=r"\.rela\.debug_info.*past the end"):
        relocate(with_relocations(size=size))


def share_bytes(image: bytes, first: int, others: Iterable[int]) -> bytes:
    """The file, with sections that stand where section number *first* does."""
    changed = bytearray(image)
    table = int.from_bytes(image[40:48], "little")
    place = slice(table + first * 64 + 24, table + first * 64 + 40)
    for index in others:
        header = table + index * 64
        changed[header + 24 : header + 40] = image[place]
    return bytes(changed)


def test_relocations_that_several_sections_share_are_refused() -> None:
    count = 64
    many = [Relocation(0, 1, "g")] * 1000
    elf = Elf(
        [
            code_section(0),
            Section(".debug_info", PLACE),
            *[Section(f".debug_{number}", PLACE) for number in range(count)],
        ],
        symbols=[Symbol("g", 0)],
        relocations=[
            (".debug_info", many),
            *[(f".debug_{number}", many[:1]) for number in range(count)],
        ],
        type=RELOCATABLE,
    )
    assert relocate(elf) == (absolute(0), 0)
    image = elf.to_bytes()
    first = 2 + count + 3
    shared = share_bytes(image, first, range(first + 1, first + 1 + count))
    with pytest.raises(gsym.FormatError, match="shares its bytes"):
        relocate(shared)


@pytest.mark.parametrize("size", [15, 16, 17, 1 << 20])
def test_numbers_are_as_long_as_any_that_is_needed(size: int) -> None:
    """Or many relocations could name one that is as long as the section."""
    data = b"\x80" * (size - 1) + b"\0"
    elf = relocatable(*[Relocation(0, 60, "g")] * 1000, data=data, machine=RISCV)
    if size <= 16:
        assert relocate(elf) == (uleb(G_ADDRESS, size), 0)
    else:
        assert relocate(elf) == (data, 1000)


# ---- debug sections that share a name ------------------------------------------------


def join(image: bytes) -> bytes:
    with ObjectFile(memoryview(image), "input") as source:
        section = source.debug_section(lib.GSYM_DEBUG_INFO)
        assert section is not None
        return bytes(section[0])


def with_units(*units: bytes) -> bytes:
    sections = [Section(".debug_info", unit) for unit in units]
    return Elf(
        [code_section(0), *sections, Section(".other", b"12345678")], type=RELOCATABLE
    ).to_bytes()


def test_sections_of_units_are_joined_in_their_order() -> None:
    assert join(with_units(b"first", b"second", b"third")) == b"firstsecondthird"


@pytest.mark.parametrize("compression", [None, "zlib", "gnu"])
def test_what_refers_to_a_joined_section_finds_its_place_in_the_whole(
    compression: Compression | None,
) -> None:
    elf = Elf(
        [
            code_section(0),
            Section(".debug_line", b"first" * 100, compression=compression),
            Section(".debug_line", b"second", compression=compression),
            Section(".debug_info", bytes(4)),
        ],
        symbols=[Symbol("$line", 0, kind=0, section=3)],
        relocations=[(".debug_info", [Relocation(0, 10, "$line", 3)])],
        type=RELOCATABLE,
    )
    place = int.from_bytes(relocate(elf).data, "little")
    with ObjectFile(memoryview(elf.to_bytes()), "input") as source:
        section = source.debug_section(lib.GSYM_DEBUG_LINE)
        assert source.debug_section_size(lib.GSYM_DEBUG_LINE) == 506
    assert section is not None
    assert bytes(section[0][place:]) == b"ond"


def test_sections_of_units_that_share_their_bytes_are_refused() -> None:
    """Or a small file could ask for any amount of memory."""
    image = with_units(bytes(10_000), *[b""] * 100)
    with pytest.raises(gsym.FormatError, match="share their bytes"):
        join(share_bytes(image, 2, range(3, 103)))
