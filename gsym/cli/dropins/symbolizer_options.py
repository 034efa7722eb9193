"""The command line of `gsym-symbolizer`: llvm-symbolizer's options and spellings."""

from __future__ import annotations

import os

from gsym import __version__
from gsym.cli.dropins.gsymutil_options import parse_number
from gsym.cli.grammar import (
    HelpRequested,
    Option,
    UsageError,
    Values,
    expand_response_files,
    gathered,
    help_entry,
    read_declarations,
    scan_llvm,
    split_words,
)
from gsym.model import UINT64_END

PROGRAM = "gsym-symbolizer"
STYLES = ("LLVM", "GNU", "JSON")

_ENVIRONMENT = "LLVM_SYMBOLIZER_OPTS"
_MAX_RESPONSE_FILES = 100  # a response file may include itself
_LINES_END = 1 << 31
_NO_VALUE = "\0"  # an option without its optional value overrides any value

# In the order of the help, which omits options without a text.
OPTIONS: tuple[Option, ...] = read_declarations(
    """\
-a, --addresses | --print-address  Show address before line information
--adjust-vma offset  Subtract this from each address
-s, --basenames  Strip directory names from paths
--build-id value  Build ID used to look up the binary""",
    Option(
        "--color[=always|auto|never]  Colours of filtered markup", optional=_NO_VALUE
    ),
    """\
--debug-file-directory dir  Path to directory where to look for debug files
--debuginfod  Use debuginfod to find debug files
--default-arch value  Slice of a universal binary""",
    Option(
        "-C, --demangle | -demangle=true  Demangle function names (default)",
        shown="--demangle, --no-demangle",
    ),
    """\
--no-demangle | -demangle=false
--disable-gsym  Don't look for GSYM files beside binaries
--dwp file  Path to DWP file to be used for split units
--fallback-debug-path dir  One more directory where to look for debug files
--filter-markup  Filter symbolizer markup from stdin""",
    Option(
        "-f, --functions[=none|short|linkage]  Which function names to print",
        optional=_NO_VALUE,
    ),
    """\
--gsym-file-directory dir  Path to directory where to look for GSYM files
-h, --help  Display this help""",
    Option(  # the first of the other spellings is pprof's
        "-i, --inlines | -inlining | --inlining | --inlining=true  Print all inlined "
        "frames for a given address (default)",
        shown="--inlines, --no-inlines",
    ),
    """\
--no-inlines | --inlining=false
-e, --obj file  Path to the file to be symbolized
--exe file
--output-style LLVM|GNU|JSON  Specify print style
-p, --pretty-print  Make the output more human friendly
--print-source-context-lines value  Print N lines of source file context
--relative-address  Interpret addresses as relative to the image base
--verbose  Print verbose line info
-v, --version  Display the version
--cache-size value
--dsym-hint value
--dia
--no-debuginfod
--no-untag-addresses
--relativenames
--skip-line-zero
--untag-addresses""",
)[1]

_SAME_AS = {"--exe": "--obj", "--fallback-debug-path": "--debug-file-directory"}

_OPENING = """\
OVERVIEW: gsym-symbolizer, a drop-in for llvm-symbolizer

USAGE: gsym-symbolizer [options] addresses...

Without addresses, lines are read from standard input:

  [CODE|DATA|FRAME] [FILE:|BUILDID:]MODULE ADDRESS

MODULE is a GSYM file, or a binary: with an embedded GSYM file, with MODULE.gsym in the
same folder, in the user's store, or converted into the cache. Omit it with --obj or
--build-id. ADDRESS is a number, or a symbol name with an offset, such as main+0x10.

OPTIONS:
"""
_CLOSING = """
Accepted without effect: --cache-size, --dia, --dsym-hint, --no-debuginfod,
--no-untag-addresses, --relativenames, --skip-line-zero, --untag-addresses.

Pass @FILE as argument to read options from FILE. Options in LLVM_SYMBOLIZER_OPTS are
read before those of the command line.
"""


class Options(Values):
    """A parsed command line; attributes are what is more than one value."""

    def __init__(self, given: list[tuple[str, str]], inputs: list[str]) -> None:
        super().__init__(OPTIONS, given, {})
        if self.flag("--help"):
            raise HelpRequested(help_text())
        if self.flag("--version"):
            version = f"{PROGRAM}\ngsym version {__version__}"
            raise HelpRequested(f"{version}\n  Prints what LLVM 22 prints.\n")
        self.inputs = inputs  # requests; if empty, they are read from standard input
        self.inlines: bool = self.last_of("--inlines", "--no-inlines", default=True)
        self.demangle: bool = self.last_of("--demangle", "--no-demangle", default=True)
        # whether to use debuginfod; None: by default
        self.debuginfod: bool | None = None
        if self.flag("--debuginfod") or self.flag("--no-debuginfod"):
            on_off = "--debuginfod", "--no-debuginfod"
            self.debuginfod = self.last_of(*on_off, default=True)
        self.basenames: bool = self.flag("--basenames") and self.last_of(
            "--basenames", "--relativenames", default=True
        )
        # "none", "short" or "linkage"
        self.functions: str = self._one_of("--functions", "linkage", "none", "short")
        self.adjust_vma: int = self._number("--adjust-vma", UINT64_END)
        # number of source lines to print, 0 for none
        self.context_lines: int = self._number(
            "--print-source-context-lines", _LINES_END
        )
        self._number("--cache-size", UINT64_END)
        self.style: str = self._one_of("--output-style", *STYLES)
        # "always", "auto" or "never", for markup
        self.color: str = self._one_of("--color", "auto", "always", "never")
        if _NO_VALUE in self.texts("--color"):
            self.color = "always"
        # the module of all requests; None if each names its own
        self.obj: str | None = self.text("--obj")
        # the build id of that module, b"" for none
        self.build_id: bytes = b""
        if not self.flag("--filter-markup"):
            self.build_id = self._build_id()

    def _one_of(self, name: str, default: str, *others: str) -> str:
        """One of the values of an option; the default where it has another one."""
        values = self.texts(name)
        is_known = _NO_VALUE not in values and values[-1:] and values[-1] in others
        return values[-1] if is_known else default

    def _number(self, name: str, end: int) -> int:
        text = self.text(name)
        value = 0 if text is None else parse_number(text)
        if value is None or value >= end:
            reason = f"expected a non-negative integer, but got '{text}'"
            raise UsageError(f"{name}=: {reason}")
        return value

    def _build_id(self) -> bytes:
        text = self.text("--build-id")
        if text is None:
            return b""
        if self.obj is not None:
            raise UsageError("error: cannot specify both --build-id and --obj\n")
        value = parse_build_id(text)
        if not value:
            raise UsageError(f"--build-id=: expected a build ID, but got '{text}'\n")
        return value


def parse(arguments: list[str]) -> Options:
    """Parse the options of the environment, then a command line without the program."""
    words = [*split_words(os.environ.get(_ENVIRONMENT, "")), *arguments]
    words = expand_response_files(words, _MAX_RESPONSE_FILES)
    errors: list[str] = []
    found = gathered(scan_llvm(words, OPTIONS, errors), _SAME_AS)
    if errors:
        raise UsageError("".join(f"error: {each}\n" for each in errors))
    return Options(*found)


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
            lines += help_entry(head, option.help, wraps=False)
    return _OPENING + "\n".join(lines) + "\n" + _CLOSING


def parse_build_id(digits: str) -> bytes:
    """A build id from hexadecimal digits; b"" if they are invalid."""
    if not digits.isalnum():  # fromhex() accepts spaces
        return b""
    try:
        return bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2))
    except ValueError:
        return b""
