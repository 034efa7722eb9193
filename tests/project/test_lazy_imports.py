"""Imports inside functions: the kinds that are allowed, and how many of each."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.project.test_layers import package_sources

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.no_engine

# Kind -> the most of them in the package, and why they stand inside of functions. An
# import of the last two kinds belongs to the head of its file.
ALLOWED = {
    "start": (298, "a module that the importer does not load: faster starts"),
    "standard": (57, "rarely used, slow, or not on all systems; see gsym/lazy.py"),
    "package": (33, "a package of an extra, which may not be installed"),
    "ring": (7, "a module that loads the importer"),
    "idle": (1, "a module that the importer loads anyway"),
}


def imports(tree: ast.AST, names: set[str], *, inside: bool) -> Iterator[str]:
    """Modules imported by a file, in functions if *inside*, at its head if not.

    Args:
        tree: The file.
        names: The modules of the package, dotted.
        inside: Which of the two.
    """
    waiting = [(tree, False)]
    while waiting:
        node, is_inside = waiting.pop()
        test = node.test if isinstance(node, ast.If) else None
        if isinstance(test, ast.Name) and test.id == "TYPE_CHECKING":
            continue
        if is_inside == inside and isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if is_inside == inside and isinstance(node, ast.ImportFrom) and node.module:
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from {each if each in names else node.module for each in full}
        is_inside |= isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        waiting += [
            (child, is_inside)
            for child in ast.iter_child_nodes(node)
            if isinstance(child, (ast.stmt, ast.excepthandler))
        ]


def loaded_with(heads: dict[str, set[str]]) -> dict[str, set[str]]:
    """The modules that each module loads, also through others."""
    found = {}
    for name in heads:
        reached: set[str] = set()
        waiting = [name]
        while waiting:
            new = heads.get(waiting.pop(), set()) - reached
            reached |= new
            waiting += new
        found[name] = reached
    return found


def lazy_imports(sources: dict[str, str]) -> list[tuple[str, str, str]]:
    """(kind, importer, module) of each import inside a function.

    Args:
        sources: {dotted name: text} of a package `gsym`.
    """
    trees = {
        f"gsym.{name}".removesuffix(".__init__"): ast.parse(text)
        for name, text in sources.items()
    }
    names = set(trees)
    heads = {}
    for name, tree in trees.items():
        used = set(imports(tree, names, inside=False)) & names
        for module in [*used]:
            parts = module.split(".")
            used |= {".".join(parts[:end]) for end in range(2, len(parts))} & names
        heads[name] = used
    loaded = loaded_with(heads)
    found = []
    for name, tree in trees.items():
        for module in imports(tree, names, inside=True):
            first = module.partition(".")[0]
            if module == "gsym":  # for the version
                continue
            if first != "gsym":
                kind = "standard" if first in sys.stdlib_module_names else "package"
            elif module in loaded[name]:
                kind = "idle"
            else:
                kind = "ring" if name in loaded.get(module, ()) else "start"
            found.append((kind, name, module))
    return found


def test_imports_inside_functions_stay_within_their_numbers() -> None:
    found = lazy_imports(package_sources())
    assert {kind for kind, _, _ in found} <= set(ALLOWED)
    for kind, (most, reason) in ALLOWED.items():
        importers = Counter(name for each, name, _ in found if each == kind)
        assert importers.total() <= most, f"{reason}: {importers}"


def test_each_kind_is_told_apart() -> None:
    sources = {
        "low": "",
        "middle": "import gsym.low\ndef f():\n    import json, pyarrow, gsym.low\n",
        "high": "import gsym.middle\n",
        "other": "def f():\n    from gsym import high\n    import gsym\n",
        "ring": "def f():\n    import gsym.round\n",
        "round": "from gsym.ring import f\n",
        "typed": "if TYPE_CHECKING:\n    import gsym.low\n",
    }
    assert sorted(lazy_imports(sources)) == [
        ("idle", "gsym.middle", "gsym.low"),
        ("package", "gsym.middle", "pyarrow"),
        ("ring", "gsym.ring", "gsym.round"),
        ("standard", "gsym.middle", "json"),
        ("start", "gsym.other", "gsym.high"),
    ]
