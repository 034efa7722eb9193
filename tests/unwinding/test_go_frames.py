"""Frames of Go by its table of functions: each version, machines, damaged tables."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.containers.object_file import ObjectFile
from gsym.unwinding.expressions import DamagedError
from gsym.unwinding.frame_info import Step
from gsym.unwinding.go_frames import GoFrames, GoTable, go_table
from gsym.unwinding.machines import AARCH64, S390X, X86, X86_64, Machine
from tests.conftest import find_peer
from tests.inputs.go import GO_VERSIONS, TEXT, GoFunction, Pclntab, go_elf
from tests.memory.test_core import crashed_core

if TYPE_CHECKING:
    from pathlib import Path

STACK = 0x70000
FUNCTIONS = (
    GoFunction("runtime.goexit", 0, 0x20, stack=((0, 0),), flags=1),
    GoFunction("main.main", 0x40, 0x40, stack=((0, 0), (8, 32), (0x38, 0))),
    GoFunction("runtime.sigpanic", 0x80, 0x20, stack=((0, 16),)),
    GoFunction("runtime.sigtramp", 0xA0, 0x20, stack=((0, 16),), flags=1),
    GoFunction("runtime.mcall", 0xC0, 0x20, stack=((0, 16),), flags=2),
)


def frames(machine: Machine, version: int = 20) -> GoFrames:
    quantum = 1 if machine.link is None else 4
    bits = 8 * machine.word
    made = Pclntab(FUNCTIONS, version, bits, machine.order, quantum).encode()[0]
    return GoFrames(machine, GoTable(made, TEXT))


def step(machine: Machine, place: int, version: int = 20) -> Step | None:
    """A stack of words that are their own numbers."""
    word = machine.word
    stack = b"".join(each.to_bytes(word, machine.order) for each in range(64))

    def memory(address: int, size: int) -> bytes:
        inside = address - (STACK - 8 * word)
        return stack[inside : inside + size] if inside >= 0 else b""

    values = {machine.stack: STACK, machine.link or 99: 0x999}
    return frames(machine, version).step(TEXT + place, values, memory)


@pytest.mark.parametrize("version", GO_VERSIONS)
def test_the_bytes_on_the_stack_lead_to_the_caller(version: int) -> None:
    found = step(X86_64, 0x50, version)
    assert found == Step(12, {7: STACK + 40, 99: 0x999, 6: 11}, is_signal=False)
    found = step(X86_64, 0x44, version)
    assert found == Step(8, {7: STACK + 8, 99: 0x999}, is_signal=False)


@pytest.mark.parametrize("machine", [AARCH64, S390X])
def test_the_return_address_is_lowest_where_calls_leave_it_in_a_register(
    machine: Machine,
) -> None:
    link = machine.link or 0
    found = step(machine, 0x50)
    values = {machine.stack: STACK + 32, link: 0x999, machine.frame: 7}
    assert found == Step(8, values, is_signal=False)
    found = step(machine, 0x44)
    assert found == Step(0x999, {machine.stack: STACK, link: 0x999}, is_signal=False)


def test_functions_of_the_runtime_have_their_own_rules() -> None:
    outermost, panic = step(X86, 0x10), step(X86, 0x84)
    assert outermost is not None
    assert (outermost.pc, outermost.is_signal) == (0, False)
    assert panic is not None
    assert (panic.pc, panic.is_signal) == (12, True)
    handler = step(X86, 0xA4)
    assert handler is not None
    assert (handler.pc, handler.is_signal) == (12, False)
    assert step(X86, 0xC4) is None


@pytest.mark.parametrize(("machine", "size"), [(AARCH64, 16), (S390X, 8)])
def test_a_panic_puts_the_link_register_on_the_stack(
    machine: Machine, size: int
) -> None:
    found = step(machine, 0x84)
    assert found is not None
    assert (found.pc, found.is_signal) == (8, True)
    assert found.values[machine.link or 0] == 10
    assert found.values[machine.stack] == STACK + 16 + size


def test_what_is_in_no_function_or_beyond_memory_leads_nowhere() -> None:
    assert step(X86_64, -1) is None
    assert step(X86_64, 0x90000) is None
    found = frames(X86_64).step(TEXT + 0x50, {7: STACK}, lambda *_: b"")
    assert found is None


@pytest.mark.parametrize("size", [0, 4, 7, 8, 20, 71])
def test_a_header_that_is_cut_is_refused(size: int) -> None:
    made = Pclntab(FUNCTIONS).encode()[0]
    with pytest.raises(DamagedError):
        GoFrames(X86_64, GoTable(made[:size], TEXT))


def test_a_table_that_is_cut_leads_nowhere() -> None:
    made = Pclntab(FUNCTIONS).encode()[0]
    for size in range(80, len(made)):
        table = GoTable(made[:size], TEXT)
        GoFrames(X86_64, table).step(TEXT + 0x50, {7: STACK}, lambda _, n: bytes(n))


@pytest.mark.parametrize("version", GO_VERSIONS)
@pytest.mark.parametrize("bits", [32, 64])
def test_the_start_of_the_code_is_in_the_data_of_the_module(
    version: int, bits: int
) -> None:
    data = go_elf(FUNCTIONS, version=version, bits=bits).to_bytes()
    with ObjectFile(memoryview(data), "app") as file:
        loaded = {each.name: each.address for each in file.loaded_sections()}
        for text in TEXT, 0x9999:
            table = go_table(file, {**loaded, ".text": text})
            assert table is not None
            assert table.text == TEXT
        assert go_table(file, {".text": TEXT}) is None


@pytest.mark.long
@pytest.mark.no_engine
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
@pytest.mark.parametrize("options", ["", "-s -w"])
def test_a_panic_of_go_has_its_whole_stack(options: str, tmp_path: Path) -> None:
    """Its handler, its own trampoline, and the instruction that panicked."""
    source = """package main
//go:noinline
func leaf(p *int) int { return *p + 1 }
//go:noinline
func work(p *int) int { return leaf(p) + 1 }
func main() { println(work(nil)) }
"""
    (tmp_path / "main.go").write_text(source)
    settings = {"GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "", "CGO_ENABLED": "0"}
    command = [find_peer("go"), "build", f"-ldflags={options}", "-o", "app", "main.go"]
    environment = os.environ | settings | {"GO111MODULE": "off"}
    done = subprocess.run(
        *(command,), cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("the compiler does not make such programs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOTRACEBACK", "crash")
        core = crashed_core(tmp_path / "app", "")
    thread = gsym.symbolicate(core).threads[0]
    names = [call.name for each in thread.frames for call in each.calls]
    at = names.index("runtime.sigpanic")
    assert names[at + 1 :] == [
        *("main.leaf", "main.work", "main.main", "runtime.main", "runtime.goexit")
    ]
    assert not thread.end
