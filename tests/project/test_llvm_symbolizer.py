"""No file of ours vouches for itself where llvm-symbolizer judges."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conftest import REPOSITORY
from tests.symbolizer_runs import run_llvm

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.usefixtures("llvm_symbolizer")
def test_llvm_symbolizer_does_not_read_a_file_beside_the_program(
    compiler: str, tmp_path: Path
) -> None:
    """The file is of another build, in which the function stands ten lines later."""
    program, nm = tmp_path / "program", shutil.which("nm")
    if nm is None:
        pytest.skip("not installed: nm")
    for lines in (10, 0):
        (tmp_path / "a.c").write_text("\n" * lines + "int main(void) { return 0; }\n")
        options = ["-g", "-o", str(program), "a.c"]
        subprocess.run([compiler, *options], cwd=tmp_path, check=True)
        if lines:
            gsym.convert(str(program), f"{program}.gsym")
    listed = subprocess.run([nm, program], capture_output=True, text=True, check=True)
    found = re.search(r"^([0-9a-f]+) T main$", listed.stdout, re.MULTILINE)
    assert found
    asked = ("--basenames", f"--obj={program}", f"0x{found[1]}")
    assert "a.c:1:" in run_llvm(*asked).out
    assert "a.c:11:" in run_llvm(*asked, reads_gsym=True).out


def test_nothing_else_runs_it() -> None:
    runs = re.compile(r"llvm-symbolizer-2\d|(run\(|\[)\s*([a-z_]+\.)?LLVM_SYMBOLIZER\b")
    found = [
        path.relative_to(REPOSITORY).as_posix()
        for path in (REPOSITORY / "tests").rglob("*.py")
        if runs.search(path.read_text("utf-8"))
    ]
    assert found == ["tests/symbolizer_runs.py"]
