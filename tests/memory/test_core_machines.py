"""Core files of many machines, and what they have instead of a list of files."""

from __future__ import annotations

import subprocess
from struct import pack
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.memory.elf_core import read_core, registered_files
from gsym.memory.link_map import LinkMap
from gsym.memory.signals import Cause, describe, read_cause
from gsym.unwinding.machines import X86_64
from tests.inputs.core import Part, core_of, note, status_of

if TYPE_CHECKING:
    from pathlib import Path

CODE, STACK = 0x400000, 0x70000

# By name: e_machine, size of words, order, number of registers, places of the program
# counter, the stack pointer and the link register.
MACHINES = {
    "arm": (40, 4, "<", 18, 15, 13, 14),
    "aarch64": (183, 8, "<", 34, 32, 31, 30),
    "riscv64": (243, 8, "<", 32, 0, 2, 1),
    "riscv32": (243, 4, "<", 32, 0, 2, 1),
    "loongarch64": (258, 8, "<", 45, 33, 3, 1),
    "powerpc": (20, 4, ">", 48, 32, 1, 36),
    "powerpc64": (21, 8, ">", 48, 32, 1, 36),
    "powerpc64le": (21, 8, "<", 48, 32, 1, 36),
    "s390x": (22, 8, ">", 27, 1, 17, 16),
}


@pytest.mark.parametrize("name", MACHINES)
def test_registers_are_where_the_kernel_of_a_machine_puts_them(name: str) -> None:
    machine, word, order, count, pc, sp, link = MACHINES[name]
    registers = [0x1000 + each for each in range(count)]
    registers[pc], registers[sp], registers[link] = 0, STACK, CODE + 0x104
    parts = [Part(CODE, bytes(0x1000), is_executable=True), Part(STACK, bytes(64))]
    notes = status_of(registers, word=word, order=order)
    core = core_of(parts, notes, machine=machine, word=word, order=order)
    parsed = read_core(memoryview(core), "core")
    frames = [each for each in parsed.parts if not isinstance(each, str)]
    assert [(each.address, each.trust) for each in frames][:2] == [
        *((0, "context"), (CODE + 0x104, "link register"))
    ]


# The code at which a thread stopped, the status of ARM, and the text of the code.
INSTRUCTIONS = {
    "arm": ("001090e5", 0, "ldr r1, [r0]"),
    "thumb": ("0168", 1 << 5, "ldr r1, [r0]"),
    "riscv64": ("1c41", 0, "c.lw a5, 0(a0)"),
    "riscv32": ("83270500", 0, "lw a5, 0(a0)"),
    "powerpc": ("81230000", 0, "lwz r9, 0(r3)"),
    "powerpc64": ("e9230000", 0, "ld r9, 0(r3)"),
    "powerpc64le": ("000023e9", 0, "ld r9, 0(r3)"),
    "s390x": ("e31020000004", 0, "lg %r1, 0(%r2)"),
}


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_the_instruction_is_read_on_all_machines(name: str) -> None:
    code, status, text = INSTRUCTIONS[name]
    machine, word, order, count, pc, sp, _ = MACHINES[name.replace("thumb", "arm")]
    registers = [0] * count
    registers[pc], registers[sp] = CODE + 0x100, STACK
    registers[16] = registers[16] or status
    held = bytes(0x100) + bytes.fromhex(code) + bytes(0x100)
    parts = [Part(CODE, held, is_executable=True), Part(STACK, bytes(64))]
    notes = status_of(registers, word=word, order=order)
    core = core_of(parts, notes, machine=machine, word=word, order=order)
    (stack,) = read_core(memoryview(core), "core").headings
    assert stack.instruction == text


@pytest.mark.parametrize(("signal", "is_after"), [(4, True), (8, True), (11, False)])
def test_s390x_stops_after_an_instruction_that_traps(
    signal: int, *, is_after: bool
) -> None:
    """A trap that is the last instruction must not name the next function."""
    registers = [0] * 27
    registers[1], registers[17] = CODE + 0x104, STACK
    parts = [Part(CODE, bytes(0x1000), is_executable=True), Part(STACK, bytes(64))]
    notes = status_of(registers, order=">", signal=signal)
    core = core_of(parts, notes, machine=22, order=">")
    parsed = read_core(memoryview(core), "core")
    first = next(each for each in parsed.parts if not isinstance(each, str))
    assert first.is_return == is_after


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (Cause(11, 1, 0x10), "SIGSEGV at 0x10"),
        (Cause(11, 2, 0x10), "SIGSEGV at 0x10 (no permission)"),
        (Cause(11, 10), "SIGSEGV (control protection fault)"),
        (Cause(11, 9, 0x20), "SIGSEGV at 0x20 (memory tag mismatch)"),
        (Cause(11, 99, 0x20), "SIGSEGV at 0x20 (code 99)"),
        (
            Cause(11, 0x80),
            "SIGSEGV (general protection; the address is not known)",
        ),
        (Cause(11, 0, 17, 17), "SIGSEGV sent by process 17"),
        (Cause(11, -6, 5, 5), "SIGSEGV sent by the program itself"),
        (Cause(6, -6, 5, 5), "SIGABRT"),
        (Cause(6, 0, 17, 17), "SIGABRT sent by process 17"),
        (Cause(15, -1, 17, 17), "SIGTERM queued by process 17"),
        (Cause(14, -2), "SIGALRM of a timer"),
        (Cause(5, 0x80), "SIGTRAP (breakpoint)"),
        (Cause(7, 1, 3), "SIGBUS at 0x3 (misaligned address)"),
        (Cause(8, 1, 3), "SIGFPE at 0x3 (integer division by zero)"),
        (Cause(31, 1), "SIGSYS (not allowed by seccomp)"),
        (Cause(64, 0x80), "signal 64"),
    ],
)
def test_a_cause_is_said_in_words(cause: Cause, text: str) -> None:
    assert describe(cause, {5}) == text


@pytest.mark.parametrize("order", "<>")
def test_the_contents_of_a_cause_depend_on_the_size_of_words(order: str) -> None:
    data = pack(f"{order}3i4xQ", 11, 0, 1, 0x10)
    assert read_cause(data, 8, order) == Cause(11, 1, 0x10, 0 if order == ">" else 0x10)
    data = pack(f"{order}3iI", 11, 0, 1, 0x10)
    assert read_cause(data, 4, order) == Cause(11, 1, 0x10, 0x10)
    assert read_cause(data[:-1], 4, order) is None


def test_a_process_that_is_not_known_is_not_the_program_itself() -> None:
    registers = [0] * 27
    registers[16], registers[19] = CODE, STACK
    sent = note(0x53494749, pack("<4i", 6, 0, 0, 0).ljust(128, b"\0"))
    core = core_of([Part(STACK, bytes(64))], status_of(registers, signal=6) + sent)
    reason = read_core(memoryview(core), "core").reason
    assert reason == "SIGABRT sent by process 0"


def memory_of(held: dict[int, bytes], address: int, size: int) -> bytes:
    for start, data in held.items():
        if start <= address < start + len(data):
            return data[address - start :][:size]
    return b""


def test_the_link_map_lists_the_files_of_a_program() -> None:
    held = {
        0x400040: pack("<II3Q24x", 6, 4, 0x40, 0x40, 0x40)
        + pack("<II3Q24x", 2, 4, 0, 0x1000, 0),
        0x401000: pack("<6Q", 1, 2, 21, 0x5000, 0, 0),
        0x5000: pack("<QQ", 1, 0x6000),
        0x6000: pack("<5Q", 0x400000, 0x7000, 0, 0x6100, 0),
        0x6100: pack("<5Q", 0x500000, 0x7001, 0, 0x6000, 0),
        0x7000: b"\0/lib/libx.so\0/opt/app\0",
    }
    auxiliary = {3: 0x400040, 4: 56, 5: 2, 31: 0x700E}
    linked = LinkMap(X86_64, auxiliary, lambda *place: memory_of(held, *place))
    assert linked.program("app") == (0x400000, "/opt/app")
    assert list(linked.libraries()) == [(0x500000, "/lib/libx.so")]
    assert list(LinkMap(X86_64, auxiliary, lambda *_: b"").libraries()) == []
    assert LinkMap(X86_64, {}, lambda *_: b"").program("app") is None


def program(folder: Path, compiler: str, *flags: str) -> Path:
    source = "int made(int *p) { return *p + 1; }\n"
    source += "int entry(int *p) { return made(p) + 1; }\nvoid _start(void) {}\n"
    (folder / "app.c").write_text(source)
    command = [compiler, "-g", "-nostdlib", "-static", "-no-pie", "-fno-inline", "-O0"]
    subprocess.run([*command, *flags, "-o", "app", "app.c"], check=True, cwd=folder)
    path = folder / "app"
    if gsym.identify(path).architecture != "x86_64":
        pytest.skip("needs x86-64")
    return path


def placed(path: Path) -> dict[str, int]:
    made = path.with_suffix(".gsym")
    gsym.convert(path, made)
    with gsym.open(made) as reader:
        return {each.name: each.start for each in reader}


def test_the_program_of_a_core_without_a_list_of_files_is_found(
    tmp_path: Path, compiler: str
) -> None:
    path = program(tmp_path, compiler)
    functions = placed(path)
    registers = [0] * 27
    registers[16], registers[19] = functions["made"], STACK
    auxiliary = note(6, pack("<6Q", 3, 0x400040, 31, STACK + 8, 0, 0))
    stack = pack("<Q", functions["entry"] + 20) + b"./app\0".ljust(64, b"\0")
    code = Part(functions["made"] & -4096, b"", is_executable=True)
    parts = [Part(STACK, stack), code._replace(data=bytes(4096))]
    core = tmp_path / "core"
    core.write_bytes(core_of(parts, status_of(registers) + auxiliary))
    report = gsym.symbolicate(core)
    names = [[call.name for call in each.calls] for each in report.frames()]
    assert names[:2] == [["made"], ["entry"]]
    (module,) = report.modules
    assert module.unsure


def test_libraries_are_found_where_the_core_lacks_the_headers_of_the_program(
    tmp_path: Path, compiler: str
) -> None:
    """QEMU leaves out pages that cannot be written; the file has the headers."""
    (tmp_path / "lib.c").write_text("int made(int *p) { return *p; }\n")
    (tmp_path / "app.c").write_text(
        "int made(int *);\nvoid _start(void) { made(0); }\n"
    )
    common = [compiler, "-g", "-O0", "-nostdlib", "-fPIC"]
    for command in (
        [*common, "-shared", "-o", "lib.so", "lib.c"],
        [*common, "-no-pie", "-o", "app", "app.c", "lib.so"],
    ):
        subprocess.run(command, check=True, cwd=tmp_path)
    if gsym.identify(tmp_path / "app").architecture != "x86_64":
        pytest.skip("needs x86-64")
    listed = subprocess.run(
        ["readelf", "-lW", "app"], check=True, cwd=tmp_path, capture_output=True
    ).stdout.decode()
    (dynamic,) = [
        int(line.split()[2], 16)
        for line in listed.splitlines()
        if line.split()[:1] == ["DYNAMIC"]
    ]
    library, lists = 0x50000000, 0x60000
    registers = [0] * 27
    registers[16], registers[19] = library + placed(tmp_path / "lib.so")["made"], STACK
    linked = pack("<QQ", 1, lists + 16) + pack("<5Q", library, lists + 56, 0, 0, 0)
    count = listed.count("0x") and int(listed.partition("There are ")[2].split()[0])
    auxiliary = note(6, pack("<8Q", 3, 0x400040, 4, 56, 5, count, 0, 0))
    parts = [
        Part(dynamic, pack("<4Q", 21, lists, 0, 0)),
        Part(lists, linked + b"/lib/lib.so\0".ljust(64, b"\0")),
        Part(STACK, bytes(64)),
        Part(library, b"", is_executable=True),
    ]
    information = note(3, bytes(40) + b"app".ljust(16, b"\0") + b"app".ljust(80, b"\0"))
    core = tmp_path / "core"
    core.write_bytes(core_of(parts, status_of(registers) + information + auxiliary))
    report = gsym.symbolicate(core)
    assert [call.name for call in report.threads[0].frames[0].calls] == ["made"]
    assert sorted(each.name for each in report.modules) == ["app", "lib.so"]


def test_code_that_a_jit_registered_has_names_and_is_walked(
    tmp_path: Path, compiler: str
) -> None:
    """The descriptor is in one program, the code in another one in memory."""
    (tmp_path / "jit").mkdir()
    code = program(tmp_path / "jit", compiler, "-Wl,-Ttext=0x20000000")
    functions = placed(code)
    data = code.read_bytes()
    (tmp_path / "host.c").write_text(
        "struct { int a, b; void *c, *d; } __jit_debug_descriptor = {1};\n"
        "void _start(void) {}\n"
    )
    command = [compiler, "-nostdlib", "-static", "-no-pie", "-o", "host", "host.c"]
    subprocess.run(command, check=True, cwd=tmp_path)
    text = subprocess.run(
        ["nm", "host"], check=True, cwd=tmp_path, capture_output=True, text=True
    ).stdout
    (place,) = [
        int(line.split()[0], 16)
        for line in text.splitlines()
        if line.endswith("__jit_debug_descriptor")
    ]
    file_at = 0x30000000
    entry = pack("<4Q", 0, 0, file_at, len(data))
    registers = [0] * 27
    registers[16], registers[19] = functions["made"], STACK
    stack = pack("<Q", functions["entry"] + 20).ljust(64, b"\0")
    parts = [
        Part(place, pack("<II2Q", 1, 0, 0, 0x60000)),
        Part(0x60000, entry),
        Part(file_at, data),
        Part(STACK, stack),
        Part(0x20000000, bytes(4096), is_executable=True),
    ]
    names = note(0x46494C45, pack("<5Q", 1, 1, 0x400000, 0x401000, 0) + b"./host\0")
    core = tmp_path / "core"
    core.write_bytes(core_of(parts, status_of(registers) + names))
    report = gsym.symbolicate(core)
    found = [[call.name for call in each.calls] for each in report.frames()]
    assert found[:2] == [["made"], ["entry"]]


def test_a_list_of_a_jit_that_is_damaged_ends() -> None:
    held = {
        0x100: pack("<II2Q", 1, 0, 0, 0x200),
        0x200: pack("<4Q", 0x300, 0, 0x100, 4),
        0x300: pack("<4Q", 0x200, 0, 0x100, 1 << 40),
    }
    found = registered_files(0x100, lambda *place: memory_of(held, *place), X86_64)
    assert [contents for _, contents in found] == [pack("<I", 1)]
    assert list(registered_files(0x100, lambda *_: b"", X86_64)) == []
