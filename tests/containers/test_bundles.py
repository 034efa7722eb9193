"""Fat binaries of CUDA, bundles of Clang, components of WebAssembly."""

from __future__ import annotations

import random
import zlib
from struct import pack
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.containers import bundles
from gsym.containers.bundles import bundled_members
from gsym.containers.inflation import import_zstd
from gsym.containers.object_file import ObjectFile
from gsym.errors import MemberError
from tests.conversions import convert_bytes, describe, read_functions, settle
from tests.inputs.elf import ALLOC, PROGBITS, Elf, Section, Symbol, code_section
from tests.inputs.wasm import Wasm, section

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gsym.containers.bundles import Bundled

LZ4, ZSTD = 0x2000, 0x8000
COMPONENT = b"\0asm\x0d\0\1\0"


def code_object(name: str) -> bytes:
    symbols = [Symbol(name, 0x1000, 0x20)]
    return Elf(sections=[code_section(0x1000, 0x100)], symbols=symbols).to_bytes()


def zstd(data: bytes) -> bytes:
    compressed: bytes = import_zstd().compress(data)
    return compressed


def lz4_block(data: bytes) -> bytes:
    """Literals alone, but for zeros at the end, which repeat the last one of them."""
    literals = data.rstrip(b"\0") + b"\0"
    zeros = len(data) - len(literals) - 5
    assert zeros > 4 + 15

    def length(number: int) -> bytes:
        more, last = divmod(number - 15, 255)
        return b"\xff" * more + bytes([last])

    first = b"\xff" + length(len(literals)) + literals + b"\1\0" + length(zeros - 4)
    return first + b"\x50" + bytes(5)


def member(sm: int, data: bytes, flags: int = 0, kind: int = 2) -> bytes:
    """A member as nvcc 13 writes it, with the name of its source."""
    stored = data
    if flags:
        stored = lz4_block(data) if flags == LZ4 else zstd(data)
    padded = stored.ljust(-(-len(stored) // 8) * 8, b"\0")
    size = len(stored) if flags else 0
    full = len(data) if flags else 0
    header = pack("<HHIQII", kind, 0x101, 72, len(padded), size, 0)
    header += pack("<HHIIIQQQ", 8, 1, sm, 64, 4, 0x11 | flags, 0, full)
    return header + b"k.cu\0\0\0\0" + padded


def fat_binary(*members: bytes) -> bytes:
    contents = b"".join(members)
    return pack("<IHHQ", 0xBA55ED50, 1, 16, len(contents)) + contents


FAT = fat_binary(
    member(80, code_object("first")),
    member(90, code_object("second") + bytes(64), LZ4),
    member(100, code_object("third"), ZSTD),
    member(90, b".version 8.0", kind=1),
    member(80, code_object("again")),
)
FAT_NAMES = {
    "sm_80.cubin": "first",
    "sm_90.cubin": "second",
    "sm_100.cubin": "third",
    "sm_80.cubin#2": "again",
}


def bundle(*members: tuple[str, bytes]) -> bytes:
    table = b"__CLANG_OFFLOAD_BUNDLE__" + pack("<Q", len(members))
    offset = len(table) + sum(24 + len(name) for name, _ in members)
    contents = b""
    for name, data in members:
        contents += bytes(-(offset + len(contents)) % 64)
        table += pack("<QQQ", offset + len(contents), len(data), len(name))
        table += name.encode()
        contents += data
    return table + contents


def compressed(data: bytes, version: int, method: int = 1) -> bytes:
    payload = zstd(data) if method else zlib.compress(data)
    header = b"CCOB" + pack("<HH", version, method)
    if version == 1:
        return header + pack("<IQ", len(data), 1) + payload
    if version == 2:
        return header + pack("<IIQ", 24 + len(payload), len(data), 1) + payload
    return header + pack("<QQQ", 32 + len(payload), len(data), 1) + payload


BUNDLE = bundle(
    ("host-x86_64-unknown-linux-gnu-", b""),
    ("hip-amdgcn-amd-amdhsa--gfx90a", code_object("first")),
    ("hip-amdgcn-amd-amdhsa--gfx942:xnack-", code_object("second")),
    ("hip-spirv64-amd-amdhsa--amdgcnspirv", b"BC\xc0\xde"),
)
BUNDLE_NAMES = {
    "hip-amdgcn-amd-amdhsa--gfx90a": "first",
    "hip-amdgcn-amd-amdhsa--gfx942:xnack-": "second",
}


def program(name: str, data: bytes) -> bytes:
    sections = [
        code_section(0x1000, 0x100),
        Section(name, data, PROGBITS, ALLOC, 0x4000),
    ]
    symbols = [Symbol("main", 0x1000, 0x20)]
    return Elf(sections=sections, symbols=symbols).to_bytes()


CORE = Wasm([4], names={0: "core"}).to_bytes()
OTHER = Wasm([4], names={0: "other"}).to_bytes()
NESTED = COMPONENT + section(0, b"\1x") + section(1, OTHER) + section(7, b"\0")

CASES = [
    pytest.param(FAT, FAT_NAMES, id="fat binary"),
    pytest.param(BUNDLE, BUNDLE_NAMES, id="bundle"),
    *(
        pytest.param(
            compressed(BUNDLE, version, method),
            BUNDLE_NAMES,
            id=f"CCOB {version} {method}",
        )
        for version in (1, 2, 3)
        for method in (0, 1)
    ),
    pytest.param(
        program(".nv_fatbin", FAT + fat_binary(member(75, code_object("last")))),
        FAT_NAMES | {"sm_75.cubin": "last"},
        id="program of CUDA",
    ),
    pytest.param(
        compressed(BUNDLE, 1)
        + compressed(bundle(("hip--gfx1100", code_object("last"))), 1),
        BUNDLE_NAMES | {"hip--gfx1100": "last"},
        id="two without a size",
    ),
    pytest.param(
        program(
            ".hip_fatbin",
            compressed(BUNDLE, 2).ljust(8192, b"\0")
            + bundle(("hip--gfx1100", code_object("last"))),
        ),
        BUNDLE_NAMES | {"hip--gfx1100": "last"},
        id="program of HIP",
    ),
    pytest.param(
        COMPONENT + section(4, NESTED) + section(1, CORE) + section(11, b"\0"),
        {"module0": "other", "module1": "core"},
        id="component",
    ),
]


@pytest.mark.parametrize(("image", "names"), CASES)
def test_members_are_converted(
    image: bytes, names: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "x"
    path.write_bytes(image)
    reports = gsym.convert_members(path)
    found = {
        report.member: [each.name for each in read_functions(report.outputs[0])]
        for report in reports
    }
    assert found == {member: [name] for member, name in names.items()}
    assert not (tmp_path / "x.gsym").exists()


def test_an_archive_of_several_wants_a_choice(tmp_path: Path) -> None:
    (tmp_path / "x.fatbin").write_bytes(FAT)
    with pytest.raises(
        MemberError, match=r"4 object files: sm_80\.cubin, sm_90\.cubin"
    ):
        gsym.convert(tmp_path / "x.fatbin")
    with pytest.raises(MemberError, match=r"no object file 'sm_70\.cubin'"):
        gsym.convert(tmp_path / "x.fatbin", member="sm_70.cubin")


def test_a_program_is_converted_and_its_devices_are_mentioned(tmp_path: Path) -> None:
    path = tmp_path / "app"
    path.write_bytes(program(".nv_fatbin", fat_binary(member(80, code_object("k")))))
    report = gsym.convert(path)
    assert describe(read_functions(f"{path}.gsym")) == "1000-1020 main\n"
    assert report.notes[-1].startswith(".nv_fatbin has code for GPUs")
    # That of the only member does not replace the one of the program.
    device = tmp_path / "app.sm_80.cubin.gsym"
    for convert in (
        lambda: main(["convert", str(path), "--member", device.stem[4:]]),
        lambda: gsym.convert(path, member=device.stem[4:]),
        lambda: gsym.convert_members(path, members=["*"]),
    ):
        convert()
        assert describe(read_functions(f"{path}.gsym")) == "1000-1020 main\n"
        assert describe(read_functions(str(device))) == "1000-1020 k\n"
        device.unlink()


@pytest.mark.parametrize(
    ("machine", "abi", "flags", "name"),
    [
        (190, 8, 0x06005A04, "sm_90"),  # as ptxas 13 writes it
        (190, 8, 0x06007802, "sm_120"),
        (190, 7, 0x00500550, "sm_80"),
        (224, 3, 0x54C, "gfx942"),  # as Clang 19 writes it
        (224, 3, 0x36, "gfx1030"),
        (224, 3, 0x33, "gfx1010"),
        (224, 3, 0xFF, "elf-224"),
    ],
)
def test_the_architecture_is_that_of_the_gpu(
    machine: int, abi: int, flags: int, name: str
) -> None:
    image = bytearray(code_object("f"))
    image[8] = abi
    image[18:20] = machine.to_bytes(2, "little")
    image[48:52] = flags.to_bytes(4, "little")
    assert ObjectFile(memoryview(bytes(image)), "k").architecture == name


def test_other_programs_have_no_members(tmp_path: Path) -> None:
    (tmp_path / "app").write_bytes(code_object("main"))
    with pytest.raises(MemberError, match="not an archive: it has no members"):
        gsym.convert(tmp_path / "app", member="sm_80.cubin")


UNKNOWN_MEMBER = bytearray(fat_binary(member(80, code_object("f"), ZSTD)))
UNKNOWN_MEMBER[16 + 41] = 0x40  # another flag
TOO_LARGE = bytearray(fat_binary(member(80, code_object("f"), ZSTD)))
TOO_LARGE[16 + 56 + 5] = 0x7F


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (bytes(UNKNOWN_MEMBER), "a cubin is compressed in an unknown way"),
        (bytes(TOO_LARGE), "inflate to more than is believable"),
        (FAT[:-100], "reaches past its end"),
        (FAT + b"behind", "no bundle of code"),
        (BUNDLE[:-100], "reaches past its end"),
        (BUNDLE[:40], "reaches past its end"),
        (compressed(BUNDLE, 4), "a compressed bundle of version 4, method 1"),
        (compressed(BUNDLE, 2)[:-9], "reaches past its end"),
        (compressed(BUNDLE, 1)[:-30], "a compressed bundle is damaged"),
        (compressed(b"else", 3), "no bundle of code"),
        (compressed(BUNDLE[:50], 3), "reaches past its end"),
        (COMPONENT, "has no object file"),
        (COMPONENT + b"\1\xff", "a section is cut off"),
        (COMPONENT + b"\1\xff\xff\xff\xff\xff\1", "a section is cut off"),
        (COMPONENT + b"\1\x7f", "reaches past its end"),
        (COMPONENT + section(1, b"no module"), "not an ELF, Mach-O"),
    ],
)
def test_damaged_bundles_are_refused(image: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(image)
    with pytest.raises(gsym.GsymError, match=reason):
        gsym.convert_members(tmp_path / "x")


@pytest.mark.parametrize("image", [FAT, BUNDLE, compressed(BUNDLE, 2), NESTED])
def test_changed_bytes_end_in_an_answer(image: bytes, tmp_path: Path) -> None:
    chance = random.Random(1)  # noqa: S311 - no secret
    path = tmp_path / "x"
    refused = 0
    for _ in range(150):
        damaged = bytearray(image)
        at = chance.randrange(chance.choice((200, len(image))))
        damaged[at % len(image)] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
        path.write_bytes(damaged)
        try:
            gsym.convert_members(path)
        except gsym.GsymError:
            refused += 1
    assert 0 < refused < 150


def test_a_component_within_components_is_read_to_any_depth(tmp_path: Path) -> None:
    image = NESTED
    for _ in range(5000):
        image = COMPONENT + section(4, image)
    assert describe(convert_bytes(tmp_path, image).functions) == "2-6 other\n"
    assert settle(tmp_path, image[:-1]) is None


@pytest.mark.parametrize(("size", "is_read"), [(8 << 20, True), (9 << 20, False)])
def test_the_members_of_a_file_inflate_to_what_is_believable(
    size: int,
    is_read: bool,  # noqa: FBT001 - a case
    tmp_path: Path,
) -> None:
    """Each may be as large as that for itself."""
    one = bytearray(member(80, code_object("f"), ZSTD))
    one[56:64] = size.to_bytes(8, "little")
    path = tmp_path / "k.fatbin"
    path.write_bytes(fat_binary(bytes(one), bytes(one)))
    if is_read:
        assert len(gsym.convert_members(path)) == 2
    else:
        with pytest.raises(gsym.FormatError, match="inflate to more than is"):
            gsym.convert_members(path)


def test_a_bundle_of_many_members_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []

    def counted(data: memoryview, path: str) -> Iterator[Bundled]:
        for each in bundled_members(data, path):
            read.append(each[0])
            yield each

    monkeypatch.setattr(bundles, "bundled_members", counted)
    names = [f"hip-amdgcn--gfx{number}" for number in range(40)]
    path = tmp_path / "k.hipfb"
    path.write_bytes(
        compressed(bundle(*((name, code_object("f")) for name in names)), 3)
    )
    assert len(gsym.convert_members(path)) == len(names)
    assert read == names
