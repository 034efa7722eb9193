"""Interpreters besides the main one: with its lock they work, with their own they are
refused. One that has no lock gets none."""

from __future__ import annotations

import os
import subprocess
import sys
from sysconfig import get_config_var
from typing import TYPE_CHECKING

import pytest

from tests.conftest import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

READ = """
import gsym
from tests.hostile import small_file
with gsym.Reader(small_file(1, "little")) as reader:
    print(next(reader.functions()).name, flush=True)
"""
SHARED = """
import sys, _xxsubinterpreters as interpreters
for _ in range(3):
    made = interpreters.create(isolated=False)
    interpreters.run_string(made, sys.argv[1])
    interpreters.destroy(made)
exec(sys.argv[1])
"""
NEWER = """
import sys, _interpreters as interpreters
for kind in ("legacy", "legacy", "isolated"):
    made = interpreters.create(kind)
    failure = interpreters.exec(made, sys.argv[1])
    print(failure and failure.formatted, flush=True)
    interpreters.destroy(made)
"""
HAS_LOCK = not get_config_var("Py_GIL_DISABLED")
has_no_lock = pytest.mark.skipif(HAS_LOCK, reason="this Python has a lock")


def run(script: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", script, READ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="they have another interface")
def test_interpreters_that_share_the_lock_read_files() -> None:
    assert run(SHARED) == ["symbol"] * 4


@pytest.mark.skipif(sys.version_info < (3, 13), reason="they have another interface")
def test_interpreters_that_do_not_share_a_lock_are_refused() -> None:
    *others, isolated = run(NEWER)
    refused = [isolated] if HAS_LOCK else [*others, isolated]
    if HAS_LOCK:
        assert others == ["symbol", "None"] * 2
    assert {each.partition("_core ")[2] for each in refused} == {
        "does not support loading in subinterpreters"
    }


WITHOUT_LOCK = """
import sys, gsym, gsym.cli.verbs.serve, gsym.server._bus_errors
from tests.hostile import small_file
from tests.inputs.scaled import units
reader = gsym.Reader(small_file(1, "little"))  # open until the end
with open(sys.argv[1], "wb") as file:
    file.write(units(3))
functions = gsym.convert(sys.argv[1], threads=2).functions
print(next(reader.functions()).name, functions, sys._is_gil_enabled())
"""


@has_no_lock
def test_reading_and_converting_leave_the_lock_off(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LOCK, str(tmp_path / "units")],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHON_GIL": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("symbol 3 False\n", "")
