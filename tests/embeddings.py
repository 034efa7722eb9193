"""Binaries with a GSYM file in them, and what is asked of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gsym
from gsym.verification.check import check_structure
from tests.inputs.elf import Elf, Section, Segment, Symbol, code_section
from tests.inputs.macho_executable import MachoExecutable

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

UUID = bytes(range(16))
TARGETS: list[tuple[int, ByteOrder]] = [
    *((32, "little"), (32, "big"), (64, "little"), (64, "big"))
]

# Names as they stand in the symbol table, as a tail of one there, and nowhere.
NAMES = ("main", "_ZN3fooEv", "foo", "inlined_only")
SYMBOLS = ("main", "_ZN3fooEv", "__foo")

FUNCTIONS = [
    gsym.FunctionInfo(
        *(0x1000, 0x40, "main"),
        (
            gsym.LineEntry(0x1000, "/src/main.cc", 10),
            gsym.LineEntry(0x1010, "/src/foo.h", 20),
        ),
        gsym.InlineInfo(
            *("main", "", 0, (gsym.Range(0x1000, 0x1040),)),
            (
                gsym.InlineInfo(
                    *("inlined_only", "/src/main.cc", 11),
                    (gsym.Range(0x1010, 0x1018),),
                ),
            ),
        ),
    ),
    gsym.FunctionInfo(
        *(0x1100, 8, "_ZN3fooEv"),
        call_sites=(gsym.CallSite(4, 1, ("foo", "main")),),
        merged=(gsym.FunctionInfo(0x1100, 8, "foo"),),
    ),
    gsym.FunctionInfo(0x1200, 0, "foo"),
]


def write_gsym(
    path: Path, version: int = 1, byteorder: str = "little", uuid: bytes = UUID
) -> Path:
    with gsym.Creator(version, byteorder, 0x1000, uuid) as creator:
        for function in FUNCTIONS:
            creator.add(function)
        creator.save(path)
    return path


def elf(bits: int = 64, byteorder: ByteOrder = "little", **choices: object) -> Elf:
    """A program with a loaded section, symbols and a build id."""
    fields: dict[str, object] = {
        "sections": (code_section(), Section(".data", b"data" * 9, address=0x3000)),
        "segments": (Segment(0x1000, size=0x80),),
        "symbols": tuple(Symbol(name, 0x1000) for name in SYMBOLS),
        "build_id": UUID,
        "bits": bits,
        "byteorder": byteorder,
    }
    return Elf(**(fields | choices))  # type: ignore[arg-type]


def macho(
    bits: int = 64, byteorder: ByteOrder = "little", **choices: object
) -> MachoExecutable:
    """A program whose symbols have an underscore more."""
    fields: dict[str, object] = {
        "symbols": tuple(f"_{name}" for name in SYMBOLS),
        "bits": bits,
        "byteorder": byteorder,
        "uuid": UUID,
    }
    return MachoExecutable(**(fields | choices))  # type: ignore[arg-type]


def functions_of(path: Path) -> list[gsym.FunctionInfo]:
    with gsym.open(path) as reader:
        return list(reader.functions())


def check_round_trip(
    before: bytes, folder: Path, source: Path, *, share: bool
) -> gsym.EmbeddingReport:
    """Embed into a new file and take out again; the binary stays as it is."""
    binary, output = folder / "program", folder / "with"
    binary.write_bytes(before)
    report = gsym.embed(source, binary, output, share_strings=share)
    assert binary.read_bytes() == before
    assert_answers(output)
    assert report.gsym_size == source.stat().st_size
    assert report.binary_size == len(before)
    assert report.output_size == output.stat().st_size
    assert report.signature == ""
    assert (report.string_table_size > 0) is share
    extracted = folder / "again.gsym"
    assert gsym.extract(output, extracted) == extracted.stat().st_size
    if share:
        assert_answers(extracted)
        assert report.section_size < report.gsym_size + 48
    else:
        assert extracted.read_bytes() == source.read_bytes()
        assert report.section_size == report.gsym_size
    return report


def assert_answers(path: Path) -> None:
    """The file at *path* says all that went into it, by every way of asking."""
    with gsym.open(path, uuid=UUID) as reader:
        assert list(reader.functions()) == FUNCTIONS
        found = reader.lookup(0x1014, merged=True)
        assert found is not None
        assert [(frame.name, frame.path, frame.line) for frame in found.frames] == [
            ("inlined_only", "/src/foo.h", 20),
            ("main", "/src/main.cc", 11),
        ]
        assert reader.lookup_many([0x1100]).to_pylist()[0]
        assert [extent.start for extent in reader.find("foo")] == [0x1100, 0x1200]
    assert check_structure(str(path)) == []
