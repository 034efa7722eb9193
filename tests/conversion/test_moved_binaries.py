"""Binaries that were moved after their debug file was made, and the other way round."""

from __future__ import annotations

import lzma
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from tests.companions import ID, ID_PATH, debug_link, names_of, place
from tests.conversions import describe, read_functions, words
from tests.inputs import pe
from tests.inputs.dies import Die, Ref
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Tag
from tests.inputs.elf import Elf, Section, Segment, Symbol, code_section
from tests.inputs.line_program import LineProgram, sequence
from tests.inputs.macho import Macho, code, debug_sections
from tests.inputs.program import function, inlined, unit
from tests.inputs.split import split_unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BASES = [(0x1000, 0x3A001000), (0x3A001000, 0x1000)]
HERE, THERE = BASES[0]


def dwarf(base: int, bits: int = 64) -> Dwarf:
    """Of a function with lines and a call, other code, and dropped code."""
    call = inlined(Ref("tiny"), (base + 4, base + 8))
    return Dwarf(
        [
            unit(
                Die(Tag.subprogram, {At.name: "tiny", At.inline: 1}, label="tiny"),
                function("a", base, base + 0x10, call),
                function("dropped", 0, 0x10),
                version=4,
                lines=LineProgram(
                    sequence(
                        (base, 5), (base + 4, 6), (base + 0x20, 7), end=base + 0x30
                    )
                ),
            )
        ],
        address_size=bits // 8,
    )


def image(
    *sections: Section,
    base: int,
    bits: int = 64,
    symbols: Sequence[Symbol] = (),
    parts: Sequence[tuple[str, int, int]] = (
        (".text", 0, 0x1000),
        (".fini", 0x1000, 9),
    ),
) -> bytes:
    return Elf(
        [*(code_section(base + at, size, name) for name, at, size in parts), *sections],
        [Segment(base - 0x1000, 0x4000)],
        symbols=symbols,
        build_id=ID,
        bits=bits,
    ).to_bytes()


def elf_sections(found: dict[str, bytes]) -> list[Section]:
    return [Section(name, data) for name, data in found.items()]


def debug_file(base: int, bits: int = 64, **options: object) -> bytes:
    symbols = Symbol("a", base, 0x10), Symbol("bare", base + 0x20, 0x10)
    sections = elf_sections(dwarf(base, bits).sections())
    return image(*sections, base=base, bits=bits, symbols=symbols, **options)  # type: ignore[arg-type]


def convert(folder: Path, binary: bytes, *, strict: bool = True) -> str:
    path = place(folder / "app", binary)
    report = gsym.convert(path, folder / "o", debug_file_directories=[str(folder)])
    if strict:
        assert report.notes == ()
        arguments = [str(folder / "o"), "--against", path]
        arguments += ["--debug-file-directory", str(folder)]
        assert main(["verify", *arguments]) == 0
    return describe(read_functions(report.outputs[0]))


def expected(base: int) -> str:
    return words(f"""
        {base:x}-{base + 0x10:x} a
          {base:x} /src/a.c:5
          {base + 4:x} /src/a.c:6
          inlined tiny {base + 4:x}-{base + 8:x} from /src/a.c:1
        {base + 0x20:x}-{base + 0x30:x} bare
          {base + 0x20:x} /src/a.c:7
    """)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("base", "debug_base"), BASES)
def test_all_of_a_debug_file_is_moved_to_the_binary(
    base: int, debug_base: int, bits: int, tmp_path: Path
) -> None:
    place(tmp_path / ID_PATH, debug_file(debug_base, bits))
    assert convert(tmp_path, image(base=base, bits=bits)) == expected(base)


def test_segments_tell_the_distance_where_sections_do_not(tmp_path: Path) -> None:
    place(tmp_path / ID_PATH, debug_file(THERE))
    binary = image(base=HERE, parts=[(".code", 0, 0x2000)])
    assert convert(tmp_path, binary) == expected(HERE)


def test_sections_of_one_name_and_size_tell_nothing(tmp_path: Path) -> None:
    twins = [(".text", 0, 0x1000), (".x", 0x1000, 8), (".x", 0x1100, 8)]
    place(tmp_path / ID_PATH, debug_file(THERE, parts=twins))
    swapped = [twins[0], (".x", 0x1100, 8), (".x", 0x1000, 8)]
    assert convert(tmp_path, image(base=HERE, parts=swapped)) == expected(HERE)


OWN = Symbol("own", HERE, 0x10)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([(".text", 0, 0x1000), (".fini", 0x1800, 9)], "by different distances"),
        (
            [(".text", 0, 0x1008), (".text", 0x2000, 8)],
            "no section in common",
        ),
    ],
)
def test_a_debug_file_that_may_lie_anywhere_is_refused(
    parts: list[tuple[str, int, int]], reason: str, tmp_path: Path
) -> None:
    sections = elf_sections(dwarf(THERE).sections())
    debug = Elf(
        [code_section(THERE), code_section(THERE + 0x1000, 9, ".fini"), *sections],
        build_id=ID,
        symbols=[Symbol("a", THERE, 0x10)],
    ).to_bytes()
    path = place(tmp_path / ID_PATH, debug)
    binary = place(tmp_path / "app", image(base=HERE, parts=parts, symbols=[OWN]))
    directories = [str(tmp_path)]
    report = gsym.convert(binary, debug_file_directories=directories)
    assert names_of(report) == ["own"]
    (note,) = report.notes
    assert path in note
    assert reason in note
    place(tmp_path / "app", image(base=HERE, parts=parts))
    with pytest.raises(gsym.EmptyError, match=reason):
        gsym.convert(binary, debug_file_directories=directories)


def test_what_a_rewriter_moved_does_not_move_the_rest(tmp_path: Path) -> None:
    """As BOLT does, which keeps the build id."""
    place(tmp_path / ID_PATH, debug_file(HERE))
    parts = [(".text", 0, 0x1000), (".fini", 0x8000, 9)]
    assert convert(tmp_path, image(base=HERE, parts=parts)) == expected(HERE)


def test_mini_debug_info_of_a_moved_binary_is_moved(tmp_path: Path) -> None:
    inner = image(base=THERE, symbols=[Symbol("inner", THERE + 0x10, 8)])
    packed = Section(".gnu_debugdata", lzma.compress(inner))
    found = convert(tmp_path, image(packed, base=HERE), strict=False)
    assert found == f"{HERE + 0x10:x}-{HERE + 0x18:x} inner\n"


def test_symbols_of_another_file_are_moved(tmp_path: Path) -> None:
    table = place(tmp_path / "symbols", image(base=THERE, symbols=[Symbol("s", THERE)]))
    path = place(tmp_path / "app", image(base=HERE))
    report = gsym.convert(path, symbol_table=table)
    (found,) = read_functions(report.outputs[0])
    assert (found.start, found.name) == (HERE, "s")


def test_split_units_are_moved_with_their_skeletons(tmp_path: Path) -> None:
    split = Dwarf(
        [
            split_unit(
                function("f", THERE, THERE + 0x10),
                low_pc=THERE,
                dwo_name=str(tmp_path / "a.dwo"),
            )
        ]
    )
    (units,) = split.split_sections()
    parts = Elf([Section(f"{name}.dwo", units[name]) for name in units])
    place(tmp_path / "a.dwo", parts.to_bytes())
    debug = image(*elf_sections(split.sections()), base=THERE)
    place(tmp_path / ID_PATH, debug)
    found = convert(tmp_path, image(base=HERE))
    assert found == f"{HERE:x}-{HERE + 0x10:x} f\n"


@pytest.mark.parametrize(("base", "debug_base"), BASES)
def test_a_bundle_of_a_moved_library_is_moved(
    base: int, debug_base: int, tmp_path: Path
) -> None:
    uuid = ID[:16]
    sections = debug_sections(dwarf(debug_base).sections())
    bundle = Macho(
        [code(debug_base, 0x100), *sections], uuid=uuid, base=debug_base - 64
    )
    place(tmp_path / "app.dSYM/Contents/Resources/DWARF/app", bundle.to_bytes())
    binary = Macho([code(base, 0x100)], uuid=uuid, base=base - 64)
    found = convert(tmp_path, binary.to_bytes())
    assert found == expected(base).partition(f"{base + 0x20:x}")[0]


@pytest.mark.parametrize(("base", "debug_base"), BASES)
def test_a_debug_file_of_a_rebased_program_is_moved(
    base: int, debug_base: int, tmp_path: Path
) -> None:
    text = pe.Section(".text", bytes(0x100), 0x1000, pe.CODE)
    found = dwarf(debug_base).sections()
    sections = [pe.Section(name, data, 0x9000) for name, data in found.items()]
    symbols = [pe.Symbol("a", 0), pe.Symbol("bare", 0x20)]
    debug = pe.Pe([text, *sections], symbols, image_base=debug_base - 0x1000).to_bytes()
    place(tmp_path / "app.dbg", debug)
    link = pe.Section(".gnu_debuglink", debug_link("app.dbg", debug).data, 0x9000)
    binary = pe.Pe([text, link], image_base=base - 0x1000, unwind=[(0x1020, 0x1030)])
    report = gsym.convert(place(tmp_path / "app", binary.to_bytes()))
    assert describe(read_functions(report.outputs[0])) == expected(base)
