"""The command line of `gsym-symbolizer`: llvm-symbolizer's options and spellings.

An option is matched as LLVM matches it: the longest known spelling that the word
starts with; what is left over of a word with one dash is read as further letters.
"""

from __future__ import annotations

import os

from gsym.cli.dropins.gsymutil_options import parse_number
from gsym.cli.response_files import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = "gsym-symbolizer"
STYLES = ("LLVM", "GNU", "JSON")

_ENVIRONMENT = "LLVM_SYMBOLIZER_OPTS"
_MOST_RESPONSE_FILES = 100  # one may name itself
_NUMBER_END = 1 << 64
_LINES_END = 1 << 31

# What each spelling stands for: an option, or an option and its value.
_FLAGS = {
    "-C": "demangle",
    "-a": "addresses",
    "-f": "functions",
    "-h": "help",
    "-i": "inlines",
    "-inlining": "inlines",  # pprof
    "-p": "pretty-print",
    "-s": "basenames",
    "-v": "version",
    "-demangle=true": "demangle",
    "-demangle=false": "no-demangle",
    "--inlining": "inlines",
    "--inlining=true": "inlines",
    "--inlining=false": "no-inlines",
    "--print-address": "addresses",
} | {
    f"--{name}": name
    for name in (
        *("addresses", "basenames", "color", "debuginfod", "demangle", "dia"),
        *("disable-gsym", "exact", "filter-markup", "functions", "help", "inlines"),
        *("no-debuginfod", "no-demangle", "no-inlines", "no-untag-addresses"),
        *("pretty-print", "relative-address", "relativenames", "skip-line-zero"),
        *("untag-addresses", "verbose", "version"),
    )
}
_WITH_VALUE = (
    *("adjust-vma", "build-id", "cache-size", "debug-file-directory", "default-arch"),
    *("dsym-hint", "dwp", "fallback-debug-path", "gsym-file-directory", "obj"),
    *("output-style", "print-source-context-lines"),
)
# The value is the rest of the word.
_JOINED = {
    "--color=": "color=",
    "--exe=": "obj",
    "--functions=": "functions=",
    "-e": "obj",
    "-e=": "obj",
    "-f=": "functions=",
} | {f"--{name}=": name for name in _WITH_VALUE}
# The value is the next word.
_SEPARATE = {"--exe": "obj", "-e": "obj"} | {f"--{name}": name for name in _WITH_VALUE}

_HELP = """\
OVERVIEW: gsym-symbolizer, a drop-in for llvm-symbolizer

USAGE: gsym-symbolizer [options] addresses...

Without addresses, lines are read from standard input:

  [CODE|DATA|FRAME] [FILE:|BUILDID:]MODULE ADDRESS

MODULE is a GSYM file, or a binary that holds one, has one beside it (MODULE.gsym), or
is converted into the cache; it stays out where --obj or --build-id is given. ADDRESS
is a number, or the name of a symbol with an offset, such as main+0x10.

OPTIONS:
  --addresses, --print-address, -a
                         Show address before line information
  --adjust-vma=<offset>  Subtract this from each address
  --basenames, -s        Strip directory names from paths
  --build-id=<value>     Build ID used to look up the binary
  --color=<always|auto|never>, --color
                         Colours of filtered markup
  --debug-file-directory=<dir>
                         Path to directory where to look for debug files
  --debuginfod           Use debuginfod to find debug files
  --default-arch=<value> Slice of a universal binary
  --demangle, -C, --no-demangle
                         Demangle function names (default)
  --disable-gsym         Don't look for GSYM files beside binaries
  --dwp=<file>           Path to DWP file to be used for split units
  --exact                Let llvm-symbolizer answer from the debug information, if it
                         is installed
  --fallback-debug-path=<dir>
                         One more directory where to look for debug files
  --filter-markup        Filter symbolizer markup from stdin
  --functions=<none|short|linkage>, -f=<...>
                         Which function names to print
  --gsym-file-directory=<dir>
                         Path to directory where to look for GSYM files
  --help, -h             Display this help
  --inlines, -i, --no-inlines
                         Print all inlined frames for a given address (default)
  --obj=<file>, --exe=<file>, -e <file>
                         Path to the file to be symbolized
  --output-style=<LLVM|GNU|JSON>
                         Specify print style
  --pretty-print, -p     Make the output more human friendly
  --print-source-context-lines=<value>
                         Print N lines of source file context
  --relative-address     Interpret addresses as relative to the image base
  --verbose              Print verbose line info
  --version, -v          Display the version

Accepted without effect: --cache-size, --dia, --dsym-hint, --no-debuginfod,
--no-untag-addresses, --relativenames, --skip-line-zero, --untag-addresses.

Pass @FILE as argument to read options from FILE. Options in LLVM_SYMBOLIZER_OPTS stand
in front of those of the command line.
"""


class UsageError(Exception):
    """The command line cannot be understood; the text is for standard error."""


class Options:
    """What the command line asks for.

    Attributes:
        inputs: Requests on the command line; none: they come on standard input.
        obj: The module of all requests, None where each names its own.
        build_id: The build id of it, b"" for none.
        style: One of STYLES.
        functions: "none", "short" or "linkage".
        debuginfod: Whether its servers are asked; None: that is left open.
        color: "always", "auto" or "never", for markup.
        context_lines: How many lines of source to print, 0 for none.
        warnings: What to say on standard error before all else.
    """

    def __init__(self, chosen: list[tuple[str, str]], inputs: list[str]) -> None:
        last = dict(chosen)
        names = [name for name, _ in chosen]
        given = set(names)
        self.inputs = inputs
        self.help = "help" in given
        self.version = "version" in given
        self.exact = "exact" in given
        self.filter_markup = "filter-markup" in given
        self.addresses = "addresses" in given
        self.pretty = "pretty-print" in given
        self.verbose = "verbose" in given
        self.relative_address = "relative-address" in given
        self.disable_gsym = "disable-gsym" in given
        self.inlines = _last_of(names, "inlines", "no-inlines")
        self.demangle = _last_of(names, "demangle", "no-demangle")
        self.debuginfod: bool | None = None
        if given & {"debuginfod", "no-debuginfod"}:
            self.debuginfod = _last_of(names, "debuginfod", "no-debuginfod")
        self.basenames = "basenames" in given and _last_of(
            names, "basenames", "relativenames"
        )
        self.functions = _function_names(given, last)
        self.adjust_vma = _number(last, "adjust-vma", _NUMBER_END)
        self.context_lines = _number(last, "print-source-context-lines", _LINES_END)
        _number(last, "cache-size", _NUMBER_END)
        style = last.get("output-style", "")
        color = "always" if "color" in given else last.get("color=")
        self.color = color if color in {"always", "never"} else "auto"
        self.style = style if style in STYLES else STYLES[0]
        self.default_arch = last.get("default-arch") or None
        self.dwp = last.get("dwp") or None
        self.debug_directories = [
            value
            for name, value in chosen
            if name in {"debug-file-directory", "fallback-debug-path"}
        ]
        self.gsym_directories = [
            value for name, value in chosen if name == "gsym-file-directory"
        ]
        self.obj = last.get("obj")
        self.build_id = b"" if self.filter_markup else _build_id(last)
        self.warnings = [
            f"Warning: invalid dSYM hint: \"{value}\" (must have the '.dSYM' "
            "extension).\n"
            for name, value in chosen
            if name == "dsym-hint" and not value.endswith(".dSYM")
        ]


def parse(arguments: list[str]) -> Options:
    """Read a command line without the program, behind the options of the environment.

    Raises:
        UsageError: It cannot be understood.
    """
    words = [*split_words(os.environ.get(_ENVIRONMENT, "")), *arguments]
    words = _with_response_files(words)
    chosen: list[tuple[str, str]] = []
    inputs: list[str] = []
    faults: list[str] = []
    coming = iter(words)
    for word in coming:
        if not word.startswith("-") or word == "-":
            inputs.append(word)
            continue
        chosen += read_word(word, coming, faults)
    if faults:
        raise UsageError("".join(f"error: {fault}\n" for fault in faults))
    return Options(chosen, inputs)


def help_text() -> str:
    """The text of `--help`."""
    return _HELP


def parse_build_id(digits: str) -> bytes:
    """A build id from hexadecimal digits; b"" where they are none."""
    if not digits.isalnum():  # fromhex() lets spaces pass
        return b""
    try:
        return bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2))
    except ValueError:
        return b""


def read_word(
    word: str, coming: Iterator[str], faults: list[str]
) -> list[tuple[str, str]]:
    """The options in one word, each with its value or "".

    Args:
        word: It begins with a dash.
        coming: What follows; it is asked for a value.
        faults: Gets what is wrong.
    """
    found = []
    while True:
        if word in _FLAGS:
            found.append((_FLAGS[word], ""))
        elif word in _SEPARATE:
            value = next(coming, None)
            if value is None:
                faults.insert(0, f"{word}: missing argument")
            else:
                found.append((_SEPARATE[word], value))
        elif prefix := _joined_prefix(word):
            found.append((_JOINED[prefix], word[len(prefix) :]))
        elif word.startswith("--") or (word[:2] in _FLAGS and word[2:3] == "="):
            faults.append(f"unknown argument '{word}'")
        else:
            letter, word = word[:2], f"-{word[2:]}"
            if letter in _FLAGS:
                found.append((_FLAGS[letter], ""))
            else:
                faults.append(f"unknown argument '{letter}'")
            if word != "-":
                continue
        return found


def _joined_prefix(word: str) -> str:
    fitting = [prefix for prefix in _JOINED if word.startswith(prefix)]
    return max(fitting, key=len, default="")


def _last_of(names: list[str], yes: str, no: str) -> bool:
    """Whether *yes* or, as where neither is given, not *no* came last."""
    for name in reversed(names):
        if name in {yes, no}:
            return name == yes
    return True


def _function_names(given: set[str], last: dict[str, str]) -> str:
    kind = last.get("functions=")
    if "functions" in given or kind not in {"none", "short"}:
        return "linkage"
    return kind


def _number(last: dict[str, str], name: str, end: int) -> int:
    text = last.get(name)
    if text is None:
        return 0
    value = parse_number(text)
    if value is None or value >= end:
        raise UsageError(
            f"--{name}=: expected a non-negative integer, but got '{text}'"
        )
    return value


def _build_id(last: dict[str, str]) -> bytes:
    if "build-id" in last and "obj" in last:
        raise UsageError("error: cannot specify both --build-id and --obj\n")
    text = last.get("build-id")
    if text is None:
        return b""
    value = parse_build_id(text)
    if not value:
        raise UsageError(f"--build-id=: expected a build ID, but got '{text}'\n")
    return value


def _with_response_files(words: list[str]) -> list[str]:
    """*words* with the contents of files in the place of `@FILE`."""
    done: list[str] = []
    left, opened = words[::-1], 0
    while left:
        word = left.pop()
        if word.startswith("@") and opened < _MOST_RESPONSE_FILES:
            try:
                with open(word[1:], encoding="utf-8", errors="surrogateescape") as file:
                    left += split_words(file.read())[::-1]
            except OSError:
                pass  # then it is a word like any other
            else:
                opened += 1
                continue
        done.append(word)
    return done
