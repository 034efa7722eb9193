"""Debug information whose relocations cannot be applied is not believed."""

from __future__ import annotations

import struct
import subprocess
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from elftools.elf.elffile import ELFFile

from tests.conftest import find_peer
from tests.conversions import convert_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import gsym

pytestmark = pytest.mark.usefixtures("clang")

SOURCES = {
    "a.c": "static inline __attribute__((always_inline)) int tiny(int x) {\n"
    "    return x * x; }\n"
    "int first(int x) { return tiny(x) + 1; }\n"
    "int second(int x) { return first(x) * tiny(x + 2); }\n",
    "b.c": "int first(int);\n\n\nint third(int x) { return first(x) / 3; }\n",
}
NAMES = {"first", "second", "third"}
UNKNOWN = 0x77


def compiled(clang: str, folder: Path, *options: str) -> bytes:
    """An object file of two units."""
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
        command = [clang, "-g", "-O1", "-c", *options, name, "-o", f"{name}.o"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        if done.returncode:
            pytest.skip(f"not built here: {done.stderr.decode()[:200]}")
    linker = find_peer("ld")
    command = [linker, "-r", "a.c.o", "b.c.o", "-o", "both.o"]
    subprocess.run(command, cwd=folder, check=True)
    return (folder / "both.o").read_bytes()


def places(image: bytes) -> Iterator[tuple[str, int, int]]:
    """Of each relocation of debug sections: section, place, offset of its type."""
    elf = ELFFile(BytesIO(image))
    for section in elf.iter_sections():
        if section.name.startswith(".rela.debug_"):
            start = section["sh_offset"]
            for at in range(start, start + section["sh_size"], 24):
                (place,) = struct.unpack_from("<Q", image, at)
                yield section.name.removeprefix(".rela"), place, at + 8


def damaged(image: bytes, chosen: Callable[[str, int], bool]) -> tuple[bytes, int]:
    """With the type of chosen relocations unknown, and how many these are."""
    out, count = bytearray(image), 0
    for section, place, at in places(image):
        if chosen(section, place):
            struct.pack_into("<I", out, at, UNKNOWN)
            count += 1
    return bytes(out), count


Answers = dict[str, "gsym.FunctionInfo"]


def answers(folder: Path, image: bytes) -> tuple[gsym.ConversionReport, Answers]:
    conversion = convert_bytes(folder, image)
    found = {str(each.name): each for each in conversion.functions}
    assert len(found) == len(conversion.functions)
    return conversion.report, found


def check(found: Answers, whole: Answers) -> None:
    """Each name is right, and what else is said as well."""
    assert found.keys() == whole.keys()
    for name, function in found.items():
        assert function.start == whole[name].start
        assert function.line_table in {None, whole[name].line_table}
        named, known = calls_of(function.inline), calls_of(whole[name].inline)
        assert named <= known | {("", *rest) for _, *rest in known}


def calls_of(node: gsym.InlineInfo | None) -> set[tuple[object, ...]]:
    """Name, line of the call and ranges of each inlined call."""
    if node is None:
        return set()
    own: set[tuple[object, ...]] = {(node.name, node.call_line, node.ranges)}
    return own.union(*map(calls_of, node.children))


OPTIONS = [["-gdwarf-4"], ["-gdwarf-5"], ["-gdwarf-5", "-ffunction-sections"]]


@pytest.mark.parametrize("options", OPTIONS)
def test_no_relocation_is_needed_for_a_right_name(
    options: list[str], clang: str, tmp_path: Path
) -> None:
    image = compiled(clang, tmp_path, *options)
    _, whole = answers(tmp_path, image)
    assert whole.keys() == NAMES
    assert [name for name, each in whole.items() if not each.line_table] == []
    for wanted in [*places(image)]:
        bad, _ = damaged(image, lambda *each, wanted=wanted: each == wanted[:2])
        report, found = answers(tmp_path, bad)
        check(found, whole)
        assert report.warnings["Relocation of type 119 could not be applied"] == 1


@pytest.mark.parametrize("options", OPTIONS)
def test_only_the_unit_of_the_relocation_is_left_out(
    options: list[str], clang: str, tmp_path: Path
) -> None:
    image = compiled(clang, tmp_path, *options)
    _, whole = answers(tmp_path, image)
    info = sorted(place for name, place, _ in places(image) if name == ".debug_info")
    for place, lost in ((info[0], {"first", "second"}), (info[-1], {"third"})):
        bad, _ = damaged(
            image, lambda *each, place=place: each == (".debug_info", place)
        )
        report, found = answers(tmp_path, bad)
        skipped = "Unit skipped: its relocations could not be applied"
        assert report.warnings[skipped] == 1
        assert {name for name in found if not found[name].line_table} == lost
        check(found, whole)


@pytest.mark.parametrize(
    ("section", "with_lines"),
    [
        (".debug_line", set()),
        (".debug_str_offsets", NAMES),
        (".debug_addr", NAMES),  # the rows of symbols
        (".debug_info", set()),
    ],
)
def test_a_section_that_is_not_relocated_is_not_read(
    section: str, with_lines: set[str], clang: str, tmp_path: Path
) -> None:
    image = compiled(clang, tmp_path, "-gdwarf-5")
    _, whole = answers(tmp_path, image)
    bad, count = damaged(image, lambda name, _: name == section)
    report, found = answers(tmp_path, bad)
    assert report.warnings["Relocation of type 119 could not be applied"] == count > 0
    assert {name for name, each in found.items() if each.line_table} == with_lines
    for name, function in found.items():
        assert function.line_table in {None, whole[name].line_table}


def test_the_first_types_are_named(clang: str, tmp_path: Path) -> None:
    image = bytearray(compiled(clang, tmp_path, "-gdwarf-4"))
    info = [at for name, _, at in places(bytes(image)) if name == ".debug_info"]
    for kind, at in enumerate(info, 200):
        struct.pack_into("<I", image, at, kind)
    report, _ = answers(tmp_path, bytes(image))
    skipped = report.warnings.pop("Unit skipped: its relocations could not be applied")
    assert skipped == 2
    named = [f"type {kind}" for kind in range(200, 204)]
    expected = dict.fromkeys(named, 1) | {"another type": len(info) - 4}
    assert report.warnings == {
        f"Relocation of {kind} could not be applied": count
        for kind, count in expected.items()
    }


def test_of_an_unknown_machine_there_are_symbols(clang: str, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SOURCES["a.c"])
    command = [clang, "--target=lanai", "-g", "-O1", "-c", "a.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"not built here: {done.stderr.decode()[:200]}")
    report, found = answers(tmp_path, (tmp_path / "a.o").read_bytes())
    assert found.keys() == {"first", "second"}
    assert [name for name, each in found.items() if each.line_table] == []
    assert report.warnings["Relocation of type 4 could not be applied"] > 0
