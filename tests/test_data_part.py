"""Variables kept behind a GSYM file, where other readers do not come."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.data_part import data_part_start, open_data_part
from gsym.sources.data_symbols import DataSymbols
from gsym.sources.mapped_file import map_file
from gsym.sources.object_file import ObjectFile

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
int counter[4] = {1};
static char flag = 2;
int f(int x) { flag++; return x + *counter; }
"""


@pytest.fixture(scope="module")
def binary(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "a.c").write_text(SOURCE)
    flags = ["-g", "-O0", "-shared", "-fPIC", "-Wl,--build-id=0xabcdef"]
    command = [compiler, *flags, "-o", "a.so", "a.c"]
    subprocess.run(command, check=True, cwd=folder)
    return folder / "a.so"


@pytest.mark.parametrize("version", [1, 2])
def test_variables_are_kept_and_found(
    binary: Path, tmp_path: Path, version: int
) -> None:
    path, plain = tmp_path / "a.gsym", tmp_path / "plain.gsym"
    gsym.convert(binary, path, data_symbols=True, version=version)
    gsym.convert(binary, plain, version=version)
    assert path.read_bytes().startswith(plain.read_bytes())
    reader = open_data_part(str(path))
    assert reader is not None
    with ObjectFile(map_file(str(binary)), str(binary)) as file:
        named = {each.name: each for each in DataSymbols(file)}
    for name in ("counter", "flag"):
        symbol = named[name]
        lookup = reader.lookup(symbol.start + symbol.size - 1)
        assert lookup is not None
        assert lookup.frames[0].name == name
        assert lookup.frames[0].offset == symbol.size - 1
    assert reader.lookup(named["f"].start) is None
    assert reader.uuid == b"\xab\xcd\xef"
    assert open_data_part(str(plain)) is None
    assert main(["verify", str(path)]) == 0
    with gsym.open(path) as functions:
        assert functions.lookup(named["f"].start)
        assert functions.lookup(named["counter"].start) is None


def test_an_index_and_variables(binary: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.gsym"
    with pytest.raises(ValueError, match="only version 2"):
        gsym.convert(binary, path, data_symbols=True, index=True)
    gsym.convert(binary, path, data_symbols=True, index=True, version=2)
    assert open_data_part(str(path)) is not None
    assert main(["verify", str(path)]) == 0
    with pytest.raises(ValueError, match="segments"):
        gsym.convert(binary, path, data_symbols=True, segment_size=100)
    with pytest.raises(gsym.UnsupportedError, match="no symbols of variables"):
        gsym.convert(path, tmp_path / "b.gsym", data_symbols=True)


def test_llvm_gsymutil_passes_over_them(
    binary: Path, tmp_path: Path, llvm_gsymutil: str
) -> None:
    path, plain = tmp_path / "a.gsym", tmp_path / "plain.gsym"
    gsym.convert(binary, path, data_symbols=True)
    gsym.convert(binary, plain)
    shown = []
    for each in (path, plain):
        done = subprocess.run(
            [llvm_gsymutil, each], check=True, capture_output=True, text=True
        )
        shown.append(done.stdout.replace(str(each), ""))
    assert shown[0] == shown[1]


def test_a_log_has_variables_without_the_binary(
    binary: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / ".build-id/ab/cdef.gsym"
    path.parent.mkdir(parents=True)
    assert main(["convert", "--data-symbols", str(binary), "-o", str(path)]) == 0
    with ObjectFile(map_file(str(binary)), str(binary)) as file:
        named = {each.name: each.start for each in DataSymbols(file)}
    log = tmp_path / "a.log"
    log.write_bytes(
        b"{{{module:0:a.so:elf:abcdef}}}\n{{{mmap:0x0:0x100000:load:0:rw:0x0}}}\n"
        b"{{{data:0x%x}}} {{{data:0x%x}}}\n" % (named["counter"] + 4, named["f"])
    )
    capfdbinary.readouterr()
    main(["filter", "--context=elide", f"--gsym-dir={tmp_path}", str(log)])
    assert capfdbinary.readouterr().out == b"counter+0x4 f\n"


@pytest.mark.parametrize("size", [0, 8, 15, 16, 17])
def test_a_file_too_small_for_the_part_has_none(size: int, tmp_path: Path) -> None:
    footer = b"GSYMDATA" + (1 << 20).to_bytes(8, "little")
    data = (b"x" + footer)[-size:] if size else b""
    assert data_part_start(data, size) == -1
    path = tmp_path / "a.gsym"
    path.write_bytes(data)
    assert open_data_part(str(path)) is None


def test_a_damaged_part_answers_nothing(binary: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.gsym"
    gsym.convert(binary, path, data_symbols=True)
    data = bytearray(path.read_bytes())
    start = data_part_start(data, len(data))
    data[start : start + 4] = b"\0\0\0\0"
    path.write_bytes(data)
    assert open_data_part(str(path)) is None
    with gsym.open(path) as reader:
        assert len(reader)
