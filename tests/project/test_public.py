"""The public modules are those that docs/stability.md names; examples use no others."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import gsym

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/stability.md").read_text()
ROW = re.compile(r"^\| `(gsym\.\w+)` \| .* \| (.*) \|$", re.MULTILINE)
PUBLIC = {module: re.findall(r"`(\w+)`", names) for module, names in ROW.findall(PAGE)}
IMPORT = re.compile(
    r"^\s*(?:from|import) (gsym[\w.]*)(?: import (\w[^#\n]*))?", re.MULTILINE
)


def test_the_page_names_modules() -> None:
    named = {"arrow", "fxt", "profiles", "server", "symbfile"}
    assert {f"gsym.{each}" for each in named} <= PUBLIC.keys()


@pytest.mark.parametrize("module", PUBLIC)
def test_a_public_module_has_the_names_that_the_page_has(module: str) -> None:
    found = importlib.import_module(module)
    for name in PUBLIC[module]:
        assert getattr(found, name) is not None
    assert sorted(getattr(found, "__all__", PUBLIC[module])) == sorted(PUBLIC[module])
    assert "nothing" not in dir(found)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = found.nothing


@pytest.mark.parametrize("module", ["gsym", *PUBLIC])
def test_type_checkers_know_the_names_and_where_they_are(module: str) -> None:
    path = ROOT.joinpath(*module.split("."), "__init__.py")
    tree = ast.parse(path.read_text())
    typed = {
        alias.name: str(node.module).removeprefix(f"{module}.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    tables = [
        ast.literal_eval(node.args[1])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy_names"
    ]
    loaded = [
        {name: each for each, names in table.items() for name in names.split()}
        for table in tables
    ]
    assert loaded in ([typed], []), "names that are loaded, names that are typed"
    assert typed.keys() == set(PUBLIC.get(module, gsym.__all__))


def imported(text: str) -> set[str]:
    """The modules of the package that examples in a text import."""
    return {module for module, _ in IMPORT.findall(text)}


@pytest.mark.parametrize(
    "path",
    [
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs/examples").rglob("*.py"),
        *(ROOT / "examples").rglob("*.py"),
        ROOT / "README.md",
    ],
    ids=lambda path: path.name,
)
def test_examples_import_what_is_public(path: Path) -> None:
    for module in imported(path.read_text()):
        is_engine = module.startswith("gsym.arrow.engines.")
        assert module in {"gsym", *PUBLIC} or is_engine, module
    for module, names in IMPORT.findall(path.read_text()):
        for name in re.findall(r"\w+", names.partition(" as ")[0]):
            known = PUBLIC.get(module, gsym.__all__)
            assert name in known or module.startswith("gsym.arrow.engines."), name
