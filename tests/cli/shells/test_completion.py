"""Completion scripts, run by the shells that they are for."""

from __future__ import annotations

import os
import pty
import subprocess
from typing import TYPE_CHECKING

import pytest

from gsym.cli.main import main
from gsym.cli.shells.completion import script
from gsym.cli.shells.programs import commands, names_of, programs_of
from gsym.cli.verbs import verbs_of
from tests.conftest import find_peer
from tools.shared_files import script_files

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

# As readline splits a line: `=` is a word.
_BASH_RUN = """\
{script}
COMP_WORDS=({words}) COMP_CWORD={last}
{function}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like share/, with the completions only."""
    folder = tmp_path_factory.mktemp("share")
    for place, text in script_files():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")
    return folder


def offered_by_bash(*words: str) -> list[str]:
    run = _BASH_RUN.format(
        script=script("bash", words[0]),
        words=" ".join(f"'{word}'" for word in words),
        last=len(words) - 1,
        function=f"_{words[0].replace('-', '_')}",
    )
    bash = [find_peer("bash"), "--norc", "-c", run]
    done = subprocess.run(bash, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def completed_by_zsh(scripts: Path, line: str) -> str:
    """The words of *line* after a tab; the shell reads it from a terminal."""
    command = line.split(maxsplit=1)[0]
    functions = scripts / "zsh/site-functions"
    start = (
        f"PS1= ; unsetopt zle_bracketed_paste prompt_sp; fpath=({functions} $fpath); "
        f"autoload -U compinit; compinit -u -D; "
        f'{command}() {{ print -r -- "<<$*>>"; exit }}\n'
    )
    read, write = pty.openpty()
    environment = {**os.environ, "HOME": str(scripts), "TERM": "dumb"}
    with subprocess.Popen(
        [find_peer("zsh"), "-f", "-i"],
        stdin=write,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=scripts,
        start_new_session=True,
    ) as process:
        os.write(read, f"{start}{line}\t\n".encode())
        output, _ = process.communicate(timeout=60)
    os.close(write)
    os.close(read)
    return output.decode().rpartition("<<")[2].partition(">>")[0]


# ---- bash


def test_bash_offers_verbs_and_verbs_of_verbs() -> None:
    assert offered_by_bash("gsym", "st") == ["stats", "store"]
    assert offered_by_bash("gsym", "store", "") == verbs_of("store")
    assert offered_by_bash("gsym", "help", "lo") == ["lookup"]


def test_bash_offers_the_options_of_the_verb_that_is_typed() -> None:
    assert offered_by_bash("gsym", "convert", "--dep") == ["--depfile"]
    assert offered_by_bash("gsym", "store", "add", "--keep") == ["--keep-original"]
    assert offered_by_bash("gsym", "find", "--dep") == []


def test_bash_offers_the_values_of_an_option_as_a_word_and_after_an_equals_sign() -> (
    None
):
    assert offered_by_bash("gsym", "convert", "--byteorder", "l") == ["little"]
    assert offered_by_bash("gsym", "convert", "--byteorder", "=", "b") == ["big"]
    assert offered_by_bash("gsym", "convert", "--byteorder", "=") == ["little", "big"]


def test_bash_leaves_operands_and_other_values_to_the_completion_of_files() -> None:
    assert offered_by_bash("gsym", "convert", "") == []
    assert offered_by_bash("gsym", "convert", "--depfile", "=", "a") == []
    assert offered_by_bash("gsym", "completion", "") == ["bash", "zsh"]
    assert "-o bashdefault -o default -F _gsym gsym\n" in script("bash", "gsym")


@pytest.mark.parametrize("command", commands())
def test_bash_offers_every_option_of_a_command(command: str) -> None:
    program, *_ = programs_of(command)
    names = [name for option in program.options for name in names_of(option)]
    assert offered_by_bash(command, "-") == names


# ---- zsh


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("gsym conv", "convert"),
        ("gsym store ad", "store add"),
        ("gsym help loo", "help lookup"),
        ("gsym convert --depf", "convert --depfile"),
        ("gsym convert --byteorder=li", "convert --byteorder=little"),
        ("gsym completion ba", "completion bash"),
        ("gsymutil --num", "--num-threads"),
    ],
)
def test_zsh_completes(scripts: Path, line: str, completed: str) -> None:
    assert completed_by_zsh(scripts, line) == completed


# ---- the verb


def test_the_verb_prints_the_scripts_of_all_commands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["completion", "zsh"]) == 0
    printed = capsys.readouterr().out
    assert [
        command for command in commands() if script("zsh", command) not in printed
    ] == []


def test_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "csh"]) == 2
    assert "unknown shell 'csh': choose bash or zsh" in capsys.readouterr().err
