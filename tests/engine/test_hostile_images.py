"""Damaged files: each question ends in an answer or in a GsymError."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import gsym
from tests import oracle
from tests.guarded import GuardedMemory
from tests.hostile import FUNCTIONS, START, Tally, ask, small_file, small_records
from tests.strategies import BYTE_ORDERS, VERSIONS
from tests.views import functions_from_oracle, lookup_from_oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.long, pytest.mark.hostile]

every_version = pytest.mark.parametrize("version", VERSIONS)
every_byte_order = pytest.mark.parametrize("byteorder", BYTE_ORDERS)


# ---- damage everywhere ---------------------------------------------------------


@every_version
@every_byte_order
def test_every_prefix_is_answered_or_refused(version: int, byteorder: str) -> None:
    data = small_file(version, byteorder)
    assert ask(data).reasons == []
    tally = Tally(len(data))
    for size in range(len(data)):
        tally.ask(data[:size])
    assert len(tally.reasons) >= len(data)  # no prefix is complete
    assert all(tally.reasons)


def mutants(data: bytes, first: int = 0) -> Iterator[bytes]:
    """*data* with each byte from *first* on changed in several ways."""
    for at, byte in enumerate(data[first:], first):
        for other in {byte ^ 0x01, byte ^ 0x80, byte ^ 0xFF, 0x00} - {byte}:
            yield data[:at] + bytes([other]) + data[at + 1 :]


@every_version
@every_byte_order
def test_every_changed_byte_is_answered_or_refused(
    version: int, byteorder: str
) -> None:
    data = small_file(version, byteorder)
    tally = Tally(len(data))
    for mutant in mutants(data):
        tally.ask(mutant)
    assert tally.answers > 0
    assert len(tally.reasons) > 0
    assert all(tally.reasons)


def oracle_answer(file: oracle.GsymFile, address: int) -> gsym.Lookup | None:
    try:
        answer = oracle.lookup(file, address, llvm_rules=False)
    except oracle.NotFoundError:
        return None
    return lookup_from_oracle(file, answer)


@every_version
@every_byte_order
def test_a_damaged_record_that_can_be_read_is_answered_as_the_oracle_does(
    version: int, byteorder: str
) -> None:
    data = small_file(version, byteorder)
    with gsym.Reader(data) as sound:
        records = sound.header.strtab_offset + sound.header.strtab_size
    readable = 0
    for mutant in mutants(data, records):
        with suppress(oracle.OracleError):
            file = oracle.decode_file(mutant)
            with gsym.Reader(mutant) as reader:
                assert list(reader.functions()) == functions_from_oracle(file)
                for address in (START, START + 4, START + 10, START + 0x100):
                    assert reader.lookup(address) == oracle_answer(file, address)
            readable += 1
    assert readable > 0


# ---- hostile headers and directories ---------------------------------------------


def patch(data: bytes, *changes: tuple[int, int, int]) -> bytes:
    """*data* with each (offset, size, value) written little-endian."""
    out = bytearray(data)
    for offset, size, value in changes:
        out[offset : offset + size] = value.to_bytes(size, "little")
    return bytes(out)


# Directory of the small version-2 file: UUID, then the five tables, then the
# unknown section. Offset of the entry of each section type.
ENTRY = {kind: 20 + 20 * index for index, kind in enumerate((6, 1, 2, 4, 3, 5, 77, 0))}


def section_offset(kind: int) -> int:
    entry = small_file(2, "little")[ENTRY[kind] :]
    return int.from_bytes(entry[4:12], "little")


# Behind the header of version 1: offsets of 2 bytes, padded to 4; of 4 bytes; files.
V1_INFO_OFFSETS = 48 + 8
V1_FILES = V1_INFO_OFFSETS + 3 * 4

# Version, and what is written where in the small little-endian file.
REFUSED = {
    "bad magic": (1, [(0, 4, 0x4753594E)]),
    "version 0": (1, [(4, 2, 0)]),
    "version 3": (2, [(4, 2, 3)]),
    "address offsets of no bytes": (1, [(6, 1, 0)]),
    "address offsets of 3 bytes": (1, [(6, 1, 3)]),
    "address offsets of 16 bytes": (2, [(6, 1, 16)]),
    "a UUID longer than its field": (1, [(7, 1, 21)]),
    "more addresses than bytes": (1, [(16, 4, 0xFFFF_FFFF)]),
    "more addresses than the section holds": (2, [(16, 4, 4)]),
    "fewer addresses than the section holds": (2, [(16, 4, 2)]),
    "a string table past the end": (1, [(20, 4, 0x1000_0000)]),
    "a string table that runs past the end": (1, [(24, 4, 0x1000_0000)]),
    "a string table whose end overflows": (1, [(20, 4, 2**32 - 4), (24, 4, 8)]),
    "an unknown string table encoding": (2, [(7, 1, 1)]),
    "a section past the end": (2, [(ENTRY[3] + 4, 8, 2**40)]),
    "a section that runs past the end": (2, [(ENTRY[5] + 12, 8, 2**40)]),
    "a section whose end overflows": (2, [(ENTRY[3] + 4, 8, 2**64 - 4)]),
    "an unknown section whose end overflows": (2, [(ENTRY[77] + 4, 8, 2**64 - 4)]),
    "a section of the greatest size": (2, [(ENTRY[3] + 12, 8, 2**64 - 1)]),
    "a missing address table": (2, [(ENTRY[1], 4, 99)]),
    "a missing string table": (2, [(ENTRY[3], 4, 99)]),
    "a missing file table": (2, [(ENTRY[4], 4, 99)]),
    "missing functions": (2, [(ENTRY[5], 4, 99)]),
    "more files than bytes": (1, [(V1_FILES, 4, 2**32 - 1)]),
    "more files than the section holds": (2, [(section_offset(4), 4, 4)]),
    "a file table without its count": (2, [(ENTRY[4] + 12, 8, 3)]),
    "an address table cut short": (2, [(ENTRY[1] + 12, 8, 2)]),
    "a table of record offsets cut short": (2, [(ENTRY[2] + 12, 8, 8)]),
    "an end of the directory in front": (2, [(20, 4, 0), (24, 8, 0), (32, 8, 0)]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_contradicts_itself_cannot_be_opened(name: str) -> None:
    version, changes = REFUSED[name]
    data = patch(small_file(version, "little"), *changes)
    with pytest.raises((gsym.FormatError, gsym.UnsupportedError)) as caught:
        gsym.Reader(GuardedMemory(len(data)).hold(data))
    assert caught.value.reason


def test_a_directory_without_an_end_cannot_be_opened() -> None:
    data = small_file(2, "little")
    entries = data[20 : ENTRY[0]] * 50
    with pytest.raises(gsym.FormatError):
        gsym.Reader(data[:20] + entries)


def test_the_last_of_repeated_sections_is_used() -> None:
    data = small_file(2, "little")
    unknown = ENTRY[77]
    strings = data[ENTRY[3] : ENTRY[3] + 20]
    moved = bytearray(data)
    moved[unknown : unknown + 20] = strings  # the string table once more, rightly
    moved[ENTRY[3] + 4 : ENTRY[3] + 20] = data[unknown + 4 : unknown + 20]
    with gsym.Reader(bytes(moved)) as reader:
        assert list(reader.functions()) == FUNCTIONS


# ---- hostile tables ----------------------------------------------------------------


@every_version
@every_byte_order
def test_a_file_without_addresses_has_no_answers(version: int, byteorder: str) -> None:
    sound = small_records(version, byteorder)
    empty = oracle.GsymFile(
        *(version, byteorder, 1, 0, b"", sound.strings, sound.files, ())
    )
    tally = ask(oracle.encode_file(empty))
    assert tally.answers > 0 or len(tally.reasons) == 1


@every_version
def test_an_unsorted_address_table_is_answered_or_refused(version: int) -> None:
    file = small_records(version, "little")
    shuffled = oracle.GsymFile(
        *(version, "little", 8, 0, b"", file.strings, file.files),
        functions=file.functions[::-1] * 3,
    )
    tally = ask(oracle.encode_file(shuffled))
    assert tally.answers > 0


@every_version
def test_names_outside_the_string_table_read_as_empty(version: int) -> None:
    file = small_records(version, "little")
    data = oracle.encode_file(
        oracle.GsymFile(
            *(version, "little", 2, START - 0x10, b"", b"\0", file.files),
            functions=file.functions,
        )
    )
    with gsym.Reader(data) as reader:
        answer = reader.lookup(START + 10)
        assert answer is not None
        assert [frame.name for frame in answer.frames] == ["", "", ""]
        assert [function.name for function in reader.functions()] == ["", "", ""]


@every_version
def test_a_string_without_its_nul_ends_with_the_table(version: int) -> None:
    file = small_records(version, "little")
    data = oracle.encode_file(
        oracle.GsymFile(
            *(version, "little", 2, START - 0x10, b"", b"\0symb", file.files),
            functions=file.functions,
        )
    )
    with gsym.Reader(data) as reader:
        answer = reader.lookup(START - 1)
        assert answer is None or answer.function.name in {"", "symb"}


@every_version
def test_a_record_anywhere_in_the_file_is_answered_or_refused(version: int) -> None:
    data = small_file(version, "little")
    table, width = (V1_INFO_OFFSETS, 4) if version == 1 else (section_offset(2), 8)
    for offset in (0, 1, 47, 2**31, 2**32 - 1):
        for entry in range(3):
            ask(patch(data, (table + entry * width, width, offset)))
