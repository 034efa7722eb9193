"""GSYM files in a section of an ELF file."""

from __future__ import annotations

import stat
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.modules.key import ModuleKey
from gsym.modules.part import module_part
from gsym.reading.statistics import measure
from gsym.verification.check import check_structure
from tests.embeddings import (
    FUNCTIONS,
    SYMBOLS,
    UUID,
    assert_answers,
    check_round_trip,
    elf,
    functions_of,
    macho,
    write_gsym,
)
from tests.inputs.elf import (
    ALLOC,
    RELOCATABLE,
    STRTAB,
    SYMTAB,
    Elf,
    Section,
    Segment,
    Symbol,
    code_section,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder


GSYM_SECTION = (code_section(), Section(".gsym", b"something else"))


def made(tmp_path: Path, binary: Elf | bytes | None = None) -> tuple[Path, Path]:
    """A GSYM file and a binary to put it into."""
    path = tmp_path / "program"
    data = elf() if binary is None else binary
    path.write_bytes(data if isinstance(data, bytes) else data.to_bytes())
    return write_gsym(tmp_path / "program.gsym"), path


@pytest.mark.parametrize(
    ("bits", "byteorder", "version", "share"),
    [  # every pair of choices
        (32, "little", 1, False),
        (32, "big", 2, True),
        (64, "little", 2, True),
        (64, "big", 2, False),
        (64, "big", 1, True),
    ],
)
def test_a_binary_answers_as_its_gsym_file_does(
    *, bits: int, byteorder: ByteOrder, version: int, share: bool, tmp_path: Path
) -> None:
    source = write_gsym(tmp_path / "file.gsym", version, byteorder)
    binary = elf(bits, byteorder).to_bytes()
    report = check_round_trip(binary, tmp_path, source, share=share)
    assert report.section == ".gsym"


@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_the_file_keeps_its_own_byte_order(
    byteorder: ByteOrder, tmp_path: Path
) -> None:
    _, binary = made(tmp_path, elf(64, "big"))
    source = write_gsym(tmp_path / "other.gsym", 2, byteorder)
    gsym.embed(source, binary, share_strings=True)
    with gsym.open(binary) as reader:
        assert reader.header.byteorder == byteorder
    assert_answers(binary)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_embedding_again_leaves_no_trace_of_the_first_time(
    *, first: bool, second: bool, tmp_path: Path
) -> None:
    source, binary = made(tmp_path)
    once, twice = tmp_path / "once", tmp_path / "twice"
    gsym.embed(source, binary, once, share_strings=second)
    gsym.embed(source, binary, twice, share_strings=first)
    gsym.embed(source, twice, share_strings=second)
    assert twice.read_bytes() == once.read_bytes()


def test_a_binary_may_give_the_file_that_goes_into_it(tmp_path: Path) -> None:
    source, binary = made(tmp_path)
    shared, plain = tmp_path / "shared", tmp_path / "plain"
    gsym.embed(source, binary, shared, share_strings=True)
    gsym.embed(shared, binary, plain)
    assert_answers(plain)
    with gsym.open(plain) as reader, gsym.open(shared) as other:
        assert reader.size > other.size - 32


def test_only_the_tail_of_a_binary_changes(tmp_path: Path) -> None:
    source, binary = made(tmp_path)
    before = binary.read_bytes()
    gsym.embed(source, binary, share_strings=True)
    data_end = before.index(b"data" * 9) + 36
    assert binary.read_bytes()[64:data_end] == before[64:data_end]


@pytest.mark.parametrize("mode", [0o755, 0o640, 0o4755])
def test_an_output_may_be_run_if_the_binary_may(mode: int, tmp_path: Path) -> None:
    source, binary = made(tmp_path)
    binary.chmod(mode)
    for output in (tmp_path / "new", binary):
        gsym.embed(source, binary, output)
        assert stat.S_IMODE(output.stat().st_mode) == mode & 0o777


# ---- other layouts --------------------------------------------------------------


def test_many_sections_are_counted_where_there_is_room(tmp_path: Path) -> None:
    source, binary = made(tmp_path, elf(extended=True))
    gsym.embed(source, binary, share_strings=True)
    assert_answers(binary)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*may be of another build")  # it has no id
@pytest.mark.parametrize("count", [0xFEFF, 0xFF00])
def test_one_more_section_may_need_the_large_counts(count: int, tmp_path: Path) -> None:
    """The null section, the code, the section names and what is added make four."""
    sections = [code_section(), *(Section(f".{n}", b"x") for n in range(count - 3))]
    data = Elf(sections, extended=count >= 0xFF00).to_bytes()
    source, binary = made(tmp_path, data)
    gsym.embed(source, binary)
    after = binary.read_bytes()
    assert int.from_bytes(data[60:62], "little") == (count if count < 0xFF00 else 0)
    assert int.from_bytes(after[60:62], "little") == (
        count + 1 if count + 1 < 0xFF00 else 0
    )
    assert functions_of(binary) == FUNCTIONS
    gsym.embed(source, binary)
    assert binary.read_bytes() == after


def test_one_string_table_may_serve_symbols_and_sections(tmp_path: Path) -> None:
    """As LLVM writes it into relocatable files."""
    data = bytearray(elf(symbols=()).to_bytes())
    table, count = int.from_bytes(data[40:48], "little"), data[60]
    names = table + (count - 1) * 64
    offset, size = (
        int.from_bytes(data[names + at : names + at + 8], "little") for at in (24, 32)
    )
    strings = data[offset : offset + size] + b"main\0foo\0"
    symbol_names = [len(strings) - 9, len(strings) - 4]
    symbols = bytes(24) + b"".join(
        at.to_bytes(4, "little") + b"\x12\0\1\0" + bytes(16) for at in symbol_names
    )
    header = bytearray(64)
    header[4] = 2  # SHT_SYMTAB
    at = len(data)
    header[24:32], header[32:40] = (
        at.to_bytes(8, "little"),
        len(symbols).to_bytes(8, "little"),
    )
    header[40] = count - 1  # the section names
    header[48], header[56] = 8, 24
    data += symbols + strings
    data[names + 24 : names + 32] = (at + len(symbols)).to_bytes(8, "little")
    data[names + 32 : names + 40] = len(strings).to_bytes(8, "little")
    new_table = len(data)
    data += data[table : table + count * 64] + header
    data[40:48], data[60] = new_table.to_bytes(8, "little"), count + 1
    # The old table and names would be bytes that belong to nothing: zeros may stay.
    data[table : table + count * 64] = bytes(count * 64)
    data[offset : offset + size] = bytes(size)
    source, binary = made(tmp_path, bytes(data))
    report = gsym.embed(source, binary, share_strings=True)
    assert report.string_table_size >= len(strings)
    assert_answers(binary)


def test_a_relocatable_file_may_hold_one(tmp_path: Path) -> None:
    source, binary = made(tmp_path, elf(type=RELOCATABLE, segments=()))
    gsym.embed(source, binary, share_strings=True)
    assert_answers(binary)


# ---- what is refused ------------------------------------------------------------


def test_a_file_of_another_build_is_not_embedded(tmp_path: Path) -> None:
    _, binary = made(tmp_path)
    other = write_gsym(tmp_path / "other.gsym", uuid=b"another")
    before = binary.read_bytes()
    with pytest.raises(
        gsym.UuidMismatchError, match=r"other\.gsym: .* its build id is 616e6f"
    ):
        gsym.embed(other, binary)
    assert binary.read_bytes() == before


@pytest.mark.parametrize(
    ("uuid", "build_id", "is_sure"),
    [(UUID, UUID, True), (b"", UUID, False), (UUID, None, False), (b"", None, False)],
)
def test_a_file_without_an_id_goes_anywhere(
    uuid: bytes, build_id: bytes | None, *, is_sure: bool, tmp_path: Path
) -> None:
    beside, binary = made(tmp_path, elf(build_id=build_id))
    beside.unlink()
    report = gsym.embed(write_gsym(tmp_path / "any.gsym", uuid=uuid), binary)
    assert report.unsure == ("" if is_sure else "there is no id to compare")
    with nullcontext() if is_sure else pytest.warns(UserWarning, match="may be of"):
        assert functions_of(binary) == FUNCTIONS


KEY = ModuleKey(
    debug_file="program", code_id=UUID.hex().upper(), os="Linux", go_id="a/b"
)


@pytest.mark.parametrize("image", [elf().to_bytes(), macho().to_bytes()])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("share", [True, False])
def test_what_names_the_module_survives(
    image: bytes, version: int, *, share: bool, tmp_path: Path
) -> None:
    _, binary = made(tmp_path, image)
    source = write_gsym(tmp_path / "named.gsym", version)
    data = source.read_bytes()
    source.write_bytes(data + module_part(KEY, len(data)))
    gsym.embed(source, binary, share_strings=share)
    assert_answers(binary)
    extracted = tmp_path / "again.gsym"
    gsym.extract(binary, extracted)
    for path in (binary, extracted):
        assert check_structure(str(path)) == []
        with gsym.open(path) as reader:
            assert reader.module == KEY
            measured = measure(reader)
            assert measured.module_names == reader.module_part_size > 0
        parts = sum(getattr(measured, name) for name in _PARTS)
        assert measured.padding < 16
        assert parts + measured.padding == measured.file_size


_PARTS = (
    *("header", "directory", "uuid_section", "address_table", "address_info_offsets"),
    *("file_table", "string_table", "function_info", "function_index", "module_names"),
)


def test_without_symbols_there_is_nothing_to_share(tmp_path: Path) -> None:
    dynamic = tuple(Symbol(name, 0x1000) for name in SYMBOLS)
    source, binary = made(tmp_path, elf(symbols=(), dynamic_symbols=dynamic))
    with pytest.raises(gsym.UnsupportedError, match=r"no symbol table \(\.symtab\)"):
        gsym.embed(source, binary, share_strings=True)
    gsym.embed(source, binary)
    assert_answers(binary)


def test_a_symbol_table_without_strings_has_none_to_share(tmp_path: Path) -> None:
    data = bytearray(elf().to_bytes())
    table, count = int.from_bytes(data[40:48], "little"), data[60]
    for entry in range(table, table + 64 * count, 64):
        if data[entry + 4] == SYMTAB:
            strings = table + 64 * data[entry + 40]
            data[strings + 32 : strings + 40] = bytes(8)
    source, binary = made(tmp_path, bytes(data))
    with pytest.raises(gsym.UnsupportedError, match=r"no symbol table \(\.symtab\)"):
        gsym.embed(source, binary, share_strings=True)


def test_a_payload_after_the_sections_is_refused(tmp_path: Path) -> None:
    data = elf().to_bytes()
    source, binary = made(tmp_path, data + b"archive")
    message = f"7 bytes at offset {len(data):#x} are in no section or segment"
    with pytest.raises(gsym.UnsupportedError, match=message):
        gsym.embed(source, binary)
    assert binary.read_bytes() == data + b"archive"
    binary.write_bytes(data + bytes(100))
    gsym.embed(source, binary)
    assert_answers(binary)


@pytest.mark.parametrize(
    "binary",
    [
        elf(sections=(code_section(), Section(".gsym", b"mine", flags=ALLOC))),
        elf(segments=(Segment(0x1000, size=1 << 16),), sections=GSYM_SECTION),
    ],
)
def test_a_loaded_section_of_that_name_is_left_alone(
    binary: Elf, tmp_path: Path
) -> None:
    source, path = made(tmp_path, binary.to_bytes() + bytes(1 << 16))
    with pytest.raises(gsym.UnsupportedError, match=r"section \.gsym is loaded"):
        gsym.embed(source, path)


def test_loaded_symbols_stay_where_they_are(tmp_path: Path) -> None:
    """One segment may hold the whole file."""
    data = elf(segments=(Segment(0, size=0x800),)).to_bytes()
    source, binary = made(tmp_path, data.ljust(0x800, b"\0"))
    with pytest.raises(gsym.UnsupportedError, match="no symbol table"):
        gsym.embed(source, binary, share_strings=True)
    gsym.embed(source, binary)
    assert_answers(binary)
    assert binary.read_bytes()[64:0x800] == data.ljust(0x800, b"\0")[64:]


def test_a_first_section_with_content_is_not_emptied(tmp_path: Path) -> None:
    """Its size would be taken for a count, and written over."""
    data = bytearray(elf().to_bytes())
    table = int.from_bytes(data[40:48], "little")
    data[table + 4] = 1  # SHT_PROGBITS
    source, binary = made(tmp_path, bytes(data))
    with pytest.raises(gsym.FormatError, match="section 0 is not of type SHT_NULL"):
        gsym.embed(source, binary)
    assert binary.read_bytes() == data


def test_segments_of_another_file_are_not_taken_for_those_of_this(
    tmp_path: Path,
) -> None:
    """As in the debug files of eu-strip."""
    source, binary = made(tmp_path, elf(segments=(Segment(0x1000, size=1 << 16),)))
    with pytest.raises(gsym.FormatError, match=r"a segment reaches past .* eu-strip"):
        gsym.embed(source, binary)


def test_a_binary_without_a_section_table_gets_none(tmp_path: Path) -> None:
    data = bytearray(elf().to_bytes())
    data[40:48] = bytes(8)
    source, binary = made(tmp_path, bytes(data))
    with pytest.raises(gsym.UnsupportedError, match="no section headers"):
        gsym.embed(source, binary)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (b"MZ" + bytes(100), gsym.FormatError, "neither an ELF nor a Mach-O file"),
        (b"", gsym.FormatError, "empty"),
        (b"\x7fELF\3\1", gsym.FormatError, "invalid ELF class"),
        (b"\x7fELF\2\1" + bytes(20), gsym.FormatError, "the ELF header reaches past"),
    ],
)
def test_a_file_that_is_not_a_binary_is_refused(
    data: bytes, error: type[Exception], message: str, tmp_path: Path
) -> None:
    source, binary = made(tmp_path, data)
    with pytest.raises(error, match=message):
        gsym.embed(source, binary)
    assert binary.read_bytes() == data


def test_a_damaged_gsym_file_is_not_embedded(tmp_path: Path) -> None:
    source, binary = made(tmp_path)
    before = binary.read_bytes()
    source.write_bytes(source.read_bytes()[:60])
    with pytest.raises(gsym.FormatError, match=r"program\.gsym: .*truncated"):
        gsym.embed(source, binary)
    assert binary.read_bytes() == before


def test_no_input_is_replaced_by_mistake(tmp_path: Path) -> None:
    source, binary = made(tmp_path)
    with pytest.raises(ValueError, match="would replace the GSYM file"):
        gsym.embed(source, binary, source)
    gsym.embed(source, binary)
    with pytest.raises(ValueError, match="would replace the binary"):
        gsym.extract(binary, binary)


# ---- binaries without one, and extraction ---------------------------------------


def test_a_binary_without_the_section_is_refused(tmp_path: Path) -> None:
    _, binary = made(tmp_path)
    message = "no embedded GSYM file: no section .gsym"
    with pytest.raises(gsym.FormatError, match=message):
        gsym.Reader(binary.read_bytes())
    with pytest.raises(gsym.FormatError, match=message):
        gsym.extract(binary)


def test_extracting_from_a_gsym_file_is_refused(tmp_path: Path) -> None:
    source, _ = made(tmp_path)
    with pytest.raises(gsym.FormatError, match="a GSYM file, not a binary"):
        gsym.extract(source, tmp_path / "out")


def test_the_default_output_is_named_after_the_binary(tmp_path: Path) -> None:
    source, binary = made(tmp_path)
    gsym.embed(source, binary)
    data = source.read_bytes()
    source.unlink()
    gsym.extract(binary)
    assert source.read_bytes() == data


def test_a_section_with_other_content_is_refused(tmp_path: Path) -> None:
    _, binary = made(tmp_path, elf(sections=GSYM_SECTION))
    with pytest.raises(gsym.FormatError, match="bad magic"):
        gsym.open(binary)


def test_a_changed_string_table_is_detected(tmp_path: Path) -> None:
    source, binary = made(tmp_path)
    gsym.embed(source, binary, share_strings=True)
    data = bytearray(binary.read_bytes())
    at = data.rindex(b"_ZN3fooEv\0")
    data[at] = ord("X")
    binary.write_bytes(data)
    for attempt in (gsym.open, gsym.extract):
        with pytest.raises(
            gsym.FormatError, match=r"program: .*string table changed, embed again"
        ):
            attempt(binary)
    gsym.embed(source, binary, share_strings=True)
    assert_answers(binary)


def test_a_missing_string_table_is_detected(tmp_path: Path) -> None:
    source, binary = made(tmp_path)
    report = gsym.embed(source, binary, share_strings=True)
    data = bytearray(binary.read_bytes())
    with gsym.open(binary) as reader:
        end = reader.header.strtab_offset + reader.header.strtab_size
    assert end > report.section_size
    # The section table says where the section is: let it stand at the very end.
    table = int.from_bytes(data[40:48], "little")
    headers = bytes(data[table:])
    section = next(
        headers[at : at + 64]
        for at in range(0, len(headers), 64)
        if int.from_bytes(headers[at + 32 : at + 40], "little") == report.section_size
    )
    start = int.from_bytes(section[24:32], "little")
    content = data[start : start + report.section_size]
    moved = len(data).to_bytes(8, "little")
    data[table:] = headers.replace(section, section[:24] + moved + section[32:])
    binary.write_bytes(data + content)
    with pytest.raises(gsym.FormatError, match="string table changed, embed again"):
        gsym.open(binary)


def test_string_sections_of_other_kinds_are_not_taken_for_names(tmp_path: Path) -> None:
    sections = (code_section(), Section(".strings", b"\0main\0", kind=STRTAB))
    source, binary = made(tmp_path, elf(sections=sections))
    gsym.embed(source, binary, share_strings=True)
    assert_answers(binary)
