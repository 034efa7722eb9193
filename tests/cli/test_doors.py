"""A table: what each command says of the same odd file.

A file that is not read is refused for the same reason by all that read such files.
"""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.dropins import addr2line, gsymutil, symbolizer
from gsym.cli.main import main
from gsym.cli.terminal import describe
from gsym.store.directory import Store
from tests.inputs import elf
from tests.inputs.scaled import functions_of_a_unit
from tests.store_modules import build_id, put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

FILE = "FILE"
# Commands that read binaries or GSYM files; here `good` is a GSYM file of `program`.
OF_BINARIES: dict[str, list[str]] = {
    "lookup": ["lookup", FILE, "0x1000"],
    "find": ["find", FILE, "main"],
    "stats": ["stats", FILE],
    "dump": ["dump", FILE],
    "verify": ["verify", FILE],
    "verify --against": ["verify", "good", "--against", FILE],
    "export": ["export", FILE, "--to=breakpad", "-oout"],
    "export --binary": ["export", "good", "--to=breakpad", "--binary", FILE, "-oout"],
    "convert": ["convert", FILE, "-oout"],
    "extract": ["extract", FILE, "-oout"],
    "embed": ["embed", "good", FILE, "-oout"],
    "doctor": ["doctor", FILE],
    "symbolizer": ["--obj", FILE, "0x1000"],
    "gsym.open": [FILE],
    "gsym.convert": [FILE, "out"],
}
OF_GSYM = {
    "embed GSYM": ["embed", FILE, "program", "-oout"],
    "merge": ["merge", FILE, "-oout"],
    "gsymutil": [FILE, "--address=0x1000"],
}
OTHERS = {
    "filter": ["filter", FILE],
    "symbolicate": ["symbolicate", FILE],
    "trace": ["trace", "info", FILE],
    "store add": ["store", "add", "--store=store", FILE],
}
_MAIN: dict[str, Callable[..., object]] = {
    "addr2line": addr2line.main,
    "symbolizer": symbolizer.main,
    "gsymutil": gsymutil.main,
    "gsym.open": gsym.open,
    "gsym.convert": gsym.convert,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("doors of files")
    program = functions_of_a_unit(3)
    (place / "program").write_bytes(program)
    gsym.convert(place / "program", place / "good")
    (place / "packed").write_bytes(gzip.compress(program))
    (place / "zipped").write_bytes(b"PK\x03\x04" + bytes(60))
    (place / "mono.pdb").write_bytes(b"BSJB" + bytes(60))
    (place / "trace.fxt").write_bytes(b"\x10\0\4\x46xT\x16\0")
    (place / "log").write_bytes(b"{{{reset}}}\n")
    (place / "empty").write_bytes(b"")
    (place / "folder").mkdir()
    (place / "dangling").symlink_to("nowhere")
    (place / "loop").symlink_to("loop")
    (place / "unreadable").symlink_to("/proc/self/mem")
    return place


@pytest.fixture(autouse=True)
def _inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def said(
    door: str, words: list[str], path: str, capfd: pytest.CaptureFixture[str]
) -> str:
    """What a command says of a file, which it refuses."""
    given = [path if each == FILE else each for each in words]
    if door.startswith("gsym."):
        with pytest.raises((gsym.GsymError, OSError)) as caught:
            _MAIN[door](*given)
        error = caught.value
        return str(error) if isinstance(error, gsym.GsymError) else describe(error)
    assert _MAIN.get(door, main)(given) == 1
    printed = capfd.readouterr()
    return printed.err or printed.out


@pytest.mark.parametrize(
    ("name", "reason", "left_out"),
    [
        ("packed", "a gzip file: unpack it first", OTHERS),
        ("zipped", "a zip archive: unpack it first", OTHERS),
        ("mono.pdb", "a portable PDB file: ", OTHERS),
        ("trace.fxt", "a Fuchsia trace: 'gsym trace' reads it", OTHERS),
        ("log", "a log with markup: use 'gsym filter'", OTHERS),
        ("empty", "the file is empty", OTHERS),
        # What holds a binary may be a bundle, or a folder of binaries.
        ("folder", "a folder, and no dSYM bundle: ", {*OF_GSYM, *OTHERS, "convert"}),
        ("gone", "No such file or directory", ()),
        ("folder/../gone", "No such file or directory", ()),
        ("dangling", "No such file or directory", ()),
        ("loop", "Too many levels of symbolic links", ()),
        ("program/x", "Not a directory", ()),
        ("-", "No such file or directory", {"gsymutil", *OTHERS}),
        # Where it is mapped, it has no bytes.
        ("unreadable", "(Input/output error|the file is empty)", ()),
    ],
)
def test_all_commands_refuse_a_file_for_the_same_reason(
    name: str,
    reason: str,
    left_out: Iterable[str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    for door, words in (OF_BINARIES | OF_GSYM | OTHERS).items():
        if door not in left_out:
            text = said(door, words, name, capfd)
            assert re.search(f"{re.escape(name)}'?: (offset 0x0: )?{reason}", text), (
                door
            )


@pytest.mark.parametrize(
    ("door", "words"),
    [
        ("lookup", ["lookup", "stripped", "0x1004"]),
        ("find", ["find", "stripped", "f1_1"]),
        ("dump", ["dump", "stripped"]),
        ("export", ["export", "stripped", "--to=breakpad", "-o-"]),
        ("symbolizer", ["--obj=stripped", "0x1004"]),
        ("addr2line", ["-f", "-e", "stripped", "0x1004"]),
    ],
)
def test_all_commands_find_the_module_of_a_stripped_binary_in_the_store(
    door: str,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    put(Store(tmp_path / "store"), 1)
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    image = elf.Elf(
        sections=(elf.code_section(0x1000, 0x20),),
        segments=(elf.Segment(0),),
        build_id=build_id(1),
    )
    (tmp_path / "stripped").write_bytes(image.to_bytes())
    assert _MAIN.get(door, main)(words) == 0
    assert "f1_1" in capfd.readouterr().out
