"""Unwind tables and LC_FUNCTION_STARTS tell where functions of a binary start."""

from __future__ import annotations

import pytest

from gsym.containers.object_file import ObjectFile
from gsym.errors import GsymError
from tests.inputs import macho
from tests.inputs.elf import Elf, Section, code_section
from tests.inputs.encoding import Encoding
from tests.inputs.pe import ARM64, I386, X86_64, Pe, code_section as pe_code

STARTS = [0x1000, 0x1030, 0x1060]
LITTLE = Encoding("little", 8)


def header(starts: list[int], encoding: Encoding, magic: bytes) -> bytes:
    """`.eh_frame_hdr` at 0x2000."""
    table = b"".join(
        encoding.uint((each - 0x2000) & 0xFFFFFFFF, 4) * 2 for each in starts
    )
    return magic + bytes(4) + encoding.uint(len(starts), 4) + table


def elf(
    starts: list[int],
    encoding: Encoding = LITTLE,
    magic: bytes = b"\x01\x1b\x03\x3b",
) -> bytes:
    sections = [
        code_section(0x1000, 0x100),
        Section(".eh_frame_hdr", header(starts, encoding, magic), address=0x2000),
    ]
    bits = 8 * encoding.address_size
    return Elf(sections, bits=bits, byteorder=encoding.byteorder).to_bytes()


def starts_of(data: bytes) -> list[int]:
    with ObjectFile(memoryview(data), "a") as binary:
        return list(binary.function_starts())


@pytest.mark.parametrize("encoding", [LITTLE, Encoding("big", 8), Encoding("big", 4)])
def test_starts_of_elf_are_those_of_its_unwind_table(encoding: Encoding) -> None:
    assert starts_of(elf(STARTS, encoding)) == STARTS


def test_starts_are_ascending_and_come_once() -> None:
    assert starts_of(elf([0x1060, 0x1000, 0x1060, 0x1030])) == STARTS


@pytest.mark.parametrize("magic", [b"\x02\x1b\x03\x3b", b"\x01\x1b\x0b\x3b", b"\x01"])
def test_tables_in_other_encodings_have_no_starts(magic: bytes) -> None:
    assert starts_of(elf(STARTS, LITTLE, magic)) == []


@pytest.mark.parametrize(
    ("machine", "expected"), [(X86_64, STARTS), (ARM64, STARTS), (I386, [])]
)
def test_starts_of_pe_are_those_of_pdata(machine: int, expected: list[int]) -> None:
    ends = [(each, each + 8) for each in STARTS]
    made = Pe([pe_code(0x1000, 0x100)], image_base=0, machine=machine, unwind=ends)
    assert starts_of(made.to_bytes()) == expected


def test_starts_of_macho_are_those_of_its_load_command() -> None:
    made = macho.Macho([macho.code(0x1000, 0x1000)], function_starts=STARTS)
    assert starts_of(made.to_bytes()) == STARTS


def test_every_prefix_has_starts_of_the_table_or_is_refused() -> None:
    whole = elf(STARTS)
    for size in range(0, len(whole), 7):
        try:
            found = starts_of(whole[:size])
        except GsymError:
            continue
        assert set(found) <= {*STARTS, 0x2000}
