"""Fat Mach-O files: choosing slices, naming outputs, damage."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

import gsym
from gsym.cli.main import main
from tests.conversions import convert_bytes, describe, read_functions
from tests.gsymutil_runs import Run, in_words_of_24
from tests.inputs.elf import Elf, Symbol as ElfSymbol, code_section
from tests.inputs.macho import (
    ARM64,
    I386,
    X86_64,
    Macho,
    Symbol,
    code,
    fat,
)

ARM = (ARM64, 0)
ARME = (ARM64, 0x80000002)
INTEL = (X86_64, 3)
OLD = (I386, 3)


def thin(cpu: tuple[int, int], name: str) -> bytes:
    symbols = [Symbol(f"_{name}", 0x1000)]
    bits = 32 if cpu == OLD else 64
    return Macho([code(0x1000, 0x10)], symbols, cpu=cpu, bits=bits).to_bytes()


SLICES = (
    (INTEL, thin(INTEL, "intel")),
    (ARM, thin(ARM, "arm")),
    (OLD, thin(OLD, "old")),
)
FAT = fat(*SLICES)


def names(path: str) -> str:
    return describe(read_functions(path))


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "app").write_bytes(FAT)
    return str(tmp_path / "app")


@pytest.mark.parametrize(
    ("architecture", "name"),
    [("x86_64", "intel"), ("arm64", "arm"), ("i386", "old"), ("7", "old")],
)
@pytest.mark.parametrize("wide", [False, True])
def test_one_slice_is_chosen(
    architecture: str, name: str, tmp_path: Path, *, wide: bool
) -> None:
    (tmp_path / "app").write_bytes(fat(*SLICES, wide=wide))
    report = gsym.convert(tmp_path / "app", arch=architecture)
    assert report.outputs == (f"{tmp_path}/app.gsym",)
    assert names(report.outputs[0]) == f"1000-1010 {name}\n"


def test_a_choice_is_asked_for(path: str) -> None:
    with pytest.raises(gsym.ArchitectureError, match="x86_64, arm64, i386"):
        gsym.convert(path)
    assert not Path(f"{path}.gsym").exists()


def test_a_number_may_name_more_than_one(tmp_path: Path) -> None:
    image = fat((ARM, thin(ARM, "arm")), (ARME, thin(ARME, "arm")))
    (tmp_path / "app").write_bytes(image)
    with pytest.raises(gsym.ArchitectureError, match="arm64, arm64e"):
        gsym.convert(tmp_path / "app", arch="0x100000c")
    assert gsym.convert(tmp_path / "app", arch="arm64e").architecture == "arm64e"


@pytest.mark.parametrize("architecture", ["ppc", "0", "", "x"])
def test_a_missing_architecture_is_an_error(architecture: str, path: str) -> None:
    with pytest.raises(gsym.ArchitectureError, match="x86_64, arm64, i386, not for"):
        gsym.convert(path, arch=architecture)


def test_a_file_that_is_not_fat_has_to_be_for_the_architecture(tmp_path: Path) -> None:
    images = {
        "arm64": thin(ARM, "arm"),
        "x86_64": Elf([code_section()], symbols=[ElfSymbol("f", 0x1000)]).to_bytes(),
    }
    for architecture, image in images.items():
        (tmp_path / "app").write_bytes(image)
        report = gsym.convert(tmp_path / "app", arch=architecture)
        assert report.architecture == architecture
        with pytest.raises(gsym.ArchitectureError, match=f"is for {architecture}, not"):
            gsym.convert(tmp_path / "app", arch="i386")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ((), {"x86_64": "intel", "arm64": "arm", "i386": "old"}),
        (("arm64", "7"), {"arm64": "arm", "i386": "old"}),
    ],
)
def test_several_slices_are_named_apart(
    wanted: tuple[str, ...], expected: dict[str, str], path: str, tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    reports = gsym.convert_slices(path, out, arch=wanted, output_version=2)
    assert [report.architecture for report in reports] == list(expected)
    for report in reports:
        assert report.outputs == (f"{out}.{report.architecture}",)
        assert (
            names(report.outputs[0]) == f"1000-1010 {expected[report.architecture]}\n"
        )
    assert not Path(out).exists()


# ---- damage


def with_field(place: int, value: int) -> bytes:
    out = bytearray(FAT)
    struct.pack_into(">I", out, place, value)
    return bytes(out)


DAMAGED = {
    "no slice": with_field(4, 0),
    "more slices than there is room for": with_field(4, 42)[:100],
    "a slice behind the end": with_field(8 + 8, len(FAT)),
    "a slice past the end": with_field(8 + 12, len(FAT)),
    "slices that overlap": with_field(8 + 20 + 8, 0x60),
    "a slice of 4 GiB": with_field(8 + 12, 0xFFFFFFFF),
    "two slices for one architecture": with_field(8 + 20, X86_64)[:32]
    + (3).to_bytes(4, "big")
    + FAT[36:],
    "cut off": FAT[:20],
    "the magic alone": FAT[:4],
}


@pytest.mark.parametrize("image", DAMAGED.values(), ids=DAMAGED)
def test_damaged_fat_files_are_refused(image: bytes, tmp_path: Path) -> None:
    with pytest.raises(gsym.FormatError) as caught:
        convert_bytes(tmp_path, image, {"arch": "arm64"})
    assert caught.value.path == str(tmp_path / "input")


def test_offsets_of_64_bits_do_not_wrap(tmp_path: Path) -> None:
    image = bytearray(fat(SLICES[1], wide=True))
    for offset, size in ((1 << 63, 1 << 63), ((1 << 64) - 8, 16), (8, (1 << 64) - 4)):
        struct.pack_into(">QQ", image, 16, offset, size)
        with pytest.raises(gsym.FormatError, match="past the end"):
            convert_bytes(tmp_path, bytes(image))


def test_a_damaged_slice_is_named_and_spares_the_others(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    image = fat((INTEL, b"\xcf\xfa\xed\xfe"), SLICES[1])
    assert (
        describe(convert_bytes(tmp_path, image, {"arch": "arm64"}).functions)
        == "1000-1010 arm\n"
    )
    assert main(["convert", "-q", str(tmp_path / "input"), "-o", f"{tmp_path}/o"]) == 1
    assert names(f"{tmp_path}/o.arm64") == "1000-1010 arm\n"
    assert not (tmp_path / "o.x86_64").exists()
    assert ": for x86_64: " in capfd.readouterr().err


# ---- command lines


def test_the_command_converts_all_slices_or_those_named(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", "-q", path]) == 0
    for architecture in ("x86_64", "arm64", "i386"):
        assert Path(f"{path}.gsym.{architecture}").exists()
    folder = tmp_path / "out"
    assert main(["convert", "-q", path, "--arch=arm64", f"--output-dir={folder}"]) == 0
    assert names(f"{folder}/app.gsym") == "1000-1010 arm\n"
    capsys.readouterr()
    assert main(["convert", path, "--arch=ppc"]) == 1
    expected = f"{path}: is for x86_64, arm64, i386, not for ppc\n"
    assert capsys.readouterr().err == f"gsym: error: {expected}"


def test_a_slice_is_not_written_over_an_input(path: str) -> None:
    other = Path(f"{path}.gsym.arm64")
    other.write_bytes(FAT)
    assert main(["convert", "-q", path, str(other)]) == 1
    assert other.read_bytes() == FAT


@pytest.mark.parametrize(
    "options",
    [[], ["--arch=arm64"], ["--arch=7", "--arch=x86_64"], ["--arch=ppc"]],
    ids=" ".join,
)
def test_gsymutil_prints_what_llvm_gsymutil_prints(
    options: list[str],
    path: str,
    llvm_gsymutil: str,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    printed = Run(capfdbinary)("--convert", path, *options)
    peer = subprocess.run(
        [llvm_gsymutil, "--convert", path, *options],
        capture_output=True,
        check=False,
        text=True,
    )
    expected = in_words_of_24(peer.stdout)
    assert printed == (peer.returncode, expected, peer.stderr)


def test_a_breakpad_file_has_to_be_for_the_architecture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "app.sym")
    head = f"MODULE mac x86_64 {'0123456789ABCDEF' * 2}0 app"
    Path(path).write_text(f"{head}\nFUNC 1000 10 0 f\n", encoding="utf-8")
    wanted = ["arm64", "x86_64"]
    (report,) = gsym.convert_slices(path, arch=wanted)
    assert (report.architecture, report.outputs) == ("x86_64", (f"{path}.gsym",))
    assert main(["convert", path, "--arch", "x86_64"]) == 0
    Path(f"{path}.gsym").unlink()
    assert main(["convert", path, "--arch", "arm64"]) == 1
    error = "app.sym: is for x86_64, not for arm64\n"
    assert capsys.readouterr().err.endswith(error)
    assert not Path(f"{path}.gsym").exists()


def test_a_gsym_file_is_for_no_architecture(tmp_path: Path) -> None:
    path = str(tmp_path / "app.gsym")
    with gsym.Creator() as creator:
        creator.add(gsym.FunctionInfo(0x1000, 0x10, "f"))
        creator.save(path)
    with pytest.raises(
        gsym.UnsupportedError, match="does not contain its architecture"
    ):
        gsym.convert_slices(path, arch=["arm64"])
