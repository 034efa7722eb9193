"""`gsym symbfile`: its verbs as a user meets them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from gsym.cli.main import main
from gsym.symbfile.columns import LineTableRow, Range, Record, ReturnPad, ReturnPadEntry
from gsym.symbfile.extraction import extract
from gsym.symbfile.file_id import FileId
from gsym.symbfile.format import encode
from gsym.symbfile.inspection import record_lines
from tests.inputs.dwarf import Dwarf
from tests.inputs.elf import CODE, Elf, Section, code_section
from tests.inputs.program import function, unit
from tests.inputs.symbfile import HEAD, message, range_at

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from pathlib import Path

RECORDS: list[Record] = [
    Range(0x640, 0x24, "main", "/a.c", line_table=(LineTableRow(0, 38),)),
    Range(0x64C, 8, "inl\x1b", None, "/a.c", 40, 1),
    ReturnPad(0x64B, (ReturnPadEntry("main", "/a.c", 39), ReturnPadEntry("f", "", 0))),
]


@pytest.fixture
def symbfile(tmp_path: Path) -> Path:
    path = tmp_path / "app.symbfile"
    path.write_bytes(b"".join(encode(RECORDS)))
    return path


def run(*words: object) -> int:
    return main(["symbfile", *map(str, words)])


@pytest.mark.parametrize(("depth", "blanks"), [(256, 512), (257, 512), (10**6, 512)])
def test_dump_indents_no_further_than_calls_nest(depth: int, blanks: int) -> None:
    (line,) = record_lines(Range(1, 1, "f", depth=depth))
    assert len(line) - len(line.lstrip()) == blanks


def test_damaged_zstd_stream_is_reported(
    symbfile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    symbfile.write_bytes(zstd.compress(symbfile.read_bytes())[:-5])
    assert run("dump", symbfile) == 1
    assert "damaged zstd stream" in capsys.readouterr().err


def test_damage_ends_a_dump_with_its_offset(
    symbfile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    symbfile.write_bytes(HEAD + range_at(1) + message(0))
    assert run("dump", "--json", symbfile) == 1
    output = capsys.readouterr()
    assert len(output.out.splitlines()) == 1
    where = f"gsym: error: {symbfile}: offset 0x11"
    assert output.err == f"{where}: unknown message type 0\n"


@pytest.mark.parametrize("verb", ["dump", "stats", "verify"])
def test_other_files_are_not_symbfiles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    path = tmp_path / "text"
    path.write_text("hello")
    assert run(verb, path) == 1
    assert "not a symbfile" in capsys.readouterr().err


def test_stats_count_depths_apart_up_to_a_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    depths = (0, 255, 256, 257, 2**32 - 1)
    path = tmp_path / "deep"
    path.write_bytes(b"".join(encode(Range(0, 1, "f", depth=n) for n in depths)))
    assert run("stats", "--json", path) == 0
    assert json.loads(capsys.readouterr().out)["depths"] == {"0": 1, "255": 1, "256": 3}
    assert run("stats", path) == 0
    assert "depth 256 and more  3\n" in capsys.readouterr().out


def test_stats_of_an_empty_file_have_no_addresses(
    symbfile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    symbfile.write_bytes(HEAD + message(9))
    assert run("stats", symbfile) == 0
    text = capsys.readouterr().out
    assert "addresses" not in text
    assert "unknown messages   1, 2 bytes" in text


def test_verify_fails_on_errors(
    symbfile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    symbfile.write_bytes(b"".join(encode([RECORDS[1]])))
    assert run("verify", symbfile) == 1
    assert "address 0x64c: error: order: the first range" in capsys.readouterr().out
    assert run("verify", "--json", symbfile) == 1
    assert json.loads(capsys.readouterr().out)["rule"] == "order"


def test_verify_leaves_notes_out_on_request(
    symbfile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hole = Range(1, 9, "f", "/f.c", line_table=(LineTableRow(2, 1),))
    symbfile.write_bytes(b"".join(encode([hole])))
    assert run("verify", symbfile) == 0
    assert "note: hole" in capsys.readouterr().out
    assert run("verify", "--quiet", symbfile) == 0
    assert capsys.readouterr().out == ""


BUILD_ID = bytes(range(20))


def kernel_with(build_id: bytes | None) -> bytes:
    return Elf([code_section()], build_id=build_id).to_bytes()


def test_id_of_a_kernel_is_made_of_its_build_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = tmp_path / "vmlinux"
    kernel.write_bytes(kernel_with(BUILD_ID))
    assert run("id", "--kernel", kernel) == 0
    assert capsys.readouterr().out.startswith(FileId.of_kernel(BUILD_ID).hex())
    assert run("id", "--kernel-debug", kernel) == 0
    of_debug = FileId.of_kernel(BUILD_ID, debug_file=True)
    assert capsys.readouterr().out.startswith(of_debug.hex())


def test_a_kernel_without_a_build_id_has_no_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = tmp_path / "vmlinux"
    kernel.write_bytes(kernel_with(None))
    assert run("id", "--kernel", kernel) == 1
    assert "no build id" in capsys.readouterr().err


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A binary with a valid unit, followed by one that cannot be read."""
    sections = Dwarf([unit(function("f", 0x1000, 0x1010))]).sections()
    sections[".debug_info"] += b"\xff" * 8
    debug = [Section(name, data) for name, data in sections.items()]
    path = tmp_path / "app"
    code = Section(".text", b"\xe8\0\0\0\0" * 4, flags=CODE, address=0x1000)
    path.write_bytes(Elf([code, *debug], build_id=b"\1" * 20).to_bytes())
    return path


def test_extractions_print_the_warnings_of_a_conversion(
    damaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(damaged)]) == 0
    warnings = capsys.readouterr().err
    assert "warning: Unit skipped: damaged" in warnings
    for kind in ("ranges", "returnpads", "both"):
        assert run("extract", f"--kind={kind}", damaged) == 0
        assert capsys.readouterr().err.startswith(warnings)
    requests = damaged.with_name("requests")
    url = "http://127.0.0.1:9"
    assert run("push", "--dry-run", requests, "-e", damaged, "--url", url) == 0
    assert capsys.readouterr().err.startswith(warnings)
    assert run("extract", "--quiet", damaged) == 0
    assert capsys.readouterr().err == ""


def test_a_report_on_an_extraction_has_the_warnings_of_the_conversion(
    damaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("extract", "--json", damaged) == 0
    printed = json.loads(capsys.readouterr().out)
    assert sum(printed["conversion"]["warnings"].values()) == 1
    report = extract(damaged, ranges=damaged.with_name("ranges"))
    assert report.conversion is not None
    assert report.conversion.warnings == printed["conversion"]["warnings"]


def test_dump_prints_text_for_people(
    symbfile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("dump", symbfile) == 0
    assert capsys.readouterr().out.splitlines() == [
        "0x640..0x664 main",
        "  file /a.c",
        "  0x640 line 38",
        "  0x64c..0x654 inl\\x1b called at /a.c:40",
        "0x64b return pad",
        "  main at /a.c:39",
        "  f at ?:?",
    ]
