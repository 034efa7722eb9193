"""Call frame information: one step outwards, and damaged tables."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import gsym
from gsym.symbolication.memory.frame_info import Step, step
from gsym.symbolication.memory.images import image_in_file
from gsym.symbolication.memory.walking import X86_64

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_engine  # runs programs


SOURCE = """\
int callee(int);
int outer(int x) { volatile int many[40]; many[x] = x; return callee(many[x]) + 1; }
int callee(int x) { return x * 3; }
"""
STACK, RETURN = 0x7FFF0000, 0x401234


class Library:
    """A library whose file stands for memory, and a stack above it."""

    def __init__(self, folder: Path, compiler: str) -> None:
        (folder / "a.c").write_text(SOURCE)
        flags = "-g", "-O1", "-shared", "-fPIC", "-fomit-frame-pointer"
        command = [compiler, *flags, "-o", "a.so", "a.c"]
        subprocess.run(command, check=True, cwd=folder)
        path = folder / "a.so"
        if gsym.identify(path).architecture != "x86_64":
            pytest.skip("needs x86-64")
        self.data = bytearray(path.read_bytes())
        self.header = image_in_file(str(path)).frame_header
        made = gsym.convert(path, folder / "a.gsym")
        assert made.functions
        with gsym.open(folder / "a.gsym") as reader:
            self.functions = {each.name: each for each in reader}

    def memory(self, address: int, size: int) -> bytes:
        if address >= STACK:
            start = address - STACK
            return b"".join((RETURN + at).to_bytes(8, "little") for at in range(512))[
                start : start + size
            ]
        return bytes(self.data[address : address + size])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, compiler: str) -> Library:
    return Library(tmp_path_factory.mktemp("library"), compiler)


def test_a_leaf_returns_to_what_is_on_top_of_the_stack(library: Library) -> None:
    pc = library.functions["callee"].address
    found = step(library.header, pc, {7: STACK, 6: 5}, library.memory, X86_64)
    assert found == Step(RETURN, {7: STACK + 8, 6: 5}, is_signal=False)


def test_what_a_function_has_on_the_stack_is_skipped(library: Library) -> None:
    function = library.functions["outer"]
    inside = function.address + function.size // 2
    found = step(library.header, inside, {7: STACK, 6: 5}, library.memory, X86_64)
    assert found is not None
    assert found.values[7] > STACK + 8
    assert found.pc == RETURN + (found.values[7] - 8 - STACK) // 8


def test_an_address_without_a_function_has_no_caller(library: Library) -> None:
    last = max(each.address + each.size for each in library.functions.values())
    for pc in (0, last + 0x10000):
        assert step(library.header, pc, {7: STACK}, library.memory, X86_64) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 0x300), st.integers(0, 255)), min_size=1))
def test_damaged_tables_raise_nothing(
    library: Library, changes: list[tuple[int, int]]
) -> None:
    whole = bytes(library.data)
    try:
        for at, value in changes:
            library.data[library.header + at] = value
        for function in library.functions.values():
            pc = function.address + function.size // 2
            found = step(library.header, pc, {7: STACK}, library.memory, X86_64)
            assert found is None or found.pc >= 0
    finally:
        library.data[:] = whole
