"""The command line of `gsym-symbolizer`: llvm-symbolizer's options and spellings."""

from __future__ import annotations

import os

from gsym.cli.dropins.gsymutil_options import parse_number
from gsym.cli.grammar import (
    Option,
    UsageError,
    expand_response_files,
    help_entry,
    scan_llvm,
    split_words,
)
from gsym.model import UINT64_END

PROGRAM = "gsym-symbolizer"
STYLES = ("LLVM", "GNU", "JSON")

_ENVIRONMENT = "LLVM_SYMBOLIZER_OPTS"
_MAX_RESPONSE_FILES = 100  # a response file may include itself
_LINES_END = 1 << 31
_HELP_COLUMN = 25
_NO_VALUE = "\0"  # an option without its optional value overrides any value

# In the order of the help, which omits options without a text.
OPTIONS = (
    Option(
        "-a, --addresses",
        "Show address before line information",
        aliases=("--print-address",),
    ),
    Option("--adjust-vma offset", "Subtract this from each address"),
    Option("-s, --basenames", "Strip directory names from paths"),
    Option("--build-id value", "Build ID used to look up the binary"),
    Option(
        "--color[=always|auto|never]", "Colours of filtered markup", optional=_NO_VALUE
    ),
    Option(
        "--debug-file-directory dir", "Path to directory where to look for debug files"
    ),
    Option("--debuginfod", "Use debuginfod to find debug files"),
    Option("--default-arch value", "Slice of a universal binary"),
    Option(
        "-C, --demangle",
        "Demangle function names (default)",
        aliases=("-demangle=true",),
        shown="--demangle, --no-demangle",
    ),
    Option("--no-demangle", aliases=("-demangle=false",)),
    Option("--disable-gsym", "Don't look for GSYM files beside binaries"),
    Option("--dwp file", "Path to DWP file to be used for split units"),
    Option(
        "--fallback-debug-path dir", "One more directory where to look for debug files"
    ),
    Option("--filter-markup", "Filter symbolizer markup from stdin"),
    Option(
        "-f, --functions[=none|short|linkage]",
        "Which function names to print",
        optional=_NO_VALUE,
    ),
    Option(
        "--gsym-file-directory dir", "Path to directory where to look for GSYM files"
    ),
    Option("-h, --help", "Display this help"),
    Option(
        "-i, --inlines",
        "Print all inlined frames for a given address (default)",
        aliases=("-inlining", "--inlining", "--inlining=true"),
        shown="--inlines, --no-inlines",
    ),
    Option("--no-inlines", aliases=("--inlining=false",)),
    Option("-e, --obj file", "Path to the file to be symbolized"),
    Option("--exe file"),
    Option("--output-style LLVM|GNU|JSON", "Specify print style"),
    Option("-p, --pretty-print", "Make the output more human friendly"),
    Option(
        "--print-source-context-lines value", "Print N lines of source file context"
    ),
    Option("--relative-address", "Interpret addresses as relative to the image base"),
    Option("--verbose", "Print verbose line info"),
    Option("-v, --version", "Display the version"),
    Option("--cache-size value"),
    Option("--dsym-hint value"),
    *map(Option, ("--dia", "--no-debuginfod", "--no-untag-addresses")),
    *map(Option, ("--relativenames", "--skip-line-zero", "--untag-addresses")),
)

_OPENING = """\
OVERVIEW: gsym-symbolizer, a drop-in for llvm-symbolizer

USAGE: gsym-symbolizer [options] addresses...

Without addresses, lines are read from standard input:

  [CODE|DATA|FRAME] [FILE:|BUILDID:]MODULE ADDRESS

MODULE is a GSYM file, or a binary: with an embedded GSYM file, with MODULE.gsym in the
same folder, or converted into the cache. Omit it with --obj or --build-id. ADDRESS is
a number, or a symbol name with an offset, such as main+0x10.

OPTIONS:
"""
_CLOSING = """
Accepted without effect: --cache-size, --dia, --dsym-hint, --no-debuginfod,
--no-untag-addresses, --relativenames, --skip-line-zero, --untag-addresses.

Pass @FILE as argument to read options from FILE. Options in LLVM_SYMBOLIZER_OPTS are
read before those of the command line.
"""


class Options:
    """A parsed command line."""

    def __init__(self, chosen: list[tuple[str, str]], inputs: list[str]) -> None:
        last = {name: value for name, value in chosen if value != _NO_VALUE}
        names = [name for name, _ in chosen]
        without_value = {name for name, value in chosen if value == _NO_VALUE}
        given = set(names)
        self.inputs = inputs  # requests; if empty, they are read from standard input
        self.help: bool = "--help" in given
        self.version: bool = "--version" in given
        self.filter_markup: bool = "--filter-markup" in given
        self.addresses: bool = "--addresses" in given
        self.pretty: bool = "--pretty-print" in given
        self.verbose: bool = "--verbose" in given
        self.relative_address: bool = "--relative-address" in given
        self.disable_gsym: bool = "--disable-gsym" in given
        self.inlines: bool = _last_of(names, "--inlines", "--no-inlines")
        self.demangle: bool = _last_of(names, "--demangle", "--no-demangle")
        # whether to use debuginfod; None: by default
        self.debuginfod: bool | None = None
        if given & {"--debuginfod", "--no-debuginfod"}:
            self.debuginfod = _last_of(names, "--debuginfod", "--no-debuginfod")
        self.basenames: bool = "--basenames" in given and _last_of(
            names, "--basenames", "--relativenames"
        )
        functions = "" if "--functions" in without_value else last.get("--functions")
        # "none", "short" or "linkage"
        self.functions: str = functions if functions in {"none", "short"} else "linkage"
        self.adjust_vma: int = _number(last, "--adjust-vma", UINT64_END)
        # number of source lines to print, 0 for none
        self.context_lines: int = _number(
            last, "--print-source-context-lines", _LINES_END
        )
        _number(last, "--cache-size", UINT64_END)
        style = last.get("--output-style", "")
        color = "always" if "--color" in without_value else last.get("--color")
        # "always", "auto" or "never", for markup
        self.color: str = color if color in {"always", "never"} else "auto"
        self.style = style if style in STYLES else STYLES[0]  # one of STYLES
        self.default_arch: str | None = last.get("--default-arch") or None
        self.dwp: str | None = last.get("--dwp") or None
        self.debug_directories: list[str] = [
            value
            for name, value in chosen
            if name in {"--debug-file-directory", "--fallback-debug-path"}
        ]
        self.gsym_directories: list[str] = [
            value for name, value in chosen if name == "--gsym-file-directory"
        ]
        # the module of all requests; None if each names its own
        self.obj: str | None = last.get("--obj")
        # the build id of that module, b"" for none
        self.build_id: bytes = b"" if self.filter_markup else _build_id(last)
        # messages to print to standard error first
        self.warnings: list[str] = [
            f"Warning: invalid dSYM hint: \"{value}\" (must have the '.dSYM' "
            "extension).\n"
            for name, value in chosen
            if name == "--dsym-hint" and not value.endswith(".dSYM")
        ]


def parse(arguments: list[str]) -> Options:
    """Parse the options of the environment, then a command line without the program."""
    words = [*split_words(os.environ.get(_ENVIRONMENT, "")), *arguments]
    words = expand_response_files(words, _MAX_RESPONSE_FILES)
    chosen: list[tuple[str, str]] = []
    inputs: list[str] = []
    errors: list[str] = []
    for option, value in scan_llvm(words, OPTIONS, errors):
        if option is None:
            inputs.append(value)
        else:
            name = "--obj" if option.name == "--exe" else option.name
            chosen.append((name, value))
    if errors:
        raise UsageError("".join(f"error: {each}\n" for each in errors))
    return Options(chosen, inputs)


def help_text() -> str:
    """The text of `--help`."""
    lines = []
    for option in OPTIONS:
        if option.help:
            value = f"=<{option.metavar}>" if option.metavar else ""
            heads = [option.shown or option.name + value, option.short]
            heads += [alias for alias in option.aliases if alias == "--print-address"]
            heads += ["--exe=<file>"] if option.name == "--obj" else []
            head = ", ".join(filter(None, heads))
            lines += help_entry(head, option.help, _HELP_COLUMN, wraps=False)
    return _OPENING + "\n".join(lines) + "\n" + _CLOSING


def parse_build_id(digits: str) -> bytes:
    """A build id from hexadecimal digits; b"" if they are invalid."""
    if not digits.isalnum():  # fromhex() accepts spaces
        return b""
    try:
        return bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2))
    except ValueError:
        return b""


def _last_of(names: list[str], yes: str, no: str) -> bool:
    """Whether *yes* was given after *no*, or neither was given."""
    for name in reversed(names):
        if name in {yes, no}:
            return name == yes
    return True


def _number(last: dict[str, str], name: str, end: int) -> int:
    text = last.get(name)
    if text is None:
        return 0
    value = parse_number(text)
    if value is None or value >= end:
        raise UsageError(f"{name}=: expected a non-negative integer, but got '{text}'")
    return value


def _build_id(last: dict[str, str]) -> bytes:
    if "--build-id" in last and "--obj" in last:
        raise UsageError("error: cannot specify both --build-id and --obj\n")
    text = last.get("--build-id")
    if text is None:
        return b""
    value = parse_build_id(text)
    if not value:
        raise UsageError(f"--build-id=: expected a build ID, but got '{text}'\n")
    return value
