"""Write small seeds for a fuzz target: `python -m tools.fuzz_seeds TARGET FOLDER`.

TARGET is one of `SEEDS`. Run it from the checkout, as tools/fuzz.sh does.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import gsym
from gsym.symbfile.columns import LineTableRow, Range, ReturnPad, ReturnPadEntry
from gsym.symbfile.format import encode
from tests.fxt.fxt_cases import OTHERS, UNKNOWN
from tests.hostile import small_file
from tests.inputs import breakpad, pe
from tests.inputs.debug_map import TEXT, stabs
from tests.inputs.dies import Die, Ref
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.elf import elf_of
from tests.inputs.fxt import Words, events_of_a_trace
from tests.inputs.macho import OBJECT, Macho, Symbol, code, debug_sections
from tests.inputs.pdb_examples import PDBS
from tests.inputs.program import function, unit
from tests.inputs.scaled import (
    depth_of_inlined_calls,
    one_giant_unit,
    rows_of_a_function,
    units,
    units_of_one_line_table,
)
from tests.inputs.scaled_symbols import go_functions, symbols_in_each_other
from tests.inputs.split_examples import VERSIONS, Packaged, whole_program
from tests.inputs.symbfile import message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_LARGE = 1000  # bytes of a record that would fill a seed
_UNKNOWN = 99  # a message of a symbfile


def with_split(main: dict[str, bytes], split: dict[str, bytes]) -> bytes:
    """A program that holds the sections of its split file or package, too."""
    named = {
        name if name.endswith("_index") else f"{name}.dwo": content
        for name, content in split.items()
    }
    return elf_of({**main, **named})


_SUPPLEMENTARY, _MOVED, _DEBUG_MAP, _ONLY_GO, _THREADS, _MERGED, _PARTIAL = (
    1 << bit for bit in range(1, 8)
)


def programs() -> Iterator[tuple[str, bytes]]:
    """Programs, also with split units, packages, a supplementary file and a debug map.

    The fuzzer takes these from the same input, whose size selects its roles, how many
    threads work, and whether functions are merged.
    """
    roles = (0, _SUPPLEMENTARY, _MOVED, _SUPPLEMENTARY | _MOVED, _THREADS | _MERGED)
    for name, data in whole_programs():
        for role in roles:
            yield f"{name}-{role}", of_role(data, role)
    for role in (_DEBUG_MAP, _DEBUG_MAP | _THREADS):
        yield f"debug-map-{role}", of_role(with_debug_map(), role)
    for role in (0, _PARTIAL, _PARTIAL | _THREADS):
        yield f"symbols-{role}", of_role(symbols_in_each_other(4), role)
        yield f"parts-{role}", of_role(units(3), role)
    for role in (0, _ONLY_GO | _MERGED):
        yield f"go-{role}", of_role(go_functions(3), role)


def of_role(data: bytes, role: int) -> bytes:
    """The bytes padded to a size that selects *role*."""
    return data + bytes((role - len(data)) % (2 * _PARTIAL))


def with_debug_map() -> bytes:
    """A linked Mach-O file that is the object file of its debug map, too."""
    sections = Dwarf(
        [unit(function("a", 0, 0x10), function("b", 0x10, 0x20))]
    ).sections()
    symbols = [
        *stabs("a.o", {"_a": (TEXT + 0x40, 0x10), "_b": (TEXT + 0x10, 0x10)}),
        *(Symbol("_a", 0), Symbol("_b", 0x10)),
    ]
    parts = [code(0, 0x40), *debug_sections(sections)]
    return Macho(parts, symbols, base=None, type=OBJECT).to_bytes()


def whole_programs() -> Iterator[tuple[str, bytes]]:
    """Each program once."""
    yield "units", units(3)
    yield "one-line-table", units_of_one_line_table(3)
    yield "one-unit", one_giant_unit(4)
    debug = Dwarf([unit(function("f", 0x140001000, 0x140001010))]).sections()
    parts = [pe.Section(name, data) for name, data in debug.items()]
    symbols = [pe.Symbol("g", 0x20)]
    yield "pe", pe.Pe([pe.code_section(), *parts], symbols).to_bytes()
    for index_version, version in VERSIONS.items():
        dwarf = Dwarf([whole_program(version)])
        [split] = dwarf.split_sections()
        yield f"split-{version}", with_split(dwarf.sections(), split)
        made = Packaged(index_version)
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
    """GSYM files of both versions and byte orders, and of large functions."""
    for version in (1, 2):
        for byteorder in ("little", "big"):
            yield f"{version}-{byteorder}", small_file(version, byteorder)
    with TemporaryDirectory() as folder:
        program = Path(folder, "program")
        for make, count in ((depth_of_inlined_calls, 40), (rows_of_a_function, 600)):
            program.write_bytes(make(count))
            for index in (True, False):
                gsym.convert(program, index=index, identity=False)
                data = Path(f"{program}.gsym").read_bytes()
                yield f"{make.__name__}-{index}", data


def symbol_files() -> Iterator[tuple[str, bytes]]:
    """Breakpad files with every record that is read."""
    extent = breakpad.Range(0x1000, 0x20)
    symbols = breakpad.Symbols(
        {0: "a.c", 1: "b.h"},
        {0: "inlined", 1: "deeper"},
        (
            breakpad.Func(
                extent,
                "f",
                (
                    breakpad.Row(breakpad.Range(0x1000, 8), 3, 0),
                    breakpad.Row(breakpad.Range(0x1008, 0x18), 7, 1),
                ),
                (
                    breakpad.Call(0, 4, 0, 0, (breakpad.Range(0x1004, 8),)),
                    breakpad.Call(
                        1,
                        9,
                        1,
                        1,
                        (breakpad.Range(0x1004, 4), breakpad.Range(0x100A, 2)),
                    ),
                ),
            ),
            breakpad.Func(extent, "twin", multiple=True),
        ),
        (
            breakpad.Public(0x1020, "public"),
            breakpad.Public(0x1030, "other", multiple=True),
        ),
    )
    yield "unix", breakpad.text_of(*symbols.records())
    yield "windows", breakpad.text_of(*symbols.records(), end="\r\n")


def pdb_files() -> Iterator[tuple[str, bytes]]:
    """PDBs with every record that is read."""
    for name, pdb in PDBS.items():
        for scattered in (False, True):
            data = replace(pdb, scattered=scattered).to_bytes()
            yield f"{name}-{scattered}", data
            yield f"{name}-{scattered}-threads", data + bytes(-len(data) % 4 + 2)


def symbfiles() -> Iterator[tuple[str, bytes]]:
    """Ranges and return pads, in depth-first order and not."""
    inner = Range(0x18, 4, "g", "/g.c", "/f.c", 3, 1, (LineTableRow(0, 1),))
    outer = Range(0x10, 0x20, "f", "/f.c", line_table=(LineTableRow(4, 7),))
    beside = Range(0x40, 0x60, "h", "/h.c")
    pad = ReturnPad(0x19, (ReturnPadEntry("f", "/f.c", 3),))
    in_order = b"".join(encode([outer, inner, pad, beside]))
    disordered = b"".join(encode([beside, inner, outer]))
    for more in range(4):  # the size selects the version, and whether there are parts
        yield f"ordered-{more}", in_order + message(_UNKNOWN, bytes(more))
    yield "disordered", disordered
    yield "no-lines", b"".join(encode([beside]))


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
    "text": images,
    "symbfile": symbfiles,
}


def main(target: str, folder: str) -> None:
    """Write them all."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, data in SEEDS[target]():
        Path(folder, f"seed-{name}").write_bytes(data)


if __name__ == "__main__":
    main(*sys.argv[1:])
