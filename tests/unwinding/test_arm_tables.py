"""Tables of 32-bit ARM: each instruction, inline and apart, and damaged ones."""

from __future__ import annotations

from struct import pack

import pytest

from gsym.unwinding.arm_tables import step_by_tables
from gsym.unwinding.frame_info import Step

TABLE, APART, CODE, STACK = 0x10000, 0x11000, 0x20000, 0x70000
WORDS = {STACK + 4 * at: 0x100 + at for at in range(0x400)}
VALUES = {4: 44, 7: STACK + 0x40, 13: STACK, 14: 0x2222, 15: CODE + 2}


def offset(to: int, at: int) -> int:
    return (to - at) & 0x7FFFFFFF


def step(*second: int, apart: bytes = b"", pc: int = CODE + 2) -> Step | None:
    rows = [(CODE - 0x100, 1), (CODE, *second), (CODE + 0x100, 1)]
    table = b"".join(
        pack("<II", offset(start, TABLE + 8 * number), word)
        for number, (start, word) in enumerate(rows)
    )
    held = {TABLE: table, APART: apart}

    def read(address: int, size: int) -> bytes:
        if address in WORDS:
            return pack("<I", WORDS[address])
        for start, data in held.items():
            if start <= address < start + len(data):
                return data[address - start :][:size]
        return b""

    return step_by_tables((TABLE, len(table)), pc, VALUES, read, read)


@pytest.mark.parametrize(
    ("code", "pc", "stack", "changes"),
    [
        ("b0b0b0", 0x2222, 0, {}),
        ("8408b0", 0x101, 8, {7: 0x100, 14: 0x101}),
        ("8800b0", 0x100, 4, {}),
        ("a0b0b0", 0x2222, 4, {4: 0x100}),
        ("a9b0b0", 0x102, 12, {4: 0x100, 5: 0x101, 14: 0x102}),
        ("01b0b0", 0x2222, 8, {}),
        ("97b0b0", 0x2222, 0x40, {}),
        ("9741b0", 0x2222, 0x38, {}),
        ("b103b0", 0x2222, 8, {0: 0x100, 1: 0x101}),
        ("b201b0", 0x2222, 0x208, {}),
        ("b303b0", 0x2222, 36, {}),
        ("b4b0b0", 0x2222, 4, {}),
        ("b9b0b0", 0x2222, 20, {}),
        ("c612b0", 0x2222, 24, {}),
        ("c705b0", 0x2222, 8, {}),
        ("c1b0b0", 0x2222, 16, {}),
        ("c903b0", 0x2222, 32, {}),
        ("d1b0b0", 0x2222, 16, {}),
    ],
)
def test_an_instruction_leads_to_the_caller(
    code: str, pc: int, stack: int, changes: dict[int, int]
) -> None:
    found = step(0x80000000 | int(code, 16))
    values = {**VALUES, 13: STACK + stack, **changes}
    del values[15]
    assert found == Step(pc, values, is_signal=False)


@pytest.mark.parametrize(
    "apart",
    [
        pack("<I", 0x80A9B0B0),
        pack("<II", 0x8101A9B0, 0xB0B0B0B0),
        pack("<III", 0x00000123, 0x01A9B0B0, 0xB0B0B0B0),
    ],
)
def test_instructions_may_be_apart(apart: bytes) -> None:
    found = step(offset(APART, TABLE + 12), apart=apart)
    assert found is not None
    assert (found.pc, found.values[13]) == (0x102, STACK + 12)


def test_a_function_without_caller_is_the_outermost() -> None:
    assert step(1) == Step(0, VALUES, is_signal=False)


@pytest.mark.parametrize("code", ["8000b0", "9db0b0", "9fb0b0", "b5b0b0", "e0b0b0"])
def test_what_is_reserved_leads_nowhere(code: str) -> None:
    assert step(0x80000000 | int(code, 16)) is None


def test_a_table_that_is_cut_leads_nowhere() -> None:
    assert step(offset(APART, TABLE + 12), apart=b"\0") is None
    assert step(0x80B0B0B0, pc=CODE - 0x200) is None
