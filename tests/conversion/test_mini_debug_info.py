"""MiniDebugInfo: symbols within .gnu_debugdata, and what hostile ones may cost."""

from __future__ import annotations

import lzma
import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.conversion.companions import elf
from tests.companions import ID, ID_PATH, debug_file, names_of, place
from tests.conftest import find_peer
from tests.inputs.elf import Elf, Section, Symbol, code_section

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

EXPORTED = (Symbol("exported", 0x1080, 0x10),)
INNER = (Symbol("inner", 0x1100, 0x10),)


def within(*sections: Section, byteorder: ByteOrder = "little") -> bytes:
    return Elf(
        [code_section(), *sections], symbols=INNER, byteorder=byteorder
    ).to_bytes()


def packed(data: bytes) -> Section:
    return Section(".gnu_debugdata", lzma.compress(data))


def binary(
    *sections: Section,
    symbols: tuple[Symbol, ...] = (),
    byteorder: ByteOrder = "little",
) -> bytes:
    return Elf(
        [code_section(), *sections],
        symbols=symbols,
        dynamic_symbols=EXPORTED,
        build_id=ID,
        byteorder=byteorder,
    ).to_bytes()


def convert(folder: Path, image: bytes) -> gsym.ConversionReport:
    path = place(folder / "app", image)
    return gsym.convert(path, debug_file_directories=[str(folder)])


@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_symbols_within_add_to_the_dynamic_ones(
    byteorder: ByteOrder, tmp_path: Path
) -> None:
    section = packed(within(byteorder=byteorder))
    report = convert(tmp_path, binary(section, byteorder=byteorder))
    assert names_of(report) == ["exported", "inner"]
    assert len(report.notes) == 1  # that there is no debug information


def test_they_are_used_beside_a_debug_file_without_symbols(tmp_path: Path) -> None:
    place(tmp_path / ID_PATH, debug_file(ID))
    report = convert(tmp_path, binary(packed(within())))
    assert names_of(report) == ["in_debug", "exported", "inner"]
    assert report.notes == ()


def test_a_symbol_table_makes_them_needless(tmp_path: Path) -> None:
    own = (Symbol("own", 0x1200, 0x10),)
    image = binary(packed(within()), symbols=own)
    assert names_of(convert(tmp_path, image)) == ["own"]
    place(tmp_path / ID_PATH, debug_file(ID, symbols=own))
    image = binary(packed(within()))
    assert names_of(convert(tmp_path, image)) == ["in_debug", "own"]


WHOLE = lzma.compress(within())
DAMAGED = {
    "it is damaged": b"no xz file at all",
    "it is damaged: Corrupt": WHOLE[:60] + b"\xff" + WHOLE[61:],
    "it is damaged: it is truncated": WHOLE[:-1],
    "inflates to more than": lzma.compress(bytes(64 << 20), preset=0),
    "not an ELF": lzma.compress(b"text"),
    "it contains another one": lzma.compress(within(packed(within()))),
    "it is damaged: Memory usage limit": lzma.compress(
        within(),
        filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 512 << 20}],
    ),
}


@pytest.mark.parametrize("reason", DAMAGED)
def test_unusable_mini_debug_info_is_reported(reason: str, tmp_path: Path) -> None:
    image = binary(Section(".gnu_debugdata", DAMAGED[reason]))
    report = convert(tmp_path, image)
    assert names_of(report) == ["exported"]
    assert f".gnu_debugdata cannot be used: {reason}" in report.notes[1]


def test_the_limits_hold_exactly(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    image = binary(packed(within()))
    monkeypatch.setattr(elf, "_MAX_MINI_SIZE", len(within()))
    assert names_of(convert(tmp_path, image)) == ["exported", "inner"]
    monkeypatch.setattr(elf, "_MAX_MINI_SIZE", len(within()) - 1)
    assert names_of(convert(tmp_path, image)) == ["exported"]


def test_a_section_outside_of_the_file_is_reported(tmp_path: Path) -> None:
    image = binary(Section(".gnu_debugdata", WHOLE, size=1 << 40))
    report = convert(tmp_path, image)
    assert names_of(report) == ["exported"]
    assert "section .gnu_debugdata reaches past the end" in report.notes[1]


def test_a_real_one_names_static_functions(
    compiler: str, objcopy: str, tmp_path: Path
) -> None:
    find_peer("xz")

    def run(*arguments: str) -> None:
        subprocess.run(arguments, check=True, cwd=tmp_path, timeout=60)

    source = """
__attribute__((noinline)) static int hidden(int n) { return n * n; }
int shown(int n) { return hidden(n) + hidden(n + 1); }
"""
    (tmp_path / "lib.c").write_text(source)
    run(compiler, "-O1", "-fPIC", "-shared", "-o", "lib.so", "lib.c")
    run(objcopy, "-S", "--keep-symbol=hidden", "lib.so", "mini")
    run("xz", "-f", "mini")
    add = "--add-section=.gnu_debugdata=mini.xz"
    run(objcopy, "--strip-all", add, "lib.so", "app")
    names = names_of(gsym.convert(tmp_path / "app"))
    assert {"hidden", "shown"} <= set(names)
