"""The `gsym` command: runs a verb, turns errors into exit codes.

Exit codes: 0 it ran (an address without an answer is no error), 1 an input or
output could not be used, 2 the command line is wrong, 3 `--strict` and an address
had no answer.
"""

from __future__ import annotations

import sys

from gsym.cli.program import run_program
from gsym.cli.verb_command import VerbCommand

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
    "store": "Keep GSYM files by the ids of their modules",
    "symbolicate": "Symbolicate stacks, by a server or from a store",
    "filter": "Replace symbolizer markup in a log by symbols",
    "serve": "Answer symbolication requests over HTTP",
    "symbfile": "Read and write symbfiles, which eBPF profilers use",
    "trace": "Read Fuchsia traces and profiles, symbolize and convert them",
}

COMMAND = VerbCommand(
    "gsym",
    "Turn debug information into GSYM files and look addresses up in them",
    VERBS,
    "gsym.cli.verbs.",
    "'gsym VERB --help' explains a verb, 'gsym --version' prints the version.",
)


def main(argv: list[str] | None = None) -> int:
    """Run the command line *argv* (without the program) and return the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    return run_program(lambda: _dispatch(arguments), _complain)


def _complain(reason: str) -> None:
    print(f"gsym: error: {reason}", file=sys.stderr)


def _dispatch(arguments: list[str]) -> int:
    _let_any_name_through()
    if arguments[:1] in (["--version"], ["-V"]):
        from gsym import __version__

        print(f"gsym {__version__}")
        return 0
    return COMMAND.run(arguments)


def _let_any_name_through() -> None:
    """Names are bytes of any kind: print them as they came in."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="surrogateescape")
