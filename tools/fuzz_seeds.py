"""Write small seeds for a fuzz target: `python -m tools.fuzz_seeds TARGET FOLDER`.

TARGET is `image`, `convert`, `breakpad`, `pdb` or `fxt`. Run it from the checkout, as
tools/fuzz.sh does.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import gsym
from tests.dwarf.test_package import VERSIONS, Made
from tests.dwarf.test_split import whole_program
from tests.hostile import small_file
from tests.inputs.breakpad import Call, Func, Public, Range, Row, Symbols, text_of
from tests.inputs.dies import Die, Ref
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.elf import elf_of
from tests.inputs.fxt import Words, events_of_a_trace
from tests.inputs.pdb_examples import PDBS
from tests.inputs.program import function, unit
from tests.inputs.scaled import one_giant_unit, units, units_of_one_line_table
from tests.trace.fxt_cases import OTHERS, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_LARGE = 1000  # bytes of a record that would fill a seed


def with_split(main: dict[str, bytes], split: dict[str, bytes]) -> bytes:
    """A program that holds the sections of its split file or package, too."""
    named = {
        name if name.endswith("_index") else f"{name}.dwo": content
        for name, content in split.items()
    }
    return elf_of({**main, **named})


def programs() -> Iterator[tuple[str, bytes]]:
    """Programs, also with split units, packages and a supplementary file.

    The fuzzer takes these from the same input, whose size selects its roles.
    """
    for name, data in whole_programs():
        for more in range(0, 8, 2):
            yield f"{name}-{more}", data + bytes(more)


def whole_programs() -> Iterator[tuple[str, bytes]]:
    """Each program once."""
    yield "units", units(3)
    yield "one-line-table", units_of_one_line_table(3)
    yield "one-unit", one_giant_unit(4)
    for index_version, version in VERSIONS.items():
        dwarf = Dwarf([whole_program(version)])
        [split] = dwarf.split_sections()
        yield f"split-{version}", with_split(dwarf.sections(), split)
        made = Made(index_version)
        sections = with_split(made.main_sections, made.package.encode())
        yield f"package-{version}", sections
    named = Die(
        Tag.namespace,
        {At.name: Form.strp("N")},
        Die(Tag.subprogram, {At.name: Form.strp("f"), At.declaration: True}, label="f"),
    )
    for form in (Form.GNU_ref_alt, Form.ref_sup4, Form.ref_sup8):
        text = Form.GNU_strp_alt if form == Form.GNU_ref_alt else Form.strp_sup
        user = function(
            None,
            0x1000,
            0x1010,
            function("g", 0x1004, 0x1008, attributes={At.linkage_name: text("f")}),
            attributes={At.specification: form(Ref("f"))},
        )
        dwarf = Dwarf([unit(named, user)])
        yield f"supplementary-{form.name}", elf_of(dwarf.sections())


def images() -> Iterator[tuple[str, bytes]]:
    """GSYM files of both versions and byte orders, and one with indexes."""
    for version in (1, 2):
        for byteorder in ("little", "big"):
            yield f"{version}-{byteorder}", small_file(version, byteorder)
    with TemporaryDirectory() as folder:
        program = Path(folder, "program")
        program.write_bytes(one_giant_unit(3))
        gsym.convert(program, index=True)
        yield "index", Path(f"{program}.gsym").read_bytes()


def symbol_files() -> Iterator[tuple[str, bytes]]:
    """Breakpad files with every record that is read."""
    extent = Range(0x1000, 0x20)
    symbols = Symbols(
        {0: "a.c", 1: "b.h"},
        {0: "inlined", 1: "deeper"},
        (
            Func(
                extent,
                "f",
                (Row(Range(0x1000, 8), 3, 0), Row(Range(0x1008, 0x18), 7, 1)),
                (
                    Call(0, 4, 0, 0, (Range(0x1004, 8),)),
                    Call(1, 9, 1, 1, (Range(0x1004, 4), Range(0x100A, 2))),
                ),
            ),
            Func(extent, "twin", multiple=True),
        ),
        (Public(0x1020, "public"), Public(0x1030, "other", multiple=True)),
    )
    yield "unix", text_of(*symbols.records())
    yield "windows", text_of(*symbols.records(), end="\r\n")


def pdb_files() -> Iterator[tuple[str, bytes]]:
    """PDBs with every record that is read."""
    for name, pdb in PDBS.items():
        yield name, pdb.to_bytes()
        yield f"{name}-scattered", replace(pdb, scattered=True).to_bytes()


def traces() -> Iterator[tuple[str, bytes]]:
    """Fuchsia traces with every kind of record."""
    w = Words("little")
    others = [make(w) for _, make in OTHERS.values()]
    unknown = [make(w) for _, make in UNKNOWN.values()]
    yield "others", b"".join(each for each in others if len(each) < _LARGE)
    yield "unknown", w.magic() + b"".join(unknown)
    yield "events", events_of_a_trace(20)


SEEDS: dict[str, Callable[[], Iterator[tuple[str, bytes]]]] = {
    "image": images,
    "bulk": images,
    "convert": programs,
    "breakpad": symbol_files,
    "pdb": pdb_files,
    "fxt": traces,
}


def main(target: str, folder: str) -> None:
    """Write them all."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, data in SEEDS[target]():
        Path(folder, f"seed-{name}").write_bytes(data)


if __name__ == "__main__":
    main(*sys.argv[1:])
