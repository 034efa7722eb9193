"""Frames of Windows on AArch64 by `.pdata`, beside the instructions themselves."""

from __future__ import annotations

import base64
import zlib
from struct import Struct, pack
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.containers.mapped_file import map_file
from gsym.memory.module_files import read_file
from gsym.unwinding.machines import AARCH64
from gsym.unwinding.pe_arm_frames import step_by_pe_arm
from gsym.unwinding.pe_frames import PeTable, pe_image
from gsym.unwinding.prologues import FollowedCode
from tests.inputs.minidump import (
    ARM64,
    WINDOWS,
    Minidump,
    Module,
    Thread,
    write_minidump,
)

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.unwinding.frame_info import Step

pytestmark = pytest.mark.no_engine

# ../differential/sources/unwind_arm64.s as a DLL.
DLL = """
    c-
    rk%&ui0A9RI$gbkmeBV~0+6=$ligW0d^|rgq*G2N4l>aMczans#&*3OTs4>BUn{UcIf)qwFA4*B?{y;0
    _Tc9z4t@jIxsu$`&MzFKLS1Dkyj=^aC%S?|a|R_vQP2U-EM0W)2Vl_~0-
    E_&aiR1jFk=SUa{g`U+j%8ohRJei1KZ(swg)3EzpQQt2$doy3`kDLkLT(^o|-
    r4z}>X@Hqa0ErhY{Jb8x-
    `ej7oWdLv1YnLN#JkTW)Uv7H@45W#341XN%%N6Li#q3r%uY=G+Zp^XBH3gvOL+$UuI*?uFu+_SlZa>I0
    Mp)rtMhmCOo%Krb%IxetLyL7K@UAp7~&h!;J~b{B55xKmd!G17_-}ymA#N))mEcYgA+_cd{-
    #3x4szS2C2)4*qawrI|fZ{3=}$7>T;AAV#U+FCOdtIR0kNMhgh;3_7O`i5{m`JiLvBz!4Thj+9I)8UbS
    Rs^9#<JVu)o|^Jt9Su8kKZOWtVHR0_56@&lXt98F^&d|)qoIW2?I=!+gS_kT<3vxw{ufoXF>)6WUY{*Y
    kSXPulk-FH~>I@K}690AjEYKjSJ31F>A>oi9k?L}I{2Uq*jwx9iJz1#X906g6P?eSOkbLE__X&MLk<o7
    %^v<W>wp=-
    wh^A%8iyJvN65SE7Nm4gCw?9j`q%BW91t~}LyUr`r>Z~jlFD4&P1{0+)Hov%<n165pb7?;o|$|vAC(kW
    x=4-5iK;@<IfJAMIr68OF
"""
TOP, LINK = 0x700000, 0x1234
ENTRY = Struct("<II")
SIZES = (0x30, 0x28, 0x2C, 0x24, 0x24, 0x18, 0x28, 0x44)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pe") / "unwind.dll"
    path.write_bytes(zlib.decompress(base64.b85decode("".join(DLL.split()))))
    return path


@pytest.mark.parametrize("number", range(8))
def test_each_instruction_has_the_caller_that_the_code_leads_to(
    library: Path, number: int
) -> None:
    """Packed and full information, of prologues, bodies and epilogues."""
    file = read_file(str(library))
    assert file is not None
    _, table = pe_image(map_file(str(library)))
    assert table is not None
    (start, _) = ENTRY.unpack(file.read(table.base + table.start + 8 * number, 8))
    start += table.base

    def memory(address: int, size: int) -> bytes:
        """The code, and a stack on which each word is its own address."""
        return file.read(address, size) or pack("<Q", address)[:size]

    followed = FollowedCode(AARCH64, memory)
    for pc in range(start, start + SIZES[number], 4):
        values = {29: TOP, 30: LINK, 31: TOP}
        by_frame = followed.step(start, pc, {29: TOP, 30: LINK})
        by_stack = followed.step(start, pc, {30: LINK, 31: TOP})
        if by_frame is not None and by_stack is not None:
            values[29] += by_stack.values[31] - by_frame.values[31]
        expected = followed.step(start, pc, values)
        found = step_by_pe_arm(table, pc, values, file.read, memory)
        assert found is not None
        assert found._replace(trust="") == (expected or found)._replace(trust="")
        assert expected is not None, hex(pc)


def test_a_minidump_is_walked_by_the_table_of_its_program(
    library: Path, tmp_path: Path
) -> None:
    """The second function stops in its body; the last one has called it."""
    base = 0x7FF600000000
    crash, call = 0x1040, 0x1140
    stack = bytearray(0x4000)
    frame = 4128
    stack[frame - 8 : frame] = pack("<Q", base + call)
    crashed = Thread(1, base + crash, TOP, 0, bytes(stack))
    exception = 1, 0xC0000005, base + crash, (0, 0)
    made = Minidump(
        (crashed,),
        (Module(str(library), base, 0x4000),),
        processor=ARM64,
        platform=WINDOWS,
        crash=exception,
    )
    dump = tmp_path / "crash.dmp"
    dump.write_bytes(write_minidump(made))
    frames = gsym.symbolicate(dump).threads[0].frames
    assert [(each.address, each.trust) for each in frames[:2]] == [
        *((crash, "context"), (call, "call frame info"))
    ]


def step(entry: int, information: str = "", inside: int = 0x40) -> Step | None:
    """The caller of a function of 0x100 bytes at 0x1000, with information at 0x3000."""
    held = {
        0x402000: pack("<4I", 0x1000, entry, 0x5000, 0x3000),
        0x403000: bytes.fromhex(information),
        TOP: b"".join(pack("<Q", number) for number in range(0x800)),
    }

    def read(address: int, size: int) -> bytes:
        for start, data in held.items():
            if start <= address < start + len(data):
                return data[address - start :][:size]
        return b""

    values = {29: TOP + 0x100, 30: LINK, 31: TOP}
    table = PeTable(0x400000, 0x2000, 16)
    return step_by_pe_arm(table, 0x401000 + inside, values, read, read)


@pytest.mark.parametrize(
    ("codes", "back", "left", "changed"),
    [
        ("02e4e3e3", LINK, 4, {}),  # alloc_s 32
        ("c102e4e3", LINK, 516, {}),  # alloc_m 4128
        ("e0000080 e4e3e3e3", LINK, 256, {}),  # alloc_l 2048
        ("24e4e3e3", LINK, 4, {19: 0, 20: 1}),  # save_r19r20_x 32
        ("42e4e3e3", 3, 0, {29: 2}),  # save_fplr 16
        ("83e4e3e3", 1, 4, {29: 0}),  # save_fplr_x 32
        ("c883e4e3", LINK, 0, {21: 3, 22: 4}),  # save_regp x21, 24
        ("cc83e4e3", LINK, 4, {21: 0, 22: 1}),  # save_regp_x x21, 32
        ("d083e4e3", LINK, 0, {21: 3}),  # save_reg x21, 24
        ("d443e4e3", LINK, 4, {21: 0}),  # save_reg_x x21, 32
        ("d643e4e3", 4, 0, {21: 3}),  # save_lrpair x21, 24
        ("d841e4e3", LINK, 0, {}),  # save_fregp
        ("da43e4e3", LINK, 4, {}),  # save_fregp_x 32
        ("dc43e4e3", LINK, 0, {}),  # save_freg
        ("de43e4e3", LINK, 4, {}),  # save_freg_x 32
        ("e1e4e3e3", LINK, 32, {}),  # set_fp
        ("e202e4e3", LINK, 30, {}),  # add_fp 16
        ("fce3e4e3", LINK, 0, {}),  # pac_sign_lr, nop
        ("e6e6c803e4e3e3e3", LINK, 0, {each: each - 16 for each in range(19, 25)}),
    ],
)
def test_an_operation_is_undone(
    codes: str, back: int, left: int, changed: dict[int, int]
) -> None:
    data = bytes.fromhex(codes)
    # The epilogue at the end is of no code.
    head = 0x40 | 1 << 21 | (len(data) - 1) << 22 | len(data) // 4 << 27
    found = step(0x3000, pack("<I", head).hex() + codes)
    assert found is not None
    assert (found.pc, found.values[31] - TOP) == (back, 8 * left)
    values = {number: found.values.get(number) for number in changed}
    assert values == changed


@pytest.mark.parametrize(
    ("entry", "inside", "back", "left"),
    [
        (1 | 0x40 << 2 | 4 << 23, 0, LINK, 0),
        (1 | 0x40 << 2 | 4 << 23, 0x40, LINK, 8),
        (1 | 0x40 << 2 | 4 << 23, 0xFC, LINK, 0),
        (1 | 0x40 << 2 | 5 << 23 | 1 << 20, 0x40, LINK, 10),  # with arguments
        (2 | 0x40 << 2 | 4 << 23 | 3 << 21, 0, 33, 40),  # a part: of the frame pointer
    ],
)
def test_packed_information(entry: int, inside: int, back: int, left: int) -> None:
    found = step(entry, inside=inside)
    assert found is not None
    assert (found.pc, found.values[31] - TOP) == (back, 8 * left)


def test_information_that_leads_nowhere() -> None:
    """Frames of the system, vectors, and what is cut; after the function."""
    for first in "e8e4e3e3", "e9e4e3e3", "dfe4e3e3", "e7e4e3e3":
        assert (
            step(0x3000, pack("<I", 0x40 | 3 << 22 | 3 << 21 | 1 << 27).hex() + first)
            is None
        )
    for size in range(4):
        assert step(0x3000, "40" * size) is None
    assert step(1 | 0x40 << 2, inside=0x100) is None
