"""Released LLVM tools read files of this package."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conftest import find_peer
from tests.differential import peers

if TYPE_CHECKING:
    from pathlib import Path

PATH = "/src/a.c"
CALL = gsym.InlineInfo("inner", PATH, 7, (gsym.Range(0x1008, 0x1010),))
ROOT = gsym.InlineInfo("outer", "", 0, (gsym.Range(0x1000, 0x1020),), (CALL,))
ROWS = gsym.LineEntry(0x1000, PATH, 5), gsym.LineEntry(0x1008, "/src/b.h", 30)
FUNCTIONS = (
    gsym.FunctionInfo(0x1000, 0x20, "outer", ROWS, ROOT),
    gsym.FunctionInfo(0x2000, 8, "symbol"),
)


@pytest.fixture(params=[14, 19, 22])
def released(request: pytest.FixtureRequest) -> str:
    return find_peer(f"llvm-gsymutil-{request.param}")


def write(path: Path, version: int) -> str:
    with gsym.Creator(version=version, uuid=bytes(range(20))) as creator:
        for function in FUNCTIONS:
            creator.add(function)
        creator.save(path)
    return str(path)


def test_llvm_14_and_newer_read_version_1(released: str, tmp_path: Path) -> None:
    ours = write(tmp_path / "ours.gsym", 1)
    words = [f"--address={address:#x}" for address in (0x1000, 0x100C, 0x2004, 0x3000)]
    for options in ([], words):
        printed = peers.run(released, *options, ours)
        assert printed == peers.run(*peers.OUR_GSYMUTIL, *options, ours)


def test_llvm_up_to_22_refuses_version_2(released: str, tmp_path: Path) -> None:
    ours = write(tmp_path / "ours.gsym", 2)
    done = subprocess.run([released, ours], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "version" in done.stderr


SOURCE = """
static int twice(int x) { return x * 2; }
int f(int x) { return twice(x) + 1; }
int main(int count, char **words) { return words == 0 ? 0 : f(count); }
"""


def test_bytes_differ_from_those_of_llvm_by_the_order_of_strings_only(
    llvm_gsymutil: str, tmp_path: Path
) -> None:
    binary = tmp_path / "app"
    (tmp_path / "app.c").write_text(SOURCE)
    gcc = find_peer("gcc")
    subprocess.run([gcc, "-g", "-O1", tmp_path / "app.c", "-o", binary], check=True)
    ours, theirs = tmp_path / "ours.gsym", tmp_path / "theirs.gsym"
    peers.run(*peers.OUR_GSYMUTIL, f"--convert={binary}", f"--out-file={ours}")
    peers.run(*one_thread(llvm_gsymutil), str(binary), "--out-file", str(theirs))
    assert ours.stat().st_size == theirs.stat().st_size
    assert ours.read_bytes() != theirs.read_bytes()
    dumps = [peers.run(llvm_gsymutil, str(path)) for path in (ours, theirs)]
    assert without_numbers(dumps[0]) == without_numbers(dumps[1])


def test_llvm_keeps_the_names_of_dropped_symbols(
    llvm_gsymutil: str, tmp_path: Path
) -> None:
    binary = tmp_path / "app"
    alias = 'int dropped(int) __attribute__((alias("f")));\n'
    (tmp_path / "app.c").write_text(SOURCE + alias)
    gcc = find_peer("gcc")
    subprocess.run([gcc, "-g", "-O1", tmp_path / "app.c", "-o", binary], check=True)
    ours, theirs = tmp_path / "ours.gsym", tmp_path / "theirs.gsym"
    peers.run(*peers.OUR_GSYMUTIL, f"--convert={binary}", f"--out-file={ours}")
    peers.run(*one_thread(llvm_gsymutil), str(binary), "--out-file", str(theirs))
    assert b"\0dropped\0" in theirs.read_bytes()
    assert b"\0dropped\0" not in ours.read_bytes()
    assert [*gsym.open(ours)] == [*gsym.open(theirs)]


def one_thread(llvm_gsymutil: str) -> tuple[str, ...]:
    """With more of them the order of the strings is another one each time."""
    return llvm_gsymutil, "--num-threads=1", "--convert"


def without_numbers(dump: str) -> list[str]:
    """The lines of *dump*, without numbers that depend on the order of its strings."""
    dump = dump.partition("\n")[2]  # the path
    dump = re.sub(r"^(\[ *\d+\]) 0x\w{8} 0x\w{8} ", r"\1 ", dump, flags=re.MULTILINE)
    dump = re.sub(r'^0x\w{8}: "', '"', dump, flags=re.MULTILINE)
    strings = re.findall('^".*"$', dump, re.MULTILINE)
    return [
        *re.sub('^".*"$', "", dump, flags=re.MULTILINE).splitlines(),
        *sorted(strings),
    ]
