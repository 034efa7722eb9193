"""gsym_convert writes the bytes that the package writes, and refuses what it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import gsym
from tests.conftest import find_peer
from tests.inputs.dies import Die
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Tag
from tests.inputs.elf import (
    RELOCATABLE,
    Elf,
    Relocation,
    Section,
    Symbol,
    code_section,
    with_phantom_bytes,
)
from tests.inputs.line_program import LineProgram, sequence
from tests.inputs.program import function, unit
from tests.inputs.split import split_unit
from tests.inputs.split_examples import addressed, complete
from tests.libgsym.conftest import words_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.libgsym.conftest import Library

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

BREAKPAD = (
    "MODULE {os} x86_64 0102030405060708090A0B0C0D0E0F100 a.out\n"
    "INFO CODE_ID {code_id}\n"
    "FILE 0 /src/a.c\n"
    "FUNC 1000 20 0 f\n"
    "1000 10 5 0\n"
    "1010 10 6 0\n"
    "not a record\n"
    "PUBLIC 2000 0 g\n"
)


RESERVED = [0, 1]  # options that a later version may have


class Converted(NamedTuple):
    status: int
    path: str
    reason: str
    functions: int
    warnings: int
    missing_split_units: int


def convert(library: Library, source: Path, output: Path, **options: Any) -> Converted:  # noqa: ANN401
    """Convert by the library; options are fields, paths and lists of them."""
    ffi, error = library.ffi, library.error()
    alive: list[Any] = []

    def value(given: Any) -> Any:  # noqa: ANN401
        if isinstance(given, int) or given == RESERVED:
            return given
        if isinstance(given, (list, tuple)):
            given = ffi.new("const char *[]", [value(each) for each in given])
        else:
            given = ffi.new("char[]", os.fsencode(given))
        alive.append(given)
        return given

    fields = {name: value(given) for name, given in options.items()}
    record = ffi.new("gsym_convert_options *", fields)
    report = ffi.new("gsym_convert_report *")
    paths = (os.fsencode(source), os.fsencode(output))
    status = library.lib.gsym_convert(*paths, record, report, error)
    counts = (report.functions, report.warnings, report.missing_split_units)
    if status == 0:
        return Converted(status, "", "", *counts)
    path = library.text(error.path) if error.path else ""
    return Converted(status, path, library.text(error.what), *counts)


def compiled(folder: Path, *options: str, output: str = "program") -> Path:
    """A C++ program, or an object file with `-c`, with types, templates and inlines."""
    source, path = folder / "shapes.cc", folder / output
    source.write_text(
        "template <typename T> struct Shape {\n"
        "    T side;\n"
        "    inline __attribute__((always_inline)) T area() const {\n"
        "        return side * side;\n"
        "    }\n"
        "};\n"
        "int measure(int a) { return Shape<int>{a}.area(); }\n"
        "long measure(long a) { return Shape<long>{a}.area(); }\n"
        "int main(int count, char **) { return measure(count) + (int)measure(2l); }\n"
    )
    command = words_of(find_peer("g++"), "-g", "-O1", *options, source.name, "-o", path)
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"the compiler has no {' '.join(options)}")
    return path


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-gdwarf-4", "-fdebug-types-section"),
        ("-gz=zlib",),
        ("-c",),
        ("-c", "-gz=zlib", "-ffunction-sections", "-fdebug-types-section"),
        ("-g0",),
    ],
    ids=" ".join,
)
def test_output_is_that_of_the_package(
    library: Library, tmp_path: Path, options: tuple[str, ...]
) -> None:
    program = compiled(tmp_path, *options)
    report = gsym.convert(program, tmp_path / "ours", identity=False)
    for threads in (0, 1, 3):
        found = convert(library, program, tmp_path / "theirs", thread_count=threads)
        assert found == Converted(0, "", "", report.functions, 0, 0)
        assert (tmp_path / "theirs").read_bytes() == (tmp_path / "ours").read_bytes()


def test_sections_may_be_compressed_by_zstd(library: Library, tmp_path: Path) -> None:
    objcopy = find_peer("llvm-objcopy-22")
    program, packed = compiled(tmp_path), tmp_path / "packed"
    command = words_of(objcopy, "--compress-debug-sections=zstd", program, packed)
    subprocess.run(command, check=True)
    gsym.convert(program, tmp_path / "ours", identity=False)
    assert convert(library, packed, tmp_path / "theirs").status == 0
    assert (tmp_path / "theirs").read_bytes() == (tmp_path / "ours").read_bytes()


def test_options_are_those_of_the_package(library: Library, tmp_path: Path) -> None:
    program, lib = compiled(tmp_path, "-O2"), library.lib
    mapped = [(str(tmp_path), "/mapped")]
    for fields, keywords in [
        ({"flags": lib.GSYM_WITH_CALL_SITES}, {"call_sites": True}),
        ({"flags": lib.GSYM_WITH_MERGED_FUNCTIONS}, {"merged_functions": True}),
        ({"flags": lib.GSYM_WITHOUT_SYMBOLS}, {"no_symbols": True}),
        ({"flags": lib.GSYM_WITHOUT_INDEX}, {"index": False}),
        ({"version": 2}, {"output_version": 2}),
        ({"path_map": [*mapped[0]], "path_map_count": 2}, {"path_map": mapped}),
    ]:
        gsym.convert(program, tmp_path / "ours", identity=False, **keywords)  # type: ignore[arg-type]
        assert convert(library, program, tmp_path / "theirs", **fields).status == 0
        theirs = (tmp_path / "theirs").read_bytes()
        assert theirs == (tmp_path / "ours").read_bytes(), keywords


@pytest.mark.parametrize(
    ("system", "code_id"),
    [
        ("Linux", "0403020106050807090A0B0C0D0E0F1011121314"),
        ("Linux", "1112131415161718"),
        ("mac", "0102030405060708090A0B0C0D0E0F10"),
        ("windows", "5F0A1B2C3000 a.exe"),
    ],
)
def test_breakpad_files_are_converted(
    library: Library, tmp_path: Path, system: str, code_id: str
) -> None:
    text = tmp_path / "a.sym"
    text.write_text(BREAKPAD.format(os=system, code_id=code_id))
    gsym.convert(text, tmp_path / "ours", identity=False)
    found = convert(library, text, tmp_path / "theirs")
    assert found == Converted(0, "", "", 2, 1, 0)
    assert (tmp_path / "theirs").read_bytes() == (tmp_path / "ours").read_bytes()


def test_a_debug_file_has_the_lines_of_its_binary(
    library: Library, tmp_path: Path
) -> None:
    objcopy = find_peer("objcopy")
    program = compiled(tmp_path, "-Wl,--build-id")
    debug, stripped = tmp_path / "program.debug", tmp_path / "stripped"
    subprocess.run(words_of(objcopy, "--only-keep-debug", program, debug), check=True)
    subprocess.run(words_of(objcopy, "--strip-all", program, stripped), check=True)
    gsym.convert(program, tmp_path / "ours", identity=False)
    output = tmp_path / "theirs"
    assert convert(library, stripped, output, debug_file=debug).status == 0
    assert output.read_bytes() == (tmp_path / "ours").read_bytes()
    other = compiled(tmp_path, "-O2", "-Wl,--build-id", output="other")
    found = convert(library, other, tmp_path / "none", debug_file=debug)
    assert found[:3] == (
        *(library.lib.GSYM_E_ARGUMENT, str(debug)),
        "not the debug information of the input: their build ids differ",
    )
    assert not (tmp_path / "none").exists()


def test_a_debug_file_at_another_address_is_moved(
    library: Library, tmp_path: Path
) -> None:
    objcopy = find_peer("objcopy")
    flags = "-no-pie", "-Wl,--build-id=0x1234"
    program = compiled(tmp_path, *flags)
    debug, stripped = tmp_path / "program.debug", tmp_path / "stripped"
    subprocess.run(words_of(objcopy, "--strip-all", program, stripped), check=True)
    gsym.convert(program, tmp_path / "ours", identity=False)
    compiled(tmp_path, *flags, "-Wl,-Ttext-segment=0x30000000")
    subprocess.run(words_of(objcopy, "--only-keep-debug", program, debug), check=True)
    output = tmp_path / "theirs"
    assert convert(library, stripped, output, debug_file=debug).status == 0
    assert output.read_bytes() == (tmp_path / "ours").read_bytes()


def test_split_units_are_read_if_they_are_given(
    library: Library, tmp_path: Path
) -> None:
    program = compiled(tmp_path, "-gsplit-dwarf")
    units = sorted(tmp_path.glob("*.dwo"))
    gsym.convert(program, tmp_path / "ours", identity=False)
    output = tmp_path / "theirs"
    assert convert(library, program, output).missing_split_units == 1
    fields = {"split_files": units, "split_file_count": len(units)}
    assert convert(library, program, output, **fields).missing_split_units == 0
    assert output.read_bytes() == (tmp_path / "ours").read_bytes()


def test_a_supplementary_file_is_read_if_it_is_given(
    library: Library, tmp_path: Path
) -> None:
    dwz = find_peer("dwz")
    program = compiled(tmp_path, "-gdwarf-4")
    other = shutil.copy(program, tmp_path / "other")
    shared = tmp_path / "shared.debug"
    subprocess.run(
        words_of(dwz, "-m", shared, program, other), check=True, capture_output=True
    )
    gsym.convert(program, tmp_path / "ours", identity=False)
    output = tmp_path / "theirs"
    assert convert(library, program, output).warnings
    assert convert(library, program, output, supplementary_file=shared).warnings == 0
    assert output.read_bytes() == (tmp_path / "ours").read_bytes()


@pytest.mark.parametrize(
    ("data", "status", "reason"),
    [
        (b"", "FORMAT", ""),
        (b"GSYM\1\0", "UNSUPPORTED", "already a GSYM file"),
        (b"!<arch>\nx", "UNSUPPORTED", "a static archive: extract its object files"),
        (b"\xca\xfe\xba\xbe\0\0\0\2", "UNSUPPORTED", "a universal binary: "),
        (b"\x7fELF", "FORMAT", ""),
        (b"MODULE Linux x86_64 00 a\n", "EMPTY", ""),
        (b"FUNC 1000 10 0 f\n", "OK", ""),
    ],
)
def test_what_cannot_be_converted_is_refused(
    library: Library, tmp_path: Path, data: bytes, status: str, reason: str
) -> None:
    source, output = tmp_path / "input", tmp_path / "output"
    source.write_bytes(data)
    found = convert(library, source, output)
    is_good = status == "OK"
    expected = "GSYM_OK" if is_good else f"GSYM_E_{status}"
    assert found.status == getattr(library.lib, expected)
    assert found.path == ("" if is_good else str(source))
    assert found.reason.startswith(reason)
    assert output.exists() == is_good


def test_a_damaged_compressed_section_is_an_error_with_its_offset(
    library: Library, tmp_path: Path
) -> None:
    program = compiled(tmp_path, "-gz=zlib")
    data = bytearray(program.read_bytes())
    at = data.index(b"\x78\x9c") if b"\x78\x9c" in data else data.index(b"\x78\x5e")
    data[at + 8 : at + 16] = b"\xff" * 8
    program.write_bytes(data)
    found = convert(library, program, tmp_path / "none")
    assert found.status == library.lib.GSYM_E_FORMAT
    assert found.reason.startswith("a compressed section is damaged")


# The second one follows a section that is read, and no sum of sizes has room for it.
@pytest.mark.parametrize(
    ("section", "size"), [("info", 1 << 33), ("abbrev", (1 << 64) - 1)]
)
def test_sections_that_claim_too_much_are_refused(
    library: Library, tmp_path: Path, section: str, size: int
) -> None:
    program = compiled(tmp_path, "-gz=zlib")
    data = bytearray(program.read_bytes())
    readelf = find_peer("readelf")
    listing = subprocess.run(
        words_of(readelf, "-SW", program), capture_output=True, text=True, check=True
    )
    name = f" .debug_{section} "
    (line,) = [each for each in listing.stdout.splitlines() if name in each]
    offset = int(line.split("PROGBITS")[1].split()[1], 16)
    data[offset + 8 : offset + 16] = size.to_bytes(8, "little")
    program.write_bytes(data)
    found = convert(library, program, tmp_path / "none")
    assert found.status == library.lib.GSYM_E_LIMIT


def test_outputs_are_complete_or_absent(library: Library, tmp_path: Path) -> None:
    program, lib = compiled(tmp_path), library.lib
    before = program.read_bytes()
    found = convert(library, program, program)
    assert found[:3] == (lib.GSYM_E_ARGUMENT, str(program), "the output is an input")
    assert program.read_bytes() == before
    missing = tmp_path / "no folder" / "output"
    found = convert(library, program, missing)
    reason = "cannot create: No such file or directory"
    assert found[:3] == (lib.GSYM_E_SYSTEM, str(missing), reason)
    link, target = tmp_path / "link", tmp_path / "target"
    target.write_bytes(b"old")
    link.symlink_to(target)
    assert convert(library, program, link).status == 0
    assert link.is_symlink()
    assert target.read_bytes()[:4] in {b"MYSG", b"GSYM"}
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"program", "shapes.cc", "link", "target"}


def test_a_device_is_written_to(library: Library, tmp_path: Path) -> None:
    program, pipe = compiled(tmp_path), tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        assert convert(library, program, pipe).status == 0
        data, _ = reader.communicate(timeout=30)
    gsym.convert(program, tmp_path / "ours", identity=False)
    assert data == (tmp_path / "ours").read_bytes()
    assert pipe.is_fifo()


def test_split_units_of_another_build_yield_to_symbols(
    library: Library, tmp_path: Path
) -> None:
    unit = split_unit(Die(Tag.subprogram, {At.name: "old", **addressed(5, 0x1008, 16)}))
    binary, split = complete(unit, Symbol("f", 0x1000, 0x10), Symbol("g", 0x1010, 0x10))
    (tmp_path / "a.dwo").write_bytes(split)
    (tmp_path / "app").write_bytes(binary)
    report = gsym.convert(tmp_path / "app", tmp_path / "ours", identity=False)
    assert sum(report.warnings.values()) == 1
    fields = {"split_files": [tmp_path / "a.dwo"], "split_file_count": 1}
    found = convert(library, tmp_path / "app", tmp_path / "theirs", **fields)
    assert found == Converted(0, "", "", 2, 1, 0)
    assert (tmp_path / "theirs").read_bytes() == (tmp_path / "ours").read_bytes()


def test_relocations_of_all_files_are_counted(library: Library, tmp_path: Path) -> None:
    """Those that cannot be applied, as they have a type that no linker knows."""
    unknown = [Relocation(4, 255)]
    unit = split_unit(Die(Tag.subprogram, {At.name: "f", **addressed(0, 0x1000, 16)}))
    [split] = Dwarf([unit]).split_sections()
    sections = [Section(f"{name}.dwo", data) for name, data in split.items()]
    relocated = Elf(
        [code_section(0), *sections],
        symbols=[Symbol("g", 8, 4)],
        relocations=[(".debug_info.dwo", unknown)],
        type=RELOCATABLE,
    )
    binary, _ = complete(unit, Symbol("f", 0x1000, 0x10))
    for name, data in (("app", binary), ("a.dwo", relocated.to_bytes())):
        (tmp_path / name).write_bytes(data)
    report = gsym.convert(tmp_path / "app", tmp_path / "ours", identity=False)
    fields = {"split_files": [tmp_path / "a.dwo"], "split_file_count": 1}
    found = convert(library, tmp_path / "app", tmp_path / "theirs", **fields)
    assert found.warnings == sum(report.warnings.values())
    assert report.warnings["Relocation of type 255 could not be applied"] == 1


@pytest.mark.parametrize("bits", [32, 64])
def test_phantom_bytes_are_no_part_of_the_dwarf(
    bits: int, library: Library, tmp_path: Path
) -> None:
    lines = LineProgram(sequence((0x1000, 3), (0x1008, 4), end=0x1010))
    whole = unit(function("f", 0x1000, 0x1010), lines=lines, version=2)
    sections = Dwarf([whole], address_size=bits // 8).sections()
    image = with_phantom_bytes(sections, bits=bits)
    (tmp_path / "app").write_bytes(image)
    report = gsym.convert(tmp_path / "app", tmp_path / "ours", identity=False)
    assert (report.functions_with_lines, report.warnings) == (1, {})
    found = convert(library, tmp_path / "app", tmp_path / "theirs")
    assert found == Converted(0, "", "", 1, 0, 0)
    assert (tmp_path / "theirs").read_bytes() == (tmp_path / "ours").read_bytes()


def test_options_of_a_later_version_are_refused(
    library: Library, tmp_path: Path
) -> None:
    found = convert(library, compiled(tmp_path), tmp_path / "none", reserved=RESERVED)
    assert found[:2] == (library.lib.GSYM_E_ARGUMENT, "")
