"""`FUNCTION+OFFSET` is the address of a function's byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.cli.verbs.lookup import split_name
from gsym.model import FunctionInfo
from gsym.reading.named_address import address_of_name

if TYPE_CHECKING:
    from pathlib import Path

FUNCTIONS = [
    ("kernel", 0x0, 0x28),
    ("$kernel$part", 0xC, 0x8),
    ("kernel", 0x14, 0x14),  # what follows the part
    ("twice", 0x100, 0x10),
    ("twice", 0x200, 0x20),
    ("_Z5scalePfi", 0x300, 0x10),
    ("label", 0x400, 0),
]


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "app.gsym"
    creator = gsym.Creator()
    for name, start, size in FUNCTIONS:
        creator.add(FunctionInfo(start, size, name))
    creator.save(path)
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kernel+0x40", ("kernel", 0x40)),
        ("operator+(A)+7", ("operator+(A)", 7)),
        ("kernel", None),
        ("0x40", None),
        ("+0x40", None),
        ("kernel+", None),
        ("kernel+-1", None),
        ("kernel+x", None),
    ],
)
def test_the_last_plus_is_before_the_offset(
    text: str, expected: tuple[str, int] | None
) -> None:
    assert split_name(text) == expected


@pytest.mark.parametrize(
    ("name", "offset", "expected"),
    [
        ("kernel", 0x20, 0x20),
        (".text.kernel", 0x4, 0x4),
        ("$kernel$part", 0x4, 0x10),
        ("twice", 0x18, 0x218),
        ("scale", 0x8, 0x308),
        ("label", 0x8, 0x408),
    ],
)
def test_the_offset_counts_from_the_function(
    name: str, offset: int, expected: int, module: Path
) -> None:
    with gsym.open(module) as reader:
        assert address_of_name(reader, name, offset) == expected


@pytest.mark.parametrize(
    ("name", "offset", "reason"),
    [
        ("none", 0, "no function is called 'none'"),
        ("kernel", 0x28, "function 'kernel' has 40 bytes, so none at offset 0x28"),
        ("twice", 0x8, "2 functions are called 'twice': at 0x100, 0x200"),
    ],
)
def test_another_name_or_offset_is_refused(
    name: str, offset: int, reason: str, module: Path
) -> None:
    with gsym.open(module) as reader, pytest.raises(gsym.GsymError) as caught:
        address_of_name(reader, name, offset)
    assert caught.value.reason == reason


def test_lookup_takes_names(
    module: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["lookup", str(module), "twice+0x18", "0x101"]) == 0
    shown = capfdbinary.readouterr().out
    assert shown == b"0x218: twice + 24\n0x101: twice + 1\n"
    assert main(["lookup", str(module), "none+0x20"]) == 1
    assert b"no function is called 'none'" in capfdbinary.readouterr().err
