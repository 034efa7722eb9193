"""Commands in which an allocation of the engine fails say so, and lose nothing."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import REPOSITORY
from tests.engine.failing_allocations import ALLOCATOR
from tests.sanitizer import no_sanitizer

if TYPE_CHECKING:
    from pathlib import Path

LEAST = {
    "convert": 2000,
    "inputs": 1900,
    "lookup": 500,
    "store": 200,
    "symbfile": 150,
    "trace": 400,
}
"""Allocations that the commands of a section make at least."""


@pytest.mark.slow
@no_sanitizer
@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="replaces malloc of glibc"
)
@pytest.mark.parametrize("section", LEAST)
def test_each_allocation_that_fails_is_reported_and_changes_no_output(
    section: str, compiler: str, tmp_path: Path
) -> None:
    (tmp_path / "allocator.c").write_text(ALLOCATOR)
    library = tmp_path / "allocator.so"
    build = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), "allocator.c"]
    subprocess.run(build, cwd=tmp_path, check=True)
    (tmp_path / "made").mkdir()
    module = "tests.engine.failing_allocations"
    done = subprocess.run(
        [sys.executable, "-m", module, tmp_path / "made", section],
        cwd=REPOSITORY,
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > LEAST[section]
