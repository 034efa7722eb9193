"""Strings of a binary that a GSYM file uses: which, where, and how that is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.engine.native import check, ffi, lib, new_error
from gsym.verification.check import check_structure
from tests import oracle, strategies
from tests.creations import handle_of
from tests.embeddings import FUNCTIONS, elf, write_gsym
from tests.inputs.elf import Elf, Section, code_section

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

_PRIMES = (
    *(0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9),
    *(0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5),
)


def xxh64(data: bytes) -> int:
    """XXH64 with seed 0, from its specification."""
    one, two, three, four, five = _PRIMES
    mask = 2**64 - 1

    def rotate(value: int, count: int) -> int:
        value &= mask
        return (value << count | value >> (64 - count)) & mask

    def step(lane: int, word: int) -> int:
        return rotate(lane + word * two, 31) * one & mask

    words = [
        int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data) - 7, 8)
    ]
    stripes = len(data) // 32
    if stripes:
        lanes = [one + two, two, 0, -one]
        for index in range(4 * stripes):
            lanes[index % 4] = step(lanes[index % 4], words[index])
        rotated = zip(lanes, (1, 7, 12, 18), strict=True)
        result = sum(rotate(lane, count) for lane, count in rotated)
        for lane in lanes:
            result = (result ^ step(0, lane)) * one + four & mask
    else:
        result = five
    result += len(data)
    for word in words[4 * stripes :]:
        result = rotate((result ^ step(0, word)) & mask, 27) * one + four & mask
    rest = data[len(words) * 8 :]
    if len(rest) >= 4:
        result = (result ^ int.from_bytes(rest[:4], "little") * one) & mask
        result = rotate(result, 23) * two + three & mask
        rest = rest[4:]
    for byte in rest:
        result = rotate((result ^ byte * five) & mask, 11) * one & mask
    result = (result ^ result >> 33) * two & mask
    result = (result ^ result >> 29) * three & mask
    return result ^ result >> 32


class Shared:
    """A file that was laid out to share *table*, and what its record says."""

    def __init__(
        self,
        functions: list[gsym.FunctionInfo],
        table: bytes,
        version: int = 1,
        byteorder: str = "little",
        distance: int = 0,
    ) -> None:
        self.table = table
        with gsym.Creator(version, byteorder) as whole:
            for function in functions:
                whole.add(function)
            with gsym.Creator(version, byteorder) as creator:
                error, view = new_error(), ffi.from_buffer("uint8_t[]", table)
                status = lib.gsym_creator_share_strings(
                    *(handle_of(creator), handle_of(whole), view, len(table)),
                    *(distance, error),
                )
                check(status, error)
                for function in functions:
                    creator.add(function)
                self.file = creator.to_bytes()
        self.whole = self.file + b"\xff" * distance + table
        self.decoded = oracle.decode_file(self.whole)
        start = len(self.file) - self._own_size()
        self.record = oracle.Cursor(self.whole, byteorder, strp_size=8)
        self.record.offset = start - lib.GSYM_SHARING_SIZE

    def _own_size(self) -> int:
        """The table runs to the end of all bytes."""
        return len(self.file) - (len(self.whole) - len(self.decoded.strings))


@given(
    strategies.function_lists(),
    strategies.versions,
    strategies.byte_orders,
    st.binary(max_size=200),
    st.sampled_from([0, 8, 1000]),
)
def test_a_file_and_the_table_after_it_are_complete(
    functions: list[gsym.FunctionInfo],
    version: int,
    byteorder: str,
    noise: bytes,
    distance: int,
) -> None:
    names = b"".join(
        b"prefix_" + info.name.encode("utf-8", "surrogateescape") + b"\0"
        for info in functions[::2]
    )
    table = b"\0" + noise + b"\0" + names
    shared = Shared(functions, table, version, byteorder, distance)
    with gsym.Reader(shared.whole) as reader:
        assert sorted(reader.functions()) == sorted(functions)
    own = set(shared.decoded.strings[: -len(table) - distance].split(b"\0"))
    for info in functions[::2]:
        assert info.name.encode("utf-8", "surrogateescape") not in own - {b""}


@pytest.mark.parametrize(
    ("version", "byteorder", "distance"),
    [(1, "little", 0), (1, "big", 24), (2, "little", 24), (2, "big", 0)],
)
def test_the_record_before_the_strings_describes_what_is_shared(
    version: int, byteorder: str, distance: int
) -> None:
    table = b"\0_main\0_ZN3fooEv\0"
    shared = Shared(FUNCTIONS, table, version, byteorder, distance)
    record = shared.record
    assert record.offset % 8 == 0
    assert len(shared.file) % 8 == 0
    assert record.unsigned(4) == 0x47535348
    assert record.unsigned(4) == 1
    assert record.unsigned(8) == xxh64(table)
    assert record.unsigned(8) == len(shared.decoded.strings) - len(table)
    assert record.unsigned(8) == len(table)
    own = shared.whole[record.offset : len(shared.file)]
    assert set(own.split(b"\0")) == {
        *(b"", b"/src", b"main.cc", b"foo.h", b"inlined_only", b"foo")
    }


@pytest.mark.parametrize(
    ("table", "found"),
    [
        (b"name\0", True),
        (b"\0name\0", True),
        (b"_name\0", True),
        (b"a long prefix of a name\0", True),
        (b"other\0name\0", True),
        (b"name", False),
        (b"\0name", False),
        (b"name_\0", False),
        (b"nam\0e\0", False),
        (b"other\0nAme\0", False),
        (b"\0\0\0", False),
        (b"name\0name\0name\0", True),
    ],
)
def test_any_tail_of_a_string_that_ends_there_is_shared(
    table: bytes,
    found: bool,  # noqa: FBT001
) -> None:
    shared = Shared([gsym.FunctionInfo(0x1000, 4, "name")], table)
    assert (b"name\0" not in shared.file) is found
    with gsym.Reader(shared.whole) as reader:
        assert [info.name for info in reader.functions()] == ["name"]


def test_strings_that_nobody_announced_are_refused() -> None:
    with gsym.Creator() as whole, gsym.Creator() as creator:
        whole.add(gsym.FunctionInfo(0x1000, 1, "known"))
        error = new_error()
        status = lib.gsym_creator_share_strings(
            *(handle_of(creator), handle_of(whole), b"known\0", 6, 0, error)
        )
        check(status, error)
        creator.add(gsym.FunctionInfo(0x1000, 1, "known"))
        with pytest.raises(ValueError, match="not there when strings were shared"):
            creator.add(gsym.FunctionInfo(0x2000, 1, "unknown"))


def test_a_creator_that_has_strings_shares_none() -> None:
    with gsym.Creator() as creator:
        creator.add(gsym.FunctionInfo(0x1000, 1, "f"))
        error = new_error()
        handle = handle_of(creator)
        status = lib.gsym_creator_share_strings(handle, handle, b"f\0", 2, 0, error)
        with pytest.raises(ValueError, match="cannot be shared any more"):
            check(status, error)


def test_version_1_reaches_only_so_far() -> None:
    functions = [gsym.FunctionInfo(0x1000, 1, "f")]
    for version, distance in ((1, 2**32), (2, 2**64 - 8)):
        with gsym.Creator(version) as whole, gsym.Creator(version) as creator:
            whole.add(functions[0])
            error = new_error()
            status = lib.gsym_creator_share_strings(
                *(handle_of(creator), handle_of(whole), b"f\0", 2, distance, error)
            )
            with pytest.raises(gsym.LimitError, match="too far away for version 1"):
                check(status, error)


# ---- the record, damaged --------------------------------------------------------


@pytest.fixture(scope="module")
def shared_binary(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("shared")
    binary = folder / "program"
    binary.write_bytes(elf().to_bytes())
    source = write_gsym(folder / "file.gsym")
    gsym.embed(source, binary, share_strings=True)
    return binary.read_bytes()


@pytest.mark.parametrize(
    ("at", "value", "error", "message"),
    [
        (0, bytes(4), gsym.FormatError, "missing bytes for StringTable"),
        (4, b"\2", gsym.UnsupportedError, "unknown checksum 2 of shared strings"),
        (8, bytes(8), gsym.FormatError, "string table changed, embed again"),
        (16, bytes(8), gsym.FormatError, "record of shared strings is damaged"),
        (16, b"\xff" * 8, gsym.FormatError, "record of shared strings is damaged"),
        (24, bytes(8), gsym.FormatError, "record of shared strings is damaged"),
        (24, b"\xff" * 8, gsym.FormatError, "record of shared strings is damaged"),
    ],
)
def test_a_damaged_record_is_refused(
    at: int, value: bytes, error: type[Exception], message: str, shared_binary: bytes
) -> None:
    data = bytearray(shared_binary)
    record = data.index((0x47535348).to_bytes(4, "little"))
    data[record + at : record + at + len(value)] = value
    with pytest.raises(error, match=message):
        gsym.Reader(data)


def test_a_section_alone_lacks_the_strings_of_its_binary(shared_binary: bytes) -> None:
    with gsym.Reader(shared_binary) as reader:
        size = reader.size
    start = shared_binary.index(b"MYSG")
    section = shared_binary[start : start + size]
    with pytest.raises(gsym.FormatError, match="missing bytes for StringTable"):
        gsym.Reader(section)
    with_section = Elf([code_section(), Section(".gsym", section)]).to_bytes()
    with pytest.raises(gsym.FormatError, match="string table changed, embed again"):
        gsym.Reader(with_section)


def test_verify_reads_the_record_by_itself(
    shared_binary: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "program"
    data = bytearray(shared_binary)
    record = data.index((0x47535348).to_bytes(4, "little"))
    data[record + 16] ^= 1
    path.write_bytes(data)
    (finding,) = check_structure(str(path))
    assert finding.reason == (
        "the record of shared strings does not fit the string table"
    )
