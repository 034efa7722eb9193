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
    read_declarations,
    scan_getopt,
)

PROGRAM = "gsym-addr2line"

_MAX_FILES = 2000  # a response file may include itself
_STYLES = ("none", "auto", "gnu-v3", "java", "gnat", "dlang", "rust")

OPTIONS: tuple[Option, ...] = read_declarations(
    """\
-a, --addresses  Show addresses
-b, --target bfdname  Accepted and ignored: files are recognized by their content
-e, --exe file  Binary, or GSYM file, to look addresses up in
  (default is a.out)
-i, --inlines  Show the functions that one was inlined into
-j, --section name  Read section-relative offsets instead of addresses
-p, --pretty-print  Show each location on one line
-s, --basenames  Strip directory names
-f, --functions  Show function names""",
    Option("-C, --demangle[=style]  Demangle function names", optional="auto"),
    """\
-R, --recurse-limit | --recursion-limit
  Accepted and ignored: demangling is always limited
-r, --no-recurse-limit | --no-recursion-limit  Accepted and ignored
-h, --help | -H  Display this information
-v, --version | -V  Display the program's version""",
)[1]
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
        *help_entry("@<file>", "Read options from <file>", _HELP_COLUMN, wraps=False),
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
    scanned = scan_getopt(words, OPTIONS, GNU, options_first=is_posix)
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
