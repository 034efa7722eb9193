"""The calls of functions, found in machine code or recalled from call sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.errors import FormatError, GsymError, UnsupportedError, UuidMismatchError
from gsym.symbfile.calls import find_calls, recall_calls
from tests import machine_code, oracle
from tests.creations import create
from tests.guarded import GuardedMemory
from tests.handmade import file_of
from tests.inputs import elf, macho
from tests.machine_code import AARCH64, START, X86_64, Found, go_through

if TYPE_CHECKING:
    from pathlib import Path

CALL = bytes.fromhex("e8 00 00 00 00")
NOP = b"\x90"
RETURN = b"\xc3"
UNDEFINED = b"\x06"
BODY = NOP + CALL + RETURN  # 7 bytes
WINDOW = 21  # bytes that are read at once where there are as many

BRANCHES = """
    94000001 | bl        | call
    97ffffff | bl        | call
    d63f0000 | blr x0    | call
    d63f03c0 | blr x30   | call
    d4000001 | svc       | call
    d41fffe1 | svc       | call
    d63f081f | blraaz x0 | call
    d63f0fdf | blrabz x30 | call
    d73f0802 | blraa     | call
    d73f0fff | blrab     | call
    14000001 | b         |
    54000000 | b.eq      |
    d61f0000 | br x0     |
    d65f03c0 | ret       |
    d61f081f | braaz     |
    d4000002 | hvc       |
    d4000003 | smc       |
    d4200000 | brk       |
    d503201f | nop       |
"""


def file_with(*functions: tuple[int, int], name: str = "f") -> gsym.Reader:
    """A reader of functions of (start, size), the first of which has a name."""
    made = [
        gsym.FunctionInfo(start, size, f"f{at}" if at else name)
        for at, (start, size) in enumerate(functions)
    ]
    return gsym.Reader(create(made))


def found(reader: gsym.Reader, pieces: dict[int, bytes]) -> list[int]:
    return [address for address, _ in machine_code.find_calls(reader, pieces)]


# ---- where calls are looked for


class Searched(NamedTuple):
    """Functions as (start, size) from START, the code at START, and what is found."""

    functions: list[tuple[int, int]]
    code: bytes
    calls: list[int]  # from START
    ranges: int  # of code that was gone through
    ended_early: int = 0


SEARCHED = {
    "calls outside of functions are none": Searched([(7, 7)], BODY * 3, [8], 1),
    "a function without a size goes up to the next one": Searched(
        [(0, 0), (14, 7)], BODY * 3, [1, 8, 15], 2
    ),
    "both sides of a nested function": Searched(
        [(0, 21), (7, 7)], BODY * 3, [1, 8, 15], 3
    ),
    "a call that the end of a function cuts is none": Searched(
        [(0, 11)], BODY * 2, [1], 1, ended_early=1
    ),
    "code after an undefined instruction is left out": Searched(
        [(0, 11), (11, 7)], CALL + UNDEFINED + CALL + BODY, [0, 12], 2, ended_early=1
    ),
}


@pytest.mark.parametrize("name", SEARCHED)
def test_calls_are_searched_for_in_functions(name: str) -> None:
    case = SEARCHED[name]
    functions = [(START + start, size) for start, size in case.functions]
    with file_with(*functions) as reader:
        calls = machine_code.find_calls(reader, {START: case.code})
    assert [address - START for address, _ in calls] == case.calls
    assert (calls.ranges, calls.ended_early) == (case.ranges, case.ended_early)


def test_functions_that_start_together_are_gone_through_once() -> None:
    functions = [oracle.FunctionInfo(START, size, 1) for size in (7, 14)]
    with gsym.Reader(oracle.encode_file(file_of(*functions))) as reader:
        calls = machine_code.find_calls(reader, {START: BODY * 2})
    assert [address - START for address, _ in calls] == [1, 8]
    assert calls.ranges == 1


def test_functions_are_found_in_the_piece_that_they_are_in() -> None:
    pieces = {START: BODY, START + 0x100: BODY, START + 0x200: BODY}
    with file_with(*((start, 7) for start in (0x100, *pieces, 0x5000))) as reader:
        calls = machine_code.find_calls(reader, pieces)
    assert [address for address, _ in calls] == [start + 1 for start in pieces]
    assert (calls.ranges, calls.without_code) == (3, 2)


@pytest.mark.parametrize("name", ["runtime.goexit", "runtime.goexit.abi0"])
def test_a_goroutine_returns_after_the_first_instruction_of_its_exit(
    name: str,
) -> None:
    with file_with((START, 7), (START + 7, 7), name=name) as reader:
        calls = machine_code.find_calls(reader, {START: BODY * 2})
    assert [(a - START, b - START) for a, b in calls] == [(0, 1), (1, 6), (8, 13)]
    assert [calls.columns.has_line[at] for at in range(3)] == [0, 1, 1]


def test_a_damaged_function_costs_itself() -> None:
    file = file_of(
        oracle.FunctionInfo(START, 7, 1), oracle.FunctionInfo(START + 7, 7, 1)
    )
    data = bytearray(oracle.encode_file(file))
    with gsym.Reader(bytes(data)) as reader:
        header = reader.header
    at = 48 + 2 * header.addr_off_size
    at += -at % 4 + 4  # the place of the second record
    data[at : at + 4] = b"\xff" * 4
    with gsym.Reader(bytes(data)) as reader:
        calls = machine_code.find_calls(reader, {START: BODY * 2})
    assert ([address - START for address, _ in calls], calls.damaged) == ([1], 1)


def test_descending_starts_do_not_repeat_code() -> None:
    starts = (START, START + 0x40, START, START + 0x40, START)
    functions = [oracle.FunctionInfo(start, 0x20, 1) for start in starts]
    with gsym.Reader(oracle.encode_file(file_of(*functions))) as reader:
        calls = machine_code.find_calls(reader, {START: BODY * 20})
    assert calls.ranges <= 2


def test_nothing_is_read_past_the_end_of_the_code() -> None:
    memory = GuardedMemory(64)
    for size in range(WINDOW + 2):
        for byte in (0x66, 0xE8, 0x62, 0x90, 0x48, 0xC4, 0x0F, 0x81):
            code = memory.hold(bytes([byte]) * size)
            assert go_through(bytes(code)).instructions <= size
            with file_with((START, 0)) as reader:
                machine_code.find_calls(reader, {START: code})


# ---- AArch64


@pytest.mark.parametrize("line", BRANCHES.strip().splitlines())
def test_calls_of_aarch64(line: str) -> None:
    word, name, kind = (part.strip() for part in line.split("|"))
    code = int(word, 16).to_bytes(4, "little")
    calls = [(4, 4)] if kind == "call" else []
    assert go_through(bytes(4) + code, AARCH64) == Found(calls, 2), name


def test_a_word_that_is_cut_off_ends_a_function_of_aarch64() -> None:
    code = 0x94000001.to_bytes(4, "little")
    assert go_through(code + code[:3], AARCH64) == Found([(0, 4)], 1, ended_early=True)


@given(st.binary(max_size=64), st.sampled_from([X86_64, AARCH64]))
def test_calls_ascend_and_do_not_overlap(code: bytes, instruction_set: int) -> None:
    end = 0
    for offset, size in go_through(code, instruction_set).calls:
        assert end <= offset
        assert size > 0
        end = offset + size
    assert end <= len(code)


# ---- binaries


def program(tmp_path: Path, **changes: object) -> Path:
    text = elf.Section(".text", BODY * 2, flags=elf.CODE, address=START)
    options: dict[str, object] = {"sections": (text,), "machine": elf.X86_64}
    path = tmp_path / "program"
    path.write_bytes(elf.Elf(**{**options, **changes}).to_bytes())  # type: ignore[arg-type]
    return path


def test_a_file_without_sections_has_its_code_in_segments(tmp_path: Path) -> None:
    path = program(tmp_path, segments=(elf.Segment(START, 14),))
    data = bytearray(path.read_bytes())
    data[72:80] = data.index(BODY).to_bytes(8, "little")  # p_offset
    data[40:48] = bytes(8)  # e_shoff
    data[60:64] = bytes(4)  # e_shnum, e_shstrndx
    path.write_bytes(data)
    with file_with((START, 14)) as reader:
        assert len(find_calls(reader, path)) == 2
        data[96:104] = len(data).to_bytes(8, "little")  # p_filesz
        path.write_bytes(data)
        with pytest.raises(FormatError, match="reaches past the end of the file"):
            find_calls(reader, path)


def test_the_calls_of_a_macho_file(tmp_path: Path) -> None:
    code = 0x94000001.to_bytes(4, "little") * 2
    section = macho.Section("__text", code, address=START, flags=macho.CODE)
    path = tmp_path / "program"
    path.write_bytes(macho.Macho((section,)).to_bytes())
    with file_with((START, 8)) as reader:
        assert list(find_calls(reader, path)) == [
            (START, START + 4),
            (START + 4, START + 8),
        ]


def test_sections_that_share_addresses_have_the_code_of_the_lower_one(
    tmp_path: Path,
) -> None:
    sections = (
        elf.Section(".text", BODY * 3, flags=elf.CODE, address=START),
        elf.Section(".within", RETURN * 2, flags=elf.CODE, address=START + 8),
        elf.Section(".over", RETURN * 7 + BODY, flags=elf.CODE, address=START + 14),
    )
    path = program(tmp_path, sections=sections)
    with file_with(*((START + 7 * at, 7) for at in range(4))) as reader:
        calls = find_calls(reader, path)
    assert [address - START for address, _ in calls] == [1, 8, 15, 22]
    assert calls.without_code == 0


def test_a_debug_file_has_no_code(tmp_path: Path) -> None:
    path = program(tmp_path, sections=(elf.code_section(),))
    with (
        file_with((START, 7)) as reader,
        pytest.raises(GsymError, match="no machine code in this file"),
    ):
        find_calls(reader, path)


def test_code_of_another_processor_is_not_read(tmp_path: Path) -> None:
    path = program(tmp_path, machine=elf.RISCV)
    with (
        file_with((START, 7)) as reader,
        pytest.raises(UnsupportedError, match="the machine code is for riscv64"),
    ):
        find_calls(reader, path)


def test_the_binary_has_to_be_that_of_the_file(tmp_path: Path) -> None:
    path = program(tmp_path, build_id=b"\x01" * 20)
    function = gsym.FunctionInfo(START, 7, "f")
    with gsym.Reader(create([function], uuid=b"\x01" * 20)) as reader:
        assert len(find_calls(reader, path)) == 1
    data = create([function], uuid=b"\x02" * 20)
    with (
        gsym.Reader(data) as reader,
        pytest.raises(UuidMismatchError, match="its build id is 0202"),
    ):
        find_calls(reader, path)


def test_sections_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    text = elf.Section(".text", BODY * 2000, flags=elf.CODE, address=START)
    path = program(tmp_path, sections=(text, elf.Section(".more", flags=elf.CODE)))
    data = bytearray(path.read_bytes())
    table = int.from_bytes(data[40:48], "little")
    more, own = table + 128, table + 64
    data[more + 8 : more + 64] = data[own + 8 : own + 64]
    path.write_bytes(data)
    with (
        file_with((START, 7)) as reader,
        pytest.raises(FormatError, match="sections of code overlap in the file"),
    ):
        find_calls(reader, path)


# ---- call sites


def test_call_sites_are_recalled_in_order_and_once() -> None:
    sites = tuple(gsym.CallSite(at, 0, ()) for at in (0x20, 0x8, 0x20, 0x10, 0, 0x21))
    functions = [
        gsym.FunctionInfo(START, 0x20, "f", call_sites=sites),
        gsym.FunctionInfo(START + 0x20, 0x20, "g", call_sites=sites[1:2]),
        gsym.FunctionInfo(START + 0x40, 0x20, "h"),
    ]
    with gsym.Reader(create(functions)) as reader:
        returns = [behind - START for _, behind in recall_calls(reader)]
    assert returns == [0x8, 0x10, 0x20, 0x28]


def test_a_call_site_that_functions_share_is_recalled_once() -> None:
    sites = tuple(gsym.CallSite(at, 0, ()) for at in (0x10, 0x18))
    functions = [
        gsym.FunctionInfo(START, 0x40, "f", call_sites=(sites[1],)),
        gsym.FunctionInfo(START + 8, 0x20, "g", call_sites=sites),
    ]
    with gsym.Reader(create(functions)) as reader:
        returns = [behind - START for _, behind in recall_calls(reader)]
    assert returns == [0x18, 0x20]
