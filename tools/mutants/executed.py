"""Which tests execute which statements of the package.

A test that does not execute a statement cannot notice a change of it. To know what each
executes, the tests run in a copy of the checkout whose compiled modules (`__pycache__`)
mark each statement before they execute it, in a file that all processes map. So what
child processes, threads, confined and killed processes execute counts for the test
during which they do. coverage.py would miss those that cannot write a file when they
end.

Each test file runs in a process of its own. What this process executes outside of
tests (imports, fixtures of a module) counts for all tests of the file. So does in the
end what any test of the file executes, because tests may share results; but those that
execute a statement themselves come first.

The record of a test file is made again when the file has changed. A statement is known
by its text and function, so that records outlive changes elsewhere in the package. To
make all records again, remove their folder.

This module is also the plugin of pytest that writes a record, and that selects tests.
"""

from __future__ import annotations

import ast
import hashlib
import json
import marshal
import mmap
import os
import re
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType

    import pytest

_RECORD = "GSYM_MUTANTS_RECORD"  # where to write what tests execute
_SELECTED = "GSYM_MUTANTS_SELECTED"  # a file with the names of tests to run
_MARKS = """\
\"\"\"A byte for each line of the package, set when its statement is executed.\"\"\"

import mmap
import os

try:
    _file = os.open({path!r}, os.O_RDWR)
except OSError:  # a confined process
    marks = bytearray({size})
else:
    marks = mmap.mmap(_file, {size})
    os.close(_file)
"""


class Statement(NamedTuple):
    """A statement without those that it contains."""

    node: ast.stmt
    function: str  # the qualified name of its function or class
    is_in_function: bool  # else it is executed when the module is imported
    key: str  # of its path, function and text


def statements(path: str, tree: ast.Module, text: str) -> Iterator[Statement]:
    """The statements of a module, outer ones first."""
    lines = text.splitlines()
    seen: dict[str, int] = {}

    def within(
        body: Iterable[ast.AST], function: str, *, is_in_function: bool
    ) -> Iterator[Statement]:
        for node in body:
            inner, is_inner = function, is_in_function
            if isinstance(node, ast.stmt):
                last = node.end_lineno or node.lineno
                block = getattr(node, "body", None) or getattr(node, "cases", None)
                if block:
                    first = getattr(block[0], "pattern", block[0])
                    last = max(node.lineno, first.lineno - 1)
                words = " ".join("".join(lines[node.lineno - 1 : last]).split())
                name = f"{path} {function} {words}"
                seen[name] = seen.get(name, -1) + 1
                digest = hashlib.blake2b(f"{name} {seen[name]}".encode(), digest_size=6)
                yield Statement(node, function, is_in_function, digest.hexdigest())
                if isinstance(
                    node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
                ):
                    inner = f"{function}.{node.name}".lstrip(".")
                    is_inner = is_in_function or not isinstance(node, ast.ClassDef)
            yield from within(
                (
                    each
                    for each in ast.iter_child_nodes(node)
                    if isinstance(each, (ast.stmt, ast.excepthandler, ast.match_case))
                ),
                inner,
                is_in_function=is_inner,
            )

    return within(tree.body, "", is_in_function=False)


def write_compiled(source: Path, code: CodeType) -> None:
    """Let this be what is compiled of a module, whatever its source is."""
    cached = Path(cache_from_source(str(source)))
    cached.parent.mkdir(exist_ok=True)
    flags = (1).to_bytes(4, "little")  # a hash that is not checked
    data = MAGIC_NUMBER + flags + source_hash(source.read_bytes()) + marshal.dumps(code)
    cached.write_bytes(data)


def compile_package(folder: Path) -> None:
    """Compile the package of a copy of the checkout."""
    for source in folder.glob("gsym/**/*.py"):
        write_compiled(source, compile(source.read_bytes(), source, "exec"))


def mark_statements(folder: Path) -> None:
    """Let the package of a copy of the checkout mark what it executes."""
    sources = sorted(folder.glob("gsym/**/*.py"))
    first = 0
    for source in sources:
        tree = ast.parse(source.read_bytes())
        for node in ast.walk(tree):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list):
                    block[:] = _marked(block, first)
        position = next(
            (at for at, node in enumerate(tree.body) if _is_mark(node)), len(tree.body)
        )
        statement = ast.parse("from gsym_marks import marks as _marks").body
        tree.body[position:position] = statement
        ast.fix_missing_locations(tree)
        write_compiled(source, compile(tree, source, "exec"))
        first += source.read_bytes().count(b"\n") + 1
    marks = folder / "marks"
    marks.write_bytes(bytes(first))
    (folder / "gsym_marks.py").write_text(_MARKS.format(path=str(marks), size=first))


def _marked(block: list[ast.stmt], first: int) -> Iterator[ast.stmt]:
    for at, node in enumerate(list(block)):
        is_docstring = (
            at == 0
            and isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not is_docstring and not is_future:
            mark = ast.parse(f"_marks[{first + node.lineno}] = 1").body[0]
            for each in ast.walk(mark):
                ast.copy_location(each, node)
            yield mark
        yield node


def _is_mark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node).startswith("_marks[")


class _Recorder:
    """Writes what each test of a file executes."""

    def __init__(self, record: Path) -> None:
        self._record = record
        self._keys: dict[int, str] = {}
        first = 0
        for source in sorted(Path().glob("gsym/**/*.py")):
            text = source.read_text("utf-8")
            for statement in statements(str(source), ast.parse(text), text):
                self._keys[first + statement.node.lineno] = statement.key
            first += text.count("\n") + 1
        with Path("marks").open("r+b") as file:
            self._marks = mmap.mmap(file.fileno(), 0)
        self._masks: dict[str, int] = {}
        self._tests: list[tuple[str, float]] = []
        self._seconds = 0.0
        self._has_passed = True

    def _take(self, bit: int) -> None:
        data = self._marks[:]
        self._marks[:] = bytes(len(data))
        for found in re.finditer(b"\1", data):
            key = self._keys[found.start()]
            self._masks[key] = self._masks.get(key, 0) | 1 << bit

    def pytest_runtest_logstart(self) -> None:
        self._take(0)
        self._seconds, self._has_passed = 0.0, True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds += report.duration
        self._has_passed &= report.passed

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if self._has_passed:
            self._tests.append((nodeid, round(self._seconds, 3)))
            self._take(len(self._tests))
        else:
            self._take(0)

    def pytest_sessionfinish(self) -> None:
        self._take(0)
        executed: dict[str, list[str]] = {}
        for key, mask in self._masks.items():
            executed.setdefault(f"{mask:x}", []).append(key)
        record = {"tests": self._tests, "executed": executed}
        self._record.write_text(json.dumps(record), "utf-8")


class _Selection:
    """Runs the tests of a list, in its order; leaves the name of one that fails."""

    def __init__(self, path: Path) -> None:
        self._path = path
        names = path.read_text("utf-8").split("\0")
        self._order = {name: at for at, name in enumerate(names)}
        path.write_text("")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [each for each in items if each.nodeid in self._order]
        items.sort(key=lambda each: self._order[each.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._path.write_text(report.nodeid, "utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Record or select, as the environment says."""
    if _RECORD in os.environ:
        record = Path(os.environ.pop(_RECORD))
        config.pluginmanager.register(_Recorder(record))
    if _SELECTED in os.environ:
        selected = Path(os.environ.pop(_SELECTED))
        config.pluginmanager.register(_Selection(selected))


class Record(NamedTuple):
    """What the tests of a file execute: for each statement a bit for each test.

    Bit 0 stands for what was executed outside of tests, bit N + 1 for test N.
    """

    name: str
    tests: list[tuple[str, float]]  # names and seconds
    masks: dict[str, int]


def load(path: Path, name: str) -> Record:
    """Read a record."""
    record = json.loads(path.read_text("utf-8"))
    masks = {
        key: int(mask, 16) for mask, keys in record["executed"].items() for key in keys
    }
    return Record(name, record["tests"], masks)
