"""Docstrings begin with a noun or a verb."""

from __future__ import annotations

import ast
import re

import pytest

from tests.project.test_layers import package_sources

pytestmark = pytest.mark.no_engine

# Words that begin a clause, or that stand for what is said elsewhere.
FORBIDDEN = re.compile(
    r"(As|By|From|How|Its|Likewise|Of|That|The same|Those|What|When|Where|Which|Who|Why"
    r"|With|Without)\b"
)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def clauses(source: str) -> list[str]:
    """First lines of docstrings that begin with a forbidden word."""
    found = []
    for node in ast.walk(ast.parse(source)):
        text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
        if text and FORBIDDEN.match(text):
            found.append(text.partition("\n")[0])
    return found


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    found = {name: clauses(text) for name, text in package_sources().items()}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Why it is refused.", ["Why it is refused."]),
        ("The same as records.", ["The same as records."]),
        ("Reason for its refusal.", []),
        ("Asked by name.", []),
    ],
)
def test_a_clause_is_found(text: str, found: list[str]) -> None:
    assert clauses(f'def f():\n    """{text}"""\n') == found
