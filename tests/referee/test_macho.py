"""`compare` of Mach-O files: alone, in a dSYM bundle, and with a debug map."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.errors import FormatError
from tests.conversion.test_debug_map import A_AT, A_MAP, A_O, B_AT, ID
from tests.inputs.debug_map import TEXT, executable, object_file, stabs
from tests.inputs.dwarf import Dwarf
from tests.inputs.macho import (
    ARM64,
    DSYM,
    EXECUTE,
    OBJECT,
    SYMBOL_STUBS,
    X86_64,
    Macho,
    Relocation,
    Section,
    Symbol,
    code,
    debug_sections,
    fat,
)
from tests.inputs.program import function, unit
from tests.referee.macho import ReferenceMacho
from tests.referee.opening import compare
from tests.verification.test_verification import only, rewrite, rows, subjects

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder
    from tests.verification.test_verification import Change


def convert(folder: Path, image: bytes) -> tuple[str, str]:
    """The binary and its GSYM file."""
    path = folder / "app"
    path.write_bytes(image)
    return gsym.convert(path).outputs[0], str(path)


@pytest.fixture
def linked(tmp_path: Path) -> tuple[str, str]:
    """A program of two functions of an object file, `a` with an inlined call."""
    (tmp_path / "a.o").write_bytes(A_O)
    symbols = [Symbol("_start", TEXT)]
    image = executable(stabs(f"{tmp_path}/a.o", A_MAP), symbols=symbols, uuid=ID)
    return convert(tmp_path, image)


def test_the_object_files_of_a_debug_map_are_compared(linked: tuple[str, str]) -> None:
    found = compare(*linked)
    assert (found.functions, found.symbols, found.units) == (2, 1, 1)
    assert (found.differences, found.unread, found.uncompared) == ([], {}, {})


@pytest.mark.parametrize(
    ("name", "change", "subject", "address"),
    [
        ("a", lambda info: info._replace(name="c"), "name", A_AT),
        ("b", rows(lambda row: row._replace(line=7), 0), "lines", B_AT),
        ("a", lambda info: info._replace(inline=None), "inlined calls", A_AT + 4),
        ("b", lambda _: None, "function", B_AT),
        ("_start", lambda info: info._replace(size=8), "function", TEXT),
        ("start", lambda info: info._replace(name="stop"), "name", TEXT),
        ("start", lambda info: info._replace(size=8), "function", TEXT),
    ],
)
def test_errors_are_found_at_the_addresses_of_the_program(
    name: str, change: Change, subject: str, address: int, linked: tuple[str, str]
) -> None:
    path, binary = linked
    rewrite(path, only(name, change))
    found = compare(path, binary).differences
    if name == "_start":  # C's underscore is no part of a name
        assert found == []
        return
    assert (found[0].subject, found[0].address) == (subject, address)


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("bits", [32, 64])
def test_every_kind_of_object_file_is_compared(
    bits: int, byteorder: ByteOrder, tmp_path: Path
) -> None:
    image = object_file(
        function("f", 0x10, 0x20),
        symbols=[Symbol("_f", 0x10)],
        bits=bits,
        byteorder=byteorder,
    )
    (tmp_path / "a.o").write_bytes(image)
    groups = stabs(f"{tmp_path}/a.o", {"_f": (0x1040, 0x10)})
    image = executable(groups, base=0, bits=bits, byteorder=byteorder)
    found = compare(*convert(tmp_path, image))
    assert (found.functions, found.differences) == (1, [])


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("bits", [32, 64])
def test_symbols_are_added_where_relocations_name_them(
    bits: int, byteorder: ByteOrder
) -> None:
    stored = b"".join(
        value.to_bytes(size, byteorder)
        for value, size in ((1, 1), (2, 1), (3, 2), (0xFFFFFFFF, 4), (5, 8), (6, 8))
    )
    relocations = [
        Relocation(0, 0, size=1),
        Relocation(2, 1, size=2),
        Relocation(4, 1, size=4),
        Relocation(8, 2, size=8),
        Relocation(16, 1, names_symbol=False),  # counts from a section
        Relocation(16 | 0x80000000, 1),  # scattered
    ]
    file = replace(relocatable(stored, relocations), bits=bits, byteorder=byteorder)
    assert relocated(file) == b"".join(
        value.to_bytes(size, byteorder)
        for value, size in (
            (0x11, 1),
            (2, 1),
            (0x103, 2),
            (0xFF, 4),
            (0x205, 8),
            (6, 8),
        )
    )


@pytest.mark.parametrize(
    ("cpu", "subtractor"), [(X86_64, 5), (ARM64, 1), (0x0200000C, 1), (7, None)]
)
def test_a_subtractor_takes_its_symbol_away(cpu: int, subtractor: int | None) -> None:
    kinds = range(8)
    relocations = [Relocation(4 * kind, 1, kind, size=4) for kind in kinds]
    stored = (0x1000).to_bytes(4, "little") * len(kinds)
    found = relocated(replace(relocatable(stored, relocations), cpu=(cpu, 0)))
    assert [int.from_bytes(found[4 * at : 4 * at + 4], "little") for at in kinds] == [
        0xF00 if kind == subtractor else 0x1100 for kind in kinds
    ]


def test_relocations_of_a_linked_file_are_not_applied() -> None:
    stored = bytes(range(8))
    assert relocated(relocatable(stored, [Relocation(0, 1)], EXECUTE)) == stored


def test_a_relocation_of_a_symbol_that_is_not_there_is_an_error() -> None:
    file = relocatable(bytes(8), [Relocation(0, 3)])
    with pytest.raises(FormatError, match="relocations of section __debug_info"):
        relocated(file)


def relocatable(
    stored: bytes, relocations: list[Relocation], kind: int = OBJECT
) -> Macho:
    """An object file with a section whose relocations name three symbols."""
    section = Section("__debug_info", stored, "__DWARF", relocations=relocations)
    symbols = [Symbol("a", 0x10, 0), Symbol("b", 0x100, 0), Symbol("c", 0x200, 0)]
    return Macho([code(), section], symbols, type=kind)


def relocated(file: Macho) -> bytes:
    """What the second decoder reads of that section."""
    reference = ReferenceMacho("a.o", memoryview(file.to_bytes()))
    found = reference.debug_section("debug_info")
    assert found is not None
    return found


def test_an_object_file_that_is_missing_is_named(
    linked: tuple[str, str], tmp_path: Path
) -> None:
    path, binary = linked
    a_map = stabs(f"{binary}.o", {"_c": (TEXT + 0x80, 0x10)})
    image = executable(stabs(f"{tmp_path}/a.o", A_MAP), a_map, uuid=ID)
    (tmp_path / "app").write_bytes(image)
    found = compare(path, binary)
    assert found.functions == 2
    assert "1 of the 2 object files that hold its debug information" in found.notes[0]


def bundle_of(folder: Path, name: str, size: int = 0x100) -> None:
    inside = folder / "app.dSYM" / "Contents" / "Resources" / "DWARF"
    inside.mkdir(parents=True, exist_ok=True)
    sections = Dwarf([unit(function(name, TEXT, TEXT + 0x10), version=5)]).sections()
    bundle = Macho(
        [code(TEXT, size), *debug_sections(sections)], uuid=ID, base=TEXT, type=DSYM
    )
    (inside / "app").write_bytes(bundle.to_bytes())


@pytest.mark.parametrize("size", [0x100, 0])
def test_a_bundle_is_compared(size: int, tmp_path: Path) -> None:
    """Old ones say of their sections that they have no bytes."""
    bundle_of(tmp_path, "f", size)
    image = executable(symbols=[Symbol("_g", TEXT + 0x20)], uuid=ID)
    path, binary = convert(tmp_path, image)
    found = compare(path, binary)
    assert (found.functions, found.symbols, found.differences) == (1, 1, [])
    bundle_of(tmp_path, "h", size)
    (difference,) = compare(path, binary).differences
    assert (difference.binary, difference.gsym) == ("h", "f")


def test_the_uuid_and_the_base_address_are_compared(linked: tuple[str, str]) -> None:
    path, binary = linked
    rewrite(path, lambda info: info, uuid=bytes(16), base_address=TEXT - 0x2000)
    assert subjects(compare(path, binary)) == {"UUID", "base address"}


def test_the_slice_of_a_fat_file_is_found_by_its_uuid(tmp_path: Path) -> None:
    slices = [
        (
            (cpu, 0),
            executable(symbols=[Symbol(name, TEXT)], uuid=ID[::step], cpu=(cpu, 0)),
        )
        for cpu, name, step in ((X86_64, "_one", 1), (ARM64, "_two", -1))
    ]
    path = tmp_path / "app"
    path.write_bytes(fat(*slices))
    for architecture in ("x86_64", "arm64"):
        output = tmp_path / architecture
        gsym.convert(path, output, arch=architecture)
        found = compare(str(output), str(path))
        assert (found.symbols, found.differences) == (1, [])


def test_stubs_are_compared(tmp_path: Path) -> None:
    stubs = Section(
        "__stubs",
        bytes(24),
        address=0x2000,
        flags=0x80000400 | SYMBOL_STUBS,
        stub_size=12,
    )
    symbols = [Symbol("_f", 0x1000), Symbol("_puts", 0, 0, 1), Symbol("_exit", 0, 0, 1)]
    image = Macho([code(0x1000, 0x100), stubs], symbols, indirect=[1, 2]).to_bytes()
    path, binary = convert(tmp_path, image)
    found = compare(path, binary)
    assert (found.symbols, found.differences) == (3, [])
    rewrite(
        path, only("symbol stub for: exit", lambda info: info._replace(name="puts"))
    )
    assert subjects(compare(path, binary)) == {"name"}
