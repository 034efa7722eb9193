"""The fuzz targets of tools/ compile with the current engine, and have seeds."""

from __future__ import annotations

import runpy
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.conftest import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

TARGETS = sorted(REPOSITORY.glob("tools/fuzz_*.c"))
DRIVERS = [REPOSITORY / "tools" / name for name in ("exhaust.c", "race.c")]
INCLUDED = ("-iquote", "csrc", "-Icsrc/include", "-Ilibgsym/include")


@pytest.mark.parametrize("target", [*TARGETS, *DRIVERS], ids=lambda path: path.stem)
def test_a_fuzz_target_compiles(target: Path, compiler: str) -> None:
    command = [compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    done = subprocess.run(
        [*command, *INCLUDED, target],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0


def test_every_fuzz_target_is_run_on_seeds_of_its_own() -> None:
    names = [path.stem.removeprefix("fuzz_") for path in TARGETS]
    seeds = runpy.run_path(str(REPOSITORY / "tools" / "fuzz_seeds.py"))["SEEDS"]
    assert sorted(seeds) == names
    script = (REPOSITORY / "tools" / "fuzz.sh").read_text(encoding="utf-8")
    assert f'names="{" ".join(seeds)}"' in script
    for make in seeds.values():
        assert b"" not in [data for _, data in make()]
