"""Kernels without symbols: their own table of symbols, and compressed kernel images."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.containers.inflation import import_zstd
from gsym.containers.recognition import recognise
from gsym.conversion.report import LIMIT_REACHED
from tests.conversions import convert_bytes, settle
from tests.inputs.elf import ALLOC, PROGBITS, Elf, Section, Symbol, code_section
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


def test_a_lookup_names_the_verb_that_reads_kernel_images(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "vmlinuz"
    path.write_bytes(kernel_image(gzip.compress(b"ELF")))
    assert main(["lookup", str(path), "0x10"]) == 1
    assert "a kernel image: 'gsym convert' reads it" in capsys.readouterr().err


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
    ],
)
def test_damaged_kernel_images_are_refused(
    image: bytes, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "vmlinuz").write_bytes(image)
    with pytest.raises(gsym.GsymError, match=reason):
        gsym.convert(tmp_path / "vmlinuz", tmp_path / "out.gsym")
