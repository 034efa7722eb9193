"""Frames of Windows by `.pdata`, beside the DWARF of the same programs."""

from __future__ import annotations

import subprocess
from functools import partial
from struct import pack
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.containers.mapped_file import map_file
from gsym.memory.module_files import LoadedFile, read_file
from gsym.unwinding.machines import X86_64
from gsym.unwinding.pe_frames import PeTable, pe_image, step_by_pe
from tests.conftest import find_peer
from tests.inputs.minidump import (
    WINDOWS,
    Minidump,
    Module,
    Thread,
    write_minidump,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gsym.unwinding.frame_info import Step

pytestmark = pytest.mark.no_engine

STACK = 0x70000
FUNCTIONS = ("leaf", "saves", "large", "varying", "floats", "mainCRTStartup")
SOURCE = """
#include <string.h>
int volatile state;
__attribute__((noinline)) int leaf(int *p) { return *p + state; }
__attribute__((noinline)) int saves(int a, int b, int c, int d, int e) {
    int x = a * 3, y = b * 5, z = c * 7, w = d * 9, v = e * 11;
    for (int i = 0; i < a; i++) x += leaf(&y) + leaf(&z) + leaf(&w) + leaf(&v) + x;
    if (b > 3) return x;
    return x + y + z + w + v + leaf(&x);
}
__attribute__((noinline)) int large(int n) {
    char some[9000];
    memset(some, n, sizeof some);
    return some[n] + leaf(&n);
}
__attribute__((noinline)) int varying(int n) {
    char *some = __builtin_alloca(n);
    memset(some, n, n);
    return some[n / 2] + leaf(&n);
}
__attribute__((noinline)) double floats(double a, double b, double c) {
    int n = (int)a;
    double x = a * b, y = b * c, z = a * c;
    return leaf(&n) * x + leaf(&n) * y + leaf(&n) * z;
}
int mainCRTStartup(void) {
    int n = state;
    return saves(n, n, n, n, n) + large(n) + varying(n) + (int)floats(n, n, n);
}
"""
EPILOGUE = ("pop", "ret", "add")


def stack_word(address: int) -> int:
    return address ^ 0x5A5A5A5A


def memory_of(file: LoadedFile, address: int, size: int) -> bytes:
    """A stack on which each word tells its place, and the program."""
    if 0x10000 <= address < 0x100000:
        return pack("<Q", stack_word(address))[:size]
    return file.read(address, size)


@pytest.fixture(scope="module", params=["-O0", "-O1", "-O2", "-Os"])
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    compiler, folder = (
        find_peer("x86_64-w64-mingw32-gcc"),
        tmp_path_factory.mktemp("pe"),
    )
    (folder / "app.c").write_text(SOURCE)
    options = ["-g", request.param, "-nostartfiles", "-o", "app.exe", "app.c"]
    subprocess.run([compiler, *options], cwd=folder, check=True)
    return folder / "app.exe"


def instructions(path: Path) -> Iterator[tuple[int, str]]:
    """Address and name of each instruction of the program's own functions."""
    command = [find_peer("x86_64-w64-mingw32-objdump"), "-d", "--no-show-raw-insn"]
    done = subprocess.run([*command, str(path)], check=True, capture_output=True)
    for line in done.stdout.decode().splitlines():
        address, found, text = line.partition(":\t")
        if found:
            yield int(address, 16), text.split()[0]


def registers(step: Step) -> dict[int, int]:
    return {number: value for number, value in step.values.items() if number < 16}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_instruction_has_the_caller_that_dwarf_has(
    program: Path, function: str
) -> None:
    """Of epilogues with a frame pointer, DWARF has rules that count from that."""
    file = read_file(str(program), X86_64)
    assert file is not None
    _, table = pe_image(map_file(str(program)))
    assert table is not None
    start, size = functions(program)[function]
    count = 0
    for pc, name in instructions(program):
        if not start <= pc < start + size:
            continue
        row = file.frames.row(pc)
        assert row is not None
        assert isinstance(row.frame, tuple)
        if row.frame[0] != 7 and name.startswith(EPILOGUE):
            continue
        if name.startswith("ret") and row.frame != (7, 8):
            continue  # GCC forgets the frame pointer, see findings/
        values = {number: 0x100000 + number for number in range(16)}
        values |= {6: STACK + 0x100, 7: STACK, 16: pc}
        read = partial(memory_of, file)
        expected = file.frames.step(pc, values, read)
        found = step_by_pe(table, pc, values, file.read, read)
        assert expected is not None
        assert found is not None
        assert (found.pc, registers(found)) == (expected.pc, registers(expected)), (
            f"{name} at {pc:#x}"
        )
        count += 1
    assert count > 1


def functions(path: Path) -> dict[str, tuple[int, int]]:
    made = path.with_suffix(".gsym")
    gsym.convert(path, made)
    with gsym.open(made) as reader:
        return {each.name: (each.start, each.size) for each in reader}


def test_a_minidump_is_walked_by_the_table_of_its_program(
    program: Path, tmp_path: Path
) -> None:
    """The frame is as large as DWARF says; its caller is not found by scanning."""
    file = read_file(str(program), X86_64)
    assert file is not None
    placed = functions(program)
    base = 0x7FF600000000
    bias = base - 0x140000000
    crash, call = (
        placed[name][0] + placed[name][1] // 2 for name in ("large", "mainCRTStartup")
    )
    row = file.frames.row(crash)
    assert row is not None
    assert isinstance(row.frame, tuple)
    register, size = row.frame
    frame = size + (0 if register == 7 else 0x100)
    stack = bytearray(0x4000)
    stack[frame - 8 : frame] = pack("<Q", call + bias)
    crashed = Thread(1, crash + bias, STACK, STACK + 0x100, bytes(stack))
    module = Module(str(program), base, 0x100000)
    dump = tmp_path / "crash.dmp"
    exception = 1, 0xC0000005, crash + bias, (0, 0)
    made = Minidump((crashed,), (module,), platform=WINDOWS, crash=exception)
    dump.write_bytes(write_minidump(made))
    report = gsym.symbolicate(dump)
    frames = report.threads[0].frames[:2]
    assert [call.name for each in frames for call in each.calls][:1] == ["large"]
    assert [each.trust for each in frames] == ["context", "call frame info"]
    assert frames[1].calls[-1].name == "mainCRTStartup"


def image_of(
    information: bytes, code: bytes = b"", *, chained: bytes = b""
) -> tuple[PeTable, dict[int, bytes]]:
    """A function of 0x100 bytes at 0x1000, whose information is at 0x3000."""
    held = {
        0x401000: code.ljust(0x100, b"\x90"),
        0x402000: pack("<6I", 0x800, 0x900, 0x3800, 0x1000, 0x1100, 0x3000),
        0x403000: information,
        0x403100: chained,
        STACK: b"".join(pack("<Q", number) for number in range(0x400)),
    }
    return PeTable(0x400000, 0x2000, 24), held


def step(
    information: bytes, pc: int = 0x401080, code: bytes = b"", chained: bytes = b""
) -> tuple[int, int, dict[int, int]] | None:
    """The return address, the words that were left, and changed registers."""
    table, held = image_of(information, code, chained=chained)

    def read(address: int, size: int) -> bytes:
        for start, data in held.items():
            if start <= address < start + len(data):
                return data[address - start :][:size]
        return b""

    values = {number: 0x100000 + number for number in range(16)}
    values |= {6: STACK + 0x200, 7: STACK, 16: pc}
    found = step_by_pe(table, pc, values, read, read)
    if found is None or found.pc is None:
        return None
    changed = {
        number: value
        for number, value in found.values.items()
        if value != values.get(number) and number != 7
    }
    return found.pc, (found.values[7] - STACK) // 8, changed


@pytest.mark.parametrize(
    ("codes", "frame", "back", "left", "changed"),
    [
        ("", 0, 0, 1, {}),
        ("0130", 0, 1, 2, {3: 0}),  # PUSH RBX
        ("02e0", 0, 1, 2, {14: 0}),  # PUSH R14
        ("0432", 0, 4, 5, {}),  # ALLOC_SMALL 32
        ("0701 0a00", 0, 10, 11, {}),  # ALLOC_LARGE 80
        ("0711 8000 0000", 0, 16, 17, {}),  # ALLOC_LARGE 128
        ("0674 0200 0432", 0, 4, 5, {5: 2}),  # SAVE RDI, 16
        ("0675 1800 0000 0432", 0, 4, 5, {5: 3}),  # SAVE_FAR RDI, 24
        ("0668 0100 0432", 0, 4, 5, {}),  # SAVE_XMM128
        ("0503", 0x25, 60, 61, {}),  # SET_FPREG RBP, 32
    ],
)
def test_an_operation_is_undone(
    codes: str, frame: int, back: int, left: int, changed: dict[int, int]
) -> None:
    words = bytes.fromhex(codes)
    head = bytes([1, 8, len(words) // 2, frame])
    assert step(head + words) == (back, left, changed)


@pytest.mark.parametrize(("inside", "back", "left"), [(0, 0, 1), (1, 1, 2), (4, 5, 6)])
def test_what_the_prologue_has_not_done_is_not_undone(
    inside: int, back: int, left: int
) -> None:
    found = step(bytes([1, 4, 2, 0]) + bytes.fromhex("0432 0130"), 0x401000 + inside)
    assert found is not None
    assert found[:2] == (back, left)


def test_a_part_of_a_function_has_the_frame_of_the_first_part() -> None:
    chained = bytes([1, 4, 1, 0]) + bytes.fromhex("0130 0000")
    entry = pack("<3I", 0x800, 0x900, 0x3100)
    information = bytes([0x21, 4, 1, 0]) + bytes.fromhex("0432 0000") + entry
    assert step(information, chained=chained) == (5, 6, {3: 4})
    endless = bytes([0x21, 0, 0, 0]) + pack("<3I", 0x800, 0x900, 0x3000)
    assert step(endless) == (0, 1, {})


@pytest.mark.parametrize(
    ("code", "back", "left"),
    [
        ("4883c418 5b c3", 4, 5),
        ("4881c418000000 5b c20800", 4, 5),
        ("5b e900000000", 1, 2),
        ("f3c3", 0, 1),
        ("5b 90", 8, 9),  # none
        ("eb00", 8, 9),
    ],
)
def test_the_rest_of_an_epilogue_is_run(code: str, back: int, left: int) -> None:
    information = bytes([1, 4, 1, 0]) + bytes.fromhex("0472 0000")
    data = bytes(0x80).replace(b"\0", b"\x90") + bytes.fromhex(code)
    found = step(information, 0x401080, data)
    assert found is not None
    assert found[:2] == (back, left)


@pytest.mark.parametrize(("code", "back"), [("000a", 0), ("001a", 1)])
def test_an_interrupt_has_the_registers_on_the_stack(code: str, back: int) -> None:
    """A machine frame, the second time above an error code."""
    found = step(bytes([1, 0, 1, 0]) + bytes.fromhex(code))
    assert found is not None
    assert (found[0], STACK + 8 * found[1]) == (back, (back + 3) & -8)


def test_a_function_without_entry_is_a_leaf_unless_it_calls() -> None:
    assert step(b"", 0x401200) == (0, 1, {})
    table, _ = image_of(b"")
    values = {7: STACK, 16: 0x401201}
    zeros = lambda _at, size: bytes(size)  # noqa: E731
    assert step_by_pe(table, 0x401200, values, zeros, zeros) is None


@pytest.mark.parametrize("size", range(8))
def test_information_that_is_cut_leads_nowhere(size: int) -> None:
    whole = bytes([0x21, 8, 2, 0]) + bytes.fromhex("0711 8000")
    assert step(whole[:size]) is None


def test_damaged_headers_are_no_image() -> None:
    for size in range(0, 0x200, 7):
        head = bytearray(0x200)
        head[0x3C], head[0x40:0x44] = 0x40, b"PE\0\0"
        assert pe_image(memoryview(bytes(head))[:size])[1] is None
