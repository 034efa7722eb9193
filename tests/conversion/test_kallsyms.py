"""Kernels without symbols: their own table of symbols, and compressed kernel images."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from dataclasses import replace
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.containers.inflation import import_zstd
from gsym.containers.recognition import recognise
from gsym.conversion.report import LIMIT_REACHED
from tests.conversions import convert_bytes, settle
from tests.inputs.elf import (
    ALLOC,
    PROGBITS,
    Elf,
    Section,
    Segment,
    Symbol,
    code_section,
)
from tests.inputs.kallsyms import COMMON, LAYOUTS, SIZE, Kernel, Layout

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

COUNT = 4500
LONG = "T" + "long_name_of_rust" * 10
NAMES = [f"t{COMMON}{number}" for number in range(COUNT)]
NAMES[7:10] = ["dvariable", LONG, f"W{COMMON}weak"]


def expected(kernel: Kernel) -> list[tuple[int, int, str]]:
    return [
        (kernel.code + SIZE * at, SIZE, name[1:])
        for at, name in enumerate(kernel.names)
        if name[0] in "tTwW"
    ]


def found(folder: Path, kernel: Kernel) -> list[tuple[int, int, str]]:
    functions = convert_bytes(folder, kernel.to_bytes()).functions
    return [(each.start, each.size, each.name) for each in functions]


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_functions_of_each_layout(
    layout: Layout, bits: int, byteorder: ByteOrder, tmp_path: Path
) -> None:
    kernel = Kernel(NAMES, layout, bits, byteorder, before=bytes(range(1, 90)))
    assert found(tmp_path, kernel) == expected(kernel)


def test_the_base_of_a_relocation_is_the_lowest_address(tmp_path: Path) -> None:
    kernel = Kernel(NAMES, LAYOUTS[3], has_base=False)
    assert found(tmp_path, kernel) == expected(kernel)


def test_of_names_of_one_address_the_global_one_is_taken(tmp_path: Path) -> None:
    names = list(NAMES)
    names[1:4] = ["tlocal", "Tglobal", "Wweak"]
    kernel = Kernel(names, LAYOUTS[0])
    second, third, fourth = (
        (kernel.code + SIZE * at).to_bytes(8, "little") for at in (1, 2, 3)
    )
    image = kernel.to_bytes()
    image = image.replace(second + third + fourth, second * 3)
    functions = convert_bytes(tmp_path, image).functions
    assert functions[1].name == "global"
    assert (functions[1].start, functions[1].size) == (kernel.code + SIZE, 3 * SIZE)


def test_symbols_of_the_file_are_preferred(tmp_path: Path) -> None:
    kernel = Kernel(NAMES, LAYOUTS[0])
    rodata = Section(
        ".rodata", kernel.table(), PROGBITS, ALLOC, kernel.code + 0x1000000
    )
    sections = [code_section(kernel.code, SIZE * COUNT), rodata]
    elf = Elf(sections=sections, symbols=[Symbol("own", kernel.code, 4)])
    functions = convert_bytes(tmp_path, elf.to_bytes()).functions
    assert [each.name for each in functions] == ["own"]


@pytest.mark.parametrize("layout", [LAYOUTS[0], LAYOUTS[-1]], ids=["4.0", "6.12"])
def test_damaged_tables_end_in_an_answer(layout: Layout, tmp_path: Path) -> None:
    kernel = Kernel(NAMES, layout)
    image = kernel.to_bytes()
    start = image.index(b"\0%s\0" % COMMON.encode())
    chance = random.Random(1)  # noqa: S311 - no secret
    outcomes = set()
    for _ in range(60):
        damaged = bytearray(image)
        for _ in range(chance.randrange(1, 4)):
            # Half of them in the tokens and their index.
            near = start + chance.randrange(1500)
            at = chance.choice((chance.randrange(64, len(image)), near))
            damaged[at % len(image)] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
        outcomes.add(settle(tmp_path, bytes(damaged)) is not None)
    for cut in range(len(image) // 2, len(image), len(image) // 40):
        outcomes.add(settle(tmp_path, image[:cut]) is not None)
    assert outcomes == {True, False}


@pytest.mark.parametrize(("before", "is_found"), [(100, True), (2000, False)])
def test_the_search_for_a_table_is_limited(
    before: int,
    is_found: bool,  # noqa: FBT001 - a case
    tmp_path: Path,
) -> None:
    digits = b"".join(b"%d\0" % digit for digit in range(10))
    decoys = (bytes(ord("0")) + digits) * before
    image = Kernel(NAMES, LAYOUTS[0], before=decoys).to_bytes()
    if is_found:
        assert len(convert_bytes(tmp_path, image).functions) == COUNT - 1
    else:
        (tmp_path / "kernel").write_bytes(image)
        with pytest.raises(gsym.EmptyError):
            gsym.convert(tmp_path / "kernel", tmp_path / "kernel.gsym")


def test_a_limit_that_cuts_is_counted(tmp_path: Path) -> None:
    """Names that expand to much more than the file has are not all taken."""
    names = ["T" + COMMON * 22 + str(number) for number in range(COUNT)]
    report = convert_bytes(tmp_path, Kernel(names, LAYOUTS[0]).to_bytes()).report
    assert 0 < report.functions < COUNT
    assert report.warnings == {LIMIT_REACHED: 1}


# ---- kernel images


def lz4_legacy(data: bytes) -> bytes:
    """A frame of blocks that have literals alone."""
    frame = b"\x02\x21\x4c\x18"
    for start in range(0, len(data), 1 << 16):
        piece = data[start : start + (1 << 16)]
        more, last = divmod(len(piece) - 15, 255)
        block = b"\xf0" + b"\xff" * more + bytes([last]) + piece
        frame += len(block).to_bytes(4, "little") + block
    return frame


def zstd(data: bytes) -> bytes:
    compressed: bytes = import_zstd().compress(data)
    return compressed


def kernel_image(payload: bytes, version: int = 0x20F) -> bytes:
    image = bytearray(b"MZ" + bytes(0x24E))
    image[0x1F1] = 2
    image[0x202:0x208] = b"HdrS" + version.to_bytes(2, "little")
    image[0x248:0x250] = (100).to_bytes(4, "little") + len(payload).to_bytes(
        4, "little"
    )
    return bytes(image).ljust(3 * 512 + 100, b"\x90") + payload + b"behind it"


@pytest.mark.parametrize(
    "compress", [gzip.compress, lzma.compress, bz2.compress, zstd, lz4_legacy]
)
def test_kernel_images_are_read(
    compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    kernel = Kernel(NAMES, LAYOUTS[-1])
    elf = kernel.to_bytes()
    payload = compress(elf)
    if compress is not gzip.compress:
        payload += len(elf).to_bytes(4, "little")
    image = kernel_image(payload)
    assert recognise(image[:4096]) == "kernel image"
    functions = convert_bytes(tmp_path, image).functions
    assert [(each.start, each.size, each.name) for each in functions] == expected(
        kernel
    )
    store = str(tmp_path / "store")
    assert main(["store", "add", str(tmp_path / "input"), "--store", store]) == 0


def test_lookups_read_kernel_images(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    kernel = Kernel(NAMES, LAYOUTS[-1])
    path = tmp_path / "vmlinuz"
    path.write_bytes(kernel_image(gzip.compress(kernel.to_bytes())))
    for _ in range(2):  # the second one reads the cache
        assert main(["lookup", str(path), f"{COMMON}4+4"]) == 0
    shown = f"{kernel.code + 4 * SIZE + 4:#x}: {COMMON}4 + 4\n"
    assert capsys.readouterr().out == 2 * shown


RELATIVE = {"ARM64": 1027, "RISC-V": 3, "LoongArch": 3, "s390": 12}
MARKS = {"ARM64": b"ARMd", "RISC-V": b"RSC\5", "LoongArch": b"\xcd\x23\x82\x81"}
S390_LOADER = bytes.fromhex("0008000080000200 0200001860000050 0200006860000050")


def bare_kernel(machine: str, kernel: Kernel) -> bytes:
    """The bytes from the start of a kernel on, as they are in memory."""
    mark = bytes(0x38) + MARKS[machine] if machine in MARKS else b""
    head = mark.ljust(64, b"\0") + b"\xa5" * 4096
    image = replace(kernel, before=head).table()
    if kernel.has_base:
        return image
    with_base = replace(kernel, before=head, has_base=True).table()
    code = kernel.code.to_bytes(8, kernel.byteorder)
    at = with_base.index(code)
    kind = RELATIVE[machine]
    entries = [(kernel.code + 64 + 8 * at, kind, kernel.code + 8) for at in range(9)]
    entry = (kernel.code + at, kind, kernel.code)
    if machine == "s390":  # with a symbol
        entry = (kernel.code + at, 5 << 32 | 22, 0)
    entries[4] = entry
    words = chain.from_iterable(entries)
    image += bytes(-len(image) % 8)
    return image + b"".join(each.to_bytes(8, kernel.byteorder) for each in words)


def zboot(image: bytes) -> bytes:
    """A program of EFI that inflates a kernel."""
    payload = gzip.compress(image)
    head = b"MZ\0\0zimg" + (0x400).to_bytes(4, "little")
    return (head + len(payload).to_bytes(4, "little")).ljust(0x400, b"\0") + payload


def zimage(image: bytes) -> bytes:
    """A kernel of ARM behind the program that inflates it, and bytes behind that."""
    head = b"\0\0\xa0\xe1" * 9 + b"\x18\x28\x6f\x01"
    decoy = b"\xfd7zXZ\0\x1f\x8b\x08\0"
    return head.ljust(4000, b"\0") + decoy + gzip.compress(image) + b"a device tree"


def zimage_of_lzma(image: bytes) -> bytes:
    head = zimage(b"")[:4000]
    return head + lzma.compress(image, lzma.FORMAT_ALONE) + b"a device tree"


def of_s390(image: bytes) -> bytes:
    return S390_LOADER.ljust(0x11000, b"\0") + lzma.compress(image) + bytes(99)


def of_mips(image: bytes) -> bytes:
    """An ELF file that inflates a kernel in its data."""
    sections = [
        code_section(0x80100000, 64),
        Section(".appended_dtb", b"", PROGBITS, ALLOC, 0x80200000),
        Section(".data", lzma.compress(image), PROGBITS, ALLOC, 0x80110000),
    ]
    return Elf(sections=sections, machine=8, bits=32).to_bytes()


@pytest.mark.parametrize(
    ("machine", "bits", "byteorder", "wrap", "layout"),
    [
        ("ARM64", 64, "little", bytes, LAYOUTS[3]),
        ("ARM64", 64, "little", zboot, LAYOUTS[3]),
        ("ARM64", 64, "little", bytes, LAYOUTS[6]),
        ("RISC-V", 64, "little", zboot, LAYOUTS[7]),
        ("LoongArch", 64, "little", bytes, LAYOUTS[6]),
        ("ARM", 32, "little", zimage, LAYOUTS[3]),
        ("ARM", 32, "little", zimage, LAYOUTS[0]),
        ("ARM", 32, "little", zimage_of_lzma, LAYOUTS[3]),
        ("MIPS", 32, "little", of_mips, LAYOUTS[5]),
        ("s390", 64, "big", of_s390, LAYOUTS[3]),
        ("s390", 64, "big", of_s390, LAYOUTS[7]),
    ],
)
def test_kernels_without_headers_are_read(  # noqa: PLR0913, PLR0917 - what differs
    machine: str,
    bits: int,
    byteorder: ByteOrder,
    wrap: Callable[[bytes], bytes],
    layout: Layout,
    tmp_path: Path,
) -> None:
    names = [*NAMES, "B_end"]
    for has_base in {True, machine not in RELATIVE}:
        kernel = Kernel(names, layout, bits, byteorder, has_base=has_base)
        image = wrap(bare_kernel(machine, kernel).ljust(1 << 19, b"\0"))
        functions = convert_bytes(tmp_path, image).functions
        shown = [(each.start, each.size, each.name) for each in functions]
        assert shown == expected(kernel)


@pytest.mark.parametrize(("marks", "is_found"), [(61, True), (64, False)])
def test_kernels_behind_many_marks_are_found(
    marks: int,
    is_found: bool,  # noqa: FBT001 - a case
    tmp_path: Path,
) -> None:
    kernel = Kernel([*NAMES, "B_end"], LAYOUTS[3], 32)
    image = zimage(bare_kernel("ARM", kernel).ljust(1 << 19, b"\0"))
    image = image[:256] + b"\x1f\x8b\x08\0" * marks + image[256:]
    if is_found:
        assert convert_bytes(tmp_path, image).report.functions == COUNT - 1
    else:
        assert settle(tmp_path, image) is None


def test_a_kernel_without_section_headers_is_read(tmp_path: Path) -> None:
    kernel = Kernel(NAMES, LAYOUTS[0])
    table = kernel.table()
    code = code_section(kernel.code, SIZE * COUNT)
    rodata = Section(".rodata", table, PROGBITS, ALLOC, kernel.code + 0x1000000)
    whole = Elf(sections=[code, rodata]).to_bytes()
    segments = [
        Segment(kernel.code, SIZE * COUNT),
        Segment(
            kernel.code + 0x1000000,
            len(table),
            offset=whole.index(table) + 2 * 56,
            flags=4,
        ),
    ]
    elf = Elf(sections=[code, rodata], segments=segments)
    image = bytearray(elf.to_bytes())
    assert image[segments[1].offset :].startswith(table)
    image[0x28:0x30] = bytes(8)  # the place of the headers
    image[0x3C:0x40] = bytes(4)  # their number
    functions = convert_bytes(tmp_path, bytes(image)).functions
    shown = [(each.start, each.size, each.name) for each in functions]
    assert shown == expected(kernel)


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (kernel_image(b"\x89LZO"), "the kernel is not compressed by"),
        (kernel_image(gzip.compress(b"ELF")[:-12]), "truncated"),
        (kernel_image(gzip.compress(b"no ELF file")), "neither a binary"),
        (kernel_image(b""), "reaches past the end"),
        (kernel_image(gzip.compress(bytes(99)))[:-15], "reaches past the end"),
        (kernel_image(b"", 0x207), "before Linux 2.6.26"),
        (kernel_image(b"\x02\x21\x4c\x18" + b"\xff" * 9), "a block is too large"),
        (kernel_image(b"\x02\x21\x4c\x18\x09\0\0\0abcd"), "truncated"),
        (zboot(b"ELF")[:-9], "reaches past the end"),
        (zboot(bytes(99)), "is no kernel"),
        (reduce(lambda image, _: zboot(image), range(400), b""), "is no kernel"),
        (zboot(zimage(bytes(1 << 28))), "is no kernel"),
        (zimage(b"ELF"), "no kernel compressed by"),
        (of_mips(b"ELF"), "no kernel compressed by"),
        (of_s390(bytes(1 << 20)), "no functions"),
    ],
)
def test_damaged_kernel_images_are_refused(
    image: bytes, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "vmlinuz").write_bytes(image)
    with pytest.raises(gsym.GsymError, match=reason):
        gsym.convert(tmp_path / "vmlinuz", tmp_path / "out.gsym")
