"""The `gsym` command itself: verbs, exit codes, and what errors look like."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli import main as command, terminal
from gsym.cli.grammar import Command, UsageError, Values
from gsym.cli.terminal import describe, printable
from gsym.cli.verbs import GROUPS, VERBS, verbs_of

if TYPE_CHECKING:
    from collections.abc import Callable

Captured = pytest.CaptureFixture[str]


class Verb(ModuleType):
    """A verb `probe` whose `work` a test replaces."""

    work: Callable[[Values], int]
    COMMAND: Command


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Verb:
    module = Verb("gsym.cli.verbs.probe")
    command = Command("gsym probe", ("[WORD...]  any",))
    module.COMMAND = command(lambda values: module.work(values))  # noqa: PLW0108
    monkeypatch.setitem(sys.modules, "gsym.cli.verbs.probe", module)
    monkeypatch.setitem(VERBS, "probe", ("probe", "Probe"))
    return module


def test_help_lists_every_verb(capsys: Captured) -> None:
    assert command.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert sorted(verbs_of("")) == sorted(sum(GROUPS.values(), ()))
    for name in verbs_of(""):
        assert f"  {name} " in out
        assert VERBS[name][1] in out


def test_no_arguments_is_a_usage_error_that_shows_the_help(capsys: Captured) -> None:
    assert command.main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage: gsym VERB" in captured.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["lokup"], "unknown verb 'lokup'; did you mean 'lookup'?"),
        (["xyzzy"], "unknown verb 'xyzzy'"),
        (["gsym"], "unknown verb 'gsym'"),
        (["store add"], "unknown verb 'store add'"),
        (["--nope"], "unknown option '--nope'"),
    ],
    ids=repr,
)
def test_an_unknown_verb_is_refused(
    capsys: Captured, arguments: list[str], reason: str
) -> None:
    assert command.main(arguments) == 2
    assert capsys.readouterr().err == f"gsym: error: {reason}\nTry 'gsym --help'.\n"


def test_help_of_each_verb_agrees_with_the_overview(capsys: Captured) -> None:
    for name in sorted(VERBS):
        assert command.main([*name.split(), "--help"]) == 0
        captured = capsys.readouterr()
        assert captured.out.startswith(f"usage: gsym {name} ")
        assert f"\n{VERBS[name][1]}.\n" in captured.out
        assert captured.err == ""
        assert command.main(["help", *name.split()]) == 0
        assert capsys.readouterr() == captured
        assert command.main([*name.split(), "--version"]) == 0
        assert capsys.readouterr().out == f"gsym {gsym.__version__}\n"


# The same thing has the same word on every verb.
SHARED = {
    "--json": ("", ""),
    "--quiet": ("-q", ""),
    "--verbose": ("-v", ""),
    "--output": ("-o", "OUT"),
    "--threads": ("-j", "N"),
    "--strict": ("", ""),
    "--demangle": ("-C", ""),
    "--color": ("", "WHEN"),
    "--to": ("", "FORMAT"),
    "--from-time": ("", "TIME"),
    "--to-time": ("", "TIME"),
    "--timeout": ("", "TIME"),
    "--max-size": ("", "SIZE"),
    "--segment-size": ("", "SIZE"),
    "--part-size": ("", "SIZE"),
    "--source": ("", "SOURCE"),
}


def test_shared_options_are_alike_on_every_verb() -> None:
    met = set()
    for name in VERBS:
        if not VERBS[name][0]:
            continue
        for option in command.find_command(name).options:
            if option.name in SHARED:
                met.add(option.name)
                assert (option.short, option.metavar) == SHARED[option.name], name
            else:
                assert option.short not in {
                    short for short, _ in SHARED.values() if short
                }
    assert met == set(SHARED)


def raising(error: BaseException) -> Callable[[Values], int]:
    def work(_values: Values) -> int:
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (gsym.GsymError("no"), 1, "gsym: error: no\n"),
        (
            gsym.FormatError("bad magic", path="a.gsym", offset=16),
            1,
            "gsym: error: a.gsym: offset 0x10: bad magic\n",
        ),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "a.gsym"),
            1,
            "gsym: error: a.gsym: No such file or directory\n",
        ),
        (
            OSError(errno.EIO, "Input/output error"),
            1,
            "gsym: error: Input/output error\n",
        ),
        (MemoryError(), 1, "gsym: error: out of memory\n"),
        (
            UsageError("wrong"),
            2,
            "gsym probe: error: wrong\nTry 'gsym probe --help'.\n",
        ),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_errors_give_an_exit_code_and_one_line(
    verb: Verb, capsys: Captured, error: BaseException, status: int, message: str
) -> None:
    verb.work = raising(error)
    assert command.main(["probe"]) == status
    assert capsys.readouterr().err == message


def test_exit_code_of_a_verb_is_returned(verb: Verb) -> None:
    verb.work = lambda values: len(values.operands("WORD"))
    assert command.main(["probe", "a", "b", "c"]) == 3


def test_internal_errors_are_raised(verb: Verb) -> None:
    verb.work = raising(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        command.main(["probe"])


def program(body: str) -> list[str]:
    """A process that runs `gsym probe`, the verb being *body*."""
    script = (
        "import sys, types\n"
        "from gsym.cli.grammar import Command\n"
        "from gsym.cli import main as command\n"
        "def work(values):\n"
        f"    {body}\n"
        "    return 0\n"
        "verb = sys.modules['gsym.cli.verbs.probe'] = types.ModuleType('probe')\n"
        "verb.COMMAND = Command('gsym probe')(work)\n"
        "command.VERBS['probe'] = 'probe', 'Probe'\n"
        "sys.exit(command.main(['probe']))\n"
    )
    return [sys.executable, "-c", script]


def test_early_closed_pipe_is_not_an_error() -> None:
    with subprocess.Popen(
        program("sys.stdout.writelines(['x' * 80] * 100_000)"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["doctor"]])
def test_an_output_that_is_full_is_named(arguments: list[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    command = [sys.executable, "-m", "gsym", *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, env=environment, check=False
        )
    reason = os.strerror(errno.ENOSPC)
    assert done.stderr.decode() == f"gsym: error: standard output: {reason}\n"
    assert done.returncode == 1


def test_an_error_of_a_file_is_told_where_the_output_is_full_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(sys, "stdout", Full())
    monkeypatch.setattr(terminal, "discard_output", lambda: None)
    error = OSError(errno.ENOSPC, "full", str(tmp_path))
    assert terminal.flush_or_discard(error) is error
    named = terminal.flush_or_discard(OSError(errno.ENOSPC, "full"))
    assert terminal.describe(named) == "standard output: full"


def test_names_that_are_not_utf8_are_printed_unchanged() -> None:
    name = "b'\\xff\\xe9'.decode('utf-8', 'surrogateescape')"
    environment = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    output = subprocess.check_output(program(f"print({name})"), env=environment)
    assert output == b"\xff\xe9\n"


def test_the_package_runs_as_a_module() -> None:
    output = subprocess.check_output([sys.executable, "-m", "gsym", "--version"])
    assert output.decode() == f"gsym {gsym.__version__}{os.linesep}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("main", "main"),
        ("größe::operator()", "größe::operator()"),
        ("a\nb", "a\\x0ab"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\x9b31m"),
        ("\udcff", "\udcff"),
    ],
)
def test_control_characters_never_reach_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert describe(gsym.GsymError(text)) == shown
