"""Frames of Apple's systems by `__unwind_info`, beside what others make of them."""

from __future__ import annotations

import base64
import shutil
import zlib
from struct import pack
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.memory.module_files import read_file
from gsym.unwinding.breakpad_frames import BreakpadFrames
from gsym.unwinding.compact_unwind import CompactUnwind, macho_parts
from gsym.unwinding.machines import AARCH64, X86_64
from gsym.unwinding.prologues import FollowedCode

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gsym.unwinding.frame_info import Row

pytestmark = pytest.mark.no_engine

STACK = 0x70000
BASE = 1 << 32
RBX, RBP, RSP, R12, R13, R14, R15, RIP = 3, 6, 7, 12, 13, 14, 15, 16
LARGE = b"\x48\x81\xec"  # SUB RSP, a constant of 4 bytes
CODE = LARGE[1:] + b"\x90\x01\x00\x00"


# clang 19 for arm64-apple-macos11, -O2, ld64.lld: `leaf` has nothing on the stack,
# `saves` has six registers there, `nosave` has variables, `main` has two registers.
LIBRARY = (
    "eNrt1X9MlHUcB/DP8zwHPHqHoUeKid5pznRDUXTlVrkjz8TpROKc5NyeDg7kxo87uMNE2GRzTlptcdXK"
    "tJVulRyraa6alhVpa7hmhFumzSmaldbaXBJDBtLnufsePByH85/Wau/X9ul5Ps/ny+f5/nguO/v/uGMh"
    "koglc6RydJiIdlOa/oimczRzVdNcq4pcNJYjcZ4kwiQea1qwdHtwZFh8PzUpem2RRnLZ2NdETcZU0wLB"
    "uuLAuP32JkevFkNu7KdyP9lQj/bTyksr/aW1Cfq9LfrNNeR3n19d9bPeao/mrS7zJejXIfo500Zymcan"
    "n8PeSB9nritXW5m/vtA1av/HuSoi9G1Ni/z9Vl9w1DwT90sznKdiGJ+cYF7LpVgfQ6Epbj5NieelDM+j"
    "0q0F6quKfZWaP1g7bj/VkBvnlUKjc03zuIPu+HUazj+unxrXL56mlfiqqnzV4/VLa4p9BiOM5ykl2Le8"
    "SJ91a9avXeVcE/s22qOX70yJcymu1xzeicVinL4Wla+LDfXlnGfwdUN79H36nPT8AOf36wNOEh3hi1kf"
    "I/4mVYT+k5xCd9+Xm1+OXjMZeswX7zIqWZifs8hTX+ktjuYzxJh165x7Nm5c4jz4Usf+w4tslMPP7MNr"
    "NUdCEvubIllpnvhG94p1LxD5AbFfM0V+hNdnv9sPK3b+5DhusyvfTzivZNgl1dyuaOeGFLlrwCeH+7cq"
    "4T7NFO7dlBTuyU8ODzakhAdPSaEeRWqzmsj8iCqZ8/wzCzMkeW3fZXlBvUUxl0tNT+1rVGf0/yotsJmo"
    "Zq1Mrr8UausuodDPQ0Ov9er3hRS6yvczaKq5eyWFLseeL6XQRb7vkMlcrqhma5LV/FEy1cy+M+S6ZaPj"
    "b02iGotEru4Ahc7yOFWZZlal6RxWjgfMVonM3Yq1bbBhNc/3SZ73Kp6/k9exMjzgeyLM6wpF1neKugYb"
    "5PDgLgrpa2/tlIpUyXG7dZet77pCIbpgP6ZeeOaYXlvTqWS07dL69PuKb6WiCh63U5r4+0Eil75fgw3c"
    "9xRF+k4meqUn/3PeJyk8yOu6xWu6wnGV4yeOaxxhnnePvlae5yW+J0rnHrk835Oteg/+FlvSZMdtkm3n"
    "Cvh+yRwK3Vz9RXix/jw5+pzHZNweGpoW+11kiu8jS5xplvjebfxYipb0kPV/W5wUjdi/E07xnVt4SKb4"
    "X1Q6/6eHx2+Qxvx8AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAADgf+xEMvYAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA4N82eQ4V6FeHpmmB"
    "oLukQispr9C21rlrPVSwooZaHJ76Sg+X6oq1Ym+1p7SWClp4fC2tGP0nZW5vJXFF0iiJTJWl7jKaVeX2"
    "VtODAZpf7Qu4t5VSrkLNE0mh8xYiOegOltLD/DhAj5mopUnmwht6dcDM/ZsnpndLW4i8fO8xzHc7RxlJ"
    "w/kLHHM5VZOiuV6Zy5Eu6i+JemZcvVvUXxf1gbj6FlE/KOpFyaPrDlE/xGFXidKaRuqekemRzDEphecn"
    "6pM57jPMd5rIY/ObJfLYfOaJPPb+LD03vG9p9J13Yu9bFZcXxeVWsTdTRNhJ0yIn7K/1btNPRIscnRaI"
    "HIwmDk6LnKR+2vqIMcee4NsZ89VkB6v82Z66Kn8ge0f2wtFpycL8nEW+e3g1Uf8lSzvvql1stS6Dos95"
    "q2WVZJO+6fq2l4vl61KJTh6xy2S5t1+FY/guMjVejLc4mvfm7P+0oMa05/Sj776Yc+Xj9vrWsN+/9Kvs"
    "l+s+OON457fZ7+9872iR7+sbZe2mH7q6KuT8oqShxg8bd+z+8bPn857LOvRfryvXp276JHOW76HmJVnf"
    "tA0cPXOlcF7v4/llbZ7Up084w+5/+v1vNp6+sfnivkzLNtthS33esgkNt65tKJu0rPPPsx2bw7+8+jco"
    "BIBL"
)


def stack_word(address: int) -> int:
    return address ^ 0x5A5A5A5A


@pytest.mark.parametrize(
    ("name", "least"), [("macos/crash", 10), ("py/minidump/crash_macos", 250)]
)
def test_callers_are_those_of_breakpad_files(
    fixtures: Path, name: str, least: int
) -> None:
    """symbolic made STACK CFI of the same section, and of `__eh_frame` for the rest.

    It takes the size of a large stack, which is in the code, for 8 bytes.
    """
    binary = fixtures / "symbolic" / name
    file = read_file(str(binary), X86_64)
    assert file is not None
    compact, *others = file.sources
    assert others
    text = binary.with_name(f"{binary.name}.sym").read_text()
    told = memoryview(b"\n" + text.encode())
    rules = BreakpadFrames(X86_64, told, lambda _address: True)

    def memory(address: int, size: int) -> bytes:
        held = file.read(address, size)
        return held or pack("<Q", stack_word(address))[:size]

    counts = {True: 0, False: 0}
    for line in text.splitlines():
        words = line.split()
        if words[:3] != ["STACK", "CFI", "INIT"]:
            continue
        start, size = (int(each, 16) for each in words[3:5])
        pc = start + size // 2
        values = {each: STACK + 0x1000 * each for each in range(16)} | {16: pc + BASE}
        is_large = file.read(start + BASE, len(LARGE)) == LARGE
        if is_large and words[6:8] == ["$rsp", "8"]:
            continue
        expected = rules.step(pc, values, memory)
        found = file.step(pc + BASE, values, memory)
        assert expected is not None
        assert found is not None, hex(pc)
        assert found.pc == expected.pc, hex(pc)
        for register in RBX, RBP, RSP, R12, R13, R14, R15:
            assert found.values[register] == expected.values[register], hex(pc)
        counts[compact(pc + BASE, values, memory) is not None] += 1
    assert counts[True] >= least


@pytest.mark.parametrize(
    ("start", "size", "other"),
    [
        pytest.param(0x508, 0x14, 29, id="leaf"),
        pytest.param(0x51C, 0xE0, 31, id="saves"),
        pytest.param(0x5FC, 0x5C, 31, id="nosave"),
        pytest.param(0x658, 0x5C, 31, id="main"),
    ],
)
def test_callers_of_aarch64_are_those_that_the_code_leads_to(
    tmp_path: Path, start: int, size: int, other: int
) -> None:
    """In the middle of a function, with all registers that it has saved."""
    path = tmp_path / "library.dylib"
    path.write_bytes(zlib.decompress(base64.b64decode(LIBRARY)))
    file = read_file(str(path), AARCH64)
    assert file is not None

    def memory(address: int, size: int) -> bytes:
        return file.read(address, size) or pack("<Q", stack_word(address))[:size]

    pc = start + (size // 2 & -4)
    values = {each: STACK + 0x1000 * each for each in range(32)}
    found = file.step(pc, values, memory)
    assert found is not None
    del values[other]  # the code counts from the other one
    expected = FollowedCode(AARCH64, memory).step(start, pc, values)
    assert expected is not None
    assert found.pc == expected.pc
    for register in (*range(19, 29), 31):
        assert found.values[register] == expected.values[register]


def test_a_minidump_is_walked_by_its_program(fixtures: Path, tmp_path: Path) -> None:
    """The frames that minidump-stackwalk finds with the STACK records of a file."""
    folder = fixtures / "symbolic" / "py" / "minidump"
    dump = tmp_path / "crash.dmp"
    shutil.copy(folder / "crash_macos.dmp", dump)
    store = str(tmp_path / "store")
    report = gsym.symbolicate(dump, source=str(folder), store=store)
    told = [(each.offset, each.trust) for each in report.frames()]
    assert told[:4] == [
        (0x13A1, "context"),
        (0x1386, "call frame info"),
        (0x1278, "call frame info"),
        (None, "call frame info"),  # in a library that is not here
    ]


def section(
    encodings: Sequence[int],
    *,
    common: Sequence[int] = (),
    size: int = 0x100,
    kind: int = 3,
) -> bytes:
    """A section for functions of *size* bytes each, from 0x1000 on.

    With pages of two functions; those with an encoding in *common* have its number.
    """
    pages: list[bytes] = []
    index = b""
    start_of_pages = 28 + 4 * len(common) + 12 * ((len(encodings) + 1) // 2 + 1)
    place = start_of_pages
    for first in range(0, len(encodings), 2):
        several = encodings[first : first + 2]
        starts = [0x1000 + size * (first + each) for each in range(len(several))]
        if kind == 2:
            page = pack("<IHH", 2, 8, len(several))
            page += b"".join(map(pack_entry, starts, several))
        else:
            own = [each for each in several if each not in common]
            numbers = [
                common.index(each) if each in common else len(common) + own.index(each)
                for each in several
            ]
            page = pack("<IHHHH", 3, 12, len(several), 12 + 4 * len(several), len(own))
            page += b"".join(
                pack("<I", number << 24 | (start - starts[0]))
                for number, start in zip(numbers, starts, strict=True)
            )
            page += b"".join(pack("<I", each) for each in own)
        index += pack("<III", starts[0], place, 0)
        pages.append(page)
        place += len(page)
    index += pack("<III", 0x1000 + size * len(encodings), 0, 0)
    head = pack(
        "<7I", 1, 28, len(common), 28, 0, 28 + 4 * len(common), len(index) // 12
    )
    body = b"".join(pack("<I", each) for each in common)
    return head + body + index + b"".join(pages)


def pack_entry(start: int, encoding: int) -> bytes:
    return pack("<II", start, encoding)


def row(encoding: int, machine: object = X86_64, inside: int = 0) -> Row | None:
    made = CompactUnwind(
        machine,  # type: ignore[arg-type]
        section([encoding]),
        0,
        lambda address, size: CODE[address - 0x1000 :][:size],
    )
    return made.row(0x1000 + inside)


@pytest.mark.parametrize(
    ("encoding", "frame", "saved"),
    [
        pytest.param(0x01000000, (RBP, 16), {RBP: -16}, id="frame pointer"),
        pytest.param(
            0x01030000 | 4 | 1 << 3 | 5 << 6,
            *((RBP, 16), {RBP: -16, R14: -40, RBX: -32, R15: -24}),
            id="frame pointer and registers",
        ),
        pytest.param(0x02020000, (RSP, 16), {}, id="no register"),
        pytest.param(0x02020400, (RSP, 16), {RBX: -16}, id="RBX"),
        # R14 is the fourth of all, then R15 the fourth of the rest.
        pytest.param(
            0x02030800 | 3 * 5 + 3, (RSP, 24), {R14: -24, R15: -16}, id="R14 and R15"
        ),
        pytest.param(
            0x02070000 | 6 << 10 | 719,
            (RSP, 56),
            {RBP: -56, R15: -48, R14: -40, R13: -32, R12: -24, RBX: -16},
            id="all backwards",
        ),
        pytest.param(
            0x03020000 | 1 << 13 | 1 << 10,
            (RSP, 0x198),
            {RBX: -16},
            id="a size in the code",
        ),
        pytest.param(0x04000010, None, {}, id="in __eh_frame"),
        pytest.param(0, None, {}, id="none"),
        pytest.param(0x02020000 | 7 << 10, None, {}, id="seven registers"),
        pytest.param(0x03040000, None, {}, id="the code is not known"),
    ],
)
def test_encodings_of_x86_64(
    encoding: int, frame: tuple[int, int] | None, saved: dict[int, int]
) -> None:
    found = row(encoding)
    if frame is None:
        assert found is None
        return
    assert found is not None
    assert found.frame == frame
    assert found.rules == {
        each: ("offset", at) for each, at in {RIP: -8, **saved}.items()
    }


@pytest.mark.parametrize(
    ("encoding", "frame", "saved"),
    [
        (0x04000000, (29, 16), {30: -8, 29: -16}),
        (0x04000005, (29, 16), {30: -8, 29: -16, 19: -24, 20: -32, 23: -40, 24: -48}),
        (0x02003000, (31, 48), {}),
        (0x02002001, (31, 32), {19: -8, 20: -16}),
        (0x03000000, None, {}),
    ],
)
def test_encodings_of_aarch64(
    encoding: int, frame: tuple[int, int] | None, saved: dict[int, int]
) -> None:
    found = row(encoding, AARCH64)
    assert (None if found is None else found.frame) == frame
    rules = {each: ("offset", at) for each, at in saved.items()}
    assert (found.rules if found else {}) == rules


@pytest.mark.parametrize("kind", [2, 3])
def test_each_function_has_its_encoding(kind: int) -> None:
    """In regular and in compressed pages, with common encodings and own ones."""
    encodings = [0x02000000 | each << 16 for each in (1, 2, 3, 2, 1, 9, 4)]
    common = encodings[1:3]
    data = section(encodings, common=common, kind=kind)
    made = CompactUnwind(X86_64, data, BASE, lambda _address, _size: b"")
    for number, encoding in enumerate(encodings):
        start = BASE + 0x1000 + 0x100 * number
        for pc in start, start + 0xFF:
            found = made.row(pc)
            assert found is not None, hex(pc)
            assert found.frame == (RSP, 8 * (encoding >> 16 & 0xFF))
    assert made.row(BASE + 0xFFF) is None
    assert made.row(BASE + 0x1000 + 0x100 * len(encodings)) is None


def test_damaged_sections_lead_nowhere() -> None:
    """Each prefix, and each byte set to 0xFF: a row of another encoding, or none."""
    data = section([0x02010000, 0x02020000, 0x02030000], common=[0x02020000])
    pcs = range(0x1000, 0x1300, 0x80)
    for size in range(len(data)):
        made = CompactUnwind(X86_64, data[:size], 0, lambda _address, _size: b"")
        assert None in [made.row(pc) for pc in pcs]
    for at in range(len(data)):
        changed = data[:at] + b"\xff" + data[at + 1 :]
        made = CompactUnwind(X86_64, changed, 0, lambda _address, _size: b"")
        assert [made.row(pc) for pc in pcs if made.row(pc)] != [None]


def test_a_cut_file_has_no_parts(fixtures: Path) -> None:
    whole = (fixtures / "symbolic" / "macos" / "crash").read_bytes()
    parts = macho_parts(memoryview(whole))
    assert len(parts.image.segments) == 3
    assert parts.frames is not None
    for size in (0, 4, 31, 40, 100, 500):
        assert not macho_parts(memoryview(whole[:size])).image.segments
    huge = whole[:16] + b"\xff\xff\xff\xff" + whole[20:]
    assert isinstance(macho_parts(memoryview(huge)).unwind, (bytes, memoryview))
