"""`gsym export`: options, defaults, what is printed where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from tests.creations import create
from tests.inputs import macho, pe
from tests.inputs.elf import CODE, Elf, Section, Symbol, code_section
from tests.inputs.macho import Macho
from tests.inputs.pe import Pe

if TYPE_CHECKING:
    from pathlib import Path

Captured = pytest.CaptureFixture[str]

BUILD_ID = bytes.fromhex("80AE0509E7CE335AE3CAB61C274274DE96049B64")
DEBUG_ID = "0905AE80CEE75A33E3CAB61C274274DE0"
FUNCTIONS = [
    gsym.FunctionInfo(0x1000, 0x10, "f", (gsym.LineEntry(0x1000, "a.c", 3),)),
    gsym.FunctionInfo(0x1010, 0, "end\n"),
]
CODE_ID = f"INFO CODE_ID {BUILD_ID.hex().upper()}\n"
RECORDS = "FILE 1 a.c\nFUNC 0 10 0 f\n0 10 3 1\nPUBLIC 10 0 end?\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "app.gsym"
    path.write_bytes(create(FUNCTIONS, uuid=BUILD_ID))
    return path


def export(source: Path, *options: str) -> int:
    return main(["export", "--to", "breakpad", str(source), *options])


LINUX = ("--os", "Linux", "--arch", "x86_64")


def test_output_is_written_beside_the_input(source: Path, capsys: Captured) -> None:
    assert export(source, *LINUX) == 0
    output = source.with_suffix(".sym")
    head = f"MODULE Linux x86_64 {DEBUG_ID} app\n{CODE_ID}"
    assert output.read_text() == head + RECORDS
    out, err = capsys.readouterr()
    said = out.splitlines()
    assert said[0] == f"{source} -> {output}"
    size = output.stat().st_size
    assert said[1].startswith(
        f"  1 functions, 1 public symbols, 1 lines, 0 inlined calls; {size} bytes in "
    )
    assert said[2] == f"  Linux x86_64 {DEBUG_ID} app"
    assert err.splitlines() == [
        f"{source}: warning: Name changed: blank, of several lines or not UTF-8 (once)",
        f"{source}: warning: no unwind records (STACK): GSYM has none",
    ]


def test_every_part_of_the_head_can_be_given(source: Path) -> None:
    ids = ("--debug-id", 32 * "a" + "1", "--code-id", "5AB380779000")
    options = ("--os", "windows", "--arch", "x86", "--name", "the app.pdb")
    assert export(source, *options, *ids) == 0
    head = source.with_suffix(".sym").read_text().removesuffix(RECORDS)
    assert head == (
        f"MODULE windows x86 {32 * 'A'}1 the app.pdb\nINFO CODE_ID 5AB380779000\n"
    )


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    path = tmp_path / "lib app.so"
    path.write_bytes(Elf(build_id=BUILD_ID, machine=183).to_bytes())
    return path


def test_the_binary_names_the_module(source: Path, binary: Path) -> None:
    assert export(source, "--binary", str(binary)) == 0
    head = source.with_suffix(".sym").read_text().removesuffix(RECORDS)
    assert head == f"MODULE Linux arm64 {DEBUG_ID} lib app.so\n{CODE_ID}"


def test_a_binary_in_the_place_of_the_file_names_itself(tmp_path: Path) -> None:
    path = tmp_path / "lib app.so"
    elf = Elf([code_section()], symbols=[Symbol("f", 0x1000, 8)], build_id=BUILD_ID)
    path.write_bytes(elf.to_bytes())
    assert export(path) == 0
    text = (tmp_path / "lib app.so.sym").read_text()
    assert text.startswith(f"MODULE Linux x86_64 {DEBUG_ID} lib app.so\n{CODE_ID}")


@pytest.mark.parametrize(
    ("image", "head"),
    [
        (
            Elf(
                [code_section()],
                symbols=[Symbol("f", 0x1000, 8)],
                build_id=BUILD_ID,
                bits=32,
                byteorder="big",
            ).to_bytes(),
            # Breakpad takes the bytes in the order of the machine.
            f"MODULE Linux ppc 80AE0509E7CE335AE3CAB61C274274DE0 app\n{CODE_ID}",
        ),
        (
            Pe(
                [pe.code_section()],
                symbols=[pe.Symbol("f", 0)],
                debug=[(pe.CODEVIEW, pe.codeview(bytes(range(16)), 2, "app.pdb"))],
            ).to_bytes(),
            "MODULE windows x86_64 030201000504070608090A0B0C0D0E0F2 app.pdb\n",
        ),
        (
            Macho(
                [macho.code()], symbols=[macho.Symbol("_f", 0x1000)], uuid=BUILD_ID[:16]
            ).to_bytes(),
            f"MODULE mac arm64 {BUILD_ID[:16].hex().upper()}0 app\n",
        ),
    ],
    ids=["ELF of 32 bits", "PE", "Mach-O"],
)
def test_any_kind_of_binary_names_itself(
    image: bytes, head: str, tmp_path: Path
) -> None:
    path = tmp_path / "app"
    path.write_bytes(image)
    assert export(path) == 0
    text = (tmp_path / "app.sym").read_text()
    assert text.startswith(head)


def test_a_binary_without_an_id_is_named_with_what_it_lacks(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "app.exe"
    path.write_bytes(Pe([pe.code_section()], symbols=[pe.Symbol("f", 0)]).to_bytes())
    assert export(path) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith(f"gsym: error: {path}: the debug id of the module")
    assert error.endswith("the file does not name it; use --debug-id")


def test_an_option_goes_before_the_binary(source: Path, binary: Path) -> None:
    options = ("--binary", str(binary), "--name", "app", "--os", "Android")
    assert export(source, *options) == 0
    head = source.with_suffix(".sym").read_text().splitlines()[0]
    assert head == f"MODULE Android arm64 {DEBUG_ID} app"


def test_another_binary_is_refused(
    source: Path, binary: Path, capsys: Captured
) -> None:
    binary.write_bytes(Elf(build_id=BUILD_ID[::-1]).to_bytes())
    assert export(source, "--binary", str(binary)) == 1
    complaint = f"{binary}: the GSYM file is of another build: its build id is"
    assert complaint in capsys.readouterr().err
    assert export(source, "--binary", str(binary), "--debug-id", DEBUG_ID) == 0


def test_another_binary_of_the_same_build_id_is_refused(
    tmp_path: Path, binary: Path, capsys: Captured
) -> None:
    def write(code: bytes) -> None:
        section = Section(".text", code, flags=CODE, address=0x1000)
        symbols = [Symbol("f", 0x1000, 8)]
        elf = Elf([section], symbols=symbols, build_id=BUILD_ID, machine=183)
        binary.write_bytes(elf.to_bytes())

    source = tmp_path / "app.gsym"
    write(b"one")
    gsym.convert(binary, source)
    assert export(source, "--binary", str(binary)) == 0
    write(b"two")
    assert export(source, "--binary", str(binary)) == 1
    complaint = "the GSYM file is of another build: its code differs"
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("ids", [(BUILD_ID, b""), (b"", BUILD_ID)])
def test_equal_code_is_enough_as_it_is_to_embed(
    ids: tuple[bytes, bytes], tmp_path: Path, binary: Path
) -> None:
    source = tmp_path / "app.gsym"
    for build_id in ids:
        section = Section(".text", b"code", flags=CODE, address=0x1000)
        symbols = [Symbol("f", 0x1000, 4)]
        elf = Elf([section], symbols=symbols, build_id=build_id, machine=183)
        binary.write_bytes(elf.to_bytes())
        if not source.exists():
            gsym.convert(binary, source)
    own = gsym.identify(binary)
    assert export(source, "--binary", str(binary)) == 0
    head = source.with_suffix(".sym").read_text().splitlines()[0]
    assert head == f"MODULE Linux arm64 {own.debug_id} {binary.name}"
    gsym.embed(source, binary, tmp_path / "embedded")


def test_binary_without_an_id_gives_no_identity(
    source: Path, binary: Path, capsys: Captured
) -> None:
    source.write_bytes(create(FUNCTIONS))
    binary.write_bytes(Pe().to_bytes())
    assert export(source, "--binary", str(binary)) == 1
    assert capsys.readouterr().err.endswith("does not name it; use --debug-id\n")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            (),
            "must be given: the file does not name it; use --binary or --os and --arch",
        ),
        (("--os", "Linux"), "use --binary or --arch"),
        (("--os", "windows", "--arch", "x86"), "use --binary or --debug-id"),
    ],
    ids=repr,
)
def test_missing_identity_is_requested(
    source: Path, capsys: Captured, options: tuple[str, ...], complaint: str
) -> None:
    assert export(source, *options) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"gsym: error: {source}: ")
    assert err.endswith(f"{complaint}\n")
    assert not source.with_suffix(".sym").exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--to", "symbfile"), "option '--to': choose breakpad"),
        (("--arch", ""), "option '--arch': '' is not one word"),
        (("--os", "a b"), "option '--os': 'a b' is not one word"),
        (("--code-id", "1\n2"), r"option '--code-id': '1\x0a2' is not one word"),
        (("--debug-id", "12"), "option '--debug-id': '12' is not a debug id"),
    ],
    ids=repr,
)
def test_a_wrong_option_is_a_usage_error(
    source: Path, capsys: Captured, options: tuple[str, str], complaint: str
) -> None:
    assert export(source, *LINUX, *options) == 2
    assert complaint in capsys.readouterr().err


def test_the_format_must_be_chosen(source: Path, capsys: Captured) -> None:
    assert main(["export", str(source)]) == 2
    assert "option '--to' is required: breakpad" in capsys.readouterr().err


def test_the_binary_is_not_replaced(
    source: Path, binary: Path, capsys: Captured
) -> None:
    before = binary.read_bytes()
    assert export(source, "--binary", str(binary), "-o", str(binary)) == 1
    assert "the output would replace an input" in capsys.readouterr().err
    assert binary.read_bytes() == before
