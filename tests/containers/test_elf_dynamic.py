"""Symbols of libraries whose section headers were stripped."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from elftools.elf.elffile import ELFFile

import gsym
from tests.conftest import find_peer
from tests.inputs.elf import DYNAMIC, PPC64, S390, SHARED, X86_64, Elf, Section, Segment
from tests.inputs.encoding import Encoding

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

SOURCE = """
int exported(int x) { return x * 3; }
int another(int x) { return exported(x) + 1; }
static int hidden(int x) { return x - 4; }
int last(int x) { return hidden(x) * 5; }
"""
NAMES = ["another", "exported", "last"]


def library(folder: Path, *options: str) -> Path:
    """A stripped library; skips where the compiler cannot link it."""
    (folder / "a.c").write_text(SOURCE)
    command = [find_peer("gcc"), "-shared", "-fPIC", "-O1", "-nostdlib", *options]
    done = subprocess.run(
        [*command, "-s", "a.c", "-o", "a.so"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"not linked here: {options}")
    return folder / "a.so"


def without_headers(path: Path) -> bytearray:
    """The file without its section header table, which no loader reads."""
    data = bytearray(path.read_bytes())
    place, numbers = (0x28, 0x3A) if data[4] == 2 else (0x20, 0x2E)
    width = 8 if data[4] == 2 else 4
    data[place : place + width] = bytes(width)
    data[numbers : numbers + 6] = bytes(6)
    return data


def names_in(path: Path) -> dict[str, tuple[int, int]]:
    gsym.convert(path)
    with gsym.open(f"{path}.gsym") as reader:
        found = {each.name: (each.start, each.size) for each in reader}
    return {name: place for name, place in found.items() if name in NAMES}


@pytest.mark.parametrize("style", ["sysv", "gnu", "both"])
@pytest.mark.parametrize("width", [(), ("-m32",)], ids=["64", "32"])
def test_symbols_are_found_as_the_loader_finds_them(
    style: str, width: tuple[str, ...], tmp_path: Path
) -> None:
    path = library(tmp_path, *width, f"-Wl,--hash-style={style}")
    expected = names_in(path)
    assert sorted(expected) == NAMES
    path.write_bytes(without_headers(path))
    assert names_in(path) == expected


@pytest.mark.hostile
@pytest.mark.parametrize("style", ["sysv", "gnu"])
def test_damaged_tables_cost_symbols_only(style: str, tmp_path: Path) -> None:
    path = library(tmp_path, f"-Wl,--hash-style={style}")
    with path.open("rb") as stream:
        places = [
            (each["sh_offset"], each["sh_size"])
            for each in ELFFile(stream).iter_sections()
            if each.name in {".dynamic", ".gnu.hash", ".hash", ".dynsym"}
        ]
    whole = without_headers(path)
    for start, size in places:
        for at in range(start, start + size, 3):
            damaged = bytearray(whole)
            damaged[at] ^= 0xFF
            path.write_bytes(damaged)
            with suppress(gsym.GsymError):
                gsym.convert(path)
        # Cut in the table.
        path.write_bytes(whole[: start + size // 2])
        with suppress(gsym.GsymError):
            gsym.convert(path)


ALPHA = 0x9026


def made_by_hand(
    machine: int,
    bits: int,
    byteorder: ByteOrder,
    word: int = 4,
    places: tuple[int, int] = (0x800, 0x810),
) -> bytearray:
    """A library whose table DT_HASH has words of so many bytes.

    Its functions `one` and `two` are at these *places*.
    """
    encoding = Encoding(byteorder, bits // 8)
    uint, address = encoding.uint, encoding.address

    def symbol(name: int, value: int) -> bytes:
        kind = bytes([0x12, 0]) + uint(1, 2)
        place = address(value) + address(0x10)
        return uint(name, 4) + (kind + place if bits == 64 else place + kind)

    names = b"\0one\0two\0".ljust(16, b"\0")
    symbols = symbol(0, 0) + symbol(1, places[0]) + symbol(5, places[1])
    # One bucket, in which all of the symbols are.
    table = b"".join(uint(each, word) for each in (1, 3, 2, 0, 0, 1))

    def image(start: int) -> bytes:
        parts = [names, symbols, table.ljust(48, b"\0")]
        hash_at = start + len(names + symbols)
        tags = [
            (5, start),
            (10, len(names)),
            (6, start + len(names)),
            (4, hash_at),
            (0, 0),
        ]
        dynamic = b"".join(address(each) for tag in tags for each in tag)
        end = hash_at + 48
        file = Elf(
            [Section(".data", b"".join(parts) + dynamic, address=start)],
            [Segment(0, 0x1000), Segment(end, len(dynamic), DYNAMIC, offset=end)],
            bits=bits,
            byteorder=byteorder,
            machine=machine,
            type=SHARED,
        )
        return file.to_bytes().ljust(0x1000, b"\0")

    return bytearray(image(image(0).index(names)))


@pytest.mark.parametrize(
    ("machine", "bits", "byteorder", "word"),
    [
        (X86_64, 64, "little", 4),
        (ALPHA, 64, "little", 8),
        (S390, 64, "big", 8),
        (S390, 32, "big", 4),
    ],
    ids=["x86-64", "Alpha", "s390x", "s390"],
)
def test_some_processors_have_words_of_8_bytes_in_the_hash_table(
    machine: int, bits: int, byteorder: ByteOrder, word: int, tmp_path: Path
) -> None:
    path = tmp_path / "a.so"
    path.write_bytes(made_by_hand(machine, bits, byteorder, word))
    path.write_bytes(without_headers(path))
    gsym.convert(path)
    with gsym.open(f"{path}.gsym") as reader:
        assert [(each.name, each.start) for each in reader] == [
            ("one", 0x800),
            ("two", 0x810),
        ]


@pytest.mark.parametrize(
    ("byteorder", "flags", "has_descriptors"),
    [("big", 0, True), ("big", 1, True), ("little", 1, True), ("little", 2, False)],
)
def test_functions_of_64_bit_powerpc_may_have_descriptors(
    byteorder: ByteOrder,
    flags: int,
    has_descriptors: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
) -> None:
    """Files of the first version of the ABI need no flag that says so."""
    image = made_by_hand(PPC64, 64, byteorder, places=(0x818, 0x800))
    image[0x30:0x34] = flags.to_bytes(4, byteorder)
    for place, code in ((0x818, 0x900), (0x800, 0x920)):
        image[place : place + 8] = code.to_bytes(8, byteorder)
    path = tmp_path / "a.so"
    path.write_bytes(image)
    path.write_bytes(without_headers(path))
    gsym.convert(path)
    expected = (
        {"one": 0x900, "two": 0x920}
        if has_descriptors
        else {"one": 0x818, "two": 0x800}
    )
    with gsym.open(f"{path}.gsym") as reader:
        assert {each.name: each.start for each in reader} == expected
