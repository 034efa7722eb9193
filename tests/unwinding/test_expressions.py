"""DWARF expressions: the value of each operation, and what makes no sense."""

from __future__ import annotations

import pytest

from gsym.unwinding.expressions import ByteReader, DamagedError, Operands, evaluate

VALUES = {0: 0x10, 3: 0x30, 46: 4}
MEMORY = {0x30: bytes(range(1, 9))}


def load(address: int, size: int) -> int:
    return int.from_bytes(MEMORY[address][:size], "little")


OPERANDS = Operands(VALUES, load, 8, frame=0x70)


@pytest.mark.parametrize(
    ("operations", "value"),
    [
        ("0388776655443322 11", 0x1122334455667788),
        ("08ff", 0xFF),
        ("09ff", -1),
        ("0a0180", 0x8001),
        ("0b0180", -0x7FFF),
        ("0c01000080", 0x80000001),
        ("0d01000080", -0x7FFFFFFF),
        ("0e0100000000000080", 0x8000000000000001),
        ("0f0100000000000080", -0x7FFFFFFFFFFFFFFF),
        ("10ff01", 0xFF),
        ("117f", -1),
        ("730006", 0x0807060504030201),
        ("73009402", 0x0201),
        ("922e01", 5),
        ("3512 1e", 25),
        ("323313", 2),
        ("323314 1e 22", 8),
        ("32333415 02 22", 6),
        ("3233 16 1c", 1),
        ("323334 17 1c 1e", -4),
        ("09fb 19", 5),
        ("3f 33 1a", 3),
        ("09f9 32 1b", -3),
        ("3732 1b", 3),
        ("3532 1c", 3),
        ("3732 1d", 1),
        ("3532 1e", 10),
        ("35 1f", -5),
        ("35 20", -6),
        ("3431 21", 5),
        ("3431 22", 5),
        ("34 2303", 7),
        ("3134 24", 16),
        ("09f0 34 25", 0x0FFFFFFFFFFFFFFF),
        ("09f0 32 26", -4),
        ("3531 27", 4),
        ("3131 29", 1),
        ("09ff 31 2a", 0),
        ("3131 2a", 1),
        ("3231 2b", 1),
        ("3131 2c", 1),
        ("09ff 31 2d", 1),
        ("3131 2e", 0),
        ("31 2f0100 32 33 22", 4),
        ("35 31 280100 31 32 22", 7),
        ("35 30 280100 32 22", 7),
        ("9c", 0x70),
        ("35 96 9f", 5),
    ],
)
def test_an_operation_has_a_value(operations: str, value: int) -> None:
    found = evaluate(bytes.fromhex(operations), OPERANDS)
    assert found == value & (1 << 64) - 1


@pytest.mark.parametrize(
    "operations",
    [
        "",
        "22",
        "3122",
        "31 30 1b",
        "31 30 1d",
        "2ffdff",  # a jump to itself
        "31 2ffcff",  # a loop that fills the stack
        "2f0001",  # past the end
        "2f00f0",  # before the start
        "1509",
        "31 1505",
        "31 e0",
        "31 93 08",  # a piece
        "0a01",
    ],
)
def test_what_makes_no_sense_is_damage(operations: str) -> None:
    with pytest.raises(DamagedError):
        evaluate(bytes.fromhex(operations), OPERANDS)


def test_a_register_that_is_not_known_is_an_error() -> None:
    with pytest.raises(KeyError):
        evaluate(bytes.fromhex("7900"), OPERANDS)


def test_numbers_are_in_the_order_of_the_machine() -> None:
    big = Operands({}, load, 4, "big")
    assert evaluate(bytes.fromhex("0a0102"), big) == 0x102
    assert evaluate(bytes.fromhex("09ff"), big) == 0xFFFFFFFF


def test_a_number_without_end_is_damage() -> None:
    with pytest.raises(DamagedError):
        ByteReader(b"\x80" * 1000, 8).leb()
