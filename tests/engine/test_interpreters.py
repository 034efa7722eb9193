"""Interpreters besides the main one: with its lock they work, with their own they are
refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY

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
def test_an_interpreter_with_a_lock_of_its_own_is_refused() -> None:
    refused = "ImportError: module gsym.engine._core does not support loading"
    *worked, failure = run(NEWER)
    assert worked == ["symbol", "None"] * 2
    assert failure.startswith(refused)
