"""The command line of `gsym-addr2line`, as getopt reads GNU addr2line's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gsym.cli.dropins.addr2line import OPTIONS, help_text, parse
from gsym.cli.grammar import HelpRequested, UsageError, expand_response_files

if TYPE_CHECKING:
    from pathlib import Path

LETTERS = "abCefijprRs"


def given(*words: str) -> str:
    options = parse(list(words))
    names = {each.short[1:]: each.name for each in OPTIONS}
    return "".join(letter for letter in LETTERS if options.flag(names[letter]))


@pytest.mark.parametrize(
    ("words", "letters"),
    [
        (["-a", "-f"], "af"),
        (["-Cfpi"], "Cfip"),
        (["-afie", "x"], "aefi"),
        (["-aex"], "ae"),
        (["-rR"], "rR"),
        (["--addresses", "--basenames", "--functions"], "afs"),
        (["--inlines", "--pretty-print", "--demangle"], "Cip"),
        (["--a", "--ba", "--f", "--i", "--p", "--d"], "Cafips"),
        (["--rec", "--recursion", "--no", "--no-rec"], "rR"),
        (["--target=elf64-x86-64", "-bx"], "b"),
        (["--sec", ".text"], "j"),
        (["1", "-f", "2"], "f"),
        (["--", "-f"], ""),
        (["-"], ""),
    ],
    ids=repr,
)
def test_options_have_short_long_and_cut_forms(words: list[str], letters: str) -> None:
    assert given(*words) == "".join(sorted(letters, key=LETTERS.index))


def test_values_and_addresses() -> None:
    options = parse(["1", "-ea", "-e", "b", "-jx", "2", "--", "-f", "--exe=c"])
    assert (options.text("--exe"), options.text("--section")) == ("b", "x")
    assert options.operands("ADDRESS") == ["1", "2", "-f", "--exe=c"]
    assert parse([]).text("--exe") is None
    assert parse(["--exe="]).text("--exe") == ""


@pytest.mark.parametrize(
    ("words", "demangles"),
    [
        ([], False),
        (["-C"], True),
        (["--demangle=gnu-v3"], True),
        (["--dem=none"], False),
    ],
    ids=repr,
)
def test_demangling_has_styles(words: list[str], *, demangles: bool) -> None:
    assert (parse(words).text("--demangle") not in {None, "none"}) is demangles


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["-fZ"], "invalid option -- 'Z'"),
        (["-e"], "option requires an argument -- 'e'"),
        (["--exe"], "option '--exe' requires an argument"),
        (["--fo"], "unrecognized option '--fo'"),
        (["--functions=3"], "option '--functions' doesn't allow an argument"),
        (["--func=3"], "option '--functions' doesn't allow an argument"),
    ],
    ids=repr,
)
def test_mistakes_are_named_with_the_help(words: list[str], reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(words)
    assert str(caught.value) == f"gsym-addr2line: {reason}\n{help_text()}"


@pytest.mark.parametrize("word", ["-h", "-H", "--help", "--he", "-v", "-V", "--ver"])
def test_help_and_version_succeed(word: str) -> None:
    with pytest.raises(HelpRequested, match="addr2line"):
        parse(["-f", word, "-Z"])


def test_posix_asks_for_options_in_front(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSIXLY_CORRECT", "")
    assert parse(["-f", "1", "-e", "x"]).operands("ADDRESS") == ["1", "-e", "x"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \n\t", []),
        ("1 2\n3", ["1", "2", "3"]),
        ("'a b' c\"d e\"f", ["a b", "cd ef"]),
        ("''", [""]),
        (r"a\ b '\'' \\", ["a b", "'", "\\"]),
        ("'open 1", ["open 1"]),
        ("@none", ["@none"]),
    ],
    ids=repr,
)
def test_words_of_a_file(tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "words"
    path.write_text(text)
    assert parse(["0", f"@{path}", "9"]).operands("ADDRESS") == ["0", *words, "9"]


def test_recursive_options_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "loop"
    path.write_text(f"1 @{path}")
    with pytest.raises(UsageError, match="too many @-files"):
        parse([f"@{path}"])
    assert parse(["@no-such-file"]).operands("ADDRESS") == ["@no-such-file"]


def test_no_more_files_are_read_than_allowed(tmp_path: Path) -> None:
    words = []
    for name in "abc":
        (tmp_path / name).write_text(f"from {name}")
        words.append(f"@{tmp_path / name}")
    assert expand_response_files(words, 2) == ["from", "a", "from", "b", words[2]]
