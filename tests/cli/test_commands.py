"""The installed commands end the process themselves, and lose nothing by that."""

from __future__ import annotations

import subprocess
import sys

import pytest

COMMANDS = ("gsym", "gsymutil", "gsym_symbolizer", "gsym_addr2line")
REGISTERED = """
import atexit, gc
from gsym.cli import commands
assert gc.isenabled()  # also in processes that import the script again
atexit.register(lambda: print("registered", gc.isenabled(), flush=True))
"""
THREAD = """
import threading, time
threading.Thread(target=lambda: (time.sleep(0.2), print("worked", flush=True))).start()
"""


def run(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_registered_for_the_end_is_called(name: str) -> None:
    done = run(f"{REGISTERED}commands.{name}()", "--version")
    *_, last = done.stdout.splitlines()
    assert (last, done.stderr, done.returncode) == ("registered True", "", 0)
    assert len(done.stdout.splitlines()) > 1


def test_other_threads_are_waited_for() -> None:
    done = run(f"{REGISTERED}{THREAD}commands.gsym()", "--version")
    assert done.stdout.splitlines()[1:] == ["worked", "registered True"]
    assert done.returncode == 0


@pytest.mark.parametrize("word", ["--nothing", "nothing"])
def test_the_exit_status_is_that_of_the_command(word: str) -> None:
    done = run(f"{REGISTERED}commands.gsym()", word)
    assert done.returncode == 2
    assert f"'{word}'" in done.stderr
