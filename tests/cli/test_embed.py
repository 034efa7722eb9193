"""`gsym embed` and `gsym extract`, and the other verbs on what they make."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gsym.cli.dropins.gsymutil import main as gsymutil
from gsym.cli.main import main
from tests.embeddings import assert_answers, elf, macho, write_gsym
from tests.inputs.macho_executable import IDENTITY

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `app` and `app.gsym`, the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app").write_bytes(elf().to_bytes())
    write_gsym(tmp_path / "app.gsym")
    return tmp_path


def test_lost_identity_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "app").write_bytes(macho(signature=IDENTITY).to_bytes())
    assert main(["embed", "app.gsym", "app"]) == 0
    out, err = capsys.readouterr()
    assert "section __GSYM,__gsym" in out
    assert out.endswith("  signed ad hoc\n")
    assert err == (
        "gsym embed: warning: app is now signed ad hoc, without its identity and "
        "entitlements: sign it again\n"
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["embed", "app.gsym", "app", "-o", "app.gsym"], "would replace 'app.gsym'"),
        (["embed", "app", "app"], "would replace 'app'"),
        (["extract", "app", "-o", "app"], "would replace 'app'"),
        (["embed", "app.gsym"], "BINARY is missing"),
        (["extract"], "BINARY is missing"),
    ],
)
def test_command_lines_that_would_lose_a_file_are_refused(
    folder: Path, arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main(arguments) == 2
    assert reason in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_impossible_embedding_fails(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "app").write_bytes(elf(symbols=()).to_bytes())
    assert main(["embed", "app.gsym", "app", "--share-strings"]) == 1
    assert capsys.readouterr().err == (
        "gsym: error: app: no symbol table (.symtab) to share strings with\n"
    )
    assert main(["extract", "app"]) == 1
    assert "no embedded GSYM file" in capsys.readouterr().err


# ---- other verbs on the binary --------------------------------------------------


@pytest.fixture
def binary(folder: Path) -> str:
    """A binary that shares its strings with the file in it."""
    assert main(["embed", "-q", "app.gsym", "app", "--share-strings"]) == 0
    assert (folder / "app").is_file()
    return "app"


def output_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_lookup_and_dump_read_the_binary(
    binary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in (["lookup"], ["dump", "--json"]):
        asked = ["0x1014", "0x1104", "0x1250", "0x10"] if verb == ["lookup"] else []
        assert output_of(capsys, *verb, binary, *asked) == (
            output_of(capsys, *verb, "app.gsym", *asked)
        )


def test_verify_finds_the_structure_sound(
    binary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert output_of(capsys, "verify", binary) == "app: the structure is valid\n"


def test_stats_account_for_every_byte(
    binary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(output_of(capsys, "stats", "--json", binary))
    whole = json.loads(output_of(capsys, "stats", "--json", "app.gsym"))
    assert sum(found["sections"].values()) == found["file_size"]
    records = found["function_records"]
    assert sum(records.values()) == found["sections"]["function_info"]
    for part in ("line_table", "inline_info", "call_sites", "size_and_name"):
        assert records[part] == whole["function_records"][part]


def test_gsymutil_takes_the_binary(
    binary: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert gsymutil(["--address=0x1014", "--address=0x1104", binary]) == 0
    found = capsysbinary.readouterr().out
    assert gsymutil(["--address=0x1014", "--address=0x1104", "app.gsym"]) == 0
    assert found == capsysbinary.readouterr().out.replace(b"app.gsym", b"app")


def test_gsymutil_dumps_strings_of_both_tables(
    binary: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert gsymutil([binary]) == 0
    found = capsysbinary.readouterr().out
    _, _, strings = found.partition(b"String table:\n")
    shown = {
        line.partition(b'"')[2] for line in strings.partition(b"\n\n")[0].split(b"\n")
    }
    assert {b'main"', b'_ZN3fooEv"', b'inlined_only"', b'/src"'} <= shown


def test_shared_strings_are_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["embed", "app.gsym", "app", "-o", "out", "--share-strings"]) == 0
    assert "without strings shared with the binary" in capsys.readouterr().out
    assert_answers(folder / "out")
    assert main(["extract", "out", "-o", "again.gsym"]) == 0
    size = (folder / "again.gsym").stat().st_size
    assert capsys.readouterr().out == f"out -> again.gsym\n  {size} bytes\n"
    assert_answers(folder / "again.gsym")
