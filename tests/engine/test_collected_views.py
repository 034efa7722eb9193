"""Views of bytes that the engine reads survive the garbage collection of cycles.

CPython crashes when it collects a memoryview with an exported buffer, so none is left
exported; a crash ends the process, hence one of its own.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import REPOSITORY
from tests.hostile import small_file
from tests.inputs.pdb_examples import PDBS
from tests.inputs.random_program import random_program

if TYPE_CHECKING:
    from pathlib import Path

# An exception in a variable of a frame of its own traceback is a cycle.
COLLECT = """
import gc, sys
import gsym
from gsym.containers.object_file import ObjectFile
from gsym.containers.pdb_file import PdbFile

def fail(path, kind):
    with open(path, "rb") as file:
        data = memoryview(file.read())
    opened = kind(data)
    try:
        raise ValueError(opened)
    except ValueError as error:
        kept = error

def refuse(path, kind):
    with open(path, "rb") as file:
        data = memoryview(file.read())[:-1]
    try:
        kind(data[: len(data) // 2])
    except gsym.GsymError as error:
        kept = error

kind = {
    "object": lambda data: ObjectFile(data, "a"),
    "pdb": lambda data: PdbFile(data, "a"),
    "image": gsym.Reader,
}[sys.argv[1]]
for act in (fail, refuse):
    for _ in range(20):
        act(sys.argv[2], kind)
        gc.collect()
print("collected")
"""


@pytest.mark.parametrize("kind", ["object", "pdb", "image"])
def test_views_in_a_cycle_are_collected(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "input"
    data = {
        "object": random_program(3),
        "pdb": next(iter(PDBS.values())).to_bytes(),
        "image": small_file(1, "little"),
    }
    path.write_bytes(data[kind])
    done = subprocess.run(
        [sys.executable, "-c", COLLECT, kind, str(path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("collected\n", "")
