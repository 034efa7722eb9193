"""The help texts of all verbs: complete sentences, and the same at any width."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gsym.cli.main import find_command, help_text
from gsym.cli.verbs import GROUPS, VERBS, verbs_of

COLUMNS = 80
WITH_EPILOG = [
    verb for verb, (module, _) in VERBS.items() if module and find_command(verb).epilog
]


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_a_terminal_of_any_width_gets_the_same_help(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = set()
    for columns in ("40", "79", "80", "120", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        shown.add(help_text(verb))
    (text,) = shown
    assert max(map(len, text.splitlines())) <= COLUMNS


@pytest.mark.parametrize("verb", WITH_EPILOG)
def test_closing_lines_are_filled_paragraphs_of_whole_sentences(verb: str) -> None:
    _, _, closing = help_text(verb).partition("  --version               ")
    _, *paragraphs = closing.rstrip("\n").split("\n\n")
    assert paragraphs
    for paragraph in paragraphs:
        lines = paragraph.split("\n")
        if paragraph.startswith("  "):
            assert [line for line in lines if not line.startswith("  ")] == []
            continue
        assert paragraph[0] != " "
        assert paragraph.endswith((".", ":", "URL"))
        for line, after in pairwise(lines):
            # The next word did not fit: no line ends early.
            assert len(line) + 1 + len(after.split()[0]) > COLUMNS, line


@pytest.mark.parametrize("verb", WITH_EPILOG)
def test_the_closing_lines_have_the_words_that_the_verb_declares(verb: str) -> None:
    epilog = find_command(verb).epilog.split()
    assert help_text(verb).split()[-len(epilog) :] == epilog


def test_the_list_of_verbs_begins_with_what_most_people_want() -> None:
    assert next(iter(GROUPS.values())) == ("symbolicate", "lookup", "convert")


def test_each_verb_is_in_one_group() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(verbs_of(""))
