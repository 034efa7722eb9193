"""The command line of `gsym-addr2line`: GNU addr2line's options, parsed as by getopt.

Short options may share a word, long names may be abbreviated if unambiguous, options
may follow addresses, and `@FILE` is replaced by the words in a file.
"""

from __future__ import annotations

import os

from gsym import __version__
from gsym.cli.grammar import (
    GNU,
    HelpRequested,
    Option,
    UsageError,
    Values,
    expand_response_files,
    gathered,
    help_entry,
    scan_getopt,
)

PROGRAM = "gsym-addr2line"

_MAX_FILES = 2000  # a response file may include itself
_STYLES = ("none", "auto", "gnu-v3", "java", "gnat", "dlang", "rust")

OPTIONS = (
    Option("@<file>", "Read options from <file>"),
    Option("-a, --addresses", "Show addresses"),
    Option(
        "-b, --target bfdname",
        "Accepted and ignored: files are recognized by their content",
    ),
    Option(
        "-e, --exe file",
        "Binary, or GSYM file, to look addresses up in\n(default is a.out)",
    ),
    Option("-i, --inlines", "Show the functions that one was inlined into"),
    Option("-j, --section name", "Read section-relative offsets instead of addresses"),
    Option("-p, --pretty-print", "Show each location on one line"),
    Option("-s, --basenames", "Strip directory names"),
    Option("-f, --functions", "Show function names"),
    Option("-C, --demangle[=style]", "Demangle function names", optional="auto"),
    Option(
        "-R, --recurse-limit",
        "Accepted and ignored: demangling is always limited",
        aliases=("--recursion-limit",),
    ),
    Option(
        "-r, --no-recurse-limit",
        "Accepted and ignored",
        aliases=("--no-recursion-limit",),
    ),
    Option("-h, --help", "Display this information", aliases=("-H",)),
    Option("-v, --version", "Display the program's version", aliases=("-V",)),
)
_HELP_COLUMN = 25


def help_text() -> str:
    """The text of `--help`."""
    lines = [
        f"Usage: {PROGRAM} [option(s)] [addr(s)]",
        " Convert addresses into line number/file name pairs.",
        (
            " If no addresses are specified on the command line, they will be read "
            "from stdin"
        ),
        " The options are:",
    ]
    for option in OPTIONS:
        value = f"=<{option.metavar}>" if option.metavar else ""
        value = f"[={option.metavar}]" if option.optional else value
        head = f"{option.short} {option.name}{value}".strip()
        lines += help_entry(head, option.help, _HELP_COLUMN, wraps=False)
    return "\n".join(lines) + "\n\n"


def parse(arguments: list[str]) -> Values:
    """Read a command line; the first wrong option, or `--help`, ends it."""
    try:
        words = expand_response_files(arguments, _MAX_FILES, is_strict=True)
    except UsageError as error:
        raise UsageError(f"{PROGRAM}: {error}\n") from None
    is_posix = "POSIXLY_CORRECT" in os.environ
    scanned = scan_getopt(words, OPTIONS[1:], GNU, options_first=is_posix)
    try:
        given, addresses = gathered(map(_checked, scanned))
    except UsageError as error:
        raise UsageError(f"{PROGRAM}: {error}\n{help_text()}") from None
    except ValueError as error:
        raise UsageError(f"{PROGRAM}: {error}\n") from None
    return Values(OPTIONS, given, {"ADDRESS": addresses})


def _checked(found: tuple[Option | None, str]) -> tuple[Option | None, str]:
    option, value = found
    name = "" if option is None else option.name
    if name == "--help":
        raise HelpRequested(help_text())
    if name == "--version":
        version = f"{PROGRAM} (gsym) {__version__}"
        raise HelpRequested(f"{version}\nPrints what GNU addr2line 2.40 prints.\n")
    if name == "--demangle" and value not in _STYLES:
        raise ValueError(f"unknown demangling style `{value}'")
    return found
