"""`gsym find`, and verbs that are given a binary in place of its GSYM file."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.modules.conversion_cache import collect_cache
from tests.cli.test_convert import with_build_id

if TYPE_CHECKING:
    Captured = pytest.CaptureFixture[str]


@pytest.fixture
def names(tmp_path: Path) -> str:
    """A GSYM file of functions with names."""
    path = str(tmp_path / "names.gsym")
    with gsym.Creator() as creator:
        for at, name in enumerate(("main", "_ZN1a5innerEi", "_ZN1a5innerEd", "a_b")):
            creator.add(gsym.FunctionInfo(0x1000 + 0x10 * at, 0x10, name))
        creator.save(path)
    return path


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("main", ["main"]),
        ("_ZN1a5innerEi", ["_ZN1a5innerEi"]),
        ("a::inner(int)", ["_ZN1a5innerEi"]),
        ("a::inner", ["_ZN1a5innerEi", "_ZN1a5innerEd"]),
        ("a?b", ["a_b"]),
        ("*inner*", ["_ZN1a5innerEi", "_ZN1a5innerEd"]),
        ("inner", []),
    ],
    ids=repr,
)
def test_functions_are_found_by_name(
    names: str, capsys: Captured, name: str, found: list[str]
) -> None:
    assert main(["find", "--json", "--strict", names, name]) == (0 if found else 3)
    captured = capsys.readouterr()
    records = [json.loads(line) for line in captured.out.splitlines()]
    assert [each["name"] for each in records] == found
    assert [
        each for each in records if each["demangled"] != gsym.demangle(each["name"])
    ] == []
    assert bool(captured.err) == (not found)


def test_text_has_demangled_names(names: str, capsys: Captured) -> None:
    assert main(["find", names, "a::inner(int)"]) == 0
    assert capsys.readouterr().out == "0x1010-0x1020 a::inner(int)\n"
    assert main(["find", "--no-demangle", names, "a::inner(int)"]) == 0
    assert capsys.readouterr().out == "0x1010-0x1020 _ZN1a5innerEi\n"


# ---- a binary in place of its GSYM file


@pytest.fixture
def binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "store"))
    path = tmp_path / "app"
    path.write_bytes(with_build_id())
    return str(path)


def used(capsys: Captured, binary: str) -> str:
    """What `-v` says after a lookup."""
    assert main(["lookup", "-v", binary, "0x1000"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("gsym: using ")


def test_a_binary_is_converted_into_the_cache_once(
    binary: str, tmp_path: Path, capsys: Captured
) -> None:
    first, second = used(capsys, binary), used(capsys, binary)
    assert first.startswith(str(tmp_path / "cache"))
    assert first.endswith(f", converted from {binary}")
    assert second == first.replace(f"converted from {binary}", "from the cache")
    assert main(["store", "gc", "--cache"]) == 0
    assert capsys.readouterr().out.startswith("1 files removed: ")
    assert used(capsys, binary) == first


def test_file_beside_a_binary_and_that_of_the_store_have_precedence(
    binary: str, capsys: Captured
) -> None:
    assert main(["store", "add", "-q", binary]) == 0
    assert used(capsys, binary).endswith("module.gsym, in the store")
    assert main(["convert", "-q", binary]) == 0
    assert used(capsys, binary) == f"{binary}.gsym"


@pytest.mark.parametrize("verb", ["lookup", "find", "dump", "stats", "verify"])
def test_every_verb_of_a_gsym_file_takes_its_binary(
    verb: str, binary: str, capsys: Captured
) -> None:
    words = {"lookup": ["0x1000"], "find": ["main"]}.get(verb, [])
    # A file beside the binary would be used.
    folder = Path(binary).parent / "copies"
    folder.mkdir()
    copy = str(shutil.copy(binary, folder))
    assert main(["convert", "-q", copy, "-o", f"{binary}.out"]) == 0
    capsys.readouterr()
    assert main([verb, f"{binary}.out", *words]) == 0
    expected = capsys.readouterr().out.replace(f"{binary}.out", binary)
    assert main([verb, binary, *words]) == 0
    if verb != "verify":
        assert capsys.readouterr().out == expected


def test_least_recently_used_files_leave_the_cache_first(tmp_path: Path) -> None:
    for at in range(4):
        path = tmp_path / f"{at}.gsym"
        path.write_bytes(bytes(10))
        os.utime(path, (at, at))
    done = collect_cache(20, root=str(tmp_path), kept=str(tmp_path / "0.gsym"))
    assert (done.size_before, done.size_after, done.removed) == (40, 20, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.gsym", "3.gsym"]


def test_files_of_other_families_name_their_verb(
    tmp_path: Path, capsys: Captured
) -> None:
    for content, verb in [
        (b"\x10\x00\x04\x46\x78\x54\x16\x00", "gsym trace"),
        (b"symbfile" + bytes(20), "gsym symbfile"),
        (b"{{{reset}}}\n", "gsym filter"),
    ]:
        path = tmp_path / "other"
        path.write_bytes(content)
        assert main(["lookup", str(path), "0x10"]) == 1
        assert f"'{verb}'" in capsys.readouterr().err
