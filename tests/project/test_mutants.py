"""Mutants of the decoders and of the package, and the tests that judge them."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import REPOSITORY
from tools.mutants import engine, executed, gate, python
from tools.mutants.executed import Record
from tools.mutants.gate import Mutant

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_engine

CHANGED_C = {
    "    if (a < b) return x;": {
        "if (a <= b) return x;",
        "if (!(a < b)) return x;",
        "if (a < b) return 0;",
        ";",
    },
    "    while (*at == 'a' && --left)": {
        "while (*at != 'a' && --left)",
        "while (*at == 'a' || --left)",
        "while (!(*at == 'a' && --left))",
    },
    "    size += UINT32_C(0x10) - width;": {
        "size -= UINT32_C(0x10) - width;",
        "size += UINT32_C((0x10 + 1)) - width;",
        "size += UINT32_C((0x10 - 1)) - width;",
        "size += UINT32_C(0x10) + width;",
        ";",
    },
    "        : is_wide ? eight : four": {": is_wide ? four : eight"},
    "static bool starts(const uint8_t *at) {": set(),
    "/* if (a < b) return 1; */": set(),
    '#include "a-1.h"': set(),
    '    fail("a < 1",': set(),
}
CHANGED_PYTHON = {
    "if a < b != c: f": {
        "if a <= b != c: f",
        "if a < b == c: f",
        "if not (a < b != c): f",
        "if a < b != c: pass",
    },
    "while not (a): break": {"while  (a): break", "while not (a): continue"},
    "x = a and b": {"x = a or b", "pass"},
    "x += 2": {"x -= 2", "x += (2 + 1)", "x += (2 - 1)", "pass"},
    "x = a if b else c": {"x = a if not (b) else c", "pass"},
    "x = [a for a in b if a is None]": {
        "x = [a for a in b if a is not None]",
        "x = [a for a in b if a is 0]",
        "x = [a for a in b if not (a is None)]",
        "pass",
    },
    "f(-1, a not in b)": {
        "f(1, a not in b)",
        "f(-(1 + 1), a not in b)",
        "f(-(1 - 1), a not in b)",
        "f(-1, a in b)",
        "pass",
    },
    "f('é', flag=True)": {"f('é~', flag=True)", "f('é', flag=False)", "pass"},
    "def f(a: int = 1) -> int: return a": {
        "def f(a: int = (1 + 1)) -> int: return a",
        "def f(a: int = (1 - 1)) -> int: return a",
        "def f(a: int = 1) -> int: return None",
    },
    "raise E('x', 7)": {"raise E('x', (7 + 1))", "raise E('x', (7 - 1))", "pass"},
    "return 'several words'": set(),
    "x: int": set(),
    "__all__ = ['a']": set(),
    "if TYPE_CHECKING: from a import b": set(),
    "_LOG.info('x', 1)": set(),
    "'''A docstring.'''": set(),
    "return f'{a + 1}'": {"return None"},
    "T = TypeVar('T')": {"pass"},
}


@pytest.mark.parametrize("line", CHANGED_C)
def test_a_line_of_c_has_these_mutants(line: str) -> None:
    lines = engine.mutants_of("a.c", line + "\n")
    assert {each.after for mutants in lines for each in mutants} == CHANGED_C[line]


@pytest.mark.parametrize("line", CHANGED_PYTHON)
def test_a_statement_of_python_has_these_mutants(line: str) -> None:
    changes = list(python.changes_of("a.py", line))
    assert {python.changed(each, line) for each in changes} == CHANGED_PYTHON[line]
    assert len({each.mutant for each in changes}) == len(changes)


def test_a_mutant_of_c_is_of_one_of_the_lines_of_a_function_that_are_alike() -> None:
    text = "int f(a) {\n    ++at;\n    ++at;\n}\nint g(a) {\n    ++at;\n    ++at;\n}\n"
    mutant = Mutant("a.c", "g", 1, "++at;", ";")
    assert engine.applied(mutant, text) == text[:-12] + ";\n}\n"


def test_tests_and_decoders_exist() -> None:
    for sources, tests in engine.TESTS.items():
        assert any(REPOSITORY.glob(f"csrc/{sources}")), sources
        for pattern in tests.split():
            assert any(REPOSITORY.glob(pattern)), pattern


@pytest.mark.parametrize("language", ["engine", "python"])
def test_equivalent_mutants_are_of_files_that_exist_and_have_reasons(
    language: str,
) -> None:
    path = REPOSITORY / f"tools/mutants/equivalent_{language}.tsv"
    for mutant, reason in gate.rows(path):
        assert (REPOSITORY / mutant.path).exists(), mutant
        assert reason, mutant


MODULE = """\
import os

FIRST = os.name


def parent():
    return 1


def child():
    os._exit(0)


def nobody():
    return 3
"""
TESTS = """\
import subprocess, sys
from gsym import module

def test_parent():
    assert module.parent()

def test_child():
    subprocess.run([sys.executable, "-c", "import gsym.module as m; m.child()"])

def test_fails():
    assert module.nobody() == 4
"""


def test_what_tests_and_their_child_processes_execute_is_recorded(
    tmp_path: Path,
) -> None:
    for name, text in (
        ("pytest.ini", "[pytest]"),
        ("gsym/__init__.py", ""),
        ("gsym/module.py", MODULE),
        ("test_module.py", TESTS),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    executed.mark_statements(tmp_path)
    record = tmp_path / "record"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tools.mutants.executed"],
        cwd=tmp_path,
        env={
            "PYTHONPATH": f"{tmp_path}:{REPOSITORY}",
            "GSYM_MUTANTS_RECORD": str(record),
        },
        check=False,
    )
    file = executed.load(record, "test_module.py")
    assert [name for name, _ in file.tests] == [
        "test_module.py::test_parent",
        "test_module.py::test_child",
    ]
    masks = {
        ast.unparse(each.node): file.masks.get(each.key)
        for each in executed.statements("gsym/module.py", ast.parse(MODULE), MODULE)
    }
    assert masks["FIRST = os.name"] == 1 | 1 << 2  # imported by both processes
    assert masks["return 1"] == 1 << 1
    assert masks["os._exit(0)"] == 1 << 2
    assert masks["return 3"] == 1


def test_likely_killers_come_first() -> None:
    text = "A = 1\ndef f():\n    return A\ndef g():\n    return 2\n"
    constant, _, user, _, other = executed.statements("m.py", ast.parse(text), text)
    first, second, third = 2, 4, 8
    records = python.Records(
        [
            Record(
                "test_a.py",
                [("slow", 9), ("fast", 0.2), ("other", 0.1)],
                {constant.key: 1, user.key: first | second, other.key: third},
            ),
            Record("test_b.py", [("long", 2 * python.SECONDS)], {constant.key: 1}),
            Record("test_c.py", [("elsewhere", 0.1)], {"": first}),
            Record("test_e.py", [], {user.key: 1}),
            Record("test_d.py", [("all", 0.4)], {user.key: first}),
            Record("test_m.py", [("namesake", 0.4)], {user.key: first}),
        ]
    )
    found = records.tests_for(constant, "m.py", {user.key})
    assert [name for name, _ in found] == ["fast", "slow", "other"]
    found = records.tests_for(user, "m.py", set())
    assert [name for name, _ in found] == [
        *("namesake", "all", "fast", "slow", "other")
    ]
