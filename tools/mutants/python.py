"""Change one place of the package at a time; report the changes that no test notices.

    python -m tools.mutants.python [--mutants N] [--seed S] [--jobs N] [--again]

Each mutant is judged by the tests that execute the changed statement (`executed.py`).
That says as much as the whole suite, since other tests cannot notice the change. Of a
statement outside of functions, which is executed to import the module, those tests come
first that execute what uses the variables that it sets. Then come other tests that
execute the statement in a child process or, before any test, in their own process, or
that share what was made by it: as many as take `SECONDS`. Among equals quick tests come
first, and files that have the name of the module, or most of whose tests execute the
statement.

Not changed are annotations, docstrings, wording (strings with several words, and those
of errors and logs), `__all__`, and what only type checkers read. Strings with fields
(f-strings) are left as they are, since Python knows places in them from 3.12 on only.
"""

from __future__ import annotations

import ast
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.mutants import executed, gate
from tools.mutants.gate import ROOT, Mutant

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

    from tools.mutants.executed import Record, Statement

SECONDS = 120.0  # of tests that do not execute a statement themselves
QUICK_SECONDS = 0.5  # of a test that runs before others
FIRST_SECONDS = 2.0  # of the tests that run first; then four times as many, and so on
MEMORY = 16 << 30  # of addresses: tests map sparse files
PATIENCE = 10  # times as long as usual may tests take
_PASSED = {0, 5}  # all tests; there are none, as the change gave them other names
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.And: "or",
    ast.Or: "and",
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "//",
    ast.FloorDiv: "*",
    ast.Div: "*",
    ast.Mod: "+",
    ast.LShift: ">>",
    ast.RShift: "<<",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.BitXor: "|",
}
_CONSTANTS = {True: "False", False: "True", None: "0"}
_DROPPED = (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete, ast.Raise, ast.Assert)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_WORDING = re.compile(r"[^\W\d_]\S* \S*[^\W\d_]")
_OF_CHECKERS = re.compile(r"__(all|slots|match_args)__\b|TYPE_CHECKING|_?LOG\b")
_TYPES = {"TypeVar", "ParamSpec", "NewType", "cast", "getLogger"}
_LONGEST = 80  # of a changed place in a report


class Change(NamedTuple):
    """A mutant, and how to make it."""

    mutant: Mutant
    statement: Statement
    start: int  # in bytes, as `end`
    end: int
    text: str


def _is_of_checkers(node: ast.stmt) -> bool:
    """Whether only tools read a statement, or people."""
    if isinstance(node, ast.If | ast.Assign | ast.AnnAssign | ast.Expr):
        part = node.test if isinstance(node, ast.If) else node
        if _OF_CHECKERS.match(ast.unparse(part)):
            return True
    if isinstance(node, _FUNCTIONS):
        return any("overload" in ast.unparse(each) for each in node.decorator_list)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class _Places:
    """The places of a module that can be changed."""

    def __init__(self, path: str, text: str) -> None:
        self._path, self._text = path, text.encode()
        self._starts = [0]
        for line in self._text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._seen: dict[tuple[str, str, str], int] = {}

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        start = self._starts[node.lineno - 1] + node.col_offset
        last = node.end_lineno or node.lineno
        return start, self._starts[last - 1] + (node.end_col_offset or 0)

    def _change(
        self,
        statement: Statement,
        shown: ast.expr | ast.stmt,
        span: tuple[int, int],
        new: str,
    ) -> Change:
        start, end = self._span(shown)
        if end - start > _LONGEST:
            start, end = max(start, span[0] - _LONGEST // 2), min(end, span[1] + 20)
        before = self._text[start:end]
        after = before[: span[0] - start] + new.encode() + before[span[1] - start :]
        old, now = (
            " ".join(each.decode(errors="ignore").split())[: 2 * _LONGEST]
            for each in (before, after)
        )
        function = statement.function
        if isinstance(statement.node, _FUNCTIONS):  # what it takes by default
            function = f"{function}.{statement.node.name}".lstrip(".")
        place = (function, old, now)
        self._seen[place] = self._seen.get(place, -1) + 1
        mutant = Mutant(self._path, function, self._seen[place], old, now or "pass")
        return Change(mutant, statement, *span, new)

    def of_statement(self, statement: Statement) -> Iterator[Change]:
        node = statement.node
        span = self._span(node)
        if isinstance(node, _DROPPED):
            yield self._change(statement, node, span, "pass")
        elif isinstance(node, ast.Break):
            yield self._change(statement, node, span, "continue")
        elif isinstance(node, ast.Continue):
            yield self._change(statement, node, span, "break")
        elif isinstance(node, ast.Return) and not isinstance(
            node.value, ast.Constant | None
        ):
            yield self._change(statement, node, span, "return None")
        if isinstance(node, ast.AugAssign):
            operands = [node.target, node.value]
            yield from self._operators(statement, node, [node.op], operands)
        for each in _parts(node):
            yield from self._of_expression(statement, each, node)

    def _of_expression(
        self, statement: Statement, node: ast.expr, parent: ast.expr | ast.stmt
    ) -> Iterator[Change]:
        if isinstance(node, ast.JoinedStr):
            return
        if node in _conditions(parent) and not isinstance(node, ast.UnaryOp):
            yield self._negated(statement, node)
        yield from self._of_node(statement, node, parent)
        for each in _parts(node):
            yield from self._of_expression(statement, each, node)

    def _negated(self, statement: Statement, node: ast.expr) -> Change:
        start, end = self._span(node)
        text = self._text[start:end].decode()
        return self._change(statement, node, (start, end), f"not ({text})")

    def _of_node(
        self, statement: Statement, node: ast.expr, parent: ast.expr | ast.stmt
    ) -> Iterator[Change]:
        span = self._span(node)
        if isinstance(node, ast.Constant):
            shown = parent if isinstance(parent, ast.expr) else node
            for new in self._constants(statement, node):
                yield self._change(statement, shown, span, new)
        elif isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            yield from self._operators(statement, node, node.ops, operands)
        elif isinstance(node, ast.BoolOp):
            operators = [node.op] * (len(node.values) - 1)
            yield from self._operators(statement, node, operators, node.values)
        elif isinstance(node, ast.BinOp):
            operands = [node.left, node.right]
            yield from self._operators(statement, node, [node.op], operands)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            sign = (span[0], span[0] + (3 if isinstance(node.op, ast.Not) else 1))
            yield self._change(statement, node, sign, "")

    def _operators(
        self,
        statement: Statement,
        node: ast.expr | ast.AugAssign,
        operators: list[ast.cmpop] | list[ast.boolop] | list[ast.operator],
        operands: list[ast.expr],
    ) -> Iterator[Change]:
        for at, operator in enumerate(operators):
            start, end = self._span(operands[at])[1], self._span(operands[at + 1])[0]
            between = re.compile(rb"[^\s()\\#]+( not| in)?").search(
                self._text, start, end
            )
            new = _OPERATORS.get(type(operator))
            if between and new:
                new += "=" if isinstance(node, ast.AugAssign) else ""
                yield self._change(statement, node, between.span(), new)

    def _constants(self, statement: Statement, node: ast.Constant) -> list[str]:
        value = node.value
        if value is None or isinstance(value, bool):
            return [_CONSTANTS[value]]
        start, end = self._span(node)
        text = self._text[start:end].decode()
        if isinstance(value, int | float):
            return [f"({text} + 1)", f"({text} - 1)"]
        if isinstance(value, str | bytes):
            is_wording = isinstance(value, str) and _WORDING.search(value)
            is_error = isinstance(statement.node, ast.Raise)
            if is_wording or is_error or text.endswith('"""'):
                return []
            return [f"{text[:-1]}~{text[-1]}"]
        return []


def _parts(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a node, without those of statements in it and annotations."""
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func).rpartition(".")[2]
        if name in _TYPES:
            return
    for name, field in ast.iter_fields(node):
        if name in {"annotation", "returns", "type_params"}:
            continue
        for each in field if isinstance(field, list) else [field]:
            if isinstance(each, ast.expr):
                yield each
            elif isinstance(
                each, ast.arguments | ast.keyword | ast.comprehension | ast.withitem
            ):
                yield from _parts(each)


def _conditions(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        return [node.test]
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return [each for part in node.generators for each in part.ifs]
    return []


def changed(change: Change, text: str) -> str:
    """The module with the change."""
    data = text.encode()
    new = change.text.encode()
    return (data[: change.start] + new + data[change.end :]).decode()


def changes_of(path: str, text: str) -> Iterator[Change]:
    """The mutants of a module."""
    places = _Places(path, text)
    hidden: set[ast.AST] = set()
    for statement in executed.statements(path, ast.parse(text), text):
        if statement.node in hidden or _is_of_checkers(statement.node):
            hidden.update(ast.walk(statement.node))
            # What follows `else` is for everybody.
            for each in getattr(statement.node, "orelse", ()):
                hidden.difference_update(ast.walk(each))
        else:
            yield from places.of_statement(statement)


def _content(code: CodeType) -> tuple[object, ...]:
    """What code does, without its places in the source."""
    constants = [
        _content(each) if isinstance(each, type(code)) else repr(each)
        for each in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars)
    return code.co_code, names, code.co_flags, code.co_exceptiontable, constants


def _users(statement: Statement, path: str, text: str) -> set[str]:
    """The keys of statements in functions that use what one outside of them defines."""
    names = {
        node.id
        for node in ast.walk(statement.node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    keys = set()
    for each in executed.statements(path, ast.parse(text), text):
        used = {
            getattr(node, "id", getattr(node, "attr", None))
            for node in ast.walk(each.node)
        }
        if each.is_in_function and (
            names & used or each.node in getattr(statement.node, "body", ())
        ):
            keys.add(each.key)
    return keys


class Records:
    """The records of all test files, and the tests to run for a statement."""

    def __init__(self, files: list[Record]) -> None:
        self._files = files

    def tests_for(
        self, statement: Statement, path: str, users: set[str]
    ) -> list[tuple[str, float]]:
        """The tests that execute a statement, likely killers first.

        Args:
            statement: The statement.
            path: The module that has it.
            users: The keys of statements that use what it defines.
        """
        found: list[tuple[tuple[float | str, ...], str, float]] = []
        for file in self._files:
            mask = file.masks.get(statement.key, 0)
            if not mask or not file.tests:
                continue
            using = 0
            for key in users & file.masks.keys():
                using |= file.masks[key] & ~1
            is_namesake = Path(path).stem in Path(file.name).stem
            share = 2 if is_namesake else (mask >> 1).bit_count() / len(file.tests)
            for at, (name, seconds) in enumerate(file.tests):
                bit = 2 << at
                executes = mask & bit
                uses = executes if statement.is_in_function else using & bit
                rank = 0 if uses else 1 if executes or is_namesake else 2
                order = (rank, seconds > QUICK_SECONDS, -share, file.name, seconds)
                found.append((order, name, seconds))
        taken, total = [], 0.0
        for place, name, seconds in sorted(found):
            if place[0]:
                total += seconds
                if total > SECONDS:
                    break
            taken.append((name, seconds))
        return taken


class Workshop(gate.Judge):
    """A copy of the checkout, whose package is compiled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        hidden = (".*", "build", "dist", "__pycache__")
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*hidden))
        self.records = Records([])

    def run(self, seconds: float, *arguments: str, **environment: str) -> int | None:
        """The exit status of pytest; None if it takes much longer than so long."""
        limit = 60 + PATIENCE * int(seconds)

        def restrict() -> None:
            os.nice(10)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        plugins = ("-p", "no:cacheprovider", "-p", "tools.mutants.executed")
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", *plugins, *arguments],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": str(self.folder),
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # starts twice as fast
                **environment,
            },
            preexec_fn=restrict,  # noqa: PLW1509 - no lock is held in the parent
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            return process.wait(2 * limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def record(self, test: Path, path: Path) -> None:
        """Write what the tests of a file execute."""
        environment = {"GSYM_MUTANTS_RECORD": str(path)}
        self.run(1000, str(test), **environment)
        if not path.exists():
            sys.exit(f"no record of {test}")

    def verdict(self, mutant: Mutant) -> str | None:
        """`killed` or `survived`; None if it is no program, or the same."""
        source = self.folder / mutant.path
        text = source.read_text("utf-8")
        changes = list(changes_of(mutant.path, text))
        change = next((each for each in changes if each.mutant == mutant), None)
        if change is None:
            return None
        new_text = changed(change, text)
        code = compile(text, source, "exec")
        try:
            with warnings.catch_warnings(action="ignore"):
                new_code = compile(new_text, source, "exec")
        except SyntaxError:
            return None
        if _content(code) == _content(new_code):
            return None
        users = _users(change.statement, mutant.path, text)
        tests = self.records.tests_for(change.statement, mutant.path, users)
        try:
            source.write_text(new_text, "utf-8")
            executed.write_compiled(source, new_code)
            return "survived" if self.passes(tests) else "killed"
        finally:
            source.write_text(text, "utf-8")
            executed.write_compiled(source, code)

    def passes(self, tests: list[tuple[str, float]]) -> bool:
        """Whether these tests pass; some run first, then four times as many.

        A test that fails but passes when it is run again, alone, is left out: some need
        a machine that is not busy.
        """
        share = FIRST_SECONDS
        while tests:
            total, count = 0.0, 0
            while count < len(tests) and total <= share:
                total += tests[count][1]
                count += 1
            names = [name for name, _ in tests[:count]]
            failed = self.failed(tests[:count])
            if failed is not None:
                if failed not in names:
                    return False
                count = names.index(failed) + 1
                if self.failed(tests[count - 1 : count]) is not None:
                    return False
            del tests[:count]
            share *= 4
        return True

    def failed(self, tests: list[tuple[str, float]]) -> str | None:
        """The first of these tests that fails, "" if others do not run then."""
        names = [name for name, _ in tests]
        selected = self.folder / "selected"
        selected.write_text("\0".join(names), "utf-8")
        files = dict.fromkeys(name.partition("::")[0] for name in names)
        seconds = sum(seconds for _, seconds in tests)
        status = self.run(seconds, "-x", *files, GSYM_MUTANTS_SELECTED=str(selected))
        return None if status in _PASSED else selected.read_text("utf-8")


class Gate(gate.Gate):
    """The mutants of the package."""

    def lines(self) -> list[list[Mutant]]:
        """The mutants of each line that has any."""
        lines: dict[tuple[str, int], list[Mutant]] = {}
        for source in sorted(ROOT.glob("gsym/**/*.py")):
            path, text = str(source.relative_to(ROOT)), source.read_text("utf-8")
            for change in changes_of(path, text):
                line = text.encode().count(b"\n", 0, change.start)
                lines.setdefault((path, line), []).append(change.mutant)
        return list(lines.values())

    def judges(self, count: int) -> list[Workshop]:
        """So many workshops, with records of what tests execute."""
        workshops = [Workshop(self.build / str(number)) for number in range(count)]
        files = self.recorded(workshops)
        for workshop in workshops:
            executed.compile_package(workshop.folder)
            workshop.records = Records(files)
        return workshops

    def recorded(self, workshops: list[Workshop]) -> list[Record]:
        """The records of all test files."""
        folder = self.build / "executed"
        folder.mkdir(parents=True, exist_ok=True)
        paths = {}
        for test in sorted(ROOT.glob("tests/**/test_*.py")):
            name = str(test.relative_to(ROOT))
            digest = blake2b(name.encode() + test.read_bytes(), digest_size=8)
            paths[name] = folder / f"{test.stem}-{digest.hexdigest()}.json"
        missing = [name for name, path in paths.items() if not path.exists()]
        if missing:
            for workshop in workshops:
                executed.mark_statements(workshop.folder)
            print(f"recording what {len(missing)} test files execute", flush=True)
            with ThreadPoolExecutor(len(workshops)) as pool:
                for workshop in workshops:
                    pool.submit(self._record, workshop, missing, paths)
        return [executed.load(path, name) for name, path in paths.items()]

    @staticmethod
    def _record(workshop: Workshop, missing: list[str], paths: dict[str, Path]) -> None:
        while True:
            try:
                name = missing.pop()
            except IndexError:
                return
            workshop.record(Path(name), paths[name])


if __name__ == "__main__":
    sys.exit(gate.main(Gate("python")))
