"""`gsym trace record`: Python programs, run as python runs them, and their traces."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gsym.trace.fxt.reader import open_trace
from gsym.trace.fxt.records import Event, Log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.trace.fxt.records import Record

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parent.parent.parent
GSYM = ("-m", "gsym", "trace", "record", "-o", "out.fxt")


class Folder:
    """Where a program is run, by python itself and by us."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, code: str) -> None:
        (self.path / name).parent.mkdir(exist_ok=True, parents=True)
        (self.path / name).write_text(code, encoding="utf-8")

    def run(
        self,
        *words: str,
        given: bytes = b"",
        variables: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **(variables or {})}
        return subprocess.run(
            [sys.executable, *words],
            check=False,
            capture_output=True,
            cwd=self.path,
            env=environment,
            input=given,
        )

    def record(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return self.run(*GSYM, *words)

    def records(self) -> list[Record]:
        return list(open_trace(self.path / "out.fxt", strict=True))

    def calls(self) -> list[Event]:
        return [each for each in self.records() if isinstance(each, Event)]

    def names(self, module: str = "__main__") -> list[str]:
        return [call.name for call in self.calls() if call.category == module]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_calls_are_durations_that_nest(folder: Folder) -> None:
    folder.write("p.py", "def inner(): pass\ndef outer(): inner(); inner()\nouter()\n")
    assert folder.record("p.py").returncode == 0
    assert folder.names() == ["inner", "inner", "outer", "<module>"]
    first, _, outer, whole = [c for c in folder.calls() if c.category == "__main__"]
    assert {each.kind for each in folder.calls()} == {"duration_complete"}
    assert whole.end_ticks is not None
    assert outer.end_ticks is not None
    assert whole.ticks <= outer.ticks <= first.ticks
    assert outer.end_ticks <= whole.end_ticks
    args = {each.name: each.value for each in outer.args}
    assert args == {"file": str(folder.path / "p.py"), "line": 2}


def test_generators_and_exceptions_end_their_durations(folder: Folder) -> None:
    folder.write(
        "p.py",
        "def numbers():\n"
        "  yield 1\n"
        "  try: yield 2\n"
        "  except KeyError: yield 3\n"
        "def fails(): raise ValueError\n"
        "def catches():\n"
        "  try: fails()\n"
        "  except ValueError: pass\n"
        "n = numbers(); next(n); next(n); n.throw(KeyError)\n"
        "catches()\n",
    )
    assert folder.record("p.py").returncode == 0
    names = folder.names()
    assert names.count("numbers") in {3, 4}  # its end, too, where that is told
    assert [name for name in names if name != "numbers"] == [
        *("fails", "catches", "<module>")
    ]


def test_calls_are_filtered_by_module(folder: Folder) -> None:
    folder.write("a/__init__.py", "")
    folder.write("a/b.py", "def f(): pass\n")
    folder.write(
        "p.py", "import json, a.b\na.b.f(); json.dumps({1: [2.5]}, indent=1)\n"
    )
    assert folder.record("p.py").returncode == 0
    assert {"a.b", "json", "__main__"} <= {call.category for call in folder.calls()}
    folder.record("--only", "a", "p.py")
    assert {call.category for call in folder.calls()} == {"a", "a.b"}
    folder.record("--only=a", "--without=a.b", "p.py")
    assert {call.category for call in folder.calls()} == {"a"}


def test_short_calls_are_omitted_and_counted(folder: Folder) -> None:
    folder.write("p.py", "def f(): pass\nf()\n")
    assert folder.record("--minimum", "1ns", "p.py").returncode == 0
    assert folder.names() == ["f", "<module>"]
    assert folder.record("--only=__main__", "--minimum=999s", "p.py").returncode == 0
    assert folder.names() == []
    (log,) = [each for each in folder.records() if isinstance(each, Log)]
    assert log.message == "calls shorter than the minimum: 2"


def test_a_module_is_run(folder: Folder) -> None:
    folder.write("package/__init__.py", "")
    folder.write(
        "package/__main__.py", "import sys\nprint(sys.argv[1:], __package__)\n"
    )
    assert folder.record("-m", "package", "-x", "1").stdout == b"['-x', '1'] package\n"
    assert "<module>" in folder.names()
    missing = folder.record("-m", "missing")
    assert (missing.returncode, missing.stderr) == (
        1,
        b"gsym: error: no module 'missing'\n",
    )


PROGRAMS = {
    "arguments": "import sys\nprint(sys.argv, sys.path[0], __name__, __file__)\n",
    "input": "import sys\nprint(sys.stdin.read().upper())\n",
    "text": "print('gr\\u00fc\\u00dfe')\n",
    "streams": (
        "import sys\n"
        "print([(s.encoding, s.errors) for s in (sys.stdin, sys.stdout, sys.stderr)])\n"
    ),
    "status": "import sys\nsys.exit(7)\n",
    "an error": "def f():\n  raise ValueError('no')\nf()\n",
    "a chain of errors": "try: 1/0\nexcept Exception as e: raise KeyError(1) from e\n",
    "an error in a thread": (
        "import threading\nt = threading.Thread(target=lambda: 1 / 0, name='t')\n"
        "t.start(); t.join()\n"
    ),
    "a syntax error": "def f(:\n",
    "a broken pipe": "raise BrokenPipeError\n",
    "an exit handler": "import atexit\natexit.register(print, 'bye')\nprint('hello')\n",
    "the main module": (
        "import pickle, sys\n"
        "class C: pass\n"
        "print(type(pickle.loads(pickle.dumps(C()))), sys.modules['__main__'].C)\n"
    ),
    "a closed output": "import sys\nsys.stdout.close()\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_behaves_as_under_python(name: str, folder: Folder) -> None:
    folder.write("scripts/p.py", PROGRAMS[name])
    words: Sequence[str] = ("scripts/p.py", "--help", "-o", "a b", "--")
    given = "größe".encode()
    by_python = folder.run(*words, given=given)
    by_us = folder.run(*GSYM, *words, given=given)
    assert by_us.stdout == by_python.stdout
    assert by_us.stderr == by_python.stderr
    assert by_us.returncode == by_python.returncode
    assert (folder.path / "out.fxt").stat().st_size > 100


def test_streams_have_the_encoding_of_the_environment(folder: Folder) -> None:
    folder.write("p.py", PROGRAMS["text"])
    found = folder.run(*GSYM, "p.py", variables={"PYTHONIOENCODING": "latin-1"})
    assert found.stdout == b"gr\xfc\xdfe\n"


def test_a_program_may_recurse_to_its_limit(folder: Folder) -> None:
    folder.write("p.py", "def f(n):\n  return f(n + 1)\nf(0)\n")
    found = folder.record("p.py")
    assert found.stderr.endswith(
        b"\nRecursionError: maximum recursion depth exceeded\n"
    )
    assert b"recording" not in found.stderr
    assert folder.names().count("f") > 900


def test_an_interrupted_program_exits_by_the_signal(folder: Folder) -> None:
    folder.write("p.py", "def f(): raise KeyboardInterrupt\nf()\n")
    found = folder.record("p.py")
    assert found.returncode == -signal.SIGINT
    assert found.stderr.endswith(b"KeyboardInterrupt\n")
    assert b"program_run" not in found.stderr
    assert folder.names() == ["f", "<module>"]


def test_processes_of_a_program_are_in_its_trace(folder: Folder) -> None:
    folder.write(
        "p.py",
        "import multiprocessing as m\n"
        "def work(): pass\n"
        "if __name__ == '__main__':\n"
        "  ps = [m.get_context('fork').Process(target=work) for _ in range(2)]\n"
        "  for p in ps: p.start()\n"
        "  for p in ps: p.join()\n",
    )
    found = folder.record("p.py")
    assert (found.returncode, found.stderr) == (0, b"")
    work = [call for call in folder.calls() if call.name == "work"]
    assert len({call.process for call in work}) == 2


def test_a_child_of_a_program_ends_by_sigterm_as_under_python(folder: Folder) -> None:
    folder.write(
        "p.py",
        "import os, signal\n"
        "if not (child := os.fork()):\n"
        "  os.kill(os.getpid(), signal.SIGTERM)\n"
        "  os._exit(0)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n",
    )
    assert folder.record("p.py").stdout == b"-15\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), b"SCRIPT is missing"),
        (("--minimum", "soon", "p.py"), b"option '--minimum'"),
    ],
)
def test_an_invalid_command_line_is_refused(
    words: tuple[str, ...], said: bytes, folder: Folder
) -> None:
    found = folder.record(*words)
    assert found.returncode == 2
    assert said in found.stderr


def test_a_script_that_is_missing_is_an_error(folder: Folder) -> None:
    found = folder.record("missing.py")
    assert found.returncode == 1
    assert b"missing.py" in found.stderr
