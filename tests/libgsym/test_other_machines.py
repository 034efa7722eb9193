"""An engine of 32 bits, and one of the other byte order, answer as that of here."""

from __future__ import annotations

import platform
import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conftest import REPOSITORY, find_peer
from tests.creations import create
from tests.inputs.breakpad import MODULE
from tests.inputs.random_program import random_program
from tests.libgsym.conftest import BUILD, EXAMPLES, expected_frames, make, words_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.no_engine]

C = EXAMPLES / "c/source_of.c"
# Of each compiler: what runs its programs here.
EMULATORS = {
    "s390x-linux-gnu-gcc": ("qemu-s390x-static", "qemu-s390x"),
    "i686-linux-gnu-gcc": (),
}
BREAKPAD = f"""{MODULE}
FILE 0 /src/a.c
FUNC 1000 20 0 f
1000 10 7 0
1010 10 4294967295 0
PUBLIC 2000 0 g
"""


@pytest.fixture(scope="module", params=EMULATORS)
def source_of(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """The command that runs the example of another machine here."""
    compiler, names = find_peer(request.param), EMULATORS[request.param]
    emulator = [find_peer(*names)] if names else []
    if not names and platform.machine() != "x86_64":
        pytest.skip("no processor that runs programs of i386")
    path = tmp_path_factory.mktemp("built") / "source_of"
    folder = BUILD.with_name(request.param)
    make(folder, "objects", f"CC={compiler}", "CFLAGS=-O0 -Werror")
    flags = (
        "-static",
        f"-I{REPOSITORY}/libgsym/include",
        f"-I{REPOSITORY}/csrc/include",
    )
    root = folder / "objects"
    # Objects of sources that are gone may be there from an earlier run.
    objects = [
        each
        for each in root.rglob("*.o")
        for place in (REPOSITORY, REPOSITORY / "libgsym")
        if (place / each.relative_to(root)).with_suffix(".c").is_file()
    ]
    command = words_of(compiler, *flags, "-o", path, C, *objects)
    subprocess.run(command, check=True)
    return [*emulator, str(path)]


def run(source_of: list[str], *words: object) -> str:
    command = [*source_of, *words_of(*words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def functions() -> list[gsym.FunctionInfo]:
    extent = (gsym.Range(0x1010, 0x1020),)
    call = gsym.InlineInfo("call", "/src/b.h", 9, extent)
    tree = gsym.InlineInfo("f", "", 0, (gsym.Range(0x1000, 0x1100),), (call,))
    rows = (
        gsym.LineEntry(0x1000, "/src/a.c", 3),
        gsym.LineEntry(0x1010, "/src/b.h", 7),
    )
    many = [gsym.FunctionInfo(0x10000 + 32 * n, 32, f"g{n}") for n in range(500)]
    far = gsym.FunctionInfo(0xFFFFFFFF80000000, 0x40, "far")
    return [gsym.FunctionInfo(0x1000, 0x100, "f", rows, tree), *many, far]


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("version", [1, 2])
def test_files_of_either_byte_order_are_read(
    source_of: list[str], version: int, byteorder: str, *, index: bool, tmp_path: Path
) -> None:
    path = tmp_path / "a.gsym"
    options = {"version": version, "byteorder": byteorder, "index": index}
    path.write_bytes(create(functions(), **options))
    addresses = [0, 0xFFF, 0x1000, 0x1015, 0x10FF, 0x1100, 0x10021, 0x13E7F]
    addresses += [0x13E80, 0xFFFFFFFF80000010, 2**64 - 1]
    words = [f"{address:x}" for address in addresses]
    with gsym.open(path) as reader:
        frames = [expected_frames(reader, address) for address in addresses]
    assert sum("??" not in each for each in frames) == 6
    assert run(source_of, "lookup", path, *words) == "".join(frames)
    assert run(source_of, "find", path, "g499") == "0x13e60 32 g499\n"


def converted_like_here(source_of: list[str], given: Path) -> bool:
    ours, theirs = given.with_suffix(".ours"), given.with_suffix(".theirs")
    report = gsym.convert(given, ours, identity=False)
    counts = f"{report.functions} functions, {report.file_size} bytes\n"
    assert run(source_of, "convert", given, theirs) == counts
    return ours.read_bytes() == theirs.read_bytes()


def test_dwarf_of_either_byte_order_gives_the_same_file(
    source_of: list[str], tmp_path: Path
) -> None:
    byte_orders = set()
    for seed in range(16):
        given = tmp_path / f"program{seed}"
        data = random_program(seed)
        byte_orders.add(data[5])
        given.write_bytes(data)
        assert converted_like_here(source_of, given), f"seed {seed}"
    assert byte_orders == {1, 2}


def test_a_real_program_gives_the_same_file(
    source_of: list[str], program: Path
) -> None:
    assert converted_like_here(source_of, program)


def test_breakpad_text_gives_the_same_file(
    source_of: list[str], tmp_path: Path
) -> None:
    given = tmp_path / "app.sym"
    given.write_text(BREAKPAD)
    assert converted_like_here(source_of, given)


def test_damage_is_told_with_the_same_offset(
    source_of: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "damaged"
    whole = create(functions(), byteorder="big")
    for size in range(0, 64, 3):
        path.write_bytes(whole[:size])
        with pytest.raises(gsym.GsymError) as raised:
            gsym.open(path).lookup(0x1000)
        assert raised.value.offset is not None
        found = run(source_of, "lookup", path, "1000")
        assert found.endswith(f" at offset {raised.value.offset}\n")
