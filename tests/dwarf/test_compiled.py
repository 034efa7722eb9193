"""What compilers and linkers write with options that few use."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conftest import find_peer

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """\
static inline __attribute__((always_inline)) int half(int x) {
  return x / 2; }
int first(int x) {
  return half(x) + 1; }
int second(int x) {
  return half(x + 7) * 3; }
"""


def run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True)


@pytest.mark.parametrize("split", [[], ["-gsplit-dwarf"]], ids=["whole", "split"])
def test_addresses_may_be_expressions(
    split: list[str], clang: str, tmp_path: Path
) -> None:
    functions = []
    for name in ("Disabled", "Expressions"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.c").write_text(SOURCE)
        how = ["-mllvm", f"-minimize-addr-in-v5={name}"]
        flags = ["-gdwarf-5", "-O1", f"-fdebug-prefix-map={folder}=/src", *split]
        run(folder, clang, *flags, *how, "-c", "a.c")
        run(folder, clang, "-nostdlib", "-shared", "a.o", "-o", "a.so")
        assert not gsym.convert(folder / "a.so").warnings
        with gsym.open(folder / "a.so.gsym") as reader:
            functions.append(list(reader))
    assert functions[0] == functions[1]
    assert [each.inline is not None for each in functions[0]] == [True, True]


def test_units_of_one_line_table_have_lines_without_functions(
    clang: str, tmp_path: Path
) -> None:
    """Line tables only, through assembly text: each unit has the rows in its ranges."""
    linker = find_peer("ld.lld-19")
    (tmp_path / "a.c").write_text("int slow(int x) {\n  return x / 3; }\n")
    (tmp_path / "b.c").write_text("\nint kernel(int x) {\n  return x * 5; }\n")
    flags = ["-O1", "-gline-tables-only", "-fPIC", "-fdebug-compilation-dir=/src"]
    run(tmp_path, clang, *flags, "-flto", "-c", "a.c", "b.c")
    run(tmp_path, linker, "-shared", "--lto-emit-asm", "a.o", "b.o", "-o", "all.s")
    run(tmp_path, clang, "-c", "all.s.lto.s", "-o", "all.o")
    run(tmp_path, linker, "-shared", "all.o", "-o", "all.so")
    gsym.convert(tmp_path / "all.so")
    with gsym.open(tmp_path / "all.so.gsym") as reader:
        places = {each.name: each.start for each in reader}
        found = {name: str(reader.lookup(at)) for name, at in places.items()}
    assert found == {
        "slow": f"{places['slow']:#x}: slow at /src/a.c:2",
        "kernel": f"{places['kernel']:#x}: kernel at /src/b.c:3",
    }
