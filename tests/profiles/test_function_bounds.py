"""Addresses in stripped modules belong to the functions of their unwind tables."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from gsym.modules.finder import find_in
from gsym.profiles.binaries import Binaries, module_at
from gsym.profiles.model import Frame, Mapping, Profile, ProfileBuilder
from gsym.profiles.symbolizing import bound_functions
from gsym.profiles.top import top_rows
from tests.conftest import find_peer
from tests.inputs.elf import SHARED, Elf, Section, code_section
from tests.profiles.loaded_program import build, profile_of, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_engine

ID = "ab" * 20
TABLE = b"\x01\x1b\x03\x3b" + bytes(8)


def stripped(path: Path, *starts: int) -> Binaries:
    """A module without symbols, in which functions start."""
    rows = b"".join(
        ((each - 0x3000) & 0xFFFFFFFF).to_bytes(4, "little") * 2 for each in starts
    )
    sections = [
        code_section(0x1000, 0x1000),
        Section(".eh_frame_hdr", TABLE + rows, address=0x3000),
    ]
    path.write_bytes(Elf(sections, build_id=bytes.fromhex(ID), type=SHARED).to_bytes())
    return Binaries(find_in([str(path.parent)], ()))


def profile_at(mapping: Mapping, *addresses: int) -> Profile:
    """A profile with a sample at each address."""
    builder = ProfileBuilder()
    index = builder.mapping(mapping)
    for address in addresses:
        builder.sample(builder.stack([builder.location(address, index)]))
    return builder.profile


def test_all_addresses_of_a_function_are_one_row(tmp_path: Path) -> None:
    binaries = stripped(tmp_path / "lib.so", 0x1100, 0x1200)
    mapping = Mapping(0x7F001000, 0x7F002000, 0x1000, 0, "/opt/lib.so", ID)
    addresses = (0x7F001100, 0x7F0011FF, 0x7F001200, 0x7F001010)
    profile = profile_at(mapping, *addresses)
    bound_functions(profile, binaries)
    rows = {row.name: row.own for row in top_rows(profile)}
    assert rows == {"lib.so+0x1100": 2, "lib.so+0x1200": 1, "lib.so!0x7f001010": 1}
    assert not profile.unsure


def test_functions_that_have_names_keep_them(tmp_path: Path) -> None:
    binaries = stripped(tmp_path / "lib.so", 0x1100)
    mapping = Mapping(0x7F001000, 0x7F002000, 0x1000, 0, "/opt/lib.so", ID)
    builder = ProfileBuilder()
    index = builder.mapping(mapping)
    builder.location(0x7F001100, index, frames=(Frame("known"),))
    builder.location(0x7F001180, None)
    bound_functions(builder.profile, binaries)
    assert [each.function for each in builder.profile.locations] == ["", ""]


def test_a_module_with_another_id_or_without_one_is_not_used(tmp_path: Path) -> None:
    binaries = stripped(tmp_path / "lib.so", 0x1100)
    for build_id in ("", "cd" * 20):
        mapping = Mapping(0x7F001000, 0x7F002000, 0x1000, 0, "/opt/lib.so", build_id)
        profile = profile_at(mapping, 0x7F001100)
        bound_functions(profile, binaries)
        assert profile.locations[0].function == ""


def test_a_module_that_may_be_of_another_build_is_noted(tmp_path: Path) -> None:
    binaries = stripped(tmp_path / "lib.so", 0x1100)
    mapping = Mapping(0x7F001000, 0x7F002000, 0x1000, 0, "/opt/lib.so", ID)
    profile = profile_at(mapping._replace(unsure="who knows"), 0x7F001100)
    bound_functions(profile, binaries)
    assert [each.reason for each in profile.unsure] == ["who knows"]


def test_a_stripped_program_has_the_functions_of_its_symbols(tmp_path: Path) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("the program asks an x86-64 for its program counter")
    program = build(tmp_path, find_peer("clang-19"), "-pie", "-fPIE")
    said = subprocess.run(
        [find_peer("llvm-nm-19"), program], check=True, capture_output=True, text=True
    ).stdout
    symbols = {
        name: int(at, 16)
        for at, _, name in (
            each.split() for each in said.splitlines() if each[0] != " "
        )
    }
    seen = run(program)
    subprocess.run([find_peer("llvm-strip-19"), program], check=True)
    known = module_at(str(program), {}).build_id
    profile = profile_of(seen, str(program), known)
    bound_functions(profile, Binaries())
    expected = [
        f"chain+{symbols[name]:#x}" for name in ("leaf", "middle", "outer", "main")
    ]
    assert [each.function for each in profile.locations] == expected
