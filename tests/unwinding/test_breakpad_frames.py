"""Frames by the STACK records of Breakpad files."""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.memory.module_files import read_file
from gsym.unwinding.breakpad_frames import BreakpadFrames
from gsym.unwinding.machines import AARCH64, X86, X86_64
from tests.http_server import Server, files_of
from tests.inputs.minidump import (
    WINDOWS,
    X86 as X86_PROCESSOR,
    Minidump,
    Module,
    Thread,
    codeview,
    write_minidump,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gsym.unwinding.frame_info import Step
    from gsym.unwinding.machines import Machine

pytestmark = pytest.mark.no_engine

STACK = 0x70000
HEAD = "MODULE Linux x86 0 app\n"
EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI, EIP = range(9)


def stack_word(address: int, word: int) -> int:
    return (address ^ 0x5A5A5A5A) & ((1 << 8 * word) - 1)


def frames(
    text: str, machine: Machine = X86, code: Mapping[int, bool] | None = None
) -> BreakpadFrames:
    """The records of a text; all addresses are code unless *code* has some."""

    def is_code(address: int) -> bool:
        return code is None or address + 1 in code

    return BreakpadFrames(machine, memoryview((HEAD + text).encode()), is_code)


def step(
    text: str, pc: int, values: dict[int, int], machine: Machine = X86
) -> Step | None:
    """The caller; each word on the stack tells where it is."""

    def memory(address: int, size: int) -> bytes:
        value = stack_word(address, machine.word)
        return value.to_bytes(8, "little")[:size] if address < 1 << 31 else b""

    return frames(text, machine).step(pc, values, memory)


@pytest.mark.parametrize("name", ["linux/crash", "py/minidump/crash_linux"])
def test_rules_lead_to_the_callers_that_eh_frame_leads_to(
    fixtures: Path, name: str
) -> None:
    """At the start, the middle and the end of all that STACK CFI describes."""
    binary = fixtures / "symbolic" / name
    file = read_file(str(binary), X86_64)
    assert file is not None
    text = binary.with_name(f"{binary.name}.sym").read_text()
    base = min(each.address for each in file.image.segments)

    def memory(address: int, size: int) -> bytes:
        held = file.read(address, size)
        return held or pack("<Q", stack_word(address, 8))[:size]

    found = frames(text, X86_64)
    count = 0
    for line in text.splitlines():
        words = line.split()
        if words[:3] != ["STACK", "CFI", "INIT"]:
            continue
        start, size = (int(each, 16) for each in words[3:5])
        for pc in start, start + size // 2, start + size - 1:
            values = {each: STACK + 0x100 * each for each in range(16)}
            values[16] = pc + base
            expected = file.frames.step(pc + base, values, memory)
            told = found.step(pc, values, memory)
            row = file.frames.row(pc + base)
            is_known = row is not None and isinstance(row.frame, tuple)
            if not is_known or expected is None or not expected.pc:
                continue  # it has no caller, or Breakpad has no such expression
            assert told is not None, hex(pc)
            assert told.pc == expected.pc, hex(pc)
            for register in (3, 6, 7, 12, 13, 14, 15):
                assert told.values[register] == expected.values[register], hex(pc)
            count += 1
    assert count > 400


def test_rules_of_aarch64() -> None:
    """The link register until it is saved; then the caller has none."""
    text = (
        "STACK CFI INIT 100 40 .cfa: sp 0 + .ra: x30\n"
        "STACK CFI 104 .cfa: sp 32 + .ra: .cfa -24 + ^ x29: .cfa -32 + ^\n"
        "STACK CFI 108 .cfa: x29 32 + x19: .cfa -16 + ^\n"
        "STACK CFI 200 .cfa: x5\n"
    )
    values = {29: STACK + 64, 30: 0x1234, 31: STACK}
    first = step(text, 0x100, values, AARCH64)
    assert first is not None
    assert (first.pc, first.values) == (0x1234, {29: STACK + 64, 31: STACK})
    second = step(text, 0x107, values, AARCH64)
    assert second is not None
    assert second.pc == stack_word(STACK + 8, 8)
    assert second.values == {29: stack_word(STACK, 8), 31: STACK + 32}
    third = step(text, 0x13F, values, AARCH64)
    assert third is not None
    assert third.pc == stack_word(STACK + 72, 8)
    assert third.values[19] == stack_word(STACK + 80, 8)
    assert third.values[31] == STACK + 96
    assert step(text, 0x140, values, AARCH64) is None
    assert step(text, 0xFF, values, AARCH64) is None


def test_operators_of_rules() -> None:
    rules = ".cfa: $rsp 24 + 16 @ $rbx: 7 3 * 4 - 5 / 2 % .ra: .undef"
    found = step(f"STACK CFI INIT 10 10 {rules}\n", 0x10, {7: STACK + 1}, X86_64)
    assert found is not None
    assert (found.pc, found.values[7], found.values[3]) == (0, STACK + 16, 1)


def win(program: str, sizes: str = "0 0 8 c 10 0", kind: int = 4) -> str:
    return f"STACK WIN {kind} 1000 40 {sizes} {program}\n"


# Parameters of 8 bytes, 12 of saved registers, 16 of local variables.
SEARCHED = STACK + 12 + 16


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param(
            win("1 $T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + ="),
            {EIP: SEARCHED, ESP: SEARCHED + 4},
            id="search",
        ),
        pytest.param(
            win("1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + ="),
            {EIP: STACK + 0x44, EBP: STACK + 0x40, ESP: STACK + 0x48},
            id="frame pointer",
        ),
        pytest.param(
            win(
                "1 $T1 .raSearchStart = $T0 $T1 4 - 8 @ = $ebp $T1 4 - ^ = $eip $T1 ^ "
                "= $esp $T1 4 + = $23 $T0 8 - ^ =  $ebx $T0 12 - ^ ="
            ),
            {
                EIP: SEARCHED,
                ESP: SEARCHED + 4,
                EBP: SEARCHED - 4,
                ESI: SEARCHED - 12,
                EBX: SEARCHED - 16,
            },
            id="aligned",
        ),
        pytest.param(
            win("0 0", kind=0), {EIP: SEARCHED, ESP: SEARCHED + 4}, id="sizes"
        ),
        pytest.param(
            win("0 1", kind=0),
            {EIP: SEARCHED, ESP: SEARCHED + 4, EBP: STACK + 4},
            id="sizes with a frame pointer",
        ),
        pytest.param(
            win("0 1", kind=0)
            + win("1 $T0 $ebp = $eip $T0 ^ = $esp $T0 .cbParams + ="),
            {EIP: STACK + 0x40, ESP: STACK + 0x48},
            id="programs come before sizes",
        ),
    ],
)
def test_programs_of_windows(record: str, expected: dict[int, int]) -> None:
    """Where each register of the caller is on the stack; ESP is itself."""
    values = {ESP: STACK, EBP: STACK + 0x40, ESI: 1, EBX: 2, EIP: 0x401010}
    found = step(record, 0x1010, values)
    assert found is not None
    assert found.values[ESP] == expected[ESP]
    assert found.pc == stack_word(expected[EIP], 4)
    for register in (EBP, ESI, EBX):
        known = expected.get(register)
        value = values[register] if known is None else stack_word(known, 4)
        assert found.values[register] == value


def test_a_return_address_may_be_above_padding() -> None:
    record = win("1 $T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + =")
    code = stack_word(SEARCHED + 8, 4)

    def memory(address: int, size: int) -> bytes:
        return pack("<I", stack_word(address, 4))[:size]

    values = {ESP: STACK, EIP: 0x401010}
    found = frames(record, code={code: True}).step(0x1010, values, memory)
    assert found is not None
    assert (found.pc, found.values[ESP]) == (code, SEARCHED + 12)
    first = frames(record, code={0: True}).step(0x1010, values, memory)
    assert first is not None
    assert first.values[ESP] == SEARCHED + 4


def test_a_caller_is_below_the_parameters_of_its_callee() -> None:
    """They are on the stack of the caller until the callee returns."""
    record = win("0 0", kind=0)
    first = step(record, 0x1010, {ESP: STACK, EIP: 0x401010})
    assert first is not None
    second = step(record, 0x1010, first.values)
    assert second is not None
    assert second.pc == stack_word(SEARCHED + 4 + 8 + 28, 4)


@pytest.mark.parametrize(
    "text",
    [
        "STACK CFI INIT 1000 40 .ra: .cfa\n",  # no frame
        "STACK CFI INIT 1000 40 .cfa: $esp +\n",
        "STACK CFI INIT 1000 40 .cfa: $none\n",
        "STACK CFI INIT 1000 40 .cfa: .cfa .ra: 1\n",
        "STACK CFI INIT 1000 40 .cfa: $esp 4 + .ra: .cfa 4 0 / ^\n",
        "STACK CFI INIT 1000 40 .cfa: " + "$esp " * 300 + "+ " * 299 + "\n",
        "STACK CFI INIT 1000 40 \nSTACK CFI\n",
        "STACK CFI INIT 1000 40 \nSTACK CFI zz .cfa: $esp\n",
        "STACK WIN 4 1000 40 0 0 0 0 0 0\n",
        "STACK WIN 4 1000 40 0 0 x 0 0 0 1 $eip $esp =\n",
        win("1 $eip $esp ="),  # no stack pointer
        win("1 $esp $eip ="),  # no address
        win("1 = $eip"),
        win("1 $eip 1 = $esp 1 2 = ="),
        win("1 $eip $T9 ^ = $esp $ebp ="),
        # Twice as long each time.
        win("1 $T0 $esp = " + "$T0 $T0 $T0 + = " * 60 + "$eip $T0 = $esp $T0 ="),
        "STACK WIN 4 1000 40 0 0 0 0 0 0 1 $eip $esp ^",
    ],
)
def test_damaged_records_lead_nowhere(text: str) -> None:
    assert step(text, 0x1010, {ESP: STACK, EIP: 0x401010}) is None


def test_long_records_are_read_for_so_long() -> None:
    """Each new address in a function costs its records; there is an end to that."""
    deltas = "".join(f"STACK CFI {each:x} .cfa: $esp 4 +\n" for each in range(40_000))
    found = frames(f"STACK CFI INIT 0 {1 << 20:x} .ra: .cfa -4 + ^\n{deltas}")
    memory = bytes(8)

    def told(pc: int) -> Step | None:
        return found.step(pc, {ESP: STACK}, lambda _address, size: memory[:size])

    assert told(50_000) is not None
    assert [each for each in range(60_000, 60_100) if told(each) is None]


def test_a_minidump_is_walked_by_sym_files_alone(tmp_path: Path) -> None:
    """Two modules, one with rules for its frame pointer, one with a program."""
    guid = bytes(range(16))
    digits = "030201000504070608090A0B0C0D0E0F"
    for name, kind in (("app", "c"), ("lib", "b")):
        folder = tmp_path / "symbols" / f"{name}.pdb" / f"{digits}{kind}"
        folder.mkdir(parents=True)
        body = (
            "FUNC 1000 40 8 leaf\n" + win("0 0", kind=0)
            if name == "lib"
            else "FUNC 2000 100 0 main\nSTACK CFI INIT 2000 100 "
            ".cfa: $ebp 8 + .ra: .cfa -4 + ^ $ebp: .cfa -8 + ^\n"
            "FUNC 2100 100 0 start\nSTACK CFI INIT 2100 100 .cfa: $esp .ra: .undef\n"
        )
        head = f"MODULE windows x86 {digits}{kind.upper()} {name}.pdb\n"
        (folder / f"{name}.sym").write_text(head + body)
    stack = bytearray(0x100)
    stack[28:32] = pack("<I", 0x402020)  # main
    stack[0x80:0x88] = pack("<II", 0, 0x402110)  # start
    dump = Minidump(
        (Thread(1, 0x501010, STACK, STACK + 0x80, bytes(stack)),),
        (
            Module("app.exe", 0x400000, 0x8000, codeview(guid, 12, "app.pdb")),
            Module("lib.dll", 0x500000, 0x8000, codeview(guid, 11, "lib.pdb")),
        ),
        processor=X86_PROCESSOR,
        platform=WINDOWS,
    )
    path = tmp_path / "crash.dmp"
    path.write_bytes(write_minidump(dump))
    expected = [
        ("leaf", "context"),
        ("main", "call frame info"),
        ("start", "call frame info"),
    ]
    symbols = tmp_path / "symbols"
    with Server(files_of(symbols)) as server:
        for number, source in enumerate((str(symbols), server.url, server.url)):
            store = str(tmp_path / f"store{number and 1}")
            report = gsym.symbolicate(path, source=source, store=store)
            told = [(each.calls[0].name, each.trust) for each in report.frames()]
            assert told == expected, source
            assert [each.end for each in report.threads] == [""]


def test_a_module_of_elf_counts_from_its_first_segment(
    fixtures: Path, tmp_path: Path
) -> None:
    """The dump of a program at 0x400000, with its Breakpad file and without it."""
    folder = fixtures / "symbolic" / "py" / "minidump"
    text = (folder / "crash_linux.sym").read_text()
    head = "MODULE Linux x86_64 D2554CDB926136C4B9766A086583B9B50 crash_linux\n"
    symbols = tmp_path / "symbols"
    symbols.mkdir()
    publics = "PUBLIC 2060 0 crash\nPUBLIC 2070 0 start\nPUBLIC 207c 0 main\n"
    (symbols / "crash_linux.sym").write_text(f"{head}{publics}{text}")
    dump = tmp_path / "crash.dmp"
    dump.write_bytes((folder / "crash_linux.dmp").read_bytes())
    report = gsym.symbolicate(dump, source=str(symbols), store=str(tmp_path / "store"))
    told = [(each.address, each.trust) for each in report.frames()][:4]
    assert told == [
        (0x206D, "context"),
        (0x207A, "call frame info"),
        (0x2144, "call frame info"),
        (0x20830, "call frame info"),
    ]
