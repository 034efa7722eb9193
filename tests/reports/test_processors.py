"""Dumps of registers and kernels of several processors, over programs built here."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from gsym.containers.machine_code import MachineCode
from gsym.conversion.identity import read_first
from tests.reports.test_evidence import answers

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_engine  # runs a compiler

PROGRAM = """\
volatile int cell;
__attribute__((noinline)) void fault(int *p) { cell++; *p = cell; }
__attribute__((noinline)) long caller(int *p) {
  fault(p);
  return cell;
}
void _start(int *p) {
  long r = caller(p);
  for (;;) cell += r;
}
"""
TARGETS = {
    "riscv32": ("riscv32-none-elf", "0x42000020"),
    "thumb": ("thumbv7m-none-eabi", "0x08001000"),
    "loongarch64": ("loongarch64-linux-gnu", "0x9000000000200000"),
    "x86_64": ("x86_64-linux-gnu", "0xffffffff81000000", "-mcmodel=kernel"),
}


class Stack(NamedTuple):
    """A program, where it stops, and where its calls return to."""

    folder: Path
    crash: int
    returns: tuple[int, int]
    start: int  # of `caller`


def build(target: str, name: str, folder: Path) -> Stack:
    if shutil.which("clang-19") is None or shutil.which("ld.lld-19") is None:
        pytest.skip("not installed: clang-19, ld.lld-19")
    triple, start, *options = TARGETS[target]
    (folder / "a.c").write_text(PROGRAM)
    flags = ("-g", "-O1", "-ffreestanding", "-fno-pic", "-fno-optimize-sibling-calls")
    for command in (
        ("clang-19", f"--target={triple}", *flags, *options, "-c", "a.c"),
        ("ld.lld-19", f"-Ttext={start}", "a.o", "-o", name),
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (folder / "a.o").unlink()
    code = read_first([str(folder / name)], None, MachineCode) or MachineCode()
    with gsym.open(folder / name) as reader:
        (fault,), (caller,), (first,) = map(reader.find, ("fault", "caller", "_start"))
        returns = [
            next(
                at
                for at in range(each.start + 2, each.start + each.size, 2)
                if code.may_return(at)
            )
            for each in (caller, first)
        ]
    return Stack(folder, fault.start + 2, (returns[0], returns[1]), caller.start)


DUMP = """\
Context:
R   0: 00000000
{link}   : {0:08X}
{counter}   : {1:08X}
sp   : 20002FE0
"""


@pytest.mark.parametrize(
    ("target", "link", "counter", "mark"),
    [("riscv32", "RA", "MEPC", 0), ("thumb", "LR", "PC", 1), ("thumb", "lr", "pc", 0)],
)
def test_a_link_register_returns_after_a_call(
    target: str, link: str, counter: str, mark: int, tmp_path: Path
) -> None:
    stack = build(target, "firmware.elf", tmp_path)
    text = DUMP.format(stack.returns[0] | mark, stack.crash, link=link, counter=counter)
    report = gsym.symbolicate(text, module="firmware.elf", source=tmp_path)
    assert answers(report) == ["caller:4", "fault:2"]


KERNEL = {
    "crash": " #6 [ffffc90000013e10] {name} at {address:016x}\n",
    "crash -s": " #6 [ffffc90000013e10] {name}+{plus} at {address:016x}\n",
    "trace-cmd": "=> {name} ({address:016x})\n",
    "bpftrace": "\t{address:x} {name}+{plus}\n",
    "without names": " [<{address:016x}>] ? {address:#018x}\n",
    "with a name of the kernel": "    {name}+{plus:#x} ([kernel.vmlinux])\n",
}


@pytest.mark.parametrize("target", ["x86_64", "loongarch64"])
@pytest.mark.parametrize("tool", KERNEL)
def test_addresses_of_the_kernel_are_in_it(
    tool: str, target: str, tmp_path: Path
) -> None:
    stack = build(target, "vmlinux", tmp_path)
    text = KERNEL[tool].format(
        name="caller", plus=stack.returns[0] - stack.start, address=stack.returns[0]
    )
    report = gsym.symbolicate(f"{text}other text\n{text}", source=tmp_path)
    assert answers(report) == ["caller:4", "caller:4"]


def test_an_oops_of_loongarch_begins_at_its_counter(tmp_path: Path) -> None:
    stack = build("loongarch64", "vmlinux", tmp_path)
    text = (
        f"  ERA: {stack.crash:016x} fault+0x2/0x40\n"
        f"Call Trace:\n[<{stack.crash:016x}>] fault+0x2/0x40\n"
        f"[<{stack.returns[0]:016x}>] caller+{stack.returns[0] - stack.start:#x}/0x40\n"
    )
    report = gsym.symbolicate(text, source=tmp_path)
    assert answers(report) == ["fault:2", "fault:2", "caller:4"]
