"""STACK records of `.sym` files: what the unwind information of a binary becomes."""

from __future__ import annotations

import subprocess
from struct import pack
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.unwinding.stack_records import StackRecords
from tests.conftest import find_peer
from tests.inputs import elf, pe

if TYPE_CHECKING:
    from pathlib import Path

ASSEMBLY = """\
.text
.globl f
.type f, @function
f:
.cfi_startproc
nop
{rules}
nop
.cfi_endproc
.size f, .-f
"""
BEGIN = ".cfa: $rsp 8 + .ra: .cfa -8 + ^"


@pytest.fixture(scope="module")
def assembler() -> str:
    name = find_peer("gcc", "clang", "clang-19")
    machine = subprocess.run(
        [name, "-dumpmachine"], check=True, capture_output=True, text=True
    )
    if not machine.stdout.startswith("x86_64"):
        pytest.skip("needs x86-64")
    return name


def records(path: Path) -> list[str]:
    """The records with places from that of the first one on, in decimal."""
    found = StackRecords([str(path)], 0, b"")
    lines = b"".join(found.blocks()).decode().splitlines()
    assert len(lines) == found.count
    texts, first = [], None
    for line in lines:
        place, *rules = line.removeprefix("STACK CFI ").removeprefix("INIT ").split()
        first = int(place, 16) if first is None else first
        if "INIT" in line:
            rules[0] = f"+{int(rules[0], 16)}"
        texts.append(f"{int(place, 16) - first} {' '.join(rules)}")
    return texts


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param(
            ".cfi_def_cfa_offset 16\n.cfi_offset rbp, -16\nnop\n.cfi_def_cfa rbp, 16",
            [
                f"0 +3 {BEGIN}",
                "1 .cfa: $rsp 16 + $rbp: .cfa -16 + ^",
                "2 .cfa: $rbp 16 +",
            ],
            id="frame pointer",
        ),
        pytest.param(
            ".cfi_offset rbx, -24\nnop\n.cfi_restore rbx\nnop\n.cfi_offset rbx, -24",
            [
                f"0 +4 {BEGIN}",
                "1 $rbx: .cfa -24 + ^",
                "2 $rbx: $rbx",
                "3 $rbx: .cfa -24 + ^",
            ],
            id="a restored register",
        ),
        pytest.param(
            ".cfi_remember_state\n.cfi_offset rbx, -24\nnop\n.cfi_restore_state",
            [f"0 +3 {BEGIN}", "1 $rbx: .cfa -24 + ^", "2 $rbx: $rbx"],
            id="a restored state",
        ),
        pytest.param(
            ".cfi_register rbx, r11\nnop\n.cfi_val_offset rsp, 8",
            [f"0 +3 {BEGIN}", "1 $rbx: $r11", "2 $rsp: .cfa 8 +"],
            id="other kinds",
        ),
        pytest.param(
            # DW_CFA_def_cfa_expression: DW_OP_breg7 0, DW_OP_deref
            ".cfi_escape 0x0f, 3, 0x77, 0, 0x06\nnop\n.cfi_def_cfa rsp, 8",
            [f"0 +1 {BEGIN}", f"2 +1 {BEGIN}"],
            id="a frame that no record can say",
        ),
        pytest.param(
            # DW_CFA_expression of RBX: DW_OP_breg7 0
            ".cfi_offset rbx, -24\nnop\n.cfi_escape 0x10, 3, 2, 0x77, 0",
            [f"0 +2 {BEGIN}", "1 $rbx: .cfa -24 + ^", f"2 +1 {BEGIN}"],
            id="a register that no record can say",
        ),
        pytest.param(
            ".cfi_undefined rip",
            [f"0 +1 {BEGIN}", "1 +1 .cfa: $rsp 8 +"],
            id="no caller",
        ),
    ],
)
def test_rules_become_records(
    assembler: str, tmp_path: Path, rules: str, expected: list[str]
) -> None:
    (tmp_path / "f.s").write_text(ASSEMBLY.format(rules=rules))
    command = [assembler, "-shared", "-nostdlib", "-o", "f.so", "f.s"]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert records(tmp_path / "f.so") == expected


def program(*parts: tuple[str, int]) -> bytes:
    """A function at 0x1000: the codes of each part of it, and its frame pointer."""
    information, size = b"", 0x40
    for number, (codes, frame) in enumerate(parts):
        is_chained = number + 1 < len(parts)
        held = bytes.fromhex(codes)
        head = bytes([1 | 0x20 * is_chained, 8, len(held) // 2, frame])
        padded = held.ljust(len(held) + len(held) % 4, b"\0")
        chain = pack("<3I", 0, 0, 0x2000 + size * (number + 1)) if is_chained else b""
        information += (head + padded + chain).ljust(size, b"\0")
    image = pe.Pe(
        [pe.code_section(), pe.Section(".xdata", information, 0x2000, 0x40000040)],
        unwind=[(0x1000, 0x1080)],
    ).to_bytes()
    # The table that the writer makes has no unwind information.
    return image.replace(
        pack("<3I", 0x1000, 0x1080, 0), pack("<3I", 0x1000, 0x1080, 0x2000)
    )


END = ".ra: .cfa 8 - ^"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([("", 0)], f".cfa: $rsp 8 + {END}"),
        ([("0130", 0)], f".cfa: $rsp 16 + $rbx: .cfa 16 - ^ {END}"),
        ([("0432", 0)], f".cfa: $rsp 40 + {END}"),
        ([("07010a00", 0)], f".cfa: $rsp 88 + {END}"),
        ([("071180000000", 0)], f".cfa: $rsp 136 + {END}"),
        ([("067402000432", 0)], f".cfa: $rsp 40 + $rdi: .cfa 24 - ^ {END}"),
        ([("0675180000000432", 0)], f".cfa: $rsp 40 + $rdi: .cfa 16 - ^ {END}"),
        ([("066801000432", 0)], f".cfa: $rsp 40 + {END}"),
        ([("050304320150", 0x25)], f".cfa: $rbp 16 + $rbp: .cfa 16 - ^ {END}"),
        (
            [("06740200050304320150", 0x25)],
            f".cfa: $rbp 16 + $rbp: .cfa 16 - ^ $rdi: $rbp -16 + ^ {END}",
        ),
        ([("000a", 0)], ".cfa: $rsp 48 + $rsp: .cfa 24 - ^ .ra: .cfa 48 - ^"),
        ([("001a", 0)], ".cfa: $rsp 56 + $rsp: .cfa 24 - ^ .ra: .cfa 48 - ^"),
        (
            [("0130", 0), ("0170", 0)],
            f".cfa: $rsp 24 + $rbx: .cfa 16 - ^ $rdi: .cfa 24 - ^ {END}",
        ),
    ],
)
def test_the_table_of_a_program_becomes_records(
    tmp_path: Path, parts: list[tuple[str, int]], expected: str
) -> None:
    (tmp_path / "app.exe").write_bytes(program(*parts))
    assert records(tmp_path / "app.exe") == [f"0 +128 {expected}"]


def test_a_chain_without_end_has_an_end(tmp_path: Path) -> None:
    image = program(("0130", 0), ("0130", 0)).replace(
        pack("<3I", 0, 0, 0x2040), pack("<3I", 0, 0, 0x2000)
    )
    (tmp_path / "app.exe").write_bytes(image)
    (record,) = records(tmp_path / "app.exe")
    assert ".cfa: $rsp 264 +" in record


def test_a_file_without_unwind_information_has_no_records(tmp_path: Path) -> None:
    (tmp_path / "app").write_bytes(elf.elf_of({}))
    (tmp_path / "damaged").write_bytes(b"\x7fELF\2")
    assert records(tmp_path / "app") == records(tmp_path / "damaged") == []


def test_an_entry_with_too_many_rules_costs_only_itself(
    assembler: str, tmp_path: Path
) -> None:
    registers = "\n".join(f".cfi_offset {number}, -24" for number in range(17, 120))
    rules = registers + 3000 * "\nnop\n.cfi_adjust_cfa_offset 8"
    other = "\n.globl g\ng:\n.cfi_startproc\nret\n.cfi_endproc\n"
    (tmp_path / "f.s").write_text(ASSEMBLY.format(rules=rules) + other)
    command = [assembler, "-shared", "-nostdlib", "-o", "f.so", "f.s"]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert records(tmp_path / "f.so") == [f"0 +1 {BEGIN}"]


def test_an_export_has_the_records_of_the_binary(
    assembler: str, tmp_path: Path
) -> None:
    (tmp_path / "f.s").write_text(ASSEMBLY.format(rules=".cfi_def_cfa_offset 16"))
    command = [assembler, "-shared", "-nostdlib", "-Wl,--build-id", "-o", "f.so", "f.s"]
    subprocess.run(command, check=True, cwd=tmp_path)
    binary = tmp_path / "f.so"
    gsym.convert(binary, tmp_path / "f.gsym")
    without = gsym.export_breakpad(
        tmp_path / "f.gsym", tmp_path / "f.sym", identity=gsym.identify(binary)
    )
    assert without.stack_records == 0
    assert "STACK" not in (tmp_path / "f.sym").read_text()
    report = gsym.export_breakpad(
        *(tmp_path / "f.gsym", tmp_path / "f.sym"),
        identity=gsym.identify(binary),
        binary=binary,
    )
    assert report.stack_records == 2
    *_, function, begin, rest = (tmp_path / "f.sym").read_text().splitlines()
    _, start, size, *_ = function.split()
    assert begin == f"STACK CFI INIT {start} {size} {BEGIN}"
    assert rest == f"STACK CFI {int(start, 16) + 1:x} .cfa: $rsp 16 +"


def test_compact_unwind_information_becomes_records(tmp_path: Path) -> None:
    """Of a program with and without a frame pointer, by clang and ld64.lld."""
    (tmp_path / "a.c").write_text(
        "__attribute__((noinline)) int deep(int a) { return a * 3; }\n"
        "int main(void) { return deep(2) + 1; }\n"
    )
    target = ["--target=arm64-apple-macos11", "-O1", "-c", "a.c"]
    clang, linker = find_peer("clang-19"), find_peer("ld64.lld-19")
    subprocess.run([clang, *target], check=True, cwd=tmp_path)
    system = ["-arch", "arm64", "-platform_version", "macos", "11.0", "11.0"]
    output = ["a.o", "-o", "a", "-e", "_main", "-undefined", "dynamic_lookup"]
    subprocess.run([linker, *system, *output], check=True, cwd=tmp_path)
    leaf, framed = records(tmp_path / "a")
    assert leaf.endswith(" .cfa: sp 0 + .ra: x30")
    assert framed.endswith(" .cfa: x29 16 + .ra: .cfa -8 + ^ x29: .cfa -16 + ^")
