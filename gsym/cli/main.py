"""The `gsym` command: finds a verb, runs it, turns errors into exit codes.

Exit codes: 0 it ran (an address without an answer is not an error), 1 an input or
output could not be used, 2 the command line is wrong, 3 `--strict` was given and the
result is incomplete.
"""

from __future__ import annotations

import sys

from gsym.cli.grammar import Command, HelpRequested, UsageError, suggestion
from gsym.cli.program import EXIT_USAGE, run_program
from gsym.cli.terminal import printable
from gsym.cli.verbs import GROUPS, VERBS, verbs_of

_MODULES = "gsym.cli.verbs."
SUMMARY = "Turn debug information into GSYM files and look addresses up in them"


def main(argv: list[str] | None = None) -> int:
    """Run the command line *argv* (without the program) and return the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    return run_program(lambda: _dispatch(arguments), _complain)


def find_command(verb: str) -> Command:
    """The command line of a verb, such as `store add`."""
    module = __import__(_MODULES + VERBS[verb][0], fromlist=("*",))
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


def _version_text(_verb: str) -> str:
    from gsym import __version__

    return f"gsym {__version__}\n"


_ANSWERS = dict.fromkeys(("--help", "-h"), help_text) | dict.fromkeys(
    ("--version", "-V"), _version_text
)


def _complain(reason: str) -> None:
    print(f"gsym: error: {reason}", file=sys.stderr)


def _dispatch(arguments: list[str]) -> int:
    _let_any_name_through()
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    return _run(arguments, "")


def _run(arguments: list[str], parent: str) -> int:
    """Run the verb below *parent*; the exit code, also of a wrong command line."""
    if not arguments:
        print(help_text(parent), end="", file=sys.stderr)
        return EXIT_USAGE
    first, *rest = arguments
    program = f"gsym {parent}".rstrip()
    if first in _ANSWERS:
        print(_ANSWERS[first](parent), end="")
        return 0
    verb = f"{parent} {first}".lstrip()
    if verb not in VERBS or " " in first:
        kind = "option" if first.startswith("-") else "verb"
        hint = suggestion(first, verbs_of(parent))
        return _refuse(program, f"unknown {kind} '{first}'{hint}")
    return _run_command(rest, verb) if VERBS[verb][0] else _run(rest, verb)


def _run_command(arguments: list[str], verb: str) -> int:
    try:
        return find_command(verb).run(arguments)
    except HelpRequested as request:
        print(request, end="")
        return 0
    except UsageError as error:
        return _refuse(f"gsym {verb}", str(error))


def _refuse(program: str, reason: str) -> int:
    print(f"{program}: error: {printable(reason)}", file=sys.stderr)
    print(f"Try '{program} --help'.", file=sys.stderr)
    return EXIT_USAGE


def _let_any_name_through() -> None:
    """Names are bytes of any kind: print them as they came in."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="surrogateescape")
