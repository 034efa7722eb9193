"""`FUNCTION+OFFSET` is the address of a function's byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.dropins import symbolizer
from gsym.cli.main import main
from gsym.model import FunctionInfo, LineEntry
from gsym.modules.function_names import FunctionNames
from gsym.reading.named_address import place_of, spelling, split_name
from tests.inputs.elf import CODE, PROGBITS, Elf, Section, Symbol

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
    ("_Z4copyPKiPv", 0x600, 0x10),
    ("_Z4copyPi", 0x610, 0x10),
    ("$_Z4copyPi$_Z4slowi", 0x614, 0x8),
]
# Overlays: all of these may be at 0x1000.
OVERLAYS = [("paint", 0x18), ("print", 0x20), ("flush", 0x30)]


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "app.gsym"
    creator = gsym.Creator()
    for name, start, size in FUNCTIONS:
        creator.add(FunctionInfo(start, size, name))
    for number, (name, size) in enumerate(OVERLAYS, 1):
        lines = (LineEntry(0x1000, f"{name}.c", number),)
        creator.add(FunctionInfo(0x1000, size, name, lines))
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
        ("copy(const int *, void *)", 0x4, 0x604),
        ("copy(int *)", 0x4, 0x614),
        ("[clone copy(int *)] slow(int)", 0x4, 0x618),
        ("paint", 0x4, 0x1004),
    ],
)
def test_the_offset_counts_from_the_function(
    name: str, offset: int, expected: int, module: Path
) -> None:
    with gsym.open(module) as reader:
        assert place_of(reader, f"{name}+{offset}").address == expected


@pytest.mark.parametrize("number", range(len(OVERLAYS)))
def test_a_function_answers_as_itself_where_others_have_its_address(
    number: int, module: Path
) -> None:
    name, size = OVERLAYS[number]
    with gsym.open(module) as reader:
        for text in (f"{name}+{size - 1}", f".text.{name}+0x0"):
            found = reader.lookup(text)
            assert found is not None
            assert (found.function.name, found.frames[0].line) == (name, number + 1)
        returned = reader.lookup(f"{name}+4", is_return=True)
        assert returned is not None
        assert (returned.address, returned.frames[0].offset) == (0x1004, 4)
    assert main(["lookup", str(module), f"{name}+4", "--oneline"]) == 0


def test_a_copy_inside_a_kernel_answers_for_the_kernel(module: Path) -> None:
    with gsym.open(module) as reader:
        found = reader.lookup("copy(int *)+0x5")
        assert found is not None
        assert found.function.name == "$_Z4copyPi$_Z4slowi"


def test_another_text_is_no_address(module: Path) -> None:
    with gsym.open(module) as reader, pytest.raises(ValueError, match="OFFSET, not"):
        reader.lookup("kernel")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("f(const int *)", "f(int const*)"),
        ("void f<int>(int*)", "void f<int>(int *)"),
        ("[clone k(int *)] f(int)", "$_Z1kPi$_Z1fi"),
        ("f(unsigned long)", "f(long unsigned)"),
    ],
)
def test_demanglers_spell_names_differently(one: str, other: str) -> None:
    assert spelling(one) == spelling(other)


@pytest.mark.parametrize(
    ("one", "other"), [("f(int, float)", "f(float, int)"), ("f(int*)", "f(int)")]
)
def test_overloads_are_spelled_differently(one: str, other: str) -> None:
    assert spelling(one) != spelling(other)


def test_find_takes_names_with_offsets(
    module: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    names = ["print+4", ".text.flush", "twice+0x18", "print+0x20"]
    assert main(["find", str(module), *names]) == 0
    shown = capfdbinary.readouterr()
    assert shown.out == (
        b"0x1000-0x1020 print at print.c:2\n0x1000-0x1030 flush at flush.c:3\n"
        b"0x200-0x220 twice\n"
    )
    assert b"no function 'print+0x20'" in shown.err


def test_the_dropin_answers_a_name_as_this_function(
    module: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    words = ["paint", "print+4", ".text.flush+0x2f"]
    assert symbolizer.main(["-e", str(module), *words]) == 0
    shown = capfdbinary.readouterr().out.split(b"\n\n")
    assert [each.split(b"\n")[1] for each in shown[:3]] == [
        *(b"paint.c:1:0", b"print.c:2:0", b"flush.c:3:0"),
    ]


def test_a_report_answers_a_name_as_this_function(module: Path) -> None:
    text = "========= Invalid __global__ read of size 4 bytes\n"
    text += "=========     at print(int *)+0x4\n=========     at .text.flush+0x4\n"
    text += "=========     at [clone copy(int *)] slow(int)+0x4\n"
    found = gsym.symbolicate(text, module="app.gsym", source=[module])
    names = [each.calls[-1].name for each in found.frames()]
    assert found.form == "compute-sanitizer"
    assert names == ["print", "flush", "$_Z4copyPi$_Z4slowi"]


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
        place_of(reader, f"{name}+{offset}")
    assert caught.value.reason == reason


def test_lookup_takes_names(
    module: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["lookup", str(module), "twice+0x18", "0x101"]) == 0
    shown = capfdbinary.readouterr().out
    assert shown == b"0x218: twice + 24\n0x101: twice + 1\n"
    assert main(["lookup", str(module), "none+0x20"]) == 1
    assert b"no function is called 'none'" in capfdbinary.readouterr().err


@pytest.mark.parametrize(
    ("offset", "expected"), [(0x4, "shown"), (0x10, "shown"), (0x15, "hidden")]
)
def test_a_report_may_name_the_last_function_that_the_loader_knows(
    offset: int, expected: str, tmp_path: Path
) -> None:
    code = b"\xe8\0\0\0\0" + b"\x90" * 6 + b"\xe8\0\0\0\0"  # calls
    section = Section(".text", code * 2, PROGBITS, CODE, 0x1000)
    symbols = [Symbol("shown", 0x1000, 0x10), Symbol("hidden", 0x1010, 0x10)]
    (tmp_path / "app").write_bytes(Elf([section], symbols=symbols).to_bytes())
    text = f"./app(shown+0x4)[0x1004]\n./app(shown+{offset:#x})[{0x1000 + offset:#x}]\n"
    report = gsym.symbolicate(text, source=tmp_path)
    names = [each.calls[-1].name for each in report.frames()]
    assert names == ["shown", expected]


def test_names_of_many_sections_are_bounded(module: Path) -> None:
    with gsym.open(module) as reader:
        names = FunctionNames(reader, "")
        assert names.find(".text.kernel") == reader.find("kernel")
        assert names.find(".text." * 9_999 + "kernel") == ()
