"""Stacks of the threads of a program that has ended."""

from __future__ import annotations

import json
import shutil
import sys
from struct import pack
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.memory import threads
from gsym.memory.loaded import Loaded
from gsym.memory.stack_parts import StackFrame
from gsym.memory.threads import Dump, Thread, dump_report
from gsym.memory.walking import Registers, Walker
from gsym.unwinding.machines import X86_64

if TYPE_CHECKING:
    from pathlib import Path

STACK, RETURN = 0x10000, 0x401234


@pytest.mark.parametrize(
    ("callers", "shown"), [(1022, 1023), (1023, 1024), (5000, 1024)]
)
def test_a_deep_recursion_is_cut_and_the_report_says_so(
    callers: int, shown: int
) -> None:
    """Each frame has two words: where the next one is, and where it returns to."""
    frames = [pack("<QQ", STACK + 16 * n, RETURN) for n in range(1, callers)]
    stack = b"".join([*frames, pack("<QQ", 0, RETURN)])

    def memory(address: int, size: int) -> bytes:
        return stack[max(address - STACK, 0) :][:size]

    registers = Registers(RETURN, {6: STACK, 7: STACK})
    walker = Walker(X86_64, memory, lambda _: True)
    report = dump_report(
        Dump("core", "", "", [Thread(1, "", registers, is_crashed=True)]),
        Loaded(),
        walker,
    )
    assert sum(isinstance(part, StackFrame) for part in report.parts) == shown
    assert bool(report.notes) == (callers + 1 > shown)


@pytest.mark.parametrize(("most", "shown"), [(6, 6), (5, 5)])
def test_the_frames_of_all_threads_are_limited(
    most: int, shown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "_MOST_IN_ALL", most)
    walker = Walker(X86_64, lambda *_: b"", lambda _: True)
    several = [
        Thread(number, "", Registers(RETURN, {}), is_crashed=False)
        for number in range(6)
    ]
    report = dump_report(Dump("core", "", "", several), Loaded(), walker)
    assert sum(isinstance(part, StackFrame) for part in report.parts) == shown
    assert bool(report.notes) == (most < 6)


@pytest.mark.parametrize(
    ("name", "pc", "instruction"),
    [
        ("crash_linux", 0x40206D, "mov dword ptr [rax], 1"),
        ("crash_macos", 0x10215D3A1, "mov dword ptr [rcx], 5"),
    ],
)
def test_a_crashed_thread_has_its_registers_and_its_instruction(
    fixtures: Path, tmp_path: Path, name: str, pc: int, instruction: str
) -> None:
    """As minidump-stackwalk prints them; the code is that of the program."""
    folder = fixtures / "symbolic" / "py" / "minidump"
    dump = tmp_path / "crash.dmp"
    shutil.copy(folder / f"{name}.dmp", dump)
    store = str(tmp_path / "store")
    report = gsym.symbolicate(dump, source=str(folder), store=store)
    crashed, *others = report.threads
    assert list(crashed.registers) == list(X86_64.names)
    assert list(crashed.registers.items())[-1] == ("rip", pc)
    assert crashed.instruction == instruction
    assert [each for each in others if each.registers or each.instruction] == []
    (thread, *_) = json.loads(report.to_json())["threads"]
    assert thread["registers"]["rip"] == f"{pc:#x}"
    assert thread["instruction"] == instruction


def test_registers_are_printed_on_request(
    fixtures: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    dump = fixtures / "symbolic" / "py" / "minidump" / "crash_linux.dmp"
    command = ["symbolicate", str(dump), "--store", str(tmp_path / "store")]
    assert main([*command, "--registers"]) == 0
    instruction = "The instruction is mov dword ptr [rax], 1.\n"
    told = f"\nrip    0x000000000040206d\n{instruction}"
    assert capfd.readouterr().out.endswith(told)
    assert main(command) == 0
    assert "rip" not in capfd.readouterr().out


def test_registers_need_no_disassembler(
    fixtures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "capstone", None)
    dump = fixtures / "symbolic" / "py" / "minidump" / "crash_linux.dmp"
    report = gsym.symbolicate(dump, store=str(tmp_path / "store"))
    assert report.threads[0].registers["rip"] == 0x40206D
    assert report.threads[0].instruction == ""
