"""Debug files of stripped binaries: where they are looked for, which ones count."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from tests.companions import (
    ID,
    ID_PATH,
    OTHER_ID,
    SYMBOL,
    debug_file,
    debug_link,
    names_of,
    place,
    stripped,
)
from tests.conftest import find_peer
from tests.inputs import pe
from tests.inputs.dies import Die
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Tag
from tests.inputs.elf import Elf, Section, Segment, Symbol, code_section
from tests.inputs.line_program import LineProgram, sequence
from tests.inputs.program import debug_sections, function, unit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

LINKED = debug_file()
DEBUG = debug_sections(64, "little", function("in_debug", 0x1000, 0x1010))
LINK = debug_link("app.dbg", LINKED)


def convert(folder: Path, binary: bytes) -> gsym.ConversionReport:
    """Convert *binary* as `bin/app`; debug files are installed in `lib` and `more`."""
    path = place(folder / "bin/app", binary)
    directories = [str(folder / "lib"), str(folder / "more")]
    return gsym.convert(path, debug_file_directories=directories)


def mirror(folder: Path, directory: str) -> str:
    """Where *directory* holds what belongs to `bin`."""
    return f"{directory}/{str(folder).lstrip('/')}/bin"


# ---- where


def test_the_first_of_several_places_is_taken(tmp_path: Path) -> None:
    places = [
        f"lib/{ID_PATH}",
        f"more/{ID_PATH}",
        "bin/app.dbg",
        "bin/.debug/app.dbg",
        mirror(tmp_path, "lib") + "/app.dbg",
        mirror(tmp_path, "more") + "/app.dbg",
    ]
    linked = debug_file(ID)
    binary = stripped(debug_link("app.dbg", linked), build_id=ID)
    for where in places:
        place(tmp_path / where, linked)
    for where in places:
        report = convert(tmp_path, binary)
        assert report.companions == (str(tmp_path / where),)
        (tmp_path / where).unlink()
    report = convert(tmp_path, binary)
    assert report.companions == ()
    assert names_of(report) == ["in_binary"]
    tried = "; ".join(f"{tmp_path / where}: not there" for where in places)
    assert report.notes == (f"no debug information: tried {tried}",)


def test_a_link_to_the_binary_leads_to_its_folder(tmp_path: Path) -> None:
    place(tmp_path / "real/app", stripped(LINK))
    debug = place(tmp_path / "real/app.dbg", LINKED)
    (tmp_path / "link").symlink_to("real/app")
    report = gsym.convert(tmp_path / "link")
    assert report.companions == (debug,)


def test_a_binary_in_the_working_directory_needs_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(tmp_path / "app", stripped(LINK))
    place(tmp_path / "app.dbg", LINKED)
    monkeypatch.chdir(tmp_path)
    assert gsym.convert("app").companions == ("app.dbg",)


def test_a_binary_that_names_no_debug_file_is_reported(tmp_path: Path) -> None:
    report = convert(tmp_path, stripped())
    (note,) = report.notes
    assert note == (
        "no debug information: neither a build id nor .gnu_debuglink names a file "
        "that has it"
    )


# ---- other debug information than DWARF


@pytest.mark.parametrize(
    ("section", "kind"),
    [
        (".stab", "stabs (.stab)"),
        (".mdebug", "ECOFF symbols (.mdebug)"),
        (".debug", "DWARF 1 (.debug)"),
    ],
)
def test_debug_information_of_another_kind_is_named(
    section: str, kind: str, tmp_path: Path
) -> None:
    other = Section(section, bytes(12))
    (note,) = convert(tmp_path, stripped(other)).notes
    assert note.startswith(f"no debug information but {kind}, which is not read: ")
    (note,) = convert(tmp_path, stripped(Section(section, b""))).notes
    assert note.startswith("no debug information: ")
    linked = stripped(other, build_id=ID)
    place(tmp_path / "lib" / ID_PATH, linked)
    (note,) = convert(tmp_path, stripped(build_id=ID)).notes
    assert f"{ID_PATH}: has {kind}, which is not read" in note
    both = Elf([code_section(), other, *debug_sections()]).to_bytes()
    (note,) = convert(tmp_path, both).notes
    assert note == f"only DWARF is read: there is {kind} as well"


@pytest.mark.parametrize(
    ("section", "kind"), [(".stab", "stabs"), (".debug$S", "CodeView")]
)
def test_debug_information_of_another_kind_is_named_in_coff(
    section: str, kind: str, tmp_path: Path
) -> None:
    text = pe.Section(".text", bytes(16), 0x1000, pe.CODE)
    parts = [text, pe.Section(section, bytes(12), 0x2000)]
    for base in (0x10000, None):
        image = pe.Pe(parts, [pe.Symbol("f", 0)], image_base=base).to_bytes()
        (note,) = convert(tmp_path, image).notes
        found = f"no debug information but {kind} ({section}), which is not read"
        assert note.startswith(found)


def test_stabs_of_an_assembler_are_named(tmp_path: Path) -> None:
    source = tmp_path / "a.s"
    source.write_text('.stabs "a.c",100,0,0,0\n.globl f\nf: nop\n')
    output = tmp_path / "a.o"
    command = [find_peer("gcc"), "-c", str(source), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"not built here: {done.stderr.decode()[:200]}")
    (note,) = gsym.convert(output).notes
    assert "stabs (.stab), which is not read" in note


@pytest.mark.parametrize(("name", "kind"), [(".symtab", 2), (".strtab", 3)])
def test_compressed_symbols_are_named(name: str, kind: int, tmp_path: Path) -> None:
    """As llvm-objcopy (--compress-sections) and eu-elfcompress (--name) leave them."""
    table = Section(name, bytes(24), kind, compression="zlib")
    image = Elf([code_section(), table, *debug_sections()]).to_bytes()
    (note,) = convert(tmp_path, image).notes
    assert note == "only DWARF is read: there is a compressed symbol table as well"


@pytest.mark.parametrize("has_lines", [True, False])
def test_a_warning_says_what_symbols_have_without_functions(
    has_lines: bool,  # noqa: FBT001 - a row
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As of NASM, which describes no functions."""
    lines = LineProgram(sequence((0x1000, 5), end=0x1010)) if has_lines else None
    main_unit = unit(Die(Tag.variable, {At.name: "v"}), version=4, lines=lines)
    parts = [
        Section(name, data) for name, data in Dwarf([main_unit]).sections().items()
    ]
    image = Elf([code_section(), *parts], symbols=[Symbol("f", 0x1000, 0x10)])
    assert main(["convert", place(tmp_path / "app", image.to_bytes())]) == 0
    what = "names and lines of symbols" if has_lines else "names"
    error = capsys.readouterr().err
    assert f"no function in the debug information: {what} only" in error


# ---- which


FAULTS = {
    "CRC differs": (LINKED + b"\0", None),
    "there is no id to compare": (debug_file(), f"lib/{ID_PATH}"),
    f"is of another build: its build id is {OTHER_ID.hex()}": (
        debug_file(OTHER_ID),
        f"lib/{ID_PATH}",
    ),
    # a fixed build id, which two programs have
    "is of another build: its .text has 4080 bytes, not 4096": (
        Elf([code_section(size=0xFF0), *DEBUG], build_id=ID).to_bytes(),
        f"lib/{ID_PATH}",
    ),
    "has no .debug_info": (stripped(build_id=ID), f"lib/{ID_PATH}"),
    "is for i386": (debug_file(ID, bits=32), f"lib/{ID_PATH}"),
    "is for powerpc64": (debug_file(ID, byteorder="big"), f"lib/{ID_PATH}"),
    "the file is empty": (b"", None),
    "not an ELF": (b"text", None),
    "the ELF section table lies outside the file": (debug_file(ID)[:100], None),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_does_not_match_is_not_used(fault: str, tmp_path: Path) -> None:
    data, where = FAULTS[fault]
    path = place(tmp_path / (where or "bin/app.dbg"), data)
    report = convert(tmp_path, stripped(LINK, build_id=ID))
    assert report.companions == ()
    assert names_of(report) == ["in_binary"]
    assert f"{path}: {fault}" in report.notes[0]


DATA = Section(".rodata", b"text", flags=2, address=0x3000)
NAMES = Section(".dynstr", b"libc.so.6\0", kind=3, flags=2, address=0x400)
INTERPRETER = Section(".interp", b"/lib/ld.so\0", flags=2, address=0x200)


def moved(by: int, *sections: Section) -> list[Section]:
    """Sections at other addresses."""
    return [replace(each, address=each.address + by) for each in sections]


# Two programs of one fixed build id and code of one size.
OTHER_PROGRAMS = {
    "its .rodata has 5 bytes, not 4": [code_section(), replace(DATA, data=b"texts")],
    "its .rodata has other flags": [code_section(), replace(DATA, flags=3)],
    "its code would have to be moved by -0x1000, its .interp by 0x0": [
        *moved(0x1000, code_section(), DATA),
        INTERPRETER,
    ],
}


@pytest.mark.parametrize("fault", OTHER_PROGRAMS)
def test_a_debug_file_of_the_same_id_with_other_sections_is_not_used(
    fault: str, tmp_path: Path
) -> None:
    sections = [code_section(), DATA, INTERPRETER]
    binary = Elf(sections, symbols=[SYMBOL], build_id=ID).to_bytes()
    other = Elf([*OTHER_PROGRAMS[fault], *DEBUG], build_id=ID).to_bytes()
    path = place(tmp_path / "lib" / ID_PATH, other)
    report = convert(tmp_path, binary)
    assert report.companions == ()
    assert f"{path}: is of another build: {fault}" in report.notes[0]


def test_sections_that_tools_change_do_not_matter(tmp_path: Path) -> None:
    """Patchelf gives a finished binary other libraries and another loader."""
    sections = [code_section(), DATA, NAMES, INTERPRETER]
    path = place(
        tmp_path / "lib" / ID_PATH, Elf([*sections, *DEBUG], build_id=ID).to_bytes()
    )
    sections[2:] = moved(0x8000, replace(NAMES, data=bytes(99)), INTERPRETER)
    sections[3] = replace(sections[3], data=b"/nix/store/ld.so\0")
    patched = Elf(sections, symbols=[SYMBOL], build_id=ID).to_bytes()
    assert convert(tmp_path, patched).companions == (path,)
    # Prelink makes some sections larger, so that the distances differ.
    undo = Section(".gnu.prelink_undo", bytes(8))
    sections = [*moved(0x1000, code_section(), DATA), *moved(0xFF0, INTERPRETER), undo]
    prelinked = Elf(sections, symbols=[SYMBOL], build_id=ID).to_bytes()
    assert convert(tmp_path, prelinked).companions == (path,)


def test_the_build_id_decides_even_if_the_checksum_matches(tmp_path: Path) -> None:
    linked = debug_file(OTHER_ID)
    path = place(tmp_path / "bin/app.dbg", linked)
    binary = stripped(debug_link("app.dbg", linked), build_id=ID)
    assert (
        f"{path}: is of another build: its build id is {OTHER_ID.hex()}"
        in convert(tmp_path, binary).notes[0]
    )


def test_the_search_continues_after_a_file_that_does_not_match(tmp_path: Path) -> None:
    place(tmp_path / "bin/app.dbg", LINKED[:-1] + b"!")
    path = place(tmp_path / "bin/.debug/app.dbg", LINKED)
    report = convert(tmp_path, stripped(LINK))
    assert report.companions == (path,)
    assert report.notes == ()


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.mkdir(), "Is a directory"),
        (os.mkfifo, "not a regular file"),
        (lambda path: path.symlink_to(path.name), "Too many levels of symbolic links"),
        (lambda path: path.symlink_to("app"), "is the binary itself"),
    ],
    ids=["folder", "pipe", "loop", "itself"],
)
def test_special_files_are_not_opened(
    make: Callable[[Path], None], reason: str, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    make(tmp_path / "bin/app.dbg")
    report = convert(tmp_path, stripped(LINK))
    assert f"{tmp_path}/bin/app.dbg: {reason}" in report.notes[0]


def test_debug_information_of_its_own_wins(tmp_path: Path) -> None:
    place(tmp_path / f"lib/{ID_PATH}", debug_file(ID))
    report = convert(tmp_path, debug_file(ID, "in_itself"))
    assert report.companions == ()
    assert names_of(report) == ["in_itself"]


# ---- the link


@pytest.mark.parametrize(
    ("name", "bits", "byteorder"),
    [
        ("a", 32, "little"),
        ("ab", 64, "little"),
        ("abc", 32, "big"),
        ("abcd", 64, "big"),
        ("ä b", 64, "little"),
    ],
)
def test_links_are_read_in_every_layout(
    name: str, bits: int, byteorder: ByteOrder, tmp_path: Path
) -> None:
    linked = debug_file(bits=bits, byteorder=byteorder)
    path = place(tmp_path / "bin" / name, linked)
    link = debug_link(name, linked, byteorder)
    report = convert(tmp_path, stripped(link, bits=bits, byteorder=byteorder))
    assert report.companions == (path,)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0\0",
        b"app.dbg",
        b"app.dbg\0",
        b"app.dbg\0abc",
        b"\0\0\0\0\0\0\0\0",
        b"..\0\0\0\0\0\0",
        b"../app.dbg\0\0\0\0\0\0",
    ],
)
def test_a_damaged_link_names_no_file(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "app.dbg").mkdir()
    report = convert(tmp_path, stripped(Section(".gnu_debuglink", data)))
    assert names_of(report) == ["in_binary"]
    assert "neither a build id nor .gnu_debuglink" in report.notes[0]


def test_a_link_outside_of_the_file_is_reported(tmp_path: Path) -> None:
    link = Section(".gnu_debuglink", b"app.dbg\0abcd", size=1 << 40)
    report = convert(tmp_path, stripped(link))
    assert names_of(report) == ["in_binary"]
    assert "section .gnu_debuglink reaches past the end" in report.notes[0]


# ---- what the binary is asked, and what its debug file


def test_base_code_and_id_are_those_of_the_binary(tmp_path: Path) -> None:
    debug = debug_sections(64, "little", function("in_debug", 0x5000, 0x5010))
    place(tmp_path / "bin/app.dbg", linked := Elf(debug, [Segment(0x7000)]).to_bytes())
    code = code_section(0x5000, 0x10)
    link = debug_link("app.dbg", linked)
    image = Elf([code, link], [Segment(0x400)], build_id=ID).to_bytes()
    report = convert(tmp_path, image)
    assert report.build_id == report.uuid == ID
    assert names_of(report) == ["in_debug"]
    with gsym.open(report.outputs[0]) as reader:
        assert reader.header.base_address == 0x400


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        (("a",), ("b",), "a"),
        ((), ("b",), "b"),
        (("a",), ("b", "c"), "b c"),
        (("a", "b"), ("c",), "a b"),
    ],
)
def test_the_longer_symbol_table_is_used(
    own: tuple[str, ...], other: tuple[str, ...], expected: str, tmp_path: Path
) -> None:
    def table(names: tuple[str, ...]) -> tuple[Symbol, ...]:
        return tuple(Symbol(n, 0x1200 + 16 * i, 16) for i, n in enumerate(names))

    place(tmp_path / f"lib/{ID_PATH}", debug_file(ID, symbols=table(other)))
    report = convert(tmp_path, stripped(build_id=ID, symbols=table(own)))
    assert names_of(report) == ["in_debug", *expected.split()]


def test_no_function_at_all_names_what_was_tried(tmp_path: Path) -> None:
    place(tmp_path / "bin/app.dbg", b"no")
    with pytest.raises(gsym.EmptyError) as caught:
        convert(tmp_path, stripped(LINK, symbols=()))
    assert caught.value.path == str(tmp_path / "bin/app")
    assert f"tried {tmp_path}/bin/app.dbg: not an ELF" in caught.value.reason
    assert not (tmp_path / "bin/app.gsym").exists()


def test_functions_of_the_symbol_table_may_be_omitted(tmp_path: Path) -> None:
    place(tmp_path / "lib" / ID_PATH, debug_file(ID))
    path = place(tmp_path / "app", stripped(build_id=ID))
    folders = [str(tmp_path / "lib")]
    report = gsym.convert(path, no_symbols=True, debug_file_directories=folders)
    assert report.functions_symbol_table == 0
    assert names_of(report) == ["in_debug"]
    with pytest.raises(gsym.EmptyError):
        gsym.convert(path, no_symbols=True, debug_file_directories=())
    with pytest.raises(gsym.UnsupportedError, match="no symbol table to leave out"):
        gsym.convert(report.outputs[0], tmp_path / "again", no_symbols=True)
