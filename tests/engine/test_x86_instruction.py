"""Sizes of x86-64 instructions, and which of them are calls; capstone is the judge."""

from __future__ import annotations

import sysconfig
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings, strategies as st

from tests.machine_code import Found, go_through

if TYPE_CHECKING:
    from collections.abc import Iterator


pytestmark = pytest.mark.long

MOST = 15  # bytes of an instruction
BOUND = 500_000  # bytes of a section that capstone, which takes long, goes through

CALLS = """
    e8 01 02 03 04           | call +
    48 e8 01 02 03 04        | call with REX.W
    66 48 e8 01 02 03 04     | call of a thread-local variable's address
    66 e8 01 02 03 04        | call: the operand size is always 64 bits
    67 e8 01 02 03 04        | call that a linker made of one through a table
    f2 e8 01 02 03 04        | call with a bound prefix
    ff d0                    | call of a register
    41 ff d7                 | call of a new register
    ff 10                    | call through memory
    ff 14 25 01 02 03 04     | call through memory without a base
    ff 15 01 02 03 04        | call through memory relative to the instruction
    42 ff 54 c3 10           | call with SIB and a displacement of a byte
    ff 94 c3 01 02 03 04     | call with SIB and a displacement
    3e ff d0                 | call that may jump anywhere
    d5 10 ff d0              | call of a register of APX
    ff 1b                    | far call
    48 ff 5d 08              | far call with a displacement
    0f 05                    | system call
    cd 80                    | interrupt
"""

OTHERS = """
    cc                             | breakpoint
    0f 34                          | fast system call, which returns elsewhere
    f1                             | breakpoint of a debugger
    e9 01 02 03 04                 | jump
    66 e9 01 02 03 04              | jump: the operand size is always 64 bits
    eb 10                          | short jump
    ff e0                          | jump to a register
    ff 25 01 02 03 04              | jump through memory
    ff 6b 08                       | far jump
    0f 84 01 02 03 04              | jump if equal
    66 0f 84 01 02 03 04           | the same with a prefix that does nothing
    c3                             | return
    c2 10 00                       | return that pops
    c8 10 00 01                    | enter
    90                             | nothing
    66 2e 0f 1f 84 00 00 00 00 00  | nothing, at length
    6a 10                          | push of a byte
    68 01 02 03 04                 | push
    66 68 01 02                    | push of 16 bits
    48 b8 01 02 03 04 05 06 07 08  | move of 64 bits
    b8 01 02 03 04                 | move of 32 bits
    66 b8 01 02                    | move of 16 bits
    66 48 b8 01 02 03 04 05 06 07 08 | REX.W outweighs the operand size
    48 66 b8 01 02                 | REX in front of a prefix does nothing
    a1 01 02 03 04 05 06 07 08     | move from an address
    67 a1 01 02 03 04              | move from an address of 32 bits
    66 a1 01 02 03 04 05 06 07 08  | move of 16 bits from an address
    c7 04 25 01 02 03 04 05 06 07 08 | move into memory
    66 c7 40 08 01 02              | move of 16 bits into memory
    c7 f8 01 02 03 04              | begin of a transaction
    c6 f8 01                       | end of one
    f6 c0 01                       | test of a byte
    f6 d0                          | not, of the same opcode
    f7 c0 01 02 03 04              | test
    66 f7 c0 01 02                 | test of 16 bits
    f7 d8                          | negation, of the same opcode
    80 38 01                       | comparison with a byte
    66 81 38 01 02                 | comparison with 16 bits
    69 c0 01 02 03 04              | multiplication
    8f 00                          | pop into memory
    8f c0                          | pop
    0f 01 d0                       | opcode with ModRM as a part of it
    0f 20 00                       | control register: ModRM never tells of memory
    0f 38 f0 00                    | map 0F38
    66 0f 3a 0f c1 08              | map 0F3A
    0f 0f c1 9e                    | 3DNow!
    66 0f 78 c0 01 02              | EXTRQ
    0f 78 c0                       | VMREAD, of the same opcode
    66 0f 78 05 01 02 03 04        | VMREAD into memory, with a prefix
    0f a4 c1 08                    | shift with a byte
    0f ba e0 08                    | bit test
    f3 0f b8 c1                    | count of bits
    c5 f8 77                       | VZEROUPPER
    c5 f9 70 c1 08                 | VEX of two bytes with an operand of a byte
    c5 fc 28 00                    | VEX of two bytes
    c4 e2 7d 18 05 01 02 03 04     | VEX, map 2
    c4 e3 7d 19 c1 01              | VEX, map 3
    8f e9 78 01 c8                 | XOP, map 9
    8f e8 78 c0 c1 08              | XOP, map 8
    8f ea 78 10 c1 01 02 03 04     | XOP, map 10
    62 f1 7c 48 28 40 01           | EVEX, map 1
    62 f1 7d 48 70 c1 08           | EVEX, map 1, with an operand of a byte
    62 f2 7d 48 18 c1              | EVEX, map 2
    62 f3 7d 48 19 c1 01           | EVEX, map 3
    62 f5 7c 48 58 c1              | EVEX, map 5
    62 f6 7d 48 98 c1              | EVEX, map 6
    62 f4 7c 18 81 c0 01 02 03 04  | EVEX, map 4: what was there before APX
    62 f4 7d 18 81 c0 01 02        | the same of 16 bits
    d5 18 b8 01 02 03 04 05 06 07 08 | REX2 with W
    d5 80 af c1                    | REX2, second map
    d5 00 a1 01 02 03 04 05 06 07 08 | jump to an address of 64 bits
"""

UNDEFINED = """
    06          | push of a segment, gone
    0e          | the same
    27          | decimal arithmetic, gone
    60          | push of all registers, gone
    82 c0 01    | a twin of 80, gone
    9a 01 02 03 04 05 06 | far call to an address, gone
    ce          | interrupt on overflow, gone
    d4 0a       | decimal arithmetic, gone
    d6          | never documented, gone
    ea 01 02 03 04 05 06 | far jump to an address, gone
    ff d8       | far call of a register
    ff e8       | far jump to a register
    ff f8       | last of its group
    fe d0       | third of its group
    8f e0       | fifth of its group
    8f eb 78 10 c0 | XOP without a map
    c6 c8 01    | second of its group
    0f 04       | nothing there
    0f b8 c0    | only with a prefix
    0f ba c0 01 | first of its group
    66 c5 f8 77 | VEX behind a prefix that it replaces
    48 c5 f8 77 | VEX behind REX
    c4 e0 78 10 c0 | VEX without a map
    62 f0 7c 48 10 c0 | EVEX without a map
    48 d5 00 90 | REX2 behind REX
    d5 00 e8 01 02 03 04 | REX2 in front of a row without it
    d5 00 0f 05 | REX2 names the map itself
"""


def cases(table: str) -> list[tuple[bytes, str]]:
    lines = (line.split("|") for line in table.strip().splitlines())
    return [(bytes.fromhex(code), title.strip()) for code, title in lines]


@pytest.mark.parametrize(("code", "title"), cases(CALLS))
def test_a_call_has_its_size(code: bytes, title: str) -> None:
    assert go_through(code) == Found([(0, len(code))], 1), title


def test_another_instruction_has_its_size() -> None:
    for code, title in cases(OTHERS):
        assert go_through(code) == Found([], 1), title


def test_an_instruction_that_is_cut_off_is_none() -> None:
    for code, title in [*cases(CALLS), *cases(OTHERS)]:
        for size in range(1, len(code)):
            assert go_through(code[:size]) == Found([], 0, ended_early=True), title


def test_an_undefined_instruction_ends_the_function() -> None:
    call = bytes.fromhex("e8 00 00 00 00")
    expected = Found([(0, 5)], 1, ended_early=True)
    for code, title in cases(UNDEFINED):
        assert go_through(call + code + call) == expected, title


@pytest.mark.parametrize("prefixes", range(20))
def test_an_instruction_has_15_bytes_at_most(prefixes: int) -> None:
    call = b"\x66" * prefixes + bytes.fromhex("ff d0")
    is_short = len(call) <= MOST
    expected = [(0, len(call))] if is_short else []
    assert go_through(call) == Found(expected, is_short, not is_short)


def test_the_longest_instruction_has_15_bytes() -> None:
    move = bytes.fromhex("64 67 f0 66 81 84 c3 01 02 03 04 05 06")
    assert go_through(b"\x2e\x2e" + move) == Found([], 1)
    assert go_through(b"\x2e\x2e\x2e" + move) == Found([], 0, ended_early=True)


# ---- capstone

PREFIXES = b"\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3"
# Where capstone sees another instruction: code, our size of it, why.
DIFFERENCES = """
    66 0f 80 01 02 03 04 | 7 | near branches have 32 bits on Intel's processors
    66 0f 81 01 02 03 04 | 7 | near branches have 32 bits on Intel's processors
    0f ff c0             | 3 | UD0 has ModRM on Intel's processors
    0f b9 c0             | 3 | UD1 has ModRM
    66 48 c2 10 00 01 02 | 5 | capstone takes four bytes for the two
    66 c5 f8 28 c1       | 0 | VEX stands for the prefixes in front of it
    f2 c4 e2 7d 18 c1    | 0 | VEX stands for the prefixes in front of it
    66 62 f2 7d 48 18 c1 | 0 | and so does EVEX
    66 8f e9 78 01 c8    | 0 | and XOP
"""


def disassemble(code: bytes) -> Iterator[tuple[int, int, str]]:
    """Offset, size and name of each instruction, as capstone sees them."""
    capstone = pytest.importorskip("capstone")
    engine = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    for offset, size, name, _ in engine.disasm_lite(code, 0):
        yield offset, size, name


def is_call(name: str) -> bool:
    words = {"call", "callw", "lcall", "syscall", "int"}
    return name.rsplit(maxsplit=1)[-1] in words


def is_known_to_differ(code: bytes) -> bool:
    """Whether DIFFERENCES has this instruction."""
    opcode = code.lstrip(PREFIXES + bytes(range(0x40, 0x50)))
    prefixes = code[: len(code) - len(opcode)]
    is_xop = opcode[:1] == b"\x8f" and opcode[1] & 0x1F >= 8
    if is_xop or opcode[:1] in {b"\x62", b"\xc4", b"\xc5"}:
        return bool(set(prefixes) - set(b"\x26\x2e\x36\x3e\x64\x65\x67"))
    if 0x66 in prefixes and opcode[:1] == b"\xc2":
        return True
    is_near = 0x66 in prefixes and opcode[:2] in {b"\x0f\x80", b"\x0f\x81"}
    return is_near or opcode[:2] in {b"\x0f\xff", b"\x0f\xb9"}


@pytest.mark.parametrize("line", DIFFERENCES.strip().splitlines())
def test_a_known_difference_from_capstone_is_one(line: str) -> None:
    text, size, _ = line.split("|")
    code = bytes.fromhex(text)
    _, judged, _ = next(disassemble(code))
    assert is_known_to_differ(code)
    assert judged != int(size)
    if int(size):
        assert go_through(code[: int(size)]).instructions == 1
    else:
        assert go_through(code) == Found([], 0, ended_early=True)


prefixes = st.lists(st.sampled_from([*PREFIXES, *range(0x40, 0x50)]), max_size=3)
maps = st.sampled_from(["", "", "0f", "0f", "0f38", "0f3a", "c4", "c5", "62", "8f"])


@pytest.mark.slow
@given(prefixes, maps, st.binary(min_size=MOST, max_size=MOST))
@settings(max_examples=40 * settings().max_examples)
def test_random_bytes_are_the_instruction_that_capstone_sees(
    prefixes: list[int], opcode: str, rest: bytes
) -> None:
    code = bytes(prefixes) + bytes.fromhex(opcode) + rest
    for _, size, name in islice(disassemble(code), 1):
        if not is_known_to_differ(code[:size]):
            calls = [(0, size)] if is_call(name) else []
            assert go_through(code[:size]) == Found(calls, 1), name


def libraries() -> list[Path]:
    """Of this machine, as far as they are for x86-64."""
    system = Path("/lib/x86_64-linux-gnu")
    names = (sysconfig.get_config_var("INSTSONAME") or "", "libstdc++.so.6")
    own = Path(sysconfig.get_config_var("LIBDIR") or "/") / names[0]
    found = [system / "libc.so.6", own, *(system / name for name in names)]
    return [
        path
        for path in dict.fromkeys(found)
        if path.is_file() and path.suffix != ".a"  # of a Python without a library
    ]


def runs(code: bytes) -> Iterator[tuple[bytes, Found]]:
    """What capstone sees, from one instruction that it does not know to the next."""
    at = 0
    while at < len(code):
        begin, end, calls, count = at, at, [], 0
        for offset, size, name in disassemble(code[begin:]):
            if is_call(name):
                calls.append((offset, size))
            count += 1
            end = begin + offset + size
        yield code[begin:end], Found(calls, count)
        at = end + 1


@pytest.mark.parametrize("path", libraries(), ids=lambda path: path.name)
def test_a_library_has_the_instructions_that_capstone_sees(path: Path) -> None:
    with path.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".text")
        code = section.data()[:BOUND] if section else b""
    seen = 0
    for part, expected in runs(code):
        assert go_through(part) == expected
        seen += expected.instructions
    assert seen > 1_000
