"""The `gsym` command: finds a verb, runs it, turns errors into exit codes.

Exit codes: 0 it ran (an address without an answer is not an error), 1 an input or
output could not be used, 2 the command line is wrong, 3 `--strict` was given and the
result is incomplete.
"""

from __future__ import annotations

import sys

from gsym import __version__, import_module
from gsym.cli.grammar import Command, HelpRequested, UsageError, suggestion
from gsym.cli.program import EXIT_FAILED, EXIT_USAGE, run_program
from gsym.cli.terminal import describe, tell
from gsym.cli.verbs import GROUPS, VERBS, verbs_of

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SUMMARY = "Turn debug information into GSYM files and look addresses up in them"


def main(argv: list[str] | None = None) -> int:
    """Run the command line *argv* (without the program) and return the exit code."""
    return run_program(argv, _read, _complain)


def find_command(verb: str) -> Command:
    """The command line of a verb, such as `store add`."""
    module = import_module(f"gsym.cli.verbs.{VERBS[verb][0]}")
    program = f"gsym {verb}"
    for value in vars(module).values():
        if isinstance(value, Command) and value.program == program:
            return value
    raise LookupError(program)


def help_text(verb: str = "") -> str:
    """The text of `gsym VERB --help`; without a verb, of `gsym --help`."""
    if verb and VERBS[verb][0]:
        return find_command(verb).help()
    program = f"gsym {verb}".rstrip()
    names = verbs_of(verb)
    width = max(map(len, names))
    summary = VERBS[verb][1] if verb else SUMMARY
    lines = [f"usage: {program} VERB [ARGUMENT]...", "", f"{summary}."]
    for title, members in GROUPS.items() if not verb else (("verbs", names),):
        lines += ["", f"{title}:"]
        for name in members:
            text = VERBS[f"{verb} {name}".lstrip()][1]
            lines.append(f"  {name:<{width}} {text}")
    lines += ["", f"'{program} VERB --help' explains a verb."]
    if not verb:
        lines.append("'gsym help VERB' does the same, 'gsym --version' is the version.")
    return "\n".join(lines) + "\n"


def _read(arguments: list[str]) -> tuple[Callable[[Any], int], Any]:
    """Read a command line: the function of its verb, and the values for it."""
    for stream in (sys.stdout, sys.stderr):
        # Names are bytes of any kind: print them as they came in.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="surrogateescape")
    verb, words = _split(arguments)
    if verb and VERBS[verb][0]:
        return find_command(verb).read(words)
    if not words:
        return _show_verbs, verb
    first = words[0]
    if first in {"--help", "-h"}:
        raise HelpRequested(help_text(verb))
    if first in {"--version", "-V"}:
        raise HelpRequested(f"gsym {__version__}\n")
    kind = "option" if first.startswith("-") else "verb"
    hint = suggestion(first, verbs_of(verb))
    raise UsageError(f"unknown {kind} '{first}'{hint}")


def _split(arguments: list[str]) -> tuple[str, list[str]]:
    """Split off the verb that a command line begins with."""
    verb, words = "", list(arguments)
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    while words and not (verb and VERBS[verb][0]):
        longer = f"{verb} {words[0]}".lstrip()
        if longer not in VERBS or " " in words[0]:
            break
        verb = longer
        del words[0]
    return verb, words


def _show_verbs(parent: str) -> int:
    print(help_text(parent), end="", file=sys.stderr)
    return EXIT_USAGE


def _complain(error: Exception, arguments: list[str]) -> int:
    if not isinstance(error, UsageError):
        tell(f"gsym: error: {describe(error)}")
        return EXIT_FAILED
    program = f"gsym {_split(arguments)[0]}".rstrip()
    tell(f"{program}: error: {error}")
    tell(f"Try '{program} --help'.")
    return EXIT_USAGE
