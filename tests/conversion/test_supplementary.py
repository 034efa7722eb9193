"""Supplementary files, which dwz makes: where they may be, which ones count."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.companions import (
    ID,
    ID_PATH,
    OTHER_ID,
    SHARED_NAME,
    SYMBOL,
    altlink,
    debug_link,
    names_of,
    place,
    referring,
    shared,
    stripped,
)
from tests.inputs.elf import Elf, Section, code_section
from tests.inputs.encoding import Encoding
from tests.inputs.program import debug_sections, function

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

CHECKSUM = bytes(range(7))


def sup(
    name: str,
    checksum: bytes = CHECKSUM,
    *,
    is_supplementary: bool = False,
    version: int = 5,
    byteorder: ByteOrder = "little",
) -> Section:
    head = Encoding(byteorder).uint(version, 2) + bytes([is_supplementary])
    data = head + os.fsencode(name) + b"\0" + bytes([len(checksum)]) + checksum
    return Section(".debug_sup", data)


def convert(folder: Path, binary: bytes) -> gsym.ConversionReport:
    path = place(folder / "bin/app", binary)
    return gsym.convert(path, debug_file_directories=[str(folder / "lib")])


def convert_named(folder: Path, *links: Section) -> gsym.ConversionReport:
    return convert(folder, referring(*links))


# ---- where


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("shared.debug", "bin/shared.debug"),
        ("../.dwz/x/shared.debug", ".dwz/x/shared.debug"),
        ("/usr/lib/debug/.dwz/x/shared.debug", "lib/.dwz/x/shared.debug"),
        ("../../elsewhere/.dwz/shared.debug", "lib/.dwz/shared.debug"),
        ("/nowhere/shared.debug", f"lib/{ID_PATH}"),
        ("/nowhere/.dwz/shared.debug", "bin/shared.debug"),
        ("../.dwz/shared.debug", "bin/shared.debug"),
    ],
)
def test_it_is_found_in_every_folder_that_is_searched(
    name: str, where: str, tmp_path: Path
) -> None:
    path = place(tmp_path / where, shared())
    report = convert_named(tmp_path, altlink(name))
    assert names_of(report) == [SHARED_NAME, SYMBOL.name]
    assert [os.path.normpath(each) for each in report.companions] == [path]
    assert (report.notes, report.warnings) == ((), {})


def test_an_absolute_name_is_one(tmp_path: Path) -> None:
    path = place(tmp_path / "any/where", shared())
    assert convert_named(tmp_path, altlink(path)).companions == (path,)


def test_a_link_to_the_binary_leads_to_its_folder(tmp_path: Path) -> None:
    place(tmp_path / "real/app", referring(altlink("shared.debug")))
    path = place(tmp_path / "real/shared.debug", shared())
    (tmp_path / "app").symlink_to("real/app")
    assert gsym.convert(tmp_path / "app").companions == (path,)


@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_debug_sup_names_it_by_checksum(byteorder: ByteOrder, tmp_path: Path) -> None:
    own = sup("", is_supplementary=True, byteorder=byteorder)
    path = place(
        tmp_path / "bin/shared.debug", shared(own, build_id=None, byteorder=byteorder)
    )
    link = sup("shared.debug", byteorder=byteorder)
    report = convert(tmp_path, referring(link, byteorder=byteorder))
    assert names_of(report) == [SHARED_NAME, SYMBOL.name]
    assert report.companions == (path,)


def test_a_supplementary_file_is_converted_for_itself(tmp_path: Path) -> None:
    own = sup("", is_supplementary=True)
    debug = debug_sections(64, "little", function("f", 0x1000, 0x1010))
    image = Elf([code_section(), *debug, own]).to_bytes()
    report = convert(tmp_path, image)
    assert (names_of(report), report.notes) == (["f"], ())


# ---- which

OWN_SUP = sup("", is_supplementary=True)
MISSING = "Reference to a supplementary file that is missing"


@pytest.mark.parametrize(
    ("link", "data", "reason"),
    [
        (altlink("x"), None, "not there"),
        (altlink("x"), b"", "the file is empty"),
        (altlink("x"), b"text", "not an ELF"),
        (
            altlink("x"),
            shared(build_id=OTHER_ID),
            f"is of another build: its build id is {OTHER_ID.hex()}",
        ),
        (altlink("x"), shared(build_id=None), "there is no id to compare"),
        (altlink("x"), shared(byteorder="big"), "is for powerpc64"),
        (altlink("app"), None, "is the binary itself"),
        (sup("x"), shared(), "has another checksum"),
        (sup("x", b"other"), shared(OWN_SUP), "has another checksum"),
        (sup("x"), shared(sup("x")), "has another checksum"),
        (sup("x"), shared(Section(".debug_sup", b"\5\0\1")), "is damaged, or of"),
    ],
)
def test_a_file_that_does_not_match_costs_its_names_only(
    link: Section, data: bytes | None, reason: str, tmp_path: Path
) -> None:
    if data is not None:
        place(tmp_path / "bin/x", data)
    report = convert_named(tmp_path, link)
    assert report.companions == ()
    (note,) = report.notes
    name = "app" if "itself" in reason else "x"
    assert note.startswith("no supplementary file: tried ")
    assert f"{tmp_path}/bin/{name}: {reason}" in note
    assert report.warnings[MISSING] == 1


@pytest.mark.parametrize(
    "link",
    [
        Section(".gnu_debugaltlink", b"name without an id"),
        Section(".gnu_debugaltlink", b"name\0"),
        Section(".gnu_debugaltlink", b"\0" + ID),
        Section(".gnu_debugaltlink", b"x\0id", size=1 << 50),
        sup("x", b""),
        sup("", CHECKSUM),
        sup("x", version=4),
        sup("x", bytes(200)),
        Section(".debug_sup", b"\5\0"),
        Section(".debug_sup", b"\5\0\0name"),
        Section(".debug_sup", b"\5\0\0name\0\7short"),
    ],
)
def test_a_damaged_link_is_reported(link: Section, tmp_path: Path) -> None:
    place(tmp_path / "bin/x", shared())
    report = convert_named(tmp_path, link)
    assert report.companions == ()
    assert report.notes[0].startswith(f"no supplementary file: tried {link.name}: ")


def test_the_file_of_a_debug_file_is_found_beside_that(tmp_path: Path) -> None:
    debug = referring(altlink("shared.debug"))
    first = place(tmp_path / "bin/.debug/app.dbg", debug)
    second = place(tmp_path / "bin/.debug/shared.debug", shared())
    report = convert(tmp_path, stripped(debug_link("app.dbg", debug), symbols=()))
    assert report.companions == (first, second)
    assert SHARED_NAME in names_of(report)
