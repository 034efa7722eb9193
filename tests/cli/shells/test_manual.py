"""Manual pages, as man and its checkers read them."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gsym.cli.grammar import read_declarations
from gsym.cli.main import find_command
from gsym.cli.shells.completion import SHELLS
from gsym.cli.shells.programs import Program, commands
from gsym.cli.verbs import VERBS
from tests.conftest import REPOSITORY, find_peer
from tools.shared_files import manual_files, manual_page

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_engine
_NO_DATE = 'missing date, using "": TH'  # a version has one page, whenever it is made


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manual")
    for place, text in manual_files():
        (folder / place.rpartition("/")[2]).write_text(text, encoding="utf-8")
    return folder


def shown(page: Path) -> str:
    run = [find_peer("mandoc"), "-T", "ascii", "-O", "width=200", str(page)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    return re.sub(".\b", "", done.stdout)  # bold is a letter over itself


def test_every_verb_and_command_has_a_page(pages: Path) -> None:
    verbs = {f"gsym-{verb.replace(' ', '-')}.1" for verb in VERBS}
    others = {"gsym.1", "gsymutil.1", "gsym-addr2line.1", "gsym-symbolizer.1"}
    assert {page.name for page in pages.iterdir()} == verbs | others


def test_an_installation_writes_pages_and_completions_of_each_command(
    tmp_path: Path,
) -> None:
    run = [sys.executable, "-m", "tools.shared_files", str(tmp_path)]
    subprocess.run(run, check=True, cwd=REPOSITORY)
    for command in commands():
        assert (tmp_path / f"man/man1/{command}.1").exists()
        for _, _, place in SHELLS.values():
            assert (tmp_path / place.format(command)).exists()


def test_a_page_says_what_the_help_says(pages: Path) -> None:
    text = " ".join(shown(pages / "gsym-convert.1").split())
    command = find_command("convert")
    assert f"gsym-convert - {command.summary}" in text
    for option in command.options:
        assert f"{option.name}" in text
        assert " ".join(option.help.split()) in text


def test_an_example_stays_as_it_is(pages: Path) -> None:
    assert r"  gsym filter --demux '^\[(\d+)\]' all.log         lines [PID]" in shown(
        pages / "gsym-filter.1"
    )


def test_a_page_in_the_language_of_man() -> None:
    program = Program(
        "app run",
        "do it",
        *read_declarations(
            """\
FILE  what to read
--size N  how
  much
--hidden
--kind[=a|b]  which
--name X...  who"""
        ),
        {},
        "First.\n\n  app -x '\\d'\n\nLast.\n.dots\n'quotes'\n  end",
    )
    head, _, rest = manual_page(program).partition("\n")
    assert head.startswith('.TH APP\\-RUN 1 "" "gsym ')
    assert rest.partition(".SH EXIT STATUS")[0].splitlines() == [
        ".SH NAME",
        r"app\-run \- do it",
        ".SH SYNOPSIS",
        r"\fBapp run\fR [OPTION]... FILE",
        ".SH DESCRIPTION",
        ".TP",
        r"\fIFILE\fR",
        "what to read",
        ".PP",
        "First.",
        ".PP",
        ".nf",
        r"  app \-x '\ed'",
        ".PP",
        ".fi",
        "Last.",
        r"\&.dots",
        r"\&'quotes'",
        ".nf",
        "  end",
        ".fi",
        ".SH OPTIONS",
        ".TP",
        r"\fB\-\-size\fR \fIN\fR",
        "how much",
        ".TP",
        r"\fB\-\-kind\fR[=\fIa|b\fR]",
        "which",
        ".TP",
        r"\fB\-\-name\fR \fIX\fR",
        "who (repeatable)",
    ]


def test_a_page_names_the_verbs_of_a_command_and_their_pages() -> None:
    page = manual_page(Program("app", "do it", (), (), {"add": "put it there"}))
    assert page.partition(".SH SYNOPSIS\n")[2].startswith(
        "\\fBapp\\fR VERB [ARGUMENT]...\n"
        ".SH VERBS\n"
        ".TP\n"
        "\\fBadd\\fR\n"
        "put it there. See app\\-add(1).\n"
        ".SH OPTIONS\n"
    )


def test_mandoc_finds_nothing_wrong(pages: Path) -> None:
    files = [str(page) for page in sorted(pages.iterdir())]
    run = [find_peer("mandoc"), "-T", "lint", "-W", "warning", *files]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    said = done.stdout.splitlines() + done.stderr.splitlines()
    assert [line for line in said if not line.endswith(_NO_DATE)] == []


def test_groff_finds_nothing_wrong(pages: Path) -> None:
    run = [find_peer("groff"), "-man", "-ww", "-z", "-T", "utf8"]
    for page in sorted(pages.iterdir()):
        done = subprocess.run([*run, page], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
