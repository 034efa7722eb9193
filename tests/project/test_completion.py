"""Completion in editors: jedi, which IPython asks, knows the public names."""

from __future__ import annotations

from pathlib import Path

import pytest

jedi = pytest.importorskip("jedi")
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("gsym.", "convert"),
        ("gsym.", "open"),
        ("gsym.open('a').", "lookup_many"),
        ("gsym.open('a').lookup(1).", "frames"),
        ("gsym.symbolicate('text').", "threads"),
        ("gsym.convert('a', 'b').", "functions"),
        ("gsym.Process(1).", "lookup"),
        ("gsym.Store('a').", "entries"),
    ],
)
def test_public_names_are_completed(line: str, name: str) -> None:
    script = jedi.Script(f"import gsym\n{line}", project=jedi.Project(ROOT))
    assert name in {each.name for each in script.complete(2, len(line))}
