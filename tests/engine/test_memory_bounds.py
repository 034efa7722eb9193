"""Hostile counts do not make the reader allocate, and closing gives all back."""

from __future__ import annotations

import ctypes
import gc
import re
import subprocess
import sys
from sysconfig import get_config_var
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.fxt.decoder import Filter
from gsym.fxt.reader import open_trace
from gsym.symbfile.extraction import extract
from gsym.symbfile.to_gsym import convert_symbfiles
from tests.conftest import REPOSITORY
from tests.engine.test_hostile_images import REFUSED, patch
from tests.engine.test_hostile_records import DAMAGED, END_OF_LIST, file_with
from tests.hostile import small_file
from tests.inputs.dies import Die, Ref
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.pdb import CODE, TEXT, Function, Module, Pdb
from tests.inputs.program import function, program, unit
from tests.sanitizer import no_sanitizer
from tools.fuzz_seeds import SEEDS
from tools.mutate.seeds import objects

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.hostile]

# Runs in a process of its own, because the limit cannot be lifted again.
ASK_WITHIN_LIMIT = """
import resource, sys
from pathlib import Path
from tests.hostile import ask
resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
for path in sorted(Path(sys.argv[1]).iterdir()):
    ask(path.read_bytes())
    print(path.name)
"""


@no_sanitizer
@pytest.mark.skipif(
    bool(get_config_var("Py_GIL_DISABLED")), reason="this Python begins with a gigabyte"
)
def test_hostile_counts_are_answered_within_512_megabytes(tmp_path: Path) -> None:
    images = {
        **{
            name: patch(small_file(version, "little"), *changes)
            for name, (version, changes) in REFUSED.items()
        },
        **{
            f"{name}, version {version}": file_with(version, body + END_OF_LIST)
            for name, body in DAMAGED.items()
            for version in (1, 2)
        },
    }
    for name, data in images.items():
        (tmp_path / name).write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", ASK_WITHIN_LIMIT, str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == sorted(images)


class Heap(ctypes.Structure):
    """What glibc's mallinfo2() returns."""

    _fields_ = (
        ("of_no_interest", ctypes.c_size_t * 4),
        ("hblkhd", ctypes.c_size_t),  # in mapped blocks
        ("of_no_interest_either", ctypes.c_size_t * 2),
        ("uordblks", ctypes.c_size_t),  # in others
        ("free", ctypes.c_size_t * 2),
    )


def heap_bytes() -> int:
    """The bytes that malloc() has handed out, to the engine and to Python."""
    gc.collect()
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = Heap
    heap = mallinfo2()
    return int(heap.uordblks + heap.hblkhd)


def read_image(data: bytes, _output: Path) -> None:
    with gsym.Reader(data) as reader, gsym.Creator() as creator:
        for function in reader.functions():
            creator.add(function)
        reader.lookup_many([0x1000, 0x1004]).to_pylist()
        creator.to_bytes()


def convert(data: bytes, output: Path) -> None:
    gsym.convert(data, output, name="made", index=True)


def read_trace(data: bytes, _output: Path) -> None:
    chosen = Filter(categories=["*"], names=["*"], processes=[1], threads=[2])
    for each in (None, Filter(categories=["*"]), chosen):
        list(open_trace(data, chosen=each))


def read_symbfile(data: bytes, output: Path) -> None:
    symbfile = output.with_suffix(".symbfile")
    symbfile.write_bytes(data)
    convert_symbfiles([symbfile], output)
    extract(output, ranges=symbfile)


USES = {
    "image": read_image,
    "convert": convert,
    "breakpad": convert,
    "pdb": convert,
    "fxt": read_trace,
    "symbfile": read_symbfile,
}


def across_pages() -> Iterator[tuple[str, bytes]]:
    """PDBs whose tables are on several pages each, which are copied then."""
    section = (TEXT, 0x1000, CODE)
    for size in range(0, 512, 20):
        pdb = Pdb(
            [Module([Function("f", 0, 16, [(0, 1)])], name="x" * (size + 1))],
            publics=[(f"public_{number}", 1, number) for number in range(100)],
            omap=[(TEXT + 8 * number, TEXT + 8 * number) for number in range(100)],
            sections=[section] * 20,
            original_sections=[section] * 20,
            features=range(200),
            scattered=True,
        )
        yield f"across-{size}", pdb.to_bytes()


def of_other_containers() -> Iterator[tuple[str, bytes]]:
    """Files of Mach-O, PE and Go, archives, and object files, of every kind once."""
    named = Die(Tag.subprogram, {At.name: "f", At.declaration: True}, label="f")
    user = function(
        None, 0x1000, 0x1010, attributes={At.specification: Form.ref_addr(Ref("f"))}
    )
    yield "made-references", program(unit(user), unit(named))
    kinds = set()
    for name, data in objects():
        kind = re.sub(r"[0-9]+", "", name)
        if not name.startswith(("elf-random", "elf-scaled")) and kind not in kinds:
            kinds.add(kind)
            yield f"made-{name}", data


MORE = {"pdb": across_pages, "convert": of_other_containers}
# Their units are in other files, or they need others.
WITHOUT_FUNCTIONS = {"split", "package", "made"}
ROUNDS = 10


@no_sanitizer
@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="mallinfo2() is of glibc 2.33"
)
@pytest.mark.parametrize("kind", USES)
def test_what_is_read_or_refused_gives_all_memory_back(
    tmp_path: Path, kind: str
) -> None:
    """What is lost is lost each time; what is kept once is not."""
    seeds = [*SEEDS[kind](), *MORE.get(kind, list)()]

    def use(data: bytes) -> bool:
        try:
            USES[kind](data, tmp_path / "made.gsym")
        except gsym.GsymError:
            return False
        return True

    def use_all() -> int:
        """Read all, cut and complete; the bytes that are in use then."""
        for name, data in seeds:
            for eighths in (3, 7):
                use(data[: len(data) * eighths // 8])
            assert use(data) or name.partition("-")[0] in WITHOUT_FUNCTIONS
        return heap_bytes()

    sizes = [0, use_all()]
    while sizes[-1] != sizes[-2] and len(sizes) < ROUNDS:
        sizes.append(use_all())
    assert sizes[-1] == sizes[-2], sizes
