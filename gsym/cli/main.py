"""The `gsym` command: finds the verb, runs it, turns errors into exit codes.

Exit codes: 0 it ran (an address without an answer is no error), 1 an input or
output could not be used, 2 the command line is wrong, 3 `--strict` and an address
had no answer. A verb is a module of this package with `run(arguments) -> int`; it
is imported only when it is used.
"""

from __future__ import annotations

import sys

from gsym.cli.options import HelpRequested, UsageError, suggestion
from gsym.cli.program import run_program

# Repeated from each verb's declaration: the list of verbs must not import them all.
VERBS = {
    "convert": "Convert the debug information of binaries to GSYM files",
    "merge": "Make one GSYM file of several",
    "lookup": "Find function, file, line and inline chain of addresses",
    "dump": "Print a GSYM file in readable form",
    "verify": "Check a GSYM file, by itself or against its binary",
    "export": "Write a GSYM file in the format of other tools",
    "stats": "Show what the bytes of a GSYM file are spent on",
    "embed": "Put a GSYM file into a section of its binary",
    "extract": "Take the GSYM file out of a binary that holds one",
    "symbolicate": "Symbolicate stacks, by a server or from a store",
    "serve": "Answer symbolication requests over HTTP",
}

EXIT_USAGE = 2


def main(argv: list[str] | None = None) -> int:
    """Run the command line *argv* (without the program) and return the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    return run_program(lambda: _dispatch(arguments), _complain)


def _complain(reason: str) -> None:
    print(f"gsym: error: {reason}", file=sys.stderr)


def _dispatch(arguments: list[str]) -> int:
    _let_any_name_through()
    if not arguments:
        print(overview(), end="", file=sys.stderr)
        return EXIT_USAGE
    first = arguments[0]
    if first in {"--help", "-h"}:
        print(overview(), end="")
        return 0
    if first in {"--version", "-V"}:
        from gsym import __version__

        print(f"gsym {__version__}")
        return 0
    if first not in VERBS:
        kind = "option" if first.startswith("-") else "verb"
        reason = f"unknown {kind} '{first}'{suggestion(first, list(VERBS))}"
        return _refuse("gsym", reason)
    return _run(first, arguments[1:])


def _run(verb: str, arguments: list[str]) -> int:
    module = __import__(f"gsym.cli.{verb}", fromlist=("run",))
    try:
        return int(module.run(arguments))
    except HelpRequested as request:
        print(request, end="")
        return 0
    except UsageError as error:
        return _refuse(f"gsym {verb}", str(error))


def _refuse(program: str, reason: str) -> int:
    print(f"{program}: error: {reason}", file=sys.stderr)
    print(f"Try '{program} --help'.", file=sys.stderr)
    return EXIT_USAGE


def overview() -> str:
    """The text of `gsym --help`."""
    lines = [
        "usage: gsym VERB [ARGUMENT]...",
        "",
        "Turn debug information into GSYM files and look addresses up in them.",
        "",
        "verbs:",
        *(f"  {verb:<11} {summary}" for verb, summary in VERBS.items()),
        "",
        "'gsym VERB --help' explains a verb, 'gsym --version' prints the version.",
    ]
    return "\n".join(lines) + "\n"


def _let_any_name_through() -> None:
    """Names are bytes of any kind: print them as they came in."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="surrogateescape")
