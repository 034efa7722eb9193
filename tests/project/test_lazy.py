"""What is loaded at its first use: regular expressions and modules."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import gsym
from gsym import lazy

ROOT = Path(gsym.__file__).parent
USE = r"^from gsym[.]lazy import .*\bregex\b"
# Where all are compiled at once.
IMPORT_ALL = """
import importlib, re, sys
from gsym import lazy
compiled = []
def regex(*given):
    compiled.append(re.compile(*given))
    return compiled[-1]
lazy.regex = regex
for name in sys.argv[1:]:
    importlib.import_module(name)
print(len(compiled))
"""


def test_every_pattern_is_valid() -> None:
    names = [
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        for path in ROOT.rglob("*.py")
        if re.search(USE, path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    command = [sys.executable, "-c", IMPORT_ALL, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert int(done.stdout) > 200


@pytest.mark.parametrize(
    ("pattern", "flags", "text"),
    [
        ("a(b+)", 0, "xabbb"),
        (b"A", re.IGNORECASE, b"xa"),
        ("(?P<n>.)", re.DOTALL, "\n"),
    ],
)
def test_it_does_what_a_compiled_one_does(pattern: str, flags: int, text: str) -> None:
    late, compiled = lazy.regex(pattern, flags), re.compile(pattern, flags)
    for name in ("search", "match", "fullmatch"):
        for _ in range(2):
            found, expected = getattr(late, name)(text), getattr(compiled, name)(text)
            assert (found and found.span()) == (expected and expected.span())
    assert (late.pattern, late.flags) == (compiled.pattern, compiled.flags)
    assert late.groupindex == compiled.groupindex
    assert copy.copy(late).pattern == pattern
    with pytest.raises(AttributeError, match="nothing"):
        late.nothing  # type: ignore[attr-defined] # noqa: B018


def test_what_is_set_in_a_module_imported_late_is_set_in_the_module(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As where a confined process may write.
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(lazy.tempfile, "tempdir", "/of/the/process")
    assert tempfile.gettempdir() == "/of/the/process"
    assert lazy.tempfile.tempdir == "/of/the/process"
